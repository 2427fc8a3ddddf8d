/* AffineGrid: the places of a grid from -1 to 1, moved by a matrix each image. */
#include "native/native.h"

/* Place i of n along an axis. */
static double affine_place(int64_t i, int64_t n, bool corners)
{
	if (corners)
		return n > 1 ? (double)(2 * i) / (double)(n - 1) - 1 : -1;
	return (double)(2 * i + 1) / (double)n - 1;
}

NATIVE const char *native_AffineGrid(struct native *n)
{
	const struct native_tensor *theta = &n->in[0], *size = &n->in[1];
	int axes = (int)native_count(size) - 2;
	int64_t dims[5], points = 1;
	double m[12], at[4] = {0};
	bool corners = native_int(n, "align_corners") != 0;

	if (!native_is_float(theta->type))
		return native_no_type();
	if (native_count(size) < 4 || native_count(size) > 5 || theta->rank != 3 || theta->dims[1] != axes || theta->dims[2] != axes + 1)
		return "matrices and size do not fit each other";
	dims[0] = native_get_int(size->type, size->data, 0);
	for (int a = 0; a < axes; a++)
		dims[1 + a] = native_get_int(size->type, size->data, 2 + a);
	dims[1 + axes] = axes;
	if (dims[0] != theta->dims[0])
		return "there are not as many matrices as images";
	for (int a = 0; a < axes; a++)
		if (dims[1 + a] < 0 || __builtin_mul_overflow(points, dims[1 + a], &points))
			return "a size that there is not";
	void *y = n->room(n, 0, theta->type, axes + 2, dims);
	if (!y)
		return native_no_room(n);
	at[axes] = 1;
	for (int64_t i = 0; i < dims[0] * points; i++) {
		int64_t rest = i % points;
		native_load(theta->type, theta->data, i / points * axes * (axes + 1), axes * (axes + 1), m);
		for (int a = axes - 1; a >= 0; a--) { /* innermost first */
			at[axes - 1 - a] = affine_place(rest % dims[1 + a], dims[1 + a], corners);
			rest /= dims[1 + a];
		}
		for (int a = 0; a < axes; a++) {
			double sum = 0;
			for (int k = 0; k <= axes; k++)
				sum += m[a * (axes + 1) + k] * at[k];
			native_set(theta->type, y, i * axes + a, sum);
		}
	}
	return NULL;
}
