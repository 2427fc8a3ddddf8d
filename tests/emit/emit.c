/* The text of kernels: what one run of statements loads twice is written once, unless it was written in between. */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "programs.h"
#include "target/target.h"
#include "emit/emit.h"
#include "loop/interp.h"
#include "loop/prim.h"
#include "sched/schedule.h"
#include "run_kernel.h"
#include "near.h"
#include "tap.h"

static const char *kernel_text(struct loop_prog *p, const char *trace)
{
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	const char *why;

	prog_collapse(p);
	prog_start(p);
	if ((why = trace ? loop_apply(p, trace, false) : (default_schedule(p), NULL)) || (why = loop_legalize(p)) ||
	    (why = loop_verify(p))) {
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
	static const char trace[] =
		"at sum out.i\nat exp out.i\nat max out.i\nunroll out.i\nunroll out.j\nunroll exp.j\nunroll sum.j\nunroll max.j\n";
	const int64_t d[] = {ROWS, COLS};
	struct loop_prog *p = make_softmax(d), *plain = make_softmax(d);
	float x[ROWS * COLS], got[ROWS * COLS], want[ROWS * COLS];
	const char *body = kernel_text(p, trace);

	prog_collapse(plain);
	prog_start(plain);
	FILE *f = fopen("kernel.c", "w");
	emit_prelude(f, &p, 1, &body, 1);
	fprintf(f, "%svoid run(float *x, float *y, char *ws) { kernel(x, y, ws); }\n", body);
	fclose(f);
	void *lib = compile_library("kernel", target_host());
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
		worst = fmax(worst, off_by(got[i], want[i]));
	ok(worst < 1e-6 && count(body, "float r") >= ROWS, "storage that is used again, row by row: off by %g, %d loads have names", worst,
	   count(body, "float r"));
}

static const char *prelude_of(const struct target *t, const char *const *text, size_t n)
{
	struct loop_prog *p = prog_new(t);
	char *prelude;
	size_t size;
	FILE *f = open_memstream(&prelude, &size);

	emit_prelude(f, &p, 1, text, n);
	fclose(f);
	return prelude;
}

/* Functions that a text calls, and those that these call, in both forms of x86: for gcc, and for any compiler. A longer name is another one. */
static void helpers_called(void)
{
	static const char *const calls[] = {"x = vmax(a, b);", "vload_mask2 my_at vgather_"};
	struct target t;

	if (!target_find("x86-64-v3", &t))
		exit(1);
	const char *all = prelude_of(&t, NULL, 0), *some = prelude_of(&t, calls, 2), *none = prelude_of(&t, calls + 1, 1);
	ok(count(some, "inline vf vmax(") == count(all, "inline vf vmax(") &&
		   count(some, "inline vf vsel(") == count(some, "inline vf vmax(") &&
		   count(some, "inline vf vmax2(") == count(all, "inline vf vmax2("),
	   "a function, and those that it calls");
	ok(!strstr(some, "inline vf vload_mask(") && !strstr(some, " at(") && !strstr(some, "vgather(") &&
		   strstr(all, "inline vf vload_mask("),
	   "no others");
	ok(!count(none, "inline ") && count(none, "typedef ") == count(all, "typedef ") && count(none, "#if") == count(all, "#if") &&
		   count(none, "#endif") == count(all, "#endif"),
	   "types stay, and what machines differ in");
}

/* A kernel of one operand and one result as a library: run(x, y). */
static void (*compiled(struct loop_prog *p, const char *body, const char *name))(const float *, float *)
{
	char *path = xprintf("%s.c", name);
	FILE *f = fopen(path, "w");

	emit_prelude(f, &p, 1, &body, 1);
	fprintf(f, "%svoid run(const float *x, float *y) { kernel(x, y, 0); }\n", body);
	fclose(f);
	free(path);
	void *lib = compile_library(name, target_host());
	return lib ? (void (*)(const float *, float *))dlsym(lib, "run") : NULL;
}

/* y[w] = x[w / lanes], which all lanes share; side 1: only for w < 5/2 lanes, side 2: only from there on. */
static struct loop_prog *spread(int lanes, int side)
{
	struct loop_prog *p = prog_new(target_host());
	buf_id x = buf_new(p, "x", DT_F32, SCOPE_IN, 1, (int64_t[]){side == 1 ? 3 : 5}),
	       y = buf_new(p, "y", DT_F32, SCOPE_OUT, 1, (int64_t[]){5 * lanes});
	stage_id s = stage_into(p, "s", y, "w");
	poly w = stage_axis(p, s, 0), left = poly_addc(p->P, poly_mulc(p->P, w, -1), 5 * lanes / 2 - 1);
	poly at = poly_addc(p->P, poly_floordiv(p->P, w, lanes), side == 2 ? -2 : 0);
	ex_id read = ex_read(p, x, 1, &at), zero = ex_const(p, DT_F32, 0);
	stage_body(p, s, COMB_NONE, side ? ex_guard(p, 1, &left, side == 1 ? read : zero, side == 1 ? zero : read) : read);
	return p;
}

/* Behind and before x is memory that cannot be read: where no lane is active, x is not read either. */
static void nothing_beyond(void)
{
	long page = sysconf(_SC_PAGESIZE);
	int lanes = target_host()->vector_bytes / 4;
	char *room = mmap(NULL, (size_t)page * 3, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), trace[64], name[32];

	mprotect(room + page, (size_t)page, PROT_READ | PROT_WRITE);
	for (int side = 0; side < 3; side++) {
		struct loop_prog *p = spread(lanes, side);
		const int n = side == 1 ? 3 : 5;
		float *x = (float *)(room + page) + (side == 2 ? 0 : page / 4 - n), y[5 * 16], worst = 0;
		snprintf(trace, sizeof trace, "split s.w 4 %d\nvector s.w.2\n", lanes);
		snprintf(name, sizeof name, "beyond%d", side);
		const char *body = kernel_text(p, trace);
		void (*run)(const float *, float *) = compiled(p, body, name);
		for (int i = 0; i < n; i++)
			x[i] = (float)(i + 1);
		if (run)
			run(x, y);
		for (int w = 0; w < 5 * lanes; w++) {
			bool zero = side && (w < 5 * lanes / 2) == (side == 2);
			worst = fmaxf(worst, fabsf(y[w] - (zero ? 0 : x[w / lanes - (side == 2 ? 2 : 0)])));
		}
		ok(run && !worst, "an element for all lanes, %s", side == 1 ? "for some" : side == 2 ? "for the others" : "up to the last");
	}
	munmap(room, (size_t)page * 3);
}

int main(void)
{
	helpers_called();
	loads_once();
	written_between();
	nothing_beyond();
	return tap_done();
}
