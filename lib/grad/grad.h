/* Gradients: of each operator, the derivative by each of its operands, as ONNX nodes; and the way back through a graph. */
#ifndef HONE_GRAD_H
#define HONE_GRAD_H
#include "graph/module.h"

struct grad {
	struct module *m;
	graph_id graph; /* new nodes go to its end */
	/* The type of a value, as far as it is known. NULL: nodes that are made here are inferred when somebody asks. */
	const struct type *(*type)(void *arg, val_id v);
	void *arg;
	size_t nvalues;  /* of the module before anything was made; the arrays are by value */
	val_id *is;      /* what stands for a value, 0: itself; NULL: each for itself */
	val_id *sum;     /* derivatives by a value so far, 0: none */
	bool *active;    /* it depends on what is differentiated by */
	const char *why; /* set where a rule refuses its node and knows why; else NULL */
};

/* Does the operator have a row? Without one its results have no derivative, and say nothing of why. */
bool grad_knows(enum opcode op);
/* Is it constant wherever it has a derivative at all, as Floor is, or are its results no numbers to differentiate? */
bool grad_is_flat(const struct node *n);
/* Is operand i no weight: statistics of BatchNormalization, bounds, scales of sizes? */
bool grad_is_setting(enum opcode op, uint32_t i);

/* Adds the derivatives of the node's results, which are in d->sum, to those of its active operands. False: it has none. */
bool grad_back(struct grad *d, node_id n);

/* The type of v, as far as it is known. */
const struct type *grad_type(struct grad *d, val_id v);
/* A node of that operator, with one result. Operands that are 0 at the end are left out. */
val_id grad_make(struct grad *d, enum opcode op, int nin, const val_id *in);
val_id grad_scalar(struct grad *d, enum dtype t, double c);
val_id grad_ints(struct grad *d, int n, const int64_t *v);
/* op, Reshape or Expand, of g to v's shape. */
val_id grad_shaped_like(struct grad *d, enum opcode op, val_id g, val_id v);
/* A tensor of v's shape full of c. */
val_id grad_filled_like(struct grad *d, val_id v, enum dtype t, double c);
/* g summed over the axes along which v was broadcast to g's shape. 0: the extents are not known. */
val_id grad_as_large(struct grad *d, val_id g, val_id v);
#endif
