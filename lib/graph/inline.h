/* Bodies in the place of the node that applies them. */
#ifndef HONE_INLINE_H
#define HONE_INLINE_H
#include "graph/module.h"

/* What stands for the values of a body outside, by value. Empty between two calls of inline_body. */
struct inlined {
	val_id *a;
	size_t n, cap;
};

/* Appends to order, an order of graph g, copies of the nodes of body (which may be shared, and stays as it is). in
 * (of g, or constants) stands for its inputs, 0 for what is absent; its outputs get the values out, 0 for what is not
 * wanted. Where an output is a constant or an input of the body, or has been given another of out, instead fwd[out[k]]
 * is set to what it is; fwd has an entry for each value that was there before. */
void inline_body(struct inlined *x, struct module *m, graph_id body, graph_id g, uint32_t nin, const val_id *in, uint32_t nout,
		 const val_id *out, val_id *fwd, struct graph *order);
/* A value like v in graph g, defined by nothing yet. */
val_id value_copy(struct module *m, val_id v, graph_id g);
#endif
