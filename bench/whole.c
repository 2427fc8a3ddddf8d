/* One compiled model against another: whole [--rounds N] [--range NAME=LO:HI] BASE.so OTHER.so..: each in turn, in another
 * order each round. A row a library: median and least time and, for those behind the first, median and quartiles of its ratio
 * to the first, round by round, and the ratio of the least, which other work on the machine disturbs least. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "common/progress.h"
#include "common/rng.h"
#include "common/sorted.h"
#include "common/tool.h"
#include "runner/library.h"
#include "op/npy.h"

enum { OPT_ROUNDS = 1000, OPT_RANGE, LIBRARIES_MAX = 8, ROUNDS_MAX = 1000 };
static const double sample_seconds = 0.002;
static int rounds = 51;
static struct input_spec spec;

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_ROUNDS: rounds = atoi(arg) < ROUNDS_MAX ? atoi(arg) : ROUNDS_MAX; return 0;
	case OPT_RANGE: vec_push(&spec.ranges, arg); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

struct rival {
	struct library l;
	struct tensor **in, **out;
	int reps;
	double seconds[ROUNDS_MAX], ratio[ROUNDS_MAX];
};

/* The first call warms up. */
static double sample(struct rival *s)
{
	struct arena a = {0}; /* of results whose sizes a run decides */

	library_run(&s->l, s->in, s->out, &a);
	double start = now_seconds();
	for (int i = 0; i < s->reps; i++)
		library_run(&s->l, s->in, s->out, &a);
	double seconds = (now_seconds() - start) / s->reps;
	arena_release(&a);
	return seconds;
}

static void open_rival(struct rival *s, const char *path, struct arena *a)
{
	library_open(&s->l, path, NULL, 1);
	s->in = inputs_make(library_module(&s->l), &spec, a);
	s->out = ARENA_ARRAY(a, struct tensor *, s->l.model->num_outputs);
	for (int i = 0; i < s->l.model->num_outputs; i++)
		s->out[i] = library_tensor(&s->l.model->outputs[i], a);
	s->reps = 1;
	double one = sample(s);
	s->reps = one < sample_seconds ? (int)(sample_seconds / one) : 1;
}

static int run(const struct tool *t, struct tool_args *a)
{
	static struct rival rival[LIBRARIES_MAX];
	struct arena arena = {0};
	struct rng rng = {1};
	int n = a->nfile, order[LIBRARIES_MAX];

	if (n < 2)
		tool_usage();
	for (int i = 0; i < n; i++) {
		open_rival(&rival[i], a->file[i], &arena);
		order[i] = i;
	}
	for (int k = 0; k < rounds; k++) {
		for (int i = n - 1; i > 0; i--) {
			int j = (int)rng_range(&rng, 0, i), x = order[i];
			order[i] = order[j];
			order[j] = x;
		}
		for (int i = 0; i < n; i++)
			rival[order[i]].seconds[k] = sample(&rival[order[i]]);
		for (int i = 0; i < n; i++)
			rival[i].ratio[k] = rival[i].seconds[k] / rival[0].seconds[k];
	}
	for (int i = 0; i < n; i++) {
		struct rival *s = &rival[i];
		qsort(s->seconds, (size_t)rounds, sizeof *s->seconds, ascending);
		qsort(s->ratio, (size_t)rounds, sizeof *s->ratio, ascending);
		printf("%-40s %9.4f ms, least %9.4f", a->file[i], 1e3 * s->seconds[rounds / 2], 1e3 * s->seconds[0]);
		if (i)
			printf("  %.3f (%.3f .. %.3f) of the first's, least %.3f", s->ratio[rounds / 2], s->ratio[rounds / 4],
			       s->ratio[rounds * 3 / 4], s->seconds[0] / rival[0].seconds[0]);
		printf("\n");
		library_close(&s->l);
	}
	arena_release(&arena);
	return EX_GOOD;
}

static const struct argp_option options[] = {
	{"rounds", OPT_ROUNDS, "N", 0, "turns; 51", 0},
	{"range", OPT_RANGE, "NAME=LO:HI", 0, "range of a random input", 0},
	{0},
};
const struct tool tool = {
	.name = "whole",
	.summary = "Time compiled models in turns.",
	.args_doc = "BASE.so OTHER.so...",
	.max_files = LIBRARIES_MAX,
	.options = options,
	.option = option,
	.run = run,
};
