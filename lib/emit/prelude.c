/* What every file of kernels starts with: the target's vectors, and what is made of them. */
#include "common/textfile.h"
#include "emit/emit_impl.h"
#include "target/backend.h"
#include <stdlib.h>
#include <string.h>

static const char common_text[] =
	"static inline vf vgather_mask(const float *p, long step, vm m)\n"
	"{\n"
	"\tvf r = {};\n"
	"\tfor (int i = 0; i < VL; i++)\n"
	"\t\tif (vbit(m, i))\n"
	"\t\t\tr[i] = p[i * step];\n"
	"\treturn r;\n"
	"}\n"
	"static inline void vscatter(float *p, long step, vf x, vm m)\n"
	"{\n"
	"\tfor (int i = 0; i < VL; i++)\n"
	"\t\tif (vbit(m, i))\n"
	"\t\t\tp[i * step] = x[i];\n"
	"}\n"
	"/* An index that is data: negative counts from the end; never outside. */\n"
	"#ifndef BAD_INDEX\n"
	"static __thread int bad_index;\n"
	"#define BAD_INDEX bad_index\n"
	"#endif\n"
	"static inline long at(long i, long n)\n"
	"{\n"
	"\ti += i < 0 ? n : 0;\n"
	"\tif (__builtin_expect((unsigned long)i < (unsigned long)n, 1))\n"
	"\t\treturn i;\n"
	"\tBAD_INDEX = 1;\n"
	"\treturn i < 0 ? 0 : n - 1;\n"
	"}\n"
	"static inline long floordiv(long a, long c) { return a < 0 ? -((c - 1 - a) / c) : a / c; }\n"
	"static inline long lmin(long a, long b) { return a < b ? a : b; }\n"
	"static inline long lmax(long a, long b) { return a > b ? a : b; }\n";

/* Scalar functions of one element type. */
static const char number_text[] =
	"static inline %1$s max_%2$s(%1$s a, %1$s b) { return a > b || a != a ? a : b; }\n"
	"static inline %1$s min_%2$s(%1$s a, %1$s b) { return a < b || a != a ? a : b; }\n"
	"static inline %1$s max2_%2$s(%1$s a, %1$s b) { return a > b ? a : b; }\n"
	"static inline %1$s min2_%2$s(%1$s a, %1$s b) { return a < b ? a : b; }\n"
	"static inline %1$s abs_%2$s(%1$s a) { return %3$s; }\n"
	"static inline %1$s sign_%2$s(%1$s a) { return a != a ? a : (%1$s)((a > 0) - (a < 0)); }\n"
	"static inline %1$s div_%2$s(%1$s a, %1$s b) { return %4$s; }\n"
	"static inline %1$s mod_%2$s(%1$s a, %1$s b)\n"
	"{\n"
	"%5$s"
	"}\n";

/* The nearest integer; what is out of range is the lowest or the highest, NaN 0. */
static const char whole_text[] =
	"static inline %1$s whole_%2$s(double v) { return v != v ? 0 : v <= %3$s ? (%1$s)%3$s : v >= %4$s ? (%1$s)%5$s : (%1$s)v; }\n";

/* odd_: the last bit is set if the number is not exact, so that a second rounding gives what one rounding would. */
static const char bf16_text[] =
	"static inline float bf16_get(unsigned short h) { union { unsigned u; float f; } x = {(unsigned)h << 16}; return x.f; }\n"
	"static inline unsigned short bf16_put(float f)\n"
	"{\n"
	"\tunion { float f; unsigned u; } x = {f};\n"
	"\treturn f != f ? 0x7fc0 : (unsigned short)((x.u + 0x7fff + (x.u >> 16 & 1)) >> 16);\n"
	"}\n"
	"static inline float odd_f64(double d)\n"
	"{\n"
	"\tunion { float f; unsigned u; } x = {(float)d};\n"
	"\tif ((double)x.f == d || d != d)\n"
	"\t\treturn x.f;\n"
	"\tx.u = (x.u - (__builtin_fabs((double)x.f) > __builtin_fabs(d))) | 1;\n"
	"\treturn x.f;\n"
	"}\n"
	"static inline double odd_i64(long v) { return (double)(v >> 53 && ~v >> 53 ? (v & ~2047L) | ((v & 2047) != 0) << 10 : v); }\n"
	"static inline double odd_u64(unsigned long v) { return (double)(v >> 53 ? (v & ~4095UL) | ((v & 4095) != 0) << 11 : v); }\n";

/* Squaring and multiplying; wraps. */
static const char power_text[] =
	"static inline long pow_i64(long a, long b)\n"
	"{\n"
	"\tlong r = 1;\n"
	"\tif (b < 0)\n"
	"\t\treturn a == 1 ? 1 : a == -1 ? b & 1 ? -1 : 1 : 0;\n"
	"\tfor (; b; b >>= 1, a *= a)\n"
	"\t\tr *= b & 1 ? a : 1;\n"
	"\treturn r;\n"
	"}\n";

static void number_helpers(FILE *f, enum dtype t)
{
	bool real = dtype_is_float(t), is_signed = dtype_is_signed(t);
	const char *abs = t == DT_F64 ? "__builtin_fabs(a)" : real ? "__builtin_fabsf(a)" : is_signed ? "a < 0 ? -a : a" : "a";
	const char *div = real ? "a / b" : is_signed ? "!b ? 0 : b == -1 ? -a : a / b" : "b ? a / b : 0";
	const char *mod = t == DT_F64 ? "\treturn __builtin_fmod(a, b);\n"
			  : real      ? "\treturn __builtin_fmodf(a, b);\n"
			  : is_signed ? "\tif (!b || b == -1)\n\t\treturn 0;\n\ta %= b;\n\treturn a && (a < 0) != (b < 0) ? a + b : a;\n"
				      : "\treturn b ? a % b : 0;\n";
	fprintf(f, number_text, vtype(t), dtype_name(t), abs, div, mod);
	if (real)
		return;
	int bits = 8 * (int)dtype_size(t) - is_signed;
	char low[32] = "0", end[32], highest[32];
	if (is_signed)
		snprintf(low, sizeof low, "-0x1p%d", bits);
	snprintf(end, sizeof end, "0x1p%d", bits);
	snprintf(highest, sizeof highest, "%luUL", (unsigned long)(UINT64_MAX >> (64 - bits)));
	fprintf(f, whole_text, vtype(t), dtype_name(t), low, end, highest);
}

static bool uses_fn(struct loop_prog *const *p, int n, enum math_fn fn)
{
	for (int k = 0; k < n; k++)
		for (size_t i = 1; i < p[k]->exs.n; i++)
			if (p[k]->exs.a[i].kind == EX_CALL && p[k]->exs.a[i].fn == (int)fn)
				return true;
	return false;
}

/* Declares the functions of libm that a row's scalar text calls. To include math.h would cost the compiler more time than most kernels. */
static void declare_libm(FILE *f, const struct math_row *r)
{
	const char *end = strstr(r->scalar, "%f("), *name = end;

	if (!end)
		return;
	while (name > r->scalar && name[-1] >= 'a' && name[-1] <= 'z')
		name--;
	int n = (int)(end - name);
	fprintf(f,
		r->arity == 1 ? "float %.*sf(float);\ndouble %.*s(double);\n"
			      : "float %.*sf(float, float);\ndouble %.*s(double, double);\n",
		n, name, n, name);
}

static void fn_helper(FILE *f, const struct target *t, enum math_fn fn, bool *done)
{
	const struct math_row *r = math_row(fn);

	if (done[fn])
		return;
	done[fn] = true;
	declare_libm(f, r);
	if (r->needs)
		fn_helper(f, t, r->needs, done);
	if (r->helper)
		target_text(f, t, r->helper);
}

/* A function such as exp is a long chain of dependent instructions, longer than a CPU looks ahead. Interleaving the chains of several
 * vectors helps; gcc does that if it schedules instructions before it allocates registers. Other kernels may lose by it. */
static bool calls_function(struct loop_prog *p, bool inexact)
{
	for (enum math_fn fn = 1; fn < FN_COUNT; fn++)
		if (math_row(fn)->helper && (!inexact || math_row(fn)->ulps > 1) && uses_fn(&p, 1, fn))
			return true;
	return false;
}

const char *emit_order(struct loop_prog *p)
{
	const char *sums = emit_adds_by_call(p) ? "SUMS_STAY " : "";

	if (emit_makes_codes(p)) /* if there are several such attributes, GCC takes only the last */
		sums = *sums ? "SUMS_AS_WRITTEN " : "AS_WRITTEN ";
	return calls_function(p, false) ? arena_printf(&p->arena, "IN_STEP %s", sums) : sums;
}

static bool casts(struct loop_prog *p, bool (*f)(enum dtype to, enum dtype from))
{
	for (ex_id e = 1; e < p->exs.n; e++)
		if (lex(p, e)->kind == EX_CAST && f(lex(p, e)->dtype, lex(p, lex(p, e)->a[0])->dtype))
			return true;
	return false;
}

static bool to_code(enum dtype to, enum dtype from) { return dtype_is_int(to) && dtype_size(to) == 1 && dtype_is_float(from); }

static bool to_number(enum dtype to, enum dtype from) { return to == DT_F32 && from == DT_I32; }

/* Sums of integers, also those that f32 has exactly. */
static bool sums_integers(struct loop_prog *p)
{
	for (stage_id s = 1; s < p->stages.n; s++) {
		const struct stage *t = lstage(p, s);
		if (!t->gone && t->comb == COMB_SUM && (t->exact || lbuf(p, t->out)->dtype == DT_I32))
			return true;
	}
	return false;
}

/* Sums of products of floats. */
static bool sums_real_products(struct loop_prog *p)
{
	for (stage_id s = 1; s < p->stages.n; s++) {
		const struct stage *t = lstage(p, s);
		const struct ex *body = t->gone || !t->body ? NULL : lex(p, t->body);
		if (body && t->comb == COMB_SUM && !t->exact && dtype_is_float(lbuf(p, t->out)->dtype) && body->kind == EX_CALL &&
		    body->fn == FN_MUL)
			return true;
	}
	return false;
}

bool emit_makes_codes(struct loop_prog *p)
{
	if (calls_function(p, true))
		return false;
	return sums_integers(p) ? casts(p, to_code) || casts(p, to_number) : casts(p, to_code) && !sums_real_products(p);
}

/* Fused multiply-adds would change some codes on CPUs that have them, and not on others. */
static const char as_written[] =
	"#ifdef __clang__\n"
	"#define AS_WRITTEN\n"
	"#define SUMS_AS_WRITTEN\n"
	"#define EACH_ROUNDED _Pragma(\"clang fp contract(off)\")\n"
	"#else\n"
	"#define AS_WRITTEN __attribute__((optimize(\"fp-contract=off\")))\n"
	"#define SUMS_AS_WRITTEN __attribute__((optimize(\"fp-contract=off\", \"cse-follow-jumps\", \"rerun-cse-after-loop\")))\n"
	"#define EACH_ROUNDED\n"
	"#endif\n";

static bool any_makes_codes(struct loop_prog *const *p, int n)
{
	for (int i = 0; i < n; i++)
		if (emit_makes_codes(p[i]))
			return true;
	return false;
}

bool emit_checks_indices(struct loop_prog *p)
{
	for (ex_id e = 1; e < p->exs.n; e++)
		if (lex(p, e)->kind == EX_READ && lex(p, e)->dyn_dim >= 0 && !emit_looks_up(p, e))
			return true;
	return false;
}

static void write_all(FILE *f, struct loop_prog *const *p, int n)
{
	const struct target *t = n && p[0]->target ? p[0]->target : target_host();
	bool done[FN_COUNT] = {0};

	target_prelude(f, t);
	fputs(common_text, f);
	if (uses_dtype(p, n, DT_BF16))
		fputs(bf16_text, f);
	lanes_helpers(f, t, p, n);
	for (enum dtype d = DT_F32; d < DT_COUNT; d++)
		if (d == DT_F32 || ((dtype_is_float(d) || dtype_is_int(d)) && uses_dtype(p, n, d)) ||
		    (d == DT_U8 && uses_dtype(p, n, DT_BOOL)))
			number_helpers(f, d);
	if (uses_fn(p, n, FN_POW))
		fputs(power_text, f);
	for (enum math_fn fn = 1; fn < FN_COUNT; fn++)
		if (uses_fn(p, n, fn))
			fn_helper(f, t, fn, done);
	if (any_makes_codes(p, n))
		fputs(as_written, f);
	emit_instr_helpers(f, p, n);
}

void emit_prelude(FILE *f, struct loop_prog *const *p, int n, const char *const *text, size_t ntext)
{
	char *all;
	FILE *to = textfile_open(&all, NULL);

	write_all(to, p, n);
	textfile_close(to);
	if (text)
		emit_helpers_of(f, all, text, ntext);
	else
		fputs(all, f);
	free(all);
}
