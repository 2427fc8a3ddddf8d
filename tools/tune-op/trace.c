/* tune-op --trace: one schedule, written by hand or taken from elsewhere, against the default one. */
#include <stdlib.h>
#include <string.h>
#include "common/json.h"
#include "common/outfile.h"
#include "common/shown.h"
#include "model/candidate.h"
#include "tune/dispatcher.h"
#include "tune-op.h"

static char *text_of(const char *file)
{
	struct mapped f;

	mapped_open(&f, file);
	if (memchr(f.p, 0, f.n))
		die(EX_BADDATA, "%s: no trace: it has a NUL byte", file);
	char *text = xmalloc(f.n + 1);
	memcpy(text, f.p, f.n);
	text[f.n] = 0;
	mapped_close(&f);
	return text;
}

static struct candidate *lower_or_die(struct module *m, const struct task *t, const struct target *target, const char *trace,
				      const char *file)
{
	const char *why;
	struct candidate *c = candidate_new(m, t->node[0], target, trace, false, &why);

	if (!c)
		die(EX_BADDATA, "%s: %s", file, shown(why));
	return c;
}

static const char *seconds_text(struct arena *a, double s)
{
	return s < 1e-4 ? arena_printf(a, "%.2f us", 1e6 * s) : arena_printf(a, "%.4f ms", 1e3 * s);
}

static void print_text(const struct task *t, const char *file, const struct measurement *x, struct arena *a)
{
	double base = measurement_base_seconds(x);

	printf("%s\n", shown(t->title));
	if (x->verdict == VERDICT_RIGHT)
		printf("%s: the right numbers; an emulated device is not timed\n", shown(file));
	else
		printf("default %s, %s %s: %.3f (%.3f .. %.3f) of its time, %s, %zu pairs\n", seconds_text(a, base), shown(file),
		       seconds_text(a, base * x->ratio), x->ratio, x->lo, x->hi, verdict_name(x->verdict), x->npairs);
}

static void print_json(const struct task *t, const struct measurement *x)
{
	const struct {
		const char *name;
		double v;
	} number[] = {
		{"default", measurement_base_seconds(x)}, {"ratio", x->ratio}, {"lo", x->lo}, {"hi", x->hi}, {"pairs", (double)x->npairs}};

	printf("{\"task\": ");
	json_str(stdout, t->text);
	printf(", \"verdict\": ");
	json_str(stdout, verdict_name(x->verdict));
	for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
		printf(", \"%s\": ", number[i].name);
		json_num(stdout, number[i].v);
	}
	printf("}\n");
}

void trace_time(struct module *m, const struct task *t, const struct timing_of_trace *how)
{
	struct dispatcher *d = dispatcher_new(how->runner, how->nrunner, NULL);
	const struct target *target = dispatcher_machine(d);
	const char *trace = text_of(how->file);
	struct arena a = {0};
	struct task_base base = {.text = t->text, .digest = t->digest, .candidate = lower_or_die(m, t, target, NULL, "the default")};
	struct request r = {.base = &base,
			    .candidate = lower_or_die(m, t, target, trace, how->file),
			    .budget = how->seconds,
			    .seed = how->seed,
			    .cold_bytes = how->cold_bytes};

	base.source = digest_bytes(base.candidate->source, base.candidate->nsource);
	r.source = digest_bytes(r.candidate->source, r.candidate->nsource);
	dispatcher_add(d, &r);
	while (!dispatcher_next(d, 1))
		;
	if (base.broken)
		die(EX_NOTAVAIL, "%s: %s", shown(t->title), shown(base.broken));
	if (!verdict_timed(r.result.verdict) && r.result.verdict != VERDICT_RIGHT)
		die(EX_BADDATA, "%s: %s%s%s", how->file, verdict_name(r.result.verdict), r.result.why ? ": " : "",
		    r.result.why ? shown(r.result.why) : "");
	if (how->json)
		print_json(t, &r.result);
	else
		print_text(t, how->file, &r.result, &a);
	candidate_free(base.candidate);
	candidate_free(r.candidate);
	dispatcher_free(d);
	arena_release(&a);
}
