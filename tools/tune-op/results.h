/* A session as a report. */
#ifndef TUNE_OP_RESULTS_H
#define TUNE_OP_RESULTS_H
#include "report.h"
#include "tune/session.h"

/* Of a session that has run and is not closed: strings are its own, or in the arena. */
void session_report(const struct session *s, struct report *r, struct arena *a);
#endif
