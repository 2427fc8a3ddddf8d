/* What is a decision worth? decisions [--tries N] [--cold-weights MB] TASK NAME=CHOICE[,NAME=CHOICE].. ..: the default schedule of the
 * task with those decisions taken, each list against the default one, in turns, so that what the machine does else for some
 * seconds meets them all. A row a list: the middle of the tries, least and greatest of their intervals, and what differs from
 * the usual (a decision that is none where it comes to it stays as it was). algo=A begins with that algorithm, not the one that
 * the lowering thinks best. For whoever works on the templates. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/intern.h"
#include "common/sorted.h"
#include "common/tool.h"
#include "target/target.h"
#include "op/task.h"
#include "search/search.h"
#include "answer.h"

enum { OPT_TRIES = 1000, OPT_COLD, LISTS_MAX = 63, DECISIONS_MAX = 16, TRIES_MAX = 99 };
static int tries = 5;
static int64_t cold_bytes = 16 << 20;
static struct arena arena;
static struct runner *r;

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_TRIES: tries = atoi(arg) < TRIES_MAX ? atoi(arg) : TRIES_MAX; return 0;
	case OPT_COLD: cold_bytes = strtoll(arg, NULL, 10) << 20; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static struct sample decision(const char *name, const char *choice)
{
	struct sample x = {.name = name, .n = 1};
	char *end;

	x.decision = strtoll(choice, &end, 10);
	if (*end) {
		const char **word = ARENA_NEW(&arena, const char *);
		*word = sym_str(intern(choice));
		x.word = word;
		x.decision = 0;
	}
	return x;
}

static struct samples decisions(const char *list)
{
	struct samples x = {.a = ARENA_ARRAY(&arena, struct sample, DECISIONS_MAX)};
	char *text = arena_str(&arena, list), *rest;

	for (char *w = strtok_r(text, ",", &rest); w; w = strtok_r(NULL, ",", &rest)) {
		char *is = strchr(w, '=');
		if (!is || x.n == DECISIONS_MAX)
			die(EX_BADUSE, "%s: not NAME=CHOICE[,NAME=CHOICE].., at most %d", list, DECISIONS_MAX);
		*is = 0;
		x.a[x.n++] = decision(w, is + 1);
	}
	return x;
}

/* Takes "algo" out of the list: the origin of that algorithm; -1: there is none. */
static int origin(const struct space *s, struct samples *x)
{
	const struct sample *algo = samples_find(x, "algo");
	int at = algo ? -1 : 0;

	for (int i = 0; algo && algo->word && i < (int)s->origins.n; i++)
		if (!strcmp(s->origins.a[i].name, arena_printf(&arena, "algo %s", *algo->word)))
			at = i;
	for (size_t i = 0; algo && i < x->n; i++)
		if (&x->a[i] == algo)
			x->a[i] = x->a[--x->n];
	return at;
}

struct row {
	const char *from; /* NULL: it cannot be scheduled, or does not work */
	struct digest artifact;
	double ratio[TRIES_MAX], lo, hi;
};

static void try_row(struct row *x, int k, struct digest task, struct digest base)
{
	runner_try(r, &(struct runner_try){.task = task,
					   .artifact = x->artifact,
					   .base = base,
					   .budget = 2,
					   .seed = (uint64_t)k + 1,
					   .cold_bytes = (uint64_t)cold_bytes,
					   .width = 0.02,
					   .once = true});
	struct measurement t = next_of(&r, &arena).result;
	if (!t.npairs) {
		printf("%s: %s\n", x->from, verdict_name(t.verdict));
		x->from = NULL;
		return;
	}
	x->ratio[k] = t.ratio;
	x->lo = fmin(x->lo, t.lo);
	x->hi = fmax(x->hi, t.hi);
}

static int run(const struct tool *t, struct tool_args *a)
{
	struct row row[LISTS_MAX] = {0};
	const char *why;
	int n = a->nfile - 1;

	if (n < 1 || tries < 1)
		tool_usage();
	struct module *m = task_module(a->file[0], 0, &arena, &why);
	if (!m)
		die(EX_BADDATA, "%s: %s", a->file[0], why);
	if (!(r = runner_open(NULL, 30, &arena, &why)))
		die(EX_NOTAVAIL, "%s", why);
	runner_task(r, a->file[0]);
	struct digest task = next_of(&r, &arena).digest, base = build_trace(&r, &arena, m, NULL, task);
	struct space *s = space_new(m, task_node(m), target_host(), &cost_models[0]);
	for (int i = 0; i < n; i++) {
		struct samples want = decisions(a->file[i + 1]);
		int from = origin(s, &want);
		struct point *p = from < 0 ? NULL : space_point(s, from, &want);
		row[i] = (struct row){.from = p ? p->from : NULL, .lo = INFINITY};
		if (p)
			row[i].artifact = build_trace(&r, &arena, m, p->trace, task);
		else
			printf("%s: no schedule\n", a->file[i + 1]);
	}
	for (int k = 0; k < tries; k++)
		for (int i = 0; i < n; i++)
			if (row[i].from)
				try_row(&row[i], k, task, base);
	for (int i = 0; i < n; i++)
		if (row[i].from) {
			qsort(row[i].ratio, (size_t)tries, sizeof *row[i].ratio, ascending);
			printf("%.3f (%.3f .. %.3f)  %s\n", row[i].ratio[tries / 2], row[i].lo, row[i].hi, row[i].from);
		}
	space_free(s);
	module_free(m);
	runner_close(r);
	return EX_GOOD;
}

static const struct argp_option options[] = {
	{"tries", OPT_TRIES, "N", 0, "of each list; 5", 0},
	{"cold-weights", OPT_COLD, "MB", 0, "of weights that calls go through; 16", 0},
	{"rotation", OPT_COLD, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0},
	{0},
};
const struct tool tool = {
	.name = "decisions",
	.summary = "What are decisions of the templates worth?",
	.args_doc = "TASK NAME=CHOICE[,NAME=CHOICE..]...",
	.max_files = LISTS_MAX + 1,
	.options = options,
	.option = option,
	.run = run,
};
