/* Which samples were counted, in constant memory: the least digests of all of them (bottom-k sketch, Cohen and Kaplan 2007). It depends on
 * the set of samples alone, and two sets that share many samples share digests. */
#ifndef HONE_QUANT_SEEN_H
#define HONE_QUANT_SEEN_H
#include "common/digest.h"

enum { SEEN_MOST = 64 };

struct seen {
	struct digest least[SEEN_MOST]; /* in order, each once */
	uint32_t n;
};

void seen_add(struct seen *s, struct digest sample);
void seen_merge(struct seen *s, const struct seen *from);
/* How many of the samples of `from` that can be compared s has; *of: how many can be. */
uint32_t seen_before(const struct seen *s, const struct seen *from, uint32_t *of);
#endif
