/* Rates: how many instructions of a kind run in a second. They are independent and work in registers; additions that wait for each other count the
 * clock. */
#include "target/rate.h"
#include "target/arm/arm.h"

enum { SUMS = 16, UNROLL = 4 };

#ifdef __aarch64__
/* Sums in 16 registers cover a latency of 4 on 4 ports; v0 and v1 are the operands. The assembler is told of what the file's flags lack. */
#define ALL(OP)  OP(2) OP(3) OP(4) OP(5) OP(6) OP(7) OP(16) OP(17) OP(18) OP(19) OP(20) OP(21) OP(22) OP(23) OP(24) OP(25)
#define CLOBBERS "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25"

#define STEPS(name, extension, zero, OP) \
	static void name(long n) \
	{ \
		__asm__ volatile(".arch armv8.2-a" extension "\n\t" zero "1:\n\t" ALL(OP) ALL(OP) ALL(OP) \
					 ALL(OP) "subs %0, %0, #1\n\tb.ne 1b" \
				 : "+r"(n) \
				 : \
				 : "cc", CLOBBERS); \
	}
#define NEON_ZERO             "movi v0.4s, #0\n\tmovi v1.4s, #0\n"
#define SVE_ZERO              "ptrue p0.b\n\tmov z0.s, #0\n\tmov z1.s, #0\n"
#define NEON(ins, i, sum, of) ins " v" #i "." sum ", v0." of ", v1." of "\n\t"
#define FMLA(i)               NEON("fmla", i, "4s", "4s")
#define FMLA_HALF(i)          NEON("fmla", i, "8h", "8h")
#define SDOT(i)               NEON("sdot", i, "4s", "16b")
#define USDOT(i)              NEON("usdot", i, "4s", "16b")
#define BFDOT(i)              NEON("bfdot", i, "4s", "8h")
#define SMLAL(i)              NEON("smlal", i, "4s", "4h")
#define USMMLA(i)             NEON("usmmla", i, "4s", "16b")
#define SMMLA(i)              NEON("smmla", i, "4s", "16b")
#define BFMMLA(i)             NEON("bfmmla", i, "4s", "8h")
/* The vector's length is the machine's. */
#define SVE_FMLA(i)   "fmla z" #i ".s, p0/m, z0.s, z1.s\n\t"
#define SVE_SDOT(i)   "sdot z" #i ".s, z0.b, z1.b\n\t"
#define SVE_USDOT(i)  "usdot z" #i ".s, z0.b, z1.b\n\t"
#define SVE_BFDOT(i)  "bfdot z" #i ".s, z0.h, z1.h\n\t"
#define SVE_USMMLA(i) "usmmla z" #i ".s, z0.b, z1.b\n\t"
#define SVE_SMMLA(i)  "smmla z" #i ".s, z0.b, z1.b\n\t"
#define SVE_BFMMLA(i) "bfmmla z" #i ".s, z0.h, z1.h\n\t"

STEPS(fmla, "", NEON_ZERO, FMLA)
STEPS(fmla_half, "+fp16", NEON_ZERO, FMLA_HALF)
STEPS(sdot, "+dotprod", NEON_ZERO, SDOT)
STEPS(usdot, "+i8mm", NEON_ZERO, USDOT)
STEPS(bfdot, "+bf16", NEON_ZERO, BFDOT)
STEPS(smlal, "", NEON_ZERO, SMLAL)
STEPS(usmmla, "+i8mm", NEON_ZERO, USMMLA)
STEPS(smmla, "+i8mm", NEON_ZERO, SMMLA)
STEPS(bfmmla, "+bf16", NEON_ZERO, BFMMLA)
STEPS(sve_fmla, "+sve", SVE_ZERO, SVE_FMLA)
STEPS(sve_sdot, "+sve", SVE_ZERO, SVE_SDOT)
STEPS(sve_usdot, "+sve+i8mm", SVE_ZERO, SVE_USDOT)
STEPS(sve_bfdot, "+sve+bf16", SVE_ZERO, SVE_BFDOT)
STEPS(sve_usmmla, "+sve+i8mm", SVE_ZERO, SVE_USMMLA)
STEPS(sve_smmla, "+sve+i8mm", SVE_ZERO, SVE_SMMLA)
STEPS(sve_bfmmla, "+sve+bf16", SVE_ZERO, SVE_BFMMLA)

/* Each addition waits for the one before: one a cycle. */
static void clock_steps(long n)
{
	long x = 0;

	__asm__ volatile("1:\n\t.rept 64\n\tadd %1, %1, #1\n\t.endr\n\tsubs %0, %0, #1\n\tb.ne 1b" : "+r"(n), "+r"(x) : : "cc");
}

#define LOOP(name) name

void arm_read(const void *p, size_t n)
{
	const char *end = (const char *)p + n;

	__asm__ volatile("1:\n\tldp q0, q1, [%0]\n\tldp q2, q3, [%0, #32]\n\tadd %0, %0, #64\n\tcmp %0, %1\n\tb.lo 1b"
			 : "+r"(p)
			 : "r"(end)
			 : "cc", "memory", "v0", "v1", "v2", "v3");
}
#else /* another machine, which only reads what rows say */
#define LOOP(name) NULL
void arm_read(const void *p, size_t n) {}
#endif

/* Products that one instruction adds, twice: bytes of the vector a byte of what is multiplied. */
#define OPS(bytes, of) (2.0 * SUMS * UNROLL * (bytes) / (of))
#define MATRICES(end, length, also, of) \
	{"usmmla" end, (also) | ARM_I8MM, 2 * OPS(length, 1), LOOP(of##usmmla)}, \
		{"smmla" end, (also) | ARM_I8MM, 2 * OPS(length, 1), LOOP(of##smmla)}, \
	{ \
		"bfmmla" end, (also) | ARM_BF16, 2 * OPS(length, 2), LOOP(of##bfmmla) \
	}
const struct rate arm_rates[] = {
	{"fma128", 0, OPS(16, 4), LOOP(fmla)},
	{"fma256", ARM_SVE256, OPS(32, 4), LOOP(sve_fmla)},
	{"fma512", ARM_SVE512, OPS(64, 4), LOOP(sve_fmla)},
	{"fmla_half", ARM_FP16, OPS(16, 2), LOOP(fmla_half)},
	{"sdot", ARM_DOTPROD, OPS(16, 1), LOOP(sdot)},
	{"usdot", ARM_I8MM, OPS(16, 1), LOOP(usdot)},
	{"smlal_pairs", 0, OPS(8, 2), LOOP(smlal)},
	{"sdot256", ARM_SVE256, OPS(32, 1), LOOP(sve_sdot)},
	{"sdot512", ARM_SVE512, OPS(64, 1), LOOP(sve_sdot)},
	{"usdot256", ARM_SVE256 | ARM_I8MM, OPS(32, 1), LOOP(sve_usdot)},
	{"usdot512", ARM_SVE512 | ARM_I8MM, OPS(64, 1), LOOP(sve_usdot)},
	{"bfdot", ARM_BF16, OPS(16, 2), LOOP(bfdot)},
	{"bfdot256", ARM_SVE256 | ARM_BF16, OPS(32, 2), LOOP(sve_bfdot)},
	{"bfdot512", ARM_SVE512 | ARM_BF16, OPS(64, 2), LOOP(sve_bfdot)},
	MATRICES("", 16, 0, ),
	MATRICES("256", 32, ARM_SVE256, sve_),
	MATRICES("512", 64, ARM_SVE512, sve_),
	{"clock", 0, SUMS *UNROLL, LOOP(clock_steps)},
	{NULL},
};
