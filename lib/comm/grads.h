/* The gradients of one backward pass in the order in which they become ready. As text "name<TAB>bytes<TAB>ready_us", a
 * tensor a line in ready order; '#' starts a comment. Any framework can write it. */
#ifndef HONE_GRADS_H
#define HONE_GRADS_H
#include <stdbool.h>
#include <stdint.h>
#include "common/arena.h"
#include "common/vec.h"

struct grad {
	const char *name;
	double bytes, ready; /* ready: us since the backward pass began */
};
struct grads {
	VEC(struct grad) at; /* ready not falling; may be none */
	bool estimated;      /* the first line says "# estimated" */
	double forward;      /* us, from a line "# forward US"; 0: not known */
	struct arena arena;
};
/* Negative or missing numbers, ready times that fall: die(65) with file and line. */
void grads_read(struct grads *g, const char *path);
void grads_write(const struct grads *g, const char *path);
void grads_free(struct grads *g);
#endif
