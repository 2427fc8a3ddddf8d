/* Lowering of operators that index by values or resample: Gather, GatherElements, OneHot, Resize. */
#include <string.h>
#include "lower/lowering.h"
#include "op/op.h"
#include "op/resize.h"

static const char *gather(struct lower *L)
{
	int rank = low_rank(L, 0), ri = low_rank(L, 1), a;
	poly at[LOOP_RANK_MAX], x[LOOP_RANK_MAX];
	int64_t fixed;

	if (!low_axis(attr_i(L->n, "axis"), rank, &a))
		return "axis outside the rank";
	if (!L->shape[0][a])
		return "an axis of no elements";
	stage_id s = low_result(L, 0, "gather");
	low_index(L, s, at);
	for (int i = 0; i < rank; i++)
		x[i] = i < a ? at[i] : i > a ? at[i + ri - 1] : poly_const(L->p->P, 0);
	if (low_count(L, 1) == 1 && low_ints(L, 1, &fixed, 1) == 1) {
		fixed += fixed < 0 ? L->shape[0][a] : 0;
		if (fixed < 0 || fixed >= L->shape[0][a])
			return "the index is out of range";
		x[a] = poly_const(L->p->P, fixed);
		stage_body(L->p, s, COMB_NONE, low_read(L, 0, x));
		return NULL;
	}
	ex_id value = low_read(L, 1, at + a);
	stage_body(L->p, s, COMB_NONE, ex_read_at(L->p, low_buf(L, 0), rank, x, a, value));
	return NULL;
}

static const char *gather_elements(struct lower *L)
{
	poly at[LOOP_RANK_MAX];
	int rank = low_rank(L, 0), a;

	if (!low_axis(attr_i(L->n, "axis"), rank, &a))
		return "axis outside the rank";
	if (!L->shape[0][a])
		return "an axis of no elements";
	stage_id s = low_result(L, 0, "gather");
	low_index(L, s, at);
	ex_id value = low_read(L, 1, at);
	stage_body(L->p, s, COMB_NONE, ex_read_at(L->p, low_buf(L, 0), rank, at, a, value));
	return NULL;
}

/* The number of the slice that an index tuple names; one too large where an index is out of range, which reading then tells. */
static ex_id tuple_number(struct lower *L, int b, int64_t n, int64_t slices, poly *at)
{
	int last = low_rank(L, 1) - 1;
	ex_id number = 0, bad = 0;

	for (int64_t k = 0; k < n; k++) {
		int64_t dim = L->shape[0][b + k];
		at[last] = poly_const(L->p->P, k);
		ex_id i = ex_cast(L->p, DT_I64, low_read(L, 1, at));
		i = low_select(L, low_fnc(L, FN_LT, i, 0), low_fnc(L, FN_ADD, i, (double)dim), i);
		ex_id outside = low_fn2(L, FN_OR, low_fnc(L, FN_LT, i, 0), low_fnc(L, FN_GE, i, (double)dim));
		number = number ? low_fn2(L, FN_ADD, low_fnc(L, FN_MUL, number, (double)dim), i) : i;
		bad = bad ? low_fn2(L, FN_OR, bad, outside) : outside;
	}
	return low_select(L, bad, low_num(L, number, (double)slices), number);
}

/* The operand is seen as [batches, slices, elements of a slice]: nobody else reads it here. */
static const char *gather_nd(struct lower *L)
{
	int rank = low_rank(L, 0), ri = low_rank(L, 1), b = (int)attr_i(L->n, "batch_dims");
	int64_t n = ri ? L->shape[1][ri - 1] : 0, seen[3] = {1, 1, 1};
	struct polys *P = L->p->P;
	poly at[LOOP_RANK_MAX], x[3] = {poly_const(P, 0), poly_const(P, 0), poly_const(P, 0)};

	if (n < 1 || b < 0 || b >= ri || b + n > rank)
		return "indices that do not fit the data";
	for (int k = 0; k < rank; k++)
		seen[k < b ? 0 : k < b + n ? 1 : 2] *= L->shape[0][k];
	buf_id data = low_buf(L, 0);
	struct loop_buf *d = lbuf(L->p, data);
	if (d->scope != SCOPE_IN || d->layout.n || data == low_buf(L, 1) || graph(L->m, L->body)->nodes.n > 1)
		return "an operand that is not in memory as it is";
	d->rank = 3;
	for (int k = 0; k < 3; k++) {
		d->shape[k] = d->extent[k] = seen[k];
		d->base[k] = poly_const(P, 0);
	}
	stage_id s = low_result(L, 0, "gather");
	low_index(L, s, at);
	for (int k = 0; k < b; k++)
		x[0] = poly_add(P, poly_mulc(P, x[0], L->shape[0][k]), at[k]);
	for (int k = b + (int)n; k < rank; k++)
		x[2] = poly_add(P, poly_mulc(P, x[2], L->shape[0][k]), at[ri - 1 + k - b - n]);
	ex_id value = tuple_number(L, b, n, seen[1], at);
	stage_body(L->p, s, COMB_NONE, ex_read_at(L->p, data, 3, x, 1, value));
	return NULL;
}

/* Of each batch the first so many steps, the last of them first, then the others. A length out of range is a place out of range. */
static const char *reverse_sequence(struct lower *L)
{
	int b = (int)attr_i(L->n, "batch_axis"), t = (int)attr_i(L->n, "time_axis"), rank = low_rank(L, 0);
	poly at[LOOP_RANK_MAX];

	if (rank < 2 || b < 0 || b > 1 || t != 1 - b || low_count(L, 1) != L->shape[0][b])
		return "axes or lengths that do not fit";
	stage_id s = low_result(L, 0, "reverse");
	low_index(L, s, at);
	ex_id n = ex_cast(L->p, DT_I64, low_read_1d(L, 1, at[b])), step = ex_index(L->p, DT_I64, at[t]),
	      outside = low_num(L, n, (double)L->shape[0][t]);
	ex_id from = low_fnc(L, FN_SUB, low_fn2(L, FN_SUB, n, step), 1);
	from = low_select(L, low_fn2(L, FN_LT, step, n), from, low_select(L, low_fnc(L, FN_LT, n, 0), outside, step));
	stage_body(L->p, s, COMB_NONE, ex_read_at(L->p, low_buf(L, 0), rank, at, t, from));
	return NULL;
}

/* values = [off, on]; on where the axis is at the index (negative from the end), which may be of a type too small for all places. */
static const char *one_hot(struct lower *L)
{
	int rank = low_out_rank(L, 0), a, k = 0;
	poly at[LOOP_RANK_MAX], x[LOOP_RANK_MAX], v;

	if (!low_axis(attr_i(L->n, "axis"), rank, &a))
		return "axis outside the rank";
	stage_id s = low_result(L, 0, "onehot");
	low_index(L, s, at);
	for (int i = 0; i < rank; i++)
		if (i != a)
			x[k++] = at[i];
	ex_id i = low_read(L, 0, x), here = ex_index(L->p, DT_I64, at[a]);
	if (low_dtype(L, 0) == DT_U64) /* none is negative */
		i = low_fnc(L, FN_MIN, i, 0x1p62);
	i = ex_cast(L->p, DT_I64, i);
	ex_id wrapped = low_fnc(L, FN_ADD, i, (double)L->out_shape[0][a]);
	i = low_select(L, low_fnc(L, FN_LT, i, 0), wrapped, i);
	v = poly_const(L->p->P, 0);
	ex_id off = low_read(L, 2, &v);
	v = poly_const(L->p->P, 1);
	ex_id on = low_read(L, 2, &v);
	stage_body(L->p, s, COMB_NONE, low_select(L, low_fn2(L, FN_EQ, i, here), on, off));
	return NULL;
}

/* ---- Resize ---- */

/* Constants of the lowering itself. */
static buf_id table(struct lower *L, const char *name, enum dtype t, int rank, const int64_t *shape, const void *data, size_t bytes)
{
	buf_id b = buf_new(L->p, name, t, SCOPE_CONST, rank, shape);
	lbuf(L->p, b)->operand = (int)L->cvals.n;
	lbuf(L->p, b)->data = data;
	vec_push(&L->cvals, const_new(L->m, 0, t, rank, shape, data, bytes));
	return b;
}

/* Table entries [taps][out] of an axis; which of them a step takes are the first elements of a row, so vectors of steps read rows. */
static buf_id index_table(struct lower *L, const struct resize_axis *a)
{
	int32_t *v = ARENA_ARRAY(&L->m->arena, int32_t, a->out * a->taps);
	for (int64_t i = 0; i < a->out * a->taps; i++)
		v[i % a->taps * a->out + i / a->taps] = (int32_t)a->index[i];
	return table(L, "index", DT_I32, 2, (int64_t[]){a->taps, a->out}, v, sizeof *v * (size_t)(a->out * a->taps));
}

static buf_id weight_table(struct lower *L, const struct resize_axis *a)
{
	int64_t n = a->out * a->taps, shape[2] = {a->taps, a->out};
	double *d = ARENA_ARRAY(&L->m->arena, double, n);
	for (int64_t i = 0; i < n; i++)
		d[i % a->taps * a->out + i / a->taps] = a->weight[i];
	if (low_dtype(L, 0) == DT_F64)
		return table(L, "weight", DT_F64, 2, shape, d, sizeof *d * (size_t)n);
	float *v = ARENA_ARRAY(&L->m->arena, float, n);
	for (int64_t i = 0; i < n; i++)
		v[i] = (float)d[i];
	return table(L, "weight", DT_F32, 2, shape, v, sizeof *v * (size_t)n);
}

/* Stage s along axis k: sums of elements of x (shape: of its results), fully unrolled if there are few. */
static void resize_stage(struct lower *L, stage_id s, buf_id x, int k, const struct resize_axis *a, bool last)
{
	enum { WRITTEN_OUT = 8 };
	struct loop_prog *p = L->p;
	poly at[LOOP_RANK_MAX], entry[2];
	buf_id index = index_table(L, a), weight = a->weight && a->taps > 1 ? weight_table(L, a) : 0;
	bool sum = a->taps > WRITTEN_OUT;
	ex_id y = 0;

	low_index(L, s, at);
	entry[1] = at[k];
	for (int t = 0; t < (sum ? 1 : a->taps); t++) {
		entry[0] = sum ? stage_reduce(p, s, "t", a->taps) : poly_const(p->P, t);
		ex_id e = low_wide(L, ex_read_at(p, x, lbuf(p, x)->rank, at, k, ex_read(p, index, 2, entry)));
		if (weight)
			e = low_fn2(L, FN_MUL, e, ex_cast(p, lex(p, e)->dtype, ex_read(p, weight, 2, entry)));
		y = y ? low_fn2(L, FN_ADD, y, e) : e;
	}
	stage_body(p, s, sum ? COMB_SUM : COMB_NONE, last ? low_round(L, 0, y) : y);
}

/* The axes that change, in the order that makes the fewest numbers in between: what shrinks most first, what grows most last; of equal
 * ones the last axis, where it grows, before the others: its vectors take elements apart. */
static int resize_order(const struct resize_axis *a, int rank, int *axis)
{
	int n = 0;
	for (int k = 0; k < rank; k++)
		if (a[k].taps) {
			int i = n++;
			for (; i > 0; i--) {
				const struct resize_axis *u = &a[axis[i - 1]], *v = &a[k];
				double before = (double)u->out * (double)v->in, after = (double)v->out * (double)u->in;
				if (before < after || (before == after && v->out < v->in))
					break;
				axis[i] = axis[i - 1];
			}
			axis[i] = k;
		}
	return n;
}

/* Enlarged by whole numbers to the nearest element, where every usual rounding gives floor(i / factor). */
static bool is_repeated(struct lower *L, const struct resize_axis *a, int rank)
{
	for (int k = 0; k < rank; k++) {
		if (a[k].taps > 1 || (a[k].taps && (a[k].outside || a[k].out % a[k].in)))
			return false;
		for (int64_t i = 0; a[k].taps && i < a[k].out; i++)
			if (a[k].index[i] != i / (a[k].out / a[k].in))
				return false;
	}
	return true;
}

static const char *repeat(struct lower *L, int rank)
{
	poly at[LOOP_RANK_MAX];
	stage_id s = low_result(L, 0, "resize");

	low_index(L, s, at);
	for (int i = 0; i < rank; i++)
		at[i] = poly_floordiv(L->p->P, at[i], L->out_shape[0][i] / L->shape[0][i]);
	stage_body(L->p, s, COMB_NONE, low_read(L, 0, at));
	return NULL;
}

/* Results of which an axis lies outside of the operand get the extrapolation value. */
static void extrapolate(struct lower *L, const struct resize_axis *a, int rank, buf_id inside)
{
	struct loop_prog *p = L->p;
	poly at[LOOP_RANK_MAX];
	stage_id s = low_result(L, 0, "extrapolate");
	ex_id out = 0;

	low_index(L, s, at);
	for (int k = 0; k < rank; k++) {
		if (!a[k].outside)
			continue;
		float *v = ARENA_ARRAY(&L->m->arena, float, a[k].out);
		for (int64_t i = 0; i < a[k].out; i++)
			v[i] = a[k].outside[i];
		ex_id e = ex_read(p, table(L, "outside", DT_F32, 1, &a[k].out, v, sizeof *v * (size_t)a[k].out), 1, &at[k]);
		out = out ? low_fn2(L, FN_ADD, out, e) : e;
	}
	ex_id y = ex_read(p, inside, rank, at), value = low_num(L, y, attr_f(L->n, "extrapolation_value"));
	stage_body(p, s, COMB_NONE, low_round(L, 0, low_select(L, low_fnc(L, FN_NE, out, 0), value, y)));
}

static struct tensor *with_data(struct lower *L, uint32_t i)
{
	struct tensor *t = low_has(L, i) ? low_const(L, i) : NULL;
	if (t)
		tensor_data(L->m, t);
	return t;
}

static int innermost(const struct layout *l, int rank) { return l->n ? l->part[l->n - 1].axis : rank - 1; }

/* x, of this shape, before its last axis k grows. Where vectors of the result lie along another axis than those of x, and not along k, x
 * is turned first: it has fewer elements. */
static buf_id turned(struct lower *L, buf_id x, int rank, const int64_t *shape, int k, const struct resize_axis *a)
{
	static const struct layout none;
	const struct layout *to = L->outs && lbuf(L->p, L->outs[0])->rank == rank ? &lbuf(L->p, L->outs[0])->layout : &none;
	int in = innermost(&lbuf(L->p, x)->layout, rank), out = innermost(to, rank);
	poly at[LOOP_RANK_MAX];

	if (in == out || out == k || a->out <= a->in || (to->n && to->n != rank))
		return x;
	stage_id s = low_stage(L, "turned", lbuf(L->p, x)->dtype, rank, shape, low_axes(L, rank));
	lbuf(L->p, lstage(L->p, s)->out)->layout = *to;
	low_index(L, s, at);
	stage_body(L->p, s, COMB_NONE, ex_read(L->p, x, rank, at));
	return lstage(L->p, s)->out;
}

static const char *resize(struct lower *L)
{
	enum { TABLE_MAX = 1 << 22 };
	struct resize_axis a[LOOP_RANK_MAX];
	int rank = low_rank(L, 0), axis[LOOP_RANK_MAX], n;
	bool old = L->n->op == OP_Upsample, outside = false, sums = false;
	uint32_t scales = old ? 1 : 2, sizes = 3;
	int64_t shape[LOOP_RANK_MAX];

	for (uint32_t i = 1; i < L->n->nin; i++)
		if (low_has(L, i) && !low_const(L, i))
			return "sizes, scales or region that are not constant";
	for (int k = 0; k < rank; k++)
		if (L->shape[0][k] > TABLE_MAX || L->out_shape[0][k] > TABLE_MAX)
			return "an axis too long for tables of places";
	const char *why = resize_node(L->m, L->n, rank, L->shape[0], old ? NULL : with_data(L, 1), with_data(L, scales),
				      old ? NULL : with_data(L, sizes), &L->p->arena, a);
	if (why)
		return why;
	for (int k = 0; k < rank; k++) {
		outside |= a[k].outside != NULL;
		sums |= a[k].taps > 1;
		if (a[k].out != L->out_shape[0][k])
			return "its size is not the one it is said to have";
	}
	if (sums && !dtype_is_float(low_dtype(L, 0)))
		return "weighted sums of integers";
	if (is_repeated(L, a, rank))
		return repeat(L, rank);
	n = resize_order(a, rank, axis);
	buf_id x = low_buf(L, 0);
	memcpy(shape, L->shape[0], sizeof *shape * (size_t)rank);
	for (int i = 0; i < n; i++) {
		const struct resize_axis *k = &a[axis[i]];
		bool last = i == n - 1 && !outside, total = k->taps > 8;
		x = i == n - 1 ? turned(L, x, rank, shape, axis[i], k) : x;
		shape[axis[i]] = k->out;
		stage_id s = last && !total ? low_result(L, 0, "resize")
					    : low_stage(L, i == n - 1 ? "resize" : "between", low_wide_type(low_dtype(L, 0)), rank, shape,
							low_axes(L, rank));
		if (lbuf(L->p, lstage(L->p, s)->out)->scope == SCOPE_SCRATCH && lbuf(L->p, x)->layout.n == rank)
			lbuf(L->p, lstage(L->p, s)->out)->layout = lbuf(L->p, x)->layout; /* axes in the same order */
		resize_stage(L, s, x, axis[i], k, last && !total);
		x = lstage(L->p, s)->out;
		if (last && total)
			low_result_is(L, 0, x);
	}
	if (outside)
		extrapolate(L, a, rank, x);
	return NULL;
}

const struct lower_row lower_index[] = {
	{OP_Gather, gather}, {OP_GatherElements, gather_elements},   {OP_GatherND, gather_nd}, {OP_OneHot, one_hot},
	{OP_Resize, resize}, {OP_ReverseSequence, reverse_sequence}, {OP_Upsample, resize},    {0},
};
