/* Is the candidate faster? A sequential test on pairs of times.
 *
 * A pair is the least of some rounds of each kernel (noise only adds), in random order in each round, so under equal
 * kernels the log ratio of a pair is as likely above 0 as below, whatever the noise, drift included. For n independent
 * pairs the order statistics x(k) and x(n+1-k) enclose the median with probability 1 - 2 P(Bin(n, 1/2) < k) (Thompson
 * 1936): no assumption on the distribution. Looks are taken at growing n, each where it can leave out one pair more at each
 * end than the last; look j may err with alpha * 6 / (pi^2 j^2), which sums to alpha (Bonferroni), and with what looks
 * before it have left of theirs, for k is a whole number. So with probability 1 - alpha every interval of a whole try holds the
 * median, whenever it stops. alpha is SEQ_ALPHA: looks at 9, 13, 19, 26 pairs, and so on by 1.4; what is timed once, to be
 * looked at again if it leads, has SEQ_ALPHA_ONCE: at 6, 9, 15, 21. The median of a few pairs is known
 * well long before these say so: 10 ms of a kernel against another give it within 0.2 to 1.8% (eight of ten, kernels of
 * 30 to 460 us, Zen 3 with slow phases half of the time).
 *
 * Verdicts: faster, if the interval is below 1 - SEQ_LEAST; slower, above 1 + SEQ_LEAST (what the same code gains or
 * loses by where it is placed); tie, if it lies inside 2% around 1; else unsure. A search chooses among what is
 * faster by how much: it asks for intervals that are narrower than a width, a share of the ratio. One that has found
 * better has a goal: the ratio to beat. What is surely behind it (its interval above by SEQ_BEHIND) ends with that look,
 * whatever the interval says of the base; so does what is timed once, when its interval is as narrow as it asks, or when
 * too few of its pairs, from SEQ_FEW on, are below the goal and SEQ_NEAR: a sign test at each pair, with SEQ_VAIN for each. That is
 * no interval, and says nothing of the base; the interval told is that of the last look. Replayed on what three
 * tunings had timed (4036 candidates), this and the looks leave 0.56 to 0.69 of the time; of what would have beaten the
 * goal in the end, three were given up.
 *
 * Before the first look, what is far slower than the base, or the goal where there is one, in the first pair (by
 * SEQ_FAR), or slower by SEQ_CLEAR in each of the first SEQ_FEW, ends at once, and the interval is the range of its
 * pairs: slower if that is above 1 by as much, else unsure. What is timed once ends also when it is slower in each of the
 * first 2, 3 or 4 by SEQ_FAR_2 and so on; on the pairs of two tunings (6249 candidates, most of them slower) that leaves 0.77 and
 * 0.92 of the time, and one more would have beaten the goal, by 1.6%. It is not worth the time that a sure figure takes, and no
 * equal kernel is called faster by it. So equal kernels are called faster with probability below alpha / 2. */
#ifndef HONE_SEQUENTIAL_H
#define HONE_SEQUENTIAL_H
#include "common/vec.h"
#include "runner/runner.h"

#define SEQ_ALPHA      0.01
#define SEQ_ALPHA_ONCE 0.1
#define SEQ_LEAST      0.01
#define SEQ_TIE        0.02
#define SEQ_BEHIND     0.02
#define SEQ_NEAR       0.01
#define SEQ_VAIN       0.035
#define SEQ_FAR        0.5
#define SEQ_FAR_2      0.15
#define SEQ_FAR_3      0.08
#define SEQ_FAR_4      0.06
#define SEQ_CLEAR      0.05
#define SEQ_FEW        5

struct sequential {
	bool once;
	double goal, width; /* ratio; share of it */
	VEC(double) x;      /* log ratios, sorted at looks */
	size_t near;        /* pairs below the goal and SEQ_NEAR */
	int looks;          /* the next one's number: */
	size_t next, order; /* n at which it is due, and its k; */
	double errs, may;   /* what it errs with, and what it and those before it may, but for what these did */
	bool looked;
	double ratio, lo, hi; /* at the last look; before the first: of the range of the pairs; ratio: when decided, of all */
};
/* goal 0, or from 1 on: none but the base; width 0: any; once: what leads is timed again, by one that is not. */
void sequential_init(struct sequential *s, double goal, double width, bool once);
void sequential_free(struct sequential *s);
/* Pairs until something can be decided, at least 1. */
size_t sequential_want(const struct sequential *s);
/* Is what has its interval from lo on behind the goal (0: there is none)? */
bool sequential_behind(double goal, double lo);
/* One pair. true: decided, and *v says what. */
bool sequential_add(struct sequential *s, double candidate, double base, enum verdict *v);
/* What an interval says at the end: faster, slower, tie or unsure. */
enum verdict sequential_verdict(double lo, double hi);
/* The budget is spent: takes a last look. */
enum verdict sequential_end(struct sequential *s);
#endif
