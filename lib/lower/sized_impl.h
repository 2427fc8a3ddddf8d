/* Inside of sized*.c only. */
#ifndef HONE_SIZED_IMPL_H
#define HONE_SIZED_IMPL_H
#include "lower/sized.h"

static inline int64_t sized_gcd(int64_t a, int64_t b) { return b ? sized_gcd(b, a % b) : a; }

/* ---- sized_group.c ---- */

/* Values of a group, their types, and the symbols in them. */
struct group {
	struct module *m;
	const struct graph *body; /* what it computes */
	VEC(val_id) v;
	VEC(dim *) dims;     /* where the group has a result with elements */
	VEC(dim *) declared; /* as they are */
	int n;
	int64_t rest;  /* sizes are so much more than a multiple of that */
	bool beyond;   /* short ranges of sizes, of which too few values are seen, have no end: the kernel is for larger sizes as well */
	int64_t scale; /* sizes are about so many times larger, so that none of the group is 1 */
	struct sized_for sizes;
	poly_var symbol[LOOP_PARAMS_MAX];
	poly stands_for[LOOP_PARAMS_MAX]; /* the branch or floor that is meant where the symbol occurs; POLY_UNKNOWN: itself */
	int64_t least[LOOP_PARAMS_MAX];   /* value of each symbol with which the group has a result with elements; 0: not known */
	const char *why;
};
/* The group of Fused node n. Its why is set, if it cannot be lowered. */
struct group sized_group(struct module *m, node_id n, struct sized_for sizes);
void sized_group_release(struct group *g);

/* ---- sized_points.c ---- */

/* A group is lowered for POINTS sizes, which must tell the numbers that are forms of sizes apart (sized_grid.c and sized_check.c look at
 * others), and for its usual sizes. */
enum { POINTS = 5, USUAL = POINTS };
/* Values that symbol k may have, or more: kernels are made for them. */
void sized_range(const struct group *g, int k, int64_t *lo, int64_t *hi);
/* Sets g's `beyond`, if a range is so short that it says more then. */
bool sized_go_beyond(struct group *g);
/* Sizes of symbol k at which the group has a result with elements: from *lo to *hi, by the step that is returned. */
int64_t sized_values(const struct group *g, int k, int64_t *lo, int64_t *hi);
/* Size of symbol k at a point: primes, so that no product is another; the usual size last: of images a few, of rows many. */
int64_t sized_at(const struct group *g, int point, int k);
/* The values of the module's symbols, where those of the group are size[]. Free it. */
int64_t *sized_symbols(const struct group *g, const int64_t *size);
/* NULL, or a size of the group of which the points do not show what it is. */
const char *sized_unseen(const struct group *g, const int64_t (*at)[LOOP_PARAMS_MAX]);
/* The types of the group's values, where its symbols are size[]; NULL: as they are. */
void sized_set_types(struct group *g, const int64_t *size);
/* Sizes for which nothing that varies is 1: an axis of one step would vanish. All that is halved is odd alike, or even: of an even
 * size a window of steps of two reads no border at the end. */
void sized_choose_scale(struct group *g);
/* Chooses the sizes of the last points. Odd ones differ most at borders: windows with steps and tiles of four reach beyond them. */
void sized_choose_rest(struct group *g);

/* ---- sized_check.c, sized_branch.c, sized_stand.c, sized_grid.c ---- */

/* Are the results of q, for the values of its parameters, those of p, the program for these sizes? Of random operands; constants are q's,
 * or p's own. true also where that cannot be compared: q has other constants, or too much is to be computed. */
bool sized_agrees(struct module *m, const struct lowered *q, const struct lowered *p, bool own);
/* Puts into each of n sizes what branches in them are wherever all sizes of a result are 1 or more (sized_branch.c). */
void sized_settle(struct polys *P, int n, poly *e, int nresult, const dim *result);
/* Where the symbol occurs in n sizes in one branch alone, as min(symbol, a number), or in one floor, as floor((symbol + 15)/16), they are made
 * sizes of the symbol in its place: kernels of one form are then equal. Returns the branch or floor; POLY_UNKNOWN: nothing was done. */
poly sized_stand(struct polys *P, int n, poly *const *e, poly_var symbol);
/* c, where e is floor(a/c) and nothing else; else 1. */
int64_t sized_divisor(struct polys *P, poly e);
/* e with `by` in the place of an atom, inside others too. */
poly sized_put(struct polys *P, poly e, uint32_t id, poly by);
/* The outermost branch, an atom, in e that depends on the symbol (0: any); 0: there is none. */
uint32_t sized_branch(struct polys *P, poly e, poly_var symbol);
/* The branch that is an atom, as a size. */
poly sized_branch_size(struct polys *P, uint32_t id);
/* New symbols, at most `max`, in the place of all branches in n sizes (sized_stand.c). How many; -1: they do not do. */
struct stand {
	poly_var symbol;
	poly is; /* what it stands for */
};
int sized_stands(struct polys *P, int n, poly *const *e, int max, struct stand *s);
/* A new symbol for the size `is`, where it is one of n sizes. */
struct stand sized_whole(struct polys *P, int n, poly *const *e, poly is);
/* New symbols for a part and for the others of `all` sizes, which are a symbol, the part, `rest` and the others. As sized_stands. */
int sized_part(struct polys *P, int n, poly *const *e, poly all, poly part, int64_t rest, struct stand *s);
/* The least value of a symbol with which e can be 1 or more, as far as intervals tell. */
int64_t sized_least(struct polys *P, poly e, poly_var symbol);
/* Sizes of a symbol to try: any one and so many more, each `step` larger. size: of n values. */
struct sized_axis {
	int64_t step, count;
};
struct sized_axis sized_axis(struct polys *P, poly_var symbol, size_t n, const int *rank, dim *const *size);
#endif
