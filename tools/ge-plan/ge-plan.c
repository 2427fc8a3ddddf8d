/* ge-plan: an address in one arena for every value and every kernel's workspace. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "common/facts.h"
#include "common/option.h"
#include "graph/fused.h"
#include "target/target.h"
#include "model/control.h"
#include "model/lanes.h"
#include "model/memory_plan.h"
#include "model/state.h"
#include "op/op.h"
#include "op/pass.h"
#include "search/predict.h"
#include "open.h"

enum { OPT_ALIAS = 1000, OPT_LANES, OPT_NO_FALLBACK, OPT_NO_OPEN, OPT_TARGET, OPT_THREADS, OPT_STEPS };

static bool no_fallback, no_open, steps;
static int threads = 1, lanes; /* 0 lanes: as many as pay */
static VEC(const char *) aliases;
static struct target target; /* no cores: this machine */

/* Where result v of call x is. */
static void why_value(const struct memory_plan *p, struct model *M, const struct call *x, val_id v, const struct pass_ctx *c)
{
	struct module *m = M->m;
	const struct block *b = memory_of_value(p, v);
	int64_t ws = call_workspace_bytes(M, x);

	if (b)
		pass_why(c, m, x->node, "%" PRId64 " bytes at %" PRId64 " until call %u, workspace %" PRId64, home_bytes(M, x, v),
			 b->offset, b->last, ws);
	else if (v && M->slot && M->slot[M->root[v]])
		pass_why(c, m, x->node, "%s in buffer %u, as large as each run needs", type_str(m, &val(m, v)->type, &m->arena),
			 M->slot[M->root[v]] - 1);
	else
		pass_why(c, m, x->node, "in the caller's memory, workspace %" PRId64, ws);
}

static void why(const struct memory_plan *p, struct model *M, const struct pass_ctx *c)
{
	struct module *m = M->m;

	for (uint32_t i = 0; c->why && i < M->calls.n; i++) {
		const struct call *x = &M->calls.a[i];
		const struct node *n = node(m, x->node);
		const char *open = open_why(M, x);
		if (x->images > 1)
			pass_why(c, m, x->node, "image by image, %" PRId64 " of them, with calls %u to %u", x->images, x->strip, x->last);
		if (x->lanes)
			pass_why(c, m, x->node, "lane %" PRId64 " of %" PRId64 ", beside calls %u to %u", x->lane, x->lanes, x->strip,
				 x->last);
		if (x->kernel == KERNEL_OPAQUE)
			pass_why(c, m, x->node, "on the slow path: %s", x->why);
		if (x->kernel == KERNEL_NATIVE)
			pass_why(c, m, x->node, "native: %s", x->why);
		if (open)
			pass_why(c, m, x->node, "%s", open);
		for (uint32_t k = 0; k < n->nout; k++)
			why_value(p, M, x, n->out[k], c);
	}
}

/* --steps: what runs each step, for the program that started this one: four facts each. */
static void tell_steps(struct model *M)
{
	struct module *m = M->m;

	for (uint32_t i = 0; i < M->calls.n && steps; i++) {
		const struct call *x = &M->calls.a[i];
		const struct node *n = node(m, x->node);
		bool slow = x->kernel == KERNEL_OPAQUE, native = x->kernel == KERNEL_NATIVE;
		const char *open = open_why(M, x);
		facts_add("step", sym_str(n->name ? n->name : n->nout && n->out[0] ? val(m, n->out[0])->name : 0));
		facts_add("as", slow ? "slow path" : native ? "native" : call_has_kernel(x) ? "kernel" : "flow");
		facts_add("why", slow || native ? x->why : open ? open : "");
		facts_add("picoseconds", arena_printf(&m->arena, "%.0f", n->op == OP_Fused ? 1e12 * fused_seconds(m, x->node) : 0));
	}
}

static bool has_gears(const struct model *M)
{
	bool any = false;

	for (uint32_t i = 0; i < M->calls.n; i++)
		any |= M->calls.a[i].control && M->calls.a[i].control->fitted;
	return any;
}

static void report_states(struct model *M, bool each)
{
	const struct graph *g = graph(M->m, M->m->main);
	int64_t in_place = 0, apart = 0, copied = 0, open = 0, grow = 0, changed = 0;

	for (size_t i = 0; i < M->states.n; i++) {
		const struct state *s = &M->states.a[i];
		const char *in = sym_str(val(M->m, g->in.a[s->in])->name), *out = sym_str(g->out_name.a[s->out]);
		bool change = s->open && !s->axis && !s->why && M->root[g->out.a[s->out]] != g->in.a[s->in];
		*(s->why ? &apart : &in_place) += s->bytes;
		copied += s->copied;
		open += s->open;
		grow += s->axis > 0;
		changed += change;
		if (each && s->open)
			note("state %s = %s: its size is open; %s", in, out,
			     s->axis  ? arena_printf(&M->m->arena, "it grows in place along axis %d", s->axis - 1)
			     : change ? "updated in place"
			     : s->why ? arena_printf(&M->m->arena, "each run makes it anew: %s", s->why)
				      : "it stays as it is");
		if (each && !s->open)
			note("state %s = %s: %" PRId64 " bytes %s%s", in, out, s->bytes,
			     s->why ? "in two places that take turns: " : "in place", s->why ? s->why : "");
	}
	if (M->states.n)
		note("%zu input%s kept: %" PRId64 " bytes updated in place, %" PRId64
		     " in two places that take turns%s; a run copies %" PRId64 " bytes of them",
		     M->states.n, M->states.n == 1 ? "" : "s", in_place, apart,
		     open ? arena_printf(&M->m->arena, ", %" PRId64 " of open sizes (%s%" PRId64 " grow in place)", open,
					 changed ? arena_printf(&M->m->arena, "%" PRId64 " updated, ", changed) : "", grow)
			  : "",
		     copied);
}

static void report_memory(const struct memory_plan *p, struct model *M)
{
	const char *grow = "";
	size_t kernels = M->calls.n - M->nopaque - M->nnative - M->ncontrol - M->nappend - M->nmaps;

	if (M->nslots)
		grow = arena_printf(&M->m->arena, "; buffers that grow as a run needs: %u, together %.0f bytes where open sizes are %d",
				    M->nslots, M->slot_bytes, SLOT_SIZE);
	note("%zu kernels, %zu %s; memory %" PRId64 " bytes%s (%" PRId64 " without reuse): values %" PRId64 ", workspace %" PRId64
	     " more; lower bound %" PRId64 "%s",
	     kernels, M->kernels.n, M->kernels.n > kernels ? "with those for some sizes" : "distinct", p->bytes,
	     M->nslots ? " of fixed size" : "", p->apart, p->values, p->bytes - p->values, p->bound, grow);
}

static void choose_lanes(struct model *M)
{
	struct lane_seconds s;

	if (M->shaped)
		return;
	s = model_seconds(M);
	lanes_choose(M, lanes, &s);
}

static void plan(struct module *m, const struct pass_ctx *c)
{
	states_declare(m, aliases.n, aliases.a);
	states_settle(m);
	if (threads == 1 || lanes)
		lanes_drop(m);
	struct model *M = model_new(m, target.cores ? &target : target_host(), threads, NULL, true);
	if (threads > 1 && lanes != 1 && !lanes_there(m))
		choose_lanes(M);

	if (no_fallback)
		model_report_opaque(M, true);
	struct memory_plan *p = memory_plan_new(M);
	memory_plan_record(p, M);
	states_plan(M);
	why(p, M, c);
	tell_steps(M);
	report_memory(p, M);
	report_states(M, c->why);
	model_report_native(M);
	model_report_opaque(M, false);
	open_report(M, has_gears(M), no_open);
	facts_number("slow", M->nopaque);
	memory_plan_free(p);
	model_free(M);
}

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_ALIAS: vec_push(&aliases, arg); return 0;
	case OPT_NO_FALLBACK: no_fallback = true; return 0;
	case OPT_STEPS: steps = true; return 0;
	case OPT_NO_OPEN: no_open = true; return 0;
	case OPT_TARGET:
		if (!target_find(arg, &target))
			die(EX_BADUSE, "--target=%s: %s", arg, target_why_not(arg));
		return 0;
	case OPT_LANES: lanes = (int)option_count("--lanes", arg, 1, LANES_MAX); return 0;
	case OPT_THREADS: threads = (int)option_count("--threads", arg, 1, THREADS_MAX); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{"alias", OPT_ALIAS, "INPUT=OUTPUT", 0, "the library keeps INPUT: what OUTPUT is in one run, INPUT is in the next"},
	{"lanes", OPT_LANES, "N", 0, "run branches side by side, N at a time; 1: none (default: where that is faster)"},
	{"no-fallback", OPT_NO_FALLBACK, 0, 0, "refuse a graph of which a part would run on the slow path", -1},
	{"no-open", OPT_NO_OPEN, 0, 0, "refuse inputs whose sizes are not given", -1},
	{"steps", OPT_STEPS, 0, 0, "tell the program that asks for --facts what runs each step", -1},
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
