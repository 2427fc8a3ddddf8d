/* Schedule primitives. Each checks its precondition first and answers "why not" in words (a string that
 * lives in the program's arena), the program untouched; NULL is done. Loops are named STAGE.AXIS, and after
 * split STAGE.AXIS.0 (outer) and .1, ...; loops of an init nest are STAGE.init.AXIS; the loop over the
 * steps of stages that scan together is scan.AXIS, of the second such group scan2.AXIS: no loop moves across it, it is
 * no vector and not parallel. S: stage, L: loop, B: buffer. */
#ifndef HONE_PRIM_H
#define HONE_PRIM_H
#include "loop/loop.h"

enum split_tail {
	TAIL_GUARD,   /* last tile guarded */
	TAIL_PEEL,    /* last tile is shorter; loop_legalize makes it a nest of its own */
	TAIL_BALANCE, /* tiles of two sizes, q + 1 and q */
	TAIL_OVERLAP, /* the last tile is moved back; writes must be idempotent */
	TAIL_PAD,     /* the axis is rounded up; not for buffers of the kernel's interface */
};

/* L becomes L.0 .. L.n with inner extents factor[0..n), outermost computed. The factors make 2^40 at most; and no primitive leaves
 * more than 60 loops within each other. */
const char *prim_split(struct loop_prog *p, const char *loop, int n, const int64_t *factor, enum split_tail tail);
/* Outer and inner (directly nested) become one loop named "OUTER*AXIS". */
const char *prim_fuse(struct loop_prog *p, const char *outer, const char *inner);
/* The loops, which lie on one chain, in the given order from outside in. */
const char *prim_reorder(struct loop_prog *p, int n, const char *const *loops);
/* Producer S under a reader's loop L (or "root"): only the region read there is computed, right before its first reader. */
const char *prim_at(struct loop_prog *p, const char *stage, const char *loop);
/* Consumer S at the end of its producer's loop L, over the region complete there. */
const char *prim_after(struct loop_prog *p, const char *stage, const char *loop);
const char *prim_inline(struct loop_prog *p, const char *stage);
/* The identity of reduction S is set at the start of an iteration of L ("root": at the start). */
const char *prim_init(struct loop_prog *p, const char *stage, const char *loop);
/* A copy of B's region that S uses under L, in a new buffer called name: read (S reads B), or written (B is S's
 * result: accumulators; copied in unless init is inside L, copied out at L's end). New names, rfactor's too, are of letters,
 * digits, _ and ., with a letter or _ in front. */
const char *prim_cache(struct loop_prog *p, const char *buf, const char *stage, const char *loop, enum scope scope, const char *name);
/* Sums of S under an iteration of L are made in a new buffer called name, from 0 on, and then added to those before: chains are shorter,
 * and errors smaller. */
const char *prim_partial(struct loop_prog *p, const char *stage, const char *loop, enum scope scope, const char *name);
/* Reduce loop L of S becomes a spatial axis of a partial stage called name; S then combines the partial results. */
const char *prim_rfactor(struct loop_prog *p, const char *stage, const char *loop, const char *name);
const char *prim_layout(struct loop_prog *p, const char *buf, const char *spec);
const char *prim_scope(struct loop_prog *p, const char *buf, enum scope scope); /* scratch, stack, register */
const char *prim_mark(struct loop_prog *p, const char *loop, enum loop_mark mark, int unroll);
/* Cuts L in pieces at the points, or (n = 0) where guards and fills under it change. */
const char *prim_partition(struct loop_prog *p, const char *loop, int n, const int64_t *points);

/* The nest under L equals the stage that describes a target instruction (a row of target/instr.h):
 * it becomes a call of it. Its loops have no names any more: they cannot be scheduled further. Where a piece of L is too
 * short for the instruction it stays loops. */
const char *prim_tensor(struct loop_prog *p, const char *loop, const char *instr);
/* The nest under L becomes a C function of its own. Its text holds no names but its own, so that equal nests, of one
 * kernel or of several, are one function. What lives in registers lives inside: for a tile as a function, split with a
 * factor of 1 outside it (split mm.m 1 8) and outline that loop (mm.m.1). */
const char *prim_outline(struct loop_prog *p, const char *loop);
/* Each iteration of L prefetches what the one `steps` later touches first of B: a cache line at a time, the contiguous
 * run that its region begins with, as far as B goes. Results are the same. */
const char *prim_prefetch(struct loop_prog *p, const char *buf, const char *loop, int64_t steps);

/* Loops within a call are not found. */
nest_id loop_find(struct loop_prog *p, const char *name);        /* 0: none */
const char *loop_missing(struct loop_prog *p, const char *name); /* why it is not found */

/* Traces as text (as records: loop/trace.h): one primitive a line, "results = primitive operands := decision"; '#' starts a comment.
 *
 *   algo winograd4          (only as the first line: the program's stages must be of it)
 *   a b c = sample.split conv.m parts=3 max=30 := 4 9 14
 *   split conv.m b c tail=balance       reorder L L ..    fuse L L     at S L | after S L | root S
 *   inline S    init S L    X = cache B S L register      P = rfactor S L      P = partial S L register
 *   layout B 0/32 1 0%32    scope B register    vector L  unroll L [n] parallel L  partition L auto|POINT..
 *   tensor L INSTRUCTION    outline L           prefetch B L steps
 *   k = sample.choice 1 2 4 8 := 4      tail = sample.choice peel balance := peel
 *
 * A number may be a name that a sampling line has bound, or a product ("layout W 0/k*16 1 0%k*16"); a tail or scope a name
 * bound to a word.
 *
 * loop_apply applies the text to a freshly started program. NULL, or "line 3: split: why not". adapt: a
 * decision outside its set takes the nearest member instead of being an error. */
const char *loop_apply(struct loop_prog *p, const char *trace, bool adapt);
/* The algorithm of the stages a trace is for, as its first line names it, else ALGO_USUAL; NULL: there is no trace. */
const char *trace_algo(const char *trace, struct arena *a);
/* As loop_apply with adapt; *adapted is the trace with the decisions that were taken (arena of p). */
const char *loop_adapt(struct loop_prog *p, const char *trace, const char **adapted);

/* A trace that is stored begins with "# trace 1 DIGEST": version of the language and digest of the stages
 * (prog_digest of the freshly started program) that it was made for. For other stages, or under another version, it is
 * a seed, not a result. */
enum { TRACE_VERSION = 1 };
const char *trace_stamp(const char *trace, struct digest stages, struct arena *a); /* replaces the stamp it has */
enum trace_fit {
	TRACE_PLAIN, /* no stamp: written by hand */
	TRACE_FITS,
	TRACE_SEED, /* made for other stages, or in another version of the language */
};
enum trace_fit trace_fit(const char *trace, struct digest stages);
bool trace_stages(const char *trace, struct digest *stages); /* of its stamp; false: none of this version */
/* For people: "14 x 2 vectors in registers, weights in panels of 32, reduction in chunks of 256". */
const char *trace_explain(const char *trace, struct arena *a);
#endif
