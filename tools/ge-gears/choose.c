/* Gears of a histogram. */
#include "choose.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"

size_t rows_choose(size_t n, const double *count, const double *time, size_t k, bool (*may)(const void *, size_t, size_t), const void *arg,
		   size_t *chosen, double *cost)
{
	/* best[g * (n + 1) + i]: rows before i are run by g gears, the last of which is row i - 1. */
	double *best = xmalloc((k + 1) * (n + 1) * sizeof *best);
	size_t *from = xcalloc((k + 1) * (n + 1), sizeof *from), last = 0, gears = 0;

	for (size_t i = 0; i < (k + 1) * (n + 1); i++)
		best[i] = INFINITY;
	best[0] = 0;
	for (size_t i = 1; i <= n; i++) {
		double runs = 0;
		for (size_t j = i; j-- > 0;) { /* rows j .. i - 1 are run by row i - 1 */
			if (count[j] > 0 && j + 1 < i && !may(arg, j, i - 1))
				break;
			runs += count[j];
			for (size_t g = 1; g <= k; g++) {
				double c = best[(g - 1) * (n + 1) + j] + runs * time[i - 1];
				if (c >= best[g * (n + 1) + i])
					continue;
				best[g * (n + 1) + i] = c;
				from[g * (n + 1) + i] = j;
			}
		}
	}
	*cost = INFINITY;
	for (size_t i = n + 1; i-- > 1;) { /* no row behind the last gear comes; the fewest gears */
		for (size_t g = 1; g <= k; g++) {
			double c = best[g * (n + 1) + i];
			if (c < *cost || (c == *cost && gears && (i < last ? g <= gears : g < gears))) {
				*cost = c;
				last = i;
				gears = g;
			}
		}
		if (count[i - 1] > 0)
			break;
	}
	for (size_t g = gears, i = last; g > 0; i = from[g-- * (n + 1) + i])
		chosen[g - 1] = i - 1;
	free(best);
	free(from);
	return gears;
}

/* Row j takes the place of row i where only the last size is smaller, and that can be padded. */
static bool pads(const void *arg, size_t i, size_t j)
{
	const struct gears *g = arg;
	size_t n = (size_t)g->n;

	return g->pad && !memcmp(g->size.a + i * n, g->size.a + j * n, (n - 1) * sizeof *g->size.a);
}

/* Sizes of g, ascending, and those that times has besides. */
static void add_timed(struct gears *g, const struct table *times)
{
	for (size_t k = 0; k < times->number.n && times->n == g->n; k++) {
		int64_t row[SYMBOLS_MAX];
		int found = 0;
		for (int i = 0; i < times->n; i++)
			for (int j = 0; j < g->n; j++)
				if (g->name[j] == times->name[i]) {
					row[j] = times->size.a[k * (size_t)times->n + (size_t)i];
					found++;
				}
		for (int j = 0; j < g->n && found == g->n; j++)
			vec_push(&g->size, row[j]);
	}
	gears_sort(g);
}

static void report(const struct gears *g, const double *count, const double *time, const size_t *chosen, size_t n, double cost,
		   struct arena *a)
{
	double all = 0, least = 0;
	size_t rows = gears_count(g), first = 0;

	for (size_t i = 0; i < rows; i++) {
		all += count[i];
		least += count[i] * time[i];
	}
	note("%zu gears, expected time of a run %.6g s; with a gear for every size %.6g s", n, cost / all, least / all);
	for (size_t k = 0; k < n; k++) {
		double runs = 0;
		for (; first <= chosen[k]; first++)
			runs += count[first];
		note("  %s: %.1f%% of the runs, %.6g s", gear_text(g, chosen[k], a), 100 * runs / all, time[chosen[k]]);
	}
}

void gears_choose(struct gears *g, const struct table *histogram, const struct table *times, size_t k, struct arena *a)
{
	add_timed(g, times);
	size_t rows = gears_count(g), n = (size_t)g->n, *chosen = ARENA_ARRAY(a, size_t, k + 1), came = 0;
	double *count = ARENA_ARRAY(a, double, rows + 1), *time = ARENA_ARRAY(a, double, rows + 1), cost;

	for (size_t i = 0; i < rows; i++) {
		double c = table_find(histogram, g, g->size.a + i * n);
		count[i] = isnan(c) ? 0 : c;
		time[i] = table_find(times, g, g->size.a + i * n);
		came += count[i] > 0;
		if (isnan(time[i]))
			die(EX_BADDATA, "%s: there is no time for %s, which %s has", times->file, gear_text(g, i, a), histogram->file);
	}
	if (!came)
		die(EX_BADDATA, "%s: no size ever comes", histogram->file);
	size_t found = rows_choose(rows, count, time, k < rows ? k : rows, pads, g, chosen, &cost);
	if (!found)
		die(EX_BADDATA, "%s: %zu sizes, %s, and %zu gears are too few", histogram->file, came,
		    g->pad ? "of which only some can be padded" : "which cannot be padded", k);
	report(g, count, time, chosen, found, cost, a);
	g->count = ARENA_ARRAY(a, int64_t, found + 1);
	for (size_t i = 0, first = 0; i < found; i++) {
		double runs = 0;
		for (; first <= chosen[i]; first++)
			runs += count[first];
		g->count[i] = (int64_t)(runs + 0.5);
		memmove(g->size.a + i * n, g->size.a + chosen[i] * n, n * sizeof *g->size.a);
	}
	g->size.n = found * n;
}
