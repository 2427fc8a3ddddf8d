/* Sizes that only a run knows: where it learns the symbols in them, and which sizes it compares with the types. */
#include <stdlib.h>
#include <string.h>
#include "model/control.h"
#include "model/model_impl.h"
#include "op/op.h"

/* BARRED: of the calls of a body, some know the symbol and some do not. It is not learnt there: they would take each other's. */
enum { UNKNOWN, KNOWN, BARRED };

/* The one symbol in e that is not known; 0: there is none. *many: there are others, or it is not to be known. */
static poly_var unknown_of(const struct model *M, poly e, bool *many)
{
	poly_var found = 0;

	*many = false;
	for (poly_var v = 1; v < M->sizes.nvars; v++)
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

	for (int i = 0; value_varies(M->m, v) && !t->other && i < t->rank; i++)
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

	if (!x->at) {
		x->nvars = poly_nvars(M->m->dims) + 1;
		x->at = xcalloc(M->sections.n, sizeof *x->at);
		x->open = xcalloc(M->m->values.n, sizeof *x->open);
	}
	free(x->known);
	x->known = x->at[s - M->sections.a];
	x->at[s - M->sections.a] = NULL;
	if (!x->known)
		x->known = xcalloc(x->nvars, 1);
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

/* The facts from number `from` on are of the view's result alone, which says nothing new. */
static bool says_nothing(const struct model *M, size_t from, val_id result)
{
	for (size_t i = from; i < M->sizes.facts.n; i++)
		if (M->sizes.facts.a[i].var || M->sizes.facts.a[i].v != result)
			return false;
	return !sizes_settled(M, result);
}

void sizes_take(struct model *M, uint32_t call)
{
	struct call *x = &M->calls.a[call];
	const struct node *n = node(M->m, x->node);
	size_t had = M->sizes.facts.n;

	for (uint32_t k = 0; k < n->nout; k++)
		wait_for(M, n->graph, n->out[k]);
	take_all(M, call);
	x->settled = x->kernel == KERNEL_NATIVE && native_view(M->m, x->node) && value_varies(M->m, n->out[0]) &&
		     value_varies(M->m, call_operand(M, x, 0)) && says_nothing(M, had, n->out[0]);
	if (x->settled) /* nothing is to be compared */
		M->sizes.facts.n = had;
}

void sizes_pass(struct model *M, const struct control *x)
{
	struct sizes *s = &M->sizes;
	size_t nvars = s->nvars;

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
	vec_free(&s->same);
	vec_free(&s->waiting);
	vec_free(&s->facts);
}

/* Are two sizes equal where the symbols are multiples of much? Then they are meant to be: one was made of the other, there and back. */
static bool meant_equal(const struct model *M, poly a, poly b)
{
	enum { MUCH = 1 << 12 };
	struct polys *P = M->m->dims;
	int64_t *env = xcalloc(poly_nvars(P) + 2, sizeof *env);

	for (poly_var v = 1; v <= poly_nvars(P); v++)
		env[v] = MUCH * (int64_t)(v % 7 + 1);
	bool equal = poly_eval(P, a, env) == poly_eval(P, b, env);
	free(env);
	return equal;
}

/* Operand i of body node x, an input of the body that is operand v of the group, is as large as the result, where it must be. */
static void agree(struct model *M, const struct node *x, uint32_t i, val_id v)
{
	struct module *m = M->m;
	const struct type *r = &val(m, x->out[0])->type;
	struct type *t = &val(m, x->in[i])->type;
	dim *dims = t->rank > 0 ? arena_copy(&m->arena, t->dims, (size_t)t->rank * sizeof *dims) : NULL;

	for (int d = 0; d < t->rank && t->rank == r->rank; d++) {
		enum agreement is = op_sizes_agree(x, d, r->rank);
		if (t->dims[d] == r->dims[d] || r->dims[d] == POLY_UNKNOWN || t->dims[d] == POLY_UNKNOWN || is == SIZES_ANY ||
		    (is == SIZES_EQUAL_OR_1 && !meant_equal(M, t->dims[d], r->dims[d])))
			continue;
		dims[d] = r->dims[d];
		vec_push(&M->sizes.same, (struct size_same){(uint32_t)M->calls.n, v, d, r->dims[d]});
	}
	t->dims = dims ? dims : t->dims;
}

dim **sizes_agree(struct model *M, node_id n)
{
	struct module *m = M->m;
	const struct node *f = node(m, n);
	const struct graph *g = graph(m, attr_graph(f, "graph"));
	dim **old = ARENA_ARRAY(&m->arena, dim *, g->in.n + 1);

	for (size_t i = 0; i < g->in.n; i++)
		old[i] = val(m, g->in.a[i])->type.dims;
	for (size_t k = 0; k < g->nodes.n; k++) {
		const struct node *x = node(m, g->nodes.a[k]);
		for (uint32_t i = 0; i < x->nin; i++)
			if (x->in[i] && x->out[0] && val(m, x->in[i])->kind == VAL_INPUT && val(m, x->in[i])->graph == x->graph)
				agree(M, x, i, f->in[val(m, x->in[i])->index]);
	}
	return old;
}

void sizes_disagree(struct model *M, node_id n, dim *const *old)
{
	const struct graph *g = graph(M->m, attr_graph(node(M->m, n), "graph"));

	for (size_t i = 0; i < g->in.n; i++)
		val(M->m, g->in.a[i])->type.dims = old[i];
	while (M->sizes.same.n && M->sizes.same.a[M->sizes.same.n - 1].call == M->calls.n) /* of a call that was not made */
		M->sizes.same.n--;
}

bool sizes_taken_for_one(const struct model *M) { return M->sizes.same.n && M->sizes.same.a[M->sizes.same.n - 1].call == M->calls.n; }

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
