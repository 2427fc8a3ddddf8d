/* The tile's size comes from counting: multiply-adds, loads and latency of one step of the reduction, times the number of
 * tiles, with the remainders that balanced tiles leave. */
#include <math.h>
#include <stdlib.h>
#include "target/target.h"
#include "sched/tile.h"

static int vector_regs(struct loop_prog *p) { return target_filled(p->target).vector_regs; }
static int fma_ports(struct loop_prog *p) { return target_filled(p->target).fma_ports; }
bool in_halves(struct loop_prog *p) { return fma_ports(p) == 1; }

/* A window that is written out whole: what its rows' taps have in common is loaded once, where registers hold it beside the
 * sums; or, of several vectors, the weights of a row of the window beside them (taps_innermost; with stride 2 that takes 1.01 to 1.04 of
 * the time). */
struct window {
	ex_id read;           /* 0: there is none */
	int64_t taps, stride; /* of a row; from one row to the next, in taps */
	bool by_row;          /* too large for that: only a row of its taps is written out */
};

/* Is nothing that the reduction reads the same along v? A depthwise window. */
static bool all_move(struct loop_prog *p, const struct tile *q)
{
	bool all = true;
	for (int i = 0; i < q->nread; i++)
		all &= tile_moves(p, q, q->read[i], q->v);
	return all;
}

static struct window find_window(struct loop_prog *p, const struct tile *q)
{
	const struct stage *s = lstage(p, q->anchor);
	bool whole = reduce_steps(p, q) <= (in_halves(p) ? WRITTEN_OUT_MAX : WINDOW_MAX),
	     rows = s->naxes - s->nspatial > 1 && !whole && all_move(p, q);
	int64_t row, tap;

	if (q->t < 0 || !(whole || rows) || (!rows && vector_regs(p) > 16 && !in_halves(p)))
		return (struct window){0};
	for (int i = 0; i < q->nread; i++) {
		ex_id e = q->read[i];
		if (!tile_moves(p, q, e, q->v) || !read_step(p, e, s->axis[q->t].var, &row))
			continue;
		for (int k = rows ? s->naxes - 1 : s->nspatial; k < s->naxes; k++) {
			bool moves = s->axis[k].extent > 1 && read_step(p, e, s->axis[k].var, &tap) && tap && row % tap == 0;
			if (moves && row / tap > 0 && row / tap < s->axis[k].extent && (!rows || s->axis[k].extent <= WRITTEN_OUT_MAX))
				return (struct window){e, s->axis[k].extent, row / tap, rows};
		}
	}
	return (struct window){0};
}

/* Taps of a row of the window that all rows of a tile read together. */
static double window_together(struct window w, double rows) { return (double)w.stride * (ceil(rows) - 1) + (double)w.taps; }

/* Does the read move along that axis of a tile? A group's operand stands still in it: second axes are split into groups, and vectors
 * lie in one where they divide it. */
bool tile_moves(struct loop_prog *p, const struct tile *q, ex_id read, int axis)
{
	poly_var v = lstage(p, q->anchor)->axis[axis].var;
	if (!read_uses(p, read, v))
		return false;
	int64_t group = read_group(p, read, v);
	return group == 1 || (axis == q->v && group % rule_lanes(p) != 0);
}

/* Do steps of the reduction shift the read by less than a vector? Then most of its vectors lie in two lines of cache. */
static bool shifts(struct loop_prog *p, const struct tile *q, ex_id read)
{
	const struct stage *s = lstage(p, q->anchor);
	int64_t step;
	bool found = false;
	for (int k = s->nspatial; k < s->naxes; k++)
		found |= s->axis[k].extent > 1 && read_step(p, read, s->axis[k].var, &step) && step && llabs(step) < rule_lanes(p);
	return found;
}

/* Loads of a vector's worth of each read: a lane at a time where lanes do not lie side by side and nothing lays them so (constants
 * go into panels, what rows use again too); what lies in two lines is loaded twice. */
void count_loads(struct loop_prog *p, struct tile *q, int lanes)
{
	enum { LINE_BYTES = 64 };
	static const double load_and_insert = 2;
	const struct stage *s = lstage(p, q->anchor);
	for (int i = 0; i < q->nread; i++) {
		int64_t step;
		bool along = tile_moves(p, q, q->read[i], q->v), constant = lbuf(p, lex(p, q->read[i])->buf)->scope == SCOPE_CONST;
		bool packed = dim_along(p, q, q->read[i]) >= 0 && q->t >= 0 && !tile_moves(p, q, q->read[i], q->t);
		bool apart = along && !constant && !q->turned && !packed &&
			     !(read_step(p, q->read[i], s->axis[q->v].var, &step) && (step == 1 || !step));
		bool across_lines = along && !constant && !q->turned && !packed && shifts(p, q, q->read[i]);
		q->each[i] = apart          ? load_and_insert * lanes
			     : across_lines ? 1 + (double)target_filled(p->target).vector_bytes / LINE_BYTES
					    : 1;
	}
}

/* What calls a function: sums that registers hold beside the call, and in halves; its cycles. */
enum { SUMS_BESIDE_CALL = 8, SUMS_BESIDE_CALL_HALVES = 14 };
static const double call_cycles = 29;

/* Loads and stores of such a tile; held: what its rows' taps have in common stays in registers. */
static double window_loads(struct loop_prog *p, const struct tile *q, struct window w, double rows, int vectors, bool held)
{
	double together = window_together(w, rows), loads = rows * vectors; /* stores */

	for (int i = 0; i < q->nread; i++) {
		bool along = tile_moves(p, q, q->read[i], q->v), down = tile_moves(p, q, q->read[i], q->t);
		bool shared = q->read[i] == w.read && held;
		loads += reduce_steps(p, q) * (along ? vectors * q->each[i] : 1) * (shared ? together / (double)w.taps : down ? rows : 1);
	}
	return loads;
}

/* Cycles of a tile of a window that is written out. Nothing waits: the next tile's sums are others, and what a tile costs once
 * runs beside its multiply-adds. Loads seldom come at their full rate where each multiply-add has one (depthwise 3x3 of 16
 * registers, all in the first level, Zen 3: 14 rows take 83 cycles, 7 that share loads 67 for two tiles). With 32 registers it
 * is measured and used in halves only: halves_window_cost. What calls a function waits for it once a tile, and leaves half of the registers: 3x3 with a
 * Swish, tiles of 7 or 8 rows have 0.95 to 0.97 of the time of 4 x 2 vectors, 5 rows 1.05, 14 rows 1.2; with stride 2 8 rows 0.92 to
 * 0.97 of that of 5. */
static double window_cost(struct loop_prog *p, const struct tile *q, struct window w, double rows, int vectors)
{
	static const double loads_a_cycle = 1.8, once = 2;
	bool held = vectors * (ceil(rows) + window_together(w, rows)) <= vector_regs(p) ||
		    (vectors > 1 && w.stride == 1 && !q->function && vectors * (ceil(rows) + (double)w.taps) < vector_regs(p));
	double loads = window_loads(p, q, w, rows, vectors, held);

	if (q->function && rows * vectors > SUMS_BESIDE_CALL)
		return INFINITY;
	return fmax(reduce_steps(p, q) * rows * vectors / fma_ports(p), loads / loads_a_cycle) + (q->function ? call_cycles : once);
}

/* Cycles of a tile in 32 registers of which the units do halves. A vector of it costs once what five or six rows take. Sums, what a tap
 * reads of the columns that rows share and its weights are held; the more of them, the more waits. 3x3 with a Swish, of the time of 8 x 1: 14 x 1 has
 * 0.95 (14x14) to 0.99, 10 to 12 x 1 0.98, 7 x 2 0.99 where 7 is a line; with stride 2, 10 x 1 1.03 and 14 x 1 1.13. 5x5 with one:
 * 14 x 1 0.95 of 7 x 1 (14x14), 7 x 2 0.96 (7x7), 4 x 2 0.93 of 4 x 3 (8x8); with stride 2, 7 x 1 0.92 to 0.96 of 14 x 1, with a Relu 0.92. */
static double halves_window_cost(struct loop_prog *p, const struct tile *q, struct window w, double rows, int vectors)
{
	enum { SOME = 26 };
	static const double once = 14, pressed = 3;
	double wanted = vectors * (ceil(rows) + (w.stride == 1 ? ceil(rows) : window_together(w, rows)) + 1);
	double loads = window_loads(p, q, w, rows, vectors, wanted < vector_regs(p));

	if (q->function && (rows * vectors > SUMS_BESIDE_CALL_HALVES || vectors > 2))
		return INFINITY;
	double cycles = fmax(reduce_steps(p, q) * rows * vectors, loads) + pressed * fmax(0, wanted - SOME);
	return cycles + (q->function ? call_cycles : once * vectors);
}

/* The same of 3x3 windows that call no function. Weights stay in registers from tile to tile where they all fit; the more of these
 * sums, columns and weights want, the more waits: of depthwise ones with a Clip, one vector, 28, 56 and 112 columns, tiles of 4 to 8
 * rows take alike, of 14 rows 1.04 to 1.12 of it; with stride 2, of 4 rows 0.92 of the time of 7 or 8. A tile that is a whole line
 * has no columns of others, and its borders are known: of 14 columns 14 rows have 0.90 of the time of 7, with stride 2 0.96 of
 * that of 4. */
static double halves_3x3_cost(struct loop_prog *p, const struct tile *q, struct window w, double rows, int vectors)
{
	enum { FEW = 4 };
	static const double once = 4, few = 3, some = 24, most = 30, pressed = 0.6, spilled = 1.2;
	double steps = reduce_steps(p, q), wanted = vectors * (ceil(rows) + window_together(w, rows) + steps) + 1;
	double cycles = steps * rows * vectors, loads = window_loads(p, q, w, rows, vectors, true);

	if (ceil(rows) >= (double)q->steps)
		return cycles + once * vectors;
	cycles = fmax(cycles, loads - (wanted <= most ? steps * vectors : 0));
	return cycles + once * vectors + few * fmax(0, FEW - ceil(rows)) + pressed * fmax(0, wanted - some) +
	       spilled * fmax(0, wanted - most);
}

/* Cycles of a tile of a window of which a row is written out at a time: what its taps share is held where registers do beside the sums,
 * a vector of weights comes with each tap. */
static double by_row_cost(struct loop_prog *p, const struct tile *q, struct window w, double rows, int vectors)
{
	static const double line = 2, once = 14;
	double steps = reduce_steps(p, q), wanted = vectors * (ceil(rows) + (w.stride == 1 ? ceil(rows) : window_together(w, rows)) + 1);
	double loads = window_loads(p, q, w, rows, vectors, wanted <= vector_regs(p)) / (in_halves(p) ? 1 : 2);

	if (q->function && rows * vectors > (in_halves(p) ? SUMS_BESIDE_CALL_HALVES : SUMS_BESIDE_CALL))
		return INFINITY;
	double cycles = fmax(fmax(steps * rows * vectors / fma_ports(p), loads), steps * target_filled(p->target).fma_latency);
	return cycles + line * steps / (double)w.taps + (q->function ? call_cycles : once);
}

/* Of 3x3 windows in halves whose line tiles do not divide, balanced tiles and loops that are cut have 0.96 to 0.99 of the time of
 * guards (28x28 to 112x112, tiles of 6 x 1, with a Clip or Relu); what is left over behind loops that are cut, 1.15 to 1.2. Of three
 * tiles guards have 0.95 to 0.97 (19x19, 20x20). */
bool better_balance(struct loop_prog *p, const struct tile *q)
{
	enum { FEW = 4 };
	struct window w = find_window(p, q);

	return in_halves(p) && !q->function && reduce_steps(p, q) <= WINDOW_MAX && w.read && w.stride == 1 && q->steps % q->rows != 0 &&
	       q->steps > FEW * q->rows;
}

/* What borders fill is asked step by step, and the middle is no loop of its own: 0.71 to 0.89 of the time of depthwise 3x3, 28x28
 * to 112x112, in halves, where loops that were cut have 0.80 to 0.99; 14x14 and 7x7 1.00; with a Swish 0.99 to 1.05. */
bool better_guards(struct loop_prog *p, const struct tile *q)
{
	return in_halves(p) && !q->function && reduce_steps(p, q) <= WINDOW_MAX && find_window(p, q).read && !better_balance(p, q);
}

/* What a tile costs once: zeroing, writing back, the epilogue. In 16 registers these run beside the next tile's multiply-adds where no
 * more than 8 are sums: of 1x1 convolutions of 24 and 32 steps with a Clip, Zen 3, tiles of 8 sums take 1 to 3 cycles more than
 * their steps, of 9 to 12 sums 9 to 15. With a Swish they do not: tiles of 8 take 1.06 of the time of 12. */
static double once_cost(struct loop_prog *p, const struct tile *q, int sums)
{
	return vector_regs(p) > 16 || q->function ? sums + 8 : sums > 8 ? sums + 2 : 3;
}

/* A row times a matrix of constants, once a run: bytes that come from memory count, with what panels are rounded up by; then how well so many
 * streams do. 4 vectors have, of the time of 7, in 16 registers (Zen 3): before a Sigmoid 0.74 to 0.93 (20 to 240 -> 480 to 1152), else
 * 0.65 to 1.06 (240 -> 960; 256 to 2048 -> 768 to 2048); 3 where 4 do not divide have 0.90 to 1.03 of that of 6. In halves, before a
 * Sigmoid, 3 have 0.82 to 0.99 (4 to 48 -> 96 to 1152); else 2 have 0.90 to 1.01 of the time of 7 or 8 (100 to 2048 -> 128 to 4096). */
static bool row_by_matrix(struct loop_prog *p, const struct tile *q)
{
	bool constants = false;
	for (int i = 0; i < q->nread; i++)
		constants |= lbuf(p, lex(p, q->read[i])->buf)->scope == SCOPE_CONST &&
			     read_uses(p, q->read[i], lstage(p, q->anchor)->axis[q->v].var);
	double least = in_halves(p) && q->function ? 1 : in_halves(p) || vector_regs(p) <= 16 ? WINDOW_MAX : INFINITY;
	return q->t < 0 && constants && !lstage(p, q->anchor)->scan && reduce_steps(p, q) > least;
}

static double row_cost(struct loop_prog *p, const struct tile *q, double panels, int vectors)
{
	static const double streams[3][9] = {{0, 1.1, 1.05, 1.025, 1, 1.035, 1.03, 1.06, 1.06}, /* in halves, then before a function: */
					     {0, 1.03, 0.98, 1, 1.01, 1.06, 1.06, 1.1, 1.1},
					     {0, 1.03, 1.01, 1, 1.01, 1.06, 1.06, 1.1, 1.1}};
	int of = !in_halves(p) ? 0 : q->function ? 2 : 1;

	return panels * vectors * streams[of][vectors < 8 ? vectors : 8];
}

/* Operands of what follows that come from beyond the second level. */
static int far_operands(struct loop_prog *p, const struct tile *q)
{
	ex_id read[READS_MAX];
	int far = 0;

	for (int i = 0, n = q->result ? stage_all_reads(p, q->result, read) : 0; i < n; i++) {
		buf_id b = lex(p, read[i])->buf;
		far += lbuf(p, b)->scope == SCOPE_IN &&
		       (int64_t)dtype_size(lbuf(p, b)->dtype) * buf_elems(p, b) > target_filled(p->target).l2;
	}
	return far;
}

/* Cycles of a tile of contractions in halves. Multiply-adds bound nearly all tiles, so what tells them apart is what is not hidden
 * behind them: a little of each load, more of vectors that come from beyond the first level, and what a tile costs once, which runs
 * beside the next tile where there are few sums of one vector, and waits where registers are full. Fitted to 21 tiles of 60
 * convolutions (resnet50, mobilenet_v2, Zen 4); of the time of 14 x 2: 1x1 of 16 and 24 steps 14 x 1 has 0.88 and 0.91, of 64 and 96
 * steps 6 x 4 0.95 and 0.96, of 1024 to 2048 steps 6 x 4 0.98 to 1.00, 14 x 1 1.1 to 1.6; of 64 and 128 steps to 1.6 and 3.2 MB
 * that are added to as many, 7 x 1 has 0.91 and 0.96. */
static double halves_cost(struct loop_prog *p, const struct tile *q, double mean_rows, int sums, int vectors, int lanes)
{
	enum { FEW = 14, MANY = 24 };
	static const double broadcast = 0.045, near = 0.02, far = 0.12, holds = 0.9;
	double vector = panel_bytes(p, q, vectors, lanes) > holds * (double)target_filled(p->target).l1 ? far : near, loads = 0, waits = 0;
	double once = q->function ? sums + 8 : sums > MANY ? 2.5 * sums : sums > FEW || vectors > 1 ? 1.5 * sums : 3;

	once *= 1 + 2 * far_operands(p, q);
	for (int i = 0; i < q->nread; i++) {
		bool along = tile_moves(p, q, q->read[i], q->v);
		double n = (along ? vectors * q->each[i] : 1) * (tile_moves(p, q, q->read[i], q->t) ? mean_rows : 1);
		loads += along ? n : n / 2;
		waits += along ? n * vector : n * broadcast;
	}
	return reduce_steps(p, q) * (fmax(fmax(mean_rows * vectors, loads), target_filled(p->target).fma_latency) + waits) + once;
}

/* Cycles for the whole anchor with a tile of rows x vectors: the steps of its reduction, each bound by multiply-adds,
 * loads or latency, and what a tile costs once. Balanced tiles: the mean number of rows counts. */
static double tile_cost(struct loop_prog *p, const struct tile *q, struct window w, int rows, int vectors, int lanes)
{
	const struct stage *s = lstage(p, q->anchor);
	double panels = ceil((double)s->axis[q->v].extent / (lanes * vectors)), tiles = 1, mean_rows = 1, steps = reduce_steps(p, q),
	       loads = 0;
	if (q->t >= 0) {
		tiles = ceil((double)q->steps / rows);
		mean_rows = (double)q->steps / tiles;
	}
	if (row_by_matrix(p, q))
		return steps * row_cost(p, q, panels, vectors);
	bool is_3x3 = w.taps == 3 && steps == 9 && !q->function;
	if (w.read && w.by_row)
		return panels * tiles * by_row_cost(p, q, w, mean_rows, vectors);
	if (w.read)
		return panels * tiles *
		       (!in_halves(p) ? window_cost
			: is_3x3      ? halves_3x3_cost
				      : halves_window_cost)(p, q, w, mean_rows, vectors);
	if (q->t >= 0 && in_halves(p))
		return panels * tiles * halves_cost(p, q, mean_rows, rows * vectors, vectors, lanes);
	for (int i = 0; i < q->nread; i++) {
		bool along = tile_moves(p, q, q->read[i], q->v);
		bool down = q->t >= 0 && tile_moves(p, q, q->read[i], q->t);
		double n = (along ? vectors * q->each[i] : 1) * (down ? mean_rows : 1);
		loads += along && in_halves(p) ? n : n / 2;
	}
	double step = fmax(fmax(mean_rows * vectors / fma_ports(p), loads), target_filled(p->target).fma_latency);
	return panels * tiles * (steps * (step + 0.5 /* the loop itself */) + once_cost(p, q, rows * vectors));
}

static bool is_guard(struct loop_prog *p, ex_id e, void *arg) { return lex(p, e)->kind == EX_GUARD; }

bool has_guard(struct loop_prog *p, ex_id e) { return ex_find(p, e, is_guard, NULL); }

double reduce_steps(struct loop_prog *p, const struct tile *q)
{
	const struct stage *s = lstage(p, q->anchor);
	double n = 1;
	for (int a = s->nspatial; a < s->naxes; a++)
		n *= (double)s->axis[a].extent;
	return n;
}

/* Depthwise 5x5, Zen 3: 0.61 to 0.82 of the time of loops over its taps with tiles of 14. */
bool larger_window(struct loop_prog *p, const struct tile *q)
{
	double steps = reduce_steps(p, q);
	return q->fills && steps > WINDOW_MAX && steps <= WRITTEN_OUT_MAX;
}

/* 0.93 to 1.00 of the time of 5x5; of 3x3 with two vectors 0.92 to 0.95, with one and 7 or 8 rows 0.96 to 1.01, with 5 rows 0.99 to 1.06.
 * Where channels are no more than the taps of a row, it is taps that make a loop: of first convolutions 0.96 (7x7, and 3x3 to 64
 * channels) to 1.00 (3x3 to 32). */
bool taps_innermost(struct loop_prog *p, const struct tile *q)
{
	enum { ROWS_INSIDE = 7 };
	const struct stage *s = lstage(p, q->anchor);
	bool few = s->naxes - s->nspatial > 2 && s->axis[s->nspatial].extent <= s->axis[s->naxes - 1].extent;

	struct window w = find_window(p, q);
	return few || larger_window(p, q) || (w.read && (w.by_row || q->vectors > 1 || q->rows >= ROWS_INSIDE));
}

double panel_bytes(struct loop_prog *p, const struct tile *q, int vectors, int lanes) { return 4.0 * vectors * lanes * reduce_steps(p, q); }

double panel_room(struct loop_prog *p) { return 0.7 * (double)target_filled(p->target).l2; }

/* Bytes of what stands still along v, and of what moves. */
static void operand_bytes(struct loop_prog *p, const struct tile *q, double *still, double *moves)
{
	*still = *moves = 0;
	for (int i = 0; i < q->nread; i++)
		*(tile_moves(p, q, q->read[i], q->v) ? moves : still) += 4 * (double)buf_elems(p, lex(p, q->read[i])->buf);
}

static bool is_window(struct loop_prog *p, const struct tile *q)
{
	return lstage(p, q->anchor)->naxes - lstage(p, q->anchor)->nspatial > 1;
}

/* What stands still along v does not fit in the second level of cache, so each panel would fetch it anew from beyond; all panels
 * do. A tile of a long reduction is read soon enough not to wait for it; a window's taps find in the first level what others fetched.
 * Zen 3, of the time of panels first: 1x1 convolutions 256 -> 128 and 64, 56x56, 0.93 and 0.96; 256 -> 512 with stride 2, 0.91;
 * 192 -> 32, 28x28, 0.99; but 64 -> 256, 56x56, 1.06 to 1.18. */
bool rows_first(struct loop_prog *p, const struct tile *q)
{
	enum { LONG = 128 };
	double l2 = (double)target_filled(p->target).l2, still, moves;

	operand_bytes(p, q, &still, &moves);
	return !is_window(p, q) && reduce_steps(p, q) >= LONG && still > l2 && moves <= l2;
}

/* Rows that the first level of cache holds side by side: rows a multiple of 4 KB apart lie in one set. All of its ways but one, in
 * halves (Zen 4): 7 x 2 of 512 channels 14x14, 3x3 with stride 2, and 7 x 4 of 1024, 1x1 with stride 2, have 0.85 and 0.87 of the time
 * of 4 x 4, and 14 x 2 take 1.15 to 1.3 times as long as 7 x 2. */
static int64_t rows_without_conflict(struct loop_prog *p, const struct tile *q)
{
	const struct stage *s = lstage(p, q->anchor);
	int ways = (int)(target_filled(p->target).l1 / 4096);
	for (int i = 0; q->t >= 0 && i < q->nread; i++) {
		int64_t step;
		if (!tile_moves(p, q, q->read[i], q->v) && read_step(p, q->read[i], s->axis[q->t].var, &step) && step &&
		    step * 4 % 4096 == 0)
			return in_halves(p) ? ways - 1 : ways > 6 ? ways - 3 : 4;
	}
	return INT64_MAX;
}

enum { ROWS_MAX = 30, ROWS_WITH_FILLS = 14 /* written out once a border: nine times */ };

/* Vectors that every tile reads again, where one panel is all there is and the reduction is written out (a depthwise
 * window's weights): the compiler keeps them in registers from tile to tile. */
static int kept_vectors(struct loop_prog *p, const struct tile *q, int vectors, int lanes)
{
	const struct stage *s = lstage(p, q->anchor);
	double steps = reduce_steps(p, q);
	int kept = 0;
	if (s->axis[q->v].extent > (int64_t)vectors * lanes || steps > WINDOW_MAX)
		return 0;
	for (int i = 0; i < q->nread; i++) {
		bool moves = !read_uses(p, q->read[i], s->axis[q->v].var);
		for (int a = 0; a < s->nspatial; a++)
			moves |= a != q->v && read_uses(p, q->read[i], s->axis[a].var);
		kept += moves ? 0 : (int)steps * vectors;
	}
	return kept;
}

static bool tile_fits(struct loop_prog *p, const struct tile *q, int rows, int vectors, int lanes)
{
	for (int i = 0; i < q->nread; i++) { /* what stands still along v does so for the width of a panel */
		poly_var v = lstage(p, q->anchor)->axis[q->v].var;
		if (read_uses(p, q->read[i], v) && !tile_moves(p, q, q->read[i], q->v) &&
		    read_group(p, q->read[i], v) % (vectors * lanes) != 0)
			return false;
	}
	if (rows * vectors + vectors + 1 > vector_regs(p) && rows * vectors > 1)
		return false;
	if (q->by_panels && lstage(p, q->anchor)->axis[q->v].extent % (vectors * lanes) != 0)
		return false;
	return vectors == 1 || (int64_t)(vectors - 1) * lanes < lstage(p, q->anchor)->axis[q->v].extent;
}

/* Fits where instructions take the longer of the tile's sides from memory. The rule does not count on that, a search may try it: 4
 * rows of 7 vectors have 0.88 of the time of 3 (Conv 1x1 672 -> 112, 14x14, Zen 5), of 4 vectors 7 have 1.05 of that of 6. In halves
 * (Zen 4) these have 0.87 to 1.00, of 30 convolutions, and it does. */
static bool tile_may_fit(struct loop_prog *p, const struct tile *q, int rows, int vectors, int lanes)
{
	int side = rows < vectors ? rows : vectors;
	return tile_fits(p, q, rows, vectors, lanes) || (tile_fits(p, q, 1, vectors, lanes) && rows * vectors + side <= vector_regs(p));
}

/* Each panel reads anew what stands still along v: where that fills much of the second level, wide ones have less to read, as long as
 * one fits in the first. What a step multiplies, instructions take from memory then, so that it does not count as a tile that fits.
 * 1x1 convolutions of 27x27 to 112x112, to 256 channels, Zen 3: 0.83 to 1.00 of the time of 6 x 2 vectors; of 384 to 1024 channels
 * 0.96 to 1.05. */
enum { WIDE_ROWS = 3, WIDE_VECTORS = 4 };
static bool better_wide(struct loop_prog *p, const struct tile *q, double cost, int lanes)
{
	static const double no_matter = 1.01;
	const struct stage *s = lstage(p, q->anchor);
	double still, moves;

	for (int a = 0; a < s->nspatial; a++)
		if (a != q->v && a != q->t && s->axis[a].extent > 1)
			return false;
	if (q->t < 0 || is_window(p, q) || vector_regs(p) > 16 || q->vectors >= WIDE_VECTORS ||
	    !tile_may_fit(p, q, WIDE_ROWS, WIDE_VECTORS, lanes))
		return false;
	operand_bytes(p, q, &still, &moves);
	return still > (double)target_filled(p->target).l2 / 2 &&
	       panel_bytes(p, q, WIDE_VECTORS, lanes) <= (double)target_filled(p->target).l1 &&
	       tile_cost(p, q, (struct window){0}, WIDE_ROWS, WIDE_VECTORS, lanes) <= no_matter * cost;
}

static int most_rows(struct loop_prog *p, const struct tile *q)
{
	int64_t most = q->steps;
	int limit = has_guard(p, lstage(p, q->anchor)->body) ? ROWS_WITH_FILLS : ROWS_MAX;
	return most > limit ? limit : (int)most;
}

bool sums_rows_apart(struct loop_prog *p, const struct tile *q)
{
	bool constants = false;
	for (int i = 0; i < q->nread; i++)
		constants |= lbuf(p, lex(p, q->read[i])->buf)->scope == SCOPE_CONST;
	return q->t < 0 && !constants;
}

/* A step of a single vector of sums is less than what its loop costs: 0.76 to 0.90 of the time (1x1 convolutions of 32 to 144 steps,
 * Zen 3). Of global pooling it is 0.80 to 1.29, and tiles of many sums win some percent by it, or spill and lose as much. Of 5x5
 * windows in halves whose tiles are whole lines, with stride 2 (6 to 10 columns) 4 steps of the inner loop have 0.89 to 0.96 of the
 * time of all of both, with stride 1 and two vectors (7 columns) 0.97 to 1.00. A row times a matrix before a Sigmoid in halves: of 40, 48
 * and 64 steps all have 0.98, 0.93 to 0.98, 1.00; of 20 to 32 steps 1.02 to 1.04. */
int unrolled_steps(struct loop_prog *p, const struct tile *q, int64_t steps, int64_t all)
{
	enum { ONE = 8, OF_WINDOW = 4, MANY = 32 };
	struct window w = find_window(p, q);
	bool line = q->rows >= q->steps;

	if (w.by_row)
		return (int)w.taps;
	if (all && larger_window(p, q))
		return in_halves(p) && line && (w.stride > 1 || q->vectors > 1) && steps >= OF_WINDOW ? OF_WINDOW : (int)all;
	if (all > MANY && in_halves(p) && q->function && row_by_matrix(p, q))
		return (int)all;
	return q->rows * q->vectors == 1 && steps >= ONE ? ONE : 1;
}

int unrolled_most(struct loop_prog *p) { return in_halves(p) ? 350 : 256; }

bool calls_function(struct loop_prog *p, const struct tile *q)
{
	enum { FUNCTION = 10 };
	return q->result && rule_cost(p, lstage(p, q->result)->body) >= FUNCTION;
}

/* Vectors of sums that are worth while: of halves each lane is a statement of its own. 2 x 2 vectors of 8 lanes are as fast as
 * 6 x 2 then, and compiled in a third of the time. */
static double most_sums(struct loop_prog *p, const struct tile *q, int lanes)
{
	enum { SCALARS = 32 };
	for (int i = 0; i < q->nread; i++)
		if (lex(p, q->read[i])->dtype == DT_F16 || lex(p, q->read[i])->dtype == DT_BF16)
			return (double)SCALARS / lanes;
	return INFINITY;
}

/* The cheapest tile of that many vectors (0: of any number); its cost for the whole anchor, in cycles. */
static double best_tile(struct loop_prog *p, const struct tile *q, int lanes, int only, int *best_rows, int *best_vectors)
{
	int64_t most = most_rows(p, q), conflict = rows_without_conflict(p, q);
	struct window w = find_window(p, q);
	int regs = vector_regs(p), widest = only                                                                          ? only
					    : sums_rows_apart(p, q) && regs <= 16 && reduce_steps(p, q) > WRITTEN_OUT_MAX ? VECTORS_APART
															  : VECTORS_MAX;
	bool (*fits)(struct loop_prog *, const struct tile *, int, int, int) = in_halves(p) ? tile_may_fit : tile_fits;
	double best = INFINITY, room = larger_window(p, q) ? unrolled_most(p) / reduce_steps(p, q) : INFINITY;
	if (w.by_row)
		room = unrolled_most(p) / (double)w.taps;
	room = fmin(room, most_sums(p, q, lanes));
	if (most > conflict)
		most = conflict;
	*best_rows = 1;
	*best_vectors = only ? only : 1;
	for (int vectors = only ? only : 1; vectors <= widest; vectors++)
		for (int rows = 1; rows <= most; rows++) {
			if (!fits(p, q, rows, vectors, lanes) || rows * vectors > room)
				continue;
			if (rows > 1 && rows * vectors + kept_vectors(p, q, vectors, lanes) + 1 > regs)
				continue;
			double c = tile_cost(p, q, w, rows, vectors, lanes);
			if (q->t >= 0 && vectors > 1 && panel_bytes(p, q, vectors, lanes) > panel_room(p))
				c *= 1.15;
			if (c < best * 0.999) {
				best = c;
				*best_rows = rows;
				*best_vectors = vectors;
			}
		}
	return best;
}

double rule_tile_cycles(struct rule *r, stage_id anchor, int v, int t, int64_t steps)
{
	struct tile q = {.anchor = anchor, .v = v, .t = t, .steps = steps};
	int rows, vectors;

	q.nread = stage_all_reads(r->p, anchor, q.read);
	count_loads(r->p, &q, r->lanes);
	return best_tile(r->p, &q, r->lanes, 0, &rows, &vectors);
}

void choose_tile(struct rule *r, struct tile *q)
{
	struct loop_prog *p = r->p;
	int64_t choice[ROWS_MAX];
	int n = 0;
	count_loads(p, q, r->lanes);
	double cost = best_tile(p, q, r->lanes, 0, &q->rows, &q->vectors);
	if (better_wide(p, q, cost, r->lanes))
		q->rows = WIDE_ROWS, q->vectors = WIDE_VECTORS;
	int usual = q->vectors;
	for (int vectors = 1; vectors <= VECTORS_MAX; vectors++)
		if (tile_fits(p, q, 1, vectors, r->lanes))
			choice[n++] = vectors;
	q->vectors = (int)rule_sample(r, "vectors", choice, n, usual);
	if (q->vectors != usual)
		best_tile(p, q, r->lanes, q->vectors, &q->rows, &q->vectors);
	n = 0;
	for (int rows = 1; rows <= most_rows(p, q); rows++)
		if (tile_may_fit(p, q, rows, q->vectors, r->lanes))
			choice[n++] = rows;
	if (!n) /* nothing to compute */
		choice[n++] = 1;
	if (q->t >= 0)
		q->rows = (int)rule_sample(r, "rows", choice, n, q->rows);
}

/* Parts of an axis in each of which something stands still; 1: it is no such axis. */
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

static void count_steps(struct rule *r, struct tile *q)
{
	q->groups = q->t < 0 ? 1 : groups_along(r->p, q, q->t);
	q->steps = q->t < 0 ? 1 : axis_steps(r, q->anchor, q->t) / q->groups;
}

/* The axes that the second one may be (-1: none), and which is the usual one: that along which the most reads stand still that
 * move along v; where none does, there is none, though rows would at least be sums that do not wait for each other. */
static int second_axes(struct loop_prog *p, const struct tile *q, int *axis, int *best)
{
	const struct stage *s = lstage(p, q->anchor);
	int n = 0;
	double score = 0, reuse[LOOP_AXES_MAX] = {0};
	*best = -1;
	for (int a = 0; a < s->nspatial; a++)
		for (int i = 0; i < q->nread && a != q->v && s->axis[a].extent > 1 && s->axis[a].kind != AXIS_SCAN; i++)
			reuse[a] += tile_moves(p, q, q->read[i], q->v) &&
				    (!read_uses(p, q->read[i], s->axis[a].var) || read_group(p, q->read[i], s->axis[a].var) > 1);
	for (int a = 0; a < s->nspatial; a++) {
		double size = fmin(30, (double)s->axis[a].extent / (double)groups_along(p, q, a));
		if (reuse[a] <= 0)
			continue;
		if (reuse[a] * size >= score) { /* the inner of equals: shorter steps in memory */
			score = reuse[a] * size;
			*best = n;
		}
		axis[n++] = a;
	}
	if (*best < 0) {
		axis[n++] = -1;
		*best = 0;
		for (int a = 0; a < s->nspatial; a++)
			if (a != q->v && s->axis[a].extent > 1 && s->axis[a].kind != AXIS_SCAN)
				axis[n++] = a;
	}
	return n;
}

void choose_second_axis(struct rule *r, struct tile *q)
{
	const struct stage *s = lstage(r->p, q->anchor);
	const char *name[LOOP_AXES_MAX + 1];
	int axis[LOOP_AXES_MAX + 1], best, n = second_axes(r->p, q, axis, &best);

	for (int i = 0; i < n; i++)
		name[i] = axis[i] < 0 ? "none" : sym_str(s->axis[axis[i]].name);
	q->t = axis[n > 1 ? rule_word(r, "second", name, n, best) : best];
	count_steps(r, q);
}

double rule_cycles_along(struct rule *r, stage_id anchor, stage_id result, int v, bool turned)
{
	struct tile q = {.anchor = anchor, .result = result, .v = v, .turned = turned};
	struct loop_prog *p = r->p;
	int axis[LOOP_AXES_MAX + 1], best, rows, vectors;
	double others;

	q.nread = stage_all_reads(p, anchor, q.read);
	q.fills = has_guard(p, lstage(p, anchor)->body);
	q.function = calls_function(p, &q);
	second_axes(p, &q, axis, &best);
	q.t = axis[best];
	count_steps(r, &q);
	others = (double)q.groups;
	count_loads(p, &q, r->lanes);
	for (int a = 0; a < lstage(p, anchor)->nspatial; a++)
		others *= a == v || a == q.t ? 1 : (double)lstage(p, anchor)->axis[a].extent;
	return others * best_tile(p, &q, r->lanes, 0, &rows, &vectors);
}
