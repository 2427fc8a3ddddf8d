/* How long the planning of gradients takes, without reading: processor time, the least of ten runs. */
#include <stdlib.h>
#include <time.h>
#include "comm/plan.h"
#include "common/rng.h"
#include "common/tool.h"

const struct tool tool = {.name = "bench-plan"};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* load: time of communication over that of the backward pass, roughly. */
static void row(size_t n, int pieces, size_t k, double slack, double load)
{
	struct rng r = {1};
	struct grads g = {0};
	struct curve c = {0};
	struct plan p = {0};
	double ready = 0, bytes = 0, least = INFINITY;
	for (size_t i = 0; i < n; i++) {
		double size = floor(exp(rng_unit(&r) * 12));
		ready += 2 * rng_unit(&r);
		bytes += size;
		vec_push(&g.at, (struct grad){"", size, ready});
	}
	if (pieces == 1) {
		curve_linear(&c, 50, load * ready / bytes);
	} else { /* falling cost a byte, with two protocol steps */
		for (int i = 0; i <= pieces; i++) {
			double x = 1024 * exp2(i);
			vec_push(&c.at, (struct curve_point){x, 30 + x * load * ready / bytes + (i > 3 ? 60 : 0) + (i > 10 ? 100 : 0)});
		}
		curve_pieces(&c);
	}
	for (int i = 0; i < 10; i++) {
		double start = now();
		plan_best(&p, &g, &c, k, slack);
		least = fmin(least, now() - start);
	}
	printf("%8zu %6d %4zu %6g %6g %9zu %9.4f\n", n, pieces, k, slack, load, p.last.n, least);
	plan_free(&p);
	curve_free(&c);
	grads_free(&g);
}

int main(int argc, char **argv)
{
	size_t share = argc > 1 ? (size_t)atoi(argv[1]) : 1; /* plan 100: a hundredth of the tensors */
	if (share < 1 || share > 100000)
		return 64;
	static const double loads[] = {0.25, 0.9, 2};
	printf("%8s %6s %4s %6s %6s %9s %9s\n", "tensors", "pieces", "k", "slack", "load", "segments", "seconds");
	for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
		row(100000 / share, 22, 0, 0, loads[i]);
		row(100000 / share, 22, 0, 0.001, loads[i]);
		row(100000 / share, 22, 8, 0, loads[i]);
		row(100000 / share, 22, 8, 0.001, loads[i]);
		row(1000000 / share, 1, 0, 0, loads[i]);
		row(1000000 / share, 1, 0, 0.001, loads[i]);
	}
	return 0;
}
