/* Groups of varying sizes: lowered for several sizes, and what these programs have in common (prog_unify). The schedule is that of the
 * usual sizes: its trace says how loops are split, not how long they are. That its numbers hold for all sizes is shown on a grid of them
 * (sized_grid.c), where that is small; else they are compared at some. */
#define _GNU_SOURCE
#include "lower/sized_impl.h"
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "loop/interp.h"
#include "loop/prim.h"
#include "lower/lowering.h"
#include "lower/winograd.h"
#include "sched/schedule.h"

enum { SIZES_MAX = 32 }; /* different sizes that a group's values have; numbers that are forms of further ones differ */

static poly_var find_param(sym name, void *arg)
{
	struct loop_prog *q = arg;

	for (size_t i = 0; i < q->params.n; i++)
		if (q->params.a[i].name == name)
			return q->params.a[i].var;
	return 0;
}

/* With each of n forms, how many tiles it has. */
static int add_tiles(struct loop_prog *q, int tile, poly *form, int n, int max)
{
	int all = n;

	for (int i = 0; i < n && tile && all < max; i++)
		form[all++] = poly_ceildiv(q->P, form[i], tile);
	return all;
}

static bool is_size(const struct group *g, poly_var symbol)
{
	bool found = false;

	for (size_t i = 0; i < g->v.n; i++)
		for (int d = 0; d < val(g->m, g->v.a[i])->type.rank; d++)
			found |= poly_is_var(g->m->dims, g->dims.a[i][d]) == symbol;
	return found;
}

/* Appends size e of the group as a polynomial of q, if it varies and is not among the n forms yet. */
static int add_form(const struct group *g, struct loop_prog *q, poly e, poly *form, int n, int max)
{
	poly x = POLY_UNKNOWN;
	bool known =
		n == max || poly_is_const(g->m->dims, e, NULL) || poly_parse(q->P, poly_str(g->m->dims, e, &q->arena), find_param, q, &x);

	for (int k = 0; k < n && !known; k++)
		known = form[k] == x;
	if (!known)
		form[n++] = x;
	return n;
}

static const dim *dims_of(const struct group *g, val_id v)
{
	for (size_t i = 0; i < g->v.n; i++)
		if (g->v.a[i] == v)
			return g->dims.a[i];
	return NULL;
}

/* Where the operands of Concats begin, after several of open sizes. */
static int add_starts(const struct group *g, struct loop_prog *q, poly *form, int n, int max)
{
	struct polys *P = g->m->dims;
	int axis;

	for (size_t i = 0; i < g->body->nodes.n; i++) {
		const struct node *x = node(g->m, g->body->nodes.a[i]);
		poly sum = poly_const(P, 0);
		if (x->op != OP_Concat || !low_axis(attr_i(x, "axis"), val(g->m, x->out[0])->type.rank, &axis))
			continue;
		for (uint32_t k = 0; k + 1 < x->nin; k++) {
			const dim *d = dims_of(g, x->in[k]);
			d = d ? d : val(g->m, x->in[k])->type.dims;
			sum = poly_add(P, sum, d[axis]);
			n = add_form(g, q, sum, form, n, max);
		}
	}
	return n;
}

/* The sizes in the group's types as polynomials of q, then symbols that are no size themselves: of an even n, 2*floor(n/2) is n as well. */
static int forms_of(const struct group *g, struct loop_prog *q, poly *form, int max)
{
	int n = 0;

	for (int k = 0; k < g->n; k++)
		if (is_size(g, g->symbol[k]))
			form[n++] = poly_of(q->P, q->params.a[k].var);
	for (size_t i = 0; i < g->v.n; i++)
		for (int d = 0; d < val(g->m, g->v.a[i])->type.rank; d++)
			n = add_form(g, q, g->dims.a[i][d], form, n, max);
	for (int k = 0; k < g->n && n < max; k++)
		if (!is_size(g, g->symbol[k]))
			form[n++] = poly_of(q->P, q->params.a[k].var);
	return add_starts(g, q, form, n, max);
}

static struct loop_prog *unify(const struct group *g, int n, struct loop_prog *const *p, const int64_t (*at)[LOOP_PARAMS_MAX],
			       const struct target *t, const char **why)
{
	struct loop_prog *q = prog_new(t);
	poly form[SIZES_MAX];

	for (int k = 0; k < g->n; k++) {
		int64_t lo, hi;
		sized_range(g, k, &lo, &hi);
		lo = lo < g->least[k] ? g->least[k] : lo;
		prog_param(q, poly_var_name(g->m->dims, g->symbol[k]), lo < 0 ? 0 : lo, hi, poly_var_divisor(g->m->dims, g->symbol[k]));
	}
	int nforms = add_tiles(q, winograd_tile(p[0]->algo), form, forms_of(g, q, form, SIZES_MAX), SIZES_MAX);
	*why = prog_unify(q, n, p, at, nforms, form);
	if (!*why) {
		prog_start(q);
		return q;
	}
	*why = arena_str(&g->m->arena, *why);
	prog_free(q);
	return NULL;
}

/* Do the constants of p stand for the same as those of the first program? Those that lowering makes are equal if their stages are. */
static bool same_constants(const struct lowered *first, const struct lowered *l, val_id made)
{
	bool same = l->nconst == first->nconst;

	for (int k = 0; k < l->nconst && same; k++)
		same = l->cval[k] == first->cval[k] || (l->cval[k] >= made && first->cval[k] >= made);
	return same;
}

/* The program for single sizes, to be compared with those for all, whose constants were computed as `computed` says. It has constants of
 * its own where they are computed otherwise. */
static struct lowered single(struct group *g, node_id n, const struct target *t, const char *algo, struct digest computed, const char **why)
{
	struct lowered l = lower_sketch(g->m, n, t, algo, why);

	if (*why || digest_eq(l.prog->constants, computed))
		return l;
	prog_free(l.prog);
	return lower_group(g->m, n, t, algo, why);
}

/* Is q for the values of its parameters the program for single sizes, l? */
static bool becomes(const struct lowered *q, const struct lowered *l, struct digest computed)
{
	return digest_eq(l->prog->constants, computed) && prog_becomes(q->prog, l->prog);
}

/* NULL, or where q, for the values of its parameters, the first of which is `size`, says other than l does. */
static const char *disagree(struct group *g, const struct lowered *q, const struct lowered *l, struct digest computed, int64_t size)
{
	return sized_agrees(g->m, q, l, !digest_eq(l->prog->constants, computed))
		       ? NULL
		       : arena_printf(&g->m->arena, "it is not what the program for %s = %ld is", sym_str(q->prog->params.a[0].name),
				      (long)size);
}

/* The programs for single sizes, among them the least and the greatest, say the same. NULL, or where not. Where they are the same, numbers are
 * compared at one point only, in case that is found wrongly. */
static const char *compare(struct group *g, node_id n, const struct target *t, const struct lowered *q, struct digest computed)
{
	enum { TRIES = 6, NUMBERS = 2 };
	static const int64_t few[TRIES] = {1, 2, 3, 7, 16, 33};
	const char *wrong = NULL;

	for (int i = 0; i < TRIES && !wrong; i++) {
		int64_t size[LOOP_PARAMS_MAX], lo, hi;
		const char *why;
		bool any = true;
		for (int k = 0; k < g->n; k++) {
			int64_t step = sized_values(g, k, &lo, &hi);
			size[k] = (few[i] + (i ? k : 0)) * step;
			size[k] = size[k] < lo ? lo : size[k] > hi ? hi : size[k];
			q->prog->params.a[k].value = size[k];
		}
		int64_t *env = sized_symbols(g, size);
		for (size_t v = 0; v < g->v.n; v++)
			for (int d = 0; d < val(g->m, g->v.a[v])->type.rank; d++)
				any &= poly_eval(g->m->dims, g->dims.a[v][d], env) > 0;
		free(env);
		if (!any)
			continue;
		sized_set_types(g, size);
		struct lowered l = single(g, n, t, q->prog->algo, computed, &why);
		sized_set_types(g, NULL);
		if (!why && (i == NUMBERS || !becomes(q, &l, computed)))
			wrong = disagree(g, q, &l, computed, size[0]);
		if (l.prog)
			prog_free(l.prog);
	}
	return wrong;
}

/* The program for single sizes on a grid that determines the numbers of q is q. *proved: it is, on all of it. NULL, or where it says otherwise. */
static const char *on_grid(struct group *g, node_id n, const struct target *t, const struct lowered *q, struct digest computed,
			   const int64_t *first, bool *proved)
{
	enum { GRID_MAX = 36 }; /* lowerings, milliseconds each; of a larger grid a few points are compared, and nothing is proved */
	struct sized_axis axis[LOOP_PARAMS_MAX];
	int *rank = ARENA_ARRAY(&g->m->arena, int, g->v.n + 1);
	const char *wrong = NULL;
	int64_t count = 1;

	for (size_t v = 0; v < g->v.n; v++)
		rank[v] = val(g->m, g->v.a[v])->type.rank;
	for (int k = 0; k < g->n && count <= GRID_MAX; k++) {
		int64_t lo, hi, unit = sized_values(g, k, &lo, &hi);
		axis[k] = sized_axis(g->m->dims, g->symbol[k], g->v.n, rank, g->dims.a);
		axis[k].step *= unit / sized_gcd(unit, axis[k].step);
		count *= axis[k].count;
		count = first[k] > hi - axis[k].step * (axis[k].count - 1) ? GRID_MAX + 1 : count;
	}
	*proved = count <= GRID_MAX;
	for (int64_t i = 0; *proved && i < count; i++) {
		int64_t size[LOOP_PARAMS_MAX], rest = i;
		const char *why;
		for (int k = 0; k < g->n; rest /= axis[k++].count)
			q->prog->params.a[k].value = size[k] = first[k] + rest % axis[k].count * axis[k].step;
		sized_set_types(g, size);
		struct lowered l = single(g, n, t, q->prog->algo, computed, &why);
		sized_set_types(g, NULL);
		*proved = !why && becomes(q, &l, computed);
		if (!why && !*proved)
			wrong = disagree(g, q, &l, computed, size[0]);
		if (l.prog)
			prog_free(l.prog);
	}
	return wrong;
}

/* The program that the first n of p have in common, if it is one for all sizes, into s. NULL, or why it is not. */
static const char *join(struct group *g, node_id id, const struct target *t, int n, struct loop_prog *const *p,
			const int64_t (*at)[LOOP_PARAMS_MAX], struct sized *s)
{
	const char *why;
	struct lowered l = s->low;

	l.prog = unify(g, n, p, at, t, &why);
	if (!why)
		why = loop_verify(l.prog);
	if (!why)
		why = compare(g, id, t, &l, p[0]->constants);
	if (!why)
		why = on_grid(g, id, t, &l, p[0]->constants, at[0], &s->proved);
	if (!why)
		s->low.prog = l.prog;
	else if (l.prog) {
		why = arena_str(&g->m->arena, why);
		prog_free(l.prog);
	}
	return why;
}

/* Says in p, the program for single sizes, which dims q has many sizes of. */
static void mark_varying(struct loop_prog *p, struct loop_prog *q)
{
	for (buf_id b = 1; b < p->bufs.n && b < q->bufs.n; b++)
		for (int d = 0; d < lbuf(p, b)->rank; d++)
			lbuf(p, b)->varies |= (uint32_t)(lbuf(q, b)->dim[d] != POLY_UNKNOWN) << d;
}

/* Has it the same stages, of other numbers? */
static bool same_form(const struct loop_prog *p, const struct loop_prog *q)
{
	return p->bufs.n == q->bufs.n && p->stages.n == q->stages.n && digest_eq(p->constants, q->constants);
}

/* Lowering may do otherwise at sizes that fill vectors, as the usual ones do. Then those one step larger, if they are like the points. */
static void retry_usual(struct group *g, node_id n, const struct target *t, int64_t *size, struct lowered *l, struct loop_prog **p)
{
	int64_t more[LOOP_PARAMS_MAX], lo, hi;
	const char *why;

	for (int k = 0; k < g->n; k++) {
		more[k] = size[k] + sized_values(g, k, &lo, &hi);
		more[k] = more[k] <= hi ? more[k] : size[k];
	}
	sized_set_types(g, more);
	struct lowered again = lower_sketch(g->m, n, t, p[USUAL]->algo, &why);
	if (!why && same_form(again.prog, p[0]) && again.nconst == l->nconst) {
		struct lowered old = *l;
		*l = again;
		again = old;
		p[USUAL] = l->prog;
		memcpy(size, more, sizeof *size * (size_t)g->n);
	}
	if (again.prog)
		prog_free(again.prog);
}

/* With types of usual sizes; an algorithm in the form that can vary. */
static struct lowered lower_usual(struct group *g, node_id n, const struct target *t, const char *algo, const char **why)
{
	struct lowered l = lower_sketch(g->m, n, t, algo, why);

	if (*why || !strcmp(winograd_of_lines(l.prog->algo), l.prog->algo))
		return l;
	algo = winograd_of_lines(l.prog->algo);
	prog_free(l.prog);
	return lower_sketch(g->m, n, t, algo, why);
}

static void lower_points(struct group *g, node_id n, const struct target *t, const char *algo, struct sized *s, const char **why)
{
	int64_t at[POINTS + 1][LOOP_PARAMS_MAX] = {{0}};
	struct lowered l[POINTS + 1] = {{0}};
	struct loop_prog *p[POINTS + 1] = {NULL};
	val_id made = (val_id)g->m->values.n;

	sized_choose_scale(g);
	sized_choose_rest(g);
	for (int i = 0; i <= POINTS; i++)
		for (int k = 0; k < g->n; k++)
			at[i][k] = sized_at(g, i, k);
	*why = sized_unseen(g, at);
	for (int i = POINTS; i >= 0 && !*why; i--) {
		sized_set_types(g, at[i]);
		l[i] = i == USUAL ? lower_usual(g, n, t, algo, why) : (i ? lower_sketch : lower_group)(g->m, n, t, p[USUAL]->algo, why);
		p[i] = l[i].prog;
		if (!*why && !same_constants(&l[USUAL], &l[i], made))
			*why = "its constants differ with the sizes";
	}
	if (!*why && !same_form(p[USUAL], p[0]))
		retry_usual(g, n, t, at[USUAL], &l[USUAL], p);
	sized_set_types(g, NULL);
	s->low = (struct lowered){NULL, l[0].nconst, l[0].cval};
	if (!*why)
		*why = join(g, n, t, POINTS + 1, p, at, s);
	if (*why && p[0]) /* guards that only odd sizes need do no harm to even ones */
		*why = join(g, n, t, POINTS, p, at, s);
	for (int k = 0; k < g->n; k++)
		s->arg[k] = g->stands_for[k] != POLY_UNKNOWN ? g->stands_for[k] : poly_of(g->m->dims, g->symbol[k]);
	if (s->low.prog) {
		s->low.cval = arena_copy(&s->low.prog->arena, s->low.cval, (size_t)s->low.nconst * sizeof *s->low.cval);
		s->usual = p[USUAL];
		mark_varying(s->usual, s->low.prog);
		p[USUAL] = NULL;
	}
	for (int i = 0; i <= POINTS; i++)
		if (p[i])
			prog_free(p[i]);
}

struct sized lower_sized(struct module *m, node_id n, const struct target *t, struct sized_for sizes, const char *algo, const char **why)
{
	struct group g = sized_group(m, n, sizes);
	struct sized s = {0};

	*why = g.why;
	if (!*why && !g.n) {
		sized_set_types(&g, (const int64_t[]){0});
		s.low = lower_group(m, n, t, algo, why);
		sized_set_types(&g, NULL);
	} else if (!*why)
		lower_points(&g, n, t, algo, &s, why);
	if (*why && !g.why && g.n && !algo) { /* an algorithm whose numbers are no polynomials of sizes */
		*why = NULL;
		lower_points(&g, n, t, ALGO_USUAL, &s, why);
	}
	if (*why && !g.why && g.n && sized_go_beyond(&g)) {
		*why = NULL;
		lower_points(&g, n, t, algo, &s, why);
	}
	sized_group_release(&g);
	return s;
}

void sized_usual(struct module *m, node_id n, struct loop_prog *p)
{
	struct group g = sized_group(m, n, (struct sized_for){0});

	sized_choose_scale(&g);
	for (int k = 0; k < g.n; k++)
		for (size_t i = 0; i < p->params.n; i++)
			if (p->params.a[i].name == poly_var_name(m->dims, g.symbol[k]))
				p->params.a[i].value = sized_at(&g, USUAL, k);
	sized_group_release(&g);
}

const char *sized_schedule(struct sized *s, const char *given, const struct samples *want, const char **trace)
{
	struct loop_prog *q = s->low.prog;
	const char *why;
	bool trace_given = given;

	if (s->usual) {
		s->usual->threads = q->threads;
		s->usual->usual = true;
	}
	if (!given)
		given = arena_str(&q->arena, schedule_with(s->usual ? s->usual : q, want, NULL));
	if (trace)
		*trace = given;
	if ((s->usual || trace_given) && (why = loop_apply(q, given, false)))
		return why;
	why = loop_legalize(q);
	return why ? why : loop_verify(q);
}

void sized_free(struct sized *s)
{
	if (s->low.prog)
		prog_free(s->low.prog);
	if (s->usual)
		prog_free(s->usual);
	*s = (struct sized){0};
}
