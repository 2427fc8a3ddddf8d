/* Inside the emitter: the state of one kernel's text, and what its files do for each other. kernel.c begins; loops.c walks over the
 * nest; block.c writes a statement, with scalar.c for one step or vector_store.c for all lanes of a vector loop. */
#ifndef HONE_EMIT_IMPL_H
#define HONE_EMIT_IMPL_H
#include <stdio.h>
#include "emit/emit.h"
#include "loop/math.h"
#include "loop/nest.h"

/* A register buffer's elements by offset: vector variables, and single ones. The first (dry) walk collects what is
 * touched; the second writes the text. */
struct reg_run {
	int64_t at;
	int lanes;
	sym mask;   /* which lanes are active in every access to it: text of the mask, 0: all */
	bool mixed; /* accesses differ in their active lanes: a guarded write must keep the other lanes */
};
struct reg_touched {
	buf_id b;
	struct reg_run run;
};
struct regs {
	VEC(struct reg_run) run; /* after regs_settle: sorted by at, without overlaps */
	VEC(int64_t) one;        /* elements outside every run */
	bool apart;              /* runs overlap in part: every element is a scalar */
	bool in_parts;           /* vectors are set some lanes at a time */
};

/* A vector of registers that is zero until it is touched, or a loop begins or ends. */
struct reg_zero {
	buf_id b;
	int64_t at;
	int loops; /* that had begun or ended */
};

/* A shared subexpression that has its own local variable. */
struct named_ex {
	ex_id ex;
	const char *text;
	int kind; /* enum vx_kind */
};

/* Consecutive statements that are held back, and their loads (loads.c). */
struct run_load {
	buf_id b;
	poly at;
	int lanes;
	int64_t step;
	const char *type, *text;
	bool stale; /* b was written since */
	int uses, name;
};
/* A statement that only stores a whole vector of floats. */
struct run_store {
	buf_id b; /* 0: none */
	poly at;
	const char *to, *value;
};
struct run_statement {
	const char *text;
	int depth;
	bool guarded;
	struct run_store store;
};
struct run {
	VEC(struct run_load) load;
	VEC(struct run_statement) statement;
	struct run_store store; /* the statement that is being written */
	struct arena arena;
};

enum { HELD_MAX = 16 };

struct emit {
	FILE *f;
	struct loop_prog *p;
	struct arena tmp; /* text of the current block */
	struct arena keep;
	bool dry;
	int depth;
	int vl; /* lanes of a vector of float */
	/* in an unrolled copy, what its loop variables stand for */
	int nenv;
	poly_var env_v[NEST_DEPTH_MAX];
	poly env_by[NEST_DEPTH_MAX];
	VEC(const char *) var_text; /* C text of each variable; NULL: not in scope */
	int nopen;
	sym open[NEST_DEPTH_MAX]; /* C names in scope */
	poly_var open_var[NEST_DEPTH_MAX];
	int *open_at_alloc; /* by buffer: nopen at its declaration */
	VEC(struct reg_touched) touched;
	struct regs *regs; /* by buffer */
	VEC(struct reg_zero) zeros;
	int loops; /* that began or ended so far */
	const char **buf_text;
	poly_var lane;   /* if the loop being written is a vector loop: its variable, */
	int lanes;       /* its largest extent, at most vl, */
	poly lane_guard; /* and >= 0 in active lanes (0: all of them) */
	int nheld;
	poly held[HELD_MAX]; /* guards that loops around have asked */
	struct map states;   /* of guards in the block states_of, where sizes vary: guard_state, and 1 */
	nest_id states_of;
	/* the block being written, and its expression */
	nest_id block;
	VEC(int) uses; /* of each expression of the body, by ex id - uses_base */
	ex_id uses_base;
	VEC(const char *) lines; /* declarations before the statement */
	VEC(struct named_ex) named;
	int ntemp;
	int guarded; /* > 0: within an operand that is not always evaluated */
	bool aside;  /* text goes to a buffer first, not to the kernel */
	ex_id loose; /* a cast that need not round: what is stored is rounded; 0: none */
	struct run run;
	int nloads; /* named so far in the function */
	/* a loop whose iterations each begin with a call that is started `many` iterations before; call 0: none */
	struct {
		nest_id loop, call;
		int many, place; /* place: of the next one that ends */
		poly extent;     /* of the loop */
	} under_way;
	/* teams */
	bool form;          /* it is a kernel's form (emit.h) */
	const char *kernel; /* its name */
	FILE *teams;        /* text of their functions */
	int nteams;
	bool in_team;
	/* outlined nests */
	struct outlines *outlines;
	poly *start; /* by buffer: where the function's pointer points, in elements; NULL: not in such a function */
	bool *asked; /* by variable, nasked of them: was its text used? NULL: not recorded */
	size_t nasked;
};

/* ---- text.c ---- */
/* Text in e->tmp. */
const char *text(struct emit *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* One line of C at the depth of e. */
void line(struct emit *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tmp_clear(struct emit *e);
/* name as a C identifier that nothing else in scope has. */
sym c_name(struct emit *e, const char *name);
/* C text of a variable, NULL: none. Open: it is a C variable of that name, in scope until it is closed, last opened first. */
void var_set(struct emit *e, poly_var v, const char *text);
void var_open(struct emit *e, poly_var v, sym name);
void var_close(struct emit *e, poly_var v);
/* v stands for `by` until nenv is decremented. */
void env_push(struct emit *e, poly_var v, poly by);

/* ---- buffers.c ---- */
/* For comments: a size, or the extent if it is POLY_UNKNOWN. */
const char *size_text(struct emit *e, poly size, int64_t extent);
/* "f32 8x16", and the order of its layout. */
const char *dims_text(struct emit *e, const struct loop_buf *b);
void name_buffers(struct emit *e);
const char *params(struct emit *e, enum scope s); /* of one scope, by number, each followed by a comma */
/* Buffers on the stack and in registers that live in one iteration of n: are there any, and their declarations. */
bool has_locals(struct emit *e, nest_id n);
void declare_locals(struct emit *e, nest_id n);
/* Does any buffer live in one iteration of n? Then its iterations cannot be lanes. */
bool is_home(struct emit *e, nest_id n);
/* Declares a scratch buffer; behind: text that is added to its address in the workspace, or "". */
void emit_scratch(struct emit *e, buf_id b, const char *behind);

/* ---- known.c ---- */
/* Does g >= 0 hold wherever the block runs? */
enum guard_state { GUARD_ASKED, GUARD_ALWAYS, GUARD_NEVER };
enum guard_state guard_state(struct emit *e, poly g);

/* ---- loops.c ---- */
void emit_nest(struct emit *e, nest_id id);
void emit_for(struct emit *e, nest_id id);
/* The iterations of a team's piece that lie in [begin, end). */
void emit_piece(struct emit *e, nest_id n);

/* ---- vector_loop.c ---- */
bool only_blocks(struct emit *e, nest_id n);
/* A vector loop of that extent, over blocks only. */
void emit_vector(struct emit *e, nest_id id, poly extent);

/* ---- weave.c ---- */
/* An unrolled loop over four rows of bytes that go side by side; false (nothing written): it is none. */
bool emit_woven(struct emit *e, nest_id loop);
/* Four rows of codes of a loop, from that one on, that lie one behind the other; false (nothing written): they are none. */
bool emit_packed(struct emit *e, nest_id loop, poly at);

/* ---- block.c ---- */
/* A block: in a vector loop (e->lane) for all lanes at once or, where that is not possible, lane after lane. */
void emit_block(struct emit *e, nest_id id);
/* The guards that are the same in all lanes, as a condition ("": none); false: the block never runs. */
bool guard_text(struct emit *e, const struct nest *n, const char **cond);

/* ---- scalar.c ---- */
const char *ctype(enum dtype t);
const char *vtype(enum dtype t); /* type of values in expressions (bf16: float) */
poly env_subst(struct emit *e, poly x);
const char *poly_text(struct emit *e, poly x); /* C expression of type long; sums without parentheses */
const char *cond_text(struct emit *e, poly x); /* x >= 0 */
const char *const_text(struct emit *e, enum dtype t, double c, int64_t ic);
/* Does ex read, at a code, a table of bytes that has an entry for every code? Then no index is out of range. */
bool emit_looks_up(struct loop_prog *p, ex_id ex);
ex_id looked_up_by(struct loop_prog *p, ex_id ex); /* the code */
const char *lookup_text(struct emit *e, ex_id ex, const char *code);
/* A poly over the stage's axes as the current block binds them. */
poly here(struct emit *e, poly x);
/* Offset in elements of the read ex (whose dynamic index, if any, gets a variable of its own). */
poly read_offset(struct emit *e, ex_id ex);
poly write_offset(struct emit *e);
poly placed(struct emit *e, buf_id b, poly offset);         /* relative to where b's pointer points */
const char *element(struct emit *e, buf_id b, poly offset); /* "c0[...]" or a register's name */
const char *scalar_call(struct emit *e, int fn, enum dtype t, const char *a, const char *b, const char *c);
const char *scalar_load(struct emit *e, buf_id b, poly offset); /* as a value */
/* x, a float, as it is stored in b, of bf16: as bits in memory; in a register as a float that is rounded. */
const char *bf16_element(struct emit *e, buf_id b, const char *x);
const char *scalar(struct emit *e, ex_id ex);
const char *scalar_read(struct emit *e, ex_id ex, poly at); /* of an EX_READ whose offset is at */
const char *cast_text(struct emit *e, enum dtype to, enum dtype from, const char *a);
/* s without the parentheses around all of it, if it has them. */
const char *bare(struct emit *e, const char *s);
/* The statement of the current block: out = body, or out = combine(out, body). */
void scalar_block(struct emit *e);
/* Counts uses of every expression of the body, forgets temporaries. */
void body_begin(struct emit *e);
void body_lines(struct emit *e);
/* Builds f(ex) with temporaries of its own: a statement expression if there are any. */
const char *scoped(struct emit *e, ex_id ex, const char *(*f)(struct emit *e, ex_id ex, void *arg), void *arg);
/* Gives the value a local variable if more than one expression uses it. */
const char *name_shared(struct emit *e, ex_id ex, int kind, const char *type, const char *value);
const struct named_ex *named_find(struct emit *e, ex_id ex);

/* ---- lanes.c, vector_store.c ---- */
/* cond; and, if all lanes share an element that may lie out of bounds where no lane is active, that some lane is active. */
const char *vector_cond(struct emit *e, const char *cond);
/* Writes the current block for lanes 0..lanes-1 of the vector loop. false, and nothing is written: it cannot be written with vectors. */
bool vector_block(struct emit *e);

/* ---- registers.c ---- */
/* Notes an access to `lanes` elements from `at` on. mask: text of the guard on lanes, 0: none; it depends on the first nopen variables
 * in scope. */
void reg_touch(struct emit *e, buf_id b, int64_t at, int lanes, sym mask, int nopen);
void regs_settle(struct emit *e);
void regs_free(struct emit *e);
/* The vector of halves in which the lanes from `at` on are the first half or the second; NULL: there is none. */
const char *reg_half(struct emit *e, buf_id b, int64_t at, int *half);
const char *reg_element(struct emit *e, buf_id b, int64_t at);
/* Vectors of registers that so many elements lie in, one at each of at[], n; lane[i]: the place of element i in vector of[i]. In a dry run
 * they are noted. 0: an element lies in no vector, or in more than `most` of them. */
int reg_spread(struct emit *e, buf_id b, const int64_t *at, int n, int most, const struct reg_run **run, int *of, int *lane);
/* The vector variable of which elements at, at+1.. are the lanes from 0; NULL: there is none. */
const struct reg_run *reg_run(struct emit *e, buf_id b, int64_t at);
/* Notes that all lanes of the vector at `at` are zero now; asks whether they still are, on the way of each run. */
void reg_zero(struct emit *e, buf_id b, int64_t at);
bool reg_is_zero(struct emit *e, buf_id b, int64_t at);
const char *reg_name(struct emit *e, buf_id b, int64_t at);
void reg_declare(struct emit *e, buf_id b);

/* ---- kernel.c, numbers.c ---- */
/* The kernel's text; form: with a mark for each number and for more parameters. */
void emit_function(FILE *f, struct loop_prog *p, const char *name, struct outlines *outlines, bool form);
/* The literal of a number of type t, in a form with its mark. */
const char *number_mark(struct emit *e, enum dtype t, const char *literal);
/* The text of a function with parameters n<first>, n<first + 1>, .. in the place of marks; the numbers they take go to *n. text is spent;
 * free what is returned. */
char *numbers_lift(char *text, int first, struct numbers *n);

/* ---- team.c ---- */
bool is_team(struct loop_prog *p, nest_id n);
/* Writes a function that runs the n pieces of a team's work, and its call. */
void emit_team(struct emit *e, const nest_id *piece, size_t n);
/* Is b used outside of all teams? */
bool used_alone(struct emit *e, buf_id b);
/* Does one of n nests use b? */
bool used_by(struct emit *e, const nest_id *piece, size_t n, buf_id b);

/* ---- loads.c ---- */
/* The text by which a statement loads `lanes` elements, step apart (0: of a scalar), from element `at` of b on. load is the C
 * expression, type that of its value. Not for indices that are data: only their statement knows their names. */
const char *load_mark(struct emit *e, buf_id b, poly at, int lanes, int64_t step, const char *type, const char *load);
/* The next statement; written: the buffer in memory that it changes, or 0. */
void run_add(struct emit *e, const char *statement, bool guarded, buf_id written);
void run_end(struct emit *e); /* writes what waits */
/* Notes that the statement is vstore(to, value), of element `at` of b on: where the target does so at once, two such side by side are one. */
void run_stores(struct emit *e, buf_id b, poly at, const char *to, const char *value);

/* ---- instr.c ---- */
void emit_call(struct emit *e, nest_id loop);
/* Does the nest do nothing but start sums that calls set? */
bool emit_only_starts(struct emit *e, nest_id n);
/* Before a loop unrolled by n: if its iterations begin with a call that can be started n iterations before, starts the first n. Then, until
 * emit_end_calls, each puts its sums where they belong and starts that of a later iteration. false: no iteration is started before. */
bool emit_start_calls(struct emit *e, nest_id loop, poly extent, int n);
void emit_end_calls(struct emit *e);
void emit_instr_helpers(FILE *f, struct loop_prog *const *p, int n); /* what their calls need */
/* Does it have sums that an instruction adds to? */
bool emit_adds_by_call(struct loop_prog *p);
/* A row of its calls that has statements around them; NULL: none. */
const struct instr *emit_around_calls(struct loop_prog *p);

/* ---- helpers.c ---- */
/* The prelude without the functions (static inline) that neither the texts nor the functions they use name. */
void emit_helpers_of(FILE *f, const char *prelude, const char *const *text, size_t n);

/* ---- outline.c, prefetch.c ---- */
void emit_outline(struct emit *e, nest_id loop);
void emit_prefetches(struct emit *e, nest_id loop); /* the prefetches of an iteration */

/* ---- prelude.c ---- */
/* Attributes before a kernel of p that make the compiler order its instructions well; "": none. */
const char *emit_order(struct loop_prog *p);
/* Does p round numbers to integers of a byte, or make numbers of sums of integers, which another kernel rounds? Then every operation is
 * rounded by itself, so that all CPUs compute the same codes. Not if it calls a function (exp) or sums products of floats: these differ
 * between kinds of CPU anyway, and are fast only if a product and a sum are rounded together. */
bool emit_makes_codes(struct loop_prog *p);

/* ---- lanes_prelude.c ---- */
/* Does one of n programs have values of type t? */
bool uses_dtype(struct loop_prog *const *p, int n, enum dtype t);
/* What gathers and combines lanes; of int and of other types in memory too, if a program may need them. */
void lanes_helpers(FILE *f, const struct target *t, struct loop_prog *const *p, int n);
#endif
