/* Records of the knowledge base as examples. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/intern.h"
#include "target/target.h"
#include "op/task.h"
#include "kb/kb.h"
#include "loop/prim.h"
#include "lower/lower.h"
#include "model/candidate.h"
#include "runner/measurement.h"
#include "tune-model.h"

/* A record that counts: its group, by the symbols of task and target. */
struct timed {
	sym task, target;
	double ratio, seconds;
	const char *trace;
	size_t samples;
	size_t number; /* as it was read */
};
struct reading {
	struct examples *e;
	VEC(struct timed) timed;
};

static int compare_numbers(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

/* Picoseconds of the candidate in "candidate/base candidate/base ..": the median; 0: there are none. *n: how many. */
static double median_of(const char *samples, size_t *n)
{
	VEC(double) all = {0};
	char *end;

	for (const char *s = samples; s && *s; s = strchr(s, ' ')) {
		s += *s == ' ';
		double x = strtod(s, &end);
		if (end == s || *end != '/')
			break;
		vec_push(&all, x);
	}
	if (all.n)
		qsort(all.a, all.n, sizeof *all.a, compare_numbers);
	double median = all.n ? all.a[all.n / 2] : 0;
	*n = all.n;
	vec_free(&all);
	return median;
}

static void take_record(struct reading *r, const struct kb_record *x)
{
	const char *kind = kb_get_field(x, "kind"), *task = kb_get_field(x, "task"), *target = kb_get_field(x, "target"),
		   *verdict = kb_get_field(x, "verdict"), *trace = kb_get_field(x, "trace"), *ratio = kb_get_field(x, "ratio");
	size_t n;
	double is = ratio ? strtod(ratio, NULL) : 0, ps = median_of(kb_get_field(x, "samples"), &n);

	if (!kind || strcmp(kind, "kernel"))
		return;
	r->e->records++;
	if (!task || !target || !verdict || !trace || !verdict_timed(verdict_parse(verdict, strlen(verdict))) || !(is > 0) || isinf(is) ||
	    !(ps > 0)) {
		r->e->passed++;
		return;
	}
	vec_push(&r->timed, (struct timed){intern(task), intern(target), is, 1e-12 * ps, arena_str(&r->e->arena, trace), n, r->timed.n});
}

static void read_text(struct reading *r, const char *name, const char *s, size_t n)
{
	const char *end = s + n, *why = NULL;
	struct arena a = {0};
	struct kb_record x = {0};
	int line = 1;

	while (kb_parse(&s, end, &x, &a, &line, &why)) {
		take_record(r, &x);
		arena_release(&a);
		x = (struct kb_record){0};
	}
	arena_release(&a);
	if (why)
		die(why == kb_newer ? EX_NOTAVAIL : EX_BADDATA, "%s:%d: %s", name, line, why);
}

static void read_file(struct reading *r, const char *path)
{
	enum { CHUNK = 1 << 16 };
	FILE *f = path ? fopen(path, "r") : stdin;
	const char *name = path ? path : "standard input";
	VEC(char) text = {0};
	size_t n;

	if (!f)
		die_errno(EX_NOIN, "%s", name);
	do {
		vec_reserve(&text, text.n + CHUNK);
		text.n += n = fread(text.a + text.n, 1, CHUNK, f);
	} while (n);
	if (ferror(f))
		die_errno(errno == EISDIR ? EX_NOIN : EX_IO, "%s", name);
	if (path)
		fclose(f);
	read_text(r, name, text.a, text.n);
	vec_free(&text);
}

/* By task, target, trace; then by samples: of the same schedule the last counts, which was timed longest. */
static int by_group(const void *x, const void *y)
{
	const struct timed *a = x, *b = y;
	int c = a->task == b->task ? 0 : strcmp(sym_str(a->task), sym_str(b->task));

	c = c ? c : a->target == b->target ? 0 : strcmp(sym_str(a->target), sym_str(b->target));
	c = c ? c : strcmp(a->trace, b->trace);
	c = c ? c : a->samples < b->samples ? -1 : a->samples > b->samples;
	return c ? c : a->number < b->number ? -1 : 1;
}

/* The features of the schedule that the trace makes of the task; false: it makes none any more. */
static bool features_by(struct module *m, const struct target *t, const char *trace, struct features *f)
{
	struct arena a = {0};
	const char *why = NULL;
	struct lowered l = lower_sketch(m, task_node(m), t, trace_algo(trace, &a), &why);

	if (!why)
		why = trace_fit(trace, prog_digest(l.prog)) == TRACE_SEED ? "it is for other stages" : loop_apply(l.prog, trace, false);
	if (!why)
		features_of(l.prog, f);
	if (l.prog)
		prog_free(l.prog);
	arena_release(&a);
	return !why;
}

/* Adds the examples of a group, records [from, to). */
static void add_group(struct reading *r, size_t from, size_t to)
{
	struct examples *e = r->e;
	const struct timed *x = &r->timed.a[from];
	struct arena a = {0};
	struct target t = {0};
	const char *why = "", *usual = NULL;
	struct module *m = target_find(sym_str(x->target), &t) ? task_module(sym_str(x->task), 0, &a, &why) : NULL;
	struct example d = {.group = (int)e->task.n, .usual = true, .ratio = 1};
	VEC(double) base = {0};

	if (m)
		usual = default_trace(m, task_node(m), &t, &a, &why);
	if (usual && features_by(m, &t, usual, &d.f)) {
		for (size_t i = from; i < to; i++)
			vec_push(&base, r->timed.a[i].seconds / r->timed.a[i].ratio);
		qsort(base.a, base.n, sizeof *base.a, compare_numbers);
		d.seconds = base.a[base.n / 2];
		vec_push(&e->first, e->a.n);
		vec_push(&e->a, d);
		vec_push(&e->task, sym_str(x->task));
		vec_push(&e->target, sym_str(x->target));
		for (size_t i = from; i < to; i++) {
			struct example n = {.group = d.group, .ratio = r->timed.a[i].ratio, .seconds = d.seconds * r->timed.a[i].ratio};
			bool again = i + 1 < to && !strcmp(r->timed.a[i].trace, r->timed.a[i + 1].trace);
			if (!again && features_by(m, &t, r->timed.a[i].trace, &n.f))
				vec_push(&e->a, n);
			else
				e->passed++;
		}
	} else {
		e->passed += to - from;
	}
	vec_free(&base);
	if (m)
		module_free(m);
	arena_release(&a);
}

void examples_read(struct examples *e, char **file, int nfile)
{
	struct reading r = {.e = e};

	for (int i = 0; i < nfile || i == 0; i++)
		read_file(&r, nfile ? file[i] : NULL);
	if (r.timed.n)
		qsort(r.timed.a, r.timed.n, sizeof *r.timed.a, by_group);
	for (size_t i = 0, end; i < r.timed.n; i = end) {
		for (end = i + 1;
		     end < r.timed.n && r.timed.a[end].task == r.timed.a[i].task && r.timed.a[end].target == r.timed.a[i].target;)
			end++;
		add_group(&r, i, end);
	}
	vec_free(&r.timed);
}

void examples_free(struct examples *e)
{
	vec_free(&e->a);
	vec_free(&e->first);
	vec_free(&e->task);
	vec_free(&e->target);
	arena_release(&e->arena);
}
