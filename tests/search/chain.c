/* lib/search/chain: the best of a chain is found where it is not made of the best of each stage, as all ways say that are tried in turn. */
#include <math.h>
#include <stdbool.h>
#include "common/rng.h"
#include "search/chain.h"
#include "tap.h"

enum { STAGES = 5, STATES = 3 };

struct costs {
	double a[STAGES][STATES][STATES];
};

static double cost(const void *of, size_t k, uint32_t before, uint32_t after) { return ((const struct costs *)of)->a[k][before][after]; }

static double sum(const struct costs *c, const uint32_t *after)
{
	double all = 0;

	for (size_t k = 0; k < STAGES; k++)
		all += c->a[k][k ? after[k - 1] : 0][after[k]];
	return all;
}

/* The least sum of all ways that end in state 0. */
static double least(const struct costs *c, uint32_t *after, size_t k)
{
	double best = INFINITY;

	after[k] = 0;
	if (k + 1 == STAGES)
		return sum(c, after);
	for (; after[k] < STATES; after[k]++)
		best = fmin(best, least(c, after, k + 1));
	return best;
}

/* Each stage apart, after the one before it, takes state 0; only all together gain by state 1. */
static void together(void)
{
	struct costs c;
	uint32_t after[STAGES], apart = 0;

	for (size_t k = 0; k < STAGES; k++)
		for (uint32_t x = 0; x < STATES; x++)
			for (uint32_t y = 0; y < STATES; y++)
				c.a[k][x][y] = x > 1 || y > 1 ? INFINITY : x != y ? 12 : x == 1 ? 5 : 10;
	for (size_t k = 0; k < STAGES; k++)
		apart += c.a[k][0][1] < c.a[k][0][0];
	ok(!apart && chain_best(STAGES, STATES, cost, &c, after) == 12 + 5 + 5 + 5 + 12, "a chain's best is not the best of each stage");
	ok(after[0] == 1 && after[1] == 1 && after[2] == 1 && after[3] == 1 && after[4] == 0, "its states");
}

static void drawn(void)
{
	struct rng r = {42};
	bool good = true;

	for (int i = 0; i < 200; i++) {
		struct costs c;
		uint32_t after[STAGES], tried[STAGES];
		for (size_t k = 0; k < STAGES; k++)
			for (uint32_t x = 0; x < STATES; x++)
				for (uint32_t y = 0; y < STATES; y++) {
					int64_t n = rng_range(&r, 0, 19);
					c.a[k][x][y] = n < 8 ? INFINITY : (double)n;
				}
		double best = chain_best(STAGES, STATES, cost, &c, after), truth = least(&c, tried, 0);
		good &= best == truth && (isinf(best) || sum(&c, after) == best);
	}
	ok(good, "chains drawn at random: as all ways say, or none");
}

int main(void)
{
	together();
	drawn();
	return tap_done();
}
