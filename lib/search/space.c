/* Space generators: from decisions to a scheduled program and its trace. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/intern.h"
#include "common/textfile.h"
#include "lower/lower.h"
#include "loop/prim.h"
#include "sched/schedule.h"
#include "search/search.h"

enum { ALGORITHMS_MAX = 16 };

struct sample *samples_find(const struct samples *x, const char *name)
{
	for (size_t i = 0; i < x->n; i++)
		if (!strcmp(x->a[i].name, name))
			return &x->a[i];
	return NULL;
}

/* ---- template: what the templates could have written ---- */

static struct loop_prog *lower(struct space *s, const char *algo)
{
	const char *why;
	struct lowered l = lower_sketch(s->m, s->n, s->target, algo, &why);

	return why ? NULL : l.prog;
}

static struct loop_prog *template_make(struct space *s, const struct origin *o, const struct samples *want, struct samples *got,
				       const char **trace)
{
	struct loop_prog *p = lower(s, o->text);
	struct samples all = {0};

	for (size_t i = 0; i < want->n; i++)
		vec_push(&all, want->a[i]);
	for (size_t i = 0; i < o->at.n; i++)
		if (!samples_find(want, o->at.a[i].name))
			vec_push(&all, o->at.a[i]);
	if (p)
		*trace = schedule_with(p, &all, got);
	vec_free(&all);
	return p;
}

/* ---- records: traces that were good before ---- */

static struct loop_prog *record_make(struct space *s, const struct origin *o, const struct samples *want, struct samples *got,
				     const char **trace)
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
	if (loop_adapt(p, *trace, trace)) {
		prog_free(p);
		return NULL;
	}
	trace_samples(*trace, &p->arena, got);
	size_t n = 0;
	for (size_t i = 0; i < got->n; i++)
		if (got->a[i].bound)
			got->a[n++] = got->a[i];
	got->n = n;
	return p;
}

enum { TEMPLATE, RECORDS };
const struct generator generators[] = {
	[TEMPLATE] = {"template", "the templates with other decisions, for each algorithm", template_make},
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
	s->cost_arg = cost && cost->of_task ? cost->of_task(s) : cost ? cost->arg : NULL;
	vec_push(&s->origins, (struct origin){.by = &generators[TEMPLATE], .name = "default"});
	struct loop_prog *p = lower(s, NULL);
	int count = p ? group_algorithms(m, n, t, algorithm, ALGORITHMS_MAX) : 0;
	for (int i = 0; i < count; i++)
		if (strcmp(algorithm[i], p->algo))
			vec_push(&s->origins, (struct origin){.by = &generators[TEMPLATE],
							      .name = arena_printf(&s->arena, "algo %s", algorithm[i]),
							      .text = arena_str(&s->arena, algorithm[i])});
	if (p)
		prog_free(p);
	return s;
}

void space_add_record(struct space *s, const char *name, const char *trace)
{
	struct origin as = {
		.by = &generators[TEMPLATE], .name = arena_printf(&s->arena, "as record %s", name), .text = trace_algo(trace, &s->arena)};
	struct origin is = {
		.by = &generators[RECORDS], .name = arena_printf(&s->arena, "record %s", name), .text = arena_str(&s->arena, trace)};

	trace_samples(trace, &s->arena, &as.at);
	vec_push(&s->origins, as);
	vec_push(&s->origins, is);
}

void space_add_built(struct space *s, const char *name, const char *trace)
{
	size_t had = s->origins.n;

	space_add_record(s, name, trace);
	for (size_t at = 1; had < s->origins.n; at++, had++) {
		struct origin o = s->origins.a[had];
		memmove(s->origins.a + at + 1, s->origins.a + at, (had - at) * sizeof o);
		s->origins.a[at] = o;
	}
}

void space_free(struct space *s)
{
	for (size_t i = 0; i < s->origins.n; i++)
		vec_free(&s->origins.a[i].at);
	vec_free(&s->origins);
	vec_free(&s->predicted);
	map_free(&s->predicted_at);
	arena_release(&s->arena);
	free(s);
}

/* "default: rows=7 vectors=2": the decisions that differ from their default. */
static const char *describe(struct space *s, const struct origin *o, const struct samples *at)
{
	char *text;
	size_t n = 0;
	FILE *f = textfile_open(&text, NULL);

	fputs(o->name, f);
	for (size_t i = 0; i < at->n; i++) {
		const struct sample *x = &at->a[i];
		if (x->decision == x->usual)
			continue;
		fprintf(f, "%s %s=", n++ ? "" : ":", x->name);
		if (x->word)
			fputs(x->word[x->decision], f);
		else
			fprintf(f, "%lld", (long long)x->decision);
	}
	textfile_close(f);
	const char *copy = arena_str(&s->arena, text);
	free(text);
	return copy;
}

/* The trace without the lines that start with #. */
static const char *without_comments(const char *trace)
{
	while (*trace == '#')
		trace += strcspn(trace, "\n") + (trace[strcspn(trace, "\n")] != 0);
	return trace;
}

/* Predicts the time of the program that the trace makes; other decisions often lead to a trace that is known. */
static double predict(struct space *s, sym trace, struct loop_prog *p)
{
	uint32_t known = map_get(&s->predicted_at, trace + 1);

	if (known)
		return s->predicted.a[known - 1];
	vec_push(&s->predicted, s->cost->predict(p, s->cost_arg));
	map_set(&s->predicted_at, trace + 1, (uint32_t)s->predicted.n);
	return s->predicted.a[s->predicted.n - 1];
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
	x->number = s->points++;
	x->origin = origin;
	sym is = intern(without_comments(trace));
	x->trace = sym_str(is);
	x->at.n = got.n;
	x->at.a = arena_copy(&s->arena, got.a, got.n * sizeof *got.a);
	samples_keep(&x->at, &s->arena);
	x->from = describe(s, o, &x->at);
	if (s->cost && s->cost->predict)
		x->predicted = predict(s, is, p);
	vec_free(&got);
	prog_free(p);
	return x;
}
