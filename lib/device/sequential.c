#include <math.h>
#include "common/sorted.h"
#include "device/sequential.h"

/* What look j may err with. */
static double may_err(bool once, double j)
{
	return (once ? SEQ_ALPHA_ONCE : SEQ_ALPHA) * 6 / (M_PI * M_PI * j * j);
}

/* The fewest pairs whose range is an interval of the first look. */
static size_t first_look(bool once)
{
	size_t n = 1;

	while (ldexp(2, -(int)n) > may_err(once, 1))
		n++;
	return n;
}

void sequential_init(struct sequential *s, double goal, double width, bool once)
{
	*s = (struct sequential){.once = once, .goal = goal > 0 ? fmin(goal, 1) : 1, .width = width > 0 ? width : INFINITY,
				 .next = first_look(once), .ratio = 1, .hi = INFINITY};
}

void sequential_free(struct sequential *s)
{
	vec_free(&s->x);
}

/* The largest k with 2 P(Bin(n, 1/2) < k) <= alpha; 0: there is none. */
static size_t order(size_t n, double alpha)
{
	double below = 0;
	size_t k = 0;

	for (; k < n / 2; k++) {
		below += exp(lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) - (double)n * M_LN2);
		if (2 * below > alpha)
			break;
	}
	return k;
}

static void look(struct sequential *s)
{
	size_t n = s->x.n, k;
	double *x = s->x.a, j = ++s->looks;

	if (n)
		qsort(x, n, sizeof *x, ascending);
	k = order(n, may_err(s->once, j));
	s->ratio = n ? exp(sorted_median(x, n)) : 1;
	s->lo = k ? exp(x[k - 1]) : 0;
	s->hi = k ? exp(x[n - k]) : INFINITY;
	s->next = n + n * 2 / 5;
}

static bool inside(double lo, double hi, double within)
{
	return lo >= 1 / (1 + within) && hi <= 1 + within;
}

static enum verdict direction(double lo, double hi)
{
	return hi < 1 - SEQ_LEAST ? VERDICT_FASTER : lo > 1 + SEQ_LEAST ? VERDICT_SLOWER : VERDICT_UNSURE;
}

static double few_pairs_margin(const struct sequential *s)
{
	return 1 + (s->x.n < SEQ_FEW ? SEQ_FAR : SEQ_CLEAR);
}

/* Every pair so far says that it is much slower than the goal. Before the first look only: the interval is their range. */
static bool hopeless(struct sequential *s, double ratio)
{
	s->lo = s->x.n > 1 ? fmin(s->lo, ratio) : ratio;
	s->hi = s->x.n > 1 ? fmax(s->hi, ratio) : ratio;
	s->ratio = sqrt(s->lo * s->hi);
	return s->lo > s->goal * few_pairs_margin(s) && (s->x.n >= SEQ_FEW || s->x.n == 1);
}

size_t sequential_want(const struct sequential *s)
{
	size_t n = s->x.n < SEQ_FEW ? SEQ_FEW : s->next;

	return n > s->x.n ? n - s->x.n : 1;
}

bool sequential_behind(double goal, double lo)
{
	return goal > 0 && goal < 1 && lo > goal * (1 + SEQ_BEHIND);
}

bool sequential_add(struct sequential *s, double candidate, double base, enum verdict *v)
{
	vec_push(&s->x, log(candidate / base));
	if (!s->looks && hopeless(s, candidate / base)) {
		*v = s->lo > few_pairs_margin(s) ? VERDICT_SLOWER : VERDICT_UNSURE;
		return true;
	}
	if (s->x.n < s->next)
		return false;
	look(s);
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
	look(s);
	return sequential_verdict(s->lo, s->hi);
}
