/* Freedom in schedules. A sampling line is the only place where a trace could have been another one:
 *
 *   rows = sample.choice 1 2 4 7 14 := 14
 *   a b = sample.split conv.m parts=2 max=30 := 4 14
 *
 * Two ways to another schedule: the templates run again with some samples decided (schedule_with of lib/sched: what else the
 * template writes follows from that), or a recorded trace with one decision changed is replayed (trace_decide). */
#ifndef HONE_SAMPLING_H
#define HONE_SAMPLING_H
#include "loop/loop.h"

enum { SAMPLE_CHOICES_MAX = 64 };
struct sample {
	const char *name; /* first result: "rows" */
	int n;            /* choices; sample.split: the choices of its innermost part */
	const int64_t *choice;
	const char *const *word; /* choices that are words (interned): choice[i] is i then; else NULL */
	int64_t decision;        /* one of them */
	int64_t usual;           /* what the analytic model would choose (recorded traces: the decision) */
	bool bound;              /* recorded traces: a later line uses it, so trace_decide changes what is done */
};
struct samples {
	struct sample *a;
	size_t n, cap;
};

/* What they point to is in that arena from now on: they outlive their program. */
void samples_keep(struct samples *x, struct arena *a);
/* The sampling lines of a trace, of any length; their choices lie in the arena. Malformed ones are left out. A template writes some samples only to say
 * which of its ways it went (order, inlining): they are not bound, but schedule_with takes them as decisions wanted. */
void trace_samples(const char *trace, struct arena *a, struct samples *got);
/* The trace with another decision for that sample; NULL: it has no such sample, or the choice is none of its. */
const char *trace_decide(const char *trace, const char *name, int64_t decision, struct arena *a);
#endif
