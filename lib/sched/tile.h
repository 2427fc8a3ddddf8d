/* Inside the template of tiles: what is decided about a register tile, and what each decision is made from.
 *
 * A tile is `rows` x `vectors` vectors of sums that stay in registers while the reduction runs. Its vectors lie along the vector
 * axis, which is contiguous in the result; its rows are steps of the row axis, along which what varies with the vectors stands
 * still, so that one load serves all rows. A panel is what lies in the columns of one tile, from the first row to the last. */
#ifndef HONE_RULE_TILE_H
#define HONE_RULE_TILE_H
#include "sched/fitted.h"
#include "sched/template.h"

enum {
	UNROLL_ALWAYS = 9,     /* steps of a reduction that is always fully unrolled: 3x3 taps; */
	UNROLL_MAX = 32,       /* and of one that may be */
	VECTORS_MAX = 8,       /* in a row of a tile */
	ROWS_MAX = 30,         /* of a tile; */
	ROWS_WITH_BORDERS = 14 /* and of one at borders: its code is there up to nine times */
};

struct tile {
	stage_id anchor;        /* the reduction */
	stage_id result;        /* the elementwise stage that follows; 0: none can follow directly */
	int vec_axis, row_axis; /* axes of the anchor; row_axis -1: the tile is one row */
	int64_t row_steps;      /* of the row axis, in a group; 1: there is none */
	int64_t groups;         /* into which the row axis is split first, as an operand stands still in each; 1: it is not */
	const char *group_loop; /* over them */
	int rows, vectors;      /* the tile's size */
	int outer;              /* leading axes that stay outermost: operands are packed inside them */
	int nread;              /* reads of the anchor */
	ex_id read[READS_MAX];
	double loads[READS_MAX]; /* instructions to load a vector of each (count_loads) */

	const char *width;         /* of a panel, as lines say it: "vectors*16" */
	const char *vloop, *tloop; /* loops of the two axes, before the split; tloop NULL: no row axis */
	const char *tiles, *trow;  /* of tloop: over tiles, over the rows of one */
	const char *panel_loop;    /* over panels */
	const char *home;          /* in an iteration of which a tile is complete */
	bool rows_outside;         /* each tile of rows goes over all panels; else each panel over all rows */
	bool channels_outside;     /* the first reduce axis runs outside the others (windows) */
	bool overlap;              /* the last tile of rows is moved back */
	int64_t block;             /* tiles of rows for which a panel is used before the next; 0: all */
	bool after;                /* the result is computed tile by tile */
	bool sums_wait;            /* and reads the sums of a tile in memory */
	int64_t chunk;             /* reduce steps of the first axis that stay in cache at a time; 0: all */
	const char *sums;          /* name of the copy of the result in registers; NULL: it is no copy */
	stage_id packed;           /* the stage that packs an operand; 0: none */
	int packed_dim;            /* the axis of it that becomes panels */
	bool pad;                  /* the vector axis is rounded up: all that varies along it has room */
	bool borders;              /* the anchor reads beyond borders */
	bool function;             /* the result calls one (exp, erf) */
	int dot;                   /* row of the instruction that sums products of groups (loop/instr.h); 0: none */
	int64_t group;             /* steps of the first reduce axis that it takes at once; 1: there is none */
	bool transposed;           /* what varies along the vector axis will lie along it, though now it does not; */
	bool transposed_by_panel;  /* a panel at a time: sched_transpose_panels */
};

/* ---- what a tile reads (tile_reads.c) ---- */

bool has_guard(struct loop_prog *p, ex_id e);
double reduce_steps(struct loop_prog *p, const struct tile *q);
bool calls_function(struct loop_prog *p, const struct tile *q);
/* The dim of the read whose index is exactly the vector axis, and no other dim follows it; -1: none. */
int dim_along(struct loop_prog *p, const struct tile *q, ex_id read);
/* Does the read move along that axis of a tile? */
bool tile_moves(struct loop_prog *p, const struct tile *q, ex_id read, int axis);
void count_loads(struct loop_prog *p, struct tile *q, int lanes);
/* Bytes of what varies along the vector axis, for one panel of so many vectors and all of the reduction; what a panel may fill of
 * the second-level cache. */
double panel_bytes(struct loop_prog *p, const struct tile *q, int vectors, int lanes);
double panel_room(struct loop_prog *p);
/* Bytes of what stands still along the vector axis, and of what moves. */
void operand_bytes(struct loop_prog *p, const struct tile *q, double *still, double *moves);
/* Rows of a tile that stay in the first-level cache together: rows a multiple of 4 KB apart share a set. */
int64_t rows_without_conflict(struct loop_prog *p, const struct tile *q);
/* Vectors that every tile reads again where there is only one panel and the reduction is fully unrolled (the weights of a depthwise
 * window): the compiler keeps them in registers from tile to tile. */
int kept_vectors(struct loop_prog *p, const struct tile *q, int vectors, int lanes);
bool is_window(struct loop_prog *p, const struct tile *q);
/* A window with borders, of more taps than are always unrolled, that is fully unrolled: each tap then knows whether it is inside. */
bool large_window(struct loop_prog *p, const struct tile *q);
/* Sums over rows of an operand that lie apart in memory, nothing of them used twice (global pooling). */
bool sums_strided_rows(struct loop_prog *p, const struct tile *q);
/* One row times a matrix of constants: what it takes is the time to read them. */
bool row_by_matrix(struct loop_prog *p, const struct tile *q);

/* ---- dot products of groups (dot.c) ---- */

/* Does the target have an instruction for the anchor's sum? Sets dot and group. */
void find_dot(struct schedule *r, struct tile *q);
/* The loop of a reduce axis that runs over groups. */
const char *group_steps(struct schedule *r, const struct tile *q, int axis);
/* Splits the groups off, once panels are laid out. */
void split_groups(struct schedule *r, const struct tile *q);

/* ---- what a tile costs (tile_cost.c) ---- */

/* A window whose taps the rows of a tile share: neighbouring rows read some of the same elements. */
struct window {
	ex_id read;           /* what the taps read; 0: there is no such window */
	int64_t taps, stride; /* of a row of the window; from one row of the tile to the next, in taps */
	bool row_at_a_time;   /* too large to be fully unrolled: one row of its taps is */
};
struct window shared_window(struct loop_prog *p, const struct tile *q);
/* Cycles of the whole anchor with a tile of rows x vectors. */
double tile_cost(struct loop_prog *p, const struct tile *q, struct window w, int rows, int vectors, int lanes);
/* Should the taps of a window's row follow each other, so that what they share stays in registers? */
bool taps_innermost(struct loop_prog *p, const struct tile *q);
/* Steps to unroll of the innermost reduce loop, which has so many; or `all`, where that is not 0 and unrolling all loops is better. */
int unroll_steps(struct loop_prog *p, const struct tile *q, int64_t steps, int64_t all);
int unroll_most(struct loop_prog *p); /* multiply-adds of a tile whose reduction need not be unrolled and is */
/* Should each tile of rows go over all panels, rather than each panel over all rows? */
bool rows_first(struct loop_prog *p, const struct tile *q);
/* Should tiles have two sizes that differ by one, rather than leave a shorter one at the end, at borders too? */
bool balance_tail(struct loop_prog *p, const struct tile *q);
/* Guard border taps at each access instead of splitting the loops? */
bool guard_borders(struct loop_prog *p, const struct tile *q);

/* ---- the choices (tile_size.c): samples ---- */

void choose_row_axis(struct schedule *r, struct tile *q);
void choose_tile(struct schedule *r, struct tile *q);

/* ---- sums in memory instead of registers (columns.c) ---- */

bool may_sum_in_memory(struct schedule *r, const struct tile *q);
bool sum_in_memory(struct schedule *r, const struct tile *q);    /* is that the better choice? */
bool template_columns(struct schedule *r, const struct tile *q); /* the template; may_sum_in_memory holds */
#endif
