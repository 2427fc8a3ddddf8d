/* The analytic cost model: estimates the time of a schedule without compiling it. */
#ifndef HONE_ANALYTIC_H
#define HONE_ANALYTIC_H
#include "loop/loop.h"
/* Share of what is not the bottleneck that adds to the time. */
#define MEMORY_OVERLAP 0.15
/* Seconds of one run of a scheduled program by one thread, operands in the caches where they fit. The program may be legalized or not,
 * and is not changed. Good for ranking schedules of one kernel; absolute figures are rough. */
double loop_cost(struct loop_prog *p);
/* The cycles of the same run of a program with parameters, for their values, all operands at hand: nothing of memory. Legalized. */
double loop_cycles(struct loop_prog *p);
#endif
