/* Gradient plans against brute force: every plan of up to 14 tensors, on linear and stepped curves. PLAN_CASES: how many. */
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include "comm/plan.h"
#include "common/arena.h"
#include "common/rng.h"
#include "common/tool.h"
#include "tap.h"

const struct tool tool = {.name = "plan"};

enum { MAX = 14, MANY = 120 };

static void random_grads(struct grads *g, struct rng *r, int n)
{
	double ready = 0, scale = exp2((double)rng_range(r, 0, 8)), gap = (double)rng_range(r, 0, 3) * 20;
	*g = (struct grads){0};
	for (int i = 0; i < n; i++) {
		double bytes = floor(exp2(rng_unit(r) * 8) * scale);
		ready += rng_range(r, 0, 3) ? floor(rng_unit(r) * gap) : 0;
		vec_push(&g->at, (struct grad){"t", rng_range(r, 0, 9) ? bytes : 0, ready});
	}
}

/* Linear, concave, or with protocol steps, among them curves of which two calls cost less than one of the sum. */
static void random_curve(struct curve *c, struct rng *r)
{
	int kind = (int)rng_range(r, 0, 3), n = (int)rng_range(r, 2, 9);
	double bytes = 0, us = (double)rng_range(r, 0, 60), slope = rng_unit(r);
	if (kind == 0) {
		curve_linear(c, us, slope / 8);
		return;
	}
	*c = (struct curve){0};
	for (int i = 0; i < n; i++) {
		double gap = floor(exp2(rng_unit(r) * 9)) + 1;
		bytes += gap;
		slope = kind == 1 ? slope * rng_unit(r) : rng_unit(r) / 4;
		us += slope * gap;
		vec_push(&c->at, (struct curve_point){bytes, us});
		if (kind == 3 && rng_range(r, 0, 1)) {
			us += (double)rng_range(r, 0, 80);
			vec_push(&c->at, (struct curve_point){++bytes, us});
		}
	}
	curve_pieces(c);
}

/* least[k]: the least end of all plans with k segments, without the tool's own arithmetic. */
static void enumerate(const struct grads *g, const struct curve *c, size_t from, double end, size_t k, double least[MAX + 1])
{
	double bytes = 0;
	if (from == g->at.n && end < least[k])
		least[k] = end;
	for (size_t i = from; i < g->at.n; i++) {
		bytes += g->at.a[i].bytes;
		enumerate(g, c, i + 1, fmax(end, g->at.a[i].ready) + curve_at(c, bytes), k + 1, least);
	}
}

static int same(double x, double y) { return fabs(x - y) <= 1e-9 * fmax(fabs(x), fabs(y)); }

/* 1: agrees with the least ends by number of segments. */
static int agrees(const struct grads *g, const struct curve *c, size_t k, double slack, const double *least)
{
	double best = INFINITY;
	size_t n = g->at.n, few = 0, most = k && k < n ? k : n;
	for (size_t s = 1; s <= most; s++)
		best = fmin(best, least[s]);
	while (least[++few] > best * (1 + slack) * (1 + 1e-12))
		;
	struct plan p = {0};
	plan_best(&p, g, c, k, slack);
	struct plan_cost cost = plan_cost(&p, g, c);
	int good = same(cost.end, least[few]) && cost.segments == few && p.last.a[few - 1] == n - 1;
	for (size_t s = 1; s < p.last.n; s++)
		good &= p.last.a[s] > p.last.a[s - 1];
	if (!good)
		printf("# %zu tensors, k %zu, slack %g: end %.12g in %zu, not %.12g in %zu\n", n, k, slack, cost.end, cost.segments,
		       least[few], few);
	plan_free(&p);
	return good;
}

static void brute_force(int cases)
{
	struct rng r = {7};
	int bad = 0, beyond = 0;
	for (int i = 0; i < cases; i++) {
		struct grads g;
		struct curve c;
		double least[MAX + 1], best = INFINITY;
		random_grads(&g, &r, (int)rng_range(&r, 1, MAX));
		random_curve(&c, &r);
		for (int k = 0; k <= MAX; k++)
			least[k] = INFINITY;
		enumerate(&g, &c, 0, 0, 0, least);
		for (int k = 0; k <= MAX; k++)
			best = fmin(best, least[k]);
		size_t k = (size_t)rng_range(&r, 1, 6);
		bad += !(agrees(&g, &c, 0, 0, least) && agrees(&g, &c, k, 0, least) && agrees(&g, &c, 0, 0.05, least) &&
			 agrees(&g, &c, k, 0.01, least));
		beyond += plan_lower_bound(&g, &c) > best * (1 + 1e-9) + 1e-9;
		curve_free(&c);
		grads_free(&g);
	}
	ok(bad == 0, "%d of %d random cases differ from the best of all plans", bad, cases);
	ok(beyond == 0, "%d of %d lower bounds are above the best plan", beyond, cases);
}

/* The recurrence as it is written, for more tensors than plans can be enumerated of. */
static void recurrence(const struct grads *g, const struct curve *c, double *least)
{
	static double end[MANY + 1][MANY + 1]; /* [segments][tensors] */
	size_t n = g->at.n;
	double sum[MANY + 1] = {0};
	for (size_t j = 1; j <= n; j++)
		sum[j] = sum[j - 1] + g->at.a[j - 1].bytes;
	for (size_t j = 0; j <= n; j++)
		end[0][j] = j ? INFINITY : 0;
	for (size_t k = 1; k <= n; k++)
		for (size_t j = 0; j <= n; j++) {
			end[k][j] = INFINITY;
			for (size_t i = 0; i < j; i++)
				if (isfinite(end[k - 1][i]))
					end[k][j] =
						fmin(end[k][j], fmax(end[k - 1][i], g->at.a[j - 1].ready) + curve_at(c, sum[j] - sum[i]));
		}
	for (size_t k = 0; k <= n; k++)
		least[k] = end[k][n];
}

static void many_tensors(int cases)
{
	struct rng r = {19};
	int bad = 0;
	for (int i = 0; i < cases; i++) {
		struct grads g;
		struct curve c;
		double least[MANY + 1];
		random_grads(&g, &r, (int)rng_range(&r, MAX, MANY));
		random_curve(&c, &r);
		recurrence(&g, &c, least);
		size_t k = (size_t)rng_range(&r, 1, 20);
		bad += !(agrees(&g, &c, 0, 0, least) && agrees(&g, &c, k, 0, least) && agrees(&g, &c, 0, 0.02, least) &&
			 agrees(&g, &c, k, 0.005, least));
		curve_free(&c);
		grads_free(&g);
	}
	ok(bad == 0, "%d of %d random cases of up to %d tensors differ from the recurrence", bad, cases, MANY);
}

/* All groupings, each group sent in the order in which groups are complete, which is best for one stream. */
static void group(const struct grads *g, const struct curve *c, size_t i, int n, double *bytes, double *ready, double *best)
{
	if (i == g->at.n) {
		double end = 0;
		unsigned sent = 0;
		for (int s = 0; s < n; s++) {
			int first = -1;
			for (int t = 0; t < n; t++)
				if (!(sent >> t & 1) && (first < 0 || ready[t] < ready[first]))
					first = t;
			sent |= 1u << first;
			end = fmax(end, ready[first]) + curve_at(c, bytes[first]);
		}
		*best = fmin(*best, end);
		return;
	}
	for (int s = 0; s <= n; s++) {
		double b = s < n ? bytes[s] : 0, r = s < n ? ready[s] : 0;
		bytes[s] = b + g->at.a[i].bytes;
		ready[s] = g->at.a[i].ready;
		group(g, c, i + 1, s < n ? n : n + 1, bytes, ready, best);
		bytes[s] = b;
		ready[s] = r;
	}
}

static void all_groupings(int cases)
{
	struct rng r = {11};
	int bad = 0;
	for (int i = 0; i < cases; i++) {
		struct grads g;
		struct curve c;
		struct plan p = {0};
		double bytes[MAX], ready[MAX], best = INFINITY;
		random_grads(&g, &r, (int)rng_range(&r, 1, 7));
		curve_linear(&c, (double)rng_range(&r, 0, 60), rng_unit(&r) / 8);
		group(&g, &c, 0, 0, bytes, ready, &best);
		plan_best(&p, &g, &c, 0, 0);
		bad += !same(plan_cost(&p, &g, &c).end, best);
		plan_free(&p);
		curve_free(&c);
		grads_free(&g);
	}
	ok(bad == 0, "%d of %d linear cases differ from the best of all groupings and orders", bad, cases);
}

/* How long the next forward pass takes when it gathers by segments, the last one first: a layer waits for its own. */
static double forward_pass(const struct grads *g, const struct curve *c, const struct plan *p)
{
	double network = 0, clock = 0, backward = g->at.a[g->at.n - 1].ready, compute = backward > 0 ? g->forward / backward : 0;
	size_t at = g->at.n;
	for (size_t s = p->last.n; s-- > 0;) {
		double bytes = 0;
		size_t first = s ? p->last.a[s - 1] + (size_t)1 : 0;
		for (size_t i = first; i <= p->last.a[s]; i++)
			bytes += g->at.a[i].bytes;
		network += curve_at(c, bytes);
		clock = fmax(clock, network);
		for (; at > first; at--)
			clock += (g->at.a[at - 1].ready - (at > 1 ? g->at.a[at - 2].ready : 0)) * compute;
	}
	return clock;
}

static void least_forward(const struct grads *g, const struct curve *c, size_t from, struct plan *p, double *best)
{
	if (from == g->at.n)
		*best = fmin(*best, forward_pass(g, c, p));
	for (size_t i = from; i < g->at.n; i++) {
		vec_push(&p->last, (uint32_t)i);
		least_forward(g, c, i + 1, p, best);
		p->last.n--;
	}
}

static void gathers(int cases)
{
	struct rng r = {13};
	int bad = 0;
	for (int i = 0; i < cases; i++) {
		struct grads g, turned;
		struct curve c;
		struct plan p = {0};
		double best = INFINITY;
		random_grads(&g, &r, (int)rng_range(&r, 1, 9));
		g.forward = (double)rng_range(&r, 1, 400);
		random_curve(&c, &r);
		least_forward(&g, &c, 0, &p, &best);
		turned = g;
		turned.at.a = xmalloc(g.at.n * sizeof *g.at.a);
		for (size_t t = 0; t < g.at.n; t++)
			turned.at.a[t] = g.at.a[t];
		grads_reverse(&turned, "test");
		plan_best(&p, &turned, &c, 0, 0);
		bad += !same(forward_pass(&g, &c, &p), best) || !same(plan_cost(&p, &turned, &c).end, best);
		plan_free(&p);
		curve_free(&c);
		grads_free(&g);
		grads_free(&turned);
	}
	ok(bad == 0, "%d of %d plans of the gathering differ from the best of all plans of the forward pass", bad, cases);
}

/* One line and the same line in pieces are planned in two ways, which agree. */
static void line_in_pieces(int cases)
{
	static const double slacks[] = {0, 0.001, 0.03};
	struct rng r = {23};
	int bad = 0;
	for (int i = 0; i < cases; i++) {
		struct grads g = {0};
		struct curve line, pieces = {0};
		struct plan p = {0}, q = {0};
		int n = (int)rng_range(&r, 1, 3000);
		double ready = 0, bytes = 0, alpha = (double)rng_range(&r, 0, 100), load = exp2(4 * rng_unit(&r) - 2),
		       slack = slacks[i % 3];
		for (int t = 0; t < n; t++) {
			double size = floor(exp(rng_unit(&r) * 12));
			ready += rng_range(&r, 0, 3) ? 2 * rng_unit(&r) : 0;
			bytes += size;
			vec_push(&g.at, (struct grad){"t", size, ready});
		}
		size_t k = i % 2 ? (size_t)rng_range(&r, 1, 20) : 0;
		curve_linear(&line, alpha, load * ready / bytes);
		for (int x = 0; x < 5; x++)
			vec_push(&pieces.at, (struct curve_point){0.2 * x * bytes + x, curve_at(&line, 0.2 * x * bytes + x)});
		curve_pieces(&pieces);
		plan_best(&p, &g, &line, k, slack);
		plan_best(&q, &g, &pieces, k, slack);
		struct plan_cost a = plan_cost(&p, &g, &line), b = plan_cost(&q, &g, &line);
		if (a.segments != b.segments || !same(a.end, b.end)) {
			bad++;
			printf("# %d tensors, k %zu, slack %g, load %g: end %.12g in %zu, in pieces %.12g in %zu\n", n, k, slack, load,
			       a.end, a.segments, b.end, b.segments);
		}
		plan_free(&p);
		plan_free(&q);
		curve_free(&line);
		curve_free(&pieces);
		grads_free(&g);
	}
	ok(bad == 0, "%d of %d lines differ from the same in pieces", bad, cases);
}

/* The last bits of a sum of 200,000 equal terms are not those of their product: no plan is missed for them. */
static void rounding(void)
{
	int bad = 0;
	for (int pieces = 1; pieces <= 2; pieces++) {
		struct grads g = {0};
		struct curve c = {0};
		struct plan p = {0};
		for (int t = 0; t < 200000; t++)
			vec_push(&g.at, (struct grad){"t", 1100, 0});
		for (int x = 0; x <= pieces; x++)
			vec_push(&c.at, (struct curve_point){1.3e8 * x, 1.69e5 * x});
		curve_pieces(&c);
		plan_best(&p, &g, &c, 0, 0);
		bad += p.last.n != 1;
		plan_free(&p);
		curve_free(&c);
		grads_free(&g);
	}
	ok(bad == 0, "200,000 equal tensors without latency go at once");
}

static void inverse(void)
{
	struct rng r = {17};
	int bad = 0;
	for (int i = 0; i < 2000; i++) {
		struct curve c;
		random_curve(&c, &r);
		double us = rng_unit(&r) * 300, x = curve_inverse(&c, us);
		if (x < 0)
			bad += curve_at(&c, 0) <= us;
		else
			bad += (isfinite(x) && curve_at(&c, x) > us * (1 + 1e-9)) ||
			       (isfinite(x) && curve_at(&c, x + 1e-3 * (1 + x)) < us * (1 - 1e-9));
		curve_free(&c);
	}
	ok(bad == 0, "the inverse of a curve is one (%d of 2000 are not)", bad);
}

int main(void)
{
	const char *cases = getenv("PLAN_CASES");
	brute_force(cases ? atoi(cases) : 5000);
	many_tensors(200);
	all_groupings(500);
	gathers(500);
	line_in_pieces(300);
	rounding();
	inverse();
	return tap_done();
}
