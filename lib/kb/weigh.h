/* Private to lib/kb. */
#ifndef HONE_KB_WEIGH_H
#define HONE_KB_WEIGH_H
#include "kb/kb.h"

/* Sets the worth of records that say how many remeasurements their mean is of. Of all such records of one tuning, about one trace
 * against one default, the one with most remeasurements says it. */
void kb_weigh(struct kb_list *l);
/* A field's number above 0; INFINITY: it is not there, or none. */
double kb_number(const struct kb_record *r, const char *name);
/* Why the numbers of a record with a ratio contradict each other, in words; NULL: they do not. Such a record wins nothing. */
const char *kb_implausible(const struct kb_record *r);
#endif
