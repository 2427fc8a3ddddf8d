/* Reports of run-dev: a library, and its times. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "common/json.h"
#include "common/shown.h"
#include "target/target.h"
#include "run-dev.h"

/* One line a kernel: its steps taken together; a step without a kernel by itself. */
struct share {
	const char *name, *node;
	int calls;
	int slow; /* as struct hone_step has it */
	double flops, seconds;
};

static int by_time(const void *a, const void *b)
{
	double x = ((const struct share *)a)->seconds, y = ((const struct share *)b)->seconds;
	return (x < y) - (x > y);
}

static int shares_of(const struct hone_model *m, const struct bench *b, struct share *s)
{
	int n = 0, k;

	for (int i = 0; i < m->num_steps; i++) {
		for (k = 0; k < n && (m->steps[i].slow || strcmp(s[k].name, m->steps[i].kernel)); k++)
			;
		if (k == n)
			s[n++] = (struct share){m->steps[i].kernel, m->steps[i].node, .slow = m->steps[i].slow};
		s[k].calls++;
		s[k].flops += m->steps[i].flops;
		s[k].seconds += b->step[i];
	}
	qsort(s, (size_t)n, sizeof *s, by_time);
	return n;
}

static double rate(const struct share *s) { return s->seconds > 0 ? s->flops / s->seconds : 0; }
static double percent(double x, double of) { return of > 0 ? 100 * x / of : 0; }

const char *step_runner(const struct hone_step *s)
{
	if (s->slow)
		return s->slow == 1 ? "slow path" : "native";
	return !strcmp(s->kernel, "flow") || !strcmp(s->kernel, "append") || !strcmp(s->kernel, "maps") ? "flow" : "kernel";
}

/* Shares of the time of all steps, by what runs them. */
struct time_of {
	double kernels, native, slow, flow;
};

static struct time_of time_of(const struct hone_model *m, const struct bench *b)
{
	struct time_of t = {0};

	for (int i = 0; i < m->num_steps; i++) {
		const char *by = step_runner(&m->steps[i]);
		*(*by == 's' ? &t.slow : *by == 'n' ? &t.native : *by == 'f' ? &t.flow : &t.kernels) += b->step[i];
	}
	double all = t.kernels + t.native + t.slow + t.flow;
	if (all > 0)
		t = (struct time_of){t.kernels / all, t.native / all, t.slow / all, t.flow / all};
	return t;
}

void print_kernels(const struct hone_model *m, const struct bench *b, struct arena *a)
{
	struct share *s = ARENA_ARRAY(a, struct share, m->num_steps + 1);
	int n = shares_of(m, b, s);
	double total = 0;

	for (int i = 0; i < n; i++)
		total += s[i].seconds;
	printf("%-6s %5s %10s %6s %9s %6s  %s\n", "kernel", "calls", "us", "share", "GFLOP/s", "peak", "node");
	for (int i = 0; i < n; i++)
		printf("%-6s %5d %10.1f %5.1f%% %9.1f %5.1f%%  %s%s%s\n", shown(s[i].name), s[i].calls, 1e6 * s[i].seconds,
		       percent(s[i].seconds, total), 1e-9 * rate(&s[i]), percent(rate(&s[i]), b->peak), shown(s[i].node),
		       s[i].calls > 1 ? " .." : "",
		       s[i].slow == 1 ? " (slow path)"
		       : s[i].slow    ? " (native)"
				      : "");
	struct time_of t = time_of(m, b);
	printf("kernels %.1f%%, native %.1f%%, slow path %.1f%%, branches and loops %.1f%%\n", 100 * t.kernels, 100 * t.native,
	       100 * t.slow, 100 * t.flow);
}

/* Times as they are read: a tenth of a microsecond is seen. */
static void print_times(const struct timing *t)
{
	bool short_ones = t->median < 1e-4;
	double unit = short_ones ? 1e-6 : 1e-3;
	const char *name = short_ones ? "us" : "ms";

	printf("min %.4f %s, median %.4f %s, p99 %.4f %s", t->min / unit, name, t->median / unit, name, t->p99 / unit, name);
}

static void print_peer(const struct beside *o)
{
	const struct peer_times *t = &o->times;

	printf("%s: ", shown(o->peer));
	print_times(&t->run);
	putchar('\n');
	printf("the library takes %.3f (%.3f to %.3f) of its time, %zu turns; outputs differ by %.1e\n", t->ratio.median, t->ratio.quarter,
	       t->ratio.three_quarters, t->ratio.runs, t->differs);
}

void print_bench(const struct hone_model *m, const struct bench *b, const struct beside *o)
{
	double rate = b->flops / b->run.median;

	printf("%s: %zu runs on core %d of %s, compiled with %s\n", shown(m->name), b->run.runs, b->core, shown(target_host()->cpu),
	       shown(m->compiler));
	print_times(&b->run);
	printf(", %.1f a second\n", 1 / b->run.mean);
	if (o->peer)
		print_peer(o);
	for (int i = 0; i < m->num_inputs; i++)
		for (int k = 0; m->inputs[i].symbol && k < m->inputs[i].rank; k++)
			if (m->inputs[i].symbol[k]) /* then it is not known how many */
				return;
	printf("%.3f GFLOP a run, %.1f GFLOP/s", 1e-9 * b->flops, 1e-9 * rate);
	if (b->peak > 0)
		printf(", %.1f%% of the %.1f GFLOP/s that FMAs alone reached in the same run%s", percent(rate, b->peak), 1e-9 * b->peak,
		       rate > b->peak ? ": counted are direct convolutions, Winograd multiplies less" : "");
	putchar('\n');
}

/* A number that was not measured is null. */
static void put_member(const char *name, double v)
{
	printf(",\"%s\":", name);
	json_num(stdout, v);
}

static void put_timing(const struct timing *t)
{
	put_member("min", t->min);
	put_member("quarter", t->quarter);
	put_member("median", t->median);
	put_member("three_quarters", t->three_quarters);
	put_member("p90", t->p90);
	put_member("p99", t->p99);
	put_member("mean", t->mean);
}

double most_memory(void)
{
	struct rusage u;

	return getrusage(RUSAGE_SELF, &u) ? NAN : 1024.0 * (double)u.ru_maxrss;
}

static void put_peer(const struct beside *o)
{
	printf(",\"peer\":{\"name\":");
	json_str(stdout, o->peer);
	printf(",\"runs\":%zu", o->times.run.runs);
	put_timing(&o->times.run);
	put_member("differs", o->times.differs);
	put_member("ratio", o->times.ratio.median);
	put_member("ratio_quarter", o->times.ratio.quarter);
	put_member("ratio_three_quarters", o->times.ratio.three_quarters);
	putchar('}');
}

void print_json(const struct hone_model *m, const struct bench *b, const struct beside *o, bool kernels, struct arena *a)
{
	struct share *s = ARENA_ARRAY(a, struct share, m->num_steps + 1);
	int n = kernels ? shares_of(m, b, s) : 0;

	printf("{\"model\":");
	json_str(stdout, m->name);
	printf(",\"cpu\":");
	json_str(stdout, target_host()->cpu);
	printf(",\"compiler\":");
	json_str(stdout, m->compiler);
	printf(",\"core\":%d,\"runs\":%zu", b->core, b->run.runs);
	put_timing(&b->run);
	put_member("processor", b->run.processor);
	put_member("load", o->load);
	put_member("memory", o->memory);
	put_member("flop", b->flops);
	put_member("peak", b->peak);
	put_member("memory_rate", o->memory_rate > 0 ? o->memory_rate : NAN);
	if (o->peer)
		put_peer(o);
	printf(",\"kernels\":[");
	for (int i = 0; i < n; i++) {
		printf("%s{\"kernel\":", i ? "," : "");
		json_str(stdout, s[i].name);
		printf(",\"node\":");
		json_str(stdout, s[i].node);
		printf(",\"slow_path\":%s,\"native\":%s,\"calls\":%d", s[i].slow == 1 ? "true" : "false", s[i].slow > 1 ? "true" : "false",
		       s[i].calls);
		put_member("seconds", s[i].seconds);
		put_member("flop", s[i].flops);
		putchar('}');
	}
	printf("],\"steps\":[");
	for (int i = 0; i < m->num_steps && kernels; i++) {
		printf("%s{\"kernel\":", i ? "," : "");
		json_str(stdout, m->steps[i].kernel);
		printf(",\"node\":");
		json_str(stdout, m->steps[i].node);
		printf(",\"ops\":");
		json_str(stdout, m->steps[i].ops);
		printf(",\"by\":\"%s\",\"why\":", step_runner(&m->steps[i]));
		json_str(stdout, m->steps[i].why);
		put_member("seconds", b->step[i]);
		put_member("predicted", m->steps[i].predicted > 0 ? m->steps[i].predicted : NAN);
		put_member("flop", m->steps[i].flops);
		put_member("bytes", m->steps[i].bytes > 0 ? m->steps[i].bytes : NAN);
		putchar('}');
	}
	printf("]");
	if (kernels) {
		struct time_of t = time_of(m, b);
		printf(",\"shares\":{\"kernels\":");
		json_num(stdout, t.kernels);
		put_member("native", t.native);
		put_member("slow_path", t.slow);
		put_member("flow", t.flow);
		putchar('}');
		put_member("gap", b->gap);
	}
	printf("}\n");
}

static void print_tensor(const char *what, const struct hone_tensor *t, bool is_kept)
{
	printf("%s %s: %s", what, shown(t->name), shown(t->type));
	if (t->rank >= 0)
		putchar('[');
	for (int i = 0; i < t->rank; i++) {
		const char *symbol = t->symbol ? t->symbol[i] : NULL;
		printf("%s", i ? "," : "");
		if (symbol || t->shape[i] < 0)
			printf("%s", symbol ? shown(symbol) : "?");
		else
			printf("%ld", t->shape[i]);
	}
	printf("%s%s%s\n", t->rank >= 0 ? "]" : "", t->preset ? ", may be left out" : "", is_kept ? ", kept from run to run" : "");
}

void print_model(const struct hone_model *m)
{
	printf("%s: for %s, by %s; %d steps, %zu bytes of weights, %zu of memory\n", shown(m->name), shown(m->cpu), shown(m->compiler),
	       m->num_steps, m->weights_bytes, m->arena_bytes);
	for (int i = 0; i < m->num_inputs; i++) {
		bool kept = false;
		for (int k = 0; k < m->num_states; k++)
			kept |= m->states[k].input == i;
		print_tensor("input", &m->inputs[i], kept);
	}
	for (int i = 0; i < m->num_outputs; i++)
		print_tensor("output", &m->outputs[i], false);
}
