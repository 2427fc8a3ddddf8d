/* The sequential test: see sequential.h. */
#include <math.h>
#include "common/sorted.h"
#include "runner/sequential.h"

/* The error probability that analysis j adds. */
static double share(bool once, double j) { return (once ? SEQ_ALPHA_ONCE : SEQ_ALPHA) * 6 / (M_PI * M_PI * j * j); }

/* P(Bin(n, 1/2) = k) */
static double binomial(size_t n, size_t k)
{
	return exp(lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) - (double)n * M_LN2);
}

/* The largest k with 2 P(Bin(n, 1/2) < k) <= alpha, and that probability; 0: there is none. */
static size_t order(size_t n, double alpha, double *errs)
{
	double next = 2 * binomial(n, 0);
	size_t k = 0;

	*errs = 0;
	while (k < n / 2 && next <= alpha) {
		*errs = next;
		next += 2 * binomial(n, ++k);
	}
	return k;
}

/* Finds the next analysis: the first n, from here on, whose interval leaves out one pair more at each end than the last one's. Until then
 * intervals only widen with the pairs. */
static void plan(struct sequential *s, size_t n)
{
	size_t last = s->order;

	s->may += share(s->once, ++s->analyses);
	while ((s->order = order(n, s->may, &s->errs)) <= last)
		n++;
	s->next = n;
}

void sequential_init(struct sequential *s, double goal, double width, bool once)
{
	*s = (struct sequential){
		.once = once, .goal = goal > 0 ? fmin(goal, 1) : 1, .width = width > 0 ? width : INFINITY, .ratio = 1, .hi = INFINITY};
	plan(s, 1);
}

void sequential_free(struct sequential *s) { vec_free(&s->x); }

static void sort(struct sequential *s)
{
	if (s->x.n)
		qsort(s->x.a, s->x.n, sizeof *s->x.a, ascending);
}

/* Of sorted pairs. */
static double median(const struct sequential *s) { return s->x.n ? exp(sorted_median(s->x.a, s->x.n)) : 1; }

/* The interval that leaves out k - 1 pairs at each end; 0: all there is. */
static void analyse(struct sequential *s, size_t k)
{
	size_t n = s->x.n;

	sort(s);
	s->ratio = median(s);
	s->lo = k ? exp(s->x.a[k - 1]) : 0;
	s->hi = k ? exp(s->x.a[n - k]) : INFINITY;
	s->analysed = true;
}

static bool inside(double lo, double hi, double within) { return lo >= 1 / (1 + within) && hi <= 1 + within; }

static enum verdict direction(double lo, double hi)
{
	return hi < 1 - SEQ_LEAST ? VERDICT_FASTER : lo > 1 + SEQ_LEAST ? VERDICT_SLOWER : VERDICT_UNSURE;
}

/* How much slower than the goal all of so many pairs must be to end the try. */
static double few_pairs_margin(const struct sequential *s)
{
	static const double once[SEQ_FEW] = {INFINITY, SEQ_FAR, SEQ_FAR_2, SEQ_FAR_3, SEQ_FAR_4};
	size_t n = s->x.n;

	if (n >= SEQ_FEW)
		return 1 + SEQ_CLEAR;
	return 1 + (s->once ? once[n] : n == 1 ? SEQ_FAR : INFINITY);
}

/* Is it much slower in every pair so far? Before the first analysis only: the interval is their range. */
static bool hopeless(struct sequential *s, double ratio)
{
	s->lo = s->x.n > 1 ? fmin(s->lo, ratio) : ratio;
	s->hi = s->x.n > 1 ? fmax(s->hi, ratio) : ratio;
	return s->lo > s->goal * few_pairs_margin(s);
}

/* Are so few pairs below the goal and SEQ_NEAR that a sign test at SEQ_VAIN excludes it? */
static bool in_vain(const struct sequential *s)
{
	size_t n = s->x.n;
	double p = 0;

	if (!s->once || n < SEQ_FEW || 2 * s->near >= n)
		return false;
	for (size_t k = 0; k <= s->near && p <= SEQ_VAIN; k++)
		p += binomial(n, k);
	return p <= SEQ_VAIN;
}

/* The try ends early: sets the verdict by what is known. */
static enum verdict give_up(struct sequential *s)
{
	sort(s);
	s->ratio = fmin(fmax(median(s), s->lo), s->hi);
	if (s->analysed)
		return sequential_verdict(s->lo, s->hi);
	return s->lo > few_pairs_margin(s) ? VERDICT_SLOWER : VERDICT_UNSURE;
}

size_t sequential_want(const struct sequential *s)
{
	size_t n = s->x.n >= SEQ_FEW ? s->next : !s->once ? SEQ_FEW : s->x.n < 2 ? 2 : s->x.n + 1;

	return n > s->x.n ? n - s->x.n : 1;
}

bool sequential_behind(double goal, double lo) { return goal > 0 && goal < 1 && lo > goal * (1 + SEQ_BEHIND); }

bool sequential_add(struct sequential *s, double candidate, double base, enum verdict *v)
{
	double ratio = candidate / base;

	vec_push(&s->x, log(ratio));
	s->near += ratio < s->goal * (1 + SEQ_NEAR);
	if ((!s->analysed && hopeless(s, ratio)) || in_vain(s)) {
		*v = give_up(s);
		return true;
	}
	if (s->x.n < s->next)
		return false;
	analyse(s, s->order);
	s->may -= s->errs;
	plan(s, s->x.n + s->x.n * 2 / 5);
	*v = direction(s->lo, s->hi);
	if (*v == VERDICT_UNSURE && inside(s->lo, s->hi, SEQ_TIE))
		*v = VERDICT_TIE;
	if (sequential_behind(s->goal, s->lo))
		return true;
	bool narrow = s->hi - s->lo <= s->width * s->ratio;
	if (s->once && isfinite(s->width) && narrow)
		return true;
	return *v == VERDICT_FASTER ? narrow : *v != VERDICT_UNSURE;
}

enum verdict sequential_verdict(double lo, double hi)
{
	enum verdict v = direction(lo, hi);

	return v == VERDICT_UNSURE && inside(lo, hi, SEQ_TIE) ? VERDICT_TIE : v;
}

enum verdict sequential_end(struct sequential *s)
{
	double errs;

	analyse(s, order(s->x.n, s->may, &errs));
	return sequential_verdict(s->lo, s->hi);
}
