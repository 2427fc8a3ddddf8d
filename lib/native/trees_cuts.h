/* A small tree for many rows at once (QuickScorer; Lucchese et al. 2015): each node strikes out the leaves that a row cannot reach, whichever way
 * the row goes, and the first leaf left is the row's. */
#ifndef HONE_NATIVE_TREES_CUTS_H
#define HONE_NATIVE_TREES_CUTS_H
#include "native/native.h"

enum { TREES_LE, TREES_LT, TREES_GE, TREES_GT, TREES_EQ, TREES_NE };
enum { CUTS_LEAVES = 64, CUTS_ROWS = 8 };

typedef float cuts_floats __attribute__((vector_size(4 * CUTS_ROWS), may_alias));
typedef uint32_t cuts_bits __attribute__((vector_size(4 * CUTS_ROWS), may_alias));

struct trees_cut {
	int32_t feature, code; /* of the record */
	float split;
	uint64_t keep; /* leaves that are left where the comparison does not hold */
};

struct trees_cuts {
	int n, leaves;
	struct trees_cut cut[CUTS_LEAVES];
	int32_t leaf[CUTS_LEAVES]; /* numbers of leaves, those where comparisons hold first */
};

/* Reads the tree at `child` from records of f32, which lead only to what is there. false: it has too many leaves. */
static bool trees_cuts_read(struct trees_cuts *c, const int32_t *node, int32_t child)
{
	struct {
		int32_t child;
		int cut; /* the one whose first way ends before; -1: none does */
	} stack[CUTS_LEAVES + 2];
	int depth = 0;

	*c = (struct trees_cuts){0};
	stack[depth].child = child, stack[depth++].cut = -1;
	while (depth) {
		int32_t at = stack[--depth].child;
		struct trees_cut *before = stack[depth].cut >= 0 ? &c->cut[stack[depth].cut] : NULL;
		if (c->leaves == CUTS_LEAVES || (at >= 0 && c->n == CUTS_LEAVES - 1))
			return false;
		if (before)
			before->keep = ~(before->keep ^ ((UINT64_C(1) << c->leaves) - 1));
		if (at < 0) {
			c->leaf[c->leaves++] = ~at;
			continue;
		}
		const int32_t *r = node + 4 * (int64_t)at;
		c->cut[c->n] = (struct trees_cut){.feature = r[0] >> 4, .code = r[0] & 15, .keep = (UINT64_C(1) << c->leaves) - 1};
		memcpy(&c->cut[c->n].split, r + 3, sizeof c->cut->split);
		stack[depth].child = r[2], stack[depth++].cut = c->n;
		stack[depth].child = r[1], stack[depth++].cut = -1;
		c->n++;
	}
	return true;
}

#define CUTS_STRIKE(holds) \
	for (int64_t i = 0; i < n; i++) \
	left[i] &= (cuts_bits)(holds) | keep

/* n times CUTS_ROWS rows: strikes out of `left`, a word of leaves for each row, what cut k does. x: its feature. word: leaves from 32 on? */
static void trees_cuts_strike(const struct trees_cut *k, const cuts_floats *x, int64_t n, cuts_bits *left, bool word)
{
	const float split = k->split;
	const uint32_t keep = (uint32_t)(word ? k->keep >> 32 : k->keep);
	const bool nan = k->code & 1;

	if (keep == UINT32_MAX)
		return;
	switch (k->code >> 1) {
	case TREES_LE:
		if (nan)
			CUTS_STRIKE((x[i] <= split) | (x[i] != x[i]));
		else
			CUTS_STRIKE(x[i] <= split);
		break;
	case TREES_LT:
		if (nan)
			CUTS_STRIKE((x[i] < split) | (x[i] != x[i]));
		else
			CUTS_STRIKE(x[i] < split);
		break;
	case TREES_EQ:
		if (nan)
			CUTS_STRIKE((x[i] == split) | (x[i] != x[i]));
		else
			CUTS_STRIKE(x[i] == split);
		break;
	case TREES_GE:
		if (nan)
			CUTS_STRIKE((x[i] >= split) | (x[i] != x[i]));
		else
			CUTS_STRIKE(x[i] >= split);
		break;
	case TREES_GT:
		if (nan)
			CUTS_STRIKE((x[i] > split) | (x[i] != x[i]));
		else
			CUTS_STRIKE(x[i] > split);
		break;
	default: CUTS_STRIKE(x[i] != split);
	}
}
#endif
