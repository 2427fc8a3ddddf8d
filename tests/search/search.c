/* lib/search on a space made up here, whose best point is known. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "search/search.h"
#include "tap.h"

/* Six decisions of eight choices, a seventh only where the first is 3. The best is 0.5, where each is 5 and the
 * seventh not met; neighbours are alike. */
enum { CHOICES = 8 };
static int knobs = 6;

static void meet(struct samples *got, const struct samples *want, const char *name, struct arena *a)
{
	static const int64_t choice[CHOICES] = {0, 1, 2, 3, 4, 5, 6, 7};
	struct sample x = {.name = arena_str(a, name), .n = CHOICES, .choice = choice, .decision = 2, .usual = 2};
	for (size_t i = 0; i < want->n; i++)
		if (!strcmp(want->a[i].name, name))
			x.decision = want->a[i].decision;
	vec_push(got, x);
}

static struct loop_prog *made_up(struct space *s, const struct origin *o, const struct samples *want, struct samples *got,
				 const char **trace)
{
	struct loop_prog *p = prog_new(NULL);
	char *text = arena_printf(&p->arena, "%s\n", o->name);
	for (int i = 0; i < knobs; i++)
		meet(got, want, arena_printf(&p->arena, "knob%d", i), &p->arena);
	if (got->a[0].decision == 3)
		meet(got, want, "only", &p->arena);
	for (size_t i = 0; i < got->n; i++)
		text = arena_printf(&p->arena, "%s%s = %lld\n", text, got->a[i].name, (long long)got->a[i].decision);
	*trace = text;
	return p;
}

static double measure(const struct point *p)
{
	double off = p->at.n > (size_t)knobs;
	for (int i = 0; i < knobs; i++)
		off += fabs((double)p->at.a[i].decision - 5) * (1 + 0.3 * i);
	return 0.5 + 0.5 * off / 31.5;
}

static double expect(struct loop_prog *p, const void *arg) /* says little */ { return 1; }

static const struct generator generator = {"made up", "for this test", made_up};
static const struct cost_model says_nothing = {"none", "", NULL, NULL}, ranks = {"equal", "", expect, NULL};

static struct space *space_made_up(const struct cost_model *cost)
{
	struct space *s = xcalloc(1, sizeof *s);
	s->cost = cost;
	vec_push(&s->origins, (struct origin){&generator, "default", NULL});
	vec_push(&s->origins, (struct origin){&generator, "other", NULL});
	return s;
}

/* Tunes for so many trials in batches of four; the best. Every proposal's trace goes to log. */
static double tune(const char *strategy, const struct cost_model *cost, uint64_t seed, size_t trials, FILE *log, bool *twice)
{
	enum { BATCH = 4 };
	struct space *space = space_made_up(cost);
	struct search *s = search_new(space, strategy_find(strategy), seed);
	struct point *p[BATCH];
	double best = 1;

	for (size_t n = 0, k; n < trials && (k = search_propose(s, BATCH, p)); n += k) {
		for (size_t i = 0; i < k; i++) {
			search_tell(s, p[i], measure(p[i]));
			best = fmin(best, p[i]->measured);
			fprintf(log, "%s\n", p[i]->trace);
		}
	}
	for (size_t i = 0; i < s->points.n; i++)
		for (size_t j = 0; j < i && s->points.n < 500; j++)
			*twice |= !strcmp(s->points.a[i]->trace, s->points.a[j]->trace);
	search_free(s);
	space_free(space);
	return best;
}

static void test_strategy(const char *name, const struct cost_model *cost)
{
	char *one, *two, *other;
	size_t size;
	bool twice = false;
	FILE *f = open_memstream(&one, &size);
	tune(name, cost, 7, 60, f, &twice);
	fclose(f);
	f = open_memstream(&two, &size);
	tune(name, cost, 7, 60, f, &twice);
	fclose(f);
	f = open_memstream(&other, &size);
	tune(name, cost, 8, 60, f, &twice);
	fclose(f);
	ok(!strcmp(one, two), "%s: the same seed, the same way", name);
	ok(!twice, "%s: nothing is proposed twice", name);
	ok(!strcmp(name, "grid") || strcmp(one, other), "%s: another seed, another way", name);
	free(one);
	free(two);
	free(other);
}

/* A space of two points and one of none. */
static struct loop_prog *of_two(struct space *s, const struct origin *o, const struct samples *want, struct samples *got,
				const char **trace)
{
	struct loop_prog *p = prog_new(NULL);
	static const int64_t choice[] = {1, 2};
	struct sample x = {.name = "k", .n = 2, .choice = choice, .usual = 1, .decision = want->n ? want->a[0].decision : 1};
	vec_push(got, x);
	*trace = x.decision == 1 ? "one\n" : "two\n";
	return p;
}

static struct loop_prog *of_none(struct space *s, const struct origin *o, const struct samples *want, struct samples *got,
				 const char **trace)
{
	return NULL;
}

static size_t count_points(const char *strategy, struct loop_prog *(*make)(struct space *, const struct origin *, const struct samples *,
									   struct samples *, const char **))
{
	struct generator g = {"little", "", make};
	struct space *s = xcalloc(1, sizeof *s);
	struct point *p[4];
	size_t n = 0, k;
	vec_push(&s->origins, (struct origin){&g, "default", NULL});
	struct search *x = search_new(s, strategy_find(strategy), 1);
	while ((k = search_propose(x, 4, p)))
		n += k;
	search_free(x);
	space_free(s);
	return n;
}

static void test_small(void)
{
	static const char *const all[] = {"genetic", "random", "grid", "descent", "bayes"};
	for (int i = 0; i < 5; i++)
		ok(count_points(all[i], of_two) == 1 && count_points(all[i], of_none) == 0, "%s: a space is used up", all[i]);
}

static void test_grid_is_whole(void)
{
	char *text;
	size_t size, lines = 0;
	bool twice = false;
	FILE *f = open_memstream(&text, &size);
	knobs = 3;
	size_t all = 2 * (512 + 64 * 7); /* 8^3, and where knob0 is 3 seven more of each */
	double best = tune("grid", &says_nothing, 1, 10 * all, f, &twice);
	fclose(f);
	for (const char *s = text; (s = strstr(s, "knob2")); s++)
		lines++;
	ok(lines == all - 1 && best == 0.5, "grid: every point of a conditional space, %zu of %zu", lines, all - 1);
	free(text);
	knobs = 6;
}

static void test_quality(void)
{
	enum { SEEDS = 20 };
	double genetic = 0, random = 0;
	bool twice = false;
	FILE *f = fopen("/dev/null", "w");
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		genetic += tune("genetic", &says_nothing, seed, 64, f, &twice) / SEEDS;
		random += tune("random", &says_nothing, seed, 64, f, &twice) / SEEDS;
	}
	fclose(f);
	ok(genetic < random - 0.02 && genetic < 0.6, "64 trials: genetic %.3f, random %.3f (best there is: 0.5)", genetic, random);
}

/* Every seed at the best point there is, or said not to have come to an end. */
static void test_converges(const char *strategy)
{
	enum { SEEDS = 20, TRIALS = 400, BATCH = 4 };
	size_t most = 0;
	int there = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct space *space = space_made_up(&says_nothing);
		struct search *s = search_new(space, strategy_find(strategy), seed);
		struct point *p[BATCH];
		double best = 1;
		size_t n = 0;
		for (size_t k; n < TRIALS && !search_outlook(s).converged && (k = search_propose(s, BATCH, p)); n += k)
			for (size_t i = 0; i < k; i++) {
				search_tell(s, p[i], measure(p[i]) * (1 + 0.002 * (double)((seed * 7 + n + i) % 3))); /* some noise */
				best = fmin(best, measure(p[i]));
			}
		there += search_outlook(s).converged && best < 0.5 * 1.01;
		most = n > most ? n : most;
		search_free(s);
		space_free(space);
	}
	ok(there == SEEDS, "%s: converged at the best point, %d of %d seeds, %zu trials at most", strategy, there, SEEDS, most);
}

/* A best point that only two changes at once reach: the first knob at 6 is worse unless the second is at 6. */
static struct loop_prog *of_pair(struct space *s, const struct origin *o, const struct samples *want, struct samples *got,
				 const char **trace)
{
	struct loop_prog *p = prog_new(NULL);
	meet(got, want, "a", &p->arena);
	meet(got, want, "b", &p->arena);
	*trace = arena_printf(&p->arena, "%lld %lld\n", (long long)got->a[0].decision, (long long)got->a[1].decision);
	return p;
}

static void test_pairs(const char *strategy)
{
	struct generator g = {"pair", "", of_pair};
	struct space *s = xcalloc(1, sizeof *s);
	struct point *p[4];
	bool found = false;
	s->cost = &says_nothing;
	vec_push(&s->origins, (struct origin){&g, "default", NULL});
	struct search *x = search_new(s, strategy_find(strategy), 1);
	for (size_t k; !search_outlook(x).converged && (k = search_propose(x, 4, p));)
		for (size_t i = 0; i < k; i++) {
			bool six[2] = {p[i]->at.a[0].decision == 6, p[i]->at.a[1].decision == 6};
			search_tell(x, p[i], six[0] && six[1] ? 0.7 : six[0] || six[1] ? 1.01 : 1.2);
			found |= six[0] && six[1];
		}
	ok(found && search_outlook(x).converged, "%s: two decisions that are good together", strategy);
	search_free(x);
	space_free(s);
}

/* The second knob at 6 is bad, so that descents leave it alone, unless the first is at 6. */
static double measure_turned(const struct point *p)
{
	bool six[2] = {p->at.a[0].decision == 6, p->at.a[1].decision == 6};

	return six[0] ? (six[1] ? 0.7 : 0.8) : six[1] ? 1.3 : 1;
}

/* The best point has nothing but bad ones around it; the farther from it the better they are. */
static double measure_hidden(const struct point *p)
{
	double far = fmax(fabs((double)p->at.a[0].decision - 6), fabs((double)p->at.a[1].decision - 6));

	return far == 0 ? 0.7 : 1.9 - 0.1 * far;
}

/* Where a search has settled, no single decision makes the best better; where there are few points, nothing does. */
static void test_settles(double (*measure)(const struct point *), const char *what)
{
	enum { SEEDS = 20, BATCH = 4 };
	struct generator g = {"pair", "", of_pair};
	int there = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct space *s = xcalloc(1, sizeof *s);
		struct point *p[BATCH];
		double best = 1;
		s->cost = &says_nothing;
		vec_push(&s->origins, (struct origin){&g, "default", NULL});
		struct search *x = search_new(s, strategy_find("bayes"), seed);
		for (size_t k; !search_outlook(x).settled && (k = search_propose(x, BATCH, p));)
			for (size_t i = 0; i < k; i++) {
				search_tell(x, p[i], measure(p[i]));
				best = fmin(best, p[i]->measured);
			}
		there += search_outlook(x).settled && best == 0.7;
		search_free(x);
		space_free(s);
	}
	ok(there == SEEDS, "bayes: settled where %s, %d of %d seeds", what, there, SEEDS);
}

/* Trials until a search is at the best point there is. */
static size_t trials_to_best(struct search *s)
{
	enum { TRIALS = 400, BATCH = 4 };
	struct point *p[BATCH];
	double best = 1;
	size_t n = 0;

	for (size_t k; n < TRIALS && best > 0.5 * 1.01 && (k = search_propose(s, BATCH, p)); n += k)
		for (size_t i = 0; i < k; i++) {
			search_tell(s, p[i], measure(p[i]));
			best = fmin(best, measure(p[i]));
		}
	return n;
}

static void test_kin(const char *strategy)
{
	enum { SEEDS = 10 };
	size_t alone = 0, beside = 0;
	bool same = true;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct space *space[3];
		struct search *s[3];
		for (int i = 0; i < 3; i++) {
			space[i] = space_made_up(&says_nothing);
			s[i] = search_new(space[i], strategy_find(strategy), seed);
		}
		size_t one = trials_to_best(s[0]);
		alone += one;
		search_relate(s[0], s[1], INFINITY);
		same &= trials_to_best(s[1]) == one;
		search_relate(s[0], s[2], 1);
		beside += trials_to_best(s[2]);
		for (int i = 0; i < 3; i++) {
			search_free(s[i]);
			space_free(space[i]);
		}
	}
	ok(beside < alone / 2, "%s: %zu trials alone, %zu beside the same task", strategy, alone / SEEDS, beside / SEEDS);
	ok(same, "as many beside a task that is none like it");
}

static void test_schedulers(void)
{
	struct task_state t[] = {
		{.calls = 1, .seconds = 1e-3, .trials = 8}, {.calls = 4, .seconds = 1e-3, .trials = 8}, {.calls = 1, .trials = 0}};
	const struct task_scheduler *gain = task_scheduler_find("gain"), *turns = task_scheduler_find("round");
	ok(schedule_next(gain, t, 3, 4) == 2, "gain: first what has no time yet");
	t[2].done = true;
	ok(schedule_next(gain, t, 3, 4) == 1, "gain: then what is called most");
	t[1].trials = 400;
	ok(schedule_next(gain, t, 3, 4) == 0, "gain: until it has had its share");
	ok(schedule_next(turns, t, 3, 4) == 0, "round: the one with fewest trials");
	t[0].trials = t[1].trials = 8;
	t[0].outlook.expects = 0.02;
	t[1].outlook.expects = 0.001;
	ok(schedule_next(gain, t, 3, 4) == 0, "gain: what expects more, though it is called less");
	t[0].outlook.expects = 0.0001;
	t[0].trials = 4;
	t[1].trials = 12;
	ok(schedule_next(gain, t, 3, 4) == 1, "gain: what expects next to nothing waits");
	t[1].trials = 16;
	ok(schedule_next(gain, t, 3, 4) == 0, "gain: but every second batch is for what has fewest trials");
	t[0].outlook.settled = true;
	ok(schedule_next(gain, t, 3, 4) == 1, "of what has not settled");
	t[1].outlook.settled = true;
	ok(schedule_next(gain, t, 3, 4) == 0, "if anything has not");
	t[0].trials = t[1].trials = 8;
	t[0].outlook.expects = t[1].outlook.expects = 0;
	t[1].outlook.converged = true;
	ok(schedule_next(gain, t, 3, 4) == 0 && schedule_next(turns, t, 3, 4) == 0, "what has converged waits for the others");
	t[0].busy = true;
	ok(schedule_next(gain, t, 3, 4) == -1, "also for what is busy");
	t[0].done = true;
	ok(schedule_next(gain, t, 3, 4) == 1, "until they are done");
	t[0].done = t[1].done = true;
	ok(schedule_next(gain, t, 3, 4) == -1 && schedule_next(turns, t, 3, 4) == -1, "all done: none");
}

static void test_distance(void)
{
	ok(task_distance("MatMul f32 128x768 768x768c", "MatMul f32 128x768 768x768c") == 0, "a task is at no distance from itself");
	ok(fabs(task_distance("MatMul f32 128x768 768x768c", "MatMul f32 256x768 768x3072c") - 3) < 1e-9, "octaves between sizes");
	ok(isinf(task_distance("MatMul f32 128x768 768x768c", "MatMul f16 128x768 768x768c")), "another type is elsewhere");
	ok(isinf(task_distance("Add f32 8x8 $0", "Add f32 8x8 $1")), "another operand is elsewhere");
	ok(isinf(task_distance("Relu f32 8x8", "Relu f32 8x8x8")), "another rank is elsewhere");
	ok(isinf(task_distance("Relu f32 8x8; Add %0 $0", "Relu f32 16x8 -> %0@1,0")), "what is fused counts");
	ok(task_distance_first("Relu f32 8x8; Add %0 $0", "Relu f32 16x8; Clip %0 =0 =6") == 1, "unless it is not to");
	ok(task_distance("Relu f32 1x16", "Relu f32 0x16") < 3, "0x16 is a shape");
}

int main(void)
{
	test_strategy("genetic", &says_nothing);
	test_strategy("genetic", &ranks);
	test_strategy("descent", &says_nothing);
	test_strategy("descent", &ranks);
	test_strategy("bayes", &says_nothing);
	test_strategy("bayes", &ranks);
	test_strategy("random", &says_nothing);
	test_strategy("grid", &says_nothing);
	test_small();
	test_grid_is_whole();
	test_quality();
	test_converges("descent");
	test_converges("bayes");
	test_settles(measure_turned, "no decision makes it better");
	test_settles(measure_hidden, "all of few points are known");
	test_pairs("descent");
	test_pairs("bayes");
	test_kin("descent");
	test_kin("bayes");
	test_schedulers();
	test_distance();
	return tap_done();
}
