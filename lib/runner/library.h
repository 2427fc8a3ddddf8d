/* Compiled models: loading, running, timing. */
#ifndef HONE_LIBRARY_H
#define HONE_LIBRARY_H
#include "runner/model_abi.h"
#include "graph/module.h"

struct library {
	const char *path;
	const struct hone_model *model;
	void *so, *handle;
};

/* Loads PATH.so and opens the model with the weights beside it (PATH.weights), or with those named. Not a
 * library, or not one of ours: die(65); missing: 66; made for another CPU, or by another version: 69. threads: at most
 * so many; 0: as many as it was compiled for. */
void library_open(struct library *l, const char *path, const char *weights, int threads);
/* Where the weights of PATH.so lie beside it: PATH.weights. The caller frees it. */
char *library_weights(const char *path);
void library_close(struct library *l);

/* Type of input or output i. */
enum dtype tensor_dtype(const struct hone_tensor *t);
/* A tensor of that type, zeroed, 64-aligned. */
struct tensor *library_tensor(const struct hone_tensor *t, struct arena *a);
/* NULL, or in what x is not a tensor for t: "input x is f32[1,3,8,8], not i64[1]". */
const char *library_check(const struct hone_tensor *t, const struct tensor *x, struct arena *a);

/* A module with the inputs of the library and no nodes: inputs are made for it as for any graph. */
struct module *library_module(const struct library *l);

/* Runs once; in and out are as many as the model has, of the right types. Where sizes are known only in a run, out gets shapes and memory
 * of the arena. Inputs the model cannot take, e.g. an index that is out of range: die(65). */
void library_run(struct library *l, struct tensor *const *in, struct tensor *const *out, struct arena *a);

/* Order statistics of timed runs, in seconds. */
struct timing {
	size_t runs;
	double min, quarter, median, three_quarters, p90, p99, mean;
	double processor; /* median of the processor time, of all threads */
};
struct bench {
	struct timing run;
	double flops; /* of one run */
	double peak;  /* best FLOP/s of independent FMAs seen in the same run */
	double *step; /* seconds of each step (median over runs that were timed step by step), num_steps of them */
	int core;     /* it ran on, at the end */
	/* Runs that were timed step by step, each num_steps + 1 numbers: seconds of each step, then of the whole run. */
	size_t nrun;
	double *runs;
	double gap; /* seconds of such a run that no step took; median */
};
/* Somebody else who is timed in the same run: after each turn of the library, take(arg, seconds, ...) lets it have as long a one. own: the n
 * times of the library's turn, which it may sort. */
struct other_turns {
	void (*take)(void *arg, double seconds, double *own, size_t n);
	void *arg;
};
/* Order statistics of n times, which it sorts; n > 0. */
struct timing timing_of(double *t, size_t n);
/* Runs for about that many seconds after warming up; peak loop and runs take turns, and `other`, where it is not NULL: it has as many seconds, and
 * turns that take it longer are fewer. a: for the result. */
struct bench library_bench(struct library *l, struct tensor *const *in, struct tensor *const *out, double seconds, bool steps,
			   const struct other_turns *other, struct arena *a);
#endif
