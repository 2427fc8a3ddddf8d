/* Training by XGBoost's C library, which is loaded where it is needed. */
#ifndef HONE_TUNE_XGBOOST_H
#define HONE_TUNE_XGBOOST_H
#include <stdio.h>
#include "tune-model.h"

struct training {
	int trees, depth;
	uint64_t seed;
};
/* Fits trees to y[i], in units (cost/trees.h), of example i where use[i], weighed by w[i], and writes them to f as one member is in the text of
 * models. No library: die(69). */
void xgboost_train(const struct training *t, const struct examples *e, const bool *use, const float *y, const float *w, FILE *f);
#endif
