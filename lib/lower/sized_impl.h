/* Inside of sized*.c only. */
#ifndef HONE_SIZED_IMPL_H
#define HONE_SIZED_IMPL_H
#include "lower/sized.h"

/* Are the results of q, for the values of its parameters, those of p, the program for these sizes? Of random operands; constants are q's.
 * true also where that cannot be compared: the constants are others, or too much is to be computed. */
bool sized_agrees(struct module *m, const struct lowered *q, const struct lowered *p);
#endif
