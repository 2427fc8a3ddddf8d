/* GridSample: of each point the pixels that it lies between and their weights once, then all channels. Places are computed in double,
 * where those of f32 grids are exact. */
#include "native/native.h"

enum { GRID_AXES = 8, GRID_TAPS = 4 };
enum grid_padding { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION };

struct grid {
	int axes, taps; /* spatial axes; pixels that count along each */
	bool corners;
	enum grid_padding padding;
	int64_t dims[GRID_AXES], step[GRID_AXES]; /* of the image */
};

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
	return (x < least) == (fmod(n, 2) == 0) ? least + rest : most - rest;
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

NATIVE const char *native_GridSample(struct native *n)
{
	const struct native_tensor *x = &n->in[0], *at = &n->in[1];
	int64_t dims[NATIVE_RANK_MAX], most = 1, xsize, ysize, channels;
	size_t size = native_size(x->type);
	double place[GRID_AXES];
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
	channels = x->dims[1];
	xsize = native_count_of(g.axes, x->dims + 2);
	ysize = native_count_of(g.axes, dims + 2);
	for (int64_t i = 0; i < x->dims[0] * ysize && channels; i++) {
		int64_t image = i / ysize;
		const char *from = (const char *)x->data + (size_t)(image * channels * xsize) * size;
		char *to = y + (size_t)(image * channels * ysize + i % ysize) * size;
		native_load(at->type, at->data, i * g.axes, g.axes, place);
		p.n = 0;
		if (xsize)
			grid_point(&g, place, &p);
		if (g.taps == 1)
			grid_pick(size, &p, from, to, channels, xsize, ysize);
		else
			grid_mix(x->type, &p, from, to, channels, xsize, ysize);
	}
	return NULL;
}
