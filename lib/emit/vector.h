/* Inside the emitter: values and statements of vector loops, one for all lanes. */
#ifndef HONE_EMIT_VECTOR_H
#define HONE_EMIT_VECTOR_H
#include "emit/emit_impl.h"

/* The text of a value: the same in all lanes, a vector of float or of int, or a mask; VX_FAIL: it cannot be written for all lanes at
 * once. */
enum vx_kind { VX_FAIL, VX_SCALAR, VX_VEC, VX_INT, VX_MASK };
struct vx {
	enum vx_kind kind;
	const char *s;
	int fn; /* FN_MAX2, FN_MIN2: s is that of `any`, which may be NaN, and the identity (-infinity, infinity); 0: something else */
	const char *any;
};
extern const struct vx vx_fail;
enum { VL_MAX = 16 };

/* Which lanes are active: at most the first n; with a guard, not always all of these. */
struct lanes {
	const char *s; /* mask, a C expression of type vm */
	int n;
	bool guard;
	sym mask;   /* text of the guard of the block */
	int nopen;  /* variables in scope up to the last that the guard uses */
	bool exact; /* the active lanes are known: lo to hi - 1 */
	int lo, hi;
};

/* ---- lanes.c ---- */
bool all_lanes(struct emit *e, const struct lanes *m);
/* Are elements of type t under a mask loaded and stored one by one? */
bool has_no_masks(struct emit *e, enum dtype t);
/* How many lanes are active, if these are the first ones, and elements of type t have no masks; 0: all are, or masks say which. */
int first_lanes(struct emit *e, const struct lanes *m, enum dtype t);
bool lane_in(struct emit *e, poly x); /* does x depend on the lane? */
/* x with lane number l for the lane variable. */
poly lane_at(struct emit *e, poly x, int l);
/* Both masks; m may be NULL: all lanes. */
const char *with_lanes(struct emit *e, const char *m, const char *more);
/* Mask of the lanes with guard >= 0, for a guard that is linear in the lane; NULL: it is not. */
const char *guard_lanes(struct emit *e, poly guard);
/* Removes the lanes with guard < 0 from m, if they are known at compile time; else m is no longer exact. */
void narrow_exactly(struct emit *e, struct lanes *m, poly guard);
/* cond; and, if ex reads an element that all lanes share and that may be out of bounds otherwise, that guard >= 0 in some lane. */
const char *guard_shared(struct emit *e, const char *cond, ex_id ex, poly guard);
/* The guards of the block and of the loop as a mask; false: one is not linear in the lane. The caller has dropped
 * blocks with a guard that never holds. */
bool block_lanes(struct emit *e, struct lanes *m);

/* ---- vector.c, vector_load.c ---- */
struct vx vx(struct emit *e, ex_id ex, const struct lanes *m);
struct vx vx_read(struct emit *e, ex_id ex, const struct lanes *m);
const char *to_vec(struct emit *e, struct vx x);
const char *to_mask(struct emit *e, struct vx x);
struct vx vx_index(struct emit *e, ex_id ex, enum dtype as);

/* ---- typed.c: lanes of values of type t ---- */
const char *lanes_ctype(enum dtype t);
const char *memory_suffix(enum dtype t);
const char *lanes_zero(enum dtype t);            /* of what lies in memory */
struct vx in_lanes(enum dtype t, const char *s); /* s is a vector or mask */
const char *to_lanes(struct emit *e, struct vx x, enum dtype t);
const char *select_text(struct emit *e, enum dtype t, const char *m, const char *a, const char *b);
const char *narrowed(struct emit *e, enum dtype t, const char *s); /* rounded to t, or its low bits */
/* stored: the result goes to memory, so what the store converts is not converted before. */
struct vx cast_lanes(struct emit *e, enum dtype to, enum dtype from, struct vx x, bool stored);
/* The element of a table of bytes at a code, of any value (emit_looks_up). */
struct vx vx_lookup(struct emit *e, ex_id ex, const struct lanes *m);
/* The four bits of a word that FN_NIBBLE takes, in f32. */
struct vx vx_nibble(struct emit *e, const struct ex *call, const struct lanes *m);
/* The number in ex = fn(x, number) or fn(number, x), and x; NULL: it is another expression. */
const struct ex *number_of(struct loop_prog *p, ex_id ex, int fn, ex_id *x);
/* Is ex, a float, always a value of the narrow integer type t, or NaN? */
bool within(struct loop_prog *p, ex_id ex, enum dtype t);
const char *int_call(struct emit *e, const struct ex *x); /* the row's text; NULL: none */

/* ---- codes.c ---- */
/* The code of type t that the number `real` is, as lanes of int; VX_FAIL: it is not a code. */
struct vx vx_code(struct emit *e, ex_id real, enum dtype t, const struct lanes *m);
/* ex, a code in f32 that is used once, minus a number, as lanes of float; VX_FAIL: it is another expression. */
struct vx vx_code_real(struct emit *e, ex_id ex, double less, const struct lanes *m);
#endif
