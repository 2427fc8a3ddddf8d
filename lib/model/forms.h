/* Kernels by form: those that differ by numbers, or by the names of sizes, become one function with parameters. */
#ifndef HONE_FORMS_H
#define HONE_FORMS_H
#include "model/functions.h"

/* Makes the functions of M's kernels, in the order of the first kernel of each: f->a, f->outlines, f->of_kernel and f->numbers. */
void forms_make(struct functions *f, struct model *M);
#endif
