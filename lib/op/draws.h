/* What integers of an input work, by what the graph does with them. */
#ifndef HONE_DRAWS_H
#define HONE_DRAWS_H
#include "op/op.h"

enum draw_pattern {
	DRAW_EACH,     /* each element by itself */
	DRAW_DISTINCT, /* no two are equal: axes */
	DRAW_PARTS,    /* they add up to hi */
	DRAW_FREE,     /* the first is -1, all others 1: the shape that a Reshape asks for */
};

/* Elements from lo to hi. */
struct draw {
	double lo, hi;
	enum draw_pattern pattern;
	bool index; /* other integers are out of range */
};

/* *d: what integers of input v work. False: nothing is known of its uses. */
bool draw_of(struct module *m, const struct uses *u, val_id v, struct draw *d);
#endif
