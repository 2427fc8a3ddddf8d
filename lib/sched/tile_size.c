/* The size of a register tile, and the axis of its rows. tile_cost.c estimates every size that fits the registers. The cheapest is the
 * default decision of the samples "vectors" and "rows"; the others are their choices. */
#include <math.h>
#include "sched/tile.h"

/* ---- what fits ---- */

/* Do the sums, a row of vectors and one more operand fit in registers? */
static bool tile_fits(struct loop_prog *p, const struct tile *q, int rows, int vectors, int lanes)
{
	const struct axis *v = &lstage(p, q->anchor)->axis[q->vec_axis];

	for (int i = 0; i < q->nread; i++) /* an operand that is constant within groups must be so within a panel */
		if (read_uses(p, q->read[i], v->var) && !tile_moves(p, q, q->read[i], q->vec_axis) &&
		    read_group(p, q->read[i], v->var) % (vectors * lanes) != 0)
			return false;
	if (rows % q->pair || (rows * vectors + vectors * (int)q->pair + 1 + q->held > sched_machine(p)->vector_regs && rows * vectors > 1))
		return false;
	if (q->transposed_by_panel && v->extent % (vectors * lanes) != 0)
		return false;
	return vectors == 1 || (int64_t)(vectors - 1) * lanes < v->extent;
}

/* As tile_fits, with operands along the longer side of the tile read from memory by the multiply-adds: for a search to try. */
static bool tile_may_fit(struct loop_prog *p, const struct tile *q, int rows, int vectors, int lanes)
{
	int side = rows < vectors ? rows : vectors;

	return tile_fits(p, q, rows, vectors, lanes) ||
	       (q->pair == 1 && tile_fits(p, q, 1, vectors, lanes) && rows * vectors + side <= sched_machine(p)->vector_regs);
}

/* As tile_fits, for the default tile. */
static bool tile_is_usual(struct loop_prog *p, const struct tile *q, int rows, int vectors, int lanes)
{
	return tile_fits(p, q, rows, vectors, lanes) &&
	       (rows == 1 || rows * vectors + kept_vectors(p, q, vectors, lanes) + 1 <= sched_machine(p)->vector_regs);
}

static int most_rows(struct loop_prog *p, const struct tile *q)
{
	int limit = has_guard(p, lstage(p, q->anchor)->body) && !q->phases ? ROWS_WITH_BORDERS : ROWS_MAX;

	return q->row_steps > limit ? limit : (int)q->row_steps;
}

static int most_vectors(struct loop_prog *p, const struct tile *q)
{
	return sums_strided_rows(p, q) && reduce_steps(p, q) > UNROLL_MAX ? apart_vectors(p) : VECTORS_MAX;
}

/* Vectors of sums up to which the unrolled reduction stays short. */
static double most_sums(struct loop_prog *p, const struct tile *q, struct window w, int lanes)
{
	double most = large_window(p, q) ? UNROLL_MOST / reduce_steps(p, q) : INFINITY;

	if (w.row_at_a_time)
		most = UNROLL_MOST / (double)w.taps;
	return most;
}

/* ---- the cheapest ---- */

/* The cheapest tile of that many vectors (0: of any number); its cost for the whole anchor, in cycles. */
static double best_tile(struct loop_prog *p, const struct tile *q, int lanes, int only, int *best_rows, int *best_vectors)
{
	static const double panel_too_large = 1.15, better = 0.999; /* times slower; less than the best so far */
	struct window w = shared_window(p, q);
	int first = only ? only : 1, last = only ? only : most_vectors(p, q);
	int64_t conflict = rows_without_conflict(p, q), most = most_rows(p, q) < conflict ? most_rows(p, q) : conflict;
	double best = INFINITY, room = most_sums(p, q, w, lanes);

	*best_rows = (int)q->pair;
	*best_vectors = first;
	for (int vectors = first; vectors <= last; vectors++)
		for (int rows = 1; rows <= most; rows++) {
			if (rows * vectors > room || !tile_is_usual(p, q, rows, vectors, lanes))
				continue;
			double c = tile_cost(p, q, w, rows, vectors, lanes);
			if (q->row_axis >= 0 && vectors > 1 && panel_bytes(p, q, vectors, lanes) > panel_room(p))
				c *= panel_too_large;
			if (c < best * better) {
				best = c;
				*best_rows = rows;
				*best_vectors = vectors;
			}
		}
	return best;
}

/* Does the tile read a panel that is widened for it? */
static bool widens(struct loop_prog *p, const struct tile *q)
{
	for (int i = 0; i < q->nread; i++)
		if (tile_moves(p, q, q->read[i], q->vec_axis) && tile_unpacks(p, lex(p, q->read[i])->buf))
			return true;
	return false;
}

/* Constants that a kernel for one row shall read as they lie are in panels of a power of two of vectors, as template_packed has them. */
static int usual_vectors(struct loop_prog *p, const struct tile *q)
{
	int vectors = 1;

	if (!widens(p, q))
		return q->vectors;
	while (2 * vectors <= q->vectors)
		vectors *= 2;
	return vectors;
}

static void sample_vectors(struct schedule *r, struct tile *q)
{
	int64_t choice[VECTORS_MAX];
	int n = 0, usual = usual_vectors(r->p, q);

	for (int vectors = 1; vectors <= VECTORS_MAX; vectors++)
		if (tile_fits(r->p, q, (int)q->pair, vectors, r->lanes))
			choice[n++] = vectors;
	int best = q->vectors;
	q->vectors = (int)sched_sample(r, "vectors", choice, n, usual);
	if (q->vectors != best)
		best_tile(r->p, q, r->lanes, q->vectors, &q->rows, &q->vectors);
}

static void sample_rows(struct schedule *r, struct tile *q)
{
	int64_t choice[ROWS_MAX];
	int n = 0;

	for (int rows = 1; rows <= most_rows(r->p, q); rows++)
		if (tile_may_fit(r->p, q, rows, q->vectors, r->lanes))
			choice[n++] = rows;
	if (!n) /* nothing to compute */
		choice[n++] = 1;
	q->rows = (int)sched_sample(r, "rows", choice, n, q->rows);
}

void choose_tile(struct schedule *r, struct tile *q)
{
	count_loads(r->p, q, r->lanes);
	best_tile(r->p, q, r->lanes, 0, &q->rows, &q->vectors);
	sample_vectors(r, q);
	if (q->row_axis >= 0)
		sample_rows(r, q);
}

/* ---- the axis of rows ---- */

/* Parts of an axis within each of which some read is constant; 1: there are none. */
static int64_t groups_along(struct loop_prog *p, const struct tile *q, int axis)
{
	const struct stage *s = lstage(p, q->anchor);

	for (int i = 0; i < q->nread; i++) {
		int64_t group = read_uses(p, q->read[i], s->axis[axis].var) ? read_group(p, q->read[i], s->axis[axis].var) : 1;
		if (group > 1 && s->axis[axis].extent % group == 0)
			return s->axis[axis].extent / group;
	}
	return 1;
}

static void count_steps(struct schedule *r, struct tile *q)
{
	q->groups = q->row_axis < 0 ? 1 : groups_along(r->p, q, q->row_axis);
	q->row_steps = q->row_axis < 0 ? 1 : axis_steps(r, q->anchor, q->row_axis) / q->groups;
}

static bool may_be_rows(const struct stage *s, const struct tile *q, int axis)
{
	return axis >= q->outer && axis != q->lines - 1 && axis != q->vec_axis && s->axis[axis].extent > 1 &&
	       s->axis[axis].kind != AXIS_SCAN;
}

/* Reads that vary along the vectors but not along that axis: one load serves all rows. */
static double reuse_along(struct loop_prog *p, const struct tile *q, int axis)
{
	poly_var v = lstage(p, q->anchor)->axis[axis].var;
	double reuse = 0;

	for (int i = 0; i < q->nread; i++)
		reuse += tile_moves(p, q, q->read[i], q->vec_axis) && (!read_uses(p, q->read[i], v) || read_group(p, q->read[i], v) > 1);
	return reuse;
}

/* Do rows along that axis read what others have loaded, where a load costs an instruction? */
static bool shares_loads(struct loop_prog *p, const struct tile *q, int axis)
{
	struct tile t = *q;

	t.row_axis = axis;
	return sched_machine(p)->loads_apart && shared_window(p, &t).read;
}

/* Axes that rows may lie along (-1: a single row); *best: the default, with the most reuse. Without reuse there is a single row, though
 * several would be independent sums. */
static int row_axes(struct loop_prog *p, const struct tile *q, int *axis, int *best)
{
	const struct stage *s = lstage(p, q->anchor);
	double score = 0;
	int n = 0;

	*best = -1;
	for (int a = 0; a < s->nspatial; a++) {
		double reuse = may_be_rows(s, q, a) ? reuse_along(p, q, a) : 0;
		if (reuse <= 0)
			continue;
		double rows = fmin(SECOND_AXIS, (double)s->axis[a].extent / (double)groups_along(p, q, a));
		if (reuse * rows >= score) { /* of equal ones the inner: smaller strides */
			score = reuse * rows;
			*best = n;
		}
		axis[n++] = a;
	}
	if (n)
		return n;
	axis[n++] = -1;
	*best = 0;
	for (int a = 0; a < s->nspatial; a++)
		if (may_be_rows(s, q, a)) {
			*best = shares_loads(p, q, a) ? n : *best;
			axis[n++] = a;
		}
	return n;
}

/* Cycles with rows along that axis: to compute all tiles, and to read what they want. */
static double cycles_of_rows(struct schedule *r, const struct tile *q, int axis)
{
	const struct stage *s = lstage(r->p, q->anchor);
	struct tile t = *q;
	double times;

	t.row_axis = axis;
	expect_dot(r, &t);
	count_steps(r, &t);
	count_loads(r->p, &t, r->lanes);
	times = (double)t.groups;
	for (int a = 0; a < s->nspatial; a++)
		times *= a == t.vec_axis || a == axis ? 1 : (double)s->axis[a].extent;
	double cost = best_tile(r->p, &t, r->lanes, 0, &t.rows, &t.vectors);
	return times * cost + rows_traffic(r->p, &t);
}

/* Axis of rows that lie in the same lines of an operand, where this takes fewer cycles than best does (numbers of axis[]); else best. */
static int nearer_rows(struct schedule *r, const struct tile *q, const int *axis, int n, int best)
{
	int found = best;

	if (r->p->usual || q->vec_axis < 0 || axis[best] < 0 || rows_share_lines(r->p, q, axis[best]))
		return best;
	for (int i = 0; i < n; i++)
		if (reuse_along(r->p, q, axis[i]) >= reuse_along(r->p, q, axis[best]) && rows_share_lines(r->p, q, axis[i]) &&
		    cycles_of_rows(r, q, axis[i]) < cycles_of_rows(r, q, axis[found]))
			found = i;
	return found;
}

void choose_row_axis(struct schedule *r, struct tile *q)
{
	const struct stage *s = lstage(r->p, q->anchor);
	const char *name[LOOP_AXES_MAX + 1];
	int axis[LOOP_AXES_MAX + 1], best, n = row_axes(r->p, q, axis, &best);

	if (r->blocks) {
		q->row_axis = r->blocks->axis;
		count_steps(r, q);
		return;
	}
	best = nearer_rows(r, q, axis, n, best);
	for (int i = 0; i < n; i++)
		name[i] = axis[i] < 0 ? "none" : sym_str(s->axis[axis[i]].name);
	q->row_axis = axis[n > 1 ? sched_word(r, "second", name, n, best) : best];
	count_steps(r, q);
}

/* ---- what other templates ask ---- */

double sched_tile_cycles(struct schedule *r, stage_id anchor, int v, int t, int64_t steps)
{
	struct tile q = {.anchor = anchor, .vec_axis = v, .row_axis = t, .row_steps = steps, .pair = 1};
	int rows, vectors;

	q.nread = stage_all_reads(r->p, anchor, q.read);
	count_loads(r->p, &q, r->lanes);
	return best_tile(r->p, &q, r->lanes, 0, &rows, &vectors);
}

double sched_cycles_along(struct schedule *r, stage_id anchor, stage_id result, int v, bool transposed)
{
	struct tile q = {.anchor = anchor, .result = result, .vec_axis = v, .transposed = transposed, .pair = 1};
	const struct stage *s = lstage(r->p, anchor);
	int axis[LOOP_AXES_MAX + 1], best, rows, vectors;

	q.nread = stage_all_reads(r->p, anchor, q.read);
	q.borders = !phase_axes(r->p, anchor) && has_guard(r->p, s->body);
	q.function = calls_function(r->p, &q);
	row_axes(r->p, &q, axis, &best);
	q.row_axis = axis[best];
	count_steps(r, &q);
	expect_dot(r, &q);
	count_loads(r->p, &q, r->lanes);
	double times = (double)q.groups;
	for (int a = 0; a < s->nspatial; a++)
		times *= a == v || a == q.row_axis ? 1 : (double)s->axis[a].extent;
	return times * best_tile(r->p, &q, r->lanes, 0, &rows, &vectors);
}
