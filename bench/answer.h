/* What benchmarks that drive a runner share. */
#ifndef HONE_BENCH_ANSWER_H
#define HONE_BENCH_ANSWER_H
#include "common/msg.h"
#include "device/runner.h"

/* The next answer of the only runner; the process ends where there is none, or it is a refusal. */
static struct runner_answer next_of(struct runner **r, struct arena *a)
{
	struct runner_answer x;

	if (runner_wait(r, 1, 120, a, &x) < 0)
		die(EX_NOTAVAIL, "no answer");
	if (x.ended || x.error)
		die(EX_NOTAVAIL, "%s", x.why);
	return x;
}
#endif
