/* What templates share: the schedule in the making, what they ask about a program, and the templates themselves. A stage of a program
 * is given by its id; "axis" is a stage's, by its index. */
#ifndef HONE_TEMPLATE_H
#define HONE_TEMPLATE_H
#include "loop/nest.h"
#include "loop/prim.h"
#include "loop/sampling.h"
#include "loop/trace.h"

struct schedule {
	struct loop_prog *p;
	struct trace trace;         /* lines so far */
	int lanes;                  /* floats in a vector */
	const struct samples *want; /* decisions of who asks for the schedule; may be NULL */
	struct samples met;         /* samples so far */
	/* vectors lie along another axis than the contiguous one, and operands and results are transposed a panel at a time: */
	int along;      /* that axis of the anchor; -1: no */
	buf_id moving;  /* the operand that varies along it; 0: none */
	int moving_dim; /* its dim that is that axis */
};

/* ---- the trace ---- */

/* Applies a line and appends it: its primitive and operands (loop/prim.h). false: its precondition does not hold; nothing has changed
 * then. sched_make: of a primitive that makes a stage or buffer of that name. */
#define sched_try(r, prim, ...)          sched_make(r, NULL, prim, __VA_ARGS__)
#define sched_make(r, result, prim, ...) sched_line(r, result, prim, (const char *const[]){__VA_ARGS__, NULL})
bool sched_line(struct schedule *r, const char *result, enum prim_id prim, const char *const *operand); /* up to NULL */
bool sched_apply(struct schedule *r, struct trace_line line);
/* The same with operands that are listed one by one. */
struct words {
	int n;    /* TRACE_WORDS_MAX: too many; no line is made of them */
	bool gap; /* as in struct trace_line */
	const char *word[TRACE_WORDS_MAX];
};
void words_add(struct words *w, const char *word);
bool sched_list(struct schedule *r, const char *result, enum prim_id prim, const struct words *w);
/* Lays a buffer out: as `order` says; with its axes in the order of those of s, but that one last. */
bool sched_layout(struct schedule *r, const char *buf, const struct layout *order);
bool sched_axis_last(struct schedule *r, const char *buf, stage_id s, int axis);
/* An operand: the name of a loop, a stage, a buffer. */
#define sched_name(r, ...) arena_printf(&(r)->p->arena, __VA_ARGS__)
const char *axis_loop(struct schedule *r, stage_id s, int axis, const char *part); /* "STAGE.AXISpart" */
const char *loop_part(struct schedule *r, const char *loop, int part);             /* "LOOP.part" */
/* A sample of n choices: the decision that is wanted, if it is one of them, else the usual one. Later lines may say its name instead
 * of the number. */
int64_t sched_sample(struct schedule *r, const char *name, const int64_t *choice, int n, int64_t usual);
/* The same with words; usual and the decision are indices. */
int sched_word(struct schedule *r, const char *name, const char *const *word, int n, int usual);
bool sched_yes(struct schedule *r, const char *name, bool usual); /* no, yes */
/* What the sample asks for does not apply: its line says from now on what was done instead. */
void sched_settle(struct schedule *r, const char *name, int64_t done);
void sched_drop(struct schedule *r, const char *name); /* there was no choice: the line goes */

/* ---- the machine ---- */

struct target sched_machine(struct loop_prog *p); /* what the program is made for (target_filled) */
int sched_lanes(struct loop_prog *p);             /* floats in a vector */

/* ---- the program ---- */

/* The axis of s along which its result is contiguous in memory; -1: rank 0. */
int contiguous_axis(struct loop_prog *p, stage_id s);
/* Steps of the loop of s along its axis: fewer than the axis has where s is computed in parts. */
int64_t axis_steps(struct schedule *r, stage_id s, int axis);
/* All reads of s, as often as its body uses them, but the first READS_MAX at most: count; out holds READS_MAX. */
enum { READS_MAX = 32 };
int stage_all_reads(struct loop_prog *p, stage_id s, ex_id *out);
/* Does the read move with axis variable v? */
bool read_uses(struct loop_prog *p, ex_id read, poly_var v);
/* Elements in memory that the read moves when v goes up by one; false: not always as many. */
bool read_step(struct loop_prog *p, ex_id read, poly_var v, int64_t *step);
/* Steps of v for which a read that uses it stands still before it moves on (the input of a grouped convolution); 1: it moves at each. */
int64_t read_group(struct loop_prog *p, ex_id read, poly_var v);
/* Does some axis move one read of s and not another? Then tiles use what they load again. */
bool has_reuse(struct loop_prog *p, stage_id s);
/* Where the body of s, no reduction, chooses between sums by an index (a row of a transform): that guard; 0: nowhere. */
ex_id stage_choice(struct loop_prog *p, stage_id s);
/* Does the reader sum groups of products by an instruction, which takes them from memory, and would compute s in it otherwise? */
bool dot_needs(struct loop_prog *p, stage_id s, stage_id reader);
/* Operations of an expression, roughly: what is used twice counts twice; a million at most. */
int sched_cost(struct loop_prog *p, ex_id e);
int sched_call_cost(int fn); /* of a function of loop/math.h */

/* ---- costs, in cycles ---- */

/* A contraction, for each step of its other axes, with the tile that template_tile takes for `steps` rows along t, vectors along v. */
double sched_tile_cycles(struct schedule *r, stage_id anchor, int v, int t, int64_t steps);
/* All of it with vectors along v, result (0: none) computed tile by tile. transposed: what moves along v will lie along it. */
double sched_cycles_along(struct schedule *r, stage_id anchor, stage_id result, int v, bool transposed);
/* Threads share the steps of a loop: to move what they read of each other between their caches, and to read constants that each needs. */
double sched_moved(struct loop_prog *p, nest_id loop, int64_t steps);

/* ---- templates ---- */

/* One a file. false: it does not fit; the program is untouched then. */
bool template_tile(struct schedule *r, stage_id anchor);   /* contraction, convolution, window: a register tile */
bool template_transformed(struct schedule *r);             /* a product between two transforms (Winograd): block by block */
bool template_windows(struct schedule *r);                 /* windows combined along their last axis after the others */
bool template_scan(struct schedule *r);                    /* step by step: recurrent networks, cumulative sums */
bool template_sums(struct schedule *r);                    /* several products */
bool template_blocks(struct schedule *r, stage_id result); /* several reductions along another axis than the contiguous one */
bool template_rows(struct schedule *r, stage_id result);   /* reductions along the contiguous axis */
void template_map(struct schedule *r, stage_id s);         /* elementwise and copies: vectors along the contiguous axis */
void sched_threads(struct schedule *r);                    /* last: loops that are worth it go to a team of threads */
/* First: where another axis than the contiguous one is better for vectors, what moves along it is transposed. */
bool sched_across(struct schedule *r, stage_id anchor);

/* ---- parts that templates share ---- */

/* Copy s, from axis o last to axis w last or (from false) the other way, in squares of a vector's lanes; join: lines next to each
 * other are one where that fills them better. */
void sched_squares(struct schedule *r, stage_id s, int o, int w, bool from, bool join);
/* For r->along: the copies of what one iteration of that loop reads and writes. */
void sched_transpose_panels(struct schedule *r, stage_id anchor, stage_id result, const char *loop);
/* Sample "STAGE.unroll": of the loop over vectors, which has that many steps. */
void sched_unroll(struct schedule *r, stage_id s, const char *loop, int64_t steps);
#endif
