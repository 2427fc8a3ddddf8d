/* How to fuse gradients into segments, each sent by one all-reduce, so that the last one ends soonest.
 *
 * With ready times r_1 <= .. <= r_L, prefix sums of bytes S_j and an all-reduce curve T, one communication stream and segments
 * that are contiguous in ready order, the end F_j of the segment that ends with tensor j is
 *   F_j = min over i < j of max(F_i, r_j) + T(S_j - S_i),    F_0 = 0,
 * and the tail, what the backward pass does not cover, is F_L - r_L. Theorem: for any T this recurrence gives the least tail of all
 * contiguous in-order plans; for T = a + b x (a, b >= 0) the least of all groupings and orders. T nondecreasing makes
 * p(j) = max{i : F_i <= r_j} move right only. Of i <= p(j), i = p(j) is best; above it F_i + T(S_j - S_i) is wanted, for one
 * line of T a sliding-window minimum of F_i - b S_i: a monotone deque, O(L); for a curve of p pieces one deque a piece (the window
 * of i whose S_j - S_i lies in the piece), O(p L). At most K segments: layer by layer, O(K p L). Lower bound for any plan:
 * max_j r_j + T(S_L - S_{j-1}).
 * Assumptions: one communication stream, in order, that does not slow the backward pass down; T does not depend on time. */
#ifndef HONE_PLAN_H
#define HONE_PLAN_H
#include "comm/curve.h"
#include "comm/grads.h"

struct plan {
	VEC(uint32_t) last; /* index of the last tensor of each segment, rising; the last one is L - 1 */
};
struct plan_cost {
	double end;      /* us: when the last all-reduce ends */
	double tail;     /* end - ready time of the last tensor, at least 0 */
	double busy;     /* sum of all segments' times */
	size_t segments;
};
/* The plan of least tail with at most k segments (0: any number); among those within slack (a share of the iteration, r_L + tail) of
 * the least end, one with the fewest segments. */
void plan_best(struct plan *p, const struct grads *g, const struct curve *c, size_t k, double slack);
struct plan_cost plan_cost(const struct plan *p, const struct grads *g, const struct curve *c);
double plan_lower_bound(const struct grads *g, const struct curve *c); /* end, us */
/* The same for reduce-scatter in the backward pass and all-gather in the next forward pass: the time-reversed problem. */

/* What others do. */
enum baseline { BASE_NONE, BASE_SINGLE, BASE_DDP, BASE_HCCL, BASE_HOROVOD, BASE_MGWFBP, BASE_FIXED, BASELINE_COUNT };
const char *baseline_name(enum baseline b);
void plan_baseline(struct plan *p, enum baseline b, const struct grads *g, const struct curve *c);

/* Forms: "idx" one line a segment: 0-based index of its last tensor; see tune-grad(1) for the others. */
void plan_read(struct plan *p, const char *path, const struct grads *g); /* idx; die(65) with line */
void plan_write(const struct plan *p, const struct grads *g, const struct curve *c, const char *form, const char *path); /* die(64) */
void plan_free(struct plan *p);
#endif
