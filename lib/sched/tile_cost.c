/* The cost of a tile: its multiply-adds, loads and registers are counted, and take the cycles of the unit that has the most to do. */
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
	bool whole = reduce_steps(p, q) <= UNROLL_ALWAYS, row_at_a_time = is_window(p, q) && !whole && all_move(p, q);
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
	return rows * (sched_machine(p)->stores_two ? (vectors + 1) / 2 : vectors);
}

/* Steps in which a number that is the same along rows and vectors stays in a register. */
static double still_numbers(struct loop_prog *p, const struct tile *q)
{
	double n = 0;

	for (int i = 0; i < q->nread && sched_machine(p)->loads_apart; i++)
		n += tile_moves(p, q, q->read[i], q->vec_axis) || tile_moves(p, q, q->read[i], q->row_axis) ? 0 : reduce_steps(p, q);
	return n;
}

/* A tile in numbers. Loads are those of all steps. */
struct count {
	double steps;         /* of the reduction */
	double rows;          /* mean over all tiles */
	int vectors;          /* in a row */
	double products;      /* instructions of the unit that multiplies */
	double along, across; /* loads of vectors, and stores of a window's; of single elements */
	double once;          /* cycles that a tile takes beside its steps */
};

/* Elements of a row of a window that rows of a tile read together. */
static double read_together(struct window w, double rows) { return (double)w.stride * (ceil(rows) - 1) + (double)w.taps; }

/* The share of what rows of a window read together that is in a register when it is read again: there has to be one, which nothing else that lacks
 * one has taken. */
static double share_held(struct loop_prog *p, const struct tile *q, struct window w, const struct count *t)
{
	double sums = t->vectors * ceil(t->rows), left = sched_machine(p)->vector_regs - sums - still_numbers(p, q);
	double share = fmax(0, fmin(1, left / (t->vectors * read_together(w, t->rows))));

	return share * share;
}

/* What a read loads: by rows that share taps, what registers hold of them once. A number that stays in one is not loaded. */
static void count_reads(struct loop_prog *p, const struct tile *q, struct window w, struct count *t)
{
	bool stays = w.read && still_numbers(p, q) > 0;
	double held = w.read ? share_held(p, q, w, t) : 0;

	for (int i = 0; i < q->nread; i++) {
		bool along = tile_moves(p, q, q->read[i], q->vec_axis),
		     down = q->row_axis >= 0 && tile_moves(p, q, q->read[i], q->row_axis);
		double rows = down ? t->rows : 1;
		if (w.read && q->read[i] == w.read)
			rows += held * (read_together(w, t->rows) / (double)w.taps - rows);
		if (along)
			t->along += t->steps * t->vectors * q->loads[i] * rows;
		else if (down || !stays)
			t->across += t->steps * rows;
	}
}

/* Tiles are balanced: rows is the mean number. */
static struct count count_tile(struct loop_prog *p, const struct tile *q, struct window w, int rows, int vectors)
{
	/* cycles: of a loop over steps or lines of a window that begins, of its own instructions in an iteration; of a tile without one */
	enum { LOOP_BEGINS = 8, NEXT_TILE = 2 };
	static const double iteration = 0.5, at_once = 0.9; /* of the loads that ports do: neighbours meet in a bank */
	const struct target *m = sched_machine(p);
	double tiles = q->row_axis < 0 ? 1 : ceil((double)q->row_steps / rows);
	struct count t = {.steps = reduce_steps(p, q), .rows = q->row_axis < 0 ? 1 : (double)q->row_steps / tiles, .vectors = vectors};
	double joined = q->pair > 1 && !pairs_may_lie_together(p, q) ? ceil(t.rows / (double)q->pair) : 0;

	t.products = t.steps * (t.rows * vectors + joined);
	count_reads(p, q, w, &t);
	double iterations = !w.read ? t.steps : w.row_at_a_time ? t.steps / (double)w.taps : 0;
	t.once = iterations > 0 ? LOOP_BEGINS + iteration * iterations : NEXT_TILE;
	if (!w.read) {
		t.once += rows * vectors;
		return t;
	}
	t.along = (t.along + tile_stores(p, t.rows, vectors)) / at_once;
	t.products += m->begins_sums ? tile_stores(p, t.rows, vectors) : 0;
	if (q->function) /* it wants half of the registers: other sums are stored and loaded */
		t.once += m->call_cycles + fmax(0, vectors * ceil(t.rows) - m->vector_regs / 2.0);
	return t;
}

/* Cycles of one tile: sums wait for each other as far as the machine does not look ahead to those of the next tiles. */
static double tile_cycles(const struct target *m, const struct count *t)
{
	enum { ELEMENT_PORTS = 2 };
	double element_ports = fmax(ELEMENT_PORTS, m->load_ports), loads = t->along / m->load_ports + t->across / element_ports;
	double tiles = fmax(1, m->ahead / (t->products + t->along + t->across));

	return fmax(fmax(t->products / m->fma_ports, loads), t->steps * m->fma_latency / tiles) + t->once;
}

double tile_cost(struct loop_prog *p, const struct tile *q, struct window w, int rows, int vectors, int lanes)
{
	const struct target *m = sched_machine(p);
	struct count t = count_tile(p, q, w, rows, vectors);
	double panels = ceil((double)lstage(p, q->anchor)->axis[q->vec_axis].extent / (lanes * vectors));
	double tiles = q->row_axis >= 0 ? ceil((double)q->row_steps / rows) : 1;

	return panels * tiles * tile_cycles(m, &t);
}

/* The mean number of rows of the chosen tile. */
static double mean_rows(const struct tile *q) { return q->row_axis < 0 ? 1 : (double)q->row_steps / ceil((double)q->row_steps / q->rows); }

bool taps_innermost(struct loop_prog *p, const struct tile *q)
{
	enum { ROWS_INSIDE = 7 };
	const struct stage *s = lstage(p, q->anchor);
	struct window w = shared_window(p, q);
	/* fewer channels than taps in a row: the loop is over taps */
	bool few = s->naxes - s->nspatial > 2 && s->axis[s->nspatial].extent <= s->axis[s->naxes - 1].extent;

	if (sched_machine(p)->loads_apart && w.axis == s->nspatial) /* they are, where the first axis is inside */
		return false;
	return few || large_window(p, q) || (w.read && (w.row_at_a_time || q->vectors > 1 || q->rows >= ROWS_INSIDE));
}

int unroll_steps(struct loop_prog *p, const struct tile *q, int64_t steps, int64_t all)
{
	enum { STEPS_OF_ONE = 8 };
	struct window w = shared_window(p, q);

	if (w.row_at_a_time)
		return (int)w.taps;
	if (all && large_window(p, q))
		return (int)all;
	return q->rows * q->vectors == 1 && steps >= STEPS_OF_ONE ? STEPS_OF_ONE : 1;
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
	double l2 = (double)sched_machine(p)->l2, columns = (double)s->axis[q->vec_axis].extent;
	double bytes = (double)(q->row_steps * q->groups) * columns * (double)dtype_size(b->dtype);

	for (int a = q->outer; a < s->nspatial; a++)
		bytes *= a == q->vec_axis || a == q->row_axis || !keeps_panel(p, q, a) ? 1 : (double)s->axis[a].extent;
	return bytes > l2 && columns * panel_bytes(p, q, 1, 1) <= l2;
}

/* Bytes that a tile reads from beyond the first-level cache: of its panel and its rows, what was not there for the tile before. */
static double tile_traffic(struct loop_prog *p, const struct tile *q, double rows)
{
	double panel = panel_bytes(p, q, q->vectors, sched_lanes(p));

	return panel + rows > CACHE_SHARE * (double)sched_machine(p)->l1 ? panel + rows : q->rows_outside ? panel : rows;
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
	double lines = rows_share_lines(p, q, q->row_axis) ? 2 : mean_rows(q);

	return count_tiles(p, q) * tile_traffic(p, q, reduce_steps(p, q) * lines * LINE_BYTES) / sched_machine(p)->l2_a_cycle;
}

double turning_saves(struct loop_prog *p, const struct tile *q, int64_t step)
{
	double rows = 4 * mean_rows(q), piece = 4 * ((double)step * (mean_rows(q) - 1) + 1), steps = reduce_steps(p, q);
	/* a piece of n bytes lies in 1 + (n - 4) / 64 lines on average */
	double lines = fmin(mean_rows(q) * LINE_BYTES, piece + LINE_BYTES - 4);
	double apart = tile_traffic(p, q, steps * lines), turned = tile_traffic(p, q, steps * rows);

	return count_tiles(p, q) * (apart - turned) / sched_machine(p)->l2_a_cycle;
}

/* If operands that do not depend on the vector axis exceed the second-level cache, each panel would load them from beyond it; if the result
 * does, each panel would write pieces of lines and pages that have left it. All panels together fit. Long reductions hide the latency of
 * reading panels; taps of a window find them in the first-level cache. */
bool rows_first(struct loop_prog *p, const struct tile *q)
{
	enum { ROWS_FIRST_STEPS = 128 };
	double l2 = (double)sched_machine(p)->l2, still, moves;

	operand_bytes(p, q, &still, &moves);
	bool read = reduce_steps(p, q) >= ROWS_FIRST_STEPS && still > l2 && moves <= l2;
	return !is_window(p, q) && (read || result_leaves(p, q));
}
