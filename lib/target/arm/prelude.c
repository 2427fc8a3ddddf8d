/* What AArch64 has of its own in the text of kernels and libraries. Instructions are written out: their headers take longer to read than
 * a file of kernels. The suffix of a register is that of NEON or of SVE, whose instructions take a mask (all of it) besides. */
#include "target/arm/arm.h"

static const char stays_text[] = "#define STAYS(x) __asm__(\"\" : \"+w\"(x)) /* in its register, though it could be read again */\n";

/* One instruction on one vector and on two. */
static const char operands_text[] =
	"#ifdef __ARM_FEATURE_SVE\n"
	"#include <arm_sve.h>\n"
	"typedef svfloat32_t svf __attribute__((arm_sve_vector_bits(32 * VL)));\n"
	"typedef svint32_t svi __attribute__((arm_sve_vector_bits(32 * VL)));\n"
	"#define ALL svptrue_b32()\n"
	"#define OP1(name, x) ({ vf r_; __asm__(#name \" %0.s, %1/m, %2.s\" : \"=w\"(r_) : \"Upl\"(ALL), \"w\"(x)); r_; })\n"
	"#define OP2(name, a, b) ({ vf r_ = a; __asm__(#name \" %0.s, %1/m, %0.s, %2.s\" : \"+w\"(r_) : \"Upl\"(ALL), \"w\"(b)); r_; })\n"
	"#else\n"
	"#define OP1(name, x) ({ vf r_; __asm__(#name \" %0.4s, %1.4s\" : \"=w\"(r_) : \"w\"(x)); r_; })\n"
	"#define OP2(name, a, b) ({ vf r_; __asm__(#name \" %0.4s, %1.4s, %2.4s\" : \"=w\"(r_) : \"w\"(a), \"w\"(b)); r_; })\n"
	"#endif\n"
	"static inline void vstore_two(float *p, vf a, vf b)\n"
	"{\n"
	"#if defined __clang__ || defined __ARM_FEATURE_SVE\n"
	"\t*(vfu *)p = a, *(vfu *)(p + VL) = b;\n"
	"#else\n"
	"\t__asm__(\"stp %q2, %q3, %0\" : \"=Ump\"(*(vfu *)p), \"=m\"(*(vfu *)(p + VL)) : \"w\"(a), \"w\"(b));\n"
	"#endif\n"
	"}\n";

static const char edges_text[] =
	"#ifdef __ARM_FEATURE_SVE\n"
	"static inline vf vmax2(vf a, vf b) { return vsel(a > b, a, b); }\n"
	"static inline vf vmin2(vf a, vf b) { return vsel(a < b, a, b); }\n"
	"static inline vf vload_mask(const float *p, vm m) { return (vf)svld1_f32(svcmpne_n_s32(ALL, (svi)m, 0), p); }\n"
	"static inline void vstore_mask(float *p, vf x, vm m) { svst1_f32(svcmpne_n_s32(ALL, (svi)m, 0), p, (svf)x); }\n"
	"#else\n";

/* The instructions hand on NaN. */
static const char extremes_text[] =
	"static inline vf vmax(vf a, vf b) { return OP2(fmax, a, b); }\n"
	"static inline vf vmin(vf a, vf b) { return OP2(fmin, a, b); }\n";

/* A CPU of another vector length computes nonsense from code of this one. */
static const char asks_text[] =
	"#include <sys/auxv.h>\n"
	"#include <sys/prctl.h>\n"
	"#define CPU_HAS_DOTPROD (getauxval(AT_HWCAP) >> 20 & 1)\n"
	"#define CPU_HAS_FP16 (getauxval(AT_HWCAP) >> 10 & 1)\n"
	"#define CPU_HAS_I8MM (getauxval(AT_HWCAP2) >> 13 & 1)\n"
	"#define CPU_HAS_BF16 (getauxval(AT_HWCAP2) >> 14 & 1)\n"
	"#define CPU_HAS_SVE256 ((getauxval(AT_HWCAP) >> 22 & 1) && (prctl(51 /* PR_SVE_GET_VL */) & 0xffff) == 32)\n"
	"#define CPU_HAS_SVE512 ((getauxval(AT_HWCAP) >> 22 & 1) && (prctl(51) & 0xffff) == 64)\n";

/* Bit 24 of FPCR: what is near zero is zero. */
static const char flush_denormals_text[] =
	"\tunsigned long fpcr;\n"
	"\t__asm__ volatile(\"mrs %0, fpcr\" : \"=r\"(fpcr));\n"
	"\t__asm__ volatile(\"msr fpcr, %0\" : : \"r\"(fpcr | 1UL << 24));\n";
static const char flush_no_more_text[] = "\t__asm__ volatile(\"msr fpcr, %0\" : : \"r\"(fpcr));\n";
static const char flush_always_text[] =
	"\tunsigned long fpcr;\n"
	"\t__asm__ volatile(\"mrs %0, fpcr\" : \"=r\"(fpcr));\n"
	"\t__asm__ volatile(\"msr fpcr, %0\" : : \"r\"(fpcr | 1UL << 24));\n";

/* For native functions (lib/native/native.h). */
static const char eight_halves_text[] =
	"typedef __fp16 native_eight __attribute__((vector_size(16), aligned(2), may_alias));\n"
	"typedef float native_eight_floats __attribute__((vector_size(32)));\n"
	"#define NATIVE_EIGHT_HALVES(p) __builtin_convertvector(*(const native_eight *)(p), native_eight_floats)\n";

/* For a process without a C library: how it begins, and its system calls. */
static const char process_text[] =
	"__asm__(\".globl _start\\n_start: mov x29, #0\\n\\tmov x30, #0\\n\\tbl start\\n\");\n"
	"static long call(long number, long a, const void *b, long c)\n"
	"{\n"
	"\tregister long x8 __asm__(\"x8\") = number, x0 __asm__(\"x0\") = a, x2 __asm__(\"x2\") = c;\n"
	"\tregister const void *x1 __asm__(\"x1\") = b;\n"
	"\n"
	"\t__asm__ volatile(\"svc #0\" : \"+r\"(x0) : \"r\"(x8), \"r\"(x1), \"r\"(x2) : \"memory\");\n"
	"\treturn x0;\n"
	"}\n"
	"enum { WRITE = 64, EXIT = 93 };\n";

const struct text_section arm_text[] = {
	{"eight_halves", eight_halves_text},
	{"stays", stays_text},
	{"operands", operands_text},
	{"edges", edges_text, true},
	{"extremes", extremes_text},
	{"floor", "\treturn OP1(frintm, x);\n"},
	{"ceil", "\treturn OP1(frintp, x);\n"},
	{"round", "\treturn OP1(frintn, x);\n"},
	{"sqrt", "\treturn OP1(fsqrt, x);\n"},
	{"asks", asks_text},
	{"flush_denormals", flush_denormals_text},
	{"flush_no_more", flush_no_more_text},
	{"flush_always", flush_always_text},
	{"pause", "\t__asm__ volatile(\"yield\");\n"},
	{"process", process_text},
	{NULL},
};
