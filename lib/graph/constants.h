/* Equal constants. */
#ifndef HONE_CONSTANTS_H
#define HONE_CONSTANTS_H
#include "graph/module.h"

/* By value: of a constant that an earlier one equals in type, shape and bytes, the first such; else 0. Inputs with a default are no
 * constants. Free it. */
val_id *constants_first(struct module *m);
#endif
