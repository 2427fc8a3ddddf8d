/* Judging predicted gains by what was measured. */
#include <math.h>
#include <stdio.h>
#include "common/shown.h"
#include "tune-model.h"

/* The times of what was chosen, over tasks. */
struct score {
	double sum, worst;
	int n, slow; /* tasks, and those of more than 1.05 */
};

static void score_add(struct score *s, double ratio)
{
	s->sum += log(ratio);
	s->worst = ratio > s->worst ? ratio : s->worst;
	s->slow += ratio > 1.05;
	s->n++;
}

static double score_mean(const struct score *s) { return s->n ? exp(s->sum / s->n) : 1; }

enum { SOME = 4 };
/* Choices of a task: their times, as ratios to its default's. */
struct picks {
	double best;        /* that was measured */
	double first[SOME]; /* of the largest gains, the largest first */
	int n;
	double sure; /* the first, if its gain is sure; else the default */
};

static void pick(const struct examples *e, const struct gain *gain, size_t from, size_t to, struct picks *p)
{
	size_t at[SOME];

	*p = (struct picks){.best = INFINITY, .sure = 1};
	for (size_t i = from; i < to; i++) {
		int k = p->n < SOME ? p->n++ : SOME;
		p->best = fmin(p->best, e->a.a[i].ratio);
		for (; k > 0 && gain[at[k - 1]].middle < gain[i].middle; k--)
			if (k < SOME)
				at[k] = at[k - 1];
		if (k < SOME)
			at[k] = i;
	}
	for (int k = 0; k < p->n; k++)
		p->first[k] = e->a.a[at[k]].ratio;
	if (p->n && gain_is_sure(gain[at[0]]))
		p->sure = p->first[0];
}

/* A line of the report: times of a choice to the best, and to the default. */
struct choice {
	const char *name, *word; /* word: in JSON */
	struct score to_best, to_default;
};
enum { FIRST, FOUR, SURE, DEFAULT, CHOICES };

static void count(struct choice *c, double ratio, double best)
{
	score_add(&c->to_best, ratio / best);
	score_add(&c->to_default, ratio);
}

static void print(const struct choice *c, int tasks, bool json)
{
	if (json)
		printf("{\"tasks\": %d", tasks);
	else
		printf("%d tasks; geometric mean (worst; share of tasks above 1.05) of times to\n%-34s%-24sthe default\n", tasks, "",
		       "the best measured");
	for (int i = 0; i < CHOICES; i++, c++) {
		const struct score *b = &c->to_best, *d = &c->to_default;
		if (json)
			printf(", \"%s\": {\"to_best\": %.4f, \"worst\": %.4f, \"to_default\": %.4f, \"worst_to_default\": %.4f}", c->word,
			       score_mean(b), b->worst, score_mean(d), d->worst);
		else
			printf("%-34s%.3f (%.2f; %2.0f%%)      %.3f (%.2f; %2.0f%%)\n", c->name, score_mean(b), b->worst,
			       100.0 * b->slow / b->n, score_mean(d), d->worst, 100.0 * d->slow / d->n);
	}
	if (json)
		printf("}\n");
}

enum { LEAST = 3 }; /* schedules of a task that is counted */

static size_t group_end(const struct examples *e, size_t from)
{
	size_t to = from;

	while (to < e->a.n && e->a.a[to].group == e->a.a[from].group)
		to++;
	return to;
}

double judge_sure(const struct examples *e, const struct gain *gain, int *tasks)
{
	struct score s = {0};

	for (size_t from = 0, to; from < e->a.n; from = to) {
		struct picks p;
		to = group_end(e, from);
		if (to - from < LEAST)
			continue;
		pick(e, gain, from, to, &p);
		score_add(&s, p.sure / p.best);
	}
	*tasks = s.n;
	return score_mean(&s);
}

void judge(const struct examples *e, const struct gain *gain, bool json, bool why)
{
	struct choice c[CHOICES] = {
		[FIRST] = {"its first choice", "first"},
		[FOUR] = {"the best of its first 4", "four"},
		[SURE] = {"its first choice where it is sure", "sure"},
		[DEFAULT] = {"the default", "default"},
	};

	for (size_t from = 0, to; from < e->a.n; from = to) {
		struct picks p;
		double of_four = INFINITY;
		to = group_end(e, from);
		if (to - from < LEAST)
			continue;
		pick(e, gain, from, to, &p);
		for (int i = 0; i < p.n; i++)
			of_four = fmin(of_four, p.first[i]);
		count(&c[FIRST], p.first[0], p.best);
		count(&c[FOUR], of_four, p.best);
		count(&c[SURE], p.sure, p.best);
		count(&c[DEFAULT], 1, p.best);
		if (why)
			fprintf(stderr, "%.3f, best of four %.3f, where sure %.3f, the default %.3f: %s\n", p.first[0] / p.best,
				of_four / p.best, p.sure / p.best, 1 / p.best, shown(e->task.a[e->a.a[from].group]));
	}
	print(c, c[FIRST].to_best.n, json);
}
