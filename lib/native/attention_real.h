/* The loops of Attention, once for sums in ATTENTION_REAL. No include guard: attention.c includes it twice. A tile of queries that share keys
 * goes over them at once, so that keys and values come from memory once for all heads of a group, or for some rows of a chunk. */

/* Rows of keys or values of one head: those of the past, then the others. */
struct ATTENTION(rows) {
	const ATTENTION_REAL *past, *now;
	int64_t npast, past_stride, stride, used; /* used: rows that are looked at */
	/* Rows of a narrower type, of which past and now are not there: the tensors, where the rows begin in them, and memory for a block, widened. */
	const struct native_tensor *from_past, *from_now;
	int64_t past_at, at, size;
	ATTENTION_REAL *block;
	const float *scale;               /* of row 0, if the rows are codes */
	int64_t scale_stride, scale_step; /* from one row to the next, from one number of a row to the next; 0: one for all */
};

/* A query of a tile. */
struct ATTENTION(row) {
	int64_t token, number, mask; /* which one it is in operands and result, in the scores, in the mask */
	int64_t lo, hi;              /* keys that it sees */
	bool seen;                   /* the mask leaves one */
	ATTENTION_REAL part;         /* times its scores, in the end, are probabilities */
	ATTENTION_REAL *q, *score, *out;
};

static inline const ATTENTION_REAL *ATTENTION(at)(const struct ATTENTION(rows) * r, int64_t s)
{
	return s < r->npast ? r->past + s * r->past_stride : r->now + (s - r->npast) * r->stride;
}

static void ATTENTION(put)(int type, void *p, int64_t i, int64_t n, const ATTENTION_REAL *from)
{
	if (type == ATTENTION_TYPE)
		memcpy((ATTENTION_REAL *)p + i, from, sizeof *from * (size_t)n);
	else
		for (int64_t k = 0; k < n; k++)
			native_set(type, p, i + k, from[k]);
}

/* Where the scales of head g of batch b begin, which broadcast to [batch, groups, keys, size]. */
static void ATTENTION(scales_of)(struct ATTENTION(rows) * r, const struct native_tensor *t, int64_t b, int64_t g)
{
	int64_t stride[4] = {0}, at[4] = {b, g}, next = 1, first = 0;

	for (int k = 3; k >= 0; k--) {
		int axis = t->first ? (const int[]){2, 0, 1, 3}[k] : k, own = axis - (4 - t->rank);
		int64_t extent = own < 0 ? 1 : t->dims[own];
		stride[axis] = extent == 1 ? 0 : next;
		next *= extent;
	}
	for (int k = 0; k < 2; k++)
		first += at[k] * stride[k];
	r->scale = (const float *)t->data + first;
	r->scale_stride = stride[2];
	r->scale_step = stride[3];
}

/* Rows of head g of batch b; memory: for a block of them, if they have to be widened. scales: of codes, else NULL. */
static struct ATTENTION(rows)
	ATTENTION(rows_of)(const struct attention *a, const struct native_tensor *past, const struct native_tensor *now,
			   const struct native_tensor *scales, int64_t b, int64_t g, int64_t size, ATTENTION_REAL *memory)
{
	int64_t before = (b * a->groups + g) * a->past * size, stride, at = attention_at(a, now, b, g, size, &stride);
	struct ATTENTION(rows) r = {.npast = a->past, .past_stride = size, .stride = stride, .used = attention_used(a, b)};

	if (now->type == ATTENTION_TYPE) {
		r.past = a->past ? (const ATTENTION_REAL *)past->data + before : NULL;
		r.now = (const ATTENTION_REAL *)now->data + at;
		return r;
	}
	r.from_past = past;
	r.from_now = now;
	r.past_at = before;
	r.at = at;
	r.size = size;
	r.block = memory;
	if (scales)
		ATTENTION(scales_of)(&r, scales, b, g);
	return r;
}

/* `rows` rows of t, the first of them at number `at`, widened to `to`. left: rows that t has from there on. */
static void ATTENTION(widen_rows)(const struct native_tensor *t, int64_t at, int64_t stride, int64_t rows, int64_t left, int64_t size,
				  ATTENTION_REAL *to)
{
	int64_t bytes = attention_bytes_of(t->type, size);

	if (stride == size) {
		ATTENTION(widen)(t->type, t->data, at, rows * size, to);
		return;
	}
	for (int64_t s = 0; s < rows; s++, at += stride, to += size) {
		const char *ahead = (const char *)t->data + attention_bytes_of(t->type, at + ATTENTION_AHEAD * stride);
		for (int64_t i = 0; i < bytes && s + ATTENTION_AHEAD < left; i += ATTENTION_LINE)
			__builtin_prefetch(ahead + i);
		ATTENTION(widen)(t->type, t->data, at, size, to);
	}
}

/* Codes of rows [lo, hi) in the block become numbers, if each number of a row has a scale. */
static void ATTENTION(scale_numbers)(const struct ATTENTION(rows) * r, int64_t lo, int64_t hi)
{
	const float *scale = r->scale + lo * r->scale_stride;
	ATTENTION_REAL *to = r->block;

	for (int64_t s = lo; s < hi; s++, scale += r->scale_stride, to += r->size)
		for (int64_t i = 0; i < r->size; i++)
			to[i] *= scale[i * r->scale_step];
}

/* x[s], the score of row s or its part in the sum of values, times the scale of the row, if rows are codes with one each. A row whose part
 * is 0 is not looked at. */
static void ATTENTION(scale_scores)(const struct ATTENTION(rows) * r, int64_t lo, int64_t hi, bool parts, ATTENTION_REAL *x)
{
	for (int64_t s = lo; s < hi && r->scale && !r->scale_step; s++)
		x[s] = parts && x[s] == 0 ? 0 : x[s] * r->scale[s * r->scale_stride];
}

/* Rows [lo, hi), of which there are at most ATTENTION_BLOCK, as they can be read. */
static struct ATTENTION(rows) ATTENTION(readable)(const struct ATTENTION(rows) * r, int64_t lo, int64_t hi)
{
	int64_t from = lo < r->npast ? r->npast : lo; /* rows from here on are of the call */

	if (!r->block)
		return *r;
	from = from < hi ? from : hi;
	if (lo < from) {
		int64_t at = r->past_at + lo * r->past_stride;
		ATTENTION(widen_rows)(r->from_past, at, r->past_stride, from - lo, r->npast - lo, r->size, r->block);
	}
	if (from < hi) {
		int64_t at = r->at + (from - r->npast) * r->stride;
		ATTENTION_REAL *to = r->block + (from - lo) * r->size;
		ATTENTION(widen_rows)(r->from_now, at, r->stride, hi - from, r->used - from, r->size, to);
	}
	if (r->scale && r->scale_step)
		ATTENTION(scale_numbers)(r, lo, hi);
	return (struct ATTENTION(rows)){.now = r->block, .npast = lo, .stride = r->size, .used = hi};
}

/* ---- scores ---- */

/* The products of a few queries and keys. ahead: the keys that come some time after these. */
static inline void ATTENTION(dots)(ATTENTION_REAL *const *q, const ATTENTION_REAL *const *k, const ATTENTION_REAL *const *ahead, int64_t n,
				   ATTENTION_REAL out[ATTENTION_QUERIES * ATTENTION_KEYS])
{
	ATTENTION(vec) s00 = {0}, s10 = {0}, s20 = {0}, s30 = {0}, s01 = {0}, s11 = {0}, s21 = {0}, s31 = {0};
	int64_t i = 0;

	for (; i + ATTENTION(lanes) <= n; i += ATTENTION(lanes)) {
		ATTENTION(vec) x = *(const ATTENTION(vec) *)(k[0] + i), y = *(const ATTENTION(vec) *)(k[1] + i), z;
		__builtin_prefetch(ahead[0] + i);
		__builtin_prefetch(ahead[1] + i);
		z = *(const ATTENTION(vec) *)(q[0] + i);
		s00 += z * x;
		s01 += z * y;
		z = *(const ATTENTION(vec) *)(q[1] + i);
		s10 += z * x;
		s11 += z * y;
		z = *(const ATTENTION(vec) *)(q[2] + i);
		s20 += z * x;
		s21 += z * y;
		z = *(const ATTENTION(vec) *)(q[3] + i);
		s30 += z * x;
		s31 += z * y;
	}
	ATTENTION(sums)(&s00, &s10, &s20, &s30, out);
	ATTENTION(sums)(&s01, &s11, &s21, &s31, out + ATTENTION_QUERIES);
	for (; i < n; i++)
		for (int j = 0; j < ATTENTION_QUERIES * ATTENTION_KEYS; j++)
			out[j] += q[j % ATTENTION_QUERIES][i] * k[j / ATTENTION_QUERIES][i];
}

/* Scores [lo, hi) of rows t[0, n), of which there are at most ATTENTION_QUERIES. */
static void __attribute__((noinline)) ATTENTION(scores)(struct ATTENTION(row) * t, int n, const struct ATTENTION(rows) * k, int64_t lo,
							int64_t hi, int64_t size, ATTENTION_REAL scale)
{
	ATTENTION_REAL *q[ATTENTION_QUERIES], out[ATTENTION_QUERIES * ATTENTION_KEYS];

	for (int j = 0; j < ATTENTION_QUERIES; j++)
		q[j] = t[j < n ? j : n - 1].q;
	for (int64_t s = lo; s < hi; s += ATTENTION_KEYS) {
		int64_t next = s + 1 < hi ? s + 1 : s, later = s + ATTENTION_AHEAD + 1 < k->used ? s + ATTENTION_AHEAD : s;
		const ATTENTION_REAL *row[ATTENTION_KEYS] = {ATTENTION(at)(k, s), ATTENTION(at)(k, next)};
		const ATTENTION_REAL *ahead[ATTENTION_KEYS] = {ATTENTION(at)(k, later), ATTENTION(at)(k, later == s ? s : later + 1)};
		ATTENTION(dots)(q, row, ahead, size, out);
		for (int j = 0; j < n; j++) {
			t[j].score[s] = scale * out[j];
			t[j].score[next] = scale * out[next == s ? j : ATTENTION_QUERIES + j];
		}
	}
}

/* Queries that lie side by side: number 0 of each, number 1 of each, .. */
static void ATTENTION(turn)(const struct ATTENTION(row) * t, int64_t size, ATTENTION_REAL *to)
{
	for (int64_t i = 0; i < size; i++)
		for (int j = 0; j < 2 * ATTENTION(lanes); j++)
			*to++ = t[j].q[i];
}

/* Products of four keys and of as many queries as two vectors have numbers, x: of numbers i, i + lanes, .. of each, which is what a lane of
 * ATTENTION(dots) sums. sum: of the first vector and of the second, for each key. */
static inline void ATTENTION(dots_across)(const ATTENTION_REAL *x, const ATTENTION_REAL *const *k, int64_t i, int64_t n,
					  ATTENTION(vec) sum[2 * ATTENTION_ACROSS])
{
	ATTENTION(vec) a0 = {0}, a1 = {0}, a2 = {0}, a3 = {0}, b0 = {0}, b1 = {0}, b2 = {0}, b3 = {0};
	const ATTENTION_REAL *k0 = k[0], *k1 = k[1], *k2 = k[2], *k3 = k[3];

	for (; i < n; i += ATTENTION(lanes)) {
		const ATTENTION_REAL *from = x + 2 * ATTENTION(lanes) * i;
		ATTENTION(vec) a = *(const ATTENTION(vec) *)from, b = *(const ATTENTION(vec) *)(from + ATTENTION(lanes));
		a0 += a * k0[i];
		b0 += b * k0[i];
		a1 += a * k1[i];
		b1 += b * k1[i];
		a2 += a * k2[i];
		b2 += b * k2[i];
		a3 += a * k3[i];
		b3 += b * k3[i];
	}
	sum[0] = a0, sum[1] = a1, sum[2] = a2, sum[3] = a3;
	sum[4] = b0, sum[5] = b1, sum[6] = b2, sum[7] = b3;
}

#ifdef ATTENTION_WIDE
/* ATTENTION(dots_across) of twice as many keys, both vectors in one register, from i on and from i + 1 on: as many sums at a time as hide
 * how long one takes. */
static inline void ATTENTION(dots_wide)(const ATTENTION_REAL *x, const ATTENTION_REAL *const *k, int64_t i, int64_t n,
					ATTENTION(vec) sum[8 * ATTENTION_ACROSS])
{
	ATTENTION(wide) s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0}, s6 = {0}, s7 = {0}, *to = (ATTENTION(wide) *)sum;
	ATTENTION(wide) t0 = {0}, t1 = {0}, t2 = {0}, t3 = {0}, t4 = {0}, t5 = {0}, t6 = {0}, t7 = {0};
	const ATTENTION_REAL *k0 = k[0], *k1 = k[1], *k2 = k[2], *k3 = k[3], *k4 = k[4], *k5 = k[5], *k6 = k[6], *k7 = k[7];

	for (; i < n; i += ATTENTION(lanes)) {
		const ATTENTION_REAL *from = x + 2 * ATTENTION(lanes) * i;
		ATTENTION(wide) a = *(const ATTENTION(wide) *)from, b = *(const ATTENTION(wide) *)(from + 2 * ATTENTION(lanes));
		s0 += a * k0[i];
		t0 += b * k0[i + 1];
		s1 += a * k1[i];
		t1 += b * k1[i + 1];
		s2 += a * k2[i];
		t2 += b * k2[i + 1];
		s3 += a * k3[i];
		t3 += b * k3[i + 1];
		s4 += a * k4[i];
		t4 += b * k4[i + 1];
		s5 += a * k5[i];
		t5 += b * k5[i + 1];
		s6 += a * k6[i];
		t6 += b * k6[i + 1];
		s7 += a * k7[i];
		t7 += b * k7[i + 1];
	}
	to[0] = s0, to[1] = s1, to[2] = s2, to[3] = s3, to[4] = s4, to[5] = s5, to[6] = s6, to[7] = s7;
	to[8] = t0, to[9] = t1, to[10] = t2, to[11] = t3, to[12] = t4, to[13] = t5, to[14] = t6, to[15] = t7;
}

/* Scores of keys [s, s + 2 * ATTENTION_ACROSS), to to[..][at] and on, as ATTENTION(scores_across) has them. */
static inline void ATTENTION(scores_wide)(const ATTENTION_REAL *x, const struct ATTENTION(rows) * k, int64_t s, int64_t size,
					  ATTENTION_REAL scale, ATTENTION_REAL *const *to, int64_t at)
{
	enum { SUMS = 4 * ATTENTION_ACROSS };
	const ATTENTION_REAL *key[2 * ATTENTION_ACROSS];
	ATTENTION(vec) part[ATTENTION(lanes) * SUMS], sum[SUMS];
	int64_t whole = size - size % ATTENTION(lanes);

	for (int j = 0; j < 2 * ATTENTION_ACROSS; j++)
		key[j] = ATTENTION(at)(k, s + j);
	for (int i = 0; i < ATTENTION(lanes); i += 2)
		ATTENTION(dots_wide)(x, key, i, whole, part + i * SUMS);
	for (int j = 0; j < SUMS; j++)
		ATTENTION(in_order)(part + j, SUMS, &sum[j]);
	for (int64_t i = whole; i < size; i++)
		for (int j = 0; j < SUMS; j++)
			sum[j] += *(const ATTENTION(vec) *)(x + (2 * i + j % 2) * ATTENTION(lanes)) * key[j / 2][i];
	for (int j = 0; j < SUMS; j++)
		sum[j] *= scale;
	for (int j = 0; j < 4; j++)
		ATTENTION(fours)
	(sum + j % 2 + 8 * (j / 2), sum + j % 2 + 8 * (j / 2) + 2, sum + j % 2 + 8 * (j / 2) + 4, sum + j % 2 + 8 * (j / 2) + 6,
	 to + j % 2 * ATTENTION(lanes), at + j / 2 * ATTENTION_ACROSS);
}
#endif

/* Scores [lo, hi), and up to the next multiple of ATTENTION_ACROSS, of as many rows as two vectors have numbers; x: their queries, side by
 * side. Nothing is summed up across a vector, and each score is the sum that ATTENTION(scores) has, in its order: a row's numbers are the
 * same whatever rows are beside it. */
static void __attribute__((noinline))
ATTENTION(scores_across)(struct ATTENTION(row) * t, const ATTENTION_REAL *x, const struct ATTENTION(rows) * k, int64_t lo, int64_t hi,
			 int64_t size, ATTENTION_REAL scale)
{
	enum { SUMS = 2 * ATTENTION_ACROSS };
	ATTENTION_REAL *to[2 * ATTENTION(lanes)];
	int64_t whole = size - size % ATTENTION(lanes);

	for (int j = 0; j < 2 * ATTENTION(lanes); j++)
		to[j] = t[j].score + lo;
	int64_t s = lo;
#ifdef ATTENTION_WIDE
	for (; s + 2 * ATTENTION_ACROSS <= hi; s += 2 * ATTENTION_ACROSS)
		ATTENTION(scores_wide)(x, k, s, size, scale, to, s - lo);
#endif
	for (; s < hi; s += ATTENTION_ACROSS) {
		const ATTENTION_REAL *key[ATTENTION_ACROSS];
		ATTENTION(vec) part[ATTENTION(lanes) * SUMS], sum[SUMS];
		for (int j = 0; j < ATTENTION_ACROSS; j++)
			key[j] = ATTENTION(at)(k, s + j < hi ? s + j : s);
		for (int i = 0; i < ATTENTION(lanes); i++)
			ATTENTION(dots_across)(x, key, i, whole, part + i * SUMS);
		for (int j = 0; j < SUMS; j++)
			ATTENTION(in_order)(part + j, SUMS, &sum[j]);
		for (int64_t i = whole; i < size; i++)
			for (int j = 0; j < SUMS; j++)
				sum[j] += *(const ATTENTION(vec) *)(x + (2 * i + j / ATTENTION_ACROSS) * ATTENTION(lanes)) *
					  key[j % ATTENTION_ACROSS][i];
		for (int j = 0; j < SUMS; j++)
			sum[j] *= scale;
		ATTENTION(fours)(sum, sum + 1, sum + 2, sum + 3, to, s - lo);
		ATTENTION(fours)(sum + 4, sum + 5, sum + 6, sum + 7, to + ATTENTION(lanes), s - lo);
	}
}

/* ---- softmax ---- */

/* Adds the mask to a row's scores; false: no key is seen. */
static bool ATTENTION(biased)(const struct attention *a, struct ATTENTION(row) * r)
{
	bool seen = false;

	for (int64_t s = r->lo; s < r->hi; s++) {
		ATTENTION_REAL bias = (ATTENTION_REAL)attention_bias(a, r->mask, s);
		seen |= bias != -(ATTENTION_REAL)INFINITY;
		r->score[s] += bias;
	}
	return seen;
}

/* The largest score; what is no number shows in the sum. */
static ATTENTION_REAL ATTENTION(most)(const ATTENTION_REAL *x, int64_t n)
{
	ATTENTION_REAL most = -INFINITY;
	ATTENTION(vec) v[2] = {{0}}, y;
	int64_t i = 0;

	for (int j = 0; j < 2; j++)
		v[j] += most;
	for (; i + 2 * ATTENTION(lanes) <= n; i += 2 * ATTENTION(lanes))
		for (int j = 0; j < 2; j++) {
			y = *(const ATTENTION(vec) *)(x + i + j * ATTENTION(lanes));
			ATTENTION(bits) more = y > v[j];
			v[j] = (ATTENTION(vec))(((ATTENTION(bits))y & more) | ((ATTENTION(bits))v[j] & ~more));
		}
	ATTENTION(bits) other = v[1] > v[0];
	v[0] = (ATTENTION(vec))(((ATTENTION(bits))v[1] & other) | ((ATTENTION(bits))v[0] & ~other));
	for (int j = 0; j < ATTENTION(lanes); j++)
		most = v[0][j] > most ? v[0][j] : most;
	for (; i < n; i++)
		most = x[i] > most ? x[i] : most;
	return most;
}

static void ATTENTION(round)(const struct attention *a, struct ATTENTION(row) * r, ATTENTION_REAL part)
{
	uint64_t bits = 0;

	for (int64_t s = r->lo; s < r->hi; s++) {
		native_set(a->precision, &bits, 0, r->score[s] / part);
		r->score[s] = (ATTENTION_REAL)native_get(a->precision, &bits, 0);
	}
}

/* A row's scores to probabilities, but for r->part. */
static void ATTENTION(softmax)(const struct attention *a, struct ATTENTION(row) * r)
{
	ATTENTION_REAL most, sum;
	bool narrow = a->precision != NATIVE_NONE;

	r->part = 1;
	r->seen = a->mask ? ATTENTION(biased)(a, r) : r->lo < r->hi;
	if (!r->seen)
		return;
	if (narrow)
		ATTENTION(round)(a, r, 1);
	most = ATTENTION(most)(r->score + r->lo, r->hi - r->lo);
	sum = ATTENTION(exps)(r->score + r->lo, r->hi - r->lo, most == -(ATTENTION_REAL)INFINITY ? 0 : most);
	if (!narrow) {
		r->part = sum != 0 ? 1 / sum : 1;
		return;
	}
	ATTENTION(round)(a, r, 1);
	sum = 0;
	for (int64_t s = r->lo; s < r->hi; s++)
		sum += r->score[s];
	ATTENTION(round)(a, r, sum != 0 ? sum : 1);
}

/* What the fourth result has of a row. */
static void ATTENTION(put_qk)(const struct attention *a, int mode, const struct ATTENTION(row) * r)
{
	if (!a->qk || a->mode != mode)
		return;
	for (int64_t s = 0; s < a->keys; s++) {
		bool outside = s < r->lo || s >= r->hi;
		double v = mode == 3 && (!r->seen || outside) ? 0 : mode == 3 ? r->score[s] * r->part : r->score[s];
		if (mode == 2)
			v += outside ? -INFINITY : attention_bias(a, r->mask, s);
		native_set(a->type, a->qk, r->number * a->keys + s, v);
	}
}

/* ---- values ---- */

/* Adds numbers [from, size) of values [lo, hi) to a row's result; of values that are not seen, not even a NaN is. */
static void ATTENTION(add)(struct ATTENTION(row) * r, const struct ATTENTION(rows) * v, int64_t lo, int64_t hi, int64_t from, int64_t size)
{
	for (int64_t s = lo; s < hi && from < size; s++) {
		const ATTENTION_REAL *x = ATTENTION(at)(v, s);
		ATTENTION_REAL c = r->score[s];
		for (int64_t i = from; i < size && c != 0; i++)
			r->out[i] += c * x[i];
	}
}

/* Adds `parts` registers of numbers, from number i on, of values [lo, hi) to the results of a few rows, in one sum for each; registers hold
 * the sums if all loops but those over values are unrolled. Asks memory for the same numbers of the next block. */
static inline __attribute__((always_inline)) void ATTENTION(add_columns)(struct ATTENTION(row) *const *t, const struct ATTENTION(rows) * v,
									 int64_t lo, int64_t hi, int64_t i, const int parts)
{
	enum { LANES = sizeof(ATTENTION(full)) / sizeof(ATTENTION_REAL) };
	ATTENTION(full) sum[ATTENTION_QUERIES][ATTENTION_PARTS] = {{{0}}};
	const ATTENTION_REAL *p[ATTENTION_QUERIES] = {t[0]->score, t[1]->score, t[2]->score, t[3]->score};

	for (int64_t s = lo, end; s < hi;) {
		const ATTENTION_REAL *from = ATTENTION(at)(v, s) + i;
		int64_t stride = s < v->npast ? v->past_stride : v->stride;
		for (end = s < v->npast && v->npast < hi ? v->npast : hi; s < end; s++, from += stride) {
			const ATTENTION_REAL *later = s + ATTENTION_BLOCK < v->used ? from + ATTENTION_BLOCK * stride : from;
#pragma GCC unroll 4
			for (int k = 0; k < parts; k++) {
				ATTENTION(full) x = *(const ATTENTION(full) *)(from + k * LANES);
				if (k % 2 == 0)
					__builtin_prefetch(later + k * LANES);
#pragma GCC unroll 4
				for (int j = 0; j < ATTENTION_QUERIES; j++)
					sum[j][k] += p[j][s] * x;
			}
		}
	}
#pragma GCC unroll 4
	for (int j = 0; j < ATTENTION_QUERIES; j++)
#pragma GCC unroll 4
		for (int k = 0; k < parts; k++)
			*(ATTENTION(full) *)(t[j]->out + i + k * LANES) += sum[j][k];
}

/* Numbers of a result that vectors hold; the others are summed one by one. */
static int64_t ATTENTION(in_vectors)(int64_t size) { return size - size % (2 * ATTENTION(lanes)); }

/* Adds values [lo, hi) to the results of rows t[0, n), of which there are at most ATTENTION_QUERIES. spare: room for a result. */
static void ATTENTION(add_block)(struct ATTENTION(row) * t, int n, const struct ATTENTION(rows) * v, int64_t lo, int64_t hi, int64_t size,
				 ATTENTION_REAL *spare)
{
	struct ATTENTION(row) none = {.score = t[n - 1].score, .out = spare}, *each[ATTENTION_QUERIES];

	for (int j = 0; j < ATTENTION_QUERIES; j++)
		each[j] = j < n ? &t[j] : &none;
	int64_t i = 0;
#ifdef ATTENTION_WIDE
	for (; i + 8 * ATTENTION(lanes) <= size; i += 8 * ATTENTION(lanes))
		ATTENTION(add_columns)(each, v, lo, hi, i, 4);
	for (; i + 4 * ATTENTION(lanes) <= size; i += 4 * ATTENTION(lanes))
		ATTENTION(add_columns)(each, v, lo, hi, i, 2);
	for (; i < ATTENTION(in_vectors)(size); i += 2 * ATTENTION(lanes))
		ATTENTION(add_columns)(each, v, lo, hi, i, 1);
#else
	for (; i < ATTENTION(in_vectors)(size); i += 2 * ATTENTION(lanes))
		ATTENTION(add_columns)(each, v, lo, hi, i, 2);
#endif
	for (int j = 0; j < n; j++)
		ATTENTION(add)(&t[j], v, lo, hi, ATTENTION(in_vectors)(size), size);
}

/* The end of the block of keys that s is in, before hi. Blocks begin at multiples, whatever the rows of a tile see. */
static int64_t ATTENTION(block_end)(int64_t s, int64_t hi)
{
	int64_t end = s - s % ATTENTION_BLOCK + ATTENTION_BLOCK;

	return end < hi ? end : hi;
}

/* The result of a row anew, without values whose part is 0: its sums are those of ATTENTION(add_block). block: room for a result. */
static void ATTENTION(values_seen)(struct ATTENTION(row) * r, const struct ATTENTION(rows) * v, int64_t size, ATTENTION_REAL *block)
{
	struct ATTENTION(row) sum = {.score = r->score, .out = block};
	int64_t whole = ATTENTION(in_vectors)(size);

	memset(r->out, 0, sizeof *r->out * (size_t)size);
	for (int64_t s = r->lo, end; s < r->hi; s = end) {
		end = ATTENTION(block_end)(s, r->hi);
		struct ATTENTION(rows) rows = ATTENTION(readable)(v, s, end);
		memset(block, 0, sizeof *block * (size_t)whole);
		ATTENTION(add)(&sum, &rows, s, end, 0, whole);
		for (int64_t i = 0; i < whole; i++)
			r->out[i] += block[i];
		ATTENTION(add)(r, &rows, s, end, whole, size);
	}
}

/* Is each of n a number? */
static bool ATTENTION(numbers)(const ATTENTION_REAL *x, int64_t n)
{
	ATTENTION(bits) none = {0};
	bool all = true;
	int64_t i = 0;

	for (; i + ATTENTION(lanes) <= n; i += ATTENTION(lanes)) {
		ATTENTION(vec) v = *(const ATTENTION(vec) *)(x + i);
		none |= v != v;
	}
	for (int k = 0; k < ATTENTION(lanes); k++)
		all &= !none[k];
	for (; i < n; i++)
		all &= x[i] == x[i];
	return all;
}

/* The results of rows t[0, n), whose keys are of [lo, hi). A value that a row does not see has no part, so all add the same blocks. */
static void ATTENTION(values)(struct ATTENTION(row) * t, int n, const struct ATTENTION(rows) * v, int64_t lo, int64_t hi, int64_t size,
			      ATTENTION_REAL *spare)
{
	for (int j = 0; j < n; j++) {
		int64_t own = t[j].seen ? t[j].lo : hi, end = t[j].seen ? t[j].hi : hi;
		memset(t[j].out, 0, sizeof *t[j].out * (size_t)size);
		memset(t[j].score + lo, 0, sizeof *t[j].score * (size_t)(own - lo));
		memset(t[j].score + end, 0, sizeof *t[j].score * (size_t)(hi - end));
	}
	for (int64_t s = lo, end; s < hi; s = end) {
		end = ATTENTION(block_end)(s, hi);
		struct ATTENTION(rows) block = ATTENTION(readable)(v, s, end);
		for (int j = 0; j < n; j += ATTENTION_QUERIES)
			ATTENTION(add_block)(t + j, attention_few(n - j), &block, s, end, size, spare);
	}
	for (int j = 0; j < n; j++) {
		bool number = ATTENTION(numbers)(t[j].out, size);
		if (!number && t[j].seen)
			ATTENTION(values_seen)(&t[j], v, size, spare);
		else if (!number)
			memset(t[j].out, 0, sizeof *t[j].out * (size_t)size);
	}
}

/* ---- tiles ---- */

struct ATTENTION(work) {
	ATTENTION_REAL *k, *v, *spare; /* k, v: a block, widened */
	ATTENTION_REAL *across;        /* queries that lie side by side */
	struct ATTENTION(row) row[ATTENTION_ROWS];
};

/* Row i of those that share the keys of group g. */
static void ATTENTION(begin)(const struct attention *a, struct ATTENTION(row) * r, int64_t b, int64_t g, int64_t i)
{
	int64_t h = g * (a->heads / a->groups) + i / a->queries, l = i % a->queries;

	r->token = a->flat ? (b * a->queries + l) * a->heads + h : (b * a->heads + h) * a->queries + l;
	r->number = (b * a->heads + h) * a->queries + l;
	r->mask = b * a->mask_stride[0] + h * a->mask_stride[1] + l * a->mask_stride[2];
	attention_range(a, b, l, &r->lo, &r->hi);
	ATTENTION(widen)(a->type, a->q->data, r->token * a->size, a->size, r->q);
}

static void ATTENTION(tile)(const struct attention *a, struct ATTENTION(work) * w, int n, const struct ATTENTION(rows) * k,
			    const struct ATTENTION(rows) * v)
{
	struct ATTENTION(row) *t = w->row;
	int64_t lo = a->keys, hi = 0;
	int across = n - n % (2 * ATTENTION(lanes)); /* rows of whole vectors */

	for (int j = 0; j < across; j += 2 * ATTENTION(lanes))
		ATTENTION(turn)(t + j, a->size, w->across + j * a->size);
	for (int j = 0; j < n; j++) {
		lo = t[j].lo < lo ? t[j].lo : lo;
		hi = t[j].hi > hi ? t[j].hi : hi;
	}
	if (a->qk && a->mode != 3)
		lo = 0, hi = a->keys;
	for (int64_t s = lo; s < hi; s += ATTENTION_BLOCK) {
		int64_t end = s + ATTENTION_BLOCK < hi ? s + ATTENTION_BLOCK : hi;
		struct ATTENTION(rows) block = ATTENTION(readable)(k, s, end);
		for (int j = 0; j < across; j += 2 * ATTENTION(lanes))
			ATTENTION(scores_across)(t + j, w->across + j * a->size, &block, s, end, a->size, (ATTENTION_REAL)a->scale);
		for (int j = across; j < n; j += ATTENTION_QUERIES)
			ATTENTION(scores)(t + j, attention_few(n - j), &block, s, end, a->size, (ATTENTION_REAL)a->scale);
	}
	for (int j = 0; j < n; j++) {
		struct ATTENTION(row) *r = &t[j];
		ATTENTION(scale_scores)(k, lo, hi, false, r->score);
		ATTENTION(put_qk)(a, 0, r);
		if (a->softcap > 0)
			ATTENTION(caps)(r->score + lo, hi - lo, (ATTENTION_REAL)a->softcap);
		ATTENTION(put_qk)(a, 1, r);
		ATTENTION(put_qk)(a, 2, r);
		ATTENTION(softmax)(a, r);
		ATTENTION(put_qk)(a, 3, r);
		if (r->seen)
			ATTENTION(scale_scores)(v, r->lo, r->hi, true, r->score);
	}
	ATTENTION(values)(t, n, v, lo, hi, a->vsize, w->spare);
	for (int j = 0; j < n; j++) {
		int64_t i = 0;
		for (; i + ATTENTION(lanes) <= a->vsize; i += ATTENTION(lanes))
			*(ATTENTION(vec) *)(t[j].out + i) *= t[j].part;
		for (; i < a->vsize; i++)
			t[j].out[i] *= t[j].part;
		ATTENTION(put)(a->type, a->y, t[j].token * a->vsize, a->vsize, t[j].out);
	}
}

static ATTENTION_REAL *ATTENTION(memory)(struct native *n, int64_t a, int64_t b)
{
	return n->scratch(n, sizeof(ATTENTION_REAL) * (size_t)(a * b + 1));
}

static const char *ATTENTION(prepare)(struct native *n, const struct attention *a, struct ATTENTION(work) * w)
{
	int64_t rows = a->heads / a->groups * a->queries, tile = rows < ATTENTION_ROWS ? rows : ATTENTION_ROWS;

	w->k = ATTENTION(memory)(n, a->k->type == ATTENTION_TYPE ? 0 : ATTENTION_BLOCK, a->size);
	w->v = ATTENTION(memory)(n, a->v->type == ATTENTION_TYPE ? 0 : ATTENTION_BLOCK, a->vsize);
	w->spare = ATTENTION(memory)(n, a->vsize, 1);
	w->across = ATTENTION(memory)(n, a->size, ATTENTION_ROWS);
	if (!w->k || !w->v || !w->spare || !w->across)
		return native_no_room(n);
	memset(w->spare, 0, sizeof *w->spare * (size_t)a->vsize);
	for (int64_t j = 0; j < tile; j++) {
		w->row[j].q = ATTENTION(memory)(n, a->size, 1);
		w->row[j].score = ATTENTION(memory)(n, a->keys + ATTENTION_ACROSS, 1);
		w->row[j].out = ATTENTION(memory)(n, a->vsize, 1);
		if (!w->row[j].q || !w->row[j].score || !w->row[j].out)
			return native_no_room(n);
	}
	return NULL;
}

/* A call, on all its threads. */
struct ATTENTION(call) {
	const struct attention *a;
	struct ATTENTION(work) * w; /* of each thread */
	int64_t rows, tiles;        /* of a group */
};

/* Tiles [begin, end), of all groups of all the batch. */
static void ATTENTION(share)(void *args, long begin, long end, int thread)
{
	const struct ATTENTION(call) *c = args;
	const struct attention *a = c->a;
	struct ATTENTION(work) *w = &c->w[thread];

	for (int64_t t = begin; t < end; t++) {
		int64_t g = t / c->tiles % a->groups, b = t / c->tiles / a->groups, i = t % c->tiles * ATTENTION_ROWS;
		int many = c->rows - i < ATTENTION_ROWS ? (int)(c->rows - i) : ATTENTION_ROWS;
		struct ATTENTION(rows) k = ATTENTION(rows_of)(a, a->past_k, a->k, a->k_scale, b, g, a->size, w->k),
				       v = ATTENTION(rows_of)(a, a->past_v, a->v, a->v_scale, b, g, a->vsize, w->v);
		for (int j = 0; j < many; j++)
			ATTENTION(begin)(a, &w->row[j], b, g, i + j);
		ATTENTION(tile)(a, w, many, &k, &v);
	}
}

static const char *ATTENTION(run)(struct native *n, const struct attention *a)
{
	struct ATTENTION(call) c = {.a = a, .rows = a->heads / a->groups * a->queries};
	int64_t tiles = (c.rows + ATTENTION_ROWS - 1) / ATTENTION_ROWS, all = a->batch * a->groups * tiles;
	bool alone = !n->share_out || all < 2 || c.rows * a->keys < ATTENTION_ALONE;
	int threads = alone ? 1 : n->threads;
	const char *why = NULL;

	c.tiles = tiles;
	c.w = n->scratch(n, sizeof *c.w * (size_t)threads);
	if (!c.w)
		return native_no_room(n);
	for (int i = 0; i < threads && !why; i++)
		why = ATTENTION(prepare)(n, a, &c.w[i]);
	if (why)
		return why;
	if (alone)
		ATTENTION(share)(&c, 0, (long)all, 0);
	else
		n->share_out(n, ATTENTION(share), &c, (long)all);
	return NULL;
}
