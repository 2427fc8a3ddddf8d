/* The parts of ge-grad. */
#ifndef HONE_GE_GRAD_H
#define HONE_GE_GRAD_H
#include "grad/grad.h"
#include "graph/pass.h"

/* ---- loss.c ---- */
bool loss_is(const char *name);
/* What --help lists. */
const char *loss_names(void);
/* The loss of that name: a new input for the labels, and the nodes that make one number of it and of v. Names that are taken, or a v that
 * the loss is not of: graph_die. */
val_id loss_make(struct grad *d, const char *loss, val_id v);

/* ---- weights.c ---- */
struct weights {
	VEC(val_id) is;    /* the constants that are trained, in the order in which the graph reads them */
	VEC(val_id) input; /* what stands for each */
};
/* Those of the main graph that reach v and that no pattern meets. A pattern that meets none, or all of them: die(64); none at all: die(65). */
struct weights weights_find(struct module *m, val_id v, size_t npattern, const char *const *pattern, const struct pass_ctx *c);
/* Each becomes an input of its name that has its value where none is given. */
void weights_free(struct module *m, struct weights *w);
#endif
