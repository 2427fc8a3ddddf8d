/* Between the files of run-dev --train. */
#ifndef HONE_TRAIN_H
#define HONE_TRAIN_H
#include "op/npy.h"
#include "runner/library.h"

struct train_spec {
	const char *data, *labels, *loss; /* files; the name that ge-grad has for the loss */
	const char *judge;                /* a library of the model that takes weights as inputs; NULL: nothing is held out */
	const char *checkpoint;           /* NULL: none */
	uint64_t epochs, seed;
	double validate; /* the part that is held out */
	double seconds;  /* 0: no limit */
};
/* Trains with the step library, and returns how many tensors there are: what the library keeps at the end or, with a judge, of weights the best
 * by what was held out. What does not fit together: die. */
int train(struct library *step, const struct train_spec *s, struct named_tensor **out, struct arena *a);

/* ---- samples.c ---- */
struct samples {
	const char *data_path, *labels_path;
	struct tensor *x, *y;
	int64_t count; /* of samples */
};
/* Reads both, and checks that they are as many, and that no data are NaN or infinite: die(65). */
void samples_read(struct samples *s, const char *data, const char *labels, struct arena *a);
/* Do they fit an input of the library, but for how many they are? Converts them to its type. Else die(65). */
void samples_fit(struct tensor **t, const char *path, const struct hone_tensor *in, struct arena *a);
/* The label of each must be the number of one of so many classes: die(65). */
void samples_classes(const struct samples *s, int64_t classes);
/* Copies sample i of t to place k of a batch. */
void sample_put(const struct tensor *t, int64_t i, void *batch, int64_t k);

/* ---- shuffle.c ---- */
/* Place i of 0 to n - 1 in an order that the key says: each comes once. Constant memory. */
uint64_t shuffled(uint64_t i, uint64_t n, uint64_t key);

/* ---- judge.c ---- */
struct judgement {
	double loss, right; /* means; right: the part whose class is the largest, or NAN */
};
/* The sums for a batch of the first n samples: y as the model gives it, and their labels. */
void judge_add(struct judgement *sum, const char *loss, const struct hone_tensor *out, const void *y, const struct hone_tensor *label,
	       const void *labels, int64_t n);
bool judge_knows(const char *loss);
#endif
