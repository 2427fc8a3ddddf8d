/* Descents, for strategies that begin with them. */
#ifndef HONE_DESCENT_H
#define HONE_DESCENT_H
#include "search/strategy.h"

struct descent;
struct descent *descent_new(void);
/* What descents ask for; *end: they have come to their end. */
size_t descent_propose(struct search *s, struct descent *d, size_t n, struct point **out, bool *end);
/* At their end: what they had left out around the best. */
size_t descent_leftovers(struct search *s, struct descent *d, size_t n, struct point **out);
void descent_free(struct descent *d);
#endif
