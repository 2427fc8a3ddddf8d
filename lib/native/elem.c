/* Elementwise operators, of every type and any sizes: one function of doubles, one of 64-bit integers where they have a meaning. */
#include "native/native.h"
#include "native/pairs.h"

enum { ELEM_BLOCK = 256 };

/* An operator of one operand or two. p: values of its attributes; without any, of two operands whether each is u64. */
struct elem_row {
	void (*d1)(double *v, int n, const double *p);
	void (*i1)(int64_t *v, int n, const double *p);
	void (*d2)(double *a, const double *b, int n, const double *p); /* into a */
	void (*i2)(int64_t *a, const int64_t *b, int n, const double *p);
	void (*u1)(uint64_t *v, int n, const double *p);                    /* where unsigned integers of 64 bits differ */
	void (*u2)(uint64_t *a, const uint64_t *b, int n, const double *p); /* the same: by the type of the first */
	bool to_bool;                                                       /* the result is bool */
	struct {
		const char *name;
		const char *one; /* a string attribute: 1 if it has this value, else 0 */
	} attr[2];
};

/* ---- functions of one operand ---- */

#define ELEM_F1(kind, T, name, ...) \
	static void elem_##kind##_##name(T *v, int n, const double *p) \
	{ \
		for (int i = 0; i < n; i++) { \
			T x = v[i]; \
			v[i] = (T)(__VA_ARGS__); \
		} \
	}
#define ELEM_D1(name, ...) ELEM_F1(d1, double, name, __VA_ARGS__)
#define ELEM_I1(name, ...) ELEM_F1(i1, int64_t, name, __VA_ARGS__)
#define ELEM_U1(name, ...) ELEM_F1(u1, uint64_t, name, __VA_ARGS__)

static double elem_erf_gelu(double x) { return 0.5 * x * (1 + erf(x * M_SQRT1_2)); }
static double elem_tanh_gelu(double x) { return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))); }
static double elem_sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double elem_softplus(double x) { return x > 30 ? x + log1p(exp(-x)) : log1p(exp(x)); }
static double elem_clamp01(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
static double elem_shrink(double x, const double *p) { return x < -p[1] ? x + p[0] : x > p[1] ? x - p[0] : 0; }
static int64_t elem_wrap_neg(int64_t x) { return (int64_t) - (uint64_t)x; }

/* clang-format off */
ELEM_D1(Abs, fabs(x)) ELEM_I1(Abs, x < 0 ? elem_wrap_neg(x) : x) ELEM_U1(Abs, x)
ELEM_D1(Acos, acos(x)) ELEM_D1(Acosh, acosh(x)) ELEM_D1(Asin, asin(x)) ELEM_D1(Asinh, asinh(x)) ELEM_D1(Atan, atan(x)) ELEM_D1(Atanh, atanh(x))
ELEM_D1(Ceil, ceil(x))
ELEM_D1(Celu, x > 0 ? x : p[0] * expm1(x / p[0]))
ELEM_D1(Cos, cos(x)) ELEM_D1(Cosh, cosh(x))
ELEM_D1(Elu, x > 0 ? x : p[0] * expm1(x))
ELEM_D1(Erf, erf(x)) ELEM_D1(Exp, exp(x)) ELEM_D1(Floor, floor(x))
ELEM_D1(Gelu, p[0] ? elem_tanh_gelu(x) : elem_erf_gelu(x))
ELEM_D1(HardSigmoid, elem_clamp01(p[0] * x + p[1]))
ELEM_D1(HardSwish, x * elem_clamp01(x / 6 + 0.5))
ELEM_D1(IsInf, (x == INFINITY && p[1]) || (x == -INFINITY && p[0]))
ELEM_D1(IsNaN, x != x)
ELEM_D1(LeakyRelu, x < 0 ? p[0] * x : x)
ELEM_D1(Log, log(x))
ELEM_D1(Mish, x * tanh(elem_softplus(x)))
ELEM_D1(Neg, -x) ELEM_I1(Neg, elem_wrap_neg(x))
ELEM_D1(Not, !x) ELEM_I1(Not, !x)
ELEM_I1(BitwiseNot, ~x)
ELEM_D1(Reciprocal, 1 / x)
ELEM_D1(Relu, x < 0 ? 0 : x) ELEM_I1(Relu, x < 0 ? 0 : x) ELEM_U1(Relu, x)
ELEM_D1(Round, rint(x))
ELEM_D1(Selu, x > 0 ? p[1] * x : p[1] * p[0] * expm1(x))
ELEM_D1(Shrink, elem_shrink(x, p))
ELEM_D1(Sigmoid, elem_sigmoid(x))
ELEM_D1(Sign, x != x ? x : (x > 0) - (x < 0)) ELEM_I1(Sign, (x > 0) - (x < 0)) ELEM_U1(Sign, x > 0)
ELEM_D1(Sin, sin(x)) ELEM_D1(Sinh, sinh(x))
ELEM_D1(Softplus, elem_softplus(x))
ELEM_D1(Softsign, x / (1 + fabs(x)))
ELEM_D1(Sqrt, sqrt(x))
ELEM_D1(Swish, x * elem_sigmoid(p[0] * x))
ELEM_D1(Tan, tan(x)) ELEM_D1(Tanh, tanh(x))
ELEM_D1(ThresholdedRelu, x > p[0] ? x : 0)
/* clang-format on */

/* ---- functions of two operands ---- */

#define ELEM_F2(kind, T, name, ...) \
	static void elem_##kind##_##name(T *a, const T *b, int n, const double *p) \
	{ \
		for (int i = 0; i < n; i++) { \
			T x = a[i], y = b[i]; \
			a[i] = (T)(__VA_ARGS__); \
		} \
	}
#define ELEM_D2(name, ...) ELEM_F2(d2, double, name, __VA_ARGS__)
#define ELEM_I2(name, ...) ELEM_F2(i2, int64_t, name, __VA_ARGS__)
#define ELEM_U2(name, ...) ELEM_F2(u2, uint64_t, name, __VA_ARGS__)

													static double elem_max_nan(double x,
																   double y)
{
	return x != x || x > y ? x : y != y || y >= x ? y : x;
}
static double elem_min_nan(double x, double y) { return x != x || x < y ? x : y; }
static double elem_py_fmod(double x, double y)
{
	double r = fmod(x, y);
	return r == 0 ? copysign(0, y) : (r < 0) != (y < 0) ? r + y : r;
}
static int64_t elem_int_div(int64_t x, int64_t y) { return y == 0 ? 0 : y == -1 ? elem_wrap_neg(x) : x / y; }
static int64_t elem_int_rem(int64_t x, int64_t y) { return y == 0 || y == -1 ? 0 : x % y; }
static int64_t elem_py_mod(int64_t x, int64_t y)
{
	int64_t r = elem_int_rem(x, y);
	return r && (r < 0) != (y < 0) ? r + y : r;
}
/* p: are base and exponent unsigned? */
static int64_t elem_int_pow(int64_t x, int64_t y, const double *p)
{
	uint64_t r = 1, b = (uint64_t)x, n = (uint64_t)y;

	if (y < 0 && !p[1])
		return x == 1 ? 1 : x == -1 && !p[0] ? (y & 1 ? -1 : 1) : 0;
	for (; n; n >>= 1, b *= b)
		if (n & 1)
			r *= b;
	return (int64_t)r;
}

/* clang-format off */
ELEM_D2(Add, x + y) ELEM_I2(Add, (uint64_t)x + (uint64_t)y)
ELEM_D2(Sub, x - y) ELEM_I2(Sub, (uint64_t)x - (uint64_t)y)
ELEM_D2(Mul, x * y) ELEM_I2(Mul, (uint64_t)x * (uint64_t)y)
ELEM_D2(Div, x / y) ELEM_I2(Div, elem_int_div(x, y)) ELEM_U2(Div, y ? x / y : 0)
ELEM_D2(Max, elem_max_nan(x, y)) ELEM_I2(Max, x > y ? x : y) ELEM_U2(Max, x > y ? x : y)
ELEM_D2(Min, elem_min_nan(x, y)) ELEM_I2(Min, x < y ? x : y) ELEM_U2(Min, x < y ? x : y)
ELEM_D2(Mod, p[0] ? fmod(x, y) : elem_py_fmod(x, y)) ELEM_I2(Mod, p[0] ? elem_int_rem(x, y) : elem_py_mod(x, y)) ELEM_U2(Mod, y ? x % y : 0)
ELEM_D2(Pow, pow(x, y)) ELEM_I2(Pow, elem_int_pow(x, y, p))
ELEM_D2(PRelu, x < 0 ? x * y : x) ELEM_I2(PRelu, x < 0 ? (uint64_t)x * (uint64_t)y : (uint64_t)x) ELEM_U2(PRelu, (void)y, x)
ELEM_D2(Equal, x == y) ELEM_I2(Equal, x == y)
ELEM_D2(Less, x < y) ELEM_I2(Less, x < y) ELEM_U2(Less, x < y)
ELEM_D2(LessOrEqual, x <= y) ELEM_I2(LessOrEqual, x <= y) ELEM_U2(LessOrEqual, x <= y)
ELEM_D2(Greater, x > y) ELEM_I2(Greater, x > y) ELEM_U2(Greater, x > y)
ELEM_D2(GreaterOrEqual, x >= y) ELEM_I2(GreaterOrEqual, x >= y) ELEM_U2(GreaterOrEqual, x >= y)
ELEM_I2(And, x && y) ELEM_I2(Or, x || y) ELEM_I2(Xor, !x != !y)
ELEM_I2(BitwiseAnd, x & y) ELEM_I2(BitwiseOr, x | y) ELEM_I2(BitwiseXor, x ^ y)
ELEM_I2(BitShift, p[0] ? (int64_t)((uint64_t)y > 63 ? 0 : (uint64_t)x << y) : x >> ((uint64_t)y > 63 ? 63 : y))
ELEM_U2(BitShift, y > 63 ? 0 : p[0] ? x << y : x >> y)
ELEM_D2(SwiGLU, x * elem_sigmoid(p[0] * x) * y)
/* clang-format on */

/* ---- elements ---- */

/* f(NATIVE_ type, C type) */
#define ELEM_TYPES(f) \
	f(F32, float) f(F64, double) f(U8, uint8_t) f(I8, int8_t) f(U16, uint16_t) f(I16, int16_t) f(U32, uint32_t) f(I32, int32_t) \
		f(U64, uint64_t) f(I64, int64_t)

#define ELEM_LOAD(id, T) \
	case NATIVE_##id: \
		for (int i = 0; i < n; i++) \
			v[i] = (ELEM_AS)((const T *)p)[at + i * step]; \
		return;

	/* n elements from at on, each step. */
	static void elem_load(int type, const void *p, int64_t at, int64_t step, int n, double *v)
{
	switch (type) {
#define ELEM_AS double
		ELEM_TYPES(ELEM_LOAD)
#undef ELEM_AS
	default:
		for (int i = 0; i < n; i++)
			v[i] = native_get(type, p, at + i * step);
	}
}

static void elem_load_ints(int type, const void *p, int64_t at, int64_t step, int n, int64_t *v)
{
	switch (type) {
#define ELEM_AS int64_t
		ELEM_TYPES(ELEM_LOAD)
#undef ELEM_AS
	default:
		for (int i = 0; i < n; i++)
			v[i] = native_get_int(type, p, at + i * step);
	}
}

static void elem_store_ints(int type, void *p, int64_t at, int n, const int64_t *v)
{
	if (type == NATIVE_I64)
		memcpy((int64_t *)p + at, v, (size_t)n * sizeof *v);
	else
		for (int i = 0; i < n; i++)
			native_set_int(type, p, at + i, v[i]);
}

static bool elem_has(int type)
{
	return native_is_number(type) || native_is_small(type) || type == NATIVE_BOOL || type == NATIVE_U4 || type == NATIVE_I4 ||
	       type == NATIVE_U2 || type == NATIVE_I2;
}

/* Its elements are real numbers, not integers. */
static bool elem_is_real(int type) { return native_is_float(type) || native_is_small(type); }

static void elem_attrs(const struct native *n, const struct elem_row *f, double *p)
{
	for (int i = 0; i < 2; i++) {
		const struct native_attr *a = f->attr[i].name ? native_attr(n, f->attr[i].name) : NULL;
		p[i] = !a ? 0 : f->attr[i].one ? !strcmp(a->s ? a->s : "", f->attr[i].one) : a->f + (double)a->i;
	}
}

/* ---- one operand ---- */

static const char *elem_one(struct native *n, const struct elem_row *f)
{
	const struct native_tensor *x = &n->in[0];
	bool whole = f->i1 && !elem_is_real(x->type);
	int type = f->to_bool ? NATIVE_BOOL : x->type;
	int64_t count = native_count(x), w[ELEM_BLOCK];
	double p[2], v[ELEM_BLOCK];
	void *y;

	if (!elem_has(x->type) || (!f->d1 && !whole))
		return native_no_type();
	if (!(y = n->room(n, 0, type, x->rank, x->dims)))
		return native_no_room(n);
	elem_attrs(n, f, p);
	for (int64_t at = 0; at < count; at += ELEM_BLOCK) {
		int c = count - at < ELEM_BLOCK ? (int)(count - at) : ELEM_BLOCK;
		if (!whole) {
			elem_load(x->type, x->data, at, 1, c, v);
			f->d1(v, c, p);
			native_store(type, y, at, c, v);
			continue;
		}
		elem_load_ints(x->type, x->data, at, 1, c, w);
		if (f->u1 && x->type == NATIVE_U64)
			f->u1((uint64_t *)w, c, p);
		else
			f->i1(w, c, p);
		elem_store_ints(type, y, at, c, w);
	}
	return NULL;
}

/* ---- two operands ---- */

/* Two operands that broadcast with each other; neighbouring axes are merged where both allow it. */
struct elem_walk {
	int out_rank, rank;
	int64_t out_dims[NATIVE_RANK_MAX], dims[NATIVE_RANK_MAX], step[2][NATIVE_RANK_MAX], count;
};

static int64_t elem_dim(const struct native_tensor *t, int rank, int k)
{
	int at = k - (rank - t->rank);

	return at < 0 ? 1 : t->dims[at];
}

static const char *elem_shape(struct native *n, struct elem_walk *w, const struct native_tensor *const *x)
{
	bool overflow = false, zero = false;

	w->out_rank = x[0]->rank > x[1]->rank ? x[0]->rank : x[1]->rank;
	w->count = 1;
	for (int k = 0; k < w->out_rank; k++) {
		int64_t a = elem_dim(x[0], w->out_rank, k), b = elem_dim(x[1], w->out_rank, k);
		if (a != b && a != 1 && b != 1)
			return native_why(n, "axis %d: %lld does not broadcast with %lld", k, (long long)b, (long long)a);
		w->out_dims[k] = a == 1 ? b : a;
		zero |= w->out_dims[k] == 0;
		overflow |= __builtin_mul_overflow(w->count, w->out_dims[k], &w->count);
	}
	if (zero)
		w->count = 0;
	return zero || !overflow ? NULL : "the result has more elements than can be counted";
}

static void elem_steps(struct elem_walk *w, const struct native_tensor *const *x)
{
	int64_t step[2][NATIVE_RANK_MAX];

	for (int o = 0; o < 2; o++)
		for (int64_t k = w->out_rank - 1, s = 1; k >= 0; k--) {
			int64_t d = elem_dim(x[o], w->out_rank, (int)k);
			step[o][k] = d == 1 ? 0 : s;
			s *= d;
		}
	w->rank = 0;
	for (int k = 0; k < w->out_rank; k++) {
		int last = w->rank - 1;
		int64_t d = w->out_dims[k];
		if (d == 1)
			continue;
		if (w->rank && w->step[0][last] == step[0][k] * d && w->step[1][last] == step[1][k] * d)
			w->dims[last] *= d;
		else
			w->dims[++last] = d;
		w->rank = last + 1;
		w->step[0][last] = step[0][k];
		w->step[1][last] = step[1][k];
	}
	if (w->rank)
		return;
	w->rank = 1;
	w->dims[0] = 1;
	w->step[0][0] = w->step[1][0] = 0;
}

/* One block: c elements of x from at[] on go to y. */
static void elem_block(const struct elem_row *f, const struct elem_walk *w, const struct native_tensor *const *x, const int64_t *at, int c,
		       const double *p, int type, char *y, int64_t to, bool whole)
{
	double v[2][ELEM_BLOCK];
	int64_t i[2][ELEM_BLOCK];

	for (int o = 0; o < 2; o++)
		if (whole)
			elem_load_ints(x[o]->type, x[o]->data, at[o], w->step[o][w->rank - 1], c, i[o]);
		else
			elem_load(x[o]->type, x[o]->data, at[o], w->step[o][w->rank - 1], c, v[o]);
	if (!whole) {
		f->d2(v[0], v[1], c, p);
		native_store(type, y, to, c, v[0]);
		return;
	}
	if (f->u2 && x[0]->type == NATIVE_U64)
		f->u2((uint64_t *)i[0], (const uint64_t *)i[1], c, p);
	else
		f->i2(i[0], i[1], c, p);
	elem_store_ints(type, y, to, c, i[0]);
}

static void elem_walk(const struct native *n, const struct elem_row *f, const struct elem_walk *w, const struct native_tensor *const *x,
		      int type, void *y)
{
	bool whole = f->i2 && !elem_is_real(x[0]->type) && !elem_is_real(x[1]->type);
	int64_t index[NATIVE_RANK_MAX] = {0}, off[2] = {0}, row = w->dims[w->rank - 1];
	double p[2];

	elem_attrs(n, f, p);
	for (int o = 0; o < 2 && !f->attr[0].name; o++)
		p[o] = x[o]->type == NATIVE_U64;
	for (int64_t done = 0; done < w->count; done += row) {
		for (int64_t i = 0; i < row; i += ELEM_BLOCK) {
			int64_t at[2] = {off[0] + i * w->step[0][w->rank - 1], off[1] + i * w->step[1][w->rank - 1]};
			elem_block(f, w, x, at, row - i < ELEM_BLOCK ? (int)(row - i) : ELEM_BLOCK, p, type, y, done + i, whole);
		}
		for (int k = w->rank - 2; k >= 0; k--) {
			off[0] += w->step[0][k];
			off[1] += w->step[1][k];
			if (++index[k] < w->dims[k])
				break;
			off[0] -= w->dims[k] * w->step[0][k];
			off[1] -= w->dims[k] * w->step[1][k];
			index[k] = 0;
		}
	}
}

/* f(a, b) of that type: result 0, or on the way to it: then *y gets it, in dims that it keeps. */
static const char *elem_pair(struct native *n, const struct elem_row *f, const struct native_tensor *a, const struct native_tensor *b,
			     int type, struct native_tensor *y)
{
	const struct native_tensor *x[2] = {a, b};
	struct elem_walk w;
	const char *why = elem_shape(n, &w, x);
	bool whole = f->i2 && !elem_is_real(a->type) && !elem_is_real(b->type);
	int64_t *dims = NULL;

	if (why)
		return why;
	if (!elem_has(a->type) || !elem_has(b->type) || (!f->d2 && !whole))
		return native_no_type();
	void *to = y ? n->scratch(n, (size_t)w.count * native_size(type)) : n->room(n, 0, type, w.out_rank, w.out_dims);
	if (!to || (y && !(dims = n->scratch(n, sizeof *dims * (size_t)(w.out_rank + 1)))))
		return native_no_room(n);
	if (w.count) {
		elem_steps(&w, x);
		elem_walk(n, f, &w, x, type, to);
	}
	if (y) {
		memcpy(dims, w.out_dims, sizeof *dims * (size_t)w.out_rank);
		*y = (struct native_tensor){type, w.out_rank, dims, to};
	}
	return NULL;
}

static const char *elem_two(struct native *n, const struct elem_row *f)
{
	return elem_pair(n, f, &n->in[0], &n->in[1], f->to_bool ? NATIVE_BOOL : n->in[0].type, NULL);
}

static const char *elem_equal_strings(struct native *n)
{
	const struct native_string *a = n->in[0].data, *b = n->in[1].data;
	struct pairs p;
	const char *why = pairs_begin(n, &p);
	uint8_t *y;

	if (why)
		return why;
	if (!(y = n->room(n, 0, NATIVE_BOOL, p.rank, p.dims)))
		return native_no_room(n);
	for (int64_t i = 0, count = native_count_of(p.rank, p.dims); i < count; i++, pairs_next(&p)) {
		const struct native_string *s = &a[p.from[0]], *t = &b[p.from[1]];
		y[i] = s->n == t->n && (!s->n || !memcmp(s->s, t->s, s->n));
	}
	return NULL;
}

/* ---- any number of operands ---- */

static const char *elem_same(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	void *y = n->room(n, 0, x->type, x->rank, x->dims);

	if (!y)
		return native_no_room(n);
	memcpy(y, x->data, (size_t)native_count(x) * native_size(x->type));
	return NULL;
}

/* One after the other; of a mean the last sum is divided, too. */
static const char *elem_many(struct native *n, const struct elem_row *f)
{
	struct native_tensor all = n->in[0];
	const char *why = NULL;

	if (n->nin == 1)
		return elem_same(n);
	for (int i = 1; i < n->nin && !why; i++)
		why = elem_pair(n, f, &all, &n->in[i], n->in[0].type, i + 1 < n->nin ? &all : NULL);
	return why;
}

static const char *elem_mean(struct native *n, const struct elem_row *f)
{
	struct native_tensor all = n->in[0];
	const char *why = NULL;

	if (n->nin == 1)
		return elem_same(n);
	for (int i = 1; i < n->nin && !why; i++)
		why = elem_pair(n, f, &all, &n->in[i], n->in[0].type, &all);
	if (why)
		return why;
	void *y = n->room(n, 0, all.type, all.rank, all.dims);
	if (!y)
		return native_no_room(n);
	for (int64_t i = 0, count = native_count(&all); i < count; i++)
		native_set(all.type, y, i, native_get(all.type, all.data, i) / n->nin);
	return NULL;
}

/* clang-format off: an operator is a line */
NATIVE const char *native_Acos(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Acos}); }
NATIVE const char *native_Acosh(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Acosh}); }
NATIVE const char *native_Asin(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Asin}); }
NATIVE const char *native_Asinh(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Asinh}); }
NATIVE const char *native_Atan(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Atan}); }
NATIVE const char *native_Atanh(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Atanh}); }
NATIVE const char *native_Cos(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Cos}); }
NATIVE const char *native_Cosh(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Cosh}); }
NATIVE const char *native_Erf(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Erf}); }
NATIVE const char *native_Exp(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Exp}); }
NATIVE const char *native_HardSwish(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_HardSwish}); }
NATIVE const char *native_Log(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Log}); }
NATIVE const char *native_Mish(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Mish}); }
NATIVE const char *native_Reciprocal(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Reciprocal}); }
NATIVE const char *native_Sigmoid(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Sigmoid}); }
NATIVE const char *native_Sin(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Sin}); }
NATIVE const char *native_Sinh(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Sinh}); }
NATIVE const char *native_Softplus(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Softplus}); }
NATIVE const char *native_Softsign(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Softsign}); }
NATIVE const char *native_Sqrt(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Sqrt}); }
NATIVE const char *native_Tan(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Tan}); }
NATIVE const char *native_Tanh(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Tanh}); }
NATIVE const char *native_Abs(struct native *n)
{
	return elem_one(n, &(struct elem_row){.d1 = elem_d1_Abs, .i1 = elem_i1_Abs, .u1 = elem_u1_Abs});
}
NATIVE const char *native_Neg(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Neg, .i1 = elem_i1_Neg}); }
NATIVE const char *native_Relu(struct native *n)
{
	return elem_one(n, &(struct elem_row){.d1 = elem_d1_Relu, .i1 = elem_i1_Relu, .u1 = elem_u1_Relu});
}
NATIVE const char *native_Sign(struct native *n)
{
	return elem_one(n, &(struct elem_row){.d1 = elem_d1_Sign, .i1 = elem_i1_Sign, .u1 = elem_u1_Sign});
}
NATIVE const char *native_Ceil(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Ceil}); }
NATIVE const char *native_Floor(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Floor}); }
NATIVE const char *native_Round(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Round}); }
NATIVE const char *native_Not(struct native *n)
{
	return elem_one(n, &(struct elem_row){.d1 = elem_d1_Not, .i1 = elem_i1_Not, .to_bool = true});
}
NATIVE const char *native_BitwiseNot(struct native *n) { return elem_one(n, &(struct elem_row){.i1 = elem_i1_BitwiseNot}); }
NATIVE const char *native_IsNaN(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_IsNaN, .to_bool = true}); }
NATIVE const char *native_IsInf(struct native *n)
{
	return elem_one(n, &(struct elem_row){.d1 = elem_d1_IsInf, .to_bool = true, .attr = {{"detect_negative"}, {"detect_positive"}}});
}
NATIVE const char *native_Celu(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Celu, .attr = {{"alpha"}}}); }
NATIVE const char *native_Elu(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Elu, .attr = {{"alpha"}}}); }
NATIVE const char *native_Gelu(struct native *n)
{
	return elem_one(n, &(struct elem_row){.d1 = elem_d1_Gelu, .attr = {{"approximate", "tanh"}}});
}
NATIVE const char *native_HardSigmoid(struct native *n)
{
	return elem_one(n, &(struct elem_row){.d1 = elem_d1_HardSigmoid, .attr = {{"alpha"}, {"beta"}}});
}
NATIVE const char *native_LeakyRelu(struct native *n)
{
	return elem_one(n, &(struct elem_row){.d1 = elem_d1_LeakyRelu, .attr = {{"alpha"}}});
}
NATIVE const char *native_Selu(struct native *n)
{
	return elem_one(n, &(struct elem_row){.d1 = elem_d1_Selu, .attr = {{"alpha"}, {"gamma"}}});
}
NATIVE const char *native_Shrink(struct native *n)
{
	return elem_one(n, &(struct elem_row){.d1 = elem_d1_Shrink, .attr = {{"bias"}, {"lambd"}}});
}
NATIVE const char *native_Swish(struct native *n) { return elem_one(n, &(struct elem_row){.d1 = elem_d1_Swish, .attr = {{"alpha"}}}); }
NATIVE const char *native_ThresholdedRelu(struct native *n)
{
	return elem_one(n, &(struct elem_row){.d1 = elem_d1_ThresholdedRelu, .attr = {{"alpha"}}});
}
NATIVE const char *native_Add(struct native *n) { return elem_two(n, &(struct elem_row){.d2 = elem_d2_Add, .i2 = elem_i2_Add}); }
NATIVE const char *native_Sum(struct native *n) { return elem_many(n, &(struct elem_row){.d2 = elem_d2_Add, .i2 = elem_i2_Add}); }
NATIVE const char *native_Mean(struct native *n) { return elem_mean(n, &(struct elem_row){.d2 = elem_d2_Add}); }
NATIVE const char *native_Sub(struct native *n) { return elem_two(n, &(struct elem_row){.d2 = elem_d2_Sub, .i2 = elem_i2_Sub}); }
NATIVE const char *native_Mul(struct native *n) { return elem_two(n, &(struct elem_row){.d2 = elem_d2_Mul, .i2 = elem_i2_Mul}); }
NATIVE const char *native_Div(struct native *n)
{
	return elem_two(n, &(struct elem_row){.d2 = elem_d2_Div, .i2 = elem_i2_Div, .u2 = elem_u2_Div});
}
NATIVE const char *native_Max(struct native *n)
{
	return elem_many(n, &(struct elem_row){.d2 = elem_d2_Max, .i2 = elem_i2_Max, .u2 = elem_u2_Max});
}
NATIVE const char *native_Min(struct native *n)
{
	return elem_many(n, &(struct elem_row){.d2 = elem_d2_Min, .i2 = elem_i2_Min, .u2 = elem_u2_Min});
}
NATIVE const char *native_Mod(struct native *n)
{
	return elem_two(n, &(struct elem_row){.d2 = elem_d2_Mod, .i2 = elem_i2_Mod, .u2 = elem_u2_Mod, .attr = {{"fmod"}}});
}
NATIVE const char *native_Pow(struct native *n) { return elem_two(n, &(struct elem_row){.d2 = elem_d2_Pow, .i2 = elem_i2_Pow}); }
NATIVE const char *native_PRelu(struct native *n)
{
	return elem_two(n, &(struct elem_row){.d2 = elem_d2_PRelu, .i2 = elem_i2_PRelu, .u2 = elem_u2_PRelu});
}
NATIVE const char *native_SwiGLU(struct native *n) { return elem_two(n, &(struct elem_row){.d2 = elem_d2_SwiGLU, .attr = {{"alpha"}}}); }
NATIVE const char *native_Equal(struct native *n)
{
	if (n->in[0].type == NATIVE_STR && n->in[1].type == NATIVE_STR)
		return elem_equal_strings(n);
	return elem_two(n, &(struct elem_row){.d2 = elem_d2_Equal, .i2 = elem_i2_Equal, .to_bool = true});
}
NATIVE const char *native_Less(struct native *n)
{
	return elem_two(n, &(struct elem_row){.d2 = elem_d2_Less, .i2 = elem_i2_Less, .u2 = elem_u2_Less, .to_bool = true});
}
NATIVE const char *native_LessOrEqual(struct native *n)
{
	return elem_two(
		n, &(struct elem_row){.d2 = elem_d2_LessOrEqual, .i2 = elem_i2_LessOrEqual, .u2 = elem_u2_LessOrEqual, .to_bool = true});
}
NATIVE const char *native_Greater(struct native *n)
{
	return elem_two(n, &(struct elem_row){.d2 = elem_d2_Greater, .i2 = elem_i2_Greater, .u2 = elem_u2_Greater, .to_bool = true});
}
NATIVE const char *native_GreaterOrEqual(struct native *n)
{
	return elem_two(n,
			&(struct elem_row){
				.d2 = elem_d2_GreaterOrEqual, .i2 = elem_i2_GreaterOrEqual, .u2 = elem_u2_GreaterOrEqual, .to_bool = true});
}
NATIVE const char *native_And(struct native *n) { return elem_two(n, &(struct elem_row){.i2 = elem_i2_And, .to_bool = true}); }
NATIVE const char *native_Or(struct native *n) { return elem_two(n, &(struct elem_row){.i2 = elem_i2_Or, .to_bool = true}); }
NATIVE const char *native_Xor(struct native *n) { return elem_two(n, &(struct elem_row){.i2 = elem_i2_Xor, .to_bool = true}); }
NATIVE const char *native_BitwiseAnd(struct native *n) { return elem_two(n, &(struct elem_row){.i2 = elem_i2_BitwiseAnd}); }
NATIVE const char *native_BitwiseOr(struct native *n) { return elem_two(n, &(struct elem_row){.i2 = elem_i2_BitwiseOr}); }
NATIVE const char *native_BitwiseXor(struct native *n) { return elem_two(n, &(struct elem_row){.i2 = elem_i2_BitwiseXor}); }
NATIVE const char *native_BitShift(struct native *n)
{
	return elem_two(n, &(struct elem_row){.i2 = elem_i2_BitShift, .u2 = elem_u2_BitShift, .attr = {{"direction", "LEFT"}}});
}
/* clang-format on */
