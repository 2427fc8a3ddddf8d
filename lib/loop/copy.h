/* Inside loop_legalize: the copy of a nest, piece by piece. legalize.c copies; pieces.c says which pieces loops have whose extents vary
 * with parameters. */
#ifndef HONE_COPY_H
#define HONE_COPY_H
#include "loop/nest.h"

struct clone {
	stage_id from, to;
	uint32_t gen;
};

/* The state of the copy. A piece of a loop has its own variable, its own local buffers, and its own stages where these touch
 * such buffers: maps from old to new ones, for the pieces that are being copied. */
struct copy {
	struct loop_prog *p;
	int nv;
	poly_var v[2 * NEST_DEPTH_MAX]; /* loop variables, and sizes of tiles, */
	poly by[2 * NEST_DEPTH_MAX];    /* and what replaces them */
	int nb;
	buf_id from[64], to[64];
	VEC(struct clone) stages;
	uint32_t gen;   /* changes whenever the buffer map does */
	uint32_t teams; /* parallel loops so far */
	int blocks;     /* copied so far */
	bool in_call;   /* inside an instruction: loops are copied whole */
	const char *why;
};

static inline poly copy_sub(struct copy *c, poly e) { return e == POLY_UNKNOWN ? e : poly_subst_many(c->p->P, e, c->nv, c->v, c->by); }

/* What a piece of a loop over tiles is: the variable is begin + step * the piece's variable, the size of the tile is len. Where it runs,
 * known >= 0 (0: nothing is). */
struct tiles {
	poly begin, len, known;
};

/* Copies `extent` iterations of loop `from`, starting at `first`. A piece of one iteration needs no loop; it has one all the same if
 * the loop is parallel (threads divide its iterations), an instruction, or a function of its own. */
void copy_piece(struct copy *c, nest_id from, poly first, poly extent, nest_id seq, uint32_t team, const struct tiles *tiles);

/* ---- pieces.c ---- */
/* A loop over tiles: the whole ones; then what is left. */
void copy_tiles(struct copy *c, nest_id from, nest_id seq, uint32_t team);
/* A loop that is cut where guards change: before they hold, while they do, after. */
void copy_parts(struct copy *c, nest_id from, nest_id seq, poly extent, uint32_t team);
/* Does g >= 0 follow from the loops around the new seq? */
bool copy_holds(struct loop_prog *p, poly g, nest_id seq);
/* The new block's stage becomes a copy of it whose body has fewer guards, where the loops around seq decide some. */
void copy_decide(struct loop_prog *p, nest_id block, nest_id seq);
/* Does the new block add nothing in any iteration: does a condition, without which its reduction reads what changes nothing, never hold? */
bool copy_idle(struct loop_prog *p, nest_id block);
/* Where a reduction reads a fill that changes nothing, its block does not run: conditions that are one for a whole step of the reduction
 * become guards of the new block. */
void copy_skip(struct loop_prog *p, nest_id block, nest_id seq);
#endif
