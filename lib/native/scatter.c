/* ScatterElements and ScatterND: the data, with updates at the places that indices name, one after another. */
#include "native/native.h"

enum { SCATTER_BLOCK = 256 /* places at a time */, SCATTER_MANY = 4 /* a note of one element is longer than so many elements */ };
enum scatter_how { SCATTER_PUT, SCATTER_ADD, SCATTER_MUL, SCATTER_MAX, SCATTER_MIN };

struct scatter {
	enum scatter_how how;
	int type;
	size_t size;
	char *y;
	const char *u;
	struct native *told; /* who is told before bytes change; NULL: nobody */
};

static enum scatter_how scatter_how(const struct native *n)
{
	static const char *const names[] = {"none", "add", "mul", "max", "min"};
	int i = SCATTER_MIN;

	while (i > SCATTER_PUT && strcmp(native_str(n, "reduction"), names[i]))
		i--;
	return (enum scatter_how)i;
}

/* NaN wins over a number; of two equal operands the first is returned. */
static double scatter_float(enum scatter_how how, double a, double b)
{
	switch (how) {
	case SCATTER_ADD: return a + b;
	case SCATTER_MUL: return a * b;
	case SCATTER_MAX: return a > b || a != a ? a : b;
	case SCATTER_MIN: return a < b || a != a ? a : b;
	default: return b;
	}
}

/* Integers wrap. */
static int64_t scatter_int(enum scatter_how how, bool is_unsigned, int64_t a, int64_t b)
{
	int64_t flip = is_unsigned ? INT64_MIN : 0;
	bool less = (a ^ flip) < (b ^ flip);

	switch (how) {
	case SCATTER_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
	case SCATTER_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
	case SCATTER_MAX: return less ? b : a;
	case SCATTER_MIN: return less ? a : b;
	default: return b;
	}
}

/* The low bytes of v. */
static void scatter_put_int(size_t size, char *y, int64_t v)
{
	switch (size) {
	case 1: *(uint8_t *)y = (uint8_t)v; break;
	case 2: *(uint16_t *)y = (uint16_t)v; break;
	case 4: *(uint32_t *)y = (uint32_t)v; break;
	default: *(uint64_t *)y = (uint64_t)v; break;
	}
}

static const char *scatter_tell(const struct scatter *s, int64_t to, int64_t n)
{
	return s->told ? s->told->change(s->told, s->y + (size_t)to * s->size, (size_t)n * s->size) : NULL;
}

/* n elements of the result from `to` on take in updates from `from` on. */
static void scatter_run(const struct scatter *s, int64_t to, int64_t from, int64_t n)
{
	char *y = s->y + (size_t)to * s->size;
	const char *u = s->u + (size_t)from * s->size;
	bool is_float = native_is_float(s->type) || s->type == NATIVE_BOOL;

	if (s->how == SCATTER_PUT) {
		if (n == 1 && s->size == 4)
			memcpy(y, u, 4);
		else
			memcpy(y, u, (size_t)n * s->size);
		return;
	}
	for (int64_t i = 0; i < n && s->type == NATIVE_F32; i++)
		((float *)y)[i] = (float)scatter_float(s->how, ((float *)y)[i], ((const float *)u)[i]);
	for (int64_t i = 0; i < n && s->type != NATIVE_F32; i++)
		if (is_float)
			native_set(s->type, y, i, scatter_float(s->how, native_get(s->type, y, i), native_get(s->type, u, i)));
		else
			scatter_put_int(
				s->size, y + (size_t)i * s->size,
				scatter_int(s->how, s->type == NATIVE_U64, native_get_int(s->type, y, i), native_get_int(s->type, u, i)));
}

/* The result at places to[0 .. n) takes in the updates from `from` on, one after another. */
static void scatter_places(const struct scatter *s, const int64_t *to, int64_t from, int64_t n)
{
	const char *u = s->u + (size_t)from * s->size;

#define SCATTER_EACH(type, expr) \
	for (int64_t i = 0; i < n; i++) { \
		type *y = (type *)s->y + to[i], a = *y, b = ((const type *)u)[i]; \
		*y = (type)(expr); \
	}
#define SCATTER_EACH_PUT(bytes, type) \
	if (s->size == bytes) { \
		for (int64_t i = 0; i < n; i++) \
			((type *)s->y)[to[i]] = ((const type *)u)[i]; \
	}
	if (s->how == SCATTER_PUT && s->size <= 8) {
		SCATTER_EACH_PUT(1, uint8_t)
		SCATTER_EACH_PUT(2, uint16_t)
		SCATTER_EACH_PUT(4, uint32_t)
		SCATTER_EACH_PUT(8, uint64_t)
	} else if (s->type == NATIVE_F32 && s->how == SCATTER_ADD) {
		SCATTER_EACH(float, a + b)
	} else if (s->type == NATIVE_F32) {
		SCATTER_EACH(float, scatter_float(s->how, a, b))
	} else {
		for (int64_t i = 0; i < n; i++)
			scatter_run(s, to[i], from + i, 1);
	}
#undef SCATTER_EACH
#undef SCATTER_EACH_PUT
}

/* Index i, counted from the end if negative; false: it is outside. */
static bool scatter_at(const struct native_tensor *t, int64_t i, int64_t extent, int64_t *at)
{
	*at = native_get_int(t->type, t->data, i);
	if (*at < -extent || *at >= extent)
		return false;
	*at += *at < 0 ? extent : 0;
	return true;
}

static const char *scatter_outside(struct native *n, int64_t i, int64_t extent)
{
	return native_why(n, "index %lld is outside the axis of extent %lld", (long long)native_get_int(n->in[1].type, n->in[1].data, i),
			  (long long)extent);
}

/* The data as the result, and how updates change it. NULL, or why not. */
static const char *scatter_begin(struct native *n, struct scatter *s)
{
	const struct native_tensor *x = &n->in[0], *ix = &n->in[1], *u = &n->in[2];
	bool counts = native_is_number(x->type) || x->type == NATIVE_BOOL;

	*s = (struct scatter){.how = scatter_how(n), .type = x->type, .size = native_size(x->type), .u = u->data};
	if (!s->size || u->type != x->type || (ix->type != NATIVE_I64 && ix->type != NATIVE_I32) || (s->how != SCATTER_PUT && !counts))
		return native_no_type();
	s->y = n->room(n, 0, x->type, x->rank, x->dims);
	if (!s->y)
		return native_no_room(n);
	if (s->y != x->data) {
		memcpy(s->y, x->data, (size_t)native_count(x) * s->size);
		return NULL;
	}
	if (!n->change || !native_count(x))
		return NULL;
	if (native_count(u) >= native_count(x) / SCATTER_MANY) /* all at once is less than each by itself */
		return n->change(n, s->y, (size_t)native_count(x) * s->size);
	s->told = n;
	return NULL;
}

/* How many of the n indices from number i on are the first of them again. */
static int64_t scatter_equal(const struct native_tensor *t, int64_t i, int64_t n)
{
	const int64_t *q = (const int64_t *)t->data + i;
	const int32_t *d = (const int32_t *)t->data + i;
	int64_t k = 1;

	if (t->type == NATIVE_I64)
		while (k < n && q[k] == q[0])
			k++;
	else
		while (k < n && d[k] == d[0])
			k++;
	return k;
}

/* A line of indices, from number i on, and of updates: element j goes to base + index * stride + j * next. NULL, or why not. */
static const char *scatter_line(struct native *n, const struct scatter *s, int64_t i, int64_t base, int64_t stride, int64_t next)
{
	const struct native_tensor *ix = &n->in[1];
	int axis = native_axis(native_int(n, "axis"), ix->rank);
	int64_t line = ix->dims[ix->rank - 1], extent = n->in[0].dims[axis], to[SCATTER_BLOCK];

	if (next && scatter_equal(ix, i, line) == line) { /* it stays a line */
		const char *why;
		if (!scatter_at(ix, i, extent, to))
			return scatter_outside(n, i, extent);
		if ((why = scatter_tell(s, base + to[0] * stride, line)))
			return why;
		scatter_run(s, base + to[0] * stride, i, line);
		return NULL;
	}
	for (int64_t j = 0, block; j < line; j += block) {
		block = line - j < SCATTER_BLOCK ? line - j : SCATTER_BLOCK;
		for (int64_t k = 0; k < block; k++) {
			if (!scatter_at(ix, i + j + k, extent, &to[k]))
				return scatter_outside(n, i + j + k, extent);
			to[k] = base + to[k] * stride + (j + k) * next;
			const char *why = scatter_tell(s, to[k], 1);
			if (why)
				return why;
		}
		scatter_places(s, to, i + j, block);
	}
	return NULL;
}

NATIVE const char *native_ScatterElements(struct native *n)
{
	const struct native_tensor *x = &n->in[0], *ix = &n->in[1];
	int rank = x->rank, axis = native_axis(native_int(n, "axis"), rank);
	int64_t stride[NATIVE_RANK_MAX], at[NATIVE_RANK_MAX] = {0}, step = 1, base = 0, total, last;
	struct scatter s;
	const char *why;

	if (axis < 0 || ix->rank != rank || n->in[2].rank != rank || memcmp(n->in[2].dims, ix->dims, (size_t)rank * sizeof *ix->dims))
		return "axis, indices or updates do not fit";
	for (int k = 0; k < rank; k++)
		if (k != axis && ix->dims[k] > x->dims[k])
			return native_why(n, "axis %d of the indices does not fit the data", k);
	if ((why = scatter_begin(n, &s)))
		return why;
	for (int k = rank - 1; k >= 0; k--) {
		stride[k] = step;
		step *= x->dims[k];
	}
	total = native_count(ix);
	last = ix->dims[rank - 1];
	for (int64_t i = 0; i < total; i += last) {
		if ((why = scatter_line(n, &s, i, base, stride[axis], axis == rank - 1 ? 0 : 1)))
			return why;
		for (int k = rank - 2; k >= 0; k--) { /* the next row of indices */
			int64_t move = k == axis ? 0 : stride[k];
			base += move;
			if (++at[k] < ix->dims[k])
				break;
			base -= move * ix->dims[k];
			at[k] = 0;
		}
	}
	return NULL;
}

/* Updates of ScatterND have an element of the data for each tuple: the axes of the tuples, then those that a tuple does not name. */
static const char *scatter_updates(struct native *n, int width)
{
	const struct native_tensor *x = &n->in[0], *ix = &n->in[1], *u = &n->in[2];
	int tuples = ix->rank - 1;

	if (u->rank != tuples + x->rank - width)
		return native_why(n, "operand 2 has rank %d, takes %d", u->rank, tuples + x->rank - width);
	for (int k = 0; k < u->rank; k++) {
		int64_t want = k < tuples ? ix->dims[k] : x->dims[k - tuples + width];
		if (u->dims[k] != want)
			return native_why(n, "operand 2 has extent %lld at axis %d, takes %lld", (long long)u->dims[k], k, (long long)want);
	}
	return NULL;
}

NATIVE const char *native_ScatterND(struct native *n)
{
	const struct native_tensor *x = &n->in[0], *ix = &n->in[1];
	int64_t width = ix->rank ? ix->dims[ix->rank - 1] : -1, tuples, run, all, at, to[SCATTER_BLOCK];
	struct scatter s;
	const char *why;

	if (width < 0 || width > x->rank)
		return "indices do not fit the data";
	if ((why = scatter_updates(n, (int)width)))
		return why;
	tuples = native_count_of(ix->rank - 1, ix->dims);
	run = native_count_of(x->rank - (int)width, x->dims + width);
	if (__builtin_mul_overflow(tuples, run, &all) || native_count(&n->in[2]) != all)
		return "updates do not fit the indices";
	if ((why = scatter_begin(n, &s)))
		return why;
	if (!all && !width)
		return NULL; /* however many tuples there are, they say nothing */
	for (int64_t i = 0, taken = 0; i < tuples; i++) {
		int64_t step = run, *place = &to[i - taken];
		*place = 0;
		for (int64_t k = width - 1; k >= 0; k--) {
			if (!scatter_at(ix, i * width + k, x->dims[k], &at))
				return scatter_outside(n, i * width + k, x->dims[k]);
			*place += at * step;
			step *= x->dims[k];
		}
		if (run && (why = scatter_tell(&s, *place, run)))
			return why;
		if (run != 1)
			scatter_run(&s, *place, i * run, run);
		else if (i - taken < SCATTER_BLOCK - 1 && i < tuples - 1)
			continue;
		else
			scatter_places(&s, to, taken, i - taken + 1);
		taken = i + 1;
	}
	return NULL;
}
