/* Confirmation: is the best point of a search truly faster?
 *
 * A search chose its best point by its measured times, so these flatter it. And where a kernel and its buffers lie in memory changes
 * small kernels by some percent from one process to the next; more samples in one process do not show that. So the best point is timed
 * again, in fresh processes.
 *
 * 1. REMEASUREMENTS or more, up to REMEASUREMENTS_MAX: until a t-test of the logarithms of their ratios says that the point is faster by
 *    more than placement explains (MATERIAL), or is not. One at a time where the task has a choice already. Fewer suffice to say no, if
 *    their mean is above MATERIAL by more than remeasurements scatter. If REMEASUREMENTS_MAX leave it open, the point goes on as long
 *    as further ones that scatter alike could decide.
 * 2. What passes is timed once more. That result counts and is recorded, if it says faster as well; if it is open it is repeated.
 * 3. Late: a phase of the machine may last longer than all this, and favour one kernel throughout (doc/runner.md). So when all other work
 *    is done, the choice of each task gets LATE_REMEASUREMENTS more, in turn with those of the other tasks, and up to LATE_MAX while
 *    the t-test is open. If the mean of all is no longer faster by MATERIAL, another choice or the default takes its place.
 *
 * Each test errs with probability 1/80, so all of them, one a remeasurement from REMEASUREMENTS to FINAL_LAST, with 1/9 at most for a
 * kernel that has just MATERIAL; tests/tune/confirm.c simulates them.
 *
 * The leader at the end of a search was chosen with little known of the others, so they race it (Maron and Moore 1997), one remeasurement
 * at a time: each until its mean is behind the leader's by more than chance explains (BEHIND), or it has REMEASUREMENTS_MAX. The lower
 * mean leads.
 *
 * Of schedules that tie, the one with fewest changes is remeasured first, and another replaces it only if it is faster by AHEAD. So
 * searches that took other ways choose the same. */
#include <math.h>
#include <string.h>
#include "tune/session.h"

enum { CONTENDERS = 16, TRIALS_A_CONTENDER = 16 };
#define MATERIAL KB_MATERIAL
#define TIED     0.99  /* of another's time: two that were timed once tie above that */
#define AHEAD    0.995 /* of the leader's time: a rival must be below */
#define BEHIND   1.5   /* standard deviations of the difference of two means */
#define DIFFER   0.006 /* least standard deviation of the logarithms of remeasurements */

/* Quantiles 79/80 of Student's t for n - 1 degrees of freedom, n remeasurements. */
static const double student[FINAL_LAST + 1] = {
	[3] = 6.205, [4] = 4.177, [5] = 3.495, [6] = 3.163, [7] = 2.969, [8] = 2.841, [9] = 2.752, [10] = 2.685, [11] = 2.634};
_Static_assert(REMEASUREMENTS == 3 && FINAL_LAST == 11, "student has 3 to 11");

static bool is_void(const struct trial *x) { return x->dropped || x->repeat; }

static struct trial *trial_of(const struct tuned *t, const struct point *p, int remeasurement)
{
	for (size_t i = 0; i < t->remeasurements.n; i++)
		if (t->remeasurements.a[i]->point == p && t->remeasurements.a[i]->remeasurement == remeasurement &&
		    !is_void(t->remeasurements.a[i]))
			return t->remeasurements.a[i];
	return NULL;
}

static int count_remeasurements(const struct tuned *t, const struct point *p)
{
	int n = 0;

	while (n < REMEASUREMENTS_MAX && trial_of(t, p, n + 1))
		n++;
	return n;
}

/* Remeasurements of a point: their number, and sums over the logarithms of their ratios. */
struct ratios {
	int n;
	double sum, squares;
};

static void add_ratio(struct ratios *l, double ratio)
{
	l->n++;
	l->sum += log(ratio);
	l->squares += log(ratio) * log(ratio);
}

static double mean_of(const struct ratios *l) { return l->n ? l->sum / l->n : 0; }

/* Sum of squared deviations from their mean. */
static double scatter(const struct ratios *l) { return fmax(0, l->squares - l->sum * mean_of(l)); }

/* All remeasurements of a point. false: one is in flight, or has no ratio (*failed). */
static bool gather(const struct tuned *t, const struct point *p, struct ratios *l, bool *failed)
{
	*l = (struct ratios){0};
	*failed = false;
	for (int k = 1, n = count_remeasurements(t, p); k <= n; k++) {
		const struct trial *x = trial_of(t, p, k);
		if (!x->retired)
			return false;
		*failed = !verdict_timed(x->result.verdict) || !(x->result.ratio > 0);
		if (*failed)
			return false;
		add_ratio(l, x->result.ratio);
	}
	return true;
}

/* The retired remeasurements of the point of a final one, and that one. */
static struct ratios with_final(const struct tuned *t, const struct trial *final)
{
	struct ratios l = {0};

	for (size_t i = 0; i < t->remeasurements.n; i++) {
		const struct trial *x = t->remeasurements.a[i];
		if (x->point == final->point && (x->retired || x == final) && verdict_timed(x->result.verdict) && x->result.ratio > 0)
			add_ratio(&l, x->result.ratio);
	}
	return l;
}

double mean_ratio(const struct tuned *t, const struct trial *final)
{
	struct ratios l = with_final(t, final);

	return exp(mean_of(&l));
}

int count_ratios(const struct tuned *t, const struct trial *final) { return with_final(t, final).n; }

/* Half the width of the confidence interval of the mean of n remeasurements that scatter as these do. */
static double bound_of(const struct ratios *l, int n) { return student[n] * sqrt(scatter(l) / (l->n - 1)) / sqrt(n); }

/* Do all remeasurements together say that it is faster by more than placement explains? */
static bool is_sure(const struct tuned *t, const struct trial *last)
{
	struct ratios l = with_final(t, last);

	return mean_of(&l) + bound_of(&l, l.n) < log(MATERIAL);
}

double point_ratio(const struct tuned *t, const struct point *p)
{
	struct ratios l = {0};

	for (size_t i = 0; i < t->trials.n; i++) {
		const struct trial *x = t->trials.a[i];
		if (x->point == p && x->retired && verdict_timed(x->result.verdict) && x->result.ratio > 0)
			add_ratio(&l, x->result.ratio);
	}
	return l.n ? exp(mean_of(&l)) : 0;
}

/* Has a remeasurement that counts, this one or an earlier one, said faster? */
static bool has_won(const struct tuned *t, const struct trial *last)
{
	bool won = last->result.verdict == VERDICT_FASTER;

	for (int k = FINAL; k < last->remeasurement && !won; k++) {
		const struct trial *x = trial_of(t, last->point, k);
		won = x && x->retired && x->result.verdict == VERDICT_FASTER;
	}
	return won;
}

bool is_kept(const struct tuned *t, const struct trial *last)
{
	if (!verdict_timed(last->result.verdict) || !has_won(t, last))
		return false;
	return last->remeasurement == FINAL || is_sure(t, last) || (last->remeasurement < FINAL_LAST && mean_ratio(t, last) < MATERIAL);
}

/* The last remeasurement of that point that counts; NULL: there is none, or it is not kept. */
static const struct trial *stands(const struct tuned *t, const struct point *p)
{
	const struct trial *last = NULL, *x;

	for (int k = FINAL; k <= FINAL_LAST && (x = trial_of(t, p, k)) && x->retired; k++)
		last = x;
	return last && is_kept(t, last) ? last : NULL;
}

const struct trial *find_champion(const struct tuned *t)
{
	const struct trial *best = NULL, *x;

	for (size_t i = 0; i < t->remeasurements.n; i++)
		if (t->remeasurements.a[i]->remeasurement == FINAL && (x = stands(t, t->remeasurements.a[i]->point)) &&
		    (!best || mean_ratio(t, x) < mean_ratio(t, best)))
			best = x;
	return best;
}

/* Standard deviation of remeasurements of a point, pooled over all points of the task. */
static double differ(const struct tuned *t)
{
	double sum = 0;
	int freedom = 0;

	for (size_t i = 0; i < t->remeasurements.n; i++) {
		struct ratios l;
		bool failed;
		if (t->remeasurements.a[i]->remeasurement != 1 || is_void(t->remeasurements.a[i]) ||
		    !gather(t, t->remeasurements.a[i]->point, &l, &failed) || l.n < 2)
			continue;
		sum += scatter(&l);
		freedom += l.n - 1;
	}
	return fmax(DIFFER, freedom ? sqrt(sum / freedom) : 0);
}

/* Distance of p from the leader, in logarithms of means; *chance: how much chance explains. 0, 0: p leads, or nothing does. */
static double lead_on(const struct tuned *t, const struct point *p, const struct ratios *l, double differs, double *chance)
{
	*chance = 0;
	if (!t->champion || t->champion->point == p || !l->n)
		return 0;
	struct ratios leader = with_final(t, t->champion);
	*chance = BEHIND * differs * sqrt(1.0 / l->n + 1.0 / leader.n);
	return mean_of(l) - mean_of(&leader);
}

/* What all remeasurements of a point say. differs: see differ(); *mean: the logarithm of its mean ratio. */
enum finding { FASTER, NOT_FASTER, OPEN, IN_FLIGHT };
static enum finding find(const struct tuned *t, const struct point *p, double differs, double *mean)
{
	struct ratios l;
	bool failed;
	double chance;

	if (!gather(t, p, &l, &failed))
		return failed ? NOT_FASTER : IN_FLIGHT;
	*mean = mean_of(&l);
	double lead = lead_on(t, p, &l, differs, &chance);
	if (chance > 0 && lead > chance)
		return NOT_FASTER;
	if (l.n < REMEASUREMENTS)
		return *mean - BEHIND * differs / sqrt(l.n) > log(MATERIAL) ? NOT_FASTER : OPEN;
	if (*mean + bound_of(&l, l.n) < log(MATERIAL))
		return chance > 0 && fabs(lead) < chance && l.n < REMEASUREMENTS_MAX ? OPEN : FASTER;
	if (l.n == REMEASUREMENTS_MAX)
		return *mean + bound_of(&l, FINAL_LAST) / 2 < log(MATERIAL) ? FASTER : NOT_FASTER;
	return *mean >= log(MATERIAL) ? NOT_FASTER : OPEN;
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

/* Is x a retired trial of the search with a ratio below limit that was not remeasured yet? */
static bool contends(const struct tuned *t, const struct trial *x, double limit)
{
	return !x->remeasurement && !x->same && x->retired && verdict_timed(x->result.verdict) && x->result.ratio < limit &&
	       !trial_of(t, x->point, 1);
}

/* The fastest trial within so much of the champion, or the plainest of those that tie with it. */
static struct trial *contender(const struct tuned *t, double within)
{
	double limit = fmin((t->champion ? mean_ratio(t, t->champion) : 1) * within, MATERIAL), least = INFINITY;
	struct trial *best = NULL;
	size_t contenders = 0;

	for (size_t i = 0; i < t->trials.n; i++) {
		struct trial *x = t->trials.a[i];
		contenders += x->remeasurement == 1 && !is_void(x);
		if (contends(t, x, limit))
			least = fmin(least, x->result.ratio);
	}
	for (size_t i = 0; i < t->trials.n; i++) {
		struct trial *x = t->trials.a[i];
		if (contends(t, x, limit) && x->result.ratio * TIED <= least && (!best || plainer(x->point, best->point)))
			best = x;
	}
	return contenders < CONTENDERS + t->proposed / TRIALS_A_CONTENDER ? best : NULL;
}

bool is_remeasuring(const struct tuned *t)
{
	for (size_t i = 0; i < t->remeasurements.n; i++)
		if (!t->remeasurements.a[i]->retired && !t->remeasurements.a[i]->dropped)
			return true;
	return false;
}

/* The remeasurement that counts and is due at a point that the others found faster: the first, or one more if that is open
 * (doc/runner.md). 0: none. */
static int final_due(const struct tuned *t, const struct point *p)
{
	const struct trial *x = trial_of(t, p, FINAL);
	bool open = x && x->retired && (x->result.verdict == VERDICT_UNSURE || x->result.verdict == VERDICT_TIE);

	if (!x)
		return FINAL;
	return open && !trial_of(t, p, FINAL + 1) ? FINAL + 1 : 0;
}

size_t add_finals(struct tuned *t, struct trial **out)
{
	struct point *best = NULL;
	double least = t->champion ? log(mean_ratio(t, t->champion) * AHEAD) : INFINITY, differs = differ(t), mean;

	for (size_t i = 0; i < t->remeasurements.n; i++) {
		struct point *p = t->remeasurements.a[i]->point;
		if (t->remeasurements.a[i]->remeasurement == 1 && final_due(t, p) && find(t, p, differs, &mean) == FASTER && mean < least) {
			best = p;
			least = mean;
		}
	}
	if (best)
		out[0] = trial_new(t, best, final_due(t, best));
	return best != NULL;
}

size_t add_more_remeasurements(struct tuned *t, struct trial **out)
{
	double differs = differ(t), mean;

	for (size_t i = 0; i < t->remeasurements.n; i++) {
		struct point *p = t->remeasurements.a[i]->point;
		if (t->remeasurements.a[i]->remeasurement != 1 || is_void(t->remeasurements.a[i]) || find(t, p, differs, &mean) != OPEN)
			continue;
		out[0] = trial_new(t, p, count_remeasurements(t, p) + 1);
		return 1;
	}
	return 0;
}

size_t add_late_remeasurements(struct tuned *t, struct trial **out)
{
	const struct trial *c = t->champion;

	if (!c || c->remeasurement == FINAL_LAST || (c->remeasurement >= FINAL + LATE_REMEASUREMENTS && is_sure(t, c)))
		return 0;
	out[0] = trial_new(t, c->point, c->remeasurement + 1);
	return 1;
}

size_t add_remeasurements(struct tuned *t, double within, int count, struct trial **out)
{
	struct trial *x = contender(t, within);
	size_t n = 0;

	for (int k = 1; x && k <= count; k++)
		out[n++] = trial_new(t, x->point, k);
	return n;
}
