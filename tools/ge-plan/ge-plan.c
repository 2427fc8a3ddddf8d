/* ge-plan: an address in one arena for every value and every kernel's workspace. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "assign.h"
#include "target/target.h"
#include "model/model.h"
#include "op/pass.h"

enum { OPT_NO_FALLBACK = 1000, OPT_TARGET, OPT_THREADS };

static bool no_fallback;
static int threads = 1;
static struct target target; /* no cores: this machine */

struct planner {
	struct model *M;
	VEC(struct block) blocks;
	uint32_t *of_value; /* root value -> block + 1 */
	uint32_t *of_call;  /* workspace of call -> block + 1 */
};

/* In a strip a value that is not of one image lives from its first call to its last, for all images. */
static void touch(struct planner *p, uint32_t b, uint32_t call, bool image)
{
	struct block *x = &p->blocks.a[b - 1];

	x->last = image ? call : p->M->calls.a[call].last;
	if (!x->calls.n || x->calls.a[x->calls.n - 1] != call)
		vec_push(&x->calls, call);
}

static uint32_t add_block(struct planner *p, int64_t bytes, uint32_t call, bool image, bool workspace)
{
	struct block b = {.bytes = (bytes + BLOCK_ALIGN - 1) / BLOCK_ALIGN * BLOCK_ALIGN, .workspace = workspace};

	b.first = image ? call : p->M->calls.a[call].strip;
	vec_push(&p->blocks, b);
	touch(p, (uint32_t)p->blocks.n, call, image);
	return (uint32_t)p->blocks.n;
}

/* Results that are computed in the caller's memory get no block. */
static void make_blocks(struct planner *p)
{
	struct model *M = p->M;
	struct module *m = M->m;
	bool *outside = xcalloc(m->values.n, sizeof *outside);

	for (size_t k = 0; k < M->out.n; k++)
		outside[M->out.a[k]] = true;
	for (uint32_t c = 0; c < M->calls.n; c++) {
		const struct node *n = node(m, M->calls.a[c].node);
		for (uint32_t i = 0; i < n->nin; i++) {
			uint32_t b = n->in[i] ? p->of_value[M->root[n->in[i]]] : 0;
			if (b)
				touch(p, b, c, M->inner[M->root[n->in[i]]]);
		}
		for (uint32_t k = 0; k < n->nout; k++)
			if (n->out[k] && !outside[n->out[k]])
				p->of_value[n->out[k]] =
					add_block(p, home_bytes(M, &M->calls.a[c], n->out[k]), c, M->inner[n->out[k]], false);
		if (call_workspace_bytes(M, &M->calls.a[c]))
			p->of_call[c] = add_block(p, call_workspace_bytes(M, &M->calls.a[c]), c, true, true);
	}
	/* What is copied to a second output stays to the end. */
	for (size_t k = 0; k < M->out.n; k++) {
		uint32_t b = p->of_value[M->root[graph(m, m->main)->out.a[k]]];
		if (!M->out.a[k] && b)
			p->blocks.a[b - 1].last = (uint32_t)M->calls.n;
	}
	free(outside);
}

/* Sets a key of the module's metadata; value 0: takes it out. */
static void set_meta(struct module *m, const char *name, sym value)
{
	sym key = intern(name);
	size_t i;

	for (i = 0; i < m->meta.n && m->meta.a[i].key != key; i++)
		;
	if (i == m->meta.n && value)
		vec_push(&m->meta, (struct meta){key, 0});
	if (value)
		m->meta.a[i].value = value;
	else if (i < m->meta.n)
		memmove(&m->meta.a[i], &m->meta.a[i + 1], (--m->meta.n - i) * sizeof *m->meta.a);
}

/* Leaves the plan in the module (model/model.h says how). */
static void record(struct planner *p, int64_t peak, int64_t of_values, int64_t bound)
{
	struct module *m = p->M->m;

	for (uint32_t c = 0; c < p->M->calls.n; c++) {
		node_id id = p->M->calls.a[c].node;
		const struct node *n = node(m, id);
		int64_t *offsets = ARENA_ARRAY(&m->arena, int64_t, n->nout);
		for (uint32_t k = 0; k < n->nout; k++) {
			uint32_t b = p->of_value[n->out[k]];
			offsets[k] = b ? p->blocks.a[b - 1].offset : -1;
		}
		attr_set_ints(m, id, "offsets", (int)n->nout, offsets);
		const struct block *ws = p->of_call[c] ? &p->blocks.a[p->of_call[c] - 1] : &(struct block){0};
		attr_set_ints(m, id, "workspace", 2, (int64_t[]){ws->offset, ws->bytes});
	}
	set_meta(m, PLAN_BYTES, intern_printf("%" PRId64, peak));
	set_meta(m, PLAN_VALUES, intern_printf("%" PRId64, of_values));
	set_meta(m, PLAN_BOUND, intern_printf("%" PRId64, bound));
	set_meta(m, PLAN_THREADS, threads > 1 ? intern_printf("%d", threads) : 0);
}

static void why(struct planner *p, const struct pass_ctx *c)
{
	struct module *m = p->M->m;

	for (uint32_t i = 0; c->why && i < p->M->calls.n; i++) {
		const struct node *n = node(m, p->M->calls.a[i].node);
		int64_t ws = call_workspace_bytes(p->M, &p->M->calls.a[i]);
		if (p->M->calls.a[i].images > 1)
			pass_why(c, m, p->M->calls.a[i].node, "image by image, %" PRId64 " of them, with calls %u to %u",
				 p->M->calls.a[i].images, p->M->calls.a[i].strip, p->M->calls.a[i].last);
		if (p->M->calls.a[i].kernel == KERNEL_OPAQUE)
			pass_why(c, m, p->M->calls.a[i].node, "on the slow path: %s", p->M->calls.a[i].why);
		for (uint32_t k = 0; k < n->nout; k++) {
			uint32_t b = p->of_value[n->out[k]];
			if (b)
				pass_why(c, m, p->M->calls.a[i].node, "%" PRId64 " bytes at %" PRId64 " until call %u, workspace %" PRId64,
					 home_bytes(p->M, &p->M->calls.a[i], n->out[k]), p->blocks.a[b - 1].offset, p->blocks.a[b - 1].last,
					 ws);
			else
				pass_why(c, m, p->M->calls.a[i].node, "in the caller's memory, workspace %" PRId64, ws);
		}
	}
}

static void plan(struct module *m, const struct pass_ctx *c)
{
	struct planner p = {.M = model_new(m, target.cores ? &target : target_host(), threads, NULL, true)};
	int64_t all = 0;

	if (no_fallback)
		model_report_opaque(p.M, true);
	p.of_value = xcalloc(m->values.n, sizeof *p.of_value);
	p.of_call = xcalloc(p.M->calls.n + 1, sizeof *p.of_call);
	make_blocks(&p);
	int64_t of_values, peak = assign_offsets(p.blocks.a, p.blocks.n, &of_values), bound = assign_bound(p.blocks.a, p.blocks.n);
	for (size_t i = 0; i < p.blocks.n; i++)
		all += p.blocks.a[i].bytes;
	record(&p, peak, of_values, bound);
	why(&p, c);
	note("%zu kernels, %zu distinct; memory %" PRId64 " bytes (%" PRId64 " without reuse): values %" PRId64 ", workspace %" PRId64
	     " more; lower bound %" PRId64,
	     p.M->calls.n - p.M->nopaque, p.M->kernels.n, peak, all, of_values, peak - of_values, bound);
	model_report_opaque(p.M, false);
	for (size_t i = 0; i < p.blocks.n; i++)
		vec_free(&p.blocks.a[i].calls);
	vec_free(&p.blocks);
	free(p.of_value);
	free(p.of_call);
	model_free(p.M);
}

static error_t option(int key, char *arg)
{
	char *end;
	long number;

	switch (key) {
	case OPT_NO_FALLBACK: no_fallback = true; return 0;
	case OPT_TARGET:
		if (!target_find(arg, &target))
			die(EX_BADUSE, "--target=%s: there are %s", arg, target_names());
		return 0;
	case OPT_THREADS:
		number = strtol(arg, &end, 10);
		if (*end || end == arg || number < 1 || number > THREADS_MAX)
			die(EX_BADUSE, "--threads %s: not a number from 1 to %d", arg, THREADS_MAX);
		threads = (int)number;
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{"no-fallback", OPT_NO_FALLBACK, 0, 0, "refuse a graph of which a part would run on the slow path", -1},
	{"target", OPT_TARGET, "NAME", 0, "plan for code for x86-64, x86-64-v3, x86-64-v4 or a row as kb prints them (default: native)",
	 -1},
	{"threads", OPT_THREADS, "N", 0, "plan for kernels that use at most N threads (default 1)", -1},
	{0},
};

static const struct pass pass = {
	.run = plan,
	.contract =
		"Needs shapes without symbols, and groups (ge-fuse). Leaves \"offsets\" and \"workspace\" on "
		"every Fused node, control operators in groups of their own, and " PLAN_BYTES
		" in the module's "
		"metadata; keeps everything else.",
};

const struct tool tool = {
	.name = "ge-plan",
	.summary = "Give every value a place in memory.",
	.args_doc = "[FILE]",
	.flags = TOOL_OUT | TOOL_WHY | TOOL_IN_STREAM,
	.max_files = 1,
	.options = options,
	.option = option,
	.run = pass_main,
	.data = &pass,
};
