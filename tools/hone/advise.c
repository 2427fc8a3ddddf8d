/* hone advise: where the time of a run goes, and what may shorten it.
 *
 * Each step of a library is held against two roofs that were measured in the same run: how fast the core multiplies and adds, and how fast
 * it reads memory (S. Williams, A. Waterman, D. Patterson: Roofline, CACM 52(4), 2009). Rules then put steps together that have one cause. A
 * gain is a bound: what the run would be shorter by if the cause went away whole. */
#define _GNU_SOURCE
#include "advise.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/json.h"
#include "common/progress.h"
#include "common/shown.h"
#include "graph/ops.h"

enum step_kind {
	WORK,        /* anything else */
	SLOW,        /* the evaluator runs it */
	FLOW,        /* a branch, a loop, a state that grows */
	TYPES,       /* changes types only */
	MOVES,       /* moves elements only */
	ELEMENTWISE, /* no product, no sum: one element at a time */
};

/* ---- steps ---- */

static bool changes_type(enum opcode op)
{
	return op == OP_Cast || op == OP_CastLike || op == OP_QuantizeLinear || op == OP_DequantizeLinear || op == OP_DynamicQuantizeLinear;
}

static enum opcode find_operator(const char *name)
{
	enum opcode op = op_find("", name);

	return op == OP_OTHER ? op_find("hone", name) : op;
}

/* By the operators of a step, "Conv+Clip". */
static enum step_kind kind_of(struct hone *h, const struct timed_step *s)
{
	bool types = true, moves = true, elementwise = true;

	if (!strcmp(s->by, "slow path"))
		return SLOW;
	if (!strcmp(s->by, "flow"))
		return FLOW;
	for (const char *p = s->ops, *end; p; p = *end ? end + 1 : NULL) {
		end = p + strcspn(p, "+");
		enum opcode op = find_operator(text(h, "%.*s", (int)(end - p), p));
		types &= changes_type(op);
		moves &= op != OP_OTHER && op_is(op, OP_MOVE);
		elementwise &= op != OP_OTHER && (op_is(op, OP_ELEMENTWISE) || op_is(op, OP_MOVE));
	}
	return types ? TYPES : moves ? MOVES : elementwise ? ELEMENTWISE : WORK;
}

/* The facts of run-dev have lists one after the other: a step begins with its kernel. */
static void read_steps(struct hone *h, struct advice *a, const struct facts *f)
{
	struct timed_step *s = NULL;

	for (size_t i = 0; i < f->n; i++) {
		const char *name = f->a[i].name, *text = f->a[i].text;
		if (strncmp(name, "steps.", 6))
			continue;
		name += 6;
		if (!strcmp(name, "kernel")) {
			vec_push(&a->steps,
				 (struct timed_step){.kernel = text, .seconds = NAN, .predicted = NAN, .flop = NAN, .bytes = NAN});
			s = &a->steps.a[a->steps.n - 1];
		}
		if (!s)
			continue;
		const char **word = !strcmp(name, "node")  ? &s->node
				    : !strcmp(name, "ops") ? &s->ops
				    : !strcmp(name, "by")  ? &s->by
				    : !strcmp(name, "why") ? &s->why
							   : NULL;
		double *number = !strcmp(name, "seconds")     ? &s->seconds
				 : !strcmp(name, "predicted") ? &s->predicted
				 : !strcmp(name, "flop")      ? &s->flop
				 : !strcmp(name, "bytes")     ? &s->bytes
							      : NULL;
		if (word)
			*word = text;
		else if (number)
			*number = f->a[i].number;
	}
	for (size_t i = 0; i < a->steps.n; i++) {
		s = &a->steps.a[i];
		if (!s->node || !s->ops || !s->by || !s->why || !(s->seconds >= 0))
			die(EX_BADDATA, "run-dev: step %zu of %s is not whole", i, shown(a->model));
		s->kind = (int)kind_of(h, s);
		s->reached = fmax(s->flop / s->seconds / a->peak, s->bytes / s->seconds / a->rate);
	}
}

/* ---- rules ---- */

static double shares_sum(const struct advice *a, const struct finding *f)
{
	double sum = 0;

	for (size_t i = 0; i < f->steps.n; i++)
		sum += a->steps.a[f->steps.a[i]].seconds;
	return sum / a->stepped;
}

static void take_kind(const struct advice *a, struct finding *f, enum step_kind kind)
{
	for (size_t i = 0; i < a->steps.n; i++)
		if (a->steps.a[i].kind == (int)kind)
			vec_push(&f->steps, i);
	f->gain = f->share = shares_sum(a, f);
}

static void find_slow(const struct advice *a, struct finding *f) { take_kind(a, f, SLOW); }
static void find_types(const struct advice *a, struct finding *f) { take_kind(a, f, TYPES); }
static void find_moves(const struct advice *a, struct finding *f) { take_kind(a, f, MOVES); }
static void find_flow(const struct advice *a, struct finding *f) { take_kind(a, f, FLOW); }

/* Elementwise steps next to each other: each reads what the one before it wrote. One of them would be left. */
static void find_chain(const struct advice *a, struct finding *f)
{
	double saved = 0;

	for (size_t i = 0, k; i < a->steps.n; i = k + 1) {
		double most = 0, sum = 0;
		for (k = i; k < a->steps.n && a->steps.a[k].kind == ELEMENTWISE; k++) {
			sum += a->steps.a[k].seconds;
			most = fmax(most, a->steps.a[k].seconds);
		}
		if (k - i < 2)
			continue;
		saved += sum - most;
		for (size_t j = i; j < k; j++)
			vec_push(&f->steps, j);
	}
	f->share = shares_sum(a, f);
	f->gain = saved / a->stepped;
}

/* True if it is known how much a step computes and moves: not of one with open sizes. */
static bool is_counted(const struct timed_step *s) { return s->flop > 0 || s->bytes > 0; }

static const double NEAR = 0.5; /* of a roof: then it is the roof that bounds a step */

static bool is_near(double rate, double roof) { return rate >= NEAR * roof; }

/* Faster than memory: most of what such a step reads lies in a cache. */
static bool is_cached(const struct advice *a, const struct timed_step *s)
{
	static const double MORE = 1.5;

	return s->bytes / s->seconds > MORE * a->rate;
}

/* Half of the bytes, or of the operations, is what another type would leave. */
static void find_memory(const struct advice *a, struct finding *f)
{
	for (size_t i = 0; i < a->steps.n; i++) {
		const struct timed_step *s = &a->steps.a[i];
		if ((s->kind == WORK || s->kind == ELEMENTWISE) && is_near(s->bytes / s->seconds, a->rate) && !is_cached(a, s) &&
		    !is_near(s->flop / s->seconds, a->peak))
			vec_push(&f->steps, i);
	}
	f->share = shares_sum(a, f);
	f->gain = f->share / 2;
}

/* A cache's rate is not known: how near to it they are is not, either. */
static void find_cached(const struct advice *a, struct finding *f)
{
	for (size_t i = 0; i < a->steps.n; i++) {
		const struct timed_step *s = &a->steps.a[i];
		if ((s->kind == WORK || s->kind == ELEMENTWISE) && is_cached(a, s) && !is_near(s->flop / s->seconds, a->peak))
			vec_push(&f->steps, i);
	}
	f->share = shares_sum(a, f);
	f->gain = f->share / 2;
}

static void find_compute(const struct advice *a, struct finding *f)
{
	for (size_t i = 0; i < a->steps.n; i++)
		if (a->steps.a[i].kind == WORK && is_near(a->steps.a[i].flop / a->steps.a[i].seconds, a->peak))
			vec_push(&f->steps, i);
	f->share = shares_sum(a, f);
	f->gain = f->share / 2;
}

/* Steps far below both roofs. */
static void find_below(const struct advice *a, struct finding *f)
{
	double saved = 0;

	for (size_t i = 0; i < a->steps.n; i++) {
		const struct timed_step *s = &a->steps.a[i];
		if ((s->kind != WORK && s->kind != ELEMENTWISE) || !is_counted(s) || !(s->reached < NEAR))
			continue;
		vec_push(&f->steps, i);
		saved += s->seconds * (1 - s->reached / NEAR);
	}
	f->share = shares_sum(a, f);
	f->gain = saved / a->stepped;
}

static void find_gap(const struct advice *a, struct finding *f) { f->gain = f->share = a->gap / a->stepped; }

/* The clock is read before and after each step; where that makes a run much longer, its steps are hardly longer than a reading. */
static void find_small(const struct advice *a, struct finding *f)
{
	static const double MUCH = 1.5;

	if (a->stepped > MUCH * a->median)
		f->gain = f->share = 1 - a->median / a->stepped;
}

/* weight: how much of a gain such a finding tends to give, for the order alone. A step that does nothing needed goes whole; a roof is
 * lowered by another type, which the user may not want; how near a schedule can come to a roof is not known before it is tried. */
static const struct rule {
	const char *name;
	void (*find)(const struct advice *a, struct finding *f);
	double weight;
	const char *what, *attempt;
} rules[] = {
	{"slow path", find_slow, 1, "the evaluator runs these steps, as they have no kernel",
	 "write the node in other operators; hone build --no-fallback names all such nodes, with the reason"},
	{"types", find_types, 1, "these steps only change the type of elements",
	 "let neighbours compute in one type, and leave the casts or scales between them out of the model"},
	{"moves", find_moves, 1, "these steps only move elements",
	 "write transposes, slices and concatenations so that they cancel, or lie next to a node that can read through them"},
	{"chain", find_chain, 1, "elementwise steps stand one after the other, and each reads and writes memory",
	 "see why they were not joined: a value between them is an output, or others read it; hone tune --graph tries other groups"},
	{"memory", find_memory, 0.5, "the memory's rate bounds these steps",
	 "fewer bytes: hone quantize (--weights 4 for weights alone), hone build --mixed, --state-type for caches"},
	{"caches", find_cached, 0.3, "these steps read faster than memory gives, from caches, and stay below the core's rate",
	 "fewer bytes: hone quantize (--weights 4 for weights alone), hone build --mixed; hone tune"},
	{"arithmetic", find_compute, 0.5, "the core's rate of products bounds these steps",
	 "bytes instead of floats: hone quantize; more cores: hone build --threads"},
	{"schedule", find_below, 0.3, "these steps reach neither the memory's rate nor the core's", "hone tune"},
	{"branches", find_flow, 0.5, "branches, loops and growing states take this time besides their steps",
	 "give sizes and trip counts as numbers (--set, --const), so that loops unroll and branches fold"},
	{"small steps", find_small, 1, "most steps are hardly longer than it takes to read the clock, and their times here are too long",
	 "fewer steps: larger batches, trip counts of loops as numbers (--set, --const) so that they unroll"},
	{"gaps", find_gap, 0.5, "no step takes this time: it passes between steps, and before the first and after the last",
	 "fewer steps; larger batches"},
};

static int by_seconds(const void *x, const void *y, void *advice)
{
	const struct advice *a = advice;
	size_t i = *(const size_t *)x, k = *(const size_t *)y;
	double p = a->steps.a[i].seconds, q = a->steps.a[k].seconds;

	return p != q ? (p < q ? 1 : -1) : (i > k) - (i < k);
}

static int by_weight(const void *x, const void *y)
{
	double p = ((const struct finding *)x)->weight, q = ((const struct finding *)y)->weight;

	return (p < q) - (p > q);
}

static const double LEAST = 0.02; /* of a run: what takes less is not worth a line */

static void find_all(struct advice *a)
{
	for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
		struct finding f = {rules[r].name, rules[r].what, rules[r].attempt};
		rules[r].find(a, &f);
		f.weight = f.gain * rules[r].weight;
		if (!(f.gain >= LEAST))
			continue;
		if (f.steps.n)
			qsort_r(f.steps.a, f.steps.n, sizeof *f.steps.a, by_seconds, a);
		vec_push(&a->findings, f);
	}
	if (a->findings.n)
		qsort(a->findings.a, a->findings.n, sizeof *a->findings.a, by_weight);
}

/* ---- the report ---- */

const char *share_text(struct hone *h, double share) { return text(h, "%.1f%%", 100 * share); }

enum { NAMED = 3 }; /* steps of a finding that have a line */

static void put_step(struct hone *h, const struct advice *a, const struct timed_step *s)
{
	printf("       %6s  %s (%s)", share_text(h, s->seconds / a->stepped), shown(s->node), shown(s->ops));
	if (*s->why)
		printf(": %s", shown(s->why));
	else if (is_near(s->flop / s->seconds, a->peak) || s->flop / a->peak >= s->bytes / a->rate)
		printf(": %s of the core's rate", share_text(h, s->flop / s->seconds / a->peak));
	else if (is_cached(a, s))
		printf(": from caches, at %.1f of the memory's rate", s->reached);
	else if (s->reached > 0)
		printf(": %s of the memory's rate", share_text(h, s->reached));
	if (s->seconds > 2 * s->predicted && s->predicted > 0 && s->seconds >= LEAST * a->stepped)
		printf(", %.1f times what was predicted", s->seconds / s->predicted);
	putchar('\n');
}

static const double BUSY = 1.2; /* a run's time to the processor time of it: other programs had the core for the rest */

static void put_text(struct hone *h, const struct advice *a)
{
	double flop = 0, open = 0;

	for (size_t i = 0; i < a->steps.n; i++) {
		flop += a->steps.a[i].flop;
		open += is_counted(&a->steps.a[i]) || a->steps.a[i].kind == FLOW ? 0 : a->steps.a[i].seconds;
	}
	printf("%s: %.4f ms a run, %zu steps, %.1f GFLOP/s\n", shown(a->model), 1e3 * a->median, a->steps.n, 1e-9 * flop / a->median);
	printf("%s: %.1f GFLOP/s, %.1f GB/s read from memory\n", shown(a->cpu), 1e-9 * a->peak, 1e-9 * a->rate);
	if (a->median > BUSY * a->processor)
		printf("The machine is busy: the process had a core for %s of a run's time. Times are too long, and shares may be wrong.\n",
		       share_text(h, a->processor / a->median));
	if (open / a->stepped >= LEAST)
		printf("Steps of open sizes take %s of a run; what bounds them is not known. --set builds for one size.\n",
		       share_text(h, open / a->stepped));
	if (!a->findings.n && open / a->stepped < LEAST)
		printf("\nNothing stands out: no cause takes %s of a run.\n", share_text(h, LEAST));
	for (size_t i = 0; i < a->findings.n; i++) {
		const struct finding *f = &a->findings.a[i];
		printf("\n%2zu. %s: %s of a run; %s", i + 1, f->name, share_text(h, f->share), f->text);
		if (f->gain < f->share)
			printf(" (at most %s to gain)", share_text(h, f->gain));
		putchar('\n');
		for (size_t k = 0; k < f->steps.n && k < NAMED; k++)
			put_step(h, a, &a->steps.a[f->steps.a[k]]);
		if (f->steps.n > NAMED)
			printf("               and %zu more\n", f->steps.n - NAMED);
		printf("    try: %s\n", f->attempt);
	}
}

static void put_member(const char *name, double v)
{
	printf(",\"%s\":", name);
	json_num(stdout, v);
}

static void put_word(const char *name, const char *word)
{
	printf(",\"%s\":", name);
	json_str(stdout, word);
}

static void put_json(const struct advice *a)
{
	printf("{\"model\":");
	json_str(stdout, a->model);
	put_word("cpu", a->cpu);
	put_member("median", a->median);
	put_member("peak", a->peak);
	put_member("memory_rate", a->rate);
	printf(",\"findings\":[");
	for (size_t i = 0; i < a->findings.n; i++) {
		const struct finding *f = &a->findings.a[i];
		printf("%s{\"name\":\"%s\"", i ? "," : "", f->name);
		put_word("text", f->text);
		put_word("try", f->attempt);
		put_member("share", f->share);
		put_member("gain", f->gain);
		printf(",\"steps\":[");
		for (size_t k = 0; k < f->steps.n; k++) {
			const struct timed_step *s = &a->steps.a[f->steps.a[k]];
			printf("%s{\"node\":", k ? "," : "");
			json_str(stdout, s->node);
			put_word("ops", s->ops);
			put_word("why", s->why);
			put_member("seconds", s->seconds);
			put_member("predicted", s->predicted);
			put_member("reached", s->reached);
			putchar('}');
		}
		printf("]}");
	}
	printf("]}\n");
}

void advise(struct hone *h)
{
	const char *page = given_value(h, "report"), *threads = given_value(h, "threads"), *library = h->model;
	struct child c = {.out = text(h, "%s/times", h->work), .facts = text(h, "%s/facts", h->work)};
	struct advice a = {0};
	struct facts f;
	int code;

	threads = threads ? threads : "1";
	if (!is_library(h->model)) {
		progress(h, text(h, "building %s", base_name(h->model)));
		library = library_made(h, h->model, "", threads, &code, &f);
		if (!library)
			child_failed(h, code, &f);
	}
	progress(h, "timing each step");
	words_add(&c.argv, "run-dev");
	words_add(&c.argv, "--bench");
	words_add(&c.argv, "--kernels");
	words_add(&c.argv, "--json");
	given_add(h, &c.argv, "advise");
	for (size_t i = 0; is_library(h->model) && i < h->given.n; i++)
		if (!strcmp(h->given.a[i].row->name, "set"))
			words_add(&c.argv, text(h, "--set=%s", h->given.a[i].value));
	words_add(&c.argv, text(h, "--threads=%s", threads));
	words_add(&c.argv, text(h, "--facts=%s", c.facts));
	words_add(&c.argv, "--");
	words_add(&c.argv, library);
	child_must(h, &c);
	f = facts_read(c.out);
	a.model = is_library(h->model) ? h->model : base_name(h->model);
	a.cpu = facts_get(&f, "cpu");
	a.compiler = facts_get(&f, "compiler");
	a.median = facts_value(&f, "median");
	a.processor = facts_value(&f, "processor");
	a.peak = facts_value(&f, "peak");
	a.rate = facts_value(&f, "memory_rate");
	if (!a.cpu || !a.compiler || !(a.median > 0))
		die(EX_BADDATA, "run-dev: no times of %s", shown(a.model));
	read_steps(h, &a, &f);
	a.gap = fmax(0, facts_value(&f, "gap"));
	a.stepped = a.gap;
	for (size_t i = 0; i < a.steps.n; i++)
		a.stepped += a.steps.a[i].seconds;
	find_all(&a);
	progress(h, NULL);
	if (page)
		advice_page(h, &a, page);
	if (given_is(h, "json"))
		put_json(&a);
	else if (!h->quiet)
		put_text(h, &a);
	place_remove(h);
	child_end();
}
