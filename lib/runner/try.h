/* A try: one candidate on this machine, checked, then timed against a base. It runs in a process of its own (the service forks
 * one a try), which forks the one that the candidate runs in, and believes nothing that comes from there: results are compared
 * here, and faster is proven by the CPU time that the system charges for calls whose results are inspected (runner/proof.h).
 * doc/runner.md has the measurements behind what follows.
 *
 * Right results. y of the candidate against x of the oracle: |y - x| <= TRY_TOLERANCE * eps * (8 + sqrt(K)) * max(|x|, rms(x)),
 * with eps of the result's type and K the terms of its longest sum: rounding errors of a sum of K terms in any order grow as
 * sqrt(K) (Higham and Mary 2019), Winograd's F(4x4) adds a factor of about 10; a term left out of the sum shows as 1/sqrt(K)
 * of the rms, orders above. Integers are equal, 8-bit ones within 1 where the task has floats (ties of rounding).
 * What is quantised is within half a step of the number before it was rounded, and that error of a sum; equal, if that number is exact.
 * On adversarial inputs (adversarial.h), which magnify rounding in what comes before an exponential, the tolerance is
 * TRY_ADVERSARIAL_SLACK times that, and only those seeds count on which the base passes. What is timed once, for a search, sees
 * them after it was timed, and only if it is faster than the base by SEQ_LEAST: the rest only guides the search, and what is
 * chosen is tried again in full.
 *
 * Placing. Where a library lies in memory can favour it for as long as its process lives, however many pairs are taken. So
 * each library is loaded TRY_PLACINGS times; rounds go from one copy to the next, each at another place of the stack, and the
 * least counts, for most places are good ones. Both kernels find their arguments in the same place, since stores whose
 * addresses alias with it slow down the next call. What remains of the effect must not decide: a difference has to show in two
 * processes, and the interval told encloses both. A candidate that is slower by more than SEQ_CLEAR in the first process gets no
 * second one: losing it costs a search little.
 *
 * Slow phases of the machine (noise_probe.h) do not slow kernels alike. The noise probe is taken before and after each sample, and
 * only samples between two quiet takes count; up to ROUNDS_SLOW times as many rounds are made until each kernel has half as
 * many of them as a pair has rounds. Kernels that take longer than many such phases count as they are. Pairs without enough
 * good samples are measured again. Before that the try waits for the end of the phase, while the rest of this service is quiesced,
 * which may be the cause if cores are threads of one. The rest resumes when the phase is over; if another phase begins it is quiesced
 * until the try ends. If phases last, the try ends and is repeated later, unless a third of its pairs are good. It is also repeated,
 * twice at most, if operands do not fit in the second-level cache and the base takes BASE_SLOW times its usual time: other programs
 * are using the memory.
 *
 * Cold weights. A model's weights are many times the size of the caches next to a core, so a kernel does not find them cached from the
 * run before. Timed calls go around copies of the constants, as many bytes together as are asked for; both kernels share one set of
 * copies if possible (cold_join). Inputs, in a model the results of the kernel before, are cached for both. */
#ifndef HONE_TRY_H
#define HONE_TRY_H
#include <sys/types.h>
#include "runner/oracle.h"
#include "runner/problem.h"
#include "runner/cold_weights.h"

enum { TRY_PLACINGS = 4 };
#define TRY_TOLERANCE         64.0
#define TRY_ADVERSARIAL_SLACK 8
#define TRY_LOAD_SECONDS      1.0     /* to load a library */
#define TRY_LEAST_SECONDS     0.3     /* deadline of a call: this and */
#define TRY_TIMES             20      /* so many times what the base takes */
#define TRY_GRACE_SECONDS     0.8     /* more, where others had the core meanwhile */
#define TRY_MOST_SECONDS      900.0   /* deadline of anything, at most */
#define TRY_PLACED            1.5     /* ratios up to it are measured in two processes, see above */
#define TRY_BASE_SECONDS      20.0    /* deadline of the base's first call */
#define TRY_CPU_SECONDS       86400.0 /* of a process: all its orders have deadlines, and a death here would be taken for a crash */

struct artifact {
	const char *path;          /* of the library */
	struct runner_build build; /* its buffers; no source */
	int constants;             /* file of problem_write_constants */
	int known; /* as a base: file, a byte a seed: 0: not known yet, 1: its results are right, 2: wrong; the first: 1 if all are known */
	int usual; /* as a base: noise_probe_file of what it took */
};
/* From a try: stop all other work until it ends; resume, the phase is over; resume, it does not help. */
enum quiesce { QUIESCE_ON, QUIESCE_OVER, QUIESCE_IN_VAIN };
struct quiesce_message {
	pid_t pid;
	enum quiesce quiesce;
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
	const struct cold_weights *cold[2]; /* of the artifacts, with files, which may be one; NULL: none */
	int core, aside;                    /* to time on; to prepare and to check on, while another times; -1: any */
	const char *lock;                   /* file: whoever times holds it */
	int noise_probe;                    /* noise_probe_file */
	int quiesce;                        /* pipe to the service, struct quiesce_message; -1: nobody is there */
	bool patient;                       /* also where only the base is slower than it usually is */
	bool last;                          /* in whatever phase the machine is */
};
/* File of one more copy of the library, by which of the two and number, of the try in that process. */
const char *try_copy(const struct artifact *x, pid_t pid, int which, int number, struct arena *a);
/* NULL and *r filled in (arena), or why it could not be done, whatever the candidate. *slow: in a slow phase, and it is not
 * the last. */
const char *try_run(const struct try *t, struct measurement *r, bool *slow, struct arena *a);
#endif
