/* What this CPU has, as the kernel says it. */
#include "target/arm/arm.h"
#ifdef __aarch64__
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

/* Bits of the kernel's words, which older headers lack. */
enum { CAP_FPHP = 1 << 9, CAP_ASIMDHP = 1 << 10, CAP_CPUID = 1 << 11, CAP_ASIMDDP = 1 << 20, CAP_SVE = 1 << 22 };
enum { CAP2_I8MM = 1 << 13, CAP2_BF16 = 1 << 14 };
enum { GET_LENGTH = 51 /* PR_SVE_GET_VL */, LENGTH_MASK = 0xffff };

static unsigned sve_length(void)
{
	enum { TWICE = 32, FOUR_TIMES = 64 };
	int length = prctl(GET_LENGTH);

	length = length < 0 ? 0 : length & LENGTH_MASK;
	return length == FOUR_TIMES ? ARM_SVE512 : length == TWICE ? ARM_SVE256 : 0;
}

/* The main identification register, which the kernel reads for us: part numbers differ from maker to maker. */
static void name_cpu(struct target *t, unsigned long have)
{
	unsigned long midr = 0;

	if (have & CAP_CPUID)
		__asm__("mrs %0, midr_el1" : "=r"(midr));
	snprintf(t->cpu, sizeof t->cpu, "ARM implementer %#lx part %#lx r%lup%lu", midr >> 24 & 0xff, midr >> 4 & 0xfff, midr >> 20 & 0xf,
		 midr & 0xf);
}

bool arm_detect(struct target *t)
{
	unsigned long have = getauxval(AT_HWCAP), more = getauxval(AT_HWCAP2);

	name_cpu(t, have);
	t->features = (have & CAP_ASIMDDP ? ARM_DOTPROD : 0) | ((have & CAP_FPHP) && (have & CAP_ASIMDHP) ? ARM_FP16 : 0) |
		      (more & CAP2_I8MM ? ARM_I8MM : 0) | (more & CAP2_BF16 ? ARM_BF16 : 0) | (have & CAP_SVE ? sve_length() : 0);
	return true;
}
#else
bool arm_detect(struct target *t) { return false; }
#endif
