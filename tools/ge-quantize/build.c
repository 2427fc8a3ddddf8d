/* A model with QuantizeLinear and DequantizeLinear around what is quantised. */
#include <math.h>
#include <string.h>
#include "common/msg.h"
#include "graph/pass.h"
#include "graph/stream.h"
#include "op/op.h"
#include "build.h"

struct module *plan_module(const struct plan *p)
{
	struct stream_fault fault;
	size_t pos = 0;
	struct module *m = stream_parse(p->bytes, p->nbytes, &pos, p->source, &fault);

	if (!m)
		BUG("the model is not what was written: %s", fault.why);
	return m;
}

/* ---- which values are bytes ---- */

static bool fit(const struct build *b, val_id v) { return v && v < b->p->nvalues && b->p->stat[v] && val(b->m, v)->kind != VAL_CONST; }

static void mark_inputs(struct build *b, const struct node *n)
{
	bool left = false;

	for (uint32_t i = 0; i < n->nin; i++)
		if (fit(b, n->in[i])) {
			if (n->nin > 1 && !left && is_joined(b->m, &b->uses, n->in[i]))
				left = true;
			else
				b->bytes[n->in[i]] = true;
		}
}

static val_id first_kin(struct build *b, val_id v)
{
	while (b->kin[v] != v)
		v = b->kin[v] = b->kin[b->kin[v]];
	return v;
}

/* Backwards: what moves bytes gets bytes of the same scale. */
static void mark_moves(struct build *b, const struct node *n)
{
	bool any = false, all = true;
	uint32_t moved = n->op == OP_Concat ? n->nin : 1;

	for (uint32_t k = 0; k < n->nout; k++)
		any |= n->out[k] && b->bytes[n->out[k]];
	for (uint32_t i = 0; i < moved; i++)
		all &= fit(b, n->in[i]);
	if (!any || !all)
		return;
	for (uint32_t i = 0; i < moved; i++) {
		b->bytes[n->in[i]] = true;
		for (uint32_t k = 0; k < n->nout; k++)
			if (n->out[k] && b->bytes[n->out[k]])
				b->kin[first_kin(b, n->in[i])] = first_kin(b, n->out[k]);
	}
}

static void mark(struct build *b)
{
	const struct graph *g = graph(b->m, b->m->main);

	for (size_t i = g->nodes.n; i-- > 0;) {
		const struct node *n = node(b->m, g->nodes.a[i]);
		const struct layer *l = b->layer[g->nodes.a[i]];
		if (l && l->part == PART_WEIGHTS)
			b->bytes[n->in[0]] = true;
		else if (l && l->part == PART_INPUTS)
			mark_inputs(b, n);
		else if (part_of(n->op) == PART_MOVES)
			mark_moves(b, n);
	}
}

static void choose_ranges(struct build *b)
{
	const struct quantize_options *o = &b->p->options;

	for (val_id v = 1; v < b->p->nvalues; v++) {
		if (!b->bytes[v])
			continue;
		struct range r = range_of(b->p->stat[v], o->method, o->percentile), *all = &b->range[first_kin(b, v)];
		all->lo = r.lo < all->lo ? r.lo : all->lo;
		all->hi = r.hi > all->hi ? r.hi : all->hi;
	}
}

/* ---- nodes ---- */

static val_id named(struct build *b, val_id v, val_id of, const char *what)
{
	val(b->m, v)->name = intern_printf("%s_%s", sym_str(val(b->m, of)->name), what);
	return v;
}

val_id constant(struct build *b, val_id of, const char *what, enum dtype t, int rank, const int64_t *dims, const void *data)
{
	size_t n = dtype_size(t);

	for (int i = 0; i < rank; i++)
		n *= (size_t)dims[i];
	return named(b, const_copy(b->m, 0, t, rank, dims, data, n), of, what);
}

val_id add_node(struct build *b, enum opcode op, int nin, const val_id *in)
{
	node_id n = node_new(b->m, b->m->main, op, nin, in, 1);

	return node(b->m, n)->out[0];
}

static void add_bytes(struct build *b, val_id v)
{
	struct bytes_scale s = bytes_scale_of(b->range[first_kin(b, v)]);
	val_id scale = constant(b, v, "scale", DT_F32, 0, NULL, &s.scale), zero = constant(b, v, "zero", DT_U8, 0, NULL, &s.zero);
	val_id q = named(b, add_node(b, OP_QuantizeLinear, 3, (val_id[]){v, scale, zero}), v, "bytes");

	b->read[v] = named(b, add_node(b, OP_DequantizeLinear, 3, (val_id[]){q, scale, zero}), v, "read");
}

/* ---- weights and biases ---- */

static val_id dequantized(struct build *b, val_id of, enum dtype t, const struct tensor *like, const void *q, const float *scale, int64_t n,
			  int axis)
{
	val_id wide = constant(b, of, "q", t, like->rank, like->dims, q), s = constant(b, of, "scale", DT_F32, 1, &n, scale);
	val_id out = named(b, add_node(b, OP_DequantizeLinear, 2, (val_id[]){wide, s}), of, "read");

	attr_set_int(b->m, val(b->m, out)->def, "axis", axis);
	return out;
}

/* What is known of the first operand's channels. */
static double mean_of(const struct value_stat *v, uint32_t c)
{
	double n = (double)v->count / v->channels;

	return n ? exact_value(&v->channel[c].sum) / n : 0;
}

/* Of element k of channel c; scales lie as the weights do. */
static double scale_at(const struct rounded_weights *r, int axis, int64_t c, int64_t k)
{
	int64_t at = r->block ? k / r->block : 0;

	return (double)r->scale[axis ? at * r->n + c : c * r->count + at];
}

/* By channel of the result, how far rounding moves the mean. */
static bool mean_errors(struct build *b, const struct node *n, const struct weights_at *at, const struct tensor *w,
			const struct rounded_weights *r, double *error)
{
	const struct value_stat *x = b->p->stat[n->in[0]];
	int64_t per = r->outer * r->inner, window = 1, groups = n->op == OP_Conv ? attr_i(n, "group") : 1;

	for (int k = 2; n->op == OP_Conv && k < w->rank; k++)
		window *= w->dims[k];
	if (n->op == OP_ConvTranspose || w->rank > 4 || (n->op != OP_Conv && w->rank != 2) || !x || x->nans || x->infinite ||
	    !x->channels || (int64_t)x->channels * window != per * groups)
		return false;
	for (int64_t c = 0; c < r->n; c++) {
		error[c] = 0;
		for (int64_t k = 0; k < per; k++) {
			int64_t i = at->axis == 0 ? c * r->inner + k : k * r->n + c;
			double e = (double)r->q[i] * scale_at(r, at->axis, c, k) - (double)((const float *)w->data)[i];
			error[c] += e * mean_of(x, (uint32_t)(c / (r->n / groups) * (per / window) + k / window));
		}
	}
	return true;
}

/* A step of the bias is the product of the other two; weights whose step is too small for their bias get a larger one. */
static void make_room(struct rounded_weights *r, const float *w, const double *bias, float sx, int bits)
{
	bool again = false;

	for (int64_t c = 0; c < r->n; c++) {
		double least = fabs(bias[c]) / ((double)sx * 0x1p30);
		if ((double)r->scale[c] >= least)
			continue;
		r->scale[c] = (float)(least * 1.001);
		again = true;
	}
	for (int64_t i = 0; again && i < r->outer * r->n * r->inner; i++) {
		double k = rint((double)w[i] / (double)r->scale[i / r->inner % r->n]), most = (1 << (bits - 1)) - 1;
		r->q[i] = (int8_t)(k < -most ? -most : k > most ? most : k);
	}
}

static val_id integer_bias(struct build *b, val_id of, const struct rounded_weights *r, const double *bias, float sx, struct arena *a)
{
	int32_t *q = ARENA_ARRAY(a, int32_t, r->n);
	float *scale = ARENA_ARRAY(a, float, r->n);
	struct tensor like = {.rank = 1, .dims = (int64_t[]){r->n}};

	for (int64_t c = 0; c < r->n; c++) {
		scale[c] = sx * r->scale[c];
		q[c] = (int32_t)rint(bias[c] / (double)scale[c]);
	}
	return dequantized(b, of, DT_I32, &like, q, scale, r->n, 0);
}

static val_id float_bias(struct build *b, val_id of, const double *bias, int64_t n)
{
	float *v = ARENA_ARRAY(&b->m->arena, float, n);

	for (int64_t c = 0; c < n; c++)
		v[c] = (float)bias[c];
	return constant(b, of, "corrected", DT_F32, 1, &n, v);
}

static void set_operand(struct build *b, node_id id, uint32_t i, val_id v)
{
	struct node *n = node(b->m, id);

	if (i >= n->nin) {
		val_id *in = ARENA_ARRAY(&b->m->arena, val_id, i + 1);
		memcpy(in, n->in, sizeof *in * n->nin);
		n->in = in;
		n->nin = i + 1;
	}
	n->in[i] = v;
}

/* The bias, as it is or as it is to be; false: there is none, or none to be changed. */
static bool take_bias(struct build *b, node_id id, const struct weights_at *at, const struct tensor *w, const struct rounded_weights *r,
		      double *bias, struct arena *a)
{
	const struct node *n = node(b->m, id);
	bool there = at->bias > 0 && (uint32_t)at->bias < n->nin && n->in[at->bias];
	struct tensor *t = there ? node_const(b->m, n, (uint32_t)at->bias) : NULL;
	double *error = ARENA_ARRAY(a, double, r->n);

	if (at->bias < 0 || (there && (!t || t->dtype != DT_F32 || t->rank != 1 || t->dims[0] != r->n)))
		return false;
	if (t)
		tensor_data(b->m, t);
	bool corrected = b->p->options.correct && mean_errors(b, n, at, w, r, error);
	for (int64_t c = 0; c < r->n; c++)
		bias[c] = (t ? (double)((const float *)t->data)[c] : 0) - (corrected ? error[c] : 0);
	return t || corrected;
}

/* Weights whose operand stays a float. Integers of 4 bits, and blocks of them, are those of the standard. */
static val_id weights_alone(struct build *b, val_id w, const struct tensor *t, const struct rounded_weights *r, int axis)
{
	enum dtype type = b->p->options.weight_bits == 4 ? DT_I4 : DT_I8;
	int64_t shape[] = {axis ? r->count : r->n, axis ? r->n : r->count};

	if (!r->block)
		return dequantized(b, w, type, t, r->q, r->scale, r->n, axis);
	val_id q = constant(b, w, "q", type, t->rank, t->dims, r->q), s = constant(b, w, "scale", DT_F32, 2, shape, r->scale);
	val_id out = named(b, add_node(b, OP_DequantizeLinear, 2, (val_id[]){q, s}), w, "read");
	attr_set_int(b->m, val(b->m, out)->def, "axis", !axis);
	attr_set_int(b->m, val(b->m, out)->def, "block_size", r->block);
	return out;
}

static void quantize_weights(struct build *b, node_id id, const struct layer *l)
{
	const struct quantize_options *o = &b->p->options;
	struct weights_at at;
	struct rounded_weights r = {.outer = 1, .inner = 1};
	struct arena a = {0};
	val_id w = node(b->m, id)->in[1], x = node(b->m, id)->in[0];

	if (!weights_of(b->m, node(b->m, id), &at))
		BUG("a layer without weights");
	struct tensor *t = val(b->m, w)->tensor;
	const float *data = tensor_data(b->m, t);
	for (int k = 0; k < t->rank; k++)
		*(k < at.axis    ? &r.outer
		  : k == at.axis ? &r.n
				 : &r.inner) = k == at.axis ? t->dims[k] : (k < at.axis ? r.outer : r.inner) * t->dims[k];
	if (o->activations == ACTIVATIONS_NONE && t->rank == 2 && o->block < t->dims[!at.axis])
		r.block = o->block;
	weights_round(&r, data, o->weight_bits, o->method == RANGE_MSE || o->weight_bits < 8, &a);
	if (b->err)
		b->err[l - b->p->layers.a].weight_error = r.power > 0 ? r.error / r.power : 0;
	double *bias = ARENA_ARRAY(&a, double, r.n);
	bool biased = take_bias(b, id, &at, t, &r, bias, &a),
	     there = biased && (uint32_t)at.bias < node(b->m, id)->nin && node(b->m, id)->in[at.bias];
	val_id of = there ? node(b->m, id)->in[at.bias] : node(b->m, id)->out[0];
	if (o->activations == ACTIVATIONS_NONE) {
		if (biased && o->correct && b->p->stat[x])
			set_operand(b, id, (uint32_t)at.bias, float_bias(b, of, bias, r.n));
		set_operand(b, id, 1, weights_alone(b, w, t, &r, at.axis));
		arena_release(&a);
		return;
	}
	if (o->activations == ACTIVATIONS_DYNAMIC) {
		quantize_dynamic(b, id, &at, t, &r, biased ? bias : NULL);
		arena_release(&a);
		return;
	}
	if (biased && b->bytes[x]) {
		float sx = bytes_scale_of(b->range[first_kin(b, x)]).scale;
		make_room(&r, data, bias, sx, o->weight_bits);
		set_operand(b, id, (uint32_t)at.bias, integer_bias(b, of, &r, bias, sx, &a));
	}
	val_id read = dequantized(b, w, DT_I8, t, r.q, r.scale, r.n, at.axis);
	set_operand(b, id, 1, read);
	arena_release(&a);
}

/* ---- the whole ---- */

static void read_bytes(struct build *b, node_id id)
{
	struct node *n = node(b->m, id);

	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && n->in[i] < b->p->nvalues && b->read[n->in[i]])
			n->in[i] = b->read[n->in[i]];
}

/* Operands that are bytes are read as such by layers that are quantised and by what moves them. */
static bool reads_bytes(struct build *b, node_id id)
{
	const struct node *n = node(b->m, id);
	bool moved = part_of(n->op) == PART_MOVES && n->out[0] && b->bytes[n->out[0]];

	return b->layer[id] || moved;
}

static void note_errors(struct build *b)
{
	for (size_t i = 0; b->err && i < b->p->layers.n; i++) {
		struct layer *l = &b->err[i];
		val_id x = node(b->m, l->node)->in[0];
		if (!fit(b, x) || !b->bytes[x])
			continue;
		l->range = b->range[first_kin(b, x)];
		double power = value_stat_power(b->p->stat[x]);
		l->activation_error = power > 0 ? range_error(b->p->stat[x], l->range, 256) / power : 0;
		l->read = l->part == PART_WEIGHTS && reader_gets(b->m, node(b->m, l->node), b->p->stat[x], l->range, &l->reader);
	}
}

static void rewrite(struct build *b)
{
	struct module *m = b->m;
	size_t n = graph(m, m->main)->nodes.n;

	for (val_id v = 1; v < b->p->nvalues; v++)
		if (b->bytes[v])
			add_bytes(b, v);
	for (size_t i = 0; i < n; i++) {
		node_id id = graph(m, m->main)->nodes.a[i];
		const struct layer *l = b->layer[id];
		if (l && l->part == PART_WEIGHTS)
			quantize_weights(b, id, l);
		if (l && l->part == PART_TABLE)
			quantize_table(b, id, l);
		if (reads_bytes(b, id))
			read_bytes(b, id);
	}
	dynamic_end(b);
	graph_sort(m, m->main);
	module_name_values(m);
	infer_module(m, NULL);
}

struct module *plan_build(struct plan *p, const bool *on, struct layer *err)
{
	struct module *m = plan_module(p);
	struct arena a = {0};
	struct build b = {.p = p, .m = m, .err = err, .uses = uses_new(m)};

	b.layer = ARENA_ARRAY(&a, const struct layer *, m->nodes.n);
	b.bytes = ARENA_ARRAY(&a, bool, m->values.n);
	b.kin = ARENA_ARRAY(&a, val_id, m->values.n);
	b.range = ARENA_ARRAY(&a, struct range, m->values.n);
	b.read = ARENA_ARRAY(&a, val_id, m->values.n);
	b.dynamic = ARENA_ARRAY(&a, node_id, m->values.n);
	b.codes = ARENA_ARRAY(&a, val_id, m->values.n);
	b.scales = ARENA_ARRAY(&a, val_id, m->values.n);
	b.table_error = ARENA_ARRAY(&a, double, m->values.n);
	for (val_id v = 0; v < m->values.n; v++)
		b.kin[v] = v;
	for (size_t i = 0; i < p->layers.n; i++) {
		node(m, p->layers.a[i].node)->name = intern(p->layers.a[i].name);
		if (on[i])
			b.layer[p->layers.a[i].node] = &p->layers.a[i];
	}
	if (p->options.activations == ACTIVATIONS_STATIC) {
		mark(&b);
		choose_ranges(&b);
	}
	note_errors(&b);
	rewrite(&b);
	uses_free(&b.uses);
	arena_release(&a);
	return m;
}
