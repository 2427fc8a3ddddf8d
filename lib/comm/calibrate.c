#include <math.h>
#include <stdlib.h>
#include "comm/calibrate.h"
#include "common/arena.h"
#include "common/sorted.h"

enum { POINTS_MAX = 64, BATCHES = 5, BATCH_MAX = 10 };
static const double batch_us = 2e5;   /* us that a batch should take */
static const double bend = 0.04;      /* a point that is off the line between its neighbours by this share of its time shows a step */
static const double step_ratio = 1.1; /* intervals narrower than this are not bisected */

static int by_bytes(const void *x, const void *y)
{
	return ascending(&((const struct curve_sample *)x)->bytes, &((const struct curve_sample *)y)->bytes);
}

static void summarize(struct curve_sample *p)
{
	size_t n = p->times.n;
	double *v = xmalloc(n * sizeof *v);
	for (size_t i = 0; i < n; i++)
		v[i] = p->times.a[i];
	qsort(v, n, sizeof *v, ascending);
	p->us = sorted_median(v, n);
	p->least = v[0];
	p->spread = (v[3 * n / 4] - v[n / 4]) / 2;
	free(v);
}

/* One more batch of at least two all-reduces, one right after the other as in training: the second finds the network busy. */
static void batch(struct curve_fit *m, struct curve_sample *at, double expected)
{
	double us[BATCH_MAX];
	int count = expected > 0 ? (int)fmin(BATCH_MAX, fmax(2, batch_us / expected)) : 3;
	m->time(m->arg, at->bytes, count, us);
	for (int i = 0; i < count; i++)
		vec_push(&at->times, us[i]);
}

static struct curve_sample settle(struct curve_fit *m, double bytes)
{
	struct curve_sample at = {.bytes = bytes};
	/* The first batch warms up, and says how long one takes. */
	batch(m, &at, 0);
	double expected = at.times.a[at.times.n - 1];
	at.times.n = 0;
	for (int i = 0; i < BATCHES; i++)
		batch(m, &at, expected);
	summarize(&at);
	if (m->progress)
		m->progress(m->arg);
	return at;
}

/* Bisects [a, b] geometrically while the middle is off the line by more than the noise. */
static void bisect(struct curve_fit *m, struct curve_sample a, struct curve_sample b)
{
	double middle = round(sqrt(a.bytes * b.bytes) / 4) * 4;
	if (b.bytes < a.bytes * step_ratio || middle <= a.bytes || middle >= b.bytes || m->at.n >= POINTS_MAX)
		return;
	struct curve_sample p = settle(m, middle);
	double line = a.us + (b.us - a.us) * (p.bytes - a.bytes) / (b.bytes - a.bytes), off = fabs(p.us - line);
	if (off < bend * p.us || off < 2 * p.spread) {
		vec_free(&p.times);
		return;
	}
	vec_push(&m->at, p);
	bisect(m, a, p);
	bisect(m, p, b);
}

/* Makes the medians rise: pool adjacent violators (Ayer et al. 1955). */
static void never_falls(struct curve_fit *m)
{
	for (size_t i = 1; i < m->at.n; i++) {
		double sum = m->at.a[i].us, mean = sum;
		size_t from = i;
		while (from > 0 && m->at.a[from - 1].us > mean) {
			sum += m->at.a[--from].us;
			mean = sum / (double)(i - from + 1);
		}
		for (size_t k = from; k < i; k++)
			m->at.a[k].us = mean;
		m->at.a[i].us = mean;
	}
}

int calibrate_sizes(double most) { return 1 + (int)ceil(log(most / 4) / log(4)); }

void calibrate_curve(struct curve_fit *m, double most)
{
	int sizes = calibrate_sizes(most);
	m->at.n = 0;
	for (int i = 0; i < sizes; i++)
		vec_push(&m->at, settle(m, fmin(4 * pow(4, i), most)));
	for (int i = 0; i + 1 < sizes; i++)
		bisect(m, m->at.a[i], m->at.a[i + 1]);
	qsort(m->at.a, m->at.n, sizeof *m->at.a, by_bytes);
	/* The batches go round and round over all sizes, so that a slow phase of the network does not affect one size alone. */
	for (size_t i = 0; i < BATCHES * m->at.n; i++)
		batch(m, &m->at.a[i % m->at.n], m->at.a[i % m->at.n].us);
	for (size_t i = 0; i < m->at.n; i++)
		summarize(&m->at.a[i]);
	never_falls(m);
}

void calibrate_free(struct curve_fit *m)
{
	for (size_t i = 0; i < m->at.n; i++)
		vec_free(&m->at.a[i].times);
	vec_free(&m->at);
}
