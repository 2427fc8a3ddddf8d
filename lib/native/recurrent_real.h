/* The loops of RNN, GRU and LSTM, once for numbers of type REAL. No include guard: recurrent.c includes it twice. */

/* A direction, and the sequences of it that are at hand: up to four, in step. */
struct RECURRENT(group) {
	const struct recurrent *q;
	int64_t d, b, n; /* direction, first sequence, how many */
	const RECURRENT_REAL *W, *R, *wb, *rb,
		*P;                   /* of the direction; W (x is what the input gives to all gates), biases and peepholes may be NULL */
	RECURRENT_REAL *h, *c, *from; /* a row for each sequence: state, cell, state as products read it */
	RECURRENT_REAL *x, *g, *r;    /* a row for each at hand: input of a step, sums of gates by input and by state */
};

typedef RECURRENT_REAL RECURRENT(vec) __attribute__((vector_size(32), aligned(sizeof(RECURRENT_REAL)), may_alias));
enum { RECURRENT(lanes) = 32 / sizeof(RECURRENT_REAL) };

/* The products of a row with four others. */
static inline void RECURRENT(dots)(const RECURRENT_REAL *a, const RECURRENT_REAL *const *four, int64_t n, RECURRENT_REAL *out)
{
	RECURRENT(vec) acc[4] = {{0}};
	int64_t i = 0;

	for (; i + RECURRENT(lanes) <= n; i += RECURRENT(lanes)) {
		RECURRENT(vec) x = *(const RECURRENT(vec) *)(a + i);
		for (int j = 0; j < 4; j++)
			acc[j] += x * *(const RECURRENT(vec) *)(four[j] + i);
	}
	for (int j = 0; j < 4; j++) {
		RECURRENT_REAL s = 0;
		for (int k = 0; k < RECURRENT(lanes); k++)
			s += acc[j][k];
		for (int64_t k = i; k < n; k++)
			s += a[k] * four[j][k];
		out[j] = s;
	}
}

/* to[s][i] = bias[i] + w[i] . v[s], for n sequences; a row of `to` has `stride` numbers. */
static void RECURRENT(products)(const RECURRENT_REAL *w, const RECURRENT_REAL *bias, const RECURRENT_REAL *v, int64_t n, int64_t rows,
				int64_t columns, RECURRENT_REAL *to, int64_t stride)
{
	const RECURRENT_REAL *four[4];
	RECURRENT_REAL out[4];

	for (int64_t i = 0; i < rows && n == 1; i += 4) {
		for (int j = 0; j < 4; j++)
			four[j] = w + (i + j < rows ? i + j : rows - 1) * columns;
		RECURRENT(dots)(v, four, columns, out);
		for (int j = 0; j < 4 && i + j < rows; j++)
			to[i + j] = out[j] + (bias ? bias[i + j] : 0);
	}
	for (int s = 0; s < 4; s++)
		four[s] = v + (s < n ? s : 0) * columns;
	for (int64_t i = 0; i < rows && n > 1; i++) {
		RECURRENT(dots)(w + i * columns, four, columns, out);
		for (int64_t s = 0; s < n; s++)
			to[s * stride + i] = out[s] + (bias ? bias[i] : 0);
	}
}

static RECURRENT_REAL RECURRENT(activation)(const struct recurrent_activation *f, RECURRENT_REAL x)
{
	RECURRENT_REAL a = (RECURRENT_REAL)f->alpha, b = (RECURRENT_REAL)f->beta;

	switch (f->kind) {
	case RECURRENT_KIND_RELU: return x < 0 ? 0 : x;
	case RECURRENT_KIND_TANH: return RECURRENT_TANH(x);
	case RECURRENT_KIND_SIGMOID: return 1 / (1 + RECURRENT_EXP(-x));
	case RECURRENT_KIND_AFFINE: return a * x + b;
	case RECURRENT_KIND_LEAKY: return x < 0 ? a * x : x;
	case RECURRENT_KIND_THRESHOLDED: return x >= a ? x : 0;
	case RECURRENT_KIND_SCALED_TANH: return a * RECURRENT_TANH(b * x);
	case RECURRENT_KIND_HARD_SIGMOID: return x != x ? x : a * x + b < 0 ? 0 : a * x + b > 1 ? 1 : a * x + b;
	case RECURRENT_KIND_ELU: return x < 0 ? a * (RECURRENT_REAL)expm1(x) : x;
	case RECURRENT_KIND_SOFTSIGN: return x / (1 + (x < 0 ? -x : x));
	case RECURRENT_KIND_SOFTPLUS: return x > 30 ? x : (RECURRENT_REAL)log1p(RECURRENT_EXP(x));
	default: return x;
	}
}

/* Function `which` of the direction, of x clipped. */
static inline RECURRENT_REAL RECURRENT(activate)(const struct RECURRENT(group) * u, int which, RECURRENT_REAL x)
{
	RECURRENT_REAL clip = (RECURRENT_REAL)u->q->clip;

	if (clip > 0)
		x = x > clip ? clip : x < -clip ? -clip : x;
	return RECURRENT(activation)(&u->q->of[u->d * u->q->per + which], x);
}

static void RECURRENT(cell_rnn)(struct RECURRENT(group) * u, int64_t s)
{
	int64_t H = u->q->H;

	for (int64_t i = 0; i < H; i++)
		u->h[(u->b + s) * H + i] = RECURRENT(activate)(u, 0, u->g[s * H + i] + u->r[s * H + i]);
}

/* Gates: update, reset, hidden. */
static void RECURRENT(cell_gru)(struct RECURRENT(group) * u, int64_t s)
{
	int64_t H = u->q->H;
	RECURRENT_REAL *z = u->g + s * 3 * H, *r = z + H, *n = r + H, *sum = u->r + s * 3 * H, *h = u->h + (u->b + s) * H;

	for (int64_t i = 0; i < 2 * H; i++)
		z[i] = RECURRENT(activate)(u, 0, z[i] + sum[i]);
	if (!u->q->linear_before_reset) { /* R applied to the reset state; c has no other use in GRU */
		for (int64_t i = 0; i < H; i++)
			u->c[i] = r[i] * h[i];
		RECURRENT(products)(u->R + 2 * H * H, u->rb ? u->rb + 2 * H : NULL, u->c, 1, H, H, sum + 2 * H, H);
	}
	for (int64_t i = 0; i < H; i++) {
		RECURRENT_REAL x = n[i] + (u->q->linear_before_reset ? r[i] : 1) * sum[2 * H + i];
		h[i] = (1 - z[i]) * RECURRENT(activate)(u, 1, x) + z[i] * h[i];
	}
}

/* Gates: input, output, forget, cell. */
static void RECURRENT(cell_lstm)(struct RECURRENT(group) * u, int64_t s)
{
	int64_t H = u->q->H;
	const RECURRENT_REAL *g = u->g + s * 4 * H, *r = u->r + s * 4 * H, *P = u->P;
	RECURRENT_REAL *c = u->c + (u->b + s) * H, *h = u->h + (u->b + s) * H;

	for (int64_t i = 0; i < H; i++) {
		RECURRENT_REAL in = RECURRENT(activate)(u, 0, g[i] + r[i] + (P ? P[i] * c[i] : 0)), forget = 1 - in;
		if (!u->q->input_forget)
			forget = RECURRENT(activate)(u, 0, g[2 * H + i] + r[2 * H + i] + (P ? P[2 * H + i] * c[i] : 0));
		c[i] = forget * c[i] + in * RECURRENT(activate)(u, 1, g[3 * H + i] + r[3 * H + i]);
		RECURRENT_REAL out = RECURRENT(activate)(u, 0, g[H + i] + r[H + i] + (P ? P[H + i] * c[i] : 0));
		h[i] = out * RECURRENT(activate)(u, 2, c[i]);
	}
}

static void RECURRENT(load)(const struct native_tensor *t, int64_t i, int64_t n, RECURRENT_REAL *to)
{
	if (t->type == RECURRENT_TYPE)
		memcpy(to, (const RECURRENT_REAL *)t->data + i, (size_t)n * sizeof *to);
	for (int64_t k = 0; k < n && t->type != RECURRENT_TYPE; k++)
		to[k] = (RECURRENT_REAL)native_get(t->type, t->data, i + k);
}

static void RECURRENT(store)(const struct native_tensor *t, int64_t i, int64_t n, const RECURRENT_REAL *from)
{
	if (t->type == RECURRENT_TYPE)
		memcpy((RECURRENT_REAL *)t->data + i, from, (size_t)n * sizeof *from);
	for (int64_t k = 0; k < n && t->type != RECURRENT_TYPE; k++)
		native_set(t->type, t->data, i + k, from[k]);
}

static int64_t RECURRENT(length)(const struct recurrent *q, int64_t b)
{
	return q->lens ? native_get_int(q->lens->type, q->lens->data, b) : q->T;
}

/* Where step s of sequence b is, in X and in Y. */
static int64_t RECURRENT(at)(const struct RECURRENT(group) * u, int64_t b, int64_t s, int64_t *y)
{
	const struct recurrent *q = u->q;
	int64_t t = u->d || q->reverse ? RECURRENT(length)(q, b) - 1 - s : s;

	*y = (q->batch_first ? (b * q->T + t) * q->dirs + u->d : (t * q->dirs + u->d) * q->B + b) * q->H;
	return (q->batch_first ? b * q->T + t : t * q->B + b) * q->I;
}

/* Step s of the sequences at hand. */
static void RECURRENT(step)(struct RECURRENT(group) * u, int64_t s)
{
	const struct recurrent *q = u->q;
	int64_t y, all = q->gates * q->H;

	for (int64_t k = 0; k < u->n; k++)
		if (s < RECURRENT(length)(q, u->b + k))
			RECURRENT(load)(q->x, RECURRENT(at)(u, u->b + k, s, &y), q->I, u->x + k * q->I);
	if (u->W)
		RECURRENT(products)(u->W, u->wb, u->x, u->n, all, q->I, u->g, all);
	for (int64_t i = 0; i < u->n * all && !u->W; i++)
		u->g[i] = u->x[i / all * q->I + u->d * all + i % all] + (u->wb ? u->wb[i % all] : 0);
	RECURRENT(products)(u->R, u->rb, u->from + u->b * q->H, u->n, all, q->H, u->r, all);
	for (int64_t k = 0; k < u->n; k++) {
		if (s >= RECURRENT(length)(q, u->b + k))
			continue;
		if (q->gates == 4)
			RECURRENT(cell_lstm)(u, k);
		else if (q->gates == 3)
			RECURRENT(cell_gru)(u, k);
		else
			RECURRENT(cell_rnn)(u, k);
		RECURRENT(at)(u, u->b + k, s, &y);
		if (q->y.data)
			RECURRENT(store)(&q->y, y, q->H, u->h + (u->b + k) * q->H);
	}
}

/* to: n numbers as DynamicQuantizeLinear and then DequantizeLinear have them. */
static void RECURRENT(round)(const RECURRENT_REAL *from, int64_t n, RECURRENT_REAL *to)
{
	RECURRENT_REAL lo = 0, hi = 0, scale, zero, code;

	for (int64_t i = 0; i < n; i++) {
		lo = from[i] < lo ? from[i] : lo;
		hi = from[i] > hi ? from[i] : hi;
	}
	scale = hi == lo ? 1 : (hi - lo) / 255;
	zero = RECURRENT_RINT(-lo / scale);
	for (int64_t i = 0; i < n; i++) {
		code = RECURRENT_RINT(from[i] / scale) + zero;
		to[i] = ((code < 0 ? 0 : code > 255 ? 255 : code) - zero) * scale;
	}
}

/* States from which sequence b begins and at which it ends. */
static int64_t RECURRENT(state_at)(const struct RECURRENT(group) * u, int64_t b)
{
	return (u->q->batch_first ? b * u->q->dirs + u->d : u->d * u->q->B + b) * u->q->H;
}

static void RECURRENT(begin)(struct RECURRENT(group) * u)
{
	const struct recurrent *q = u->q;
	int64_t H = q->H;

	memset(u->h, 0, (size_t)(q->B * H) * sizeof *u->h);
	memset(u->c, 0, (size_t)(q->B * H) * sizeof *u->c);
	memset(u->x, 0, (size_t)(RECURRENT_GROUP * q->I) * sizeof *u->x);
	for (int64_t b = 0; b < q->B; b++) {
		if (q->h0)
			RECURRENT(load)(q->h0, RECURRENT(state_at)(u, b), H, u->h + b * H);
		if (q->c0)
			RECURRENT(load)(q->c0, RECURRENT(state_at)(u, b), H, u->c + b * H);
	}
}

static void RECURRENT(run_direction)(struct RECURRENT(group) * u)
{
	const struct recurrent *q = u->q;
	int64_t longest = 0, H = q->H;

	RECURRENT(begin)(u);
	for (int64_t b = 0; b < q->B; b++)
		longest = RECURRENT(length)(q, b) > longest ? RECURRENT(length)(q, b) : longest;
	for (int64_t s = 0; s < longest; s++) {
		if (q->rounds)
			RECURRENT(round)(u->h, q->B * H, u->from);
		for (u->b = 0; u->b < q->B; u->b += RECURRENT_GROUP) {
			u->n = q->B - u->b < RECURRENT_GROUP ? q->B - u->b : RECURRENT_GROUP;
			RECURRENT(step)(u, s);
		}
	}
	for (int64_t b = 0; b < q->B; b++) {
		if (q->yh.data)
			RECURRENT(store)(&q->yh, RECURRENT(state_at)(u, b), H, u->h + b * H);
		if (q->yc.data)
			RECURRENT(store)(&q->yc, RECURRENT(state_at)(u, b), H, u->c + b * H);
	}
}

/* R as numbers; NULL: there is no memory. */
static const RECURRENT_REAL *RECURRENT(state_weights)(struct native *n, const struct recurrent *q)
{
	const RECURRENT_REAL *codes = RECURRENT_ALL(n, &n->in[2]);
	int64_t rows = q->dirs * q->gates * q->H;
	RECURRENT_REAL *R = q->scales ? n->scratch(n, (size_t)(rows * q->H) * sizeof *R) : NULL;

	if (!q->scales || !codes || !R)
		return q->scales ? NULL : codes;
	for (int64_t r = 0; r < rows; r++) {
		RECURRENT_REAL s = (RECURRENT_REAL)native_get(n->in[8].type, n->in[8].data, q->scales == 1 ? r / (q->gates * q->H) : r);
		for (int64_t k = 0; k < q->H; k++)
			R[r * q->H + k] = codes[r * q->H + k] * s;
	}
	return R;
}

static const char *RECURRENT(run)(struct native *n, const struct recurrent *q)
{
	int64_t all = q->gates * q->H, row = q->I + 2 * all, cells = q->B * q->H;
	bool any = q->T && q->B, weighed = native_has(n, 1), biased = any && native_has(n, 3),
	     peeps = any && q->gates == 4 && native_has(n, 7);
	RECURRENT_REAL *memory = n->scratch(n, (size_t)(row * RECURRENT_GROUP + cells * (q->rounds ? 3 : 2)) * sizeof *memory);
	const RECURRENT_REAL *W = any && weighed ? RECURRENT_ALL(n, &n->in[1]) : memory, *R = any ? RECURRENT(state_weights)(n, q) : memory;
	const RECURRENT_REAL *B = biased ? RECURRENT_ALL(n, &n->in[3]) : NULL, *P = peeps ? RECURRENT_ALL(n, &n->in[7]) : NULL;

	if (!W || !R || !memory || (biased && !B) || (peeps && !P))
		return native_no_room(n);
	for (int64_t d = 0; d < q->dirs; d++) {
		struct RECURRENT(group) u = {.q = q, .d = d, .W = weighed ? W + d * all * q->I : NULL, .R = R + d * all * q->H};
		u.wb = B ? B + d * 2 * all : NULL;
		u.rb = B ? u.wb + all : NULL;
		u.P = P ? P + d * 3 * q->H : NULL;
		u.x = memory;
		u.g = u.x + RECURRENT_GROUP * q->I;
		u.r = u.g + RECURRENT_GROUP * all;
		u.h = u.r + RECURRENT_GROUP * all;
		u.c = u.h + cells;
		u.from = q->rounds ? u.c + cells : u.h;
		RECURRENT(run_direction)(&u);
	}
	return NULL;
}
