/* The check of a quantised model layer by layer: each is computed from the codes that the other side made before it, so that a number
 * that was rounded the other way is counted once and not where it leads. */
#ifndef HONE_LAYERS_H
#define HONE_LAYERS_H
#include "source.h"

/* A QuantizeLinear whose result is an output. */
struct layer {
	size_t out;    /* which output */
	size_t before; /* the output that was added for what it rounds */
	node_id node;
};
struct layers {
	struct source cut;  /* the reference; what reads an output of codes reads an input in its place */
	size_t nin, nout;   /* inputs and outputs of the reference */
	VEC(size_t) forced; /* output whose codes input nin + i has */
	VEC(struct layer) layer;
};
/* How the codes of a layer lie to the numbers they were rounded from, in steps of the quantiser. */
struct rounding {
	int64_t other; /* codes that are not the nearest */
	double far;    /* the largest distance of such a number from the middle between its two codes; a code two away: over 1 */
	int64_t at;    /* the element */
};

/* The reference in `path`, a graph whose outputs are the codes of its quantisers, as by ge-prune --codes. */
void layers_open(struct layers *l, const char *path);
/* Its outputs on the inputs `in`, by the codes among y, which has all its outputs by name. The numbers before rounding follow. */
struct outputs layers_run(struct layers *l, struct tensor **in, const struct outputs *y, struct arena *a);
/* The layer whose codes are output i; NULL: it is none of a quantiser. */
const struct layer *layers_find(const struct layers *l, size_t i);
/* Codes of a layer against the numbers before their rounding. y and r: of one shape and type; r: the nearest codes. */
struct rounding layers_rounding(struct layers *l, const struct layer *k, const struct tensor *y, const struct tensor *r,
				const struct tensor *before);
#endif
