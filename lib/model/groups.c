/* What can be compiled: every node of a section in a group, every value of a known type. */
#include <stdlib.h>
#include <string.h>
#include "model/model_impl.h"
#include "graph/bodies.h"
#include "graph/inline.h"
#include "graph/kinds.h"
#include "graph/pass.h"
#include "lower/lower.h"
#include "op/op.h"

noreturn void model_die_at(struct module *m, node_id n, enum exit_code code, const char *why)
{
	die(code, "%s: %s%s%s", m->source ? m->source : "-", n ? node_where(m, n, &m->arena) : "", n ? ": " : "", why);
}

/* A tensor, or made of tensors; and no default of strings, which weights do not hold. */
static void check_kind(struct module *m, node_id n, val_id v)
{
	const struct type *t = &val(m, v)->type;

	if (type_kind(t) == KIND_OTHER || (val(m, v)->kind == VAL_INPUT && val(m, v)->tensor && !dtype_size(t->dtype)))
		model_die_at(m, n, EX_NOTAVAIL,
			     arena_printf(&m->arena, "%s is %s%s", sym_str(val(m, v)->name), type_str(m, t, &m->arena),
					  type_kind(t) == KIND_OTHER ? ", which cannot be compiled" : " with a default"));
}

/* Strings that are constant and an output are computed: weights do not hold them. */
static void compute_texts(struct module *m, graph_id g)
{
	for (size_t k = 0; k < graph(m, g)->out.n; k++) {
		val_id v = graph(m, g)->out.a[k];
		if (val(m, v)->kind != VAL_CONST || val(m, v)->type.dtype != DT_STR)
			continue;
		graph(m, g)->out.a[k] = node_identity_of(m, g, v);
		val(m, graph(m, g)->out.a[k])->name = intern_printf("%s_copy", sym_str(graph(m, g)->out_name.a[k]));
	}
}

/* Dies if value v cannot have a place in memory. */
static void check_size(struct module *m, node_id n, val_id v)
{
	const struct type *t = &val(m, v)->type;

	if (n && node(m, n)->op == OP_OTHER)
		model_die_at(m, n, EX_NOTAVAIL, op_unknown(m));
	check_kind(m, n, v);
	if (!t->dtype && !t->other)
		model_die_at(m, n, EX_NOTAVAIL, arena_printf(&m->arena, "the type of %s is not known", sym_str(val(m, v)->name)));
}

/* Dies if anything is larger than what can be addressed. After this, sums and products of sizes do not overflow. */
static void check_sizes(struct module *m)
{
	for (val_id v = 1; v < m->values.n; v++) {
		const struct type *t = &val(m, v)->type;
		int64_t count = type_static(m, t) ? type_count(m, t) : 0;
		if (count < 0 || count >> (ADDRESS_BITS - ELEMENT_BITS))
			model_die_at(m, val(m, v)->def, EX_NOTAVAIL,
				     arena_printf(&m->arena, "%s, %s, is larger than any memory", sym_str(val(m, v)->name),
						  type_str(m, t, &m->arena)));
	}
}

/* The evaluator computes all nodes of a graph, also in bodies. (No recursion without end: graphs contain only those
 * before them.) */
void evaluators_check(struct module *m, graph_id g)
{
	for (size_t i = 0; i < graph(m, g)->nodes.n; i++) {
		node_id id = graph(m, g)->nodes.a[i];
		const char *why = op_unable(m, node(m, id));
		graph_id body;
		if (why)
			model_die_at(m, id, EX_NOTAVAIL, why);
		for (uint32_t k = 0; (body = node_body(node(m, id), k)); k++)
			evaluators_check(m, body);
	}
}

/* Puts node number i of graph g into a group of its own. Its results keep their ids, so that other nodes need no change. */
static void wrap(struct module *m, graph_id g, size_t i)
{
	node_id id = graph(m, g)->nodes.a[i];
	struct node old = *node(m, id);
	graph_id body = graph_new(m, old.name);
	VEC(val_id) in = {0}, out = {0};

	for (uint32_t k = 0; k < old.nin; k++) {
		size_t j = 0;
		if (!old.in[k] || val(m, old.in[k])->kind == VAL_CONST)
			continue;
		while (j < in.n && in.a[j] != old.in[k])
			j++;
		if (j == in.n) {
			vec_push(&in, old.in[k]);
			graph_add_input(m, body, val(m, old.in[k])->name, val(m, old.in[k])->type);
		}
		old.in[k] = graph(m, body)->in.a[j];
	}
	for (uint32_t k = 0; k < old.nout; k++) {
		val_id v = old.out[k];
		if (!v)
			continue;
		struct value x = *val(m, v);
		x.graph = body;
		vec_push(&m->values, x);
		old.out[k] = (val_id)(m->values.n - 1);
		graph_add_output(m, body, old.out[k], x.name);
		vec_push(&out, v);
	}
	node(m, id)->graph = body;
	vec_push(&graph(m, body)->nodes, id);
	node_id fused = node_new_loose(m, g, OP_Fused, (int)in.n, in.a, 0);
	node(m, fused)->name = old.name;
	node(m, fused)->nout = (uint32_t)out.n;
	node(m, fused)->out = arena_copy(&m->arena, out.a, out.n * sizeof *out.a);
	for (size_t k = 0; k < out.n; k++) {
		val(m, out.a[k])->def = fused;
		val(m, out.a[k])->index = (uint32_t)k;
	}
	attr_set_graph(m, fused, "graph", body);
	graph(m, g)->nodes.a[i] = fused;
	vec_free(&in);
	vec_free(&out);
}

void groups_check(struct module *m)
{
	check_sizes(m);
	for (size_t i = 0; i < graph(m, m->main)->in.n; i++)
		check_kind(m, 0, graph(m, m->main)->in.a[i]);
	for (size_t i = 0; i < graph(m, m->main)->in.n; i++)
		if (!val(m, graph(m, m->main)->in.a[i])->type.dtype && !val(m, graph(m, m->main)->in.a[i])->type.other)
			bind_missing(m, "ge-shape");
}

/* Every node becomes a Fused one or a view. Nodes that are Fused already are checked by lower_group. */
void groups_make(struct module *m, graph_id g)
{
	if (g == m->main)
		compute_texts(m, g);
	for (size_t i = 0; i < graph(m, g)->nodes.n; i++) {
		node_id id = graph(m, g)->nodes.a[i];
		const struct node *n = node(m, id);
		if (n->op != OP_Fused && !node_is_view(m, n) && lower_has(n->op) && !node_varies(m, n))
			model_die_at(m, id, EX_NOTAVAIL, "it is in no group; run ge-fuse");
		for (uint32_t k = 0; k < n->nout; k++)
			if (n->out[k])
				check_size(m, id, n->out[k]);
		if (n->op != OP_Fused && !node_is_view(m, n))
			wrap(m, g, i);
	}
}

/* Is each output of the graph the result of one of its nodes, each once? */
static bool outputs_apart(struct module *m, const struct graph *b)
{
	for (size_t k = 0; k < b->out.n; k++) {
		const struct value *v = val(m, b->out.a[k]);
		if (v->kind != VAL_NODE)
			return false;
		for (size_t j = 0; j < k; j++)
			if (b->out.a[j] == b->out.a[k])
				return false;
	}
	return true;
}

size_t group_parts(struct module *m, node_id group)
{
	const struct node *f = node(m, group);
	const struct graph *b = graph(m, attr_graph(f, "graph"));

	return f->nout == b->out.n && outputs_apart(m, b) ? b->nodes.n : 1;
}

void group_split(struct module *m, graph_id g, size_t i)
{
	struct node f = *node(m, graph(m, g)->nodes.a[i]);
	graph_id body = attr_graph(&f, "graph");
	struct inlined x = {0};
	struct graph order = {0};
	size_t n = graph(m, body)->nodes.n;

	inline_body(&x, m, body, g, f.nin, f.in, f.nout, f.out, NULL, &order);
	vec_reserve(&graph(m, g)->nodes, graph(m, g)->nodes.n + n - 1);
	struct graph *to = graph(m, g);
	memmove(to->nodes.a + i + n, to->nodes.a + i + 1, (to->nodes.n - i - 1) * sizeof *to->nodes.a);
	memcpy(to->nodes.a + i, order.nodes.a, n * sizeof *to->nodes.a);
	to->nodes.n += n - 1;
	for (size_t k = 0; k < n; k++)
		wrap(m, g, i + k);
	vec_free(&order.nodes);
	vec_free(&x);
}

/* ---- groups of one node ---- */

/* Results of the group are results of the node, each once. */
static bool results_fit(struct module *m, const struct graph *g, node_id id)
{
	for (size_t k = 0; k < g->out.n; k++) {
		if (val(m, g->out.a[k])->def != id || val(m, g->out.a[k])->kind != VAL_NODE)
			return false;
		for (size_t j = 0; j < k; j++)
			if (g->out.a[j] == g->out.a[k])
				return false;
	}
	return true;
}

node_id group_alone(struct module *m, node_id group)
{
	const struct graph *g = graph(m, attr_graph(node(m, group), "graph"));

	return g->nodes.n == 1 && results_fit(m, g, g->nodes.a[0]) ? g->nodes.a[0] : 0;
}

val_id call_operand(const struct model *M, const struct call *c, uint32_t i)
{
	const struct node *x = node(M->m, c->alone);
	val_id v = i < x->nin ? x->in[i] : 0;

	return v && val(M->m, v)->kind == VAL_INPUT ? node(M->m, c->node)->in[val(M->m, v)->index] : v;
}

val_id call_result(const struct model *M, const struct call *c, uint32_t k)
{
	const struct node *f = node(M->m, c->node), *x = node(M->m, c->alone);
	const struct graph *g = graph(M->m, attr_graph(f, "graph"));

	for (uint32_t i = 0; i < f->nout; i++)
		if (k < x->nout && x->out[k] && g->out.a[i] == x->out[k])
			return f->out[i];
	return 0;
}
