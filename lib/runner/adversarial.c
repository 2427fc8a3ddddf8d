#include "runner/adversarial.h"
#include <math.h>
#include "common/half.h"
#include "common/rng.h"

/* What dominates lies this far above what dominates smaller groups, or the others of its line,
 * which are below it. */
static const double step_up = 8192, within = 2048;
/* With the last seed, times as large. */
static const double larger = 8;

struct axis {
	int64_t extent, stride;
	int64_t step;  /* from one place to the one after it, of those that are neither first nor
			  last */
	int64_t shift; /* places, in that order, from turn to turn */
};
struct axes { /* with more than one element; the first is that of the lines */
	int n;
	int64_t count, turn;
	struct axis a[ORACLE_RANK_MAX];
};

static double get(const struct oracle_tensor *t, const void *x, int64_t i)
{
	switch (t->dtype) {
	case DT_F32: return ((const float *)x)[i];
	case DT_F64: return ((const double *)x)[i];
	default: return half_to_float(((const uint16_t *)x)[i]);
	}
}

static void set(const struct oracle_tensor *t, void *x, int64_t i, double v)
{
	switch (t->dtype) {
	case DT_F32: ((float *)x)[i] = (float)v; break;
	case DT_F64: ((double *)x)[i] = v; break;
	default: ((uint16_t *)x)[i] = float_to_half((float)v); break;
	}
}

static int64_t common_divisor(int64_t a, int64_t b) { return b ? common_divisor(b, a % b) : a; }

/* The largest up to most by which one comes everywhere around a ring of n; 1 at least. */
static int64_t ring_step(int64_t most, int64_t n)
{
	while (most > 1 && common_divisor(most, n) > 1)
		most--;
	return most > 1 ? most : 1;
}

static struct axis new_axis(int64_t extent, int64_t stride, int64_t count)
{
	int64_t lines = count / extent;

	return (struct axis){extent, stride, .step = ring_step((int64_t)(0.618 * (double)(extent - 2)), extent - 2),
			     .shift = ring_step(lines < extent ? lines : 1, extent)};
}

/* Axes b to e of the tensor, contiguous together, as one if they have those many elements; -1: none
 * have. */
static int find_run(const struct oracle_tensor *t, double elements, int *end)
{
	for (int b = t->rank - 1; b >= 0; b--) {
		double n = 1;
		for (int e = b; e < t->rank && n < elements; e++) {
			n *= (double)t->shape[e];
			*end = e + 1;
		}
		if (n == elements && n > 1)
			return b;
	}
	return -1;
}

/* The contiguous one first; those of the longest maximum are one, *maximum (-1: the input has none
 * like that). */
static struct axes axes_of(const struct oracle_task *task, int input, int *maximum)
{
	const struct oracle_tensor *t = &task->t[input];
	struct axes x = {.count = 1};
	int end = 0, begin = find_run(t, task->maximum, &end);

	*maximum = -1;
	for (int i = t->rank - 1; i >= 0; i--) {
		int64_t extent = t->shape[i];
		bool run = begin >= 0 && i == end - 1;
		for (; run && i > begin; i--)
			extent *= t->shape[i - 1];
		if (run)
			*maximum = x.n;
		if (extent > 1)
			x.a[x.n++] = new_axis(extent, x.count, t->n);
		x.count *= extent;
	}
	if (!t->rank && t->n > 1)
		x = (struct axes){1, t->n, 0, {new_axis(t->n, 1, t->n)}};
	return x;
}

/* Turns until each place of an axis was the dominant one of a line, or of each line. */
static int64_t turns(const struct axes *x, const struct axis *a, bool of_each)
{
	int64_t lines = x->count / a->extent;

	if (of_each)
		return a->extent;
	return lines < a->extent ? (a->extent + a->shift - 1) / a->shift : 0;
}

/* In the order of a seed. That of the maximum, else one so long that no seed has lines for all its
 * places, begins as often as it takes, but for one turn of each other axis. */
static struct axes axes_in_turn(const struct oracle_task *t, int input, int seed, int seeds)
{
	int maximum, main = 0;
	struct axes all = axes_of(t, input, &maximum), x = all;

	if (!all.n)
		return all;
	for (int i = 0; i < all.n; i++)
		main = all.a[i].extent > all.a[main].extent ? i : main;
	if (maximum >= 0)
		main = maximum;
	int64_t takes = turns(&all, &all.a[main], maximum >= 0), most = seeds > all.n ? seeds - all.n + 1 : 1;
	takes = takes < most ? takes : most;
	int first = seed < takes ? main : (int)((seed - takes) % all.n);
	x.turn = seed < takes ? seed : (seed - takes) / all.n + (first == main ? takes : 0);
	for (int i = 0; i < all.n; i++)
		x.a[i] = all.a[(first + i) % all.n];
	return x;
}

static int64_t place(const struct axis *a, int64_t i)
{
	i %= a->extent;
	if (i < 2)
		return i ? 0 : a->extent - 1;
	return 1 + (i - 2) * a->step % (a->extent - 2);
}

/* The element of line j that dominates it. Lines next to each other have places next to each other;
 * from turn to turn they go on by as many as there are lines, or a few less, so that in time each
 * line comes to every place. */
static int64_t dominant_of_line(const struct axes *x, int64_t j, bool below)
{
	int64_t places = x->a[0].extent, at = 0, i = x->turn * x->a[0].shift;

	for (int64_t rest = j; rest; rest /= places) /* lines of the same place along one axis differ along others */
		i += rest % places;
	for (int k = 1; k < x->n; j /= x->a[k++].extent)
		at += j % x->a[k].extent * x->a[k].stride;
	return at + place(&x->a[0], i + (below ? places / 2 : 0)) * x->a[0].stride;
}

/* Of group j along the first axes, of which there are so many: one of those that dominate its
 * parts, in turns. */
static int64_t dominant(const struct axes *x, int axes, int64_t groups, int64_t j, bool below)
{
	for (; axes > 1; axes--) {
		int64_t parts = x->a[axes - 1].extent, i = j + x->turn * groups;
		j = j * parts + place(&x->a[axes - 1], i + i / parts + (below ? parts / 2 : 0));
		groups *= parts;
	}
	return dominant_of_line(x, j, below);
}

int adversarial_seeds(const struct oracle_task *t)
{
	int64_t n = 0, seeds = (int64_t)fmin(t->maximum + ORACLE_RANK_MAX - 1, ADVERSARIAL_MOST_SEEDS);

	for (int i = 0; i < t->nin + t->nout; i++)
		n += t->t[i].n;
	if (seeds < ADVERSARIAL_SEEDS)
		seeds = ADVERSARIAL_SEEDS;
	if (n && ADVERSARIAL_ELEMENTS / n < seeds)
		seeds = ADVERSARIAL_ELEMENTS / n;
	return seeds ? (int)seeds + 1 : 0;
}

void adversarial_add(const struct oracle_task *task, int input, void *x, int seed, int seeds)
{
	const struct oracle_tensor *t = &task->t[input];
	bool last = seed == seeds - 1;

	if (t->dtype != DT_F32 && t->dtype != DT_F64 && t->dtype != DT_F16)
		return;
	for (int64_t i = 0; last && i < t->n; i++)
		set(t, x, i, larger * get(t, x, i));
	if (last)
		return;
	struct axes axes = axes_in_turn(task, input, seed, seeds - 1);
	struct rng r = {((uint64_t)seed << 16) + (uint64_t)input};
	int64_t groups = axes.count;

	for (int64_t i = 0; i < t->n; i++) {
		double u = rng_unit(&r);
		set(t, x, i, get(t, x, i) * exp2(10 * u * u));
	}
	for (int n = 1; n <= axes.n; n++) {
		groups /= axes.a[n - 1].extent;
		for (int64_t j = 0; j < groups; j++) {
			set(t, x, dominant(&axes, n, groups, j, false), step_up * n + within * rng_unit(&r));
			set(t, x, dominant(&axes, n, groups, j, true), -step_up * n - within * rng_unit(&r));
		}
	}
}
