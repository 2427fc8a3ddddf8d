/* What was measured of a candidate. */
#include <stdlib.h>
#include <string.h>
#include "common/arena.h"
#include "runner/measurement.h"

static const char *const names[VERDICT_COUNT] = {
	[VERDICT_FASTER] = "faster",     [VERDICT_SLOWER] = "slower", [VERDICT_TIE] = "tie",
	[VERDICT_WRONG] = "wrong",       [VERDICT_CRASH] = "crash",   [VERDICT_TIMEOUT] = "timeout",
	[VERDICT_BUILD] = "build error", [VERDICT_UNSURE] = "unsure", [VERDICT_RIGHT] = "right",
};

const char *verdict_name(enum verdict v) { return v < VERDICT_COUNT ? names[v] : "?"; }

enum verdict verdict_parse(const char *name, size_t n)
{
	int v = 0;

	while (v < VERDICT_COUNT && (strlen(names[v]) != n || memcmp(names[v], name, n)))
		v++;
	return (enum verdict)v;
}

static int by_ps(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

double measurement_base_seconds(const struct measurement *m)
{
	uint64_t *v = xcalloc(m->npairs + 1, sizeof *v);

	for (size_t i = 0; i < m->npairs; i++)
		v[i] = m->pair[i].base;
	qsort(v, m->npairs, sizeof *v, by_ps);
	double median = 1e-12 * (double)v[m->npairs / 2];
	free(v);
	return m->npairs ? median : 0;
}
