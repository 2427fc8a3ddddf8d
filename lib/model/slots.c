/* The slots of values whose size only a run knows. Values that are never alive together share one. */
#include <stdlib.h>
#include <string.h>
#include "graph/kinds.h"
#include "model/control.h"
#include "model/model_impl.h"

/* A slot of a section: free from the call behind `last` on. Those of views have no bytes of their own: they are shared apart. */
struct slot_use {
	uint32_t last;
	bool view;
	double bytes; /* of the largest value, at usual sizes */
};

struct slots {
	struct model *M;
	const struct section *section;
	uint32_t base;  /* number of the section's first slot */
	uint32_t *last; /* value -> the last call that reads it; of a root, also that reads a view of it */
	int64_t *usual; /* symbol -> a size to compare values at */
	VEC(struct slot_use) a;
};

static int64_t *usual_sizes(const struct polys *P)
{
	int64_t *n = xcalloc(poly_nvars(P) + 1, sizeof *n), lo, hi;

	for (poly_var v = 1; v <= poly_nvars(P); v++) {
		poly_var_range(P, v, &lo, &hi);
		n[v] = lo > SLOT_SIZE ? lo : hi < SLOT_SIZE ? hi : SLOT_SIZE;
		n[v] -= n[v] % poly_var_divisor(P, v);
	}
	return n;
}

static double usual_bytes(const struct slots *s, val_id v)
{
	const struct type *t = &val(s->M->m, v)->type;
	double bytes = (double)dtype_size(t->dtype);

	for (int i = 0; i < t->rank; i++) {
		int64_t n = t->dims[i] == POLY_UNKNOWN ? 1 : poly_eval(s->M->m->dims, t->dims[i], s->usual);
		bytes *= n > 0 ? (double)n : 1;
	}
	return bytes;
}

static void reads(struct slots *s, val_id v, uint32_t c)
{
	if (!v)
		return;
	s->last[v] = c;
	s->last[s->M->root[v]] = c;
}

static void find_last(struct slots *s)
{
	struct module *m = s->M->m;
	const struct graph *g = graph(m, s->section->graph);

	for (uint32_t c = s->section->first; c < s->section->end; c++) {
		const struct node *n = node(m, s->M->calls.a[c].node);
		for (uint32_t i = 0; i < n->nin; i++)
			reads(s, n->in[i], c);
	}
	for (size_t k = 0; k < g->out.n; k++)
		reads(s, g->out.a[k], s->section->end);
}

/* Is slot a better than b for so many bytes? The smallest that is large enough, else the largest. */
static bool better(const struct slot_use *a, const struct slot_use *b, double bytes)
{
	return a->bytes >= bytes ? b->bytes < bytes || a->bytes < b->bytes : a->bytes > b->bytes;
}

static uint32_t slot_for(struct slots *s, uint32_t call, struct slot_use want)
{
	uint32_t best = (uint32_t)s->a.n;

	for (uint32_t i = 0; i < s->a.n; i++)
		if (s->a.a[i].last < call && s->a.a[i].view == want.view &&
		    (best == s->a.n || better(&s->a.a[i], &s->a.a[best], want.bytes)))
			best = i;
	if (best == s->a.n)
		vec_push(&s->a, want);
	s->a.a[best].last = want.last;
	if (want.bytes > s->a.a[best].bytes)
		s->a.a[best].bytes = want.bytes;
	return s->base + best;
}

/* So many slots in a row, for one call. */
static uint32_t slots_for(struct slots *s, uint32_t call, uint32_t n)
{
	uint32_t at = (uint32_t)s->a.n, i = 0;

	for (uint32_t run = 0; i < s->a.n && at == s->a.n; i++) {
		run = s->a.a[i].last < call && !s->a.a[i].view ? run + 1 : 0;
		if (run == n)
			at = i + 1 - n;
	}
	for (i = at; i < at + n; i++) {
		if (i == s->a.n)
			vec_push(&s->a, (struct slot_use){0});
		s->a.a[i].last = call;
	}
	return s->base + at;
}

/* What the step of a control operator needs while it runs. */
static void give_control(struct slots *s, uint32_t c)
{
	const struct call *x = &s->M->calls.a[c];
	struct control *k = x->control;
	uint32_t nout = node(s->M->m, x->alone)->nout;

	if (!k->values)
		return;
	k->slot = slots_for(s, c, nout + 1 + k->loop.nscanned);
	for (uint32_t i = 0; i < nout; i++) {
		val_id v = call_result(s->M, x, i);
		k->result[i] = value_varies(s->M->m, v) ? s->M->slot[v] - 1 : slot_for(s, c, (struct slot_use){.last = c});
	}
}

/* Does step c leave v where it is, in a list or as one? */
static bool lies_elsewhere(const struct model *M, uint32_t c, val_id v)
{
	const struct node *n = node(M->m, M->calls.a[c].node);

	return type_lists_numbers(&val(M->m, v)->type) ||
	       (M->calls.a[c].kernel == KERNEL_NATIVE && n->nin && n->in[0] && type_lists_numbers(&val(M->m, n->in[0])->type));
}

/* The last call for which the slot of v, made by call c, is taken. What is in strings may be part of others, to the end of the run. */
static uint32_t last_use(const struct slots *s, uint32_t c, val_id v)
{
	if (val(s->M->m, v)->type.dtype == DT_STR)
		return UINT32_MAX;
	return s->last[v] > c ? s->last[v] : c;
}

static void give_section(struct slots *s)
{
	struct model *M = s->M;

	find_last(s);
	for (uint32_t c = s->section->first; c < s->section->end; c++) {
		const struct node *n = node(M->m, M->calls.a[c].node);
		for (uint32_t k = 0; k < n->nout; k++) {
			val_id v = n->out[k];
			if (value_varies(M->m, v))
				M->slot[v] = 1 + slot_for(s, c,
							  (struct slot_use){last_use(s, c, v),
									    M->root[v] != v || M->calls.a[c].kernel == KERNEL_APPEND ||
										    lies_elsewhere(M, c, v),
									    usual_bytes(s, v)});
		}
		if (M->calls.a[c].control)
			give_control(s, c);
	}
}

/* Is there any value of varying size, or a step that compares sizes? */
bool model_varies(const struct model *M)
{
	const struct module *m = M->m;

	for (size_t s = 0; s < M->sections.n; s++) {
		const struct graph *g = graph((struct module *)m, M->sections.a[s].graph);
		for (size_t i = 0; i < g->in.n; i++)
			if (value_varies(m, g->in.a[i]))
				return true;
		for (size_t i = 0; i < g->nodes.n; i++)
			if (node_varies(m, &m->nodes.a[g->nodes.a[i]]))
				return true;
	}
	return false;
}

/* Slots of sections that do not run at the same time are the same. */
static void note_bytes(double **bytes, size_t had, const struct slots *s)
{
	if (s->base + s->a.n > had) {
		*bytes = xrealloc(*bytes, (s->base + s->a.n) * sizeof **bytes);
		memset(*bytes + had, 0, (s->base + s->a.n - had) * sizeof **bytes);
	}
	for (size_t i = 0; i < s->a.n; i++) {
		double *b = &(*bytes)[s->base + i];
		if (!s->a.a[i].view && s->a.a[i].bytes > *b)
			*b = s->a.a[i].bytes;
	}
}

bool model_lists(const struct model *M)
{
	struct module *m = M->m;
	bool lists = false;

	for (size_t s = 0; s < M->sections.n; s++) {
		const struct graph *g = graph(m, M->sections.a[s].graph);
		for (size_t i = 0; i < g->in.n; i++)
			lists |= type_lists_numbers(&val(m, g->in.a[i])->type);
		for (size_t i = 0; i < g->nodes.n; i++)
			for (uint32_t k = 0; k < node(m, g->nodes.a[i])->nout; k++)
				lists |= type_lists_numbers(&val(m, node(m, g->nodes.a[i])->out[k])->type);
	}
	return lists;
}

/* Callers come before what they call: the slots of a body lie behind those of all its callers, so branches share theirs. */
void slots_give(struct model *M)
{
	uint32_t *base = xcalloc(M->sections.n + 1, sizeof *base);
	int64_t *usual = usual_sizes(M->m->dims);
	double *bytes = NULL;

	M->slot = xcalloc(M->m->values.n, sizeof *M->slot);
	for (size_t i = 0; i < M->sections.n; i++) {
		struct slots s = {.M = M, .section = &M->sections.a[i], .base = base[i], .usual = usual};
		s.last = xcalloc(M->m->values.n, sizeof *s.last);
		give_section(&s);
		uint32_t end = base[i] + (uint32_t)s.a.n;
		for (uint32_t c = s.section->first; c < s.section->end; c++) {
			const struct control *x = M->calls.a[c].control;
			for (uint32_t k = 0; x && k < x->nbody; k++) {
				uint32_t *to = &base[M->section_of[x->body[k]] - 1];
				*to = end > *to ? end : *to;
			}
		}
		note_bytes(&bytes, M->nslots, &s);
		M->nslots = end > M->nslots ? end : M->nslots;
		free(s.last);
		vec_free(&s.a);
	}
	for (uint32_t i = 0; i < M->nslots; i++)
		M->slot_bytes += bytes[i];
	free(bytes);
	free(usual);
	free(base);
}

/* ---- slots that exchange what they own ---- */

static int64_t first_kin(const struct model *M, int64_t slot)
{
	while (M->kin[slot] != slot)
		slot = M->kin[slot];
	return slot;
}

static void make_kin(struct model *M, uint32_t a, uint32_t b)
{
	int64_t x = first_kin(M, a), y = first_kin(M, b);

	M->kin[x > y ? x : y] = x > y ? y : x;
}

/* What a body gives moves to a slot of the call, and from there to the result's. */
static void kin_of_call(struct model *M, const struct call *c)
{
	const struct control *x = c->control;
	uint32_t nout = node(M->m, c->alone)->nout, first = x->use == BODY_LOOP;

	for (uint32_t k = 0; k < nout; k++) {
		make_kin(M, x->slot + k, x->result[k]);
		for (uint32_t b = 0; b < x->nbody; b++) {
			val_id root = M->root[graph(M->m, x->body[b])->out.a[first + k]];
			if (M->slot[root])
				make_kin(M, x->slot + k, M->slot[root] - 1);
		}
	}
}

void slots_kin(struct model *M)
{
	uint32_t *many = xcalloc(M->nslots + 1, sizeof *many), any = 0;

	M->kin = xcalloc(M->nslots + 1, sizeof *M->kin);
	for (uint32_t i = 0; i < M->nslots; i++)
		M->kin[i] = i;
	for (uint32_t c = 0; c < M->calls.n; c++)
		if (M->calls.a[c].control && M->calls.a[c].control->values) {
			kin_of_call(M, &M->calls.a[c]);
			any = 1;
		}
	for (uint32_t i = 0; i < M->nslots; i++)
		many[first_kin(M, i)]++;
	for (uint32_t i = M->nslots; i-- > 0;)
		M->kin[i] = many[first_kin(M, i)] > 1 ? first_kin(M, i) : -1;
	free(many);
	if (any)
		return;
	free(M->kin);
	M->kin = NULL;
}
