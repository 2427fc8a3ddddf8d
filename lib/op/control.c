/* Calls and branches: what applies a body. */
#include "graph/bodies.h"
#include "native/gears.h"
#include "op/native.h"
#include "op/rules.h"

static const char *body_fits(struct infer *I, graph_id g, uint32_t nin, uint32_t nout)
{
	const struct graph *b = graph(I->m, g);

	if (!g || b->in.n != nin || b->out.n != nout)
		return rule_why(I, "the body takes %zu and gives %zu values, here are %u and %u", g ? b->in.n : 0, g ? b->out.n : 0, nin,
				nout);
	return NULL;
}

/* ---- Fused, PartitionedCall ---- */

static const char *shape_call(struct infer *I)
{
	graph_id g = attr_graph(I->n, "graph");
	const char *why = body_fits(I, g, I->n->nin, I->n->nout);

	return why ? why : I->body(I, g, I->in, I->kin, I->out, I->kout);
}

static const char *eval_call(struct eval *e) { return e->body(e, attr_graph(e->n, "graph"), (int)e->n->nin, e->in, e->out); }

/* ---- If, Case: operand 0 chooses, the others go to the body ---- */

static int branches_of(const struct node *n, graph_id g[2], const graph_id **all)
{
	const struct attr *a = attr_find(n, "branches");

	g[0] = attr_graph(n, "else_branch");
	g[1] = attr_graph(n, "then_branch");
	*all = a ? a->u.graphs : g;
	return a ? (int)a->n : 2;
}

/* What one branch or another gives. Of extents that differ it is known between which numbers they lie. */
static struct type joined(struct infer *I, const struct type *a, const struct type *b)
{
	struct type t = type_common(I->m, a, b);
	int64_t lo[2], hi[2];

	for (int k = 0; k < t.rank && !t.other; k++) {
		if (t.dims[k] || !a->dims[k] || !b->dims[k])
			continue;
		poly_range(rule_polys(I), a->dims[k], &lo[0], &hi[0]);
		poly_range(rule_polys(I), b->dims[k], &lo[1], &hi[1]);
		t.dims[k] = rule_fresh(I, lo[0] < lo[1] ? lo[0] : lo[1], hi[0] > hi[1] ? hi[0] : hi[1]);
	}
	return t;
}

/* Axis i of a list of `fit` or `cut`; -1: none. */
static int64_t axis_of(const struct node *n, const char *list, uint32_t i)
{
	int count;
	const int64_t *v = attr_ints(n, list, &count);

	return v && i < (uint32_t)count ? v[i] : -1;
}

/* Operand i, of this type, can be made what the branch takes. */
static const char *fits_branch(struct infer *I, uint32_t i, const struct type *takes)
{
	const struct type *t = &I->in[i];
	int64_t axis = axis_of(I->n, "fit", i - 1), have, want;

	if (!type_static(I->m, takes))
		return rule_why(I, "a branch takes operand %u in any size", i);
	if (t->dtype && takes->dtype && t->dtype != takes->dtype)
		return rule_why(I, "operand %u is %s, a branch takes %s", i, dtype_name(t->dtype), dtype_name(takes->dtype));
	if (axis < -1 || axis >= takes->rank)
		return rule_why(I, "fit has an axis that operand %u has not", i);
	if (t->rank == RANK_UNKNOWN)
		return NULL;
	if (t->rank != takes->rank)
		return rule_why(I, "operand %u has rank %d, a branch takes %d", i, t->rank, takes->rank);
	for (int k = 0; k < t->rank; k++)
		if (poly_is_const(rule_polys(I), takes->dims[k], &want) && poly_is_const(rule_polys(I), t->dims[k], &have) &&
		    have != want && (k != axis || have > want))
			return rule_why(I, "operand %u has %lld at axis %d, a branch takes %lld", i, (long long)have, k, (long long)want);
	return NULL;
}

/* What body g takes where operands are made to fit: as it says. */
static const char *fitted(struct infer *I, graph_id g, struct type *in)
{
	const struct graph *b = graph(I->m, g);

	for (size_t i = 0; i < b->in.n; i++) {
		const char *why = fits_branch(I, (uint32_t)i + 1, &val(I->m, b->in.a[i])->type);
		if (why)
			return why;
		in[i] = val(I->m, b->in.a[i])->type;
	}
	return NULL;
}

static const char *check_lists(struct infer *I)
{
	int fit, cut;

	attr_ints(I->n, "fit", &fit);
	attr_ints(I->n, "cut", &cut);
	if (!attr_find(I->n, "fit"))
		return attr_find(I->n, "cut") ? "cut, without fit" : NULL;
	if ((uint32_t)fit + 1 != I->n->nin || (uint32_t)cut != I->n->nout)
		return "fit has not an axis for each operand, or cut not for each result";
	return NULL;
}

/* The size of the operands along the axes along which they are made to fit; unknown where none says. */
static dim rows_of(struct infer *I)
{
	for (uint32_t i = 1; i < I->n->nin; i++) {
		int64_t axis = axis_of(I->n, "fit", i - 1);
		if (axis >= 0 && axis < I->in[i].rank && I->in[i].dims[axis])
			return I->in[i].dims[axis];
	}
	return POLY_UNKNOWN;
}

static const char *cut_results(struct infer *I)
{
	for (uint32_t k = 0; k < I->n->nout; k++) {
		int64_t axis = axis_of(I->n, "cut", k);
		struct type *t = &I->out[k];
		if (axis < -1 || (t->rank != RANK_UNKNOWN && axis >= t->rank))
			return rule_why(I, "cut has an axis that result %u has not", k);
		I->kout[k] = axis < 0 ? I->kout[k] : (struct known){0};
		if (axis < 0 || t->rank == RANK_UNKNOWN)
			continue;
		t->dims = arena_copy(&I->m->arena, t->dims, sizeof *t->dims * (size_t)t->rank);
		t->dims[axis] = rows_of(I);
	}
	return NULL;
}

static const char *shape_branch(struct infer *I)
{
	graph_id g[2];
	const graph_id *all;
	int n = branches_of(I->n, g, &all);
	int64_t pick = -1;
	struct type *out = ARENA_ARRAY(&I->m->arena, struct type, I->n->nout), *in = NULL;
	struct known *known = ARENA_ARRAY(&I->m->arena, struct known, I->n->nout);
	const struct known *given = I->kin + 1;
	bool fixed = I->kin[0].yes && I->kin[0].n == 1 && poly_is_const(rule_polys(I), I->kin[0].e[0], &pick);
	const char *why = check_lists(I);

	if (why)
		return why;
	if (I->n->op == OP_If && fixed)
		pick = pick != 0;
	else if (fixed && (pick < 0 || pick >= n))
		pick = n - 1;
	if (attr_find(I->n, "fit")) {
		in = ARENA_ARRAY(&I->m->arena, struct type, I->n->nin);
		given = ARENA_ARRAY(&I->m->arena, struct known, I->n->nin);
	}
	for (int i = 0, first = 1; i < n; i++) {
		bool taken = !fixed || i == pick; /* else it may be sound for other types only */
		if ((why = body_fits(I, all[i], I->n->nin - 1, I->n->nout)) || (in && taken && (why = fitted(I, all[i], in))))
			return why;
		if ((why = I->body(I, all[i], taken ? in ? in : I->in + 1 : NULL, given, out, known)))
			return why;
		if (!taken)
			continue;
		for (uint32_t k = 0; k < I->n->nout; k++) {
			I->out[k] = first ? out[k] : joined(I, &I->out[k], &out[k]);
			I->kout[k] = first ? known[k] : known_common(I->m, &I->kout[k], &known[k]);
		}
		first = 0;
	}
	return in ? cut_results(I) : NULL;
}

/* t with zeros behind it along an axis, or without its end there, as `dims` say. */
static void copy_fitted(const struct tensor *from, struct tensor *to, int axis)
{
	struct axes3 a = split_at(from, axis), b = split_at(to, axis);
	int64_t n = a.n < b.n ? a.n : b.n, bytes = a.inner * (int64_t)dtype_size(from->dtype);

	for (int64_t i = 0; i < a.outer; i++)
		memcpy(tensor_bytes(to) + i * b.n * bytes, (const char *)from->data + i * a.n * bytes, (size_t)(n * bytes));
}

/* Operand i as body g takes it. *rows: how many it has along its axis. NULL: it does not fit. Strings are taken as they are. */
static struct tensor *fit_operand(struct eval *e, uint32_t i, graph_id g, int64_t *rows)
{
	struct tensor *t = e->in[i];
	int64_t axis = axis_of(e->n, "fit", i - 1), dims[RANK_MAX];
	const struct type *takes = &val(e->m, graph(e->m, g)->in.a[i - 1])->type;
	bool fits = t->kind == KIND_TENSOR && t->rank == takes->rank && type_dims(e->m, takes, dims), same = true;

	for (int k = 0; fits && k < t->rank; k++) {
		fits = t->dims[k] == dims[k] || (k == axis && t->dims[k] < dims[k]);
		same &= t->dims[k] == dims[k];
	}
	if (!fits || (!same && !dtype_size(t->dtype)) || (axis >= 0 && *rows >= 0 && *rows != t->dims[axis]))
		return NULL;
	if (axis >= 0)
		*rows = t->dims[axis];
	if (same)
		return t;
	struct tensor *x = tensor_new(e->tmp, t->dtype, t->rank, dims);
	copy_fitted(t, x, (int)axis);
	return x;
}

static const char *eval_fitted(struct eval *e, graph_id g)
{
	struct tensor **in = eval_scratch(e, sizeof *in * (e->n->nin + 1)), **out = eval_scratch(e, sizeof *out * (e->n->nout + 1));
	int64_t rows = -1, dims[RANK_MAX];
	const char *why;

	if (graph(e->m, g)->in.n + 1 != e->n->nin)
		return "the body does not fit operands and results";
	for (uint32_t i = 1; i < e->n->nin; i++)
		if (!(in[i - 1] = fit_operand(e, i, g, &rows)))
			return eval_why(e, "operand %u does not fit the branch", i);
	memset(out, 0, sizeof *out * (e->n->nout + 1));
	if ((why = e->body(e, g, (int)e->n->nin - 1, in, out)))
		return why;
	for (uint32_t k = 0; k < e->n->nout; k++) {
		int64_t axis = axis_of(e->n, "cut", k);
		struct tensor *t = e->out[k] = out[k];
		if (!t || axis < 0 || rows < 0)
			continue;
		if (t->kind == KIND_TENSOR && axis < t->rank && t->dims[axis] == rows)
			continue;
		if (t->kind != KIND_TENSOR || !dtype_size(t->dtype) || axis >= t->rank || t->dims[axis] < rows)
			return eval_why(e, "result %u cannot be cut", k);
		memcpy(dims, t->dims, sizeof *dims * (size_t)t->rank);
		dims[axis] = rows;
		copy_fitted(t, eval_out(e, (int)k, t->dtype, t->rank, dims), (int)axis);
	}
	return NULL;
}

static const char *eval_branch(struct eval *e)
{
	graph_id g[2];
	const graph_id *all;
	int n = branches_of(e->n, g, &all);
	int64_t pick = tensor_get_int(e->in[0], 0);

	if (e->n->op == OP_If)
		pick = pick != 0;
	else if (pick < 0 || pick >= n)
		pick = n - 1;
	if (attr_find(e->n, "fit"))
		return eval_fitted(e, all[pick]);
	return e->body(e, all[pick], (int)e->n->nin - 1, e->in + 1, e->out);
}

/* ---- MapIndex ---- */

/* The node that makes v, also in a group. */
static const struct node *maker(struct module *m, val_id v)
{
	const struct node *n = val(m, v)->kind == VAL_NODE ? node(m, val(m, v)->def) : NULL;

	if (!n || n->op != OP_Fused)
		return n;
	const struct graph *g = graph(m, attr_graph(n, "graph"));
	val_id inside = val(m, v)->index < g->out.n ? g->out.a[val(m, v)->index] : 0;
	return inside && val(m, inside)->kind == VAL_NODE ? node(m, val(m, inside)->def) : NULL;
}

double gear_expected(struct module *m, node_id choice, uint32_t k)
{
	const struct node *index = maker(m, node(m, choice)->in[0]);
	double all = 0;
	int n = 0;
	uint32_t branches = 0;
	const int64_t *count = index && index->op == OP_MapIndex ? attr_ints(index, "counts", &n) : NULL;

	while (node_branch(node(m, choice), branches))
		branches++;
	for (int i = 0; count && i < n; i++)
		all += (double)count[i];
	return count && k < (uint32_t)n && all > 0 ? (double)count[k] / all : 1.0 / (branches ? branches : 1);
}

enum { GEARS_MAX = 1 << 20, SIZES_MAX = 16 };

/* Size j that is looked for, as far as it is known. */
static const char *gear_size(struct infer *I, int64_t j, dim *d)
{
	int n, of_n;
	const int64_t *axes = attr_ints(I->n, "axes", &n), *of = attr_ints(I->n, "of", &of_n);
	int64_t k = of && j < of_n ? of[j] : 0;

	*d = POLY_UNKNOWN;
	if (!axes) {
		*d = I->kin[0].yes && j < I->kin[0].n ? I->kin[0].e[j] : POLY_UNKNOWN;
		return NULL;
	}
	if (k < 0 || k >= I->n->nin || axes[j] < 0 || (I->in[k].rank != RANK_UNKNOWN && axes[j] >= I->in[k].rank))
		return "an operand has not the axis whose size is looked for";
	if (I->in[k].rank != RANK_UNKNOWN)
		*d = rule_dim(I, (uint32_t)k, (int)axes[j]);
	return NULL;
}

static const char *shape_map(struct infer *I)
{
	struct tensor *t = attr_tensor(I->n, "gears");
	int naxes, noperand = I->n->nin != 1;
	int64_t rows = t && t->rank == 2 ? t->dims[0] : 0, n = rows ? t->dims[1] : 0, size[SIZES_MAX];
	bool known = true;

	if (!t || t->dtype != DT_I64 || rows < 1 || n < 1 || n > SIZES_MAX || rows > GEARS_MAX / n)
		return "gears are no table of i64, or one of too many rows or columns";
	if (attr_ints(I->n, "axes", &naxes) ? naxes != n : noperand)
		return "axes has not one for each size of a gear";
	if (!attr_find(I->n, "axes") && ((I->in[0].dtype && I->in[0].dtype != DT_I64 && I->in[0].dtype != DT_I32) || I->in[0].rank > 1))
		return "operand 0 is no list of i32 or i64";
	int64_t *gears = ARENA_ARRAY(&I->m->arena, int64_t, rows * n);
	tensor_ints(I->m, t, gears, (int)(rows * n));
	for (int64_t i = 1; i < rows; i++)
		if (gears_compare(gears + (i - 1) * n, gears + i * n, n) >= 0)
			return rule_why(I, "row %lld of gears does not come after the one before it", (long long)i);
	for (int64_t j = 0; j < n; j++) {
		dim d;
		const char *why = gear_size(I, j, &d);
		if (why)
			return why;
		known = d && poly_is_const(rule_polys(I), d, &size[j]) && known;
	}
	rule_out(I, 0, DT_I64, 0, NULL);
	int64_t row = known ? gears_find(gears, rows, n, size, attr_i(I->n, "up")) : -1;
	poly *e = row >= 0 ? rule_known(I, 0, 1) : NULL;
	if (e)
		e[0] = rule_const(I, row);
	return NULL;
}

const struct op ops_control[] = {
	{OP_Fused, shape_call, eval_call},
	{OP_Foreign, shape_call, eval_call},
	{OP_PartitionedCall, shape_call, eval_call},
	{OP_If, shape_branch, eval_branch},
	{OP_Case, shape_branch, eval_branch},
	{OP_MapIndex, shape_map, eval_native},
	{0},
};
