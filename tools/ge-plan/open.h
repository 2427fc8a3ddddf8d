/* Reports of what varies: sizes that only a run knows, and what runs the steps of such sizes. */
#ifndef HONE_PLAN_OPEN_H
#define HONE_PLAN_OPEN_H
#include "model/model.h"

/* Which inputs have sizes that only a run knows, between which numbers these lie, what runs the steps, which of them --set may make
 * faster, and how to give sizes. refuse: die(64) instead, unless the sizes are those of gears. Nothing if no size is open. */
void open_report(struct model *M, bool gears, bool refuse);
/* --why: the same of one call, in words; NULL: none of its sizes is open. In the arena of the module. */
const char *open_why(struct model *M, const struct call *c);
#endif
