/* What tests ask the service of tests/runner/device.c: its tasks, kernels of them, tries. */
#ifndef HONE_SERVE_CLIENT_H
#define HONE_SERVE_CLIENT_H
#include <stdint.h>
#include <string.h>
#include "common/arena.h"
#include "runner/runner.h"
#include "tap.h"

static struct arena arena;

static struct runner *runner;
static struct digest task;
static int64_t sizes[3];

__attribute__((unused)) static struct runner_answer next(void)
{
	struct runner_answer x;

	if (runner_wait(&runner, 1, 60, &arena, &x) != 0)
		x = (struct runner_answer){.ended = true, .why = "nothing came"};
	return x;
}

__attribute__((unused)) static void use_product(const char *name, int64_t m, int64_t k, int64_t n)
{
	sizes[0] = m * k, sizes[1] = k * n, sizes[2] = m * n;
	runner_task(runner, arena_printf(&arena, "%s %ld %ld %ld", name, (long)m, (long)k, (long)n));
	task = next().digest;
}

__attribute__((unused)) static void use_matmul(int64_t m, int64_t k, int64_t n) { use_product("matmul", m, k, n); }

__attribute__((unused)) static void use_elements(const char *name, int64_t n)
{
	sizes[0] = sizes[1] = sizes[2] = n;
	runner_task(runner, arena_printf(&arena, "%s %ld", name, (long)n));
	task = next().digest;
}

__attribute__((unused)) static void use_scale(int64_t n) { use_elements("scale", n); }

/* With constants in this layout, of so many elements more. */
__attribute__((unused)) static uint64_t ask_build_stored(const char *body, const char *layout, int64_t more)
{
	const char *source =
		arena_printf(&arena,
			     "#include <stddef.h>\n"
			     "void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)\n"
			     "{\n\tconst float *a = in[0], *b = constants[0];\n\tfloat *c = out[0];\n%s\n}\n",
			     body);
	struct runner_buf buf[3];

	for (int i = 0; i < 3; i++)
		buf[i] = (struct runner_buf){"f32", 1, &sizes[i], "", sizes[i], 0};
	buf[1].layout = layout;
	buf[1].elems += more;
	struct runner_build b = {source, strlen(source), NULL, 1024, 1, 1, 1, buf};
	return runner_build(runner, task, &b);
}

/* A source of which no compiler finds the end: it includes itself, twice, and so on. */
__attribute__((unused)) static uint64_t ask_build_endless(void)
{
	static const char source[] = "#if __INCLUDE_LEVEL__ < 60\n#include __FILE__\n#include __FILE__\n#endif\n";
	struct runner_buf buf[3];

	for (int i = 0; i < 3; i++)
		buf[i] = (struct runner_buf){"f32", 1, &sizes[i], "", sizes[i], 0};
	struct runner_build b = {source, strlen(source), NULL, 1024, 1, 1, 1, buf};
	return runner_build(runner, task, &b);
}

__attribute__((unused)) static uint64_t ask_build(const char *body) { return ask_build_stored(body, "", 0); }

__attribute__((unused)) static struct runner_answer build(const char *body)
{
	ask_build(body);
	return next();
}

__attribute__((unused)) static struct runner_answer try(const char *body, struct digest base, double budget)
{
	struct runner_answer x = build(body);

	if (x.error || x.result.verdict == VERDICT_BUILD)
		return x;
	runner_try(runner, &(struct runner_try){.task = task, .artifact = x.digest, .base = base, .budget = budget, .seed = 3});
	return next();
}

__attribute__((unused)) static void is(struct runner_answer x, enum verdict v, const char *pattern, const char *what)
{
	bool good = !x.error && !x.ended && x.result.verdict == v && (!pattern || (x.why && strstr(x.why, pattern)));

	ok(good, "%s: %s%s%s (%.3f, %.3f..%.3f, %zu pairs, %.3f s)", what, x.error ? "error" : verdict_name(x.result.verdict),
	   x.why ? ": " : "", x.why ? x.why : "", x.result.ratio, x.result.lo, x.result.hi, x.result.npairs, x.result.seconds);
}

__attribute__((unused)) static const char scale[] = "\tfor (int i = 0; i < 5000; i++)\n\t\tc[i] = 2 * a[i] + b[i];";

/* Seconds for a verdict of timing: on a machine that does nothing else it takes some hundredths of one. */
enum { AMPLE = 10 };
#endif
