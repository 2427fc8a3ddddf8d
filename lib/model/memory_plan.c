/* The memory plan: made of a model's blocks, left in the module, and read there again. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "model/model_impl.h"
#include "model/memory_plan.h"
#include "graph/pass.h"

/* ---- made ---- */

/* In a strip, a value of all images lives from the first call of the strip to the last; in a region of lanes, everything. */
static void touch(struct memory_plan *p, const struct model *M, uint32_t b, uint32_t call, bool image)
{
	struct block *x = &p->blocks.a[b - 1];

	x->last = image ? call : M->calls.a[call].last;
	if (!x->calls.n || x->calls.a[x->calls.n - 1] != call)
		vec_push(&x->calls, call);
}

static uint32_t add_block(struct memory_plan *p, const struct model *M, int64_t bytes, uint32_t call, bool image, bool workspace)
{
	struct block b = {.bytes = (bytes + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN, .workspace = workspace};

	b.first = image ? call : M->calls.a[call].strip;
	vec_push(&p->blocks, b);
	touch(p, M, (uint32_t)p->blocks.n, call, image);
	return (uint32_t)p->blocks.n;
}

/* Results that are computed in the caller's memory get no block. */
static void make_blocks(struct memory_plan *p, const struct model *M, const struct section *s)
{
	struct module *m = M->m;
	bool *outside = xcalloc(m->values.n, sizeof *outside);

	for (size_t k = 0; k < s->out.n; k++)
		outside[s->out.a[k]] = true;
	for (uint32_t c = s->first; c < s->end; c++) {
		const struct node *n = node(m, M->calls.a[c].node);
		for (uint32_t i = 0; i < n->nin; i++) {
			uint32_t b = n->in[i] ? p->of_value[M->root[n->in[i]]] : 0;
			if (b)
				touch(p, M, b, c, M->inner[M->root[n->in[i]]]);
		}
		for (uint32_t k = 0; k < n->nout; k++)
			if (n->out[k] && !outside[n->out[k]] && !value_varies(m, n->out[k]))
				p->of_value[n->out[k]] =
					add_block(p, M, home_bytes(M, &M->calls.a[c], n->out[k]), c, M->inner[n->out[k]], false);
		if (call_workspace_bytes(M, &M->calls.a[c]))
			p->of_call[c] = add_block(p, M, call_workspace_bytes(M, &M->calls.a[c]), c, !M->calls.a[c].lanes, true);
	}
	/* What is copied to a second output stays to the end. */
	for (size_t k = 0; k < s->out.n; k++) {
		uint32_t b = p->of_value[M->root[graph(m, s->graph)->out.a[k]]];
		if (!s->out.a[k] && b)
			p->blocks.a[b - 1].last = s->end;
	}
	free(outside);
}

/* The totals are those of the section planned last. */
static void plan_section(struct memory_plan *p, struct model *M, struct section *s)
{
	size_t first = p->blocks.n;

	make_blocks(p, M, s);
	struct block *b = p->blocks.n ? p->blocks.a + first : NULL;
	size_t n = p->blocks.n - first;
	p->bytes = assign_offsets(b, n, &p->values);
	p->bound = assign_bound(b, n);
	p->apart = 0;
	for (size_t i = 0; i < n; i++)
		p->apart += b[i].bytes;
	s->arena_bytes = p->bytes;
}

/* Bodies before those that call them, whose workspaces they are; the main graph last. */
struct memory_plan *memory_plan_new(struct model *M)
{
	struct memory_plan *p = xcalloc(1, sizeof *p);

	p->of_value = xcalloc(M->m->values.n, sizeof *p->of_value);
	p->of_call = xcalloc(M->calls.n + 1, sizeof *p->of_call);
	for (size_t s = M->sections.n; s-- > 0;)
		plan_section(p, M, &M->sections.a[s]);
	return p;
}

void memory_plan_free(struct memory_plan *p)
{
	for (size_t i = 0; i < p->blocks.n; i++)
		vec_free(&p->blocks.a[i].calls);
	vec_free(&p->blocks);
	free(p->of_value);
	free(p->of_call);
	free(p);
}

static const struct block *block_at(const struct memory_plan *p, uint32_t b) { return b ? &p->blocks.a[b - 1] : NULL; }

const struct block *memory_of_value(const struct memory_plan *p, val_id v) { return block_at(p, p->of_value[v]); }

const struct block *memory_of_call(const struct memory_plan *p, uint32_t call) { return block_at(p, p->of_call[call]); }

/* ---- left in the module ---- */

void memory_plan_record(const struct memory_plan *p, struct model *M)
{
	struct module *m = M->m;

	for (uint32_t c = 0; c < M->calls.n; c++) {
		node_id id = M->calls.a[c].node;
		const struct node *n = node(m, id);
		int64_t *offsets = ARENA_ARRAY(&m->arena, int64_t, n->nout);
		for (uint32_t k = 0; k < n->nout; k++) {
			const struct block *b = memory_of_value(p, n->out[k]);
			offsets[k] = b ? b->offset : -1;
		}
		attr_set_ints(m, id, "offsets", (int)n->nout, offsets);
		const struct block *ws = memory_of_call(p, c);
		attr_set_ints(m, id, "workspace", 2, ws ? (int64_t[]){ws->offset, ws->bytes} : (int64_t[]){0, 0});
	}
	module_set_meta(m, PLAN_BYTES, intern_printf("%" PRId64, p->bytes));
	module_set_meta(m, PLAN_VALUES, intern_printf("%" PRId64, p->values));
	module_set_meta(m, PLAN_BOUND, intern_printf("%" PRId64, p->bound));
	module_set_meta(m, PLAN_THREADS, M->threads > 1 ? intern_printf("%d", M->threads) : 0);
	struct step_counts s = model_steps(M);
	module_set_meta(m, PLAN_STEPS,
			M->shaped ? intern_printf("kernels=%u open=%u versions=%u plain=%u native=%u slow=%u flow=%u", s.kernels, s.open,
						  s.versions, s.plain, s.native, s.slow, s.flow)
				  : 0);
}

/* ---- read ---- */

bool plan_steps(struct module *m, struct step_counts *s)
{
	const char *text = module_meta(m, PLAN_STEPS);

	return text && sscanf(text, "kernels=%u open=%u versions=%u plain=%u native=%u slow=%u flow=%u", &s->kernels, &s->open,
			      &s->versions, &s->plain, &s->native, &s->slow, &s->flow) == 7;
}

int64_t plan_bytes(struct module *m)
{
	const char *s = module_meta(m, PLAN_BYTES);
	char *end;

	if (!s)
		return -1;
	int64_t n = strtoll(s, &end, 10);
	if (end == s || *end || n < 0 || n >> ADDRESS_BITS)
		die(EX_BADDATA, "%s: %s is \"%s\", no number of bytes; run ge-plan again", m->source ? m->source : "-", PLAN_BYTES, s);
	return n;
}

int plan_threads(struct module *m)
{
	const char *s = module_meta(m, PLAN_THREADS);
	long n = s ? strtol(s, NULL, 10) : 1;
	return n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : (int)n;
}

/* Does the workspace of call c lie where it was planned? *offset: there. */
static bool fits(const struct model *M, uint32_t c, int64_t *offset)
{
	int n;
	const int64_t *planned = attr_ints(node(M->m, M->calls.a[c].node), "workspace", &n);

	*offset = n == 2 ? planned[0] : 0;
	return call_workspace_bytes(M, &M->calls.a[c]) <= (n == 2 ? planned[1] : 0);
}

/* The section that has the call. */
static struct section *call_section(struct model *M, uint32_t c)
{
	struct section *s = M->sections.a;

	while (c >= s->end)
		s++;
	return s;
}

int64_t call_workspace(struct model *M, uint32_t call)
{
	int64_t offset;
	return fits(M, call, &offset) ? offset : call_section(M, call)->spill;
}

/* Bytes up to the end of what the steps of a body have there. */
static int64_t planned_bytes(struct model *M, const struct section *s)
{
	int64_t end = 0;
	int n;

	for (uint32_t c = s->first; c < s->end; c++) {
		const struct node *x = node(M->m, M->calls.a[c].node);
		const int64_t *at = attr_ints(x, "offsets", &n), *ws;
		for (int k = 0; k < n && k < (int)x->nout; k++) {
			int64_t last = at[k] < 0 || !x->out[k] ? 0 : at[k] + home_bytes(M, &M->calls.a[c], x->out[k]);
			end = last > end ? last : end;
		}
		ws = attr_ints(x, "workspace", &n);
		if (n == 2 && ws[0] + ws[1] > end)
			end = ws[0] + ws[1];
	}
	return end;
}

static void read_section(struct model *M, struct section *s, int64_t bytes)
{
	int64_t more = 0, offset;

	s->spill = (bytes + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN;
	for (uint32_t c = s->first; c < s->end; c++) {
		int64_t need = call_workspace_bytes(M, &M->calls.a[c]);
		if (!fits(M, c, &offset) && need > more)
			more = need;
	}
	s->arena_bytes = s->spill + more;
}

void memory_plan_read(struct model *M)
{
	for (size_t s = M->sections.n; s-- > 1;)
		read_section(M, &M->sections.a[s], planned_bytes(M, &M->sections.a[s]));
	read_section(M, &M->sections.a[0], plan_bytes(M->m));
}
