/* A tuning while it runs, in a line. */
#include <math.h>
#include <string.h>
#include "common/progress.h"
#include "tune/session.h"

double session_gain(const struct session *s, double *before)
{
	double all = 0, saved = 0;

	for (int i = 0; i < s->ntask; i++) {
		const struct tuned *t = &s->task[i];
		all += t->weight * t->seconds;
		double ratio = t->ratio > 0 ? t->ratio : t->champion ? mean_ratio(t, t->champion) : 1;
		saved += t->weight * t->seconds * (1 - ratio);
	}
	if (before)
		*before = all;
	return all > 0 ? saved / all : 0;
}

void session_show(const struct session *s, struct progress *p, double deadline)
{
	enum { BAR = 8 };
	bool endless = s->opt->trials == SIZE_MAX;
	size_t trials = 0, done = 0, total = 0;
	double best = 1, spent = now_seconds() - p->start, left = deadline - p->start - spent;
	char text[128], bar[] = "--------", end[32] = "";

	for (int i = 0; i < s->ntask; i++) {
		const struct tuned *t = &s->task[i];
		trials += t->curve.n;
		total += t->phase == PHASE_NEW || t->phase == PHASE_SEARCH ? s->opt->trials : t->trials.n ? t->proposed : 0;
		done += endless && t->phase != PHASE_DONE ? t->curve.n > 0 : t->phase == PHASE_DONE && !t->in_flight;
		if (t->curve.n)
			best = fmin(best, t->curve.a[t->curve.n - 1]);
	}
	if (!endless && trials)
		left = fmin(left, spent / (double)trials * (double)(total - trials));
	if (isfinite(left)) {
		left = fmax(left, 0);
		memset(bar, '#', (size_t)fmin(BAR, BAR * spent / (spent + left)));
		snprintf(end, sizeof end, ", %.0f s left", left);
	}
	double gain = 100 * session_gain(s, NULL);
	snprintf(text, sizeof text, "[%s] %zu/%d tasks, %zu trials, best %.2f, model %.1f%%%s", bar, done, s->ntask, trials, best,
		 gain >= 0.05 ? -gain : 0, end);
	progress_line(p, text);
}
