/* Samples: what a model is run on to see its values. */
#ifndef HONE_QUANT_SAMPLES_H
#define HONE_QUANT_SAMPLES_H
#include "graph/module.h"

struct sample_options {
	bool raw; /* other files than .npy and .npz hold bytes; 0 to 255 stand for lo to hi */
	double lo, hi;
	bool whole;                /* a file is one sample */
	uint64_t shard, of_shards; /* sample number i is taken if i % of_shards == shard; of_shards 0: all are */
};

/* --range LO:HI of a tool; other text: die(64). */
void samples_take_range(struct sample_options *o, const char *arg);

struct samples;
/* Samples from files and directories. They must match the inputs of m, so far as the sizes of these are known; a first axis of unknown
 * size is 1 in each sample. Missing files: die(66). */
struct samples *samples_open(struct module *m, int n, char *const *paths, const struct sample_options *o);
/* The next sample: one tensor for each input, in arena a. false: there are no more. The memory in use does not grow with the number of
 * samples in .npy and raw files; an .npz is held as a whole. A sample of other types or shapes than the inputs: die(65). */
bool samples_next(struct samples *s, struct tensor **in, struct arena *a);
uint64_t samples_total(const struct samples *s); /* taken so far */
void samples_close(struct samples *s);
#endif
