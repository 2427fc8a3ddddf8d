/* How well do strategies search? strategies [--trials N] [--seeds N] [--runner COMMAND] [--strategy NAME].. [--cost-model NAME].. TASK..:
 * each strategy, by each cost model (analytic), on each task with each seed. A schedule is timed once, by whoever proposes it first, so
 * what differs is the way, not the noise. A row a strategy: the best after so many trials, as a share of the best that any of them found,
 * median and worst of the seeds; and after how many trials the search had converged. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "common/sorted.h"
#include "common/tool.h"
#include "runner/runner.h"
#include "target/target.h"
#include "model/candidate.h"
#include "loop/prim.h"
#include "op/task.h"
#include "search/search.h"
#include "answer.h"

enum { OPT_TRIALS = 1000, OPT_SEEDS, OPT_RUNNER, OPT_STRATEGY, OPT_COST };
enum { BATCH = 4, STRATEGIES_MAX = 8, WAYS_MAX = 24, SEEDS_MAX = 32, MARKS_MAX = 16, FIRST_MARK = 8 };
static size_t trials = 64;
static int seeds = 4, nchosen, ncosts;
static const char *command;
static const struct strategy *chosen[STRATEGIES_MAX];
static const struct cost_model *costs[STRATEGIES_MAX];
static struct arena arena;
static struct runner *r;

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_TRIALS: trials = strtoull(arg, NULL, 10); return 0;
	case OPT_SEEDS: seeds = atoi(arg) < SEEDS_MAX ? atoi(arg) : SEEDS_MAX; return 0;
	case OPT_RUNNER: command = arg; return 0;
	case OPT_STRATEGY:
		if (nchosen == STRATEGIES_MAX || !strategy_find(arg))
			die(EX_BADUSE, "--strategy=%s: there is none", arg);
		chosen[nchosen++] = strategy_find(arg);
		return 0;
	case OPT_COST:
		if (ncosts == WAYS_MAX / STRATEGIES_MAX || !cost_model_find(arg))
			die(EX_BADUSE, "--cost-model=%s: there is none", arg);
		costs[ncosts++] = cost_model_find(arg);
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static struct runner_answer next(void) { return next_of(&r, &arena); }

/* ---- what has been timed ---- */

struct known {
	struct digest trace;
	double ratio; /* infinite: it does not work */
};
struct known_task {
	const char *text;
	struct module *m;
	struct digest task, base;
	VEC(struct known) known;
};

static void ask_build(const struct known_task *s, const struct candidate *c)
{
	struct runner_build b = build_of(c, &arena);

	runner_build(r, s->task, &b);
}

static double time_trace(struct known_task *s, const char *trace)
{
	struct digest d = digest_bytes(trace, strlen(trace));
	const char *why;

	for (size_t i = 0; i < s->known.n; i++)
		if (digest_eq(s->known.a[i].trace, d))
			return s->known.a[i].ratio;
	struct candidate *c = candidate_new(s->m, task_node(s->m), target_host(), trace, false, &why);
	double ratio = INFINITY;
	if (c) {
		ask_build(s, c);
		struct runner_answer b = next();
		if (b.result.verdict != VERDICT_BUILD) {
			runner_try(r, &(struct runner_try){
					      .task = s->task, .artifact = b.digest, .base = s->base, .budget = 0.25, .seed = d.lo});
			b = next();
			if (b.result.npairs)
				ratio = b.result.ratio;
		}
		candidate_free(c);
	}
	vec_push(&s->known, (struct known){d, ratio});
	return ratio;
}

/* ---- searches ---- */

static int marks(void)
{
	int n = 0;

	while (n < MARKS_MAX && ((size_t)FIRST_MARK << n) <= trials)
		n++;
	return n;
}

struct way { /* of one search */
	double best[MARKS_MAX];
	size_t converged; /* after how many trials; 0: not */
};

static struct way search(struct known_task *s, const struct strategy *strategy, const struct cost_model *cost, uint64_t seed)
{
	struct space *space = space_new(s->m, task_node(s->m), target_host(), cost);
	struct search *x = search_new(space, strategy, seed);
	struct way w = {.converged = 0};
	struct point *p[BATCH];
	double best = 1;
	size_t n = 0;

	for (int k = 0; k < marks(); k++) {
		for (size_t got = 1; got && n < ((size_t)FIRST_MARK << k); n += got) {
			got = search_propose(x, BATCH, p);
			if (!w.converged && search_outlook(x).converged)
				w.converged = n;
			for (size_t i = 0; i < got; i++) {
				search_tell(x, p[i], time_trace(s, p[i]->trace));
				best = fmin(best, p[i]->measured);
			}
		}
		w.best[k] = best;
	}
	search_free(x);
	space_free(space);
	return w;
}

static void print_row(const struct strategy *strategy, const struct cost_model *cost, const struct way *w, double best)
{
	double v[SEEDS_MAX];

	printf("  %-8s %-8s", strategy->name, cost->name);
	for (int k = 0; k < marks(); k++) {
		for (int i = 0; i < seeds; i++)
			v[i] = w[i].best[k] / best;
		qsort(v, (size_t)seeds, sizeof *v, ascending);
		printf("  %5.3f %5.3f", v[seeds / 2], v[seeds - 1]);
	}
	for (int i = 0; i < seeds; i++)
		v[i] = (double)w[i].converged;
	qsort(v, (size_t)seeds, sizeof *v, ascending);
	printf("  %5.0f\n", v[seeds / 2]);
}

static void compare(const char *text)
{
	struct way w[WAYS_MAX][SEEDS_MAX];
	struct known_task s = {.text = text};
	double best = 1;
	const char *why;

	if (!(s.m = task_module(text, 0, &arena, &why)))
		die(EX_BADDATA, "%s: %s", text, why);
	runner_task(r, text);
	s.task = next().digest;
	struct candidate *c = candidate_new(s.m, task_node(s.m), target_host(), NULL, false, &why);
	if (!c)
		die(EX_BADDATA, "%s: %s", text, why);
	ask_build(&s, c);
	s.base = next().digest;
	candidate_free(c);
	for (int i = 0; i < seeds; i++)
		for (int k = 0; k < nchosen * ncosts; k++)
			w[k][i] = search(&s, chosen[k / ncosts], costs[k % ncosts], (uint64_t)i + 1);
	for (size_t i = 0; i < s.known.n; i++)
		best = fmin(best, s.known.a[i].ratio);
	printf("%.70s: best %.3f of %zu\n", text, best, s.known.n);
	for (int k = 0; k < nchosen * ncosts; k++)
		print_row(chosen[k / ncosts], costs[k % ncosts], w[k], best);
	fflush(stdout);
	vec_free(&s.known);
	module_free(s.m);
}

static int run(const struct tool *t, struct tool_args *a)
{
	const char *why;

	if (!a->nfile)
		tool_usage();
	if (!nchosen)
		for (const struct strategy *const *s = strategies; *s && nchosen < STRATEGIES_MAX; s++)
			chosen[nchosen++] = *s;
	if (!ncosts)
		costs[ncosts++] = &cost_models[0];
	if (!(r = runner_open(command, 30, &arena, &why)))
		die(EX_NOTAVAIL, "%s", why);
	printf("best so far over the best of all, median and worst of %d seeds, after", seeds);
	for (int k = 0; k < marks(); k++)
		printf(" %d", FIRST_MARK << k);
	printf(" trials; trials to convergence\n");
	for (int i = 0; i < a->nfile; i++)
		compare(a->file[i]);
	runner_close(r);
	return EX_GOOD;
}

static const struct argp_option options[] = {
	{"trials", OPT_TRIALS, "N", 0, "of each search; 64", 0},
	{"seeds", OPT_SEEDS, "N", 0, "searches by each strategy; 4", 0},
	{"runner", OPT_RUNNER, "COMMAND", 0, "where kernels run", 0},
	{"cost-model", OPT_COST, "NAME", 0, "by this cost model (analytic); repeated", 0},
	{"strategy", OPT_STRATEGY, "NAME", 0, "only these; repeated", 0},
	{0},
};
const struct tool tool = {
	.name = "strategies",
	.summary = "Compare search strategies on single tasks.",
	.args_doc = "TASK...",
	.max_files = 64,
	.options = options,
	.option = option,
	.run = run,
};
