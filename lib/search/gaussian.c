/* A Gaussian process over the points that were timed. The logarithm of a point's time is a prior mean plus a deviation. The prior comes from
 * the cost model and from searches of similar tasks (kin). Deviations of two points correlate the more, the fewer their decisions
 * differ; how much each decision counts, its scale, is learned: the most likely scales, one decision at a time. Rasmussen and Williams,
 * Gaussian Processes for Machine Learning, algorithm 2.1; scales as in automatic relevance determination, chapter 5.1.
 *
 * Deviations from the cost model alone are kept as well: kin learn from these, so that they learn what was measured here and not what
 * was expected. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/digest.h"
#include "loop/prim.h"
#include "search/gaussian.h"
#include "search/strategy.h"

enum { SEEN_SPARE = 32, KIN_MAX = 4, KIN_SEEN = 8, FIRST_LESSON = 8, SEEN_MAX = GAUSSIAN_ROW };
static const double DEVIATION = 0.25; /* of the logarithm, where nothing has been told */
static const double NOISE = 0.02;     /* of measuring again */
static const double SCALE = 0.5;      /* of a decision before anything was told: the correlation across it is e^-0.5 */
static const double SLOWEST = 3;      /* times the default's: slower points, and those that do not run, count as this */

/* Names and words by digests: sums then have the same order in every process, so that a search can be repeated. */
struct feature {
	uint64_t name, word; /* word 0: a number */
	double octave;       /* its logarithm */
};
struct features {
	int n;
	struct feature a[];
};
struct scale {
	uint64_t name;
	double is;
};
struct gaussian {
	VEC(struct scale) scale;
	double deviation;   /* of any point, before others are told */
	double slope;       /* the exponent of a factor that the cost model predicts */
	size_t lesson;      /* points told at which scales are learned next */
	size_t n, believed; /* points told; with those believed to be as expected */
	const struct point *x[SEEN_MAX];
	const struct features *f[SEEN_MAX];    /* theirs */
	VEC(const struct features *) features; /* of all points, by their number; NULL: not asked for yet */
	double root[SEEN_MAX * SEEN_MAX];      /* Cholesky's of their covariance: lower, by rows */
	double weight[SEEN_MAX];               /* of their deviations from the prior */
	double alone[SEEN_MAX];                /* of their deviations from the cost model alone */
	int nkin;
	struct gaussian_kin kin[KIN_MAX]; /* the nearest ones with results */
	double kin_rule[KIN_MAX];         /* what each predicts for this search's default */
};

/* ---- how far apart two points are ---- */

static uint64_t key(const char *s) { return digest_bytes(s, strlen(s)).lo | 1; }

static const struct features *make_features(struct space *s, const struct point *p)
{
	struct features *f = arena_alloc(&s->arena, sizeof *f + (p->at.n + 2) * sizeof *f->a);
	const char *algo = trace_algo(p->trace, &s->arena);
	f->n = 0;
	f->a[f->n++] = (struct feature){.name = key("by"), .word = key(s->origins.a[p->origin].by->name)};
	f->a[f->n++] = (struct feature){.name = key("algo"), .word = key(algo ? algo : "usual")};
	for (size_t i = 0; i < p->at.n; i++) {
		const struct sample *x = &p->at.a[i];
		bool word = x->word || x->decision <= 0;
		f->a[f->n++] = (struct feature){
			.name = key(x->name),
			.word = !word     ? 0
				: x->word ? key(x->word[x->decision])
					  : (uint64_t)x->decision | 1ull << 63,
			.octave = word ? 0 : log2((double)x->decision),
		};
	}
	for (int i = 1; i < f->n; i++) { /* by name */
		struct feature x = f->a[i];
		int k = i;
		for (; k > 0 && f->a[k - 1].name > x.name; k--)
			f->a[k] = f->a[k - 1];
		f->a[k] = x;
	}
	return f;
}

static const struct features *features(struct gaussian *g, struct space *s, const struct point *p)
{
	while (g->features.n <= p->number)
		vec_push(&g->features, NULL);
	const struct features **f = &g->features.a[p->number];
	return *f ? *f : (*f = make_features(s, p));
}

static double scale_of(const struct gaussian *g, uint64_t name)
{
	for (size_t i = 0; i < g->scale.n; i++)
		if (g->scale.a[i].name == name)
			return g->scale.a[i].is;
	return SCALE;
}

/* Covariance of two points' deviations. A decision that only one of them has counts as different. */
static double covariance(const struct gaussian *g, const struct features *a, const struct features *b)
{
	double distance = 0;

	for (int i = 0, k = 0; i < a->n || k < b->n;) {
		const struct feature *x = i < a->n ? &a->a[i] : NULL, *y = k < b->n ? &b->a[k] : NULL;
		double apart = 1;
		i += x && (!y || x->name <= y->name);
		k += y && (!x || y->name <= x->name);
		if (x && y && x->name == y->name)
			apart = x->word != y->word ? 1 : fabs(x->octave - y->octave);
		if (apart > 0)
			distance += apart * scale_of(g, !y || (x && x->name < y->name) ? x->name : y->name);
	}
	return g->deviation * g->deviation * exp(-distance);
}

/* ---- linear algebra ---- */

/* Row n of the root, from the covariances with the n points before and its own variance. */
static void root_extend(double *row, const double *root, size_t n, double variance)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < i; k++)
			row[i] -= root[i * SEEN_MAX + k] * row[k];
		row[i] /= root[i * SEEN_MAX + i];
		variance -= row[i] * row[i];
	}
	row[n] = sqrt(fmax(variance, 1e-9));
}

static void solve_forward(const double *root, size_t n, double *y)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < i; k++)
			y[i] -= root[i * SEEN_MAX + k] * y[k];
		y[i] /= root[i * SEEN_MAX + i];
	}
}

static void solve_back(const double *root, size_t n, double *y)
{
	for (size_t i = n; i-- > 0;) {
		y[i] /= root[i * SEEN_MAX + i];
		for (size_t k = 0; k < i; k++)
			y[k] -= root[i * SEEN_MAX + k] * y[i];
	}
}

static void add_row(struct gaussian *g, size_t i)
{
	double *row = g->root + i * SEEN_MAX;

	for (size_t k = 0; k < i; k++)
		row[k] = covariance(g, g->f[i], g->f[k]);
	root_extend(row, g->root, i, g->deviation * g->deviation + NOISE * NOISE);
}

/* ---- the prior ---- */

static double by_model(const struct gaussian *g, const struct search *s, const struct point *p)
{
	double base = s->points.a[0]->predicted;

	return p->predicted > 0 && base > 0 ? g->slope * log(p->predicted / base) : 0;
}

/* The deviation of the point that it predicts without kin. */
static double deviation(const struct gaussian *g, const struct features *f)
{
	double sum = 0;

	for (size_t i = 0; i < g->n; i++)
		sum += g->alone[i] * covariance(g, f, g->f[i]);
	return sum;
}

static double by_kin(const struct gaussian *g, const struct features *f)
{
	double sum = 0, weights = 1;

	for (int i = 0; i < g->nkin; i++) {
		sum += g->kin[i].weight * (deviation(g->kin[i].of, f) - g->kin_rule[i]);
		weights += g->kin[i].weight;
	}
	return sum / weights;
}

static double before(const struct gaussian *g, const struct search *s, const struct point *p, const struct features *f)
{
	return by_model(g, s, p) + by_kin(g, f);
}

static void find_kin(struct gaussian *g, const struct search *s, const struct gaussian_kin *kin, size_t n)
{
	g->nkin = 0;
	for (size_t i = 0; i < n; i++) {
		if (!kin[i].of || kin[i].of->n < KIN_SEEN)
			continue;
		int at = g->nkin;
		while (at > 0 && g->kin[at - 1].weight < kin[i].weight)
			at--;
		if (at == KIN_MAX)
			continue;
		g->nkin += g->nkin < KIN_MAX;
		memmove(&g->kin[at + 1], &g->kin[at], (size_t)(g->nkin - 1 - at) * sizeof g->kin[0]);
		g->kin[at] = kin[i];
	}
	for (int i = 0; i < g->nkin; i++)
		g->kin_rule[i] = deviation(g->kin[i].of, features(g, s->space, s->points.a[0]));
}

/* ---- learning ---- */

static double told(const struct point *p) { return log(fmin(p->measured, SLOWEST)); }

/* The points told; if they are too many, the best of them and some of all kinds of the others. */
static void take_told(struct gaussian *g, const struct search *s)
{
	enum { MOST = SEEN_MAX - SEEN_SPARE, BEST = MOST * 2 / 3 };
	VEC(const struct point *) v = {0};

	for (size_t i = 0; i < s->points.n; i++)
		if (s->points.a[i]->measured > 0)
			vec_push(&v, s->points.a[i]);
	qsort(v.a, v.n, sizeof *v.a, by_measure);
	g->n = v.n < MOST ? v.n : MOST;
	for (size_t i = 0; i < g->n; i++) {
		g->x[i] = v.a[i < BEST || v.n <= MOST ? i : BEST + (i - BEST) * (v.n - BEST) / (MOST - BEST)];
		g->f[i] = features(g, s->space, g->x[i]);
	}
	vec_free(&v);
}

static void make_root(struct gaussian *g)
{
	for (size_t i = 0; i < g->n; i++)
		add_row(g, i);
}

/* The logarithm of the likelihood of the results under these scales, times that of the scales. */
static double likelihood(struct gaussian *g, const struct search *s)
{
	double y[SEEN_MAX], sum = 0;

	make_root(g);
	for (size_t i = 0; i < g->n; i++)
		y[i] = told(g->x[i]) - by_model(g, s, g->x[i]);
	solve_forward(g->root, g->n, y);
	for (size_t i = 0; i < g->n; i++)
		sum -= y[i] * y[i] / 2 + log(g->root[i * SEEN_MAX + i]);
	for (size_t i = 0; i < g->scale.n; i++)
		sum -= pow(log(g->scale.a[i].is / SCALE), 2) / 2;
	return sum - pow(log(g->deviation / DEVIATION), 2) / 2;
}

/* Sets *of to the most likely of the values. */
static void learn_one(struct gaussian *g, const struct search *s, double *of, const double *value, int n, double *best)
{
	double is = *of;

	for (int i = 0; i < n; i++) {
		*of = value[i];
		double l = value[i] == is ? *best : likelihood(g, s);
		if (l > *best) {
			*best = l;
			is = value[i];
		}
	}
	*of = is;
}

static void learn(struct gaussian *g, const struct search *s)
{
	static const double scale[] = {0.05, 0.12, 0.25, 0.5, 1, 2}, slope[] = {0, 0.25, 0.5, 0.75, 1},
			    deviation[] = {0.06, 0.12, 0.25, 0.5};

	for (size_t i = 0; i < g->n; i++)
		for (int k = 0; k < g->f[i]->n; k++) {
			uint64_t name = g->f[i]->a[k].name;
			size_t at = 0;
			while (at < g->scale.n && g->scale.a[at].name != name)
				at++;
			if (at == g->scale.n)
				vec_push(&g->scale, (struct scale){name, SCALE});
		}
	double best = likelihood(g, s);
	learn_one(g, s, &g->deviation, deviation, sizeof deviation / sizeof *deviation, &best);
	learn_one(g, s, &g->slope, slope, sizeof slope / sizeof *slope, &best);
	for (size_t i = 0; i < g->scale.n; i++)
		learn_one(g, s, &g->scale.a[i].is, scale, sizeof scale / sizeof *scale, &best);
}

void gaussian_fit(struct gaussian *g, const struct search *s, const struct gaussian_kin *kin, size_t nkin)
{
	find_kin(g, s, kin, nkin);
	take_told(g, s);
	if (g->n >= g->lesson) {
		learn(g, s);
		g->lesson = 2 * g->n;
	}
	make_root(g);
	for (size_t i = 0; i < g->n; i++) {
		g->alone[i] = told(g->x[i]) - by_model(g, s, g->x[i]);
		g->weight[i] = g->alone[i] - by_kin(g, g->f[i]);
	}
	double *side[] = {g->alone, g->weight};
	for (int i = 0; i < 2; i++) {
		solve_forward(g->root, g->n, side[i]);
		solve_back(g->root, g->n, side[i]);
	}
	g->believed = g->n;
}

/* ---- predictions ---- */

double gaussian_mean(struct gaussian *g, const struct search *s, const struct point *p)
{
	const struct features *f = features(g, s->space, p);
	double mean = before(g, s, p, f);

	for (size_t i = 0; i < g->n; i++)
		mean += g->weight[i] * covariance(g, f, g->f[i]);
	return mean;
}

double gaussian_deviation(struct gaussian *g, const struct search *s, const struct point *p, double *row)
{
	const struct features *f = features(g, s->space, p);

	for (size_t i = 0; i < g->believed; i++)
		row[i] = covariance(g, f, g->f[i]);
	root_extend(row, g->root, g->believed, g->deviation * g->deviation);
	return row[g->believed];
}

double gaussian_deviation_after(struct gaussian *g, const struct search *s, const struct point *p, double *row)
{
	size_t last = g->believed - 1;
	const double *root = g->root + last * SEEN_MAX;
	double variance = row[last] * row[last];

	row[last] = covariance(g, features(g, s->space, p), g->f[last]);
	for (size_t k = 0; k < last; k++)
		row[last] -= root[k] * row[k];
	row[last] /= root[last];
	row[last + 1] = sqrt(fmax(variance - row[last] * row[last], 0));
	return row[last + 1];
}

bool gaussian_believe(struct gaussian *g, const struct search *s, const struct point *p)
{
	if (g->believed + 1 == SEEN_MAX)
		return false;
	g->x[g->believed] = p;
	g->f[g->believed] = features(g, s->space, p);
	add_row(g, g->believed++);
	return true;
}

/* ---- made and freed ---- */

struct gaussian *gaussian_new(void)
{
	struct gaussian *g = xcalloc(1, sizeof *g);

	g->deviation = DEVIATION;
	g->slope = 0.5;
	g->lesson = FIRST_LESSON;
	return g;
}

void gaussian_free(struct gaussian *g)
{
	vec_free(&g->scale);
	vec_free(&g->features);
	free(g);
}
