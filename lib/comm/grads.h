/* The gradients of one backward pass in the order in which they become ready. As text "name<TAB>bytes<TAB>ready_us", one
 * line for each tensor, in that order; '#' starts a comment. Any framework can write it. */
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

/* For sharded training: replaces the reduce-scatter of the backward pass by the all-gather of the next forward pass, where each segment
 * of parameters must have arrived before its first use. With time reversed, that is the same problem: a parameter is "ready" at forward
 * - first use. First uses are taken to be the ready times of the backward pass in reverse order, scaled to the forward pass. No "#
 * forward" line: die(65). path: for the message. */
void grads_reverse(struct grads *g, const char *path);
#endif
