/* All decisions of every origin, one after another. */
#include <stdlib.h>
#include "search/strategy.h"

struct grid {
	int origin;
	struct samples odometer; /* the decisions to ask for next */
};

static int choice_after(const struct sample *x)
{
	for (int i = 0; i + 1 < x->n; i++)
		if (x->choice[i] == x->decision)
			return i + 1;
	return 0;
}

/* Starts at the default decision, and goes once around. */
static bool advance(struct samples *at)
{
	while (at->n) {
		struct sample *last = &at->a[at->n - 1];
		int next = choice_after(last);
		if (last->choice[next] != last->usual) {
			last->decision = last->choice[next];
			return true;
		}
		at->n--;
	}
	return false;
}

static void *init(struct search *s)
{
	struct grid *g = xcalloc(1, sizeof *g);

	if (s->points.n)
		copy_decisions(&g->odometer, &s->points.a[0]->at);
	return g;
}

static size_t propose(struct search *s, size_t n, struct point **out)
{
	struct grid *g = s->state;
	size_t count = 0;

	while (count < n && g->origin < (int)s->space->origins.n) {
		struct point *p = space_point(s->space, g->origin, &g->odometer);
		if (p && claim(s, p))
			out[count++] = p;
		for (size_t i = 0; p && i < p->at.n; i++) /* those asked for stay: a decision that cannot be is not done */
			if (!samples_find(&g->odometer, p->at.a[i].name))
				vec_push(&g->odometer, p->at.a[i]);
		if (!advance(&g->odometer))
			g->origin++;
	}
	return count;
}

static void end(void *state)
{
	struct grid *g = state;

	vec_free(&g->odometer);
	free(g);
}

const struct strategy strategy_grid = {
	.name = "grid",
	.summary = "all decisions, one after another",
	.init = init,
	.propose = propose,
	.free = end,
};
