/* The least choice against all choices, on random graphs. */
#include <string.h>
#include "common/choice.h"
#include "common/rng.h"
#include "common/tool.h"
#include "tap.h"

const struct tool tool; /* the library's main() is not linked */

enum { THINGS = 16, READERS = 6, GRAPHS = 400 };
struct problem {
	struct choice c;
	int64_t cost[THINGS][2];
	struct choice_value value[THINGS];
	uint32_t reader[THINGS][READERS];
};

static uint32_t below(struct rng *r, uint32_t n) { return (uint32_t)rng_range(r, 0, (int64_t)n - 1); }

static void draw_values(struct problem *p, struct rng *r)
{
	for (uint32_t i = 0; i + 1 < p->c.nthings; i++) {
		struct choice_value *v = &p->value[p->c.nvalues++];
		*v = (struct choice_value){i, below(r, READERS + 1), p->reader[i], below(r, 60), below(r, 60)};
		for (uint32_t k = 0; k < v->nreaders; k++)
			p->reader[i][k] = i + 1 + below(r, p->c.nthings - i - 1);
	}
}

static void draw(struct problem *p, struct rng *r)
{
	memset(p, 0, sizeof *p);
	p->c = (struct choice){1 + below(r, THINGS), 0, (const int64_t(*)[2])p->cost, p->value};
	for (uint32_t i = 0; i < p->c.nthings; i++)
		for (int f = 0; f < 2; f++)
			p->cost[i][f] = below(r, 12) ? below(r, 100) : CHOICE_NEVER;
	draw_values(p, r);
}

/* The least of all, and the fewest low things that have it. */
static int64_t least_of_all(const struct choice *c, int *fewest)
{
	int64_t best = CHOICE_NEVER;
	bool low[THINGS];

	*fewest = THINGS;
	for (uint32_t bits = 0; bits < 1u << c->nthings; bits++) {
		for (uint32_t i = 0; i < c->nthings; i++)
			low[i] = bits >> i & 1;
		int64_t k = choice_cost(c, low);
		int n = __builtin_popcount(bits);
		if (k < best || (k == best && n < *fewest))
			*fewest = n;
		best = k < best ? k : best;
	}
	return best;
}

static void against_all(void)
{
	struct rng r = {33};
	int wrong = 0, more = 0, none = 0;

	for (int g = 0; g < GRAPHS; g++) {
		struct problem p;
		bool low[THINGS];
		int fewest, n = 0;
		draw(&p, &r);
		int64_t best = least_of_all(&p.c, &fewest), found = choice_least(&p.c, low);
		for (uint32_t i = 0; i < p.c.nthings; i++)
			n += low[i];
		wrong += best != found || choice_cost(&p.c, low) != found;
		more += best < CHOICE_NEVER && n != fewest;
		none += best == CHOICE_NEVER;
	}
	ok(!wrong, "%d random graphs of up to %d things: the least (%d wrong)", GRAPHS, THINGS, wrong);
	ok(!more, "with as few low things as can be (%d with more)", more);
	ok(none < GRAPHS / 2, "%d of them had no choice", none);
}

static void shared_once(void)
{
	static const int64_t cost[][2] = {{0, CHOICE_NEVER}, {10, 6}, {10, 6}, {10, 6}};
	static const uint32_t reader[] = {1, 2, 3};
	const struct choice_value v = {0, 3, reader, 11, 0};
	const struct choice c = {4, 1, cost, &v};
	bool low[4];

	ok(choice_least(&c, low) == 29 && !low[0] && low[1] && low[2] && low[3], "what three read is turned once");
}

int main(void)
{
	against_all();
	shared_once();
	return tap_done();
}
