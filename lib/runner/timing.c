/* Times candidate and base in turns until the sequential test knows enough. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/progress.h"
#include "runner/runner.h"
#include "runner/sequential.h"
#include "runner/try_impl.h"
#include "runner/noise_probe.h"

enum { MOST_ROUNDS = 6, FEW_ROUNDS = 3 };
#define LITTLE     0.06  /* of the second-level cache: too little to need calls before timing */
#define SILENCE    0.025 /* seconds to wait for the end of a slow phase with other work stopped, */
#define PATIENCE   0.15  /* and in all: about what a new try costs */
#define BASE_SLOW  1.12  /* times the base's usual time: slow */
#define BASE_OTHER 1.6   /* the same: the candidate slows its base down */
#define SLOW_SHARE 0.4   /* of the budget may be lost in slow phases; */
#define SLOW_TIMES 1     /* so many times the budget, if it makes progress: */
#define AGREES     1.2   /* the proven ratio may be so many times the timed one, */
#define HALF       0.01  /* and at most so much above halfway to 1; */
#define PROVEN     0.97  /* else a proven ratio below this still means faster */
#define GETS_ON    0.33  /* share of quiet pairs that is progress */
static const double sample_seconds = 50e-6, warm_seconds = 5e-4, pair_seconds = 3e-3, long_seconds = 12e-3, settle_seconds = 8e-3;

struct clock {
	struct order o;
	double least[2]; /* of a call, seconds */
	size_t again;    /* pairs measured again */
	double limit;    /* seconds for a pair; */
	bool feels;      /* its samples are shorter than most slow phases; longer ones have of both kinds */
	struct noise_probe probe;
	double slow;   /* seconds of pairs that were taken in slow phases, */
	size_t nslow;  /* and how many there were */
	bool quiesced; /* all else has been told to stand still; */
	bool released; /* it was, and need not any more */
	bool late;     /* its time is up, and it has no pair yet: the next is taken as it is */
};

static bool calibrate(struct run *x, struct clock *c)
{
	enum { MOST = 1 << 20, ORDERS = 6 };
	static const char what[] = "first calls timed";
	double spent;
	bool enough;

	for (int which = 0; which < 2; which++) {
		uint32_t n = 1, orders = 0;
		double start = now_seconds(), one = INFINITY;
		/* Short samples are biased by what a first call costs, so double until one is long enough. Take several:
		 * a slow phase could inflate all of a few, and then there would be few rounds. */
		do {
			struct order o = {.kind = ORDER_RUN,
					  .which = which,
					  .place = PLACE_TIMED,
					  .times = n,
					  .timed = true,
					  .first = rng_u64(&x->rng)};
			if (!run_order(x, o, which, run_deadline(x) + n * (isfinite(one) ? one : 0) * TRY_TIMES, what))
				return false;
			uint64_t ns = x->subject.shared->run_ns;
			if (!run_believe(x, ns))
				return false;
			spent = 1e-9 * (double)ns;
			one = fmin(one, spent / n);
			enough = spent >= sample_seconds || n >= MOST;
			n *= enough ? 1 : 2;
			orders++;
			spent = now_seconds() - start;
		} while (!enough || spent < warm_seconds || (orders < ORDERS && spent < pair_seconds));
		one = fmax(one, 1e-9);
		c->o.reps[which] = (uint32_t)fmin(ceil(sample_seconds / one), MOST);
		c->o.warm[which] = one < sample_seconds;
		c->least[which] = one;
		c->limit += (c->o.reps[which] + c->o.warm[which]) * one;
	}
	return true;
}

/* Is one of the two samples far above the least of its kind, and the other not? Then a slow phase, or another program, began or ended
 * within the pair. The test does not know which is the candidate, so it favours neither. */
static bool disturbed(struct clock *c, double candidate, double base)
{
	c->least[CANDIDATE] = fmin(c->least[CANDIDATE], candidate);
	c->least[BASE] = fmin(c->least[BASE], base);
	double u = candidate / c->least[CANDIDATE], v = base / c->least[BASE];
	return fmax(u, v) > 1.25 * fmin(u, v);
}

static void tell(const struct run *x, struct clock *c, enum quiesce quiesce)
{
	struct quiesce_message w = {getpid(), quiesce};

	c->quiesced = quiesce == QUIESCE_ON;
	if (x->t->quiesce >= 0)
		(void)!write(x->t->quiesce, &w, sizeof w);
}

/* Waits for the end of a slow phase, first with all other work of this service stopped. That work goes on when the phase ends; if another
 * begins, the work may be the cause, and stops until the try ends. False: the phase lasts. */
static bool wait_quiet(const struct run *x, struct clock *c)
{
	enum { TIMES = 6, PAUSE_US = 500 };
	double start = now_seconds(), t;

	while (noise_probe_note(&c->probe, t = noise_probe_take(TIMES), now_seconds()), !noise_probe_quiet(&c->probe, t)) {
		double spent = now_seconds() - start;
		if (!c->quiesced && spent < SILENCE)
			tell(x, c, QUIESCE_ON);
		if (c->quiesced && spent >= SILENCE)
			tell(x, c, QUIESCE_IN_VAIN);
		if (spent > PATIENCE)
			return false;
		usleep(PAUSE_US);
	}
	if (c->quiesced && !c->released) {
		tell(x, c, QUIESCE_OVER);
		c->released = true;
	}
	return true;
}

/* Copies the times out of shared memory, which the subject may change until it ends. False: they cannot be true. */
static bool take_times(struct run *x, uint32_t pairs, uint64_t (*ns)[2], uint32_t *quiet)
{
	uint64_t sum = 0;

	memcpy(ns, x->subject.shared->ns, pairs * sizeof *ns);
	memcpy(quiet, x->subject.shared->quiet, pairs * sizeof *quiet);
	for (uint32_t i = 0; i < pairs; i++)
		for (int k = 0; k < 2; k++)
			if (__builtin_add_overflow(sum, ns[i][k], &sum))
				sum = UINT64_MAX;
	return run_believe(x, sum);
}

static bool take_block(struct run *x, struct clock *c, struct sequential *s, bool *decided)
{
	enum { MOST_AGAIN = 20 };
	uint64_t ns[BLOCK_PAIRS][2];
	uint32_t quiet[BLOCK_PAIRS];
	double start = now_seconds();
	uint32_t slow = 0;
	bool as_is = x->t->last || c->late;

	run_poison(x, CANDIDATE, PLACE_TIMED);
	run_poison(x, BASE, PLACE_TIMED);
	c->o.first = rng_u64(&x->rng);
	c->o.quiet = as_is || !c->feels ? INFINITY : NOISE_PROBE_SLOW * c->probe.quiet;
	if (!run_order(x, c->o, CANDIDATE, TRY_LEAST_SECONDS + TRY_TIMES * c->o.pairs * c->limit, "timing") ||
	    !take_times(x, c->o.pairs, ns, quiet) || !run_check_block(x, c->o.first))
		return false;
	for (uint32_t i = 0; i < c->o.pairs && !*decided; i++) {
		double t[2];
		for (int k = 0; k < 2; k++)
			t[k] = 1e-9 * (double)ns[i][k] / c->o.reps[k];
		if (!(t[0] > 0) || !(t[1] > 0))
			continue;
		if (!quiet[i] && !as_is) {
			slow++;
			continue;
		}
		if (disturbed(c, t[CANDIDATE], t[BASE]) && !c->late && c->again < x->r->npairs + MOST_AGAIN) {
			c->again++;
			continue;
		}
		if (x->r->npairs == x->most)
			break;
		x->r->pair[x->r->npairs++] = (struct sample_pair){(uint64_t)(1e12 * t[CANDIDATE]), (uint64_t)(1e12 * t[BASE])};
		*decided = sequential_add(s, t[CANDIDATE], t[BASE], &x->r->verdict);
	}
	c->slow += (now_seconds() - start) * slow / c->o.pairs;
	c->nslow += slow;
	return true;
}

/* A lie would claim faster. If the proof finds a smaller gain than was timed, the proof's ratio is reported. */
static bool confirm(struct run *x, const struct clock *c)
{
	enum { TRIES = 4 };
	double seen = INFINITY;
	struct measurement *r = x->r;
	double most = fmin(AGREES * r->ratio, (1 + r->ratio) / 2 + HALF);

	for (int i = 0; i < TRIES && seen > most; i++) {
		double ratio;
		if (!proof_run(x, c->least, &ratio))
			return false;
		seen = fmin(seen, ratio);
	}
	if (seen <= most)
		return true;
	if (seen > PROVEN)
		run_judge(x, VERDICT_UNSURE,
			  arena_printf(x->a, "its times do not agree: %.3g of the base's, but %.3g of its CPU time", r->ratio, seen));
	r->ratio = seen;
	r->hi = fmax(r->hi, seen);
	return true;
}

/* Should the try end and be repeated later? A new try begins without pairs, so not while enough pairs are quiet. */
static bool too_slow(const struct run *x, const struct clock *c)
{
	bool gets_on = (double)x->r->npairs >= GETS_ON * (double)(x->r->npairs + c->nslow);

	return c->slow > (gets_on ? SLOW_TIMES : SLOW_SHARE) * x->t->budget + 2 * c->limit;
}

static bool take_pairs(struct run *x, struct clock *c, struct sequential *s, bool *slow)
{
	double end = now_seconds() + x->t->budget;
	bool decided = false, good = true;

	while (good && !decided && !c->late && x->r->npairs < x->most) {
		c->late = now_seconds() >= end + c->slow;
		if (c->late && x->r->npairs)
			break;
		*slow = !x->t->last && (too_slow(x, c) || !wait_quiet(x, c));
		if (*slow)
			return true;
		double fit = 0.02 / c->limit; /* a block is about 20 ms, or a pair */
		c->o.pairs = (uint32_t)fmax(1, fmin(fmin(BLOCK_PAIRS, fit), (double)sequential_want(s)));
		good = take_block(x, c, s, &decided);
	}
	if (good && !decided)
		x->r->verdict = sequential_end(s);
	if (good) {
		x->r->ratio = s->ratio;
		x->r->lo = s->lo;
		x->r->hi = s->hi;
	}
	return good;
}

/* How much of what a call of the base reads and writes comes from beyond the second-level cache, as a share of that cache, at most 1. If
 * cold weights are much of it: all. */
static double beyond(const struct run *x)
{
	const struct runner_build *b = &x->t->artifact[BASE]->build;
	uint64_t all = 0, turn = 0, l2 = (uint64_t)target_host()->l2;

	for (int i = 0; i < b->nin + b->nconst + b->nout; i++) {
		uint64_t n = runner_buf_bytes(&b->buf[i]);
		all += n;
		turn += x->t->cold[BASE] && i >= b->nin && i < b->nin + b->nconst ? n : 0;
	}
	if (turn > l2 / 8 || turn > all / 2)
		return 1;
	return all > l2 ? fmin(1, (double)(all - l2) / (double)l2) : 0;
}

static bool is_large(const struct run *x) { return beyond(x) > 0; }

/* Calls before timing. Operands from beyond the second-level cache gradually displace what else was in the shared caches; the first
 * pairs are slower, and not equally for both kernels (doc/runner.md). */
static bool settle(struct run *x, const struct clock *c)
{
	struct order o = c->o;
	double share = beyond(x);

	o.pairs = (uint32_t)fmax(1, fmin(BLOCK_PAIRS, round(share * settle_seconds / c->limit)));
	o.quiet = INFINITY;
	return share < LITTLE || run_order(x, o, CANDIDATE, TRY_LEAST_SECONDS + TRY_TIMES * o.pairs * c->limit, "timing");
}

/* How many times its usual time has the base taken? 0: it was never timed before. The noise probe runs in registers and does not notice what
 * others do to shared caches and memory. A kernel with operands there does, and then all kernels look alike (doc/runner.md). So the base
 * is a second noise probe. */
static double base_slowness(const struct run *x)
{
	struct noise_probe usual;
	uint64_t least = UINT64_MAX;

	if (!x->r->npairs)
		return 0;
	for (size_t i = 0; i < x->r->npairs; i++)
		least = x->r->pair[i].base < least ? x->r->pair[i].base : least;
	double t = 1e-12 * (double)least;
	noise_probe_open(&usual, x->t->artifact[BASE]->usual);
	double quiet = usual.quiet;
	noise_probe_note(&usual, t, now_seconds());
	return t / quiet;
}

/* c->limit is the time of a round, then of a pair. If calls are long, a few rounds are worth their time: call times are skewed, so fewer
 * pairs of several rounds have the smaller error (doc/runner.md). */
static void plan_rounds(struct clock *c)
{
	double n = fmax(pair_seconds / c->limit, fmin(FEW_ROUNDS, long_seconds / c->limit));

	c->feels = c->limit <= pair_seconds / FEW_ROUNDS;
	c->o.rounds = (uint32_t)fmax(1, fmin(MOST_ROUNDS, n));
	c->limit *= c->o.rounds;
}

static bool time_kernels(struct run *x, struct clock *c, bool *slow)
{
	struct sequential s;

	noise_probe_open(&c->probe, x->t->noise_probe);
	run_fill_constants(x, CANDIDATE, PLACE_TIMED);
	run_fill_constants(x, BASE, PLACE_TIMED);
	run_fill_seed(x, CANDIDATE, PLACE_TIMED, SEED_TIMED);
	run_fill_seed(x, BASE, PLACE_TIMED, SEED_TIMED);
	run_plan_changes(x);
	run_poison(x, CANDIDATE, PLACE_TIMED);
	if (!calibrate(x, c))
		return false;
	plan_rounds(c);
	if (!settle(x, c))
		return false;
	sequential_init(&s, x->t->goal, x->t->width, x->t->once);
	bool good = take_pairs(x, c, &s, slow);
	sequential_free(&s);
	double slowness = good && !*slow ? base_slowness(x) : 0;
	*slow |= slowness > BASE_SLOW && is_large(x) && x->t->patient;
	if (*slow || !good)
		return good;
	if (x->r->verdict == VERDICT_FASTER && slowness > BASE_OTHER) { /* a candidate that slows its base down is not faster */
		run_judge(x, VERDICT_UNSURE, arena_printf(x->a, "the base took %.3g times as long as it does beside others", slowness));
		return false;
	}
	bool better = x->r->verdict == VERDICT_FASTER || (x->r->verdict == VERDICT_UNSURE && x->r->ratio < 1 - SEQ_LEAST);
	if (better && !sequential_behind(x->t->goal, x->r->lo) && !confirm(x, c))
		return false;
	return run_check_last(x, SEED_OTHER, better);
}

bool timing_run(struct run *x, bool *slow)
{
	struct clock c = {.o = {.kind = ORDER_TIME, .place = PLACE_TIMED}};
	bool good = time_kernels(x, &c, slow);

	if (c.quiesced) /* before another gets the lock: it might be stopped while it holds it, and this try wait for it */
		tell(x, &c, QUIESCE_OVER);
	return good;
}
