/* The cost of a tile. Multiply-adds, loads and registers of one tile are counted here; fitted.c turns them into cycles. */
#include <math.h>
#include <stdlib.h>
#include "sched/tile.h"

/* Do all reads depend on the vector axis? Then it is a depthwise window. */
static bool all_move(struct loop_prog *p, const struct tile *q)
{
	for (int i = 0; i < q->nread; i++)
		if (!tile_moves(p, q, q->read[i], q->vec_axis))
			return false;
	return true;
}

/* Does a step along the row axis shift the read by whole taps of axis k, fewer than the window has? Then rows share taps. */
static bool shares_taps(struct loop_prog *p, const struct tile *q, ex_id read, int k, int64_t *stride)
{
	const struct stage *s = lstage(p, q->anchor);
	int64_t row, tap;

	if (s->axis[k].extent <= 1 || !read_step(p, read, s->axis[q->row_axis].var, &row) || !read_step(p, read, s->axis[k].var, &tap) ||
	    !tap || row % tap != 0)
		return false;
	*stride = row / tap;
	return *stride > 0 && *stride < s->axis[k].extent;
}

struct window shared_window(struct loop_prog *p, const struct tile *q)
{
	const struct stage *s = lstage(p, q->anchor);
	struct target m = sched_machine(p);
	double steps = reduce_steps(p, q);
	bool whole = steps <= fit_shared_window(&m) && !(p->usual && steps > UNROLL_ALWAYS),
	     row_at_a_time = is_window(p, q) && steps > UNROLL_ALWAYS && !whole && all_move(p, q);
	int64_t stride;

	for (int i = 0; q->row_axis >= 0 && (whole || row_at_a_time) && i < q->nread; i++)
		for (int k = row_at_a_time ? s->naxes - 1 : s->nspatial; k < s->naxes; k++)
			if (tile_moves(p, q, q->read[i], q->vec_axis) && shares_taps(p, q, q->read[i], k, &stride) &&
			    (!row_at_a_time || s->axis[k].extent <= UNROLL_MAX))
				return (struct window){q->read[i], s->axis[k].extent, stride, k, row_at_a_time};
	return (struct window){0};
}

/* Instructions that store a tile. */
static double tile_stores(struct loop_prog *p, double rows, int vectors)
{
	return rows * (sched_machine(p).stores_two ? (vectors + 1) / 2 : vectors);
}

/* Loads and stores of a whole tile of a window. held: taps that rows share stay in registers; else each row loads them. */
static double window_loads(struct loop_prog *p, const struct tile *q, const struct fit_tile *t, ex_id window, bool held)
{
	double loads = tile_stores(p, t->rows, t->vectors);

	for (int i = 0; i < q->nread; i++) {
		bool along = tile_moves(p, q, q->read[i], q->vec_axis), down = tile_moves(p, q, q->read[i], q->row_axis);
		double times = q->read[i] == window && held ? t->together / t->taps : down ? t->rows : 1;
		if (t->still > 0 && !along && !down) /* in registers, for all tiles */
			continue;
		loads += t->steps * (along ? t->vectors * q->loads[i] : 1) * times;
	}
	return loads;
}

/* Operands of the epilogue that are larger than the second-level cache. */
static int far_operands(struct loop_prog *p, const struct tile *q)
{
	ex_id read[READS_MAX];
	int far = 0;

	for (int i = 0, n = q->result ? stage_all_reads(p, q->result, read) : 0; i < n; i++) {
		buf_id b = lex(p, read[i])->buf;
		far += lbuf(p, b)->scope == SCOPE_IN && (int64_t)dtype_size(lbuf(p, b)->dtype) * buf_elems(p, b) > sched_machine(p).l2;
	}
	return far;
}

/* Steps in which a number that is the same along rows and vectors stays in a register. */
static double still_numbers(struct loop_prog *p, const struct tile *q)
{
	double n = 0;

	for (int i = 0; i < q->nread && sched_machine(p).loads_apart; i++)
		n += tile_moves(p, q, q->read[i], q->vec_axis) || tile_moves(p, q, q->read[i], q->row_axis) ? 0 : reduce_steps(p, q);
	return n;
}

/* Tiles are balanced: rows is the mean number. */
static struct fit_tile count_tile(struct loop_prog *p, const struct tile *q, struct window w, int rows, int vectors, int lanes)
{
	double tiles = q->row_axis < 0 ? 1 : ceil((double)q->row_steps / rows);
	struct fit_tile t = {
		.steps = reduce_steps(p, q),
		.rows = q->row_axis < 0 ? 1 : (double)q->row_steps / tiles,
		.vectors = vectors,
		.sums = rows * vectors,
		.function = q->function,
		.second = q->row_axis >= 0,
		.panel_bytes = panel_bytes(p, q, vectors, lanes),
		.far = far_operands(p, q),
	};

	t.joined = q->pair > 1 && !pairs_may_lie_together(p, q) ? ceil(t.rows / (double)q->pair) : 0;
	t.whole_line = ceil(t.rows) >= (double)q->row_steps;
	for (int i = 0; i < q->nread; i++) {
		bool along = tile_moves(p, q, q->read[i], q->vec_axis), down = t.second && tile_moves(p, q, q->read[i], q->row_axis);
		*(along ? &t.along : &t.across) += (along ? vectors * q->loads[i] : 1) * (down ? t.rows : 1);
	}
	if (w.read) {
		t.taps = (double)w.taps;
		t.stride = w.stride;
		t.row_at_a_time = w.row_at_a_time;
		t.together = (double)w.stride * (ceil(t.rows) - 1) + (double)w.taps;
		t.still = still_numbers(p, q);
		t.stores = sched_machine(p).begins_sums ? tile_stores(p, t.rows, vectors) : 0;
		t.held = window_loads(p, q, &t, w.read, true);
		t.reloaded = window_loads(p, q, &t, w.read, false);
	}
	return t;
}

double tile_cost(struct loop_prog *p, const struct tile *q, struct window w, int rows, int vectors, int lanes)
{
	struct target m = sched_machine(p);
	struct fit_tile t = count_tile(p, q, w, rows, vectors, lanes);
	double panels = ceil((double)lstage(p, q->anchor)->axis[q->vec_axis].extent / (lanes * vectors));
	double tiles = t.second ? ceil((double)q->row_steps / rows) : 1;

	if (row_by_matrix(p, q))
		return t.steps * (panels * vectors * fit_streams(&m, q->function, vectors));
	return panels * tiles * (w.read ? fit_window_cycles(&m, &t) : fit_contraction_cycles(&m, &t));
}

/* The tile that was chosen. */
static struct fit_tile chosen_tile(struct loop_prog *p, const struct tile *q)
{
	return count_tile(p, q, shared_window(p, q), q->rows, q->vectors, sched_lanes(p));
}

bool taps_innermost(struct loop_prog *p, const struct tile *q)
{
	const struct stage *s = lstage(p, q->anchor);
	struct fit_tile t = chosen_tile(p, q);
	/* fewer channels than taps in a row: the loop is over taps */
	bool few = s->naxes - s->nspatial > 2 && s->axis[s->nspatial].extent <= s->axis[s->naxes - 1].extent;

	if (sched_machine(p).loads_apart && shared_window(p, q).axis == s->nspatial) /* they are, where the first axis is inside */
		return false;
	return few || large_window(p, q) || fit_taps_innermost(&t, q->rows);
}

int unroll_steps(struct loop_prog *p, const struct tile *q, int64_t steps, int64_t all)
{
	struct target m = sched_machine(p);
	struct fit_tile t = chosen_tile(p, q);

	return fit_unroll(&m, &t, large_window(p, q), row_by_matrix(p, q), steps, all);
}

int unroll_most(struct loop_prog *p)
{
	struct target m = sched_machine(p);

	return fit_unroll_most(&m);
}

/* Is a panel the same in all steps of the axis? */
static bool keeps_panel(struct loop_prog *p, const struct tile *q, int axis)
{
	for (int i = 0; i < q->nread; i++)
		if (tile_moves(p, q, q->read[i], q->vec_axis) && read_uses(p, q->read[i], lstage(p, q->anchor)->axis[axis].var))
			return false;
	return true;
}

/* Does the result of which one panel writes pieces exceed the second-level cache, and do all panels of those columns fit? */
static bool result_leaves(struct loop_prog *p, const struct tile *q)
{
	const struct stage *s = lstage(p, q->anchor);
	const struct loop_buf *b = lbuf(p, lstage(p, q->result ? q->result : q->anchor)->out);
	double l2 = (double)sched_machine(p).l2, columns = (double)s->axis[q->vec_axis].extent;
	double bytes = (double)(q->row_steps * q->groups) * columns * (double)dtype_size(b->dtype);

	for (int a = q->outer; a < s->nspatial; a++)
		bytes *= a == q->vec_axis || a == q->row_axis || !keeps_panel(p, q, a) ? 1 : (double)s->axis[a].extent;
	return bytes > l2 && columns * panel_bytes(p, q, 1, 1) <= l2;
}

/* Bytes that a tile reads from beyond the first-level cache: of its panel and its rows, what was not there for the tile before. */
static double tile_traffic(struct loop_prog *p, const struct tile *q, double rows)
{
	double panel = panel_bytes(p, q, q->vectors, sched_lanes(p));

	return panel + rows > fitted.cache_share * (double)sched_machine(p).l1 ? panel + rows : q->rows_outside ? panel : rows;
}

enum { LINE_BYTES = 64 };

/* Does a step along that axis lead the read to an element near by, in the same line of a cache as a rule? */
static bool stays_near(struct loop_prog *p, const struct tile *q, ex_id read, int axis)
{
	int64_t step;

	return read_step(p, read, lstage(p, q->anchor)->axis[axis].var, &step) && step &&
	       llabs(step) * (int64_t)dtype_size(lex(p, read)->dtype) < LINE_BYTES;
}

bool rows_share_lines(struct loop_prog *p, const struct tile *q, int axis)
{
	const struct stage *s = lstage(p, q->anchor);
	int lines = 0;

	for (int i = 0; i < q->nread; i++) {
		if (tile_moves(p, q, q->read[i], q->vec_axis) || s->naxes == s->nspatial)
			continue;
		if (stays_near(p, q, q->read[i], s->naxes - 1) || !stays_near(p, q, q->read[i], axis))
			return false;
		lines++;
	}
	return lines == 1;
}

/* Tiles of the whole anchor. */
static double count_tiles(struct loop_prog *p, const struct tile *q)
{
	const struct stage *s = lstage(p, q->anchor);
	double tiles = ceil((double)q->columns / (q->vectors * sched_lanes(p)));

	for (int a = 0; a < s->nspatial; a++)
		tiles *= a == q->vec_axis ? 1 : a == q->row_axis ? ceil((double)s->axis[a].extent / q->rows) : (double)s->axis[a].extent;
	return tiles;
}

double rows_traffic(struct loop_prog *p, const struct tile *q)
{
	struct fit_tile t = chosen_tile(p, q);
	double lines = rows_share_lines(p, q, q->row_axis) ? 2 : t.rows;

	return count_tiles(p, q) * tile_traffic(p, q, t.steps * lines * LINE_BYTES) / sched_machine(p).l2_a_cycle;
}

double turning_saves(struct loop_prog *p, const struct tile *q, int64_t step)
{
	struct fit_tile t = chosen_tile(p, q);
	double rows = 4 * t.rows, piece = 4 * ((double)step * (t.rows - 1) + 1);
	/* a piece of n bytes lies in 1 + (n - 4) / 64 lines on average */
	double lines = fmin(t.rows * LINE_BYTES, piece + LINE_BYTES - 4);
	double apart = tile_traffic(p, q, t.steps * lines), turned = tile_traffic(p, q, t.steps * rows);

	return count_tiles(p, q) * (apart - turned) / sched_machine(p).l2_a_cycle;
}

/* If operands that do not depend on the vector axis exceed the second-level cache, each panel would load them from beyond it; if the result
 * does, each panel would write pieces of lines and pages that have left it. All panels together fit. Long reductions hide the latency of
 * reading panels; taps of a window find them in the first-level cache. */
bool rows_first(struct loop_prog *p, const struct tile *q)
{
	double l2 = (double)sched_machine(p).l2, still, moves;

	operand_bytes(p, q, &still, &moves);
	bool read = reduce_steps(p, q) >= fitted.rows_first_steps && still > l2 && moves <= l2;
	return !is_window(p, q) && (read || result_leaves(p, q));
}
