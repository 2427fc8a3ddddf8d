/* From the statistics of a value to the range that its quantised elements stand for. */
#ifndef HONE_QUANT_RANGE_H
#define HONE_QUANT_RANGE_H
#include "quant/statistics.h"

enum range_method { RANGE_MINMAX, RANGE_PERCENTILE, RANGE_ENTROPY, RANGE_MSE, RANGE_METHODS };
extern const char *const range_method_names[RANGE_METHODS];

struct range {
	double lo, hi; /* lo <= 0 <= hi */
};
/* percentile: how many of 100 elements lie inside. */
struct range range_of(const struct value_stat *v, enum range_method method, double percentile);
/* Mean squared error of an element that is cut to r and rounded to one of `levels` steps. */
double range_error(const struct value_stat *v, struct range r, int levels);
double value_stat_power(const struct value_stat *v); /* mean square of an element */

/* Unsigned bytes: x = scale * (q - zero). */
struct bytes_scale {
	float scale;
	uint8_t zero;
};
struct bytes_scale bytes_scale_of(struct range r);
#endif
