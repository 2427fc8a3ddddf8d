/* lib/search/gaussian on a space made up here: what it expects, how sure it is of it, and that both are what they are by
 * the book: a second way to compute them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/rng.h"
#include "search/gaussian.h"
#include "search/strategy.h"
#include "tap.h"

/* Four numbers and a word. The logarithm of the time is a sum, and a product of two. */
static struct loop_prog *made_up(struct space *s, const struct origin *o, const struct samples *want, struct samples *got,
				 const char **trace)
{
	static const int64_t number[] = {1, 2, 4, 8, 16}, index[] = {0, 1, 2};
	static const char *const word[] = {"red", "green", "blue"}, *const name[] = {"rows", "vectors", "depth", "unroll", "colour"};
	struct loop_prog *p = prog_new(NULL);
	char *text = "";
	for (int i = 0; i < 5; i++) {
		struct sample x = {.name = name[i],
				   .n = i < 4 ? 5 : 3,
				   .choice = i < 4 ? number : index,
				   .word = i < 4 ? NULL : word,
				   .usual = i < 4 ? 2 : 0};
		const struct sample *w = samples_find(want, x.name);
		x.decision = w ? w->decision : x.usual;
		vec_push(got, x);
		text = arena_printf(&p->arena, "%s%s = %lld\n", text, x.name, (long long)x.decision);
	}
	*trace = text;
	return p;
}

static double truth(const struct point *p)
{
	double v[4];

	for (int i = 0; i < 4; i++)
		v[i] = log2((double)p->at.a[i].decision) - 1;
	return exp(0.03 * v[0] * v[0] + 0.04 * v[1] * v[0] + 0.02 * v[2] + 0.08 * (double)p->at.a[4].decision);
}

static const struct generator generator = {"made up", "for this test", made_up};
static const struct cost_model says_nothing = {"none", "", NULL, NULL};

static struct search *search_made_up(uint64_t seed)
{
	struct space *s = xcalloc(1, sizeof *s);
	s->cost = &says_nothing;
	vec_push(&s->origins, (struct origin){&generator, "default", NULL});
	return search_new(s, strategy_find("random"), seed);
}

static struct gaussian *fit(struct search *s)
{
	struct gaussian *g = gaussian_new();
	gaussian_fit(g, s, NULL, 0);
	return g;
}

static void search_end(struct search *s)
{
	struct space *space = s->space;
	search_free(s);
	space_free(space);
}

static void tell(struct search *s, size_t n)
{
	struct point *p;

	for (size_t i = 0; i < n && search_propose(s, 1, &p); i++)
		search_tell(s, p, truth(p));
}

/* Of points that were not told: the root of the mean square of what the means miss, and the share of them that miss by more
 * than two deviations. */
static double missed(struct search *s, double *far)
{
	enum { ASKED = 100 };
	double row[GAUSSIAN_ROW], sum = 0;
	struct gaussian *g = fit(s);

	*far = 0;
	for (int i = 0; i < ASKED; i++) {
		struct point *p = NULL;
		while (!p)
			p = draw_random(s, 0);
		double off = gaussian_mean(g, s, p) - log(truth(p));
		sum += off * off / ASKED;
		*far += (fabs(off) > 2 * gaussian_deviation(g, s, p, row)) / (double)ASKED;
	}
	gaussian_free(g);
	return sqrt(sum);
}

static void test_expects(void)
{
	double few, many, far, spread = 0, mean = 0;
	struct search *s = search_made_up(1);

	tell(s, 10);
	few = missed(s, &far);
	tell(s, 80);
	many = missed(s, &far);
	for (size_t i = 0; i < s->points.n; i++)
		mean += log(truth(s->points.a[i])) / (double)s->points.n;
	for (size_t i = 0; i < s->points.n; i++)
		spread += pow(log(truth(s->points.a[i])) - mean, 2) / (double)s->points.n;
	ok(many < few && many < 0.25 * sqrt(spread), "it misses by %.3f after 90 points, by %.3f after 10; they spread by %.3f", many, few,
	   sqrt(spread));
	ok(far < 0.15, "%.0f%% of points are missed by more than two deviations", 100 * far);
	search_end(s);
}

/* What was told is expected, and hardly uncertain; what is far from it is as uncertain as anything. */
static void test_told(void)
{
	double row[GAUSSIAN_ROW], worst = 0, unsure = 0;
	struct search *s = search_made_up(2);

	tell(s, 40);
	struct gaussian *g = fit(s);
	for (size_t i = 0; i < s->points.n; i++) {
		worst = fmax(worst, fabs(gaussian_mean(g, s, s->points.a[i]) - log(s->points.a[i]->measured)));
		unsure = fmax(unsure, gaussian_deviation(g, s, s->points.a[i], row));
	}
	ok(worst < 0.04 && unsure < 0.03, "what was told is expected: off by %.3f at most, deviation %.3f", worst, unsure);
	gaussian_free(g);
	search_end(s);
}

/* Deviations after one more point is believed: step by step, and all anew. */
static void test_believed(void)
{
	double row[GAUSSIAN_ROW], again[GAUSSIAN_ROW], worst = 0;
	struct search *s = search_made_up(3);
	struct point *asked = NULL, *p;

	tell(s, 20);
	struct gaussian *g = fit(s);
	while (!asked)
		asked = draw_random(s, 0);
	double mean = gaussian_mean(g, s, asked), first = gaussian_deviation(g, s, asked, row), last = first;
	for (int i = 0; i < 30; i++) {
		do
			p = draw_random(s, 0);
		while (!p);
		if (!gaussian_believe(g, s, p))
			break;
		last = gaussian_deviation_after(g, s, asked, row);
		worst = fmax(worst, fabs(last - gaussian_deviation(g, s, asked, again)));
	}
	ok(worst < 1e-9 && last < first, "deviations by steps are those by one: off by %.1e", worst);
	ok(mean == gaussian_mean(g, s, asked), "what is believed changes no mean");
	size_t n = 0;
	for (; n < 2 * GAUSSIAN_ROW; n++) {
		struct point *q = draw_random(s, 0);
		if (q && !gaussian_believe(g, s, q))
			break;
	}
	ok(n < 2 * GAUSSIAN_ROW, "there is an end to what it can believe");
	gaussian_free(g);
	search_end(s);
}

/* More points than it holds: it still knows which are slow. By the best alone it would miss by 0.19. */
static void test_many(void)
{
	double far;
	struct search *s = search_made_up(4);

	tell(s, 300);
	double off = missed(s, &far);
	ok(s->points.n > 250 && off < 0.05, "of %zu points told: misses by %.3f", s->points.n, off);
	search_end(s);
}

/* What does not run is slow, and no number spoils. */
static void test_infinite(void)
{
	struct search *s = search_made_up(5);
	struct point *p;

	for (int i = 0; i < 40 && search_propose(s, 1, &p); i++)
		search_tell(s, p, i % 3 ? truth(p) : INFINITY);
	struct gaussian *g = fit(s);
	ok(isfinite(gaussian_mean(g, s, s->points.a[1])), "points that do not run leave numbers");
	gaussian_free(g);
	search_end(s);
}

int main(void)
{
	test_expects();
	test_told();
	test_believed();
	test_many();
	test_infinite();
	return tap_done();
}
