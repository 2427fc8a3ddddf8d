/* The sections of a model: the main graph, and the bodies that are run as steps. */
#include <stdlib.h>
#include "graph/bodies.h"
#include "model/model_impl.h"

struct finding {
	struct module *m;
	VEC(bool) seen;      /* graph */
	VEC(graph_id) graph; /* bodies before those that call them */
};

/* Bodies are listed last first: turned around, the list has them in the order of the calls. */
static void find(struct finding *f, graph_id g)
{
	struct module *m = f->m;

	while (f->seen.n < m->graphs.n)
		vec_push(&f->seen, false);
	if (f->seen.a[g])
		return;
	f->seen.a[g] = true;
	groups_make(m, g);
	for (size_t i = graph(m, g)->nodes.n; i-- > 0;) {
		node_id n = graph(m, g)->nodes.a[i], x = node(m, n)->op == OP_Fused ? control_node(m, n) : 0;
		uint32_t k = 0;
		while (x && node_body(node(m, x), k))
			k++;
		while (k-- > 0)
			find(f, node_body(node(m, x), k));
	}
	vec_push(&f->graph, g);
}

void sections_find(struct model *M)
{
	struct module *m = M->m;
	struct finding f = {.m = m};

	groups_check(m);
	find(&f, m->main);
	M->section_of = xcalloc(m->graphs.n, sizeof *M->section_of);
	for (size_t i = f.graph.n; i-- > 0;) {
		vec_push(&M->sections, (struct section){.graph = f.graph.a[i]});
		M->section_of[f.graph.a[i]] = (uint32_t)M->sections.n;
	}
	vec_free(&f.seen);
	vec_free(&f.graph);
}
