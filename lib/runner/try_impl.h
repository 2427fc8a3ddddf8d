/* Between the two processes of a try. Private to lib/runner. */
#ifndef HONE_TRY_IMPL_H
#define HONE_TRY_IMPL_H
#include <string.h>
#include <sys/types.h>
#include "common/rng.h"
#include "runner/sandbox.h"
#include "runner/proof.h"
#include "runner/region.h"
#include "runner/try.h"

enum { SEED_TIMED, SEED_OTHER /* of what it is exchanged for */ };
enum { CANDIDATE, BASE, BLOCK_PAIRS = 32, ROUNDS_SLOW = 4, LAST_CALLS = 3, POINTS_MAX = 16 };

/* What a kernel is called with: regions by number. */
struct arguments {
	int in[RUNNER_BUFS_MAX], constant[RUNNER_BUFS_MAX], out[RUNNER_BUFS_MAX];
	int workspace;
	int cold; /* -1: the constants are timed alone */
	const struct cold_weights *sets;
};

/* Do both kernels have the same inputs? */
static inline bool arguments_alike(const struct arguments *const x[2], int nin)
{
	return !memcmp(x[0]->in, x[1]->in, (size_t)nin * sizeof *x[0]->in);
}

enum order_kind { ORDER_START, ORDER_LOAD, ORDER_SEAL, ORDER_RUN, ORDER_TIME, ORDER_PROVE };
struct order {
	enum order_kind kind;
	uint32_t number;
	int which;               /* LOAD, RUN, PROVE: CANDIDATE or BASE */
	enum place place;        /* RUN, TIME */
	uint32_t times;          /* RUN; PROVE: slots */
	uint32_t placing;        /* PROVE: which of its libraries */
	bool timed;              /* RUN: its results are not looked at */
	bool written[2];         /* RUN, TIME, in PLACE_TIMED: its parent has since the last of these, to results or workspace; to inputs */
	uint32_t pairs, reps[2]; /* TIME */
	uint32_t warm[2];        /* TIME: calls before each sample that are not timed */
	uint32_t rounds;         /* TIME: samples of each in a pair, up to ROUNDS_SLOW times as many in slow phases; the least counts */
	double quiet;            /* TIME: seconds that the noise probe takes at most in a quiet phase */
	uint64_t first;          /* RUN, TIME: seed of the orders within rounds, and of how inputs change */
};
/* A page that both see; the process under test may write anything there. */
struct shared {
	struct isolate_fault fault;
	char why[200];               /* ORDER_LOAD: what the loader said */
	uint64_t ns[BLOCK_PAIRS][2]; /* ORDER_TIME: of reps calls, the least of the rounds */
	uint32_t quiet[BLOCK_PAIRS]; /* ORDER_TIME: of samples in quiet phases alone? */
	uint64_t run_ns;             /* ORDER_RUN */
	struct changes changes[2];   /* told to it: of the inputs of each kernel, when it is timed */
	uint64_t calls[2];           /* ORDER_TIME: with inputs that changed */
};
struct subject { /* the process under test */
	pid_t pid;
	int channel;
	bool ended;
	struct shared *shared;
	struct regions *regions;
	const struct arguments *arguments[2];
	const struct artifact *const *artifact;
	const struct proof *proof;
	const char *copy[2][TRY_PLACINGS]; /* files like the artifact's; [0] is not used */
	struct isolate_limits limits;
	struct rng rng; /* of where libraries lie */
	uint32_t orders;
};
/* Starts it. NULL, or why not. */
const char *subject_start(struct subject *s);
enum answer { ANSWER_DONE, ANSWER_ENDED, ANSWER_LATE, ANSWER_REFUSED, ANSWER_GARBLED };
enum answer subject_order(struct subject *s, struct order o, double seconds);
double subject_cpu(const struct subject *s); /* seconds it has used */
void subject_end(struct subject *s);

struct run { /* of one try, one process under test */
	const struct try *t;
	const struct problem *p;
	const struct problem *constants[2];
	struct regions regions;
	struct arguments arguments[2];
	struct proof proof;
	struct changes changes[2];
	struct subject subject;
	struct rng rng;
	struct arena *a;
	struct measurement *r;
	double base_seconds;            /* a call of the base took */
	double took;                    /* the last order, as seen from here */
	int packed[2][RUNNER_BUFS_MAX]; /* where a constant lies packed: its place + 1; 0: nowhere yet */
	bool written[2];                /* results or workspace; inputs: since the last order in PLACE_TIMED */
	bool checked;                   /* by an earlier process of this try */
	bool called;                    /* code of the candidate may have run in this one */
	const char *why;                /* it could not be done, whatever the candidate */
	size_t most;                    /* pairs there is room for */
	VEC(char) got;                  /* a result, row-major */
};
static inline const struct runner_build *build_of(const struct run *x, int which) { return &x->t->artifact[which]->build; }
static inline const struct runner_buf *buf_of(const struct run *x, int which, int i) { return &build_of(x, which)->buf[i]; }
/* A base that is tried against itself? */
static inline bool is_alone(const struct try *t) { return t->artifact[0] == t->artifact[1]; }
/* try.c. What false says, a verdict is given. */
void run_judge(struct run *x, enum verdict v, const char *why);
bool run_order(struct run *x, struct order o, int which, double seconds, const char *what);
bool run_believe(struct run *x, uint64_t ns); /* may the last order have taken that? */
double run_deadline(const struct run *x);     /* of a call */
void run_fill_constants(struct run *x, int which, enum place p);
void run_fill_inputs(struct run *x, int which, enum place p, void *const *data);
void run_fill_seed(struct run *x, int which, enum place p, int seed);
void run_poison(struct run *x, int which, enum place p); /* results and workspace */
/* check.c. Before it is timed; on all adversarial seeds that the base passes. */
bool run_check(struct run *x);
bool run_check_adversarial(struct run *x);
bool try_base_known(const struct try *t); /* how its base does on these */
bool run_check_results(struct run *x, enum place p, int seed);
/* Where it was timed, on inputs of another seed, the results of the timed calls still there: what computes only where it finds
 * none, or inputs that it has not seen, leaves them. better: on changed inputs too. */
bool run_check_last(struct run *x, int seed, bool better);
/* Elements of result i of the candidate, row-major and of these inputs, against the oracle's; POINTS_MAX at most. */
bool run_check_elements(struct run *x, int i, const void *got, void *const *data, int points);
const void *run_unpack(struct run *x, const struct runner_buf *b, uint64_t bytes, const void *stored); /* until the next is asked for */
/* proof.c. What the candidate has left after the last block, of inputs that its parent alone knows, is right? */
void run_plan_changes(struct run *x);
bool run_check_block(struct run *x, uint64_t seed);
/* Both on inputs that nobody has seen, a call each, by the CPU time that the system charges; what the candidate's calls left is
 * looked at. *ratio: of these; seconds: of a call of each, about. */
bool proof_run(struct run *x, const double seconds[2], double *ratio);
/* timing.c. *slow: so much of the time was a slow phase of the machine that there is no result. */
bool timing_run(struct run *x, bool *slow);

/* Where results differ from the oracle's; NULL: nowhere. */
const char *results_compare(const struct problem *p, int out, int seed, const void *got, struct arena *a);
/* Root of the mean square of what is finite. */
double results_rms(enum dtype t, const void *x, int64_t n);
/* Is y, an element of result out, x but for rounding? */
bool results_equal(const struct problem *p, int out, int seed, double x, double y);
double number_at(enum dtype t, const void *p, int64_t i);
#endif
