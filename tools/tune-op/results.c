/* A session as a report: its tasks, and where the time went. */
#include "graph/pass.h"
#include "loop/prim.h"
#include "model/model.h"
#include "op/task.h"
#include "results.h"
#include "target/rate.h"

/* What it came with stays, and nobody knows how fast that is here. */
static bool keeps_given(const struct tuned *t) { return !t->trace && t->given && !was_timed(t, t->given); }

static const char *verdict_of(const struct tuned *t)
{
	bool tried = t->complete || trials_done(t);

	if (t->untunable || (!t->trace && (t->skipped || !tried)))
		return "not tuned";
	if (keeps_given(t))
		return "given";
	return !t->trace ? "default" : t->ratio > 0 ? "faster" : "nearest";
}

static struct report_task task_result(const struct tuned *t, struct arena *a)
{
	struct report_task x = {
		.title = t->title,
		.text = t->text,
		.calls = t->calls,
		.weight = t->weight,
		.flops = t->flops,
		.bytes = node_bytes(t->in, node(t->in, t->node)),
		.seconds = t->seconds,
		.verdict = verdict_of(t),
		.why = t->untunable ? t->untunable : t->why,
		.from = t->from,
		.trace = t->trace,
		.trials = trials_done(t),
		.known = t->known,
		.curve = t->curve.a,
		.ncurve = t->curve.n,
	};
	char hex[33];

	digest_hex(t->digest, hex);
	x.digest = arena_str(a, hex);
	if (t->trace) {
		x.ratio = t->ratio;
		x.lo = t->lo;
		x.hi = t->hi;
	}
	if (t->trace || t->given || t->base.candidate)
		x.words = trace_explain(t->trace                               ? t->trace
					: keeps_given(t) || !t->base.candidate ? t->given
									       : t->base.candidate->trace,
					a);
	for (int v = VERDICT_WRONG; v <= VERDICT_BUILD; v++)
		x.failed += t->failed[v];
	return x;
}

/* A row that says no rates has those that CPUs of its kind have. */
static void set_roofs(struct report *r, const struct target *target)
{
	enum { MULTIPLY_ADD = 2 };
	const struct target t = target_filled(target);

	r->peak = target_fma_rate(&t);
	r->rate = t.rate[RATE_MEMORY];
	r->is_measured = r->peak > 0 && r->rate > 0;
	if (!r->is_measured) {
		r->peak = MULTIPLY_ADD * t.hertz * t.fma_ports * t.vector_bytes / (double)sizeof(float);
		r->rate = t.hertz * t.memory_a_cycle;
	}
}

void session_report(const struct session *s, struct report *r, struct arena *a)
{
	const struct ledger *l = &s->ledger;
	const struct report_cost cost[] = {
		{"generate", l->generate, false}, {"search", l->search, false}, {"wait", l->wait, false},
		{"compile", l->build, true},      {"run", l->run, true},
	};

	*r = (struct report){.model = "",
			     .target = s->target_row ? s->target_row : "",
			     .tool = s->opt->tool,
			     .seconds = l->all,
			     .interrupted = s->interrupted,
			     .ntask = (size_t)s->ntask,
			     .ncost = sizeof cost / sizeof *cost};
	if (s->target)
		set_roofs(r, s->target);
	r->cost = arena_copy(a, cost, sizeof cost);
	r->task = ARENA_ARRAY(a, struct report_task, r->ntask);
	for (size_t i = 0; i < r->ntask; i++)
		r->task[i] = task_result(&s->task[i], a);
}
