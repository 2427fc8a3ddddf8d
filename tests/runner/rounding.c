/* Kernels that quantise with one thing wrong each: the runner finds them out. Those that are right pass; tasks whose scale says nothing
 * are refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runner/runner.h"
#include "target/target.h"
#include "model/candidate.h"
#include "op/task.h"
#include "candidate_bufs.h"
#include "tap.h"

static struct arena arena;
static struct runner *runner;

/* ties: there are some, and what stands before them is exact. */
static const struct {
	const char *text;
	bool ties;
} tasks[] = {
	{"Cast{to=1} u8 100x64; QuantizeLinear %0 f32=2 u8=77", true},
	{"QuantizeLinear f32 40x64 =0.02 u8=77", false},
	{"MatMulInteger u8 90x32 i8 32x160c u8=3; Cast{to=1} %0; Mul %1 f32=0.0009765625; QuantizeLinear %2 f32=1 u8=77", true},
	{"MatMulInteger u8 40x33 i8 33x160c u8=3; Cast{to=1} %0; Mul %1 f32=0.0007; Add %2 f32 160c; QuantizeLinear %3 f32=1 u8=77", false},
	{"ConvInteger{pads=1,1,1,1} u8 1x5x9x9 i8 17x5x3x3c u8=77; Cast{to=1} %0; Mul %1 f32=0.0007; Relu %2; QuantizeLinear %3 f32=1 u8=77",
	 false},
};
enum { TASKS = sizeof tasks / sizeof *tasks };

/* Contents are drawn for these: results lie in the middle of their type. The last one's scale stands against that. */
static const char *const drawn[] = {
	"MatMulInteger u8 40x64 i8 64x160c u8=120; Cast{to=1} %0; Mul %1 f32 160c; Add %2 160c; QuantizeLinear %3 =1 u8=77",
	"ConvInteger{group=32 pads=1,1,1,1} u8 1x32x14x14 i8 32x1x3x3c; Cast{to=1} %0; Mul %1 f32=2; QuantizeLinear %2 f32=300 u8=77",
	"DequantizeLinear u8 1x128x7x7 f32=4.3 u8=0; GlobalAveragePool %0; QuantizeLinear %1 f32=1 u8=77",
	"QuantizeLinear f32 40x64 =0.001 u8=77",
	"MatMulInteger u8 40x64 i8 64x40; Cast{to=1} %0; QuantizeLinear %1 f32=1 u8=77",
};
enum { DRAWN = sizeof drawn / sizeof *drawn };

/* ---- what may be wrong ---- */

/* In place of the rounding: f of each number. */
static const char *with_rounding(const char *source, const char *f)
{
	const char *p = strstr(source, "\n/*\n * ");

	return arena_printf(&arena,
			    "%.*s\nfloat truncf(float);\nfloat floorf(float);\n"
			    "static inline float planted(float x) { return %s; }\n#define rintf(x) planted(x)\n#ifdef VL\n"
			    "static inline vf planted_v(vf x) { for (int i = 0; i < VL; i++) x[i] = planted(x[i]); return x; }\n"
			    "static inline vi planted_i(vf x) { vi y; for (int i = 0; i < VL; i++) y[i] = (int)planted(x[i]); return y; }\n"
			    "#define vrint(x) planted_v(x)\n#define vnearest(x) planted_i(x)\n#endif\n%s",
			    (int)(p - source), source, f, p);
}

/* All of a number in the kernel, by another. */
static const char *with_number(const char *source, const char *from, const char *to)
{
	const char *p, *at = strstr(source, "\n/*\n * "), *s = arena_printf(&arena, "%.*s", (int)(at - source), source);

	for (; (p = strstr(at, from)); at = p + strlen(from))
		s = arena_printf(&arena, "%s%.*s%s", s, (int)(p - at), at, to);
	return arena_printf(&arena, "%s%s", s, at);
}

/* ---- the runner's answers ---- */

static struct runner_answer next(void)
{
	struct runner_answer x;

	if (runner_wait(&runner, 1, 60, &arena, &x) < 0 || x.ended) {
		printf("not ok - no answer\n");
		exit(1);
	}
	return x;
}

struct kernel {
	struct candidate *c;
	struct runner_buf *buf;
	struct digest task, base;
};

static struct digest build(struct kernel *k, const char *source)
{
	struct runner_build b = {source, strlen(source), NULL, k->c->workspace, k->c->nin, k->c->nconst, k->c->nout, k->buf};

	runner_build(runner, k->task, &b);
	return next().digest;
}

static enum verdict verdict_of(struct kernel *k, const char *source, const char **why)
{
	struct digest d = build(k, source);

	runner_try(runner, &(struct runner_try){.task = k->task, .artifact = d, .base = k->base, .budget = 0.05, .seed = 1});
	struct runner_answer x = next();
	*why = x.why ? x.why : "";
	return x.error ? VERDICT_COUNT : x.result.verdict;
}

static bool open_kernel(struct kernel *k, const char *text)
{
	const char *why;
	struct module *m = task_module(text, 1, &arena, &why);

	if (!m || !(k->c = candidate_new(m, task_node(m), target_host(), NULL, false, &why)))
		return ok(0, "%s: %s", text, why);
	const struct candidate *c = k->c;
	k->buf = candidate_bufs(c, &arena);
	runner_task(runner, text);
	struct runner_answer x = next();
	if (x.error)
		return ok(0, "%s: %s", text, x.why);
	k->task = x.digest;
	k->base = build(k, c->source);
	enum verdict v = verdict_of(k, c->source, &why);
	return ok(verdict_timed(v), "%s: right: %s", text, why);
}

static void is_wrong(struct kernel *k, const char *what, const char *source)
{
	const char *why;
	enum verdict v = verdict_of(k, source, &why);

	ok(v == VERDICT_WRONG, "%s: %s, %s", what, v < VERDICT_COUNT ? verdict_name(v) : "no verdict", why);
}

int main(void)
{
	const char *why;

	if (!(runner = runner_open(NULL, 10, &arena, &why)))
		return ok(0, "%s", why), 1;
	for (int i = 0; i < TASKS; i++) {
		struct kernel k = {0};
		if (!open_kernel(&k, tasks[i].text))
			continue;
		is_wrong(&k, "truncated", with_rounding(k.c->source, "truncf(x)"));
		if (tasks[i].ties)
			is_wrong(&k, "ties go up", with_rounding(k.c->source, "floorf(x + 0.5f)"));
		is_wrong(&k, "no zero point", with_number(with_number(k.c->source, "77.0f", "0.0f"), ") + 77", ") + 0"));
	}
	for (int i = 0; i < DRAWN; i++) {
		runner_task(runner, drawn[i]);
		struct runner_answer x = next();
		ok(i < DRAWN - 1 ? !x.error : x.error && x.why && strstr(x.why, "lowest or highest"), "%s: %s", drawn[i],
		   x.error ? x.why : "taken");
	}
	runner_close(runner);
	return tap_done();
}
