/* Gears of a histogram: dynamic programming against all choices there are. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include "common/rng.h"
#include "tap.h"

/* tools/ge-gears */
size_t rows_choose(size_t n, const double *count, const double *time, size_t k, bool (*may)(const void *arg, size_t i, size_t j),
		   const void *arg, size_t *chosen, double *cost);

enum { ROWS = 10 };

struct problem {
	size_t n, k;
	double count[ROWS], time[ROWS];
	int prefix[ROWS]; /* rows of one may run each other; below 0: none may */
};

static bool may(const void *arg, size_t i, size_t j)
{
	const struct problem *p = arg;
	return p->prefix[i] >= 0 && p->prefix[i] == p->prefix[j];
}

/* Of the rows in `set`. */
static double cost_of(const struct problem *p, unsigned set)
{
	double cost = 0;

	for (size_t i = 0; i < p->n; i++) {
		size_t j = i;
		while (j < p->n && !(set >> j & 1))
			j++;
		if (p->count[i] > 0 && (j == p->n || (j != i && !may(p, i, j))))
			return INFINITY;
		cost += p->count[i] > 0 ? p->count[i] * p->time[j] : 0;
	}
	return cost;
}

static double brute(const struct problem *p)
{
	double best = INFINITY;

	for (unsigned set = 1; set < 1u << p->n; set++)
		if ((size_t)__builtin_popcount(set) <= p->k)
			best = fmin(best, cost_of(p, set));
	return best;
}

static struct problem problem_new(struct rng *r)
{
	struct problem p = {.n = 1 + (size_t)rng_range(r, 0, ROWS - 1), .k = 1 + (size_t)rng_range(r, 0, 5 - 1)};
	int prefix = 0;

	for (size_t i = 0; i < p.n; i++) {
		prefix += rng_range(r, 0, 5 - 1) == 0;
		p.prefix[i] = rng_range(r, 0, 12 - 1) ? prefix : -1;
		p.count[i] = (double)(rng_range(r, 0, 3 - 1) ? rng_range(r, 0, 100 - 1) : 0);
		p.time[i] = 1 + (double)i + (double)rng_range(r, 0, 5 - 1);
	}
	return p;
}

int main(void)
{
	struct rng r = {1};
	size_t wrong = 0, chosen[ROWS + 1], none = 0;
	double cost;

	for (int i = 0; i < 20000; i++) {
		struct problem p = problem_new(&r);
		double best = brute(&p), all = 0;
		for (size_t k = 0; k < p.n; k++)
			all += p.count[k];
		if (all == 0)
			continue;
		size_t n = rows_choose(p.n, p.count, p.time, p.k < p.n ? p.k : p.n, may, &p, chosen, &cost);
		unsigned set = 0;
		for (size_t k = 0; k < n; k++)
			set |= 1u << chosen[k];
		none += n == 0;
		if (n ? n > p.k || cost != best || cost_of(&p, set) != best : best != INFINITY)
			wrong++;
	}
	ok(wrong == 0 && none > 0, "20000 histograms: the least time of all choices; %zu of them have none", none);
	return tap_done();
}
