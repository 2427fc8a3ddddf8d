/* Trees: ensembles of decision trees. Operand 1 holds a record of i32 for each node: feature and comparison (feature * 16 + comparison * 2 +
 * where NaN goes), the node or leaf where the comparison holds, that where it does not, and the bits of the number compared with: one word,
 * or two of f64. A child from 0 on is a node, always one behind its parent; ~k is leaf k. Operands 2 to 5: the first vote of each leaf and
 * the end of the last one's; the target of each vote; its weight; where each tree begins, a child. */
#include "native/native.h"

enum { TREES_LE, TREES_LT, TREES_GE, TREES_GT, TREES_EQ, TREES_NE };
enum { TREES_SUM, TREES_AVERAGE, TREES_MIN, TREES_MAX };
enum { TREES_BLOCK = 64 };

struct trees {
	const int32_t *node, *start, *target, *root;
	const struct native_tensor *weight;
	int64_t nodes, leaves, votes, roots, words; /* words of a record */
	int64_t rows, features, targets;
	int how;
};

static const char *trees_operand(struct native *n, int i, int rank, const int32_t **p, int64_t *count)
{
	const struct native_tensor *t = &n->in[i];

	if (t->type != NATIVE_I32 || t->rank != rank)
		return native_why(n, "operand %d is no i32 of rank %d", i, rank);
	*p = t->data;
	*count = t->dims[0];
	return NULL;
}

static const char *trees_read(struct native *n, struct trees *t)
{
	static const char *const how[] = {"SUM", "AVERAGE", "MIN", "MAX"};
	const struct native_tensor *x = &n->in[0];
	int64_t weights;
	const char *why;

	*t = (struct trees){.how = -1, .weight = &n->in[4], .targets = native_int(n, "targets")};
	for (int i = 0; i < 4; i++)
		if (!strcmp(how[i], native_str(n, "aggregate")))
			t->how = i;
	if (x->rank != 2 || t->how < 0 || t->targets < 1 || t->targets > INT32_MAX || t->weight->rank != 1)
		return "operands or attributes of another kind";
	t->rows = x->dims[0], t->features = x->dims[1], t->words = x->type == NATIVE_F64 ? 5 : 4;
	if ((why = trees_operand(n, 1, 2, &t->node, &t->nodes)) || (why = trees_operand(n, 2, 1, &t->start, &t->leaves)) ||
	    (why = trees_operand(n, 3, 1, &t->target, &t->votes)) || (why = trees_operand(n, 5, 1, &t->root, &t->roots)))
		return why;
	weights = t->weight->dims[0];
	t->leaves--;
	if (n->in[1].dims[1] != t->words || weights != t->votes)
		return "records or weights do not fit";
	return NULL;
}

static bool trees_holds(int code, double x, double split)
{
	if (x != x)
		return code & 1 || code >> 1 == TREES_NE;
	switch (code >> 1) {
	case TREES_LE: return x <= split;
	case TREES_LT: return x < split;
	case TREES_GE: return x >= split;
	case TREES_GT: return x > split;
	case TREES_EQ: return x == split;
	default: return x != split;
	}
}

/* The leaf of a row; -1: there is no such node, leaf or feature. Children are behind their parents, so that this ends. */
static int64_t trees_leaf_float(const struct trees *t, int32_t at, const float *x)
{
	int32_t last = -1;

	while (at >= 0) {
		const int32_t *r = t->node + 4 * (int64_t)at;
		float split, v;
		bool yes;
		if (at <= last || at >= t->nodes || (r[0] >> 4) >= t->features || r[0] < 0)
			return -1;
		last = at;
		memcpy(&split, r + 3, sizeof split);
		v = x[r[0] >> 4];
		yes = !(r[0] & 15) ? v <= split : trees_holds(r[0] & 15, v, split);
		at = r[2 - yes];
	}
	return ~at < t->leaves ? ~at : -1;
}

static int64_t trees_leaf_double(const struct trees *t, int32_t at, const double *x)
{
	int32_t last = -1;

	while (at >= 0) {
		const int32_t *r = t->node + 5 * (int64_t)at;
		double split;
		if (at <= last || at >= t->nodes || (r[0] >> 4) >= t->features || r[0] < 0)
			return -1;
		last = at;
		memcpy(&split, r + 3, sizeof split);
		at = r[2 - trees_holds(r[0] & 15, x[r[0] >> 4], split)];
	}
	return ~at < t->leaves ? ~at : -1;
}

/* false: there is no such vote or target. */
static bool trees_vote(const struct trees *t, int64_t leaf, double *score)
{
	int64_t from = t->start[leaf], to = t->start[leaf + 1];

	if (from < 0 || to > t->votes)
		return false;
	for (int64_t v = from; v < to; v++) {
		double w = native_get(t->weight->type, t->weight->data, v), *s;
		if (t->target[v] < 0 || t->target[v] >= t->targets)
			return false;
		s = score + t->target[v];
		if (t->how == TREES_MIN)
			*s = w < *s ? w : *s;
		else if (t->how == TREES_MAX)
			*s = w > *s ? w : *s;
		else
			*s += w;
	}
	return true;
}

/* Rows from, from + 1, ... to - 1, tree by tree: the nodes of a tree stay in the cache meanwhile. */
static const char *trees_block(const struct trees *t, int type, const void *x, int64_t from, int64_t to, double *score)
{
	double start = t->how == TREES_MIN ? INFINITY : t->how == TREES_MAX ? -INFINITY : 0;

	for (int64_t i = 0; i < (to - from) * t->targets; i++)
		score[i] = start;
	for (int64_t k = 0; k < t->roots; k++)
		for (int64_t r = from; r < to; r++) {
			int64_t leaf = type == NATIVE_F64 ? trees_leaf_double(t, t->root[k], (const double *)x + r * t->features)
							  : trees_leaf_float(t, t->root[k], (const float *)x + r * t->features);
			if (leaf < 0 || !trees_vote(t, leaf, score + (r - from) * t->targets))
				return "a tree leads to a node, leaf or feature that is not there";
		}
	for (int64_t i = 0; i < (to - from) * t->targets; i++) {
		score[i] /= t->how == TREES_AVERAGE && t->roots ? (double)t->roots : 1;
		if (t->how >= TREES_MIN && isinf(score[i]) && score[i] == start) /* no tree has voted for it */
			score[i] = 0;
	}
	return NULL;
}

NATIVE const char *native_Trees(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	int type = x->type == NATIVE_F64 ? NATIVE_F64 : NATIVE_F32;
	struct trees t;
	const char *why;
	const void *data = x->data;
	double *score;
	float *wide;
	void *y;

	if (!native_is_float(x->type) || !native_is_float(n->in[4].type))
		return native_no_type();
	if ((why = trees_read(n, &t)))
		return why;
	if (!(y = n->room(n, 0, x->type, 2, (int64_t[]){t.rows, t.targets})) ||
	    !(score = n->scratch(n, sizeof *score * (size_t)(TREES_BLOCK * t.targets))))
		return native_no_room(n);
	if (x->type != type) {
		if (!(wide = n->scratch(n, sizeof *wide * (size_t)native_count(x))))
			return native_no_room(n);
		for (int64_t i = 0; i < native_count(x); i++)
			wide[i] = (float)native_get(x->type, x->data, i);
		data = wide;
	}
	for (int64_t r = 0; r < t.rows; r += TREES_BLOCK) {
		int64_t to = r + TREES_BLOCK < t.rows ? r + TREES_BLOCK : t.rows;
		if ((why = trees_block(&t, type, data, r, to, score)))
			return why;
		native_store(x->type, y, r * t.targets, (to - r) * t.targets, score);
	}
	return NULL;
}
