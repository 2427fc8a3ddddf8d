/* Products of f16 in f16. */
#include "lower/halves.h"
#include <string.h>
#include "loop/instr.h"
#include "sched/algorithm.h"
#include "target/target.h"

int64_t halves_short(int64_t products, bool whole)
{
	for (int64_t n = HALVES_MOST; n >= HALVES_LEAST; n--)
		if (products % n == 0 && products + whole > n)
			return n;
	return 0;
}

/* Lanes of the instruction for a result of f16 from f16 and constant f16, each element of so many products; 0: it does not fit. */
static int64_t lanes_for(struct lower *L, int64_t products)
{
	const struct target *t = L->p->target ? L->p->target : target_host();
	int rank = low_out_rank(L, 0);

	if (low_dtype(L, 0) != DT_F16 || low_dtype(L, 1) != DT_F16 || !low_const(L, 1) || !rank || rank == LOOP_RANK_MAX)
		return 0;
	int dot = instr_halves(t);
	return dot && halves_short(products, false) ? instr_row(dot)->extent[0] : 0;
}

bool halves_fit(struct lower *L, int64_t products)
{
	int64_t lanes = low_rank(L, 1) == 2 ? lanes_for(L, products) : 0;

	return lanes && L->out_shape[0][low_out_rank(L, 0) - 1] >= lanes;
}

bool halves_fit_points(struct lower *L, int64_t products)
{
	int64_t lanes = lanes_for(L, products), row = lanes ? L->out_shape[0][low_out_rank(L, 0) - 1] : 0;

	return row && row % lanes == 0;
}

double halves_speed(struct lower *L)
{
	const struct target *t = L->p->target ? L->p->target : target_host();

	return algorithm_speed(t, instr_halves(t));
}

stage_id halves_sums(struct lower *L, const char *name, int64_t products,
		     ex_id (*factor)(struct lower *L, uint32_t i, const poly *index, poly k, const void *arg), const void *arg)
{
	int rank = low_out_rank(L, 0);
	int64_t shape[LOOP_RANK_MAX] = {0}, n = halves_short(products, false);
	poly at[LOOP_RANK_MAX], index[LOOP_RANK_MAX];

	shape[0] = products / n;
	memcpy(shape + 1, L->out_shape[0], sizeof *shape * (size_t)rank);
	stage_id part = low_stage(L, "block", DT_F16, rank + 1, shape, low_axes(L, rank + 1));
	low_index(L, part, at);
	poly k = poly_add(L->p->P, poly_mulc(L->p->P, at[0], n), stage_reduce(L->p, part, "k", n));
	stage_body(L->p, part, COMB_SUM, low_fn2(L, FN_MUL, factor(L, 0, at + 1, k, arg), factor(L, 1, at + 1, k, arg)));
	stage_id s = low_sums(L, 0, name);
	low_index(L, s, index);
	at[0] = stage_reduce(L->p, s, "b", shape[0]);
	memcpy(at + 1, index, sizeof *at * (size_t)rank);
	stage_body(L->p, s, COMB_SUM, low_wide(L, low_of(L, part, at)));
	return s;
}
