/* ge-schedule: schedules by what was measured, else by a learned cost model. Nothing is timed. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "common/digest.h"
#include "common/option.h"
#include "graph/fused.h"
#include "loop/prim.h"
#include "op/pass.h"
#include "op/task.h"
#include "search/ahead.h"
#include "search/predict.h"
#include "target/target.h"
#include "tune/recall.h"

enum { JOBS_MAX = 256, OPT_MODEL = 1000, OPT_CANDIDATES, OPT_TARGET, OPT_KB, OPT_NO_KB, OPT_NO_RECORDS, OPT_TRACES };
static const char *model_path, *kb_file;
static bool no_kb, no_records, traces;
static size_t candidates = SCHEDULES_LOOKED_AT, jobs; /* 0: as many as CPUs */
static struct target target;
static struct arena arena;  /* for the life of the process */
static struct trees *model; /* NULL: schedules stay as they are */
static struct kb *kb;       /* NULL: no records are asked */

/* A graph of many tasks is passed in seconds: of all that ask for --candidates, so many tasks' worth of schedules is looked at. */
enum { TASKS_LOOKED_AT = 128 };
struct counted {
	uint32_t kernels, given, faster, recalled, foreign;
	size_t tried; /* schedules */
};

/* A decision about a task. trace NULL: the default schedule; why: in words, arena string. */
struct decision {
	const char *trace, *why;
	bool recalled;
	double seconds;    /* that a group is predicted to take; 0: not asked yet */
	const char *usual; /* --traces: the trace of the default schedule; NULL: not asked yet, or it has none */
};

/* The record that decides. False: none does. */
static bool recall(struct module *m, const struct task *t, struct counted *n, struct decision *d, struct arena *a)
{
	const struct recall w = {kb, target_row(&target), &target, true};
	bool older = false, foreign = false;
	char hex[33];
	const struct kb_record *r = kb ? recall_record(&w, m, t, a, &older, &foreign) : NULL;

	n->foreign += foreign ? t->count : 0;
	if (!r)
		return false;
	digest_hex(r->id, hex);
	*d = (struct decision){
		kb_get_field(r, "trace"),
		arena_printf(a, "record %.12s: %s of %s's time", hex, kb_get_field(r, "ratio"), older ? "an older default" : "the default"),
		true, 0};
	return true;
}

/* Was the model's schedule timed here, and slower? Then the default stays. */
static void doubt(struct module *m, const struct task *t, struct decision *d, struct arena *a)
{
	const struct recall w = {kb, target_row(&target), &target, true};
	const struct kb_record *r = kb && d->trace ? recall_refuted(&w, m, t, d->trace, a) : NULL;
	char hex[33];

	if (!r)
		return;
	digest_hex(r->id, hex);
	*d = (struct decision){.why = arena_printf(a, "keeps the default schedule: by record %.12s the model's choice is %s", hex,
						   kb_get_field(r, "verdict"))};
}

/* The model says nothing of the task: what becomes of it. */
static struct decision unasked(const struct counted *n)
{
	return (struct decision){.why = !model ? "keeps the default schedule"
					: n->tried >= TASKS_LOOKED_AT * candidates
						? "keeps the default schedule: it has less work than those that were looked at"
						: NULL};
}

static struct decision predicted(const struct chosen *x, struct arena *a)
{
	if (!x->from)
		return (struct decision){.why = "has no kernel", .seconds = x->seconds};
	if (!x->tried)
		return (struct decision){
			.why = "keeps the default schedule: the model has not learned from such schedules, or for such a target",
			.seconds = x->seconds};
	return (struct decision){.trace = x->trace,
				 .why = arena_printf(a, "%s: %.3f (%.3f to %.3f) of the default's time, the best of %zu schedules: %s",
						     x->trace ? "takes another schedule" : "keeps the default schedule",
						     exp2(-(double)x->gain.middle / TREES_UNIT), exp2(-(double)x->gain.most / TREES_UNIT),
						     exp2(-(double)x->gain.least / TREES_UNIT), x->tried, x->from),
				 .seconds = x->seconds};
}

/* A node that has a trace keeps it. seen: the one before that had one. */
static void keep(struct module *m, node_id n, struct decision *seen)
{
	const char *trace = attr_str(node(m, n), "trace", NULL);

	if (fused_seconds(m, n) > 0)
		return;
	if (!seen->trace || strcmp(seen->trace, trace))
		*seen = (struct decision){.trace = trace, .seconds = group_seconds(m, n, &target)};
	fused_set_seconds(m, n, seen->seconds);
}

/* The default schedule of a group, as a trace. NULL: it has no kernel. */
static const char *default_as_trace(struct module *m, node_id n, struct arena *a)
{
	struct scheduled s = group_schedule(m, n, &target, NULL, NULL, NULL);

	if (!s.low.prog)
		return NULL;
	const char *trace = trace_stamp(s.trace, s.stages, a);
	prog_free(s.low.prog);
	return trace;
}

/* A task's groups get what was decided. */
static void write_down(struct module *m, const struct pass_ctx *c, const struct task *t, struct decision *d, struct counted *n,
		       struct arena *a)
{
	struct decision kept = {0};

	for (uint32_t i = 0; i < t->count; i++) {
		node_id id = t->node[i];
		n->kernels++;
		if (attr_find(node(m, id), "trace")) {
			n->given++;
			keep(m, id, &kept);
			pass_why(c, m, id, "keeps the trace that it has");
			continue;
		}
		if (!d->trace && traces && !d->usual)
			d->usual = default_as_trace(m, id, a);
		if (d->trace || d->usual)
			fused_set_trace(m, id, d->trace ? d->trace : d->usual);
		if (!(d->seconds > 0))
			d->seconds = group_seconds(m, id, &target);
		fused_set_seconds(m, id, d->seconds);
		n->recalled += d->recalled;
		n->faster += d->trace && !d->recalled;
		pass_why(c, m, id, "%s", d->why);
	}
}

static bool has_traces(struct module *m, const struct task *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (!attr_find(node(m, t->node[i]), "trace"))
			return false;
	return true;
}

/* By records, then by the model. */
static void decide(struct module *m, const struct task_list *l, struct decision *d, struct counted *n, struct arena *a)
{
	node_id *asked = ARENA_ARRAY(a, node_id, l->n);
	size_t *of = ARENA_ARRAY(a, size_t, l->n), nasked = 0;

	for (size_t i = 0; i < l->n; i++)
		if (!has_traces(m, &l->a[i]) && !recall(m, &l->a[i], n, &d[i], a)) {
			asked[nasked] = l->a[i].node[0];
			of[nasked++] = i;
		}
	struct ahead *h = ahead_start(m, asked, model ? nasked : 0, &target, model, candidates, jobs);
	for (size_t k = 0; k < nasked; k++) {
		struct decision *to = &d[of[k]];
		*to = unasked(n);
		if (!to->why) {
			struct chosen x = ahead_next(h, a);
			n->tried += x.tried;
			*to = predicted(&x, a);
			doubt(m, &l->a[of[k]], to, a);
		}
	}
	ahead_stop(h);
}

static void schedule(struct module *m, const struct pass_ctx *c)
{
	struct arena a = {0};
	struct task_list l = {0};
	struct counted n = {0};

	task_list_make(&l, m, &a);
	struct decision *d = ARENA_ARRAY(&a, struct decision, l.n);
	decide(m, &l, d, &n, &a);
	for (size_t i = 0; i < l.n; i++)
		write_down(m, c, &l.a[i], &d[i], &n, &a);
	for (size_t i = 0; i < l.without.n; i++)
		pass_why(c, m, l.without.a[i].node, "left as it is: no task: %s", l.without.a[i].why);
	if (model)
		note("%" PRIu32 " of %" PRIu32 " kernels have another schedule than the default one, by the cost model", n.faster,
		     n.kernels + (uint32_t)l.without.n);
	if (n.recalled)
		note("%" PRIu32 " have the schedule that was measured to be faster", n.recalled);
	if (n.foreign)
		note("of %" PRIu32 " a record says what is faster, but it was not measured here; hone tune times them", n.foreign);
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
	case 'j': jobs = option_count("-j", arg, 1, JOBS_MAX); return 0;
	case OPT_KB: kb_file = arg; return 0;
	case OPT_NO_KB: no_kb = no_records = true; return 0;
	case OPT_NO_RECORDS: no_records = true; return 0;
	case OPT_TRACES: traces = true; return 0;
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
		"Fused node that is faster by a record of the knowledge base, or surely by the model, and on each the time that it is "
		"predicted to take. With --traces each has a trace.",
};

/* In the provenance a model is its digest, wherever its file lies. */
static int run(const struct tool *t, struct tool_args *a)
{
	struct digest text;
	char hex[33] = "none";

	if (!target.cores)
		target = *target_host();
	if (!jobs)
		jobs = target_host()->cores;
	if (kb_file && no_kb)
		die(EX_BADUSE, "--kb and --no-kb do not go together");
	if (model_path && strcmp(model_path, "none"))
		model = trees_open(model_path, &arena, &text);
	else if (!model_path)
		model = no_kb ? trees_usual(&arena, &text) : trees_here(kb_file, target_row(&target), &arena, &text);
	if (model)
		digest_hex(text, hex);
	if (!no_records)
		kb = kb_file ? kb_open(kb_file, false) : kb_open_if_there(NULL);
	a->options = arena_printf(&arena, "%s%s--model=%s", a->options ? a->options : "", a->options && *a->options ? " " : "", hex);
	int code = pass_main(t, a);
	if (kb)
		kb_close(kb);
	return code;
}

static const struct argp_option options[] = {
	{"candidates", OPT_CANDIDATES, "N", 0, "look at N schedules of a task at most (64)", 0},
	{"jobs", 'j', "N", 0, "tasks at a time (default: as many as CPUs)", -1},
	{"kb", OPT_KB, "FILE", 0, "the knowledge base, in place of HONE_KB and the one in the home directory", 0},
	{"no-kb", OPT_NO_KB, 0, 0, "no record decides, nor what was learned on this machine", 0},
	{"no-records", OPT_NO_RECORDS, 0, 0, "no record decides", 0},
	{"model", OPT_MODEL, "FILE", 0,
	 "the cost model, made by tune-model; none: other schedules only by records (default: the one that hone brings along)", -1},
	{"traces", OPT_TRACES, 0, 0, "write the trace of each group, of default schedules, too", 0},
	{"target", OPT_TARGET, "NAME", 0, "for this target: %s (default: native)", 0},
	{0},
};

static const char *names(int key) { return target_names(); }

const struct tool tool = {
	.name = "ge-schedule",
	.summary = "Choose schedules by what was measured, else by a cost model that was learned.",
	.args_doc = "[FILE]",
	.flags = TOOL_OUT | TOOL_WHY | TOOL_IN_STREAM,
	.max_files = 1,
	.run = run,
	.data = &pass,
	.options = options,
	.option = option,
	.names = names,
};
