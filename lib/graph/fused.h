/* Groups of nodes as Fused nodes, and back. */
#ifndef HONE_FUSED_H
#define HONE_FUSED_H
#include "graph/pass.h"

/* Groups of the nodes of one graph. */
struct grouping {
	const struct uses *uses; /* of the module before any group was formed */
	const uint32_t *group;   /* node: its group, from 1; 0: it stays as it is */
	const node_id *head;     /* group: the node it is named after; [0] unused */
	size_t n;                /* of head */
	val_id *inner;           /* value of the module before: scratch, all 0, and left so */
};
/* Makes a Fused node of each group, where its last node stood. Where nodes between those of a group read its results the order is wrong
 * then: graph_sort. */
void groups_form(struct module *m, graph_id g, const struct grouping *p);
/* A loose Fused node that computes copies of a, then b. a has one result, made by a node of its body and read by b alone; it becomes
 * internal. suffix: as in graph_clone. */
node_id fused_join(struct module *m, node_id a, node_id b, const char *suffix);
/* Gives Fused node n this trace; NULL: none. What it was predicted to take was by another schedule, and goes. */
void fused_set_trace(struct module *m, node_id n, const char *trace);
/* Seconds that Fused node n is predicted to take, in the attribute "picoseconds": three digits of them, as no machine computes the others
 * alike. To be set after the trace. 0: nothing is known. */
void fused_set_seconds(struct module *m, node_id n, double seconds);
double fused_seconds(struct module *m, node_id n);
/* Do results of Fused node n stay row-major, whatever ge-layout would choose? */
bool fused_is_row_major(struct module *m, node_id n);
void fused_set_row_major(struct module *m, node_id n);
/* How many threads the kernel of Fused node n uses at most, whatever the library may; 0: as many as it may. */
int fused_threads(struct module *m, node_id n);
void fused_set_threads(struct module *m, node_id n, int threads);
/* Puts the bodies of all Fused nodes of graph g back in their place. */
void groups_dissolve(struct module *m, graph_id g, const struct pass_ctx *c);
#endif
