/* NonZero and Compress: what is chosen by its contents, or by conditions. */
#include "native/native.h"

/* Is element i of any type not 0? */
static bool select_is(int type, const void *p, int64_t i)
{
	switch (type) {
	case NATIVE_BOOL:
	case NATIVE_U8:
	case NATIVE_I8: return ((const uint8_t *)p)[i] != 0;
	case NATIVE_F32: return ((const float *)p)[i] != 0;
	case NATIVE_I64:
	case NATIVE_U64: return ((const int64_t *)p)[i] != 0;
	case NATIVE_C64: return ((const float *)p)[2 * i] != 0 || ((const float *)p)[2 * i + 1] != 0;
	case NATIVE_C128: return ((const double *)p)[2 * i] != 0 || ((const double *)p)[2 * i + 1] != 0;
	default: return native_get(type, p, i) != 0;
	}
}

NATIVE const char *native_NonZero(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	int64_t count = native_count(x), found = 0, k = 0, at[NATIVE_RANK_MAX] = {0};

	if (!native_size(x->type))
		return native_no_type();
	for (int64_t i = 0; i < count; i++)
		found += select_is(x->type, x->data, i);
	int64_t *y = n->room(n, 0, NATIVE_I64, 2, (int64_t[]){x->rank, found});
	if (!y)
		return native_no_room(n);
	for (int64_t i = 0; k < found; i++) {
		if (select_is(x->type, x->data, i)) {
			for (int a = 0; a < x->rank; a++)
				y[a * found + k] = at[a];
			k++;
		}
		for (int a = x->rank - 1; a >= 0 && ++at[a] == x->dims[a]; a--)
			at[a] = 0;
	}
	return NULL;
}

NATIVE const char *native_Compress(struct native *n)
{
	const struct native_tensor *x = &n->in[0], *which = &n->in[1];
	const struct native_attr *along = native_attr(n, "axis");
	int axis = along ? native_axis(along->i, x->rank) : 0;
	int64_t dims[NATIVE_RANK_MAX] = {0}, conditions = native_count(which), kept = 0, outer = 1, whole = native_count(x);
	const uint8_t *is = which->data;
	size_t run = native_size(x->type);

	if (!run || which->type != NATIVE_BOOL)
		return native_no_type();
	if (axis < 0)
		return "axis outside the rank";
	if (along) {
		memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
		outer = native_count_of(axis, x->dims);
		whole = x->dims[axis];
		run *= (size_t)native_count_of(x->rank - axis - 1, x->dims + axis + 1);
	}
	if (conditions > whole)
		return native_why(n, "%lld conditions for %lld elements", (long long)conditions, (long long)whole);
	for (int64_t i = 0; i < conditions; i++)
		kept += is[i] != 0;
	dims[axis] = kept;
	char *y = n->room(n, 0, x->type, along ? x->rank : 1, dims);
	if (!y)
		return native_no_room(n);
	for (int64_t o = 0; o < outer; o++)
		for (int64_t i = 0; i < conditions; i++)
			if (is[i]) {
				memcpy(y, (const char *)x->data + (size_t)(o * whole + i) * run, run);
				y += run;
			}
	return NULL;
}
