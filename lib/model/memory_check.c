/* Does the plan in the stream fit this graph? A pass after ge-plan may have removed results or added readers. */
#include <stdlib.h>
#include "model/memory_plan.h"
#include "common/msg.h"
#include "graph/pass.h"

/* Bytes of the arena that are in use from call `first` to call `last`, both included. */
struct held {
	int64_t offset, bytes;
	uint32_t first, last;
	node_id node;
};

struct holding {
	VEC(struct held) a; /* by their first call */
	uint32_t *of_value; /* root value -> index + 1 */
	const struct section *section;
};

static noreturn void stale(struct model *M, node_id n)
{
	struct module *m = M->m;

	die(EX_BADUSE, "%s: %s: its plan is of another graph; run ge-plan again", m->source ? m->source : "-", node_where(m, n, &m->arena));
}

static void hold(struct model *M, struct holding *h, struct held x)
{
	if (x.offset < 0 || x.bytes > h->section->arena_bytes - x.offset)
		stale(M, x.node);
	vec_push(&h->a, x);
}

static void hold_results(struct model *M, struct holding *h, uint32_t c)
{
	struct module *m = M->m;
	node_id id = M->calls.a[c].node;
	const struct node *n = node(m, id);
	int planned;

	attr_ints(n, "offsets", &planned);
	if ((uint32_t)planned != n->nout)
		stale(M, id);
	for (uint32_t k = 0; k < n->nout; k++) {
		if (!n->out[k])
			continue;
		struct home home = value_home(M, n->out[k]);
		if (home.kind == HOME_NONE)
			stale(M, id);
		if (home.kind != HOME_ARENA)
			continue;
		const struct call *x = &M->calls.a[c];
		bool image = M->inner[n->out[k]];
		hold(M, h, (struct held){home.offset, home_bytes(M, x, n->out[k]), image ? c : x->strip, image ? c : x->last, id});
		h->of_value[n->out[k]] = (uint32_t)h->a.n;
	}
}

static void read_until(struct model *M, struct holding *h, val_id v, uint32_t c)
{
	uint32_t i = v ? h->of_value[M->root[v]] : 0;

	if (i)
		h->a.a[i - 1].last = c < h->section->end && !M->inner[M->root[v]] ? M->calls.a[c].last : c;
}

/* What is in use, and until when, as ge-plan counts it. */
static void collect(struct model *M, struct holding *h)
{
	const struct section *s = h->section;
	const struct graph *g = graph(M->m, s->graph);

	for (uint32_t c = s->first; c < s->end; c++) {
		const struct node *n = node(M->m, M->calls.a[c].node);
		const struct call *x = &M->calls.a[c];
		int64_t workspace = call_workspace_bytes(M, x);
		for (uint32_t i = 0; i < n->nin; i++)
			read_until(M, h, n->in[i], c);
		hold_results(M, h, c);
		if (workspace)
			hold(M, h,
			     (struct held){call_workspace(M, c), workspace, x->lanes ? x->strip : c, x->lanes ? x->last : c, x->node});
	}
	for (size_t k = 0; k < g->out.n; k++)
		if (!s->out.a[k])
			read_until(M, h, g->out.a[k], s->end);
}

static void check_section(struct model *M, struct section *s)
{
	struct holding h = {.of_value = xcalloc(M->m->values.n, sizeof *h.of_value), .section = s};
	VEC(const struct held *) live = {0};

	collect(M, &h);
	for (size_t i = 0; i < h.a.n; i++) {
		const struct held *x = &h.a.a[i];
		size_t kept = 0;
		if (!x->bytes)
			continue;
		for (size_t k = 0; k < live.n; k++) {
			const struct held *q = live.a[k];
			if (q->last < x->first)
				continue;
			live.a[kept++] = q;
			if (q->offset < x->offset + x->bytes && x->offset < q->offset + q->bytes)
				stale(M, x->node);
		}
		live.n = kept;
		vec_push(&live, x);
	}
	vec_free(&live);
	vec_free(&h.a);
	free(h.of_value);
}

void memory_check(struct model *M)
{
	for (size_t s = 0; s < M->sections.n; s++)
		check_section(M, &M->sections.a[s]);
}
