/* What a compiled model exports for tools: one table, hone_model. Plain C of its own, because its text is
 * also part of every emitted model. */
#ifndef HONE_MODEL_ABI_H
#define HONE_MODEL_ABI_H
#include <stddef.h>

enum { HONE_MODEL_ABI = 8 }; /* changes whenever something below does */

struct hone_opts;
struct hone_value;
struct hone_tensor {
	const char *name, *type; /* "f32" */
	int rank;                /* -1: any */
	const long *shape;       /* -1: any size */
	size_t bytes;
	long preset;               /* of an input that may be left out: where in the weights its default is; 0: none */
	const char *const *symbol; /* names of sizes that are not numbers; NULL: there are none */
};
struct hone_step { /* one call of a kernel, in order */
	const char *kernel, *node;
	const char *ops;  /* the operators that it computes, "Conv+Clip"; of many the first ones */
	const char *why;  /* slow == 1: why it has no kernel; else "" */
	double flops;     /* in a run, of all steps of a loop if their number is known; 0: not known; as the next two */
	double bytes;     /* of its operands, constants and results, each read or written once */
	double predicted; /* seconds, by the cost model */
	int slow;         /* 0: a kernel, or a branch or loop ("flow"); 1: the evaluator runs it; 2: C of the library's own */
};
struct hone_state { /* an input that is kept: what the output is becomes the input of the next run */
	int input, output;
	long place[2]; /* in the memory of states; the same: it is updated in place */
	long written;  /* bytes of it that each run writes, if its size is known; moved() has those of the last run, of all states */
};
struct hone_model {
	int abi;
	const char *name, *cpu, *compiler; /* cpu, compiler: that it was made for and with */
	int vector_bytes;
	int num_inputs, num_outputs, num_steps;
	const struct hone_tensor *inputs, *outputs;
	const struct hone_step *steps;
	size_t arena_bytes, weights_bytes;
	void *(*open)(const char *weights, const struct hone_opts *opts);     /* NULL: error() says why */
	int (*run)(void *m, const void *const *inputs, void *const *outputs); /* 0, or -1 */
	/* As run; adds the seconds each step took to seconds[num_steps]. */
	int (*run_timed)(void *m, const void *const *inputs, void *const *outputs, double *seconds);
	const void *(*preset)(void *m, int i); /* the default of input i, or NULL */
	void (*close)(void *m);
	const char *(*error)(void);
	/* Not NULL: some sizes are known only in a run, and this runs the model. seconds as in run_timed, or NULL. */
	int (*run_values)(void *m, const struct hone_value *inputs, struct hone_value *outputs, double *seconds);
	int num_states;
	const struct hone_state *states; /* their inputs may be NULL in a run: then they are what the library keeps; outputs, too */
	int (*reset)(void *m);           /* 0, or -1; as the next two */
	int (*save)(void *m, const char *path), (*load)(void *m, const char *path);
	int (*verify)(void *m);   /* reads all weights: 0, or -1 if they are not those that were written */
	size_t (*moved)(void *m); /* bytes of states that the last run wrote */
	/* Not NULL: run_values leaves states that grow without data. This gives one, row-major, by its output: 0, or -1. */
	int (*value)(void *m, int output, struct hone_value *v);
};
#endif
