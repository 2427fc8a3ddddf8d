/* Equal constants, of all graphs of the module: the first stays. */
#include <stdlib.h>
#include <string.h>
#include "graph/constants.h"
#include "op/pass.h"

/* By value: the first node that reads the constant, 0 if none does. */
static node_id *find_readers(struct module *m)
{
	node_id *reader = xcalloc(m->values.n, sizeof *reader);
	struct graph_list order = {0};

	module_graph_order(m, &order);
	for (size_t g = order.n; g-- > 0;)
		for (size_t k = graph(m, order.a[g])->nodes.n; k-- > 0;) {
			node_id id = graph(m, order.a[g])->nodes.a[k];
			for (uint32_t i = 0; i < node(m, id)->nin; i++)
				reader[node(m, id)->in[i]] = id;
		}
	vec_free(&order);
	return reader;
}

static void say(struct module *m, const struct pass_ctx *c, const val_id *first)
{
	node_id *reader = find_readers(m);
	size_t dropped = 0, bytes = 0;

	for (val_id v = 1; v < m->values.n; v++) {
		if (!first[v])
			continue;
		dropped++;
		bytes += val(m, v)->tensor->nbytes;
		if (reader[v])
			pass_why(c, m, reader[v], "%s dropped: the same as %s, %zu bytes", sym_str(val(m, v)->name),
				 sym_str(val(m, first[v])->name), val(m, v)->tensor->nbytes);
	}
	if (dropped)
		note("%zu constants of %zu bytes are equal to others", dropped, bytes);
	free(reader);
}

/* needs: nothing. keeps: every result. leaves: no two constants of equal type, shape and bytes. */
static void dedup(struct module *m, const struct pass_ctx *c)
{
	val_id *first = constants_first(m);

	if (c->why)
		say(m, c, first);
	module_forward(m, first);
	free(first);
}

static const struct pass pass = {
	.run = dedup,
	.contract = "Needs nothing. Keeps all results. Leaves no two equal constants.",
};

const struct tool tool = {
	.name = "ge-dedup",
	.summary = "Keep one of equal constants, in all bodies.",
	PASS_TOOL(pass),
};
