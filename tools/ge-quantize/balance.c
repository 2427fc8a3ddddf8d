/* Channels of an operand made alike before it is quantised: what is divided out of it is multiplied into the weights that read it.
 *
 * --equalize divides in the product that made the operand (Nagel et al. 2019, for weights with a scale for each channel); --smooth in a
 * layer normalization, else by a multiplication (SmoothQuant, Xiao et al. 2022). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "graph/pass.h"
#include "op/op.h"
#include "quantize.h"

/* f(c x) = c f(x) for c > 0, channel by channel. */
static const bool homogeneous[OP_COUNT] = {
	[OP_AveragePool] = true, [OP_GlobalAveragePool] = true, [OP_LeakyRelu] = true, [OP_MaxPool] = true, [OP_Relu] = true,
};

struct balance {
	struct module *m;
	struct uses uses;
	const struct balance_options *o;
	int done;
};

/* Axis of weights that meets the channels of the first operand; -1: they meet in another way. */
static int input_axis(struct module *m, const struct node *n)
{
	struct weights_at at;
	struct tensor *w = n->nin > 1 ? node_const(m, n, 1) : NULL;

	if (!weights_of(m, n, &at) || (n->op != OP_Conv && w->rank != 2) || (n->op == OP_Conv && attr_i(n, "group") != 1) ||
	    n->op == OP_ConvTranspose)
		return -1;
	return 1 - at.axis;
}

/* Multiplies t along an axis; the constant that comes of it. */
static val_id scaled(struct module *m, struct tensor *t, int axis, const double *by)
{
	int64_t n = tensor_count(t), inner = 1;
	float *v = ARENA_ARRAY(&m->arena, float, n + 1);
	const float *from = tensor_data(m, t);

	for (int k = axis + 1; k < t->rank; k++)
		inner *= t->dims[k];
	for (int64_t i = 0; i < n; i++)
		v[i] = (float)((double)from[i] * by[i / inner % t->dims[axis]]);
	return const_new(m, 0, DT_F32, t->rank, t->dims, v, (size_t)n * sizeof *v);
}

/* The greatest weight that meets each channel. */
static void widen(struct module *m, struct tensor *t, int axis, double *most)
{
	int64_t inner = 1;
	const float *w = tensor_data(m, t);

	for (int k = axis + 1; k < t->rank; k++)
		inner *= t->dims[k];
	for (int64_t i = 0, n = tensor_count(t); i < n; i++) {
		double *to = &most[i / inner % t->dims[axis]], v = fabs((double)w[i]);
		*to = v > *to ? v : *to;
	}
}

/* Do all readers of v multiply it by constants, channel by channel? Collects the greatest weights. */
static bool readers_multiply(struct balance *b, val_id v, uint32_t channels, double *most)
{
	const struct uses *u = &b->uses;
	bool all = u->start[v] < u->start[v + 1] && !u->nout[v];

	for (uint32_t i = u->start[v]; all && i < u->start[v + 1]; i++) {
		const struct node *n = node(b->m, u->user[i]);
		int axis = input_axis(b->m, n);
		all = axis >= 0 && n->in[0] == v && node_const(b->m, n, 1)->dims[axis] == channels;
		if (all)
			widen(b->m, node_const(b->m, n, 1), axis, most);
	}
	return all;
}

static bool alone(struct balance *b, val_id v) { return uses_count(&b->uses, v) == 1; }

static bool constant_of(struct balance *b, const struct node *n, uint32_t i, int64_t count)
{
	struct tensor *t = node_const(b->m, n, i);

	return t && t->dtype == DT_F32 && t->rank == 1 && t->dims[0] == count;
}

/* The product that v comes from by operators that keep channels apart and are homogeneous; NULL: none whose channels can be divided. */
static struct node *product_before(struct balance *b, val_id v, uint32_t channels, struct weights_at *at)
{
	val_id x = v;

	while (val(b->m, x)->kind == VAL_NODE && homogeneous[node(b->m, val(b->m, x)->def)->op]) {
		const struct node *n = node(b->m, val(b->m, x)->def);
		if (!alone(b, n->in[0]) || n->nout != 1)
			return NULL;
		x = n->in[0];
	}
	if (val(b->m, x)->kind != VAL_NODE || !weights_of(b->m, node(b->m, val(b->m, x)->def), at))
		return NULL;
	struct node *n = node(b->m, val(b->m, x)->def);
	bool biased = at->bias > 0 && (uint32_t)at->bias < n->nin && n->in[at->bias];
	bool fits = node_const(b->m, n, 1)->dims[at->axis] == channels && (!biased || constant_of(b, n, (uint32_t)at->bias, channels));
	return fits ? n : NULL;
}

static bool divide_product(struct balance *b, val_id v, uint32_t channels, const double *by)
{
	struct weights_at at;
	struct node *n = product_before(b, v, channels, &at);

	if (!n)
		return false;
	val_id *in = n->in;
	in[1] = scaled(b->m, node_const(b->m, n, 1), at.axis, by);
	if (at.bias > 0 && (uint32_t)at.bias < n->nin && in[at.bias])
		in[at.bias] = scaled(b->m, val(b->m, in[at.bias])->tensor, 0, by);
	return true;
}

static bool divide_norm(struct balance *b, val_id v, uint32_t channels, const double *by)
{
	if (val(b->m, v)->kind != VAL_NODE)
		return false;
	struct node *n = node(b->m, val(b->m, v)->def);
	bool biased = n->nin > 2 && n->in[2];
	if (n->op != OP_LayerNormalization || !constant_of(b, n, 1, channels) || (biased && !constant_of(b, n, 2, channels)))
		return false;
	val_id *in = n->in;
	in[1] = scaled(b->m, val(b->m, in[1])->tensor, 0, by);
	if (biased)
		in[2] = scaled(b->m, val(b->m, in[2])->tensor, 0, by);
	return true;
}

/* By a node before those that read v. */
static void divide_here(struct balance *b, val_id v, uint32_t channels, const double *by)
{
	const struct uses *u = &b->uses;
	bool window = op_is(node(b->m, u->user[u->start[v]])->op, OP_WINDOW);
	int rank = window ? val(b->m, v)->type.rank - 1 : 1;
	int64_t dims[RANK_MAX];
	float *f = ARENA_ARRAY(&b->m->arena, float, channels);

	for (int k = 0; k < rank; k++)
		dims[k] = k ? 1 : channels;
	for (uint32_t c = 0; c < channels; c++)
		f[c] = (float)by[c];
	val_id c = const_new(b->m, 0, DT_F32, rank, dims, f, channels * sizeof *f);
	node_id mul = node_new(b->m, b->m->main, OP_Mul, 2, (val_id[]){v, c}, 1);
	for (uint32_t i = u->start[v]; i < u->start[v + 1]; i++)
		node(b->m, u->user[i])->in[0] = node(b->m, mul)->out[0];
}

static void multiply_readers(struct balance *b, val_id v, const double *by)
{
	const struct uses *u = &b->uses;

	for (uint32_t i = u->start[v]; i < u->start[v + 1]; i++) {
		node_id id = u->user[i];
		int axis = input_axis(b->m, node(b->m, id));
		val_id w = scaled(b->m, node_const(b->m, node(b->m, id), 1), axis, by);
		node(b->m, id)->in[1] = w;
	}
}

/* ---- what rounding will do ---- */

/* Mean squares of the channels: their largest elements have them in proportion. */
static void channel_powers(const struct value_stat *s, double *power, double *largest)
{
	double sum = 0;

	for (uint32_t c = 0; c < s->channels; c++) {
		largest[c] = fmax(fabs((double)s->channel[c].min), fabs((double)s->channel[c].max));
		largest[c] = isfinite(largest[c]) ? largest[c] : 0;
		sum += largest[c] * largest[c];
	}
	for (uint32_t c = 0; c < s->channels; c++)
		power[c] = sum > 0 ? value_stat_power(s) * s->channels * largest[c] * largest[c] / sum : 0;
}

/* The square of a step of the operand, and of all its channels, times down. */
static double operand_step2(const struct value_stat *s, const double *down)
{
	double lo = 0, hi = 0;

	for (uint32_t c = 0; c < s->channels; c++) {
		lo = fmin(lo, (double)s->channel[c].min * down[c]);
		hi = fmax(hi, (double)s->channel[c].max * down[c]);
	}
	return (hi - lo) * (hi - lo) / (255. * 255);
}

/* Of a product whose weights are multiplied by up and whose operand by 1 / up: the error that a step of 1 of the operand makes, and that
 * of rounding the weights. */
static void product_error(struct balance *b, const struct node *n, const double *up, const double *power, double *operand, double *weights)
{
	struct weights_at at;
	struct tensor *t = node_const(b->m, n, 1);
	int axis = input_axis(b->m, n);
	int64_t inner = 1, outer = 1;

	weights_of(b->m, n, &at);
	const float *w = tensor_data(b->m, t);
	double *most = xcalloc((size_t)t->dims[at.axis], sizeof *most), *in = xcalloc((size_t)t->dims[at.axis], sizeof *in);
	for (int k = axis + 1; k < t->rank; k++)
		inner *= t->dims[k];
	for (int k = at.axis + 1; k < t->rank; k++)
		outer *= t->dims[k];
	for (int64_t i = 0, count = tensor_count(t); i < count; i++) {
		int64_t c = i / inner % t->dims[axis], o = i / outer % t->dims[at.axis];
		double v = fabs((double)w[i]) * up[c];
		*operand += v * v;
		most[o] = fmax(most[o], v);
		in[o] += power[c] / (up[c] * up[c]);
	}
	for (int64_t o = 0; o < t->dims[at.axis]; o++)
		*weights += most[o] * most[o] / (127. * 127) * in[o];
	free(most);
	free(in);
}

/* In units of a twelfth: the variance of rounding to steps of 1. */
static double predicted_error(struct balance *b, val_id v, const struct value_stat *s, const double *up, const double *down,
			      const double *power)
{
	const struct uses *u = &b->uses;
	double operand = 0, weights = 0;

	for (uint32_t i = u->start[v]; i < u->start[v + 1]; i++)
		product_error(b, node(b->m, u->user[i]), up, power, &operand, &weights);
	return operand * operand_step2(s, down) + weights;
}

/* The part of the error that is promised to be left. */
static double error_left(struct balance *b, val_id v, const struct value_stat *s, const double *up, const double *down, const double *power)
{
	double *one = xcalloc(s->channels, sizeof *one);

	for (uint32_t c = 0; c < s->channels; c++)
		one[c] = 1;
	double left = predicted_error(b, v, s, up, down, power) / fmax(predicted_error(b, v, s, one, one, power), 0x1p-1000);
	free(one);
	return left;
}

/* What is multiplied into the weights that read a value, channel by channel, and out of the value; and the part of the error that this
 * is promised to leave. */
struct factors {
	double *up, *down, left;
};

/* false: its readers do not multiply it channel by channel. */
static bool find_factors(struct balance *b, val_id v, const struct value_stat *s, double part, struct factors *f, struct arena *a)
{
	double *most = ARENA_ARRAY(a, double, s->channels + 1), *power = ARENA_ARRAY(a, double, s->channels + 1),
	       *largest = ARENA_ARRAY(a, double, s->channels + 1);

	f->up = ARENA_ARRAY(a, double, s->channels + 1);
	f->down = ARENA_ARRAY(a, double, s->channels + 1);
	if (!s->channels || !readers_multiply(b, v, s->channels, most))
		return false;
	channel_powers(s, power, largest);
	for (uint32_t c = 0; c < s->channels; c++) {
		double x = largest[c];
		bool good = x > 0 && most[c] > 0;
		f->up[c] = good ? fmin(fmax(pow(x, part) / pow(most[c], 1 - part), 0x1p-20), 0x1p20) : 1;
		f->down[c] = 1 / f->up[c];
	}
	f->left = error_left(b, v, s, f->up, f->down, power);
	return true;
}

#define WORTH_A_NODE 0.5 /* of the error: a multiplication is a pass over the operand */

static void balance_value(struct balance *b, val_id v, const struct value_stat *s)
{
	struct arena a = {0};
	struct factors f;

	if (find_factors(b, v, s, b->o->smooth >= 0 ? b->o->smooth : 0.5, &f, &a)) {
		bool divided = f.left <= b->o->worth && f.left < 1 &&
			       ((b->o->equalize && divide_product(b, v, s->channels, f.down)) ||
				(b->o->smooth >= 0 && divide_norm(b, v, s->channels, f.down)));
		if (!divided && b->o->smooth >= 0 && f.left < WORTH_A_NODE) {
			divide_here(b, v, s->channels, f.down);
			divided = true;
		}
		if (divided)
			multiply_readers(b, v, f.up);
		b->done += divided;
	}
	arena_release(&a);
}

double balance_left(struct module *m, val_id v, const struct value_stat *s, double part, bool *exact)
{
	struct balance_options o = {0};
	struct balance b = {m, uses_new(m), &o, 0};
	struct arena a = {0};
	struct factors f;
	double left = find_factors(&b, v, s, part, &f, &a) ? f.left : 1;
	struct weights_at at;

	*exact = s->channels && product_before(&b, v, s->channels, &at);

	uses_free(&b.uses);
	arena_release(&a);
	return left;
}

/* ---- what a reader gets ---- */

/* Sums of the squares of the weights that meet each channel of the first operand; false: no channel is told from others. */
static bool channel_weights(struct module *m, const struct node *n, const struct value_stat *s, double *sum)
{
	int axis = input_axis(m, n);
	struct tensor *w = node_const(m, n, 1);
	bool apart = n->op == OP_Conv && attr_i(n, "group") == s->channels && w->rank > 1 && w->dims[1] == 1;
	int64_t inner = 1, per = apart ? w->dims[0] / s->channels : 1;

	if (apart)
		axis = 0;
	if (axis < 0 || !s->channels || w->dims[axis] != per * s->channels)
		return false;
	for (int k = axis + 1; k < w->rank; k++)
		inner *= w->dims[k];
	const float *v = tensor_data(m, w);
	for (int64_t i = 0, count = tensor_count(w); i < count; i++)
		sum[i / inner % w->dims[axis] / per] += (double)v[i] * (double)v[i];
	return true;
}

bool reader_gets(struct module *m, const struct node *n, const struct value_stat *s, struct range r, struct reader *out)
{
	struct arena a = {0};
	double *weights = ARENA_ARRAY(&a, double, s->channels + 1), *power = ARENA_ARRAY(&a, double, s->channels + 1),
	       *largest = ARENA_ARRAY(&a, double, s->channels + 1), step = (r.hi - r.lo) / 255, noise = 0, signal = 0;
	bool good = channel_weights(m, n, s, weights);

	if (good) {
		channel_powers(s, power, largest);
		for (uint32_t c = 0; c < s->channels; c++) {
			signal += weights[c] * power[c];
			noise += weights[c] * step * step / 12;
		}
		*out = (struct reader){.error = signal > 0 ? noise / signal : 0};
		/* Of channels that the reader makes something of: a quarter of their share, or more. */
		for (uint32_t c = 0; c < s->channels; c++) {
			double error = step * step / 12 / power[c];
			if (4 * weights[c] * power[c] * s->channels > signal && error > out->worst_error)
				out->worst = c, out->worst_error = error;
		}
	}
	arena_release(&a);
	return good;
}

int balance(struct module *m, const struct statistics *s, const struct balance_options *o)
{
	struct balance b = {m, uses_new(m), o, 0};
	size_t n = m->values.n;

	for (val_id v = 1; v < n; v++) {
		const struct value_stat *r = val(m, v)->graph == m->main ? statistics_find(s, sym_str(val(m, v)->name)) : NULL;
		if (r && !r->nans && !r->infinite)
			balance_value(&b, v, r);
	}
	uses_free(&b.uses);
	graph_sort(m, m->main);
	module_name_values(m);
	infer_module(m, NULL);
	return b.done;
}
