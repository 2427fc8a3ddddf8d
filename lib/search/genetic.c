/* The genetic strategy: offspring of the best so far. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "search/strategy_impl.h"

enum { ELITE = 8, NICHES = 4, POOL = 4 };

/* The best that have been timed, and the best of each origin among the others (what an algorithm does with its usual
 * decisions says little about what it can do); count. */
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

/* Another choice for one decision: mostly one beside it, as choices are in order. */
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

/* Each decision from one of the two; where only one has it, its own. */
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

/* Better ones are parents more often. */
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

/* Moves n points from the pool to out: three quarters by what the cost model expects, the rest by chance, so that what
 * it gets wrong is seen. */
static size_t choose(struct search *s, size_t n, struct point **out)
{
	size_t ranked = n - n / 4, have = s->pool.n, count = 0;
	struct point **pool = s->pool.a;

	if (have > n && s->space->cost && s->space->cost->predict)
		qsort(pool, have, sizeof *pool, by_prediction);
	while (count < n && count < have) {
		size_t k = count < ranked ? count : (size_t)rng_range(&s->rng, (int64_t)count, (int64_t)have - 1);
		struct point *x = pool[k];
		pool[k] = pool[count];
		out[count++] = x;
	}
	if (have > count)
		memmove(pool, pool + count, (have - count) * sizeof *pool);
	s->pool.n -= count;
	return count;
}

/* First the usual point of every origin; then what is one decision away from the best, which at the start is the rule's
 * (all of it, where a cost model ranks them), and offspring of the good ones. What the cost model passed over stays in the pool; half of the pool is new each time. */
size_t propose_genetic(struct search *s, size_t n, struct point **out)
{
	bool ranks = s->space->cost && s->space->cost->predict;
	struct point *best[ELITE + NICHES];
	size_t count = draw_origins(s, n, out);
	size_t parents = elite(s, best);
	if (count < n && ranks)
		draw_neighbours(s, best[0]);
	size_t left = n - count, want = ranks ? POOL * left : left, old = s->pool.n;
	if (want < old + want / 2)
		want = old + want / 2;
	for (int vain = 0; s->pool.n < want && vain < PATIENCE;) {
		struct point *p = offspring(s, best, parents);
		vain = p ? 0 : vain + 1;
		if (p)
			vec_push(&s->pool, p);
	}
	return left ? count + choose(s, left, out + count) : count;
}
