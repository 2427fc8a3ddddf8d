/* Boosted trees that say how much faster a schedule is than the default one of its task, as text: made by tune-model(1), read by anyone. */
#ifndef HONE_TREES_H
#define HONE_TREES_H
#include "common/arena.h"
#include "common/digest.h"
#include "cost/features.h"

/* The text, line by line:
 *   hone-model 1
 *   # any number of comments, here and below
 *   base DIGEST               an addition to the model whose text has this digest: what it says is added to what that one says
 *   target ROW                an addition for this kind of machine
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
/* The digest of the model that an addition adds to, and its target; NULL: t is no addition. An addition alone predicts only what it adds. */
const struct digest *trees_base(const struct trees *t);
const char *trees_target(const struct trees *t);
/* From here on t is base and addition together. In words, why they do not go together; NULL: they do. */
const char *trees_join(struct trees *t, const struct trees *base, struct digest base_text);
/* The model in a file (NULL: standard input), and the digest of its text; an addition is one to the model that hone brings along. Faults: die(65), or as mapped_open. */
struct trees *trees_open(const char *path, struct arena *a, struct digest *text);
/* The model that hone brings along, share/models/cost.model. */
struct trees *trees_usual(struct arena *a, struct digest *text);
/* The model that hone brings along, with the addition that was learned on this kind of machine, if there is one beside the knowledge base (a
 * path, or NULL); then the digest is that of the addition's text. An addition to the model of another hone is passed over, with a message. */
#define TREES_BESIDE ".model"
struct trees *trees_here(const char *kb, const char *target, struct arena *a, struct digest *text);
/* By how many units the time is above that of the default schedule (below: negative), by each member. */
void trees_predict(const struct trees *t, const struct columns *x, int64_t *units);
/* The default schedule of a task, which others are held beside. known: the model has learned from such schedules and such a target; no feature is
 * half an octave beyond those that it learned from. */
struct beside {
	const struct trees *model;
	struct features usual;
	int64_t time[TREES_MEMBERS_MAX]; /* that each member predicts for it */
	bool known;
};
struct beside trees_beside(const struct trees *t, const struct features *usual);
/* By how many units a schedule is faster than the default one: the least, the middle and the most of what the members say. All 0: one of the two
 * is not known to the model. */
struct gain {
	int64_t least, middle, most;
};
struct gain gain_of(const struct beside *b, const struct features *f);
/* Is the gain more than the members differ by? */
bool gain_is_sure(struct gain g);
/* How many nodes ask for the column. */
int trees_count(const struct trees *t, int column);
int trees_nodes(const struct trees *t);
#endif
