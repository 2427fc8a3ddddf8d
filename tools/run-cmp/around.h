/* Nodes that nothing here runs, cut out of a graph: what they give becomes an input, what they take an output. */
#ifndef HONE_AROUND_H
#define HONE_AROUND_H
#include "graph/module.h"

enum { AROUND_RESULTS = 16 };

struct around_node {
	sym op, name; /* of the node; how the two models' are paired */
	bool paired;
	const struct type *made[AROUND_RESULTS]; /* results of the reference that are made up; NULL: this one is not */
};

struct around {
	VEC(struct around_node) nodes; /* of the reference, in order */
	VEC(node_id) failed;           /* of the reference: found out by running it */
	struct module *reference;
	const char *lost; /* a node that the other model has and the reference has not; NULL: none */
};

/* Cuts the nodes of m's main graph that have no evaluator, that are in a->failed, or that take what cannot be made up.
 * Inputs and outputs made for it are called by the number of the node in the reference. Returns how many were cut. */
int around_cut(struct module *m, struct around *a, bool reference);
/* The node of m's main graph that a message about an evaluation names; 0: none. */
node_id around_named(struct module *m, const char *why);
#endif
