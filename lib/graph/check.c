/* The checker: what a module promises its passes. Linear. */
#include <inttypes.h>
#include <string.h>
#include "common/msg.h"
#include "graph/bodies.h"
#include "graph/check.h"
#include "graph/layout.h"
#include "graph/pass.h"

struct checker {
	struct module *m;
	bool *placed;        /* by value: defined before the point reached */
	bool *listed;        /* by node: seen in an order */
	uint32_t *graph_pos; /* position in the order of graphs, from 1 */
};

#define WHY(...) arena_printf(&c->m->arena, __VA_ARGS__)

static const char *check_type(struct checker *c, const struct type *t)
{
	if (t->dtype >= DT_COUNT || t->rank < RANK_UNKNOWN || t->rank > RANK_MAX || (t->rank > 0 && !t->dims))
		return WHY("broken type (rank %d)", t->rank);
	if (!t->layout)
		return NULL;
	struct layout l;
	const char *why = t->rank == RANK_UNKNOWN || t->other ? "a layout of something of unknown rank"
							      : layout_parse(&l, t->rank, sym_str(t->layout));
	return why ? WHY("layout \"%s\" of rank %d: %s", sym_str(t->layout), t->rank, why) : NULL;
}

static const char *check_strings(struct checker *c, const struct tensor *t, int64_t count)
{
	const unsigned char *p = t->data;
	size_t left = t->nbytes;
	for (int64_t i = 0; i < count; i++) {
		uint32_t n;
		if (left < 4)
			return WHY("%" PRId64 " strings in %zu bytes", count, t->nbytes);
		memcpy(&n, p, 4);
		if (n > left - 4)
			return WHY("string %" PRId64 " ends outside its tensor", i);
		p += 4 + (size_t)n;
		left -= 4 + (size_t)n;
	}
	return left ? WHY("%zu bytes behind the last string", left) : NULL;
}

static const char *check_tensor(struct checker *c, const struct tensor *t)
{
	if (!t || t->dtype == DT_NONE || t->dtype >= DT_COUNT || t->rank < 0 || t->rank > RANK_MAX)
		return "tensor without type";
	int64_t count = 1, bytes;
	bool zero = false, large = false;
	for (int i = 0; i < t->rank; i++) {
		if (t->dims[i] < 0)
			return WHY("tensor with dimension %" PRId64, t->dims[i]);
		zero |= t->dims[i] == 0;
		large |= __builtin_mul_overflow(count, t->dims[i], &count);
	}
	if (zero)
		count = 0;
	else if (large)
		return "tensor with more than 2^63 elements";
	if (t->dtype == DT_STR)
		return t->data ? check_strings(c, t, count) : NULL;
	if (__builtin_mul_overflow(count, (int64_t)dtype_size(t->dtype), &bytes) || (uint64_t)bytes != t->nbytes)
		return WHY("tensor %s of %" PRId64 " elements has %zu bytes", dtype_name(t->dtype), count, t->nbytes);
	return NULL;
}

static const char *value_name(struct checker *c, val_id v)
{
	sym name = val(c->m, v)->name;
	return name ? sym_str(name) : WHY("value %u", v);
}

static const char *check_const(struct checker *c, val_id v)
{
	const struct value *x = val(c->m, v);
	const char *why = check_tensor(c, x->tensor);
	if (why)
		return WHY("constant '%s': %s", value_name(c, v), why);
	if (x->type.dtype != x->tensor->dtype || x->type.rank != x->tensor->rank)
		return WHY("constant '%s': its type is not that of its tensor", value_name(c, v));
	return NULL;
}

/* v may be read in graph g at this point. what: "operand 2". */
static const char *check_use(struct checker *c, graph_id g, val_id v, const char *what, uint32_t i)
{
	struct module *m = c->m;
	if (v >= m->values.n)
		return WHY("%s %u does not exist", what, i);
	const struct value *x = val(m, v);
	if (x->kind == VAL_CONST) {
		const char *why = c->placed[v] ? NULL : check_const(c, v);
		c->placed[v] = true;
		return why;
	}
	if (x->graph != g)
		return WHY("%s %u: '%s' belongs to another graph", what, i, value_name(c, v));
	if (!c->placed[v])
		return WHY("%s %u: '%s' is not defined before it is used", what, i, value_name(c, v));
	return NULL;
}

static const char *count_str(struct checker *c, int least, int most)
{
	if (least == most)
		return WHY("%d", least);
	return most < 0 ? WHY("at least %d", least) : WHY("%d to %d", least, most);
}

static const char *check_arity(struct checker *c, const struct node *n)
{
	const struct op_info *o = op_info(n->op);
	if (n->op == OP_OTHER)
		return n->optype ? NULL : "operator without a name";
	if ((int64_t)n->nin < o->min_in || (o->max_in >= 0 && n->nin > (uint32_t)o->max_in))
		return WHY("%u operands, not %s", n->nin, count_str(c, o->min_in, o->max_in));
	if ((int64_t)n->nout < o->min_out || (o->max_out >= 0 && n->nout > (uint32_t)o->max_out))
		return WHY("%u results, not %s", n->nout, count_str(c, o->min_out, o->max_out));
	/* Of any number of alike operands all are there; calls and bodies pass on what is absent. */
	bool alike = o->max_in < 0 && !op_is(n->op, OP_CALL) && !op_is(n->op, OP_CONTROL);
	for (uint32_t i = 0; i < (alike ? n->nin : (uint32_t)o->min_in); i++)
		if (!n->in[i])
			return WHY("operand %u is missing", i);
	return NULL;
}

static const char kind_letters[] = {
	[ATTR_INT] = 'i',  [ATTR_FLOAT] = 'f',  [ATTR_STR] = 's',   [ATTR_INTS] = 'I',   [ATTR_FLOATS] = 'F',
	[ATTR_STRS] = 'S', [ATTR_TENSOR] = 't', [ATTR_GRAPH] = 'g', [ATTR_GRAPHS] = 'G', [ATTR_TYPE] = 'y',
};

static const char *kind_name(char letter)
{
	static const struct {
		char letter;
		const char *name;
	} names[] = {
		{'i', "an integer"}, {'f', "a float"},  {'s', "a string"}, {'I', "integers"}, {'F', "floats"},
		{'S', "strings"},    {'t', "a tensor"}, {'g', "a graph"},  {'G', "graphs"},   {'y', "a type"},
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].letter == letter)
			return names[i].name;
	return "nothing";
}

/* A graph that an attribute of a node of graph g names: it exists, and does not lead back to g. */
static const char *check_callee(struct checker *c, graph_id g, graph_id callee)
{
	if (callee == 0 || callee >= c->m->graphs.n)
		return "names a graph that does not exist";
	if (c->graph_pos[callee] >= c->graph_pos[g])
		return WHY("graph '%s' contains itself", sym_str(graph(c->m, callee)->name));
	return NULL;
}

static const char *check_attr(struct checker *c, const struct node *n, const struct attr *a)
{
	const char *why = NULL;
	if (a->kind >= sizeof kind_letters)
		return WHY("attribute '%s' of no kind", sym_str(a->name));
	char want = op_attr_kind(n->op, sym_str(a->name)), is = kind_letters[a->kind];
	if (want && want != is)
		return WHY("attribute '%s' is %s, not %s", sym_str(a->name), kind_name(is), kind_name(want));
	if (a->kind == ATTR_TENSOR)
		why = check_tensor(c, a->u.tensor);
	else if (a->kind == ATTR_GRAPH)
		why = check_callee(c, n->graph, a->u.graph);
	for (uint32_t k = 0; a->kind == ATTR_GRAPHS && k < a->n && !why; k++)
		why = check_callee(c, n->graph, a->u.graphs[k]);
	return why ? WHY("attribute '%s': %s", sym_str(a->name), why) : NULL;
}

static const char *check_required(struct checker *c, const struct node *n)
{
	const char *p = op_info(n->op)->attrs;
	struct op_attr a;
	while (op_attr_next(&p, &a)) {
		char name[64];
		if (!a.required)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)a.len, a.name);
		if (!attr_find(n, name))
			return WHY("attribute '%s' is missing", name);
	}
	return NULL;
}

static const char *check_attrs(struct checker *c, const struct node *n)
{
	for (uint32_t i = 0; i < n->nattr; i++) {
		const char *why = check_attr(c, n, &n->attr[i]);
		if (why)
			return why;
		if (i && strcmp(sym_str(n->attr[i - 1].name), sym_str(n->attr[i].name)) >= 0)
			return WHY("attribute '%s' twice, or out of order", sym_str(n->attr[i].name));
	}
	return check_required(c, n);
}

/* Bodies take and give what their node passes on, all of it. */
static const char *check_bodies(struct checker *c, const struct node *n)
{
	graph_id b;
	if (!op_is(n->op, OP_CALL) && !op_is(n->op, OP_CONTROL))
		return NULL;
	struct passing p = node_passing(n);
	for (uint32_t i = n->op == OP_Loop ? 2 : 0; i < n->nin; i++) /* trip count and condition may be left out */
		if (!n->in[i])
			return WHY("operand %u is missing", i);
	for (uint32_t k = 0; (b = node_body(n, k)); k++) {
		const struct graph *g = graph(c->m, b);
		if (p.results ? g->in.n != p.operands : g->in.n < p.operands)
			return WHY("graph '%s' takes %zu inputs and gets %u", sym_str(g->name), g->in.n, p.operands);
		if (p.results && g->out.n != n->nout)
			return WHY("graph '%s' gives %zu outputs, not %u", sym_str(g->name), g->out.n, n->nout);
	}
	return NULL;
}

static const char *check_node(struct checker *c, graph_id g, node_id id)
{
	struct module *m = c->m;
	const struct node *n = node(m, id);
	const char *why = NULL;
	if (n->op >= OP_COUNT || n->graph != g)
		return "node of another graph";
	if (c->listed[id])
		return "node listed twice";
	c->listed[id] = true;
	if ((why = check_arity(c, n)))
		return why;
	for (uint32_t i = 0; i < n->nin && !why; i++)
		if (n->in[i])
			why = check_use(c, g, n->in[i], "operand", i);
	for (uint32_t i = 0; i < n->nout && !why; i++) {
		val_id v = n->out[i];
		if (!v)
			continue;
		if (v >= m->values.n)
			return WHY("result %u does not exist", i);
		const struct value *x = val(m, v);
		if (x->kind != VAL_NODE || x->def != id || x->index != i || x->graph != g)
			return WHY("result %u: '%s' is defined twice", i, value_name(c, v));
		c->placed[v] = true;
		why = check_type(c, &x->type);
	}
	if (!why)
		why = check_attrs(c, n);
	return why ? why : check_bodies(c, n);
}

/* An input's default is what the input may be. */
static const char *check_default(struct checker *c, val_id v)
{
	const struct value *x = val(c->m, v);
	const struct tensor *t = x->tensor;
	int64_t d;

	if (!t)
		return NULL;
	const char *why = check_tensor(c, t);
	if (why)
		return WHY("default of input '%s': %s", value_name(c, v), why);
	if (x->type.other || (x->type.dtype != t->dtype && x->type.dtype != DT_NONE))
		return WHY("input '%s' is %s, its default %s", value_name(c, v), x->type.other ? "no tensor" : dtype_name(x->type.dtype),
			   dtype_name(t->dtype));
	if (x->type.rank == RANK_UNKNOWN)
		return NULL;
	if (x->type.rank != t->rank)
		return WHY("input '%s' has rank %d, its default %d", value_name(c, v), x->type.rank, t->rank);
	for (int k = 0; k < t->rank; k++)
		if (poly_is_const(c->m->dims, x->type.dims[k], &d) && d != t->dims[k])
			return WHY("input '%s' has %" PRId64 " in dimension %d, its default %" PRId64, value_name(c, v), d, k, t->dims[k]);
	return NULL;
}

static const char *check_ends(struct checker *c, graph_id id, bool inputs)
{
	struct module *m = c->m;
	const struct graph *g = graph(m, id);
	const char *why = NULL;
	for (uint32_t i = 0; inputs && i < g->in.n && !why; i++) {
		val_id v = g->in.a[i];
		const struct value *x = v < m->values.n ? val(m, v) : NULL;
		if (!v || !x || x->kind != VAL_INPUT || x->graph != id || x->index != i || c->placed[v])
			return WHY("input %u is broken", i);
		c->placed[v] = true;
		why = check_type(c, &x->type);
		if (!why && id == m->main && x->type.dtype == DT_NONE && !x->type.other)
			why = WHY("input '%s' has no element type", value_name(c, v));
		why = why ? why : check_default(c, v);
	}
	if (!inputs && g->out_name.n != g->out.n)
		return "outputs without names";
	for (uint32_t i = 0; !inputs && i < g->out.n && !why; i++)
		why = g->out.a[i] ? check_use(c, id, g->out.a[i], "output", i) : WHY("output %u is missing", i);
	return why;
}

static const char *check_graph(struct checker *c, graph_id g, node_id *n)
{
	*n = 0;
	const char *why = check_ends(c, g, true);
	for (size_t i = 0; i < graph(c->m, g)->nodes.n && !why; i++) {
		*n = graph(c->m, g)->nodes.a[i];
		if (!*n || *n >= c->m->nodes.n) {
			*n = 0;
			return "node that does not exist";
		}
		why = check_node(c, g, *n);
	}
	if (why)
		return why;
	*n = 0;
	return check_ends(c, g, false);
}

const char *module_check(struct module *m, node_id *n, graph_id *g)
{
	const char *why = NULL;
	struct graph_list order = {0};
	*n = 0;
	*g = m->main;
	if (!m->main || m->main >= m->graphs.n) {
		*g = 0;
		return "module without a main graph";
	}
	struct checker c = {
		.m = m,
		.placed = xcalloc(m->values.n, sizeof *c.placed),
		.listed = xcalloc(m->nodes.n, sizeof *c.listed),
		.graph_pos = xcalloc(m->graphs.n, sizeof *c.graph_pos),
	};
	module_graph_order(m, &order);
	for (size_t i = 0; i < order.n; i++)
		c.graph_pos[order.a[i]] = (uint32_t)i + 1;
	for (size_t i = 0; i < order.n && !why; i++) {
		*g = order.a[i];
		why = check_graph(&c, *g, n);
	}
	free(c.placed);
	free(c.listed);
	free(c.graph_pos);
	vec_free(&order);
	return why;
}

void module_check_or_die(struct module *m)
{
	node_id n;
	graph_id g;
	const char *why = module_check(m, &n, &g);
	if (!why)
		return;
	if (n)
		graph_die(m, n, "%s", why);
	graph_die(m, 0, "%s: %s", g ? sym_str(graph(m, g)->name) : "module", why);
}
