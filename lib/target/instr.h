/* Target instructions, a row each, as the stage they compute: loops, the body's shape, types and steps of the operands,
 * C text. A short sequence that stands for an instruction (a transpose in registers) is a row like any other. */
#ifndef HONE_TARGET_INSTR_H
#define HONE_TARGET_INSTR_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { INSTR_LOOPS = 4, INSTR_READS = 3 };
#define STEP_ANY INT64_MIN /* a parameter of the text: one loop of an operand at most */

struct instr_operand {
	const char *dtype;         /* "f32": an element type's name */
	int64_t step[INSTR_LOOPS]; /* in elements, when a loop goes one step further */
};
/* Body of a row whose vector is bytes of two codes of 4 bits each. */
#define INSTR_NIBBLES "add(mul(i32(a), nibble(i32(c), 0)), mul(i32(b), nibble(i32(c), 4)))"

/* Body of a row that takes such codes apart: those in bit i of the bytes, and above. */
#define INSTR_WIDEN "i8(sub(nibble(i32(a), i), 8))"

struct instr {
	const char *name;
	unsigned features; /* of the backend's: the target has all of these */
	int vector_bytes;  /* of the target; 0: any */
	bool opaque;       /* compilers see operands and a line of assembler */
	bool measured;     /* schedules take it only where its rate (target/rate.h) was measured to be above that of multiply-adds */
	int nloops;
	/* From the outside in, each directly in the one before. Of sums of products, the last is over the products of a sum; the others are over
	 * sums: of lanes, and, where a moves along the outermost, of rows that the lanes are of. */
	int64_t extent[INSTR_LOOPS];
	const char *comb; /* "sum"; NULL: it is no reduction */
	/* "a", "mul(i32(a), i32(b))": names of loop/math.h and types; a, b, c: reads; digits: constants; i: a number of the loops around. */
	const char *body;
	struct instr_operand out, in[INSTR_READS];
	const char *accumulator; /* C type of the vector that is added to (its name with u: unaligned in memory); NULL: none */
	bool whole;              /* its sums have no more products than these: they are set, and need no start */
	/* C text. %o %a %b %c: addresses of the first elements; %v: the accumulator; %s, %t: the step of out and of a that is STEP_ANY; %m %n:
	 * extents of the first two loops; %f: steps of the last loop in which a is read, what follows is zero; %i: the number i. */
	const char *text;
	/* Text for fewer steps than extent[], or where a fill is read; in a row with an accumulator, for fewer of the outermost loop.
	 * NULL: there is none. */
	const char *part;
	/* Text in two halves: one starts the sums in place %p, of 0 to many - 1, the other, some iterations later, puts them to %o. NULL: there is
	 * none. */
	const char *start, *finish;
	int many;
	void (*helper)(FILE *f, const struct instr *row); /* what the text calls */
	/* Statements before the first call in a function that a thread runs, and after the last; the same in all rows of a backend that have
	 * them. NULL: none. */
	const char *begin, *end;
};
#endif
