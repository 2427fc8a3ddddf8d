/* Timing trials on any number of runners, all of the same target, side by side. A trial is built and timed by one
 * runner; while one is timed, others are built. What a runner that ends has not finished, the others do. */
#ifndef HONE_TUNE_MEASURER_H
#define HONE_TUNE_MEASURER_H
#include <signal.h>
#include "runner/runner.h"
#include "model/candidate.h"

/* What all trials of a task have in common. */
struct subject {
	const char *text;       /* of the task */
	struct digest digest;   /* of the text */
	struct candidate *base; /* what the others are timed against; its source is base_source */
	struct digest base_source;
	const char *broken; /* no runner can do this task: why */
};

enum trial_state { TRIAL_WAITS, TRIAL_RUNS, TRIAL_DONE };
struct trial {
	struct subject *subject;
	struct candidate *candidate;
	struct digest source; /* of the candidate's */
	double budget;        /* seconds of timing */
	double goal, width;   /* see runner.h */
	bool once;
	uint64_t seed;
	uint64_t rotation; /* see runner.h */
	void *owner;
	/* Filled in: */
	enum trial_state state;
	bool lost; /* it could not be done, through no fault of its own: why */
	enum verdict verdict;
	const char *why;
	double ratio, lo, hi;
	double build_seconds, run_seconds;
	size_t npairs;
	struct runner_pair *pair;
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
int measurer_jobs(const struct measurer *m);                     /* trials that keep all runners busy */
void measurer_add(struct measurer *m, struct trial *t);
/* A trial that is done; NULL: none within the time, or a signal came. No runner left: die(69). */
struct trial *measurer_next(struct measurer *m, double timeout);
/* Forgets those that no runner has begun to time. */
void measurer_drop(struct measurer *m);
#endif
