/* GridSample: of each point the pixels that it lies between and their weights once, then all channels; of images of f32 in blocks of
 * points (grid_block.h). Places are computed in double, where those of f32 grids are exact. */
#include "native/grid_block.h"

/* Pixels of one point: as many as lie in the image. */
struct grid_point {
	int64_t n, *off;
	double *weight;
};

static double grid_reflect(double x, double least, double most)
{
	double range = most - least, over = x < least ? least - x : x - most, n, rest;

	if (x >= least && x <= most)
		return x;
	n = range > 0 ? floor(over / range) : 0;
	rest = range > 0 ? over - n * range : 0;
	if (!(rest >= 0 && rest <= range)) /* no number, or too large for its digits */
		rest = 0;
	return (x < least) == (n == 2 * floor(n / 2)) ? least + rest : most - rest;
}

static double grid_clamp(double x, double least, double most) { return x > most ? most : x > least ? x : least; }

/* The pixel that is index i of an axis of n; -1: none. */
static int64_t grid_pixel(const struct grid *g, double i, int64_t n)
{
	double half = g->corners ? 0 : 0.5;

	if (g->padding == GRID_ZEROS)
		return i >= 0 && i < (double)n ? (int64_t)i : -1;
	if (g->padding == GRID_REFLECTION)
		i = grid_reflect(i, -half, (double)n - 1 + half);
	return (int64_t)grid_clamp(i, 0, (double)n - 1);
}

static void grid_cubic(double x, double *w)
{
	const double a = -0.75;
	double y = 1 - x;

	w[0] = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a;
	w[1] = ((a + 2) * x - (a + 3)) * x * x + 1;
	w[2] = ((a + 2) * y - (a + 3)) * y * y + 1;
	w[3] = ((a * (y + 1) - 5 * a) * (y + 1) + 8 * a) * (y + 1) - 4 * a;
}

/* Pixels and weights along one axis of n, for a place in [-1, 1]. */
static void grid_axis(const struct grid *g, double at, int64_t n, int64_t *pixel, double *weight)
{
	double half = g->corners ? 0 : 0.5, x = g->corners ? (at + 1) / 2 * (double)(n - 1) : ((at + 1) * (double)n - 1) / 2, first;

	if (g->taps == 1)
		x = rint(x);
	if (g->padding == GRID_BORDER && !(x >= -half && x <= (double)n - 1 + half))
		x = grid_clamp(x, 0, (double)n - 1);
	if (g->padding == GRID_REFLECTION)
		x = grid_reflect(x, -half, (double)n - 1 + half);
	first = floor(x);
	if (!isfinite(x)) /* it lies in no image */
		x = first = g->padding == GRID_ZEROS ? -GRID_TAPS : 0;
	weight[0] = 1;
	if (g->taps == 2) {
		weight[0] = 1 - (x - first);
		weight[1] = x - first;
	} else if (g->taps == GRID_TAPS) {
		grid_cubic(x - first, weight);
		first--;
	}
	for (int i = 0; i < g->taps; i++)
		pixel[i] = grid_pixel(g, first + i, n);
}

/* at: the place, innermost axis first. */
static void grid_point(const struct grid *g, const double *at, struct grid_point *p)
{
	p->n = 1;
	p->off[0] = 0;
	p->weight[0] = 1;
	for (int a = g->axes - 1; a >= 0; a--) {
		int64_t pixel[GRID_TAPS], held = p->n, k = 0;
		double weight[GRID_TAPS];
		grid_axis(g, at[g->axes - 1 - a], g->dims[a], pixel, weight);
		for (int i = g->taps - 1; i >= 0; i--) { /* the first tap last: it takes the place of what it is made of */
			int64_t to = i * held;
			for (int64_t j = 0; j < held; j++) {
				p->off[to + j] = pixel[i] < 0 || p->off[j] < 0 ? -1 : p->off[j] + pixel[i] * g->step[a];
				p->weight[to + j] = p->weight[j] * weight[i];
			}
		}
		for (int64_t j = 0; j < held * g->taps; j++)
			if (p->off[j] >= 0) {
				p->off[k] = p->off[j];
				p->weight[k++] = p->weight[j];
			}
		p->n = k;
	}
}

static const char *grid_read(struct native *n, struct grid *g)
{
	const struct native_tensor *x = &n->in[0], *at = &n->in[1];
	const char *mode = native_str(n, "mode"), *padding = native_str(n, "padding_mode");

	g->axes = x->rank - 2;
	if (g->axes < 1 || at->rank != x->rank || at->dims[0] != x->dims[0] || at->dims[at->rank - 1] != g->axes)
		return "the grid does not fit the image";
	if (g->axes > GRID_AXES)
		return "no evaluator for so many axes";
	g->taps = !strcmp(mode, "nearest") ? 1 : strstr(mode, "cubic") ? GRID_TAPS : 2;
	g->padding = !strcmp(padding, "border") ? GRID_BORDER : !strcmp(padding, "reflection") ? GRID_REFLECTION : GRID_ZEROS;
	g->corners = native_int(n, "align_corners") != 0;
	for (int a = g->axes - 1; a >= 0; a--) {
		g->dims[a] = x->dims[2 + a];
		g->step[a] = a == g->axes - 1 ? 1 : g->step[a + 1] * g->dims[a + 1];
	}
	return NULL;
}

/* One point of all channels: x and y are those of one image, size of a channel. */
static void grid_mix(int type, const struct grid_point *p, const char *x, char *y, int64_t channels, int64_t xsize, int64_t ysize)
{
	const float *xf = (const float *)x;
	float *yf = (float *)y;

	for (int64_t c = 0; c < channels; c++) {
		double sum = 0;
		if (type == NATIVE_F32)
			for (int64_t k = 0; k < p->n; k++)
				sum += p->weight[k] * xf[c * xsize + p->off[k]];
		else
			for (int64_t k = 0; k < p->n; k++)
				sum += p->weight[k] * native_get(type, x, c * xsize + p->off[k]);
		if (type == NATIVE_F32)
			yf[c * ysize] = (float)sum;
		else
			native_set(type, y, c * ysize, sum);
	}
}

static void grid_pick(size_t size, const struct grid_point *p, const char *x, char *y, int64_t channels, int64_t xsize, int64_t ysize)
{
	for (int64_t c = 0; c < channels; c++)
		if (p->n)
			memcpy(y + (size_t)(c * ysize) * size, x + (size_t)(c * xsize + p->off[0]) * size, size);
		else
			memset(y + (size_t)(c * ysize) * size, 0, size);
}

/* Points first .. first + count - 1 of an image, one by one; y: of its first channel, ysize of each. */
static void grid_slow(const struct grid *g, const struct native *n, int64_t image, int64_t first, int64_t count, struct grid_point *p,
		      char *y)
{
	const struct native_tensor *x = &n->in[0], *at = &n->in[1];
	int64_t xsize = native_count_of(g->axes, x->dims + 2), ysize = native_count_of(g->axes, at->dims + 1);
	size_t size = native_size(x->type);
	const char *from = (const char *)x->data + (size_t)(image * x->dims[1] * xsize) * size;
	double place[GRID_AXES];

	for (int64_t i = first; i < first + count; i++) {
		native_load(at->type, at->data, (image * ysize + i) * g->axes, g->axes, place);
		p->n = 0;
		if (xsize)
			grid_point(g, place, p);
		if (g->taps == 1)
			grid_pick(size, p, from, y + (size_t)i * size, x->dims[1], xsize, ysize);
		else
			grid_mix(x->type, p, from, y + (size_t)i * size, x->dims[1], xsize, ysize);
	}
}

/* Points of an f32 image that has pixels, in blocks. A block whose result is not finite is done again: there a weight of 0 is not the
 * same as a pixel that is not in the image. */
static void grid_fast(const struct grid *g, const struct native *n, int64_t image, struct grid_block *b, struct grid_point *p, float *y)
{
	const struct native_tensor *x = &n->in[0], *at = &n->in[1];
	int64_t xsize = native_count_of(g->axes, x->dims + 2), ysize = native_count_of(g->axes, at->dims + 1);
	const float *from = (const float *)x->data + image * x->dims[1] * xsize;

	for (int64_t i = 0; i < ysize; i += GRID_BLOCK) {
		int64_t count = ysize - i < GRID_BLOCK ? ysize - i : GRID_BLOCK;
		bool finite = true;
		memset(b->place + count * g->axes, 0, GRID_LANES * (size_t)g->axes * sizeof *b->place);
		grid_load(at->type, at->data, (image * ysize + i) * g->axes, count * g->axes, b->place);
		(g->axes == 2 && (g->taps == 1 || b->square) ? grid_pair_points : grid_block_points)(g, b, count);
		for (int64_t c = 0; c < x->dims[1]; c++)
			finite &= grid_block_mix(b, from + c * xsize, y + c * ysize + i, count);
		if (!finite)
			grid_slow(g, n, image, i, count, p, (char *)y);
	}
}

static bool grid_block_room(struct native *n, const struct grid *g, int taps, struct grid_block *b)
{
	bool square = g->axes == 2 && g->taps == 2 && g->dims[1] > 1;

	b->taps = taps;
	if (square && !(b->square = n->scratch(n, GRID_BLOCK * sizeof *b->square)))
		return false;
	b->place = n->scratch(n, GRID_ROW * (size_t)g->axes * sizeof *b->place);
	b->off = n->scratch(n, (size_t)taps * sizeof *b->off);
	b->weight = n->scratch(n, (size_t)taps * sizeof *b->weight);
	return b->place && b->off && b->weight;
}

NATIVE const char *native_GridSample(struct native *n)
{
	const struct native_tensor *x = &n->in[0], *at = &n->in[1];
	int64_t dims[NATIVE_RANK_MAX], most = 1, of_image;
	size_t size = native_size(x->type);
	struct grid_block block = {0};
	struct grid_point p;
	struct grid g = {0};
	const char *why = grid_read(n, &g);
	char *y;

	if (why)
		return why;
	if (!size || !native_is_float(at->type) || (g.taps > 1 && (x->type == NATIVE_C64 || x->type == NATIVE_C128)))
		return native_no_type();
	for (int a = 0; a < g.axes; a++)
		most *= g.taps;
	memcpy(dims, x->dims, 2 * sizeof *dims);
	memcpy(dims + 2, at->dims + 1, (size_t)g.axes * sizeof *dims);
	p.off = n->scratch(n, (size_t)most * sizeof *p.off);
	p.weight = n->scratch(n, (size_t)most * sizeof *p.weight);
	y = n->room(n, 0, x->type, x->rank, dims);
	if (!p.off || !p.weight || !y)
		return native_no_room(n);
	bool fast = x->type == NATIVE_F32 && most <= GRID_BLOCK_TAPS && native_count_of(g.axes, x->dims + 2);
	if (fast && !grid_block_room(n, &g, (int)most, &block))
		return native_no_room(n);
	of_image = native_count_of(g.axes + 1, dims + 1);
	for (int64_t i = 0; i < x->dims[0] && x->dims[1]; i++)
		if (fast)
			grid_fast(&g, n, i, &block, &p, (float *)y + i * of_image);
		else
			grid_slow(&g, n, i, 0, native_count_of(g.axes, dims + 2), &p, y + (size_t)(i * of_image) * size);
	return NULL;
}
