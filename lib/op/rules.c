/* Helpers of the shape rules. */
#include <stdarg.h>
#include <stdio.h>
#include "op/rules.h"

static const char *vwhy(struct arena *a, const char *fmt, va_list ap)
{
	char buf[512];

	vsnprintf(buf, sizeof buf, fmt, ap);
	return arena_str(a, buf);
}

const char *rule_why(struct infer *I, const char *fmt, ...)
{
	va_list ap;
	const char *s;

	va_start(ap, fmt);
	s = vwhy(&I->m->arena, fmt, ap);
	va_end(ap);
	return s;
}

const char *eval_why(struct eval *e, const char *fmt, ...)
{
	va_list ap;
	const char *s;

	va_start(ap, fmt);
	s = vwhy(e->arena, fmt, ap);
	va_end(ap);
	return s;
}

dim *rule_dims(struct infer *I, int n) { return ARENA_ARRAY(&I->m->arena, dim, n); }

void rule_out(struct infer *I, uint32_t i, enum dtype t, int rank, dim *dims)
{
	if (i >= I->n->nout)
		return;
	I->out[i] = type_none();
	I->out[i].dtype = t;
	I->out[i].rank = rank;
	I->out[i].dims = dims;
}

void rule_like(struct infer *I, uint32_t i, uint32_t j)
{
	if (rule_has(I, j)) {
		rule_out(I, i, I->in[j].dtype, I->in[j].rank, I->in[j].dims);
		if (i < I->n->nout)
			I->out[i].other = I->in[j].other;
	}
}

bool rule_axis(int64_t axis, int rank, int *out)
{
	if (axis < -(int64_t)rank || axis >= rank)
		return false;
	*out = (int)(axis < 0 ? axis + rank : axis);
	return true;
}

dim rule_fresh(struct infer *I, int64_t lo, int64_t hi)
{
	lo = lo > 0 ? lo : 0;
	hi = hi > lo ? hi : lo;
	return lo == hi ? rule_const(I, lo) : poly_of(I->m->dims, poly_var_new(I->m->dims, 0, lo, hi, 1));
}

dim rule_at_most(struct infer *I, int64_t lo, dim most)
{
	int64_t least = 0, hi = POLY_INF;

	if (most)
		poly_range(I->m->dims, most, &least, &hi);
	return rule_fresh(I, lo < least ? lo : least, hi);
}

struct known known_common(struct module *m, const struct known *a, const struct known *b)
{
	struct known k = {0};

	if (!a->yes || !b->yes || a->n != b->n)
		return k;
	poly *e = ARENA_ARRAY(&m->arena, poly, a->n);
	for (int i = 0; i < a->n; i++)
		e[i] = a->e[i] == b->e[i] ? a->e[i] : POLY_UNKNOWN;
	return (struct known){.yes = true, .n = a->n, .e = e};
}

bool known_equal(const struct known *a, const struct known *b)
{
	return a->yes == b->yes && (!a->yes || (a->n == b->n && !memcmp(a->e, b->e, sizeof *a->e * (size_t)a->n)));
}

dim rule_broadcast_dim(struct polys *P, dim a, dim b, bool *clash)
{
	int64_t ca, cb, lo, hi;
	bool ka = poly_is_const(P, a, &ca), kb = poly_is_const(P, b, &cb);

	*clash = false;
	if (a == b)
		return a;
	if (ka && ca == 1)
		return b;
	if (kb && cb == 1)
		return a;
	if (ka && kb) {
		*clash = true;
		return POLY_UNKNOWN;
	}
	if (ka || kb) /* one is constant: the other must be 1 or equal */
		return ka ? a : b;
	if (a && b && poly_min(P, a, b) == a) /* equal, or the smaller one is 1 */
		return b;
	if (a && b && poly_min(P, a, b) == b)
		return a;
	if (a) {
		poly_range(P, a, &lo, &hi);
		if (lo > 1)
			return a;
	}
	if (b) {
		poly_range(P, b, &lo, &hi);
		if (lo > 1)
			return b;
	}
	return POLY_UNKNOWN;
}

const char *rule_broadcast(struct infer *I, uint32_t first, uint32_t last, int *rank, dim **dims)
{
	*rank = 0;
	for (uint32_t i = first; i <= last; i++) {
		if (!rule_has(I, i))
			continue;
		if (I->in[i].rank == RANK_UNKNOWN) {
			*rank = RANK_UNKNOWN;
			*dims = NULL;
			return NULL;
		}
		if (I->in[i].rank > *rank)
			*rank = I->in[i].rank;
	}
	*dims = rule_dims(I, *rank);
	for (int k = 0; k < *rank; k++)
		(*dims)[k] = rule_const(I, 1);
	for (uint32_t i = first; i <= last; i++) {
		if (!rule_has(I, i))
			continue;
		int skip = *rank - I->in[i].rank;
		for (int k = 0; k < I->in[i].rank; k++) {
			bool clash;
			dim d = rule_broadcast_dim(rule_polys(I), (*dims)[skip + k], I->in[i].dims[k], &clash);
			if (clash)
				return rule_why(I, "operand %u: %s does not broadcast with %s at axis %d", i,
						type_str(I->m, &I->in[i], &I->m->arena),
						poly_str(rule_polys(I), (*dims)[skip + k], &I->m->arena), skip + k);
			(*dims)[skip + k] = d;
		}
	}
	return NULL;
}

const char *rule_into(struct infer *I, uint32_t i, int rank, const dim *dims)
{
	int r = rule_rank(I, i);
	int64_t c, d;

	if (r > rank)
		return rule_why(I, "operand %u has rank %d, broadcasts into rank %d at most", i, r, rank);
	for (int k = 0; k < r; k++)
		if (poly_is_const(rule_polys(I), rule_dim(I, i, k), &c) && c != 1 && poly_is_const(rule_polys(I), dims[rank - r + k], &d) &&
		    c != d)
			return rule_why(I, "operand %u has extent %lld at axis %d, broadcasts into %lld", i, (long long)c, k, (long long)d);
	return NULL;
}

int rule_ints(struct infer *I, uint32_t i, const int64_t **v)
{
	const struct known *k;
	int64_t *a, c;

	if (rule_rank(I, i) == 1 && poly_is_const(rule_polys(I), rule_dim(I, i, 0), &c) && c == 0) { /* none: all of them are known */
		*v = ARENA_ARRAY(&I->m->arena, int64_t, 1);
		return 0;
	}
	if (!rule_has(I, i) || !I->kin[i].yes)
		return -1;
	k = &I->kin[i];
	a = ARENA_ARRAY(&I->m->arena, int64_t, k->n);
	for (int j = 0; j < k->n; j++)
		if (!poly_is_const(rule_polys(I), k->e[j], &a[j]))
			return -1;
	*v = a;
	return k->n;
}

int64_t rule_elements(struct infer *I, uint32_t i)
{
	const struct tensor *t = node_const(I->m, I->n, i);

	if (!rule_has(I, i))
		return 0;
	return I->kin[i].yes ? I->kin[i].n : t && dtype_fixed(t->dtype) ? tensor_count(t) : 0;
}

bool rule_element(struct infer *I, uint32_t i, int64_t j, int64_t *v)
{
	if (I->kin[i].yes)
		return poly_is_const(rule_polys(I), I->kin[i].e[j], v);
	struct tensor t = *node_const(I->m, I->n, i);
	t.data = tensor_data(I->m, node_const(I->m, I->n, i));
	*v = tensor_get_int(&t, j);
	return true;
}

const char *rule_indices(struct infer *I, uint32_t i, int64_t from, int64_t step, dim extent)
{
	int64_t n = rule_elements(I, i), c, v;

	if (!poly_is_const(rule_polys(I), extent, &c))
		return NULL;
	for (; from < n; from += step)
		if (rule_element(I, i, from, &v) && (v < -c || v >= c))
			return rule_why(I, "index %lld is outside the axis of extent %lld", (long long)v, (long long)c);
	return NULL;
}

const char *rule_below(struct infer *I, uint32_t i, dim bound, const int64_t *but)
{
	int64_t n = rule_elements(I, i), c, v;

	if (!poly_is_const(rule_polys(I), bound, &c))
		return NULL;
	for (int64_t j = 0; j < n; j++)
		if (rule_element(I, i, j, &v) && (v < 0 || v >= c) && !(but && v == *but))
			return rule_why(I, "operand %u names number %lld of %lld", i, (long long)v, (long long)c);
	return NULL;
}

const char *rule_extent(struct infer *I, uint32_t i, int k, dim want)
{
	int64_t c, w;

	if (!poly_is_const(rule_polys(I), rule_dim(I, i, k), &c) || !poly_is_const(rule_polys(I), want, &w) || c == w)
		return NULL;
	return rule_why(I, "operand %u has extent %lld at axis %d, takes %lld", i, (long long)c, k, (long long)w);
}

const char *rule_inside(struct infer *I, uint32_t i, int axis)
{
	int64_t c, x;

	for (int k = 0; rule_rank(I, i) == rule_rank(I, 0) && k < rule_rank(I, 0); k++)
		if (k != axis && poly_is_const(rule_polys(I), rule_dim(I, i, k), &c) &&
		    poly_is_const(rule_polys(I), rule_dim(I, 0, k), &x) && c > x)
			return rule_why(I, "operand %u has extent %lld at axis %d, operand 0 %lld", i, (long long)c, k, (long long)x);
	return NULL;
}

poly *rule_known(struct infer *I, uint32_t i, int n)
{
	poly *e;

	if (i >= I->n->nout || n < 0 || n > KNOWN_MAX)
		return NULL;
	e = ARENA_ARRAY(&I->m->arena, poly, n);
	I->kout[i] = (struct known){.yes = true, .n = n, .e = e};
	return e;
}

poly rule_fits(struct polys *P, enum dtype t, poly e)
{
	bool real = dtype_is_float(t) || dtype_is_float8(t);
	int64_t exact = t == DT_F4E2M1       ? 1 << 2
			: dtype_is_float8(t) ? 1 << 3
			: t == DT_BF16       ? 1 << 8
			: t == DT_F16        ? 1 << 11
			: t == DT_F32        ? 1 << 24
					     : INT64_C(1) << 53;
	bool whole = dtype_is_int(t);
	int64_t lo, hi;

	if (!e || !(whole || real))
		return e;
	if (t == DT_F8E8M0)
		return POLY_UNKNOWN;
	poly_range(P, e, &lo, &hi);
	if (poly_is_const(P, e, NULL))
		return lo >= (whole ? dtype_lowest(t) : -exact) && hi <= (whole ? dtype_highest(t) : exact) ? e : POLY_UNKNOWN;
	/* An extent of unknown size is taken to fit into types of 32 bits and more, if its sign does. */
	return dtype_size(t) < 4 || (!dtype_is_signed(t) && lo < 0) ? POLY_UNKNOWN : e;
}

dim rule_product(struct infer *I, const dim *d, int a, int b)
{
	dim p = rule_const(I, 1);

	for (; a < b; a++)
		p = poly_mul(rule_polys(I), p, d[a]);
	return p;
}

const char *shape_same(struct infer *I)
{
	rule_like(I, 0, 0);
	return NULL;
}

const char *shape_broadcast(struct infer *I)
{
	int rank;
	dim *dims;
	const char *why = rule_broadcast(I, 0, I->n->nin - 1, &rank, &dims);

	if (why)
		return why;
	for (uint32_t i = 1; i < I->n->nin; i++)
		if (rule_has(I, i) && I->in[i].dtype && I->in[0].dtype && I->in[i].dtype != I->in[0].dtype)
			return rule_why(I, "operand %u is %s, operand 0 is %s", i, dtype_name(I->in[i].dtype), dtype_name(I->in[0].dtype));
	rule_out(I, 0, I->in[0].dtype ? I->in[0].dtype : I->n->nin > 1 ? I->in[1].dtype : DT_NONE, rank, dims);
	return NULL;
}

/* ---- windows ---- */

const char *window_read(struct module *m, const struct node *n, int spatial, const int64_t *kernel, struct window *w)
{
	int c;
	const int64_t *v;
	const char *pad = attr_s(n, "auto_pad");

	memset(w, 0, sizeof *w);
	w->n = spatial;
	if (spatial < 0 || spatial > SPATIAL_MAX)
		return arena_printf(&m->arena, "%d spatial axes, at most %d are supported", spatial, SPATIAL_MAX);
	v = attr_ints(n, "kernel_shape", &c);
	if (v && c != spatial)
		return arena_printf(&m->arena, "kernel_shape has %d elements for %d spatial axes", c, spatial);
	for (int i = 0; i < spatial; i++) {
		w->size[i] = v ? v[i] : kernel ? kernel[i] : 1;
		if (v && kernel && v[i] != kernel[i])
			return arena_printf(&m->arena, "kernel_shape says %lld, the weights %lld at spatial axis %d", (long long)v[i],
					    (long long)kernel[i], i);
		if (w->size[i] < 1)
			return "kernel extent below 1";
		w->stride[i] = w->dilation[i] = 1;
	}
	v = attr_ints(n, "strides", &c);
	for (int i = 0; v && i < spatial; i++)
		if (c != spatial || (w->stride[i] = v[i]) < 1)
			return "bad strides";
	v = attr_ints(n, "dilations", &c);
	for (int i = 0; v && i < spatial; i++)
		if (c != spatial || (w->dilation[i] = v[i]) < 1)
			return "bad dilations";
	v = attr_ints(n, "pads", &c);
	for (int i = 0; v && i < spatial; i++) {
		if (c != 2 * spatial)
			return arena_printf(&m->arena, "pads has %d elements for %d spatial axes", c, spatial);
		w->begin[i] = v[i];
		w->end[i] = v[spatial + i];
	}
	w->auto_pad = !strcmp(pad, "SAME_UPPER") ? 'U' : !strcmp(pad, "SAME_LOWER") ? 'L' : !strcmp(pad, "VALID") ? 'V' : 'E';
	if (w->auto_pad == 'E' && *pad && strcmp(pad, "NOTSET"))
		return arena_printf(&m->arena, "unknown auto_pad \"%s\"", pad);
	if (w->auto_pad == 'V')
		memset(w->begin, 0, sizeof w->begin), memset(w->end, 0, sizeof w->end);
	w->ceil_mode = attr_i(n, "ceil_mode") != 0;
	return NULL;
}

uint32_t window_weights(enum opcode op)
{
	return op == OP_QLinearConv ? 3 : op == OP_Conv || op == OP_ConvInteger || op == OP_ConvTranspose || op == OP_DeformConv ? 1 : 0;
}

int64_t window_extent(struct window *w, int i, int64_t in)
{
	int64_t span = (w->size[i] - 1) * w->dilation[i] + 1, room, out;

	if (w->auto_pad == 'U' || w->auto_pad == 'L') {
		int64_t pad;
		out = (in + w->stride[i] - 1) / w->stride[i];
		pad = (out - 1) * w->stride[i] + span - in;
		if (pad < 0)
			pad = 0;
		w->begin[i] = w->auto_pad == 'U' ? pad / 2 : pad - pad / 2;
		w->end[i] = pad - w->begin[i];
		return out;
	}
	room = in + w->begin[i] + w->end[i] - span;
	if (room < 0) /* one window that begins before the end padding, and goes beyond it */
		return w->ceil_mode && room > -w->stride[i] && in + w->begin[i] > 0;
	out = room / w->stride[i] + 1;
	/* Opset 19: a window that would start in the end padding is left out. */
	if (w->ceil_mode && room % w->stride[i] && out * w->stride[i] < in + w->begin[i])
		out++;
	return out;
}

dim window_extent_dim(struct infer *I, const struct window *w, int i, dim in)
{
	struct polys *P = rule_polys(I);
	struct window copy = *w;
	int64_t span = (w->size[i] - 1) * w->dilation[i] + 1, c, lo, hi;
	dim room, out;

	if (poly_is_const(P, in, &c))
		return rule_const(I, window_extent(&copy, i, c));
	if (!in)
		return POLY_UNKNOWN;
	if (w->auto_pad == 'U' || w->auto_pad == 'L')
		return poly_ceildiv(P, in, w->stride[i]);
	room = poly_addc(P, in, w->begin[i] + w->end[i] - span);
	out = poly_addc(P, poly_floordiv(P, room, w->stride[i]), 1);
	if (w->ceil_mode) {
		poly_range(P, poly_mod(P, room, w->stride[i]), &lo, &hi);
		if (lo != 0 || hi != 0) /* one more window, if it starts before the end padding */
			out = poly_min(P, poly_addc(P, poly_ceildiv(P, room, w->stride[i]), 1),
				       poly_ceildiv(P, poly_addc(P, in, w->begin[i]), w->stride[i]));
	}
	return out;
}

bool rule_one_for_each(struct infer *I, uint32_t i, dim n)
{
	int64_t count = 1, c, each;

	if (i >= I->n->nin || I->in[i].rank == RANK_UNKNOWN)
		return true;
	for (int k = 0; k < I->in[i].rank; k++, count *= c)
		if (!poly_is_const(rule_polys(I), I->in[i].dims[k], &c))
			return true;
	return count == 1 || !poly_is_const(rule_polys(I), n, &each) || count == each;
}

const char *type_impossible(struct module *m, const char *what, uint32_t i, const struct type *t)
{
	static const double elements_max = 0x1p56; /* their bytes can still be counted */
	struct arena *a = &m->arena;
	int64_t c;
	double count = 1;

	if (t->rank > RANK_MAX)
		return arena_printf(a, "%s %u has rank %d, at most %d is supported", what, i, t->rank, RANK_MAX);
	for (int k = 0; k < t->rank; k++) {
		bool known = poly_is_const(m->dims, t->dims[k], &c);
		if (known && (c < 0 || (double)c > elements_max))
			return arena_printf(a, "%s %u has extent %lld at axis %d", what, i, (long long)c, k);
		count *= known ? (double)c : 0;
	}
	return count <= elements_max ? NULL
				     : arena_printf(a, "%s %u has %.0f elements, at most %.0f are supported", what, i, count, elements_max);
}
