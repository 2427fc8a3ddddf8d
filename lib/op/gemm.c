/* The matrix product under MatMul, Gemm and convolution: float operands widened to double when
 * packed, sums in double in the order of k, so that a result is the exact sum rounded once
 * (nearly). Blocks as in Goto and van de Geijn 2008, one level. */
#include "op/rules.h"

typedef double v4d __attribute__((vector_size(32), aligned(8)));

/* c[4][8] = a[k][4] b[k][8]. The AVX clone multiplies and adds separately: the same bits
 * everywhere. */
#if defined __x86_64__ && !defined __SANITIZE_ADDRESS__
__attribute__((target_clones("avx", "default")))
#endif
static void
tile(int64_t K, const double *a, const double *b, double *c)
{
	v4d c00 = {0}, c01 = {0}, c10 = {0}, c11 = {0}, c20 = {0}, c21 = {0}, c30 = {0}, c31 = {0};

	for (int64_t k = 0; k < K; k++, a += GEMM_MR, b += GEMM_NR) {
		v4d b0 = *(const v4d *)b, b1 = *(const v4d *)(b + 4);
		c00 += a[0] * b0;
		c01 += a[0] * b1;
		c10 += a[1] * b0;
		c11 += a[1] * b1;
		c20 += a[2] * b0;
		c21 += a[2] * b1;
		c30 += a[3] * b0;
		c31 += a[3] * b1;
	}
	v4d *o = (v4d *)c;
	o[0] = c00, o[1] = c01, o[2] = c10, o[3] = c11;
	o[4] = c20, o[5] = c21, o[6] = c30, o[7] = c31;
}

void gemm_run(const struct gemm *g)
{
	int64_t wide = g->N < GEMM_NC ? (g->N + GEMM_NR - 1) / GEMM_NR * GEMM_NR : GEMM_NC;
	struct arena own = {0};
	double *a = ARENA_ARRAY(&own, double, g->K *(GEMM_MR + wide) + 2), *b = a + (g->K * GEMM_MR + 1) / 2 * 2;
	double c[GEMM_MR][GEMM_NC], t[GEMM_MR][GEMM_NR];

	for (int64_t j0 = 0; j0 < g->N; j0 += GEMM_NC) {
		int cols = g->N - j0 < GEMM_NC ? (int)(g->N - j0) : GEMM_NC;
		g->b(g->arg, j0, cols, b);
		for (int64_t i0 = 0; i0 < g->M; i0 += GEMM_MR) {
			int rows = g->M - i0 < GEMM_MR ? (int)(g->M - i0) : GEMM_MR;
			g->a(g->arg, i0, rows, a);
			for (int j = 0; j < cols; j += GEMM_NR) {
				tile(g->K, a, b + j * g->K, t[0]);
				for (int r = 0; r < rows; r++)
					memcpy(&c[r][j], t[r], sizeof t[r]);
			}
			for (int r = 0; r < rows; r++)
				g->store(g->arg, i0 + r, j0, cols, c[r]);
		}
	}
	arena_release(&own);
}
