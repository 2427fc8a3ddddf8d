/* tune-grad calibrate: the time of a real all-reduce against its bytes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "common/outfile.h"
#include "common/progress.h"
#include "comm/ring.h"
#include "team.h"
#include "tune-grad.h"

enum { POINTS_MAX = 64, BATCHES = 5 };
static const double batch_us = 2e5;   /* a batch takes about so long */
static const double bend = 0.04;      /* a point this share of its time off the line between its neighbours shows a step */
static const double step_ratio = 1.1; /* neighbours closer than this are not told apart */

struct point {
	double bytes, us, least, spread; /* us: median; spread: half the distance of its quartiles */
	VEC(double) us_of;
};
struct points {
	VEC(struct point) at; /* bytes rising */
	struct team *team;
	struct progress progress;
};

static int rising(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;
	return (a > b) - (a < b);
}

static void summarize(struct point *p)
{
	size_t n = p->us_of.n;
	double *v = xmalloc(n * sizeof *v);
	for (size_t i = 0; i < n; i++)
		v[i] = p->us_of.a[i];
	qsort(v, n, sizeof *v, rising);
	p->us = n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
	p->least = v[0];
	p->spread = (v[3 * n / 4] - v[n / 4]) / 2;
	free(v);
}

/* One batch more, its all-reduces back to back, two at least: what follows another does not find an idle network. The times
 * are means over the ranks, which end one after the other. */
static void measure(struct points *p, struct point *at)
{
	int count = at->us_of.n ? (int)fmin(10, fmax(2, batch_us / at->us)) : 3;
	double *us = xcalloc((size_t)count, sizeof *us);
	team_say(p->team, "time %.0f %d\n", at->bytes, count);
	team_hear(p->team, "us", true);
	for (int r = 0; r < p->team->n; r++) {
		char *s = p->team->m[r].line;
		for (int i = 0; i < count; i++)
			us[i] += strtod(s, &s) / p->team->n;
	}
	/* The first batch of a size opens the way for it. */
	if (!at->us_of.n)
		at->us = us[count - 1];
	for (int i = 0; i < count; i++)
		vec_push(&at->us_of, us[i]);
	free(us);
}

static void settle(struct points *p, struct point *at)
{
	measure(p, at);
	at->us_of.n = 1; /* warm now; only its size is used */
	measure(p, at);
	at->us_of.a[0] = at->us_of.a[at->us_of.n - 1];
	at->us_of.n--;
	for (int i = 1; i < BATCHES; i++)
		measure(p, at);
	summarize(at);
	progress_step(&p->progress, NULL);
}

/* Halves [a, b], in the ratio, as long as the middle is off the line by more than noise. */
static void bisect(struct points *p, struct point a, struct point b)
{
	struct point m = {.bytes = round(sqrt(a.bytes * b.bytes) / 4) * 4};
	if (b.bytes < a.bytes * step_ratio || m.bytes <= a.bytes || m.bytes >= b.bytes || p->at.n >= POINTS_MAX)
		return;
	settle(p, &m);
	double line = a.us + (b.us - a.us) * (m.bytes - a.bytes) / (b.bytes - a.bytes), off = fabs(m.us - line);
	if (off < bend * m.us || off < 2 * m.spread) {
		vec_free(&m.us_of);
		return;
	}
	vec_push(&p->at, m);
	bisect(p, a, m);
	bisect(p, m, b);
}

static int by_bytes(const void *x, const void *y)
{
	return rising(&((const struct point *)x)->bytes, &((const struct point *)y)->bytes);
}

/* An all-reduce of more bytes does not take less time: where the medians say so they are pooled (Ayer et al. 1955). */
static void never_falls(struct points *p)
{
	size_t n = p->at.n;
	for (size_t i = 1; i < n; i++) {
		double sum = p->at.a[i].us, mean = sum;
		size_t from = i;
		while (from > 0 && p->at.a[from - 1].us > mean) {
			sum += p->at.a[--from].us;
			mean = sum / (double)(i - from + 1);
		}
		for (size_t k = from; k < i + 1 && from < i; k++)
			p->at.a[k].us = mean;
	}
}

static void write_curve(const struct points *p, const char *path)
{
	struct outfile o;
	outfile_open(&o, path, false);
	fprintf(o.f, "# all-reduce, %s, %d ranks: bytes, median us\n", opt.mpi ? "MPI" : "TCP ring", p->team->ranks);
	for (size_t i = 0; i < p->at.n; i++) {
		const struct point *q = &p->at.a[i];
		fprintf(o.f, "# %.0f bytes: least %.2f us, quartiles +-%.2f, %zu times\n", q->bytes, q->least, q->spread, q->us_of.n);
		fprintf(o.f, "%.0f\t%.2f\n", q->bytes, q->us);
	}
	outfile_close(&o);
}

/* As it is in the file: rounded. */
static void remember(const struct points *p)
{
	struct curve c = {0};
	for (size_t i = 0; i < p->at.n; i++)
		vec_push(&c.at, (struct curve_point){p->at.a[i].bytes, round(100 * p->at.a[i].us) / 100});
	remember_curve(&c);
	curve_free(&c);
}

int grad_calibrate(struct tool_args *a)
{
	struct team team;
	struct points p = {.team = &team};
	double most = opt.max_bytes ? opt.max_bytes : 64 << 20;
	if (a->nfile)
		die(EX_BADUSE, "calibrate takes no file");
	team_start(&team);
	int sizes = 1 + (int)ceil(log(most / 4) / log(4));
	progress_start(&p.progress, "all-reduce", (size_t)(2 * sizes));
	for (int i = 0; i < sizes; i++) {
		struct point at = {.bytes = fmin(4 * pow(4, i), most)};
		settle(&p, &at);
		vec_push(&p.at, at);
	}
	for (int i = 0; i + 1 < sizes; i++)
		bisect(&p, p.at.a[i], p.at.a[i + 1]);
	qsort(p.at.a, p.at.n, sizeof *p.at.a, by_bytes);
	/* Once more over all of them, so that a slow moment meets no size alone. */
	for (size_t i = 0; i < BATCHES * p.at.n; i++)
		measure(&p, &p.at.a[i % p.at.n]);
	for (size_t i = 0; i < p.at.n; i++)
		summarize(&p.at.a[i]);
	progress_end(&p.progress);
	team_end(&team);
	never_falls(&p);
	write_curve(&p, a->out);
	if (opt.network)
		remember(&p);
	for (size_t i = 0; i < p.at.n; i++)
		vec_free(&p.at.a[i].us_of);
	vec_free(&p.at);
	return EX_GOOD;
}
