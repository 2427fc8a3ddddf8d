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

/* How a node applies its bodies. */
enum body_use {
	BODY_OTHER,
	BODY_CALL, /* once, to all operands */
	BODY_IF,   /* the second where operand 0 is true, else the first */
	BODY_CASE, /* number operand 0; the last, where there is none */
	BODY_LOOP, /* again and again, while a condition and a trip count say so */
	BODY_SCAN, /* for each slice of operands */
	BODY_MAP,  /* for each element of sequences */
};
enum body_use node_body_use(const struct node *n);

/* Operands and results of loops, and what their body takes and gives, in this order: trip count and condition (BODY_LOOP alone); values that
 * are carried from step to step; operands of which each step takes a slice (BODY_SCAN); what it captures. Results: what is carried, then what
 * is collected, a slice a step. A BODY_LOOP's body gives the condition before these. Numbers wrap where a node has too few operands. */
struct looping {
	uint32_t head, ncarried, nscanned, ncaptured, ncollected;
};
struct looping node_looping(const struct node *n);

/* Do operands and results pass to body g and back as they are? A Case with `fit` may change their sizes, if they are not those of g. */
bool passes_unchanged(struct module *m, const struct node *n, graph_id g);

/* Body k of a call or of branches, in the order of enum body_use; 0 behind the last. */
graph_id node_branch(const struct node *n, uint32_t k);

/* The k-th graph that n's attributes name, 0 behind the last. */
graph_id node_body(const struct node *n, uint32_t k);
#endif
