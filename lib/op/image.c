/* Operators on images that lib/native computes: their shapes. */
#include "op/native.h"
#include "op/rules.h"

static const char *shape_grid_sample(struct infer *I)
{
	int rank = rule_rank(I, 0) == RANK_UNKNOWN ? rule_rank(I, 1) : rule_rank(I, 0);

	if (rank == RANK_UNKNOWN || rank < 3) {
		rule_out(I, 0, I->in[0].dtype, RANK_UNKNOWN, NULL);
		return NULL;
	}
	dim *d = rule_dims(I, rank);
	if (rule_rank(I, 0) == rank)
		memcpy(d, I->in[0].dims, 2 * sizeof *d);
	if (rule_rank(I, 1) == rank) {
		const char *why = rule_extent(I, 1, rank - 1, rule_const(I, rank - 2));
		if (why)
			return why;
		memcpy(d + 2, I->in[1].dims + 1, (size_t)(rank - 2) * sizeof *d);
	}
	rule_out(I, 0, I->in[0].dtype, rank, d);
	return NULL;
}

const struct op ops_image[] = {
	{OP_GridSample, shape_grid_sample, eval_native},
	{0},
};
