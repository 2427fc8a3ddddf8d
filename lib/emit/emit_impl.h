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
	sym mask;   /* lanes active in every access to it: text of the mask, 0: all */
	bool mixed; /* accesses differ in that: a guarded write must keep the other lanes */
};
struct reg_touched {
	buf_id b;
	struct reg_run run;
};
struct regs {
	VEC(struct reg_run) run; /* sorted by at after regs_settle, apart from each other */
	VEC(int64_t) one;        /* elements outside every run */
	bool apart;              /* runs overlap in part: every element is a scalar */
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
struct run_statement {
	const char *text;
	int depth;
	bool guarded;
};
struct run {
	VEC(struct run_load) load;
	VEC(struct run_statement) statement;
	struct arena arena;
};

struct emit {
	FILE *f;
	struct loop_prog *p;
	struct arena tmp; /* text of the current block */
	struct arena keep;
	bool dry;
	int depth;
	int vl; /* lanes of a vector of float */
	/* what loop variables stand for: unrolled copies */
	int nenv;
	poly_var env_v[NEST_DEPTH_MAX];
	poly env_by[NEST_DEPTH_MAX];
	VEC(const char *) var_text; /* C text of each variable; NULL: not in scope */
	int nopen;
	sym open[NEST_DEPTH_MAX]; /* C names in scope */
	poly_var open_var[NEST_DEPTH_MAX];
	int *open_at_alloc; /* by buffer: nopen where it is declared */
	VEC(struct reg_touched) touched;
	struct regs *regs; /* by buffer */
	const char **buf_text;
	poly_var lane;   /* the loop under way is a vector loop: its variable, */
	int lanes;       /* its largest extent, at most vl, */
	poly lane_guard; /* and >= 0 in active lanes (0: all of them) */
	/* expression under way */
	nest_id block;
	VEC(int) uses; /* of each expression of the body, by ex id - uses_base */
	ex_id uses_base;
	VEC(const char *) lines; /* declarations before the statement */
	VEC(struct named_ex) named;
	int ntemp;
	int guarded; /* > 0: within an operand that is not always evaluated */
	bool aside;  /* text goes to a buffer, not to the kernel yet */
	struct run run;
	int nloads; /* named so far in the function */
	/* teams */
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
/* v stands for `by`, until nenv is decremented. */
void env_push(struct emit *e, poly_var v, poly by);

/* ---- buffers.c ---- */
/* "f32 8x16", and the order of its layout. */
const char *dims_text(struct emit *e, const struct loop_buf *b);
void name_buffers(struct emit *e);
const char *params(struct emit *e, enum scope s); /* of one scope, by number, each followed by a comma */
/* Buffers on the stack and in registers that live in an iteration of n: are there any, and their declarations. */
bool has_locals(struct emit *e, nest_id n);
void declare_locals(struct emit *e, nest_id n);
/* Does any buffer live in an iteration of n? Then its lanes cannot run side by side. */
bool is_home(struct emit *e, nest_id n);
/* Declares a scratch buffer; behind: added to its place in the workspace, or "". */
void emit_scratch(struct emit *e, buf_id b, const char *behind);

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
bool emit_woven(struct emit *e, nest_id rows);

/* ---- block.c ---- */
/* A block: for all lanes within a vector loop (e->lane), or lane after lane if that cannot be. */
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
/* Is the read ex that of a table of bytes, with one for each code, at a code? Then no index is outside. */
bool emit_looks_up(struct loop_prog *p, ex_id ex);
ex_id looked_up_by(struct loop_prog *p, ex_id ex); /* the code */
const char *lookup_text(struct emit *e, ex_id ex, const char *code);
/* A poly over the stage's axes as the current block binds them. */
poly here(struct emit *e, poly x);
/* Offset in elements of the read ex (whose dynamic index, if any, gets a variable of its own). */
poly read_offset(struct emit *e, ex_id ex);
poly write_offset(struct emit *e);
poly placed(struct emit *e, buf_id b, poly offset);         /* from where b's pointer points */
const char *element(struct emit *e, buf_id b, poly offset); /* "c0[...]" or a register's name */
const char *scalar_call(struct emit *e, int fn, enum dtype t, const char *a, const char *b, const char *c);
const char *scalar_load(struct emit *e, buf_id b, poly offset); /* as a value */
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
/* Builds f(ex) with temporaries of its own, as a statement expression if it has any. */
const char *scoped(struct emit *e, ex_id ex, const char *(*f)(struct emit *e, ex_id ex, void *arg), void *arg);
/* Gives the value a local variable if more than one expression uses it. */
const char *name_shared(struct emit *e, ex_id ex, int kind, const char *type, const char *value);
const struct named_ex *named_find(struct emit *e, ex_id ex);

/* ---- lanes.c, vector_store.c ---- */
/* cond, and that some lane is active where lanes share an element that may lie out of bounds otherwise. */
const char *vector_cond(struct emit *e, const char *cond);
/* The current block for lanes 0..lanes-1 of the vector loop; false (nothing written): not as vectors. */
bool vector_block(struct emit *e);

/* ---- registers.c ---- */
/* lanes 1: an element. mask: text of the guard on lanes, 0: none; it depends on the first nopen variables in scope. */
void reg_touch(struct emit *e, buf_id b, int64_t at, int lanes, sym mask, int nopen);
void regs_settle(struct emit *e);
void regs_free(struct emit *e);
const char *reg_element(struct emit *e, buf_id b, int64_t at);
/* The vector variable of which elements at, at+1.. are the lanes from 0; NULL: there is none. */
const struct reg_run *reg_run(struct emit *e, buf_id b, int64_t at);
const char *reg_name(struct emit *e, buf_id b, int64_t at);
void reg_declare(struct emit *e, buf_id b);

/* ---- team.c ---- */
bool is_team(struct loop_prog *p, nest_id n);
/* A team's pieces, n of them: a function for the threads, and here its call. */
void emit_team(struct emit *e, const nest_id *piece, size_t n);
/* Is b used outside of all teams? */
bool used_alone(struct emit *e, buf_id b);
/* Does one of n nests use b? */
bool used_by(struct emit *e, const nest_id *piece, size_t n, buf_id b);

/* ---- loads.c ---- */
/* In the text of a statement: the load of lanes elements, step apart (0: of a scalar), from element `at` of b on; load is its
 * own text, type that of its value. An index that is data has a name that only its statement knows: not for those. */
const char *load_mark(struct emit *e, buf_id b, poly at, int lanes, int64_t step, const char *type, const char *load);
/* The next statement; written: the buffer in memory that it changes, or 0. */
void run_add(struct emit *e, const char *statement, bool guarded, buf_id written);
void run_end(struct emit *e); /* writes what waits */

/* ---- instr.c ---- */
void emit_call(struct emit *e, nest_id loop);
void emit_instr_helpers(FILE *f, struct loop_prog *const *p, int n); /* what their calls need */
/* Has it sums that an instruction adds to? */
bool emit_adds_by_call(struct loop_prog *p);

/* ---- helpers.c ---- */
/* The prelude without the functions (static inline) that none of the texts names, nor what they name. */
void emit_helpers_of(FILE *f, const char *prelude, const char *const *text, size_t n);

/* ---- outline.c, prefetch.c ---- */
void emit_outline(struct emit *e, nest_id loop);
void emit_prefetches(struct emit *e, nest_id loop); /* the prefetches of an iteration */

/* ---- prelude.c ---- */
/* What stands before a kernel of p so that its instructions come in an order that suits it; "": nothing. */
const char *emit_order(struct loop_prog *p);
/* Does p round numbers to integers of a byte? Then each step is rounded by itself: the same codes on every CPU. Not where it calls a
 * function (exp): that is another polynomial on each kind of CPU anyway, and fast by products and sums in one rounding. */
bool emit_makes_codes(struct loop_prog *p);
/* Does one of n programs have values of type t? */
bool uses_dtype(struct loop_prog *const *p, int n, enum dtype t);

/* ---- lanes_prelude.c ---- */
/* What gathers and combines lanes; of int and of other types in memory too, if a program may need them. */
void lanes_helpers(FILE *f, const struct target *t, struct loop_prog *const *p, int n);
#endif
