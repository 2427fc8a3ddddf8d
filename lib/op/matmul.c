/* MatMul, Gemm and their integer kin. */
#include "op/rules.h"

/* ---- shapes ---- */

static const char *matmul_shape(struct infer *I, uint32_t ia, uint32_t ib, enum dtype t)
{
	const struct type *a = &I->in[ia], *b = &I->in[ib];
	struct polys *P = rule_polys(I);
	dim ka, kb, *d;
	int ra = a->rank, rb = b->rank, batch, n = 0;
	bool clash;

	rule_out(I, 0, t, RANK_UNKNOWN, NULL);
	if (ra == RANK_UNKNOWN || rb == RANK_UNKNOWN)
		return NULL;
	if (ra == 0 || rb == 0)
		return "an operand is a scalar";
	ka = a->dims[ra - 1];
	kb = b->dims[rb > 1 ? rb - 2 : 0];
	if (ka != kb && poly_is_const(P, ka, NULL) && poly_is_const(P, kb, NULL))
		return rule_why(I, "%s times %s: inner extents differ", type_str(I->m, a, &I->m->arena), type_str(I->m, b, &I->m->arena));
	batch = (ra > rb ? ra : rb) - 2;
	d = rule_dims(I, batch + 2 > 0 ? batch + 2 : 1);
	for (int i = 0; i < batch; i++) {
		int at = i - (batch - (ra - 2)), bt = i - (batch - (rb - 2));
		dim one = rule_const(I, 1);
		d[n++] = rule_broadcast_dim(P, at < 0 ? one : a->dims[at], bt < 0 ? one : b->dims[bt], &clash);
		if (clash)
			return rule_why(I, "%s times %s: axis %d does not broadcast", type_str(I->m, a, &I->m->arena),
					type_str(I->m, b, &I->m->arena), i);
	}
	if (ra > 1)
		d[n++] = a->dims[ra - 2];
	if (rb > 1)
		d[n++] = b->dims[rb - 1];
	rule_out(I, 0, t, n, d);
	return NULL;
}

static const char *shape_matmul(struct infer *I) { return matmul_shape(I, 0, 1, I->in[0].dtype ? I->in[0].dtype : I->in[1].dtype); }

/* Zero points, operand z, of operand i: one, one a row or column (its axis `kept` from the end), or that for each matrix of a batch. */
static bool zeros_fit(struct infer *I, uint32_t z, uint32_t i, int kept)
{
	const struct type *t = &I->in[i];
	int rank = rule_rank(I, z);

	if (t->rank < 2 || rule_one_for_each(I, z, t->dims[t->rank - kept]))
		return true;
	if (rank != t->rank)
		return false;
	for (int k = 0; k < rank; k++)
		if (rule_extent(I, z, k, k == rank - 3 + kept ? rule_const(I, 1) : t->dims[k]))
			return false;
	return true;
}

static const char *shape_matmul_integer(struct infer *I)
{
	if (!zeros_fit(I, 2, 0, 2))
		return "operand 2, a zero point, does not fit";
	if (!zeros_fit(I, 3, 1, 1))
		return "operand 3, a zero point, does not fit";
	return matmul_shape(I, 0, 1, DT_I32);
}

static const char *shape_qlinear_matmul(struct infer *I) { return matmul_shape(I, 0, 3, I->in[7].dtype); }

static const char *shape_gemm(struct infer *I)
{
	bool ta = attr_i(I->n, "transA"), tb = attr_i(I->n, "transB");
	int ra = rule_rank(I, 0), rb = rule_rank(I, 1);
	dim *d = rule_dims(I, 2);

	if ((ra >= 0 && ra != 2) || (rb >= 0 && rb != 2))
		return rule_why(I, "operands of rank %d and %d; Gemm takes matrices", ra, rb);
	if (ra == 2)
		d[0] = rule_dim(I, 0, ta);
	if (rb == 2)
		d[1] = rule_dim(I, 1, !tb);
	if (ra == 2 && rb == 2) {
		dim ka = rule_dim(I, 0, !ta), kb = rule_dim(I, 1, tb);
		if (ka != kb && poly_is_const(rule_polys(I), ka, NULL) && poly_is_const(rule_polys(I), kb, NULL))
			return rule_why(I, "%s times %s: inner extents differ", type_str(I->m, &I->in[0], &I->m->arena),
					type_str(I->m, &I->in[1], &I->m->arena));
	}
	rule_out(I, 0, I->in[0].dtype, 2, d);
	return rule_into(I, 2, 2, d);
}

/* ---- one product ---- */

/* A matrix inside a tensor: element (i, j) at off + i*rs + j*cs, less its zero point. */
struct matrix {
	const struct tensor *t;
	int64_t off, rs, cs;
	const struct tensor *zero; /* NULL, a scalar, or one element per row of A or column of B, of one matrix or of each */
	int64_t line;              /* of the batch: the matrix's first row (A) or column (B) */
};
struct product {
	struct matrix a, b, c; /* c: addend of Gemm, t NULL: none */
	int64_t K;
	double alpha, beta;
	struct tensor *y;
	int64_t yoff, ldy, yline;
	/* QLinear: y = round(c * scale) + zero, saturated. */
	const struct tensor *sa, *sb, *sy, *zy;
};

/* The zero point (or scale) of row or column i; they are counted through the whole batch. */
static double zero_at(const struct tensor *z, int64_t i) { return z ? tensor_get(z, i % tensor_count(z)) : 0; }

static void pack_a(void *arg, int64_t i0, int rows, double *a)
{
	const struct product *p = arg;
	double v[BLOCK];

	memset(a, 0, sizeof *a * (size_t)(p->K * GEMM_MR));
	for (int r = 0; r < rows; r++) {
		double z = zero_at(p->a.zero, p->a.line + i0 + r);
		for (int64_t k = 0; k < p->K; k += BLOCK) {
			int c = p->K - k < BLOCK ? (int)(p->K - k) : BLOCK;
			load_d(p->a.t, p->a.off + (i0 + r) * p->a.rs + k * p->a.cs, p->a.cs, c, v);
			for (int q = 0; q < c; q++)
				a[(k + q) * GEMM_MR + r] = v[q] - z;
		}
	}
}

static void pack_b(void *arg, int64_t j0, int cols, double *b)
{
	const struct product *p = arg;
	double v[BLOCK], z[GEMM_NC];

	for (int j = 0; j < cols; j++)
		z[j] = zero_at(p->b.zero, p->b.line + j0 + j);
	if (cols % GEMM_NR)
		memset(b + cols / GEMM_NR * GEMM_NR * p->K, 0, sizeof *b * (size_t)(GEMM_NR * p->K));
	if (p->b.cs == 1 || p->b.rs != 1) { /* row by row */
		for (int64_t k = 0; k < p->K; k++) {
			load_d(p->b.t, p->b.off + k * p->b.rs + j0 * p->b.cs, p->b.cs, cols, v);
			for (int j = 0; j < cols; j++)
				b[j / GEMM_NR * GEMM_NR * p->K + k * GEMM_NR + j % GEMM_NR] = v[j] - z[j];
		}
		return;
	}
	for (int j = 0; j < cols; j++) {
		double *to = b + j / GEMM_NR * GEMM_NR * p->K + j % GEMM_NR;
		for (int64_t k = 0; k < p->K; k += BLOCK) {
			int c = p->K - k < BLOCK ? (int)(p->K - k) : BLOCK;
			load_d(p->b.t, p->b.off + k * p->b.rs + (j0 + j) * p->b.cs, p->b.rs, c, v);
			for (int q = 0; q < c; q++)
				to[(k + q) * GEMM_NR] = v[q] - z[j];
		}
	}
}

static void store(void *arg, int64_t i, int64_t j0, int cols, const double *c)
{
	const struct product *p = arg;
	double v[GEMM_NC];

	for (int j = 0; j < cols; j++)
		v[j] = p->alpha == 1 ? c[j] : p->alpha * c[j];
	if (p->c.t) {
		double d[GEMM_NC];
		load_d(p->c.t, p->c.off + i * p->c.rs + j0 * p->c.cs, p->c.cs, cols, d);
		for (int j = 0; j < cols; j++)
			v[j] += p->beta * d[j];
	}
	if (p->sy)
		for (int j = 0; j < cols; j++)
			v[j] = __builtin_rint(v[j] * zero_at(p->sa, p->a.line + i) * zero_at(p->sb, p->b.line + j0 + j) /
					      zero_at(p->sy, p->yline + i)) +
			       zero_at(p->zy, p->yline + i);
	store_d(p->y, p->yoff + i * p->ldy + j0, cols, v);
}

/* Wide integers: products modulo 2^64. */
static void product_ints(const struct product *p, int64_t M, int64_t N)
{
	for (int64_t i = 0; i < M; i++)
		for (int64_t j = 0; j < N; j++) {
			uint64_t s = 0;
			int64_t at = p->yoff + i * p->ldy + j;
			for (int64_t k = 0; k < p->K; k++)
				s += (uint64_t)tensor_get_int(p->a.t, p->a.off + i * p->a.rs + k * p->a.cs) *
				     (uint64_t)tensor_get_int(p->b.t, p->b.off + k * p->b.rs + j * p->b.cs);
			store_i(p->y, at, 1, &(int64_t){(int64_t)s});
			if (p->alpha == 1 && !p->c.t)
				continue;
			/* alpha and beta need not be whole numbers */
			int64_t c = p->c.t ? tensor_get_int(p->c.t, p->c.off + i * p->c.rs + j * p->c.cs) : 0;
			if (p->alpha == (double)(int64_t)p->alpha && p->beta == (double)(int64_t)p->beta) {
				s = s * (uint64_t)(int64_t)p->alpha + (uint64_t)c * (uint64_t)(int64_t)p->beta;
				store_i(p->y, at, 1, &(int64_t){(int64_t)s});
			} else {
				double d = p->c.t ? tensor_get(p->c.t, p->c.off + i * p->c.rs + j * p->c.cs) : 0;
				store_d(p->y, at, 1, &(double){p->alpha * tensor_get(p->y, at) + p->beta * d});
			}
		}
}

static void product(struct product *p, int64_t M, int64_t N)
{
	if (dtype_is_int(p->y->dtype) && dtype_size(p->y->dtype) >= 4 && dtype_size(p->a.t->dtype) >= 4)
		product_ints(p, M, N);
	else
		gemm_run(&(struct gemm){.M = M,
					.N = N,
					.K = p->K,
					.a = pack_a,
					.b = pack_b,
					.store = store,
					.arg = p,
					.exact = gemm_exact(p->a.t, p->b.t)});
}

/* ---- evaluators ---- */

/* Scales or zero points t: one, one for each of n rows or columns, or for each of those of every matrix of x. */
static bool lines_fit(const struct tensor *t, int64_t n, const struct tensor *x, int64_t K)
{
	return one_for_each(t, n) || (t->rank == x->rank && K && tensor_count(t) == tensor_count(x) / K);
}

/* Completes p, which has operands and extras, from the shapes, and computes it. */
static const char *matmul(struct eval *e, struct product *p, enum dtype t)
{
	const struct tensor *a = p->a.t, *b = p->b.t;
	int64_t dims[RANK_MAX], ad[RANK_MAX + 2], bd[RANK_MAX + 2], M, N;
	int n = 0, ra = a->rank > 1 ? a->rank - 2 : 0, rb = b->rank > 1 ? b->rank - 2 : 0;
	struct bcast w;
	const char *why;

	if (!a->rank || !b->rank)
		return "an operand is a scalar";
	memcpy(ad, a->dims, sizeof *ad * (size_t)ra);
	memcpy(bd, b->dims, sizeof *bd * (size_t)rb);
	p->K = a->dims[a->rank - 1];
	if (p->K != b->dims[b->rank > 1 ? b->rank - 2 : 0])
		return "inner extents differ";
	M = a->rank > 1 ? a->dims[a->rank - 2] : 1;
	N = b->rank > 1 ? b->dims[b->rank - 1] : 1;
	if ((why = bcast_init(&w, 2, (int[]){ra, rb}, (const int64_t *const[]){ad, bd}, e->tmp)))
		return why;
	if (!lines_fit(p->a.zero, M, a, p->K) || !lines_fit(p->sa, M, a, p->K) || !lines_fit(p->b.zero, N, b, p->K) ||
	    !lines_fit(p->sb, N, b, p->K) || !(one_for_each(p->sy, M) || tensor_count(p->sy) == M * w.count) ||
	    !(one_for_each(p->zy, M) || tensor_count(p->zy) == M * w.count))
		return "a scale or zero point does not fit";
	for (; n < w.out_rank; n++)
		dims[n] = w.out_dims[n];
	if (a->rank > 1)
		dims[n++] = M;
	if (b->rank > 1)
		dims[n++] = N;
	p->y = eval_out(e, 0, t, n, dims);
	p->ldy = N;
	p->a.rs = p->K, p->a.cs = 1;
	p->b.rs = N, p->b.cs = 1;
	p->alpha = 1;
	if (rb == 0 && w.count) { /* one matrix for the whole batch: all rows at once */
		product(p, M * w.count, N);
		return NULL;
	}
	if (w.count)
		do {
			int last = w.rank - 1;
			for (int64_t i = 0; i < w.dims[last]; i++, p->yoff += M * N, p->yline += M) {
				p->a.line = (w.off[0] + i * w.stride[0][last]) * M;
				p->b.line = (w.off[1] + i * w.stride[1][last]) * N;
				p->a.off = p->a.line * p->K;
				p->b.off = p->b.line * p->K;
				product(p, M, N);
			}
		} while (bcast_next(&w));
	return NULL;
}

static const char *eval_matmul(struct eval *e)
{
	struct product p = {.a.t = e->in[0], .b.t = e->in[1]};
	return matmul(e, &p, e->in[0]->dtype);
}

static const char *eval_matmul_integer(struct eval *e)
{
	struct product p = {.a = {.t = e->in[0], .zero = eval_in(e, 2)}, .b = {.t = e->in[1], .zero = eval_in(e, 3)}};
	return matmul(e, &p, DT_I32);
}

static const char *eval_qlinear_matmul(struct eval *e)
{
	struct product p = {.a = {.t = e->in[0], .zero = e->in[2]},
			    .b = {.t = e->in[3], .zero = e->in[5]},
			    .sa = e->in[1],
			    .sb = e->in[4],
			    .sy = e->in[6],
			    .zy = e->in[7]};
	return matmul(e, &p, e->in[7]->dtype);
}

static const char *eval_gemm(struct eval *e)
{
	bool ta = attr_i(e->n, "transA"), tb = attr_i(e->n, "transB");
	struct tensor *a = e->in[0], *b = e->in[1], *c = eval_in(e, 2);
	struct product p = {.a = {.t = a}, .b = {.t = b}, .alpha = attr_f(e->n, "alpha"), .beta = attr_f(e->n, "beta")};
	int64_t M, N;

	if (a->rank != 2 || b->rank != 2)
		return "Gemm takes matrices";
	M = a->dims[ta];
	p.K = a->dims[!ta];
	N = b->dims[!tb];
	if (b->dims[tb] != p.K)
		return "inner extents differ";
	p.a.rs = ta ? 1 : p.K, p.a.cs = ta ? M : 1;
	p.b.rs = tb ? 1 : N, p.b.cs = tb ? p.K : 1;
	if (c) {
		int64_t cr = c->rank > 1 ? c->dims[0] : 1, cc = c->rank ? c->dims[c->rank - 1] : 1;
		if (c->rank > 2 || (cr != 1 && cr != M) || (cc != 1 && cc != N))
			return "the addend does not broadcast";
		p.c = (struct matrix){.t = c, .rs = cr == 1 ? 0 : cc, .cs = cc == 1 ? 0 : 1};
	}
	p.y = eval_out(e, 0, a->dtype, 2, (int64_t[]){M, N});
	p.ldy = N;
	product(&p, M, N);
	return NULL;
}

/* 2 M N K: twice the result's elements times the inner extent. */
static double flops_matmul(struct module *m, const struct node *n)
{
	const struct type *a = &val(m, n->in[0])->type;
	int64_t c = type_count(m, &val(m, n->out[0])->type), k;
	bool ta = n->op == OP_Gemm && attr_i(n, "transA");

	if (c < 0 || a->rank < 1 || !poly_is_const(m->dims, a->dims[ta ? 0 : a->rank - 1], &k))
		return 0;
	return 2.0 * (double)c * (double)k;
}

const struct op ops_matmul[] = {
	{OP_MatMul, shape_matmul, eval_matmul, flops_matmul},
	{OP_MatMulInteger, shape_matmul_integer, eval_matmul_integer, flops_matmul},
	{OP_QLinearMatMul, shape_qlinear_matmul, eval_qlinear_matmul, flops_matmul},
	{OP_Gemm, shape_gemm, eval_gemm, flops_matmul},
	{0},
};
