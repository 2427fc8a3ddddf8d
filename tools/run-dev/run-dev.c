/* run-dev: runs and times compiled models, and serves tuners. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/json.h"
#include "common/progress.h"
#include "common/option.h"
#include "common/shown.h"
#include "common/tool.h"
#include "runner/library.h"
#include "runner/runner.h"
#include "runner/service.h"
#include "target/target.h"
#include "op/npy.h"
#include "op/op.h"
#include "run-dev.h"

static struct input_spec spec;
static bool bench, force, kernels, serve, probed;
static double seconds = 2;
static const char *weights, *target, *sets, *base, *peer_command;
static uint64_t cold_bytes;
static struct step_spec stepped;
static int threads;

enum {
	OPT_AGAINST = 1000,
	OPT_BENCH,
	OPT_COLD,
	OPT_FORCE,
	OPT_KERNELS,
	OPT_LOAD_STATE,
	OPT_PEER,
	OPT_PROBE,
	OPT_RANGE,
	OPT_SAVE_STATE,
	OPT_SECONDS,
	OPT_SEED,
	OPT_SERVE,
	OPT_SET,
	OPT_STEPS,
	OPT_TARGET,
	OPT_THREADS,
	OPT_WEIGHTS
};

static error_t option(int key, char *arg)
{
	switch (key) {
	case 'i': vec_push(&spec.files, arg); return 0;
	case OPT_RANGE:
		option_name_once("--range", arg, '=');
		vec_push(&spec.ranges, arg);
		return 0;
	case OPT_SEED: spec.seed = option_count("--seed", arg, 0, UINT64_MAX); break;
	case OPT_AGAINST: base = arg; break;
	case OPT_BENCH: bench = true; break;
	case OPT_COLD: cold_bytes = option_count("--cold-weights", arg, 0, RUNNER_COLD_MAX >> 20) << 20; break;
	case OPT_FORCE: force = true; break;
	case OPT_KERNELS: kernels = true; break;
	case OPT_PEER: peer_command = arg; break;
	case OPT_PROBE: probed = true; break;
	case OPT_SERVE: serve = true; break;
	case OPT_SET:
		option_sizes_once("--set", arg);
		sets = sets ? sym_str(intern_printf("%s,%s", sets, arg)) : arg;
		return 0;
	case OPT_STEPS: stepped.steps = (long)option_count("--steps", arg, 1, INT_MAX); break;
	case OPT_LOAD_STATE: stepped.load = arg; break;
	case OPT_SAVE_STATE: stepped.save = arg; break;
	case OPT_TARGET: target = arg; return 0;
	case OPT_SECONDS: seconds = option_number("--seconds", arg, 1e-6, INFINITY); break;
	case OPT_THREADS: threads = (int)option_count("--threads", arg, 1, INT_MAX); break;
	case OPT_WEIGHTS: weights = arg; break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void write_outputs(struct library *l, struct tensor **out, const char *path, struct arena *a)
{
	int n = l->model->num_outputs;
	size_t len = strlen(path);
	struct named_tensor *t = ARENA_ARRAY(a, struct named_tensor, n);

	if (len > 4 && !strcmp(path + len - 4, ".npy")) {
		if (n != 1)
			die(EX_BADUSE, "-o %s: the model has %d outputs; they go into an .npz", path, n);
		npy_write(path, out[0]);
		return;
	}
	for (int i = 0; i < n; i++)
		t[i] = (struct named_tensor){arena_str(a, l->model->outputs[i].name), out[i]};
	npz_write(path, n, t);
}

/* ---- reports ---- */

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

/* Of the time of all steps, by what runs them. */
struct time_of {
	double kernels, native, slow, flow;
};

static struct time_of time_of(const struct hone_model *m, const struct bench *b)
{
	struct time_of t = {0};

	for (int i = 0; i < m->num_steps; i++) {
		bool flow = !strcmp(m->steps[i].kernel, "flow") || !strcmp(m->steps[i].kernel, "append");
		*(m->steps[i].slow == 1 ? &t.slow : m->steps[i].slow ? &t.native : flow ? &t.flow : &t.kernels) += b->step[i];
	}
	double all = t.kernels + t.native + t.slow + t.flow;
	if (all > 0)
		t = (struct time_of){t.kernels / all, t.native / all, t.slow / all, t.flow / all};
	return t;
}

static void print_kernels(const struct hone_model *m, const struct bench *b, struct arena *a)
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

/* What was timed beside the library, and what opening it took. */
struct beside {
	const char *peer; /* NULL: none */
	struct peer_times times;
	double load;   /* seconds */
	double memory; /* the most bytes that the process had before it was timed: without what timing takes */
};

static void print_peer(const struct beside *o)
{
	const struct peer_times *t = &o->times;

	printf("%s: min %.4f ms, median %.4f ms, p99 %.4f ms\n", shown(o->peer), 1e3 * t->run.min, 1e3 * t->run.median, 1e3 * t->run.p99);
	printf("the library takes %.3f (%.3f to %.3f) of its time, %zu turns; outputs differ by %.1e\n", t->ratio.median, t->ratio.quarter,
	       t->ratio.three_quarters, t->ratio.runs, t->differs);
}

static void print_bench(const struct hone_model *m, const struct bench *b, const struct beside *o)
{
	double rate = b->flops / b->run.median;

	printf("%s: %zu runs on core %d of %s, compiled with %s\n", shown(m->name), b->run.runs, b->core, shown(target_host()->cpu),
	       shown(m->compiler));
	printf("min %.4f ms, median %.4f ms, p99 %.4f ms, %.1f a second\n", 1e3 * b->run.min, 1e3 * b->run.median, 1e3 * b->run.p99,
	       1 / b->run.mean);
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

/* What was not measured is null. */
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

/* The most memory that this process had so far, in bytes. */
static double most_memory(void)
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

static void print_json(const struct hone_model *m, const struct bench *b, const struct beside *o, struct arena *a)
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
		put_member("seconds", b->step[i]);
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

/* What it takes and gives, and what it was made for. */
static void print_model(const struct hone_model *m, bool json)
{
	if (json)
		die(EX_BADUSE, "--json goes with --bench and with --against");
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

/* The service for a target that this machine passes for. */
static int run_service(void)
{
	struct target t;

	if (target && !target_find(target, &t))
		die(EX_BADUSE, "--target=%s: %s", target, target_why_not(target));
	const char *lacks = target ? target_pass_for(&t) : NULL;
	if (lacks)
		die(EX_NOTAVAIL, "--target=%s: this machine lacks %s", target, lacks);
	return runner_serve(&task_oracle, 0, 0);
}

static bool is_channel(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (S_ISSOCK(st.st_mode) || S_ISFIFO(st.st_mode));
}

/* Both run with their own weights, on one thread. */
static int run_against(const struct tool_args *a)
{
	static const double width = 0.03;
	struct against how = {.seconds = seconds, .width = width, .cold_bytes = cold_bytes, .seed = spec.seed};

	if (a->nfile != 1 || a->out || bench || kernels || serve || target || stepped.steps || weights || threads || sets)
		die(EX_BADUSE, "--against goes with one library, and with --cold-weights, --seconds, --seed, --range, -i and --json");
	if (target_is_emulated())
		die(EX_NOTAVAIL, "--against: this machine is emulated, and its times say nothing");
	against(a->file[0], base, &how, &spec, a->json);
	return EX_GOOD;
}

static int run_probe(const struct tool_args *a)
{
	if (a->nfile || a->out || bench || kernels || serve || target)
		tool_usage();
	probe(seconds, force, a->json);
	return EX_GOOD;
}

static const struct named_tensor *named(const struct hone_tensor *t, struct tensor *const *x, int n, struct arena *a)
{
	struct named_tensor *v = ARENA_ARRAY(a, struct named_tensor, n);

	for (int i = 0; i < n; i++)
		v[i] = (struct named_tensor){arena_str(a, t[i].name), x[i]};
	return v;
}

static void run_bench(struct library *l, struct tensor **in, struct tensor **out, double load, bool json, struct arena *a)
{
	const struct hone_model *m = l->model;
	struct beside o = {.load = load, .memory = most_memory()};
	struct other_turns turns = {peer_turn, NULL};

	if (peer_command)
		turns.arg = peer_begin(peer_command, m->num_inputs, named(m->inputs, in, m->num_inputs, a));
	struct bench b = library_bench(l, in, out, seconds, kernels, peer_command ? &turns : NULL, a);
	if (peer_command) {
		o.peer = peer_name(turns.arg);
		o.times = peer_end(turns.arg, m->num_outputs, named(m->outputs, out, m->num_outputs, a), a);
	}
	if (json) {
		print_json(m, &b, &o, a);
		return;
	}
	print_bench(m, &b, &o);
	if (kernels)
		print_kernels(m, &b, a);
}

/* Options that say nothing together, of a library that is named. */
static void check_use(bool only_asks)
{
	if (stepped.steps && (bench || kernels))
		die(EX_BADUSE, "--steps goes with neither --bench nor --kernels");
	if (only_asks && (stepped.steps || spec.files.n || spec.ranges.n || sets))
		die(EX_BADUSE, "nothing to do: -o FILE.npz takes the outputs, --bench times");
	if ((bench || kernels) && target_is_emulated())
		die(EX_NOTAVAIL, "%s: this machine is emulated, and its times say nothing; -o FILE.npz takes the outputs",
		    bench ? "--bench" : "--kernels");
}

static int run(const struct tool *t, struct tool_args *a)
{
	struct arena arena = {0};
	struct library l;

	if (probed)
		return run_probe(a);
	if (force)
		tool_usage();
	if (cold_bytes && !base)
		die(EX_BADUSE, "--cold-weights: --against says what is timed");
	if (peer_command && !bench)
		die(EX_BADUSE, "--peer goes with --bench");
	if (base)
		return run_against(a);
	bool nothing = !a->nfile && !a->out && !bench && !kernels && !stepped.steps;
	if (!stepped.steps && (stepped.load || stepped.save))
		die(EX_BADUSE, "%s: --steps says how many", stepped.load ? "--load-state" : "--save-state");
	/* As "ssh box run-dev" starts it a program is at both ends, and nothing else can be meant. */
	if (nothing && (serve || (is_channel(STDIN_FILENO) && is_channel(STDOUT_FILENO))))
		return run_service();
	if (serve || target || a->nfile != 1)
		tool_usage();
	stepped.sets = sets;
	bool only_asks = !a->out && !bench && !kernels && !stepped.save;
	check_use(only_asks);
	double load = now_seconds();
	library_open(&l, a->file[0], weights, threads);
	load = now_seconds() - load;
	if (stepped.steps) {
		struct tensor **out = steps_run(&l, &spec, &stepped, &arena);
		if (a->out)
			write_outputs(&l, out, a->out, &arena);
		library_close(&l);
		arena_release(&arena);
		return EX_GOOD;
	}
	if (only_asks) {
		print_model(l.model, a->json);
		library_close(&l);
		return EX_GOOD;
	}
	struct module *m = library_module(&l);
	if (sets)
		bind_sets(m, sets);
	struct tensor **in = inputs_make(m, &spec, &arena);
	struct tensor **out = ARENA_ARRAY(&arena, struct tensor *, l.model->num_outputs);
	for (int i = 0; i < l.model->num_outputs; i++)
		out[i] = library_tensor(&l.model->outputs[i], &arena);
	library_run(&l, in, out, &arena);
	if (a->out)
		write_outputs(&l, out, a->out, &arena);
	if (bench || kernels)
		run_bench(&l, in, out, load, a->json, &arena);
	library_close(&l);
	arena_release(&arena);
	return EX_GOOD;
}

static const struct argp_option options[] = {
	{"input", 'i', "NAME=FILE.npy", 0, "contents of an input, or an .npz with several; the others are random"},
	{"seed", OPT_SEED, "N", 0, "of the random inputs (default 0)"},
	{"range", OPT_RANGE, "NAME=LO:HI", 0, "range of a random input"},
	{"set", OPT_SET, "NAME=SIZE,...", 0, "sizes of random inputs, of a model that leaves them open"},
	{"steps", OPT_STEPS, "N", 0, "run it N times, with what it keeps; inputs and outputs have an axis of N in front"},
	{"load-state", OPT_LOAD_STATE, "FILE", 0, "--steps: what it keeps at first"},
	{"save-state", OPT_SAVE_STATE, "FILE", 0, "--steps: where what it keeps goes at the end"},
	{"threads", OPT_THREADS, "N", 0, "use at most N threads (default: as many as it was compiled for)"},
	{"weights", OPT_WEIGHTS, "FILE", 0, "the weights, where they are not beside the library"},
	{"bench", OPT_BENCH, 0, 0, "time it: min, median, p99, throughput, share of the peak of this core"},
	{"against", OPT_AGAINST, "BASE.so", 0, "time it against that library, in turns: which is faster, and by how much"},
	{"peer", OPT_PEER, "COMMAND", 0, "--bench: another program that computes the same, timed in turns"},
	{"cold-weights", OPT_COLD, "MB", 0, "--against: weights move between copies of so much in all"},
	{"seconds", OPT_SECONDS, "S", 0, "time for --bench, --against or --probe (default 2)"},
	{"kernels", OPT_KERNELS, 0, 0, "and each kernel's share"},
	{"probe", OPT_PROBE, 0, 0, "measure the rates of this machine that choices need, and keep them"},
	{"force", OPT_FORCE, 0, 0, "--probe: keep what varies, or is far less than on record"},
	{"serve", OPT_SERVE, 0, 0, "build, check and time kernels for a tuner, on standard input and output"},
	{"target", OPT_TARGET, "NAME", 0, "--serve: pass for this target, without the rest of the features that this machine has: %s"},
	{0},
};

static const char *names(int key) { return target_names(); }

const struct tool tool = {
	.name = "run-dev",
	.summary = "Run a compiled model, and time it.",
	.args_doc = "MODEL.so\n--serve\n--probe",
	.flags = TOOL_OUT | TOOL_JSON,
	.max_files = 1,
	.options = options,
	.option = option,
	.names = names,
	.run = run,
};
