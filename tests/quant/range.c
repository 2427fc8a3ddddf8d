/* Ranges: what each method does with what it should cut, and what it should not. */
#include <math.h>
#include "common/rng.h"
#include "common/tool.h"
#include "op/op.h"
#include "quant/range.h"
#include "tap.h"

const struct tool tool = {.name = "range"};

enum { N = 1 << 18 };

static struct value_stat *counted(const float *x)
{
	struct value_stat *v = xcalloc(1, sizeof *v);
	int64_t dims[] = {N};
	struct tensor t = {.dtype = DT_F32, .rank = 1, .dims = dims, .nbytes = N * 4, .data = x};

	v->name = "x";
	v->axis = -1;
	v->min = INFINITY;
	v->max = -INFINITY;
	v->exponent = EXACT_UNIT;
	value_stat_add(v, &t);
	return v;
}

static double decibels(const struct value_stat *v, enum range_method m)
{
	return 10 * log10(value_stat_power(v) / range_error(v, range_of(v, m, 99.99), 256));
}

int main(void)
{
	static float x[N];
	struct rng r = {1};

	for (int i = 0; i < N; i++)
		x[i] = (float)rng_normal(&r);
	const struct value_stat *normal = counted(x);
	for (int i = 0; i < N; i++)
		x[i] = x[i] > 0.5f ? x[i] - 0.5f : 0; /* most are zero */
	const struct value_stat *sparse = counted(x);
	x[0] = 500;
	const struct value_stat *outlier = counted(x);

	struct range full = range_of(normal, RANGE_MINMAX, 0);
	ok(full.lo == (double)normal->min && full.hi == (double)normal->max, "minmax: all of it");
	struct range most = range_of(normal, RANGE_PERCENTILE, 90);
	ok(fabs(most.lo + 1.645) < 0.02 && fabs(most.hi - 1.645) < 0.02, "percentile: 90 of a hundred of a normal distribution: %g to %g",
	   most.lo, most.hi);
	for (int m = 0; m < RANGE_METHODS; m++)
		ok(decibels(normal, (enum range_method)m) > 38 && decibels(sparse, (enum range_method)m) > 36, "%s: %.1f and %.1f dB",
		   range_method_names[m], decibels(normal, (enum range_method)m), decibels(sparse, (enum range_method)m));
	ok(range_of(outlier, RANGE_PERCENTILE, 99.99).hi < 10, "percentile cuts one outlier");
	for (int m = 0; m < RANGE_METHODS; m++)
		ok(decibels(normal, RANGE_MSE) >= decibels(normal, (enum range_method)m) - 1e-9, "mse: no more error than %s",
		   range_method_names[m]);

	struct bytes_scale s = bytes_scale_of((struct range){-1, 3});
	ok(s.zero == 64 && s.scale == 4.0f / 255, "a scale of bytes");
	s = bytes_scale_of((struct range){0, 0});
	ok(s.zero == 0 && s.scale == 1, "nothing but zeros");
	return tap_done();
}
