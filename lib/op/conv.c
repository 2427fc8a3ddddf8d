/* Convolutions as matrix products: weights times the image laid out as columns, a block of output
 * pixels at a time (never the whole im2col matrix). One routine for Conv, ConvTranspose and the
 * quantised ones. */
#include <math.h>
#include "op/rules.h"

/* ---- shapes ---- */

/* Which operand holds the weights, by operator. */
static uint32_t weights_at(enum opcode op) { return op == OP_QLinearConv ? 3 : 1; }

static const char *conv_window(struct infer *I, int rank, struct window *w)
{
	uint32_t iw = weights_at(I->n->op);
	int64_t kernel[SPATIAL_MAX] = {0};
	bool have = rule_rank(I, iw) == rank;

	if (rank < 3 || rank - 2 > SPATIAL_MAX)
		return rule_why(I, "an image of rank %d; 3 to %d are supported", rank, 2 + SPATIAL_MAX);
	for (int i = 0; have && i < rank - 2; i++)
		have = poly_is_const(rule_polys(I), rule_dim(I, iw, 2 + i), &kernel[i]);
	if (!have && !attr_find(I->n, "kernel_shape"))
		return "";
	return window_read(I->m, I->n, rank - 2, have ? kernel : NULL, w);
}

static const char *shape_conv(struct infer *I)
{
	int rank = rule_rank(I, 0);
	uint32_t iw = weights_at(I->n->op);
	int64_t group = attr_i(I->n, "group"), cx, cw, oc;
	enum dtype t = I->n->op == OP_Conv ? I->in[0].dtype : I->n->op == OP_ConvInteger ? DT_I32 : I->in[7].dtype;
	struct window w;
	const char *why;

	if (rank == RANK_UNKNOWN && rule_rank(I, iw) != RANK_UNKNOWN)
		rank = rule_rank(I, iw);
	rule_out(I, 0, t, rank, rank < 0 ? NULL : rule_dims(I, rank));
	if (rule_rank(I, 0) == RANK_UNKNOWN)
		return NULL;
	if (rule_rank(I, iw) >= 0 && rule_rank(I, iw) != rank)
		return rule_why(I, "image of rank %d, weights of rank %d", rank, rule_rank(I, iw));
	if ((why = conv_window(I, rank, &w)))
		return *why ? why : NULL;
	dim *d = rule_dims(I, rank);
	d[0] = rule_dim(I, 0, 0);
	if (rule_rank(I, iw) == rank) {
		d[1] = rule_dim(I, iw, 0);
		if (poly_is_const(rule_polys(I), rule_dim(I, 0, 1), &cx) && poly_is_const(rule_polys(I), rule_dim(I, iw, 1), &cw) &&
		    cx != cw * group)
			return rule_why(I, "%lld channels, the weights take %lld in %lld groups", (long long)cx, (long long)cw,
					(long long)group);
		if (poly_is_const(rule_polys(I), d[1], &oc) && (group < 1 || oc % group))
			return rule_why(I, "%lld outputs do not divide into %lld groups", (long long)oc, (long long)group);
		if (I->n->op == OP_ConvInteger && !rule_one_for_each(I, 3, d[1]))
			return "operand 3, a zero point, does not fit";
	}
	for (int i = 0; i < w.n; i++)
		d[2 + i] = window_extent_dim(I, &w, i, rule_dim(I, 0, 2 + i));
	rule_out(I, 0, t, rank, d);
	return NULL;
}

/* Extent of a transposed convolution; sets the pads of w. */
static int64_t transpose_extent(const struct node *n, struct window *w, int i, int64_t in)
{
	int c, c2;
	const int64_t *op = attr_ints(n, "output_padding", &c), *os = attr_ints(n, "output_shape", &c2);
	int64_t full = w->stride[i] * (in - 1) + (op && i < c ? op[i] : 0) + (w->size[i] - 1) * w->dilation[i] + 1;
	int64_t out = full - w->begin[i] - w->end[i], total;

	if (os && c2 >= w->n)
		out = os[c2 - w->n + i];
	else if (w->auto_pad == 'U' || w->auto_pad == 'L')
		out = in * w->stride[i];
	else
		return out;
	total = full - out > 0 ? full - out : 0;
	w->begin[i] = w->auto_pad == 'U' ? total / 2 : total - total / 2;
	w->end[i] = total - w->begin[i];
	return out;
}

static const char *shape_transpose(struct infer *I)
{
	int rank = rule_rank(I, 0);
	struct polys *P = rule_polys(I);
	struct window w;
	const char *why;
	int c;

	rule_out(I, 0, I->in[0].dtype, rank, rank < 0 ? NULL : rule_dims(I, rank));
	if (rank == RANK_UNKNOWN)
		return NULL;
	if ((why = conv_window(I, rank, &w)))
		return *why ? why : NULL;
	const int64_t *extra = attr_ints(I->n, "output_padding", &c);
	for (int i = 0; extra && i < w.n && i < c; i++)
		if (extra[i] >= w.stride[i] && extra[i] >= w.dilation[i])
			return rule_why(I, "output_padding %lld at spatial axis %d is not less than stride or dilation",
					(long long)extra[i], i);
	dim *d = rule_dims(I, rank);
	d[0] = rule_dim(I, 0, 0);
	int64_t group = attr_i(I->n, "group"), channels;
	if (poly_is_const(P, rule_dim(I, 0, 1), &channels) && (group < 1 || channels % group))
		return rule_why(I, "%lld channels do not divide into %lld groups", (long long)channels, (long long)group);
	if (rule_rank(I, 1) == rank)
		d[1] = poly_mulc(P, rule_dim(I, 1, 1), group);
	for (int i = 0; i < w.n; i++) {
		dim in = rule_dim(I, 0, 2 + i);
		int64_t v;
		if (poly_is_const(P, in, &v)) {
			d[2 + i] = rule_const(I, transpose_extent(I->n, &w, i, v));
		} else if (attr_ints(I->n, "output_shape", &c)) {
			d[2 + i] = rule_const(I, transpose_extent(I->n, &w, i, 1));
		} else if (w.auto_pad == 'U' || w.auto_pad == 'L') {
			d[2 + i] = poly_mulc(P, in, w.stride[i]);
		} else { /* linear in the extent: the value at 1, plus stride for each further one */
			d[2 + i] = poly_addc(P, poly_mulc(P, poly_addc(P, in, -1), w.stride[i]), transpose_extent(I->n, &w, i, 1));
		}
	}
	rule_out(I, 0, I->in[0].dtype, rank, d);
	return NULL;
}

/* ---- evaluation ---- */

struct conv {
	const struct tensor *x, *w, *bias, *xzero, *wzero;
	const struct tensor *sx, *sw, *sy, *yzero; /* QLinearConv */
	struct tensor *y;
	bool transposed;
	int64_t batch, C, OC, group, Cg, OCg;
	int64_t in[SPATIAL_MAX], out[SPATIAL_MAX]; /* with ones in front, if there are fewer axes */
	struct window win;                         /* of SPATIAL_MAX axes */
	int64_t plane, oplane, taps;
	int64_t n, g;  /* image and group being computed */
	double *image; /* the channels of the group, as doubles */
};

static void pack_weights(void *arg, int64_t i0, int rows, double *a)
{
	const struct conv *c = arg;
	int64_t K = c->Cg * c->taps;
	double v[BLOCK];

	memset(a, 0, sizeof *a * (size_t)(K * GEMM_MR));
	for (int r = 0; r < rows; r++) {
		int64_t oc = c->g * c->OCg + i0 + r;
		double z = c->wzero ? tensor_get(c->wzero, tensor_count(c->wzero) == 1 ? 0 : oc) : 0;
		/* length of contiguous runs: the whole row, or the taps of one channel */
		int64_t run = c->transposed ? c->taps : K;
		for (int64_t k0 = 0; k0 < K; k0 += run) {
			int64_t off = c->transposed ? ((c->g * c->Cg + k0 / c->taps) * c->OCg + i0 + r) * c->taps : oc * K;
			for (int64_t k = 0; k < run; k += BLOCK) {
				int m = run - k < BLOCK ? (int)(run - k) : BLOCK;
				load_d(c->w, off + k, 1, m, v);
				for (int q = 0; q < m; q++)
					a[(k0 + k + q) * GEMM_MR + r] = v[q] - z;
			}
		}
	}
}

/* The offset in a plane that tap (k0, k1, k2) of output pixel o reads; -1: padding. */
static int64_t tap_offset(const struct conv *c, const int64_t *o, const int64_t *k)
{
	int64_t off = 0;

	for (int i = 0; i < SPATIAL_MAX; i++) {
		int64_t at;
		if (c->transposed) {
			at = o[i] + c->win.begin[i] - k[i] * c->win.dilation[i];
			if (at < 0 || at % c->win.stride[i])
				return -1;
			at /= c->win.stride[i];
		} else {
			at = o[i] * c->win.stride[i] - c->win.begin[i] + k[i] * c->win.dilation[i];
		}
		if (at < 0 || at >= c->in[i])
			return -1;
		off = off * c->in[i] + at;
	}
	return off;
}

/* What a panel of pixels reads by one tap, of each channel. */
static void pack_panel(const struct conv *c, const int64_t *off, double *to)
{
	bool row = off[0] >= 0;

	for (int q = 1; q < GEMM_NR; q++)
		row &= off[q] == off[0] + q;
	for (int64_t ch = 0; ch < c->Cg; ch++, to += c->taps * GEMM_NR) {
		const double *p = c->image + ch * c->plane;
		if (row)
			memcpy(to, p + off[0], GEMM_NR * sizeof *to);
		else
			for (int q = 0; q < GEMM_NR; q++)
				to[q] = off[q] < 0 ? 0 : p[off[q]];
	}
}

static void pack_pixels(void *arg, int64_t j0, int cols, double *b)
{
	const struct conv *c = arg;
	int64_t K = c->Cg * c->taps, o[GEMM_NC][SPATIAL_MAX], off[GEMM_NC], tap = 0;
	int padded = (cols + GEMM_NR - 1) / GEMM_NR * GEMM_NR;

	for (int j = 0; j < cols; j++) {
		o[j][2] = (j0 + j) % c->out[2];
		o[j][1] = (j0 + j) / c->out[2] % c->out[1];
		o[j][0] = (j0 + j) / c->out[2] / c->out[1];
	}
	for (int j = 0; j < padded; j++)
		off[j] = -1;
	for (int64_t k0 = 0; k0 < c->win.size[0]; k0++)
		for (int64_t k1 = 0; k1 < c->win.size[1]; k1++)
			for (int64_t k2 = 0; k2 < c->win.size[2]; k2++, tap++) {
				for (int j = 0; j < cols; j++)
					off[j] = tap_offset(c, o[j], (int64_t[]){k0, k1, k2});
				for (int j = 0; j < padded; j += GEMM_NR)
					pack_panel(c, off + j, b + j * K + tap * GEMM_NR);
			}
}

static void store_pixels(void *arg, int64_t i, int64_t j0, int cols, const double *v)
{
	const struct conv *c = arg;
	int64_t oc = c->g * c->OCg + i;
	double o[GEMM_NC], bias = c->bias ? tensor_get(c->bias, oc) : 0;

	for (int j = 0; j < cols; j++)
		o[j] = v[j] + bias;
	if (c->sy) {
		double s = tensor_get(c->sx, 0) * tensor_get(c->sw, tensor_count(c->sw) == 1 ? 0 : oc) / tensor_get(c->sy, 0);
		for (int j = 0; j < cols; j++)
			o[j] = rint(o[j] * s) + tensor_get(c->yzero, 0);
	}
	store_d(c->y, (c->n * c->OC + oc) * c->oplane + j0, cols, o);
}

static void load_image(struct conv *c)
{
	int64_t total = c->Cg * c->plane, off = (c->n * c->C + c->g * c->Cg) * c->plane;
	double z = c->xzero ? tensor_get(c->xzero, 0) : 0;

	for (int64_t i = 0; i < total; i += BLOCK)
		load_d(c->x, off + i, 1, total - i < BLOCK ? (int)(total - i) : BLOCK, c->image + i);
	for (int64_t i = 0; z && i < total; i++)
		c->image[i] -= z;
}

static const char *conv_run(struct eval *e, struct conv *c, enum dtype t)
{
	int rank = c->x->rank, spatial = rank - 2, lead = SPATIAL_MAX - spatial;
	int64_t dims[2 + SPATIAL_MAX];
	struct window w;
	const char *why;

	if (spatial < 1 || lead < 0 || c->w->rank != rank)
		return eval_why(e, "image of rank %d, weights of rank %d", rank, c->w->rank);
	if ((why = window_read(e->m, e->n, spatial, c->w->dims + 2, &w)))
		return why;
	c->group = attr_i(e->n, "group");
	c->batch = c->x->dims[0];
	c->C = c->x->dims[1];
	c->OC = c->transposed ? c->w->dims[1] * c->group : c->w->dims[0];
	if (c->group < 1 || c->C % c->group || c->OC % c->group ||
	    (c->transposed ? c->w->dims[0] != c->C : c->w->dims[1] * c->group != c->C))
		return eval_why(e, "%lld channels do not fit the weights", (long long)c->C);
	if (c->bias && tensor_count(c->bias) != c->OC)
		return eval_why(e, "the bias does not fit %lld outputs", (long long)c->OC);
	if (!one_for_each(c->sx, 1) || !one_for_each(c->xzero, 1) || !one_for_each(c->sy, 1) || !one_for_each(c->yzero, 1) ||
	    !one_for_each(c->sw, c->OC) || !one_for_each(c->wzero, c->OC))
		return "a scale or zero point does not fit";
	c->Cg = c->C / c->group;
	c->OCg = c->OC / c->group;
	dims[0] = c->batch;
	dims[1] = c->OC;
	c->plane = c->oplane = c->taps = 1;
	c->win = (struct window){.n = SPATIAL_MAX};
	for (int i = 0; i < SPATIAL_MAX; i++)
		c->in[i] = c->out[i] = c->win.size[i] = c->win.stride[i] = c->win.dilation[i] = 1;
	for (int i = 0; i < spatial; i++) {
		int64_t in = c->x->dims[2 + i];
		int64_t out = c->transposed ? transpose_extent(e->n, &w, i, in) : window_extent(&w, i, in);
		if (out < 0)
			return "negative output extent";
		c->in[lead + i] = in;
		dims[2 + i] = c->out[lead + i] = out;
		c->win.size[lead + i] = w.size[i];
		c->win.stride[lead + i] = w.stride[i];
		c->win.dilation[lead + i] = w.dilation[i];
		c->win.begin[lead + i] = w.begin[i];
		c->plane *= in;
		c->oplane *= out;
		c->taps *= w.size[i];
	}
	c->y = eval_out(e, 0, t, rank, dims);
	c->image = eval_scratch(e, sizeof(double) * (size_t)(c->Cg * c->plane));
	for (c->n = 0; c->n < c->batch; c->n++)
		for (c->g = 0; c->g < c->group; c->g++) {
			load_image(c);
			gemm_run(&(struct gemm){.M = c->OCg,
						.N = c->oplane,
						.K = c->Cg * c->taps,
						.a = pack_weights,
						.b = pack_pixels,
						.store = store_pixels,
						.arg = c,
						.exact = gemm_exact(c->x, c->w)});
		}
	return NULL;
}

static const char *eval_conv(struct eval *e)
{
	struct conv c = {.x = e->in[0], .w = e->in[1], .bias = eval_in(e, 2), .transposed = e->n->op == OP_ConvTranspose};
	return conv_run(e, &c, e->in[0]->dtype);
}

static const char *eval_conv_integer(struct eval *e)
{
	struct conv c = {.x = e->in[0], .w = e->in[1], .xzero = eval_in(e, 2), .wzero = eval_in(e, 3)};
	return conv_run(e, &c, DT_I32);
}

static const char *eval_qlinear_conv(struct eval *e)
{
	struct conv c = {.x = e->in[0],
			 .sx = e->in[1],
			 .xzero = e->in[2],
			 .w = e->in[3],
			 .sw = e->in[4],
			 .wzero = e->in[5],
			 .sy = e->in[6],
			 .yzero = e->in[7],
			 .bias = eval_in(e, 8)};
	return conv_run(e, &c, e->in[7]->dtype);
}

static double flops_conv(struct module *m, const struct node *n)
{
	bool transposed = n->op == OP_ConvTranspose;
	const struct type *w = &val(m, n->in[weights_at(n->op)])->type;
	int64_t pixels = type_count(m, &val(m, transposed ? n->in[0] : n->out[0])->type), wc = type_count(m, w), per;

	if (pixels < 0 || wc < 0 || w->rank < 3 || !poly_is_const(m->dims, w->dims[0], &per) || per == 0)
		return 0;
	return 2.0 * (double)pixels * (double)(wc / per);
}

const struct op ops_conv[] = {
	{OP_Conv, shape_conv, eval_conv, flops_conv},
	{OP_ConvInteger, shape_conv, eval_conv_integer, flops_conv},
	{OP_QLinearConv, shape_conv, eval_qlinear_conv, flops_conv},
	{OP_ConvTranspose, shape_transpose, eval_conv, flops_conv},
	{0},
};
