/* Trees: ensembles of decision trees. Operand 1 holds a record of i32 for each node: feature and comparison (feature * 16 + comparison * 2 +
 * where NaN goes), the node or leaf where the comparison holds, that where it does not, and the bits of the number compared with: one word,
 * or two of f64. A child from 0 on is a node, always one behind its parent; ~k is leaf k. Operands 2 to 5: the first vote of each leaf and
 * the end of the last one's; the target of each vote; its weight; where each tree begins, a child. */
#include "native/native.h"
#include "native/trees_cuts.h"

enum { TREES_SUM, TREES_AVERAGE, TREES_MIN, TREES_MAX };
enum { TREES_WAYS = 256, TREES_MANY = 32, TREES_LEAST = 64, TREES_BYTES = 1 << 15 };

struct trees {
	const int32_t *node, *start, *target, *root;
	const struct native_tensor *weight;
	int64_t nodes, leaves, votes, roots, words; /* words of a record */
	int64_t rows, features, targets;
	/* Scratch of trees_many for the rows at hand: features as columns, made when asked for, and the leaves that are left. */
	float **column;
	int64_t *made, block, room; /* the block that a column was made for; rows that it has room for */
	uint32_t *left;
	int how, all;   /* all: the comparison that all nodes have; -1: they differ */
	bool nans, one; /* NaN goes where the comparison holds, at some node; leaf k has vote k and no other */
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
	t->leaves -= t->leaves > 0;
	if (n->in[1].dims[1] != t->words || weights != t->votes)
		return "records or weights do not fit";
	return NULL;
}

static const char *const trees_lost = "a tree leads to a node, leaf or vote that is not there";

/* Facts about tables that do not change, as trees_look has found them. */
struct trees_found {
	int64_t made, features; /* 1: it is there; features that the nodes read */
	bool nans, one;
};

/* Is c a node after node `after`, or a leaf? */
static inline bool trees_there(const struct trees *t, int64_t after, int32_t c)
{
	return c >= 0 ? c > after && c < t->nodes : ~c < t->leaves;
}

/* Do the tables lead only to what is there? */
static bool trees_look(const struct trees *t, struct trees_found *f)
{
	bool bad = false;

	*f = (struct trees_found){.made = 1, .one = t->leaves == t->votes};
	for (int64_t i = 0; i < t->nodes; i++) {
		const int32_t *r = t->node + t->words * i, feature = r[0] >> 4;
		f->features = feature >= f->features ? feature + 1 : f->features;
		f->nans |= r[0] & 1;
		bad |= feature < 0 || !trees_there(t, i, r[1]) || !trees_there(t, i, r[2]);
	}
	for (int64_t i = 0; i < t->leaves; i++) {
		bad |= t->start[i] < 0 || t->start[i] > t->start[i + 1] || t->start[i + 1] > t->votes;
		f->one &= t->start[i] == i;
	}
	for (int64_t i = 0; i < t->votes; i++)
		bad |= t->target[i] < 0 || t->target[i] >= t->targets;
	for (int64_t i = 0; i < t->roots; i++)
		bad |= !trees_there(t, -1, t->root[i]);
	return !bad;
}

/* The tables are looked through once if they are constants. Then nothing that trees lead to is asked for again. */
static const char *trees_sound(struct native *n, struct trees *t)
{
	struct trees_found now = {0}, *f = &now;
	bool fixed = true;

	for (int i = 1; i <= 5; i++)
		fixed &= n->in[i].fixed;
	if (fixed && !(f = n->memo(n, sizeof *f)))
		return native_no_room(n);
	if (!f->made && !trees_look(t, f)) {
		f->made = 0;
		return trees_lost;
	}
	if (f->features > t->features)
		return native_why(n, "the trees read %lld features of rows that have %lld", (long long)f->features, (long long)t->features);
	t->nans = f->nans, t->one = f->one;
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

#define TREES_INLINE static inline __attribute__((always_inline))

/* Does the comparison of record r hold for x, a float, or a double if `wide`? all: TREES_LE or TREES_LT, if all nodes have that; -1. nans: NaN may
 * go where it holds. */
TREES_INLINE bool trees_yes(const int32_t *r, const void *x, bool wide, int all, bool nans)
{
	double split, v;
	float narrow, f;

	if (wide) {
		memcpy(&split, r + 3, sizeof split);
		v = *(const double *)x;
		return all < 0 ? trees_holds(r[0] & 15, v, split)
			       : (all == TREES_LE ? v <= split : v < split) | (nans && ((v != v) & (r[0] & 1)));
	}
	memcpy(&narrow, r + 3, sizeof narrow);
	f = *(const float *)x;
	return all < 0 ? trees_holds(r[0] & 15, f, narrow)
		       : (all == TREES_LE ? f <= narrow : f < narrow) | (nans && ((f != f) & (r[0] & 1)));
}

/* A way of a row down a tree: the node that it is at, and its number. */
struct trees_way {
	int32_t node, number;
};

/* Takes n ways to their leaves, leaf[number]: a level of all of them after the other, so that none waits for the memory of another or for one that
 * is longer. offset[number]: the first element of its row in x. */
TREES_INLINE void trees_down(const struct trees *t, int n, struct trees_way *restrict way, const int64_t *restrict offset, const char *x,
			     int32_t *restrict leaf, bool wide, int all, bool nans)
{
	const int64_t words = wide ? 5 : 4, size = wide ? sizeof(double) : sizeof(float);
	const int32_t *restrict node = t->node;

	for (int left; n; n = left) {
		left = 0;
		for (int j = 0; j < n; j++) {
			const struct trees_way w = way[j];
			const int32_t *r = node + words * w.node;
			int32_t to = r[2 - trees_yes(r, x + size * (offset[w.number] + (r[0] >> 4)), wide, all, nans)];
			leaf[w.number] = to;
			way[left] = (struct trees_way){to, w.number};
			left += to >= 0;
		}
	}
}

static void trees_down_as(const struct trees *t, int n, struct trees_way *way, const int64_t *offset, const char *x, int32_t *leaf,
			  bool wide)
{
	if (wide && t->all == TREES_LE)
		trees_down(t, n, way, offset, x, leaf, true, TREES_LE, true);
	else if (wide)
		trees_down(t, n, way, offset, x, leaf, true, -1, true);
	else if (t->all == TREES_LE && !t->nans)
		trees_down(t, n, way, offset, x, leaf, false, TREES_LE, false);
	else if (t->all == TREES_LE)
		trees_down(t, n, way, offset, x, leaf, false, TREES_LE, true);
	else if (t->all == TREES_LT)
		trees_down(t, n, way, offset, x, leaf, false, TREES_LT, true);
	else
		trees_down(t, n, way, offset, x, leaf, false, -1, true);
}

static void trees_vote(const struct trees *t, int64_t leaf, double *score)
{
	for (int64_t v = t->start[leaf]; v < t->start[leaf + 1]; v++) {
		double w = t->weight->type == NATIVE_F32 ? ((const float *)t->weight->data)[v]
							 : native_get(t->weight->type, t->weight->data, v),
		       *s = score + t->target[v];
		if (t->how == TREES_MIN)
			*s = w < *s ? w : *s;
		else if (t->how == TREES_MAX)
			*s = w > *s ? w : *s;
		else
			*s += w;
	}
}

/* The votes of a leaf of each of n rows. */
static void trees_vote_all(const struct trees *t, int64_t n, const int32_t *leaf, double *score)
{
	const float *w = t->weight->type == NATIVE_F32 && t->how <= TREES_AVERAGE ? t->weight->data : NULL;

	for (int64_t r = 0; r < n; r++, score += t->targets) {
		int32_t k = ~leaf[r];
		if (!w)
			trees_vote(t, k, score);
		else if (t->one)
			score[t->target[k]] += w[k];
		else
			for (int32_t v = t->start[k]; v < t->start[k + 1]; v++)
				score[t->target[v]] += w[v];
	}
}

/* So many rows from x on, whose scores begin at score, down so many trees: several rows and trees at a time. A row sums the votes of its trees in
 * their order. */
static void trees_rows(const struct trees *t, const char *x, int64_t rows, const int32_t *root, int64_t roots, double *score, bool wide)
{
	struct trees_way way[TREES_WAYS];
	int64_t offset[TREES_WAYS];
	int32_t leaf[TREES_WAYS];

	for (int64_t at = 0, some; at < rows; at += some) {
		some = rows - at < TREES_WAYS ? rows - at : TREES_WAYS;
		for (int64_t k = 0, group; k < roots; k += group) {
			int n = 0, number = 0;
			group = TREES_WAYS / some < roots - k ? TREES_WAYS / some : roots - k;
			for (int64_t i = 0; i < group; i++)
				for (int64_t r = 0; r < some; r++, number++) {
					leaf[number] = root[k + i];
					offset[number] = (at + r) * t->features;
					way[n] = (struct trees_way){root[k + i], number};
					n += root[k + i] >= 0;
				}
			trees_down_as(t, n, way, offset, x, leaf, wide);
			for (int64_t i = 0; i < group; i++)
				trees_vote_all(t, some, leaf + i * some, score + at * t->targets);
		}
	}
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

/* The votes of rows for the leaves that are left. */
static void trees_vote_left(const struct trees *t, const struct trees_cuts *c, int64_t rows, double *score)
{
	const uint32_t *low = t->left, *high = t->left + t->room;
	const float *weight = t->weight->type == NATIVE_F32 ? t->weight->data : NULL;
	double w[CUTS_LEAVES];
	int32_t target = -1;

	for (int k = 0; k < c->leaves && weight; k++) { /* one vote of each, all for the same */
		int64_t v = t->start[c->leaf[k]];
		if (t->start[c->leaf[k] + 1] - v != 1 || (k && t->target[v] != target) || t->how > TREES_AVERAGE)
			weight = NULL;
		else
			target = t->target[v], w[k] = weight[v];
	}
	for (int64_t r = 0; r < rows; r++) {
		int k = low[r] ? __builtin_ctz(low[r]) : 32 + __builtin_ctz(high[r] | UINT32_C(1) << 31);
		if (weight)
			score[r * t->targets + target] += w[k];
		else
			trees_vote(t, c->leaf[k], score + r * t->targets);
	}
}

/* Many rows of f32: small trees by what their nodes strike out, others as trees_rows takes them. */
static const char *trees_many(struct native *n, struct trees *t, const float *x, int64_t rows, double *score)
{
	const int64_t groups = (rows + CUTS_ROWS - 1) / CUTS_ROWS;
	struct trees_cuts c;

	for (int64_t k = 0; k < t->roots; k++) {
		if (!trees_cuts_read(&c, t->node, t->root[k])) {
			trees_rows(t, (const char *)x, rows, t->root + k, 1, score, false);
			continue;
		}
		memset(t->left, 0xff, sizeof *t->left * 2 * (size_t)t->room);
		for (int i = 0; i < c.n; i++) {
			const float *column = trees_column(n, t, x, rows, c.cut[i].feature);
			if (!column)
				return native_no_room(n);
			trees_cuts_strike(&c.cut[i], (const cuts_floats *)column, groups, (cuts_bits *)t->left, false);
			if (c.leaves > 32)
				trees_cuts_strike(&c.cut[i], (const cuts_floats *)column, groups, (cuts_bits *)(t->left + t->room), true);
		}
		trees_vote_left(t, &c, rows, score);
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
	const char *why;
	double start = t->how == TREES_MIN ? INFINITY : t->how == TREES_MAX ? -INFINITY : 0;

	for (int64_t i = 0; i < rows * t->targets; i++)
		score[i] = start;
	t->block++;
	if (!t->column)
		trees_rows(t, x, rows, t->root, t->roots, score, wide);
	else if ((why = trees_many(n, t, (const float *)x, rows, score)))
		return why;
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
	if ((why = trees_read(n, &t)) || (why = trees_sound(n, &t)))
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
