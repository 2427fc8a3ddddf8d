/* Tensors in one file in memory (memfd) that every try maps. Of a task: the inputs and right results for a few seeds. Of
 * a task and an algorithm: the constants of its kernels. */
#ifndef HONE_PROBLEM_H
#define HONE_PROBLEM_H
#include "device/oracle.h"

/* Seeds behind the first two have spikes: floats times 2^(10 u^2), u uniform, so that a few elements dwarf the others
 * and what only guards the range of numbers (the maximum of a softmax) is seen to be there. The smaller the task the more
 * of them; large ones have none. */
enum { PROBLEM_SEEDS = 2, PROBLEM_SPIKES = 16, PROBLEM_SPIKE_ELEMENTS = 1 << 20 };
struct problem { /* the head of the file */
	int n, nin, seeds;    /* tensors; the first nin are inputs, the others results; constants: 1 seed */
	double reduction;
	uint64_t head, bytes; /* of this; of the file */
	struct {
		struct oracle_tensor tensor;
		uint64_t bytes, at[PROBLEM_SEEDS + PROBLEM_SPIKES]; /* where its contents are */
	} t[RUNNER_BUFS_MAX];
};
/* Computes all that and writes it to fd. NULL, or why not. */
const char *problem_write(const struct oracle *o, const char *text, int fd);
const char *problem_write_constants(const struct oracle *o, const char *text, const char *algo, int fd);
/* Maps the head only, or all of it, for reading. NULL: the system would not. */
const struct problem *problem_map(int fd, bool all);
static inline const void *problem_data(const struct problem *p, int tensor, int seed)
{
	return (const char *)p + p->t[tensor].at[seed];
}
#endif
