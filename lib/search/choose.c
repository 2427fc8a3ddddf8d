/* Climbing to a schedule by a learned cost model. */
#include "search/choose.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/intern.h"
#include "loop/interp.h"
#include "loop/prim.h"
#include "lower/lower.h"
#include "search/predict.h"
#include "search/strategy.h"

/* A time for a gain: it falls as the gain rises. A choice of ge-schedule depends on the order of such times alone, not on libm. */
static double time_of(int64_t units)
{
	double u = (double)units / TREES_UNIT;

	return u > 0 ? 1 / (1 + u) : 1 - u;
}

/* A program that was predicted. */
struct guess {
	struct gain gain;
	int32_t code; /* FEATURE_CODE */
};
struct guesses {
	struct beside beside;
	VEC(struct guess) of; /* by the number of the prediction in its space */
};

static double predict(struct loop_prog *p, const void *arg)
{
	struct guesses *g = (struct guesses *)arg;
	struct features f;

	features_of(p, &f);
	struct gain gain = gain_of(&g->beside, &f);
	vec_push(&g->of, (struct guess){gain, f.a[FEATURE_CODE]});
	return time_of(gain.middle);
}

/* A schedule of the group. */
struct seen {
	struct features features; /* of the default */
	struct digest stages;     /* before it was scheduled */
	double seconds;           /* of the default, by the analytic model */
};

/* The group by the trace, or by default. False: it has no such schedule that is right. */
static bool look(struct module *m, node_id n, const struct target *t, const char *trace, struct seen *s)
{
	const char *why;
	struct lowered l = lower_sketch(m, n, t, trace ? trace_algo(trace, &m->arena) : NULL, &why);
	bool right = l.prog;

	if (l.prog) {
		s->stages = prog_digest(l.prog);
		if (trace)
			right = !loop_apply(l.prog, trace, false);
		else
			s->seconds = program_seconds(l.prog);
		if (right && !trace)
			features_of(l.prog, &s->features);
		right = right && !loop_legalize(l.prog) && !loop_verify(l.prog);
		prog_free(l.prog);
	}
	return right;
}

static int by_predicted(const void *a, const void *b)
{
	const struct point *x = *(const struct point *const *)a, *y = *(const struct point *const *)b;
	int c = (x->predicted > y->predicted) - (x->predicted < y->predicted);

	return c ? c : strcmp(x->trace, y->trace);
}

/* All points on the way, the best first. */
static void climb(struct search *s, size_t most, struct points *all)
{
	struct point *at, *origin;
	size_t next = 1;

	vec_push(all, s->points.a[0]);
	while (all->n < most && draw_origins(s, &next, 1, &origin))
		vec_push(all, origin);
	for (at = NULL; at != all->a[0]; qsort(all->a, all->n, sizeof *all->a, by_predicted)) {
		at = all->a[0];
		draw_neighbours(s, at, most, all);
	}
}

/* The best of the points that is right, if its gain is sure. Of those that gain as much, as far as the members tell, the one with the least
 * code: it is compiled the fastest. */
static void choose(const struct space *s, const struct points *all, const struct guesses *guesses, struct arena *a, struct chosen *c)
{
	int64_t least = 0;
	int32_t code = INT32_MAX;
	bool found = false;

	for (size_t i = 0; i < all->n; i++) {
		const struct point *x = all->a[i];
		const struct guess *g = &guesses->of.a[map_get(&s->predicted_at, intern(x->trace) + 1) - 1];
		struct seen f;
		if (found && x->predicted > time_of(least))
			return;
		if (found && (!gain_is_sure(g->gain) || g->code >= code))
			continue;
		if (!look(s->m, s->n, s->target, x->trace, &f))
			continue;
		if (!found)
			least = g->gain.middle - (g->gain.most - g->gain.least);
		found = true;
		c->gain = g->gain;
		c->from = arena_str(a, x->from);
		if (!gain_is_sure(g->gain))
			return;
		code = g->code;
		c->trace = trace_stamp(x->trace, f.stages, a);
	}
}

struct chosen schedule_choose(struct module *m, node_id n, const struct target *t, const struct trees *model, size_t most, struct arena *a)
{
	struct guesses g = {0};
	const struct cost_model cost = {"learned", "what tune-model learned", predict, &g, NULL};
	struct chosen c = {.seconds = INFINITY};
	struct points all = {0};
	struct seen usual;

	if (!look(m, n, t, NULL, &usual))
		return c;
	c.from = "default";
	c.seconds = usual.seconds;
	g.beside = trees_beside(model, &usual.features);
	if (!g.beside.known)
		return c;
	struct space *space = space_new(m, n, t, &cost);
	struct search *s = search_new(space, strategy_find("random"), 0);
	if (s->points.n) {
		climb(s, most, &all);
		choose(space, &all, &g, a, &c);
	}
	c.tried = all.n;
	if (c.trace)
		c.seconds *= exp2(-(double)c.gain.middle / TREES_UNIT);
	vec_free(&all);
	vec_free(&g.of);
	search_free(s);
	space_free(space);
	return c;
}
