/* Template for several reductions in a row along another axis than the contiguous one (softmax over channels, ArgMax): a block of columns
 * at a time, in vectors. All stages of a block are under one loop, so that it stays in the first-level cache; sums are in registers. */
#include "sched/template.h"

/* Does s have all axes of the result but that one? */
static bool lacks(const struct stage *result, const struct stage *s, int axis)
{
	for (int a = 0; a < s->nspatial; a++)
		if (s->axis[a].extent != result->axis[a + (a >= axis)].extent)
			return false;
	return true;
}

/* The spatial axis of result that the reduction lacks; -1: none, -2: the axes differ otherwise. If sizes leave several open: the one along
 * which it reduces an operand of the result's size. */
static int axis_reduced(struct loop_prog *p, const struct stage *result, stage_id id)
{
	const struct stage *s = lstage(p, id);
	ex_id read[READS_MAX];

	if (result->nspatial == s->nspatial)
		return lacks(result, s, s->nspatial) ? -1 : -2;
	if (result->nspatial != s->nspatial + 1)
		return -2;
	for (int n = s->naxes == s->nspatial + 1 ? stage_all_reads(p, id, read) : 0, i = 0; i < n; i++)
		for (int d = 0; lex(p, read[i])->n == result->nspatial && d < result->nspatial; d++)
			if (lex(p, read[i])->index[d] == poly_of(p->P, s->axis[s->nspatial].var) && lacks(result, s, d))
				return d;
	for (int a = 0; a < result->nspatial; a++)
		if (lacks(result, s, a))
			return a;
	return -2;
}

/* The axis of s that is axis `column` of the result; inside: see axis_reduced. */
static int column_of(int column, int inside) { return column - (inside >= 0 && inside < column); }

/* Are all reads of s contiguous along that axis, or independent of it? */
static bool reads_along(struct loop_prog *p, stage_id s, int axis)
{
	ex_id read[READS_MAX];
	const struct axis *last = &lstage(p, s)->axis[axis];

	for (int n = stage_all_reads(p, s, read), i = 0; i < n; i++) {
		int64_t step;
		if (read_uses(p, read[i], last->var) && (!read_step(p, read[i], last->var, &step) || step != 1))
			return false;
	}
	return true;
}

/* Does the template fit all stages? column: the axis of the result along which vectors lie; *kept: see axis_reduced, of the result; *bytes: of
 * a column, in all stages. */
static bool fits(struct loop_prog *p, stage_id result, int column, int *kept, double *bytes)
{
	const struct stage *t = lstage(p, result);

	*kept = -1;
	*bytes = 0;
	for (stage_id s = 1; s < p->stages.n; s++) {
		const struct stage *x = lstage(p, s);
		int inside = stage_here(p, s) ? axis_reduced(p, t, s) : -1;
		if (!stage_here(p, s))
			continue;
		if (x->scan || !x->nspatial || inside == -2 || (s != result && lbuf(p, x->out)->layout.n) || inside == column ||
		    !reads_along(p, s, column_of(column, inside)))
			return false;
		if (s != result && lbuf(p, x->out)->dtype != DT_F32)
			return false;
		if (x->comb != COMB_NONE) {
			if (x->naxes != x->nspatial + 1 || (*kept >= 0 && inside >= 0 && inside != *kept))
				return false;
			*kept = inside >= 0 ? inside : *kept;
			*bytes += (double)dtype_size(DT_F32) * (double)x->axis[x->naxes - 1].extent;
		}
	}
	return true;
}

/* Vectors of columns in a block: enough independent sums to hide latency, as far as the block fits its share of the first-level cache. */
static int64_t usual_vectors(struct schedule *r, double bytes, int64_t columns)
{
	enum { COLUMN_VECTORS = 4 };
	double room = BLOCK_SHARE * (double)sched_machine(r->p)->l1;
	int64_t n = 1;

	while (2 * n <= COLUMN_VECTORS && 2 * n * r->lanes <= columns && 2 * (double)n * r->lanes * bytes <= room)
		n *= 2;
	return n;
}

/* Vectors along an axis of a stage in the block. part: "" or "init.". */
static void mark(struct schedule *r, stage_id s, int axis, const char *part)
{
	const struct stage *t = lstage(r->p, s);
	const char *loop = sched_name(r, "%s.%s%s", sym_str(t->name), part, sym_str(t->axis[axis].name));

	if (!sched_try(r, PRIM_SPLIT, loop, trace_number(r->lanes), "tail=peel"))
		return;
	sched_try(r, PRIM_UNROLL, loop_part(r, loop, 0));
	sched_try(r, PRIM_VECTOR, loop_part(r, loop, 1));
}

/* A long sum is made in levels, each a block of columns in registers. */
static void mark_levels(struct schedule *r, stage_id s, int axis)
{
	int red = lstage(r->p, s)->nspatial;
	int64_t all = lstage(r->p, s)->axis[red].extent;
	struct words made = {0};

	sched_levels(r, sym_str(lstage(r->p, s)->name), axis_loop(r, s, red, ""), (struct long_sum){all, 1, all, false}, "register", &made);
	for (int i = 0; i < made.n; i++) {
		mark(r, stage_find(r->p, sched_name(r, "%s.load", made.word[i])), axis, "");
		mark(r, stage_find(r->p, sched_name(r, "%s.store", made.word[i])), axis, "");
	}
}

bool template_blocks(struct schedule *r, stage_id result)
{
	struct loop_prog *p = r->p;
	const struct stage *t = lstage(p, result);
	int kept, last = contiguous_axis(p, result), n = 0;
	double bytes;
	int64_t choice[4];

	if (last < 0 || last >= t->nspatial || !fits(p, result, last, &kept, &bytes) || t->axis[last].extent < 2)
		return false;
	for (int64_t k = 1; k <= 8 && (k == 1 || k * r->lanes <= t->axis[last].extent); k *= 2)
		choice[n++] = k;
	const char *v = axis_loop(r, result, last, "");
	sched_sample(r, "columns", choice, n, usual_vectors(r, bytes, t->axis[last].extent));
	if (!sched_try(r, PRIM_SPLIT, v, sched_name(r, "columns*%d", r->lanes), "tail=peel"))
		return false;
	struct words order = {0};
	for (int a = 0; a < t->nspatial; a++)
		if (a != kept && a != last)
			words_add(&order, axis_loop(r, result, a, ""));
	words_add(&order, loop_part(r, v, 0));
	if (kept >= 0)
		words_add(&order, axis_loop(r, result, kept, ""));
	words_add(&order, loop_part(r, v, 1));
	sched_list(r, NULL, PRIM_REORDER, &order);
	for (stage_id s = (stage_id)p->stages.n - 1; s > 0; s--) {
		const char *name = sym_str(lstage(p, s)->name);
		int axis = column_of(last, axis_reduced(p, t, s));
		if (!stage_here(p, s) || s == result || !sched_try(r, PRIM_AT, name, loop_part(r, v, 0)))
			continue;
		if (lstage(p, s)->comb != COMB_NONE) {
			sched_try(r, PRIM_SCOPE, name, "register");
			sched_try(r, PRIM_INIT, name, loop_part(r, v, 0));
			sched_try(r, PRIM_REORDER, axis_loop(r, s, lstage(p, s)->nspatial, ""), axis_loop(r, s, axis, ""));
			mark_levels(r, s, axis);
			mark(r, s, axis, "init.");
		}
		mark(r, s, axis, "");
	}
	if (sched_try(r, PRIM_SPLIT, loop_part(r, v, 1), trace_number(r->lanes), "tail=peel")) {
		sched_try(r, PRIM_UNROLL, sched_name(r, "%s.1.0", v));
		sched_try(r, PRIM_VECTOR, sched_name(r, "%s.1.1", v));
	}
	return true;
}
