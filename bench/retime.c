/* What did a tuning win? retime [--budget S] MODEL.g TUNED.g [OTHER.g]: every task of the model afresh: the schedule that TUNED
 * has for it against the default schedule and, with OTHER, against the schedule that OTHER has. All tasks three times, one after
 * another, so that what the machine does else for some seconds meets a task once; a row a task has the try in the middle; the total: the
 * time of the calls of all tasks; and how far apart the two tunings are, on how many tasks that is known to 2%. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "common/tool.h"
#include "runner/runner.h"
#include "target/target.h"
#include "graph/stream.h"
#include "model/candidate.h"
#include "loop/prim.h"
#include "op/task.h"
#include "answer.h"

enum { OPT_BUDGET = 1000, OPT_COLD, MODELS_MAX = 3, TRIES = 3, TRIES_MAX = 8, NARROW_TRIES = 3 };
#define LOST   0.01
#define APART  0.02
#define WIDTH  0.03
#define NARROW 0.01
static double budget = 3;
static int64_t cold_bytes = -1;
static struct arena arena;
static struct runner *r;

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_BUDGET: budget = atof(arg); return 0;
	case OPT_COLD: cold_bytes = strtoll(arg, NULL, 10) << 20; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static struct runner_answer next(void) { return next_of(&r, &arena); }

/* The model's schedule for the task; NULL: the default. */
static const char *trace_of(struct module *m, const char *text)
{
	struct task_list l = {0};
	const char *trace = NULL;

	task_list_make(&l, m, &arena);
	for (size_t i = 0; i < l.n && !trace; i++)
		if (!strcmp(l.a[i].text, text))
			trace = attr_str(node(m, l.a[i].node[0]), "trace", NULL);
	task_list_free(&l);
	return trace;
}

static int by_ratio(const void *a, const void *b)
{
	double x = ((const struct measurement *)a)->ratio, y = ((const struct measurement *)b)->ratio;

	return (x > y) - (x < y);
}

static struct measurement try_once(struct digest task, struct digest a, struct digest base, uint64_t seed, double width)
{
	runner_try(r, &(struct runner_try){.task = task,
					   .artifact = a,
					   .base = base,
					   .budget = budget,
					   .seed = seed,
					   .cold_bytes = (uint64_t)cold_bytes,
					   .width = width});
	return next().result;
}

/* Until enough is known to say in which 2% it is. */
static struct measurement compare(struct digest task, struct digest a, struct digest base, uint64_t seed)
{
	struct measurement x;

	do
		x = try_once(task, a, base, seed, WIDTH);
	while (x.verdict == VERDICT_UNSURE && ++seed % TRIES_MAX);
	return x;
}

static bool is_inside(const struct measurement *x) { return x->lo >= 1 / (1 + APART) && x->hi <= 1 + APART; }
static bool is_outside(const struct measurement *x) { return x->lo > 1 + APART || x->hi < 1 / (1 + APART); }

/* Base against candidate. */
static struct measurement turned(struct measurement x)
{
	double lo = x.lo;

	x.lo = 1 / x.hi;
	x.hi = 1 / lo;
	x.ratio = 1 / x.ratio;
	x.verdict = x.verdict == VERDICT_FASTER ? VERDICT_SLOWER : x.verdict == VERDICT_SLOWER ? VERDICT_FASTER : x.verdict;
	return x;
}

/* Until it is known whether they are within 2% of each other. What is slower ends with any interval, so where that leaves it open
 * the faster one is tried against the slower. */
static struct measurement compare_two(struct digest task, struct digest a, struct digest b, uint64_t seed)
{
	struct measurement x = compare(task, a, b, seed);

	for (int i = 0; i < NARROW_TRIES && verdict_timed(x.verdict) && !is_inside(&x) && !is_outside(&x); i++) {
		seed += TRIES_MAX * TRIES;
		x = x.ratio > 1 ? turned(try_once(task, b, a, seed, NARROW)) : try_once(task, a, b, seed, NARROW);
	}
	return x;
}

static struct measurement middle(struct measurement *x)
{
	qsort(x, TRIES, sizeof *x, by_ratio);
	return x[TRIES / 2];
}

struct total {
	double before, after, worst, apart;
	int tasks, lost, same, inside; /* timed; slower than the default by 1%; TUNED and OTHER: one kernel; interval inside 2% */
	const char *where;             /* the task on which they are furthest apart */
};

/* What is compared in one task. */
struct row {
	struct digest task, base, tuned, other;
	bool traced; /* tuned has a trace: else it is the default */
	struct measurement ratio[TRIES], apart[TRIES];
};

static struct row prepare(const struct task *t, struct module *const *model, int n)
{
	const char *why, *one = trace_of(model[1], t->text), *two = n > 2 ? trace_of(model[2], t->text) : NULL;
	struct module *m = task_module(t->text, 0, &arena, &why);
	struct row x = {.traced = one};

	runner_task(r, t->text);
	x.task = next().digest;
	x.base = build_trace(&r, &arena, m, NULL, x.task);
	x.tuned = one ? build_trace(&r, &arena, m, one, x.task) : x.base;
	x.other = two ? build_trace(&r, &arena, m, two, x.task) : x.base;
	module_free(m);
	return x;
}

/* Without a trace: the default against itself. */
static void try_row(const struct task *t, struct row *x, int n, int k)
{
	x->ratio[k] = compare(x->task, x->tuned, x->base, TRIES_MAX * (t->digest.lo + (uint64_t)k) + 1);
	x->apart[k] = (struct measurement){.ratio = 1, .lo = 1, .hi = 1, .verdict = VERDICT_TIE};
	if (n > 2 && !digest_eq(x->tuned, x->other))
		x->apart[k] = compare_two(x->task, x->tuned, x->other, TRIES_MAX * (t->digest.hi + (uint64_t)k) + 1);
}

static void print_row(const struct task *t, struct row *row, int n, struct total *sum)
{
	struct measurement x = middle(row->ratio), y = middle(row->apart);
	double ratio = row->traced ? x.ratio : 1, seconds = measurement_base_seconds(&x);
	bool same = digest_eq(row->tuned, row->other);

	sum->before += t->count * seconds;
	sum->after += t->count * seconds * ratio;
	sum->worst = fmax(sum->worst, ratio);
	sum->lost += !(ratio > 0) || ratio > 1 + LOST; /* 0: it does not run */
	sum->tasks++;
	printf("%-46.46s %3u %10.2f %6.3f (%.3f .. %.3f) %-7s", t->title, t->count, 1e6 * seconds, ratio, row->traced ? x.lo : 1,
	       row->traced ? x.hi : 1, row->traced ? verdict_name(x.verdict) : "default");
	if (n > 2) {
		sum->same += same;
		sum->inside += is_inside(&y);
		if (fmax(y.ratio, 1 / y.ratio) > sum->apart) {
			sum->apart = fmax(y.ratio, 1 / y.ratio);
			sum->where = t->title;
		}
		printf(" %6.3f (%.3f .. %.3f) %s", y.ratio, y.lo, y.hi, same ? "same" : verdict_name(y.verdict));
	}
	printf("\n");
	fflush(stdout);
}

static int run(const struct tool *t, struct tool_args *a)
{
	struct module *model[MODELS_MAX];
	struct task_list l = {0};
	struct total sum = {.worst = 0, .apart = 1};
	const char *why;

	if (a->nfile < 2)
		tool_usage();
	if (!(r = runner_open(NULL, 30, &arena, &why)))
		die(EX_NOTAVAIL, "%s", why);
	for (int i = 0; i < a->nfile; i++)
		model[i] = stream_read_only(stream_open(a->file[i]));
	if (cold_bytes < 0)
		cold_bytes = (int64_t)runner_cold_bytes(model[0], target_host());
	task_list_make(&l, model[0], &arena);
	printf("%-46s %3s %10s %s%s\n", "task", "n", "default us", "tuned/default", a->nfile > 2 ? "                  tuned/other" : "");
	struct row *row = ARENA_ARRAY(&arena, struct row, l.n);
	for (int k = 0; k < TRIES; k++)
		for (size_t i = 0; i < l.n; i++) {
			if (k == 0)
				row[i] = prepare(&l.a[i], model, a->nfile);
			try_row(&l.a[i], &row[i], a->nfile, k);
		}
	for (size_t i = 0; i < l.n; i++)
		print_row(&l.a[i], &row[i], a->nfile, &sum);
	printf("total: %.3f ms -> %.3f ms, %.3f of the default's; %d tasks, %d of them slower by 1%%, slowest at %.3f of its default's time\n",
	       1e3 * sum.before, 1e3 * sum.after, sum.after / sum.before, sum.tasks, sum.lost, sum.worst);
	if (a->nfile > 2)
		printf("two tunings: %d tasks compared, %d of them the same kernel, %d with an interval inside 2%%; at most %.1f%% apart%s%s\n",
		       sum.tasks, sum.same, sum.inside, 100 * (sum.apart - 1), sum.where ? ": " : "", sum.where ? sum.where : "");
	runner_close(r);
	return EX_GOOD;
}

static const struct argp_option options[] = {
	{"budget", OPT_BUDGET, "S", 0, "seconds at most for each comparison; 3", 0},
	{"cold-weights", OPT_COLD, "MB", 0, "megabytes of weights that calls go through; as tune-op does", 0},
	{"rotation", OPT_COLD, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0},
	{0},
};
const struct tool tool = {
	.name = "retime",
	.summary = "Time every task of a model afresh: tuned against the default, and one tuning against another.",
	.args_doc = "MODEL.g TUNED.g [OTHER.g]",
	.max_files = MODELS_MAX,
	.options = options,
	.option = option,
	.run = run,
};
