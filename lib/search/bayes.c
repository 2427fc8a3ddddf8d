/* Bayesian optimization behind descents. These go first, the same way whatever the seed; what they leave of a batch, and all
 * of it when they have come to their end, a process asks for that has learned from what was told. Where that is better,
 * they go on from there.
 *
 * It asks for the one of the points at hand that is the best if it is a deviation better than expected (the lower confidence
 * bound); then, as if that had been as expected, for the next. At hand are points drawn by chance, what is a decision away
 * from the best points, and what is a decision away from the most hopeful of those at hand. Half of them are for those
 * next to the best points until none is left that may be better: a search that knows what is all around where it ends, ends
 * where others do. Of so few points that all have been drawn it tries them all, whatever it expects of them.
 * Srinivas et al., Gaussian Process Optimization in the Bandit Setting, 2010; Ginsbourger et al., Kriging is well-suited to
 * parallelize optimization, 2010 (the "believer"). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "search/gaussian.h"
#include "search/strategy_impl.h"

enum { DRAWS_FIRST = 128, DRAWS = 16, STEPS = 6, HAND_MAX = 512, TOP = 6, FEW = 96 /* fewer than the first draws: most are among them */ };
static const double HOPE = 1;       /* deviations better than expected */
static const double CHANCE = 2;     /* the same: what is next to the best and worse even then is not tried */
static const double PLATEAU = 1.02; /* of the best one's time: as good as that, or nearly so */
static const double GAIN = 0.0002;  /* expected of the best of those at hand, a share: below, the search has converged */

struct card {
	struct point *p; /* NULL: played */
	double mean, deviation, *row;
	bool next; /* to one of the best points, and maybe better */
};
struct hand {
	struct search *s;
	struct gaussian *g;
	VEC(struct card) card;
	struct point *top[TOP]; /* the best that was told, and what is as good */
	int ntop;
};

static double hope(const struct card *c) { return c->mean - HOPE * c->deviation; }

/* The most hopeful first; those played last. */
static int by_hope(const void *a, const void *b)
{
	const struct card *x = a, *y = b;
	int c;

	if (!x->p || !y->p)
		return (x->p == NULL) - (y->p == NULL);
	c = (hope(x) > hope(y)) - (hope(x) < hope(y));
	return c ? c : strcmp(x->p->trace, y->p->trace);
}

/* Of all, or of those next to the best. NULL: none is left. */
static struct card *most_hopeful(const struct hand *h, bool next)
{
	struct card *best = NULL;

	for (size_t i = 0; i < h->card.n; i++) {
		struct card *c = &h->card.a[i];
		if (c->p && (c->next || !next) && (!best || by_hope(c, best) < 0))
			best = c;
	}
	return best;
}

/* Any decisions where some point of that origin has any; NULL: nothing new came of it. */
static struct point *draw_like(struct search *s, int origin)
{
	struct samples want = {0};
	size_t all = s->points.n + s->pool.n, from = (size_t)rng_range(&s->rng, 0, (int64_t)all - 1);

	for (size_t i = 0; i < all && !want.n; i++) {
		size_t at = (from + i) % all;
		const struct point *p = at < s->points.n ? s->points.a[at] : s->pool.a[at - s->points.n];
		if (p->origin == origin)
			copy_decisions(&want, &p->at);
	}
	for (size_t i = 0; i < want.n; i++)
		want.a[i].decision = want.a[i].choice[rng_range(&s->rng, 0, want.a[i].n - 1)];
	struct point *p = want.n ? draw(s, origin, &want) : NULL;
	vec_free(&want);
	return p;
}

static void draw_near(struct search *s, struct point *of)
{
	if (!of->drawn_near)
		draw_neighbours(s, of);
	of->drawn_near = true;
}

/* The best that was told, and what is hardly worse. */
static void find_top(struct hand *h)
{
	const struct search *s = h->s;

	for (size_t i = 0; i < s->points.n; i++) {
		struct point *p = s->points.a[i];
		int at = h->ntop;
		while (at > 0 && p->measured > 0 && p->measured < h->top[at - 1]->measured)
			at--;
		if (!(p->measured > 0) || at == TOP)
			continue;
		h->ntop += h->ntop < TOP;
		memmove(&h->top[at + 1], &h->top[at], (size_t)(h->ntop - 1 - at) * sizeof h->top[0]);
		h->top[at] = p;
	}
	while (h->ntop > 1 && h->top[h->ntop - 1]->measured > PLATEAU * h->top[0]->measured)
		h->ntop--;
}

/* Of what is in the pool, all that is not in the hand yet comes into it. */
static void take_up(struct hand *h)
{
	for (size_t i = h->card.n; i < h->s->pool.n; i++) {
		struct card c = {.p = h->s->pool.a[i], .row = xcalloc(GAUSSIAN_ROW, sizeof *c.row)};
		c.mean = gaussian_mean(h->g, h->s, c.p);
		c.deviation = gaussian_deviation(h->g, h->s, c.p, c.row);
		vec_push(&h->card, c);
	}
}

static void fill(struct hand *h)
{
	struct search *s = h->s;
	struct card *c;

	for (int i = 0; i < h->ntop; i++)
		draw_near(s, h->top[i]);
	for (int i = s->pool.n + DRAWS < DRAWS_FIRST ? DRAWS_FIRST : DRAWS; i > 0; i--) {
		struct point *p = draw_like(s, any_origin(s));
		if (p)
			vec_push(&s->pool, p);
	}
	take_up(h);
	for (int i = 0; i < STEPS && (c = most_hopeful(h, false)) && !c->p->drawn_near; i++) {
		draw_near(s, c->p);
		take_up(h);
	}
}

/* By how much the best of them may be expected to beat the best there is, 0 where it does not. Mockus 1978. */
static double expected_gain(const struct hand *h)
{
	double best = log(h->top[0]->measured), most = 0;

	for (size_t i = 0; i < h->card.n; i++) {
		if (!h->card.a[i].p)
			continue;
		double better = best - h->card.a[i].mean, d = h->card.a[i].deviation, z = better / d;
		most = fmax(most, d > 0 ? better * erfc(-z / sqrt(2)) / 2 + d * exp(-z * z / 2) / sqrt(2 * acos(-1)) : better);
	}
	return most;
}

/* Is at most one decision another? What only one of them has to decide follows from another decision. */
static bool next_to(const struct point *a, const struct point *b)
{
	int apart = 0;

	for (size_t i = 0; i < a->at.n && apart < 2; i++) {
		const struct sample *x = &a->at.a[i], *y = samples_find(&b->at, x->name);
		apart += y && y->decision != x->decision;
	}
	return a->origin == b->origin && apart < 2;
}

/* Which are next to the best; count. */
static size_t find_next(struct hand *h)
{
	double best = log(h->top[0]->measured);
	size_t count = 0;

	for (size_t i = 0; i < h->card.n; i++) {
		struct card *c = &h->card.a[i];
		c->next = false;
		for (int k = 0; k < h->ntop && c->p && c->mean - CHANCE * c->deviation < best && !c->next; k++)
			c->next = next_to(c->p, h->top[k]);
		count += c->next;
	}
	return count;
}

/* Some are left of so few that all may be tried. */
static bool few_left(const struct hand *h)
{
	size_t left = 0;

	for (size_t i = 0; i < h->card.n; i++)
		left += h->card.a[i].p != NULL;
	return left && h->s->points.n + left <= FEW;
}

/* Up to n of all, or of those next to the best; count. */
static size_t play(struct hand *h, size_t n, bool next, struct point **out)
{
	struct card *best;
	size_t count = 0;

	while (count < n && (best = most_hopeful(h, next))) {
		struct point *p = out[count++] = best->p;
		best->p = NULL;
		if (!gaussian_believe(h->g, h->s, p))
			continue;
		for (size_t i = 0; i < h->card.n; i++) {
			struct card *c = &h->card.a[i];
			if (c->p)
				c->deviation = gaussian_deviation_after(h->g, h->s, c->p, c->row);
		}
	}
	return count;
}

/* The most hopeful go back to the pool. */
static void put_down(struct hand *h)
{
	if (h->card.n)
		qsort(h->card.a, h->card.n, sizeof *h->card.a, by_hope);
	h->s->pool.n = 0;
	for (size_t i = 0; i < h->card.n; i++) {
		if (h->card.a[i].p && i < HAND_MAX)
			vec_push(&h->s->pool, h->card.a[i].p);
		free(h->card.a[i].row);
	}
	vec_free(&h->card);
}

size_t propose_bayes(struct search *s, size_t n, struct point **out)
{
	struct hand h = {.s = s};
	bool end;
	size_t count = descend(s, n, out, &end);

	s->converged = false;
	s->settled = false;
	s->expects = 0;
	if (count == n)
		return count;
	h.g = gaussian_fit(s);
	for (size_t i = 0; i < s->points.n; i++) /* those on their way */
		if (!(s->points.a[i]->measured > 0))
			gaussian_believe(h.g, s, s->points.a[i]);
	for (size_t i = 0; i < count; i++)
		gaussian_believe(h.g, s, out[i]);
	find_top(&h);
	fill(&h);
	s->settled = end && !find_next(&h) && !few_left(&h);
	struct card *best = most_hopeful(&h, false);
	s->converged = s->settled && expected_gain(&h) < GAIN && (!best || best->p->drawn_near);
	if (end)
		count += play(&h, (n - count + 1) / 2, true, out + count);
	count += play(&h, n - count, false, out + count);
	s->expects = expected_gain(&h);
	put_down(&h);
	return count;
}
