/* NumPy's .npy and .npz files (format 1.0 to 3.0; C and Fortran order in, C order out; .npz stored or
 * deflated in, stored out). Bad files: die(65) with file, offset, reason. */
#ifndef HONE_NPY_H
#define HONE_NPY_H
#include "common/outfile.h"
#include "graph/module.h"
#include "op/npy_elements.h"
struct named_tensor {
	char *name;
	struct tensor *t;
};
/* What is read may be of KIND_OTHER: npy_take says what it is. */
struct tensor *npy_read(const char *path, struct arena *a);
/* A file as rows along its first axis, of which only a few are in memory at a time; Fortran order is held as a whole. */
struct npy_rows {
	struct mapped file;
	struct tensor *whole;
	struct arena arena;
	size_t start;
	enum dtype dtype;
	struct npy_type type;
	int rank;
	int64_t dims[RANK_MAX];
};
struct npy_rows *npy_rows_open(const char *path);
/* Rows from..from + n, which must exist; rank 1 or more. To read rows again is slow. */
struct tensor *npy_rows_read(struct npy_rows *r, int64_t from, int64_t n, struct arena *a);
void npy_rows_close(struct npy_rows *r);
void npy_write(const char *path, const struct tensor *t);                   /* a tensor */
int npz_read(const char *path, struct arena *a, struct named_tensor **out); /* how many */
/* Values of any kind (op/values.h). */
void npz_write(const char *path, int n, const struct named_tensor *v);

/* Inputs of a run, as every tool takes them: -i NAME=FILE.npy (or -i FILE.npz), --seed, --range NAME=LO:HI. Other inputs are random;
 * the range of integers comes from their use in the graph (an index into an axis of known size). Wrong type, rank or size: die(65). */
struct input_spec {
	VEC(const char *) files;  /* "NAME=FILE" or "FILE.npz" */
	VEC(const char *) ranges; /* "NAME=LO:HI" */
	uint64_t seed;
	const int64_t *integer; /* the value of i32 and i64 that are no indices; NULL: as their use in the graph asks, else 0 or 1 */
};
struct tensor **inputs_make(struct module *m, const struct input_spec *s, struct arena *a);
#endif
