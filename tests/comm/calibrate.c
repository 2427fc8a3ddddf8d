/* The curve that calibration finds, on networks whose times are known: a line, steps, noise. */
#include <math.h>
#include <stdlib.h>
#include "comm/calibrate.h"
#include "common/rng.h"
#include "common/tool.h"
#include "tap.h"

const struct tool tool = {.name = "calibrate"};

enum { STEPS_MAX = 2 };

/* alpha + beta x, and from each step's place on its height more. Times scatter by `noise`; one of `bursts` takes up to three times as
 * long (0: none). */
struct network {
	double alpha, beta;
	struct {
		double at, height;
	} step[STEPS_MAX];
	int steps, bursts;
	double noise;
	struct rng rng;
	int calls, sizes;
};

static double truth(const struct network *n, double bytes)
{
	double us = n->alpha + n->beta * bytes;
	for (int i = 0; i < n->steps; i++)
		us += bytes >= n->step[i].at ? n->step[i].height : 0;
	return us;
}

static void fake_time(void *arg, double bytes, int count, double *us)
{
	struct network *n = arg;
	for (int i = 0; i < count; i++) {
		us[i] = truth(n, bytes) * (1 + n->noise * rng_normal(&n->rng));
		if (n->bursts && rng_range(&n->rng, 1, n->bursts) == 1)
			us[i] *= 1 + 2 * rng_unit(&n->rng);
	}
	n->calls += count;
}

static void size_done(void *arg) { ((struct network *)arg)->sizes++; }

/* The places where neighbours are as close as it looks, with at least half of that step's height between them. */
static int steps_found(const struct curve_fit *m, const struct network *n)
{
	int found = 0;
	for (int k = 0; k < n->steps; k++)
		for (size_t i = 1; i < m->at.n; i++) {
			const struct curve_sample *a = &m->at.a[i - 1], *b = &m->at.a[i];
			found += a->bytes < n->step[k].at && b->bytes >= n->step[k].at && b->bytes <= 1.1 * a->bytes &&
				 b->us - a->us > 0.5 * n->step[k].height;
		}
	return found;
}

/* The largest relative difference of the curve from the truth, but within a tenth of a step. */
static double worst(const struct curve_fit *m, const struct network *n)
{
	struct curve c = {0};
	double off = 0;
	for (size_t i = 0; i < m->at.n; i++)
		vec_push(&c.at, (struct curve_point){m->at.a[i].bytes, m->at.a[i].us});
	curve_pieces(&c);
	for (double x = 4; x <= m->at.a[m->at.n - 1].bytes; x *= 1.01) {
		bool near = false;
		for (int k = 0; k < n->steps; k++)
			near |= x > n->step[k].at / 1.1 && x < n->step[k].at * 1.1;
		if (!near)
			off = fmax(off, fabs(curve_at(&c, x) / truth(n, x) - 1));
	}
	curve_free(&c);
	return off;
}

/* steps: all of them are to be found; off: the curve is that near; points: no more than these. */
static void check(const char *what, struct network n, double off, size_t points)
{
	int least = 1000, bad = 0;
	double far = 0;
	size_t most = 0;
	enum { SEEDS = 50 };
	for (int seed = 1; seed <= SEEDS; seed++) {
		struct curve_fit m = {.time = fake_time, .progress = size_done, .arg = &n};
		n.rng = (struct rng){(uint64_t)seed};
		n.sizes = 0;
		calibrate_curve(&m, 1 << 26);
		int found = steps_found(&m, &n);
		least = found < least ? found : least;
		far = fmax(far, worst(&m, &n));
		most = m.at.n > most ? m.at.n : most;
		for (size_t i = 1; i < m.at.n; i++)
			bad += m.at.a[i].bytes <= m.at.a[i - 1].bytes || m.at.a[i].us < m.at.a[i - 1].us;
		bad += m.at.a[0].bytes != 4 || m.at.a[m.at.n - 1].bytes != 1 << 26 || n.sizes < (int)m.at.n;
		calibrate_free(&m);
	}
	ok(least == n.steps && far <= off && most <= points && !bad, "%s: of %d steps %d found, %.2f%% off, %zu points", what, n.steps,
	   least, 100 * far, most);
}

int main(void)
{
	static const double places[] = {70, 1000, 8192, 12000, 65536, 300000, 2097152};
	check("a line", (struct network){.alpha = 50, .beta = 1e-3}, 1e-9, 13);
	check("a line, times off by 2%", (struct network){.alpha = 50, .beta = 1e-3, .noise = 0.02}, 0.02, 16);
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		char what[80];
		struct network n = {.alpha = 50, .beta = 1e-3, .steps = 1};
		n.step[0].at = places[i];
		n.step[0].height = 0.2 * truth(&n, places[i] - 1);
		snprintf(what, sizeof what, "a step of 20%% at %.0f bytes", places[i]);
		check(what, n, 0.05, 22);
		n.noise = 0.02, n.bursts = 20;
		n.step[0].height *= 2;
		snprintf(what, sizeof what, "one of 40%% at %.0f, times off by 2%%, some by much more", places[i]);
		check(what, n, 0.06, 26);
	}
	struct network two = {.alpha = 30, .beta = 5e-4, .steps = 2, .step = {{8192, 40}, {65536, 60}}};
	check("two steps", two, 0.05, 28);
	two.noise = 0.02, two.bursts = 20;
	check("two steps, noisy", two, 0.06, 32);
	check("two steps a factor of two apart", (struct network){.alpha = 30, .beta = 5e-4, .steps = 2, .step = {{6000, 30}, {12000, 30}}},
	      0.05, 28);
	check("noise of 10%", (struct network){.alpha = 50, .beta = 1e-3, .noise = 0.1, .bursts = 10}, 0.1, 26);
	return tap_done();
}
