/* The peak: nothing but independent fused multiply-adds in registers. */
#include "target/x86/x86.h"

#ifdef __x86_64__
/* 12 accumulators cover a latency of 4 or 5 on 2 ports; they, a and b are all registers. Intrinsics would need
 * a header and flags for the whole file: the instruction is written out. */
#define CHAIN(reg) \
	"vfmadd231ps %%" reg "0, %%" reg "1, %%" reg "2\n\tvfmadd231ps %%" reg "0, %%" reg "1, %%" reg \
	"3\n\t" \
	"vfmadd231ps %%" reg "0, %%" reg "1, %%" reg "4\n\tvfmadd231ps %%" reg "0, %%" reg "1, %%" reg \
	"5\n\t" \
	"vfmadd231ps %%" reg "0, %%" reg "1, %%" reg "6\n\tvfmadd231ps %%" reg "0, %%" reg "1, %%" reg \
	"7\n\t" \
	"vfmadd231ps %%" reg "0, %%" reg "1, %%" reg "8\n\tvfmadd231ps %%" reg "0, %%" reg "1, %%" reg \
	"9\n\t" \
	"vfmadd231ps %%" reg "0, %%" reg "1, %%" reg "10\n\tvfmadd231ps %%" reg "0, %%" reg "1, %%" reg \
	"11\n\t" \
	"vfmadd231ps %%" reg "0, %%" reg "1, %%" reg "12\n\tvfmadd231ps %%" reg "0, %%" reg "1, %%" reg "13\n\t"
#define CLOBBERS "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13"
enum { CHAINS = 12, UNROLL = 4 };

#define LOOP(reg) \
	__asm__ volatile( \
		"vzeroall\n\t" /* denormals in them would cost */ \
		"1:\n\t" CHAIN(reg) CHAIN(reg) CHAIN(reg) CHAIN(reg) "dec %0\n\tjnz 1b\n\tvzeroupper" \
		: "+r"(n) \
		: \
		: "cc", CLOBBERS)

static void fma_loop(int vector_bytes, long n)
{
	if (vector_bytes == 64)
		LOOP("zmm");
	else if (vector_bytes == 32)
		LOOP("ymm");
	else
		LOOP("xmm");
}

static bool fma_there(int vector_bytes)
{
	__builtin_cpu_init();
	return vector_bytes == 64 ? __builtin_cpu_supports("avx512f") : __builtin_cpu_supports("fma");
}

double x86_multiply_adds(int vector_bytes, long n)
{
	if (!fma_there(vector_bytes))
		return 0;
	fma_loop(vector_bytes, n);
	return (double)n * UNROLL * CHAINS * 2 * vector_bytes / 4;
}
#else
double x86_multiply_adds(int vector_bytes, long n) { return 0; }
#endif
