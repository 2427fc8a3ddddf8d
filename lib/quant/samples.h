/* Samples: what a model is run on to see its values. */
#ifndef HONE_QUANT_SAMPLES_H
#define HONE_QUANT_SAMPLES_H
#include "graph/module.h"

struct sample_options {
	bool raw; /* files of another name than .npy and .npz hold bytes, 0 to 255 for lo to hi */
	double lo, hi;
	bool whole;                /* a file is one sample */
	uint64_t shard, of_shards; /* of the samples, number i is taken where i % of_shards == shard; of_shards 0: all */
};

struct samples;
/* From files and directories of files. What is said of the inputs of m: its sizes where they are known; an axis of unknown size in
 * front is 1 in each sample. Files that are not there: die(66). */
struct samples *samples_open(struct module *m, int n, char *const *paths, const struct sample_options *o);
/* The next sample, one tensor for each input, in arena a; false: there are no more. Memory does not grow with the number of samples
 * in .npy and raw files; a .npz is held whole. Not of the inputs' types and shapes: die(65). */
bool samples_next(struct samples *s, struct tensor **in, struct arena *a);
uint64_t samples_total(const struct samples *s); /* taken so far */
void samples_close(struct samples *s);
#endif
