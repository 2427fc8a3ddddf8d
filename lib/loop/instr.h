/* Nests that are target instructions (rows of target/instr.h). */
#ifndef HONE_INSTR_H
#define HONE_INSTR_H
#include "loop/loop.h"
#include "target/instr.h"

/* Rows of all backends are numbered from 1, the generic ones first; NULL: no such row. */
const struct instr *instr_row(int n);
int instr_find(const struct target *t, const char *name); /* of t's backend or the generic one; NULL: of any. 0: none */

/* The first row that t has, and where it is to be measured was measured to be worth it, for a dot product: sums of i32 or f32 of
 * products of groups of neighbours, of a that all sums share (each: of one that they have each their own of) and b that they have each
 * their own of. 0: none. */
int instr_dot(const struct target *t, enum dtype a, enum dtype b, bool each);

/* The first such row that multiplies several rows of a with several columns of b, which each lie as in a dot product. 0: none, or a dot product
 * is as fast by the rates of both. */
int instr_matrix(const struct target *t, enum dtype a, enum dtype b);
/* Row n, a row of sums of products: the products that it adds to a sum, the sums that it adds to, and the rows of a that these are of. */
int64_t instr_group(int n);
int64_t instr_sums(int n);
int64_t instr_rows(int n);

/* The first row that t has for sums of products with codes of 4 bits, two a byte. 0: none. */
int instr_nibbles(const struct target *t);

/* The first row that t has for tiles: rows and columns of whole sums of i32, each of so many products of i8. 0: none. */
int instr_tile(const struct target *t, int64_t products);
/* The first row that t has for codes of 4 bits, two a byte, that become i8 without their zero point 8. 0: none. */
int instr_widen(const struct target *t);

/* The first row that t has for sums of products in f16, which is measured to be faster than in f32. 0: none. */
int instr_halves(const struct target *t);

/* The highest rate measured of a row that t has for sums of products of two elements of type e (target/rate.h). 0: none was. */
double instr_rate(const struct target *t, enum dtype e);

/* How the nest under loop is an instruction. Polynomials in the loops around it. */
struct instr_use {
	nest_id block, loop[INSTR_LOOPS];
	poly extent[INSTR_LOOPS];
	int nread;
	ex_id read[INSTR_READS];
	poly at[INSTR_READS], out;                                  /* offsets of the first elements */
	poly step[INSTR_READS][INSTR_LOOPS], out_step[INSTR_LOOPS]; /* the same in each step */
	poly filled;                                                /* steps of the innermost loop in which a is read; unknown: all */
	poly number;                                                /* i of the row's body; unknown: it has none */
	bool whole;                                                 /* all steps, no fill: else it needs the row's part text */
	bool rows_whole;                                            /* all steps but of the outermost loop */
};
/* NULL, or why the nest under loop is no such instruction. Variables v[0..n) stand for by[0..n) (unrolled loops). Loops
 * may be shorter than the row's; if its text needs all of them, use->whole says whether it can be used. */
const char *instr_match(struct loop_prog *p, nest_id loop, int row, int n, const poly_var *v, const poly *by, struct instr_use *use);

/* In a finished program: calls that are too short for their row become loops again. NULL, or which call is none any
 * more (a layout was changed after it was made). */
const char *instr_settle(struct loop_prog *p);
/* Is the block a start of sums which calls set, all of them? */
bool instr_sets(struct loop_prog *p, nest_id block);
#endif
