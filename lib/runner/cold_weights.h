/* Copies of a kernel's constants, as it stores them, one set behind the other: calls that are timed go around the sets
 * (try.h says why). They lie in a file in memory that outlives a try: filling one takes longer than many a try. Full,
 * it is sealed. */
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
/* The same bytes for both, where that can be: for the candidate, r[0], they are then foreign. How much of them the caches that all
 * cores share hold hangs on what was there before and what else the machine does, and may stay so for long, for one of two sets and
 * not the other (doc/runner.md). What both read is there for both, or for neither. Constants are floating ones of
 * one type (what is computed from them takes the same time, whichever they are) and of about as many bytes. */
void cold_join(struct cold_weights r[2], const struct runner_build *const b[2], uint64_t bytes);
/* What the contents hang on: kernels that agree in it share a file. */
struct digest cold_digest(struct digest task, const struct runner_build *b, const struct cold_weights *r);
/* Fills the file where that is not done yet. NULL, or why not. */
const char *cold_fill(const struct cold_weights *r, const struct oracle *o, const struct runner_build *b, const struct problem *constants);
#endif
