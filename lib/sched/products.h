/* How long the parts of a convolution take, counted: for the lowering, which chooses between sums and transforms before there are loops. */
#ifndef HONE_PRODUCTS_H
#define HONE_PRODUCTS_H
#include "target/target.h"

/* A convolution by other sums than the direct one must take less than that share of its time: it takes more memory. */
#define OTHER_SUMS_MARGIN 0.85
/* Cycles of so many multiply-adds of f32, for sums of so many steps each. */
double products_cycles(const struct target *m, double multiply_adds, double steps);
/* Cycles to read so many bytes of constants once a run. m NULL: nothing is known of caches. */
double constants_cycles(const struct target *m, double bytes);
/* Cycles to transform a vector of square tiles, n elements a side. */
double transform_cycles(const struct target *m, double n);
#endif
