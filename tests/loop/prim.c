/* The primitives tensor, outline and prefetch: what they refuse and why, what the nest then says, and compiled cases.
 * Instructions that this machine lacks are run by the interpreter only. (Random schedules: loop.c.) */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "programs.h"
#include "target/x86/x86.h"
#include "common/half.h"
#include "common/rng.h"
#include "sched/analytic.h"
#include "sched/schedule.h"
#include "emit/emit.h"
#include "loop/instr.h"
#include "loop/interp.h"
#include "loop/prim.h"
#include "run_kernel.h"
#include "near.h"
#include "tap.h"

static struct target target;
static struct rng rng = {3};

static bool is_x86(const struct target *t) { return !strcmp(backend_of(t)->name, "x86"); }

/* This machine; on another kind of CPU one of x86, whose instructions the cases name: nothing is compiled then. */
static struct target usual(void)
{
	struct target t = *target_host();

	if (!is_x86(&t) && !target_find("x86-64-v3", &t))
		exit(1);
	return t;
}

#define DIMS(...) \
	(int64_t[]) { __VA_ARGS__ }
#define IDX(...) \
	(poly[]) { __VA_ARGS__ }

/* y[m, n] = x[n, m] */
static struct loop_prog *transpose(int64_t m, int64_t n)
{
	struct loop_prog *p = prog_new(&target);
	buf_id x = buf_new(p, "x", DT_F32, SCOPE_IN, 2, DIMS(n, m)), y = buf_new(p, "y", DT_F32, SCOPE_OUT, 2, DIMS(m, n));
	stage_id s = stage_into(p, "t", y, "m n");
	stage_body(p, s, COMB_NONE, ex_read(p, x, 2, IDX(stage_axis(p, s, 1), stage_axis(p, s, 0))));
	prog_start(p);
	return p;
}

/* y[m, n] += a[m, k] * b[k, n], of the given types; casts before the product where the sum is another type. apart: the sums are in
 * scratch, and copied. */
static struct loop_prog *product(int64_t m, int64_t n, int64_t k, enum dtype ta, enum dtype tb, enum dtype t, bool apart)
{
	struct loop_prog *p = prog_new(&target);
	buf_id a = buf_new(p, "a", ta, SCOPE_IN, 2, DIMS(m, k)), b = buf_new(p, "b", tb, SCOPE_CONST, 2, DIMS(k, n));
	buf_id y = buf_new(p, "y", t, SCOPE_OUT, 2, DIMS(m, n));
	stage_id s = apart ? stage_new(p, "mm", t, SCOPE_SCRATCH, 2, DIMS(m, n), "m n") : stage_into(p, "mm", y, "m n");
	poly ik = stage_reduce(p, s, "k", k), im = stage_axis(p, s, 0), in = stage_axis(p, s, 1);
	ex_id ra = ex_read(p, a, 2, IDX(im, ik)), rb = ex_read(p, b, 2, IDX(ik, in));
	if (ta != t)
		ra = ex_cast(p, t, ra);
	if (tb != t)
		rb = ex_cast(p, t, rb);
	stage_body(p, s, COMB_SUM, ex_call(p, FN_MUL, rb, ra, 0)); /* the other way round than the row says */
	if (apart) {
		stage_id c = stage_into(p, "copy", y, "m n");
		stage_body(p, c, COMB_NONE, ex_read(p, lstage(p, s)->out, 2, IDX(stage_axis(p, c, 0), stage_axis(p, c, 1))));
	}
	prog_start(p);
	return p;
}
static struct loop_prog *matmul(int64_t m, int64_t n, int64_t k, enum dtype ta, enum dtype tb, enum dtype t)
{
	return product(m, n, k, ta, tb, t, false);
}
/* y[m, n] = s[m, n], s[m, n] = m */
static struct loop_prog *numbers(void)
{
	struct loop_prog *p = prog_new(&target);
	buf_id y = buf_new(p, "y", DT_F32, SCOPE_OUT, 2, DIMS(8, 9));
	stage_id s = stage_new(p, "s", DT_F32, SCOPE_SCRATCH, 2, DIMS(8, 9), "m n"), t = stage_into(p, "t", y, "m n");
	stage_body(p, s, COMB_NONE, ex_index(p, DT_F32, stage_axis(p, s, 0)));
	stage_body(p, t, COMB_NONE, ex_read(p, lstage(p, s)->out, 2, IDX(stage_axis(p, t, 0), stage_axis(p, t, 1))));
	prog_start(p);
	return p;
}
static struct loop_prog *large_copies(void) { return transpose(4096, 4096); }
static struct loop_prog *floats(void) { return matmul(40, 48, 20, DT_F32, DT_F32, DT_F32); }
static struct loop_prog *bytes(void) { return matmul(7, 32, 24, DT_U8, DT_I8, DT_I32); }
static struct loop_prog *copies(void) { return transpose(40, 37); }
static struct loop_prog *sums(void)
{
	struct loop_prog *p = make_gemm(DIMS(9, 8, 20));
	prog_start(p);
	return p;
}

static const char int8_trace[] =
	"layout b 1/16 0/4 1%16 0%4\n"
	"split mm.n 16\nsplit mm.k 4 tail=peel\n"
	"reorder mm.n.0 mm.m mm.n.1\n"
	"init mm mm.m\n"
	"reorder mm.k.0 mm.n.1 mm.k.1\n";

/* ---- refusals ---- */

static void refuses(struct loop_prog *(*make)(void), const char *before, const char *line, const char *why)
{
	struct loop_prog *p = make();
	const char *bad = loop_apply(p, before, false);
	const char *had = prog_str(p, &p->arena), *got = bad ? bad : loop_apply(p, line, false);

	ok(!bad && got && strstr(got, why), "%s: %s", line, got ? got : "not refused");
	if (!bad && strcmp(had, prog_str(p, &p->arena)))
		ok(false, "%s: refused, but the program is another", line);
	prog_free(p);
}

/* Good when it was applied, but no more at the end. */
static void refused_later(struct loop_prog *(*make)(void), const char *trace, const char *why)
{
	struct loop_prog *p = make();
	const char *bad = loop_apply(p, trace, false), *got = bad ? bad : loop_legalize(p);

	ok(!bad && got && strstr(got, why), "at the end: %s", got ? got : "not refused");
	prog_free(p);
}

static void names(void)
{
	refuses(floats, "", "/*x = cache a mm root scratch", "/*x is no name");
	refuses(floats, "", "*/int/**/evil(void);/* = cache a mm root scratch", "is no name");
	refuses(floats, "", "2a = cache a mm root scratch", "2a is no name");
	refuses(floats, "", ".a = cache a mm root scratch", ".a is no name");
	refuses(floats, "", "a-b = cache y mm mm.m register", "a-b is no name");
	refuses(floats, "split mm.k 4", "P+ = rfactor mm mm.k.1", "P+ is no name");
	refuses(floats, "split mm.k 4", "P+ = partial mm mm.k.1 scratch", "P+ is no name");
	refuses(floats, "", "P = partial mm mm.q scratch", "no loop mm.q");
	refuses(floats, "init mm mm.m", "P = partial mm mm.m scratch", "mm is no sum that begins outside the loop");
	refuses(copies, "", "P = partial t t.m scratch", "t is no sum that begins outside the loop");
	refuses(floats, "_a.b2 = cache a mm root scratch", "_a.b2 = cache b mm root scratch", "there is a _a.b2 already");
}

/* n words, each the next number, if step is 1. */
static const char *with_numbers(const char *line, int n, int step)
{
	static char text[1024];
	int at = sprintf(text, "%s", line);
	for (int i = 0; i < n; i++)
		at += sprintf(text + at, " %d", 1 + i * step);
	return text;
}

/* Numbers that nobody would write: each is refused, where it is read or at the end. */
static void too_much(void)
{
	char cut[4096];
	int at = sprintf(cut, "split t.m 64\nsplit t.n 64\nreorder t.m.0 t.n.0 t.m.1 t.n.1\n");
	refuses(numbers, "", "split s.m 4294967296 4294967296 tail=pad", "make more than 2^40");
	refuses(numbers, "", "split s.m 3037000500 3037000500", "make more than 2^40");
	refuses(numbers, "split s.m 1099511627776", "split s.m.0 1099511627776", "factor 1099511627776 of s.m.0 is too large");
	refuses(numbers, "split s.m 1099511627776 tail=pad\nsplit s.n 1099511627776 tail=pad\nreorder s.m.0 s.n.0 s.m.1 s.n.1",
		"fuse s.m.1 s.n.1", "fuse: more than 2^40 steps");
	refuses(floats, "", "layout b 0/1048576 1/1048576 0%1048576 1%1048576", "more than 64 times as large");
	refused_later(numbers, "split s.m 1099511627776 tail=pad\nsplit s.n 1099511627776 tail=pad",
		      "scratch buffer s: it is larger than any memory");
	refused_later(numbers, "scope s stack\nsplit s.m 1099511627776 tail=pad\nsplit s.n 1099511627776 tail=pad", "stack buffer s");
	refuses(copies, "", with_numbers("split t.m", 70, 0), "72 nested loops");
	refuses(copies, with_numbers("split t.m", 58, 0), "split t.n 1", "61 nested loops");
	refuses(copies, with_numbers("split t.m", 58, 0), "c = cache x t t.m.58 stack", "61 nested loops");
	for (int i = 0; i < 4; i++)
		at += sprintf(
			cut + at, "%s\n",
			with_numbers((const char *const[]){"partition t.m.0", "partition t.n.0", "partition t.m.1", "partition t.n.1"}[i],
				     62, 1));
	refused_later(large_copies, cut, "pieces of its loops have more than");
}

static void refusals(void)
{
	char call[64], transposed[256], copied[512];
	int vl = target.vector_bytes / 4;
	sprintf(call, "tensor t.m.1 transpose%d", vl);
	sprintf(transposed, "split t.m %d tail=peel\nsplit t.n %d tail=peel\nreorder t.m.0 t.n.0 t.m.1 t.n.1\n%s\n", vl, vl, call);
	refuses(copies, "", "tensor t.q transpose16", "no loop t.q");
	refuses(copies, "", "tensor t.m mma", "no instruction mma");
	refuses(copies, "", vl == 16 ? "tensor t.m transpose8" : "tensor t.m transpose16", "the target has no");
	refuses(copies, "split t.m 4 tail=peel\nsplit t.n 4 tail=peel\nreorder t.m.0 t.n.0 t.n.1 t.m.1",
		vl == 16 ? "tensor t.n.1 transpose16" : "tensor t.n.1 transpose8", "the step of x in t.n.1");
	refuses(copies, "", vl == 16 ? "tensor t.m transpose16" : "tensor t.m transpose8", "t.m has 40 steps");
	refuses(copies, "split t.m 4", vl == 16 ? "tensor t.n transpose16" : "tensor t.n transpose8", "37 steps");
	refuses(copies, "split t.n 4 tail=guard\nsplit t.m 4\nreorder t.m.0 t.n.0 t.m.1 t.n.1", call, "is guarded within t.n.1");
	refuses(copies, "split t.n 8 tail=peel\nsplit t.m 4\nreorder t.m.0 t.n.0 t.m.1 t.n.1\nvector t.n.1", call, "marked or cut");
	refuses(floats, "split mm.n 4\nsplit mm.k 4\ninit mm mm.n.0\nreorder mm.k.0 mm.k.1 mm.n.1",
		vl == 16 ? "tensor mm.k.1 transpose16" : "tensor mm.k.1 transpose8", "reduction");
	refuses(copies, transposed, "vector t.n.1", "part of a call");
	refuses(copies, transposed, "split t.m.1 2", "part of a call");
	refuses(copies, transposed, call, "part of a call");
	if (target.features & X86_VNNI) {
		refuses(bytes, int8_trace, "tensor mm.k.1 vpdpbusd", "loops are needed");
		refuses(bytes, "split mm.n 16\nsplit mm.k 4\nreorder mm.n.0 mm.m mm.n.1\ninit mm mm.m\nreorder mm.k.0 mm.n.1 mm.k.1",
			"tensor mm.n.1 vpdpbusd", "the step of b");
		refuses(bytes,
			"split mm.n 8\nsplit mm.k 4\nreorder mm.n.0 mm.m mm.n.1\ninit mm mm.m\nreorder mm.k.0 mm.n.1 mm.k.1\nlayout b 1/8 0/4 1%8 0%4",
			"tensor mm.n.1 vpdpbusd", "8 steps, not 16");
		refuses(floats, "split mm.n 16\nsplit mm.k 4\nreorder mm.n.0 mm.m mm.n.1\ninit mm mm.m\nreorder mm.k.0 mm.n.1 mm.k.1",
			"tensor mm.n.1 vpdpbusd", "the body of mm");
	}
	refuses(floats, "", "outline mm.q", "no loop mm.q");
	refuses(floats, "outline mm.n", "outline mm.m", "mm.n is outlined already");
	refuses(floats, "outline mm.m", "outline mm.n", "mm.m is outlined already");
	refuses(floats, "parallel mm.n", "outline mm.m", "team");
	refuses(floats, "outline mm.m", "parallel mm.n", "mm.m is outlined");
	refuses(floats, "outline mm.n", "split mm.n 4", "marked");
	refuses(floats, "acc = cache y mm mm.m register", "outline mm.n", "register buffer acc is used inside and outside");
	refuses(floats, "", "prefetch c mm.m 1", "no buffer c");
	refuses(floats, "", "prefetch a mm.q 1", "no loop mm.q");
	refuses(floats, "", "prefetch a mm.m 0", "0 steps ahead");
	refuses(copies, "split t.n 16\nvector t.n.1", "prefetch x t.n.1 1", "t.n.1 is a vector");
	refuses(sums, "split gemm.k 1 1 1 1 1 1 1\nsplit gemm.k.0 1 1 1 1 1 1 1", "R = rfactor gemm gemm.k.1", "too many axes");
	refuses(copies, "split t.n 16\nprefetch x t.n.1 1", "vector t.n.1", "t.n.1 prefetches");
	refuses(floats, "prefetch a mm.m 1", "prefetch a mm.m 2", "prefetches a already");
	refuses(floats, "acc = cache y mm mm.m stack", "prefetch acc mm.n 1", "acc is a stack buffer");
	refuses(floats, "acc = cache y mm mm.m scratch", "prefetch acc mm.m 1", "lives in an iteration of mm.m");
	refuses(floats, "acc = cache y mm mm.m stack", "prefetch a acc.store.n 1", "nothing in acc.store.n touches a");
	refused_later(floats, "unroll mm.n\noutline mm.n\nacc = cache y mm mm.m register\nunroll acc.store.n",
		      "outline: register buffer acc");
	sprintf(copied, "C = cache x t root scratch\n%slayout C 1 0\n", transposed);
	refused_later(copies, copied, "at t.m.1: the step of C");
}

/* ---- numbers ---- */

struct operand {
	void *plain, *data; /* row-major; in the kernel's layout, at the end of what it has */
	int64_t bytes;
};

static double get(enum dtype t, const void *x, int64_t i)
{
	return t == DT_F32   ? ((const float *)x)[i]
	       : t == DT_I32 ? ((const int *)x)[i]
	       : t == DT_F16 ? half_to_float(((const uint16_t *)x)[i])
			     : NAN;
}

static int64_t count(const struct loop_buf *b)
{
	int64_t n = 1;
	for (int d = 0; d < b->rank; d++)
		n *= b->shape[d];
	return n;
}

static void fill(enum dtype t, void *x, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		switch (t) {
		case DT_F32: ((float *)x)[i] = (float)rng_normal(&rng); break;
		case DT_F16: ((uint16_t *)x)[i] = float_to_half((float)rng_normal(&rng)); break;
		case DT_I16: ((int16_t *)x)[i] = (int16_t)rng_range(&rng, -255, 255); break;
		case DT_U8: ((uint8_t *)x)[i] = (uint8_t)rng_range(&rng, 0, 255); break;
		default: ((int8_t *)x)[i] = (int8_t)rng_range(&rng, -128, 127); break;
		}
}

/* Operands of plain and p, which is the same program scheduled; results of the stages in the plain ones. */
static void operands(struct loop_prog *plain, struct loop_prog *p, struct operand *o)
{
	void *at[16] = {0};
	for (buf_id b = 1; b < plain->bufs.n && lbuf(plain, b)->scope <= SCOPE_OUT; b++) {
		struct loop_buf *x = lbuf(plain, b);
		o[b].bytes = buf_elems(p, b) * (int64_t)dtype_size(x->dtype);
		o[b].plain = at[b] = calloc((size_t)count(x), dtype_size(x->dtype));
		o[b].data = calloc(1, (size_t)o[b].bytes);
		if (x->scope != SCOPE_OUT) {
			fill(x->dtype, o[b].plain, count(x));
			buf_pack(p, b, o[b].plain, o[b].data);
		}
	}
	stages_eval(plain, at);
}

static double difference(struct loop_prog *plain, const struct operand *o)
{
	double worst = 0;
	for (buf_id b = 1; b < plain->bufs.n; b++)
		for (int64_t i = 0; lbuf(plain, b)->scope == SCOPE_OUT && i < count(lbuf(plain, b)); i++) {
			enum dtype t = lbuf(plain, b)->dtype;
			worst = fmax(worst, off_by(get(t, o[b].data, i), get(t, o[b].plain, i)));
		}
	return worst;
}

/* Text of the kernel, called NAME, with run_NAME(data, ws) around it. prefetched() sees every address. */
static char *kernel_text(struct loop_prog *p, const char *name)
{
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	emit_prelude(f, &p, 1, NULL, 0);
	fprintf(f, "void (*prefetched)(const void *address);\n#define __builtin_prefetch(a, ...) prefetched(a)\n");
	emit_kernel(f, p, name);
	put_runner(f, p, name);
	fclose(f);
	return text;
}

static const struct operand *fetched_from;
static int nfetched, nstray;
static void prefetched(const void *address)
{
	bool within = false;
	for (int b = 1; b < 16; b++)
		within |= fetched_from[b].data && (const char *)address >= (const char *)fetched_from[b].data &&
			  (const char *)address <= (const char *)fetched_from[b].data + fetched_from[b].bytes;
	nfetched++;
	nstray += !within;
}

/* kernel.c to path, for p's target. */
static bool compile(struct loop_prog *p, const char *name, const char *options, const char *path)
{
	char command[1024];
	char *text = kernel_text(p, name);
	FILE *f = fopen("kernel.c", "w");

	fputs(text, f);
	fclose(f);
	free(text);
	snprintf(command, sizeof command, "%s %s -w %s -o %s kernel.c -lm 2>/dev/null", target_compiler(NULL), target_cflags(p->target),
		 options, path);
	return !system(command);
}

static bool run(struct loop_prog *p, const char *name, const struct operand *o)
{
	char path[64], symbol[64];

	snprintf(path, sizeof path, "./%s.so", name);
	void *lib = compile(p, name, "-shared -fPIC", path) ? dlopen(path, RTLD_NOW) : NULL;
	if (!lib)
		return false;
	snprintf(symbol, sizeof symbol, "run_%s", name);
	void (*f)(void **, const long *, char *) = (void (*)(void **, const long *, char *))dlsym(lib, symbol);
	*(void (**)(const void *))dlsym(lib, "prefetched") = prefetched;
	void *data[16] = {0};
	for (int b = 1; b < 16; b++)
		data[b] = o[b].data;
	char *ws = aligned_alloc(64, (size_t)(p->workspace + 64) / 64 * 64 + 64);
	fetched_from = o;
	nfetched = nstray = 0;
	f(data, NULL, ws);
	free(ws);
	return true;
}

/* Does the assembler text of the kernel hold that instruction? */
static void assembles(struct loop_prog *p, const char *instruction)
{
	char line[512];
	bool found = false;

	if (!compile(p, "k", "-S -fno-sanitize=all", "kernel.s")) {
		ok(true, "%s in the assembler text # SKIP the compiler does not know it", instruction);
		return;
	}
	FILE *f = fopen("kernel.s", "r");
	while (fgets(line, sizeof line, f))
		found |= strstr(line, instruction) && strstr(line, target.vector_bytes == 64 ? "zmm" : "ymm");
	fclose(f);
	ok(found, "%s in the assembler text", instruction);
}

/* The trace applies; interpreted, and compiled, it gives the stages' numbers; instruction: compiled only, for another
 * machine, it is there. shown: a part of the nest's text; in
 * the C text: of it. */
static void good(const char *name, struct loop_prog *plain, struct loop_prog *p, const char *trace, const char *shown, const char *c,
		 const char *instruction, double tolerance)
{
	struct operand o[16] = {{0}};
	void *data[16] = {0};
	const char *why = loop_apply(p, trace, false);

	ok(!why && strstr(prog_str(p, &p->arena), shown), "%s: %s in the nest%s%s", name, shown, why ? ": " : "", why ? why : "");
	if (!why)
		why = loop_legalize(p);
	if (!why)
		why = loop_verify(p);
	if (!ok(!why, "%s: legalized and verified%s%s", name, why ? ": " : "", why ? why : ""))
		return;
	operands(plain, p, o);
	for (int b = 1; b < 16; b++)
		data[b] = o[b].data;
	why = loop_interp(p, data);
	double e = why ? INFINITY : difference(plain, o);
	ok(e <= tolerance, "%s: interpreter differs by %g%s%s", name, e, why ? ": " : "", why ? why : "");
	char *text = kernel_text(p, name);
	ok(strstr(text, c) != NULL, "%s: %s in the C", name, c);
	free(text);
	if (instruction) {
		assembles(p, instruction);
	} else if (target_is_foreign(&target)) {
		ok(true, "%s: compiled # SKIP another kind of CPU", name);
	} else {
		for (buf_id b = 1; b < plain->bufs.n; b++)
			if (lbuf(plain, b)->scope == SCOPE_OUT)
				memset(o[b].data, 0xff, (size_t)o[b].bytes);
		bool ran = run(p, name, o);
		e = ran ? difference(plain, o) : INFINITY;
		ok(e <= tolerance, "%s: compiled differs by %g", name, e);
	}
	for (int b = 1; b < 16; b++) {
		free(o[b].plain);
		free(o[b].data);
	}
	prog_free(plain);
	prog_free(p);
}

static void instructions(void)
{
	int vl = target.vector_bytes / 4;
	char trace[512], want[64], call[64];
	snprintf(trace, sizeof trace,
		 "split t.m %d tail=peel\nsplit t.n %d tail=peel\nreorder t.m.0 t.n.0 t.m.1 t.n.1\ntensor t.m.1 transpose%d\n", vl, vl, vl);
	snprintf(want, sizeof want, "call transpose%d", vl);
	snprintf(call, sizeof call, "transpose%d_part(o0", vl);
	good("whole", transpose(48, 64), transpose(48, 64), trace, want, "(o0", NULL, 0);
	good("parts", transpose(37, 41), transpose(37, 41), trace, want, call, NULL, 0);
	char long_trace[1024];
	snprintf(long_trace, sizeof long_trace, "%s%s", int8_trace, "tensor mm.n.1 vpdpbusd\n");
	if (target.features & X86_VNNI) {
		good("int8", bytes(), bytes(), long_trace, "call vpdpbusd", "vpdpbusd(*(viu *)(o0", NULL, 0);
		snprintf(long_trace, sizeof long_trace, "%s%s", int8_trace,
			 "acc = cache y mm mm.m register\nvector acc.store.n\nvector mm.init.n\ntensor mm.n.1 vpdpbusd\n");
		good("int8_registers", bytes(), bytes(), long_trace, "call vpdpbusd", "= vpdpbusd(acc", NULL, 0);
		/* the last three steps of k are loops */
		snprintf(long_trace, sizeof long_trace, "%s%s", int8_trace, "tensor mm.n.1 vpdpbusd\n");
		good("int8_rest", matmul(5, 16, 23, DT_U8, DT_I8, DT_I32), matmul(5, 16, 23, DT_U8, DT_I8, DT_I32), long_trace,
		     "call vpdpbusd", "vpdpbusd(", NULL, 0);
	} else {
		ok(true, "vpdpbusd # SKIP this CPU has none");
	}
	target.features |= X86_FP16;
	target.vector_bytes = 64;
	good("half", matmul(3, 64, 9, DT_F16, DT_F16, DT_F16), matmul(3, 64, 9, DT_F16, DT_F16, DT_F16),
	     "split mm.n 32\nreorder mm.m mm.n.0 mm.n.1\ninit mm mm.n.0\nreorder mm.k mm.n.1\ntensor mm.n.1 vfmaddph\n", "call vfmaddph",
	     "vfmadd16(*(vhfu *)(o0", "vfmadd231ph", 1e-2);
	target = usual();
}

/* The rule takes the target's instruction for a sum of products of groups, on every level of this CPU. */
static void dot(const char *level, enum dtype a, enum dtype b)
{
	char name[64], call[64], *trace;
	int row = instr_dot(&target, a, b, false);
	bool named = is_x86(&target); /* else the nest may say another one of the same products */

	if (!row) {
		ok(true, "%s %s # SKIP no such instruction", level, dtype_name(a));
		return;
	}
	snprintf(call, sizeof call, "call %s", named ? instr_row(row)->name : "");
	for (int i = 0; i < 3; i++) {
		int64_t m = 1 + 6 * i, n = 37 + 30 * i, k = 24 + 100 * i;
		snprintf(name, sizeof name, "dot_%s_%s_%d", strrchr(level, '-') ? strrchr(level, '-') + 1 : level, dtype_name(a), i);
		struct loop_prog *p = product(m, n, k, a, b, DT_I32, true);
		trace = strdup(default_schedule(p));
		prog_free(p);
		good(name, product(m, n, k, a, b, DT_I32, true), product(m, n, k, a, b, DT_I32, true), trace, call,
		     !named       ? "= v"
		     : a == DT_U8 ? "= vpdpbusd("
				  : "= vpmaddwd(",
		     NULL, 0);
		free(trace);
	}
}

/* Without AVX-512, on any machine: what the compiler makes of it. */
static void dot_of_avx(void)
{
	target_find("x86-64-v3", &target);
	target.features |= X86_AVXVNNI;
	struct loop_prog *p = product(7, 37, 124, DT_U8, DT_I8, DT_I32, true);
	char *trace = strdup(default_schedule(p));
	prog_free(p);
	good("dot_avx", product(7, 37, 124, DT_U8, DT_I8, DT_I32, true), product(7, 37, 124, DT_U8, DT_I8, DT_I32, true), trace,
	     "call vpdpbusd256", "= vpdpbusd(", "{vex} vpdpbusd", 0);
	free(trace);
	target = usual();
}

static void dots(void)
{
	static const char *const level[] = {"x86-64", "x86-64-v3", "x86-64-v4", "native"};

	for (size_t i = 0; i < sizeof level / sizeof *level; i++) {
		if (!target_find(level[i], &target) || (!target_is_foreign(&target) && (target.features & ~target_host()->features))) {
			ok(true, "%s # SKIP not this CPU", level[i]);
			continue;
		}
		dot(level[i], DT_I16, DT_I16);
		dot(level[i], DT_U8, DT_I8);
	}
	target = usual();
	dot_of_avx();
}

/* ---- functions ---- */

static char *outlined_names(struct loop_prog *p, const char *trace)
{
	struct outlines o = {0};
	char *text, *all = strdup("");
	size_t n;
	const char *why = loop_apply(p, trace, false);
	if (!why)
		why = loop_legalize(p);
	if (why)
		return strdup(why);
	FILE *f = open_memstream(&text, &n);
	emit_kernel_with(f, p, "k", &o);
	fclose(f);
	for (size_t i = 0; i < o.a.n; i++) {
		char *more = malloc(strlen(all) + strlen(o.a.a[i].name) + 2);
		sprintf(more, "%s%s ", all, o.a.a[i].name);
		free(all);
		all = more;
	}
	free(text);
	outlines_free(&o);
	prog_free(p);
	return all;
}

static void functions(void)
{
	static const char trace[] =
		"split mm.m 4 tail=peel\nreorder mm.m.0 mm.m.1\ninit mm mm.m.0\nreorder mm.k mm.m.1 mm.n\nsplit mm.n 16\nvector mm.n.1\nunroll mm.m.1\noutline mm.k\n";
	good("outlined", floats(), floats(), trace, "outline", "f_", NULL, 1e-4);
	/* the same nest in kernels of other sizes: one function, though one of them also has a rest of two rows */
	char *a = outlined_names(matmul(40, 48, 20, DT_F32, DT_F32, DT_F32), trace),
	     *b = outlined_names(matmul(42, 48, 20, DT_F32, DT_F32, DT_F32), trace);
	ok(strlen(a) == 19 && strlen(b) == 38 && !strncmp(a, b, 19), "kernels share a function: %s; %s", a, b);
	free(b);
	b = outlined_names(matmul(40, 48, 21, DT_F32, DT_F32, DT_F32), trace);
	ok(strcmp(a, b) != 0, "another nest is another function");
	free(a);
	free(b);
	/* unrolled around: two copies, one function */
	a = outlined_names(matmul(8, 48, 20, DT_F32, DT_F32, DT_F32),
			   "split mm.m 4\nreorder mm.m.0 mm.m.1\nunroll mm.m.0\noutline mm.m.1\n");
	ok(strlen(a) == 19, "unrolled copies share a function: %s", a);
	free(a);
}

static void prefetches(void)
{
	good("fetch", floats(), floats(), "prefetch a mm.m 1\nprefetch b mm.k 3\nprefetch y mm.m 2\n", "prefetch a 1",
	     "__builtin_prefetch(o0", NULL, 1e-4);
	ok(target_is_foreign(&target) || (nfetched > 0 && !nstray), "%d prefetches, %d outside of the operands", nfetched, nstray);
	good("fetch_panels", floats(), floats(),
	     "layout b 1/16 0 1%16\nsplit mm.n 16\nreorder mm.n.0 mm.m mm.n.1\ninit mm mm.m\nreorder mm.k mm.n.1\nprefetch b mm.n.0 1\nunroll mm.m 3\nprefetch y mm.k 1\n",
	     "prefetch b 1", "line < ", NULL, 1e-4);
	ok(target_is_foreign(&target) || (nfetched > 0 && !nstray), "%d prefetches of panels, %d outside of the operands", nfetched,
	   nstray);
	good("fetch_outlined", floats(), floats(), "split mm.m 7 tail=peel\nprefetch a mm.m.1 2\noutline mm.m.1\n", "outline prefetch a 2",
	     "__builtin_prefetch(p", NULL, 1e-4);
	ok(target_is_foreign(&target) || (nfetched > 0 && !nstray), "%d prefetches in a function, %d outside of the operands", nfetched,
	   nstray);
}

/* Row 0 of a window that reaches one row above it: no text for the tap outside. */
static void padding(void)
{
	struct loop_prog *p = prog_new(&target);
	buf_id x = buf_new(p, "x", DT_F32, SCOPE_IN, 2, DIMS(5, 16)), w = buf_new(p, "w", DT_F32, SCOPE_CONST, 2, DIMS(3, 16));
	buf_id y = buf_new(p, "y", DT_F32, SCOPE_OUT, 2, DIMS(5, 16));
	stage_id s = stage_into(p, "conv", y, "h c");
	poly k = stage_reduce(p, s, "k", 3), h = stage_axis(p, s, 0), c = stage_axis(p, s, 1);
	ex_id rx = ex_read_fill(p, x, 2, IDX(poly_addc(p->P, poly_add(p->P, h, k), -1), c), 0);
	stage_body(p, s, COMB_SUM, ex_call(p, FN_MUL, rx, ex_read(p, w, 2, IDX(k, c)), 0));
	prog_start(p);
	const char *why = loop_apply(
		p, "init conv conv.h\nreorder conv.k conv.c\nunroll conv.k\nvector conv.c\nvector conv.init.c\npartition conv.h auto\n",
		false);
	if (!why)
		why = loop_legalize(p);
	char *text = kernel_text(p, "k");
	int taps = 0;
	for (const char *t = text; (t = strstr(t, "* vload(c0")); t++)
		taps++;
	ok(!why && taps == (2 + 3 + 2) * 16 / (target.vector_bytes / 4), "taps in the padding are left out: %d are there%s%s", taps,
	   why ? ": " : "", why ? why : "");
	free(text);
	prog_free(p);
}

/* The model of the target knows what a call saves. */
static void costs(void)
{
	char trace[256];
	int vl = target.vector_bytes / 4;
	double cost[2];

	for (int call = 0; call < 2; call++) {
		struct loop_prog *p = transpose(128, 128);
		snprintf(trace, sizeof trace,
			 call ? "split t.m %d\nsplit t.n %d\nreorder t.m.0 t.n.0 t.m.1 t.n.1\ntensor t.m.1 transpose%d\n"
			      : "split t.m %d\nsplit t.n %d\nvector t.n.1\n",
			 vl, vl, vl);
		const char *why = loop_apply(p, trace, false);
		cost[call] = why ? NAN : loop_cost(p);
		prog_free(p);
	}
	ok(cost[1] < 0.6 * cost[0], "transposed %.3g us, gathered %.3g us by the model", 1e6 * cost[1], 1e6 * cost[0]);
}

int main(void)
{
	target = usual();
	refusals();
	names();
	too_much();
	instructions();
	dots();
	functions();
	prefetches();
	padding();
	costs();
	return tap_done();
}
