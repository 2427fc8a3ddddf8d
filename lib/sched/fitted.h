/* Fitted numbers: what timing a few machines said about schedules, where counting alone does not rank them.
 *
 * NOTHING IS ADDED HERE. These are kept until a learned cost model takes their place; a new measurement is a record in the
 * knowledge base, or training data. doc/schedules.md has the timings that these are from.
 *
 * "Splits vectors": 512-bit operations issue as two halves, so there is one multiply-add and one vector load a cycle. */
#ifndef HONE_FITTED_H
#define HONE_FITTED_H
#include <stdbool.h>
#include <stdint.h>
#include "target/target.h"

/* Sizes and shares that are the same for every machine. */
struct fitted {
	/* the analytic model (analytic.c) */
	double issue;                      /* instructions a cycle */
	double scalar_call;                /* times as long as on a vector's lane that a call of the C library takes */
	double chain_most;                 /* operations of a statement that wait for each other, at most */
	double in_flight;                  /* instructions that the machine looks ahead */
	double loop, loop_exit;            /* cycles: of an iteration's own instructions; of the exit of a long loop, mispredicted */
	double store_latency;              /* cycles until a store can be loaded again */
	double lanes_arith, lanes_latency; /* operations and cycles of a sum across the lanes of a vector */
	double lane_load;                  /* instructions to load one lane of a vector that is gathered */
	double conflict_loads;             /* loads lost to each row that another pushes out of its cache set */
	double guard_cut, guard_left;      /* operations of a guard inside loops that are cut at borders; of one that is asked */
	double call_vector;                /* operations of an instruction sequence, a vector of elements */
	double cache_share;                /* of a cache that data may fill and stay */
	double memory_overlap;             /* share of what is not the bottleneck that adds to the time */
	double uops_fit, uops_slope;       /* instructions that the decoded cache holds; slowdown for each doubling beyond */
	double split_level;                /* times slower into the first-level cache where vectors are split */

	/* inlining (schedule.c): operations of a call that is no plain arithmetic, of a guard */
	int call, guard;
	int inline_free, inline_max; /* operations up to which computing again costs nothing; is worth a sample */
	int inline_readers;          /* readers up to which it is worth a sample */
	double inline_once;          /* visits of an element that count as one */
	double inline_growth;        /* times the work may grow */
	int inline_whole;            /* operations beyond which a stage stays: each reader that uses it twice would double it */
	double window_taps;          /* taps up to which a padded copy is not made */

	/* teams of threads (threads.c, traffic.c) */
	double line_cycles;  /* to fetch a cache line that another core wrote */
	double start_lines;  /* lines that move to start a team; */
	double thread_lines; /* and for each of its threads */
	double worth_starts; /* starts that a team must save */
	double heavy_share;  /* of the work, in the one loop that is searched for parallel ones */
	double operation;    /* cycles of a vector operation */
	double halo;         /* iterations beyond its end that a thread's share may read */

	/* transposing (across.c) and transforms (transformed.c) */
	double transpose_margin;   /* of the time along the contiguous axis that the other way must stay under */
	double transpose_shuffles; /* loads and stores of a vector that is transposed, beside log2 of its lanes in shuffles */
	double block_margin;       /* of the time of the best block so far that another must stay under */

	/* tiles (tile.c, tile_size.c) */
	double panel_share;     /* of the second-level cache that a panel may fill */
	double panel_too_large; /* times slower beyond that */
	double chunk_over;      /* panels larger than that many times their share are reduced in chunks; */
	int chunk_min;          /* of no fewer steps */
	double better;          /* a tile must cost less than that of the best so far */
	int function;           /* operations from which what follows the sums counts as a function call */
	int function_steps;     /* steps from which sums before a function wait in memory */
	int rows_first_steps;   /* steps from which a tile of rows may go over all panels */
	int second_axis;        /* rows beyond which a longer second axis is no better */

	/* vectors and blocks (map.c, rows.c, blocks.c, windows.c) */
	int map_unroll, map_unroll_exp;         /* vectors in an iteration; of a body with exp in it */
	int row_vectors, row_vectors_from;      /* vectors of partial sums of a row that has from so many vectors on */
	double rows_share, rows_share_readonly; /* of the first-level cache for a block of rows; where nothing is read back */
	int rows_readonly;                      /* vectors of rows in a block then */
	int column_vectors;                     /* vectors of columns whose sums hide each other's latency */
	double block_share;                     /* of the first-level cache that a block of columns or lines may fill */
};
extern const struct fitted fitted;

bool fit_splits_vectors(const struct target *m);
#endif
