/* Bayesian optimization after descents. Descents go first, the same way whatever the seed. When they leave room in a batch, or have ended, a
 * Gaussian process over the results chooses points. If it finds a better one, descents go on from there.
 *
 * The acquisition function is the lower confidence bound: the next point is the one of the pool that would be best if it were a deviation
 * better than predicted. The process then believes its prediction and the next point is chosen (the "believer"). The pool has random
 * points, points one decision away from the best ones, and points one decision away from the most promising of the pool. Half of a
 * batch goes to points next to the best ones, until none of them may be better: searches that know all around their best end in the
 * same place. If few points are left, so that all were drawn, all are tried.
 * Srinivas et al., Gaussian Process Optimization in the Bandit Setting, 2010; Ginsbourger et al., Kriging is well-suited to
 * parallelize optimization, 2010. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "search/gaussian.h"
#include "search/strategies/descent.h"

enum { DRAWS_FIRST = 128, DRAWS = 16, STEPS = 6, POOL_MAX = 512, TOP = 6, FEW = 96 /* fewer than the first draws: most are among them */ };
static const double OPTIMISM = 1;   /* of the lower confidence bound, in deviations */
static const double CHANCE = 2;     /* the same: neighbours of the best that are worse even then are not tried */
static const double PLATEAU = 1.02; /* of the best one's time: counts as one of the best */
static const double GAIN = 0.0002;  /* the share that the best of the pool should save: below it, the search has converged */

struct bayes {
	struct descent *descent;
	struct gaussian *gaussian;
	struct points pool; /* drawn, but not proposed */
	struct marks near;  /* points whose neighbours have been drawn */
	struct outlook outlook;
};

/* A point of the pool, as the process sees it now. */
struct entry {
	struct point *p; /* NULL: taken */
	double mean, deviation, *row;
	bool next; /* a neighbour of one of the best, and maybe better */
};
struct acquisition { /* of one batch */
	struct search *s;
	struct bayes *b;
	VEC(struct entry) entry;
	struct point *top[TOP]; /* the best that was told, and those that tie with it */
	int ntop;
};

static double lower_bound(const struct entry *e) { return e->mean - OPTIMISM * e->deviation; }

/* By promise; those taken come last. */
static int by_bound(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int c;

	if (!x->p || !y->p)
		return (x->p == NULL) - (y->p == NULL);
	c = (lower_bound(x) > lower_bound(y)) - (lower_bound(x) < lower_bound(y));
	return c ? c : strcmp(x->p->trace, y->p->trace);
}

/* The most promising point, of all or of neighbours of the best. NULL: none is left. */
static struct entry *most_promising(const struct acquisition *q, bool next)
{
	struct entry *best = NULL;

	for (size_t i = 0; i < q->entry.n; i++) {
		struct entry *e = &q->entry.a[i];
		if (e->p && (e->next || !next) && (!best || by_bound(e, best) < 0))
			best = e;
	}
	return best;
}

/* ---- filling the pool ---- */

/* A random point of that origin; NULL: nothing new. */
static struct point *draw_like(struct search *s, const struct points *pool, int origin)
{
	struct samples want = {0};
	size_t all = s->points.n + pool->n, from = (size_t)rng_range(&s->rng, 0, (int64_t)all - 1);

	for (size_t i = 0; i < all && !want.n; i++) {
		size_t at = (from + i) % all;
		const struct point *p = at < s->points.n ? s->points.a[at] : pool->a[at - s->points.n];
		if (p->origin == origin)
			copy_decisions(&want, &p->at);
	}
	for (size_t i = 0; i < want.n; i++)
		want.a[i].decision = want.a[i].choice[rng_range(&s->rng, 0, want.a[i].n - 1)];
	struct point *p = want.n ? draw(s, origin, &want) : NULL;
	vec_free(&want);
	return p;
}

static void draw_near(struct search *s, struct bayes *b, const struct point *of)
{
	if (mark(&b->near, of))
		draw_neighbours(s, of, SIZE_MAX, &b->pool);
}

/* The best points that were told: those within PLATEAU. */
static void find_top(struct acquisition *q)
{
	const struct search *s = q->s;

	for (size_t i = 0; i < s->points.n; i++) {
		struct point *p = s->points.a[i];
		int at = q->ntop;
		while (at > 0 && p->measured > 0 && p->measured < q->top[at - 1]->measured)
			at--;
		if (!(p->measured > 0) || at == TOP)
			continue;
		q->ntop += q->ntop < TOP;
		memmove(&q->top[at + 1], &q->top[at], (size_t)(q->ntop - 1 - at) * sizeof q->top[0]);
		q->top[at] = p;
	}
	while (q->ntop > 1 && q->top[q->ntop - 1]->measured > PLATEAU * q->top[0]->measured)
		q->ntop--;
}

/* Predicts points that are new in the pool. */
static void predict_new(struct acquisition *q)
{
	struct gaussian *g = q->b->gaussian;

	for (size_t i = q->entry.n; i < q->b->pool.n; i++) {
		struct entry e = {.p = q->b->pool.a[i], .row = xcalloc(GAUSSIAN_ROW, sizeof *e.row)};
		e.mean = gaussian_mean(g, q->s, e.p);
		e.deviation = gaussian_deviation(g, q->s, e.p, e.row);
		vec_push(&q->entry, e);
	}
}

static void fill_pool(struct acquisition *q)
{
	struct search *s = q->s;
	struct points *pool = &q->b->pool;
	struct entry *e;

	for (int i = 0; i < q->ntop; i++)
		draw_near(s, q->b, q->top[i]);
	for (int i = pool->n + DRAWS < DRAWS_FIRST ? DRAWS_FIRST : DRAWS; i > 0; i--) {
		struct point *p = draw_like(s, pool, any_origin(s));
		if (p)
			vec_push(pool, p);
	}
	predict_new(q);
	for (int i = 0; i < STEPS && (e = most_promising(q, false)) && !is_marked(&q->b->near, e->p); i++) {
		draw_near(s, q->b, e->p);
		predict_new(q);
	}
}

/* The most promising stay for the next batch. */
static void keep_pool(struct acquisition *q)
{
	if (q->entry.n)
		qsort(q->entry.a, q->entry.n, sizeof *q->entry.a, by_bound);
	q->b->pool.n = 0;
	for (size_t i = 0; i < q->entry.n; i++) {
		if (q->entry.a[i].p && i < POOL_MAX)
			vec_push(&q->b->pool, q->entry.a[i].p);
		free(q->entry.a[i].row);
	}
	vec_free(&q->entry);
}

/* ---- convergence ---- */

/* The expected improvement of the best of them, as a share. Mockus 1978. */
static double expected_gain(const struct acquisition *q)
{
	double best = log(q->top[0]->measured), most = 0;

	for (size_t i = 0; i < q->entry.n; i++) {
		if (!q->entry.a[i].p)
			continue;
		double better = best - q->entry.a[i].mean, d = q->entry.a[i].deviation, z = better / d;
		most = fmax(most, d > 0 ? better * erfc(-z / sqrt(2)) / 2 + d * exp(-z * z / 2) / sqrt(2 * acos(-1)) : better);
	}
	return most;
}

/* Do they differ in one decision at most? Decisions that only one of them has follow from another. */
static bool next_to(const struct point *a, const struct point *b)
{
	int apart = 0;

	for (size_t i = 0; i < a->at.n && apart < 2; i++) {
		const struct sample *x = &a->at.a[i], *y = samples_find(&b->at, x->name);
		apart += y && y->decision != x->decision;
	}
	return a->origin == b->origin && apart < 2;
}

/* Marks the neighbours of the best; their number. */
static size_t find_next(struct acquisition *q)
{
	double best = log(q->top[0]->measured);
	size_t count = 0;

	for (size_t i = 0; i < q->entry.n; i++) {
		struct entry *e = &q->entry.a[i];
		e->next = false;
		for (int k = 0; k < q->ntop && e->p && e->mean - CHANCE * e->deviation < best && !e->next; k++)
			e->next = next_to(e->p, q->top[k]);
		count += e->next;
	}
	return count;
}

/* Are so few points left that all may be tried? */
static bool few_left(const struct acquisition *q)
{
	size_t left = 0;

	for (size_t i = 0; i < q->entry.n; i++)
		left += q->entry.a[i].p != NULL;
	return left && q->s->points.n + left <= FEW;
}

static struct outlook look_ahead(struct acquisition *q, bool descended)
{
	struct outlook o = {.settled = descended && !find_next(q) && !few_left(q)};
	const struct entry *best = most_promising(q, false);

	o.converged = o.settled && expected_gain(q) < GAIN && (!best || is_marked(&q->b->near, best->p));
	return o;
}

/* ---- proposing ---- */

/* Takes up to n points, of all or of neighbours of the best; their number. */
static size_t acquire(struct acquisition *q, size_t n, bool next, struct point **out)
{
	struct gaussian *g = q->b->gaussian;
	struct entry *best;
	size_t count = 0;

	while (count < n && (best = most_promising(q, next))) {
		struct point *p = out[count++] = best->p;
		best->p = NULL;
		if (!gaussian_believe(g, q->s, p))
			continue;
		for (size_t i = 0; i < q->entry.n; i++) {
			struct entry *e = &q->entry.a[i];
			if (e->p)
				e->deviation = gaussian_deviation_after(g, q->s, e->p, e->row);
		}
	}
	return count;
}

/* Fits the process, and believes the points that are in flight or were just proposed. */
static void learn(const struct search *s, struct bayes *b, struct point *const *proposed, size_t n)
{
	VEC(struct gaussian_kin) kin = {0};

	for (size_t i = 0; i < s->kin.n; i++) {
		const struct search *k = s->kin.a[i].search;
		if (k->strategy == s->strategy)
			vec_push(&kin, (struct gaussian_kin){((struct bayes *)k->state)->gaussian, s->kin.a[i].weight});
	}
	gaussian_fit(b->gaussian, s, kin.a, kin.n);
	vec_free(&kin);
	for (size_t i = 0; i < s->points.n; i++)
		if (!(s->points.a[i]->measured > 0))
			gaussian_believe(b->gaussian, s, s->points.a[i]);
	for (size_t i = 0; i < n; i++)
		gaussian_believe(b->gaussian, s, proposed[i]);
}

static size_t propose(struct search *s, size_t n, struct point **out)
{
	struct bayes *b = s->state;
	struct acquisition q = {.s = s, .b = b};
	bool descended;
	size_t count = descent_propose(s, b->descent, n, out, &descended);

	for (size_t i = 0; i < count; i++)
		points_remove(&b->pool, out[i]);
	b->outlook = (struct outlook){0};
	if (count == n)
		return count;
	learn(s, b, out, count);
	find_top(&q);
	fill_pool(&q);
	b->outlook = look_ahead(&q, descended);
	if (descended)
		count += acquire(&q, (n - count + 1) / 2, true, out + count);
	count += acquire(&q, n - count, false, out + count);
	b->outlook.expects = expected_gain(&q);
	keep_pool(&q);
	return count;
}

static void *init(struct search *s)
{
	struct bayes *b = xcalloc(1, sizeof *b);

	b->descent = descent_new();
	b->gaussian = gaussian_new();
	return b;
}

static struct outlook converged(const struct search *s) { return ((const struct bayes *)s->state)->outlook; }

static void end(void *state)
{
	struct bayes *b = state;

	descent_free(b->descent);
	gaussian_free(b->gaussian);
	vec_free(&b->pool);
	vec_free(&b->near);
	free(b);
}

const struct strategy strategy_bayes = {
	.name = "bayes",
	.summary = "descents, then what a Gaussian process over what was timed thinks may be best",
	.init = init,
	.propose = propose,
	.converged = converged,
	.free = end,
};
