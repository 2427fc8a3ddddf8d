/* Measurements as fields of records. */
#ifndef HONE_MEASURED_H
#define HONE_MEASURED_H
#include "kb/kb.h"
#include "runner/measurement.h"

/* Fields verdict and why; of what was timed also samples, ratio, lo and hi. */
void measurement_put(struct kb_record *r, const struct measurement *m, struct arena *a);
/* The pairs of a field samples, "candidate/base" in picoseconds with a blank between two, as far as they can be read; NULL: none. */
void measurement_samples(const char *text, struct measurement *m, struct arena *a);
#endif
