#ifndef GE_NARROW_H
#define GE_NARROW_H
#include "op/pass.h"

/* States that only take rows (Concat, TensorScatter) are kept in the type, which is narrower than theirs; others stay, and it says why. */
void narrow_states(struct module *m, const struct pass_ctx *c, enum dtype type);
#endif
