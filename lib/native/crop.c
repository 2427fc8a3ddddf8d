/* CenterCropPad: the middle of each axis, or zeros on both sides of it. */
#include "native/native.h"

struct crop {
	int rank;
	const int64_t *from, *to;                            /* extents */
	int64_t first[NATIVE_RANK_MAX], at[NATIVE_RANK_MAX]; /* of what is copied: there, and here */
	int64_t n[NATIVE_RANK_MAX];
};

static void crop_axis(struct crop *c, int a)
{
	int64_t less = c->from[a] - c->to[a];

	c->first[a] = less > 0 ? less / 2 : 0;
	c->at[a] = less < 0 ? -less / 2 : 0;
	c->n[a] = less > 0 ? c->to[a] : c->from[a];
}

/* From axis a on: x and y are where its elements begin, in elements. */
static void crop_copy(const struct crop *c, int a, const char *x, char *y, size_t size)
{
	size_t inner_x = size, inner_y = size;

	if (a == c->rank) {
		memcpy(y, x, size);
		return;
	}
	for (int k = a + 1; k < c->rank; k++) {
		inner_x *= (size_t)c->from[k];
		inner_y *= (size_t)c->to[k];
	}
	x += (size_t)c->first[a] * inner_x;
	y += (size_t)c->at[a] * inner_y;
	if (a == c->rank - 1)
		memcpy(y, x, (size_t)c->n[a] * size);
	else
		for (int64_t i = 0; i < c->n[a]; i++)
			crop_copy(c, a + 1, x + (size_t)i * inner_x, y + (size_t)i * inner_y, size);
}

NATIVE const char *native_CenterCropPad(struct native *n)
{
	const struct native_tensor *x = &n->in[0], *shape = &n->in[1];
	const struct native_attr *axes = native_attr(n, "axes");
	int64_t dims[NATIVE_RANK_MAX], count = native_count(shape);
	struct crop c = {.rank = x->rank, .from = x->dims, .to = dims};
	size_t size = native_size(x->type);

	if (!size)
		return native_no_type();
	if (count > x->rank || count != (axes ? axes->n : x->rank))
		return "the sizes are not as many as the axes";
	memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
	for (int i = 0; i < count; i++) {
		int a = axes ? native_axis(axes->ints[i], x->rank) : i;
		if (a < 0 || native_get_int(shape->type, shape->data, i) < 0)
			return "an axis or a size that there is not";
		dims[a] = native_get_int(shape->type, shape->data, i);
	}
	char *y = n->room(n, 0, x->type, x->rank, dims);
	if (!y)
		return native_no_room(n);
	for (int a = 0; a < x->rank; a++)
		crop_axis(&c, a);
	memset(y, 0, (size_t)native_count_of(x->rank, dims) * size);
	if (native_count_of(x->rank, c.n))
		crop_copy(&c, 0, x->data, y, size);
	return NULL;
}
