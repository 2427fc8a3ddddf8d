/* Timing candidates on any number of runners, all of the same target, side by side. A candidate is built and timed by
 * one runner; while one is timed, others are built. What a runner that ends has not finished, the others do. */
#ifndef HONE_TUNE_DISPATCHER_H
#define HONE_TUNE_DISPATCHER_H
#include <signal.h>
#include "runner/runner.h"
#include "model/candidate.h"

/* A task, and the default that its candidates are timed against. */
struct task_base {
	const char *text;            /* of the task */
	struct digest digest;        /* of the text */
	struct candidate *candidate; /* the default */
	struct digest source;        /* of its C */
	const char *broken;          /* no runner can do this task: why */
};

/* A candidate to be built and timed. */
enum request_state { REQUEST_WAITS, REQUEST_RUNS, REQUEST_DONE };
struct request {
	struct task_base *base;
	struct candidate *candidate;
	struct digest source; /* of the candidate's C */
	double budget;        /* seconds of timing */
	double goal, width;   /* see runner.h */
	bool once;
	uint64_t seed;
	uint64_t cold_bytes; /* see runner.h */
	void *owner;
	/* Filled in: */
	enum request_state state;
	struct measurement result;
	double build_seconds;
	int attempts; /* runners that ended while they had it */
	int runner;   /* that has it, -1: none */
};

struct dispatcher;
/* Opens a runner by each command; none: the one beside this program. One that cannot be had, is another version, or another
 * target than the first: die(69) with its name. NULL: *stop was set, by a signal, before all had answered. */
struct dispatcher *dispatcher_new(const char *const *command, int n, const volatile sig_atomic_t *stop);
void dispatcher_free(struct dispatcher *m);
const char *dispatcher_target(const struct dispatcher *m);
const struct target *dispatcher_machine(const struct dispatcher *m); /* the same: what code is made for */
bool dispatcher_emulated(const struct dispatcher *m);                /* a runner checks and never times */
int dispatcher_jobs(const struct dispatcher *m);                     /* requests that keep all runners busy */
void dispatcher_add(struct dispatcher *m, struct request *t);
/* One that is done; NULL: none within the time, or a signal came. No runner left: die(69). */
struct request *dispatcher_next(struct dispatcher *m, double timeout);
/* Forgets those that no runner has begun to time. */
void dispatcher_drop(struct dispatcher *m);
#endif
