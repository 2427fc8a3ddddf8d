/* Weights as signed integers around zero, a scale for each channel of the result. */
#include <math.h>
#include "quantize.h"

static double channel_error(const struct rounded_weights *r, const float *w, int64_t c, double scale, int most, int8_t *q)
{
	double sum = 0;

	for (int64_t o = 0; o < r->outer; o++)
		for (int64_t i = 0; i < r->inner; i++) {
			int64_t at = (o * r->n + c) * r->inner + i;
			double k = rint((double)w[at] / scale);
			k = k < -most ? -most : k > most ? most : k;
			if (q)
				q[at] = (int8_t)k;
			double e = k * scale - (double)w[at];
			sum += e * e;
		}
	return sum;
}

static double channel_most(const struct rounded_weights *r, const float *w, int64_t c, double *power)
{
	double most = 0;

	for (int64_t o = 0; o < r->outer; o++)
		for (int64_t i = 0; i < r->inner; i++) {
			double v = fabs((double)w[(o * r->n + c) * r->inner + i]);
			most = v > most ? v : most;
			*power += v * v;
		}
	return most;
}

/* The least error among scales from that of the greatest weight downwards. */
static float searched(const struct rounded_weights *r, const float *w, int64_t c, double full, int most)
{
	enum { STEPS = 40 };
	double best = full, least = channel_error(r, w, c, full, most, NULL);

	for (int i = 1; i < STEPS; i++) {
		double scale = (double)(float)(full * (1 - 0.6 * i / STEPS)), e = channel_error(r, w, c, scale, most, NULL);
		if (e < least) {
			least = e;
			best = scale;
		}
	}
	return (float)best;
}

void weights_round(struct rounded_weights *r, const float *w, int bits, bool search, struct arena *a)
{
	int most = (1 << (bits - 1)) - 1;
	double count = (double)(r->outer * r->n * r->inner);

	r->scale = ARENA_ARRAY(a, float, r->n);
	r->q = ARENA_ARRAY(a, int8_t, r->outer * r->n * r->inner);
	r->error = r->power = 0;
	for (int64_t c = 0; c < r->n; c++) {
		float scale = (float)(channel_most(r, w, c, &r->power) / most);
		if (!(scale >= 0x1p-100f))
			scale = 1.0f / (float)most;
		else if (search)
			scale = searched(r, w, c, (double)scale, most);
		r->scale[c] = scale;
		r->error += channel_error(r, w, c, (double)scale, most, r->q);
	}
	r->error /= count;
	r->power /= count;
}
