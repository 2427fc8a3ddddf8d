/* What a runner must be told about a task, by the floors above it: inputs, constants, right results, layouts. */
#ifndef HONE_ORACLE_H
#define HONE_ORACLE_H
#include "runner/runner.h"
#include "graph/types.h"

enum { ORACLE_RANK_MAX = 8 };
/* Is a result of integers rounded from numbers that the oracle tells? */
enum oracle_rounded {
	ROUNDED_NOT,  /* or they are not known */
	ROUNDED_NEAR, /* they have rounding errors of their own */
	ROUNDED_EXACT /* they are the same in any order of computing them */
};
struct oracle_tensor {
	enum dtype dtype;
	int64_t n; /* elements */
	int rank;  /* of an input or a result; 0: a scalar, or unknown */
	int64_t shape[ORACLE_RANK_MAX];
	enum oracle_rounded rounded; /* of a result */
	enum dtype step;             /* of a result of floats: the coarsest type that what it is made of was rounded to on the way */
};
struct oracle_task {
	int nin, nout;
	const struct oracle_tensor *t; /* inputs, results */
	double reduction;              /* terms in the longest sum behind an element of a result; 1: none */
	double maximum;                /* terms in the longest maximum or minimum; 0: none, or not known */
	void *arg;
};
/* Logical data is row-major. Any of these may end the process: the first call for a task is made in one of its own. */
struct oracle {
	/* The task of a text; NULL and *why. What is returned lives as long as the process. */
	const struct oracle_task *(*open)(const char *text, const char **why);
	void (*inputs)(const struct oracle_task *t, uint64_t seed, void *const *dst);
	/* Results; then, of each, what its elements were before they were rounded, if it is. */
	void (*eval)(const struct oracle_task *t, void *const *in, void *const *out, float *const *before);
	/* Constants of kernels by that algorithm: types (at most max) and contents; how many, -1: no such algorithm. */
	int (*constants)(const struct oracle_task *t, const char *algo, struct oracle_tensor *types, const void **data, int max);
	/* n elements of a result in double; false: it has no way to do that. May be NULL. */
	bool (*points)(const struct oracle_task *t, void *const *in, int out, int n, const int64_t *element, double *value);
	/* NULL, or why b is no storage of n elements. */
	const char *(*buffer)(const struct runner_buf *b, int64_t n);
	/* Logical data into storage of that layout, padding zero; and back. */
	void (*pack)(const struct runner_buf *b, const void *src, void *dst);
	void (*unpack)(const struct runner_buf *b, const void *src, void *dst);
};
#endif
