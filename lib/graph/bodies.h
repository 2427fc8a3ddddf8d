/* How a node's operands and results meet the inputs and outputs of its bodies. */
#ifndef HONE_BODIES_H
#define HONE_BODIES_H
#include "graph/module.h"

struct passing {
	uint32_t operands; /* so many last operands are, in order, so many last inputs of each body */
	bool results;      /* results are the bodies' outputs, one to one */
};
/* Calls and branches pass all they do not need themselves; loops their captured values. */
struct passing node_passing(const struct node *n);

/* The k-th graph that n's attributes name, 0 behind the last. */
graph_id node_body(const struct node *n, uint32_t k);
#endif
