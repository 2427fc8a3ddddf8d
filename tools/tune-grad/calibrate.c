/* tune-grad calibrate: the time of a real all-reduce against its bytes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "comm/calibrate.h"
#include "common/outfile.h"
#include "common/progress.h"
#include "team.h"
#include "tune-grad.h"

struct calibration {
	struct team team;
	struct progress progress;
	double slowest; /* s a byte, the slowest pace yet; 0: none */
};

/* The times are means over the ranks, which end one after the other. */
static void time_ranks(void *arg, double bytes, int count, double *us)
{
	static const double enough = 1 << 20, most = 1e-6; /* bytes from which on the time says something of the pace; s a byte */
	struct calibration *c = arg;
	struct team *t = &c->team;
	t->work = 2 + bytes * count * (c->slowest > 0 ? fmin(most, 4 * c->slowest) : most);
	team_say(t, "time %.0f %d\n", bytes, count);
	team_hear(t, "us", true);
	for (int i = 0; i < count; i++)
		us[i] = 0;
	for (int r = 0; r < t->n; r++) {
		char *s = t->m[r].line;
		for (int i = 0; i < count; i++)
			us[i] += strtod(s, &s) / t->n;
	}
	for (int i = 0; i < count && bytes >= enough; i++)
		c->slowest = fmax(c->slowest, us[i] * 1e-6 / bytes);
}

static void size_done(void *arg) { progress_step(&((struct calibration *)arg)->progress, NULL); }

static void write_curve(const struct curve_fit *m, int ranks, const char *path)
{
	struct outfile o;
	outfile_open(&o, path, false);
	fprintf(o.f, "# all-reduce, %s, %d ranks: bytes, median us\n", opt.mpi ? "MPI" : "TCP ring", ranks);
	for (size_t i = 0; i < m->at.n; i++) {
		const struct curve_sample *p = &m->at.a[i];
		fprintf(o.f, "# %.0f bytes: least %.2f us, quartiles +-%.2f, %zu times\n", p->bytes, p->least, p->spread, p->times.n);
		fprintf(o.f, "%.0f\t%.2f\n", p->bytes, p->us);
	}
	outfile_close(&o);
}

/* As it is in the file: rounded. */
static void remember(const struct curve_fit *m)
{
	struct curve c = {0};
	for (size_t i = 0; i < m->at.n; i++)
		vec_push(&c.at, (struct curve_point){m->at.a[i].bytes, round(100 * m->at.a[i].us) / 100});
	remember_curve(&c);
	curve_free(&c);
}

int grad_calibrate(struct tool_args *a)
{
	struct calibration c = {0};
	struct curve_fit m = {.time = time_ranks, .progress = size_done, .arg = &c};
	double most = opt.max_bytes ? opt.max_bytes : 64 << 20;
	if (a->nfile)
		die(EX_BADUSE, "calibrate takes no file");
	team_start(&c.team);
	int ranks = c.team.ranks;
	progress_start(&c.progress, "all-reduce", (size_t)(2 * calibrate_sizes(most)));
	calibrate_curve(&m, most);
	progress_end(&c.progress);
	team_end(&c.team);
	write_curve(&m, ranks, a->out);
	if (opt.network)
		remember(&m);
	calibrate_free(&m);
	return EX_GOOD;
}
