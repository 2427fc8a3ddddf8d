/* Learning. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/textfile.h"
#include "op/task.h"
#include "xgboost.h"

/* Labels: the time of each example above that of its default, in units; of an addition, what its base's member leaves of that. Weights: examples of a task count as much together as those of another. */
static void labels(const struct examples *e, float *y, float *w)
{
	int *n = xcalloc(e->task.n + 1, sizeof *n);

	for (size_t i = 0; i < e->a.n; i++)
		n[e->a.a[i].group]++;
	for (size_t i = 0; i < e->a.n; i++) {
		const struct example *x = &e->a.a[i];
		y[i] = (float)(TREES_UNIT * log2(x->ratio));
		w[i] = (float)((double)e->a.n / (double)e->task.n / n[x->group]);
	}
	free(n);
}

/* What member m of the base leaves of the labels. */
static void leave(const struct trees *base, const struct examples *e, int m, const float *y, float *rest)
{
	int64_t units[TREES_MEMBERS_MAX];

	for (size_t i = 0; i < e->a.n; i++) {
		struct columns x;
		columns_of(&e->a.a[i].f, &e->a.a[e->first.a[e->a.a[i].group]].f, &x);
		trees_predict(base, &x, units);
		rest[i] = y[i] - (float)units[m];
	}
}

/* Between which values features of the examples are. */
static void write_ranges(const struct examples *e, const bool *with, FILE *f)
{
	for (int k = 0; k < FEATURE_COUNT; k++) {
		int32_t least = INT32_MAX, most = INT32_MIN;
		for (size_t i = 0; i < e->a.n; i++) {
			int32_t x = e->a.a[i].f.a[k];
			if (!with[i])
				continue;
			least = x < least ? x : least;
			most = x > most ? x : most;
		}
		if (least <= most)
			fprintf(f, "learned %s %" PRId32 " %" PRId32 "\n", feature_name((enum feature)k), least, most);
	}
}

void learn(const struct learning *l, const struct examples *e, const bool *use, FILE *f)
{
	float *y = xcalloc(e->a.n + 1, sizeof *y), *w = xcalloc(e->a.n + 1, sizeof *w);
	float *rest = xcalloc(e->a.n + 1, sizeof *rest);
	bool *with = xcalloc(e->a.n + 1, sizeof *with);
	char hex[33];

	labels(e, y, w);
	for (size_t i = 0; i < e->a.n; i++)
		with[i] = !use || use[e->a.a[i].group];
	fprintf(f, TREES_TEXT "\n");
	if (l->base) {
		digest_hex(l->base_text, hex);
		fprintf(f, "base %s\n", hex);
	}
	if (l->target)
		fprintf(f, "target %s\n", l->target);
	write_ranges(e, with, f);
	for (int m = 0; m < l->members; m++) {
		if (l->base)
			leave(l->base, e, m, y, rest);
		xgboost_train(&(struct training){l->trees, l->depth, l->seed + (uint64_t)m}, e, with, l->base ? rest : y, w, f);
	}
	fprintf(f, "end\n");
	free(y);
	free(rest);
	free(w);
	free(with);
}

void predict(const struct trees *t, const struct examples *e, struct gain *gain)
{
	struct beside b;

	for (size_t i = 0; i < e->a.n; i++) {
		if (e->a.a[i].usual)
			b = trees_beside(t, &e->a.a[i].f);
		gain[i] = gain_of(&b, &e->a.a[i].f);
	}
}

/* One fold for a task on all targets: times on one tell those on another. */
static int fold_of(const char *task, int folds, uint64_t seed)
{
	struct digest d = task_digest(task);

	return (int)((d.lo ^ seed) % (uint64_t)folds);
}

void learn_apart(const struct learning *l, const struct examples *e, struct gain *gain)
{
	bool *use = xcalloc(e->task.n + 1, sizeof *use);
	struct gain *all = xcalloc(e->a.n + 1, sizeof *all);

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
		if (l->base && (why = trees_join(t, l->base, l->base_text)))
			BUG("its own addition: %s", why);
		predict(t, e, all);
		for (size_t i = 0; i < e->a.n; i++)
			if (!use[e->a.a[i].group])
				gain[i] = all[i];
		arena_release(&a);
		free(text);
	}
	free(use);
	free(all);
}
