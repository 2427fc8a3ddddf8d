/* Which opset a node of the canonical opset needs, and how it is said in an older one. */
#ifndef HONE_OPSETS_H
#define HONE_OPSETS_H
#include "graph/module.h"

enum { OPSET_OLDEST = 7, OPSET_NONE = 255 };

/* An operand of n that no opset has; -1: each has one. */
int opset_own_operand(const struct node *n);

/* The lowest opset, at least OPSET_OLDEST, at which n means the same; OPSET_NONE: there is none. */
int opset_needed(struct module *m, const struct node *n);

/* Is n of a type that its operator had once, but has no more in `opset`? opset_expand puts casts around it. */
bool opset_lacks(struct module *m, const struct node *n, int opset);

int opset_needed_by_output(struct module *m, val_id v); /* of any graph */

/* A node as an older opset says it. */
struct lowered {
	uint32_t nin;        /* operands kept, the first ones */
	const char *drop[4]; /* attributes left out; NULL after the last */
	struct attr add[1];  /* instead of what was dropped */
	int ndrop, nadd;
};
/* n at `opset`, which is at least what it needs. */
struct lowered opset_lower(struct module *m, const struct node *n, int opset);
int opset_ir_version(int opset);

/* older.c: the same for opsets before 13. older_lower changes the node. */
int older_needed(struct module *m, const struct node *n);
void older_lower(struct module *m, node_id n, int opset);
/* Does an attribute say what an opset without it means? neutral: a number (for lists: of all elements), a
 * string; NULL: no value does. */
bool attr_is_neutral(const struct attr *a, const char *neutral);

/* expansions.c: nodes that need more than `opset`, in words that it has, where there are such; once types are
 * inferred. spread: Swish, too, which few runtimes have. */
void opset_expand(struct module *m, int opset, bool spread);
#endif
