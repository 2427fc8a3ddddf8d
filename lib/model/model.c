/* A module's kernels, calls and views. */
#include <stdlib.h>
#include "model/model_impl.h"
#include "model/state.h"

static void add_calls(struct model *M, struct section *s, const struct target *t, const struct given_traces *traces)
{
	struct module *m = M->m;

	s->first = (uint32_t)M->calls.n;
	if (M->shaped)
		sizes_begin(M, s);
	for (size_t i = 0; i < graph(m, s->graph)->nodes.n; i++) {
		node_id n = graph(m, s->graph)->nodes.a[i], x;
		if (node(m, n)->op != OP_Fused)
			continue;
		if ((x = control_node(m, n)))
			control_add(M, n, x);
		else if (!call_add(M, n, t, traces)) {
			group_split(m, s->graph, i--);
			views_split(M, s->graph);
			continue;
		}
		if (M->shaped && x)
			sizes_pass(M, M->calls.a[M->calls.n - 1].control);
		if (M->shaped && !call_has_kernel(&M->calls.a[M->calls.n - 1]))
			sizes_take(M, (uint32_t)M->calls.n - 1);
	}
	s->end = (uint32_t)M->calls.n;
}

struct model *model_new(struct module *m, const struct target *t, int threads, const struct given_traces *traces, bool sketch)
{
	struct model *M = xcalloc(1, sizeof *M);

	M->m = m;
	M->threads = threads;
	M->sketch = sketch;
	M->lower = sketch ? lower_sketch : lower_group;
	sections_find(M);
	states_find(M);
	views_follow(M);
	M->shaped = model_varies(M);
	M->listed = model_lists(M);
	states_append(M);
	if (sketch) {
		states_order(M);
		strips_choose(M, t);
	}
	for (size_t s = 0; s < M->sections.n; s++)
		add_calls(M, &M->sections.a[s], t, traces);
	for (uint32_t c = 0; c < M->calls.n; c++)
		M->natives |= call_native(&M->calls.a[c]) != NULL;
	strips_find(M);
	slots_give(M);
	fitted_slots(M);
	states_lend(M);
	slots_kin(M);
	return M;
}

struct step_counts model_steps(const struct model *M)
{
	struct step_counts n = {.native = M->nnative, .slow = M->nopaque, .flow = M->ncontrol};

	for (uint32_t i = 0; i < M->calls.n; i++) {
		const struct call *c = &M->calls.a[i];
		if (!call_has_kernel(c))
			continue;
		n.kernels++;
		n.open += c->nparam > 0;
		n.sampled += c->nparam > 0 && !c->proved;
		n.versions += c->version != NULL;
		n.plain += M->kernels.a[c->kernel].plain != NULL;
	}
	return n;
}

void model_free(struct model *M)
{
	for (size_t i = 0; i < M->kernels.n; i++) {
		prog_free(M->kernels.a[i].prog);
		vec_free(&M->kernels.a[i].least);
	}
	vec_free(&M->kernels);
	sizes_release(&M->sizes, M->sections.n);
	for (size_t i = 0; i < M->sections.n; i++)
		vec_free(&M->sections.a[i].out);
	vec_free(&M->sections);
	vec_free(&M->calls);
	vec_free(&M->states);
	free(M->section_of);
	free(M->slot);
	free(M->kin);
	free(M->root);
	free(M->inner);
	free(M);
}
