/* What was measured of one candidate against a base: from the runner, through the search and its confirmation, to the record
 * in the knowledge base (lib/tune/records.c) and back. */
#ifndef HONE_MEASUREMENT_H
#define HONE_MEASUREMENT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RUNNER_PAIRS_MAX = 4096 };

enum verdict {
	VERDICT_FASTER,
	VERDICT_SLOWER,
	VERDICT_TIE,
	VERDICT_WRONG,
	VERDICT_CRASH,
	VERDICT_TIMEOUT,
	VERDICT_BUILD,
	VERDICT_UNSURE, /* runs well; the budget ended, or the goal was missed, before anything else could be said */
	VERDICT_RIGHT,  /* gives the right numbers, on a device that is emulated: it is not timed */
	VERDICT_COUNT
};
const char *verdict_name(enum verdict v); /* "faster" ... "build error" */
/* The verdict of that name, of n bytes; VERDICT_COUNT: there is none. */
enum verdict verdict_parse(const char *name, size_t n);
/* Did the kernel give the right numbers, as far as it was checked (runner/try.h), and was it timed? */
static inline bool verdict_timed(enum verdict v)
{
	return v == VERDICT_FASTER || v == VERDICT_SLOWER || v == VERDICT_TIE || v == VERDICT_UNSURE;
}

struct sample_pair {
	uint64_t candidate, base; /* picoseconds a call */
};
struct measurement {
	enum verdict verdict;
	const char *why; /* lost, wrong, crash, timeout, build error: in words; NULL: nothing to say */
	bool lost;       /* it could not be done, through no fault of the candidate's */
	size_t npairs;
	struct sample_pair *pair;
	double ratio, lo, hi; /* candidate / base, median of pairs, and its interval */
	double seconds;       /* it took on the device */
};
/* Median time of the base in its pairs; 0: there are none. */
double measurement_base_seconds(const struct measurement *m);
#endif
