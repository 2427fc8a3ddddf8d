/* Is the candidate faster? A sequential test on pairs of times: interim analyses at growing n, until one decides.
 *
 * A pair is one time of each kernel. In a pair of equal kernels either is as likely the slower one, whatever the noise, drift
 * included, for rounds are in random order and noise only adds. So for n independent pairs the order statistics x(k) and
 * x(n+1-k) of the log ratios enclose the median with probability 1 - 2 P(Bin(n, 1/2) < k) (Thompson 1936), without an
 * assumption on the distribution.
 *
 * The analyses together err with probability alpha at most: analysis j spends alpha * 6 / (pi^2 j^2), which sums to alpha
 * (Bonferroni), and what those before it have left of theirs, as k is a whole number. Each is due at the first n where its
 * interval leaves out one pair more at each end than the one before: 9, 13, 19, 26 pairs and so on by 1.4 with SEQ_ALPHA;
 * 6, 9, 15, 21 with SEQ_ALPHA_ONCE, for what is timed once and remeasured if it leads.
 *
 * Verdicts: faster, if the interval is below 1 - SEQ_LEAST; slower, if it is above 1 + SEQ_LEAST (less is what the same code
 * gains or loses by where it is placed); tie, if it is inside SEQ_TIE around 1; else unsure, and more pairs are taken. What is
 * faster goes on until its interval is narrower than the width asked for.
 *
 * A try ends early, and says nothing more of the base than the last interval does,
 *   with a goal (the ratio to beat), when an interval is above it by SEQ_BEHIND;
 *   what is timed once, when its interval is as narrow as asked, or when so few of its pairs, from SEQ_FEW on, are below the goal
 *   and SEQ_NEAR that a sign test at SEQ_VAIN, made at each pair, excludes that it is there;
 *   before the first analysis, what is slower than the base or the goal by SEQ_FAR in the first pair, or by SEQ_CLEAR in each
 *   of the first SEQ_FEW (timed once: by SEQ_FAR_2 in each of the first 2, and so on). The interval is then the range of the
 *   pairs; the verdict slower if that is above 1 by as much, else unsure.
 * None of these calls anything faster, so equal kernels are called faster with probability below alpha / 2.
 * doc/runner.md has what this costs and misses. */
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
	double goal, width;   /* ratio; share of it */
	VEC(double) x;        /* log ratios, sorted at each analysis */
	size_t near;          /* pairs below the goal and SEQ_NEAR */
	int analyses;         /* the number of the next one, */
	size_t next, order;   /* n at which it is due, and its k; */
	double errs, may;     /* what it errs with, and what it and those before it may, but for what these did */
	bool analysed;        /* there was one */
	double ratio, lo, hi; /* at the last analysis; before the first: of the range of the pairs; ratio: when decided, of all */
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
/* The budget is spent: makes a last analysis. */
enum verdict sequential_end(struct sequential *s);
#endif
