/* Features: what a scheduled program is, as numbers that a cost model learns from. One walk over the finished nest counts them. */
#ifndef HONE_FEATURES_H
#define HONE_FEATURES_H
#include "loop/loop.h"

/* X(id, name, what it counts, in one run). Counts are in steps, 32 an octave: 32 log2(1 + count), even between powers of two, so
 * that no libm changes one. A difference of two such is a ratio. Features of kind R are such differences; of kind T, the
 * target's. "Instructions" are of whole vectors where a loop is marked so. A piece is the code between loops that stay loops. */
/* clang-format off */
#define FEATURES(X) \
	X(PRODUCTS, "products", "terms that sums, maxima and the like add up") \
	X(RESULTS, "results", "elements that stages without a reduction write") \
	X(ARITH, "arith", "arithmetic instructions: sums, products, comparisons; a product that is added to a sum is one") \
	X(FUNCTIONS, "functions", "instructions of functions: exp, division, square root and the like") \
	X(SCALAR, "scalar", "arithmetic and functions outside of vectors") \
	X(CONVERTS, "converts", "conversions between types, and elements of narrow integers that are widened or narrowed") \
	X(GUARDS, "guards", "questions whether an index is inside") \
	X(CALLS, "calls", "instructions that are rows of the target: dot products, transposes") \
	X(CALL_TIME, "call-time", "multiply-adds of f32 that take as long as those, by the target's rates") \
	X(LOADS, "loads", "loads of whole vectors from consecutive elements") \
	X(SPREADS, "spreads", "loads of one element that goes into all lanes") \
	X(GATHERS, "gathers", "elements that are loaded lane by lane") \
	X(SINGLES, "singles", "loads outside of vectors") \
	X(STILL, "still", "loads that are the same in all iterations of the innermost loop around them") \
	X(BY_VALUE, "by-value", "reads by an index that was computed") \
	X(STORES, "stores", "stores of whole vectors to consecutive elements") \
	X(SCATTERS, "scatters", "elements that are stored lane by lane") \
	X(SINGLE_STORES, "single-stores", "stores outside of vectors") \
	X(IN_MEMORY, "in-memory", "terms whose sum lies in memory, not in a register") \
	X(CONFLICTS, "conflicts", "loads of copies that lie a multiple of 4096 bytes apart") \
	X(ITERATIONS, "iterations", "iterations of loops that stay loops") \
	X(ENTRIES, "entries", "times that such a loop is begun") \
	X(WAITS, "waits", "cycles that a chain of sums waits beyond what else its piece takes") \
	X(LIVE, "live", "registers that the sums of the piece with the most work take") \
	X(SPILLED, "spilled", "loads and stores of sums that find no register") \
	X(CODE, "code", "instructions of all pieces, each once") \
	X(HOT_CODE, "hot-code", "instructions of the piece with the most work") \
	X(HOT_STEPS, "hot-steps", "iterations of the loop that is around that piece, each time it is begun") \
	X(BOUND, "bound", "cycles: of each piece the unit that it uses most") \
	X(INTO_L1, "into-l1", "bytes that come into the first-level cache") \
	X(INTO_L2, "into-l2", "bytes that come into the second-level cache") \
	X(INTO_L3, "into-l3", "bytes that come into the third-level cache") \
	X(CONSTANTS, "constants", "bytes of constants that are touched") \
	X(OPERANDS, "operands", "bytes of operands that are touched") \
	X(OUTPUTS, "outputs", "bytes of results") \
	X(SCRATCH, "scratch", "bytes of buffers between stages") \
	X(HOT_SET, "hot-set", "bytes that one iteration of the loop around the hottest piece's loop touches") \
	X(STREAMS, "streams", "accesses of the hottest piece that go on from iteration to iteration") \
	X(PARALLEL, "parallel", "iterations of parallel loops that are not inside others") \
	X(STAGES, "stages", "stages that are not inlined") \
	X(ROOF, "roof", "cycles: the most of bound and of each level's bytes by its rate") \
	R(LOADS_BY_ARITH, "loads/arith", "all loads by arithmetic instructions") \
	R(STORES_BY_ARITH, "stores/arith", "all stores by arithmetic instructions") \
	R(SCALAR_BY_ARITH, "scalar/arith", "scalar instructions by all") \
	R(ITERATIONS_BY_ARITH, "iterations/arith", "iterations by arithmetic instructions") \
	R(WAITS_BY_BOUND, "waits/bound", "cycles of waiting by those of work") \
	R(SPILLED_BY_ARITH, "spilled/arith", "spills by arithmetic instructions") \
	R(L1_BY_ROOF, "l1/roof", "cycles of bytes into the first level by the roof") \
	R(L2_BY_ROOF, "l2/roof", "cycles of bytes into the second level by the roof") \
	R(L3_BY_ROOF, "l3/roof", "cycles of bytes from memory by the roof") \
	R(BOUND_BY_ROOF, "bound/roof", "cycles of the pieces by the roof") \
	R(ARITH_BY_BOUND, "arith/bound", "arithmetic by its rate, by the cycles of the pieces") \
	R(WASTE, "waste", "arithmetic instructions by those that terms and results need in full vectors") \
	R(CODE_BY_CACHE, "code/cache", "instructions by bytes of the first-level cache") \
	R(SET_BY_L1, "set/l1", "hot-set by bytes of the first-level cache") \
	R(SET_BY_L2, "set/l2", "hot-set by bytes of the second-level cache") \
	R(LIVE_BY_REGISTERS, "live/registers", "live by the registers that there are") \
	T(LANES, "lanes", "floats of a vector") \
	T(REGISTERS, "registers", "vector registers") \
	T(PORTS, "ports", "multiply-adds of vectors a cycle") \
	T(LATENCY, "latency", "cycles of a multiply-add") \
	T(L1, "l1", "bytes of the first-level cache") \
	T(L2, "l2", "bytes of the second-level cache") \
	T(L3, "l3", "bytes of the third-level cache") \
	T(L2_RATE, "l2-rate", "bytes in 16 cycles from the second level") \
	T(L3_RATE, "l3-rate", "bytes in 16 cycles from the third level") \
	T(MEMORY_RATE, "memory-rate", "bytes in 16 cycles from memory") \
	T(BY_ELEMENT, "by-element", "it multiplies vectors by an element of a register")
/* clang-format on */

enum feature {
#define X(id, name, what) FEATURE_##id,
#define R                 X
#define T                 X
	FEATURES(X)
#undef R
#undef T
#undef X
		FEATURE_COUNT
};

struct features {
	int32_t a[FEATURE_COUNT];
};

/* Features of a scheduled program, legalized or not, which is not changed; of one with parameters, for their values. They are the same on every
 * machine. */
void features_of(struct loop_prog *p, struct features *f);
/* The number that so many steps stand for: steps_of the other way round. */
double features_power(double steps);

const char *feature_name(enum feature f);
const char *feature_what(enum feature f);

/* Columns: what a model is told of a schedule, as whole numbers. The first FEATURE_COUNT are its features, the others how far each lies above that
 * of the default schedule, "NAME/default": a ratio of the two. */
enum { COLUMN_COUNT = 2 * FEATURE_COUNT, COLUMN_NAME = 40 };
struct columns {
	int32_t a[COLUMN_COUNT];
};
void columns_of(const struct features *f, const struct features *usual, struct columns *x);
const char *column_name(int column, char name[COLUMN_NAME]);
int column_find(const char *name); /* -1: there is none */
#endif
