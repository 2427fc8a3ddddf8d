/* The verbs of kb, and what its command line said. */
#ifndef HONE_KB_VERBS_H
#define HONE_KB_VERBS_H
#include "common/tool.h"
#include "kb/kb.h"

struct kb_options {
	const char *kb;       /* --kb, or NULL */
	const char *target;   /* --target, or NULL: this machine */
	const char *for_file; /* dump --for */
	size_t keep;          /* gc --keep */
	bool salvage, dry_run, here;
};
extern struct kb_options opt;
const char *kb_target(void); /* the target asked about */

/* Arguments behind the verb. */
int kb_ls(const struct tool *t, struct tool_args *a);
int kb_get(const struct tool *t, struct tool_args *a);
int kb_best_verb(const struct tool *t, struct tool_args *a);
int kb_why(const struct tool *t, struct tool_args *a);
int kb_stat_verb(const struct tool *t, struct tool_args *a);
int kb_fsck(const struct tool *t, struct tool_args *a);
int kb_dump(const struct tool *t, struct tool_args *a);
int kb_put_verb(const struct tool *t, struct tool_args *a);
int kb_load(const struct tool *t, struct tool_args *a);
int kb_merge(const struct tool *t, struct tool_args *a);
int kb_gc(const struct tool *t, struct tool_args *a);
int kb_dump_for(struct tool_args *a);
int kb_apply(const struct tool *t, struct tool_args *a);
/* Today's default of a task on the target asked about, as records name it; NULL: not known. */
const struct kb_base *default_of_task(const char *task, struct arena *a);

/* Dies (64) where out, of -o or NULL, is the file of that path: what is read is not written over. */
void keep_input(const char *out, const char *path);
/* The same for a knowledge base, which has a file of locks beside it. */
void keep_base(const char *out, const char *path);

/* Records as text, or as JSON, one object a line. */
void print_records(FILE *f, const struct kb_list *l, bool json);

/* "5f3a92c1": the task by which people name it: the first digits of task_digest. */
enum { TASK_DIGITS = 12 };
void task_hex(const char *text, char out[33]);
/* The text of the task that is meant by a text or by the first digits of its hash. Several or none: dies (64). */
const char *task_named(struct kb *k, const char *name, struct arena *a);
#endif
