/* Trees: ensembles of decision trees. Operand 1 holds a record of i32 for each node: feature and comparison (feature * 16 + comparison * 2 +
 * where NaN goes), the node or leaf where the comparison holds, that where it does not, and the bits of the number compared with: one word,
 * or two of f64. A child from 0 on is a node, always one behind its parent; ~k is leaf k. Operands 2 to 5: the first vote of each leaf and
 * the end of the last one's; the target of each vote; its weight; where each tree begins, a child. */
#include "native/native.h"
#include "native/trees_cuts.h"

enum { TREES_SUM, TREES_AVERAGE, TREES_MIN, TREES_MAX };
enum { TREES_LANES = 8, TREES_MANY = 32, TREES_LEAST = 64, TREES_BYTES = 1 << 15 };

struct trees {
	const int32_t *node, *start, *target, *root;
	const struct native_tensor *weight;
	int64_t nodes, leaves, votes, roots, words; /* words of a record */
	int64_t rows, features, targets;
	/* Scratch of trees_many for the rows at hand: features as columns, made when asked for, and the leaves that are left. */
	float **column;
	int64_t *made, block, room; /* the block that a column was made for; rows that it has room for */
	uint32_t *left;
	int how, all; /* all: the comparison that all nodes have; -1: they differ */
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

	*t = (struct trees){.how = -1, .all = -1, .weight = &n->in[4], .targets = native_int(n, "targets")};
	for (int i = 0; i < 4; i++)
		if (!strcmp(how[i], native_str(n, "aggregate")))
			t->how = i;
	for (int i = TREES_LE; i <= TREES_LT; i++)
		if (!strcmp(i == TREES_LE ? "LE" : "LT", native_str(n, "comparison")))
			t->all = i;
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

/* Does the comparison of record r hold for x, a float, or a double if `wide`? all: TREES_LE or TREES_LT, if all nodes have that; -1. */
static inline __attribute__((always_inline)) bool trees_yes(const int32_t *r, const void *x, bool wide, int all)
{
	double split, v;
	float narrow, f;

	if (wide) {
		memcpy(&split, r + 3, sizeof split);
		v = *(const double *)x;
		return all < 0 ? trees_holds(r[0] & 15, v, split) : (all == TREES_LE ? v <= split : v < split) | ((v != v) & (r[0] & 1));
	}
	memcpy(&narrow, r + 3, sizeof narrow);
	f = *(const float *)x;
	return all < 0 ? trees_holds(r[0] & 15, f, narrow) : (all == TREES_LE ? f <= narrow : f < narrow) | ((f != f) & (r[0] & 1));
}

/* Takes n lanes, each a way down a tree for a row, to their leaves, one step of all after the other: none waits for the memory of another.
 * at: nodes, then leaves. false: there is no such node or feature. Children are behind their parents, so that this ends. */
static inline __attribute__((always_inline)) bool trees_down(const struct trees *t, int n, int32_t *at, const char *const *row, bool wide,
							     int all)
{
	const int64_t words = wide ? 5 : 4, size = wide ? sizeof(double) : sizeof(float);
	const uint32_t nodes = (uint32_t)t->nodes, features = t->features < INT32_MAX ? (uint32_t)t->features : INT32_MAX;
	int32_t live, bad = 0;

	do {
		live = 0;
		for (int j = 0; j < n; j++) {
			int32_t k = at[j], is = (uint32_t)k < nodes ? k : 0, to;
			const int32_t *r = t->node + words * is;
			uint32_t feature = (uint32_t)(r[0] >> 4);
			bool outside = feature >= features;
			to = r[2 - trees_yes(r, row[j] + size * (outside ? 0 : feature), wide, all)];
			to = k < 0 ? k : to;
			bad |= (k ^ is) & ~(k >> 31);                       /* a node that is not there */
			bad |= (outside | (to >= 0 && to <= k)) & (k >= 0); /* a feature that is not there, a way back */
			at[j] = to;
			live |= ~to;
		}
	} while (live < 0 && !bad);
	return !bad;
}

/* false: there is no such vote or target. */
static bool trees_vote(const struct trees *t, int64_t leaf, double *score)
{
	int64_t from = t->start[leaf], to = t->start[leaf + 1];

	if (from < 0 || to > t->votes)
		return false;
	for (int64_t v = from; v < to; v++) {
		double w = t->weight->type == NATIVE_F32 ? ((const float *)t->weight->data)[v]
							 : native_get(t->weight->type, t->weight->data, v),
		       *s;
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

/* n lanes from their roots to their votes. false: something is not there. */
static inline __attribute__((always_inline)) bool trees_lanes(const struct trees *t, int n, const int32_t *root, int step,
							      const char *const *row, double *const *score, bool wide, int all)
{
	int32_t at[TREES_LANES];

	for (int j = 0; j < n; j++)
		at[j] = root[j * step];
	if (t->nodes && t->features &&
	    !(n == TREES_LANES ? trees_down(t, TREES_LANES, at, row, wide, all) : trees_down(t, n, at, row, wide, all)))
		return false;
	for (int j = 0; j < n; j++)
		if (at[j] >= 0 || ~at[j] >= t->leaves || !trees_vote(t, ~at[j], score[j]))
			return false;
	return true;
}

/* So many rows from x on, whose scores begin at score: of few rows a row down several trees at a time, else several rows down a tree, whose nodes
 * stay in the cache meanwhile. A row sums the votes of its trees in their order. */
static inline __attribute__((always_inline)) bool trees_rows(const struct trees *t, const char *x, int64_t rows, double *score, bool wide,
							     int all)
{
	const int64_t bytes = t->features * (int64_t)(wide ? sizeof(double) : sizeof(float));
	const char *row[TREES_LANES];
	double *to[TREES_LANES];
	bool across = rows < TREES_LANES / 2;
	int64_t outer = across ? rows : t->roots, inner = across ? t->roots : rows;

	for (int64_t o = 0; o < outer; o++)
		for (int64_t i = 0; i < inner; i += TREES_LANES) {
			int n = inner - i < TREES_LANES ? (int)(inner - i) : TREES_LANES;
			for (int j = 0; j < n; j++) {
				int64_t r = across ? o : i + j;
				row[j] = x + r * bytes;
				to[j] = score + r * t->targets;
			}
			if (!trees_lanes(t, n, t->root + (across ? i : o), across, row, to, wide, all))
				return false;
		}
	return true;
}

static bool trees_of(const struct trees *t, const char *x, int64_t rows, double *score, bool wide)
{
	if (wide && t->all == TREES_LE)
		return trees_rows(t, x, rows, score, true, TREES_LE);
	if (wide)
		return trees_rows(t, x, rows, score, true, -1);
	if (t->all == TREES_LE)
		return trees_rows(t, x, rows, score, false, TREES_LE);
	if (t->all == TREES_LT)
		return trees_rows(t, x, rows, score, false, TREES_LT);
	return trees_rows(t, x, rows, score, false, -1);
}

/* ---- many rows ---- */

/* Feature f of so many rows from x on; NULL: there is no memory. */
static const float *trees_column(struct native *n, struct trees *t, const float *x, int64_t rows, int32_t f)
{
	float *to = t->column[f] ? t->column[f] : n->scratch(n, sizeof *to * (size_t)t->room);

	if (!to || t->made[f] == t->block)
		return to;
	t->column[f] = to;
	t->made[f] = t->block;
	for (int64_t r = 0; r < rows; r++)
		to[r] = x[r * t->features + f];
	for (int64_t r = rows; r % CUTS_ROWS; r++)
		to[r] = 0;
	return to;
}

/* The votes of rows for the leaves that are left. false: something is not there. */
static bool trees_vote_left(const struct trees *t, const struct trees_cuts *c, int64_t rows, double *score)
{
	const uint32_t *low = t->left, *high = t->left + t->room;
	const float *weight = t->weight->type == NATIVE_F32 ? t->weight->data : NULL;
	double w[CUTS_LEAVES];
	int32_t target = -1;

	for (int k = 0; k < c->leaves && weight; k++) { /* one vote of each, all for the same */
		int64_t v = t->start[c->leaf[k]];
		if (t->start[c->leaf[k] + 1] - v != 1 || v < 0 || v >= t->votes || (k && t->target[v] != target) || t->how > TREES_AVERAGE)
			weight = NULL;
		else
			target = t->target[v], w[k] = weight[v];
	}
	if (weight && (target < 0 || target >= t->targets))
		return false;
	for (int64_t r = 0; r < rows; r++) {
		int k = low[r] ? __builtin_ctz(low[r]) : 32 + __builtin_ctz(high[r] | UINT32_C(1) << 31);
		if (weight)
			score[r * t->targets + target] += w[k];
		else if (!trees_vote(t, c->leaf[k], score + r * t->targets))
			return false;
	}
	return true;
}

static const char *const trees_lost = "a tree leads to a node, leaf or feature that is not there";

/* Many rows of f32: small trees by what their nodes strike out, others as trees_of takes them. */
static const char *trees_many(struct native *n, struct trees *t, const float *x, int64_t rows, double *score)
{
	const int64_t groups = (rows + CUTS_ROWS - 1) / CUTS_ROWS;
	struct trees_cuts c;

	for (int64_t k = 0; k < t->roots; k++) {
		struct trees one = *t;
		int is = trees_cuts_read(&c, t->node, t->nodes, t->leaves, t->features, t->root[k]);
		one.root += k, one.roots = 1;
		if (is < 0 || (!is && !trees_of(&one, (const char *)x, rows, score, false)))
			return trees_lost;
		if (!is)
			continue;
		memset(t->left, 0xff, sizeof *t->left * 2 * (size_t)t->room);
		for (int i = 0; i < c.n; i++) {
			const float *column = trees_column(n, t, x, rows, c.cut[i].feature);
			if (!column)
				return native_no_room(n);
			trees_cuts_strike(&c.cut[i], (const cuts_floats *)column, groups, (cuts_bits *)t->left, false);
			if (c.leaves > 32)
				trees_cuts_strike(&c.cut[i], (const cuts_floats *)column, groups, (cuts_bits *)(t->left + t->room), true);
		}
		if (!trees_vote_left(t, &c, rows, score))
			return trees_lost;
	}
	return NULL;
}

/* Scratch of trees_many, for blocks of so many rows. */
static bool trees_many_room(struct native *n, struct trees *t, int64_t rows)
{
	t->room = (rows + 15) / 16 * 16;
	t->column = n->scratch(n, sizeof *t->column * (size_t)(t->features + 1));
	t->made = n->scratch(n, sizeof *t->made * (size_t)(t->features + 1));
	t->left = n->scratch(n, sizeof *t->left * 2 * (size_t)t->room);
	if (!t->column || !t->made || !t->left)
		return false;
	memset(t->column, 0, sizeof *t->column * (size_t)t->features);
	memset(t->made, 0, sizeof *t->made * (size_t)t->features);
	return true;
}

/* So many rows from x on. */
static const char *trees_block(struct native *n, struct trees *t, bool wide, const char *x, int64_t rows, double *score)
{
	const char *why = NULL;
	double start = t->how == TREES_MIN ? INFINITY : t->how == TREES_MAX ? -INFINITY : 0;

	for (int64_t i = 0; i < rows * t->targets; i++)
		score[i] = start;
	t->block++;
	if (t->column ? (why = trees_many(n, t, (const float *)x, rows, score)) != NULL : !trees_of(t, x, rows, score, wide))
		return why ? why : trees_lost;
	for (int64_t i = 0; i < rows * t->targets; i++) {
		score[i] /= t->how == TREES_AVERAGE && t->roots ? (double)t->roots : 1;
		if (t->how >= TREES_MIN && isinf(score[i]) && score[i] == start) /* no tree has voted for it */
			score[i] = 0;
	}
	return NULL;
}

/* Rows at a time: their features and scores stay in a cache. */
static int64_t trees_together(const struct trees *t)
{
	int64_t bytes = t->features * (int64_t)sizeof(float) + t->targets * (int64_t)sizeof(double), rows = TREES_BYTES / (bytes + 1);

	return rows < TREES_LEAST ? TREES_LEAST : rows;
}

NATIVE const char *native_Trees(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	int type = x->type == NATIVE_F64 ? NATIVE_F64 : NATIVE_F32;
	struct trees t;
	const char *why;
	const char *data = x->data;
	int64_t together;
	double *score;
	float *wide;
	void *y;

	if (!native_is_float(x->type) || !native_is_float(n->in[4].type))
		return native_no_type();
	if ((why = trees_read(n, &t)))
		return why;
	together = trees_together(&t) < t.rows ? trees_together(&t) : t.rows;
	if (!(y = n->room(n, 0, x->type, 2, (int64_t[]){t.rows, t.targets})) ||
	    !(score = n->scratch(n, sizeof *score * (size_t)(together * t.targets))))
		return native_no_room(n);
	if (type == NATIVE_F32 && together >= TREES_MANY && !trees_many_room(n, &t, together))
		return native_no_room(n);
	if (x->type != type) {
		if (!(wide = n->scratch(n, sizeof *wide * (size_t)native_count(x))))
			return native_no_room(n);
		for (int64_t i = 0; i < native_count(x); i++)
			wide[i] = (float)native_get(x->type, x->data, i);
		data = (const char *)wide;
	}
	for (int64_t r = 0; r < t.rows; r += together) {
		int64_t rows = r + together < t.rows ? together : t.rows - r;
		if ((why = trees_block(n, &t, type == NATIVE_F64, data + (size_t)(r * t.features) * native_size(type), rows, score)))
			return why;
		native_store(x->type, y, r * t.targets, rows * t.targets, score);
	}
	return NULL;
}
