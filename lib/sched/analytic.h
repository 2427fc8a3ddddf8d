/* The analytic model of a target: what a schedule should take, before it is compiled. */
#ifndef HONE_ANALYTIC_H
#define HONE_ANALYTIC_H
#include "loop/loop.h"
/* Seconds of one run by one thread, operands warm, of a scheduled program (finished or not; it is not changed). Good for
 * ranking schedules of one kernel; absolute figures are rough. */
double loop_cost(struct loop_prog *p);
#endif
