/* Operators that only move elements. */
#include "native/moves.h"
#include "op/native.h"
#include "op/rules.h"

/* Extent of part i of an axis of extent d split evenly into n: the last may be smaller. */
static int64_t split_chunk(int64_t d, int64_t n, int64_t i)
{
	int64_t chunk = (d + n - 1) / n, left = d - chunk * i;

	return left < 0 ? 0 : left < chunk ? left : chunk;
}

#define EXTENT_MAX 0x1p56 /* no axis is longer */

static const char *bad_axis(struct infer *I, int64_t axis, int rank)
{
	return rule_why(I, "axis %lld outside rank %d", (long long)axis, rank);
}

/* How many integers operand i holds, if its shape says so. */
static int length_of(struct infer *I, uint32_t i)
{
	int64_t c;

	if (rule_has(I, i) && I->kin[i].yes)
		return I->kin[i].n;
	return rule_rank(I, i) == 1 && poly_is_const(rule_polys(I), rule_dim(I, i, 0), &c) && c <= RANK_MAX ? (int)c : -1;
}

static void unknown_of_rank(struct infer *I, int rank) { rule_out(I, 0, I->in[0].dtype, rank, rank < 0 ? NULL : rule_dims(I, rank)); }

/* ---- Reshape, Flatten, Squeeze, Unsqueeze ---- */

/* Fills in the extent that follows from the others: that of element -1, or the only unknown one. */
static const char *reshape_rest(struct infer *I, dim *d, int n, int hole)
{
	struct polys *P = rule_polys(I);
	dim total = rule_product(I, I->in[0].dims, 0, I->in[0].rank), rest = rule_const(I, 1);
	int64_t t, r;
	double count = 1;

	for (int i = 0; i < n; i++)
		if (i != hole) {
			rest = poly_mul(P, rest, d[i]);
			count *= poly_is_const(P, d[i], &r) ? (double)r : 0;
		}
	if (count > EXTENT_MAX)
		return rule_why(I, "a shape of %.0f elements", count);
	if (poly_is_const(P, total, &t) && poly_is_const(P, rest, &r)) {
		if (hole < 0 || !r ? t != r : t % r)
			return rule_why(I, "%s does not reshape to that shape: %lld elements, not %s%lld",
					type_str(I->m, &I->in[0], &I->m->arena), (long long)t, hole < 0 ? "" : "a multiple of ",
					(long long)r);
		if (hole >= 0)
			d[hole] = rule_const(I, r ? t / r : 0);
	} else if (hole >= 0) {
		d[hole] = poly_divide(P, total, rest);
	}
	return NULL;
}

static const char *shape_reshape(struct infer *I)
{
	struct polys *P = rule_polys(I);
	const struct known *k = &I->kin[1];
	bool zero = attr_i(I->n, "allowzero");
	int holes = 0, hole = -1, minus = 0, at = -1;

	if (!k->yes) {
		unknown_of_rank(I, length_of(I, 1));
		return NULL;
	}
	dim *d = rule_dims(I, k->n);
	for (int i = 0; i < k->n; i++) {
		int64_t c;
		d[i] = k->e[i];
		if (poly_is_const(P, k->e[i], &c) && c == 0 && !zero) {
			if (I->in[0].rank == RANK_UNKNOWN)
				d[i] = POLY_UNKNOWN;
			else if (i >= I->in[0].rank)
				return rule_why(I, "shape element %d is 0, the operand has rank %d", i, I->in[0].rank);
			else
				d[i] = rule_dim(I, 0, i);
		} else if (poly_is_const(P, k->e[i], &c) && c < 0) {
			if (c != -1 || minus++)
				return c != -1 ? rule_why(I, "shape element %d is %lld", i, (long long)c) : "two shape elements are -1";
			d[i] = POLY_UNKNOWN;
			at = i;
		}
		if (!d[i]) {
			holes++;
			hole = i;
		}
	}
	rule_out(I, 0, I->in[0].dtype, k->n, d);
	if (I->in[0].rank == RANK_UNKNOWN || holes > 1 || (minus && at != hole))
		return NULL;
	return reshape_rest(I, d, k->n, hole);
}

static const char *shape_flatten(struct infer *I)
{
	int rank = rule_rank(I, 0);
	int64_t a = attr_i(I->n, "axis");
	dim *d = rule_dims(I, 2);

	rule_out(I, 0, I->in[0].dtype, 2, d);
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (a < -rank || a > rank)
		return bad_axis(I, a, rank);
	a = a < 0 ? a + rank : a;
	d[0] = rule_product(I, I->in[0].dims, 0, (int)a);
	d[1] = rule_product(I, I->in[0].dims, (int)a, rank);
	return NULL;
}

static const char *shape_squeeze(struct infer *I)
{
	struct polys *P = rule_polys(I);
	const int64_t *axes = NULL;
	int rank = rule_rank(I, 0), count = rule_has(I, 1) ? rule_ints(I, 1, &axes) : -1, n = 0, axis;
	bool drop[RANK_MAX] = {0};
	int64_t c;

	unknown_of_rank(I, RANK_UNKNOWN);
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (rule_has(I, 1) && count < 0) {
		n = length_of(I, 1);
		unknown_of_rank(I, n < 0 || n > rank ? RANK_UNKNOWN : rank - n);
		return NULL;
	}
	for (int i = 0; i < count; i++) {
		if (!rule_axis(axes[i], rank, &axis))
			return bad_axis(I, axes[i], rank);
		if (poly_is_const(P, rule_dim(I, 0, axis), &c) && c != 1)
			return rule_why(I, "axis %d has extent %lld, not 1", axis, (long long)c);
		drop[axis] = true;
	}
	dim *d = rule_dims(I, rank);
	for (int i = 0; i < rank; i++) {
		bool fixed = poly_is_const(P, rule_dim(I, 0, i), &c);
		if (!rule_has(I, 1)) {
			int64_t lo = 0, hi = 0;
			if (rule_dim(I, 0, i))
				poly_range(P, rule_dim(I, 0, i), &lo, &hi);
			if (!fixed && lo <= 1)
				return NULL; /* may be 1 */
			drop[i] = fixed && c == 1;
		}
		if (!drop[i])
			d[n++] = rule_dim(I, 0, i);
	}
	rule_out(I, 0, I->in[0].dtype, n, d);
	return NULL;
}

static const char *shape_unsqueeze(struct infer *I)
{
	const int64_t *axes;
	int rank = rule_rank(I, 0), count = rule_ints(I, 1, &axes), axis, from = 0;
	bool added[RANK_MAX] = {0};

	unknown_of_rank(I, RANK_UNKNOWN);
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (count < 0) {
		count = length_of(I, 1);
		unknown_of_rank(I, count < 0 || rank + count > RANK_MAX ? RANK_UNKNOWN : rank + count);
		return NULL;
	}
	if (rank + count > RANK_MAX)
		return rule_why(I, "rank %d, at most %d is supported", rank + count, RANK_MAX);
	for (int i = 0; i < count; i++) {
		if (!rule_axis(axes[i], rank + count, &axis))
			return bad_axis(I, axes[i], rank + count);
		if (added[axis])
			return rule_why(I, "axis %d is given twice", axis);
		added[axis] = true;
	}
	dim *d = rule_dims(I, rank + count);
	for (int i = 0; i < rank + count; i++)
		d[i] = added[i] ? rule_const(I, 1) : rule_dim(I, 0, from++);
	rule_out(I, 0, I->in[0].dtype, rank + count, d);
	return NULL;
}

/* An axis that goes is of extent 1, also where there are no elements that would tell. Which ones go their sizes say. */
static int least_squeeze(struct module *m, const struct node *n, poly *e)
{
	const struct type *x = &val(m, n->in[0])->type, *y = &val(m, n->out[0])->type;
	int count = 0, kept = 0;

	for (int i = 0; i < x->rank && y->rank >= 0; i++) {
		if (kept < y->rank && x->dims[i] == y->dims[kept]) {
			kept++;
		} else if (x->dims[i] && !poly_is_const(m->dims, x->dims[i], NULL)) {
			e[count++] = poly_addc(m->dims, x->dims[i], -1);
			e[count++] = poly_sub(m->dims, poly_const(m->dims, 1), x->dims[i]);
		}
	}
	return count;
}

/* ---- Transpose, Concat, Split ---- */

int node_axis_after(struct module *m, const struct node *n, int axis)
{
	const struct type *x = n->nin ? &val(m, n->in[0])->type : NULL, *y = n->nout && n->out[0] ? &val(m, n->out[0])->type : NULL;
	struct tensor *t = n->op == OP_Unsqueeze ? node_const(m, n, 1) : NULL;
	int64_t axes[RANK_MAX];
	int k = t ? tensor_ints(m, t, axes, RANK_MAX) : -1, old = 0;

	if (k < 0 || x->rank < 0 || !y || y->rank != x->rank + k)
		return -1;
	for (int at = 0; at < y->rank; at++) {
		bool added = false;
		for (int i = 0; i < k; i++)
			added |= axes[i] == at || axes[i] + y->rank == at;
		if (!added && old++ == axis)
			return at;
	}
	return -1;
}

int node_joins(const struct node *n, int rank)
{
	int64_t axis = n->op == OP_Concat ? attr_i(n, "axis") : -1 - (int64_t)rank;

	return rank < 1 || axis < -rank || axis >= rank ? -1 : (int)(axis < 0 ? axis + rank : axis);
}

static const char *shape_transpose(struct infer *I)
{
	int rank = rule_rank(I, 0), count, axis;
	const int64_t *perm = attr_ints(I->n, "perm", &count);
	bool seen[RANK_MAX] = {0};

	if (rank == RANK_UNKNOWN) {
		unknown_of_rank(I, perm ? count : RANK_UNKNOWN);
		return NULL;
	}
	if (perm && count != rank)
		return rule_why(I, "perm has %d elements for rank %d", count, rank);
	dim *d = rule_dims(I, rank);
	for (int i = 0; i < rank; i++) {
		axis = perm ? (int)perm[i] : rank - 1 - i;
		if (perm && (perm[i] < 0 || perm[i] >= rank || seen[axis]))
			return "perm is not a permutation";
		seen[axis] = true;
		d[i] = rule_dim(I, 0, axis);
	}
	rule_out(I, 0, I->in[0].dtype, rank, d);
	return NULL;
}

static const char *shape_concat(struct infer *I)
{
	struct polys *P = rule_polys(I);
	int rank = RANK_UNKNOWN, axis;
	int64_t a = attr_i(I->n, "axis"), c, f;
	bool all = true;

	for (uint32_t i = 0; i < I->n->nin; i++) {
		int r = rule_rank(I, i);
		if (r >= 0 && rank >= 0 && r != rank)
			return rule_why(I, "operand %u has rank %d, another %d", i, r, rank);
		all = all && r >= 0;
		rank = r >= 0 ? r : rank;
	}
	unknown_of_rank(I, rank);
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (!rule_axis(a, rank, &axis))
		return bad_axis(I, a, rank);
	dim *d = rule_dims(I, rank);
	if (all)
		d[axis] = rule_const(I, 0);
	for (uint32_t i = 0; i < I->n->nin; i++)
		for (int k = 0; rule_rank(I, i) >= 0 && k < rank; k++) {
			dim x = rule_dim(I, i, k);
			if (k == axis) {
				d[k] = all ? poly_add(P, d[k], x) : POLY_UNKNOWN;
			} else if (!d[k] || (poly_is_const(P, x, &c) && !poly_is_const(P, d[k], NULL))) {
				d[k] = x;
			} else if (poly_is_const(P, x, &c) && poly_is_const(P, d[k], &f) && c != f) {
				return rule_why(I, "operand %u has extent %lld at axis %d, another %lld", i, (long long)c, k, (long long)f);
			}
		}
	rule_out(I, 0, I->in[0].dtype, rank, d);
	return NULL;
}

/* Part i of an open extent in nout: all but the last are a chunk, but of a short extent some behind have no element. */
static dim split_part(struct polys *P, dim whole, uint32_t nout, uint32_t i)
{
	dim chunk = poly_ceildiv(P, whole, nout), rest = poly_sub(P, whole, poly_mulc(P, chunk, i));
	bool even = poly_mulc(P, chunk, nout) == whole, last = i + 1 == nout;

	if (nout <= 2 || even || !i)
		return last ? rest : chunk;
	return poly_max(P, poly_const(P, 0), last ? rest : poly_min(P, chunk, rest));
}

static const char *shape_split(struct infer *I)
{
	struct polys *P = rule_polys(I);
	int rank = rule_rank(I, 0), axis;
	uint32_t nout = I->n->nout;
	int64_t a = attr_i(I->n, "axis"), parts = attr_i(I->n, "num_outputs"), c, sum = 0;
	const struct known *k = rule_has(I, 1) ? &I->kin[1] : NULL;

	for (uint32_t i = 0; i < nout; i++)
		rule_out(I, i, I->in[0].dtype, rank, rank < 0 ? NULL : rule_dims(I, rank));
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (!rule_axis(a, rank, &axis))
		return bad_axis(I, a, rank);
	if (k && k->yes && k->n != (int)nout)
		return rule_why(I, "%d sizes for %u results", k->n, nout);
	if (!k && parts && parts != nout)
		return rule_why(I, "attribute 'num_outputs' is %lld, there are %u results", (long long)parts, nout);
	dim whole = rule_dim(I, 0, axis);
	bool fixed = poly_is_const(P, whole, &c);
	for (uint32_t i = 0; i < nout; i++) {
		dim *d = rule_dims(I, rank);
		int64_t v;
		memcpy(d, I->in[0].dims, sizeof *d * (size_t)rank);
		if (k)
			d[axis] = k->yes ? k->e[i] : POLY_UNKNOWN;
		else
			d[axis] = fixed ? rule_const(I, split_chunk(c, nout, i)) : split_part(P, whole, nout, i);
		if (poly_is_const(P, d[axis], &v))
			sum += v;
		else
			fixed = false;
		rule_out(I, i, I->in[0].dtype, rank, d);
	}
	if (k && k->yes && fixed && sum != c)
		return rule_why(I, "sizes add up to %lld, axis %d has %lld", (long long)sum, axis, (long long)c);
	return NULL;
}

/* ---- Slice ---- */

/* No axis is longer: operand 0 fits into an address space. Files write "to the end" as INT32_MAX, or another large number. */
static int64_t longest_axis(struct infer *I, int axis)
{
	enum { ADDRESS_BITS = 47 };
	int64_t most = INT64_C(1) << ADDRESS_BITS, n = (int64_t)dtype_size(I->in[0].dtype);

	most /= n ? n : 1;
	for (int i = 0; i < I->in[0].rank; i++)
		if (i != axis && poly_is_const(rule_polys(I), I->in[0].dims[i], &n) && n > 0)
			most /= n;
	return most < INT32_MAX ? most : INT32_MAX;
}

/* A bound of a slice with a positive step, brought into [0, d]; longest: as longest_axis has it. */
static dim slice_clamp(struct infer *I, dim v, dim d, int64_t longest)
{
	struct polys *P = rule_polys(I);
	int64_t lo, hi;

	if (!v)
		return POLY_UNKNOWN;
	poly_range(P, v, &lo, &hi);
	if (lo >= longest)
		return d;
	if (hi <= -longest)
		return rule_const(I, 0);
	if (lo >= 0)
		return poly_min(P, v, d);
	if (hi < 0)
		return poly_max(P, poly_add(P, d, v), rule_const(I, 0));
	return POLY_UNKNOWN;
}

/* How many elements of an axis of extent d lie up to bound v, which a slice takes backwards, and with it; least: at least, if there are any. */
static dim slice_upto(struct infer *I, int64_t v, dim d, int64_t least, int64_t longest)
{
	struct polys *P = rule_polys(I);
	poly floor = poly_min(P, d, rule_const(I, least));

	if (v >= longest || v == -1)
		return d;
	if (v <= -longest)
		return floor;
	return v >= 0 ? poly_min(P, rule_const(I, v + 1), d) : poly_max(P, poly_addc(P, d, v + 1), floor);
}

static dim slice_extent(struct infer *I, dim d, dim start, dim end, int64_t step, int64_t longest)
{
	struct polys *P = rule_polys(I);
	int64_t c, s, e;
	bool given = poly_is_const(P, start, &s) && poly_is_const(P, end, &e);

	if (given && poly_is_const(P, d, &c))
		return rule_const(I, moves_clip(c, &s, e, step));
	if (step < 0 && (!given || step < -longest))
		return POLY_UNKNOWN;
	start = step < 0 ? slice_upto(I, s, d, 1, longest) : slice_clamp(I, start, d, longest);
	end = step < 0 ? slice_upto(I, e, d, 0, longest) : slice_clamp(I, end, d, longest);
	poly taken = step < 0 ? poly_sub(P, start, end) : poly_sub(P, end, start);
	return poly_max(P, poly_ceildiv(P, taken, step < 0 ? -step : step), rule_const(I, 0));
}

static const char *shape_slice(struct infer *I)
{
	int rank = rule_rank(I, 0), axis, count;
	const struct known *s = &I->kin[1], *t = &I->kin[2];
	const int64_t *axes = NULL, *steps = NULL;

	unknown_of_rank(I, rank);
	for (int64_t i = 0, v; i < rule_elements(I, 4); i++)
		if (rule_element(I, 4, i, &v) && !v)
			return "a step is 0";
	if (rank == RANK_UNKNOWN)
		return NULL;
	count = s->yes ? s->n : t->yes ? t->n : length_of(I, 1);
	if ((rule_has(I, 3) && (rule_ints(I, 3, &axes) < 0 || I->kin[3].n != count)) || count < 0 || count > rank)
		return count > rank ? "more bounds than axes" : NULL;
	if (rule_has(I, 4) && (rule_ints(I, 4, &steps) < 0 || I->kin[4].n != count))
		steps = NULL;
	dim *d = rule_dims(I, rank);
	bool seen[RANK_MAX] = {0};
	memcpy(d, I->in[0].dims, sizeof *d * (size_t)rank);
	for (int i = 0; i < count; i++) {
		int64_t a = axes ? axes[i] : i, step = steps ? steps[i] : 1;
		if (!rule_axis(a, rank, &axis))
			return bad_axis(I, a, rank);
		if (seen[axis])
			return rule_why(I, "axis %d is given twice", axis);
		seen[axis] = true;
		if ((rule_has(I, 4) && !steps) || !s->yes || !t->yes || i >= t->n)
			d[axis] = POLY_UNKNOWN;
		else
			d[axis] = slice_extent(I, d[axis], s->e[i], t->e[i], step, longest_axis(I, axis));
	}
	rule_out(I, 0, I->in[0].dtype, rank, d);
	return NULL;
}

/* ---- Trilu ---- */

static const char *shape_trilu(struct infer *I)
{
	rule_like(I, 0, 0);
	if (rule_rank(I, 0) != RANK_UNKNOWN && rule_rank(I, 0) < 2)
		return rule_why(I, "operand 0 has rank %d, takes matrices", rule_rank(I, 0));
	return NULL;
}

/* ---- Expand, Tile, Pad ---- */

static const char *shape_expand(struct infer *I)
{
	int rank = rule_rank(I, 0), n;
	const struct known *k = &I->kin[1];

	n = length_of(I, 1);
	unknown_of_rank(I, rank < 0 || n < 0 ? RANK_UNKNOWN : rank > n ? rank : n);
	if (rank < 0 || !k->yes)
		return NULL;
	n = rank > k->n ? rank : k->n;
	dim *d = rule_dims(I, n), one = rule_const(I, 1);
	for (int i = 0; i < n; i++) {
		int at = i - (n - rank), kt = i - (n - k->n);
		bool clash;
		d[i] = rule_broadcast_dim(rule_polys(I), at < 0 ? one : rule_dim(I, 0, at), kt < 0 ? one : k->e[kt], &clash);
		if (clash)
			return rule_why(I, "%s does not expand to that shape at axis %d", type_str(I->m, &I->in[0], &I->m->arena), i);
	}
	rule_out(I, 0, I->in[0].dtype, n, d);
	return NULL;
}

static const char *shape_tile(struct infer *I)
{
	int rank = rule_rank(I, 0);
	const struct known *k = &I->kin[1];

	unknown_of_rank(I, rank);
	if (rank < 0)
		return NULL;
	if (k->yes && k->n != rank)
		return rule_why(I, "%d repeats for rank %d", k->n, rank);
	dim *d = rule_dims(I, rank);
	for (int i = 0; i < rank; i++) {
		int64_t v;
		if (poly_is_const(rule_polys(I), rule_dim(I, 0, i), &v) && !v && (!k->yes || !k->e[i])) { /* however often */
			d[i] = rule_const(I, 0);
			continue;
		}
		if (!k->yes) {
			d[i] = POLY_UNKNOWN;
			continue;
		}
		if (poly_is_const(rule_polys(I), k->e[i], &v) && v < 0)
			return rule_why(I, "axis %d is repeated %lld times", i, (long long)v);
		int64_t c;
		if (poly_is_const(rule_polys(I), k->e[i], &v) && poly_is_const(rule_polys(I), rule_dim(I, 0, i), &c) &&
		    __builtin_mul_overflow(c, v, &c))
			return rule_why(I, "axis %d is repeated %lld times, too often", i, (long long)v);
		d[i] = poly_mul(rule_polys(I), rule_dim(I, 0, i), k->e[i]);
	}
	rule_out(I, 0, I->in[0].dtype, rank, d);
	return NULL;
}

/* Checks that a mode that repeats elements has an element to repeat, after what negative pads cut off. */
static const char *pad_repeats(struct infer *I, int axis, dim before, poly begin, poly end, dim after)
{
	int64_t c, n, b, e;
	bool fills = *attr_s(I->n, "mode") == 'c';

	if (fills || !poly_is_const(rule_polys(I), before, &n) || !poly_is_const(rule_polys(I), after, &c) || !c ||
	    !poly_is_const(rule_polys(I), begin, &b) || !poly_is_const(rule_polys(I), end, &e))
		return NULL;
	return n + (b < 0 ? b : 0) + (e < 0 ? e : 0) > 0 ? NULL : rule_why(I, "axis %d has no elements to pad with", axis);
}

static const char *shape_pad(struct infer *I)
{
	struct polys *P = rule_polys(I);
	int rank = rule_rank(I, 0), count = rank, axis;
	const struct known *k = &I->kin[1];
	const int64_t *axes = NULL;
	bool seen[RANK_MAX] = {0};
	const char *why;

	unknown_of_rank(I, rank);
	if (rank < 0 || !k->yes || (rule_has(I, 3) && (count = rule_ints(I, 3, &axes)) < 0))
		return NULL;
	if (k->n != 2 * count)
		return rule_why(I, "%d pads for %d axes", k->n, count);
	dim *d = rule_dims(I, rank);
	memcpy(d, I->in[0].dims, sizeof *d * (size_t)rank);
	for (int i = 0; i < count; i++) {
		int64_t a = axes ? axes[i] : i, v;
		if (!rule_axis(a, rank, &axis))
			return bad_axis(I, a, rank);
		if (seen[axis])
			return rule_why(I, "axis %d is given twice", axis);
		seen[axis] = true;
		for (int side = 0; side < 2; side++)
			if (poly_is_const(P, k->e[i + side * count], &v) && (v < -EXTENT_MAX || v > EXTENT_MAX))
				return rule_why(I, "a pad of %lld", (long long)v);
		d[axis] = poly_add(P, d[axis], poly_add(P, k->e[i], k->e[count + i]));
		if (poly_is_const(P, d[axis], &v) && v < 0)
			return rule_why(I, "the pads leave an extent of %lld at axis %d", (long long)v, axis);
		if ((why = pad_repeats(I, axis, rule_dim(I, 0, axis), k->e[i], k->e[count + i], d[axis])))
			return why;
	}
	rule_out(I, 0, I->in[0].dtype, rank, d);
	return NULL;
}

/* ---- ReverseSequence ---- */

static const char *shape_reverse(struct infer *I)
{
	struct polys *P = rule_polys(I);
	int64_t b = attr_i(I->n, "batch_axis"), t = attr_i(I->n, "time_axis"), c, n, v;

	rule_like(I, 0, 0);
	if (b == t)
		return "batch_axis and time_axis are one axis";
	if (rule_rank(I, 0) < 2)
		return NULL;
	if (rule_rank(I, 1) == 1 && poly_is_const(P, rule_dim(I, 0, (int)b), &c) && poly_is_const(P, rule_dim(I, 1, 0), &n) && n != c)
		return rule_why(I, "%lld lengths for %lld sequences", (long long)n, (long long)c);
	bool known = poly_is_const(P, rule_dim(I, 0, (int)t), &c);
	for (int64_t i = 0; i < rule_elements(I, 1); i++)
		if (rule_element(I, 1, i, &v) && (v < 0 || (known && v > c)))
			return rule_why(I, "a length of %lld is outside the time axis", (long long)v);
	return NULL;
}

/* ---- DepthToSpace, SpaceToDepth ---- */

static const char *shape_space(struct infer *I)
{
	struct polys *P = rule_polys(I);
	int rank = rule_rank(I, 0);
	int64_t b = attr_i(I->n, "blocksize"), c;
	bool to_space = I->n->op == OP_DepthToSpace;

	unknown_of_rank(I, rank);
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (rank != 4 || b < 1 || b > MOVES_BLOCKSIZE_MAX)
		return rule_why(I, "takes an image of rank 4 and a blocksize of 1 to %d", MOVES_BLOCKSIZE_MAX);
	for (int i = 1; i < 4; i++)
		if (to_space == (i == 1) && poly_is_const(P, rule_dim(I, 0, i), &c) && c % (i == 1 ? b * b : b))
			return to_space ? "channels do not divide by blocksize squared" : "the image does not divide by blocksize";
	dim *d = rule_dims(I, 4);
	d[0] = rule_dim(I, 0, 0);
	d[1] = to_space ? poly_floordiv(P, rule_dim(I, 0, 1), b * b) : poly_mulc(P, rule_dim(I, 0, 1), b * b);
	for (int i = 2; i < 4; i++)
		d[i] = to_space ? poly_mulc(P, rule_dim(I, 0, i), b) : poly_floordiv(P, rule_dim(I, 0, i), b);
	rule_out(I, 0, I->in[0].dtype, 4, d);
	return NULL;
}

const struct op ops_move[] = {
	{OP_Concat, shape_concat, eval_native},
	{OP_DepthToSpace, shape_space, eval_native},
	{OP_Expand, shape_expand, eval_native},
	{OP_Flatten, shape_flatten, eval_native},
	{OP_Pad, shape_pad, eval_native},
	{OP_Reshape, shape_reshape, eval_native},
	{OP_ReverseSequence, shape_reverse, eval_native},
	{OP_Slice, shape_slice, eval_native},
	{OP_SpaceToDepth, shape_space, eval_native},
	{OP_Split, shape_split, eval_native},
	{OP_Squeeze, shape_squeeze, eval_native, .least = least_squeeze},
	{OP_Tile, shape_tile, eval_native},
	{OP_Transpose, shape_transpose, eval_native},
	{OP_Trilu, shape_trilu, eval_native},
	{OP_Unsqueeze, shape_unsqueeze, eval_native},
	{0},
};
