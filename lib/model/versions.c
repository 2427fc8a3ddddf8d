/* Kernels for some sizes beside the one for all. A schedule for many rows, or images, keeps sums of several of them at a time; of one it keeps
 * one, and each addition waits for the one before. So where the size of axis 0 is a symbol, a second kernel may be for 1; and gears name sizes. */
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
#include "sched/version.h"

#define LAYOUT "layout "

/* The first axis of v that is not 1; -1: there is none. */
static int first_axis(struct module *m, val_id v)
{
	const struct type *t = &val(m, v)->type;
	int64_t size;
	int d = 0;

	while (d < t->rank && poly_is_const(m->dims, t->dims[d], &size) && size == 1)
		d++;
	return d < t->rank ? d : -1;
}

/* The symbol that the size of an axis is; 0: it is none. */
static poly_var symbol_of(struct module *m, val_id v, int axis)
{
	dim d = val(m, v)->type.dims[axis];

	return d != POLY_UNKNOWN ? poly_is_var(m->dims, d) : 0;
}

/* May a run have this size, and others? */
static bool may_be(const struct polys *P, poly_var v, int64_t size)
{
	int64_t lo, hi;

	poly_var_range(P, v, &lo, &hi);
	return size > 0 && lo <= size && hi >= size && lo < hi && size % poly_var_divisor(P, v) == 0;
}

/* Is a parameter of the call this symbol? */
static bool has_param(const struct model *M, const struct call *c, poly_var v)
{
	for (int i = 0; i < c->nparam; i++)
		if (poly_is_var(M->m->dims, c->param[i]) == v)
			return true;
	return false;
}

/* The call at usual sizes, except for those in x. *usual (may be NULL): the product of what these are, else. */
static struct version_time counted(struct model *M, const struct call *c, const struct sizes_fixed *x, double *usual)
{
	const struct kernel *k = &M->kernels.a[c->kernel];
	struct loop_prog *p = k->prog;

	if (k->bare) /* another group, of these sizes, has the same */
		return k->counted;
	sized_usual(M->m, c->node, p);
	for (int i = 0; i < c->nparam; i++)
		for (int j = 0; j < x->n; j++) {
			if (poly_is_var(M->m->dims, c->param[i]) != x->var[j])
				continue;
			if (usual)
				*usual *= (double)p->params.a[i].value;
			p->params.a[i].value = x->size[j];
		}
	return version_counted(p);
}

struct version_time call_counted(struct model *M, const struct call *c)
{
	static const struct sizes_fixed none;

	return counted(M, c, &none, NULL);
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

/* ---- which sizes ---- */

/* Symbols of call c that may have a kernel of their own where they are 1: the first axis of a value that is not 1, and the one after it. */
static int row_symbols(const struct model *M, const struct call *c, poly_var rows[2])
{
	const struct node *n = node(M->m, c->node);

	for (uint32_t k = 0; k < n->nout + n->nin; k++) {
		val_id v = k < n->nout ? n->out[k] : n->in[k - n->nout];
		int axis = v ? first_axis(M->m, v) : -1, found = 0;
		while (axis >= 0 && axis < val(M->m, v)->type.rank && found < 2 && (rows[found] = symbol_of(M->m, v, axis)) &&
		       may_be(M->m->dims, rows[found], 1) && has_param(M, c, rows[found])) {
			axis++;
			found++;
		}
		if (found)
			return found;
	}
	return 0;
}

/* The sizes of gear number k that the call takes. False: there is no such gear. */
static bool gear_sizes(const struct model *M, const struct call *c, int k, struct sizes_fixed *x)
{
	bool there = false;

	x->n = 0;
	for (size_t i = 0; i < M->m->meta.n; i++) {
		const char *key = sym_str(M->m->meta.a[i].key), *list = sym_str(M->m->meta.a[i].value);
		char *end = (char *)list;
		long long size = 0;
		if (strncmp(key, GEARS_OPEN, strlen(GEARS_OPEN)))
			continue;
		for (int j = 0; j <= k; j++) {
			const char *at = end;
			size = strtoll(at, &end, 10);
			if (end == at)
				return false;
		}
		there = true;
		for (int p = 0; p < c->nparam && x->n < FIXED_MAX; p++) {
			poly_var v = poly_is_var(M->m->dims, c->param[p]);
			if (v && may_be(M->m->dims, v, size) && !strcmp(sym_str(poly_var_name(M->m->dims, v)), key + strlen(GEARS_OPEN))) {
				x->var[x->n] = v;
				x->size[x->n++] = size;
			}
		}
	}
	return there;
}

/* ---- kernels for them ---- */

static bool has_size(const struct sizes_fixed *x, poly_var v, int64_t size)
{
	for (int i = 0; i < x->n; i++)
		if (x->var[i] == v && x->size[i] == size)
			return true;
	return false;
}

static bool within(const struct sizes_fixed *some, const struct sizes_fixed *all)
{
	for (int i = 0; i < some->n; i++)
		if (!has_size(all, some->var[i], some->size[i]))
			return false;
	return true;
}

/* The version of c, or c itself, that runs where these are the sizes. */
static const struct call *chosen(const struct call *c, const struct sizes_fixed *x)
{
	const struct call *v = c->version;

	while (v && !within(&v->when, x))
		v = v->version;
	return v ? v : c;
}

/* Versions for more sizes come first: a run takes the first that fits. */
static void insert(struct model *M, struct call *c, const struct call *version)
{
	struct call *new = arena_copy(&M->m->arena, version, sizeof *version), *at = c;

	while (at->version && at->version->when.n >= new->when.n)
		at = at->version;
	new->version = at->version;
	at->version = new;
}

/* Gives c a kernel for these sizes, if that takes clearly less time than what would run there. It is not tried where that takes about as long
 * for each element as at usual sizes. */
static void add_for(struct model *M, const struct target *t, const struct given_traces *traces, struct call *c, const struct sizes_fixed *x)
{
	const struct call *as = chosen(c, x);
	size_t had = M->kernels.n;
	struct version_time many = call_counted(M, c), now;
	double usual = 1, size = 1;
	struct sized_for sizes = {.some = M->kernels.a[c->kernel].sizes.some, .fixed = *x};
	struct call made;
	const char *why;

	if (as != c && as->when.n == x->n)
		return;
	counted(M, c, x, &usual);
	now = counted(M, as, x, NULL);
	for (int i = 0; i < x->n; i++)
		size *= (double)x->size[i];
	if (!version_may_pay(many, size / usual, now))
		return;
	const struct kernel *k = &M->kernels.a[c->kernel];
	const char *trace = kernel_trace(M, c->node, t, sizes);
	if (!trace || !kernel_call(M, c->node, t, traces, sizes, lie_alike(trace, k->trace, k->prog, &M->m->arena), &made, &why))
		return;
	made.when = *x;
	if (version_pays(call_counted(M, &made), now)) {
		insert(M, c, &made);
		return;
	}
	while (M->kernels.n > had)
		kernel_drop(M);
}

/* A model that keeps states runs step by step: of all its sizes one row is the likeliest. */
void versions_add(struct model *M, const struct target *t, const struct given_traces *traces, struct call *c)
{
	struct sizes_fixed x = {.size = {1, 1}};
	int rows = row_symbols(M, c, x.var);

	for (x.n = 1; x.n <= rows && (x.n == 1 || M->states.n); x.n++)
		add_for(M, t, traces, c, &x);
	for (int k = 0; gear_sizes(M, c, k, &x); k++)
		if (x.n)
			add_for(M, t, traces, c, &x);
}
