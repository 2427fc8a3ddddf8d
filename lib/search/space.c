/* Space generators: from decisions to a scheduled program and its trace. */
#include <stdlib.h>
#include <string.h>
#include "loop/lower.h"
#include "loop/prim.h"
#include "search/search.h"

enum { ALGORITHMS_MAX = 16 };

/* ---- template: what the rule could have done ---- */

static struct loop_prog *lower(struct space *s, const char *algo)
{
	const char *why;
	struct lowered l = lower_group(s->m, s->n, s->target, algo, &why);

	return why ? NULL : l.prog;
}

static struct loop_prog *template_make(struct space *s, const struct origin *o, const struct samples *want, struct samples *got, const char **trace)
{
	struct loop_prog *p = lower(s, o->text);

	if (p)
		*trace = rule_with(p, want, got);
	return p;
}

/* ---- records: traces that were good before ---- */

static struct loop_prog *record_make(struct space *s, const struct origin *o, const struct samples *want, struct samples *got, const char **trace)
{
	struct loop_prog *p = lower(s, trace_algo(o->text, &s->arena));

	if (!p)
		return NULL;
	*trace = o->text;
	for (size_t i = 0; i < want->n; i++) {
		const char *changed = trace_decide(*trace, want->a[i].name, want->a[i].decision, &p->arena);
		if (changed)
			*trace = changed;
	}
	if (loop_apply(p, *trace, true)) {
		prog_free(p);
		return NULL;
	}
	trace_samples(*trace, &p->arena, got);
	return p;
}

enum { TEMPLATE, RECORDS };
const struct generator generators[] = {
	[TEMPLATE] = {"template", "the rule's templates with other decisions, for each algorithm", template_make},
	[RECORDS] = {"records", "recorded traces of the task and of near ones, with decisions changed", record_make},
	{0},
};

const struct generator *generator_find(const char *name)
{
	for (const struct generator *g = generators; g->name; g++)
		if (!strcmp(g->name, name))
			return g;
	return NULL;
}

/* ---- spaces ---- */

struct space *space_new(struct module *m, node_id n, const struct target *t, const struct cost_model *cost)
{
	struct space *s = xcalloc(1, sizeof *s);
	const char *algorithm[ALGORITHMS_MAX];

	s->m = m;
	s->n = n;
	s->target = t;
	s->cost = cost;
	vec_push(&s->origins, (struct origin){&generators[TEMPLATE], "rule", NULL});
	struct loop_prog *p = lower(s, NULL);
	int count = p ? group_algorithms(m, n, t, algorithm, ALGORITHMS_MAX) : 0;
	for (int i = 0; i < count; i++)
		if (strcmp(algorithm[i], p->algo))
			vec_push(&s->origins, (struct origin){&generators[TEMPLATE], arena_printf(&s->arena, "algo %s", algorithm[i]),
							      arena_str(&s->arena, algorithm[i])});
	if (p)
		prog_free(p);
	return s;
}

void space_add_record(struct space *s, const char *name, const char *trace)
{
	vec_push(&s->origins, (struct origin){&generators[RECORDS], arena_printf(&s->arena, "record %s", name), arena_str(&s->arena, trace)});
}

void space_free(struct space *s)
{
	vec_free(&s->origins);
	arena_release(&s->arena);
	free(s);
}

/* "rule: rows=7 vectors=2": the decisions that are not the usual ones. */
static const char *describe(struct space *s, const struct origin *o, const struct samples *at)
{
	const char *text = o->name;

	for (size_t i = 0, n = 0; i < at->n; i++)
		if (at->a[i].decision != at->a[i].usual)
			text = arena_printf(&s->arena, "%s%s %s=%lld", text, n++ ? "" : ":", at->a[i].name, (long long)at->a[i].decision);
	return text;
}

/* Lines that start with # say what a trace is for, not what it does. */
static const char *without_comments(struct arena *a, const char *trace)
{
	while (*trace == '#')
		trace += strcspn(trace, "\n") + (trace[strcspn(trace, "\n")] != 0);
	return arena_str(a, trace);
}

struct point *space_point(struct space *s, int origin, const struct samples *want)
{
	const struct origin *o = &s->origins.a[origin];
	const char *trace = NULL;
	struct samples got = {0};
	struct loop_prog *p = o->by->make(s, o, want, &got, &trace);

	if (!p)
		return NULL;
	struct point *x = ARENA_NEW(&s->arena, struct point);
	x->origin = origin;
	x->trace = without_comments(&s->arena, trace);
	x->at.n = got.n;
	x->at.a = arena_copy(&s->arena, got.a, got.n * sizeof *got.a);
	for (size_t i = 0; i < got.n; i++)
		x->at.a[i].name = arena_str(&s->arena, got.a[i].name);
	x->from = describe(s, o, &x->at);
	if (s->cost && s->cost->predict)
		x->predicted = s->cost->predict(p);
	vec_free(&got);
	prog_free(p);
	return x;
}
