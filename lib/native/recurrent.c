/* RNN, GRU, LSTM, DynamicQuantizeLSTM: one loop over time, a cell each. Sums are in f32, of f64 in f64. */
#include "native/native.h"
#include "native/recurrent_functions.h"

enum { RECURRENT_GROUP = 4, RECURRENT_LARGEST = 1 << 28 };

struct recurrent_activation {
	enum recurrent_kind kind;
	double alpha, beta;
};

struct recurrent {
	int64_t T, B, I, H, gates, dirs; /* steps, batch, sizes of input and state; gates: 1 RNN, 3 GRU, 4 LSTM */
	bool batch_first, reverse, input_forget, linear_before_reset;
	bool rounds;    /* products read the state as DynamicQuantizeLinear rounds it */
	int64_t scales; /* of R, for a direction; 0: R is of numbers */
	double clip;
	int per; /* functions of a direction */
	struct recurrent_activation of[RECURRENT_FUNCTIONS_MAX];
	const struct native_tensor *x, *lens, *h0, *c0; /* but x NULL: not given */
	struct native_tensor y, yh, yc;                 /* without data: not wanted */
};

/* All functions, in order. */
static const char *recurrent_activations(struct native *n, struct recurrent *q)
{
	static const char *const usual[3][3] = {{"Tanh"}, {"Sigmoid", "Tanh"}, {"Sigmoid", "Tanh", "Tanh"}};
	const struct native_attr *names = native_attr(n, "activations"), *alpha = native_attr(n, "activation_alpha"),
				 *beta = native_attr(n, "activation_beta");
	int ia = 0, ib = 0, count;

	q->per = q->gates == 1 ? 1 : (int)q->gates - 1;
	count = q->per * (int)q->dirs;
	if (names && (names->n != count || !names->strs))
		return native_why(n, "attribute 'activations' has %d names, takes %d", names->n, count);
	for (int i = 0; i < count; i++) {
		const char *name = names ? names->strs[i] : usual[q->per - 1][i % q->per];
		const struct recurrent_function *a = recurrent_function_find(name);
		if (!a)
			return native_why(n, "unknown activation \"%.60s\"", name);
		q->of[i] = (struct recurrent_activation){a->kind, a->alpha, a->beta};
		if (a->takes_alpha && alpha && alpha->floats && ia < alpha->n)
			q->of[i].alpha = alpha->floats[ia++];
		if (a->takes_beta && beta && beta->floats && ib < beta->n)
			q->of[i].beta = beta->floats[ib++];
	}
	return NULL;
}

/* Operand i, if it is there, of as many numbers. */
static const char *recurrent_count(struct native *n, int i, int64_t want)
{
	if (native_has(n, i) && native_count(&n->in[i]) != want)
		return native_why(n, "operand %d has %lld elements, not %lld", i, (long long)native_count(&n->in[i]), (long long)want);
	return NULL;
}

static const char *recurrent_operands(struct native *n, struct recurrent *q)
{
	const char *why;
	int type = n->in[0].type;

	q->scales = q->rounds && native_has(n, 8) ? native_count(&n->in[8]) / q->dirs : 0;
	for (int i = 1; i < n->nin; i++)
		if (native_has(n, i) && n->in[i].type != (i == 4 ? NATIVE_I32 : i == 2 && q->scales ? NATIVE_I8 : type))
			return native_no_type();
	if (q->scales && q->scales != 1 && q->scales != q->gates * q->H)
		return native_why(n, "R has %lld rows, its scale %lld numbers", (long long)(q->gates * q->H), (long long)q->scales);
	if (q->scales && (why = recurrent_count(n, 8, q->dirs * q->scales)))
		return why;
	if ((why = recurrent_count(n, 3, q->dirs * 2 * q->gates * q->H)) || (why = recurrent_count(n, 4, q->B)) ||
	    (why = recurrent_count(n, 5, q->dirs * q->B * q->H)))
		return why;
	if (q->gates == 4 && ((why = recurrent_count(n, 6, q->dirs * q->B * q->H)) || (why = recurrent_count(n, 7, q->dirs * 3 * q->H))))
		return why;
	q->lens = native_has(n, 4) ? &n->in[4] : NULL;
	q->h0 = native_has(n, 5) ? &n->in[5] : NULL;
	q->c0 = q->gates == 4 && native_has(n, 6) ? &n->in[6] : NULL;
	for (int64_t b = 0; q->lens && b < q->B; b++) {
		int64_t len = native_get_int(q->lens->type, q->lens->data, b);
		if (len < 0 || len > q->T)
			return native_why(n, "sequence %lld has %lld steps, at most %lld are there", (long long)b, (long long)len,
					  (long long)q->T);
	}
	return NULL;
}

static const char *recurrent_read(struct native *n, struct recurrent *q, int gates, bool rounds)
{
	const struct native_tensor *x = &n->in[0], *w = &n->in[1], *r = &n->in[2];
	bool weighed = native_has(n, 1);
	const char *direction = native_str(n, "direction"), *why;
	int64_t cells;

	*q = (struct recurrent){.gates = gates, .rounds = rounds, .x = x};
	q->dirs = !strcmp(direction, "bidirectional") ? 2 : 1;
	q->reverse = !strcmp(direction, "reverse");
	q->batch_first = native_int(n, "layout");
	q->input_forget = native_int(n, "input_forget");
	q->linear_before_reset = native_int(n, "linear_before_reset");
	q->clip = native_float(n, "clip");
	if (n->nin < 3 || !native_has(n, 2) || !(weighed || rounds) || !native_is_float(x->type))
		return native_no_type();
	if (x->rank != 3 || (weighed && w->rank != 3) || r->rank != 3)
		return "the sequence, W or R is not of rank 3";
	q->T = x->dims[q->batch_first];
	q->B = x->dims[!q->batch_first];
	q->I = x->dims[2];
	q->H = r->dims[2];
	if (q->H > RECURRENT_LARGEST || q->I > RECURRENT_LARGEST || __builtin_mul_overflow(q->B, 2 * q->H, &cells) ||
	    __builtin_mul_overflow(cells, q->T, &cells))
		return "the sequences are too large";
	if (weighed ? w->dims[0] != q->dirs || w->dims[1] != q->gates * q->H || w->dims[2] != q->I : q->I != q->dirs * q->gates * q->H)
		return weighed ? "W or R do not fit the sequence" : "the gates' input does not fit R";
	if (r->dims[0] != q->dirs || r->dims[1] != q->gates * q->H)
		return "W or R do not fit the sequence";
	if ((why = recurrent_activations(n, q)))
		return why;
	return recurrent_operands(n, q);
}

/* Results that are not wanted stay without data. */
static const char *recurrent_results(struct native *n, struct recurrent *q)
{
	int type = n->in[0].type;
	const int64_t batch[] = {q->B, q->T, q->dirs, q->H}, time[] = {q->T, q->dirs, q->B, q->H};
	const int64_t first[] = {q->B, q->dirs, q->H}, state[] = {q->dirs, q->B, q->H};
	struct native_tensor *all[] = {&q->y, &q->yh, &q->yc};

	for (int i = 0; i < 3 && i < n->nout; i++) {
		const int64_t *dims = i ? (q->batch_first ? first : state) : q->batch_first ? batch : time;
		if (!native_wants(n, i))
			continue;
		*all[i] = (struct native_tensor){type, i ? 3 : 4, dims, n->room(n, i, type, i ? 3 : 4, dims)};
		if (!all[i]->data)
			return native_no_room(n);
	}
	if (q->y.data && q->lens) /* behind the end of a sequence are zeros */
		memset(q->y.data, 0, (size_t)(q->T * q->dirs * q->B * q->H) * native_size(type));
	return NULL;
}

#define RECURRENT_REAL float
#define RECURRENT_TYPE NATIVE_F32
#define RECURRENT_EXP  expf
#define RECURRENT_TANH tanhf
#define RECURRENT_RINT rintf
#define RECURRENT_ALL  native_floats
#define RECURRENT(x)   recurrent_float_##x
#include "native/recurrent_real.h"
#undef RECURRENT_REAL
#undef RECURRENT_TYPE
#undef RECURRENT_EXP
#undef RECURRENT_TANH
#undef RECURRENT_RINT
#undef RECURRENT_ALL
#undef RECURRENT
#define RECURRENT_REAL double
#define RECURRENT_TYPE NATIVE_F64
#define RECURRENT_EXP  exp
#define RECURRENT_TANH tanh
#define RECURRENT_RINT rint
#define RECURRENT_ALL  native_doubles
#define RECURRENT(x)   recurrent_double_##x
#include "native/recurrent_real.h"
#undef RECURRENT_REAL
#undef RECURRENT_TYPE
#undef RECURRENT_EXP
#undef RECURRENT_TANH
#undef RECURRENT_RINT
#undef RECURRENT_ALL
#undef RECURRENT

static const char *recurrent_run(struct native *n, int gates, bool rounds)
{
	struct recurrent q;
	const char *why = recurrent_read(n, &q, gates, rounds);

	if (why || (why = recurrent_results(n, &q)) || !q.H)
		return why;
	return n->in[0].type == NATIVE_F64 ? recurrent_double_run(n, &q) : recurrent_float_run(n, &q);
}

NATIVE const char *native_RNN(struct native *n) { return recurrent_run(n, 1, false); }
NATIVE const char *native_GRU(struct native *n) { return recurrent_run(n, 3, false); }
NATIVE const char *native_LSTM(struct native *n) { return recurrent_run(n, 4, false); }
NATIVE const char *native_DynamicQuantizeLSTM(struct native *n) { return recurrent_run(n, 4, true); }
