/* The gradients of one backward pass in the order in which they become ready. As text "name<TAB>bytes<TAB>ready_us", a
 * tensor a line in ready order; '#' starts a comment. Any framework can write it. */
#ifndef HONE_GRADS_H
#define HONE_GRADS_H
#include <stdbool.h>
#include <stddef.h>
#include "common/vec.h"

struct grad {
	const char *name;
	double bytes, ready; /* bytes: whole; ready: us since the backward pass began */
};
struct grads {
	VEC(struct grad) at; /* ready not falling; may be none */
	bool estimated;      /* the first line says "# estimated" */
	double forward;      /* us that the forward pass takes, from a line "# forward US"; 0: not known */
	char *text;          /* what the names point into; may be NULL */
};
/* Negative or missing numbers, ready times that fall: die(65) with file and line. */
void grads_read(struct grads *g, const char *path);
void grads_write(const struct grads *g, const char *path);
void grads_free(struct grads *g);

/* Turns the problem of the backward pass into that of the next forward pass, where each segment of parameters is gathered
 * before the first use of one, last segment first. With time reversed a parameter is "ready" when its last use is over
 * and the gathering covers what lies between: the same problem with ready times forward - first use. First uses mirror the
 * backward pass: ready times are scaled to the forward pass. No "# forward": die(65). path: for the message. */
void grads_reverse(struct grads *g, const char *path);
#endif
