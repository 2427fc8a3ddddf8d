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

/* A record that counts: its group, by the symbols of task, target and base. */
struct timed {
	sym task, target, base; /* base: of its ratio, as records name it; 0: an old record, to the default schedule */
	double ratio, seconds;
	const char *trace;
	size_t samples;
	size_t number; /* as it was read */
};
/* A schedule that ratios are to: a record of kind "default". */
struct reference {
	sym task, target;
	const char *trace;
};
struct reading {
	struct examples *e;
	VEC(struct timed) timed;
	VEC(struct reference) reference;
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
		   *verdict = kb_get_field(x, "verdict"), *trace = kb_get_field(x, "trace"), *ratio = kb_get_field(x, "ratio"),
		   *base = kb_get_field(x, "base");
	size_t n;
	double is = ratio ? strtod(ratio, NULL) : 0, ps = median_of(kb_get_field(x, "samples"), &n);

	if (kind && !strcmp(kind, "default") && task && target && trace)
		vec_push(&r->reference, (struct reference){intern(task), intern(target), arena_str(&r->e->arena, trace)});
	if (!kind || strcmp(kind, "kernel"))
		return;
	r->e->records++;
	if (!task || !target || !verdict || !trace || !verdict_timed(verdict_parse(verdict, strlen(verdict))) || !(is > 0) || isinf(is) ||
	    !(ps > 0)) {
		r->e->passed++;
		return;
	}
	vec_push(&r->timed, (struct timed){.task = intern(task),
					   .target = intern(target),
					   .base = base ? intern(base) : 0,
					   .ratio = is,
					   .seconds = 1e-12 * ps,
					   .trace = arena_str(&r->e->arena, trace),
					   .samples = n,
					   .number = r->timed.n});
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

static int compare_syms(sym a, sym b) { return a == b ? 0 : !a ? -1 : !b ? 1 : strcmp(sym_str(a), sym_str(b)); }

static bool same_group(const struct timed *a, const struct timed *b)
{
	return a->task == b->task && a->target == b->target && a->base == b->base;
}

/* By task, target, base, trace; then by samples: of the same schedule the last counts, which was timed longest. */
static int by_group(const void *x, const void *y)
{
	const struct timed *a = x, *b = y;
	int c = compare_syms(a->task, b->task);

	c = c ? c : compare_syms(a->target, b->target);
	c = c ? c : compare_syms(a->base, b->base);
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

static bool is_base(const struct timed *x, const char *trace)
{
	struct kb_base b = kb_base_of(trace);

	return !strcmp(sym_str(x->base), b.digest) || !strcmp(sym_str(x->base), b.stamped);
}

/* The schedule that ratios of the group's records [from, to) are to: the default of this program, or the recorded one of another; else the
 * record that takes about as long as it. *times: how many times as long. */
static const char *reference_of(const struct reading *r, size_t from, size_t to, const char *usual, double *times)
{
	const struct timed *x = &r->timed.a[from], *near = x;

	*times = 1;
	if (!x->base || (usual && is_base(x, usual)))
		return usual;
	for (size_t i = 0; i < r->reference.n; i++)
		if (r->reference.a[i].task == x->task && r->reference.a[i].target == x->target && is_base(x, r->reference.a[i].trace))
			return r->reference.a[i].trace;
	for (; x < r->timed.a + to; x++)
		near = fabs(log(x->ratio)) < fabs(log(near->ratio)) ? x : near;
	*times = near->ratio;
	return near->trace;
}

/* Adds the examples of a group, records [from, to). */
static void add_group(struct reading *r, size_t from, size_t to)
{
	struct examples *e = r->e;
	const struct timed *x = &r->timed.a[from];
	struct arena a = {0};
	struct target t = {0};
	const char *why = "";
	struct module *m = target_find(sym_str(x->target), &t) ? task_module(sym_str(x->task), 0, &a, &why) : NULL;
	struct example d = {.group = (int)e->task.n, .usual = true, .ratio = 1};
	VEC(double) base = {0};
	double times = 1;
	const char *usual = m ? reference_of(r, from, to, default_trace(m, task_node(m), &t, &a, &why), &times) : NULL;

	if (usual && features_by(m, &t, usual, &d.f)) {
		for (size_t i = from; i < to; i++)
			vec_push(&base, times * r->timed.a[i].seconds / r->timed.a[i].ratio);
		qsort(base.a, base.n, sizeof *base.a, compare_numbers);
		d.seconds = base.a[base.n / 2];
		vec_push(&e->first, e->a.n);
		vec_push(&e->a, d);
		vec_push(&e->task, sym_str(x->task));
		vec_push(&e->target, sym_str(x->target));
		for (size_t i = from; i < to; i++) {
			double ratio = r->timed.a[i].ratio / times;
			struct example n = {.group = d.group, .ratio = ratio, .seconds = d.seconds * ratio};
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

/* Reads records and orders them by group. */
static void read_all(struct reading *r, char **file, int nfile)
{
	for (int i = 0; i < nfile || i == 0; i++)
		read_file(r, nfile ? file[i] : NULL);
	if (r->timed.n)
		qsort(r->timed.a, r->timed.n, sizeof *r->timed.a, by_group);
}

static size_t group_end(const struct reading *r, size_t from)
{
	size_t end = from + 1;

	while (end < r->timed.n && same_group(&r->timed.a[end], &r->timed.a[from]))
		end++;
	return end;
}

static void add_groups(struct reading *r)
{
	for (size_t i = 0, end; i < r->timed.n; i = end) {
		end = group_end(r, i);
		add_group(r, i, end);
	}
	vec_free(&r->timed);
	vec_free(&r->reference);
}

void examples_read(struct examples *e, char **file, int nfile)
{
	struct reading r = {.e = e};

	read_all(&r, file, nfile);
	add_groups(&r);
}

void examples_take(struct examples *e, const struct kb_list *l, const char *target)
{
	struct reading r = {.e = e};

	for (size_t i = 0; i < l->n; i++) {
		const char *of = kb_get_field(&l->a[i], "target");
		if (of && !kb_compare_targets(of, target))
			take_record(&r, &l->a[i]);
	}
	if (r.timed.n)
		qsort(r.timed.a, r.timed.n, sizeof *r.timed.a, by_group);
	add_groups(&r);
}

/* A record of kind "default", if the default schedule of this program is what ratios of the group are to. */
static bool write_default(const struct timed *x, FILE *f)
{
	struct arena a = {0};
	struct target t = {0};
	struct kb_record record = {0};
	const char *why;
	struct module *m = target_find(sym_str(x->target), &t) ? task_module(sym_str(x->task), 0, &a, &why) : NULL;
	const char *usual = m && x->base ? default_trace(m, task_node(m), &t, &a, &why) : NULL;
	bool is = usual && is_base(x, usual);

	if (is) {
		kb_set_field(&record, "kind", "default", &a);
		kb_set_field(&record, "task", sym_str(x->task), &a);
		kb_set_field(&record, "target", sym_str(x->target), &a);
		kb_set_field(&record, "trace", usual, &a);
		fputs(kb_text(&record, &a), f);
	}
	if (m)
		module_free(m);
	arena_release(&a);
	return is;
}

size_t defaults_write(struct examples *e, char **file, int nfile, size_t *without, FILE *f)
{
	struct reading r = {.e = e};
	size_t n = 0;

	*without = 0;
	read_all(&r, file, nfile);
	fputs(KB_TEXT "\n", f);
	for (size_t i = 0; i < r.timed.n; i = group_end(&r, i)) {
		bool is = write_default(&r.timed.a[i], f);
		n += is;
		*without += !is;
	}
	vec_free(&r.timed);
	vec_free(&r.reference);
	return n;
}

void examples_free(struct examples *e)
{
	vec_free(&e->a);
	vec_free(&e->first);
	vec_free(&e->task);
	vec_free(&e->target);
	arena_release(&e->arena);
}
