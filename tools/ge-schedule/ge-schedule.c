/* ge-schedule: schedules by a learned cost model, before anything is timed. */
#include <inttypes.h>
#include <math.h>
#include "common/digest.h"
#include "common/option.h"
#include "op/pass.h"
#include "op/task.h"
#include "search/choose.h"
#include "target/target.h"

enum { OPT_MODEL = 1000, OPT_CANDIDATES, OPT_TARGET };
static const char *model_path;
static size_t candidates = 64;
static struct target target;
static struct arena arena; /* for the life of the process */
static struct trees *model;

/* A graph of many tasks is passed in seconds: of all that ask for --candidates, so many tasks' worth of schedules is looked at. */
enum { TASKS_LOOKED_AT = 128 };
struct counted {
	uint32_t kernels, given, faster;
	size_t tried; /* schedules */
};

/* The task's nodes that have a trace keep it. */
static void schedule_task(struct module *m, const struct pass_ctx *c, const struct task *t, struct counted *n)
{
	struct arena a = {0};
	struct chosen x = {0};
	bool asked = false, left = n->tried >= TASKS_LOOKED_AT * candidates;

	for (uint32_t i = 0; i < t->count; i++) {
		node_id id = t->node[i];
		n->kernels++;
		if (attr_find(node(m, id), "trace")) {
			n->given++;
			pass_why(c, m, id, "keeps the trace that it has");
			continue;
		}
		if (left) {
			pass_why(c, m, id, "keeps the default schedule: it has less work than those that were looked at");
			continue;
		}
		if (!asked)
			x = schedule_choose(m, id, &target, model, candidates, &a);
		asked = true;
		if (x.trace) {
			attr_set_str(m, id, "trace", x.trace);
			n->faster++;
		}
		if (!x.from)
			pass_why(c, m, id, "has no kernel");
		else if (!x.tried)
			pass_why(c, m, id,
				 "keeps the default schedule: the model has not learned from such schedules, or for such a target");
		else
			pass_why(c, m, id, "%s: %.3f (%.3f to %.3f) of the default's time, the best of %zu schedules: %s",
				 x.trace ? "takes another schedule" : "keeps the default schedule",
				 exp2(-(double)x.gain.middle / TREES_UNIT), exp2(-(double)x.gain.most / TREES_UNIT),
				 exp2(-(double)x.gain.least / TREES_UNIT), x.tried, x.from);
	}
	n->tried += x.tried;
	arena_release(&a);
}

static void schedule(struct module *m, const struct pass_ctx *c)
{
	struct arena a = {0};
	struct task_list l = {0};
	struct counted n = {0};

	task_list_make(&l, m, &a);
	for (size_t i = 0; i < l.n; i++)
		schedule_task(m, c, &l.a[i], &n);
	for (size_t i = 0; i < l.without.n; i++)
		pass_why(c, m, l.without.a[i].node, "left as it is: no task: %s", l.without.a[i].why);
	note("%" PRIu32 " of %" PRIu32 " kernels have another schedule than the default one, by the cost model", n.faster,
	     n.kernels + (uint32_t)l.without.n);
	if (n.given)
		note("%" PRIu32 " keep the trace that they have", n.given);
	task_list_free(&l);
	arena_release(&a);
}

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_MODEL: model_path = arg; return 0;
	case OPT_CANDIDATES: candidates = option_count("--candidates", arg, 1, 1000000); return 0;
	case OPT_TARGET:
		if (!target_find(arg, &target))
			die(EX_BADUSE, "--target=%s: %s", arg, target_why_not(arg));
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct pass pass = {
	.run = schedule,
	.contract =
		"Needs Fused nodes of known sizes (ge-fuse, ge-layout). Keeps the graph, and traces that are there. Leaves a trace on each "
		"Fused node that the model is sure to make faster.",
};

/* In the provenance a model is its digest, wherever its file lies. */
static int run(const struct tool *t, struct tool_args *a)
{
	struct digest text;
	char hex[33];

	model = model_path ? trees_open(model_path, &arena, &text) : trees_usual(&arena, &text);
	digest_hex(text, hex);
	if (!target.cores)
		target = *target_host();
	a->options = arena_printf(&arena, "%s%s--model=%s", a->options ? a->options : "", a->options && *a->options ? " " : "", hex);
	return pass_main(t, a);
}

static const struct argp_option options[] = {
	{"candidates", OPT_CANDIDATES, "N", 0, "look at N schedules of a task at most (64)", 0},
	{"model", OPT_MODEL, "FILE", 0, "the cost model, made by tune-model (default: the one that hone brings along)", -1},
	{"target", OPT_TARGET, "NAME", 0, "for this target: %s (default: native)", 0},
	{0},
};

static const char *names(int key) { return target_names(); }

const struct tool tool = {
	.name = "ge-schedule",
	.summary = "Choose schedules by a cost model that was learned.",
	.args_doc = "[FILE]",
	.flags = TOOL_OUT | TOOL_WHY | TOOL_IN_STREAM,
	.max_files = 1,
	.run = run,
	.data = &pass,
	.options = options,
	.option = option,
	.names = names,
};
