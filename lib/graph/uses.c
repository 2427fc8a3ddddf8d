#include "graph/module.h"

/* Counts into counts[v + 1]; then, with a running sum in place, fills the slices. */
struct uses uses_new(struct module *m)
{
	size_t nvalues = m->values.n;
	struct uses u = {
		.start = xcalloc(nvalues + 2, sizeof *u.start),
		.nout = xcalloc(nvalues + 1, sizeof *u.nout),
	};
	struct graph_list order = {0};
	module_graph_order(m, &order);
	uint32_t *next = xcalloc(nvalues + 2, sizeof *next);
	for (size_t k = 0; k < order.n; k++) {
		const struct graph *g = graph(m, order.a[k]);
		for (size_t i = 0; i < g->nodes.n; i++) {
			const struct node *n = node(m, g->nodes.a[i]);
			for (uint32_t j = 0; j < n->nin; j++)
				u.start[n->in[j] + 1] += n->in[j] != 0;
		}
		for (size_t i = 0; i < g->out.n; i++)
			u.nout[g->out.a[i]]++;
	}
	for (size_t v = 1; v <= nvalues; v++)
		next[v] = u.start[v] += u.start[v - 1];
	u.user = xmalloc(sizeof *u.user * (u.start[nvalues] + 1));
	for (size_t k = 0; k < order.n; k++) {
		const struct graph *g = graph(m, order.a[k]);
		for (size_t i = 0; i < g->nodes.n; i++) {
			const struct node *n = node(m, g->nodes.a[i]);
			for (uint32_t j = 0; j < n->nin; j++)
				if (n->in[j])
					u.user[next[n->in[j]]++] = g->nodes.a[i];
		}
	}
	free(next);
	vec_free(&order);
	return u;
}

void uses_free(struct uses *u)
{
	free(u->start);
	free(u->user);
	free(u->nout);
	*u = (struct uses){0};
}
