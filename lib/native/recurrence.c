/* LinearAttention and CausalConvWithState: what carries a state from token to token. Sums are in f32. */
#include "native/native.h"

static float recurrence_get(const struct native_tensor *t, int64_t i) { return (float)native_get(t->type, t->data, i); }

static void recurrence_load(const struct native_tensor *t, int64_t i, int64_t n, float *to)
{
	for (int64_t k = 0; k < n; k++)
		to[k] = recurrence_get(t, i + k);
}

static void recurrence_store(struct native_tensor *t, int64_t i, int64_t n, const float *from)
{
	for (int64_t k = 0; k < n; k++)
		native_set(t->type, t->data, i + k, from[k]);
}

static bool recurrence_shaped(const struct native_tensor *t, int rank, const int64_t *dims)
{
	return t->rank == rank && !memcmp(t->dims, dims, sizeof *dims * (size_t)rank);
}

/* ---- LinearAttention ---- */

struct recurrence_linear {
	int64_t batch, length, heads, groups, size, vsize; /* groups: heads of keys and values */
	bool gated, delta;
	int64_t decays, betas; /* numbers a token */
	float scale;
	const struct native_tensor *q, *k, *v, *past, *decay, *beta;
};

static const char *recurrence_rule(struct native *n, struct recurrence_linear *a)
{
	const char *rule = native_str(n, "update_rule");

	a->gated = !strcmp(rule, "gated") || !strcmp(rule, "gated_delta");
	a->delta = !strcmp(rule, "delta") || !strcmp(rule, "gated_delta");
	if (!a->gated && !a->delta && strcmp(rule, "linear"))
		return native_why(n, "update_rule is '%.40s'; takes linear, gated, delta, gated_delta", rule);
	if (a->gated != native_has(n, 4) || a->delta != native_has(n, 5))
		return native_why(n, "update_rule '%.40s' wants %s decay and %s beta", rule, a->gated ? "a" : "no", a->delta ? "a" : "no");
	return NULL;
}

static const char *recurrence_linear_read(struct native *n, struct recurrence_linear *a)
{
	const struct native_tensor *q = &n->in[0], *k = &n->in[1], *v = &n->in[2];
	int64_t nq = native_int(n, "q_num_heads"), nk = native_int(n, "kv_num_heads");
	const char *why;
	double scale = native_float(n, "scale");

	*a = (struct recurrence_linear){.q = q, .k = k, .v = v, .heads = nq, .groups = nk};
	if ((why = recurrence_rule(n, a)))
		return why;
	if (q->rank != 3 || k->rank != 3 || v->rank != 3)
		return "queries, keys and values have rank 3";
	if (nq < 1 || nk < 1 || nq % nk || q->dims[2] % nq || k->dims[2] % nk || v->dims[2] % nk || q->dims[2] / nq != k->dims[2] / nk)
		return native_why(n, "%lld heads of queries, %lld of keys do not fit the operands", (long long)nq, (long long)nk);
	a->batch = q->dims[0], a->length = q->dims[1], a->size = q->dims[2] / nq, a->vsize = v->dims[2] / nk;
	for (int i = 1; i < 3; i++)
		if (n->in[i].dims[0] != a->batch || n->in[i].dims[1] != a->length)
			return "queries, keys and values do not fit each other";
	a->past = native_has(n, 3) ? &n->in[3] : NULL;
	if (a->past && !recurrence_shaped(a->past, 4, (int64_t[]){a->batch, nk, a->size, a->vsize}))
		return "the past state does not fit";
	for (int i = 4; i < 6; i++) {
		const struct native_tensor *t = native_has(n, i) ? &n->in[i] : NULL;
		if (t && (t->rank != 3 || t->dims[0] != a->batch || t->dims[1] != a->length))
			return native_why(n, "operand %d is not for each token", i);
		*(i == 4 ? &a->decay : &a->beta) = t;
		*(i == 4 ? &a->decays : &a->betas) = t ? t->dims[2] : 0;
	}
	if ((a->gated && a->decays != nk && a->decays != nk * a->size) || (a->delta && a->betas != nk && a->betas != 1))
		return "decay or beta does not fit the heads";
	a->scale = (float)(scale != 0 ? scale : 1 / sqrt((double)a->size));
	return NULL;
}

/* The state of head g after token t: decayed, then moved by key and value. */
static void recurrence_update(const struct recurrence_linear *a, int64_t t, int64_t g, float *restrict state, float *restrict k,
			      float *restrict v, float *restrict seen)
{
	int64_t D = a->size, E = a->vsize;

	recurrence_load(a->k, (t * a->groups + g) * D, D, k);
	recurrence_load(a->v, (t * a->groups + g) * E, E, v);
	for (int64_t d = 0; d < D && a->gated; d++) {
		float f = expf(recurrence_get(a->decay, t * a->decays + (a->decays == a->groups ? g : g * D + d)));
		for (int64_t e = 0; e < E; e++)
			state[d * E + e] *= f;
	}
	if (a->delta) {
		float beta = recurrence_get(a->beta, t * a->betas + (a->betas == 1 ? 0 : g));
		memset(seen, 0, sizeof *seen * (size_t)E);
		for (int64_t d = 0; d < D; d++)
			for (int64_t e = 0; e < E; e++)
				seen[e] += k[d] * state[d * E + e];
		for (int64_t e = 0; e < E; e++)
			v[e] = beta * (v[e] - seen[e]);
	}
	for (int64_t d = 0; d < D; d++)
		for (int64_t e = 0; e < E; e++)
			state[d * E + e] += k[d] * v[e];
}

static void recurrence_answer(const struct recurrence_linear *a, int64_t t, int64_t h, const float *restrict state, float *restrict q,
			      float *restrict y)
{
	int64_t D = a->size, E = a->vsize;

	recurrence_load(a->q, (t * a->heads + h) * D, D, q);
	memset(y, 0, sizeof *y * (size_t)E);
	for (int64_t d = 0; d < D; d++)
		for (int64_t e = 0; e < E; e++)
			y[e] += q[d] * state[d * E + e];
	for (int64_t e = 0; e < E; e++)
		y[e] *= a->scale;
}

NATIVE const char *native_LinearAttention(struct native *n)
{
	struct recurrence_linear a;
	const char *why;
	int64_t dims[3], cells, each;
	float *state, *k, *v, *seen, *y;
	struct native_tensor out, present;

	for (int i = 0; i < 6; i++)
		if (native_has(n, i) ? !native_is_float(n->in[i].type) : i < 3)
			return native_no_type();
	if ((why = recurrence_linear_read(n, &a)))
		return why;
	dims[0] = a.batch, dims[1] = a.length, dims[2] = a.heads * a.vsize;
	out = (struct native_tensor){.type = a.q->type, .data = n->room(n, 0, a.q->type, 3, dims)};
	present.type = a.past ? a.past->type : a.q->type;
	present.data = n->room(n, 1, present.type, 4, (int64_t[]){a.batch, a.groups, a.size, a.vsize});
	if (!out.data || !present.data)
		return native_no_room(n);
	if (!a.batch || !a.vsize)
		return NULL;
	cells = a.size * a.vsize, each = a.heads / a.groups;
	if (!(state = n->scratch(n, sizeof *state * (size_t)(cells + 2 * a.size + 3 * a.vsize))))
		return native_no_room(n);
	k = state + cells, v = k + 2 * a.size, seen = v + a.vsize, y = seen + a.vsize;
	for (int64_t b = 0; b < a.batch; b++)
		for (int64_t g = 0; g < a.groups; g++) {
			memset(state, 0, sizeof *state * (size_t)cells);
			if (a.past)
				recurrence_load(a.past, (b * a.groups + g) * cells, cells, state);
			for (int64_t t = b * a.length; t < (b + 1) * a.length; t++) {
				recurrence_update(&a, t, g, state, k, v, seen);
				for (int64_t h = g * each; h < (g + 1) * each; h++) {
					recurrence_answer(&a, t, h, state, k + a.size, y);
					recurrence_store(&out, (t * a.heads + h) * a.vsize, a.vsize, y);
				}
			}
			recurrence_store(&present, (b * a.groups + g) * cells, cells, state);
		}
	return NULL;
}

/* ---- CausalConvWithState ---- */

NATIVE const char *native_CausalConvWithState(struct native *n)
{
	const struct native_tensor *x = &n->in[0], *w = &n->in[1], *bias = native_has(n, 2) ? &n->in[2] : NULL,
				   *past = native_has(n, 3) ? &n->in[3] : NULL;
	const char *activation = native_str(n, "activation");
	bool silu = !strcmp(activation, "silu") || !strcmp(activation, "swish");
	struct native_tensor out = {.type = x->type}, state = {.type = x->type};
	int64_t B, C, L, K, keep;
	float *row, *taps, *y;

	for (int i = 0; i < 4; i++)
		if (native_has(n, i) ? n->in[i].type != x->type : i < 2)
			return native_no_type();
	if (!native_is_float(x->type))
		return native_no_type();
	if (!silu && *activation && strcmp(activation, "none"))
		return native_why(n, "activation is '%.40s'; takes none, silu, swish", activation);
	if (x->rank != 3 || w->rank != 3 || w->dims[0] != x->dims[1] || w->dims[1] != 1 || w->dims[2] < 1)
		return "the weights are not one row a channel";
	B = x->dims[0], C = x->dims[1], L = x->dims[2], K = w->dims[2], keep = K - 1;
	if (bias && !recurrence_shaped(bias, 1, &C))
		return "the bias is not one number a channel";
	if (past && !recurrence_shaped(past, 3, (int64_t[]){B, C, keep}))
		return "the past state does not fit";
	out.data = n->room(n, 0, x->type, 3, x->dims);
	state.data = n->room(n, 1, x->type, 3, (int64_t[]){B, C, keep});
	if (!out.data || !state.data)
		return native_no_room(n);
	if (!B || !C)
		return NULL;
	if (!(row = n->scratch(n, sizeof *row * (size_t)(keep + L + K + L))))
		return native_no_room(n);
	taps = row + keep + L, y = taps + K;
	memset(row, 0, sizeof *row * (size_t)keep);
	for (int64_t i = 0; i < B * C; i++) {
		float start = bias ? recurrence_get(bias, i % C) : 0;
		if (past)
			recurrence_load(past, i * keep, keep, row);
		recurrence_load(x, i * L, L, row + keep);
		recurrence_load(w, i % C * K, K, taps);
		for (int64_t l = 0; l < L; l++)
			y[l] = start;
		for (int64_t k = 0; k < K; k++)
			for (int64_t l = 0; l < L; l++)
				y[l] += taps[k] * row[l + k];
		for (int64_t l = 0; l < L && silu; l++)
			y[l] /= 1 + expf(-y[l]);
		recurrence_store(&out, i * L, L, y);
		recurrence_store(&state, i * keep, keep, row + L);
		memset(row, 0, sizeof *row * (size_t)keep);
	}
	return NULL;
}
