/* One compiled model against another that computes the same, in turns, until the sequential test (runner/sequential.h) can tell which is
 * faster. Weights are cold: before each run they move to the next of several copies, so that cold_bytes are read before a copy comes
 * again, as in a model of which this is a part. Inputs, and what the library writes, stay where they are. */
#ifndef HONE_AGAINST_H
#define HONE_AGAINST_H
#include "runner/library.h"
#include "runner/measurement.h"

struct against {
	double seconds;      /* of timing, at most */
	double width;        /* what is faster is timed until its interval is narrower than this share of the ratio; 0: any */
	uint64_t cold_bytes; /* 0: weights stay where they are */
	uint64_t seed;       /* of the order within a pair */
};
enum { AGAINST_LIBRARY, AGAINST_BASE };

/* Both are open, with weights of their own, and take the same inputs. out: results of each. The verdict is one of verdict_timed. */
void library_against(struct library l[2], struct tensor *const *in, struct tensor *const *const out[2], const struct against *how,
		     struct measurement *r, struct arena *a);
#endif
