#include "open.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "common/facts.h"
#include "common/msg.h"
#include "common/shown.h"
#include "graph/symbols.h"
#include "op/op.h"

static const char *join(struct arena *a, const char *list, const char *more)
{
	return arena_printf(a, "%s%s%s", list, *list ? ", " : "", more);
}

/* ---- sizes ---- */

/* "batch 1 or more", "seq 8 to 512, a multiple of 8". */
static const char *range_text(struct module *m, poly_var v)
{
	struct arena *a = &m->arena;
	int64_t lo, hi, step = poly_var_divisor(m->dims, v);

	poly_var_range(m->dims, v, &lo, &hi);
	const char *s = arena_printf(a, "%s %" PRId64, poly_str(m->dims, poly_of(m->dims, v), a), lo);
	s = hi == POLY_INF ? arena_printf(a, "%s or more", s) : arena_printf(a, "%s to %" PRId64, s, hi);
	return step > 1 ? arena_printf(a, "%s by %" PRId64, s, step) : s;
}

static void report_ranges(struct module *m, struct symbols *of_inputs)
{
	struct symbols all = {0};
	const char *list = "";
	size_t found = 0, bounded = 0;
	int64_t lo, hi;

	for (size_t i = 0; i < of_inputs->list.n; i++)
		list = join(&m->arena, list, range_text(m, of_inputs->list.a[i]));
	symbols_mark_module(&all, m);
	for (size_t i = 0; i < all.list.n; i++) {
		if (of_inputs->used && of_inputs->used[all.list.a[i]])
			continue;
		poly_var_range(m->dims, all.list.a[i], &lo, &hi);
		found++;
		bounded += hi != POLY_INF;
	}
	symbols_free(&all);
	if (found)
		list = join(
			&m->arena, list,
			bounded ? arena_printf(&m->arena, "and %zu that only a run finds, %zu of them with an upper bound", found, bounded)
				: arena_printf(&m->arena, "and %zu that only a run finds, without an upper bound", found));
	note("sizes: %s", list);
}

/* --set and --shape with a place for each number. */
static const char *how_to_give(struct module *m, const struct symbols *of_inputs)
{
	struct arena *a = &m->arena;
	const char *list = "";

	for (size_t i = 0; i < of_inputs->list.n; i++)
		list = arena_printf(a, "%s%s%s=N", list, *list ? "," : "--set ",
				    shell_word(sym_str(poly_var_name(m->dims, of_inputs->list.a[i])), a));
	return list;
}

/* ---- steps ---- */

static const char *name_of(const struct model *M, const struct call *c)
{
	const struct node *n = node(M->m, c->node);

	return n->name ? sym_str(n->name) : n->nout && n->out[0] ? sym_str(val(M->m, n->out[0])->name) : "a step";
}

/* Kernels to which the default schedule does not apply, with their shares of what all kernels are predicted to take. */
static void report_plain(struct model *M)
{
	enum { NAMED_MAX = 8 };
	const char *list = "";
	double all = 0, plain = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < M->calls.n; i++)
		if (call_has_kernel(&M->calls.a[i]))
			all += call_counted(M, &M->calls.a[i]).cycles;
	for (uint32_t i = 0; i < M->calls.n; i++) {
		const struct call *c = &M->calls.a[i];
		if (!call_has_kernel(c) || !M->kernels.a[c->kernel].plain)
			continue;
		double own = call_counted(M, c).cycles;
		plain += own;
		if (n++ < NAMED_MAX)
			list = join(&M->m->arena, list, arena_printf(&M->m->arena, "%s (%.1f%%)", name_of(M, c), 100 * own / all));
	}
	if (n)
		note("steps in plainer loops than with --set: %u, %.1f%% of the predicted time of kernels at usual sizes: %s%s", n,
		     100 * plain / all, list, n > NAMED_MAX ? ", ..." : "");
}

static void report_steps(struct model *M)
{
	struct step_counts s = model_steps(M);

	const char *sampled = arena_printf(&M->m->arena, " (%u of these compared at some sizes only)", s.sampled);

	note("steps: %u on kernels, %u of them for all sizes%s%s; %u native, %u on the slow path", s.kernels, s.open,
	     s.sampled ? sampled : "", s.versions ? arena_printf(&M->m->arena, " and %u with others for some sizes", s.versions) : "",
	     s.native, s.slow);
}

void open_report(struct model *M, bool gears, bool refuse)
{
	struct module *m = M->m;
	const struct graph *g = graph(m, m->main);
	struct symbols s = {0};
	const char *list = "";

	for (size_t i = 0; i < g->in.n; i++) {
		const struct type *t = &val(m, g->in.a[i])->type;
		if (!value_varies(m, g->in.a[i]))
			continue;
		list = join(&m->arena, list,
			    arena_printf(&m->arena, "%s %s", sym_str(val(m, g->in.a[i])->name), type_str(m, t, &m->arena)));
		symbols_mark(&s, m, t);
	}
	facts_number("open", *list && !gears);
	if (*list && refuse && !gears)
		bind_missing(m, "ge-shape");
	if (*list && gears)
		note("inputs of open sizes, in each run those of a gear: %s", list);
	else if (*list)
		note("open sizes: %s; each run gives them, and is slower than with --set", list);
	if (*list && !gears && s.list.n) {
		symbols_sort(&s, m);
		report_ranges(m, &s);
		report_steps(M);
		report_plain(M);
		note("to build for one size: %s", how_to_give(m, &s));
	}
	symbols_free(&s);
}

/* ---- one step ---- */

static const char *symbols_text(const struct model *M, const struct call *c)
{
	struct module *m = M->m;
	const char *list = "";

	for (int i = 0; i < c->nparam; i++)
		list = join(&m->arena, list, poly_str(m->dims, c->param[i], &m->arena));
	return list;
}

const char *open_why(struct model *M, const struct call *c)
{
	struct arena *a = &M->m->arena;

	if (!call_has_kernel(c) || !c->nparam)
		return NULL;
	const struct kernel *k = &M->kernels.a[c->kernel];
	const char *s = arena_printf(a, "a kernel for all sizes of %s, %s", symbols_text(M, c),
				     c->proved ? "proved" : "compared with those for single sizes at some sizes only");
	for (const struct call *x = c->version; x; x = x->version)
		for (int i = 0; i < x->when.n; i++)
			s = arena_printf(a, "%s%s%s is %" PRId64, s, i ? " and " : ", another where ",
					 poly_str(M->m->dims, poly_of(M->m->dims, x->when.var[i]), a), x->when.size[i]);
	if (c->otherwise)
		s = arena_printf(a,
				 k->sizes.some ? "%s, a native function where one is less than 1"
					       : "%s, a native function where one operand's is 1",
				 s);
	return k->plain ? arena_printf(a, "%s; %s", s, k->plain) : s;
}
