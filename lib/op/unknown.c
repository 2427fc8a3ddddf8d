/* Operators that nothing here has words for, all of a model at once. */
#include <string.h>
#include "common/shown.h"
#include "graph/bodies.h"
#include "op/op.h"

struct unknown {
	sym domain, optype;
	int nodes;
};

const char *op_unknown(struct module *m)
{
	struct graph_list order = {0};
	VEC(struct unknown) all = {0};
	const char *text = "", *hint = "";

	module_graph_order(m, &order);
	for (size_t g = 0; g < order.n; g++)
		for (size_t i = 0; i < graph(m, order.a[g])->nodes.n; i++) {
			const struct node *n = node(m, graph(m, order.a[g])->nodes.a[i]);
			size_t k = 0;
			if (n->op != OP_OTHER)
				continue;
			while (k < all.n && (all.a[k].domain != n->domain || all.a[k].optype != n->optype))
				k++;
			if (k == all.n)
				vec_push(&all, ((struct unknown){n->domain, n->optype}));
			all.a[k].nodes++;
		}
	for (size_t k = 0; k < all.n; k++) {
		const char *domain = sym_str(all.a[k].domain);
		text = arena_printf(&m->arena, "%s%s%s%s%s (%d node%s)", text, k ? ", " : "", shown(domain), *domain ? "." : "",
				    shown(sym_str(all.a[k].optype)), all.a[k].nodes, all.a[k].nodes == 1 ? "" : "s");
		if (!strncmp(domain, "com.microsoft.", 14)) /* nchwc and others: the file was optimised for one machine */
			hint = "; save the model with a lower optimisation level of ONNX Runtime";
	}
	text = all.n ? arena_printf(&m->arena, "there is no implementation of %s%s", text, hint) : NULL;
	vec_free(&all);
	vec_free(&order);
	return text;
}
