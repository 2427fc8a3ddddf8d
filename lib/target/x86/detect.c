/* What this CPU has, as it says itself. */
#include "target/x86/x86.h"
#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Clang 14 has no name for it. */
static bool has_avxvnni(void)
{
	enum { LEAF = 7, PART = 1, BIT = 4 };
	unsigned a, b, c, d;

	return __get_cpuid_count(LEAF, PART, &a, &b, &c, &d) && (a >> BIT & 1);
}

/* The kernel lets a process, and those that it forks, use tiles from the time on that it asks. */
static bool has_amx(void)
{
	enum { LEAF = 7, TILE = 24, INT8 = 25, ASK = 0x1023, TILE_DATA = 18 };
	unsigned a, b, c, d;

	return __get_cpuid_count(LEAF, 0, &a, &b, &c, &d) && (d >> TILE & 1) && (d >> INT8 & 1) && !syscall(SYS_arch_prctl, ASK, TILE_DATA);
}

static unsigned read_features(void)
{
	unsigned have = 0;

	__builtin_cpu_init();
	if (__builtin_cpu_supports("fma"))
		have |= X86_FMA;
	if (__builtin_cpu_supports("avx2") && (have & X86_FMA))
		have |= X86_AVX2;
	if ((have & X86_AVX2) && has_avxvnni())
		have |= X86_AVXVNNI;
	if ((have & X86_AVX2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd")) {
		have |= X86_AVX512;
		if (__builtin_cpu_supports("avx512vnni"))
			have |= X86_VNNI;
		if (__builtin_cpu_supports("avx512vbmi"))
			have |= X86_VBMI;
		if ((have & X86_VNNI) && has_amx())
			have |= X86_AMX;
		if (__builtin_cpu_supports("avx512bf16"))
			have |= X86_BF16;
#if __GNUC__ >= 12
		if (__builtin_cpu_supports("avx512fp16"))
			have |= X86_FP16;
#endif
	}
	return have;
}

/* What is known without measuring: Zen 4, family 19h, is the only one of AMD's with AVX-512 whose units are of 32 bytes. Of other CPUs
 * their rates say it (x86_measured). */
static int read_fma512(unsigned features)
{
	enum { FAMILY_FIRST = 0xf, FAMILY_ZEN4 = 0x19 };
	unsigned a, b, c, d;

	return (features & X86_AVX512) && __builtin_cpu_is("amd") && __get_cpuid(1, &a, &b, &c, &d) && (a >> 8 & 0xf) == FAMILY_FIRST &&
	       FAMILY_FIRST + (a >> 20 & 0xff) == FAMILY_ZEN4;
}

bool x86_detect(struct target *t)
{
	t->features = read_features();
	t->ports = read_fma512(t->features);
	return true;
}
#else
bool x86_detect(struct target *t) { return false; }
#endif
