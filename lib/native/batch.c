/* BatchNormalization, in training too. */
#include "native/native.h"

enum { BATCH_BLOCK = 256 };

/* The operand as images of channels of so many elements. */
struct batch_shape {
	int64_t images, channels, size;
};

/* Mean and variance of channel c. */
static void batch_statistics(const struct native_tensor *x, const struct batch_shape *s, int64_t c, double *mean, double *variance)
{
	double sum = 0, squares = 0, v[BATCH_BLOCK], count = (double)(s->images * s->size);

	for (int pass = 0; pass < 2; pass++)
		for (int64_t b = 0; b < s->images; b++)
			for (int64_t i = 0; i < s->size; i += BATCH_BLOCK) {
				int64_t n = s->size - i < BATCH_BLOCK ? s->size - i : BATCH_BLOCK;
				native_load(x->type, x->data, (b * s->channels + c) * s->size + i, n, v);
				for (int64_t k = 0; k < n; k++)
					*(pass ? &squares : &sum) += pass ? (v[k] - sum / count) * (v[k] - sum / count) : v[k];
			}
	*mean = sum / count;
	*variance = squares / count;
}

/* Channel c less mean, times scale, plus shift. */
static void batch_scale(const struct native_tensor *x, void *y, const struct batch_shape *s, int64_t c, double mean, double scale,
			double shift)
{
	double v[BATCH_BLOCK];

	for (int64_t b = 0; b < s->images; b++)
		for (int64_t i = 0; i < s->size; i += BATCH_BLOCK) {
			int64_t n = s->size - i < BATCH_BLOCK ? s->size - i : BATCH_BLOCK, at = (b * s->channels + c) * s->size + i;
			native_load(x->type, x->data, at, n, v);
			for (int64_t k = 0; k < n; k++)
				v[k] = (v[k] - mean) * scale + shift;
			native_store(x->type, y, at, n, v);
		}
}

static double batch_of(const struct native *n, int i, int64_t c) { return native_get(n->in[i].type, n->in[i].data, c); }

NATIVE const char *native_BatchNormalization(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	bool training = native_int(n, "training_mode") != 0;
	double epsilon = native_float(n, "epsilon"), momentum = native_float(n, "momentum"), mean, variance;
	struct batch_shape s = {x->rank ? x->dims[0] : 1, x->rank > 1 ? x->dims[1] : 1, 0};
	void *y, *means = NULL, *variances = NULL;

	for (int i = 0; i < 5; i++)
		if (!native_is_float(n->in[i].type))
			return native_no_type();
	for (int i = 1; i < 5; i++)
		if (native_count(&n->in[i]) != s.channels)
			return native_why(n, "operand %d has %lld elements for %lld channels", i, (long long)native_count(&n->in[i]),
					  (long long)s.channels);
	if (!(y = n->room(n, 0, x->type, x->rank, x->dims)) || (training && (!(means = n->room(n, 1, n->in[3].type, 1, &s.channels)) ||
									     !(variances = n->room(n, 2, n->in[4].type, 1, &s.channels)))))
		return native_no_room(n);
	s.size = x->rank > 2 ? native_count_of(x->rank - 2, x->dims + 2) : 1;
	for (int64_t c = 0; c < s.channels; c++) {
		double was_mean = mean = batch_of(n, 3, c), was_variance = variance = batch_of(n, 4, c);
		if (training) {
			batch_statistics(x, &s, c, &mean, &variance);
			native_set(n->in[3].type, means, c, was_mean * momentum + mean * (1 - momentum));
			native_set(n->in[4].type, variances, c, was_variance * momentum + variance * (1 - momentum));
		}
		batch_scale(x, y, &s, c, mean, batch_of(n, 1, c) / sqrt(variance + epsilon), batch_of(n, 2, c));
	}
	return NULL;
}
