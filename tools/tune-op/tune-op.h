/* What the parts of tune-op share. */
#ifndef TUNE_OP_H
#define TUNE_OP_H
#include "op/task.h"
#include "common/outfile.h"
#include "tune/session.h"

/* Files in DIR, made if it is not there: tasks.txt, and for each task DIGEST.task (its line), DIGEST.c and .trace (the
 * default) and DIGEST.g (packed, random weights). dump_begin makes DIR and opens tasks.txt, for the caller to close when all models
 * are dumped. */
void dump_begin(const char *dir, struct outfile *lines);
void dump_tasks(const struct task_list *l, const bool *wanted, const char *dir, FILE *lines);

/* ---- trace.c ---- */
struct timing_of_trace {
	const char *file; /* text of the trace, as loop/trace.h has it */
	const char *const *runner;
	int nrunner;
	double seconds; /* of timing, at most */
	uint64_t seed, cold_bytes;
	bool json;
};
/* Times task t of m by that trace against the default one, and prints the ratio with its interval. A trace that does not fit the task, is
 * not built or gives other numbers: die(65). */
void trace_time(struct module *m, const struct task *t, const struct timing_of_trace *how);
#endif
