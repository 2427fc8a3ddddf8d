/* Products of codes with an epilogue to u8, by the default schedule, against what the instruction that sums them does alone, measured
 * beside each (target/rate.h), and against the same product of f32.
 *
 *   [HONE_TARGET=x86-64-v3] build/bench/products [--budget S] [MxNxK...]
 *
 * A line each: operations a second of the best and the median call, their shares of the instruction's rate, and how many times as
 * fast as f32 the median is. Calls are warm. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/sorted.h"
#include "common/tool.h"
#include "loop/instr.h"
#include "target/rate.h"
#include "answer.h"

enum { OPT_BUDGET = 1000, PRODUCTS_MAX = 32 };
static double budget = 1;
static struct arena arena;
static struct runner *r;

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_BUDGET: budget = atof(arg); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

/* Seconds of a call of the task's default kernel: the best and the median. */
static double seconds_of(const char *text, double *best)
{
	const char *why;
	struct module *m = task_module(text, 0, &arena, &why);

	if (!m)
		die(EX_BADUSE, "%s: %s", text, why);
	runner_task(r, text);
	struct digest task = next_of(&r, &arena).digest, kernel = build_trace(&r, &arena, m, NULL, task);
	runner_try(r, &(struct runner_try){.task = task, .artifact = kernel, .base = kernel, .budget = budget, .seed = 1});
	struct measurement x = next_of(&r, &arena).result;
	double *v = ARENA_ARRAY(&arena, double, 2 * x.npairs + 1);
	size_t n = 0;
	for (size_t i = 0; i < x.npairs; i++) {
		v[n++] = 1e-12 * (double)x.pair[i].base;
		v[n++] = 1e-12 * (double)x.pair[i].candidate;
	}
	if (!n)
		die(EX_NOTAVAIL, "%s: not timed: %s", text, x.why ? x.why : verdict_name(x.verdict));
	qsort(v, n, sizeof *v, ascending);
	*best = v[0];
	module_free(m);
	return sorted_median(v, n);
}

/* The instruction that sums products of codes on this target; NULL: it has none. */
static const char *instruction(void)
{
	const struct target *t = target_host();
	int row = instr_dot(t, DT_U8, DT_I8, false);

	row = row ? row : instr_dot(t, DT_I16, DT_I16, false);
	return row ? instr_row(row)->name : NULL;
}

static double rate_now(const char *name)
{
	const char *of;

	for (int i = 0; name && (of = rate_name(target_host(), i)); i++)
		if (!strcmp(of, name))
			return rate_measure(i, budget / 4).best;
	return 0;
}

static void product(const char *shape)
{
	long m, n, k;
	char end;
	double best, f32_best;

	if (sscanf(shape, "%ldx%ldx%ld%c", &m, &n, &k, &end) != 3 || m < 1 || n < 1 || k < 1)
		die(EX_BADUSE, "%s: not MxNxK", shape);
	const char *sums = instruction();
	double ops = 2.0 * (double)m * (double)n * (double)k, rate = rate_now(sums);
	double codes = seconds_of(arena_printf(&arena,
					       "MatMulInteger u8 %ldx%ld i8 %ldx%ldc u8=128; "
					       "Cast{to=1} %%0; Mul %%1 f32 %ldc; Add %%2 %ldc; QuantizeLinear %%3 =1 u8=128",
					       m, k, k, n, n, n),
				  &best);
	double f32 = seconds_of(arena_printf(&arena, "MatMul f32 %ldx%ld f32 %ldx%ldc; Add %%0 %ldc", m, k, k, n, n), &f32_best);
	rate = fmax(rate, rate_now(sums));
	printf("%-16s %7.1f %7.1f GOP/s", shape, ops / best / 1e9, ops / codes / 1e9);
	if (rate > 0)
		printf("  %5.1f%% %5.1f%% of %s alone (%.1f)", 100 * ops / best / rate, 100 * ops / codes / rate, sums, rate / 1e9);
	printf("  %.2f times f32 (%.1f)\n", f32 / codes, ops / f32 / 1e9);
	fflush(stdout);
}

static int run(const struct tool *t, struct tool_args *a)
{
	static const char *const usual[] = {"126x768x768", "128x1024x256", "197x3072x768", "49x512x4608", "784x128x1152"};
	const char *why;

	if (!(r = runner_open(NULL, 30, &arena, &why)))
		die(EX_NOTAVAIL, "%s", why);
	printf("# %s\n# best, median\n", runner_target(r));
	for (size_t i = 0; !a->nfile && i < sizeof usual / sizeof *usual; i++)
		product(usual[i]);
	for (int i = 0; i < a->nfile; i++)
		product(a->file[i]);
	runner_close(r);
	return 0;
}

static const struct argp_option options[] = {{"budget", OPT_BUDGET, "S", 0, "seconds for a kernel; 1", 0}, {0}};
const struct tool tool = {
	.name = "products",
	.summary = "Products of codes against the rate of the instruction that sums them, and against f32.",
	.args_doc = "[MxNxK...]",
	.max_files = -1,
	.options = options,
	.option = option,
	.run = run,
};
