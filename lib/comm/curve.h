/* The time of an all-reduce as a function of its bytes: measured points, linear between them and beyond the last. As
 * text "bytes<TAB>us", one point on each line, bytes rising; '#' starts a comment. */
#ifndef HONE_CURVE_H
#define HONE_CURVE_H
#include <stddef.h>
#include "common/vec.h"

struct curve_point {
	double bytes, us;
};
/* The same curve as lines: us = a + b * bytes from `from` to where the next piece begins. */
struct curve_piece {
	double from, a, b;
};
struct curve {
	VEC(struct curve_point) at;    /* bytes strictly rising, us not falling; at least two */
	VEC(struct curve_piece) piece; /* from rising, the first one from 0; b not negative; a + b * from not falling */
};
/* Reads a file. Not a curve: die(65) with file and line ("us falls from 310 to 290", "bytes 8192 twice", "one point"). */
void curve_read(struct curve *c, const char *path);
void curve_parse(struct curve *c, const char *name, const char *text); /* the same from memory */
/* alpha + beta * bytes: us, us per byte. Negative or not finite: die(64). */
void curve_linear(struct curve *c, double alpha, double beta);
/* Makes the pieces of the points. */
void curve_pieces(struct curve *c);
/* us for so many bytes. Before the first point: on the line through the first two, never below 0. */
double curve_at(const struct curve *c, double bytes);
/* The most bytes that take no longer than us: -1 if even none do, INFINITY if any number does. */
double curve_inverse(const struct curve *c, double us);
void curve_free(struct curve *c);
#endif
