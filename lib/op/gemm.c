/* The matrix product under MatMul, Gemm and convolution: float operands widened to double when
 * packed, sums in double in the order of k, so that a result is the exact sum rounded once
 * (nearly). Blocks as in Goto and van de Geijn 2008, one level. */
#include "op/rules.h"
#include "target/clones.h"

typedef double v4d __attribute__((vector_size(32), aligned(8)));

/* c[4][8] += a[k][4] b[k][8] */
#define TILE \
	v4d *o = (v4d *)c, c00 = o[0], c01 = o[1], c10 = o[2], c11 = o[3], c20 = o[4], c21 = o[5], c30 = o[6], c31 = o[7]; \
\
	for (int64_t k = 0; k < K; k++, a += GEMM_MR, b += GEMM_NR) { \
		v4d b0 = *(const v4d *)b, b1 = *(const v4d *)(b + 4); \
		c00 += a[0] * b0; \
		c01 += a[0] * b1; \
		c10 += a[1] * b0; \
		c11 += a[1] * b1; \
		c20 += a[2] * b0; \
		c21 += a[2] * b1; \
		c30 += a[3] * b0; \
		c31 += a[3] * b1; \
	} \
	o[0] = c00, o[1] = c01, o[2] = c10, o[3] = c11; \
	o[4] = c20, o[5] = c21, o[6] = c30, o[7] = c31;

CLONES_WIDE static void tile(int64_t K, const double *a, const double *b, double *c){TILE}

/* For exact products: multiplying and adding in one step then has the same bits. */
CLONES_FUSED static void tile_exact(int64_t K, const double *a, const double *b, double *c)
{
	TILE
}

bool gemm_exact(const struct tensor *x, const struct tensor *y)
{
	return (x->dtype == DT_F32 || dtype_size(x->dtype) < 4) && (y->dtype == DT_F32 || dtype_size(y->dtype) < 4);
}

/* Doubles of a that are packed at a time, once for all columns; and how many k a tile has at a time, so that a panel of b stays in the
 * first-level cache for all rows. */
enum { PACKED_MOST = 2 << 20, K_BLOCK = 256 };

/* Rows i0 .. i0 + rows - 1, which are packed, of columns j0 .. j0 + cols - 1, which are, too. c: room for rows as they are packed. */
static void columns(const struct gemm *g, int64_t i0, int64_t rows, const double *a, int64_t j0, int cols, const double *b, double *c)
{
	int64_t all = (rows + GEMM_MR - 1) / GEMM_MR * GEMM_MR; /* c[j / 8][i / 4][4][8] */
	double row[GEMM_NC];

	memset(c, 0, sizeof *c * (size_t)(all * ((cols + GEMM_NR - 1) / GEMM_NR * GEMM_NR)));
	for (int64_t k = 0; k < g->K; k += K_BLOCK)
		for (int j = 0; j < cols; j += GEMM_NR)
			for (int64_t i = 0; i < rows; i += GEMM_MR)
				(g->exact ? tile_exact : tile)(g->K - k < K_BLOCK ? g->K - k : K_BLOCK, a + i * g->K + k * GEMM_MR,
							       b + j * g->K + k * GEMM_NR, c + j * all + i * GEMM_NR);
	for (int64_t i = 0; i < rows; i++) {
		for (int j = 0; j < cols; j += GEMM_NR)
			memcpy(row + j, c + j * all + i * GEMM_NR, sizeof *row * GEMM_NR);
		g->store(g->arg, i0 + i, j0, cols, row);
	}
}

void gemm_run(const struct gemm *g)
{
	int64_t wide = g->N < GEMM_NC ? (g->N + GEMM_NR - 1) / GEMM_NR * GEMM_NR : GEMM_NC;
	int64_t all = (g->M + GEMM_MR - 1) / GEMM_MR * GEMM_MR, fit = PACKED_MOST / (g->K + 1) / GEMM_MR * GEMM_MR;
	bool one = g->N <= GEMM_NC; /* the columns are packed once, and rows when they are used */
	int64_t strip = one || fit < GEMM_MR ? GEMM_MR : fit < all ? fit : all;
	struct arena own = {0};
	double *a = ARENA_ARRAY(&own, double, g->K *strip), *b = ARENA_ARRAY(&own, double, g->K *wide),
	       *c = ARENA_ARRAY(&own, double, strip *wide);

	for (int64_t i0 = 0; i0 < g->M; i0 += strip) {
		int64_t rows = g->M - i0 < strip ? g->M - i0 : strip;
		for (int64_t i = 0; i < rows; i += GEMM_MR)
			g->a(g->arg, i0 + i, rows - i < GEMM_MR ? (int)(rows - i) : GEMM_MR, a + i * g->K);
		for (int64_t j0 = 0; j0 < g->N; j0 += GEMM_NC) {
			int cols = g->N - j0 < GEMM_NC ? (int)(g->N - j0) : GEMM_NC;
			if (!one || !i0)
				g->b(g->arg, j0, cols, b);
			columns(g, i0, rows, a, j0, cols, b, c);
		}
	}
	arena_release(&own);
}
