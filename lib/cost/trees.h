/* Boosted trees that say how long a program takes, as text: made by tune-model(1), read by anyone. */
#ifndef HONE_TREES_H
#define HONE_TREES_H
#include "common/arena.h"
#include "cost/features.h"

/* The text, line by line:
 *   hone-model 1
 *   # any number of comments, here and below
 *   learned FEATURE LEAST MOST    a feature, and between which steps it was where the model learned; a line for each that matters
 *   member                    an ensemble has several, of different seeds; each is a sum of trees:
 *   tree
 *   NUMBER COLUMN LESS NO     node NUMBER, counted from 0 in the tree: if the column is less than LESS, the node behind it is next, else
 *                             node NO, which is further behind
 *   NUMBER = UNITS            a leaf
 *   end
 * A unit is the TREES_UNIT-th of an octave. All are whole numbers, so that a sum is the same on every machine. */
#define TREES_TEXT "hone-model 1"
enum { TREES_UNIT = 1 << 16, TREES_MEMBERS_MAX = 16 };

struct trees;
/* NULL and *why, *line: the text is none. What is returned lies in the arena, and nothing of the text is kept. */
struct trees *trees_read(const char *text, size_t n, struct arena *a, int *line, const char **why);
int trees_members(const struct trees *t);
/* That of a file; NULL: of standard input. Faults: die(65), or as mapped_open. */
struct trees *trees_open(const char *path, struct arena *a);
/* The one that hone brings along, share/models/cost.model: its text, and what it says. */
extern const char trees_usual_text[];
struct trees *trees_usual(struct arena *a);
/* By how many units the time is above that of the default schedule (below: negative), by each member. */
void trees_predict(const struct trees *t, const struct columns *x, int64_t *units);
/* By how many units a schedule is faster than the default one: the least, the middle and the most of what the members say. All 0: the model has
 * not learned from such schedules or such a target; a feature of one of the two is half an octave beyond those that it learned from. */
struct gain {
	int64_t least, middle, most;
};
struct gain trees_gain(const struct trees *t, const struct features *f, const struct features *usual);
/* Is the gain more than the members differ by? */
bool gain_is_sure(struct gain g);
/* How many nodes ask for the column. */
int trees_count(const struct trees *t, int column);
int trees_nodes(const struct trees *t);
#endif
