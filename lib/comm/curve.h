/* The time of an all-reduce as a function of its bytes: measured points, straight between them and beyond the last. As
 * text "bytes<TAB>us", a point a line, bytes rising; '#' starts a comment. */
#ifndef HONE_CURVE_H
#define HONE_CURVE_H
#include "common/arena.h"
#include "common/vec.h"

struct curve_point {
	double bytes, us;
};
struct curve {
	VEC(struct curve_point) at; /* bytes strictly rising, us not falling; at least one point */
};
/* Reads a file. Not a curve: die(65) with file and line ("us falls from 310 to 290", "bytes 8192 twice", "one point"). */
void curve_read(struct curve *c, const char *path);
/* alpha + beta * bytes: us, us per byte. Negative or not finite: die(64). */
void curve_linear(struct curve *c, double alpha, double beta);
/* us for that many bytes. Before the first point: on the line through the first two (never below 0); 0 bytes: as 1. */
double curve_at(const struct curve *c, double bytes);
/* The pieces as lines, in order: us = a + b * bytes for bytes in [from, next from). Count of pieces. */
struct curve_piece {
	double from, a, b;
};
int curve_pieces(const struct curve *c, struct curve_piece *out, int max);
void curve_free(struct curve *c);
#endif
