/* Tensors in one file in memory (memfd) that every try maps. Of a task: the inputs and right results for a few seeds. Of
 * a task and an algorithm: the constants of its kernels. */
#ifndef HONE_PROBLEM_H
#define HONE_PROBLEM_H
#include "runner/oracle.h"

/* Seeds behind the first two have adversarial inputs (adversarial.h). The smaller the task the more of them; large ones have none. */
enum { PROBLEM_SEEDS = 2 };
struct problem {           /* the head of the file */
	int n, nin, seeds; /* tensors; the first nin are inputs, the others results; constants: 1 seed */
	double reduction;
	uint64_t head, bytes; /* of this; of the file */
	struct {
		struct oracle_tensor tensor;
		uint64_t bytes, at, stride;     /* of its contents; where they are for the first seed, and from seed to seed */
		uint64_t before, before_stride; /* the same of what its elements were before they were rounded; 0: they are not */
	} t[RUNNER_BUFS_MAX];
};
/* Computes all that and writes it to fd. NULL, or why not: so few numbers between the lowest and the highest of a type that a kernel
 * could hardly be wrong. */
const char *problem_write(const struct oracle *o, const char *text, int fd);
const char *problem_write_constants(const struct oracle *o, const char *text, const char *algo, int fd);
void problem_ends(enum dtype t, double *lo, double *hi);
/* Maps the head only, or all of it, for reading. NULL: the system would not. */
const struct problem *problem_map(int fd, bool all);
void problem_unmap(const struct problem *p, bool all); /* may be NULL */
static inline const void *problem_data(const struct problem *p, int tensor, int seed)
{
	return (const char *)p + p->t[tensor].at + (uint64_t)seed * p->t[tensor].stride;
}
/* NULL: that is not known. */
static inline const float *problem_before(const struct problem *p, int tensor, int seed)
{
	return p->t[tensor].before ? (const float *)((const char *)p + p->t[tensor].before + (uint64_t)seed * p->t[tensor].before_stride)
				   : NULL;
}
#endif
