/* Which opset a node of the canonical opset needs, and how it is said in an older one. */
#ifndef HONE_OPSETS_H
#define HONE_OPSETS_H
#include "graph/module.h"

enum { EXPORT_OPSET_MIN = 13 };

/* The lowest opset, at least EXPORT_OPSET_MIN, at which n means the same. */
int opset_needed(struct module *m, const struct node *n);

int opset_needed_by_output(struct module *m, val_id v); /* of any graph */

/* A node as an older opset says it. */
struct lowered {
	uint32_t nin;	     /* operands kept, the first ones */
	const char *drop[4]; /* attributes left out; NULL after the last */
	struct attr add[1];  /* instead of what was dropped */
	int ndrop, nadd;
};
/* n at `opset`, which is at least what it needs. */
struct lowered opset_lower(struct module *m, const struct node *n, int opset);
int opset_ir_version(int opset);
#endif
