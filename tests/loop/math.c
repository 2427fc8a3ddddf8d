/* The vector bodies of stage functions against libm in double: the prelude is compiled for every width this machine
 * has, over floats of every exponent, dense around the breaks, and the special values. */
#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/rng.h"
#include "target/x86/x86.h"
#include "emit/emit.h"
#include "loop/math.h"
#include "tap.h"

enum { N = 1 << 18 };
static float in[3][N + 64], out[N];

static float any_float(struct rng *r)
{
	static const float special[] = {
		0.0f,       -0.0f,     1,         -1,         0.5f,   -0.5f,  1.5f,   2.5f,    -2.5f,   INFINITY,        -INFINITY,
		NAN,        0x1p-126f, 0x1p-149f, -0x1p-149f, 88.72f, 88.73f, -87.3f, -103.9f, -104.1f, 0x1.fffffep127f, 0x1p23f,
		8388607.5f, 0x1p31f,   2,         -2,         3,      0.625f, 0.93f,  4,       1e-20f,  0.99999994f,     1.0000001f};
	union {
		uint32_t u;
		float f;
	} x;

	switch (rng_range(r, 0, 9)) {
	case 0: return special[rng_range(r, 0, sizeof special / sizeof *special - 1)];
	case 1: x.u = (uint32_t)rng_u64(r); return x.f;
	case 2: return (float)rng_range(r, -40, 40);
	case 3: return (float)(rng_unit(r) * 200 - 100);
	default: return (float)(rng_unit(r) * 20 - 10);
	}
}

/* Distance in units in the last place of the exact result; inf and NaN must be exact. */
static double ulps(float got, double want)
{
	float w = (float)want;
	int e;

	if (isnan(want) || isnan(got))
		return isnan(want) && isnan(got) ? 0 : INFINITY;
	if (isinf(w) || isinf(got))
		return w == got ? 0 : fabs(want) < 0x1.fffff0p127 ? INFINITY : 1;
	frexp(want, &e);
	return fabs(got - want) / ldexp(1, e - 24 < -149 ? -149 : e - 24);
}

/* One function y = f(a, b, c) over n floats for each row. Masks come out as 1 and 0. */
static void write_source(FILE *f, struct loop_prog *p)
{
	emit_prelude(f, &p, 1, NULL, 0);
	for (enum math_fn fn = 1; fn < FN_COUNT; fn++) {
		const struct math_row *r = math_row(fn);
		if (!r->vector)
			continue;
		bool logic = fn >= FN_AND && fn <= FN_NOT, mask = fn >= FN_EQ && fn <= FN_NOT;
		fprintf(f, "void test_%s(const float *a, const float *b, const float *c, float *y, long n)\n{\n", r->name);
		fprintf(f, "\tfor (long i = 0; i < n; i += VL) {\n\t\tvf x = vload(a + i), z = vload(b + i), w = vload(c + i);\n");
		fprintf(f, "\t\t(void)z; (void)w;\n\t\tvf r = %s", mask ? "vsel(" : "");
		for (const char *s = r->vector; *s; s++) {
			if (*s != '%') {
				fputc(*s, f);
				continue;
			}
			const char *arg = *++s == 'a' ? "x" : *s == 'b' ? "z" : "w";
			bool as_mask = logic || (fn == FN_SELECT && *s == 'a');
			fprintf(f, as_mask ? "vne(%s, vset(0.0f))" : "%s", arg);
		}
		fprintf(f, "%s;\n\t\tvstore(y + i, r);\n\t}\n}\n", mask ? ", vset(1.0f), vset(0.0f))" : "");
	}
}

static void *build(const struct target *t, int number)
{
	struct loop_prog *p = prog_new(t);
	ex_id x = ex_const(p, DT_F32, 1);
	char command[1024], path[64];

	for (enum math_fn fn = 1; fn < FN_COUNT; fn++) /* so that the prelude has every helper */
		if (math_row(fn)->vector)
			ex_call(p, fn, x, x, x);
	FILE *f = fopen("math_fns.c", "w");
	write_source(f, p);
	fclose(f);
	prog_free(p);
	snprintf(path, sizeof path, "./math_fns%d.so", number);
	snprintf(command, sizeof command, "%s %s -Wall -Wno-unused-function -shared -fPIC -o %s math_fns.c -lm", target_compiler(NULL),
		 target_cflags(t), path);
	return system(command) ? NULL : dlopen(path, RTLD_NOW);
}

static void check(void *lib, enum math_fn fn, int width)
{
	const struct math_row *r = math_row(fn);
	char name[40];
	double worst = 0;
	int at = 0;

	snprintf(name, sizeof name, "test_%s", r->name);
	void (*f)(const float *, const float *, const float *, float *, long) =
		(void (*)(const float *, const float *, const float *, float *, long))dlsym(lib, name);
	f(in[0], in[1], in[2], out, N);
	for (int i = 0; i < N; i++) {
		double want = r->eval(in[0][i], in[1][i], in[2][i]), u = ulps(out[i], want);
		if (fn == FN_SIGMOID && want < FLT_MIN && out[i] >= 0 && out[i] < FLT_MIN)
			u = 0; /* below the normal range: anything there */
		if (u > worst) {
			worst = u;
			at = i;
		}
	}
	ok(worst <= r->ulps + 0.5, "%s, %d lanes: %.2f ulps, at most %.1f (%s(%a, %a) = %a)", r->name, width, worst, r->ulps + 0.5, r->name,
	   in[0][at], in[1][at], out[at]);
}

/* Quotients that are normal, near the middle of two integers, or of what an infinite divisor leaves: as the division rounds them. */
static void check_quotients(void *lib, int width)
{
	void (*f)(const float *, const float *, const float *, float *, long) =
		(void (*)(const float *, const float *, const float *, float *, long))dlsym(lib, "test_over");
	struct rng r = {11};
	int wrong = 0, at = 0;

	for (int i = 0; i < N; i++) {
		float y = (float)ldexp(i % 7 ? 1 + rng_unit(&r) : 2 - 0x1p-23, (int)rng_range(&r, -60, 60));
		float x = y * (float)((double)rng_range(&r, -256, 256) + (i % 3 ? 0.5 : rng_unit(&r)));
		for (int64_t k = rng_range(&r, 0, 3); k > 0; k--)
			x = nextafterf(x, i % 2 ? INFINITY : -INFINITY);
		in[0][i] = i % 100 == 99 ? NAN : x;
		in[1][i] = i % 100 == 98 ? INFINITY : y;
		in[2][i] = 1 / in[1][i];
	}
	f(in[0], in[1], in[2], out, N);
	for (int i = 0; i < N; i++)
		if (out[i] != in[0][i] / in[1][i] && !(isnan(out[i]) && isnan(in[0][i]))) {
			wrong++;
			at = i;
		}
	ok(!wrong, "over, %d lanes: the quotient, rounded (%d are not; %a / %a is no %a)", width, wrong, in[0][at], in[1][at], out[at]);
}

int main(void)
{
	struct rng r = {7};
	const struct target *host = target_host();
	int number = 0;

	for (int bytes = 16; bytes <= host->vector_bytes; bytes *= 2) {
		struct target t = *host;
		t.vector_bytes = bytes;
		t.features &= bytes == 64 ? ~0u : bytes == 32 ? X86_FMA | X86_AVX2 : 0;
		void *lib = build(&t, number++);
		if (!ok(lib != NULL, "compiles with %d lanes", bytes / 4))
			continue;
		for (int i = 0; i < N; i++)
			for (int k = 0; k < 3; k++)
				in[k][i] = any_float(&r);
		for (enum math_fn fn = 1; fn < FN_COUNT; fn++)
			if (math_row(fn)->vector && fn != FN_OVER)
				check(lib, fn, bytes / 4);
		check_quotients(lib, bytes / 4);
	}
	return tap_done();
}
