/* Rows of sizes, of which one is looked for. */
#ifndef HONE_NATIVE_GEARS_H
#define HONE_NATIVE_GEARS_H
#include <stdbool.h>
#include <stdint.h>

/* Compares rows of n sizes: below 0, 0, above 0. */
static inline int gears_compare(const int64_t *a, const int64_t *b, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

/* The row that equals size; up: all but the last size of it do, and that is the least that is not smaller. -1: there is none. Rows ascend. */
static inline int64_t gears_find(const int64_t *gears, int64_t rows, int64_t n, const int64_t *size, bool up)
{
	int64_t lo = 0, hi = rows;

	while (lo < hi) {
		int64_t mid = lo + (hi - lo) / 2;
		if (gears_compare(gears + mid * n, size, n) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < rows && !gears_compare(gears + lo * n, size, n - (up && n)) ? lo : -1;
}
#endif
