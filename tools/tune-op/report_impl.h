/* What the forms of a report share. */
#ifndef TUNE_OP_REPORT_IMPL_H
#define TUNE_OP_REPORT_IMPL_H
#include "report.h"

double report_ratio(const struct report_task *t); /* 1 where the default stays */
double report_other(const struct report *r);      /* time that no cost names */
const char *report_interval(struct arena *a, const struct report_task *t);
#endif
