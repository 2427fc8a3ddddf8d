/* Calls of untrusted code: on a stack of its own, with random numbers in the registers that it must preserve and around the stack. It cannot
 * reach the caller's counters or addresses except by searching all of memory, and what it leaves changed is found at once. (That a
 * call was made at all follows from its results: runner/proof.h.) */
#ifndef HONE_GUARD_H
#define HONE_GUARD_H
#include <stdbool.h>
#include <stddef.h>
#include "common/rng.h"

typedef void kernel(const void *const *in, const void *const *constants, void *const *out, char *workspace);

enum { GUARD_STACK = 8 << 20, GUARD_BELOW_MAX = 4096 };
/* Its stack. False: no memory. */
bool guard_open(void);
/* The stack begins so many bytes lower, with other numbers around it and in registers. litter: also in what lies below. */
void guard_place(struct rng *r, size_t below, size_t litter);
/* false: it does not keep what it must. Meant for the time of short kernels: a few ns. */
bool guard_call(kernel *f, const void *const *in, const void *const *constants, void *const *out, char *workspace);
/* NULL, or what a call since guard_place has not kept. */
const char *guard_broken(void);
#endif
