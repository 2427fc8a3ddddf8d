/* The text of kernels: what one run of statements loads twice is written once, unless it was written in between. */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../bench/programs.h"
#include "device/target.h"
#include "loop/emit.h"
#include "loop/interp.h"
#include "loop/prim.h"
#include "tap.h"

static const char *kernel_text(struct loop_prog *p, const char *trace)
{
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	const char *why;

	prog_collapse(p);
	prog_start(p);
	if ((why = trace ? loop_apply(p, trace, false) : (loop_rule(p), NULL)) || (why = loop_finish(p)) || (why = loop_verify(p))) {
		ok(0, "the schedule applies: %s", why);
		exit(1);
	}
	emit_kernel(f, p, "kernel");
	fclose(f);
	return text;
}

static int count(const char *s, const char *what)
{
	int n = 0;

	for (; (s = strstr(s, what)); s++)
		n++;
	return n;
}

/* Loads in the innermost loop of a product: one of each row of A and each vector of B. */
static void loads_once(void)
{
	struct loop_prog *p = make_gemm((int64_t[]){8, 32, 64});
	const char *s = strstr(kernel_text(p, NULL), "gemm_k = 0") ?: strstr(kernel_text(p, NULL), "_k = 0");
	char *loop = s ? strndup(s, strcspn(s, "}")) : NULL;

	int lines = loop ? count(loop, " += ") : 0, vectors = loop ? count(loop, "vload(c0") : 0, scalars = loop ? count(loop, "= i0[") : 0;
	ok(lines > 4 && vectors * scalars == lines, "%d products of %d vectors and %d elements", lines, vectors, scalars);
}

/* A row of exponentials lies in one place for all rows, and rows are written out one behind the other. */
static void written_between(void)
{
	enum { ROWS = 4, COLS = 3 };
	static const char trace[] = "at sum out.i\nat exp out.i\nat max out.i\nunroll out.i\nunroll out.j\nunroll exp.j\nunroll sum.j\nunroll max.j\n";
	const int64_t d[] = {ROWS, COLS};
	struct loop_prog *p = make_softmax(d), *plain = make_softmax(d);
	float x[ROWS * COLS], got[ROWS * COLS], want[ROWS * COLS];
	const char *body = kernel_text(p, trace);
	char command[1024];

	prog_collapse(plain);
	prog_start(plain);
	FILE *f = fopen("kernel.c", "w");
	emit_prelude(f, &p, 1, &body, 1);
	fprintf(f, "%svoid run(float *x, float *y, char *ws) { kernel(x, y, ws); }\n", body);
	fclose(f);
	snprintf(command, sizeof command, "%s %s -w -shared -fPIC -o kernel.so kernel.c -lm", target_compiler(), target_cflags(target_host()));
	void *lib = system(command) ? NULL : dlopen("./kernel.so", RTLD_NOW);
	if (!ok(lib != NULL, "it compiles"))
		return;
	for (int i = 0; i < ROWS * COLS; i++)
		x[i] = (float)(i * 7 % 5);
	void *at[64] = {0}, *ws = aligned_alloc(64, (size_t)(p->workspace + 64) / 64 * 64);
	for (buf_id b = 1; b < plain->bufs.n; b++)
		if (lbuf(plain, b)->scope <= SCOPE_OUT)
			at[b] = lbuf(plain, b)->scope == SCOPE_IN ? x : want;
	stages_eval(plain, at);
	((void (*)(float *, float *, char *))dlsym(lib, "run"))(x, got, ws);
	double worst = 0;
	for (int i = 0; i < ROWS * COLS; i++)
		worst = fmax(worst, fabs(got[i] - want[i]));
	ok(worst < 1e-6 && count(body, "const float r") >= ROWS, "storage that is used again, row by row: off by %g, %d loads have names", worst,
	   count(body, "const float r"));
}

static const char *prelude_of(const char *const *text, size_t n)
{
	struct loop_prog *p = make_gemm((int64_t[]){8, 32, 64});
	char *prelude;
	size_t size;
	FILE *f = open_memstream(&prelude, &size);

	emit_prelude(f, &p, 1, text, n);
	fclose(f);
	return prelude;
}

/* What a text calls and what that calls, of every kind of machine; a longer name is another one. */
static void helpers_called(void)
{
	static const char *const calls[] = {"x = vmax(a, b);", "vload_mask2 my_at vgather_"};
	const char *all = prelude_of(NULL, 0), *some = prelude_of(calls, 2), *none = prelude_of(calls + 1, 1);

	ok(count(some, "inline vf vmax(") == 1 && count(some, "inline vf vsel(") == 2 && count(some, "inline vf vmax2(") == count(all, "inline vf vmax2("),
	   "a function, and those that it calls");
	ok(!strstr(some, "inline vf vload_mask(") && !strstr(some, " at(") && !strstr(some, "vgather(") && strstr(all, "inline vf vload_mask("), "no others");
	ok(!count(none, "inline ") && count(none, "typedef ") == count(all, "typedef ") && count(none, "#if") == count(all, "#if") &&
	   count(none, "#endif") == count(all, "#endif"), "types stay, and what machines differ in");
}

int main(void)
{
	helpers_called();
	loads_once();
	written_between();
	return tap_done();
}
