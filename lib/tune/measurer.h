/* Timing candidates on any number of runners, all of the same target, side by side. A candidate is built and timed by
 * one runner; while one is timed, others are built. What a runner that ends has not finished, the others do. */
#ifndef HONE_TUNE_MEASURER_H
#define HONE_TUNE_MEASURER_H
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
	uint64_t rotation; /* see runner.h */
	void *owner;
	/* Filled in: */
	enum request_state state;
	struct measurement result;
	double build_seconds;
	int attempts; /* runners that ended while they had it */
	int runner;   /* that has it, -1: none */
};

struct measurer;
/* Opens a runner by each command; none: the one beside this program. One that cannot be had, is another version, or another
 * target than the first: die(69) with its name. NULL: *stop was set, by a signal, before all had answered. */
struct measurer *measurer_new(const char *const *command, int n, const volatile sig_atomic_t *stop);
void measurer_free(struct measurer *m);
const char *measurer_target(const struct measurer *m);
const struct target *measurer_machine(const struct measurer *m); /* the same: what code is made for */
int measurer_jobs(const struct measurer *m);                     /* requests that keep all runners busy */
void measurer_add(struct measurer *m, struct request *t);
/* One that is done; NULL: none within the time, or a signal came. No runner left: die(69). */
struct request *measurer_next(struct measurer *m, double timeout);
/* Forgets those that no runner has begun to time. */
void measurer_drop(struct measurer *m);
#endif
