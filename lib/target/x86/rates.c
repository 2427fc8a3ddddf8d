/* What instructions do in a second: nothing but independent ones of a kind, in registers. */
#include "target/rate.h"
#include "target/x86/x86.h"

enum { SUMS = 12, UNROLL = 4 };

#ifdef __x86_64__
/* Sums in 12 registers cover a latency of 5 on 2 ports; 0 and 1 are the operands.
 * Intrinsics would need headers and flags for the whole file: instructions are written out. */
#define ALL(OP, r) OP(r, 2) OP(r, 3) OP(r, 4) OP(r, 5) OP(r, 6) OP(r, 7) OP(r, 8) OP(r, 9) OP(r, 10) OP(r, 11) OP(r, 12) OP(r, 13)
#define CLOBBERS \
	"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
#define STEPS(name, OP, r) \
	static void name(long n) \
	{ \
		__asm__ volatile( \
			"vzeroall\n\t" /* denormals in them would cost */ \
			"1:\n\t" ALL(OP, r) ALL(OP, r) ALL(OP, r) ALL(OP, r) "dec %0\n\tjnz 1b\n\tvzeroupper" \
			: "+r"(n) \
			: \
			: "cc", CLOBBERS); \
	}
#define ONE(ins, r, i)   ins " %%" r "0, %%" r "1, %%" r #i "\n\t"
#define FMA(r, i)        ONE("vfmadd231ps", r, i)
#define DPBUSD(r, i)     ONE("%{evex%} vpdpbusd", r, i)
#define DPBUSD_VEX(r, i) ONE("%{vex%} vpdpbusd", r, i)
#define FMA_PH(r, i)     ONE("vfmadd231ph", r, i)
#define DPBF16(r, i)     ONE("vdpbf16ps", r, i)

/* Six products, then their sums: one after the other the additions take the ports of multiplications. */
#define SIX(OP, r)      OP(r, 2, 8) OP(r, 3, 9) OP(r, 4, 10) OP(r, 5, 11) OP(r, 6, 12) OP(r, 7, 13)
#define MADDWD(r, i, t) "vpmaddwd %%" r "0, %%" r "1, %%" r #t "\n\t"
#define ADDD(r, i, t)   "vpaddd %%" r #t ", %%" r #i ", %%" r #i "\n\t"
#define TWICE(x)        x x
#define MADDWD_STEPS(name, r) \
	static void name(long n) \
	{ \
		__asm__ volatile( \
			"vzeroall\n\t" \
			"1:\n\t" TWICE(TWICE(TWICE(SIX(MADDWD, r) SIX(ADDD, r)))) "dec %0\n\tjnz 1b\n\tvzeroupper" \
			: "+r"(n) \
			: \
			: "cc", CLOBBERS); \
	}

STEPS(fma128, FMA, "xmm")
STEPS(fma256, FMA, "ymm")
STEPS(fma512, FMA, "zmm")
STEPS(dpbusd512, DPBUSD, "zmm")
STEPS(dpbusd256, DPBUSD, "ymm")
STEPS(dpbusd_vex, DPBUSD_VEX, "ymm")
MADDWD_STEPS(maddwd512, "zmm")
MADDWD_STEPS(maddwd256, "ymm")
MADDWD_STEPS(maddwd128, "xmm")
STEPS(fma_ph, FMA_PH, "zmm")
STEPS(dpbf16, DPBF16, "zmm")

#define LOOP(name) name

#define LOADS(r, size) \
	"1:\n\t" \
	"vmovups (%0), %%" r "0\n\tvmovups " #size "(%0), %%" r "1\n\tvmovups 2*" #size "(%0), %%" r "2\n\tvmovups 3*" #size "(%0), %%" r \
	"3\n\t" \
	"add $4*" #size ", %0\n\tcmp %1, %0\n\tjb 1b\n\tvzeroupper"
#define READ(r, size) __asm__ volatile(LOADS(r, size) : "+r"(p) : "r"(end) : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3")

void x86_read(const void *p, size_t n)
{
	const char *end = (const char *)p + n;
	unsigned have = target_host()->features;

	if (have & X86_AVX512)
		READ("zmm", 64);
	else if (have & X86_AVX2)
		READ("ymm", 32);
	else
		for (const volatile uint64_t *w = p; (const char *)w < end; w++)
			(void)*w;
}
#else /* another machine, which only reads what rows say */
#define LOOP(name) NULL
void x86_read(const void *p, size_t n) {}
#endif

/* Products that one instruction adds, twice: bytes of the vector a byte of what is multiplied. */
#define OPS(bytes, of) (2.0 * SUMS * UNROLL * (bytes) / (of))
const struct rate x86_rates[] = {
	{"fma128", X86_FMA, OPS(16, 4), LOOP(fma128)},          {"fma256", X86_FMA, OPS(32, 4), LOOP(fma256)},
	{"fma512", X86_AVX512, OPS(64, 4), LOOP(fma512)},       {"vpdpbusd", X86_VNNI, OPS(64, 1), LOOP(dpbusd512)},
	{"vpdpbusd256", X86_VNNI, OPS(32, 1), LOOP(dpbusd256)}, {"vpdpbusd_vex", X86_AVXVNNI, OPS(32, 1), LOOP(dpbusd_vex)},
	{"vpmaddwd", X86_AVX512, OPS(64, 2), LOOP(maddwd512)},  {"vpmaddwd256", X86_AVX2, OPS(32, 2), LOOP(maddwd256)},
	{"pmaddwd", X86_AVX2, OPS(16, 2), LOOP(maddwd128)},     {"vfmaddph", X86_FP16, OPS(64, 2), LOOP(fma_ph)},
	{"vdpbf16ps", X86_BF16, OPS(64, 2), LOOP(dpbf16)},      {NULL},
};
