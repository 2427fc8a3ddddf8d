/* Searches: what all strategies have in common. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "search/strategy.h"

/* One line a file of strategies/: STRATEGY(bayes). */
#define STRATEGY(name) extern const struct strategy strategy_##name;
#include "lib/search/strategies.inc"
#undef STRATEGY
#define STRATEGY(name) &strategy_##name,
const struct strategy *const strategies[] = {
#include "lib/search/strategies.inc"
	NULL,
};

const struct strategy *strategy_find(const char *name)
{
	for (const struct strategy *const *s = strategies; *s; s++)
		if (!strcmp((*s)->name, name))
			return *s;
	return strncmp(name, "pipe:", 5) ? NULL : strategy_pipe(name + 5);
}

/* From now on it has been proposed. */
static void keep(struct search *s, struct point *p)
{
	first_proposed(s, p);
	vec_push(&s->points, p);
}

struct search *search_new(struct space *space, const struct strategy *strategy, uint64_t seed)
{
	struct search *s = xcalloc(1, sizeof *s);

	s->space = space;
	s->strategy = strategy;
	s->rng.s = seed;
	s->drawn = drawn_new();
	struct point *base = draw(s, 0, &usual);
	if (base) {
		base->measured = 1;
		keep(s, base);
	}
	s->state = strategy->init ? strategy->init(s) : NULL;
	return s;
}

void search_relate(struct search *a, struct search *b, double distance)
{
	if (!isfinite(distance))
		return;
	vec_push(&a->kin, (struct kin){b, 1 / (1 + distance)});
	vec_push(&b->kin, (struct kin){a, 1 / (1 + distance)});
}

double search_best(const struct search *s)
{
	double best = 1;

	for (size_t i = 0; i < s->points.n; i++)
		if (s->points.a[i]->measured > 0)
			best = fmin(best, s->points.a[i]->measured);
	return best;
}

size_t search_propose(struct search *s, size_t n, struct point **out)
{
	size_t count = s->points.n ? s->strategy->propose(s, n, out) : 0;

	for (size_t i = 0; i < count; i++)
		keep(s, out[i]);
	return count;
}

size_t search_propose_records(struct search *s, size_t n, struct point **out)
{
	const struct generator *records = generator_find("records");
	size_t count = 0;

	for (size_t i = 0; i < s->space->origins.n && count < n; i++) {
		struct point *p = s->space->origins.a[i].by == records ? draw(s, (int)i, &usual) : NULL;
		if (!p)
			continue;
		out[count++] = p;
		keep(s, p);
	}
	return count;
}

void search_tell(struct search *s, struct point *p, double measured)
{
	p->measured = measured;
	if (s->strategy->tell)
		s->strategy->tell(s, p);
}

struct outlook search_outlook(const struct search *s) { return s->strategy->converged ? s->strategy->converged(s) : (struct outlook){0}; }

void search_free(struct search *s)
{
	if (s->strategy->free)
		s->strategy->free(s->state);
	drawn_free(s->drawn);
	vec_free(&s->points);
	vec_free(&s->kin);
	free(s);
}
