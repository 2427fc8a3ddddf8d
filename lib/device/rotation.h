/* Copies of a kernel's constants, as it stores them, one set behind the other: calls that are timed go around the sets
 * (trial.h says why). They lie in a file in memory that outlives a try: filling one takes longer than many a try. Full,
 * it is sealed. */
#ifndef HONE_ROTATION_H
#define HONE_ROTATION_H
#include "device/oracle.h"
#include "device/problem.h"

enum { ROTATION_COPIES_MAX = 256 };
struct rotation {
	int fd;          /* -1: no file */
	int copies;      /* 0: the kernel has no constants, or as many bytes of them as are asked for */
	uint64_t stride; /* bytes of a set */
	uint64_t offset[RUNNER_BUFS_MAX]; /* of each constant in it */
};
/* That of a kernel by which bytes lie between two calls with the same set; without a file. */
struct rotation rotation_of(const struct runner_build *b, uint64_t bytes);
static inline uint64_t rotation_bytes(const struct rotation *r)
{
	return (uint64_t)r->copies * r->stride;
}
/* What the contents hang on: kernels that agree in it share a file. */
struct digest rotation_digest(struct digest task, const struct runner_build *b, const struct rotation *r);
/* Fills the file where that is not done yet. NULL, or why not. */
const char *rotation_fill(const struct rotation *r, const struct oracle *o, const struct runner_build *b, const struct problem *constants);
#endif
