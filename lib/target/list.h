/* Several targets, for one library. */
#ifndef HONE_TARGET_LIST_H
#define HONE_TARGET_LIST_H
#include "target/target.h"

enum { TARGETS_MAX = 16 };
struct named_target {
	const char *name; /* as it was given; of "native" the row */
	struct target t;
};
struct target_list {
	int n;
	struct named_target a[TARGETS_MAX];
};
/* Adds the targets of `--target=arg`: names with commas between them, or one row. One that is none, one that is there already, more than
 * TARGETS_MAX, or one of another kind of CPU than the others: die(64). */
void targets_add(struct target_list *l, const char *arg);
/* The order in which a CPU takes what it can run: wider vectors first, of equal ones more features, then as given. order: l->n numbers. */
void targets_rank(const struct target_list *l, int *order);
/* The kind of CPU that all of them are for; that which runs anywhere, if all do. */
const struct backend *targets_kind(const struct target_list *l);
#endif
