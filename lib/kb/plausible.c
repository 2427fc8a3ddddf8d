/* Records that contradict themselves: made up, or changed by hand. What they say of speed is used nowhere. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kb/weigh.h"

/* A ratio below this is a fault of who wrote it: no default is that slow. */
#define RATIO_LEAST 0.01
/* How far a ratio may be from the samples that go with it: a record may combine those of two processes and keep those of one. */
#define SAMPLES_APART 2
/* Numbers in records are rounded to six digits. */
#define ROUNDING 1e-5
/* A mean is over several processes, so it may lie outside the interval of one, but not far below it. */
#define MEAN_APART 2

/* The range of candidate / base over the pairs of the samples; false: there is no pair. */
static bool sample_range(const char *s, double *least, double *most)
{
	*least = INFINITY, *most = 0;
	while (s && *s) {
		char *slash, *end;
		double x = (double)strtoull(s, &slash, 10), y;
		if (slash == s || *slash != '/')
			break;
		y = (double)strtoull(slash + 1, &end, 10);
		if (end == slash + 1)
			break;
		if (x > 0 && y > 0)
			*least = fmin(*least, x / y), *most = fmax(*most, x / y);
		s = end + (*end == ' ');
	}
	return *most > 0;
}

const char *kb_implausible(const struct kb_record *r)
{
	double ratio = kb_number(r, "ratio"), lo = kb_number(r, "lo"), hi = kb_number(r, "hi"), mean = kb_number(r, "mean");
	double least, most;

	if (isinf(ratio) || isinf(hi))
		return NULL;
	bool has_lo = kb_get_field(r, "lo") != NULL;
	if (ratio > hi * (1 + ROUNDING) || (has_lo && (isinf(lo) || lo > ratio * (1 + ROUNDING))))
		return "its ratio lies outside its own interval";
	if (ratio < RATIO_LEAST || (has_lo && lo < RATIO_LEAST) || mean < RATIO_LEAST)
		return "its ratio is less than any that a default schedule leaves";
	if (sample_range(kb_get_field(r, "samples"), &least, &most) && (ratio * SAMPLES_APART < least || ratio > most * SAMPLES_APART))
		return "its samples say another ratio";
	if (mean * MEAN_APART < (has_lo ? lo : ratio))
		return "its mean is far below its own interval";
	return NULL;
}
