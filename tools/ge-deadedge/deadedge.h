/* One round of ge-deadedge, and what its two halves give each other. */
#ifndef GE_DEADEDGE_H
#define GE_DEADEDGE_H
#include "graph/equal.h"
#include "graph/inline.h"
#include "op/pass.h"
#include "op/op.h"

struct round {
	struct module *m;
	const struct pass_ctx *c;
	struct known *known; /* by value, of those there were when the round began */
	size_t nvalues;
	VEC(val_id) fwd; /* by value: what replaces it */
	uint32_t *users; /* by graph: nodes of the round's graphs that name it */
	struct inlined inlined;
	struct graph order;    /* the nodes of the graph that is being rewritten, as far as they are settled */
	VEC(const char *) why; /* by node: why it was kept, when it was last looked at */
	size_t copies;         /* nodes that came from bodies, in all rounds */
	bool changed;
};

/* v is one whole number (or truth value), known before any run. */
bool known_int(struct round *r, val_id v, int64_t *c);
/* v is an output of graph g. */
bool is_output(struct round *r, graph_id g, val_id v);
/* All uses of result old of a node of g become uses of by; an output of the model gets a node that computes it. */
void replace_result(struct round *r, graph_id g, val_id old, val_id by);
/* Copies of the nodes of body go to the order of g: in stands for its inputs, out are its outputs. False: there are too
 * many copies already. */
bool put_body(struct round *r, graph_id g, graph_id body, uint32_t nin, const val_id *in, uint32_t nout, const val_id *out);

/* False. What --why says of node id, if it is there at the end. */
bool kept(struct round *r, node_id id, const char *why);

/* A Loop that makes no step or one. False: it stays, with less state where no step changes some. */
bool loop(struct round *r, node_id id);
#endif
