/* Weights as signed integers around zero, a scale for each channel of the result, or for each block of one. */
#include <math.h>
#include "quantize.h"

/* Weights that share a scale: numbers from to end - 1 of those of channel c. */
struct share {
	const struct rounded_weights *r;
	const float *w;
	int64_t c, from, end;
};

static int64_t place(const struct share *s, int64_t k) { return (k / s->r->inner * s->r->n + s->c) * s->r->inner + k % s->r->inner; }

static double share_error(const struct share *s, double scale, int most, int8_t *q)
{
	double sum = 0;

	for (int64_t i = s->from; i < s->end; i++) {
		int64_t at = place(s, i);
		double k = rint((double)s->w[at] / scale);
		k = k < -most ? -most : k > most ? most : k;
		if (q)
			q[at] = (int8_t)k;
		double e = k * scale - (double)s->w[at];
		sum += e * e;
	}
	return sum;
}

static double share_most(const struct share *s, double *power)
{
	double most = 0;

	for (int64_t i = s->from; i < s->end; i++) {
		double v = fabs((double)s->w[place(s, i)]);
		most = v > most ? v : most;
		*power += v * v;
	}
	return most;
}

/* The least error among scales from that of the greatest weight downwards. */
static float searched(const struct share *s, double full, int most)
{
	enum { STEPS = 40 };
	double best = full, least = share_error(s, full, most, NULL);

	for (int i = 1; i < STEPS; i++) {
		double scale = (double)(float)(full * (1 - 0.6 * i / STEPS)), e = share_error(s, scale, most, NULL);
		if (e < least) {
			least = e;
			best = scale;
		}
	}
	return (float)best;
}

static float share_round(struct rounded_weights *r, const struct share *s, int most, bool search)
{
	float scale = (float)(share_most(s, &r->power) / most);

	if (!(scale >= 0x1p-100f))
		scale = 1.0f / (float)most;
	else if (search)
		scale = searched(s, (double)scale, most);
	r->error += share_error(s, (double)scale, most, r->q);
	return scale;
}

void weights_round(struct rounded_weights *r, const float *w, int bits, bool search, struct arena *a)
{
	int most = (1 << (bits - 1)) - 1;
	int64_t per = r->outer * r->inner, block = r->block ? r->block : per;

	r->count = per ? (per + block - 1) / block : 0;
	r->scale = ARENA_ARRAY(a, float, r->n * r->count + 1);
	r->q = ARENA_ARRAY(a, int8_t, per * r->n);
	r->error = r->power = 0;
	for (int64_t c = 0; c < r->n; c++)
		for (int64_t b = 0; b < r->count; b++) {
			struct share s = {r, w, c, b * block, b + 1 < r->count ? (b + 1) * block : per};
			r->scale[r->outer > 1 ? b * r->n + c : c * r->count + b] = share_round(r, &s, most, search);
		}
	r->error /= (double)(per * r->n);
	r->power /= (double)(per * r->n);
}
