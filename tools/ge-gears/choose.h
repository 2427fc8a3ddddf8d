/* Which gears to have, of how often sizes come and how long they take. */
#ifndef HONE_CHOOSE_H
#define HONE_CHOOSE_H
#include "common/intern.h"
#include "common/vec.h"
#include "gears.h"

/* A file of lines "h=320,w=480 NUMBER"; what follows # is no part of a line. */
struct table {
	const char *file;
	int n;
	sym name[SYMBOLS_MAX];
	VEC(int64_t) size; /* n of each line, in the order of the names in the first */
	VEC(double) number;
};
/* Lines that are none, a size twice, other symbols than in the first line: die(65) with the line. */
void table_read(struct table *t, const char *file);
/* The number for a row of sizes of g; NAN: there is none. */
double table_find(const struct table *t, const struct gears *g, const int64_t *size);

/* Of rows in ascending order, at most k whose use takes the least time: row i, which comes count[i] times, is run by the next one chosen that
 * may take it, in time[of that]. may(arg, i, j): row j may run row i < j. Fills chosen with indices, ascending; *cost: the sum. How many; 0: no
 * choice runs all rows that come. Exact, by dynamic programming. */
size_t rows_choose(size_t n, const double *count, const double *time, size_t k, bool (*may)(const void *arg, size_t i, size_t j),
		   const void *arg, size_t *chosen, double *cost);

/* Leaves of the sizes of g, which are those of the histogram, the best k, and says which and why; sizes of `times` alone are tried, too. A
 * size without a time, or more sizes than gears where none can be padded: die(65). */
void gears_choose(struct gears *g, const struct table *histogram, const struct table *times, size_t k, struct arena *a);
#endif
