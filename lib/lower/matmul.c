/* Lowering of matrix products. */
#include <math.h>
#include <string.h>
#include "lower/halves.h"
#include "lower/integer.h"
#include "lower/packed.h"
#include "lower/wide.h"
#include "op/einsum.h"

static const char *const matmul_axes[] = {"", "", "m n", "b m n", "b h m n", "a b h m n"};

/* Index of operand i (of rank r): its batch axes are aligned with those of the result. */
static void batch_index(struct lower *L, uint32_t i, int nbatch, const poly *batch, poly *at)
{
	int own = low_rank(L, i) - 2;

	for (int k = 0; k < own; k++)
		at[k] = L->shape[i][k] == 1 ? poly_const(L->p->P, 0) : batch[nbatch - own + k];
}

/* How a product reads its operands. NumPy's rules: a 1-D operand is a row on the left, a column on the right, and that axis is not in the
 * result. */
struct product {
	bool row, column;
	int nbatch;         /* axes of the result before m and n */
	int a_axis, b_axis; /* that are summed along */
};

static struct product product_of(struct lower *L)
{
	int ra = low_rank(L, 0), rb = low_rank(L, 1), rank = low_out_rank(L, 0);
	struct product q = {.row = ra == 1, .column = rb == 1, .a_axis = ra - 1, .b_axis = rb == 1 ? 0 : rb - 2};

	q.nbatch = rank - !q.row - !q.column;
	if (!q.row && !q.column && rank < (int)(sizeof matmul_axes / sizeof *matmul_axes))
		low_name_axes(L, rank, matmul_axes[rank]);
	return q;
}

/* Elements k of the row and of the column that element `index` of the result is the product of. */
static void product_index(struct lower *L, const struct product *q, const poly *index, poly k, poly *a, poly *b)
{
	if (!q->row) {
		batch_index(L, 0, q->nbatch, index, a);
		a[q->a_axis - 1] = index[q->nbatch];
	}
	a[q->a_axis] = k;
	if (!q->column) {
		batch_index(L, 1, q->nbatch, index, b);
		b[q->b_axis + 1] = index[low_out_rank(L, 0) - 1];
	}
	b[q->b_axis] = k;
}

/* ---- algorithms ---- */

static const char *const product_algos[] = {ALGO_SPREAD, ALGO_WIDE, ALGO_DIGITS, ALGO_BYTES, ALGO_HALVES, NULL};

static double products_of(struct lower *L)
{
	bool turned = L->n->op == OP_Gemm && attr_i(L->n, "transA");
	double products = (double)L->shape[0][turned ? 0 : low_rank(L, 0) - 1];

	for (int i = 0; i < low_out_rank(L, 0); i++)
		products *= (double)L->out_shape[0][i];
	return products;
}

/* Elements of operand 0 that an element of the result is made of. */
static int64_t summed_up(struct lower *L)
{
	bool turned = L->n->op == OP_Gemm && attr_i(L->n, "transA");

	return L->shape[0][turned ? 0 : low_rank(L, 0) - 1];
}

/* Rows of a matrix of operand 0. */
static int64_t rows_of(struct lower *L)
{
	bool turned = L->n->op == OP_Gemm && attr_i(L->n, "transA");
	int rank = low_rank(L, 0);

	return rank < 2 ? 1 : L->shape[0][turned ? 1 : rank - 2];
}

static bool digits(struct lower *L, bool (*f)(struct lower *L, bool turned, int64_t rows))
{
	int64_t K = summed_up(L);

	return K && f(L, L->n->op == OP_Gemm && attr_i(L->n, "transB"), low_count(L, 0) / K);
}

static bool bytes(struct lower *L)
{
	bool gemm = L->n->op == OP_Gemm, turned = gemm && attr_i(L->n, "transA");
	int64_t K = summed_up(L);

	return K && packed_bytes_fit(L, gemm && attr_i(L->n, "transB"), low_count(L, 0) / K, turned ? 0 : low_rank(L, 0) - 1);
}

static bool product_fits(struct lower *L, const char *algo)
{
	if (!strcmp(algo, ALGO_BYTES))
		return bytes(L);
	if (!strcmp(algo, ALGO_HALVES))
		return halves_fit(L, summed_up(L));
	if (!strcmp(algo, ALGO_SPREAD))
		return wide_fits(L, algo) && wide_spread(L, summed_up(L), rows_of(L)) > summed_up(L);
	return strcmp(algo, ALGO_DIGITS) ? wide_fits(L, algo) : digits(L, packed_digits_fit);
}

static const char *product_best(struct lower *L)
{
	if (halves_fit(L, summed_up(L)))
		return ALGO_HALVES;
	if (bytes(L))
		return ALGO_BYTES;
	if (wide_spread_chosen(L, products_of(L), summed_up(L), rows_of(L)))
		return ALGO_SPREAD;
	return wide_chosen(L, products_of(L), summed_up(L)) ? ALGO_WIDE : digits(L, packed_digits_chosen) ? ALGO_DIGITS : ALGO_USUAL;
}

/* Operands of a product as the algorithm has them, 0: as they are; and products in a sum. */
struct factors {
	buf_id a, b;
	int64_t K;
};

/* a_axis, b_axis: that are summed along. */
static struct factors factors_of(struct lower *L, int a_axis, int b_axis)
{
	int64_t line = L->shape[0][a_axis], K;

	if (!strcmp(low_algo(L), ALGO_WIDE))
		return (struct factors){wide_buf(L, 0), wide_weights(L, products_of(L)), line};
	if (strcmp(low_algo(L), ALGO_SPREAD))
		return (struct factors){.K = line};
	K = wide_spread(L, line, rows_of(L));
	return (struct factors){wide_spread_buf(L, 0, a_axis, K), wide_spread_buf(L, 1, b_axis, K), K};
}

static ex_id factor(struct lower *L, uint32_t i, buf_id copy, const poly *at)
{
	return copy ? low_wide(L, ex_read(L->p, copy, low_rank(L, i), at)) : low_read_wide(L, i, at);
}

/* A product of element a of operand 0 and element b of operand 1. */
static ex_id times(struct lower *L, const struct factors *f, const poly *a, const poly *b)
{
	return low_fn2(L, FN_MUL, factor(L, 0, f->a, a), factor(L, 1, f->b, b));
}

/* An operand's element in the product of element `index` of the result, for halves_sums. */
static ex_id matmul_factor(struct lower *L, uint32_t i, const poly *index, poly k, const void *arg)
{
	poly at[2][LOOP_RANK_MAX];

	product_index(L, arg, index, k, at[0], at[1]);
	return low_read(L, i, at[i]);
}

static const char *matmul(struct lower *L)
{
	struct product q = product_of(L);
	poly index[LOOP_RANK_MAX], a[LOOP_RANK_MAX], b[LOOP_RANK_MAX];
	struct packed w;
	int64_t K = L->shape[0][q.a_axis], rows = low_count(L, 0) / K;
	bool packed = packed_find(L, false, rows, low_algo(L), q.a_axis, &w);

	if (packed && ((rows == 1 && w.count > 1) || w.digits)) {
		low_result_is(L, 0, lstage(L->p, packed_rows(L, &w, "matmul", q.a_axis))->out);
		return NULL;
	}
	if (!strcmp(low_algo(L), ALGO_HALVES)) {
		low_result_is(L, 0, lstage(L->p, halves_sums(L, "matmul", K, matmul_factor, &q))->out);
		return NULL;
	}
	struct factors f = factors_of(L, q.a_axis, q.b_axis);
	stage_id s = low_sums(L, 0, "matmul");
	low_index(L, s, index);
	product_index(L, &q, index, stage_reduce(L->p, s, "k", f.K), a, b);
	ex_id y = packed ? low_fn2(L, FN_MUL, low_read(L, 0, a), packed_read(L, &w, rows, b[0], b[1])) : times(L, &f, a, b);
	stage_body(L->p, s, COMB_SUM, y);
	low_result_is(L, 0, lstage(L->p, s)->out);
	return NULL;
}

/* Sum s of raw codes less what their zero points add to it. */
static void less_zeros(struct lower *L, const struct product *q, stage_id s, buf_id x, buf_id w)
{
	poly index[LOOP_RANK_MAX], a[LOOP_RANK_MAX], b[LOOP_RANK_MAX], none = poly_const(L->p->P, 0);
	ex_id x_zero = int_zero(L, INT_X, none, NULL), w_zero = int_zero(L, INT_W, none, NULL);
	stage_id offset = 0, x_sums = 0;

	if (x_zero)
		offset = int_offsets(L, int_sums(L, "wsum", w, q->b_axis, false), x_zero, L->shape[0][q->a_axis]);
	if (w_zero)
		x_sums = int_sums(L, "xsum", x, q->a_axis, false);
	stage_id r = low_result(L, 0, "zero");
	low_index(L, r, index);
	product_index(L, q, index, none, a, b);
	ex_id y = low_of(L, s, index);
	b[q->b_axis] = q->column ? none : b[q->b_axis + 1]; /* without the axis that was summed along */
	if (x_zero)
		y = int_less_offset(L, y, int_zero(L, INT_X, q->row ? none : index[q->nbatch], a), low_of(L, offset, b));
	if (w_zero)
		y = low_fn2(L, FN_SUB, y, low_fn2(L, FN_MUL, int_zero(L, INT_W, b[q->b_axis], b), low_of(L, x_sums, a)));
	stage_body(L->p, r, COMB_NONE, y);
}

static const char *matmul_integer(struct lower *L)
{
	struct product q = product_of(L);
	bool words = strcmp(low_algo(L), ALGO_USUAL);
	int64_t old = L->shape[0][q.a_axis], rows = q.row ? 1 : L->shape[0][q.a_axis - 1];
	int64_t K = words ? int_words_padded(L, old) : int_padded(L, old, rows);
	poly index[LOOP_RANK_MAX], a[LOOP_RANK_MAX], b[LOOP_RANK_MAX], none = poly_const(L->p->P, 0);

	buf_id x = words ? int_copies(L, INT_X, DT_I16, q.a_axis, K, q.row ? -1 : q.a_axis - 1) : int_codes(L, INT_X, q.a_axis, K);
	bool wide = words && int_words_weights(L) == DT_I16;
	buf_id w = wide ? int_copies(L, INT_W, DT_I16, q.b_axis, K, q.column ? -1 : q.b_axis + 1) : int_codes(L, INT_W, q.b_axis, K);
	stage_id s = low_sums(L, 0, "matmul");
	low_index(L, s, index);
	product_index(L, &q, index, stage_reduce(L->p, s, "k", K), a, b);
	stage_body(L->p, s, COMB_SUM, int_product(L, ex_read(L->p, x, low_rank(L, 0), a), ex_read(L->p, w, low_rank(L, 1), b)));
	if (!words && (int_zero(L, INT_X, none, NULL) || int_zero(L, INT_W, none, NULL)))
		less_zeros(L, &q, s, x, w);
	else
		low_result_is(L, 0, lstage(L->p, s)->out);
	return NULL;
}

struct turned {
	bool a, b;
};

static ex_id gemm_factor(struct lower *L, uint32_t i, const poly *index, poly k, const void *arg)
{
	const struct turned *t = arg;
	bool turned = i ? t->b : t->a;
	poly at[2];

	at[i ? turned : !turned] = k;
	at[i ? !turned : turned] = index[i];
	return low_read(L, i, at);
}

/* A' B' */
static stage_id gemm_sums(struct lower *L, bool ta, bool tb)
{
	int64_t rows = L->shape[0][ta];
	struct packed w;
	poly index[2], a[2], b[2];
	bool packed = packed_find(L, tb, rows, low_algo(L), !ta, &w);

	if (packed && ((rows == 1 && w.count > 1) || w.digits))
		return packed_rows(L, &w, "gemm", !ta);
	if (!strcmp(low_algo(L), ALGO_HALVES))
		return halves_sums(L, "gemm", L->shape[0][!ta], gemm_factor, &(struct turned){ta, tb});
	struct factors f = factors_of(L, !ta, tb);
	stage_id s = low_sums(L, 0, "gemm");
	low_index(L, s, index);
	poly k = stage_reduce(L->p, s, "k", f.K);
	a[ta] = index[0];
	a[!ta] = k;
	b[tb] = k;
	b[!tb] = index[1];
	ex_id y = packed ? low_fn2(L, FN_MUL, low_read(L, 0, a), packed_read(L, &w, rows, k, index[1])) : times(L, &f, a, b);
	stage_body(L->p, s, COMB_SUM, y);
	return s;
}

/* alpha A' B' + beta C: the product, then (where there is anything to do) a stage "bias". */
static const char *gemm(struct lower *L)
{
	bool ta = attr_i(L->n, "transA"), tb = attr_i(L->n, "transB");
	double alpha = attr_f(L->n, "alpha"), beta = attr_f(L->n, "beta");
	poly index[2];

	low_name_axes(L, 2, "m n");
	stage_id s = gemm_sums(L, ta, tb);
	if (alpha == 1 && (!low_has(L, 2) || beta == 0)) {
		low_result_is(L, 0, lstage(L->p, s)->out);
		return NULL;
	}
	stage_id r = low_result(L, 0, "bias");
	low_index(L, r, index);
	ex_id y = low_of(L, s, index);
	bool real = dtype_is_float(lex(L->p, y)->dtype), parts = !real && (alpha != trunc(alpha) || beta != trunc(beta));
	if (parts) /* of integers */
		y = ex_cast(L->p, DT_F64, y);
	if (alpha != 1)
		y = low_fnc(L, FN_MUL, y, alpha);
	if (low_has(L, 2) && beta != 0) {
		ex_id c = low_wide(L, low_read_bcast(L, 2, 2, index));
		c = parts ? ex_cast(L->p, DT_F64, c) : c;
		y = low_fn2(L, FN_ADD, y, beta == 1 ? c : low_fnc(L, FN_MUL, c, beta));
	}
	stage_body(L->p, r, COMB_NONE, low_round(L, 0, y));
	return NULL;
}

/* A product of one or two operands, summed over the letters that the result has not. */
static const char *einsum(struct lower *L)
{
	poly at[LETTERS_MAX] = {0}, index[LOOP_RANK_MAX];
	int64_t extent[LETTERS_MAX] = {0};
	bool have[LETTERS_MAX] = {false};
	int rank[TERMS_MAX], summed = 0;
	struct einsum q;
	const char *why;
	ex_id y = 0;

	if (L->n->nin > 2)
		return "more than two operands";
	for (uint32_t i = 0; i < L->n->nin; i++)
		rank[i] = low_rank(L, i);
	if ((why = einsum_parse(attr_s(L->n, "equation"), L->n->nin, rank, &q)))
		return why;
	for (int t = 0; t < q.terms; t++)
		for (int k = 0; k < q.rank[t]; k++)
			if (L->shape[t][k] > extent[q.axis[t][k]])
				extent[q.axis[t][k]] = L->shape[t][k];
	for (int k = 0; k < q.rank[q.terms]; k++)
		have[q.axis[q.terms][k]] = true;
	for (int c = 0; c < LETTERS_MAX; c++)
		summed += !have[c] && extent[c] > 0;
	if ((why = low_axes_fit(L, q.rank[q.terms] + summed)))
		return why;
	stage_id s = summed ? low_sums(L, 0, "einsum") : low_result(L, 0, "einsum");
	low_index(L, s, index);
	for (int k = 0; k < q.rank[q.terms]; k++)
		at[q.axis[q.terms][k]] = index[k];
	for (int c = 0; c < LETTERS_MAX; c++)
		if (!have[c] && extent[c] > 0)
			at[c] = stage_reduce(L->p, s, arena_printf(&L->p->arena, "k%d", c), extent[c]);
	for (int t = 0; t < q.terms; t++) {
		for (int k = 0; k < q.rank[t]; k++)
			index[k] = L->shape[t][k] == 1 ? poly_const(L->p->P, 0) : at[q.axis[t][k]];
		ex_id x = low_read_wide(L, (uint32_t)t, index);
		y = y ? low_fn2(L, FN_MUL, y, x) : x;
	}
	stage_body(L->p, s, summed ? COMB_SUM : COMB_NONE, summed ? y : low_round(L, 0, y));
	if (summed)
		low_result_is(L, 0, lstage(L->p, s)->out);
	return NULL;
}

const struct lower_row lower_matmul[] = {
	{OP_Einsum, einsum},
	{OP_Gemm, gemm, .algos = product_algos, .fits = product_fits, .best = product_best},
	{OP_MatMul, matmul, .algos = product_algos, .fits = product_fits, .best = product_best},
	{OP_MatMulInteger, matmul_integer, .algos = int_algos, .fits = int_words_fit, .best = int_words_best},
	{0},
};
