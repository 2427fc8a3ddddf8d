/* Calls without a kernel that a function of lib/native computes. */
#include <stdlib.h>
#include "model/model_impl.h"
#include "op/native.h"

static bool row_major(struct module *m, const struct node *n)
{
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && val(m, n->in[i])->type.layout)
			return false;
	for (uint32_t k = 0; k < n->nout; k++)
		if (n->out[k] && val(m, n->out[k])->type.layout)
			return false;
	return true;
}

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

node_id native_node(struct module *m, node_id group)
{
	const struct graph *g = graph(m, attr_graph(node(m, group), "graph"));
	node_id id = g->nodes.n == 1 ? g->nodes.a[0] : 0;

	return id && node_native(node(m, id)) && results_fit(m, g, id) && row_major(m, node(m, group)) && row_major(m, node(m, id)) ? id
																    : 0;
}

val_id native_operand(const struct model *M, const struct call *c, uint32_t i)
{
	val_id v = node(M->m, c->native)->in[i];

	return !v || val(M->m, v)->kind != VAL_INPUT ? v : node(M->m, c->node)->in[val(M->m, v)->index];
}

val_id native_result(const struct model *M, const struct call *c, uint32_t k)
{
	const struct graph *g = graph(M->m, attr_graph(node(M->m, c->node), "graph"));
	val_id v = node(M->m, c->native)->out[k];

	for (size_t i = 0; i < g->out.n; i++)
		if (v && g->out.a[i] == v)
			return node(M->m, c->node)->out[i];
	return 0;
}

void model_report_native(struct model *M)
{
	char *text;
	uint32_t named = calls_named(M, KERNEL_NATIVE, &text);

	if (named)
		note("%u of %zu steps native: %s", named, M->calls.n, text);
	free(text);
}
