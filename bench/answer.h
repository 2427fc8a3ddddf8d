/* What benchmarks that drive a runner share. */
#ifndef HONE_BENCH_ANSWER_H
#define HONE_BENCH_ANSWER_H
#include "common/msg.h"
#include "runner/runner.h"
#include "target/target.h"
#include "model/candidate.h"
#include "loop/prim.h"
#include "op/task.h"

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

/* What a runner is asked to build for the candidate. */
static inline struct runner_build build_of(const struct candidate *c, struct arena *a)
{
	const struct candidate_buf *part[3] = {c->in, c->constant, c->out};
	int count[3] = {c->nin, c->nconst, c->nout}, n = 0;
	struct runner_buf *buf = ARENA_ARRAY(a, struct runner_buf, c->nin + c->nconst + c->nout);

	for (int k = 0; k < 3; k++)
		for (int i = 0; i < count[k]; i++)
			buf[n++] = (struct runner_buf){dtype_name(part[k][i].dtype),
						       part[k][i].rank,
						       part[k][i].shape,
						       part[k][i].layout,
						       part[k][i].elems,
						       (uint32_t)i};
	return (struct runner_build){c->source, c->nsource, trace_algo(c->trace, a), c->workspace, c->nin, c->nconst, c->nout, buf};
}

/* The task's kernel by that trace (NULL: the default one); the process ends where there is none. */
static inline struct digest build_trace(struct runner **r, struct arena *a, struct module *m, const char *trace, struct digest task)
{
	const char *why;
	struct candidate *c = candidate_new(m, task_node(m), target_host(), trace, false, &why);

	if (!c)
		die(EX_BADDATA, "%s", why);
	struct runner_build b = build_of(c, a);
	runner_build(*r, task, &b);
	struct runner_answer x = next_of(r, a);
	candidate_free(c);
	if (x.result.verdict == VERDICT_BUILD)
		die(EX_BADDATA, "%s", x.why);
	return x.digest;
}
#endif
