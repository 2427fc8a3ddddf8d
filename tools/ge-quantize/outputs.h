/* How far the outputs of a quantised model are from those of the float model, on samples (outputs.c). */
#ifndef HONE_GE_QUANTIZE_OUTPUTS_H
#define HONE_GE_QUANTIZE_OUTPUTS_H
#include "quant/samples.h"
#include "quantize.h"

struct output_error {
	const char *name;
	bool floats;
	double error, power; /* sums of squares */
	uint32_t channels;   /* of axis 1 from rank 4 on, else of the last axis; 0: they are not told apart */
	double *channel;     /* by channel: error, then power */
	uint64_t rows, same; /* of the last axis; those whose greatest element is the same. Whole numbers: elements, equal ones */
};
struct output_errors {
	uint64_t samples;
	VEC(struct output_error) of;
};

/* Runs both models by the evaluator on the first samples that there is time for, one at least. */
void outputs_compare(struct plan *p, struct module *quantised, struct samples *from, struct output_errors *e);
/* The channel with most error for its power; false: there are none. */
bool output_worst(const struct output_error *o, uint32_t *channel, double *error);
#endif
