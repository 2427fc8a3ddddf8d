/* Gradient plans: how to cut gradients into segments, each sent by one all-reduce, so that the last one ends soonest.
 *
 * With ready times r_1 <= .. <= r_L, prefix sums of bytes S_j and an all-reduce curve T, one communication stream and segments
 * that are contiguous in ready order, the end F_j of the segment that ends with tensor j is
 *   F_j = min over i < j of max(F_i, r_j) + T(S_j - S_i),    F_0 = 0,
 * and the tail, what the backward pass does not cover, is F_L - r_L. Theorem: for any nondecreasing T this recurrence gives the
 * least tail of all contiguous in-order plans; for T = a + b x (a, b >= 0) the least of all groupings and orders.
 * F is nondecreasing, so p(j) = max{i : F_i <= r_j} moves right only. Of i <= p(j), i = p(j) is best; above it
 * F_i + T(S_j - S_i) is wanted, for one line of T a sliding-window minimum of F_i - b S_i: a monotone deque, O(L); for a curve of
 * p pieces one deque a piece (the window of i whose S_j - S_i lies in the piece), O(p L). At most K segments: layer by layer,
 * O(K p L).
 *
 * Fewest segments that end by a deadline D: with E(i) the latest time by which prefix i must have been sent so that m segments
 * more meet D, E_m(i) = max over j > i of E_{m-1}(j) - T(S_j - S_i) where that start is not before r_j. No stream idles in such a
 * plan, so E is D less the time of the segments, and where T is subadditive more segments never help a prefix that fewer
 * serve: each layer need look only at the prefixes that the one before it newly reached (or improved, where T has steps), and
 * at those with F_i <= E_m(i). In practice O(p L) for all layers together. The plan of them that ends first is found by the
 * recurrence over those prefixes only, O(p) for each. Where T is one line, E_m(i) = D - m a - b (S_L - S_i) for all prefixes that m segments
 * can follow: the shortest of each layer says them all.
 *
 * Assumptions: one communication stream, in order, that does not slow the backward pass down; T does not depend on time. */
#ifndef HONE_PLAN_H
#define HONE_PLAN_H
#include <stdint.h>
#include <stdio.h>
#include "comm/curve.h"
#include "comm/grads.h"

struct plan {
	VEC(uint32_t) last; /* index of the last tensor of each segment, rising; the last one is L - 1 */
};
struct plan_cost {
	double end;  /* us: when the last all-reduce ends */
	double tail; /* end - ready time of the last tensor, at least 0 */
	double busy; /* sum of all segments' times */
	size_t segments;
};
/* The plan with the earliest end, of at most k segments (0: any number). With slack: of the plans that end at most this share later
 * (of the time from the start of the backward pass), one with the fewest segments, and of these one that ends first. Earliest up to
 * rounding of sums: 1e-12, and 2.2e-16 for each tensor. */
void plan_best(struct plan *p, const struct grads *g, const struct curve *c, size_t k, double slack);
struct plan_cost plan_cost(const struct plan *p, const struct grads *g, const struct curve *c);
/* No contiguous in-order plan ends before: max over j of r_j + U(S_L - S_{j-1}), and of r_j + T(s_j), where U(x) = x min{T(y)/y : y <= x}
 * is T itself if T is subadditive in the usual way (T(x)/x falls), and below it where a protocol step makes two
 * all-reduces cheaper than one. */
double plan_lower_bound(const struct grads *g, const struct curve *c); /* end, us */

/* What other programs do. */
enum baseline {
	BASE_NONE,    /* one segment for each tensor */
	BASE_SINGLE,  /* one segment */
	BASE_DDP,     /* PyTorch: a bucket closes when it has 1 MiB (the first) or 25 MiB */
	BASE_HCCL,    /* two segments: 96.54% and 3.46% of the bytes */
	BASE_HOROVOD, /* as many as fit into 64 MiB */
	BASE_MGWFBP,  /* merged-gradient wait-free backpropagation (Shi, Chu and Li 2019): greedy by start-up time */
	BASE_FIXED,   /* closes at a fixed size: the best of several, two for each doubling */
	BASELINE_COUNT
};
const char *baseline_name(enum baseline b);
void plan_baseline(struct plan *p, enum baseline b, const struct grads *g, const struct curve *c);
/* The size that BASE_FIXED takes. */
double plan_fixed_size(const struct grads *g, const struct curve *c);

/* The form "idx": one line for each segment, the 0-based index of its last tensor; '#' starts a comment. Not a plan for these
 * tensors: die(65) with file and line. */
void plan_read(struct plan *p, const char *path, const struct grads *g);
void plan_parse(struct plan *p, const char *name, const char *text, const struct grads *g); /* the same from memory */
/* form: idx | size | hccl | ddp | horovod | json, see tune-grad(1). Another, or more segments than it can hold: die(64). */
enum { HCCL_MAX = 8 }; /* segments that "hccl" can say */
void plan_print(FILE *f, const struct plan *p, const struct grads *g, const struct curve *c, const char *form);
void plan_write(const struct plan *p, const struct grads *g, const struct curve *c, const char *form, const char *path);
void plan_free(struct plan *p);
#endif
