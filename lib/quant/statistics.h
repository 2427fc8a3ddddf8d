/* Statistics of a model's values over samples, and their text (tools/ge-calibrate/ge-calibrate.1). They depend only on the set of
 * samples: sums are exact, and the bins of a histogram are multiples of a power of two, which only the range decides. So merging
 * shards, in any order, gives the same bytes as one run. */
#ifndef HONE_QUANT_STATISTICS_H
#define HONE_QUANT_STATISTICS_H
#include <stdio.h>
#include "graph/module.h"
#include "quant/exact.h"
#include "quant/seen.h"

enum { STAT_BINS = 4096, STAT_CHANNELS_MAX = 1 << 16 };

struct channel_stat {
	float min, max; /* of the finite elements; INFINITY and -INFINITY: there are none */
	struct exact sum;
};

struct value_stat {
	const char *name;
	uint64_t count, nans, infinite; /* elements; how many of these are NaN, and how many infinite */
	float min, max;                 /* as in struct channel_stat */
	int axis;                       /* axis of the channels; -1: channels are not counted separately */
	uint32_t channels;
	struct channel_stat *channel;
	int exponent;             /* a bin is 2^exponent wide */
	uint64_t bins[STAT_BINS]; /* bin i counts the elements in [i, i + 1) * 2^exponent; it is at index i modulo STAT_BINS */
};

struct statistics {
	struct arena arena;
	struct digest model;   /* its body digest */
	bool by_library;       /* a library computed the values; else the evaluator */
	struct digest library; /* which one */
	uint64_t samples;
	struct seen seen; /* some of their digests */
	VEC(struct value_stat *) values;
};

/* A row for each value of floats of at most 32 bits in m's main graph, in the order of inputs and nodes. Returns the rows by value,
 * NULL for those that have none; free it. */
struct value_stat **statistics_begin(struct statistics *s, struct module *m);
/* Counts the elements of t, of a float type and of v's shape. */
void value_stat_add(struct value_stat *v, const struct tensor *t);
/* Numbers of the first and the last bin that can hold elements; bin 0 is among them. */
void value_stat_bins(const struct value_stat *v, int64_t *first, int64_t *last);
static inline uint64_t value_stat_bin(const struct value_stat *v, int64_t i) { return v->bins[(uint64_t)i % STAT_BINS]; }
/* Notes which sample is counted: n tensors, one for each input. Samples that a library computes are the same as the evaluator's. */
void statistics_see(struct statistics *s, struct tensor *const *in, size_t n);
/* Adds what another run of the same model counted. path: the file of `from`, for messages. Another model: die(65).
 * Samples that were counted before: a warning. */
void statistics_merge(struct statistics *s, const struct statistics *from, const char *path);
/* The row of a value, NULL: none. */
const struct value_stat *statistics_find(const struct statistics *s, const char *name);

void statistics_write(const struct statistics *s, FILE *f);
/* Bad text, or text that was altered: die(65) with file and line. Files of version 1 have no digest of their bytes: a warning. */
void statistics_read(struct statistics *s, const char *path);
void statistics_free(struct statistics *s);
/* Why no run can have counted v; NULL: one can. For readers. */
const char *value_stat_check(const struct value_stat *v);
#endif
