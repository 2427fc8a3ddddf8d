/* Beginning a task: its default, what its trials need, its search. */
#include <math.h>
#include <string.h>
#include "common/msg.h"
#include "target/target.h"
#include "op/task.h"
#include "search/choose.h"
#include "tune/session.h"

enum { MET_MAX = 2 }; /* origins from other tasks at a time */

struct digest source_digest(const struct candidate *c) { return digest_bytes(c->source, c->nsource); }

bool find_default(struct session *s, struct tuned *t, struct module *m, node_id n)
{
	const char *why, *trace = default_trace(m, n, s->target, &t->arena, &why);

	if (!trace) {
		t->untunable = arena_str(&t->arena, why);
		return false;
	}
	t->ratios_to = kb_base_of(trace);
	return true;
}

bool prepare(struct session *s, struct tuned *t)
{
	const char *why;

	t->m = task_module(t->text, 0, &t->arena, &why);
	if (!t->m)
		BUG("task %s: %s", t->text, why);
	t->n = task_node(t->m);
	struct candidate *c = candidate_new(t->m, t->n, s->target, NULL, false, &why);
	if (!c) {
		t->untunable = why;
		return false;
	}
	t->base = (struct task_base){t->text, t->digest, c, source_digest(c), NULL};
	return true;
}

uint64_t seed_of(const struct session *s, const struct tuned *t) { return s->opt->seed ^ t->digest.lo; }

/* A build's schedule comes first of all that is tried: a search never ends with less. */
static void add_built(struct session *s, struct tuned *t)
{
	const struct trees *model = cost_models_learned(s->target);
	struct chosen c = {.trace = t->given};

	if (!c.trace)
		c = schedule_choose(t->m, t->n, s->target, model, SCHEDULES_LOOKED_AT, &t->arena);
	if (c.trace)
		space_add_built(t->space, t->given ? "given" : "by the model", c.trace);
}

void begin(struct session *s, struct tuned *t)
{
	double start = now_seconds();

	if (!prepare(s, t)) {
		t->phase = PHASE_DONE;
		return;
	}
	t->space = space_new(t->m, t->n, s->target, s->opt->cost);
	add_built(s, t);
	add_recorded_origins(s, t);
	t->search = search_new(t->space, s->opt->strategy, seed_of(s, t));
	for (int i = 0; i < s->ntask; i++)
		if (s->task[i].search && &s->task[i] != t)
			search_relate(t->search, s->task[i].search, task_distance_first(t->text, s->task[i].text));
	t->phase = PHASE_SEARCH;
	s->ledger.search += now_seconds() - start;
}

void meet(struct session *s, struct tuned *t)
{
	for (int k = 0; k < MET_MAX; k++) {
		const struct tuned *best = NULL;
		double distance = INFINITY;
		for (int i = 0; i < s->ntask; i++) {
			const struct tuned *o = &s->task[i];
			bool met = o == t || !o->champion;
			for (size_t j = 0; j < t->met.n && !met; j++)
				met = t->met.a[j] == o;
			double d = met ? INFINITY : task_distance(t->text, o->text);
			if (d < distance) {
				best = o;
				distance = d;
			}
		}
		if (!best)
			return;
		vec_push(&t->met, best);
		space_add_record(t->space, arena_printf(&t->arena, "of %.80s", best->title), best->champion->trace);
	}
}
