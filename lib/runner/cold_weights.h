/* Cold weights: copies of a kernel's constants in its layout, one set after another. Timed calls go around the sets (try.h says why). The
 * copies lie in a memory file that outlives a try, because filling it takes longer than many a try. Once filled it is sealed. */
#ifndef HONE_COLD_WEIGHTS_H
#define HONE_COLD_WEIGHTS_H
#include "runner/oracle.h"
#include "runner/problem.h"

enum { COLD_COPIES_MAX = 256 };
struct cold_weights {
	int fd;                           /* -1: no file */
	int copies;                       /* 0: the kernel has no constants, or many times the bytes that are asked for */
	uint64_t stride;                  /* bytes from set to set */
	uint64_t used;                    /* of these, by constants */
	bool foreign;                     /* there are constants of the other kernel: for timing, not for results */
	uint64_t offset[RUNNER_BUFS_MAX]; /* of each constant in it */
};
/* That of a kernel by which bytes lie between two calls with the same set; without a file. */
struct cold_weights cold_of(const struct runner_build *b, uint64_t bytes);
static inline uint64_t cold_bytes(const struct cold_weights *r) { return (uint64_t)r->copies * r->stride; }
/* Sets that candidate and base share, if possible; the constants of the candidate, r[0], are then not its own. How much of a set stays in
 * the shared caches depends on what the machine did before and does besides, and may last, for one of two sets and not the other
 * (doc/runner.md). What both kernels read is cached for both, or for neither. Constants must be floats of one type (their values do
 * not change the time) and of similar size. */
void cold_join(struct cold_weights r[2], const struct runner_build *const b[2], uint64_t bytes);
/* What the contents depend on: kernels with the same digest share a file. */
struct digest cold_digest(struct digest task, const struct runner_build *b, const struct cold_weights *r);
/* Fills the file where that is not done yet. NULL, or why not. */
const char *cold_fill(const struct cold_weights *r, const struct oracle *o, const struct runner_build *b, const struct problem *constants);
#endif
