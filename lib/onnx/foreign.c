/* Foreign: an operator of another domain that stays whole. Its graph says in ONNX's operators what it computes, so that shapes and
 * values flow through it; export writes the operator as the file had it. */
#include "graph/bodies.h"
#include "onnx/contrib.h"
#include "onnx/export.h"

#define OWN "attr:" /* before the names of the operator's own attributes */

/* Operators that stay whole: not those that look at the graph around them, and not ZipMap, which is an operator of ours. */
static bool stays(const struct node *n)
{
	const char *domain = sym_str(n->domain);

	if (!contrib_is_own(domain, sym_str(n->optype)) && strcmp(domain, "ai.onnx.ml"))
		return false;
	for (uint32_t i = 0; i < n->nattr; i++)
		if (n->attr[i].kind == ATTR_GRAPH || n->attr[i].kind == ATTR_GRAPHS)
			return false;
	return strcmp(sym_str(n->optype), "ZipMap") != 0;
}

/* The operands of node id as inputs of graph g, constants as they are; those that are not given are 0. */
static val_id *body_operands(struct contrib *x, graph_id g)
{
	uint32_t n = self(x)->nin;
	val_id *in = ARENA_ARRAY(&x->m->arena, val_id, n + 1);

	for (uint32_t i = 0; i < n; i++) {
		val_id v = operand(x, i);
		if (!v)
			continue;
		in[i] = graph_add_input(x->m, g, intern_printf("x%u", i), *contrib_type(x, v));
		if (val(x->m, v)->kind == VAL_CONST)
			in[i] = v;
	}
	return in;
}

/* The positions of the values that are given, as an attribute, where not all are; the values close up. */
static uint32_t close_up(struct module *m, node_id id, const char *name, val_id *v, uint32_t n)
{
	int64_t *at = ARENA_ARRAY(&m->arena, int64_t, n + 1);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (v[i]) {
			at[kept] = i;
			v[kept++] = v[i];
		}
	if (kept && at[kept - 1] != kept - 1)
		attr_set_ints(m, id, name, (int)kept, at);
	return kept;
}

static void become_foreign(struct module *m, node_id id, graph_id g)
{
	struct node *n = node(m, id);
	struct attr *attrs = ARENA_ARRAY(&m->arena, struct attr, n->nattr + 1);
	const char *domain = sym_str(n->domain), *optype = sym_str(n->optype);

	for (uint32_t i = 0; i < n->nattr; i++) {
		attrs[i] = n->attr[i];
		attrs[i].name = intern_printf(OWN "%s", sym_str(n->attr[i].name));
	}
	n->attr = attrs;
	n->op = OP_Foreign;
	n->domain = n->optype = 0;
	n->nin = close_up(m, id, "operands", n->in, n->nin);
	n = node(m, id);
	n->nout = close_up(m, id, "results", n->out, n->nout);
	for (uint32_t i = 0; i < n->nout; i++)
		val(m, n->out[i])->index = i;
	attr_set_str(m, id, "domain", domain);
	attr_set_str(m, id, "optype", optype);
	attr_set(m, id, (struct attr){.name = intern("graph"), .kind = ATTR_GRAPH, .u.graph = g});
}

bool foreign_keep(struct importer *c, node_id id)
{
	struct module *m = c->m;
	struct contrib x = {c, m, id, m->nodes.n}, y = x;

	if (!stays(self(&x)))
		return false;
	graph_id g = graph_new(m, intern_printf("%s of %s", sym_str(self(&x)->optype), sym_str(self(&x)->domain)));
	const val_id *in = body_operands(&x, g);
	y.id = node_new_loose(m, g, OP_OTHER, (int)self(&x)->nin, in, (int)self(&x)->nout);
	struct node *n = node(m, y.id);
	n->domain = self(&x)->domain;
	n->optype = self(&x)->optype;
	n->attr = self(&x)->attr;
	n->nattr = self(&x)->nattr;
	val_id *out = arena_copy(&m->arena, n->out, n->nout * sizeof *out);
	for (uint32_t i = 0; i < n->nout; i++)
		if (!self(&x)->out[i])
			out[i] = node(m, y.id)->out[i] = 0;
	if (!contrib_expand(c, y.id))
		return false;
	for (uint32_t i = 0; i < self(&x)->nout; i++)
		if (out[i]) {
			graph_add_output(m, g, out[i], intern_printf("y%u", i));
			val(m, self(&x)->out[i])->type = *contrib_type(&y, out[i]);
		}
	become_foreign(m, id, g);
	vec_push(&graph(m, self(&x)->graph)->nodes, id);
	return true;
}

/* Values at the positions that an attribute gives; *n: how many places there are now. */
static val_id *spread(struct module *m, const struct node *n, const char *name, const val_id *v, uint32_t *count)
{
	int given;
	const int64_t *at = attr_ints(n, name, &given);

	if (!at)
		return arena_copy(&m->arena, v, *count * sizeof *v);
	bool fits = (uint32_t)given == *count;
	for (int i = 0; i < given && fits; i++)
		fits = at[i] >= (i ? at[i - 1] + 1 : 0) && at[i] <= UINT16_MAX;
	if (!fits)
		die(EX_BADDATA, "Foreign: '%s' are no ascending positions, one for each", name);
	uint32_t places = given ? (uint32_t)at[given - 1] + 1 : 0;
	val_id *all = ARENA_ARRAY(&m->arena, val_id, places + 1);
	for (int i = 0; i < given; i++)
		all[at[i]] = v[i];
	*count = places;
	return all;
}

static void restore(struct module *m, node_id id)
{
	struct node *n = node(m, id);
	struct attr *attrs = ARENA_ARRAY(&m->arena, struct attr, n->nattr + 1);
	uint32_t kept = 0;

	n->domain = intern(attr_str(n, "domain", ""));
	n->optype = intern(attr_str(n, "optype", ""));
	n->in = spread(m, n, "operands", n->in, &n->nin);
	n->out = spread(m, n, "results", n->out, &n->nout);
	for (uint32_t i = 0; i < n->nout; i++)
		if (n->out[i])
			val(m, n->out[i])->index = i;
	for (uint32_t i = 0; i < n->nattr; i++) {
		const char *name = sym_str(n->attr[i].name);
		if (strncmp(name, OWN, strlen(OWN)))
			continue;
		attrs[kept] = n->attr[i];
		attrs[kept++].name = intern(name + strlen(OWN));
	}
	n->attr = attrs;
	n->nattr = kept;
	n->op = OP_OTHER;
}

static void mark_untyped(struct exporter *x, node_id id)
{
	while (x->untyped.n <= id)
		vec_push(&x->untyped, false);
	x->untyped.a[id] = true;
}

void export_foreign(struct exporter *x)
{
	struct module *m = x->m;
	struct graph_list order = {0};

	module_graph_order(m, &order);
	for (size_t k = 0; k < order.n; k++)
		for (size_t i = 0; i < graph(m, order.a[k])->nodes.n; i++) {
			node_id id = graph(m, order.a[k])->nodes.a[i];
			if (node(m, id)->op != OP_Foreign)
				continue;
			if (!attr_i(node(m, id), "typed"))
				mark_untyped(x, id);
			restore(m, id);
		}
	vec_free(&order);
}
