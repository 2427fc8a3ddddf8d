/* What templates share: the schedule in the making, what they ask about a program, and the templates themselves. A stage of a program
 * is given by its id; "axis" is a stage's, by its index. */
#ifndef HONE_TEMPLATE_H
#define HONE_TEMPLATE_H
#include "loop/nest.h"
#include "loop/prim.h"
#include "loop/sampling.h"
#include "loop/trace.h"
#include "target/target.h"

struct schedule {
	struct loop_prog *p;
	struct trace trace;         /* lines so far */
	int lanes;                  /* floats in a vector */
	const struct samples *want; /* decisions of who asks for the schedule; may be NULL */
	struct samples met;         /* samples so far */
	/* vectors along another axis than the contiguous one, operands and results transposed a panel at a time (across.c): */
	int along;                       /* that axis of the anchor; -1: no */
	buf_id moving;                   /* the operand that varies along that axis; 0: none */
	int moving_dim;                  /* the operand's dim that is the axis */
	int leading;                     /* axes of the anchor whose loops stay outermost: a step's results are turned in it */
	int lines;                       /* 1 + the axis of the outermost loop, in which another part is computed; 0: none */
	const struct row_blocks *blocks; /* of the next tile; NULL: as it chooses */
	const char *outside;             /* the loop before which panels that it does not change are packed; NULL: none */
};

/* Rows of a tile that go in blocks: all panels of a block, then the next one. */
struct row_blocks {
	int axis;     /* of the rows */
	double bytes; /* that a row of a block keeps in the second-level cache */
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
/* The decision could not be applied: the sample's line gets what was done instead. */
void sched_settle(struct schedule *r, const char *name, int64_t done);
void sched_drop(struct schedule *r, const char *name); /* removes the line: there was no choice */

/* A sum: iterations of the loop that is split, terms that an iteration adds to one sum, terms of all its loops, and whether they are
 * products. */
struct long_sum {
	int64_t steps, terms, all;
	bool products;
};
/* True if it is so long that chains of one kind (levels.c) do not make it whole. */
bool sched_is_long(double terms, bool products);
/* Does a size that only a run gives decide the extent of axis a of stage s? */
bool sched_axis_varies(struct loop_prog *p, stage_id s, int a);
/* Levels of the sum that stage makes, if it is a long one in f32; 0. factor: how many iterations, then sums, each adds up, the innermost
 * first. */
enum { LEVELS_MAX = 5 };
int sched_level_factors(struct schedule *r, const char *stage, struct long_sum sum, int64_t factor[LEVELS_MAX]);
/* The loop is split by them: the sums of n levels get buffers, whose names `made` then has, the innermost last. */
void sched_partials(struct schedule *r, const char *stage, const char *loop, int n, const char *scope, struct words *made);
/* If the sum that stage makes in `loop`, its outermost, is a long one in f32: splits the loop, so that blocks are summed from 0 on, in
 * buffers that `made` then has the names of, the innermost last. The innermost part of the loop, or `loop`. */
const char *sched_levels(struct schedule *r, const char *stage, const char *loop, struct long_sum sum, const char *scope,
			 struct words *made);

/* ---- the machine ---- */

/* Shares: of a cache that data may fill and stay; of the second-level cache that a panel may fill; of the first-level cache for a block. */
#define CACHE_SHARE 0.8
#define PANEL_SHARE 0.7
#define BLOCK_SHARE 0.5

const struct target *sched_machine(struct loop_prog *p); /* what the program is made for (target_filled) */
int sched_lanes(struct loop_prog *p);                    /* floats in a vector */

/* ---- parts (parts.c) ---- */

/* Part by part, where no template fits a program of several products. p->part: the current part; 0: all stages. Results of other parts are
 * its operands. */
uint32_t sched_parts(struct loop_prog *p);                     /* puts parts in place of the numbers of nodes; how many. Twice is once */
bool stage_here(struct loop_prog *p, stage_id s);              /* is it of the part, and left? */
stage_id writer_here(struct loop_prog *p, buf_id b);           /* the stage of the part that computes b; 0: none */
bool is_operand(struct loop_prog *p, buf_id b);                /* does the part take it from outside? */
bool is_result(struct loop_prog *p, buf_id b);                 /* is it read outside? */
const char *sched_fresh(struct schedule *r, const char *name); /* the name of a buffer that an earlier part has not made */

/* A buffer that another part makes for the only product of the part that is looked at. */
struct producer {
	buf_id made;
	stage_id maker, reader; /* of the buffer */
	uint32_t part;          /* the other one */
	int axis;               /* of the reader: in each of its steps it wants a line of the buffer */
	bool pays;              /* is it better to compute line by line than all before? */
};
bool producer_find(struct loop_prog *p, struct producer *q);
/* Computes a line in each iteration of the loop. false: that cannot be, and nothing has changed. */
bool producer_place(struct schedule *r, const struct producer *q, const char *loop);

/* ---- the program ---- */

/* The axis of s along which its result is contiguous in memory; -1: rank 0. */
int contiguous_axis(struct loop_prog *p, stage_id s);
/* Is axis a of s of many sizes, in its result or in what it reads? */
bool axis_varies(struct loop_prog *p, stage_id s, int a);
/* The dim of a buffer along which it is. */
int contiguous_dim(struct loop_prog *p, buf_id b);
/* Iterations of the loop of s along the axis: fewer than its extent if s is computed in parts. */
int64_t axis_steps(struct schedule *r, stage_id s, int axis);
/* The reads in the body of s, each as often as it is used, at most READS_MAX: their number. */
enum { READS_MAX = 32 };
int stage_all_reads(struct loop_prog *p, stage_id s, ex_id *out);
/* Does the read depend on axis variable v? */
bool read_uses(struct loop_prog *p, ex_id read, poly_var v);
/* The read's stride along v, in elements; false: it is not constant. */
bool read_step(struct loop_prog *p, ex_id read, poly_var v, int64_t *step);
/* Consecutive values of v for which the read stays the same (the input of a grouped convolution has the group's size); 1: it changes
 * with each. */
int64_t read_group(struct loop_prog *p, ex_id read, poly_var v);
/* Does s reduce whole rows that are contiguous in all it reads (softmax, normalizations)? */
bool reduces_rows(struct loop_prog *p, stage_id s);
int count_reductions(struct loop_prog *p); /* stages that are left and reduce */
/* Does one read of s vary along a spatial axis and another not? Then tiles reuse what they load. */
bool has_reuse(struct loop_prog *p, stage_id s);
/* Is s a product along rows that are contiguous in all it reads, of which one lies across the vectors of the result and is read once? Then
 * to turn it costs more than to sum up its rows where they lie. */
bool reads_rows_once(struct loop_prog *p, stage_id s, stage_id result);
/* The guard of an elementwise stage that chooses between sums by an index (rows of a transform); 0: none. */
ex_id stage_choice(struct loop_prog *p, stage_id s);
/* Does the reader sum groups of products by an instruction, which takes them from memory, and would compute s in it otherwise? */
bool is_dot(struct loop_prog *p, stage_id s); /* does s sum groups of products by an instruction? */
bool dot_needs(struct loop_prog *p, stage_id s, stage_id reader);
/* The same of a reader that sums products of halves. */
bool halves_need(struct loop_prog *p, stage_id s, stage_id reader);
/* A copy that the kernel makes in the order of its axes is made so that what is read along k lies side by side. */
void sched_copy_along(struct schedule *r, ex_id read, poly_var k);
/* Operations of an expression, roughly. Shared parts count as often as they are used; the count stops at a million. */
enum { SECOND_AXIS = 30 };     /* rows beyond which a longer second axis is no better */
enum { CALL_OPERATIONS = 10 }; /* of a call that is no plain arithmetic */
int sched_cost(struct loop_prog *p, ex_id e);
int sched_call_cost(int fn); /* of a function of loop/math.h */
/* The only stage that reads s; 0: none, or several. */
stage_id sched_sole_reader(struct loop_prog *p, stage_id s);

/* ---- costs, in cycles ---- */

/* A contraction with `steps` rows along t and vectors along v, in the tile that template_tile takes: cycles for each step of its other
 * axes. */
double sched_tile_cycles(struct schedule *r, stage_id anchor, int v, int t, int64_t steps);
/* The whole contraction with vectors along v; result: computed tile by tile after it, 0: none. transposed: what varies along v will be
 * contiguous along it. */
double sched_cycles_along(struct schedule *r, stage_id anchor, stage_id result, int v, bool transposed);
/* Threads share the steps of a loop: cycles to move what they read of each other between their caches, and constants. */
double sched_moved(struct loop_prog *p, nest_id loop, int64_t steps);

/* ---- templates ---- */

/* One a file. false: it does not fit; the program is untouched then. */
bool template_tile(struct schedule *r, stage_id anchor);       /* contraction, convolution, window: a register tile */
bool template_transformed(struct schedule *r);                 /* a product between two transforms (Winograd): block by block */
int transformed_channels(struct schedule *r, stage_id result); /* the axis of channels of that result of it; -1: it is none of it */
bool template_windows(struct schedule *r);                     /* windows combined along their last axis after the others */
bool template_windows_apart(struct schedule *r);           /* windows reduced more than once (the greatest, then its place): a tile each */
bool template_scan(struct schedule *r);                    /* step by step: recurrent networks, cumulative sums */
bool template_sums(struct schedule *r);                    /* several products */
bool template_blocks(struct schedule *r, stage_id result); /* several reductions along another axis than the contiguous one */
bool template_halves(struct schedule *r);                  /* a product in f16, of short sums that are added up in f32 */
/* Does the reader, in whose tiles they are multiplied, want the bytes that s makes of codes of 4 bits side by side? */
bool tile_needs(struct loop_prog *p, stage_id s, stage_id reader);
bool template_packed(struct schedule *r); /* a row times a matrix in blocks that have a factor each */
bool template_rows(struct schedule *r, stage_id result);
bool template_chain(struct schedule *r);               /* two products with reductions of rows between them */
bool chain_fits(struct loop_prog *p);                  /* does it? */
stage_id chain_bent(struct loop_prog *p);              /* of those, the stage that scales and masks the first one's sums; 0: none */
bool template_apart(struct schedule *r);               /* products and other reductions in another order */
bool template_extremes(struct schedule *r);            /* the least and the greatest of all elements */
void template_row_sum(struct schedule *r, stage_id s); /* one reduction along rows, by itself */
void template_map(struct schedule *r, stage_id s);     /* elementwise and copies: vectors along the contiguous axis */
void sched_threads(struct schedule *r);                /* last: loops that are worth it go to a team of threads */
/* Before the others: transposes operands and result if vectors along another axis than the contiguous one are better. */
bool sched_across(struct schedule *r, stage_id anchor);

/* ---- parts that templates share ---- */

/* The only spatial axis of s along which constants vary that it reads; -1: there is none, or several. */
int sched_constants_axis(struct loop_prog *p, stage_id s);
/* Schedules the copy s, from axis o last to axis w last or (from false) the other way, in squares of lanes by lanes; join: fuses short
 * lines to fill squares. */
void sched_squares(struct schedule *r, stage_id s, int o, int w, bool from, bool join);
/* Cycles to turn all of b, so that its dim o is innermost. */
double sched_turn_cycles(struct schedule *r, buf_id b, int o);
/* Copies what `reader` reads of b in an iteration of the loop ("root": all of it), with its dim o innermost. */
void sched_turn_operand(struct schedule *r, buf_id b, stage_id reader, const char *loop, int o);
/* For r->along: copies what one iteration of that loop reads and writes. */
void sched_transpose_panels(struct schedule *r, stage_id anchor, stage_id result, const char *loop);
/* All stages but others[s] (NULL: all there are) row by row, or in blocks of rows, of the result. */
bool sched_rows(struct schedule *r, stage_id result, const bool *others);
/* Sample "STAGE.unroll": of the loop over vectors, which has that many steps. */
void sched_unroll(struct schedule *r, stage_id s, const char *loop, int64_t steps);
#endif
