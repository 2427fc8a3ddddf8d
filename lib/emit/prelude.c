/* What every file of kernels starts with. Masks (vm) are bit masks on AVX-512, else vectors of 0 and -1. */
#include "emit/emit_impl.h"
#include "target/target.h"
#include <stdlib.h>
#include <string.h>

static const char types_text[] =
	"#define LOADS_STAY __asm__ volatile(\"\" ::: \"memory\") /* none moves across */\n"
	"#if defined __x86_64__\n"
	"#define STAYS(x) __asm__(\"\" : \"+v\"(x)) /* in its register, though it could be read again */\n"
	"#else\n"
	"#define STAYS(x) (void)0\n"
	"#endif\n"
	"#define VL %d /* lanes of a vector of float */\n"
	"#if VL == 8 && defined __GNUC__ && !defined __clang__\n"
	"#define IN_STEP __attribute__((optimize(\"schedule-insns\", \"sched-pressure\"))) /* vectors side by side */\n"
	"#else\n"
	"#define IN_STEP\n"
	"#endif\n"
	"typedef float vf __attribute__((vector_size(4 * VL)));\n"
	"typedef int vi __attribute__((vector_size(4 * VL)));\n"
	"typedef float vh __attribute__((vector_size(2 * VL)));\n"
	"typedef double vd __attribute__((vector_size(4 * VL)));\n"
	"typedef long vl __attribute__((vector_size(4 * VL)));\n"
	"typedef float vfu __attribute__((vector_size(4 * VL), aligned(4), may_alias));\n"
	"#if VL == 16\n"
	"#define VIOTA ((vi){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})\n"
	"#elif VL == 8\n"
	"#define VIOTA ((vi){0, 1, 2, 3, 4, 5, 6, 7})\n"
	"#else\n"
	"#define VIOTA ((vi){0, 1, 2, 3})\n"
	"#endif\n"
	"static inline vf vset(float x) { return x - (vf){}; }\n"
	"static inline vf vload(const float *p) { return *(const vfu *)p; }\n"
	"static inline void vstore(float *p, vf x) { *(vfu *)p = x; }\n"
	"static inline vf vabs(vf x) { return (vf)((vi)x & 0x7fffffff); }\n"
	"static inline vf vsign_of(vf x, vf s) { return (vf)(((vi)x & 0x7fffffff) | ((vi)s & (int)0x80000000)); }\n"
	"/* first + step * lane, as float */\n"
	"static inline vf vindex(long first, long step) { return __builtin_convertvector((int)first + (int)step * VIOTA, vf); }\n";

/* vmax2, vmin2: the second where either is NaN, as the instructions do. vmax, vmin hand on NaN. */
static const char avx512_text[] =
	"#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__\n"
	"#ifdef __clang__ /* its names */\n"
	"#define __builtin_ia32_blendmps_512_mask(b, a, m) __builtin_ia32_selectps_512(m, a, b)\n"
	"#define __builtin_ia32_maxps512_mask(a, b, old, m, r) __builtin_ia32_selectps_512(m, __builtin_ia32_maxps512(a, b, r), old)\n"
	"#define __builtin_ia32_minps512_mask(a, b, old, m, r) __builtin_ia32_selectps_512(m, __builtin_ia32_minps512(a, b, r), old)\n"
	"#define __builtin_ia32_sqrtps512_mask(x, old, m, r) __builtin_ia32_sqrtps512(x, r)\n"
	"#endif\n"
	"typedef unsigned short vm;\n"
	"static inline vm vlanes(long lo, long hi)\n"
	"{\n"
	"\tunsigned below = lo <= 0 ? 0 : lo >= VL ? 0xffff : (1u << lo) - 1;\n"
	"\tunsigned under = hi <= 0 ? 0 : hi >= VL ? 0xffff : (1u << hi) - 1;\n"
	"\treturn (vm)(under & ~below);\n"
	"}\n"
	"static inline vm vmset(int c) { return c ? 0xffff : 0; }\n"
	"static inline int vbit(vm m, int i) { return m >> i & 1; }\n"
	"static inline vf vsel(vm m, vf a, vf b) { return __builtin_ia32_blendmps_512_mask(b, a, m); }\n"
	"static inline vm veq(vf a, vf b) { return __builtin_ia32_cmpps512_mask(a, b, 0, -1, 4); }\n"
	"static inline vm vne(vf a, vf b) { return __builtin_ia32_cmpps512_mask(a, b, 4, -1, 4); }\n"
	"static inline vm vlt(vf a, vf b) { return __builtin_ia32_cmpps512_mask(a, b, 17, -1, 4); }\n"
	"static inline vm vle(vf a, vf b) { return __builtin_ia32_cmpps512_mask(a, b, 18, -1, 4); }\n"
	"static inline vf vmax2(vf a, vf b) { return __builtin_ia32_maxps512_mask(a, b, a, -1, 4); }\n"
	"static inline vf vmin2(vf a, vf b) { return __builtin_ia32_minps512_mask(a, b, a, -1, 4); }\n"
	"static inline vf vmax(vf a, vf b) { return __builtin_ia32_maxps512_mask(a, b, a, veq(a, a), 4); }\n"
	"static inline vf vmin(vf a, vf b) { return __builtin_ia32_minps512_mask(a, b, a, veq(a, a), 4); }\n"
	"static inline vf vldexp(vf x, vf n) { return __builtin_ia32_scalefps512_mask(x, n, x, -1, 4); }\n"
	"static inline vf vload_mask(const float *p, vm m) { return __builtin_ia32_loadups512_mask(p, (vf){}, m); }\n"
	"static inline void vstore_mask(float *p, vf x, vm m) { __builtin_ia32_storeups512_mask(p, x, m); }\n"
	"#else\n";

static const char portable_text[] =
	"typedef vi vm;\n"
	"static inline vm vlanes(long lo, long hi)\n"
	"{\n"
	"\tint a = lo < 0 ? 0 : lo > VL ? VL : (int)lo, b = hi < 0 ? 0 : hi > VL ? VL : (int)hi;\n"
	"\treturn (VIOTA >= a) & (VIOTA < b);\n"
	"}\n"
	"static inline vm vmset(int c) { return (vi){} - !!c; }\n"
	"static inline int vbit(vm m, int i) { return m[i] & 1; }\n"
	"static inline vf vsel(vm m, vf a, vf b) { return (vf)((m & (vi)a) | (~m & (vi)b)); }\n"
	"static inline vm veq(vf a, vf b) { return a == b; }\n"
	"static inline vm vne(vf a, vf b) { return a != b; }\n"
	"static inline vm vlt(vf a, vf b) { return a < b; }\n"
	"static inline vm vle(vf a, vf b) { return a <= b; }\n"
	"#if VL == 8 && defined __AVX2__\n"
	"static inline vf vmax2(vf a, vf b) { return __builtin_ia32_maxps256(a, b); }\n"
	"static inline vf vmin2(vf a, vf b) { return __builtin_ia32_minps256(a, b); }\n"
	"static inline vf vload_mask(const float *p, vm m) { return __builtin_ia32_maskloadps256((const vf *)p, m); }\n"
	"static inline void vstore_mask(float *p, vf x, vm m) { __builtin_ia32_maskstoreps256((vf *)p, m, x); }\n"
	"#else\n"
	"static inline vf vmax2(vf a, vf b) { return vsel(a > b, a, b); }\n"
	"static inline vf vmin2(vf a, vf b) { return vsel(a < b, a, b); }\n"
	"static inline vf vload_mask(const float *p, vm m)\n"
	"{\n"
	"\tvf r = {};\n"
	"\tfor (int i = 0; i < VL; i++)\n"
	"\t\tif (m[i])\n"
	"\t\t\tr[i] = p[i];\n"
	"\treturn r;\n"
	"}\n"
	"static inline void vstore_mask(float *p, vf x, vm m)\n"
	"{\n"
	"\tfor (int i = 0; i < VL; i++)\n"
	"\t\tif (m[i])\n"
	"\t\t\tp[i] = x[i];\n"
	"}\n"
	"#endif\n"
	"static inline vf vmax(vf a, vf b) { return vsel(veq(a, a), vmax2(a, b), a); }\n"
	"static inline vf vmin(vf a, vf b) { return vsel(veq(a, a), vmin2(a, b), a); }\n"
	"static inline vf vldexp(vf x, vf n)\n"
	"{\n"
	"\tvi k = (vi)(n + 12583166.0f), h = k >> 1; /* n + 2 * 127 in the low bits */\n"
	"\treturn x * (vf)(h << 23) * (vf)((k - h) << 23);\n"
	"}\n"
	"#endif\n";

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

/* odd_: the last bit is set if it is not exact, so that what is rounded next is rounded once. */
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

/* Written out: what a loop that is unrolled late makes of it took 1.7 times as long (Winograd's transform of NCHW). */
static void gather(FILE *f, int vl)
{
	fprintf(f, "static inline vf vgather(const float *p, long step)\n{\n\treturn (vf){p[0]");
	for (int i = 1; i < vl; i++)
		fprintf(f, ", p[%d * step]", i);
	fprintf(f, "};\n}\n");
}

/* v, v combined with itself shuffled by half, a quarter, ...: lane 0 has it all. */
static void horizontal(FILE *f, int vl, const char *name, const char *combine)
{
	fprintf(f, "static inline float vh%s(vf x)\n{\n\tvf y;\n", name);
	for (int w = vl / 2; w; w /= 2) {
		fprintf(f, "\ty = __builtin_shufflevector(x, x");
		for (int i = 0; i < vl; i++)
			fprintf(f, ", %d", i ^ w);
		fprintf(f, ");\n\tx = %s;\n", combine);
	}
	fprintf(f, "\treturn x[0];\n}\n");
}

static bool uses_fn(struct loop_prog *const *p, int n, enum math_fn fn)
{
	for (int k = 0; k < n; k++)
		for (size_t i = 1; i < p[k]->exs.n; i++)
			if (p[k]->exs.a[i].kind == EX_CALL && p[k]->exs.a[i].fn == (int)fn)
				return true;
	return false;
}

static bool uses_dtype(struct loop_prog *const *p, int n, enum dtype t)
{
	for (int k = 0; k < n; k++) {
		for (size_t i = 1; i < p[k]->bufs.n; i++)
			if (p[k]->bufs.a[i].dtype == t)
				return true;
		for (size_t i = 1; i < p[k]->exs.n; i++)
			if (p[k]->exs.a[i].dtype == t)
				return true;
	}
	return false;
}

/* What a row's text for scalars calls of libm. All of math.h would take a compiler longer than most kernels. */
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

static void fn_helper(FILE *f, enum math_fn fn, bool *done)
{
	const struct math_row *r = math_row(fn);

	if (done[fn])
		return;
	done[fn] = true;
	declare_libm(f, r);
	if (r->needs)
		fn_helper(f, r->needs, done);
	if (r->helper)
		fputs(r->helper, f);
}

/* A function is a long chain of instructions, and a CPU looks ahead no farther than two or three of them: it had better find
 * those of several vectors in turn. gcc brings them in that order if asked to before it gives out registers, which takes it a tenth more
 * time. Zen 3, kernels of efficientnet_b0 and bert_small with a Swish, Gelu or softmax: 0.83 to 1.00, none slower; others 0.75 to
 * 1.6, global pooling worst. Not measured with 32 registers. */
const char *emit_order(struct loop_prog *p)
{
	for (enum math_fn fn = 1; fn < FN_COUNT; fn++)
		if (math_row(fn)->helper && uses_fn(&p, 1, fn))
			return "IN_STEP ";
	return "";
}

bool emit_checks_indices(struct loop_prog *p)
{
	for (ex_id e = 1; e < p->exs.n; e++)
		if (lex(p, e)->kind == EX_READ && lex(p, e)->dyn_dim >= 0)
			return true;
	return false;
}

static void write_all(FILE *f, struct loop_prog *const *p, int n)
{
	const struct target *t = n && p[0]->target ? p[0]->target : target_host();
	bool done[FN_COUNT] = {0};
	int vl = t->vector_bytes / 4;

	fprintf(f, types_text, vl);
	fputs(avx512_text, f);
	fputs(portable_text, f);
	fputs(common_text, f);
	gather(f, vl);
	horizontal(f, vl, "sum", "x + y");
	horizontal(f, vl, "prod", "x * y");
	horizontal(f, vl, "max", "vmax(x, y)");
	horizontal(f, vl, "min", "vmin(x, y)");
	for (enum dtype d = DT_F32; d < DT_COUNT; d++)
		if (d == DT_F32 || ((dtype_is_float(d) || dtype_is_int(d)) && uses_dtype(p, n, d)))
			number_helpers(f, d);
	if (uses_dtype(p, n, DT_BF16))
		fputs(bf16_text, f);
	if (uses_fn(p, n, FN_POW))
		fputs(power_text, f);
	for (enum math_fn fn = 1; fn < FN_COUNT; fn++)
		if (uses_fn(p, n, fn))
			fn_helper(f, fn, done);
	emit_instr_helpers(f, p, n);
}

void emit_prelude(FILE *f, struct loop_prog *const *p, int n, const char *const *text, size_t ntext)
{
	char *all;
	size_t size;
	FILE *to = open_memstream(&all, &size);

	write_all(to, p, n);
	fclose(to);
	if (text)
		emit_helpers_of(f, all, text, ntext);
	else
		fputs(all, f);
	free(all);
}
