/* Proof that timed calls computed their results.
 *
 * While a kernel is timed, its inputs change from call to call: some elements are exchanged for those of another seed, and back. A list
 * and a state in the subject's process say which. The parent knows them too: from the number of calls it computes the inputs of the
 * last call, and checks single elements of its results. Kernels that share inputs share list and state, so that neither is favoured by
 * memory.
 *
 * A kernel that is faster must also be so in a proof: one call each on inputs that nobody has seen, in memory of their own (slots; as many
 * as fill half of the second-level cache), timed by the CPU time that the system charges the process. The parent made the inputs and
 * poisoned the results before, and checks some elements anywhere. So all calls were made, and remembering results does not help. */
#ifndef HONE_PROOF_H
#define HONE_PROOF_H
#include <stdint.h>
#include "runner/runner.h"

enum { CHANGES = 256 };
struct changes {
	_Alignas(64) struct change {
		uint32_t input, word; /* of 64 bits: its number */
		uint64_t delta;
	} a[CHANGES];
	uint32_t n; /* a power of two: so many, of different places; or 0 */
};
/* Which come next: two, so that a kernel that looks at half of its inputs is likely to see one. No call finds what the one before did. */
static inline void changes_next(const struct changes *l, uint32_t *state, const struct change *c[2])
{
	*state = *state * 1664525u + 1013904223u;
	c[0] = &l->a[*state >> 16 & (l->n - 1)];
	c[1] = &l->a[(*state >> 16 ^ l->n / 2) & (l->n - 1)];
}
static inline void changes_make(const struct changes *l, uint32_t *state, const void *const *in)
{
	const struct change *c[2];

	if (!l->n)
		return;
	changes_next(l, state, c);
	for (int k = 0; k < (l->n > 1 ? 2 : 1); k++)
		((uint64_t *)in[c[k]->input])[c[k]->word] ^= c[k]->delta;
}

struct proof {
	char *at; /* memory that both processes see */
	uint32_t slots;
	uint64_t stride;                  /* from slot to slot */
	uint64_t offset[RUNNER_BUFS_MAX]; /* of inputs and results in one */
};
static inline void *proof_buf(const struct proof *p, uint32_t slot, int i) { return p->at + slot * p->stride + p->offset[i]; }
/* Before the fork. Memory is taken only when it is used. NULL, or why not. */
struct runner_build;
const char *proof_open(struct proof *p, const struct runner_build *const of[2]);
void proof_close(struct proof *p);
#endif
