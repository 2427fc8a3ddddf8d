/* Descents, for strategies that begin with them. */
#ifndef HONE_DESCENT_H
#define HONE_DESCENT_H
#include "search/strategy.h"

struct descent;
struct descent *descent_new(void);
/* The next points of descents; *end: there are no more. */
size_t descent_propose(struct search *s, struct descent *d, size_t n, struct point **out, bool *end);
/* After their end: neighbours of the best that they left out. */
size_t descent_leftovers(struct search *s, struct descent *d, size_t n, struct point **out);
void descent_free(struct descent *d);
#endif
