/* What is truly faster. A search's best was chosen by its numbers, so they flatter it; and where a kernel and its buffers
 * happen to lie changes small kernels by some percent from one process to the next, which no number of samples in one
 * process shows. So what looks best is timed afresh in LOOKS processes; if it is faster over all of them, by a t-test of
 * the logarithms of their ratios, it is timed once more, and that result is what counts and what is recorded against the
 * default. */
#include <math.h>
#include "session.h"

enum { CONTENDERS_MAX = 8 };
#define STUDENT  2.92  /* quantile 0.95 of Student's t for LOOKS - 1 = 2 degrees of freedom */
#define MATERIAL 0.995 /* of the default's time: less is not worth a change */

_Static_assert(LOOKS == 3, "STUDENT is for three");

static struct slot *slot_of(const struct tuned *t, const struct point *p, int look)
{
	for (size_t i = 0; i < t->slots.n; i++)
		if (t->slots.a[i]->point == p && t->slots.a[i]->look == look && !t->slots.a[i]->dropped)
			return t->slots.a[i];
	return NULL;
}

static bool looked_at(const struct tuned *t, const struct point *p)
{
	for (int k = 1; k <= LOOKS; k++)
		if (!slot_of(t, p, k))
			return false;
	return true;
}

/* Over all looks. */
static bool is_faster(const struct tuned *t, const struct point *p)
{
	double sum = 0, squares = 0;

	for (int k = 1; k <= LOOKS; k++) {
		const struct slot *x = slot_of(t, p, k);
		if (!x || !x->retired || !verdict_timed(x->verdict) || !(x->ratio > 0))
			return false;
		sum += log(x->ratio);
		squares += log(x->ratio) * log(x->ratio);
	}
	double mean = sum / LOOKS, deviation = sqrt(fmax(0, (squares - sum * mean) / (LOOKS - 1)));
	return mean + STUDENT * deviation / sqrt(LOOKS) < log(MATERIAL);
}

/* The fastest point that has been retired, not looked at, and within so much of the champion. */
static struct slot *contender(const struct tuned *t, double within)
{
	double limit = (t->champion ? t->champion->ratio : 1) * within;
	struct slot *best = NULL;
	int contenders = 0;

	for (size_t i = 0; i < t->slots.n; i++) {
		struct slot *x = t->slots.a[i];
		contenders += x->look == 1 && !x->dropped;
		if (x->look || x->same || !x->retired || !verdict_timed(x->verdict) || x->ratio >= fmin(limit, MATERIAL))
			continue;
		if ((!best || x->ratio < best->ratio) && !looked_at(t, x->point))
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
	size_t n = 0;

	for (size_t i = 0, all = t->slots.n; i < all && n < LOOKS; i++) {
		const struct point *p = t->slots.a[i]->point;
		if (t->slots.a[i]->look == 1 && !slot_of(t, p, LOOK_FINAL) && is_faster(t, p))
			out[n++] = slot_new(t, t->slots.a[i]->point, LOOK_FINAL);
	}
	return n;
}

size_t add_looks(struct tuned *t, double within, struct slot **out)
{
	struct slot *x = contender(t, within);
	size_t n = 0;

	for (int k = 1; x && k <= LOOKS; k++)
		if (!slot_of(t, x->point, k))
			out[n++] = slot_new(t, x->point, k);
	return n;
}
