/* Inside the rule: a trace in the making, and what templates ask about a program. */
#ifndef HONE_RULE_H
#define HONE_RULE_H
#include "loop/nest.h"
#include "loop/prim.h"
#include "loop/sampling.h"

struct rule {
	struct loop_prog *p;
	char *text;                 /* lines so far */
	int lanes;                  /* floats in a vector */
	const struct samples *want; /* decisions; may be NULL */
	struct samples met;         /* so far */
	int along;     /* axis of the anchor along which vectors lie, its operands and results turned a panel at a time; -1: none */
	buf_id moving; /* the operand that moves along it; 0: none */
	int moving_dim;
};
struct target rule_machine(struct loop_prog *p); /* what the program is made for (target_filled) */
int rule_lanes(struct loop_prog *p);
/* Applies one line and appends it. false: the precondition does not hold; nothing is appended or changed. */
bool rule_try(struct rule *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The decision for a sample: the one wanted, if it is among the n choices, else the usual one; the line is written, and the
 * name stands for the number in later lines. */
int64_t rule_sample(struct rule *r, const char *name, const int64_t *choice, int n, int64_t usual);
/* The same with words: the index of the one chosen. */
int rule_word(struct rule *r, const char *name, const char *const *word, int n, int usual);
bool rule_yes(struct rule *r, const char *name, bool usual); /* no, yes */
/* What the decision asks for does not apply: the line says from now on what was done instead. */
void rule_settle(struct rule *r, const char *name, int64_t done);
void rule_drop(struct rule *r, const char *name); /* there is no choice: the line vanishes */

/* The axis of stage s (its index) along which its result's memory is contiguous; -1: rank 0. */
int contiguous_axis(struct loop_prog *p, stage_id s);
/* Step in memory of read when axis variable v goes up by one; false: not constant. */
bool read_step(struct loop_prog *p, ex_id read, poly_var v, int64_t *step);
/* All reads of stage s, as often as its body uses them, but the first READS_MAX at most: count; out holds READS_MAX. */
enum { READS_MAX = 32 };
int stage_all_reads(struct loop_prog *p, stage_id s, ex_id *out);
bool read_uses(struct loop_prog *p, ex_id read, poly_var v);
/* Steps of v for which a read that uses it stands still before it moves on (the input of a grouped convolution); 1: it moves at each. */
int64_t read_group(struct loop_prog *p, ex_id read, poly_var v);
/* Steps of the loop of stage s along its axis: fewer than the axis has where s is computed in parts. */
int64_t axis_steps(struct rule *r, stage_id s, int axis);
const char *axis_loop(struct rule *r, stage_id s, int axis, const char *part); /* "STAGE.AXISpart" */

/* Templates, one a file. false: it does not fit; the program is untouched then. */
bool rule_tile(struct rule *r, stage_id anchor); /* contraction, convolution, window: a register tile */
bool rule_transformed(struct rule *r);           /* a product between two transforms (Winograd): block by block */
bool rule_windows(struct rule *r);               /* windows combined along their last axis after the others */
bool rule_scan(struct rule *r);                  /* step by step: recurrent networks, cumulative sums */
bool rule_sums(struct rule *r);                  /* several products */
bool has_reuse(struct loop_prog *p, stage_id s);
bool rule_blocks(struct rule *r, stage_id result); /* several reductions along another axis than the contiguous one */
bool rule_rows(struct rule *r, stage_id result);   /* reductions along the contiguous axis */
void rule_map(struct rule *r, stage_id s);         /* elementwise and copies: vectors along the contiguous axis */
/* Before them: where vectors had better lie along an axis that is not innermost in memory, what moves along it is turned. */
bool rule_across(struct rule *r, stage_id anchor);
/* The axes of s in their order but that one last, as a layout or as loops. */
const char *rule_axis_last(struct rule *r, stage_id s, int axis, bool loops);
/* Copy s, from axis o last to axis w last or (from false) the other way, in squares of a vector's lanes; join: lines next to each
 * other are one where that fills them better. */
void rule_squares(struct rule *r, stage_id s, int o, int w, bool from, bool join);
/* For r->along: the copies of what one iteration of that loop reads and writes. */
void rule_turn_panels(struct rule *r, stage_id anchor, stage_id result, const char *loop);
/* Sample "STAGE.unroll": of the loop over vectors, which has that many steps. */
void rule_unroll(struct rule *r, stage_id s, const char *loop, int64_t steps);
/* Cycles of a contraction, for each step of its other axes, with the tile that rule_tile takes for steps of axis t, vectors along v. */
double rule_tile_cycles(struct rule *r, stage_id anchor, int v, int t, int64_t steps);
/* Cycles of all of it with vectors along v, result (0: none) computed tile by tile. turned: what moves along v is to lie along it. */
double rule_cycles_along(struct rule *r, stage_id anchor, stage_id result, int v, bool turned);
/* Where the body of stage s, no reduction, chooses between sums by an index (a row of a transform): that guard; 0: nowhere. */
ex_id stage_choice(struct loop_prog *p, stage_id s);
/* Cycles to move between caches what threads that share the steps of a loop read of each other; and to read constants that each of
 * them reads, from memory. */
double rule_moved(struct loop_prog *p, nest_id loop, int64_t steps);
int rule_call_cost(int fn);
/* Work of an expression, roughly: a call that is no arithmetic counts ten; what is used twice counts twice; a million at most. */
int rule_cost(struct loop_prog *p, ex_id e);
#endif
