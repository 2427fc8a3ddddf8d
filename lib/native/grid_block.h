/* GridSample of f32 images: the pixels and weights of a block of points, in vectors, then each channel (grid.c). */
#ifndef HONE_NATIVE_GRID_BLOCK_H
#define HONE_NATIVE_GRID_BLOCK_H
#include "native/native.h"

enum { GRID_AXES = 8, GRID_TAPS = 4, GRID_BLOCK = 512, GRID_ROW = GRID_BLOCK + 24, GRID_BLOCK_TAPS = 64 };
enum grid_padding { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION };

struct grid {
	int axes, taps; /* spatial axes; pixels that count along each */
	bool corners;
	enum grid_padding padding;
	int64_t dims[GRID_AXES], step[GRID_AXES]; /* of the image */
};

/* Of GRID_BLOCK points, tap by tap: the pixel and its weight, which is 0 where the point has no such pixel. So many that a channel that
 * fits into the first cache is read from there. Rows are longer, or all would lie in the same sets of it. */
struct grid_block {
	int taps;
	double *place; /* of each point, innermost axis first */
	int64_t (*off)[GRID_ROW];
	float (*weight)[GRID_ROW];
	float (*square)[4]; /* of two axes, linear: the weights of a point; off has its two rows, of each two pixels side by side */
};

#pragma GCC diagnostic ignored "-Wpsabi" /* the functions that pass vectors are of this file alone */
#define GRID_INLINE static inline __attribute__((always_inline))
enum { GRID_LANES = 4 };
typedef double grid_vd __attribute__((vector_size(8 * GRID_LANES)));
typedef int64_t grid_vl __attribute__((vector_size(8 * GRID_LANES)));
typedef int64_t grid_stored __attribute__((vector_size(8 * GRID_LANES), aligned(8)));
typedef double grid_placed __attribute__((vector_size(8 * GRID_LANES), aligned(8)));
typedef int32_t grid_bits __attribute__((vector_size(4 * GRID_LANES), aligned(4), may_alias));
typedef double grid_2d __attribute__((vector_size(16)));
typedef float grid_vf __attribute__((vector_size(4 * GRID_LANES), aligned(4)));

GRID_INLINE grid_vd grid_all(double x) { return (grid_vd){x, x, x, x}; }
/* Vectors are passed by address: how they are passed by value is not the same for each target. */
#define GRID_IF(c, a, b) ((grid_vd)(((grid_vl)(a) & (c)) | ((grid_vl)(b) & ~(c))))

/* To the nearest, ties to even, up to 2^51; numbers beyond lie in no image. */
#define GRID_RINT(x) (((x) + 0x1.8p52) - 0x1.8p52)

#define GRID_WHOLE(x) ((grid_vl)((x) + 0x1.8p52) - 0x4338000000000000)

GRID_INLINE void grid_floor(const grid_vd *x, grid_vd *y)
{
	grid_vd r = GRID_RINT(*x);

	*y = r - GRID_IF(r > *x, grid_all(1), grid_all(0));
}

/* NaN becomes the lower one. */
GRID_INLINE void grid_between(grid_vd *x, double least, double most)
{
	grid_vd y = GRID_IF(*x > least, *x, grid_all(least));

	*x = GRID_IF(y > most, grid_all(most), y);
}

/* As grid_reflect (grid.c) has it. */
GRID_INLINE void grid_reflected(grid_vd *p, double least, double most)
{
	double range = most - least;
	grid_vd x = *p, n = grid_all(0), rest = n, half, even;
	grid_vl before = x < least;

	if (range > 0) {
		grid_vd over = GRID_IF(before, least - x, x - most);
		n = over / range;
		grid_floor(&n, &n);
		rest = over - n * range;
		rest = GRID_IF((rest >= 0) & (rest <= range), rest, grid_all(0));
	}
	half = n * 0.5;
	grid_floor(&half, &even);
	x = GRID_IF(~(before ^ (n == 2 * even)), least + rest, most - rest);
	*p = GRID_IF((*p >= least) & (*p <= most), *p, x);
}

GRID_INLINE void grid_cubic_weights(const grid_vd *part, grid_vd *w)
{
	const double a = -0.75;
	grid_vd x = *part, y = 1 - x;

	w[0] = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a;
	w[1] = ((a + 2) * x - (a + 3)) * x * x + 1;
	w[2] = ((a + 2) * y - (a + 3)) * y * y + 1;
	w[3] = ((a * (y + 1) - 5 * a) * (y + 1) + 8 * a) * (y + 1) - 4 * a;
}

/* native_load, of f32 in vectors. */
static void grid_load(int type, const void *p, int64_t i, int64_t n, double *v)
{
	int64_t k = 0;

	if (type == NATIVE_F32)
		for (; k + GRID_LANES <= n; k += GRID_LANES)
			*(grid_placed *)(v + k) = __builtin_convertvector(*(const grid_vf *)((const float *)p + i + k), grid_vd);
	native_load(type, p, i + k, n - k, v + k);
}

/* An axis of n pixels: place p in [-1, 1] is index (p + 1) * scale - half, and the image lies from -half to n - 1 + half. */
struct grid_axis {
	double n, scale, half, step;
};

GRID_INLINE struct grid_axis grid_axis_of(const struct grid *g, int a)
{
	double n = (double)g->dims[a];

	return (struct grid_axis){n, (g->corners ? n - 1 : n) * 0.5, g->corners ? 0 : 0.5, (double)g->step[a]};
}

/* Pixels, as numbers of double, and weights along an axis, of points at *place. Taps and padding are those of the operator: where they
 * are constants, this is code without branches. */
GRID_INLINE void grid_block_axis(const struct grid_axis *axis, int taps, enum grid_padding padding, const grid_vd *place, grid_vd *pixel,
				 grid_vd *weight)
{
	double n = axis->n, least = -axis->half, most = n - 1 + axis->half;
	grid_vd x = (*place + 1) * axis->scale - axis->half, first, part;

	if (taps == 1)
		x = GRID_RINT(x);
	if (padding == GRID_BORDER) {
		grid_vl in = (x >= least) & (x <= most);
		grid_vd inside = x;
		grid_between(&inside, 0, n - 1);
		x = GRID_IF(in, x, inside);
	}
	if (padding == GRID_REFLECTION)
		grid_reflected(&x, least, most);
	first = x;
	weight[0] = grid_all(1);
	if (taps > 1)
		grid_floor(&x, &first);
	part = x - first;
	if (taps == 2) {
		weight[0] = 1 - part;
		weight[1] = part;
	} else if (taps == GRID_TAPS) {
		grid_cubic_weights(&part, weight);
		first -= 1;
	}
	for (int i = 0; i < taps; i++) {
		pixel[i] = first + (double)i;
		if (padding == GRID_ZEROS)
			weight[i] = (grid_vd)((grid_vl)weight[i] & (pixel[i] >= 0) & (pixel[i] < n));
		if (padding == GRID_REFLECTION)
			grid_reflected(&pixel[i], least, most);
		grid_between(&pixel[i], 0, n - 1);
	}
}

/* The pixels and weights of count points at b->place, and of some after them up to a whole vector. */
static void grid_block_points(const struct grid *g, struct grid_block *b, int64_t count)
{
	for (int64_t v = 0; v < count; v += GRID_LANES) {
		grid_vd off[GRID_BLOCK_TAPS], weight[GRID_BLOCK_TAPS], pixel[GRID_TAPS], w[GRID_TAPS], at;
		int held = 1;
		off[0] = grid_all(0);
		weight[0] = grid_all(1);
		for (int a = g->axes - 1; a >= 0; a--, held *= g->taps) {
			for (int i = 0; i < GRID_LANES; i++)
				at[i] = b->place[(v + i) * g->axes + g->axes - 1 - a];
			struct grid_axis axis = grid_axis_of(g, a);
			grid_block_axis(&axis, g->taps, g->padding, &at, pixel, w);
			for (int i = g->taps - 1; i >= 0; i--) /* the first tap last: it takes the place of what it is made of */
				for (int j = 0; j < held; j++) {
					off[i * held + j] = off[j] + pixel[i] * axis.step;
					weight[i * held + j] = weight[j] * w[i];
				}
		}
		for (int k = 0; k < b->taps; k++) {
			*(grid_stored *)&b->off[k][v] = GRID_WHOLE(off[k]);
			*(grid_vf *)&b->weight[k][v] = __builtin_convertvector(weight[k], grid_vf);
		}
	}
}

/* The places of points v and after along both axes of an image. */
GRID_INLINE void grid_pair(const struct grid_block *b, int64_t v, grid_vd *x, grid_vd *y)
{
	const grid_placed *at = (const grid_placed *)(b->place + 2 * v);

	*x = __builtin_shufflevector(at[0], at[1], 0, 2, 4, 6);
	*y = __builtin_shufflevector(at[0], at[1], 1, 3, 5, 7);
}

/* Two axes, the nearest pixel. */
GRID_INLINE void grid_pair_nearest(const struct grid *g, enum grid_padding padding, struct grid_block *b, int64_t count)
{
	const struct grid_axis rows = grid_axis_of(g, 0), columns = grid_axis_of(g, 1);

	for (int64_t v = 0; v < count; v += GRID_LANES) {
		grid_vd x, y, column, row, wx, wy;
		grid_pair(b, v, &x, &y);
		grid_block_axis(&columns, 1, padding, &x, &column, &wx);
		grid_block_axis(&rows, 1, padding, &y, &row, &wy);
		*(grid_stored *)&b->off[0][v] = GRID_WHOLE(column + row * rows.step);
		*(grid_vf *)&b->weight[0][v] = __builtin_convertvector((grid_vd)((grid_vl)wx & (grid_vl)wy), grid_vf);
	}
}

/* Two axes, linear, two columns and more. */
GRID_INLINE void grid_pair_linear(const struct grid *g, enum grid_padding padding, struct grid_block *b, int64_t count)
{
	const struct grid_axis rows = grid_axis_of(g, 0), columns = grid_axis_of(g, 1);

	for (int64_t v = 0; v < count; v += GRID_LANES) {
		grid_vd x, y, column[2], row[2], wx[2], wy[2];
		grid_pair(b, v, &x, &y);
		grid_block_axis(&columns, 2, padding, &x, column, wx);
		grid_block_axis(&rows, 2, padding, &y, row, wy);
		grid_vd first = column[0], last = grid_all(columns.n - 2);
		if (padding == GRID_REFLECTION)
			first = GRID_IF(column[0] < column[1], column[0], column[1]);
		first = GRID_IF(first < last, first, last);
		grid_vl a = column[0] == first, c = column[1] == first;
		grid_vd left = (grid_vd)((grid_vl)wx[0] & a) + (grid_vd)((grid_vl)wx[1] & c),
			right = (grid_vd)((grid_vl)wx[0] & ~a) + (grid_vd)((grid_vl)wx[1] & ~c);
		*(grid_stored *)&b->off[0][v] = GRID_WHOLE(first + row[0] * rows.step);
		*(grid_stored *)&b->off[1][v] = GRID_WHOLE(first + row[1] * rows.step);
		grid_vf w0 = __builtin_convertvector(wy[0] * left, grid_vf), w1 = __builtin_convertvector(wy[0] * right, grid_vf);
		grid_vf w2 = __builtin_convertvector(wy[1] * left, grid_vf), w3 = __builtin_convertvector(wy[1] * right, grid_vf);
		grid_vf p = __builtin_shufflevector(w0, w1, 0, 4, 1, 5), q = __builtin_shufflevector(w2, w3, 0, 4, 1, 5);
		grid_vf r = __builtin_shufflevector(w0, w1, 2, 6, 3, 7), s = __builtin_shufflevector(w2, w3, 2, 6, 3, 7);
		*(grid_vf *)b->square[v] = __builtin_shufflevector(p, q, 0, 1, 4, 5);
		*(grid_vf *)b->square[v + 1] = __builtin_shufflevector(p, q, 2, 3, 6, 7);
		*(grid_vf *)b->square[v + 2] = __builtin_shufflevector(r, s, 0, 1, 4, 5);
		*(grid_vf *)b->square[v + 3] = __builtin_shufflevector(r, s, 2, 3, 6, 7);
	}
}

GRID_INLINE void grid_pair_of(const struct grid *g, enum grid_padding padding, struct grid_block *b, int64_t count)
{
	if (b->square)
		grid_pair_linear(g, padding, b, count);
	else
		grid_pair_nearest(g, padding, b, count);
}

/* grid_block_points for images of two axes: those of b->square, or of one tap. */
static void grid_pair_points(const struct grid *g, struct grid_block *b, int64_t count)
{
	switch (g->padding) {
	case GRID_ZEROS: grid_pair_of(g, GRID_ZEROS, b, count); break;
	case GRID_BORDER: grid_pair_of(g, GRID_BORDER, b, count); break;
	case GRID_REFLECTION: grid_pair_of(g, GRID_REFLECTION, b, count); break;
	}
}

/* The four products of a point. */
GRID_INLINE grid_vf grid_square(const float *x, const float *below, const float *w)
{
	double above, under;

	memcpy(&above, x, sizeof above);
	memcpy(&under, below, sizeof under);
	return (grid_vf)(grid_2d){above, under} * *(const grid_vf *)w;
}

static void grid_square_mix(const struct grid_block *b, const float *x, float *y, int64_t count)
{
	const int64_t *o = b->off[0], *u = b->off[1];
	const float(*w)[4] = b->square;
	int64_t i = 0;

	for (; i + 4 <= count; i += 4) {
		grid_vf p = grid_square(x + o[i], x + u[i], w[i]), q = grid_square(x + o[i + 1], x + u[i + 1], w[i + 1]);
		grid_vf r = grid_square(x + o[i + 2], x + u[i + 2], w[i + 2]), s = grid_square(x + o[i + 3], x + u[i + 3], w[i + 3]);
		p = __builtin_shufflevector(p, q, 0, 4, 1, 5) + __builtin_shufflevector(p, q, 2, 6, 3, 7);
		r = __builtin_shufflevector(r, s, 0, 4, 1, 5) + __builtin_shufflevector(r, s, 2, 6, 3, 7);
		*(grid_vf *)(y + i) = __builtin_shufflevector(p, r, 0, 1, 4, 5) + __builtin_shufflevector(p, r, 2, 3, 6, 7);
	}
	for (; i < count; i++)
		y[i] = (x[o[i]] * w[i][0] + x[u[i]] * w[i][2]) + (x[o[i] + 1] * w[i][1] + x[u[i] + 1] * w[i][3]);
}

/* A pixel as it is, or 0 where the weight is 0. */
static void grid_nearest_mix(const int64_t *o, const float *w, const float *x, float *y, int64_t count)
{
	int64_t i = 0;

	for (int64_t k = 0; k < count; k++)
		memcpy(y + k, x + o[k], sizeof *y);
	for (; i + GRID_LANES <= count; i += GRID_LANES)
		*(grid_bits *)(y + i) &= *(const grid_vf *)(w + i) != 0;
	for (; i < count; i++)
		if (!w[i])
			y[i] = 0;
}

/* Is each of n numbers finite? */
static bool grid_finite(const float *y, int64_t n)
{
	grid_vf all = {0};
	float rest = 0;
	int64_t i = 0;

	for (; i + GRID_LANES <= n; i += GRID_LANES)
		all += *(const grid_vf *)(y + i) * 0;
	for (; i < n; i++)
		rest += y[i] * 0;
	for (int k = 0; k < GRID_LANES; k++)
		rest += all[k];
	return rest == 0;
}

/* One channel of count points. False: a sum is not finite. */
static bool grid_block_mix(const struct grid_block *b, const float *x, float *y, int64_t count)
{
	const int64_t(*o)[GRID_ROW] = b->off;
	const float(*w)[GRID_ROW] = b->weight;

	if (b->square) {
		grid_square_mix(b, x, y, count);
		return grid_finite(y, count);
	}
	if (b->taps == 1) {
		grid_nearest_mix(o[0], w[0], x, y, count);
		return true;
	}
	for (int64_t i = 0; i < count && b->taps == 2; i++)
		y[i] = w[0][i] * x[o[0][i]] + w[1][i] * x[o[1][i]];
	for (int64_t i = 0; i < count && b->taps == 4; i++)
		y[i] = (w[0][i] * x[o[0][i]] + w[1][i] * x[o[1][i]]) + (w[2][i] * x[o[2][i]] + w[3][i] * x[o[3][i]]);
	for (int64_t i = 0; i < count && b->taps > 4; i++) {
		const int64_t *at = &o[0][i];
		const float *by = &w[0][i];
		float sum = 0, other = 0;
		for (int k = 0; k < b->taps; k += 4, at += 4 * GRID_ROW, by += 4 * GRID_ROW) {
			sum += by[0] * x[at[0]] + by[GRID_ROW] * x[at[GRID_ROW]];
			other += by[2 * GRID_ROW] * x[at[2 * GRID_ROW]] + by[3 * GRID_ROW] * x[at[3 * GRID_ROW]];
		}
		y[i] = sum + other;
	}
	return grid_finite(y, count);
}
#endif
