/* The sequential test on pairs of times, on simulated ones. */
#include <math.h>
#include "common/rng.h"
#include "runner/sequential.h"
#include "tap.h"

/* Against a goal: how many pairs it takes to be done with what is behind it, and how often what is better is taken for that. */
static void test_goal(void)
{
	enum { RUNS = 2000, PAIRS = 400 };
	static const double goal = 0.8, width = 0.03, times[] = {0.79, 0.85, 0.92};
	struct rng r = {2};

	for (int k = 0; k < 3; k++) {
		int behind = 0, wide = 0, most = 0;
		for (int run = 0; run < RUNS; run++) {
			struct sequential s;
			enum verdict v = VERDICT_UNSURE;
			bool decided = false;
			sequential_init(&s, goal, width, false);
			for (int i = 0; i < PAIRS && !decided; i++)
				decided = sequential_add(&s, times[k] * exp(0.01 * rng_normal(&r)), exp(0.01 * rng_normal(&r)), &v);
			bool given_up = s.lo > goal * (1 + SEQ_BEHIND);
			behind += given_up;
			wide += !given_up && !(v == VERDICT_FASTER && s.hi - s.lo <= width * s.ratio);
			most = s.x.n > (size_t)most ? (int)s.x.n : most;
			sequential_free(&s);
		}
		ok((k ? behind == RUNS : behind <= RUNS / 100) && !wide && (k < 2 || most <= 9),
		   "%g of the base's time, goal %g: %d of %d behind, %d not known well, %d pairs at most", times[k], goal, behind, RUNS,
		   wide, most);
	}
}

/* Timed once with a goal: how often it is given up as no better, and after how many pairs; noise of many sizes, some pairs far off. */
static void test_in_vain(void)
{
	enum { RUNS = 4000, PAIRS = 400 };
	static const double goal = 0.9, width = 0.001;
	static const struct {
		double of_goal, least, most, pairs; /* times of the goal; share that is given up, from and to; pairs at most, mean */
	} want[] = {{0.98, 0, 0.001, INFINITY}, {1, 0, 0.1, INFINITY}, {1.02, 0.9, 1, 40}, {1.04, 0.99, 1, 10}, {1.2, 1, 1, 2.5}};
	struct rng r = {4};

	for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
		size_t pairs = 0;
		int up = 0;
		for (int run = 0; run < RUNS; run++) {
			struct sequential s;
			enum verdict v = VERDICT_UNSURE;
			bool decided = false;
			double noise = 0.001 + 0.02 * rng_unit(&r);
			sequential_init(&s, goal, width, true);
			for (int i = 0; i < PAIRS && !decided; i++) {
				double off = i % 8 == run % 8 ? 0.2 * rng_unit(&r) - 0.1 : 0;
				decided = sequential_add(&s, goal * want[k].of_goal * exp(noise * rng_normal(&r) + off),
							 exp(noise * rng_normal(&r)), &v);
			}
			up += decided && (!s.analysed || s.hi - s.lo > width * s.ratio);
			pairs += s.x.n;
			sequential_free(&s);
		}
		ok(up >= want[k].least * RUNS && up <= want[k].most * RUNS && (double)pairs <= want[k].pairs * RUNS,
		   "timed once, %g of the goal: %d of %d given up, %.1f pairs", want[k].of_goal, up, RUNS, (double)pairs / RUNS);
	}
}

/* Timed once: after how many equal pairs what is so far behind is given up. */
static void test_far(void)
{
	static const struct {
		double ratio;
		int pairs;
	} want[] = {{1.6, 1}, {1.2, 2}, {1.1, 3}, {1.07, 4}, {1.055, 5}};
	int good = 0, n = (int)(sizeof want / sizeof *want);

	for (int i = 0; i < n; i++)
		for (int once = 0; once < 2; once++) {
			struct sequential s;
			enum verdict v = VERDICT_UNSURE;
			int pairs = 1;
			sequential_init(&s, 0, 0.05, once);
			while (!sequential_add(&s, want[i].ratio, 1, &v) && pairs < 100)
				pairs++;
			good += v == VERDICT_SLOWER && pairs == (once || i == 0 ? want[i].pairs : SEQ_FEW);
			sequential_free(&s);
		}
	ok(good == 2 * n, "far behind: %d of %d end when they should", good, 2 * n);
}

/* Timed once: how far from the truth what it says may be, and after how many pairs; noise of many sizes, one pair of eight far off. */
static void test_timed_once(void)
{
	enum { RUNS = 4000, PAIRS = 400 };
	static const double width = 0.04;
	int outside = 0, far = 0, open = 0, faster = 0;
	size_t pairs = 0, all = 0;
	struct rng r = {3};

	for (int run = 0; run < RUNS; run++) {
		double truth = run % 2 ? 1 : 0.9 + 0.2 * rng_unit(&r), noise = 0.001 + 0.01 * rng_unit(&r);
		for (int once = 1; once >= 0; once--) {
			struct sequential s;
			enum verdict v = VERDICT_UNSURE;
			bool decided = false;
			sequential_init(&s, 0, width, once);
			for (int i = 0; i < PAIRS && !decided; i++) {
				double off = i % 8 == run % 8 ? 0.2 * rng_unit(&r) - 0.1 : 0;
				decided = sequential_add(&s, truth * exp(noise * rng_normal(&r) + off), exp(noise * rng_normal(&r)), &v);
			}
			pairs += once ? s.x.n : 0;
			all += once ? 0 : s.x.n;
			open += once && !decided;
			outside += once && s.analysed && (s.lo > truth || s.hi < truth);
			far += once && s.analysed && fabs(s.ratio / truth - 1) > width;
			faster += once && truth == 1 && v == VERDICT_FASTER;
			sequential_free(&s);
		}
	}
	ok(outside <= RUNS / 10 && faster <= RUNS / 2 / 20, "timed once: %d of %d intervals miss the truth, %d of equal ones faster",
	   outside, RUNS, faster);
	ok(!far && !open && 3 * pairs < 2 * all, "timed once: %d further off than the width, %d open, %.1f pairs instead of %.1f", far,
	   open, (double)pairs / RUNS, (double)all / RUNS);
}

/* Equal kernels, simulated noise of many kinds: how often is one called faster or slower? */
static void test_equal(void)
{
	enum { RUNS = 4000, PAIRS = 400 };
	int faster = 0, slower = 0, caught = 0, ties = 0;
	struct rng r = {1};

	for (int run = 0; run < RUNS; run++) {
		struct sequential s;
		enum verdict v = VERDICT_UNSURE;
		double slow = run % 4 == 3 ? 1.03 : 1, noise = 0.002 + 0.05 * rng_unit(&r);
		bool decided = false;
		sequential_init(&s, 0, 0, false);
		for (int i = 0; i < PAIRS && !decided; i++) {
			double drift = 1 + 0.5 * (i / 50 % 2);
			double x = slow * drift * exp(noise * rng_normal(&r)), y = drift * exp(noise * rng_normal(&r));
			decided = sequential_add(&s, x, y, &v);
		}
		if (!decided)
			v = sequential_end(&s);
		sequential_free(&s);
		faster += v == VERDICT_FASTER;
		slower += slow == 1 && v == VERDICT_SLOWER;
		caught += slow > 1 && v == VERDICT_SLOWER;
		ties += slow == 1 && v == VERDICT_TIE;
	}
	ok(faster <= RUNS / 200 && slower <= RUNS / 200, "equal: faster %d, slower %d, tie %d of %d", faster, slower, ties, RUNS * 3 / 4);
	ok(caught > RUNS / 4 * 9 / 10, "3%% slower: %d of %d", caught, RUNS / 4);
}

int main(void)
{
	test_equal();
	test_timed_once();
	test_far();
	test_goal();
	test_in_vain();
	return tap_done();
}
