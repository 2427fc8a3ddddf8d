/* Adversarial inputs: they reveal a kernel that leaves out terms of a maximum or a sum, because a few elements dwarf the others.
 *
 * All floats are multiplied by 2^(10 u^2), u uniform. Then of each line along an axis one element is put above all others of the line by
 * thousands, and one below. In all lines of two axes together the same holds for one of those, and so on. Each seed begins with another
 * axis, and with other places along it, the first and the last before others. A kernel that leaves out such an element gives another
 * result, also where only the range of numbers depends on it (the maximum of a softmax).
 *
 * Only one element of a maximum can be the largest, so seeing each in turn takes as many seeds as the maximum has terms: a kernel may
 * have code of its own for a single line. There are that many seeds unless the task is too large. With fewer, other lines begin with
 * other places, and lines and seeds together cover all places if they are as many.
 *
 * With the last seed all numbers are larger, and none dwarfs others. A bias can lift values above a bound so that the bound never acts; with
 * this seed it does, and differences of the size of the bias count. */
#ifndef HONE_ADVERSARIAL_H
#define HONE_ADVERSARIAL_H
#include "runner/oracle.h"

enum { ADVERSARIAL_SEEDS = 16, ADVERSARIAL_MOST_SEEDS = 256, ADVERSARIAL_ELEMENTS = 1 << 20 };
/* How many seeds: ADVERSARIAL_SEEDS and the last, or more for a long maximum; of all of them together about ADVERSARIAL_ELEMENTS, else fewer. */
int adversarial_seeds(const struct oracle_task *t);
/* To the contents x of input i of the task; integers stay. seed: below seeds. */
void adversarial_add(const struct oracle_task *t, int i, void *x, int seed, int seeds);
#endif
