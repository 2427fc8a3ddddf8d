/* The loops of Attention, once for sums in ATTENTION_REAL. No include guard: attention.c includes it twice. */

/* Rows of keys or values of one head: those of the past, then the others. */
struct ATTENTION(rows) {
	const ATTENTION_REAL *past, *now;
	int64_t npast, past_stride, stride;
};

static inline const ATTENTION_REAL *ATTENTION(row)(const struct ATTENTION(rows) * r, int64_t s)
{
	return s < r->npast ? r->past + s * r->past_stride : r->now + (s - r->npast) * r->stride;
}

static void ATTENTION(widen)(int type, const void *p, int64_t i, int64_t n, ATTENTION_REAL *to)
{
	for (int64_t k = 0; k < n; k++)
		to[k] = (ATTENTION_REAL)native_get(type, p, i + k);
}

/* Rows of head g of batch b, at memory if they have to be widened. */
static struct ATTENTION(rows)
	ATTENTION(rows_of)(const struct attention *a, const struct native_tensor *past, const struct native_tensor *now, int64_t b,
			   int64_t g, int64_t size, ATTENTION_REAL *memory)
{
	int64_t fresh = a->keys - a->past, before = (b * a->groups + g) * a->past * size, stride,
		at = attention_at(a, now, b, g, size, &stride);

	if (now->type == ATTENTION_TYPE)
		return (struct ATTENTION(rows)){a->past ? (const ATTENTION_REAL *)past->data + before : NULL,
						(const ATTENTION_REAL *)now->data + at, a->past, size, stride};
	if (a->past)
		ATTENTION(widen)(past->type, past->data, before, a->past * size, memory);
	for (int64_t s = 0; s < fresh; s++)
		ATTENTION(widen)(now->type, now->data, at + s * stride, size, memory + (a->past + s) * size);
	return (struct ATTENTION(rows)){memory, memory, 0, size, size};
}

typedef ATTENTION_REAL ATTENTION(vec) __attribute__((vector_size(32), aligned(sizeof(ATTENTION_REAL)), may_alias));
enum { ATTENTION(lanes) = 32 / sizeof(ATTENTION_REAL) };

static ATTENTION_REAL ATTENTION(sum)(const ATTENTION(vec) * v)
{
	ATTENTION_REAL s = 0;

	for (int i = 0; i < ATTENTION(lanes); i++)
		s += (*v)[i];
	return s;
}

/* The products of q with four keys. */
static inline void ATTENTION(dots)(const ATTENTION_REAL *q, const ATTENTION_REAL *const *k, int64_t n, ATTENTION_REAL *out)
{
	ATTENTION(vec) acc[4] = {{0}};
	int64_t i = 0;

	for (; i + ATTENTION(lanes) <= n; i += ATTENTION(lanes)) {
		ATTENTION(vec) x = *(const ATTENTION(vec) *)(q + i);
		for (int j = 0; j < 4; j++)
			acc[j] += x * *(const ATTENTION(vec) *)(k[j] + i);
	}
	for (int j = 0; j < 4; j++) {
		ATTENTION_REAL s = ATTENTION(sum)(&acc[j]);
		for (int64_t r = i; r < n; r++)
			s += q[r] * k[j][r];
		out[j] = s;
	}
}

static void ATTENTION(scores)(const ATTENTION_REAL *q, const struct ATTENTION(rows) * k, int64_t lo, int64_t hi, int64_t size,
			      ATTENTION_REAL scale, ATTENTION_REAL *score)
{
	for (int64_t s = lo; s < hi; s += 4) {
		const ATTENTION_REAL *row[4];
		ATTENTION_REAL out[4];
		for (int j = 0; j < 4; j++)
			row[j] = ATTENTION(row)(k, s + j < hi ? s + j : hi - 1);
		ATTENTION(dots)(q, row, size, out);
		for (int j = 0; j < 4 && s + j < hi; j++)
			score[s + j] = scale * out[j];
	}
}

static inline ATTENTION_REAL ATTENTION(rounded)(int precision, ATTENTION_REAL v)
{
	uint64_t bits = 0;

	if (precision == NATIVE_NONE)
		return v;
	native_set(precision, &bits, 0, v);
	return (ATTENTION_REAL)native_get(precision, &bits, 0);
}

/* score[lo, hi) to probabilities; false: no key is seen. Bias is added; out: the scores with it, or NULL. */
static bool ATTENTION(softmax)(const struct attention *a, int64_t mask, int64_t lo, int64_t hi, ATTENTION_REAL *score)
{
	ATTENTION_REAL most = -INFINITY, sum = 0;
	bool seen = false;

	for (int64_t s = lo; s < hi; s++) {
		if (a->mask) {
			ATTENTION_REAL bias = (ATTENTION_REAL)attention_bias(a, mask, s);
			seen |= bias != -(ATTENTION_REAL)INFINITY;
			score[s] += bias;
		} else {
			seen = true;
		}
		score[s] = ATTENTION(rounded)(a->precision, score[s]);
		most = score[s] > most || score[s] != score[s] ? score[s] : most;
	}
	if (!seen)
		return false;
	if (most == -(ATTENTION_REAL)INFINITY)
		most = 0;
	for (int64_t s = lo; s < hi; s++)
		sum += score[s] = ATTENTION(rounded)(a->precision, ATTENTION_EXP(score[s] - most));
	for (int64_t s = lo; s < hi && sum != 0; s++)
		score[s] = ATTENTION(rounded)(a->precision, score[s] / sum);
	return true;
}

/* What the fourth result has of a row. */
static void ATTENTION(put_qk)(const struct attention *a, int mode, int64_t at, int64_t mask, int64_t lo, int64_t hi,
			      const ATTENTION_REAL *score, bool seen)
{
	for (int64_t s = 0; s < a->keys; s++) {
		double v = mode == 3 && (!seen || s < lo || s >= hi) ? 0 : score[s];
		if (mode == 2)
			v += s < lo || s >= hi ? -INFINITY : attention_bias(a, mask, s);
		native_set(a->type, a->qk, at * a->keys + s, v);
	}
}

static void ATTENTION(values)(const struct ATTENTION(rows) * v, int64_t lo, int64_t hi, int64_t size, const ATTENTION_REAL *p,
			      ATTENTION_REAL *restrict out)
{
	memset(out, 0, sizeof *out * (size_t)size);
	for (int64_t s = lo; s < hi; s++) {
		const ATTENTION_REAL *x = ATTENTION(row)(v, s);
		ATTENTION_REAL c = p[s];
		for (int64_t i = 0; i < size && c != 0; i++) /* of those that are not seen, not even a NaN is */
			out[i] += c * x[i];
	}
}

struct ATTENTION(work) {
	ATTENTION_REAL *q, *k, *v, *score, *out;
};

static void ATTENTION(query)(const struct attention *a, const struct ATTENTION(work) * w, const struct ATTENTION(rows) * k,
			     const struct ATTENTION(rows) * v, int64_t b, int64_t h, int64_t l)
{
	int64_t token = a->flat ? (b * a->queries + l) * a->heads + h : (b * a->heads + h) * a->queries + l,
		row = (b * a->heads + h) * a->queries + l, mask = b * a->mask_stride[0] + h * a->mask_stride[1] + l * a->mask_stride[2], lo,
		hi, from = 0, to = a->keys;
	bool seen;

	attention_range(a, b, l, &lo, &hi);
	if (!a->qk || a->mode == 3)
		from = lo, to = hi;
	ATTENTION(widen)(a->type, a->q->data, token * a->size, a->size, w->q);
	ATTENTION(scores)(w->q, k, from, to, a->size, (ATTENTION_REAL)a->scale, w->score);
	if (a->qk && a->mode == 0)
		ATTENTION(put_qk)(a, 0, row, mask, lo, hi, w->score, true);
	for (int64_t s = from; s < to && a->softcap > 0; s++)
		w->score[s] = (ATTENTION_REAL)a->softcap * ATTENTION_TANH(w->score[s] / (ATTENTION_REAL)a->softcap);
	if (a->qk && (a->mode == 1 || a->mode == 2))
		ATTENTION(put_qk)(a, a->mode, row, mask, lo, hi, w->score, true);
	seen = ATTENTION(softmax)(a, mask, lo, hi, w->score);
	if (a->qk && a->mode == 3)
		ATTENTION(put_qk)(a, 3, row, mask, lo, hi, w->score, seen);
	ATTENTION(values)(v, lo, seen ? hi : lo, a->vsize, w->score, w->out);
	for (int64_t i = 0; i < a->vsize; i++)
		native_set(a->type, a->y, token * a->vsize + i, w->out[i]);
}

static ATTENTION_REAL *ATTENTION(memory)(struct native *n, int64_t a, int64_t b)
{
	return n->scratch(n, sizeof(ATTENTION_REAL) * (size_t)(a * b + 1));
}

static const char *ATTENTION(run)(struct native *n, const struct attention *a)
{
	struct ATTENTION(work)
		w = {ATTENTION(memory)(n, a->size, 1), ATTENTION(memory)(n, a->k->type == ATTENTION_TYPE ? 0 : a->keys, a->size),
		     ATTENTION(memory)(n, a->v->type == ATTENTION_TYPE ? 0 : a->keys, a->vsize), ATTENTION(memory)(n, a->keys, 1),
		     ATTENTION(memory)(n, a->vsize, 1)};

	if (!w.q || !w.k || !w.v || !w.score || !w.out)
		return native_no_room(n);
	for (int64_t b = 0; b < a->batch; b++)
		for (int64_t g = 0; g < a->groups; g++) {
			struct ATTENTION(rows) k = ATTENTION(rows_of)(a, a->past_k, a->k, b, g, a->size, w.k),
					       v = ATTENTION(rows_of)(a, a->past_v, a->v, b, g, a->vsize, w.v);
			int64_t each = a->heads / a->groups;
			for (int64_t h = g * each; h < (g + 1) * each; h++)
				for (int64_t l = 0; l < a->queries; l++)
					ATTENTION(query)(a, &w, &k, &v, b, h, l);
		}
	return NULL;
}
