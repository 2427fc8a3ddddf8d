/* Elements as NumPy's files hold them. Private to lib/op.
 *
 * Numbers, bool, complex: as they are. Strings: 'U', characters of 4 bytes, or 'S', bytes; both filled up with zeros. Types that NumPy does
 * not have are read from arrays of ml_dtypes, which the file calls bytes ('V') without saying of what; they are tensors of KIND_OTHER,
 * until npy_take says what type is wanted. They are written as f32 or as integers of 8 bits, which hold the same numbers. */
#ifndef HONE_NPY_ELEMENTS_H
#define HONE_NPY_ELEMENTS_H
#include "graph/module.h"

struct npy_type {
	char kind;   /* NumPy's letter */
	size_t size; /* bytes of an element */
	bool swap;   /* big end first */
};
/* The type that n characters behind the first ("f4") name; kind 0: none of these. */
struct npy_type npy_type_parse(const char *text, size_t n);
enum dtype npy_dtype(struct npy_type t);
/* count elements in row-major order. NULL and *why: they are none. */
struct tensor *npy_decode(struct npy_type t, int rank, const int64_t *dims, const void *p, struct arena *a, const char **why);

/* The type of file that t is written as; kind 0 and *why: none. */
struct npy_type npy_type_of(const struct tensor *t, const char **why);
void npy_encode(const struct tensor *t, struct npy_type as, unsigned char *to);
/* What numbers of a type are written as: itself where NumPy has it. */
enum dtype npy_written_as(enum dtype t);
/* x, from a file, as a tensor of the type that is wanted: itself, or the same numbers in a type that files do not have. NULL: it is of
 * another; *why, if not NULL then: a number does not fit. */
struct tensor *npy_take(struct tensor *x, enum dtype want, struct arena *a, const char **why);
#endif
