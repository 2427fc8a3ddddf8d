/* --profile: runs as trace events.
 *
 * The form is the one of "Trace Event Format" (Google, 2016), which ui.perfetto.dev and chrome://tracing open: complete events, "X", with
 * begin and duration in microseconds. A run is an event, and its steps lie in it one after the other. Time of the run that no step took
 * (the clock itself, calls between steps) is at its end. */
#include <stdio.h>
#include "common/json.h"
#include "common/outfile.h"
#include "common/shown.h"
#include "target/target.h"
#include "run-dev.h"

enum { RUNS = 100 }; /* so many at most: a viewer has to load them */

static void put_begin(FILE *f, const char *name, const char *category, double begin, double seconds)
{
	fprintf(f, ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%.3f,\"dur\":%.3f,\"cat\":\"%s\",\"name\":", 1e6 * begin, 1e6 * seconds,
		category);
	json_str(f, name);
	fputs(",\"args\":{", f);
}

static void put_step(FILE *f, const struct hone_step *s, double begin, double seconds, double peak)
{
	put_begin(f, s->node, step_runner(s), begin, seconds);
	fputs("\"kernel\":", f);
	json_str(f, s->kernel);
	fputs(",\"operators\":", f);
	json_str(f, s->ops);
	if (*s->why) {
		fputs(",\"why\":", f);
		json_str(f, s->why);
	}
	if (s->flops > 0 && seconds > 0) {
		fprintf(f, ",\"GFLOP/s\":%.2f", 1e-9 * s->flops / seconds);
		if (peak > 0)
			fprintf(f, ",\"of peak\":%.4f", s->flops / seconds / peak);
	}
	if (s->bytes > 0 && seconds > 0)
		fprintf(f, ",\"GB/s\":%.2f", 1e-9 * s->bytes / seconds);
	if (s->predicted > 0)
		fprintf(f, ",\"predicted us\":%.3f", 1e6 * s->predicted);
	fputs("}}", f);
}

void profile_write(const char *path, const struct hone_model *m, const struct bench *b)
{
	size_t n = (size_t)m->num_steps, first = b->nrun > RUNS ? b->nrun - RUNS : 0;
	struct outfile o;
	double begin = 0;

	outfile_open(&o, path, false);
	fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"cpu\":", o.f);
	json_str(o.f, target_host()->cpu);
	fputs(",\"compiler\":", o.f);
	json_str(o.f, m->compiler);
	fputs("},\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"process_name\",\"args\":{\"name\":", o.f);
	json_str(o.f, m->name);
	fputs("}}", o.f);
	for (size_t k = first; k < b->nrun; k++) {
		const double *row = b->runs + k * (n + 1);
		put_begin(o.f, "run", "run", begin, row[n]);
		fprintf(o.f, "\"number\":%zu}}", k + 1);
		double at = begin;
		for (size_t i = 0; i < n; i++) {
			put_step(o.f, &m->steps[i], at, row[i], b->peak);
			at += row[i];
		}
		begin += row[n];
	}
	fputs("\n]}\n", o.f);
	outfile_close(&o);
}
