/* Rows that nobody reads are not computed: a Slice of few places along an axis, or a Gather of one, moves before the operators whose result
 * only it reads, where these compute each place along the axis by itself. It moves where it passes a product, at least.
 *
 * An operator that is passed keeps its node: its operands become Slices of what they were, and its result is what the Slice gave. */
#include <stdlib.h>
#include <string.h>
#include "ge-narrow.h"
#include "graph/constants.h"
#include "model/state.h"
#include "op/op.h"

static VEC(const char *) last;    /* --last */
static VEC(const char *) aliases; /* --alias */
static enum dtype state_type;     /* --state-type; DT_NONE: as they are */

enum { DEPTH_MAX = 2000, OPERANDS_MAX = 16 };

/* A Slice along one axis; its other operands are constants. */
struct cut {
	int axis;
	int64_t start, end;
};

enum verdict { NOT_ASKED, NO, YES };

struct narrow {
	struct module *m;
	const struct pass_ctx *ctx;
	uint32_t *uses;       /* by value: operand slots and outputs */
	enum verdict *gain;   /* by node: does a cut of its result, which only one reads, pass a product? */
	size_t nodes, values; /* how many there were: uses and gain are for these */
	VEC(node_id) first;   /* by node: the first of the nodes that come before it, 0: none */
	VEC(node_id) next;    /* by node: the next of those */
	VEC(bool) gone;       /* by node */
	VEC(node_id) todo;    /* Slices */
};

static const struct type *type_of(struct narrow *w, val_id v) { return &val(w->m, v)->type; }

static void grow(struct narrow *w)
{
	while (w->first.n < w->m->nodes.n) {
		vec_push(&w->first, 0);
		vec_push(&w->next, 0);
		vec_push(&w->gone, false);
	}
}

static void put_before(struct narrow *w, node_id n, node_id at)
{
	grow(w);
	w->next.a[n] = w->first.a[at];
	w->first.a[at] = n;
}

/* ---- which axis of which operand ---- */

static bool broadcast_axes(struct narrow *w, const struct node *n, int axis, int *of)
{
	const struct type *y = type_of(w, n->out[0]);
	int64_t one;

	for (uint32_t i = 0; i < n->nin; i++) {
		const struct type *t = n->in[i] ? type_of(w, n->in[i]) : NULL;
		int a = t ? axis - (y->rank - t->rank) : -1;
		if (t && t->rank < 0)
			return false;
		if (a < 0 || (poly_is_const(w->m->dims, t->dims[a], &one) && one == 1 && t->dims[a] != y->dims[axis]))
			continue;
		if (!t->dims[a] || t->dims[a] != y->dims[axis])
			return false;
		of[i] = a;
	}
	return true;
}

/* A scale of one element is for all places; one for each place along an axis is not looked at. */
static bool codes_axes(struct narrow *w, const struct node *n, int axis, int *of)
{
	for (uint32_t i = 1; i < n->nin; i++)
		if (n->in[i] && type_of(w, n->in[i])->rank != 0)
			return false;
	of[0] = axis;
	return true;
}

static bool product_axes(struct narrow *w, const struct node *n, int axis, int *of)
{
	const struct type *a = type_of(w, n->in[0]), *b = type_of(w, n->in[1]), *y = type_of(w, n->out[0]);
	int64_t one;

	if (a->rank < 2 || b->rank < 2 || axis == y->rank - 1 || n->nin > 2)
		return false;
	if (axis == y->rank - 2) {
		of[0] = a->rank - 2;
		return true;
	}
	for (int i = 0; i < 2; i++) {
		const struct type *t = i ? b : a;
		int k = axis - (y->rank - t->rank);
		if (k < 0 || (poly_is_const(w->m->dims, t->dims[k], &one) && one == 1))
			continue;
		if (!t->dims[k] || t->dims[k] != y->dims[axis])
			return false;
		of[i] = k;
	}
	return true;
}

static bool gemm_axes(struct narrow *w, const struct node *n, int axis, int *of)
{
	const struct type *c = n->nin > 2 && n->in[2] ? type_of(w, n->in[2]) : NULL;

	if (axis != 0 || attr_i(n, "transA") || (c && c->rank < 0) || (c && c->rank == 2 && c->dims[0] != type_of(w, n->out[0])->dims[0]))
		return false;
	of[0] = 0;
	if (c && c->rank == 2)
		of[2] = 0;
	return true;
}

/* Operators that look along their last axes, from attribute `axis` on. */
static bool along_axes(struct narrow *w, const struct node *n, int axis, int *of)
{
	int64_t from = attr_i(n, "axis");

	if (axis >= (from < 0 ? from + type_of(w, n->in[0])->rank : from))
		return false;
	for (uint32_t k = 1; k < n->nout; k++)
		if (n->out[k] && w->uses[n->out[k]])
			return false;
	of[0] = axis;
	return true;
}

static bool transposed_axes(struct narrow *w, const struct node *n, int axis, int *of)
{
	int count;
	const int64_t *perm = attr_ints(n, "perm", &count);

	of[0] = perm ? (int)perm[axis] : type_of(w, n->out[0])->rank - 1 - axis;
	return !perm || count == type_of(w, n->out[0])->rank;
}

/* The axes up to this one stay as they are. */
static bool reshaped_axes(struct narrow *w, const struct node *n, int axis, int *of)
{
	const struct type *x = type_of(w, n->in[0]), *y = type_of(w, n->out[0]);
	struct tensor *shape = node_const(w->m, n, 1);

	if (axis >= x->rank || !shape || shape->dtype != DT_I64 || tensor_count(shape) != y->rank || attr_i(n, "allowzero"))
		return false;
	for (int k = 0; k <= axis; k++)
		if (!x->dims[k] || x->dims[k] != y->dims[k])
			return false;
	of[0] = axis;
	return true;
}

/* Of each operand the axis along which it is cut, -1: none. false: the operator cannot be passed. */
static bool axes_of(struct narrow *w, const struct node *n, int axis, int *of)
{
	const struct type *y = n->nout ? type_of(w, n->out[0]) : NULL;

	if (!y || y->rank < 1 || axis >= y->rank || n->nin > OPERANDS_MAX)
		return false;
	for (uint32_t i = 0; i < n->nin; i++) {
		of[i] = -1;
		if (n->in[i] && type_of(w, n->in[i])->rank < 0)
			return false;
	}
	switch (n->op) {
	case OP_QuantizeLinear:
	case OP_DequantizeLinear: return codes_axes(w, n, axis, of);
	case OP_MatMul:
	case OP_MatMulInteger: return product_axes(w, n, axis, of);
	case OP_Gemm: return gemm_axes(w, n, axis, of);
	case OP_LayerNormalization:
	case OP_RMSNormalization:
	case OP_Softmax:
	case OP_LogSoftmax: return along_axes(w, n, axis, of);
	case OP_Transpose: return transposed_axes(w, n, axis, of);
	case OP_Reshape: return reshaped_axes(w, n, axis, of);
	default: return op_is(n->op, OP_ELEMENTWISE) && op_is(n->op, OP_PURE) && n->nout == 1 && broadcast_axes(w, n, axis, of);
	}
}

static bool is_product(const struct node *n) { return n->op == OP_MatMul || n->op == OP_MatMulInteger || n->op == OP_Gemm; }

/* The node that computes v for one reader alone, as it was when the pass began. */
static node_id maker(struct narrow *w, val_id v)
{
	const struct value *x = val(w->m, v);

	return v < w->values && x->kind == VAL_NODE && w->uses[v] == 1 && x->def < w->nodes && x->index == 0 ? x->def : 0;
}

/* Would a cut of n's result along the axis pass a product? */
static bool gains(struct narrow *w, node_id id, int axis, int depth)
{
	const struct node *n = node(w->m, id);
	int of[OPERANDS_MAX];

	if (w->gain[id] != NOT_ASKED || depth > DEPTH_MAX)
		return w->gain[id] == YES;
	w->gain[id] = NO;
	if (!axes_of(w, n, axis, of))
		return false;
	bool yes = is_product(n);
	for (uint32_t i = 0; i < n->nin && !yes; i++) {
		node_id p = of[i] >= 0 ? maker(w, n->in[i]) : 0;
		yes = p && gains(w, p, of[i], depth + 1);
	}
	w->gain[id] = yes ? YES : NO;
	return yes;
}

/* ---- moving ---- */

static val_id ints(struct narrow *w, int64_t x) { return const_copy(w->m, 0, DT_I64, 1, (int64_t[]){1}, &x, sizeof x); }

/* A new Slice of v before node `at`. */
static val_id sliced(struct narrow *w, val_id v, const struct cut *c, int axis, node_id at)
{
	node_id id = node_new_loose(w->m, w->m->main, OP_Slice, 4, (val_id[]){v, ints(w, c->start), ints(w, c->end), ints(w, axis)}, 1);

	node(w->m, id)->name = node(w->m, at)->name;
	put_before(w, id, at);
	infer_node(w->m, id, NULL);
	return node(w->m, id)->out[0];
}

/* false: it is no Slice of constant places along one axis. */
static bool read_cut(struct narrow *w, node_id id, struct cut *c)
{
	const struct node *n = node(w->m, id);
	int64_t v[5] = {0, 0, 0, 0, 1};
	int rank = type_of(w, n->in[0])->rank;

	if (n->op != OP_Slice || rank < 1)
		return false;
	for (uint32_t i = 1; i < n->nin; i++) {
		struct tensor *t = n->in[i] ? node_const(w->m, n, i) : NULL;
		if (n->in[i] && (!t || tensor_ints(w->m, t, &v[i], 1) != 1))
			return false;
	}
	*c = (struct cut){(int)(v[3] < 0 ? v[3] + rank : v[3]), v[1], v[2]};
	return v[4] == 1 && c->axis >= 0 && c->axis < rank;
}

/* Half of the places at most are left. */
static bool is_narrow(struct narrow *w, node_id id, const struct cut *c)
{
	const struct type *x = type_of(w, node(w->m, id)->in[0]), *y = type_of(w, node(w->m, id)->out[0]);
	int64_t all, left;

	if (y->rank != x->rank || !poly_is_const(w->m->dims, y->dims[c->axis], &left))
		return false;
	return !poly_is_const(w->m->dims, x->dims[c->axis], &all) || left * 2 <= all;
}

/* Entry `axis` of a Reshape's shape is what is left there. */
static void set_extent(struct narrow *w, node_id id, int axis, int64_t extent)
{
	struct tensor *old = node_const(w->m, node(w->m, id), 1);
	int64_t shape[RANK_MAX], n = tensor_ints(w->m, old, shape, RANK_MAX);

	if (shape[axis])
		shape[axis] = extent;
	node(w->m, id)->in[1] = const_copy(w->m, 0, DT_I64, 1, &n, shape, (size_t)n * sizeof *shape);
}

/* Slice s passes the node that makes its operand, which becomes the node of its result. */
static void pass_one(struct narrow *w, node_id s, const struct cut *c)
{
	val_id v = node(w->m, s)->in[0], y = node(w->m, s)->out[0];
	node_id p = val(w->m, v)->def;
	int of[OPERANDS_MAX];
	int64_t left = 0;

	if (!axes_of(w, node(w->m, p), c->axis, of)) /* it was asked of another axis */
		return;
	poly_is_const(w->m->dims, type_of(w, y)->dims[c->axis], &left);
	if (node(w->m, p)->op == OP_Reshape)
		set_extent(w, p, c->axis, left);
	for (uint32_t i = 0; i < node(w->m, p)->nin; i++) {
		if (of[i] < 0)
			continue;
		val_id x = sliced(w, node(w->m, p)->in[i], c, of[i], p);
		node(w->m, p)->in[i] = x;
		vec_push(&w->todo, val(w->m, x)->def);
	}
	node(w->m, p)->out = arena_copy(&w->m->arena, &y, sizeof y);
	node(w->m, p)->nout = 1;
	val(w->m, y)->def = p;
	val(w->m, y)->index = 0;
	grow(w);
	w->gone.a[s] = true;
	pass_why(w->ctx, w->m, p, "computes only what is read of it along axis %d", c->axis);
}

static void move_up(struct narrow *w, node_id s)
{
	struct cut c;
	node_id p = read_cut(w, s, &c) && is_narrow(w, s, &c) ? maker(w, node(w->m, s)->in[0]) : 0;

	if (p && gains(w, p, c.axis, 0))
		pass_one(w, s, &c);
}

/* A Gather of one place, where its cut would gain: a Slice of that place, and the Gather of it. */
static void split_gather(struct narrow *w, node_id id)
{
	const struct node *n = node(w->m, id);
	struct tensor *t = node_const(w->m, n, 1);
	int rank = type_of(w, n->in[0])->rank;
	int64_t axis = attr_i(n, "axis"), all, at;
	node_id p = maker(w, n->in[0]);

	axis += axis < 0 ? rank : 0;
	if (!p || !t || rank < 1 || tensor_ints(w->m, t, &at, 1) != 1 || !gains(w, p, (int)axis, 0))
		return;
	bool known = poly_is_const(w->m->dims, type_of(w, n->in[0])->dims[axis], &all);
	if (known ? at < -all || at >= all || all < 2 : at != 0 && at != -1) /* what is there is refused in time, or not */
		return;
	struct cut c = {(int)axis, at, at == -1 ? INT64_MAX : at + 1};
	val_id v = sliced(w, n->in[0], &c, (int)axis, id),
	       zero = const_tensor(w->m, 0, tensor_new(&w->m->arena, t->dtype, t->rank, t->dims));
	node(w->m, id)->in[0] = v;
	node(w->m, id)->in[1] = zero;
	vec_push(&w->todo, val(w->m, v)->def);
}

/* ---- --last ---- */

/* An output keeps the last place of its last axis but one. */
static void keep_last(struct narrow *w, const char *name)
{
	struct graph *g = graph(w->m, w->m->main);
	size_t k = 0;

	while (k < g->out.n && g->out_name.a[k] != intern(name))
		k++;
	if (k == g->out.n)
		die(EX_BADUSE, "%s: no output '%s'; ge-stat lists the outputs", w->m->source ? w->m->source : "standard input", name);
	const struct type *t = type_of(w, g->out.a[k]);
	int64_t axis = t->rank - 2, n;
	if (t->rank < 2)
		die(EX_BADUSE, "%s: output '%s' has no axis before its last one", w->m->source ? w->m->source : "standard input", name);
	if (poly_is_const(w->m->dims, t->dims[axis], &n) && n == 1)
		return;
	node_id id = node_new(w->m, w->m->main, OP_Slice, 4, (val_id[]){g->out.a[k], ints(w, -1), ints(w, INT64_MAX), ints(w, axis)}, 1);
	infer_node(w->m, id, NULL);
	graph(w->m, w->m->main)->out.a[k] = node(w->m, id)->out[0];
}

static void count_uses(struct narrow *w)
{
	const struct graph *g = graph(w->m, w->m->main);

	for (size_t i = 0; i < g->nodes.n; i++)
		for (uint32_t k = 0; k < node(w->m, g->nodes.a[i])->nin; k++)
			w->uses[node(w->m, g->nodes.a[i])->in[k]]++;
	for (size_t k = 0; k < g->out.n; k++)
		w->uses[g->out.a[k]]++;
}

/* Every node behind those that were put before it, without those that are gone. */
static void put_in_order(struct narrow *w)
{
	struct graph *g = graph(w->m, w->m->main);
	VEC(node_id) order = {0};
	bool *dead = xcalloc(w->m->nodes.n, sizeof *dead);

	grow(w);
	for (size_t i = 0; i < g->nodes.n; i++) {
		for (node_id k = w->first.a[g->nodes.a[i]]; k; k = w->next.a[k])
			vec_push(&order, k);
		vec_push(&order, g->nodes.a[i]);
	}
	g->nodes.n = 0;
	for (size_t i = 0; i < order.n; i++) {
		vec_push(&g->nodes, order.a[i]);
		dead[order.a[i]] = w->gone.a[order.a[i]];
	}
	module_drop_nodes(w->m, dead);
	vec_free(&order);
	free(dead);
}

/* needs: shapes. keeps: the outputs (but those of --last), all inputs. leaves: no product of which only a few places along an axis are
 * read, if nothing but operators that compute each place by itself stands between. */
static void narrow(struct module *m, const struct pass_ctx *ctx)
{
	struct narrow w = {.m = m, .ctx = ctx};

	states_declare(m, aliases.n, aliases.a);
	if (state_type)
		narrow_states(m, ctx, state_type);
	for (size_t i = 0; i < last.n; i++)
		keep_last(&w, last.a[i]);
	w.nodes = m->nodes.n;
	w.values = m->values.n;
	w.uses = xcalloc(w.values, sizeof *w.uses);
	w.gain = xcalloc(w.nodes, sizeof *w.gain);
	count_uses(&w);
	grow(&w);
	for (size_t i = graph(m, m->main)->nodes.n; i-- > 0;) {
		node_id id = graph(m, m->main)->nodes.a[i];
		if (node(m, id)->op == OP_Slice)
			vec_push(&w.todo, id);
		else if (node(m, id)->op == OP_Gather)
			split_gather(&w, id);
		while (w.todo.n)
			move_up(&w, w.todo.a[--w.todo.n]);
	}
	put_in_order(&w);
	free(w.uses);
	free(w.gain);
	vec_free(&w.first);
	vec_free(&w.next);
	vec_free(&w.gone);
	vec_free(&w.todo);
}

enum { KEY_LAST = 'l', KEY_ALIAS = 1000, KEY_STATE_TYPE };
static const struct argp_option options[] = {
	{"last", KEY_LAST, "OUTPUT", 0, "keep the last place of this output along its last axis but one (may be repeated)", 0},
	{"alias", KEY_ALIAS, "INPUT=OUTPUT", 0, "the library will keep INPUT: what OUTPUT is in one run, INPUT is in the next", 0},
	{"state-type", KEY_STATE_TYPE, "TYPE", 0, "caches that are kept are of TYPE: f16, bf16 or i8", 0},
	{0},
};

static error_t option(int key, char *arg)
{
	switch (key) {
	case KEY_LAST: vec_push(&last, arg); return 0;
	case KEY_ALIAS: vec_push(&aliases, arg); return 0;
	case KEY_STATE_TYPE:
		state_type = dtype_parse(arg, strlen(arg));
		if (state_type != DT_F16 && state_type != DT_BF16 && state_type != DT_I8)
			die(EX_BADUSE, "--state-type %s: takes f16, bf16 or i8", arg);
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct pass pass = {
	.run = narrow,
	.contract = "needs shapes; keeps the outputs (but --last); leaves no product of which few rows are read",
};

const struct tool tool = {
	.name = "ge-narrow",
	.summary = "Compute only the rows that are read.",
	PASS_TOOL(pass),
	.options = options,
	.option = option,
};
