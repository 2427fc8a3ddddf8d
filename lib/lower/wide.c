/* Products of operands that are widened first. */
#include "lower/wide.h"
#include <string.h>
#include "loop/instr.h"
#include "sched/algorithm.h"
#include "target/target.h"

static bool is_half(enum dtype t) { return t == DT_F16 || t == DT_BF16; }

bool wide_fits(struct lower *L, const char *algo) { return is_half(low_dtype(L, 0)) && low_dtype(L, 1) == low_dtype(L, 0); }

int64_t wide_step(struct lower *L, double *speed)
{
	const struct target *t = L->p->target ? L->p->target : target_host();
	int row = is_half(low_dtype(L, 0)) ? instr_dot(t, low_dtype(L, 0), low_dtype(L, 1), false) : 0;

	*speed = row && instr_row(row)->measured ? algorithm_speed(t, row) : 1;
	return row ? instr_row(row)->extent[1] : 0;
}

int64_t wide_spread(struct lower *L, int64_t line, int64_t rows)
{
	const struct target *t = L->p->target ? L->p->target : target_host();
	double speed;
	int64_t step = wide_step(L, &speed);
	int matrix = step && rows > 1 ? instr_matrix(t, low_dtype(L, 0), low_dtype(L, 1)) : 0;

	return step ? low_in_steps(line, step, matrix ? instr_group(matrix) : 0) : line;
}

bool wide_spread_chosen(struct lower *L, double products, int64_t line, int64_t rows)
{
	return wide_fits(L, ALGO_WIDE) && wide_spread(L, line, rows) > line &&
	       algorithm_copies_both(products, (double)low_count(L, 0), (double)low_count(L, 1));
}

buf_id wide_spread_buf(struct lower *L, uint32_t i, int axis, int64_t extent)
{
	int rank = low_rank(L, i);
	int64_t shape[LOOP_RANK_MAX];
	poly at[LOOP_RANK_MAX];

	memcpy(shape, L->shape[i], sizeof shape);
	shape[axis] = extent;
	stage_id s = low_stage(L, "spread", low_dtype(L, i), rank, shape, low_axes(L, rank));
	low_index(L, s, at);
	stage_body(L->p, s, COMB_NONE, low_read_fill(L, i, at, 0));
	return lstage(L->p, s)->out;
}

bool wide_chosen(struct lower *L, double products, int64_t line)
{
	double speed;
	int64_t step = wide_step(L, &speed);

	return wide_fits(L, ALGO_WIDE) && !(step && line % step == 0) &&
	       algorithm_copies_both(products, (double)low_count(L, 0), (double)low_count(L, 1));
}

bool wide_weights_chosen(struct lower *L, double products)
{
	return algorithm_widens_constants(L->p->target, products / (double)low_count(L, 1));
}

buf_id wide_weights(struct lower *L, double products) { return wide_weights_chosen(L, products) ? wide_buf(L, 1) : 0; }

buf_id wide_buf(struct lower *L, uint32_t i)
{
	int rank = low_rank(L, i);
	poly at[LOOP_RANK_MAX];

	if (!is_half(low_dtype(L, i)))
		return low_buf(L, i);
	stage_id s = low_stage(L, "wide", DT_F32, rank, L->shape[i], low_axes(L, rank));
	low_index(L, s, at);
	stage_body(L->p, s, COMB_NONE, low_wide(L, ex_read(L->p, low_buf(L, i), rank, at)));
	return lstage(L->p, s)->out;
}
