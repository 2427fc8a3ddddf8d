/* Is the default as good as what a search finds? heldout [--budget S] [--cold-weights MB] --kb FILE TASKS: each line of TASKS is a task
 * that FILE has trials of (bench/heldout.sh makes both). The schedule that hone build takes, and the frozen default that trials are
 * ratios to, are timed afresh against the best that the search chose, three times, one task after another; the median counts. A row a
 * task. Then, over all: the geometric mean and the share of at most 1.15; what re-timing says of the ratios by which the search chose;
 * how many trials it took to 95% of the best; the worst by name. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/sorted.h"
#include "common/textfile.h"
#include "common/tool.h"
#include "cost/trees.h"
#include "kb/kb.h"
#include "search/choose.h"
#include "answer.h"

enum { OPT_BUDGET = 1000, OPT_COLD, OPT_KB, TRIES = 3, WORST = 8 };
#define NEAR  1.15
#define SHARE 0.95
static double budget = 2;
static uint64_t cold_bytes = 32 << 20;
static const char *kb_file;
static struct arena arena;
static struct runner *r;

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_BUDGET: budget = atof(arg); return 0;
	case OPT_COLD: cold_bytes = strtoull(arg, NULL, 10) << 20; return 0;
	case OPT_KB: kb_file = arg; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static struct runner_answer next(void) { return next_of(&r, &arena); }

/* ---- what the search said ---- */

struct trial {
	int number;
	double ratio; /* to the frozen default */
	const char *trace;
};
struct row {
	const char *text, *title;
	struct trial *trial; /* of the search, in order, without those that did not work */
	size_t ntrials;
	const char *best; /* the trace that the search chose, NULL: the frozen default */
	double said;      /* its ratio when it was chosen: the trial's own */
	double confirmed; /* and after its confirmations */
	struct digest task, chosen, usual, tuned;
	double to_best[TRIES], usual_to_best[TRIES];
};

static int by_number(const void *a, const void *b) { return ((const struct trial *)a)->number - ((const struct trial *)b)->number; }

static double number_of(const struct kb_record *x, const char *field)
{
	const char *s = kb_get_field(x, field);

	return s ? strtod(s, NULL) : NAN;
}

static bool is_trial(const struct kb_record *x)
{
	const char *kind = kb_get_field(x, "kind"), *against = kb_get_field(x, "against"), *verdict = kb_get_field(x, "verdict");

	return kind && !strcmp(kind, "kernel") && against && !strcmp(against, "incumbent") && !kb_get_field(x, "remeasurement") &&
	       verdict && verdict_timed(verdict_parse(verdict, strlen(verdict))) && kb_get_field(x, "trace");
}

static void read_trials(struct kb *k, struct row *x)
{
	struct kb_list l = {0};

	kb_find(k, NULL, x->text, &l, &arena);
	x->trial = ARENA_ARRAY(&arena, struct trial, l.n + 1);
	for (size_t i = 0; i < l.n; i++)
		if (is_trial(&l.a[i]))
			x->trial[x->ntrials++] = (struct trial){(int)number_of(&l.a[i], "trial"), number_of(&l.a[i], "ratio"),
								kb_get_field(&l.a[i], "trace")};
	qsort(x->trial, x->ntrials, sizeof *x->trial, by_number);
	const struct kb_record *best = kb_best_of(&l, x->text, runner_target(r));
	x->said = x->confirmed = 1;
	if (!best)
		return;
	x->best = kb_get_field(best, "trace");
	x->confirmed = kb_worth(best);
	x->said = NAN;
	for (size_t i = 0; i < x->ntrials; i++)
		if (digest_eq(kb_trace_digest(x->trial[i].trace), kb_trace_digest(x->best)))
			x->said = x->trial[i].ratio;
}

/* After how many trials the best so far was within SHARE of the best of all. */
static double trials_to_share(const struct row *x)
{
	double best = INFINITY;
	size_t n = 0;

	for (size_t i = 0; i < x->ntrials; i++)
		best = fmin(best, x->trial[i].ratio);
	while (n < x->ntrials && x->trial[n].ratio > best / SHARE)
		n++;
	return (double)n + 1;
}

/* ---- afresh ---- */

static double try_once(const struct row *x, struct digest a, struct digest base, uint64_t seed)
{
	if (digest_eq(a, base))
		return 1;
	runner_try(r, &(struct runner_try){.task = x->task,
					   .artifact = a,
					   .base = base,
					   .budget = budget,
					   .seed = seed,
					   .cold_bytes = cold_bytes,
					   .width = 0.02});
	struct runner_answer answer = next();
	return verdict_timed(answer.result.verdict) ? answer.result.ratio : NAN;
}

static void prepare(struct row *x, struct kb *k, const struct trees *model)
{
	const char *why;
	struct module *m = task_module(x->text, 0, &arena, &why);

	if (!m)
		die(EX_BADDATA, "%s: %s", x->text, why);
	x->title = task_title(m, task_node(m), &arena);
	read_trials(k, x);
	runner_task(r, x->text);
	x->task = next().digest;
	x->usual = build_trace(&r, &arena, m, NULL, x->task);
	x->chosen = build_trace(&r, &arena, m, schedule_choose(m, task_node(m), target_host(), model, SCHEDULES_LOOKED_AT, &arena).trace,
				x->task);
	x->tuned = x->best ? build_trace(&r, &arena, m, x->best, x->task) : x->usual;
	module_free(m);
}

static double median(double *x, size_t n)
{
	qsort(x, n, sizeof *x, ascending);
	return n ? sorted_median(x, n) : NAN;
}

/* The median without those that were not timed. */
static double median_known(const double *x, size_t n)
{
	double *y = ARENA_ARRAY(&arena, double, n + 1);
	size_t known = 0;

	for (size_t i = 0; i < n; i++)
		if (!isnan(x[i]))
			y[known++] = x[i];
	return median(y, known);
}

static int worst_first(const void *a, const void *b)
{
	double x = ((const struct row *)a)->to_best[0], y = ((const struct row *)b)->to_best[0];

	return (x < y) - (x > y);
}

/* to_best[0] and usual_to_best[0] are the medians from here on. */
static void report(struct row *row, size_t n)
{
	double sum = 0, usual = 0, near = 0, timed = 0;
	double *said = ARENA_ARRAY(&arena, double, n + 1), *confirmed = ARENA_ARRAY(&arena, double, n + 1),
	       *to = ARENA_ARRAY(&arena, double, n + 1), *count = ARENA_ARRAY(&arena, double, n + 1);

	printf("%-60s %7s %7s %7s %7s %7s %7s\n", "task", "trials", "default", "frozen", "said", "conf.", "to 95%");
	for (size_t i = 0; i < n; i++) {
		struct row *x = &row[i];
		x->to_best[0] = median_known(x->to_best, TRIES);
		x->usual_to_best[0] = median_known(x->usual_to_best, TRIES);
		said[i] = x->best ? 1 / x->usual_to_best[0] / x->said : NAN;
		confirmed[i] = x->best ? 1 / x->usual_to_best[0] / x->confirmed : NAN;
		to[i] = trials_to_share(x);
		count[i] = (double)x->ntrials;
		printf("%-60.60s %7zu %7.3f %7.3f %7.3f %7.3f %7.0f\n", x->title, x->ntrials, x->to_best[0], x->usual_to_best[0], x->said,
		       x->confirmed, to[i]);
		if (isnan(x->to_best[0]))
			continue;
		timed++;
		near += x->to_best[0] <= NEAR;
		sum += log(x->to_best[0]);
		usual += log(x->usual_to_best[0]);
	}
	printf("%.0f of %zu tasks timed; default to the best: geometric mean %.3f, %.0f%% at most %.2f; the frozen default: %.3f\n", timed,
	       n, exp(sum / timed), 100 * near / timed, NEAR, exp(usual / timed));
	if (isnan(median_known(said, n)))
		printf("no search chose anything else than the frozen default\n");
	else
		printf("re-timed to the ratio when chosen, median: %.4f to the trial's, %.4f to the confirmed one\n", median_known(said, n),
		       median_known(confirmed, n));
	printf("trials that worked, median: %.0f; to %.0f%% of the best of them: %.0f\nthe worst:\n", median(count, n), 100 * SHARE,
	       median(to, n));
	qsort(row, n, sizeof *row, worst_first);
	for (size_t i = 0; i < n && i < WORST && row[i].to_best[0] > 1; i++)
		printf("%.3f %s\n", row[i].to_best[0], row[i].text);
}

static int run(const struct tool *t, struct tool_args *a)
{
	VEC(struct row) row = {0};
	char *line = NULL;
	size_t size = 0;
	const char *why;
	struct digest text;

	if (a->nfile != 1 || !kb_file)
		tool_usage();
	FILE *f = fopen(a->file[0], "re");
	if (!f)
		die_errno(EX_NOIN, "%s", a->file[0]);
	while (textfile_line(f, a->file[0], &line, &size)) {
		line[strcspn(line, "\n")] = 0;
		vec_push(&row, (struct row){.text = arena_str(&arena, line)});
	}
	fclose(f);
	free(line);
	struct kb *k = kb_open_file(kb_file, false);
	if (!(r = runner_open(NULL, 30, &arena, &why)))
		die(EX_NOTAVAIL, "%s", why);
	const struct trees *model = trees_usual(&arena, &text);
	for (size_t i = 0; i < row.n; i++)
		prepare(&row.a[i], k, model);
	kb_close(k);
	for (int n = 0; n < TRIES; n++)
		for (size_t i = 0; i < row.n; i++) {
			struct row *x = &row.a[i];
			x->to_best[n] = 1 / try_once(x, x->tuned, x->chosen, (uint64_t)n);
			x->usual_to_best[n] = 1 / try_once(x, x->tuned, x->usual, (uint64_t)(TRIES + n));
		}
	printf("%s\n", runner_target(r));
	report(row.a, row.n);
	runner_close(r);
	vec_free(&row);
	return EX_GOOD;
}

static const struct argp_option options[] = {
	{"budget", OPT_BUDGET, "S", 0, "seconds for a comparison, at most; 2", 0},
	{"cold-weights", OPT_COLD, "MB", 0, "of weights that calls go through; 32", 0},
	{"kb", OPT_KB, "FILE", 0, "the knowledge base that has the trials", 0},
	{0},
};
const struct tool tool = {
	.name = "heldout",
	.summary = "The default schedules of tasks against the best that a search found, timed afresh.",
	.args_doc = "TASKS",
	.max_files = 1,
	.options = options,
	.option = option,
	.run = run,
};
