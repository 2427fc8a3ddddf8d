/* A module's kernels, calls and views. */
#include <stdlib.h>
#include "model/model_impl.h"

struct model *model_new(struct module *m, const struct target *t, int threads, const struct given_traces *traces, bool sketch)
{
	struct model *M = xcalloc(1, sizeof *M);

	M->m = m;
	M->threads = threads;
	M->lower = sketch ? lower_sketch : lower_group;
	groups_make(m); /* may add graphs: pointers to graphs from before are not valid any more */
	views_follow(M);
	if (sketch)
		strips_choose(m, t, M->root, threads);
	const struct graph *g = graph(m, m->main);
	for (size_t i = 0; i < g->nodes.n; i++)
		if (node(m, g->nodes.a[i])->op == OP_Fused)
			call_add(M, g->nodes.a[i], t, traces);
	strips_find(M);
	return M;
}

void model_free(struct model *M)
{
	for (size_t i = 0; i < M->kernels.n; i++)
		prog_free(M->kernels.a[i].prog);
	vec_free(&M->kernels);
	vec_free(&M->calls);
	vec_free(&M->out);
	free(M->root);
	free(M->inner);
	free(M);
}
