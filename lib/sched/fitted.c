/* Fitted numbers. NOTHING IS ADDED HERE: a learned cost model takes the place of this file. fitted.h says what each number
 * stands for, doc/schedules.md what was timed. */
#include "sched/fitted.h"
#include <math.h>

const struct fitted fitted = {
	.issue = 5,
	.scalar_call = 2,
	.chain_most = 15,
	.in_flight = 300,
	.loop = 1,
	.loop_exit = 20,
	.store_latency = 10,
	.lanes_arith = 6,
	.lanes_latency = 30,
	.lane_load = 1.5,
	.conflict_loads = 4,
	.guard_cut = 0.2,
	.guard_left = 2,
	.call_vector = 4,
	.cache_share = 0.8,
	.memory_overlap = 0.15,
	.uops_fit = 4000,
	.uops_slope = 0.1,
	.split_level = 2,

	.call = 10,
	.guard = 3,
	.inline_free = 2,
	.inline_max = 12,
	.inline_readers = 3,
	.inline_once = 1.5,
	.inline_growth = 64,
	.inline_whole = 1 << 12,
	.window_taps = 49,

	.line_cycles = 200,
	.start_lines = 2,
	.thread_lines = 2,
	.worth_starts = 8,
	.heavy_share = 0.8,
	.operation = 0.5,
	.halo = 3,

	.transform_margin = 0.85,
	.transpose_margin = 0.9,
	.transpose_shuffles = 2,
	.block_margin = 0.95,

	.panel_share = 0.7,
	.panel_too_large = 1.15,
	.chunk_over = 1.5,
	.chunk_min = 32,
	.better = 0.999,
	.function = 10,
	.function_steps = 256,
	.rows_first_steps = 128,
	.second_axis = 30,

	.map_unroll = 4,
	.map_unroll_exp = 8,
	.row_vectors = 4,
	.row_vectors_from = 8,
	.rows_share = 0.7,
	.rows_share_readonly = 1.05,
	.rows_readonly = 4,
	.column_vectors = 4,
	.block_share = 0.5,
};

/* A register tile is small, or one of these: what always is unrolled whole (9), what may be (32); the vector registers of a CPU that has few. */
enum { TAPS_3X3 = 9, TAPS_MANY = 32, FEW_REGISTERS = 16 };

/* What follows the sums calls a function: sums that registers hold beside it. */
static int sums_beside_call(const struct target *m) { return fit_splits_vectors(m) ? 14 : 8; }
static bool call_spills(const struct target *m, const struct fit_tile *t)
{
	return t->function && t->rows * t->vectors > sums_beside_call(m);
}

bool fit_splits_vectors(const struct target *m) { return m->fma_ports == 1; }

/* ---- windows whose taps the rows of a tile share ---- */

int fit_shared_window(const struct target *m)
{
	return fit_splits_vectors(m) ? TAPS_MANY : m->vector_regs <= FEW_REGISTERS || m->loads_apart ? TAPS_3X3 : 0;
}

/* Registers for sums, for what taps read, and one vector of weights. */
static double registers_wanted(const struct fit_tile *t)
{
	return t->vectors * (ceil(t->rows) + (t->stride == 1 ? ceil(t->rows) : t->together) + 1);
}

/* Two multiply-adds a cycle, 16 registers or loads apart. Nothing waits but for a function: the next tile's sums are others. */
static double narrow_window(const struct target *m, const struct fit_tile *t)
{
	enum { room = 6 }; /* registers beside sums, taps of one vector for all rows, and numbers that stay: all vectors have the same */
	static const double loaded = 0.9, once = 2; /* of two loads a cycle; CPUs of four ports do three */
	double loads_a_cycle = loaded * (1 + (double)m->fma_ports / 2);
	double taps = t->still > 0 ? t->together + t->still + room : t->vectors * (t->together + 1) + 1;
	bool held = m->loads_apart ? t->vectors * ceil(t->rows) + taps <= m->vector_regs
				   : t->vectors * (ceil(t->rows) + t->together) <= m->vector_regs ||
					     (t->vectors > 1 && t->stride == 1 && !t->function &&
					      t->vectors * (ceil(t->rows) + t->taps) < m->vector_regs);
	double loads = held ? t->held : t->reloaded;

	if (call_spills(m, t))
		return INFINITY;
	return fmax((t->steps * t->rows * t->vectors + t->stores) / m->fma_ports, loads / loads_a_cycle) +
	       (t->function ? m->call_cycles : once);
}

/* Split vectors, any window but 3x3: the more registers are wanted, the more waits. */
static double split_window(const struct target *m, const struct fit_tile *t)
{
	enum { SOME = 26 };
	static const double once = 14, pressed = 3;
	double wanted = registers_wanted(t), loads = wanted < m->vector_regs ? t->held : t->reloaded;

	if (call_spills(m, t) || (t->function && t->vectors > 2))
		return INFINITY;
	double cycles = fmax(t->steps * t->rows * t->vectors, loads) + pressed * fmax(0, wanted - SOME);
	return cycles + (t->function ? m->call_cycles : once * t->vectors);
}

/* Split vectors, 3x3 before no function: weights stay in registers from tile to tile where all fit. A tile that is a whole line has
 * known borders. */
static double split_3x3(const struct fit_tile *t)
{
	enum { FEW = 4 };
	static const double once = 4, few = 3, some = 24, most = 30, pressed = 0.6, spilled = 1.2;
	double wanted = t->vectors * (ceil(t->rows) + t->together + t->steps) + 1, cycles = t->steps * t->rows * t->vectors;

	if (t->whole_line)
		return cycles + once * t->vectors;
	cycles = fmax(cycles, t->held - (wanted <= most ? t->steps * t->vectors : 0));
	return cycles + once * t->vectors + few * fmax(0, FEW - ceil(t->rows)) + pressed * fmax(0, wanted - some) +
	       spilled * fmax(0, wanted - most);
}

/* A row of taps is unrolled: a vector of weights comes with each tap. */
static double row_of_taps(const struct target *m, const struct fit_tile *t)
{
	static const double line = 2, once = 14;
	double loads = (registers_wanted(t) <= m->vector_regs ? t->held : t->reloaded) / (fit_splits_vectors(m) ? 1 : 2);

	if (call_spills(m, t))
		return INFINITY;
	double cycles = fmax(fmax(t->steps * t->rows * t->vectors / m->fma_ports, loads), t->steps * m->fma_latency);
	return cycles + line * t->steps / t->taps + (t->function ? m->call_cycles : once);
}

double fit_window_cycles(const struct target *m, const struct fit_tile *t)
{
	if (t->row_at_a_time)
		return row_of_taps(m, t);
	if (!fit_splits_vectors(m))
		return narrow_window(m, t);
	return t->taps == 3 && t->steps == TAPS_3X3 && !t->function ? split_3x3(t) : split_window(m, t);
}

bool fit_taps_innermost(const struct fit_tile *t, int rows)
{
	enum { ROWS_INSIDE = 7 };

	return t->taps > 0 && (t->row_at_a_time || t->vectors > 1 || rows >= ROWS_INSIDE);
}

/* ---- contractions ---- */

/* What a tile costs once: zeroing, writing back, what follows. Beside the next tile's multiply-adds where few registers are sums. */
static double once_cycles(const struct target *m, const struct fit_tile *t)
{
	return m->vector_regs > FEW_REGISTERS || t->function ? t->sums + 8 : t->sums > 8 ? t->sums + 2 : 3;
}

/* Split vectors: multiply-adds bound nearly all tiles, so what tells them apart is what these do not hide: a little of each load, more
 * of vectors from beyond the first-level cache, and what a tile costs once. */
static double split_contraction(const struct target *m, const struct fit_tile *t)
{
	enum { FEW = 14, MANY = 24 };
	static const double broadcast = 0.045, near = 0.02, far = 0.12, holds = 0.9;
	double vector = t->panel_bytes > holds * (double)m->l1 ? far : near;
	double once = t->function ? t->sums + 8 : t->sums > MANY ? 2.5 * t->sums : t->sums > FEW || t->vectors > 1 ? 1.5 * t->sums : 3;

	once *= 1 + 2 * t->far;
	double loads = t->along + t->across / 2, waits = t->along * vector + t->across * broadcast;
	return t->steps * (fmax(fmax(t->rows * t->vectors + t->joined, loads), m->fma_latency) + waits) + once;
}

double fit_contraction_cycles(const struct target *m, const struct fit_tile *t)
{
	static const double loop = 0.5;

	if (t->second && fit_splits_vectors(m))
		return split_contraction(m, t);
	double loads = (fit_splits_vectors(m) ? t->along : t->along / 2) + t->across / 2;
	double step = fmax(fmax((t->rows * t->vectors + t->joined) / m->fma_ports, loads), m->fma_latency);
	return t->steps * (step + loop) + once_cycles(m, t);
}

double fit_streams_from(const struct target *m, bool function)
{
	if (fit_splits_vectors(m) && function)
		return 1;
	return fit_splits_vectors(m) || m->vector_regs <= FEW_REGISTERS ? TAPS_3X3 : INFINITY;
}

double fit_streams(const struct target *m, bool function, int vectors)
{
	static const double factor[3][9] = {{0, 1.1, 1.05, 1.025, 1, 1.035, 1.03, 1.06, 1.06}, /* split vectors, then before a function: */
					    {0, 1.03, 0.98, 1, 1.01, 1.06, 1.06, 1.1, 1.1},
					    {0, 1.03, 1.01, 1, 1.01, 1.06, 1.06, 1.1, 1.1}};
	int of = !fit_splits_vectors(m) ? 0 : function ? 2 : 1;

	return factor[of][vectors < 8 ? vectors : 8];
}

int fit_unroll(const struct target *m, const struct fit_tile *t, bool large_window, bool by_matrix, int64_t steps, int64_t all)
{
	enum { ONE = 8, OF_WINDOW = 4 };
	bool some = t->whole_line && (t->stride > 1 || t->vectors > 1) && steps >= OF_WINDOW;

	if (t->row_at_a_time)
		return (int)t->taps;
	if (all && large_window)
		return fit_splits_vectors(m) && some ? OF_WINDOW : (int)all;
	if (all > TAPS_MANY && fit_splits_vectors(m) && t->function && by_matrix)
		return (int)all;
	return t->sums == 1 && steps >= ONE ? ONE : 1;
}

int fit_unroll_most(const struct target *m) { return fit_splits_vectors(m) ? 350 : 256; }

/* ---- sums over rows that lie apart ---- */

enum { APART = 4, APART_MANY = 8 };

int fit_sums_apart(const struct target *m) { return m->vector_regs <= FEW_REGISTERS ? APART : APART_MANY; }

bool fit_sums_in_memory(const struct target *m, int64_t columns, double bytes)
{
	int lanes = m->vector_bytes / 4;

	if (m->vector_regs > FEW_REGISTERS)
		return fit_splits_vectors(m) && columns > APART_MANY * lanes && bytes > (double)m->l2;
	return columns > APART * lanes;
}

int fit_sums_streams(const struct target *m, double row_bytes, double bytes)
{
	enum { FEW = 4, BEYOND_L2 = 8 };

	if (FIT_STREAMS_MAX * row_bytes <= (double)m->l1 / 2)
		return FIT_STREAMS_MAX;
	return bytes > (double)m->l2 ? BEYOND_L2 : FEW;
}

/* ---- convolution by transforms ---- */

double fit_product_cycles(const struct target *m, bool transformed, double multiply_adds)
{
	static const double direct = 0.93, by_points = 0.85;
	double a_cycle = (double)m->vector_bytes / 4 * m->fma_ports;

	return multiply_adds / a_cycle / (transformed ? by_points : direct);
}

/* Constants are read once a run: what some layers like this one leave of them in the second-level cache is still there, the others come
 * from memory. */
double fit_constant_cycles(const struct target *m, double bytes)
{
	enum { LAYERS = 8 };
	struct target f = target_filled(m);
	double stays = m ? fmin(1, (double)m->l2 / (LAYERS * bytes)) : 0;

	return bytes * (stays / f.l2_a_cycle + (1 - stays) / f.memory_a_cycle);
}

double fit_transform_cycles(const struct target *m, double points) { return (m->vector_regs > FEW_REGISTERS ? 1.2 : 0.55) * points; }
