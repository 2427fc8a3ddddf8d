/* Values that are no tensors as arrays with names: how .npz files hold them (hone-npz(5)).
 *
 * The elements of a sequence x are x[0], x[1], ...; an empty one is x[], an array of no elements. An optional that has a value is that
 * value under its own name; without one it is x?, an array of no elements. A map is x{keys} and x{values}. */
#ifndef HONE_VALUES_H
#define HONE_VALUES_H
#include "op/npy.h"
/* The arrays of n values; how many. */
int values_flatten(const struct named_tensor *v, int n, struct named_tensor **out, struct arena *a);
/* The arrays of a file, and which of them have been taken. */
struct members {
	const char *file;
	int n;
	const struct named_tensor *t;
	bool *taken;
};
/* The value of this name and type; NULL: there is none. Types and shapes of its tensors are not looked at. */
struct tensor *values_take(struct members *f, const char *name, const struct type *t, struct arena *a);
#endif
