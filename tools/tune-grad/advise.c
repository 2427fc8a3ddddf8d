/* tune-grad advise: from a profiler's timeline, what of each step nothing useful covers, and what to change. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>
#include "common/json.h"
#include "common/outfile.h"
#include "common/shown.h"
#include "comm/kineto.h"
#include "tune-grad.h"

/* Times apart from each other, rising. */
struct set {
	struct span *a;
	size_t n, cap;
};

static struct set set_union(const struct span *s, size_t n)
{
	struct set u = {0};
	for (size_t i = 0; i < n; i++) {
		if (u.n && s[i].from <= u.a[u.n - 1].to)
			u.a[u.n - 1].to = fmax(u.a[u.n - 1].to, s[i].to);
		else
			vec_push(&u, s[i]);
	}
	return u;
}

/* Of x what is in y, or with without what is not. */
static struct set set_cut(const struct set *x, const struct set *y, bool without)
{
	struct set out = {0};
	size_t k = 0;
	for (size_t i = 0; i < x->n; i++) {
		struct span s = x->a[i];
		while (k < y->n && y->a[k].to <= s.from)
			k++;
		double at = s.from;
		for (size_t j = k; j < y->n && y->a[j].from < s.to; j++) {
			double from = fmax(s.from, y->a[j].from), to = fmin(s.to, y->a[j].to);
			if (!without && to > from)
				vec_push(&out, (struct span){from, to, s.name});
			if (without && from > at)
				vec_push(&out, (struct span){at, from, s.name});
			at = to;
		}
		if (without && s.to > at)
			vec_push(&out, (struct span){at, s.to, s.name});
	}
	return out;
}

static double set_length(const struct set *s)
{
	double sum = 0;
	for (size_t i = 0; i < s->n; i++)
		sum += s->a[i].to - s->a[i].from;
	return sum;
}

/* us, per step on average. */
struct advice {
	size_t steps;
	double step, compute, comm, exposed, tail, idle, data;
	double others;            /* of exposed: while nothing is reduced, so it is not of gradients */
	double calls, call, last; /* all-reduces a step, their mean time, that of a step's last one */
	struct set gaps;          /* in which nothing runs; the name is that of what comes next */
	struct set waits;         /* of them, in which data is loaded */
};

/* Where the tail of a step begins: behind it and before `end` little is computed, a tenth of the time at most, as gradients that have
 * come are copied while others are waited for. Not before `first`. */
static double tail_begins(const struct set *compute, double first, double end)
{
	static const double little = 0.1;
	size_t i = 0;
	while (i < compute->n && compute->a[i].from < end)
		i++;
	double inside = 0, begins = i > 0 ? fmax(first, fmin(end, compute->a[i - 1].to)) : first;
	while (i-- > 0 && compute->a[i].to > first) {
		inside += fmin(end, compute->a[i].to) - fmax(first, compute->a[i].from);
		double before = i > 0 ? fmax(first, compute->a[i - 1].to) : first;
		if (inside <= little * (end - before))
			begins = before;
	}
	return begins;
}

/* The reductions of the step: how often, the last one, and what is not covered behind the backward pass. */
static void add_tail(struct advice *a, const struct set *compute, const struct set *exposed, const struct kineto *t, struct span step)
{
	const struct span *last = NULL;
	double first = step.to;
	for (size_t i = 0; i < t->span[SPAN_COMM].n; i++) {
		const struct span *s = &t->span[SPAN_COMM].a[i];
		if (s->from < step.from || s->from >= step.to || !s->reduces)
			continue;
		first = fmin(first, s->from);
		a->calls++;
		a->call += s->to - s->from;
		if (!last || s->to > last->to)
			last = s;
	}
	if (!last)
		return;
	struct span end = {.from = tail_begins(compute, first, last->to), .to = last->to};
	struct set one = {.a = &end, .n = 1}, tail = set_cut(&one, exposed, false);
	a->tail += set_length(&tail);
	a->last += last->to - last->from;
	vec_free(&tail);
}

/* The first of a set that begins at or behind a time, or NULL. */
static const struct span *first_from(const struct set *s, double at)
{
	size_t lo = 0, hi = s->n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (s->a[mid].from < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->n ? &s->a[lo] : NULL;
}

static const char *what_follows(const struct set *compute, const struct set *comm, double at)
{
	const struct span *x = first_from(compute, at), *y = first_from(comm, at);
	if (!x || (y && y->from < x->from))
		x = y;
	return x ? x->name : "the end of the step";
}

/* What reduces; the communication of gradients. */
static struct set reductions(const struct kineto *t)
{
	struct set s = {0};
	for (size_t i = 0; i < t->span[SPAN_COMM].n; i++)
		if (t->span[SPAN_COMM].a[i].reduces)
			vec_push(&s, t->span[SPAN_COMM].a[i]);
	struct set u = set_union(s.a, s.n);
	vec_free(&s);
	return u;
}

static struct advice analyse(const struct kineto *t)
{
	struct advice a = {0};
	struct set all = set_union(t->span[SPAN_COMPUTE].a, t->span[SPAN_COMPUTE].n);
	struct set comm = set_union(t->span[SPAN_COMM].a, t->span[SPAN_COMM].n);
	struct set data = set_union(t->span[SPAN_DATA].a, t->span[SPAN_DATA].n);
	/* Without a device the operators that make up a batch are no computing of the step. */
	struct set compute = t->device ? set_cut(&all, &(struct set){0}, true) : set_cut(&all, &data, true);
	struct set step = {0};
	for (size_t i = 0; i < t->span[SPAN_STEP].n; i++) /* not joined where one ends as the next begins */
		vec_push(&step, t->span[SPAN_STEP].a[i]);
	if (!step.n)
		vec_push(&step, (struct span){all.a[0].from, fmax(all.a[all.n - 1].to, comm.n ? comm.a[comm.n - 1].to : 0), "all"});
	a.steps = step.n;
	a.step = set_length(&step);
	struct set in_compute = set_cut(&step, &compute, false), in_comm = set_cut(&step, &comm, false);
	struct set exposed = set_cut(&in_comm, &compute, true), rest = set_cut(&step, &compute, true);
	struct set reduce = reductions(t), others = set_cut(&exposed, &reduce, true);
	a.gaps = set_cut(&rest, &comm, true);
	a.waits = set_cut(&a.gaps, &data, false);
	for (size_t i = 0; i < a.gaps.n; i++)
		a.gaps.a[i].name = what_follows(&all, &comm, a.gaps.a[i].to);
	a.compute = set_length(&in_compute);
	a.comm = set_length(&in_comm);
	a.exposed = set_length(&exposed);
	a.others = set_length(&others);
	a.idle = set_length(&a.gaps);
	a.data = set_length(&a.waits);
	for (size_t i = 0; i < step.n; i++)
		add_tail(&a, &compute, &exposed, t, step.a[i]);
	a.call = a.calls > 0 ? a.call / a.calls : 0;
	double *mean[] = {&a.step, &a.compute, &a.comm, &a.exposed, &a.tail, &a.idle, &a.data, &a.others, &a.calls, &a.last};
	for (size_t i = 0; i < sizeof mean / sizeof *mean; i++)
		*mean[i] /= (double)a.steps;
	struct set *done[] = {&all, &comm, &data, &compute, &step, &in_compute, &in_comm, &exposed, &rest, &reduce, &others};
	for (size_t i = 0; i < sizeof done / sizeof *done; i++)
		vec_free(done[i]);
	return a;
}

enum { ADVICE = 6 };

/* What to change: a line each. Shares of a step below which nothing is said: times of a step scatter by as much. */
static void advise(struct advice *a, char *out[ADVICE], size_t *n)
{
	static const double little = 0.02;
	*n = 0;
	if (a->tail > little * a->step && a->calls > 1.5 && a->last > 0.5 * a->tail)
		out[(*n)++] =
			xprintf("the tail: a step's last all-reduce takes %.0f us, and it starts when little is left to hide behind; "
				"end with smaller segments: write a grads file from this profile, then tune-grad plan",
				a->last);
	else if (a->tail > little * a->step && a->calls > 1.5)
		out[(*n)++] = xprintf(
			"the tail: communication falls behind the backward pass; fuse for this network: tune-grad calibrate, then plan");
	else if (a->tail > little * a->step)
		out[(*n)++] = xprintf(
			"the tail: all gradients go at once, when the backward pass is over; several segments would hide: tune-grad plan");
	if (a->comm > a->compute)
		out[(*n)++] = xprintf(
			"the network: communication, %.0f us, is longer than all computing, %.0f us; no plan hides it: send fewer bytes "
			"(16-bit gradients, several batches a step) or use a faster network",
			a->comm, a->compute);
	if (a->calls > 50 && a->exposed > little * a->step && a->call < 200)
		out[(*n)++] = xprintf("the calls: %.0f all-reduces a step of %.0f us each, mostly latency; fuse them: tune-grad plan",
				      a->calls, a->call);
	if (a->others > little * a->step)
		out[(*n)++] =
			xprintf("the others: broadcasts, gathers and the like are not covered for %.0f us of a step; of DDP's buffers: "
				"broadcast_buffers=False; of sharded parameters: fetch them ahead, tune-grad plan --gather",
				a->others);
	if (a->data > little * a->step)
		out[(*n)++] =
			xprintf("the data: nothing runs for %.0f us of a step while a batch is loaded; more workers that load ahead "
				"(num_workers, persistent_workers, prefetch_factor), pinned memory",
				a->data);
	if (a->idle - a->data > 0.1 * a->step)
		out[(*n)++] = xprintf(
			"the host: nothing runs for %.0f us of a step, and it is not for data; larger batches, fewer synchronisations "
			"(item(), print), graphs of kernels",
			a->idle - a->data);
}

static int longest_first(const void *x, const void *y)
{
	const struct span *a = x, *b = y;
	double d = (b->to - b->from) - (a->to - a->from);
	return d != 0 ? (d > 0 ? 1 : -1) : a->from < b->from ? -1 : a->from > b->from;
}

static double waiting(const struct advice *a, struct span gap)
{
	struct set one = {.a = &gap, .n = 1}, in = set_cut(&one, &a->waits, false);
	double us = set_length(&in);
	vec_free(&in);
	return us;
}

static void print_text(FILE *f, const struct advice *a, const struct kineto *t, char *const *line, size_t lines)
{
	const struct {
		const char *what;
		double us;
	} rows[] = {
		{"a step", a->step},     {"computing", a->compute},         {"communication", a->comm}, {"  of it not covered", a->exposed},
		{"  the tail", a->tail}, {"  not of gradients", a->others}, {"nothing", a->idle},       {"  waiting for data", a->data},
	};
	double start = t->span[SPAN_STEP].n ? t->span[SPAN_STEP].a[0].from : t->span[SPAN_COMPUTE].a[0].from;
	fprintf(f, "%zu step%s, times of %s\n%-24s %12s\n", a->steps, a->steps == 1 ? "" : "s", t->device ? "the device" : "the processor",
		"", "us a step");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		fprintf(f, "%-24s %12.1f %5.1f%%\n", rows[i].what, rows[i].us, a->step > 0 ? 100 * rows[i].us / a->step : 0);
	fprintf(f, "%-24s %12.1f, %.1f us each\n", "all-reduces", a->calls, a->call);
	for (size_t i = 0; i < a->gaps.n && i < 5; i++) {
		struct span g = a->gaps.a[i];
		fprintf(f, "gap at %.1f us: %.1f us%s before %s\n", g.from - start, g.to - g.from,
			waiting(a, g) > 0.5 * (g.to - g.from) ? ", waiting for data," : "", shown(g.name));
	}
	for (size_t i = 0; i < lines; i++)
		fprintf(f, "%s\n", shown(line[i]));
	if (!lines)
		fputs("nothing stands out\n", f);
}

static void print_json(FILE *f, const struct advice *a, const struct kineto *t, char *const *line, size_t lines)
{
	fprintf(f,
		"{\"steps\": %zu, \"device\": %s, \"step_us\": %.3f, \"compute_us\": %.3f, \"comm_us\": %.3f, \"exposed_us\": %.3f, \"tail_us\": %.3f, "
		"\"idle_us\": %.3f, \"data_us\": %.3f, \"others_us\": %.3f, \"calls\": %.3f, \"call_us\": %.3f, \"last_us\": %.3f, \"advice\": [",
		a->steps, t->device ? "true" : "false", a->step, a->compute, a->comm, a->exposed, a->tail, a->idle, a->data, a->others,
		a->calls, a->call, a->last);
	for (size_t i = 0; i < lines; i++) {
		fputs(i ? ", " : "", f);
		json_str(f, line[i]);
	}
	fputs("]}\n", f);
}

int grad_advise(struct tool_args *args)
{
	struct kineto t;
	struct outfile o;
	char *line[ADVICE];
	size_t lines;
	if (args->nfile > 1)
		die(EX_BADUSE, "advise: expected one trace");
	if (args->nfile == 0 && isatty(STDIN_FILENO))
		tool_usage();
	kineto_read(&t, args->nfile ? args->file[0] : NULL);
	struct advice a = analyse(&t);
	if (a.gaps.n)
		qsort(a.gaps.a, a.gaps.n, sizeof *a.gaps.a, longest_first);
	if (!t.span[SPAN_COMM].n)
		note("no communication in the trace");
	if (t.devices > 1)
		note("%d devices in the trace; this is device %d", t.devices, t.chosen);
	advise(&a, line, &lines);
	outfile_open(&o, args->out, false);
	(args->json ? print_json : print_text)(o.f, &a, &t, line, lines);
	outfile_close(&o);
	for (size_t i = 0; i < lines; i++)
		free(line[i]);
	vec_free(&a.gaps);
	vec_free(&a.waits);
	kineto_free(&t);
	return EX_GOOD;
}
