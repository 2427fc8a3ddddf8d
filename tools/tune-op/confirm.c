/* What is truly faster. A search's best was chosen by its numbers, so they flatter it; and where a kernel and its buffers
 * happen to lie changes small kernels by some percent from one process to the next, which no number of samples in one
 * process shows. So what looks best is timed afresh in LOOKS fresh processes or more: until a t-test of the logarithms of
 * their ratios says that it is faster by more than placing explains (MATERIAL), or cannot. Each of the tests, one a look from
 * LOOKS to LOOKS_MAX, errs with probability 1/80, so all together with 1/20 at most. What passes is timed once more, and that
 * result is what counts, if it says faster as well, and what is recorded against the default.
 *
 * What is in the lead when a search ends was chosen with little known of the others: more of them are looked at then, one
 * look at a time, as long as they are ahead of it.
 *
 * Among schedules that tie, the one with fewest changes is looked at first, and another takes its place only if it is
 * faster by TIED: then searches that went other ways choose the same. */
#include <math.h>
#include <string.h>
#include "session.h"

enum { CONTENDERS_MAX = 16 };
#define MATERIAL 0.99 /* of the default's time: less is not worth a change */
#define TIED     0.99 /* of another's time: less is no difference */

/* Quantiles 79/80 of Student's t for n - 1 degrees of freedom, n looks. */
static const double student[LOOKS_MAX + 1] = {[3] = 6.205, [4] = 4.177, [5] = 3.495, [6] = 3.163};
_Static_assert(LOOKS == 3 && LOOKS_MAX == 6, "student has 3 to 6");

static struct slot *slot_of(const struct tuned *t, const struct point *p, int look)
{
	for (size_t i = 0; i < t->slots.n; i++)
		if (t->slots.a[i]->point == p && t->slots.a[i]->look == look && !t->slots.a[i]->dropped)
			return t->slots.a[i];
	return NULL;
}

static int count_looks(const struct tuned *t, const struct point *p)
{
	int n = 0;

	while (n < LOOKS_MAX && slot_of(t, p, n + 1))
		n++;
	return n;
}

/* What all looks at a point say; *mean: logarithm of its ratio. */
enum finding { FASTER, NOT_FASTER, OPEN, IN_FLIGHT };
static enum finding find(const struct tuned *t, const struct point *p, double *mean);

/* Is a point for which few looks have said so much not worth another? */
static bool behind_champion(const struct tuned *t, const struct point *p, double mean)
{
	double least;

	return t->champion && t->champion->point != p && find(t, t->champion->point, &least) == FASTER && mean >= least;
}

static enum finding find(const struct tuned *t, const struct point *p, double *mean)
{
	int n = count_looks(t, p);
	double sum = 0, squares = 0;

	for (int k = 1; k <= n; k++) {
		const struct slot *x = slot_of(t, p, k);
		if (!x->retired)
			return IN_FLIGHT;
		if (!verdict_timed(x->verdict) || !(x->ratio > 0))
			return NOT_FASTER;
		sum += log(x->ratio);
		squares += log(x->ratio) * log(x->ratio);
	}
	*mean = n ? sum / n : 0;
	if (n < LOOKS)
		return n && behind_champion(t, p, *mean) ? NOT_FASTER : OPEN;
	double deviation = sqrt(fmax(0, (squares - sum * *mean) / (n - 1))), bound = student[n] * deviation / sqrt(n);
	if (*mean + bound < log(MATERIAL))
		return FASTER;
	return *mean >= log(MATERIAL) || n == LOOKS_MAX ? NOT_FASTER : OPEN;
}

static int changes(const struct point *p)
{
	int n = 0;

	for (size_t i = 0; i < p->at.n; i++)
		n += p->at.a[i].decision != p->at.a[i].usual;
	return n;
}

/* Of two that tie, is x the plainer one? */
static bool plainer(const struct point *x, const struct point *y)
{
	if (changes(x) != changes(y))
		return changes(x) < changes(y);
	return x->origin != y->origin ? x->origin < y->origin : strcmp(x->trace, y->trace) < 0;
}

/* Retired, faster than so much of the default's time, and not looked at yet. */
static bool contends(const struct tuned *t, const struct slot *x, double limit)
{
	return !x->look && !x->same && x->retired && verdict_timed(x->verdict) && x->ratio < limit && !slot_of(t, x->point, 1);
}

/* The fastest within so much of the champion, or the plainest of those that tie with it. */
static struct slot *contender(const struct tuned *t, double within)
{
	double limit = fmin((t->champion ? t->champion->ratio : 1) * within, MATERIAL), least = INFINITY;
	struct slot *best = NULL;
	int contenders = 0;

	for (size_t i = 0; i < t->slots.n; i++) {
		struct slot *x = t->slots.a[i];
		contenders += x->look == 1 && !x->dropped;
		if (contends(t, x, limit))
			least = fmin(least, x->ratio);
	}
	for (size_t i = 0; i < t->slots.n; i++) {
		struct slot *x = t->slots.a[i];
		if (contends(t, x, limit) && x->ratio * TIED <= least && (!best || plainer(x->point, best->point)))
			best = x;
	}
	return contenders < CONTENDERS_MAX ? best : NULL;
}

bool is_looking(const struct tuned *t)
{
	for (size_t i = 0; i < t->slots.n; i++)
		if (t->slots.a[i]->look && !t->slots.a[i]->retired && !t->slots.a[i]->dropped)
			return true;
	return false;
}

size_t add_finals(struct tuned *t, struct slot **out)
{
	struct point *best = NULL;
	double least = INFINITY, mean;

	if (t->champion && find(t, t->champion->point, &mean) == FASTER)
		least = mean + log(TIED);
	for (size_t i = 0; i < t->slots.n; i++) {
		struct point *p = t->slots.a[i]->point;
		if (t->slots.a[i]->look == 1 && !slot_of(t, p, LOOK_FINAL) && find(t, p, &mean) == FASTER && mean < least) {
			best = p;
			least = mean;
		}
	}
	if (best)
		out[0] = slot_new(t, best, LOOK_FINAL);
	return best != NULL;
}

size_t add_more_looks(struct tuned *t, struct slot **out)
{
	double mean;

	for (size_t i = 0; i < t->slots.n; i++) {
		struct point *p = t->slots.a[i]->point;
		if (t->slots.a[i]->look != 1 || t->slots.a[i]->dropped || find(t, p, &mean) != OPEN)
			continue;
		out[0] = slot_new(t, p, count_looks(t, p) + 1);
		return 1;
	}
	return 0;
}

size_t add_looks(struct tuned *t, double within, int looks, struct slot **out)
{
	struct slot *x = contender(t, within);
	size_t n = 0;

	for (int k = 1; x && k <= looks; k++)
		out[n++] = slot_new(t, x->point, k);
	return n;
}
