/* How often is a kernel kept that truly has that share of the default's time? Of tunings whose remeasurements are drawn at random. */
#include <math.h>
#include <string.h>
#include "tune/session.h"
#include "common/rng.h"
#include "tap.h"

struct trial *trial_new(struct tuned *t, struct point *p, int remeasurement)
{
	struct trial *x = ARENA_NEW(&t->arena, struct trial);

	*x = (struct trial){.task = t, .point = p, .remeasurement = remeasurement};
	vec_push(&t->trials, x);
	if (remeasurement)
		vec_push(&t->remeasurements, x);
	return x;
}

/* One process more: its ratio differs from the true one as processes do, and is known to half a percent. */
static void retire(struct trial *x, double ratio, double differ, struct rng *r)
{
	x->result.ratio = ratio * exp(differ * rng_normal(r));
	x->result.lo = x->result.ratio * 0.995;
	x->result.hi = x->result.ratio * 1.005;
	x->result.verdict = x->result.hi < 1 ? VERDICT_FASTER : x->result.lo > 1 ? VERDICT_SLOWER : VERDICT_TIE;
	x->retired = true;
	if (x->remeasurement >= FINAL)
		x->task->champion = find_champion(x->task);
}

/* A search that found that kernel by a time that flatters it; then what session.c asks for, to the end. Remeasurements, in *remeasurements. */
static bool kept(double ratio, double differ, struct rng *r, size_t *remeasurements)
{
	struct point p = {.trace = "", .from = "default"};
	struct tuned t = {0};
	struct trial *out[REMEASUREMENTS];
	size_t n;

	retire(trial_new(&t, &p, 0), ratio * exp(-fabs(differ * rng_normal(r))), 0, r);
	while ((n = add_finals(&t, out)) || (n = add_more_remeasurements(&t, out)) ||
	       (n = add_remeasurements(&t, 1, REMEASUREMENTS, out)) || (n = add_late_remeasurements(&t, out)))
		for (size_t i = 0; i < n; i++)
			retire(out[i], ratio, differ, r);
	*remeasurements += t.remeasurements.n;
	bool is = t.champion;
	arena_release(&t.arena);
	vec_free(&t.trials);
	vec_free(&t.remeasurements);
	return is;
}

int main(void)
{
	enum { RUNS = 4000 };
	static const struct {
		double ratio, differ, least, most; /* share of tunings that keep it */
	} want[] = {
		{1.01, 0.02, 0, 0.001}, {1, 0.005, 0, 0.001},   {1, 0.01, 0, 0.001},   {1, 0.03, 0, 0.004},  /* the default's like */
		{0.99, 0.005, 0, 0.05}, {0.99, 0.01, 0, 0.05},  {0.99, 0.03, 0, 0.05},                       /* faster by KB_MATERIAL */
		{0.98, 0.005, 0.99, 1}, {0.975, 0.01, 0.95, 1}, {0.97, 0.01, 0.99, 1}, {0.9, 0.03, 0.99, 1}, /* truly faster */
	};
	struct rng r = {7};

	for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
		size_t runs = 0, remeasurements = 0;
		for (int i = 0; i < RUNS; i++)
			runs += kept(want[k].ratio, want[k].differ, &r, &remeasurements);
		double share = (double)runs / RUNS;
		ok(share >= want[k].least && share <= want[k].most,
		   "%g of the default's time, processes differ by %g: kept in %.4f, wanted %g to %g; %.1f remeasurements", want[k].ratio,
		   want[k].differ, share, want[k].least, want[k].most, (double)remeasurements / RUNS);
	}
	return tap_done();
}
