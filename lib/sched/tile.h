/* Private to the template of tiles: what is decided about a register tile, and what the decisions are made from.
 *
 * A tile has `rows` x `vectors` vectors of sums, which stay in registers while the reduction runs. Vectors lie along the vector axis, which
 * is contiguous in the result. Rows lie along the row axis, on which reads that vary along the vectors do not depend: one load serves
 * all rows. A panel is the part of an operand that the columns of one tile read. */
#ifndef HONE_RULE_TILE_H
#define HONE_RULE_TILE_H
#include "sched/template.h"

enum {
	SIZES_APART = 8,       /* rows of a rest up to which each number has a nest */
	PIECES_TEXT_MAX = 640, /* multiply-adds in the nests of rests, unrolled: a kernel is compiled in about a second */
	UNROLL_ALWAYS = 9,     /* steps of a reduction that is always fully unrolled: 3x3 taps; */
	UNROLL_MAX = 32,       /* and of one that may be */
	UNROLL_MOST = 256,     /* multiply-adds of a tile whose reduction is unrolled */
	VECTORS_MAX = 8,       /* in a row of a tile */
	ROWS_MAX = 30,         /* of a tile; */
	ROWS_WITH_BORDERS = 14 /* and of one at borders: its code is there up to nine times */
};

struct tile {
	stage_id anchor;        /* the reduction */
	stage_id result;        /* the elementwise stage that follows; 0: none can follow directly */
	int vec_axis, row_axis; /* axes of the anchor; row_axis -1: the tile is one row */
	int64_t columns;        /* along the vector axis, before it is rounded up */
	int64_t row_steps;      /* of the row axis, within a group; 1: no row axis */
	int64_t groups;         /* the row axis is split into so many first: some operand is constant within each; 1: it is not split */
	const char *group_loop; /* over them */
	int rows, vectors;      /* the tile's size */
	int outer;              /* leading axes that stay outermost: operands are packed inside them */
	int lines;              /* 1 + the axis that stays outermost, whatever its number; 0: there is none */
	int nread;              /* reads of the anchor */
	ex_id read[READS_MAX];
	double loads[READS_MAX]; /* instructions to load a vector of each (count_loads) */

	const char *width;         /* of a panel, as lines say it: "vectors*16" */
	const char *vloop, *tloop; /* loops of the two axes, before the split; tloop NULL: no row axis */
	const char *tiles, *trow;  /* of tloop: over tiles, over the rows of one, or pairs of them; */
	const char *tpair;         /* over the rows of a pair; NULL: there are no pairs */
	const char *panel_loop;    /* over panels */
	const char *home;          /* the loop: a tile is complete at the end of an iteration */
	bool rows_outside;         /* each tile of rows goes over all panels; else each panel over all rows */
	bool channels_outside;     /* the first reduce axis runs outside the others (windows) */
	bool overlap;              /* the last tile of rows is moved back */
	int64_t block;             /* tiles of rows for which a panel is used before the next; 0: all */
	const char *block_sample;  /* its name */
	bool after;                /* the result is computed tile by tile */
	bool sums_wait;            /* and reads the sums of a tile from memory */
	int64_t chunk;             /* reduce steps of the first axis that stay in cache at a time; 0: all */
	const char *sums;          /* name of the register copy of the result; NULL: there is none */
	stage_id packed;           /* the stage that packs an operand; 0: none */
	int packed_dim;            /* the axis of it that becomes panels */
	stage_id paired;           /* the stage that copies pairs of rows; 0: none */
	stage_id widened;          /* the stage that widens a panel of constants; 0: none */
	int widened_dim;           /* the axis of it that is along the panel */
	bool pad;                  /* the vector axis may be rounded up: all operands have room */
	bool borders;              /* the anchor reads beyond borders */
	uint32_t phases;           /* as phase_axes says; then it has no borders */
	bool function;             /* the result calls one (exp, erf) */
	int dot;                   /* row of the instruction that sums products of groups (loop/instr.h); 0: none */
	int held;                  /* registers that what follows a dot wants beside the sums */
	int64_t group;             /* steps of the first reduce axis that it takes at once; 1: there is none */
	int64_t pair;              /* rows that it takes at once, and half as many columns as a vector has lanes; 1: one row */
	struct words levels;       /* buffers of a long sum */
	const char *inner;         /* the innermost part of the reduction's innermost loop, where it is split for that; NULL: it is not */
	bool transposed;           /* operands will be contiguous along the vector axis after a transpose; */
	bool transposed_by_panel;  /* a panel at a time: sched_transpose_panels */
};

/* ---- what a tile reads (tile_reads.c) ---- */

bool has_guard(struct loop_prog *p, ex_id e);
/* Axes on which alone the guards of the anchor depend, if these are short: bit a stands for axis a. 0: another axis, or no guard. Such a
 * guard says which steps of the reduction a phase has. */
uint32_t phase_axes(struct loop_prog *p, stage_id anchor);
double reduce_steps(struct loop_prog *p, const struct tile *q);
bool calls_function(struct loop_prog *p, const struct tile *q);
/* The only dim of the read that depends on the vector axis, if its index is that axis; -1: none, -2: several. */
int dim_along(struct loop_prog *p, const struct tile *q, ex_id read);
/* Does the read change along that axis within a tile? */
bool tile_moves(struct loop_prog *p, const struct tile *q, ex_id read, int axis);
void count_loads(struct loop_prog *p, struct tile *q, int lanes);
/* Bytes of one panel of so many vectors over the whole reduction; the share of the second-level cache that a panel may fill. */
double panel_bytes(struct loop_prog *p, const struct tile *q, int vectors, int lanes);
double panel_room(struct loop_prog *p);
/* Bytes of operands that do not depend on the vector axis, and of those that do. */
void operand_bytes(struct loop_prog *p, const struct tile *q, double *still, double *moves);
/* Rows of a tile that fit in the first-level cache together: rows a multiple of 4 KB apart share a set. */
int64_t rows_without_conflict(struct loop_prog *p, const struct tile *q);
/* Do steps of the reduction read the operand in so many lines of few sets that a cache, which would hold them side by side, has lost each
 * when the next tile of rows wants it again? */
bool steps_in_set(struct loop_prog *p, const struct tile *q, ex_id read);
/* Vectors that the compiler keeps in registers from tile to tile: with one panel and a fully unrolled reduction every tile reads the same
 * ones (the weights of a depthwise window). */
int kept_vectors(struct loop_prog *p, const struct tile *q, int vectors, int lanes);
bool is_window(struct loop_prog *p, const struct tile *q);
/* A fully unrolled window with borders of more than UNROLL_ALWAYS taps: borders are known for each tap. Not where sizes vary: there a row of
 * taps is unrolled. */
bool large_window(struct loop_prog *p, const struct tile *q);
/* Sums over rows that are strided in memory, without reuse (global pooling). */
bool sums_strided_rows(struct loop_prog *p, const struct tile *q);
int apart_vectors(struct loop_prog *p); /* of such sums that registers hold */

/* ---- panels (panels.c) ---- */

/* Reduce axes from the outside in: the first (channels, k) outside the window axes, or inside. */
int reduce_order(const struct stage *s, bool first_outside, int *out);
/* The stage that computes b of constants alone, element by element (weights of few bits that are widened); 0: none. */
stage_id tile_unpacks(struct loop_prog *p, buf_id b);
/* Lays constants out in panels and packs strided operands. q->pad: all that varies along v now has room for whole panels. */
void make_panels(struct schedule *r, struct tile *q);
/* Widens a panel where an iteration of that loop begins: several rows at a time, which may share words. */
void widen_panel(struct schedule *r, const struct tile *q, const char *where);
/* Are there whole ones of so many columns before the last, which is rounded up, and are masked stores slow? (Of a window they are few.) */
bool cuts_last(struct schedule *r, const struct tile *q, int64_t width);
/* Orders the packing copy panel by panel, in vectors; a strided operand is transposed square by square. */
void mark_packing(struct schedule *r, const struct tile *q);
/* Samples whether operands that do not depend on v and lie along the rows are turned first, so that they lie along the reduction: a tile then
 * reads a few whole lines of them, not a piece of a line in each step. */
void turn_rows(struct schedule *r, struct tile *q);
/* Samples whether to copy the rows of operands that do not depend on v for each tile. Rows a multiple of 4 KB apart share a cache set;
 * those of the copy do not. It pays only if the tile goes over several panels. */
void pack_rows(struct schedule *r, struct tile *q);

/* ---- dot products of groups (dot.c) ---- */

/* Does the target have an instruction for the anchor's sum? Sets dot and group. */
void find_dot(struct schedule *r, struct tile *q);
/* The same for an estimate: operands are not laid out yet. */
void expect_dot(struct schedule *r, struct tile *q);
/* No dot if what moves along the vectors lies in no panels. */
void check_groups(struct loop_prog *p, struct tile *q);
/* The loop of a reduce axis; over groups, if it is split into them. */
const char *group_steps(struct schedule *r, const struct tile *q, int axis);
/* Splits the groups off, once panels are laid out. */
void split_groups(struct schedule *r, const struct tile *q);
/* The factor of a dot that stands still along the vectors; 0: both move, or there is none. */
ex_id still_factor(struct loop_prog *p, const struct tile *q);

/* ---- products of pairs of rows (pairs.c) ---- */

/* Splits the rows of a tile into pairs, if the instruction takes such. */
bool split_pairs(struct schedule *r, struct tile *q);
/* Splits the columns into panels, vectors and what the instruction takes of a vector. */
bool split_lanes(struct schedule *r, const struct tile *q);
/* The loops of a tile within a step of its reduction, from the outside in; those of the call but over a group come last. */
void add_tile_loops(struct schedule *r, const struct tile *q, struct words *order);
/* The outermost loop of a call, or of a vector. */
const char *call_loop(struct schedule *r, const struct tile *q);
/* Can the rows that the instruction takes in pairs be copied, so that a pair's groups lie side by side? */
bool pairs_may_lie_together(struct loop_prog *p, const struct tile *q);
/* Samples whether the rows that the instruction takes in pairs are copied, so that a pair's groups lie side by side. */
void pack_pairs(struct schedule *r, struct tile *q);
void mark_pairs(struct schedule *r, const struct tile *q);
/* Gives the sums, in registers, the order in which the instruction has those of a pair of rows. */
void lay_out_pairs(struct schedule *r, const struct tile *q);

/* ---- what a tile costs (tile_cost.c) ---- */

/* A window with taps that rows of a tile share: neighbouring rows read partly the same elements. */
struct window {
	ex_id read;           /* what the taps read; 0: there is no such window */
	int64_t taps, stride; /* of a row of the window; from one row of the tile to the next, in taps */
	int axis;             /* of the reduction, along which they are */
	bool row_at_a_time;   /* too large to be fully unrolled: one row of its taps is */
};
struct window shared_window(struct loop_prog *p, const struct tile *q);
/* Cycles of the whole anchor with a tile of rows x vectors. */
double tile_cost(struct loop_prog *p, const struct tile *q, struct window w, int rows, int vectors, int lanes);
/* Should the taps of a window's row be innermost, so that elements they share stay in registers? */
bool taps_innermost(struct loop_prog *p, const struct tile *q);
/* How far to unroll the innermost reduce loop of so many steps; or `all` (if not 0) where unrolling all reduce loops is better. */
int unroll_steps(struct loop_prog *p, const struct tile *q, int64_t steps, int64_t all);
/* Cycles less for the whole anchor where the rows of a read of f32, which are `step` elements apart, were in lines of their own and its
 * reduction contiguous. */
double turning_saves(struct loop_prog *p, const struct tile *q, int64_t step);
/* Do rows along that axis lie side by side in what does not vary along the vectors, and steps of the reduction in lines of their own? */
bool rows_share_lines(struct loop_prog *p, const struct tile *q, int axis);
/* Cycles to read, from beyond the first-level cache, the panels and rows of all tiles of the chosen size. */
double rows_traffic(struct loop_prog *p, const struct tile *q);
/* Order: all panels for each tile of rows, rather than all rows for each panel? */
bool rows_first(struct loop_prog *p, const struct tile *q);

/* ---- the choices (tile_size.c): samples ---- */

void choose_row_axis(struct schedule *r, struct tile *q);
void choose_tile(struct schedule *r, struct tile *q);

/* ---- sums in memory instead of registers (columns.c) ---- */

bool may_sum_in_memory(struct schedule *r, const struct tile *q);
bool sum_in_memory(struct schedule *r, const struct tile *q);    /* is that the better choice? */
bool template_columns(struct schedule *r, const struct tile *q); /* the template; may_sum_in_memory holds */
#endif
