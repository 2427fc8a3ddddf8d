/* NumPy's .npy and .npz files (format 1.0 to 3.0; C and Fortran order in, C order out; .npz stored or
 * deflated in, stored out). Bad files: die(65) with file, offset, reason. */
#ifndef HONE_NPY_H
#define HONE_NPY_H
#include "graph/module.h"
struct named_tensor {
	char *name;
	struct tensor *t;
};
struct tensor *npy_read(const char *path, struct arena *a);
void npy_write(const char *path, const struct tensor *t);
int npz_read(const char *path, struct arena *a, struct named_tensor **out); /* how many */
void npz_write(const char *path, int n, const struct named_tensor *t);

/* Inputs of a run, as every tool takes them: -i NAME=FILE.npy (or -i FILE.npz), --seed, --range NAME=LO:HI.
 * Inputs that were not given are random; integer ranges are taken from their use in the graph (an index into
 * an axis of a known size). Wrong type, rank or size: die(65). */
struct input_spec {
	VEC(const char *) files;  /* "NAME=FILE" or "FILE.npz" */
	VEC(const char *) ranges; /* "NAME=LO:HI" */
	uint64_t seed;
	const int64_t *integer; /* what i32 and i64 are that index nothing; NULL: 0 or 1 */
};
struct tensor **inputs_make(struct module *m, const struct input_spec *s, struct arena *a);
#endif
