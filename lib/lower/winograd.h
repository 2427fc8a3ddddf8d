/* Convolution with 3x3 taps by fast algorithms (Winograd 1980; Lavin and Gray 2016): F(m x m, 3x3) computes tiles of m x m
 * results from (m+2) x (m+2) inputs, by one product a point of the transformed tile. As stages:
 *
 *   pad      n c h w     the input with its padding, whole tiles
 *   rows     x j t c     B' along h: point x of column j of tile t
 *   points   s t c       and along w: all points s of tile t, (m+2)^2 of them
 *   product  s t o       sum over c of points[s t c] * U[s c o]
 *   back     y j t o     A' along h
 *   conv     n o h w     and along w
 *
 * t counts tiles, images outermost; or there are three axes n y x instead, image, line and tile of the line: no index then divides by the
 * number of tiles in a line, which may vary. The matrices are in the bodies, term by term: where the axis that says which row is
 * unrolled, all that remains is arithmetic. */
#ifndef HONE_WINOGRAD_H
#define HONE_WINOGRAD_H
#include "loop/loop.h"

/* m: 2 or 4. lines: with three axes of tiles. x: n c h w; u: points of the weights, s c o. begin: padding before h and w; out: n o h w. The
 * stage that writes the result, in scratch. axes: names of its axes. */
stage_id winograd_stages(struct loop_prog *p, int m, bool lines, buf_id x, buf_id u, const int64_t *begin, const int64_t *out,
			 const char *axes);
/* The points of weights w (o c 3 3), in type t. */
buf_id winograd_weights(struct loop_prog *p, int m, buf_id w, enum dtype t);
/* The tile of an algorithm's name, 2 or 4; 0: it is none of these. */
int winograd_tile(const char *algo);
/* The same algorithm with three axes of tiles; any other: itself. */
const char *winograd_of_lines(const char *algo);
#endif
