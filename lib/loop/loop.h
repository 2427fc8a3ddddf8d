/* The loop program of one kernel: what is computed (stages), and how (the nest).
 *
 * Stages say what. A stage writes one buffer over axes; its body is an expression over reads of other
 * buffers; a reduction has a combiner. Nests say how: a tree of Seq, For and Block; a Block is one
 * stage's statement (init, or update) with a binding for every axis of the stage: a polynomial
 * in the loop variables around it. A fresh program has every stage whole at the root, in order. The
 * primitives (loop/prim.h) rewrite the nest and keep it a correct program at every step; loop_legalize
 * makes it ready for the emitter; the interpreter (loop/interp.h) runs it at any moment.
 *
 * No file of lib/loop names an operator: lib/lower makes the stages. */
#ifndef HONE_LOOP_H
#define HONE_LOOP_H
#include <stdbool.h>
#include <stdint.h>
#include "common/arena.h"
#include "common/digest.h"
#include "common/intern.h"
#include "common/map.h"
#include "common/poly.h"
#include "common/vec.h"
#include "graph/layout.h"
#include "graph/types.h"

typedef uint32_t buf_id;   /* into loop_prog.bufs, 0: none */
typedef uint32_t stage_id; /* into loop_prog.stages */
typedef uint32_t ex_id;    /* into loop_prog.exs */
typedef uint32_t nest_id;  /* into loop_prog.nests */

enum { LOOP_RANK_MAX = 12, LOOP_AXES_MAX = 16, LOOP_LAYOUT_MAX = LAYOUT_MAX };

enum scope {
	SCOPE_IN,       /* an operand of the kernel, not constant */
	SCOPE_CONST,    /* constant operand: laid out at build time */
	SCOPE_OUT,      /* a result of the kernel */
	SCOPE_SCRATCH,  /* kernel workspace (memory the caller gives) */
	SCOPE_STACK,    /* small array in the C function */
	SCOPE_REGISTER, /* every element a named local; indices constant after unrolling */
};
const char *scope_name(enum scope s);

struct loop_buf {
	sym name;
	enum dtype dtype;
	enum scope scope;
	int rank;
	int64_t shape[LOOP_RANK_MAX]; /* logical; where it varies (dim), the most it can be */
	poly dim[LOOP_RANK_MAX];      /* in the program's parameters, POLY_UNKNOWN: shape */
	uint32_t varies; /* of a program for some sizes of many: bit d says that dim d has others at other sizes (for schedules) */
	struct layout layout;
	/* After loop_legalize, for scratch, stack and register: only a window is kept. Element i lives at
	 * i - base (polynomials in the loops around alloc), the window is extent[] large. */
	nest_id alloc; /* loop (or root) whose iteration the window belongs to; 0: before loop_legalize */
	poly base[LOOP_RANK_MAX];
	int64_t extent[LOOP_RANK_MAX];
	poly size[LOOP_RANK_MAX]; /* the extent in the program's parameters, POLY_UNKNOWN: extent */
	poly start;               /* the same of offset, POLY_UNKNOWN: offset */
	int64_t offset;           /* scratch: byte offset in the kernel's workspace (loop_legalize sets it); private: thread 0's */
	bool private;             /* scratch that lives in a parallel loop: each thread has its own */
	int operand;              /* IN, CONST, OUT: its number among those of that scope, in order of making */
	const void *data;         /* CONST: row-major logical bytes if known (build-time stages read it) */
};

/* Expressions of stage bodies. Index expressions are polynomials in the stage's axis variables. */
enum ex_kind {
	EX_CONST, /* c */
	EX_INDEX, /* index[0] as a number of type dtype */
	EX_READ,  /* buf at index[0..n); if dyn, index[dyn_dim] is the (integer) value of a[0], negative counts from the end */
	EX_CALL,  /* fn(a[0..]) : a row of loop/math.h: add, mul, max, exp, select, ... */
	EX_CAST,  /* a[0] as dtype */
	EX_GUARD, /* a[0] if every index[i] >= 0, else a[1]; a[0] is not evaluated then */
};
struct ex {
	enum ex_kind kind;
	enum dtype dtype;
	int fn;     /* EX_CALL: enum math_fn */
	double c;   /* EX_CONST, floats */
	int64_t ic; /* EX_CONST, integers and bool */
	ex_id a[3];
	buf_id buf;
	int dyn_dim; /* EX_READ: -1: none */
	int n;       /* polynomials in index */
	poly *index; /* arena */
};

enum axis_kind { AXIS_SPATIAL, AXIS_REDUCE, AXIS_SCAN };
struct axis {
	sym name;
	poly_var var;
	int64_t extent; /* where it varies (size), the most it can be */
	enum axis_kind kind;
	poly size; /* in the program's parameters, POLY_UNKNOWN: extent */
};
enum combiner { COMB_NONE, COMB_SUM, COMB_PROD, COMB_MAX, COMB_MIN };
double combiner_identity(enum combiner c); /* 0, 1, -inf, inf */
/* The same of type t, an EX_CONST: for max and min of integers and bool the lowest and the highest there is. */
struct ex identity_const(enum combiner c, enum dtype t);

struct stage {
	sym name;
	int naxes;
	struct axis axis[LOOP_AXES_MAX]; /* spatial axes first, in the order of the out buffer's dims; then reduce */
	buf_id out;                      /* written at [axis 0, axis 1, ...] of the spatial axes */
	int nspatial;                    /* = rank of out */
	ex_id body;
	enum combiner comb;
	bool gone;     /* inlined: no nest, no buffer */
	bool exact;    /* a sum of f32 that are whole numbers, of less than 24 bits at each step: it is not rounded */
	uint32_t scan; /* stages of one number, next to each other, go through their scan axis together, step by step; 0: none */
	uint32_t part; /* of the program: as prog.part was when the stage was made */
};

enum nest_kind { NEST_SEQ, NEST_FOR, NEST_BLOCK };
enum loop_mark {
	LOOP_SERIAL,
	LOOP_UNROLL,
	LOOP_VECTOR,
	LOOP_PARALLEL,
	LOOP_CALL, /* the nest is one target instruction: a row of loop/instr.h; it stays below as what the call means */
};
enum block_phase { BLOCK_UPDATE, BLOCK_INIT };

/* Fetch ahead: what an iteration reads or writes of b first, so many iterations before. */
struct prefetch {
	buf_id b;
	int64_t steps;
};

struct nest {
	enum nest_kind kind;
	nest_id parent;
	VEC(nest_id) kid; /* SEQ: any number; FOR: exactly one (a SEQ) */
	/* FOR: var from 0 to extent - 1, step 1 */
	sym name; /* "conv.w.1" */
	poly_var var;
	poly extent; /* polynomial in outer loop variables and parameters; its largest value is the range of var */
	/* A loop over the tiles of an axis whose size varies, until loop_legalize: var is where the tile begins, a multiple of step; its
	 * size is len: step, but of the last tile what is left of elems. 0: a plain loop. */
	int64_t step;
	poly_var len;
	poly elems;
	enum loop_mark mark;
	int unroll;   /* LOOP_UNROLL: factor; 0: whole */
	int instr;    /* LOOP_CALL: its row */
	bool outline; /* a C function of its own */
	VEC(struct prefetch) ahead;
	bool reduce;      /* (part of) a reduce axis of its stage */
	bool scan;        /* (part of) a scan axis: its iterations keep their order, and their place among the loops */
	bool overlap;     /* split with tail=overlap: its last iteration does some of what the one before did */
	VEC(int64_t) cut; /* loop_legalize splits the loop at these values: pieces simplify */
	bool part;        /* and, if its extent varies with a parameter, where guards change */
	poly tail_at;     /* and at this one, in outer loop variables (0: none) */
	stage_id of;      /* the stage it was made for */
	/* After loop_legalize: pieces of one parallel loop are one team's work. */
	uint32_t team; /* its number; 0: not parallel */
	poly known;    /* >= 0 where it runs: of the rest of an axis that varies; 0: nothing */
	poly first;    /* iteration of the whole loop that this piece starts with */
	poly whole;    /* extent of the whole loop */
	/* BLOCK */
	stage_id stage;
	enum block_phase phase;
	poly bind[LOOP_AXES_MAX]; /* per axis of the stage (init: reduce axes are unknown) */
	VEC(poly) guard;          /* runs only if all are >= 0 */
};

/* A name that a sampling line of a trace has bound. */
struct loop_name {
	const char *name;
	int64_t value;
	const char *word; /* it stands for this word; NULL: for the number */
};

/* Names of a list that grows, here of stages or buffers. */
struct name_index {
	struct map first; /* name -> the first that has it */
	struct map next;  /* name -> n: name2, name3, ... below n are taken */
	size_t seen;      /* so many of the list are in it */
};

struct target;
/* A size that is known at run time only. Kernels take the values of all, in this order: const long *p. */
enum { LOOP_PARAMS_MAX = 8 };
struct loop_param {
	sym name;      /* for people; its variable is p0, p1, .. by number, so that programs that differ by names are equal */
	poly_var var;  /* its range are the values that it may have */
	int64_t value; /* for the interpreter and the evaluator of stages */
};

/* A number that follows from the parameters: what is left of an axis behind its whole tiles. Its variable knows its range. */
struct loop_rest {
	poly_var var;
	poly value; /* in parameters, and in rests before it */
	poly fact;  /* >= 0: what is known of it besides its range */
};

#define ALGO_USUAL "direct" /* what a trace that names no algorithm is for */
#define ALGO_AND   "+"      /* between those of operators that differ in theirs */
struct loop_prog {
	struct arena arena;
	struct polys *P;
	const struct target *target;
	const struct target *machine, *machine_of; /* target with what it does not say, for sched_machine, and which target that is of */
	const char *algo;          /* of which algorithm the stages are: a trace's first line says it (ALGO_USUAL: none else) */
	int threads;               /* that may run it; 0, 1: parallel loops are serial */
	bool few;                  /* they are fewer than the team has */
	VEC(struct loop_buf) bufs; /* [0] unused, in all four */
	VEC(struct stage) stages;
	VEC(struct ex) exs;
	struct name_index buf_names, stage_names;
	int made[SCOPE_OUT + 1]; /* buffers of a scope so far */
	uint32_t *ex_table;      /* expressions by hash: equal ones are one, so shared values stay shared */
	size_t ex_slots;
	VEC(struct nest) nests;
	VEC(struct loop_param) params; /* none: all extents are numbers */
	VEC(struct loop_rest) rests;   /* loop_legalize makes them */
	VEC(struct loop_name) names;   /* the last of a name counts */
	nest_id root;                  /* a SEQ */
	struct digest constants;       /* of how constants were made at build time (stages, orders of codes); zero: there are none */
	uint32_t part;                 /* stages that are made now are of it: the number of a node, from 1 on; then as sched/parts.c says */
	bool usual;                    /* its schedule is for other sizes, too */
	bool built;                    /* prog_start has made the start state */
	bool legalized;
	int64_t workspace;             /* bytes of SCRATCH, after loop_legalize: what is shared, then what each thread has of its own */
	int64_t private;               /* bytes of SCRATCH that each thread has of its own */
	poly workspace_of, private_of; /* the same in the parameters, if there are any: then workspace is the most, or INT64_MAX */
};

struct loop_prog *prog_new(const struct target *t);
void prog_free(struct loop_prog *p);
/* p, which has no parameters and is legalized, without its stages, buffers and loops, and the memory that these take: what is known of it
 * as a whole stays (threads, constants, workspace). */
struct loop_prog *prog_bare(struct loop_prog *p);

/* Making stages. Names are made unique ("add", "add2"). */
buf_id buf_new(struct loop_prog *p, const char *name, enum dtype t, enum scope s, int rank, const int64_t *shape);
/* A stage with a new buffer of that scope; spatial axes as shape, named by names ("n c h w"). */
stage_id stage_new(struct loop_prog *p, const char *name, enum dtype t, enum scope s, int rank, const int64_t *shape, const char *axes);
/* The same writing an existing buffer (results of the kernel). */
stage_id stage_into(struct loop_prog *p, const char *name, buf_id out, const char *axes);
poly stage_reduce(struct loop_prog *p, stage_id s, const char *name, int64_t extent);   /* adds a reduce axis; its index */
poly stage_reduce_over(struct loop_prog *p, stage_id s, const char *name, poly extent); /* the same, of an extent in the parameters */
poly stage_axis(struct loop_prog *p, stage_id s, int i);                                /* index of axis i */
void stage_body(struct loop_prog *p, stage_id s, enum combiner c, ex_id body);
/* Spatial axis i of stage s becomes a scan axis: the body may read what the stages of that number have written in earlier
 * steps (index - 1, ...), and what those before it in the program have written in this one. Stages of one number are
 * added one after the other and have scan axes of one extent; they are not called complete before the last step. */
void stage_scan(struct loop_prog *p, stage_id s, int i, uint32_t number);
/* The scan axis of s; -1: none. */
int stage_scan_axis(const struct stage *s);

/* Equal expressions are one: do not change one that has been made. */
ex_id ex_const(struct loop_prog *p, enum dtype t, double c);
ex_id ex_const_int(struct loop_prog *p, enum dtype t, int64_t c);
ex_id ex_index(struct loop_prog *p, enum dtype t, poly i);
ex_id ex_read(struct loop_prog *p, buf_id b, int n, const poly *index);
/* dim's index is the value of an integer expression (Gather). */
ex_id ex_read_at(struct loop_prog *p, buf_id b, int n, const poly *index, int dim, ex_id value);
/* As ex_read, but fill where an index is outside the buffer (padding). Bounds that always hold cost nothing. */
ex_id ex_read_fill(struct loop_prog *p, buf_id b, int n, const poly *index, double fill);
ex_id ex_call(struct loop_prog *p, int fn, ex_id a, ex_id b, ex_id c); /* unused operands 0 */
ex_id ex_cast(struct loop_prog *p, enum dtype t, ex_id a);
ex_id ex_guard(struct loop_prog *p, int n, const poly *conds, ex_id yes, ex_id no);

/* A parameter; its value stays in [lo, hi] (POLY_INF: no bound) and is a multiple of the divisor. */
poly prog_param(struct loop_prog *p, sym name, int64_t lo, int64_t hi, int64_t divisor);
/* Fills q, which has parameters and nothing else, with what the n programs p are for the parameters' values at[i]: they differ in numbers
 * alone, and each of these is c*f + d, where f is a product of at most three of the forms (polynomials of q in the parameters). Collapsed
 * programs, built or not; q is not. NULL, or why it cannot be ("axis m of mm is 3, 5 and 8"). */
const char *prog_unify(struct loop_prog *q, int n, struct loop_prog *const *p, const int64_t (*at)[LOOP_PARAMS_MAX], int nforms,
		       const poly *form);
/* Is q, for the values of its parameters, the program p, which has none? Neither is scheduled. */
bool prog_becomes(struct loop_prog *q, struct loop_prog *p);
/* Size of a dim, an extent of the storage, size of an axis. */
poly buf_dim(struct loop_prog *p, buf_id b, int d);
poly buf_size(struct loop_prog *p, buf_id b, int d);
poly axis_size(struct loop_prog *p, const struct axis *x);
/* Does e depend on the parameters alone? */
bool prog_fixed(struct loop_prog *p, poly e);
/* Has e a value that no parameter changes? (It may depend on loops.) */
bool prog_same(struct loop_prog *p, poly e);
/* Sets the variables of parameters and rests in env. */
void prog_values(struct loop_prog *p, int64_t *env);
/* e for the values of the parameters. */
int64_t prog_value(struct loop_prog *p, poly e);
/* Bytes of workspace for those values; -1: more than any memory has. */
static const int64_t WORKSPACE_MAX = 1ll << 47;
int64_t prog_workspace(struct loop_prog *p);

/* Before prog_start: axes that every access runs over together become one, dims and axes of one step vanish. Buffers
 * keep their memory, not their rank. */
void prog_collapse(struct loop_prog *p);
/* All stages are there: makes the start state. */
void prog_start(struct loop_prog *p);

static inline struct loop_buf *lbuf(struct loop_prog *p, buf_id b) { return &p->bufs.a[b]; }
static inline struct stage *lstage(struct loop_prog *p, stage_id s) { return &p->stages.a[s]; }
static inline struct ex *lex(struct loop_prog *p, ex_id e) { return &p->exs.a[e]; }
static inline struct nest *lnest(struct loop_prog *p, nest_id n) { return &p->nests.a[n]; }
stage_id stage_find(struct loop_prog *p, const char *name); /* 0: none */
buf_id buf_find(struct loop_prog *p, const char *name);
/* Stages or buffers are gone or have other numbers: names are looked up anew. */
void prog_names_forget(struct loop_prog *p);
stage_id buf_writer(struct loop_prog *p, buf_id b); /* the stage whose out it is; 0: an input */

/* Can the emitter write s for all lanes of a vector loop at once, as far as types and functions go? Vectors have as many lanes as those
 * of f32 whatever the types are. */
bool stage_in_lanes(struct loop_prog *p, stage_id s);

/* Every EX_READ at or under e, each once: f(p, read, arg). */
void ex_reads(struct loop_prog *p, ex_id e, void (*f)(struct loop_prog *p, ex_id read, void *arg), void *arg);
/* Copy of e with axis variables replaced (n of them). */
ex_id ex_subst(struct loop_prog *p, ex_id e, int n, const poly_var *v, const poly *by);

/* Where an element is: index (logical, one polynomial a dim) as an offset in elements from the buffer's start
 * (window base taken off, layout applied, simplified by the variables' ranges). */
poly buf_offset(struct loop_prog *p, buf_id b, const poly *index);
poly buf_count(struct loop_prog *p, buf_id b);    /* the same in the parameters */
int64_t buf_elems(struct loop_prog *p, buf_id b); /* elements of storage: padded by the layout; the window's */
/* Indices of dim d that may be read: a constant's padding by its layout is zero and may, else the shape. */
int64_t buf_room(struct loop_prog *p, buf_id b, int d);
/* Row-major logical data, of any alignment, into the buffer's layout (padding zero); dst has buf_elems elements. */
void buf_pack(struct loop_prog *p, buf_id b, const void *src, void *dst);
/* The same for a buffer of no program (dtype, rank, shape, equal extent, layout), and back. */
int64_t layout_elems(const struct loop_buf *b); /* INT64_MAX: more than can be counted */
void layout_pack(const struct loop_buf *b, const void *src, void *dst);
void layout_unpack(const struct loop_buf *b, const void *src, void *dst);

/* Ready for the emitter: loops are cut in pieces where their tails and guards change (straightforward pieces
 * simplify), windows of scratch, stack and register buffers computed, workspace laid out. NULL, or why
 * not ("register buffer acc: index is not constant after unrolling"). */
const char *loop_legalize(struct loop_prog *p);

/* Text of stages, and of the nest with bindings, for people and tests. */
const char *prog_str(struct loop_prog *p, struct arena *a);
/* Digest of the stage text: traces carry it. */
struct digest prog_digest(struct loop_prog *p);
#endif
