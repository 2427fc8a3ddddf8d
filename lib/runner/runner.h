/* run-dev as a service: frames of msgpack on standard input and output, each an array [id, verb, ...] behind its length
 * (u32, little-endian, at most RUNNER_FRAME_MAX); answers carry the id of what they answer and come in any order. All
 * that executes generated code sits behind it, here or at the end of any command line that leads there ("ssh box run-dev
 * --serve"). Elements behind those listed are skipped.
 *
 *   [id, "hello", version]                             -> [id, "hello", version, target, compiler, cpus, jobs, isolation, device]
 *   [id, "task", text]                                 -> [id, "task", digest]  inputs, constants and oracle are made there
 *   [id, "build", task, source, algo, workspace, nin, nconst, nout, [[type, [extent..], layout, elems, constant]..]]
 *                                                      -> [id, "build", artifact, seconds] | [id, "failed", why]
 *   [id, "try", task, artifact, base, budget, seed, cold, goal, width, once]
 *                                                      -> [id, "try", verdict, why, [ps, base ps, ..], ratio, lo, hi, seconds]
 *   any of them                                        -> [id, "error", why]: it could not be done, whatever the candidate
 *   while there is work, each second                   -> [0, "alive"]
 *
 * hello comes first. device: "timed", or "emulated": it checks and never times, and what gives the right numbers is "right", without
 * samples and ratios. Digests are 16 bytes, seconds and ratios 64-bit floats. try checks twice against the oracle on fresh
 * inputs, then times candidate and base interleaved (runner/sequential.h says how it decides), in calls that go through
 * cold bytes of constants before they come to the same again, as a model's run goes through its weights (0: the same
 * at each call). It ends as soon as the ratio is known to be above goal (0: none), the ratio of the best so far. A faster candidate is
 * timed until its interval is narrower than width, a share of the ratio (0: any width). If the kernels differ, two processes time
 * them and the interval encloses both, because the places of buffers and code shift small kernels between processes. once (1): one
 * process, an interval that errs in one of ten tries instead of one of a hundred, and adversarial inputs (runner/adversarial.h) only
 * for what is faster; for choosing what is timed again. Older clients leave these four out. Only the candidate is judged: a base is
 * tried against itself first. The artifacts used last are kept, RUNNER_ARTIFACTS_MAX of them; a try of another is an error. This
 * header is the client's side; serve.h is the other end. */
#ifndef HONE_RUNNER_H
#define HONE_RUNNER_H
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/arena.h"
#include "common/digest.h"
#include "runner/measurement.h"
#include "target/target.h"
#include "graph/module.h"

enum { RUNNER_VERSION = 2 }; /* another one is refused (69) */
enum { RUNNER_FRAME_MAX = 16 << 20, RUNNER_BUFS_MAX = 256, RUNNER_ARTIFACTS_MAX = 1000, RUNNER_COLD_MAX = 128 << 20 };
enum { RUNNER_SILENCE = 10 }; /* seconds without a word while it has work: the runner hangs */

/* Storage of one buffer of a kernel: what the runner must make ready. */
struct runner_buf {
	const char *type; /* "f32" */
	int rank;
	const int64_t *shape;
	const char *layout; /* "": row-major */
	int64_t elems;
	uint32_t constant; /* constants: its number in struct candidate (that is: in lower_group by that algorithm) */
};
uint64_t runner_buf_bytes(const struct runner_buf *b);
struct runner_build {
	const char *source;
	size_t nsource;
	const char *algo; /* algorithm of the trace (trace_algo): constants are those that lowering makes for it; NULL: the usual */
	int64_t workspace;
	int nin, nconst, nout;
	const struct runner_buf *buf; /* in, constants, out */
};

struct runner;
struct target;
/* Starts the command ("run-dev --serve", "ssh box run-dev --serve"; NULL: the run-dev beside this program) and says
 * hello. NULL and *why: it does not start, does not answer within timeout seconds, or is another version (why names
 * the command). "fake": a runner without a device, times from a hash of task and source. The command gets a process group
 * of its own: an interrupt from the keyboard does not reach it. Until its answer it has the terminal, and may ask there. */
struct runner *runner_open(const char *command, double timeout, struct arena *a, const char **why);
/* The same; NULL also when *stop, which a signal's handler may set, is not 0 before it has answered. */
struct runner *runner_open_unless(const volatile sig_atomic_t *stop, const char *command, double timeout, struct arena *a,
				  const char **why);
void runner_close(struct runner *r);
const char *runner_name(const struct runner *r);             /* the command */
const char *runner_target(const struct runner *r);           /* target row as text, see target_row */
const struct target *runner_machine(const struct runner *r); /* the same: what code for it is made for; the fake's is this machine */
const char *runner_compiler(const struct runner *r);
int runner_jobs(const struct runner *r);      /* builds it does side by side */
bool runner_emulated(const struct runner *r); /* it checks and never times */
bool runner_alive(const struct runner *r);

/* Requests; each gives an id. They do not block. */
uint64_t runner_task(struct runner *r, const char *text);
uint64_t runner_build(struct runner *r, struct digest task, const struct runner_build *b);
struct runner_try {
	struct digest task, artifact, base;
	double budget; /* seconds of timing */
	uint64_t seed;
	uint64_t cold_bytes; /* bytes, see runner_cold_bytes; 0: none */
	double goal, width;  /* shares; 0: none, any */
	bool once;           /* in one process, whatever it says */
};
uint64_t runner_try(struct runner *r, const struct runner_try *t);
/* Bytes of cold weights for a model with so many bytes of constants: a power of two of megabytes, so that models of similar size are measured
 * alike; 0 if they fit in the second-level cache. */
uint64_t runner_cold_bytes(const struct module *m, const struct target *t);
/* The next answer of any of the n runners, or the end of one: its index, -1 at the timeout. A runner that died is told
 * at once, one that says nothing while it has work after RUNNER_SILENCE seconds; its open requests get no answer. */
struct runner_answer {
	uint64_t id;
	bool ended;                /* the runner died or hung: why says so and names it; nothing more will come from it */
	bool error;                /* the request could not be done: why */
	const char *why;           /* also of a build that failed: what the compiler said; NULL: nothing to say */
	struct digest digest;      /* of task and build */
	struct measurement result; /* of try; of build: verdict VERDICT_BUILD where it failed, else VERDICT_COUNT */
};
int runner_wait(struct runner *const *r, int n, double timeout, struct arena *a, struct runner_answer *out);
#endif
