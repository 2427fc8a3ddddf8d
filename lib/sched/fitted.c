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

bool fit_splits_vectors(const struct target *m) { return m->fma_ports == 1; }
