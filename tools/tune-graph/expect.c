/* How long things take on this machine, beside what the cost model says: learned from the segments that were timed on it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/vec.h"
#include "tune-graph.h"

static int compare(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

/* 0: there are none. */
static double median(double *a, size_t n)
{
	if (!n)
		return 0;
	qsort(a, n, sizeof *a, compare);
	return n % 2 ? a[n / 2] : sqrt(a[n / 2 - 1] * a[n / 2]);
}

void paces_add(struct paces *p, const char *task, double predicted, double seconds)
{
	struct pace *of = NULL;

	if (!(predicted > 0) || isinf(predicted) || !(seconds > 0))
		return;
	for (size_t i = 0; i < p->n && !of; i++)
		of = !strcmp(p->a[i].task, task) ? &p->a[i] : NULL;
	if (!of) {
		vec_push(p, (struct pace){.task = task});
		of = &p->a[p->n - 1];
	}
	vec_push(&of->times, seconds / predicted);
}

double pace_of(const struct paces *p, const char *task, size_t *segments)
{
	double *all = xcalloc(p->n + 1, sizeof *all);

	*segments = 0;
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->a[i].task, task)) /* its own times would flatter it */
			all[(*segments)++] = median(p->a[i].times.a, p->a[i].times.n);
	double times = median(all, *segments);
	free(all);
	return times > 0 ? times : 1;
}

void expect(const struct tuning *t, const struct segment *s, struct choice *c)
{
	bool knows_usual = s->usual_seconds > 0 && s->usual.predicted > 0 && isfinite(s->usual.predicted);

	c->like_usual = knows_usual;
	c->expected = c->predicted * (knows_usual ? s->usual_seconds / s->usual.predicted : pace_of(&t->paces, s->text, &c->like));
}
