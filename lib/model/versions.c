/* Kernels for one row. A schedule for many rows, or images, keeps sums of several of them at a time; of one it keeps one, and each addition
 * waits for the one before. So where the size of axis 0 is a symbol, a second kernel may be for 1. */
#define _GNU_SOURCE
#include <ctype.h>
#include <string.h>
#include "model/model_impl.h"
#include "lower/sized.h"
#include "sched/analytic.h"

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

/* Are a tenth of the cycles of `slow` more than `fast` takes? */
static bool pays(double fast, double slow) { return fast < 0.9 * slow; }

/* Cycles of the call at usual sizes, but for parameter i, which is 1, if it is not -1. *usual: what it is, else. */
static double cycles(struct model *M, const struct call *c, int i, int64_t *usual)
{
	struct loop_prog *p = M->kernels.a[c->kernel].prog;

	sized_usual(M->m, c->node, p);
	if (i >= 0) {
		*usual = p->params.a[i].value;
		p->params.a[i].value = 1;
	}
	return loop_cycles(p);
}

/* Is the name a word of the line? */
static bool says(const char *line, const char *end, const char *name)
{
	size_t n = strlen(name);

	for (const char *s = line; (s = memmem(s, (size_t)(end - s), name, n)); s += n)
		if (!isalnum(s[-1]) && s[-1] != '.' && !isalnum(s[n]) && s[n] != '.')
			return true;
	return false;
}

/* Of the samples in a trace those that say how a buffer lies: constants are to lie as they do there, so that they are there once. */
static struct samples layouts(const char *trace, struct arena *a)
{
	static const char head[] = "layout ";
	struct samples all = {0}, some = {0};

	trace_samples(trace, a, &all);
	for (size_t i = 0; i < all.n; i++) {
		bool wanted = false;
		for (const char *s = trace, *end; *s && !wanted; s = end + (*end == '\n')) {
			end = s + strcspn(s, "\n");
			wanted = !strncmp(s, head, strlen(head)) && says(s + strlen(head), end, all.a[i].name);
		}
		if (wanted)
			vec_push(&some, all.a[i]);
	}
	vec_free(&all);
	return some;
}

void version_add(struct model *M, const struct target *t, const struct given_traces *traces, struct call *c)
{
	size_t had = M->kernels.n;
	int rows = rows_param(M, c);
	int64_t usual;
	struct call one;
	const char *why;

	if (rows < 0)
		return;
	double many = cycles(M, c, -1, NULL), single = cycles(M, c, rows, &usual);
	struct sized_for sizes = {.some = M->kernels.a[c->kernel].sizes.some, .one = poly_is_var(M->m->dims, c->param[rows])};
	if (!pays(many / (double)usual, single))
		return;
	struct samples want = layouts(M->kernels.a[c->kernel].trace, &M->m->arena);
	bool made = kernel_call(M, c->node, t, traces, sizes, &want, &one, &why);
	vec_free(&want);
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
