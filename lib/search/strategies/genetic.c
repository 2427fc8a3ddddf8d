/* Offspring of the best so far: decisions of two of them mixed, and one changed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "search/strategies/genetic.h"

enum { ELITE = 8, NICHES = 4, POOL = 4 };

/* Parents: the best points, and the best of each other origin (an algorithm's default says little about what it can do); their number. */
static size_t elite(const struct search *s, struct point **out)
{
	VEC(struct point *) v = {0};

	for (size_t i = 0; i < s->points.n; i++)
		if (s->points.a[i]->measured > 0 && isfinite(s->points.a[i]->measured))
			vec_push(&v, s->points.a[i]);
	qsort(v.a, v.n, sizeof *v.a, by_measure);
	size_t n = v.n < ELITE ? v.n : ELITE;
	memcpy(out, v.a, n * sizeof *out);
	for (size_t i = n; i < v.n && n < ELITE + NICHES; i++) {
		bool seen = false;
		for (size_t k = 0; k < n && !seen; k++)
			seen = out[k]->origin == v.a[i]->origin;
		if (!seen)
			out[n++] = v.a[i];
	}
	vec_free(&v);
	return n;
}

/* Mutates one decision: mostly to a neighbouring choice, as choices are ordered. */
static void mutate(struct rng *r, struct samples *want)
{
	size_t open = 0, k;

	for (size_t i = 0; i < want->n; i++)
		open += want->a[i].n > 1;
	if (!open)
		return;
	k = (size_t)rng_range(r, 0, (int64_t)open - 1);
	for (size_t i = 0; i < want->n; i++) {
		struct sample *x = &want->a[i];
		int at = 0, to;
		if (x->n < 2 || k--)
			continue;
		while (at + 1 < x->n && x->choice[at] != x->decision)
			at++;
		if (rng_unit(r) < 0.6)
			to = at == 0 ? 1 : at == x->n - 1 ? at - 1 : rng_unit(r) < 0.5 ? at - 1 : at + 1;
		else
			to = (at + (int)rng_range(r, 1, x->n - 1)) % x->n;
		x->decision = x->choice[to];
		return;
	}
}

/* Crosses two points: each decision from one of them. */
static void cross(struct rng *r, struct samples *want, const struct samples *other)
{
	for (size_t i = 0; i < other->n; i++) {
		struct sample *x = samples_find(want, other->a[i].name);
		if (rng_unit(r) < 0.5)
			continue;
		if (x)
			*x = other->a[i]; /* with its choices: words are told by their names */
		else
			vec_push(want, other->a[i]);
	}
}

/* Chooses a parent; better ones more often. */
static struct point *parent(struct search *s, struct point **best, size_t n)
{
	double u = rng_unit(&s->rng);

	return best[(size_t)(u * u * (double)n)];
}

static struct point *offspring(struct search *s, struct point **best, size_t n)
{
	double kind = rng_unit(&s->rng);
	struct samples want = {0};

	if (kind < 0.1)
		return draw_random(s, any_origin(s));
	struct point *mother = parent(s, best, n), *father = parent(s, best, n);
	copy_decisions(&want, &mother->at);
	if (kind < 0.5 && father != mother)
		cross(&s->rng, &want, &father->at);
	if (kind > 0.35)
		mutate(&s->rng, &want);
	struct point *p = draw(s, mother->origin, &want);
	vec_free(&want);
	return p;
}

static int by_prediction(const void *a, const void *b)
{
	const struct point *x = *(struct point *const *)a, *y = *(struct point *const *)b;
	int c = (x->predicted > y->predicted) - (x->predicted < y->predicted);

	return c ? c : strcmp(x->trace, y->trace);
}

/* Moves n points from the pool to out: three quarters by the cost model, the rest at random, so that its errors are seen. */
static size_t choose(struct search *s, struct points *pool, size_t n, struct point **out)
{
	size_t ranked = n - n / 4, have = pool->n, count = 0;
	struct point **p = pool->a;

	if (have > n && s->space->cost && s->space->cost->predict)
		qsort(p, have, sizeof *p, by_prediction);
	while (count < n && count < have) {
		size_t k = count < ranked ? count : (size_t)rng_range(&s->rng, (int64_t)count, (int64_t)have - 1);
		struct point *x = p[k];
		p[k] = p[count];
		out[count++] = x;
	}
	if (have > count)
		memmove(p, p + count, (have - count) * sizeof *p);
	pool->n -= count;
	return count;
}

/* Fills the pool: half of it is new each time. */
static void breed(struct search *s, struct points *pool, size_t want, struct point **best, size_t parents)
{
	if (want < pool->n + want / 2)
		want = pool->n + want / 2;
	for (int vain = 0; pool->n < want && vain < PATIENCE;) {
		struct point *p = offspring(s, best, parents);
		vain = p ? 0 : vain + 1;
		if (p)
			vec_push(pool, p);
	}
}

struct genetic genetic_new(void) { return (struct genetic){.next_origin = 1}; }

size_t genetic_propose(struct search *s, struct genetic *g, size_t n, struct point **out)
{
	bool ranks = s->space->cost && s->space->cost->predict;
	struct point *best[ELITE + NICHES];
	size_t count = draw_origins(s, &g->next_origin, n, out), left = n - count, parents = elite(s, best);

	if (left && ranks)
		draw_neighbours(s, best[0], SIZE_MAX, &g->pool);
	breed(s, &g->pool, ranks ? POOL * left : left, best, parents);
	return left ? count + choose(s, &g->pool, left, out + count) : count;
}

void genetic_free(struct genetic *g) { vec_free(&g->pool); }

/* ---- as a strategy ---- */

static void *init(struct search *s)
{
	struct genetic *g = xcalloc(1, sizeof *g);

	*g = genetic_new();
	return g;
}

static size_t propose(struct search *s, size_t n, struct point **out) { return genetic_propose(s, s->state, n, out); }

static void end(void *state)
{
	genetic_free(state);
	free(state);
}

const struct strategy strategy_genetic = {
	.name = "genetic",
	.summary = "offspring of the best so far, ranked by the cost model",
	.init = init,
	.propose = propose,
	.free = end,
};
