/* Walking tensors that broadcast to one shape. */
#include "op/rules.h"

const char *bcast_init(struct bcast *b, int nop, const int *rank, const int64_t *const *dims, struct arena *a)
{
	int64_t stride[BCAST_MAX][RANK_MAX];
	bool overflow = false, zero = false;
	int r = 0;

	memset(b, 0, sizeof *b);
	b->nop = nop;
	for (int o = 0; o < nop; o++)
		if (rank[o] > r)
			r = rank[o];
	b->out_rank = r;
	b->count = 1;
	for (int k = 0; k < r; k++) {
		int64_t d = 1;
		for (int o = 0; o < nop; o++) {
			int at = k - (r - rank[o]);
			if (at < 0 || dims[o][at] == 1 || dims[o][at] == d)
				continue;
			if (d != 1)
				return arena_printf(a, "axis %d: %lld does not broadcast with %lld", k, (long long)dims[o][at],
						    (long long)d);
			d = dims[o][at];
		}
		b->out_dims[k] = d;
		zero |= d == 0;
		overflow |= __builtin_mul_overflow(b->count, d, &b->count);
	}
	if (zero)
		b->count = 0;
	else if (overflow)
		return "the result has more elements than can be counted";
	for (int o = 0; o < nop; o++) {
		uint64_t s = 1; /* may overflow if there are no elements */
		for (int k = r - 1; k >= 0; k--) {
			int at = k - (r - rank[o]);
			int64_t d = at < 0 ? 1 : dims[o][at];
			stride[o][k] = d == 1 ? 0 : (int64_t)s;
			s *= (uint64_t)d;
		}
	}
	for (int k = 0; k < r; k++) { /* merge axes */
		bool merge = b->rank > 0;
		if (b->out_dims[k] == 1)
			continue;
		for (int o = 0; merge && o < nop; o++)
			merge = (uint64_t)b->stride[o][b->rank - 1] == (uint64_t)stride[o][k] * (uint64_t)b->out_dims[k];
		if (merge) {
			b->dims[b->rank - 1] *= b->out_dims[k];
		} else {
			b->dims[b->rank] = b->out_dims[k];
			b->rank++;
		}
		for (int o = 0; o < nop; o++)
			b->stride[o][b->rank - 1] = stride[o][k];
	}
	if (b->rank == 0) {
		b->dims[0] = 1;
		b->rank = 1;
	}
	return NULL;
}

bool bcast_next(struct bcast *b)
{
	for (int k = b->rank - 2; k >= 0; k--) {
		for (int o = 0; o < b->nop; o++)
			b->off[o] += b->stride[o][k];
		if (++b->at[k] < b->dims[k])
			return true;
		for (int o = 0; o < b->nop; o++)
			b->off[o] -= b->at[k] * b->stride[o][k];
		b->at[k] = 0;
	}
	return false;
}

struct axes3 split_at(const struct tensor *t, int axis)
{
	struct axes3 s = {1, t->dims[axis], 1};

	for (int i = 0; i < axis; i++)
		s.outer *= t->dims[i];
	for (int i = axis + 1; i < t->rank; i++)
		s.inner *= t->dims[i];
	return s;
}
