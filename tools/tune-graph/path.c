/* Which layouts pass the cuts of a model: segments cost what they do with the layouts at both their ends. */
#include <math.h>
#include <stdlib.h>
#include "search/chain.h"
#include "tune-graph.h"

struct costs {
	const struct segments *s;
	double (*pace)(const void *of, const struct segment *s);
	const void *of;
};

const struct way *path_way(const struct segments *s, size_t place)
{
	const struct place *p = &s->place.a[place];

	return &p->way[place ? p[-1].after : (uint32_t)CUT_USUAL][p->after];
}

void path_reset(struct segments *s)
{
	for (size_t k = 0; k < s->place.n; k++)
		s->place.a[k].after = CUT_USUAL;
}

size_t path_turned(const struct segments *s)
{
	size_t n = 0;

	for (size_t k = 0; k < s->place.n; k++)
		n += s->place.a[k].after != CUT_USUAL;
	return n;
}

static bool is_known(double seconds) { return seconds > 0 && isfinite(seconds); }

static size_t count(const struct segments *s, bool winners)
{
	bool *seen = xcalloc(s->a.n + 1, sizeof *seen);
	size_t n = 0;

	for (size_t k = 0; k < s->place.n; k++) {
		uint32_t i = path_way(s, k)->segment;
		if (i == NO_SEGMENT || seen[i])
			continue;
		seen[i] = true;
		n += !winners || s->a.a[i].won;
	}
	free(seen);
	return n;
}

size_t path_segments(const struct segments *s) { return count(s, false); }

size_t path_winners(const struct segments *s) { return count(s, true); }

/* Seconds of a place. As it was timed; else as predicted, at the pace of the same place between usual cuts, and
 * as if other groups gained as much as there. */
static double cost(const void *of, size_t k, uint32_t before, uint32_t after)
{
	const struct costs *c = of;
	const struct place *p = &c->s->place.a[k];
	const struct way *w = &p->way[before][after], *usual = &p->way[CUT_USUAL][CUT_USUAL];
	bool is_usual = !before && !after;

	if (w->segment == NO_SEGMENT)
		return is_usual ? 0 : INFINITY;
	const struct segment *s = &c->s->a.a[w->segment], *u = usual->segment == NO_SEGMENT ? NULL : &c->s->a.a[usual->segment];
	if (s->usual_seconds > 0 && (s->done || !c->pace))
		return s->usual_seconds * (s->won ? s->mean : 1);
	if (!c->pace || !u || s->failed || !is_known(u->least) ||
	    !is_known(s->least)) /* a place of which too little is known stays as it is */
		return is_usual ? 0 : INFINITY;
	return s->least * c->pace(c->of, u) * (u->won ? u->mean : 1);
}

double path_choose(struct segments *s, double (*pace)(const void *of, const struct segment *s), const void *of)
{
	struct costs c = {s, pace, of};
	uint32_t *after = xcalloc(s->place.n + 1, sizeof *after);
	double best = chain_best(s->place.n, CUT_STATES, cost, &c, after), usual = 0;

	for (size_t k = 0; k < s->place.n; k++) {
		s->place.a[k].after = after[k];
		usual += cost(&c, k, CUT_USUAL, CUT_USUAL);
	}
	free(after);
	return path_turned(s) ? usual - best : 0;
}
