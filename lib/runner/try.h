/* One candidate on this machine: checked, then timed against a base. Runs in a process of its own (the service forks
 * one a try), which forks the one that the candidate runs in and believes nothing that comes from there: results are
 * compared here, and faster is proven by the CPU time that the system charges for calls whose results are looked at (runner/proof.h).
 *
 * Results y of the candidate against x of the oracle: |y - x| <= TRY_TOLERANCE * eps * (8 + sqrt(K)) * max(|x|,
 * rms(x)), with eps of the result's type and K the terms of its longest sum: rounding errors of a sum of K terms in
 * any order grow as sqrt(K) (Higham and Mary 2019), Winograd's F(4x4) adds a factor of about 10; a term left out of
 * the sum shows as 1/sqrt(K) of the rms, orders above. On seeds with spikes (spikes.h), which magnify rounding in what
 * comes before an exponential, it is TRY_SPIKE_SLACK times that, and only those count on which the base passes. There are
 * up to 17 of these seeds, or more (most of the calls of a check: 8 ms of a Gemm of 0.2 ms); what is timed once, for a search,
 * sees them when it was timed, if it is faster than the base by SEQ_LEAST: what is not only guides the search (and may be
 * wrong there, which nobody sees), and what is chosen is tried again in full.
 * Integers are equal, 8-bit ones within 1 where the task has floats (ties of rounding).
 *
 * Where a library lies in memory can favour it for as long as the process lives: equal kernels in two libraries
 * differed by 2% in one process of twenty and by 30% in one of a hundred (Zen 5), however many pairs. So each library
 * is loaded TRY_PLACINGS times, rounds go from one to the next, each at another place of the stack, which all
 * processes of a service have where it was when that began (a Winograd kernel of 200 ns took 330 in one service of
 * three), and the least counts: most places are good ones (a depthwise convolution of 6.0 us: 6.1 to 7.3 in four of
 * ten, so that the median over places varied by 3% from process to process, the least by 1%). Where few are, equal
 * kernels may differ by more (a Relu of 4000 elements: 71 ns in one of ten, 95 in the others). Both kernels find their
 * arguments in the same place, for stores whose addresses alias with it slow down the next call (4% of one of 30 ns).
 * For what is left a difference must show in two processes; the interval told is the one that holds both. Not what is
 * slower by more than SEQ_CLEAR in one: placing makes up for that once in a hundred times, and it costs a search
 * little to lose such a candidate.
 *
 * In a slow phase of the machine (yardstick.h) kernels are not slowed alike. So the yardstick is taken before and behind
 * each sample, and only samples between two quiet takes count; up to ROUNDS_SLOW times as many rounds are made until
 * each kernel has half as many of them as a pair has rounds (phases of 0.1 to 10 ms half of the time, Zen 3: spread of
 * looks at a kernel 0.5 to 1.4% instead of 1.2 to 3%, with half the pairs). Kernels of half a ms are longer than many phases:
 * their samples count as they are. Pairs without enough are measured again, and before more are taken the end of the
 * phase is waited for, while what else this service runs stands still: where cores are threads of one, it may be the
 * reason. It goes on with the phase over, and stands still until the try ends if then another begins. Phases that last make
 * the try end; it is better made later, but from its beginning, so not while a third of the pairs are good. So it is made
 * later, but for two times at most, where operands do not fit in the core's own caches and the base takes BASE_SLOW times what
 * it usually does: others are at the memory.
 *
 * A model's weights are many times what the caches next to a core hold, so a kernel does not find there what it read
 * in the run before. Calls that are timed go around copies of the constants, of the bytes of the rotation together, which are one
 * for both kernels where that can be (rotation_join).
 * With 32 MB the sum of the tasks of mobilenet_v2 is 0.97 of what the model takes (Zen 5), without 0.80; of a small
 * BERT 1.00 and 0.86. What a kernel computes from, the results of the one before, it finds in the caches in both. */
#ifndef HONE_TRY_H
#define HONE_TRY_H
#include <sys/types.h>
#include "runner/oracle.h"
#include "runner/problem.h"
#include "runner/cold_weights.h"

enum { TRY_PLACINGS = 4 };
#define TRY_TOLERANCE     64.0
#define TRY_SPIKE_SLACK   8
#define TRY_LOAD_SECONDS  1.0     /* to load a library */
#define TRY_LEAST_SECONDS 0.3     /* deadline of a call: this and */
#define TRY_TIMES         20      /* so many times what the base takes */
#define TRY_GRACE_SECONDS 0.8     /* more, where others had the core meanwhile */
#define TRY_MOST_SECONDS  900.0   /* deadline of anything, at most */
#define TRY_PLACED        1.5     /* ratios up to it are measured in two processes, see above */
#define TRY_BASE_SECONDS  20.0    /* deadline of the base's first call */
#define TRY_CPU_SECONDS   86400.0 /* of a process: all its orders have deadlines, and a death here would be taken for a crash */

struct artifact {
	const char *path;          /* of the library */
	struct runner_build build; /* its buffers; no source */
	int constants;             /* file of problem_write_constants */
	int known; /* as a base: file, a byte a seed: 0: not known yet, 1: its results are right, 2: wrong; the first: 1 if all are known */
	int usual; /* as a base: yardstick_file of what it took */
};
/* From a try: all else is to stand still until it ends; no longer, the phase is over; no longer, for that does not help. */
enum hush { HUSH_ON, HUSH_OVER, HUSH_IN_VAIN };
struct hush_words {
	pid_t pid;
	enum hush hush;
};
struct
try {
	const struct oracle *oracle;
	const struct oracle_task *task;
	int problem;                        /* file of problem_write */
	const struct artifact *artifact[2]; /* candidate, base; may be the same */
	double budget;                      /* seconds of timing */
	double goal, width;                 /* see sequential.h; 0: none */
	bool once;                          /* in one process, also where they differ */
	uint64_t seed;
	const struct rotation *rotation[2]; /* of the artifacts, with files, which may be one; NULL: none */
	int core, aside;                    /* to time on; to prepare and to check on, while another times; -1: any */
	const char *lock;                   /* file: whoever times holds it */
	int yardstick;                      /* yardstick_file */
	int hush;                           /* pipe to the service, struct hush_words; -1: nobody is there */
	bool patient;                       /* also where only the base is slower than it usually is */
	bool last;                          /* in whatever phase the machine is */
};
/* File of one more copy of the library, by which of the two and number, of the try in that process. */
const char *try_copy(const struct artifact *x, pid_t pid, int which, int number, struct arena *a);
/* NULL and *r filled in (arena), or why it could not be done, whatever the candidate. *slow: in a slow phase, and it is not
 * the last. */
const char *try_run(const struct try *t, struct measurement *r, bool *slow, struct arena *a);
#endif
