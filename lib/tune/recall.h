/* The record of the knowledge base that decides the schedule of a task, for who times nothing itself. */
#ifndef HONE_TUNE_RECALL_H
#define HONE_TUNE_RECALL_H
#include "kb/kb.h"
#include "op/task.h"
#include "target/target.h"

struct recall {
	struct kb *kb;
	const char *row; /* the target asked about, as records name it */
	const struct target
		*target; /* the same; NULL: no program of this machine knows it, so traces are not tried and defaults not known */
	bool trusted;    /* only records that were measured here, or that came with hone */
};

/* The record that wins for the task (kb_best_for), among those whose trace is a schedule of it. *older: its ratio is to a default of an
 * older version. *foreign: one that is not trusted would have won, and was passed over. NULL: none. Warns of records that would win if
 * their numbers were believed, and of traces that do not apply. */
const struct kb_record *recall_record(const struct recall *w, struct module *m, const struct task *t, struct arena *a, bool *older,
				      bool *foreign);

/* A record of this trace that says that it is slower than the default schedule, or wrong, among those that may be used; NULL: none does. */
const struct kb_record *recall_refuted(const struct recall *w, struct module *m, const struct task *t, const char *trace, struct arena *a);

/* The default schedule of a group on that target, as the base of a ratio. False: it has none, or the target is not known. */
bool recall_default(const struct recall *w, struct module *m, node_id n, struct arena *a, struct kb_base *base);
#endif
