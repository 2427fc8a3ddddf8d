/* CumSum, CumProd: along an axis that may be an operand. Floats in double, integers in 64 bits that wrap. */
#include "native/native.h"

struct cumulate_line {
	int64_t count, step, first; /* elements from first on, each step */
	bool exclusive, product;
};

static void cumulate_real(const struct cumulate_line *l, int type, const void *x, void *y)
{
	double all = l->product;

	for (int64_t k = 0, at = l->first; k < l->count; k++, at += l->step) {
		double before = all, e = native_get(type, x, at);
		all = l->product ? all * e : all + e;
		native_set(type, y, at, l->exclusive ? before : all);
	}
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
	struct cumulate_line l = {.exclusive = native_int(n, "exclusive") != 0, .product = product};
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
			(native_is_float(x->type) ? cumulate_real : cumulate_whole)(&l, x->type, x->data, y);
		}
	return NULL;
}

NATIVE const char *native_CumProd(struct native *n) { return cumulate(n, true); }
NATIVE const char *native_CumSum(struct native *n) { return cumulate(n, false); }
