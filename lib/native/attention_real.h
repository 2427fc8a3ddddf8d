/* The loops of Attention, once for sums in REAL. No include guard: attention.c includes it twice. */

/* Rows of keys or values of one head: those of the past, then the others. */
struct NAME(rows) {
	const REAL *past, *now;
	int64_t npast, past_stride, stride;
};

static inline const REAL *NAME(row)(const struct NAME(rows) * r, int64_t s)
{
	return s < r->npast ? r->past + s * r->past_stride : r->now + (s - r->npast) * r->stride;
}

static void NAME(widen)(int type, const void *p, int64_t i, int64_t n, REAL *to)
{
	for (int64_t k = 0; k < n; k++)
		to[k] = (REAL)native_get(type, p, i + k);
}

/* Rows of head g of batch b, at memory if they have to be widened. */
static struct NAME(rows) NAME(rows_of)(const struct attention *a, const struct native_tensor *past, const struct native_tensor *now,
				       int64_t b, int64_t g, int64_t size, REAL *memory)
{
	int64_t fresh = a->keys - a->past, at = a->flat ? b * fresh * a->groups * size + g * size : (b * a->groups + g) * fresh * size,
		before = (b * a->groups + g) * a->past * size, stride = a->flat ? a->groups * size : size;

	if (now->type == REAL_TYPE)
		return (struct NAME(rows)){a->past ? (const REAL *)past->data + before : NULL, (const REAL *)now->data + at, a->past, size,
					   stride};
	if (a->past)
		NAME(widen)(past->type, past->data, before, a->past * size, memory);
	for (int64_t s = 0; s < fresh; s++)
		NAME(widen)(now->type, now->data, at + s * stride, size, memory + (a->past + s) * size);
	return (struct NAME(rows)){memory, memory, 0, size, size};
}

typedef REAL NAME(vec) __attribute__((vector_size(32), aligned(sizeof(REAL)), may_alias));
enum { NAME(lanes) = 32 / sizeof(REAL) };

static REAL NAME(sum)(NAME(vec) v)
{
	REAL s = 0;

	for (int i = 0; i < NAME(lanes); i++)
		s += v[i];
	return s;
}

/* The products of q with four keys. */
static inline void NAME(dots)(const REAL *q, const REAL *const *k, int64_t n, REAL *out)
{
	NAME(vec) acc[4] = {{0}};
	int64_t i = 0;

	for (; i + NAME(lanes) <= n; i += NAME(lanes)) {
		NAME(vec) x = *(const NAME(vec) *)(q + i);
		for (int j = 0; j < 4; j++)
			acc[j] += x * *(const NAME(vec) *)(k[j] + i);
	}
	for (int j = 0; j < 4; j++) {
		REAL s = NAME(sum)(acc[j]);
		for (int64_t r = i; r < n; r++)
			s += q[r] * k[j][r];
		out[j] = s;
	}
}

static void NAME(scores)(const REAL *q, const struct NAME(rows) * k, int64_t lo, int64_t hi, int64_t size, REAL scale, REAL *score)
{
	for (int64_t s = lo; s < hi; s += 4) {
		const REAL *row[4];
		REAL out[4];
		for (int j = 0; j < 4; j++)
			row[j] = NAME(row)(k, s + j < hi ? s + j : hi - 1);
		NAME(dots)(q, row, size, out);
		for (int j = 0; j < 4 && s + j < hi; j++)
			score[s + j] = scale * out[j];
	}
}

static inline REAL NAME(rounded)(int precision, REAL v)
{
	uint64_t bits = 0;

	if (precision == NATIVE_NONE)
		return v;
	native_set(precision, &bits, 0, v);
	return (REAL)native_get(precision, &bits, 0);
}

/* score[lo, hi) to probabilities; false: no key is seen. Bias is added; out: the scores with it, or NULL. */
static bool NAME(softmax)(const struct attention *a, int64_t mask, int64_t lo, int64_t hi, REAL *score)
{
	REAL most = -INFINITY, sum = 0;
	bool seen = false;

	for (int64_t s = lo; s < hi; s++) {
		if (a->mask) {
			REAL bias = (REAL)attention_bias(a, mask, s);
			seen |= bias != -(REAL)INFINITY;
			score[s] += bias;
		} else {
			seen = true;
		}
		score[s] = NAME(rounded)(a->precision, score[s]);
		most = score[s] > most || score[s] != score[s] ? score[s] : most;
	}
	if (!seen)
		return false;
	if (most == -(REAL)INFINITY)
		most = 0;
	for (int64_t s = lo; s < hi; s++)
		sum += score[s] = NAME(rounded)(a->precision, REAL_EXP(score[s] - most));
	for (int64_t s = lo; s < hi && sum != 0; s++)
		score[s] = NAME(rounded)(a->precision, score[s] / sum);
	return true;
}

/* What the fourth result has of a row. */
static void NAME(put_qk)(const struct attention *a, int mode, int64_t at, int64_t mask, int64_t lo, int64_t hi, const REAL *score,
			 bool seen)
{
	for (int64_t s = 0; s < a->keys; s++) {
		double v = mode == 3 && (!seen || s < lo || s >= hi) ? 0 : score[s];
		if (mode == 2)
			v += s < lo || s >= hi ? -INFINITY : attention_bias(a, mask, s);
		native_set(a->type, a->qk, at * a->keys + s, v);
	}
}

static void NAME(values)(const struct NAME(rows) * v, int64_t lo, int64_t hi, int64_t size, const REAL *p, REAL *restrict out)
{
	memset(out, 0, sizeof *out * (size_t)size);
	for (int64_t s = lo; s < hi; s++) {
		const REAL *x = NAME(row)(v, s);
		REAL c = p[s];
		for (int64_t i = 0; i < size && c != 0; i++) /* of those that are not seen, not even a NaN is */
			out[i] += c * x[i];
	}
}

struct NAME(work) {
	REAL *q, *k, *v, *score, *out;
};

static void NAME(query)(const struct attention *a, const struct NAME(work) * w, const struct NAME(rows) * k, const struct NAME(rows) * v,
			int64_t b, int64_t h, int64_t l)
{
	int64_t token = a->flat ? (b * a->queries + l) * a->heads + h : (b * a->heads + h) * a->queries + l,
		row = (b * a->heads + h) * a->queries + l, mask = b * a->mask_stride[0] + h * a->mask_stride[1] + l * a->mask_stride[2], lo,
		hi, from = 0, to = a->keys;
	bool seen;

	attention_range(a, b, l, &lo, &hi);
	if (!a->qk || a->mode == 3)
		from = lo, to = hi;
	NAME(widen)(a->type, a->q->data, token * a->size, a->size, w->q);
	NAME(scores)(w->q, k, from, to, a->size, (REAL)a->scale, w->score);
	if (a->qk && a->mode == 0)
		NAME(put_qk)(a, 0, row, mask, lo, hi, w->score, true);
	for (int64_t s = from; s < to && a->softcap > 0; s++)
		w->score[s] = (REAL)a->softcap * REAL_TANH(w->score[s] / (REAL)a->softcap);
	if (a->qk && (a->mode == 1 || a->mode == 2))
		NAME(put_qk)(a, a->mode, row, mask, lo, hi, w->score, true);
	seen = NAME(softmax)(a, mask, lo, hi, w->score);
	if (a->qk && a->mode == 3)
		NAME(put_qk)(a, 3, row, mask, lo, hi, w->score, seen);
	NAME(values)(v, lo, seen ? hi : lo, a->vsize, w->score, w->out);
	for (int64_t i = 0; i < a->vsize; i++)
		native_set(a->type, a->y, token * a->vsize + i, w->out[i]);
}

static REAL *NAME(memory)(struct native *n, int64_t a, int64_t b) { return n->scratch(n, sizeof(REAL) * (size_t)(a * b + 1)); }

static const char *NAME(run)(struct native *n, const struct attention *a)
{
	struct NAME(work) w = {NAME(memory)(n, a->size, 1), NAME(memory)(n, a->k->type == REAL_TYPE ? 0 : a->keys, a->size),
			       NAME(memory)(n, a->v->type == REAL_TYPE ? 0 : a->keys, a->vsize), NAME(memory)(n, a->keys, 1),
			       NAME(memory)(n, a->vsize, 1)};

	if (!w.q || !w.k || !w.v || !w.score || !w.out)
		return native_no_room(n);
	for (int64_t b = 0; b < a->batch; b++)
		for (int64_t g = 0; g < a->groups; g++) {
			struct NAME(rows) k = NAME(rows_of)(a, a->past_k, a->k, b, g, a->size, w.k),
					  v = NAME(rows_of)(a, a->past_v, a->v, b, g, a->vsize, w.v);
			int64_t each = a->heads / a->groups;
			for (int64_t h = g * each; h < (g + 1) * each; h++)
				for (int64_t l = 0; l < a->queries; l++)
					NAME(query)(a, &w, &k, &v, b, h, l);
		}
	return NULL;
}
