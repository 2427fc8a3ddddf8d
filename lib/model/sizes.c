/* Sizes that only a run knows: where it learns the symbols in them, and which sizes it compares with the types. */
#include <stdlib.h>
#include <string.h>
#include "model/control.h"
#include "model/model_impl.h"

/* BARRED: of the calls of a body, some know the symbol and some do not. It is not learnt there: they would take each other's. */
enum { UNKNOWN, KNOWN, BARRED };

/* The one symbol in e that is not known; 0: there is none. *many: there are others, or it is not to be known. */
static poly_var unknown_of(const struct model *M, poly e, bool *many)
{
	poly_var found = 0;

	*many = false;
	for (poly_var v = 1; v <= poly_nvars(M->m->dims); v++)
		if (M->sizes.known[v] != KNOWN && poly_uses(M->m->dims, e, v)) {
			*many |= found || M->sizes.known[v] == BARRED;
			found = v;
		}
	return found;
}

/* What the size of an axis says now. False: nothing yet. alone: only if the size is a symbol and nothing else, or nothing is new. */
static bool fact_of(struct model *M, struct size_fact *x, bool alone)
{
	struct polys *P = M->m->dims;
	poly e = val(M->m, x->v)->type.dims[x->axis];
	bool many;

	x->var = unknown_of(M, e, &many);
	if (many || (alone && x->var && poly_is_var(P, e) != x->var))
		return false;
	return !x->var || poly_linear_in(P, e, x->var, &x->coef, &x->rest);
}

/* Takes what is ready from those that wait. True: there was something. */
static bool take(struct model *M, uint32_t call, bool alone)
{
	size_t kept = 0, n = M->sizes.waiting.n;

	for (size_t i = 0; i < n; i++) {
		struct size_fact x = M->sizes.waiting.a[i];
		if (!fact_of(M, &x, alone)) {
			M->sizes.waiting.a[kept++] = x;
			continue;
		}
		x.call = call;
		if (x.var)
			M->sizes.known[x.var] = KNOWN;
		M->sizes.open[x.v]--;
		vec_push(&M->sizes.facts, x);
	}
	M->sizes.waiting.n = kept;
	return kept < n;
}

static void wait_for(struct model *M, graph_id g, val_id v)
{
	const struct type *t = &val(M->m, v)->type;

	for (int i = 0; value_varies(M->m, v) && i < t->rank; i++)
		if (!poly_is_const(M->m->dims, t->dims[i], NULL)) {
			M->sizes.open[v]++;
			if (t->dims[i] != POLY_UNKNOWN)
				vec_push(&M->sizes.waiting, (struct size_fact){.graph = g, .v = v, .axis = i});
		}
}

/* Those of inputs go on waiting: a run has their shapes to the end. */
static void drop_results(struct model *M)
{
	size_t kept = 0;

	for (size_t i = 0; i < M->sizes.waiting.n; i++)
		if (val(M->m, M->sizes.waiting.a[i].v)->kind == VAL_INPUT)
			M->sizes.waiting.a[kept++] = M->sizes.waiting.a[i];
	M->sizes.waiting.n = kept;
}

static void take_all(struct model *M, uint32_t call)
{
	while (take(M, call, true) || take(M, call, false))
		;
	drop_results(M);
}

void sizes_begin(struct model *M, const struct section *s)
{
	struct sizes *x = &M->sizes;
	const struct graph *g = graph(M->m, s->graph);
	size_t nvars = poly_nvars(M->m->dims) + 1;

	if (!x->at) {
		x->at = xcalloc(M->sections.n, sizeof *x->at);
		x->open = xcalloc(M->m->values.n, sizeof *x->open);
	}
	free(x->known);
	x->known = x->at[s - M->sections.a];
	x->at[s - M->sections.a] = NULL;
	if (!x->known)
		x->known = xcalloc(nvars, 1);
	x->waiting.n = 0;
	for (size_t i = 0; i < g->in.n; i++)
		wait_for(M, s->graph, g->in.a[i]);
	take_all(M, SIZE_INPUT);
}

void sizes_grow(struct model *M, size_t had)
{
	struct sizes *x = &M->sizes;

	if (!x->open)
		return;
	x->open = xrealloc(x->open, M->m->values.n * sizeof *x->open);
	memset(x->open + had, 0, (M->m->values.n - had) * sizeof *x->open);
}

void sizes_take(struct model *M, uint32_t call)
{
	const struct node *n = node(M->m, M->calls.a[call].node);

	for (uint32_t k = 0; k < n->nout; k++)
		wait_for(M, n->graph, n->out[k]);
	take_all(M, call);
}

void sizes_pass(struct model *M, const struct control *x)
{
	struct sizes *s = &M->sizes;
	size_t nvars = poly_nvars(M->m->dims) + 1;

	for (uint32_t k = 0; k < x->nbody; k++) {
		uint8_t **at = &s->at[M->section_of[x->body[k]] - 1];
		for (size_t v = 0; *at && v < nvars; v++)
			(*at)[v] = (*at)[v] == s->known[v] ? s->known[v] : BARRED;
		if (!*at)
			*at = memcpy(xmalloc(nvars), s->known, nvars);
	}
}

void sizes_release(struct sizes *s, size_t nsections)
{
	for (size_t i = 0; s->at && i < nsections; i++)
		free(s->at[i]);
	free(s->at);
	free(s->known);
	free(s->open);
	vec_free(&s->waiting);
	vec_free(&s->facts);
}

const char *sizes_settled(const struct model *M, val_id v)
{
	const struct type *t = &val(M->m, v)->type;
	bool many;

	if (t->rank < 0)
		return "a value has no known rank";
	for (int i = 0; i < t->rank; i++)
		if (M->sizes.open[v] || t->dims[i] == POLY_UNKNOWN || unknown_of(M, t->dims[i], &many))
			return arena_printf(&M->m->arena, "a size of %s is known only when it is there", sym_str(val(M->m, v)->name));
	return NULL;
}
