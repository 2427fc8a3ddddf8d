/* Learning, and judging what was learned. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/shown.h"
#include "common/textfile.h"
#include "op/task.h"
#include "xgboost.h"

/* Labels: the time of each example above its roof, in units. Weights: examples of a task count as much together as those of another. */
static void labels(const struct examples *e, float *y, float *w)
{
	int *n = xcalloc(e->task.n + 1, sizeof *n);

	for (size_t i = 0; i < e->a.n; i++)
		n[e->a.a[i].group]++;
	for (size_t i = 0; i < e->a.n; i++) {
		const struct example *x = &e->a.a[i];
		y[i] = (float)(TREES_UNIT * (log2(x->cycles) - log2(features_roof(&x->f))));
		w[i] = (float)((double)e->a.n / (double)e->task.n / n[x->group]);
	}
	free(n);
}

void learn(const struct learning *l, const struct examples *e, const bool *use, FILE *f)
{
	float *y = xcalloc(e->a.n + 1, sizeof *y), *w = xcalloc(e->a.n + 1, sizeof *w);
	bool *with = xcalloc(e->a.n + 1, sizeof *with);

	labels(e, y, w);
	for (size_t i = 0; i < e->a.n; i++)
		with[i] = !use || use[e->a.a[i].group];
	fprintf(f, TREES_TEXT "\n");
	for (int m = 0; m < l->members; m++)
		xgboost_train(&(struct training){l->trees, l->depth, l->seed + (uint64_t)m}, e, with, y, w, f);
	fprintf(f, "end\n");
	free(y);
	free(w);
	free(with);
}

void predict(const struct trees *t, const struct examples *e, int64_t *units)
{
	int64_t by[TREES_MEMBERS_MAX];

	for (size_t i = 0; i < e->a.n; i++) {
		trees_predict(t, &e->a.a[i].f, by);
		units[i] = trees_middle(by, trees_members(t));
	}
}

/* One fold for a task on all targets: times on one tell those on another. */
static int fold_of(const char *task, int folds, uint64_t seed)
{
	struct digest d = task_digest(task);

	return (int)((d.lo ^ seed) % (uint64_t)folds);
}

void learn_apart(const struct learning *l, const struct examples *e, int64_t *units)
{
	bool *use = xcalloc(e->task.n + 1, sizeof *use);
	int64_t *all = xcalloc(e->a.n + 1, sizeof *all);

	for (int k = 0; k < l->folds; k++) {
		struct arena a = {0};
		char *text;
		size_t n;
		int line, left = 0;
		const char *why;
		for (size_t g = 0; g < e->task.n; g++)
			left += use[g] = fold_of(e->task.a[g], l->folds, l->seed) != k;
		if (!left)
			continue;
		FILE *f = textfile_open(&text, &n);
		learn(l, e, use, f);
		textfile_close(f);
		struct trees *t = trees_read(text, n, &a, &line, &why);
		if (!t)
			BUG("its own model: line %d: %s", line, why);
		predict(t, e, all);
		for (size_t i = 0; i < e->a.n; i++)
			if (!use[e->a.a[i].group])
				units[i] = all[i];
		arena_release(&a);
		free(text);
	}
	free(use);
	free(all);
}

struct score {
	double sum, worst;
	int n;
};

static void score_add(struct score *s, double ratio)
{
	s->sum += log(ratio);
	s->worst = ratio > s->worst ? ratio : s->worst;
	s->n++;
}

static double score_mean(const struct score *s) { return s->n ? exp(s->sum / s->n) : 1; }

void judge(const struct examples *e, const int64_t *units, bool json, bool why)
{
	enum { LEAST = 3, SOME = 4 };
	struct score pick = {0}, four = {0}, usual = {0}, gain = {0};

	for (size_t from = 0, to; from < e->a.n; from = to) {
		double best = INFINITY, first[SOME] = {0}, key[SOME];
		int n = 0;
		for (to = from; to < e->a.n && e->a.a[to].group == e->a.a[from].group; to++) {
			const struct example *x = &e->a.a[to];
			double t = log2(features_roof(&x->f)) * TREES_UNIT + (double)units[to];
			best = fmin(best, x->ratio);
			int at = n < SOME ? n : SOME;
			for (; at > 0 && key[at - 1] > t; at--)
				if (at < SOME) {
					key[at] = key[at - 1];
					first[at] = first[at - 1];
				}
			if (at < SOME) {
				key[at] = t;
				first[at] = x->ratio;
			}
			n += n < SOME;
		}
		if (to - from < LEAST)
			continue;
		double of_four = INFINITY;
		for (int i = 0; i < n; i++)
			of_four = fmin(of_four, first[i]);
		score_add(&pick, first[0] / best);
		score_add(&four, of_four / best);
		score_add(&usual, 1 / best);
		score_add(&gain, first[0]);
		if (why)
			fprintf(stderr, "%.3f, best of four %.3f, the default %.3f: %s\n", first[0] / best, of_four / best, 1 / best,
				shown(e->task.a[e->a.a[from].group]));
	}
	if (json)
		printf("{\"tasks\": %d, \"pick\": %.4f, \"pick_worst\": %.4f, \"four\": %.4f, \"default\": %.4f, \"to_default\": %.4f, "
		       "\"to_default_worst\": %.4f}\n",
		       pick.n, score_mean(&pick), pick.worst, score_mean(&four), score_mean(&usual), score_mean(&gain), gain.worst);
	else
		printf("%d tasks; times to the best that was measured of each, geometric mean (worst):\n"
		       "its first choice     %.3f (%.2f)\n"
		       "best of its first 4  %.3f (%.2f)\n"
		       "the default          %.3f (%.2f)\n"
		       "its first choice to the default's time: %.3f (%.2f)\n",
		       pick.n, score_mean(&pick), pick.worst, score_mean(&four), four.worst, score_mean(&usual), usual.worst,
		       score_mean(&gain), gain.worst);
}
