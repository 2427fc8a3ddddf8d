/* Loop nests, for those that transform them: building, walking, regions. The types are in loop/loop.h. */
#ifndef HONE_NEST_H
#define HONE_NEST_H
#include "loop/loop.h"

/* name, or the first of name2, name3, ... that no stage (buffer) has. */
sym stage_unused_name(struct loop_prog *p, const char *name);
sym buf_unused_name(struct loop_prog *p, const char *name);

nest_id nest_seq(struct loop_prog *p, nest_id parent);
/* A loop with an empty body; the variable's range is [0, largest extent - 1]. */
nest_id nest_for(struct loop_prog *p, sym name, poly extent, bool reduce, stage_id of);
nest_id nest_block(struct loop_prog *p, stage_id s, enum block_phase phase);
/* The body (a SEQ) of loop n; n itself if it is a SEQ. */
nest_id nest_body(struct loop_prog *p, nest_id n);
void nest_insert(struct loop_prog *p, nest_id seq, size_t at, nest_id kid);
/* Takes n out of its SEQ, and then the loops around it that are empty. */
void nest_remove(struct loop_prog *p, nest_id n);
size_t nest_index(struct loop_prog *p, nest_id n);               /* place of n in its parent's kids */
bool nest_inside(struct loop_prog *p, nest_id n, nest_id outer); /* n is outer or below it */
/* The loops around n, from the outside in, without n; returns how many. out has room for NEST_DEPTH_MAX, a few more than primitives
 * make (NEST_LOOPS_MAX), so that callers can add their own. */
enum { NEST_DEPTH_MAX = 64, NEST_LOOPS_MAX = 60 };
int nest_loops(struct loop_prog *p, nest_id n, nest_id *out);
/* The most loops around any block below n, counted from n, which counts if it is a loop. */
int nest_height(struct loop_prog *p, nest_id n);
/* NULL if so many nested loops fit into loop l (or a SEQ), else why not: NEST_LOOPS_MAX. */
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

/* Does e >= 0 follow from ranges of variables and from n polynomials that are >= 0? */
bool prog_follows(struct loop_prog *p, poly e, int n, poly *ge);

/* e, in which the parameters occur only as multiples of base (a polynomial in them alone), with v for it. POLY_UNKNOWN: others do, too. */
poly prog_abstract(struct loop_prog *p, poly e, poly base, poly_var v);
/* Appends to the n polynomials what base may be for e, each once; max: there is room for. Returns how many there are then. */
int prog_bases(struct loop_prog *p, poly e, poly *base, int n, int max);
/* Term i of e is floor(a/c) or -floor(a/c): a polynomial without it that is negative just if e is. POLY_UNKNOWN: it is no such term. */
poly without_floor(struct polys *P, poly e, int i);
/* NULL if the rests are in the ranges of their variables and have their facts, and loops' known follow from their having an iteration. */
const char *rests_shown(struct loop_prog *p);

/* A lower (upper: an upper) bound of e over the variables of the n loops, as a polynomial in the other variables. POLY_UNKNOWN if e is not
 * affine. */
poly bound_over(struct loop_prog *p, poly e, int n, const nest_id *loops, bool upper);

/* The region of buffer b that blocks below `under` touch in one iteration of it: lo and extent of each dim. reads, writes: which accesses
 * count. false: there is no such access. A dim whose bounds are not known is taken whole. */
bool region_of(struct loop_prog *p, buf_id b, nest_id under, bool reads, bool writes, poly *lo, poly *extent);

/* NULL if the updates of b below l write every element of that region (clipped to the shape) and nothing else; else why not. In
 * guard (at most REGION_GUARDS): the guards of these updates about loops outside l, which hold for the whole region or not at all. */
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
/* The kid of seq that holds all that there is of s below seq, as `at` has put it there, or 0. */
nest_id stage_whole_in(struct loop_prog *p, nest_id seq, stage_id s);
/* NULL if no other stage writes the buffer of s; else which does. */
const char *sole_writer(struct loop_prog *p, stage_id s);
/* Does a block of stage t read buffer b? */
bool stage_reads(struct loop_prog *p, stage_id t, buf_id b);
/* The EX_READs of the body of stage s, each once. Returns how many; the first max go to out. */
int stage_reads_of(struct loop_prog *p, stage_id s, ex_id *out, int max);
/* e with the axis variables of s replaced by the block's bindings. */
poly bind_poly(struct loop_prog *p, const struct nest *block, poly e);
/* Is n a loop over (part of) a scan axis with more than one step? Such a loop keeps its place: nothing is moved across it. */
bool nest_keeps_order(struct loop_prog *p, nest_id n);
/* Adds cuts to a loop where guards and fills below it change (prim partition auto). */
const char *partition_auto(struct loop_prog *p, nest_id loop);
/* NULL if loop l can run in parallel: no element is written by one iteration and touched by another, except in buffers that are
 * allocated inside the iteration. Else why not. */
const char *parallel_races(struct loop_prog *p, nest_id l);
/* NULL if l is not outlined, and no loop around it is; else which. */
const char *outlined(struct loop_prog *p, nest_id l);
/* In a legalized program: drops prefetches that have nothing to fetch in their piece of the loop. NULL, or which outlined loop cannot
 * be a function because it shares a register buffer with what is around it. */
const char *hints_settle(struct loop_prog *p);
/* "why not" in the program's arena */
const char *whynot(struct loop_prog *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The first expression at or under e (users before operands) for which f is true; 0: none. Shared expressions are visited once: as a
 * tree, forty squares after each other would have 2^40 leaves. */
ex_id ex_find(struct loop_prog *p, ex_id e, bool (*f)(struct loop_prog *p, ex_id e, void *arg), void *arg);
/* The expression e; the one there is, if it is equal. */
ex_id ex_new(struct loop_prog *p, struct ex e);
/* ex_subst that also renames buffers: every read of from[i] becomes a read of to[i]. */
ex_id ex_rebuf(struct loop_prog *p, ex_id e, int n, const buf_id *from, const buf_id *to);
/* e = coef * v + rest, where coef may have other variables. False: v occurs in another way. */
bool poly_linear_part(struct polys *P, poly e, poly_var v, poly *coef, poly *rest);
#endif
