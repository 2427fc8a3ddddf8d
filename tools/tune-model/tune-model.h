/* Examples that tune-model learns from, made of records; and what its verbs do with them. */
#ifndef HONE_TUNE_MODEL_H
#define HONE_TUNE_MODEL_H
#include "common/tool.h"
#include "common/vec.h"
#include "cost/features.h"
#include "cost/trees.h"
#include "kb/kb.h"

/* A schedule of a task on a target, and its time. Times of one task on one target are ratios to the time of one schedule of it there, its
 * reference: the default of the program that measured them. */
struct example {
	int group;      /* its task, target and reference, from 0 */
	bool usual;     /* it is the reference of its group, which is an example too */
	double ratio;   /* to the reference's time */
	double seconds; /* of a call */
	struct features f;
};
struct examples {
	struct arena arena;
	VEC(struct example) a;  /* those of a group stand together, the reference first */
	VEC(size_t) first;      /* the reference, by group */
	VEC(const char *) task; /* by group */
	VEC(const char *) target;
	size_t records, passed; /* read; and passed over: not timed, or the schedule does not apply any more */
};

/* ---- examples.c ---- */
/* Reads what kb dump prints, from the files in turn; none: standard input. Faults of a file: die(65). */
void examples_read(struct examples *e, char **file, int nfile);
/* The same of records that a knowledge base gave, those of one target. */
void examples_take(struct examples *e, const struct kb_list *l, const char *target);
void examples_free(struct examples *e);
/* Writes, as kb dump does, a record of kind "default" for each task and target of which records are ratios to the default schedule of this
 * program. How many; *without: tasks and targets whose records are to others. */
size_t defaults_write(struct examples *e, char **file, int nfile, size_t *without, FILE *f);

/* ---- learn.c ---- */
struct learning {
	int members, trees, depth, folds;
	uint64_t seed;
	const struct trees *base; /* what is learned is an addition to it; NULL: a model of its own */
	struct digest base_text;
	const char *target; /* of the addition */
};
/* Writes a model that was fitted to the examples whose group is in use (NULL: all). */
void learn(const struct learning *l, const struct examples *e, const bool *use, FILE *f);
/* Predicted gains, by example. */
void predict(const struct trees *t, const struct examples *e, struct gain *gain);
/* Predicted gains by models that have not seen the example's task, on any target. */
void learn_apart(const struct learning *l, const struct examples *e, struct gain *gain);

/* ---- judge.c ---- */
/* Prints how good predicted gains are at choosing a schedule of a task among its examples; why: a line a task, on standard error, too. */
void judge(const struct examples *e, const struct gain *gain, bool json, bool why);
/* The geometric mean of the times of the first choice where it is sure, else of the default, to the best that was measured; *tasks: of how many. */
double judge_sure(const struct examples *e, const struct gain *gain, int *tasks);
#endif
