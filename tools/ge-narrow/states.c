/* --state-type: caches in fewer bits. Rows are rounded where they come in, and widened where they are read. Codes of 8 bits have a scale for
 * each row, the numbers along the last axis: these are another state, which takes rows as the codes do. */
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include "ge-narrow.h"
#include "common/msg.h"
#include "graph/constants.h"
#include "model/state.h"
#include "op/native.h"
#include "op/op.h"
#include "op/past.h"

enum { CODE_MOST = 127 }; /* -128 is none: codes are as many on both sides of 0 */

struct kept {
	struct module *m;
	enum dtype type;
	val_id in, out;
	bool *path;    /* by node: it takes rows of the state */
	bool *value;   /* by value: the state, as a run goes on */
	val_id *scale; /* by value of the state: the scales of its rows, if they are codes */
	VEC(node_id) order;
};

/* The name of the scales of an input or an output of that name. */
static sym scales_name(struct module *m, sym name) { return intern(arena_printf(&m->arena, "%s.scale", sym_str(name))); }

/* The name that the state has as an output. */
static sym next_name(struct kept *k)
{
	const struct graph *g = graph(k->m, k->m->main);
	size_t i = 0;

	while (g->out.a[i] != k->out)
		i++;
	return g->out_name.a[i];
}

/* May the state be codes of which each row, along its last axis, has a scale? NULL, or why it cannot. */
static const char *why_no_codes(struct kept *k)
{
	struct module *m = k->m;
	const struct type *t = &val(m, k->in)->type;
	const struct graph *g = graph(m, m->main);
	int64_t one;

	for (size_t i = 0; i < g->in.n; i++)
		if (val(m, g->in.a[i])->name == scales_name(m, val(m, k->in)->name))
			return "its scales have an input's name";
	for (size_t i = 0; i < g->out.n; i++)
		if (g->out_name.a[i] == scales_name(m, next_name(k)))
			return "its scales have an output's name";
	if (t->rank < 2 || (poly_is_const(m->dims, t->dims[t->rank - 1], &one) && one == 1))
		return "its rows are of one number";
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = node(m, g->nodes.a[i]);
		if (k->path[g->nodes.a[i]] && (node_joins(n, t->rank) == t->rank - 1 || node_puts_rows(n, t->rank) == t->rank - 1))
			return "its rows come in along the last axis";
	}
	return NULL;
}

/* The value that node n adds rows to, or puts rows into; 0: it does something else. */
static val_id taken(struct module *m, const struct node *n)
{
	int rank = n->nin ? val(m, n->in[0])->type.rank : -1;

	return n->nout == 1 && (node_joins(n, rank) >= 0 || node_puts_rows(n, rank) >= 0) ? n->in[0] : 0;
}

static bool is_rows(struct module *m, const struct node *n, uint32_t i)
{
	return i == 1 || (i > 1 && node_joins(n, val(m, n->in[0])->type.rank) >= 0);
}

/* Follows the state from its output to its input. NULL, or why it cannot be narrower. */
static const char *follow(struct kept *k)
{
	struct module *m = k->m;
	const struct graph *g = graph(m, m->main);
	uint32_t outputs = 0;

	for (val_id v = k->out, next; v != k->in; v = next) {
		node_id n = val(m, v)->kind == VAL_NODE ? val(m, v)->def : 0;
		if (!n || !(next = taken(m, node(m, n))))
			return n ? arena_printf(&m->arena, "%s makes it anew", node_where(m, n, &m->arena)) : "it is another input";
		k->path[n] = k->value[v] = true;
	}
	k->value[k->in] = true;
	for (size_t i = 0; i < g->nodes.n; i++)
		for (uint32_t o = 1; o < node(m, g->nodes.a[i])->nin && k->path[g->nodes.a[i]]; o++)
			if (k->value[node(m, g->nodes.a[i])->in[o]])
				return "it is joined to itself";
	for (size_t i = 0; i < g->out.n; i++)
		outputs += k->value[g->out.a[i]];
	return outputs > 1 ? "it is several outputs" : NULL;
}

static val_id make(struct kept *k, enum opcode op, int nin, const val_id *in)
{
	node_id id = node_new_loose(k->m, k->m->main, op, nin, in, 1);

	vec_push(&k->order, id);
	return node(k->m, id)->out[0];
}

static val_id make2(struct kept *k, enum opcode op, val_id a, val_id b) { return make(k, op, 2, (val_id[]){a, b}); }

static val_id number(struct kept *k, float x) { return const_copy(k->m, 0, DT_F32, 0, NULL, &x, sizeof x); }

/* v in the type, of a new node. */
static val_id cast(struct kept *k, val_id v, enum dtype to)
{
	v = make(k, OP_Cast, 1, &v);
	attr_set_int(k->m, val(k->m, v)->def, "to", dtype_to_onnx(to));
	return v;
}

/* Rows as they are kept; *scale: of codes, else 0. The largest number of a row has the largest code; a row of zeros has a scale, too. */
static val_id rounded(struct kept *k, val_id rows, val_id *scale)
{
	const int64_t last = -1;
	val_id axis = const_copy(k->m, 0, DT_I64, 1, (int64_t[]){1}, &last, sizeof last);

	*scale = 0;
	if (k->type != DT_I8)
		return cast(k, rows, k->type);
	*scale = make2(k, OP_ReduceMax, make(k, OP_Abs, 1, &rows), axis);
	*scale = make2(k, OP_Max, make2(k, OP_Mul, *scale, number(k, 1.0f / CODE_MOST)), number(k, FLT_MIN));
	rows = make2(k, OP_Div, rows, *scale);
	return cast(k, make(k, OP_Round, 1, &rows), k->type);
}

static val_id widened(struct kept *k, val_id v, enum dtype to)
{
	val_id wide = cast(k, v, to);

	return k->scale[v] ? make2(k, OP_Mul, wide, k->scale[v]) : wide;
}

/* Does who reads v, and does not take its rows, look at its elements? */
static bool looks_at(const struct kept *k, node_id id, val_id v)
{
	const struct node *n = node(k->m, id);
	bool reads = false;

	for (uint32_t i = 0; i < n->nin && !k->path[id] && n->op != OP_Shape && n->op != OP_Size; i++)
		reads |= n->in[i] == v;
	return reads;
}

/* Those that look at v read it widened. */
static void widen(struct kept *k, const node_id *nodes, size_t n, val_id v)
{
	val_id wide = 0;

	for (size_t i = 0; i < n; i++) {
		if (!looks_at(k, nodes[i], v))
			continue;
		wide = wide ? wide : widened(k, v, val(k->m, v)->type.dtype);
		for (uint32_t o = 0; o < node(k->m, nodes[i])->nin; o++)
			if (node(k->m, nodes[i])->in[o] == v)
				node(k->m, nodes[i])->in[o] = wide;
	}
	val(k->m, v)->type.dtype = k->type;
}

/* Node n takes rows as they are kept, and what takes their scales does the same. */
static void take(struct kept *k, node_id id)
{
	struct module *m = k->m;
	uint32_t nin = node(m, id)->nin;
	val_id *in = arena_copy(&m->arena, node(m, id)->in, nin * sizeof *in), scale;

	in[0] = k->scale[in[0]];
	for (uint32_t o = 1; o < nin; o++)
		if (is_rows(m, node(m, id), o)) {
			val_id rows = rounded(k, in[o], &scale);
			node(m, id)->in[o] = rows;
			in[o] = scale;
		}
	vec_push(&k->order, id);
	if (!in[0])
		return;
	val_id v = make(k, node(m, id)->op, (int)nin, in);
	for (uint32_t i = 0; i < node(m, id)->nattr; i++)
		attr_set(m, val(m, v)->def, node(m, id)->attr[i]);
	node(m, val(m, v)->def)->name = node(m, id)->name;
	k->scale[node(m, id)->out[0]] = v;
}

/* The scales of the state, an input of their own. */
static void add_scales_in(struct kept *k)
{
	struct module *m = k->m;
	struct type t = val(m, k->in)->type;

	t.dims = arena_copy(&m->arena, t.dims, (size_t)t.rank * sizeof *t.dims);
	t.dims[t.rank - 1] = poly_const(m->dims, 1);
	val_id v = graph_add_input(m, m->main, scales_name(m, val(m, k->in)->name), t);
	k->scale[k->in] = v;
}

static void add_scales_out(struct kept *k)
{
	struct module *m = k->m;
	sym name = scales_name(m, next_name(k));

	graph_add_output(m, m->main, k->scale[k->out], name);
	module_set_meta(m, arena_printf(&m->arena, STATE_ALIAS "%s", sym_str(val(m, k->scale[k->in])->name)), name);
}

static void store(struct kept *k)
{
	struct module *m = k->m;
	size_t n = graph(m, m->main)->nodes.n;
	node_id *nodes = arena_copy(&m->arena, graph(m, m->main)->nodes.a, n * sizeof *nodes);

	if (k->type == DT_I8)
		add_scales_in(k);
	widen(k, nodes, n, k->in);
	for (size_t i = 0; i < n; i++) {
		if (!k->path[nodes[i]]) {
			vec_push(&k->order, nodes[i]);
			continue;
		}
		take(k, nodes[i]);
		widen(k, nodes, n, node(m, nodes[i])->out[0]);
	}
	if (k->type == DT_I8)
		add_scales_out(k);
	graph(m, m->main)->nodes.n = 0;
	for (size_t i = 0; i < k->order.n; i++)
		vec_push(&graph(m, m->main)->nodes, k->order.a[i]);
	vec_free(&k->order);
}

/* The value that input `in` is next; 0: it is not kept. */
static val_id next_of(struct module *m, val_id in)
{
	const struct graph *g = graph(m, m->main);
	const char *name = module_meta(m, arena_printf(&m->arena, STATE_ALIAS "%s", sym_str(val(m, in)->name)));

	for (size_t i = 0; i < g->out.n && name; i++)
		if (!strcmp(name, sym_str(g->out_name.a[i])))
			return g->out.a[i];
	return 0;
}

/* False: the state stays as it is. */
static bool narrow_state(struct module *m, val_id in, val_id out, enum dtype type)
{
	struct kept k = {.m = m, .type = type, .in = in, .out = out};
	const struct type *t = &val(m, in)->type;
	const char *why = t->other || t->dtype != DT_F32 ? "it is not of f32" : NULL;

	k.path = xcalloc(m->nodes.n + 1, sizeof *k.path);
	k.value = xcalloc(m->values.n + 1, sizeof *k.value);
	k.scale = xcalloc(m->values.n + 1, sizeof *k.scale);
	if (!why && !(why = follow(&k)) && !(type == DT_I8 && (why = why_no_codes(&k))))
		store(&k);
	else if (t->dtype != type)
		note("state %s stays %s: %s", sym_str(val(m, in)->name), type_str(m, t, &m->arena), why);
	free(k.path);
	free(k.value);
	free(k.scale);
	return !why;
}

void narrow_states(struct module *m, const struct pass_ctx *c, enum dtype type)
{
	const struct graph *g = graph(m, m->main);
	size_t count = 0, kept = 0, inputs = g->in.n;

	join_pasts(m, c);
	for (size_t i = 0; i < inputs; i++) {
		g = graph(m, m->main);
		val_id in = g->in.a[i], out = next_of(m, in);
		kept += out != 0;
		if (!out || !narrow_state(m, in, out, type))
			continue;
		count++;
		pass_why(c, m, 0, "%s is kept in %s", sym_str(val(m, in)->name), dtype_name(type));
	}
	if (!kept)
		die(EX_BADUSE, "--state-type: no state is named; --alias INPUT=OUTPUT names one");
	if (!count)
		return;
	infer_module(m, NULL);
	if (type == DT_I8)
		note("%zu states kept in i8: each element is rounded, to a part in %d of the largest of its row, when it comes in", count,
		     2 * CODE_MOST);
	else
		note("%zu states kept in %s: each element is rounded, to a part in %d, when it comes in", count, dtype_name(type),
		     type == DT_F16 ? 2048 : 256);
}
