/* Inside the template of tiles: what is decided about one. */
#ifndef HONE_RULE_TILE_H
#define HONE_RULE_TILE_H
#include "sched/rule.h"

enum { WINDOW_MAX = 9, WRITTEN_OUT_MAX = 32 }; /* steps of a reduction that is, or may be, written out whole */

struct tile {
	stage_id anchor, result; /* result: the elementwise stage that follows; 0: none can follow directly */
	int v, t;                /* axes of the anchor; t -1: no second axis */
	int64_t steps;           /* of t's loop; 1: no t */
	int64_t groups;          /* into which t is split first, as something stands still in each; 1: it is not */
	const char *group_loop;  /* over them */
	int rows, vectors;
	int outer; /* leading axes that stay outermost: operands are packed inside them */
	int nread;
	ex_id read[READS_MAX];
	const char *width;             /* of a panel, as lines say it: "vectors*16" */
	const char *vloop, *tloop;     /* their loops, before the split; tloop NULL: no t */
	const char *tiles, *trow;      /* of tloop: over tiles, over the rows of one */
	const char *panel_loop, *home; /* over panels; in which a tile is complete */
	bool rows_outside;             /* tiles of t are outermost, panels inside them; else the other way round */
	bool channels_outside;         /* the first reduce axis runs outside the others (windows) */
	bool overlap;                  /* the last tile of t is moved back */
	int64_t block;                 /* tiles of t for which a panel is used before the next; 0: all */
	bool after;                    /* the result is computed tile by tile */
	bool apart;                    /* and reads the sums of a tile in memory */
	int64_t chunk;                 /* reduce steps of axis k0 kept in cache at a time; 0: all */
	const char *sums;              /* name of the copy of the result in registers; NULL: it is no copy */
	stage_id packed;               /* the stage that packs an operand; 0: none */
	int packed_dim;
	bool pad;               /* v is rounded up; all that varies along it has room */
	bool fills;             /* the anchor reads beyond borders */
	bool function;          /* the result calls one (exp, erf): ten operations or more for each sum */
	double each[READS_MAX]; /* count_loads */
	bool turned;            /* what moves along v is to lie along it, though now it does not */
	bool by_panels;         /* it is turned a panel at a time: rule_turn_panels */
};

bool has_guard(struct loop_prog *p, ex_id e);
/* The dim of the read whose index is exactly axis v and that no other dim follows; -1: none. */
int dim_along(struct loop_prog *p, const struct tile *q, ex_id read);
bool tile_moves(struct loop_prog *p, const struct tile *q, ex_id read, int axis);
void count_loads(struct loop_prog *p, struct tile *q, int lanes);
bool calls_function(struct loop_prog *p, const struct tile *q);
double reduce_steps(struct loop_prog *p, const struct tile *q);
/* A window over borders that need not be written out, but had better: each tap then knows whether it is inside. */
bool larger_window(struct loop_prog *p, const struct tile *q);
/* Had the taps of a window's row better follow each other, so that what they share stays in registers? */
bool taps_innermost(struct loop_prog *p, const struct tile *q);
/* Bytes of what varies along v, for one panel of that many vectors and all of the reduction; what a panel may fill of the
 * second level of cache. */
double panel_bytes(struct loop_prog *p, const struct tile *q, int vectors, int lanes);
double panel_room(struct loop_prog *p);
/* Steps of the innermost loop of a reduction, of that many, that had better be written out; all, where that is not 0 and all loops
 * had better be. */
int unrolled_steps(struct loop_prog *p, const struct tile *q, int64_t steps, int64_t all);
/* Multiply-adds of a tile where a reduction that need not be written out is. */
int unrolled_most(struct loop_prog *p);
/* Had each tile of rows better go over all panels, than each panel over all rows? */
bool rows_first(struct loop_prog *p, const struct tile *q);
/* Had the rows of tiles better be as many in each, nearly, where borders are filled, than some be left over? */
bool better_balance(struct loop_prog *p, const struct tile *q);
/* Had what borders fill better be asked where it is read, than loops be cut there? */
bool better_guards(struct loop_prog *p, const struct tile *q);
/* Have units half the width of vectors (Zen 4)? One multiply-add a cycle, one load of a vector, or two of a number for all lanes. */
bool in_halves(struct loop_prog *p);
/* Sums over rows of an operand that lie apart in memory, nothing of them used twice (global pooling)? In 16 registers they go over two
 * lines of cache of each row at a time: of the time with 6 or 7 vectors 0.66 (144 channels, 56x56), 0.79 (96, 56x56), 0.91
 * (1280, 7x7), 1.02 (480, 14x14), Zen 3. */
enum { VECTORS_APART = 4, VECTORS_MAX = 8 };
bool sums_rows_apart(struct loop_prog *p, const struct tile *q);
/* Of those: are there columns enough for sums in memory; is that the better choice? */
bool may_sum_columns(struct rule *r, const struct tile *q);
bool better_columns(struct rule *r, const struct tile *q);
/* The template of sums in memory; may_sum_columns holds. */
bool rule_columns(struct rule *r, const struct tile *q);
/* Samples: the second axis, the tile's size. */
void choose_second_axis(struct rule *r, struct tile *q);
void choose_tile(struct rule *r, struct tile *q);
#endif
