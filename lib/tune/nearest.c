/* Schedules for tasks that were not timed: what won against an older default, or for the nearest task, if it promises to beat the default. */
#include <math.h>
#include <string.h>
#include "tune/session.h"

enum { NEAR_MAX = 4 };
#define PROMISE 0.95 /* of the default's time, by the cost model, which ranks better than it predicts */

static const struct samples nothing;

/* Winners of this tuning count as well as those of the knowledge base. */
static int find_near(struct session *s, const struct tuned *t, struct near *out)
{
	int n = nearest_records(s, t, out, NEAR_MAX);

	for (int i = 0; i < s->ntask; i++) {
		const struct tuned *o = &s->task[i];
		double d = o != t && o->trace && o->ratio > 0 ? task_distance(t->text, o->text) : INFINITY;
		if (!isfinite(d))
			continue;
		int k = n;
		while (k > 0 && out[k - 1].distance > d)
			k--;
		if (k == NEAR_MAX)
			continue;
		n += n < NEAR_MAX;
		memmove(out + k + 1, out + k, (size_t)(n - k - 1) * sizeof *out);
		out[k] = (struct near){o->text, o->trace, "this model", d};
	}
	return n;
}

bool take_older(struct session *s, struct tuned *t)
{
	const struct kb_record *r = kb_best_for(&t->records, t->text, s->target_row, &t->ratios_to);
	const char *why;
	struct candidate *c =
		r && t->ours[r - t->records.a] ? candidate_new(t->in, t->node, s->target, kb_get_field(r, "trace"), false, &why) : NULL;

	if (!c)
		return false;
	t->trace = arena_str(&s->arena, c->trace);
	t->from = record_id(r, &s->arena);
	t->why = arena_printf(&s->arena, "not timed: %s, %.3f of the time of a default of an older version", t->from,
			      record_number(r, "ratio"));
	candidate_free(c);
	return true;
}

void take_nearest(struct session *s, struct tuned *t)
{
	struct near near[NEAR_MAX] = {0};
	int n = find_near(s, t, near), best_near = 0;
	const struct point *best = NULL;
	const char *why;

	if (!n || !s->opt->cost->predict)
		return;
	struct space *space = space_new(t->in, t->node, s->target, s->opt->cost);
	const struct point *base = space_point(space, 0, &nothing);
	for (int i = 0; i < n && base; i++) {
		size_t first = space->origins.n;
		space_add_record(space, near[i].id, near[i].trace);
		for (size_t k = first; k < space->origins.n; k++) {
			const struct point *p = space_point(space, (int)k, &nothing);
			if (p && p->predicted > 0 && p->predicted < PROMISE * base->predicted &&
			    (!best || p->predicted < best->predicted)) {
				best = p;
				best_near = i;
			}
		}
	}
	struct candidate *c = best ? candidate_new(t->in, t->node, s->target, best->trace, false, &why) : NULL;
	if (c) {
		t->trace = arena_str(&s->arena, c->trace);
		t->from = arena_printf(&s->arena, "record %.10s", near[best_near].id);
		t->why = arena_printf(&s->arena, "not timed: the trace of %s (%.10s), adapted; expected %.2f of the default's time",
				      near[best_near].task, near[best_near].id, best->predicted / base->predicted);
		candidate_free(c);
	}
	space_free(space);
}
