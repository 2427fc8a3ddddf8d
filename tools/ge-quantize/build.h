/* A model that is being quantised. */
#ifndef HONE_GE_QUANTIZE_BUILD_H
#define HONE_GE_QUANTIZE_BUILD_H
#include "quantize.h"

struct replaced { /* a node whose result another value takes the place of */
	node_id node;
	val_id by;
};

struct build {
	struct plan *p;
	struct module *m;
	struct uses uses;
	const struct layer **layer; /* by node, of those that are quantised; NULL: it is not */
	struct layer *err;          /* as the plan's layers, or NULL */
	bool *bytes;                /* by value: it is to be bytes */
	val_id *kin;                /* by value: union-find of those with one scale */
	struct range *range;        /* by value, of its kin's first */
	val_id *read;               /* by value: what readers of bytes have of it */
	node_id *dynamic;           /* by value: the DynamicQuantizeLinear that reads it */
	val_id *codes, *scales;     /* by value, of tables; 0: not made yet */
	double *table_error;
	VEC(struct replaced) replaced;
};

/* A constant, named for a value and what it is of that. */
val_id constant(struct build *b, val_id of, const char *what, enum dtype t, int rank, const int64_t *dims, const void *data);
val_id add_node(struct build *b, enum opcode op, int nin, const val_id *in);

/* dynamic.c: node id, whose weights are r, as a product of integers whose first operand is quantised when it runs. bias: of n elements,
 * or NULL. */
void quantize_dynamic(struct build *b, node_id id, const struct weights_at *at, const struct tensor *w, const struct rounded_weights *r,
		      const double *bias);
/* table.c: node id takes rows of a table of bytes. */
void quantize_table(struct build *b, node_id id, const struct layer *l);
void dynamic_end(struct build *b); /* takes away the nodes that were replaced */
#endif
