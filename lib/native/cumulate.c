/* CumSum, CumProd: along an axis that may be an operand. Floats in double, integers in 64 bits that wrap. */
#include "native/native.h"

struct cumulate_line {
	int64_t count, step, first; /* elements from first on, each step */
	bool exclusive, product;
	double before; /* of floats: what comes before the first */
};

static void cumulate_real(const struct cumulate_line *l, int type, const void *x, void *y)
{
	double all = l->before;

	for (int64_t k = 0, at = l->first; k < l->count; k++, at += l->step) {
		double before = all, e = native_get(type, x, at);
		all = l->product ? all * e : all + e;
		native_set(type, y, at, l->exclusive ? before : all);
	}
}

#pragma GCC diagnostic ignored "-Wpsabi" /* no vector is passed to another file */
enum { CUMULATE_LANES = 4 };
typedef double cumulate_v __attribute__((vector_size(8 * CUMULATE_LANES)));
typedef float cumulate_f __attribute__((vector_size(4 * CUMULATE_LANES), aligned(4)));

/* Sums of f32 elements side by side: of each vector its own sums in two steps, then what came before it. */
static void cumulate_row(const struct cumulate_line *l, const float *x, float *y)
{
	const cumulate_v none = {0};
	cumulate_v all = none;
	struct cumulate_line rest = *l;

	for (; rest.count >= CUMULATE_LANES; rest.count -= CUMULATE_LANES, rest.first += CUMULATE_LANES * l->step) {
		int64_t at = l->step < 0 ? rest.first - CUMULATE_LANES + 1 : rest.first;
		cumulate_v v = __builtin_convertvector(*(const cumulate_f *)(x + at), cumulate_v), sum;
		if (l->step < 0)
			v = __builtin_shufflevector(v, v, 3, 2, 1, 0);
		v += __builtin_shufflevector(v, none, 4, 0, 1, 2);
		v += __builtin_shufflevector(v, none, 4, 4, 0, 1);
		sum = all + (l->exclusive ? __builtin_shufflevector(v, none, 4, 0, 1, 2) : v);
		all += __builtin_shufflevector(v, v, 3, 3, 3, 3);
		if (l->step < 0)
			sum = __builtin_shufflevector(sum, sum, 3, 2, 1, 0);
		*(cumulate_f *)(y + at) = __builtin_convertvector(sum, cumulate_f);
	}
	rest.before = all[0];
	cumulate_real(&rest, NATIVE_F32, x, y);
}

static void cumulate_whole(const struct cumulate_line *l, int type, const void *x, void *y)
{
	uint64_t all = l->product;

	for (int64_t k = 0, at = l->first; k < l->count; k++, at += l->step) {
		uint64_t before = all, e = (uint64_t)native_get_int(type, x, at);
		all = l->product ? all * e : all + e;
		native_set_int(type, y, at, (int64_t)(l->exclusive ? before : all));
	}
}

static const char *cumulate(struct native *n, bool product)
{
	const struct native_tensor *x = &n->in[0];
	int axis = native_axis(native_number(n, 1, 0), x->rank);
	struct cumulate_line l = {.exclusive = native_int(n, "exclusive") != 0, .product = product, .before = product};
	bool reverse = native_int(n, "reverse") != 0;
	void *y;

	if (axis < 0)
		return "axis outside the rank";
	if (!native_is_number(x->type))
		return native_no_type();
	if (!(y = n->room(n, 0, x->type, x->rank, x->dims)))
		return native_no_room(n);
	if (!native_count(x))
		return NULL;
	int64_t inner = native_count_of(x->rank - axis - 1, x->dims + axis + 1), outer = native_count_of(axis, x->dims);
	l.count = x->dims[axis];
	l.step = reverse ? -inner : inner;
	for (int64_t o = 0; o < outer; o++)
		for (int64_t i = 0; i < inner; i++) {
			l.first = (o * l.count + (reverse ? l.count - 1 : 0)) * inner + i;
			if (x->type == NATIVE_F32 && inner == 1 && !product) {
				cumulate_row(&l, x->data, y);
				continue;
			}
			(native_is_float(x->type) ? cumulate_real : cumulate_whole)(&l, x->type, x->data, y);
		}
	return NULL;
}

NATIVE const char *native_CumProd(struct native *n) { return cumulate(n, true); }
NATIVE const char *native_CumSum(struct native *n) { return cumulate(n, false); }
