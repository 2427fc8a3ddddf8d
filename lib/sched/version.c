/* Choice among programs of one group by counts. */
#include "sched/version.h"
#include "sched/analytic.h"

struct version_time version_counted(struct loop_prog *p) { return (struct version_time){loop_cycles(p)}; }

/* A second kernel is more code and a longer build, so a smaller gain than a tenth is left. */
static bool clearly_less(double fast, double slow) { return fast < 0.9 * slow; }

bool version_may_pay(struct version_time usual, double share, struct version_time now)
{
	return clearly_less(usual.cycles * share, now.cycles);
}

bool version_pays(struct version_time own, struct version_time now) { return clearly_less(own.cycles, now.cycles); }
