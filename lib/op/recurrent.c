/* RNN, GRU, LSTM: one loop over time, a cell each. */
#include <math.h>
#include "op/rules.h"

/* ---- activation functions, by the names ONNX gives them ---- */

struct activation {
	const char *name;
	double (*f)(double x, double alpha, double beta);
	double alpha, beta; /* defaults */
};
static double f_relu(double x, double a, double b) { return x < 0 ? 0 : x; }
static double f_tanh(double x, double a, double b) { return tanh(x); }
static double f_sigmoid(double x, double a, double b) { return 1 / (1 + exp(-x)); }
static double f_affine(double x, double a, double b) { return a * x + b; }
static double f_leaky(double x, double a, double b) { return x < 0 ? a * x : x; }
static double f_thresholded(double x, double a, double b) { return x >= a ? x : 0; }
static double f_scaled_tanh(double x, double a, double b) { return a * tanh(b * x); }
static double f_hard_sigmoid(double x, double a, double b) { return fmin(fmax(a * x + b, 0), 1); }
static double f_elu(double x, double a, double b) { return x < 0 ? a * expm1(x) : x; }
static double f_softsign(double x, double a, double b) { return x / (1 + fabs(x)); }
static double f_softplus(double x, double a, double b) { return x > 30 ? x : log1p(exp(x)); }

static const struct activation activations[] = {
	{"Relu", f_relu},
	{"Tanh", f_tanh},
	{"Sigmoid", f_sigmoid},
	{"Affine", f_affine, 1, 0},
	{"LeakyRelu", f_leaky, 0.01f},
	{"ThresholdedRelu", f_thresholded, 1},
	{"ScaledTanh", f_scaled_tanh, 1, 1},
	{"HardSigmoid", f_hard_sigmoid, 0.2f, 0.5},
	{"Elu", f_elu, 1},
	{"Softsign", f_softsign},
	{"Softplus", f_softplus},
};

enum { ACTIVATIONS_MAX = 6 };

struct activations {
	int per; /* functions for each direction */
	struct {
		const struct activation *f;
		double alpha, beta;
	} of[ACTIVATIONS_MAX];
};

static int directions_of(const struct node *n) { return !strcmp(attr_s(n, "direction"), "bidirectional") ? 2 : 1; }

static int gates_of(const struct node *n) { return n->op == OP_RNN ? 1 : n->op == OP_GRU ? 3 : 4; }

/* All functions of a node, in order. NULL, or why not. */
static const char *read_activations(const struct node *n, struct arena *arena, struct activations *q)
{
	static const char *const rnn[] = {"Tanh"}, *const gru[] = {"Sigmoid", "Tanh"}, *const lstm[] = {"Sigmoid", "Tanh", "Tanh"};
	const char *const *usual = n->op == OP_RNN ? rnn : n->op == OP_GRU ? gru : lstm;
	const struct attr *names = attr_find(n, "activations");
	int na, nb, ia = 0, ib = 0, count;
	const float *alpha = attr_floats(n, "activation_alpha", &na), *beta = attr_floats(n, "activation_beta", &nb);

	*q = (struct activations){.per = n->op == OP_RNN ? 1 : n->op == OP_GRU ? 2 : 3};
	count = q->per * directions_of(n);
	if (names && names->n != (uint32_t)count)
		return arena_printf(arena, "attribute 'activations' has %u names, takes %d", names->n, count);
	if (na > count || nb > count)
		return arena_printf(arena, "attribute 'activation_%s' has %d values for %d functions", na > count ? "alpha" : "beta",
				    na > count ? na : nb, count);
	for (int i = 0; i < count; i++) {
		const char *name = names ? sym_str(names->u.strs[i]) : usual[i % q->per];
		for (size_t k = 0; k < sizeof activations / sizeof *activations; k++)
			if (!strcasecmp(name, activations[k].name)) {
				q->of[i].f = &activations[k];
				q->of[i].alpha = activations[k].alpha;
				q->of[i].beta = activations[k].beta;
			}
		if (!q->of[i].f)
			return arena_printf(arena, "unknown activation \"%s\"", name);
		/* ONNX lists values only for functions that take them */
		if (q->of[i].f->alpha && ia < na)
			q->of[i].alpha = alpha[ia++];
		if ((q->of[i].f->f == f_affine || q->of[i].f->beta) && ib < nb)
			q->of[i].beta = beta[ib++];
	}
	return NULL;
}

/* ---- shapes ---- */

/* Checks that operand i has these extents; unknown ones are taken to be right. */
static const char *check_extents(struct infer *I, uint32_t i, int rank, const dim *want)
{
	const char *why = NULL;

	for (int k = 0; k < rank && rule_rank(I, i) == rank && !why; k++)
		why = rule_extent(I, i, k, want[k]);
	return why;
}

static const char *check_lengths(struct infer *I, dim seq)
{
	const struct known *k = rule_has(I, 4) ? &I->kin[4] : NULL;
	int64_t c, longest;

	for (int i = 0; k && k->yes && i < k->n; i++)
		if (poly_is_const(rule_polys(I), k->e[i], &c) && (c < 0 || (poly_is_const(rule_polys(I), seq, &longest) && c > longest)))
			return rule_why(I, "sequence %d has %lld steps, at most %s are there", i, (long long)c,
					poly_str(rule_polys(I), seq, &I->m->arena));
	return NULL;
}

static const char *shape_recurrent(struct infer *I)
{
	struct polys *P = rule_polys(I);
	bool batch_first = attr_i(I->n, "layout");
	enum dtype t = I->in[0].dtype;
	dim dirs = rule_const(I, directions_of(I->n)), seq = POLY_UNKNOWN, batch = POLY_UNKNOWN, input = POLY_UNKNOWN,
	    hidden = POLY_UNKNOWN;
	struct activations q;
	const char *why = read_activations(I->n, &I->m->arena, &q);

	if (why)
		return why;
	if (rule_rank(I, 0) == 3) {
		seq = rule_dim(I, 0, batch_first);
		batch = rule_dim(I, 0, !batch_first);
		input = rule_dim(I, 0, 2);
	}
	if (rule_rank(I, 2) == 3)
		hidden = rule_dim(I, 2, 2);
	if (attr_find(I->n, "hidden_size"))
		hidden = rule_const(I, attr_i(I->n, "hidden_size"));
	int64_t gates = gates_of(I->n);
	dim all = poly_mulc(P, hidden, gates), state[] = {batch_first ? batch : dirs, batch_first ? dirs : batch, hidden};
	if ((why = check_extents(I, 1, 3, (dim[]){dirs, all, input})) || (why = check_extents(I, 2, 3, (dim[]){dirs, all, hidden})) ||
	    (why = check_extents(I, 3, 2, (dim[]){dirs, poly_mulc(P, all, 2)})) || (why = check_extents(I, 4, 1, &batch)) ||
	    (why = check_extents(I, 5, 3, state)) || (why = check_extents(I, 6, 3, state)) ||
	    (why = check_extents(I, 7, 2, (dim[]){dirs, poly_mulc(P, hidden, 3)})) || (why = check_lengths(I, seq)))
		return why;
	dim *y = rule_dims(I, 4), *h = rule_dims(I, 3);
	y[0] = batch_first ? batch : seq;
	y[1] = batch_first ? seq : dirs;
	y[2] = batch_first ? dirs : batch;
	y[3] = hidden;
	memcpy(h, state, sizeof state);
	rule_out(I, 0, t, 4, y);
	rule_out(I, 1, t, 3, h);
	rule_out(I, 2, t, 3, h);
	return NULL;
}

/* ---- evaluation ---- */

struct rnn {
	struct eval *e;
	int64_t T, B, I, H, gates, dirs; /* steps, batch, input and hidden size */
	bool batch_first, input_forget, linear_before_reset;
	double clip;
	struct activations act;
	double *W, *R, *b, *rb, *P; /* of the direction at hand: [gates*H][I], [gates*H][H], biases
				       of both, peepholes */
	double *h, *c;              /* state of one sequence */
	double *x, *g, *r;          /* input of a step, gate sums of input and of state */
};

static double activate(const struct rnn *q, int64_t dir, int which, double x)
{
	int i = (int)dir * q->act.per + which;

	if (q->clip > 0)
		x = fmin(fmax(x, -q->clip), q->clip);
	return q->act.of[i].f->f(x, q->act.of[i].alpha, q->act.of[i].beta);
}

/* o[i] = bias[i] + sum over k of w[i][k] v[k] */
static void matvec(double *o, const double *w, const double *v, const double *bias, int64_t rows, int64_t n)
{
	for (int64_t i = 0; i < rows; i++, w += n) {
		double s[4] = {bias ? bias[i] : 0};
		int64_t k = 0;
		for (; k + 4 <= n; k += 4)
			for (int j = 0; j < 4; j++)
				s[j] += w[k + j] * v[k + j];
		for (; k < n; k++)
			s[0] += w[k] * v[k];
		o[i] = s[0] + s[1] + (s[2] + s[3]);
	}
}

static void cell_rnn(struct rnn *q, int64_t d)
{
	matvec(q->r, q->R, q->h, q->rb, q->H, q->H);
	for (int64_t i = 0; i < q->H; i++)
		q->h[i] = activate(q, d, 0, q->g[i] + q->r[i]);
}

static void cell_gru(struct rnn *q, int64_t d)
{
	int64_t H = q->H;
	double *z = q->g, *r = q->g + H, *n = q->g + 2 * H;

	matvec(q->r, q->R, q->h, q->rb, 3 * H, H);
	for (int64_t i = 0; i < 2 * H; i++)
		q->g[i] = activate(q, d, 0, q->g[i] + q->r[i]);
	if (!q->linear_before_reset) { /* R applied to the reset state */
		for (int64_t i = 0; i < H; i++)
			q->x[i] = r[i] * q->h[i];
		matvec(q->r + 2 * H, q->R + 2 * H * H, q->x, q->rb ? q->rb + 2 * H : NULL, H, H);
	}
	for (int64_t i = 0; i < H; i++) {
		double s = n[i] + (q->linear_before_reset ? r[i] : 1) * q->r[2 * H + i];
		q->h[i] = (1 - z[i]) * activate(q, d, 1, s) + z[i] * q->h[i];
	}
}

static void cell_lstm(struct rnn *q, int64_t d)
{
	int64_t H = q->H;

	matvec(q->r, q->R, q->h, q->rb, 4 * H, H);
	for (int64_t i = 0; i < H; i++) { /* gates: input, output, forget, cell */
		double c = q->c[i], in, f, g;
		in = activate(q, d, 0, q->g[i] + q->r[i] + (q->P ? q->P[i] * c : 0));
		f = q->input_forget ? 1 - in : activate(q, d, 0, q->g[2 * H + i] + q->r[2 * H + i] + (q->P ? q->P[2 * H + i] * c : 0));
		g = activate(q, d, 1, q->g[3 * H + i] + q->r[3 * H + i]);
		q->c[i] = c = f * c + in * g;
		double o = activate(q, d, 0, q->g[H + i] + q->r[H + i] + (q->P ? q->P[H + i] * c : 0));
		q->h[i] = o * activate(q, d, 2, c);
	}
}

static void load_all(const struct tensor *t, int64_t off, int64_t n, double *o)
{
	for (int64_t i = 0; i < n; i += BLOCK)
		load_d(t, off + i, 1, n - i < BLOCK ? (int)(n - i) : BLOCK, o + i);
}

static void load_direction(struct rnn *q, int64_t d)
{
	struct eval *e = q->e;
	int64_t n = q->gates * q->H;
	const struct tensor *b = eval_in(e, 3), *p = e->n->op == OP_LSTM ? eval_in(e, 7) : NULL;

	load_all(e->in[1], d * n * q->I, n * q->I, q->W);
	load_all(e->in[2], d * n * q->H, n * q->H, q->R);
	if (b) {
		q->b = eval_scratch(e, sizeof(double) * 2 * (size_t)n);
		load_all(b, d * 2 * n, 2 * n, q->b);
		q->rb = q->b + n;
	}
	if (p) {
		q->P = eval_scratch(e, sizeof(double) * 3 * (size_t)q->H);
		load_all(p, d * 3 * q->H, 3 * q->H, q->P);
	}
}

static void run_sequence(struct rnn *q, int64_t d, int64_t b, int64_t len, bool backward, struct tensor *y)
{
	enum opcode op = q->e->n->op;

	for (int64_t s = 0; s < len; s++) {
		int64_t t = backward ? len - 1 - s : s;
		load_all(q->e->in[0], (q->batch_first ? b * q->T + t : t * q->B + b) * q->I, q->I, q->x);
		matvec(q->g, q->W, q->x, q->b, q->gates * q->H, q->I);
		if (op == OP_RNN)
			cell_rnn(q, d);
		else if (op == OP_GRU)
			cell_gru(q, d);
		else
			cell_lstm(q, d);
		int64_t at = q->batch_first ? (b * q->T + t) * q->dirs + d : (t * q->dirs + d) * q->B + b;
		store_d(y, at * q->H, (int)q->H, q->h);
	}
}

static const char *rnn_sizes(struct rnn *q)
{
	struct eval *e = q->e;
	const struct tensor *x = e->in[0], *w = e->in[1], *r = e->in[2];
	int64_t max;

	q->gates = gates_of(e->n);
	q->dirs = directions_of(e->n);
	q->batch_first = attr_i(e->n, "layout");
	q->input_forget = attr_i(e->n, "input_forget");
	q->linear_before_reset = attr_i(e->n, "linear_before_reset");
	q->clip = attr_f(e->n, "clip");
	if (x->rank != 3 || w->rank != 3 || r->rank != 3)
		return "the sequence, W or R is not of rank 3";
	q->T = x->dims[q->batch_first];
	q->B = x->dims[!q->batch_first];
	q->I = x->dims[2];
	q->H = r->dims[2];
	if (w->dims[0] != q->dirs || w->dims[1] != q->gates * q->H || w->dims[2] != q->I || r->dims[0] != q->dirs ||
	    r->dims[1] != q->gates * q->H)
		return "W or R do not fit the sequence";
	for (uint32_t i = 3, want; i < e->n->nin; i++) {
		want = (uint32_t)(i == 3   ? q->dirs * 2 * q->gates * q->H
				  : i == 4 ? q->B
				  : i == 7 ? q->dirs * 3 * q->H
					   : q->dirs * q->B * q->H);
		if (e->in[i] && tensor_count(e->in[i]) != want)
			return eval_why(e, "operand %u has %lld elements, not %u", i, (long long)tensor_count(e->in[i]), want);
	}
	max = q->I > q->H ? q->I : q->H;
	q->W = eval_scratch(e, sizeof(double) * (size_t)(q->gates * q->H * q->I));
	q->R = eval_scratch(e, sizeof(double) * (size_t)(q->gates * q->H * q->H));
	q->h = eval_scratch(e, sizeof(double) * (size_t)q->H);
	q->c = eval_scratch(e, sizeof(double) * (size_t)q->H);
	q->x = eval_scratch(e, sizeof(double) * (size_t)max);
	q->g = eval_scratch(e, sizeof(double) * (size_t)(q->gates * q->H));
	q->r = eval_scratch(e, sizeof(double) * (size_t)(q->gates * q->H));
	return NULL;
}

static const char *eval_recurrent(struct eval *e)
{
	struct rnn q = {.e = e};
	bool is_lstm = e->n->op == OP_LSTM, reverse = !strcmp(attr_s(e->n, "direction"), "reverse");
	const char *why = rnn_sizes(&q);
	enum dtype t = e->in[0]->dtype;
	const struct tensor *lens = eval_in(e, 4), *h0 = eval_in(e, 5), *c0 = is_lstm ? eval_in(e, 6) : NULL;

	if (why || (why = read_activations(e->n, e->arena, &q.act)))
		return why;
	for (int64_t b = 0; lens && b < q.B; b++)
		if (tensor_get_int(lens, b) < 0 || tensor_get_int(lens, b) > q.T)
			return eval_why(e, "sequence %lld has %lld steps, at most %lld are there", (long long)b,
					(long long)tensor_get_int(lens, b), (long long)q.T);
	struct tensor *y = eval_out(e, 0, t, 4, q.batch_first ? (int64_t[]){q.B, q.T, q.dirs, q.H} : (int64_t[]){q.T, q.dirs, q.B, q.H});
	const int64_t *hd = q.batch_first ? (int64_t[]){q.B, q.dirs, q.H} : (int64_t[]){q.dirs, q.B, q.H};
	struct tensor *yh = eval_out(e, 1, t, 3, hd), *yc = is_lstm ? eval_out(e, 2, t, 3, hd) : NULL;
	for (int64_t d = 0; d < q.dirs; d++) {
		load_direction(&q, d);
		for (int64_t b = 0; b < q.B; b++) {
			int64_t len = lens ? tensor_get_int(lens, b) : q.T, at = (q.batch_first ? b * q.dirs + d : d * q.B + b) * q.H;
			memset(q.h, 0, sizeof(double) * (size_t)q.H);
			memset(q.c, 0, sizeof(double) * (size_t)q.H);
			if (h0)
				load_all(h0, at, q.H, q.h);
			if (c0)
				load_all(c0, at, q.H, q.c);
			run_sequence(&q, d, b, len, d == 1 || reverse, y);
			store_d(yh, at, (int)q.H, q.h);
			if (yc)
				store_d(yc, at, (int)q.H, q.c);
		}
	}
	return NULL;
}

static double flops_recurrent(struct module *m, const struct node *n)
{
	const struct type *x = &val(m, n->in[0])->type;
	int64_t w = type_count(m, &val(m, n->in[1])->type), r = type_count(m, &val(m, n->in[2])->type), t, b;

	if (w < 0 || r < 0 || x->rank != 3 || !poly_is_const(m->dims, x->dims[0], &t) || !poly_is_const(m->dims, x->dims[1], &b))
		return 0;
	return 2.0 * (double)t * (double)b * (double)(w + r);
}

const struct op ops_recurrent[] = {
	{OP_RNN, shape_recurrent, eval_recurrent, flops_recurrent},
	{OP_GRU, shape_recurrent, eval_recurrent, flops_recurrent},
	{OP_LSTM, shape_recurrent, eval_recurrent, flops_recurrent},
	{0},
};
