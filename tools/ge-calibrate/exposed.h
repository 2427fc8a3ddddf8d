/* A model all of whose counted values are outputs, and the library that was compiled of it. */
#ifndef HONE_GE_CALIBRATE_EXPOSED_H
#define HONE_GE_CALIBRATE_EXPOSED_H
#include "quant/statistics.h"

struct exposed;
/* Makes outputs of all values of m that have statistics, and one that names its digest. */
void exposed_make(struct module *m, struct digest model);
/* The library of that; row: of m, by value. s takes what it is. Of another model: die(65). */
struct exposed *exposed_open(const char *path, struct module *m, struct value_stat **row, struct statistics *s);
/* Counts what a sample, one tensor for each input, makes of the values. */
void exposed_run(struct exposed *e, struct tensor **in, struct arena *a);
void exposed_close(struct exposed *e); /* NULL is nothing */
#endif
