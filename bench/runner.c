/* How good is the runner? runner [--times N] [--load] [--cold-weights MB] WHAT [TASK]: "trip": round trip of candidates, one at a time and with
 * both cores compiling; "aa": a kernel against itself; "slow": against itself slowed by 3%; "fast": that against the kernel. --load: beside one busy
 * process a core. A row a task; the CPU time below it can be compared where the machine is busy. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/progress.h"
#include "common/sorted.h"
#include "common/tool.h"
#include "runner/library.h"
#include "runner/runner.h"
#include "target/target.h"
#include "model/candidate.h"
#include "op/task.h"
#include "answer.h"

static const char *const usual[] = {
	"Gemm f32 128x256 256x256c 256c",
	"Conv{pads=1,1,1,1} f32 1x64x28x28 64x64x3x3c 64c; Relu %0",
	"Add f32 1x64x56x56 $0",
	"Softmax f32 64x1000",
};
static int times = 100;
static uint64_t cold_bytes;
static bool load;
static struct arena arena;
static struct runner *r;

enum { OPT_TIMES = 1000, OPT_LOAD, OPT_COLD };

static error_t option(int key, char *arg)
{
	if (key == OPT_TIMES)
		times = atoi(arg);
	else if (key == OPT_COLD)
		cold_bytes = strtoull(arg, NULL, 10) << 20;
	else if (key == OPT_LOAD)
		load = true;
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

static struct runner_answer next(void) { return next_of(&r, &arena); }

struct kernel {
	struct digest task;
	struct candidate *c;
};

static struct kernel kernel_of(const char *text)
{
	const char *why;
	struct module *m = task_module(text, 1, &arena, &why);
	struct kernel k;

	if (!m || !(k.c = candidate_new(m, task_node(m), target_host(), NULL, false, &why)))
		die(EX_BADDATA, "%s: %s", text, why);
	runner_task(r, text);
	k.task = next().digest;
	return k;
}

static uint64_t build(struct kernel *k, const char *source)
{
	struct runner_build b = build_of(k->c, &arena);

	b.source = source;
	b.nsource = strlen(source);
	return runner_build(r, k->task, &b);
}

/* The kernel's source, made another by a comment. */
static const char *variant(struct kernel *k, int i) { return arena_printf(&arena, "%.*s/* %d */\n", (int)k->c->nsource, k->c->source, i); }

/* As a tuning tries what it has found, see tune-op. */
static void try_variant(const struct kernel *k, struct digest x, struct digest base, int seed)
{
	runner_try(r, &(struct runner_try){.task = k->task,
					   .artifact = x,
					   .base = base,
					   .budget = 0.25,
					   .seed = (uint64_t)seed,
					   .cold_bytes = cold_bytes,
					   .width = 0.04,
					   .once = true});
}

static void trip(const char *text)
{
	enum { DEPTH = 6 };
	struct kernel k = kernel_of(text);
	double *one = ARENA_ARRAY(&arena, double, times), *ratio = ARENA_ARRAY(&arena, double, times), start = now_seconds();
	int sent = 0, done = 0, unsure = 0;

	build(&k, variant(&k, -1));
	struct digest base = next().digest;
	for (int i = 0; i < times; i++) {
		double t = now_seconds();
		build(&k, variant(&k, i));
		try_variant(&k, next().digest, base, i);
		next();
		one[i] = now_seconds() - t;
	}
	qsort(one, (size_t)times, sizeof *one, ascending);
	for (start = now_seconds(); done < times;) {
		while (sent < times && sent < done + DEPTH)
			build(&k, variant(&k, times + sent++));
		struct runner_answer x = next();
		if (x.result.verdict == VERDICT_COUNT)
			try_variant(&k, x.digest, base, sent);
		else {
			unsure += x.result.verdict == VERDICT_UNSURE;
			ratio[done++] = x.result.ratio;
		}
	}
	double seconds = now_seconds() - start;
	qsort(ratio, (size_t)times, sizeof *ratio, ascending);
	printf("%-60s %8.1f ms median %8.1f ms p90 %8.1f candidates/s  (%d unsure; ratio, 9 of 10 in %.4f .. %.4f)\n", text,
	       1e3 * one[times / 2], 1e3 * one[times * 9 / 10], times / seconds, unsure, ratio[times / 20], ratio[times - 1 - times / 20]);
}

static double base_us(const struct measurement *x)
{
	double ps = 0;

	for (size_t i = 0; i < x->npairs; i++)
		ps += (double)x->pair[i].base / (double)x->npairs;
	return ps / 1e6;
}

static void count(const char *text, struct kernel *k, struct digest x, struct digest base, double budget)
{
	int v[VERDICT_COUNT] = {0};
	double seconds = 0, *ratio = ARENA_ARRAY(&arena, double, times), *us = ARENA_ARRAY(&arena, double, times);

	for (int i = 0; i < times; i++) {
		runner_try(r, &(struct runner_try){.task = k->task,
						   .artifact = x,
						   .base = base,
						   .budget = budget,
						   .seed = (uint64_t)i,
						   .cold_bytes = cold_bytes});
		struct runner_answer a = next();
		if (a.why && !v[a.result.verdict])
			printf("%s: %s\n", verdict_name(a.result.verdict), a.why);
		v[a.result.verdict]++;
		seconds += a.result.seconds;
		ratio[i] = a.result.ratio;
		us[i] = base_us(&a.result);
	}
	printf("%-60s", text);
	for (int i = 0; i < VERDICT_COUNT; i++)
		if (v[i])
			printf(" %s %d", verdict_name((enum verdict)i), v[i]);
	qsort(ratio, (size_t)times, sizeof *ratio, ascending);
	printf("  (%.3f s each; ratio %.4f, 9 of 10 in %.4f .. %.4f)\n", seconds / times, ratio[times / 2], ratio[times / 20],
	       ratio[times - 1 - times / 20]);
	qsort(us, (size_t)times, sizeof *us, ascending);
	printf("  the base: %.3f us, 9 of 10 processes in %.3f .. %.3f\n", us[times / 2], us[times / 20], us[times - 1 - times / 20]);
	fflush(stdout);
}

static void same(const char *text)
{
	struct kernel k = kernel_of(text);

	build(&k, variant(&k, 0));
	struct digest d = next().digest;
	count(text, &k, d, d, 0.5);
	build(&k, variant(&k, 1));
	count("  in another library", &k, next().digest, d, 0.5);
}

/* The same kernel, then 3% of its time spent on nothing: as candidate, or as base. */
static void slowed_is(const char *text, bool candidate)
{
	struct kernel k = kernel_of(text);
	build(&k, variant(&k, 0));
	struct digest base = next().digest;
	runner_try(r, &(struct runner_try){
			      .task = k.task, .artifact = base, .base = base, .budget = 0.5, .seed = 0, .cold_bytes = cold_bytes});
	struct runner_answer x = next();
	const char *source = arena_printf(
		&arena,
		"#define hone_kernel inner\n%.*s#undef hone_kernel\n#include <time.h>\n"
		"static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }\n"
		"void hone_kernel(const void *const *in, const void *const *constants, void *const *out, char *workspace)\n"
		"{\n\tinner(in, constants, out, workspace);\n\tlong end = now() + %ld;\n\twhile (now() < end)\n\t\t;\n}\n",
		(int)k.c->nsource, k.c->source, (long)(0.03e3 * base_us(&x.result)) - 20);
	build(&k, source);
	struct digest slow = next().digest;
	count(text, &k, candidate ? slow : base, candidate ? base : slow, 2);
}

static void slowed(const char *text) { slowed_is(text, true); }

static void faster(const char *text) { slowed_is(text, false); }

static double child_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return (double)u.ru_utime.tv_sec + 1e-6 * (double)u.ru_utime.tv_usec + (double)u.ru_stime.tv_sec +
	       1e-6 * (double)u.ru_stime.tv_usec;
}

/* With a runner of its own: what it took is known when it has ended. */
static void measure(void (*f)(const char *), const char *text)
{
	double before = child_seconds();
	const char *why;

	if (!(r = runner_open(NULL, 10, &arena, &why)))
		die(EX_NOTAVAIL, "%s", why);
	f(text);
	runner_close(r);
	double spent = child_seconds() - before;
	if (f == trip)
		printf("  CPU time, compilers and tries: %.1f ms a candidate\n", 1e3 * spent / (2 * times + 1));
	else
		printf("  CPU time: %.1f s\n", spent);
	fflush(stdout);
}

static int run(const struct tool *t, struct tool_args *a)
{
	const char *what = a->nfile ? a->file[0] : "trip";
	pid_t busy[2] = {0, 0};

	for (int i = 0; load && i < 2; i++)
		if ((busy[i] = fork()) == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				peak_flops(64, 0.1);
		}
	void (*f)(const char *) = !strcmp(what, "aa") ? same : !strcmp(what, "slow") ? slowed : !strcmp(what, "fast") ? faster : trip;
	if (a->nfile > 1)
		measure(f, a->file[1]);
	for (size_t i = 0; a->nfile < 2 && i < sizeof usual / sizeof *usual; i++)
		measure(f, usual[i]);
	for (int i = 0; i < 2; i++)
		if (busy[i])
			kill(busy[i], SIGKILL);
	return EX_GOOD;
}

static const struct argp_option options[] = {
	{"times", OPT_TIMES, "N", 0, "candidates, or tries (100)"},
	{"cold-weights", OPT_COLD, "MB", 0, "of weights that calls go through (0)"},
	{"rotation", OPT_COLD, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0},
	{"load", OPT_LOAD, 0, 0, "beside busy processes"},
	{0},
};
const struct tool tool = {.name = "runner",
			  .summary = "The runner, measured.",
			  .args_doc = "trip|aa|slow|fast [TASK]",
			  .max_files = 2,
			  .options = options,
			  .option = option,
			  .run = run};
