/* Inputs that show what is left out of a maximum or a sum: a few elements dwarf the others. All floats are multiplied by
 * 2^(10 u^2), u uniform. Then of each line along an axis one element is put above, and one below, all others of the line by
 * thousands; in the lines of two axes together the same holds for one of those, and so on. From seed to seed another axis
 * begins, and of the lines along it other places, the last and the first before others. A kernel that overlooks such an
 * element gives another result, also where only the range of numbers is guarded (the maximum of a softmax).
 *
 * Of one maximum only one element can be the largest, so to see each in turn takes as many seeds as it has terms: a kernel
 * may have code of its own for a single line. There are that many, if not too many for a task that large. Where there are
 * fewer, other lines begin with other places, and all places show where lines and seeds together are as many.
 *
 * With the last seed all numbers are some times as large, and none dwarfs others: what a bias lifts above a bound, so that
 * nobody sees where the bound is, comes down to it then, and differences of its size still count. */
#ifndef HONE_ADVERSARIAL_H
#define HONE_ADVERSARIAL_H
#include "runner/oracle.h"

enum { ADVERSARIAL_SEEDS = 16, ADVERSARIAL_MOST_SEEDS = 256, ADVERSARIAL_ELEMENTS = 1 << 20 };
/* How many seeds: ADVERSARIAL_SEEDS and the last, or more for a long maximum; of all of them together about ADVERSARIAL_ELEMENTS, else fewer. */
int adversarial_seeds(const struct oracle_task *t);
/* To the contents x of input i of the task; integers stay. seed: below seeds. */
void adversarial_add(const struct oracle_task *t, int i, void *x, int seed, int seeds);
#endif
