/* ge-plan: an address in one arena for every value and every kernel's workspace. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "common/option.h"
#include "target/target.h"
#include "model/memory_plan.h"
#include "op/op.h"
#include "op/pass.h"

enum { OPT_NO_FALLBACK = 1000, OPT_NO_OPEN, OPT_TARGET, OPT_THREADS };

static bool no_fallback, no_open;
static int threads = 1;
static struct target target; /* no cores: this machine */

static void why(const struct memory_plan *p, struct model *M, const struct pass_ctx *c)
{
	struct module *m = M->m;

	for (uint32_t i = 0; c->why && i < M->calls.n; i++) {
		const struct call *x = &M->calls.a[i];
		const struct node *n = node(m, x->node);
		int64_t ws = call_workspace_bytes(M, x);
		if (x->images > 1)
			pass_why(c, m, x->node, "image by image, %" PRId64 " of them, with calls %u to %u", x->images, x->strip, x->last);
		if (x->kernel == KERNEL_OPAQUE)
			pass_why(c, m, x->node, "on the slow path: %s", x->why);
		if (x->kernel == KERNEL_NATIVE)
			pass_why(c, m, x->node, "native: %s", x->why);
		for (uint32_t k = 0; k < n->nout; k++) {
			const struct block *b = memory_of_value(p, n->out[k]);
			if (b)
				pass_why(c, m, x->node, "%" PRId64 " bytes at %" PRId64 " until call %u, workspace %" PRId64,
					 home_bytes(M, x, n->out[k]), b->offset, b->last, ws);
			else
				pass_why(c, m, x->node, "in the caller's memory, workspace %" PRId64, ws);
		}
	}
}

/* Which inputs have sizes that only a run knows; --no-open: die(64) if there are any. */
static void report_open(struct module *m)
{
	const struct graph *g = graph(m, m->main);
	const char *list = "";

	for (size_t i = 0; i < g->in.n; i++)
		if (value_varies(m, g->in.a[i]))
			list = arena_printf(&m->arena, "%s%s%s %s", list, *list ? ", " : "", sym_str(val(m, g->in.a[i])->name),
					    type_str(m, &val(m, g->in.a[i])->type, &m->arena));
	if (*list && no_open)
		bind_missing(m, "ge-shape");
	if (*list)
		note("open sizes: %s; each run gives them, and is slower than with --set", list);
}

static void plan(struct module *m, const struct pass_ctx *c)
{
	struct model *M = model_new(m, target.cores ? &target : target_host(), threads, NULL, true);

	if (no_fallback)
		model_report_opaque(M, true);
	struct memory_plan *p = memory_plan_new(M);
	memory_plan_record(p, M);
	why(p, M, c);
	note("%zu kernels, %zu distinct; memory %" PRId64 " bytes (%" PRId64 " without reuse): values %" PRId64 ", workspace %" PRId64
	     " more; lower bound %" PRId64,
	     M->calls.n - M->nopaque - M->nnative - M->ncontrol, M->kernels.n, p->bytes, p->apart, p->values, p->bytes - p->values,
	     p->bound);
	model_report_native(M);
	model_report_opaque(M, false);
	report_open(m);
	memory_plan_free(p);
	model_free(M);
}

static error_t option(int key, char *arg)
{

	switch (key) {
	case OPT_NO_FALLBACK: no_fallback = true; return 0;
	case OPT_NO_OPEN: no_open = true; return 0;
	case OPT_TARGET:
		if (!target_find(arg, &target))
			die(EX_BADUSE, "--target=%s: there are %s", arg, target_names());
		return 0;
	case OPT_THREADS: threads = (int)option_count("--threads", arg, 1, THREADS_MAX); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{"no-fallback", OPT_NO_FALLBACK, 0, 0, "refuse a graph of which a part would run on the slow path", -1},
	{"no-open", OPT_NO_OPEN, 0, 0, "refuse inputs whose sizes are not given", -1},
	{"target", OPT_TARGET, "NAME", 0, "plan for code for this target: %s (default: native)", -1},
	{"threads", OPT_THREADS, "N", 0, "plan for kernels that use at most N threads (default 1)", -1},
	{0},
};

static const struct pass pass = {
	.run = plan,
	.contract =
		"Needs shapes and groups (ge-fuse). Leaves \"offsets\" and \"workspace\" on "
		"every Fused node, control operators in groups of their own, and " PLAN_BYTES
		" in the module's "
		"metadata; keeps everything else.",
};

static const char *names(int key) { return target_names(); }

const struct tool tool = {
	.name = "ge-plan",
	.summary = "Give every value a place in memory.",
	PASS_TOOL(pass),
	.options = options,
	.option = option,
	.names = names,
};
