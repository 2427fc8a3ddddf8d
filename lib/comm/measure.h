/* Measures the time of an all-reduce against its bytes, with few sizes: 4 bytes, 16, 64 and so on, and where what lies between two of
 * them is not on their line, halving the interval (in the ratio) until the neighbours of a step are less than a tenth apart. A step
 * is found if it is more than an eighth of the time there (a middle is then off the line by more than 4%, which is what counts as
 * off) and twice the spread of the times; two steps between sizes a factor of four apart can cancel in the middle. */
#ifndef HONE_MEASURE_H
#define HONE_MEASURE_H
#include "comm/curve.h"
#include "common/vec.h"

struct measured {
	double bytes;
	double us, least, spread; /* of its times: median, least, half the distance of the quartiles */
	VEC(double) times;
};
struct measurement {
	/* The times of count all-reduces of so many bytes, one right behind the other. */
	void (*time)(void *arg, double bytes, int count, double *us);
	void (*progress)(void *arg); /* a size is done; may be NULL */
	void *arg;
	VEC(struct measured) at; /* bytes rising, us not falling */
};
/* How many sizes there are at least. */
int measure_sizes(double most);
/* Fills at, from 4 bytes to most. An all-reduce of more bytes does not take less time: where the medians say so they are pooled. */
void measure_curve(struct measurement *m, double most);
void measure_free(struct measurement *m);
#endif
