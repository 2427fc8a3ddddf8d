/* Target instructions, a row each, as the stage they compute: loops, the body's shape, types and steps of the operands,
 * C text. A short sequence that stands for an instruction (a transpose in registers) is a row like any other. */
#ifndef HONE_INSTR_H
#define HONE_INSTR_H
#include <stdio.h>
#include "loop/loop.h"

enum { INSTR_LOOPS = 2, INSTR_READS = 2 };
#define STEP_ANY INT64_MIN /* a parameter of the text */

struct instr_operand {
	enum dtype dtype;
	int64_t step[INSTR_LOOPS]; /* in elements, when a loop goes one step further */
};
struct instr {
	const char *name;
	unsigned features; /* enum target_feature that the target has all of */
	int vector_bytes;  /* of the target; 0: any */
	int nloops;
	int64_t extent[INSTR_LOOPS]; /* from the outside in, each directly in the one before */
	enum combiner comb;
	const char *body; /* "a", "mul(i32(a), i32(b))": names of loop/math.h and types; a, b: reads */
	struct instr_operand out, in[INSTR_READS];
	const char *accumulator; /* C type of the vector that is added to (its name with u: unaligned in memory); NULL: none */
	/* C text. %o %a %b: addresses of the first elements; %v: the accumulator; %s: step of out in loop 0; %t: step of
	 * a in loop 1; %m %n: extents; %f: steps of loop 1 in which a is read, what follows is zero. */
	const char *text;
	const char *part; /* the same for fewer steps than extent[], or where a fill is read; NULL: there is none */
	void (*helper)(FILE *f, const struct instr *row); /* what the text calls */
};

/* Rows are numbered from 1; NULL: no such row. */
const struct instr *instr_row(int n);
int instr_find(const char *name); /* 0: none */

/* How the nest under loop is an instruction. Polynomials in the loops around it. */
struct instr_use {
	nest_id block, loop[INSTR_LOOPS];
	poly extent[INSTR_LOOPS];
	int nread;
	ex_id read[INSTR_READS];
	poly at[INSTR_READS], out; /* offsets of the first elements */
	int64_t step[INSTR_READS][INSTR_LOOPS], out_step[INSTR_LOOPS];
	poly filled; /* steps of the innermost loop in which a is read; unknown: all */
	bool whole;  /* all steps, no fill: else it needs the row's part text */
};
/* NULL, or why the nest under loop is no such instruction. Variables v[0..n) stand for by[0..n) (unrolled loops). Loops
 * may be shorter than the row's; if its text needs all of them, use->whole says whether it can be used. */
const char *instr_match(struct loop_prog *p, nest_id loop, int row, int n, const poly_var *v, const poly *by, struct instr_use *use);

/* In a finished program: calls that are too short for their row become loops again. NULL, or which call is none any
 * more (a layout was changed after it was made). */
const char *instr_settle(struct loop_prog *p);
#endif
