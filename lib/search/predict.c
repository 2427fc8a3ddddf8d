/* The seconds of a group: lowered, scheduled, and asked of the analytic model. */
#include "search/predict.h"
#include <math.h>
#include "graph/fused.h"
#include "loop/prim.h"
#include "lower/image.h"
#include "model/model.h"
#include "sched/analytic.h"
#include "sched/schedule.h"

/* *images: how many of what is lowered the group is. */
static struct lowered lower_fused(struct module *m, node_id fused, const struct target *t, const char *algo, int64_t *images)
{
	const char *why;
	int64_t n = strip_images(m, fused);
	struct lowered l = n > 1 ? image_lower(m, fused, n, t, algo, &why, lower_sketch) : lower_sketch(m, fused, t, algo, &why);

	if (why)
		return (struct lowered){0};
	*images = n > 1 ? n : 1;
	l.prog->threads = 1;
	return l;
}

struct scheduled group_schedule(struct module *m, node_id fused, const struct target *t, const char *algo, const struct samples *want,
				struct samples *got)
{
	int64_t images;
	struct scheduled s = {.low = lower_fused(m, fused, t, algo, &images), .seconds = INFINITY};

	if (!s.low.prog)
		return s;
	s.stages = prog_digest(s.low.prog);
	s.trace = schedule_with(s.low.prog, want, got);
	s.seconds = loop_cost(s.low.prog) * (double)images;
	return s;
}

/* By the trace; infinite: it does not apply. */
static double traced_seconds(struct module *m, node_id fused, const struct target *t, const char *trace)
{
	int64_t images;
	struct lowered l = lower_fused(m, fused, t, trace_algo(trace, &m->arena), &images);
	double seconds = l.prog && !loop_apply(l.prog, trace, false) ? loop_cost(l.prog) * (double)images : INFINITY;

	if (l.prog)
		prog_free(l.prog);
	return seconds;
}

double group_seconds(struct module *m, node_id fused, const struct target *t)
{
	double seconds = fused_seconds(m, fused);
	const char *trace = attr_str(node(m, fused), "trace", NULL);

	if (!(seconds > 0) && trace) {
		seconds = traced_seconds(m, fused, t, trace);
	} else if (!(seconds > 0)) {
		struct scheduled s = group_schedule(m, fused, t, NULL, NULL, NULL);
		seconds = s.seconds;
		if (s.low.prog)
			prog_free(s.low.prog);
	}
	return seconds;
}

double group_seconds_by(struct module *m, node_id fused, const struct target *t, int threads)
{
	int64_t images;
	struct lowered l = threads > 1 ? lower_fused(m, fused, t, NULL, &images) : (struct lowered){0};

	if (!l.prog)
		return group_seconds(m, fused, t);
	l.prog->threads = threads;
	schedule_with(l.prog, NULL, NULL);
	double seconds = schedule_team_cost(l.prog, loop_cost(l.prog) * (double)images);
	prog_free(l.prog);
	return seconds;
}

/* Of kernel number k; known: 0, or what was found for it before. */
static double kernel_seconds(struct model *M, uint32_t k, double *known)
{
	if (!(known[k] > 0))
		known[k] = loop_cost(M->kernels.a[k].prog);
	return known[k];
}

/* Time by lanes and time by divided kernels are predicted by different means, each of which errs by a fifth: this is of the predictions, not of a
 * machine. What a machine says is in the gain: to start a team, and to read what others wrote. */
#define LEAST_SAVED 0.25

struct lane_seconds model_seconds(struct model *M)
{
	struct arena *a = &M->m->arena;
	double *known = ARENA_ARRAY(a, double, M->kernels.n + 1);
	struct lane_seconds s = {.alone = ARENA_ARRAY(a, double, M->calls.n + 1),
				 .divided = ARENA_ARRAY(a, double, M->calls.n + 1),
				 .least_saved = LEAST_SAVED};

	for (uint32_t i = 0; i < M->calls.n; i++) {
		const struct call *c = &M->calls.a[i];
		if (!call_has_kernel(c))
			continue;
		struct loop_prog *p = M->kernels.a[c->kernel].prog;
		double said = fused_seconds(M->m, c->node);
		s.alone[i] = said > 0 ? said : kernel_seconds(M, c->kernel, known);
		s.divided[i] = schedule_team_cost(p, s.alone[i]);
		s.start = schedule_team_start(p);
		s.moved_rate = schedule_moved_rate(p);
	}
	return s;
}

double program_seconds(struct loop_prog *p)
{
	default_schedule(p);
	return loop_cost(p);
}
