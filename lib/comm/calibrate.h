/* Calibration: measures the time of an all-reduce as a curve over its bytes, with few sizes.
 *
 * First 4, 16, 64 bytes and so on. Then each interval is bisected (geometrically) while its middle is off the line between its ends,
 * until the ends are less than a tenth apart. "Off the line" is by more than 4% and by more than twice the spread of the times. So a
 * step of the protocol is found if it is more than an eighth of the time there. Two steps in one of the first intervals may cancel in
 * its middle and be missed. */
#ifndef HONE_CALIBRATE_H
#define HONE_CALIBRATE_H
#include "comm/curve.h"
#include "common/vec.h"

struct curve_sample {
	double bytes;
	double us, least, spread; /* of the times: median, least, half the distance between the quartiles */
	VEC(double) times;
};
struct curve_fit {
	/* Times `count` all-reduces of so many bytes, each right after the one before. */
	void (*time)(void *arg, double bytes, int count, double *us);
	void (*progress)(void *arg); /* called after each size; may be NULL */
	void *arg;
	VEC(struct curve_sample) at; /* bytes rising, us not falling */
};
/* How many sizes are measured at least. */
int calibrate_sizes(double most);
/* Fills `at`, from 4 bytes to `most`. Where medians fall with the bytes, neighbours are pooled: the curve never falls. */
void calibrate_curve(struct curve_fit *m, double most);
void calibrate_free(struct curve_fit *m);
#endif
