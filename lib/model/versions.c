/* Kernels for one row. A schedule for many rows, or images, keeps sums of several of them at a time; of one it keeps one, and each addition
 * waits for the one before. So where the size of axis 0 is a symbol, a second kernel may be for 1. */
#define _GNU_SOURCE
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/textfile.h"
#include "model/model_impl.h"
#include "loop/sampling.h"
#include "lower/sized.h"
#include "sched/analytic.h"

#define LAYOUT "layout "

/* The first axis of v that is not 1 is this symbol; 0: it is none. */
static poly_var rows_of(struct module *m, val_id v)
{
	const struct type *t = &val(m, v)->type;
	int64_t size;
	int d = 0;

	while (d < t->rank && poly_is_const(m->dims, t->dims[d], &size) && size == 1)
		d++;
	return d < t->rank && t->dims[d] != POLY_UNKNOWN ? poly_is_var(m->dims, t->dims[d]) : 0;
}

static bool may_be_one(const struct polys *P, poly_var v)
{
	int64_t lo, hi;

	poly_var_range(P, v, &lo, &hi);
	return lo <= 1 && hi > 1 && poly_var_divisor(P, v) == 1;
}

/* The number of the call's parameter that counts rows and may be 1; -1: there is none. */
static int rows_param(const struct model *M, const struct call *c)
{
	const struct node *n = node(M->m, c->node);

	for (uint32_t k = 0; k < n->nout + n->nin; k++) {
		val_id v = k < n->nout ? n->out[k] : n->in[k - n->nout];
		poly_var rows = v ? rows_of(M->m, v) : 0;
		for (int i = 0; i < c->nparam && rows; i++)
			if (poly_is_var(M->m->dims, c->param[i]) == rows && may_be_one(M->m->dims, rows))
				return i;
	}
	return -1;
}

/* Is `fast` a tenth less than `slow`, or better? A second kernel is more code and a longer build, so a smaller gain is left. */
static bool pays(double fast, double slow) { return fast < 0.9 * slow; }

/* Cycles of the call at usual sizes, but for parameter i, which is 1, if it is not -1. *usual: what it is, else. */
static double cycles(struct model *M, const struct call *c, int i, int64_t *usual)
{
	const struct kernel *k = &M->kernels.a[c->kernel];
	struct loop_prog *p = k->prog;

	if (k->bare) /* another group, of these sizes, has the same */
		return k->cycles;
	sized_usual(M->m, c->node, p);
	if (i >= 0) {
		*usual = p->params.a[i].value;
		p->params.a[i].value = 1;
	}
	return loop_cycles(p);
}

/* ---- constants that are there once ---- */

static const char *next_line(const char *s)
{
	s += strcspn(s, "\n");
	return *s ? s + 1 : s;
}

/* The line of the trace that says how the buffer lies, whose name has n letters; NULL: none does. */
static const char *layout_line(const char *trace, const char *name, size_t n)
{
	for (; *trace; trace = next_line(trace))
		if (!strncmp(trace, LAYOUT, strlen(LAYOUT)) && !strncmp(trace + strlen(LAYOUT), name, n) &&
		    trace[strlen(LAYOUT) + n] == ' ')
			return trace;
	return NULL;
}

static bool is_constant(struct loop_prog *p, const char *name, size_t n)
{
	buf_id b = buf_find(p, arena_printf(&p->arena, "%.*s", (int)n, name));

	return b && lbuf(p, b)->scope == SCOPE_CONST;
}

/* Writes a line of the trace, from s on, with what its samples were decided to be. */
static void put_decided(FILE *f, const char *trace, const char *s)
{
	struct arena a = {0};
	struct samples known = {0};
	const char *end = next_line(s);

	trace_samples(arena_printf(&a, "%.*s", (int)(s - trace), trace), &a, &known);
	while (s < end) {
		size_t n = 0, i = known.n;
		while (s + n < end && (isalnum(s[n]) || s[n] == '_' || s[n] == '.'))
			n++;
		while (i-- > 0 && (strncmp(known.a[i].name, s, n) || known.a[i].name[n] || known.a[i].word))
			;
		if (n && i < known.n)
			fprintf(f, "%" PRId64, known.a[i].decision);
		else
			fwrite(s, 1, n ? n : 1, f);
		s += n ? n : 1;
	}
	vec_free(&known);
	arena_release(&a);
}

/* The group of the last part of a line of decided numbers "layout NAME .. D/G .. D%G" that also has the part D/G; 0: there is none. *axis: D. */
static int64_t group_of(const char *line, int *axis)
{
	const char *last = line + strcspn(line, "\n");
	long long group;
	char part[48];

	while (last > line && last[-1] != ' ')
		last--;
	if (sscanf(last, "%d%%%lld", axis, &group) != 2)
		return 0;
	snprintf(part, sizeof part, " %d/%lld ", *axis, group);
	const char *there = strstr(line, part);
	return there && there < last ? group : 0;
}

/* Writes the parts of a layout, `axis` in groups that are innermost: words of the other kernel, of which this one reads the parts. */
static void put_grouped(FILE *f, const char *parts, int axis, int64_t group)
{
	char whole[24];
	int n = snprintf(whole, sizeof whole, " %d", axis);
	size_t end = strcspn(parts, "\n");

	for (size_t i = 0; i < end; i++) {
		fputc(parts[i], f);
		if (i + 1 >= (size_t)n && !strncmp(parts + i + 1 - n, whole, (size_t)n) && strchr(" \n", parts[i + 1]))
			fprintf(f, "/%" PRId64, group);
	}
	fprintf(f, "%s%%%" PRId64 "\n", whole, group);
}

/* The line s of a trace with its decided numbers, in memory of a. */
static const char *decided(const char *trace, const char *s, struct arena *a)
{
	char *text;
	FILE *f = textfile_open(&text, NULL);

	put_decided(f, trace, s);
	textfile_close(f);
	const char *kept = arena_str(a, text);
	free(text);
	return kept;
}

/* The trace with the constants of p where they lie by the trace `like`. */
static const char *lie_alike(const char *trace, const char *like, struct loop_prog *p, struct arena *a)
{
	char *text;
	FILE *f = textfile_open(&text, NULL);

	for (const char *s = trace, *end; *s; s = end) {
		const char *name = s + strlen(LAYOUT), *line = NULL;
		end = next_line(s);
		if (!strncmp(s, LAYOUT, strlen(LAYOUT)) && is_constant(p, name, strcspn(name, " ")))
			line = layout_line(like, name, strcspn(name, " "));
		if (line) {
			size_t head = strlen(LAYOUT) + strcspn(name, " ");
			const char *laid = decided(like, line, a);
			int axis, same;
			int64_t group = group_of(decided(trace, s, a), &axis), other = group_of(laid, &same);
			fwrite(line, 1, head, f);
			if (group && !other)
				put_grouped(f, laid + head, axis, group);
			else
				fputs(laid + head, f);
		} else {
			fwrite(s, 1, (size_t)(end - s), f);
		}
	}
	textfile_close(f);
	const char *kept = arena_str(a, text);
	free(text);
	return kept;
}

/* ---- the second kernel ---- */

void version_add(struct model *M, const struct target *t, const struct given_traces *traces, struct call *c)
{
	size_t had = M->kernels.n;
	int rows = rows_param(M, c);
	int64_t usual = 1;
	struct call one;
	const char *why;

	if (rows < 0)
		return;
	double many = cycles(M, c, -1, NULL), single = cycles(M, c, rows, &usual);
	struct sized_for sizes = {.some = M->kernels.a[c->kernel].sizes.some, .one = poly_is_var(M->m->dims, c->param[rows])};
	if (!pays(many / (double)usual, single))
		return;
	const struct kernel *k = &M->kernels.a[c->kernel];
	const char *trace = kernel_trace(M, c->node, t, sizes);
	bool made = trace && kernel_call(M, c->node, t, traces, sizes, lie_alike(trace, k->trace, k->prog, &M->m->arena), &one, &why);
	if (!made)
		return;
	if (pays(cycles(M, &one, -1, NULL), single)) {
		c->only = poly_is_var(M->m->dims, c->param[rows]);
		c->one = arena_copy(&M->m->arena, &one, sizeof one);
		return;
	}
	while (M->kernels.n > had)
		kernel_drop(M);
}
