/* Two modules side by side. */
#ifndef GE_DIFF_H
#define GE_DIFF_H
#include "graph/textform.h"

enum { A, B, SIDES };

struct side {
	struct module *m;
	const char *path;
	struct text_writer w; /* its f is the report */
	graph_id *graph;      /* by graph: the graph of the other side with its label, 0 for none */
	node_id *node;        /* by node: the node of the other side that it is, 0 for none */
	graph_id *in;         /* by node: its graph */
};
struct diff {
	struct side side[SIDES];
};

/* Finds each node on the other side: by its graph and first result, else by its first result where that is the name of one node left on
 * each side, else as the only one left that does the same with the same operands. */
void match(struct diff *d);
void match_free(struct diff *d);
/* Is value a of A value b of B: one of the same name, the same result of the same node, or a constant of the same bytes? */
bool same_value(struct diff *d, val_id a, val_id b);
bool same_tensor(struct diff *d, struct tensor *a, struct tensor *b);
bool same_attr(struct diff *d, const struct attr *a, const struct attr *b);
bool same_type(struct diff *d, const struct type *a, const struct type *b);
/* Does node a of A differ from node b of B in anything but the graph that it is in? */
bool changed(struct diff *d, node_id a, node_id b);

/* all: lists are not cut short. color: with the sequences of a terminal. */
void print_text(struct diff *d, FILE *f, bool all, bool color);
#endif
