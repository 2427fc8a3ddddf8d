/* Is the candidate faster? A sequential test on pairs of times.
 *
 * A pair is the least of some rounds of each kernel (noise only adds), in random order in each round, so under equal
 * kernels the log ratio of a pair is as likely above 0 as below, whatever the noise, drift included. For n independent
 * pairs the order statistics x(k) and x(n+1-k) enclose the median with probability 1 - 2 P(Bin(n, 1/2) < k) (Thompson
 * 1936): no assumption on the distribution. Looks are taken at growing n; look j spends SEQ_ALPHA * 6 / (pi^2 j^2),
 * which sums to SEQ_ALPHA (Bonferroni), so with probability 1 - SEQ_ALPHA every interval of a whole try holds the
 * median, whenever it stops.
 *
 * Verdicts: faster, if the interval is below 1 - SEQ_LEAST; slower, above 1 + SEQ_LEAST (what the same code gains or
 * loses by where it is placed); tie, if it lies inside 2% around 1; else unsure. What is faster goes on until the
 * interval is narrower than SEQ_WIDTH of the ratio, for a search chooses among such by how much. Before the first
 * look, what is far slower in the first pair (1 + SEQ_FAR) or slower by SEQ_CLEAR in each of the first SEQ_FEW is
 * called slower at once, and the interval is the range of its pairs: it is not worth the time that a sure figure
 * takes, and no equal kernel is called faster by it. So equal kernels are called faster with probability below
 * SEQ_ALPHA / 2. */
#ifndef HONE_SEQUENTIAL_H
#define HONE_SEQUENTIAL_H
#include "common/vec.h"
#include "device/runner.h"

#define SEQ_ALPHA 0.01
#define SEQ_LEAST 0.01
#define SEQ_TIE 0.02
#define SEQ_WIDTH 0.03
#define SEQ_FAR 0.5
#define SEQ_CLEAR 0.05
#define SEQ_FEW 5

struct sequential {
	VEC(double) x;      /* log ratios, sorted at looks */
	int looks;
	size_t next;        /* n at which the next look is due */
	double ratio, lo, hi; /* at the last look; before the first: of the range of the pairs */
};
void sequential_init(struct sequential *s);
void sequential_free(struct sequential *s);
/* Pairs until something can be decided, at least 1. */
size_t sequential_want(const struct sequential *s);
/* One pair. true: decided, and *v says what. */
bool sequential_add(struct sequential *s, double candidate, double base, enum verdict *v);
/* What an interval says at the end: faster, slower, tie or unsure. */
enum verdict sequential_verdict(double lo, double hi);
/* The budget is spent: takes a last look. */
enum verdict sequential_end(struct sequential *s);
#endif
