/* What x86 has of its own in the text of kernels and libraries. Most stands in front of the generic text, which a compiler takes
 * where the condition does not hold. Masks (vm) are bit masks on AVX-512. */
#include "target/x86/x86.h"

static const char stays_text[] =
	"#if defined __x86_64__\n"
	"#define STAYS(x) __asm__(\"\" : \"+v\"(x)) /* in its register, though it could be read again */\n"
	"#else\n";

static const char in_step_text[] =
	"#if VL == 8 && defined __GNUC__ && !defined __clang__\n"
	"#define IN_STEP __attribute__((optimize(\"schedule-insns\", \"sched-pressure\"))) /* vectors side by side */\n"
	"#else\n";

static const char masks_text[] =
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

static const char edges_text[] =
	"#if VL == 8 && defined __AVX2__\n"
	"static inline vf vmax2(vf a, vf b) { return __builtin_ia32_maxps256(a, b); }\n"
	"static inline vf vmin2(vf a, vf b) { return __builtin_ia32_minps256(a, b); }\n"
	"static inline vf vload_mask(const float *p, vm m) { return __builtin_ia32_maskloadps256((const vf *)p, m); }\n"
	"static inline void vstore_mask(float *p, vf x, vm m) { __builtin_ia32_maskstoreps256((vf *)p, m, x); }\n"
	"#else\n";

/* One instruction limits r and one multiplies by 2^n, whatever n is: x needs no clamps. */
static const char exp_minus_text[] =
	"#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512DQ__\n"
	"static inline vf vexp_minus(vf x)\n"
	"{\n"
	"\tvf t = 12582912.0f - x * 1.44269504f, n = t - 12582912.0f, r = (-x - n * 0x1.62e4p-1f) - n * 1.42860677e-6f;\n"
	"\tr = __builtin_ia32_rangeps512_mask(r, vset(0.35f), 2, r, -1, 4); /* the lesser, with the sign of r */\n"
	"\tvf p = ((8.31252048e-3f * r + 0.0418901581f) * r + 0.166671147f) * r + 0.499992315f;\n"
	"\treturn vldexp((p * r + 1.0f) * r + 1.0f, n);\n"
	"}\n"
	"#else\n";

/* Two registers are a table of 32 numbers: a polynomial for each eighth of |x|, about its middle. */
static const char erf_text[] =
	"#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__\n"
	"#ifdef __clang__\n"
	"#define ERF(i) __builtin_ia32_vpermi2varps512(*(const vf *)erf_of[i], k, *(const vf *)(erf_of[i] + 16))\n"
	"#else\n"
	"#define ERF(i) __builtin_ia32_vpermt2varps512_mask(k, *(const vf *)erf_of[i], *(const vf *)(erf_of[i] + 16), -1)\n"
	"#endif\n"
	"static const float erf_of[5][32] __attribute__((aligned(64))) = {\n"
	"\t{\n"
	"\t\t0.0f, 0.140316203f, 0.276326388f, 0.404116899f, 0.520499885f, 0.623240888f, 0.711155653f, 0.784075081f,\n"
	"\t\t0.842700779f, 0.888388216f, 0.92290014f, 0.948170066f, 0.966105163f, 0.978443742f, 0.986671686f, 0.99199003f,\n"
	"\t\t0.995322287f, 0.997345984f, 0.998537302f, 0.999217033f, 0.999593019f, 0.999794602f, 0.999899387f, 0.999952137f,\n"
	"\t\t0.999977887f, 0.999990106f, 0.999995708f, 0.999998212f, 0.999999285f, 0.999999702f, 0.999999881f, 1.0f,\n"
	"\t},\n"
	"\t{\n"
	"\t\t1.12837911f, 1.11088479f, 1.06001377f, 0.980352581f, 0.87878257f, 0.763499677f, 0.642931342f, 0.524745345f,\n"
	"\t\t0.415107816f, 0.31827426f, 0.236521348f, 0.170359924f, 0.118930362f, 0.0804722682f, 0.0527749658f, 0.0335457735f,\n"
	"\t\t0.0206669234f, 0.0123407608f, 0.00714226812f, 0.00400643796f, 0.002178255f, 0.00114785496f, 0.000586264068f, 0.000290220109f,\n"
	"\t\t0.000139248194f, 6.47559282e-05f, 2.9187524e-05f, 1.27509575e-05f, 5.39903385e-06f, 2.21573077e-06f, 8.81344192e-07f, 3.39783043e-07f,\n"
	"\t},\n"
	"\t{\n"
	"\t\t6.86481962e-06f, -0.138853624f, -0.265000641f, -0.367630839f, -0.43939057f, -0.477186948f, -0.482198328f, -0.459152132f,\n"
	"\t\t-0.415107816f, -0.358058572f, -0.295651764f, -0.234245002f, -0.178395689f, -0.130767599f, -0.092356354f, -0.0628984794f,\n"
	"\t\t-0.0413339734f, -0.0262242202f, -0.0160701815f, -0.00951534603f, -0.00544567592f, -0.00301314425f, -0.00161224185f, -0.000834392151f,\n"
	"\t\t-0.00041774998f, -0.000202365263f, -9.48610614e-05f, -4.30353066e-05f, -1.88970262e-05f, -8.03221974e-06f, -3.3051308e-06f, -1.31669913e-06f,\n"
	"\t},\n"
	"\t{\n"
	"\t\t-0.376675934f, -0.358222485f, -0.308781534f, -0.23465471f, -0.146428347f, -0.0558054522f, 0.0265291277f, 0.0925957039f,\n"
	"\t\t0.138031602f, 0.16215305f, 0.16730547f, 0.157788232f, 0.13867934f, 0.114830151f, 0.0901894942f, 0.0674969628f,\n"
	"\t\t0.0482868105f, 0.0330983847f, 0.021776583f, 0.0137713458f, 0.00837997161f, 0.00491103623f, 0.00277385837f, 0.00151091255f,\n"
	"\t\t0.000794072286f, 0.000402842445f, 0.000197345391f, 9.33847114e-05f, 4.26976476e-05f, 1.88677059e-05f, 8.05964555e-06f, 3.32873242e-06f,\n"
	"\t},\n"
	"\t{\n"
	"\t\t0.0140812118f, 0.0668230131f, 0.126093388f, 0.166023433f, 0.182714954f, 0.176242918f, 0.150597319f, 0.112413511f,\n"
	"\t\t0.0692825764f, 0.0281222854f, -0.00599030498f, -0.0303384829f, -0.0444632433f, -0.0496204719f, -0.048041638f, -0.0422325321f,\n"
	"\t\t-0.0344423167f, -0.0263735354f, -0.019103352f, -0.0131545458f, -0.00864152238f, -0.0054296609f, -0.00326944911f, -0.00188955921f,\n"
	"\t\t-0.00104944804f, -0.000560669927f, -0.000288373645f, -0.000142890785f, -6.82505779e-05f, -3.14395111e-05f, -1.39733856e-05f, -5.99445639e-06f,\n"
	"\t},\n"
	"};\n"
	"static inline vf verf(vf x)\n"
	"{\n"
	"\tvf t = vmin2(vset(3.9374998f), vabs(x)), n = t * 8.0f + 12582912.0f;\n"
	"\tvf d = t - (n - 12582912.0f) * 0.125f;\n"
	"\tvi k = (vi)n;\n"
	"\treturn vsign_of((((ERF(4) * d + ERF(3)) * d + ERF(2)) * d + ERF(1)) * d + ERF(0), x);\n"
	"}\n"
	"#else\n";

static const char floor_text[] =
	"#if VL == 16 && defined __AVX512F__\n"
	"\treturn __builtin_ia32_rndscaleps_mask(x, 9, x, -1, 4);\n"
	"#else\n";

static const char ceil_text[] =
	"#if VL == 16 && defined __AVX512F__\n"
	"\treturn __builtin_ia32_rndscaleps_mask(x, 10, x, -1, 4);\n"
	"#else\n";

static const char round_text[] =
	"#if VL == 16 && defined __AVX512F__\n"
	"\treturn __builtin_ia32_rndscaleps_mask(x, 8, x, -1, 4);\n"
	"#elif VL == 8 && defined __AVX__\n"
	"\treturn __builtin_ia32_roundps256(x, 8);\n"
	"#else\n";

static const char sqrt_text[] =
	"#if VL == 16 && defined __AVX512F__\n"
	"\treturn __builtin_ia32_sqrtps512_mask(x, x, -1, 4);\n"
	"#elif VL == 8 && defined __AVX__\n"
	"\treturn __builtin_ia32_sqrtps256(x);\n"
	"#else\n";

/* Of an infinite y, z is 0, and so is what is left of x. */
static const char over_text[] =
	"#if VL == 16 && defined __AVX512F__\n"
	"#define FUSED(a, b, c) __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4)\n"
	"#elif VL == 8 && defined __FMA__\n"
	"#define FUSED(a, b, c) __builtin_ia32_vfmaddps256(a, b, c)\n"
	"#endif\n"
	"#ifdef FUSED\n"
	"\tconst vf q = x * z;\n"
	"\treturn FUSED(FUSED(-q, vsel(veq(z, vset(0.0f)), z, y), x), z, q);\n"
	"#else\n";

/* Of a library: results near zero cost hundreds of cycles each where they are not flushed. */
static const char flush_denormals_text[] =
	"#ifdef __SSE__\n"
	"\tunsigned csr = __builtin_ia32_stmxcsr();\n"
	"\t__builtin_ia32_ldmxcsr(csr | 0x8040);\n"
	"#endif\n";

static const char flush_no_more_text[] =
	"#ifdef __SSE__\n"
	"\t__builtin_ia32_ldmxcsr(csr);\n"
	"#endif\n";

static const char flush_always_text[] =
	"#ifdef __SSE__\n"
	"\t__builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);\n"
	"#endif\n";

/* For native functions (lib/native/native.h). */
static const char eight_halves_text[] =
	"#ifdef __F16C__\n"
	"typedef short native_eight __attribute__((vector_size(16), aligned(2), may_alias));\n"
	"#define NATIVE_EIGHT_HALVES(p) __builtin_ia32_vcvtph2ps256(*(const native_eight *)(p))\n"
	"#endif\n"
	"#if defined __AVX2__ && !defined __clang__\n"
	"typedef long long native_eight_word __attribute__((aligned(1), may_alias));\n"
	"typedef long long native_eight_words __attribute__((vector_size(16)));\n"
	"typedef char native_eight_bytes __attribute__((vector_size(16)));\n"
	"#define NATIVE_EIGHT_CODES(p) \\\n"
	"\t__builtin_ia32_pmovsxbd256((native_eight_bytes)(native_eight_words){*(const native_eight_word *)(p)})\n"
	"#endif\n";

static const char pause_text[] =
	"#ifdef __SSE__\n"
	"\t__builtin_ia32_pause();\n"
	"#endif\n";

/* For a process without a C library: how it begins, and its system calls. */
static const char process_text[] =
	"__asm__(\".globl _start\\n_start: xor %ebp, %ebp\\n\\tand $-64, %rsp\\n\\tcall start\\n\");\n"
	"static long call(long number, long a, const void *b, long c)\n"
	"{\n"
	"\tlong result;\n"
	"\n"
	"\t__asm__ volatile(\"syscall\" : \"=a\"(result) : \"a\"(number), \"D\"(a), \"S\"(b), \"d\"(c) : \"rcx\", \"r11\", \"memory\");\n"
	"\treturn result;\n"
	"}\n"
	"enum { WRITE = 1, EXIT = 60 };\n";

const struct text_section x86_text[] = {
	{"eight_halves", eight_halves_text},
	{"stays", stays_text, true},
	{"in_step", in_step_text, true},
	{"masks", masks_text, true},
	{"edges", edges_text, true},
	{"exp_minus", exp_minus_text, true},
	{"erf", erf_text, true},
	{"floor", floor_text, true},
	{"ceil", ceil_text, true},
	{"round", round_text, true},
	{"sqrt", sqrt_text, true},
	{"over", over_text, true},
	{"flush_denormals", flush_denormals_text, false},
	{"flush_no_more", flush_no_more_text, false},
	{"flush_always", flush_always_text, false},
	{"pause", pause_text, false},
	{"process", process_text, false},
	{NULL},
};
