/* Inside lib/loop: building, walking and copying nests; regions. */
#ifndef HONE_NEST_H
#define HONE_NEST_H
#include "loop/loop.h"

nest_id nest_seq(struct loop_prog *p, nest_id parent);
/* A loop with an empty body; the variable's range is [0, largest extent - 1]. */
nest_id nest_for(struct loop_prog *p, sym name, poly extent, bool reduce, stage_id of);
nest_id nest_block(struct loop_prog *p, stage_id s, enum block_phase phase);
/* The body (a SEQ) of loop n; n itself if it is a SEQ. */
nest_id nest_body(struct loop_prog *p, nest_id n);
void nest_insert(struct loop_prog *p, nest_id seq, size_t at, nest_id kid);
/* Takes n out of its SEQ; loops that are left empty go too, upwards. */
void nest_remove(struct loop_prog *p, nest_id n);
size_t nest_index(struct loop_prog *p, nest_id n);               /* place of n in its parent's kids */
bool nest_inside(struct loop_prog *p, nest_id n, nest_id outer); /* n is outer or below it */
/* Loops around n from the outside in (n not included); count. out holds NEST_DEPTH_MAX: more than primitives make, for who
 * keeps some of his own with them. */
enum { NEST_DEPTH_MAX = 64, NEST_LOOPS_MAX = 60 };
int nest_loops(struct loop_prog *p, nest_id n, nest_id *out);
/* Loops within each other from n, which counts if it is one, to the block in it that has most. */
int nest_height(struct loop_prog *p, nest_id n);
/* NULL if that many loops within each other may lie in loop l, or in a SEQ; else why not. */
const char *nest_fits(struct loop_prog *p, nest_id l, int loops);
/* Every node below n and n itself, parents first. */
void nest_walk(struct loop_prog *p, nest_id n, void (*f)(struct loop_prog *p, nest_id n, void *arg), void *arg);
/* Replaces variables in extents, bindings and guards below n. */
void nest_subst(struct loop_prog *p, nest_id n, int nv, const poly_var *v, const poly *by);

/* Fresh loops "STAGE.AXIS" over [lo, lo + extent) of each axis with the blocks of stage s inside: spatial loops,
 * init, reduce loops, update. Guards where the region can leave the axis. A rank 0 stage gives its block. */
nest_id nest_of_stage(struct loop_prog *p, stage_id s, const poly *lo, const poly *extent);
/* Only spatial loops and a block of that phase; loops are named "STAGE.INFIXAXIS". */
nest_id nest_of_phase(struct loop_prog *p, stage_id s, enum block_phase phase, const char *infix, const poly *lo, const poly *extent);

/* Least (upper: greatest) value of e over the variables of the n loops, as a polynomial in the others.
 * POLY_UNKNOWN: not to be had (products of atoms). */
poly bound_over(struct loop_prog *p, poly e, int n, const nest_id *loops, bool upper);

/* The box of a buffer that blocks below `under` touch, over the loops inside it: lo and extent per dim.
 * reads, writes: which accesses count. false: none touches it. Unknown bounds give the whole dim. */
bool region_of(struct loop_prog *p, buf_id b, nest_id under, bool reads, bool writes, poly *lo, poly *extent);

/* NULL if the updates of b below l write all of that box (clipped to the shape) and nothing else; in guard, at most
 * REGION_GUARDS, what they are guarded by in loops outside l: it holds for the box as a whole. Else why not. */
enum { REGION_GUARDS = 16 };
const char *region_exact(struct loop_prog *p, buf_id b, nest_id l, const poly *lo, const poly *extent, poly *guard, int *nguard);
/* Adds guards to every block of n. */
void guard_nest(struct loop_prog *p, nest_id n, int nguard, const poly *guard);

/* All blocks of stage s (any phase; 0: of every stage) below n, in order. The list is in p's arena. */
nest_id *nest_list(struct loop_prog *p, nest_id n, stage_id s, int *count);
/* The same, at most max of them: count; out may be NULL. */
int nest_blocks(struct loop_prog *p, nest_id n, stage_id s, nest_id *out, int max);
/* The root's kid in which all of s lies alone and unscheduled (start state), or 0. */
nest_id stage_whole(struct loop_prog *p, stage_id s);
/* NULL if s alone writes its buffer, else why not: another stage sets it or adds to it. */
const char *sole_writer(struct loop_prog *p, stage_id s);
/* Does a block of stage t read buffer b? */
bool stage_reads(struct loop_prog *p, stage_id t, buf_id b);
/* The EX_READs of stage s's body, each once; the first max of them go to out: count of all. */
int stage_reads_of(struct loop_prog *p, stage_id s, ex_id *out, int max);
/* e with the axis variables of s replaced by the block's bindings. */
poly bind_poly(struct loop_prog *p, const struct nest *block, poly e);
/* A loop over (part of) a scan axis that has more than one step: nothing moves across it. */
bool nest_keeps_order(struct loop_prog *p, nest_id n);
/* Adds cuts to a loop where guards and fills below it change (prim partition auto). */
const char *partition_auto(struct loop_prog *p, nest_id loop);
/* NULL if different iterations of loop l touch different elements of what is written in it, but for buffers that live
 * in an iteration; else why not. */
const char *parallel_races(struct loop_prog *p, nest_id l);
/* NULL if l is not outlined, and no loop around it is; else which. */
const char *outlined(struct loop_prog *p, nest_id l);
/* In a finished program: prefetches that have nothing to fetch in a piece of their loop are dropped. NULL, or which
 * outlined loop cannot be a function (a buffer was put in registers after it was made one). */
const char *hints_settle(struct loop_prog *p);
/* "why not" in the program's arena */
const char *whynot(struct loop_prog *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The first expression at or under e, operands behind what uses them, of which f says yes; 0: none. Each is looked at once,
 * however many share it: as a tree, forty squares in a row would have 2^40 leaves. */
ex_id ex_find(struct loop_prog *p, ex_id e, bool (*f)(struct loop_prog *p, ex_id e, void *arg), void *arg);
/* The expression e; the one there is, if it is equal. */
ex_id ex_new(struct loop_prog *p, struct ex e);
/* ex_subst that also renames buffers: every read of from[i] becomes a read of to[i]. */
ex_id ex_rebuf(struct loop_prog *p, ex_id e, int n, const buf_id *from, const buf_id *to);
#endif
