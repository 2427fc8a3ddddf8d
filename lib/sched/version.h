/* Choice among programs of one group for different sizes. lib/model says which sizes there may be; here it is counted how long each takes. */
#ifndef HONE_VERSION_H
#define HONE_VERSION_H
#include "loop/loop.h"

/* How long a scheduled program takes, at the values of its parameters. Only this file compares two of them. */
struct version_time {
	double cycles;
};
struct version_time version_counted(struct loop_prog *p);
/* May a program for some sizes, which are `share` of the usual ones, be better there than one whose run takes `now`? `usual`: of the program for
 * all sizes, at usual ones. If that takes as long for each element as `now` does, there is nothing to gain. */
bool version_may_pay(struct version_time usual, double share, struct version_time now);
/* Is `own`, of such a program, clearly less than `now`? */
bool version_pays(struct version_time own, struct version_time now);
#endif
