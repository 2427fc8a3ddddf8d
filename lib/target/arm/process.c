/* What a process that runs kernels does by hand. */
#include "target/arm/arm.h"

/* The assembler text knows its layout. */
__attribute__((used)) struct guard_words arm_guard;

#ifdef __aarch64__
__asm__(".text\n"
	".p2align 5\n"
	".hidden arm_call\n"
	".globl arm_call\n"
	".type arm_call,%function\n"
	"arm_call:\n"
	"\tstp x29, x30, [sp, #-160]!\n"
	"\tstp x19, x20, [sp, #16]\n\tstp x21, x22, [sp, #32]\n\tstp x23, x24, [sp, #48]\n\tstp x25, x26, [sp, #64]\n"
	"\tstp x27, x28, [sp, #80]\n"
	"\tstp d8, d9, [sp, #96]\n\tstp d10, d11, [sp, #112]\n\tstp d12, d13, [sp, #128]\n\tstp d14, d15, [sp, #144]\n"
	"\tadrp x9, arm_guard\n\tadd x9, x9, :lo12:arm_guard\n"
	"\tmov x10, sp\n\tstr x10, [x9]\n"
	"\tmov x16, x0\n\tmov x0, x1\n\tmov x1, x2\n\tmov x2, x3\n\tmov x3, x4\n"
	"\tldr x10, [x9, #8]\n\tmov sp, x10\n"
	"\tldp x19, x20, [x9, #16]\n\tldp x21, x22, [x9, #32]\n\tldp x23, x24, [x9, #48]\n\tldp x25, x26, [x9, #64]\n"
	"\tldp x27, x28, [x9, #80]\n"
	"\tblr x16\n"
	"\tadrp x9, arm_guard\n\tadd x9, x9, :lo12:arm_guard\n"
	"\tmov x0, sp\n\tldr x10, [x9, #8]\n\teor x0, x0, x10\n"
#define SAME(a, b, at) \
	"\tldp x10, x11, [x9, #" #at "]\n\teor x10, x10, " #a "\n\teor x11, x11, " #b "\n\torr x0, x0, x10\n\torr x0, x0, x11\n"
	SAME(x19, x20, 16) SAME(x21, x22, 32) SAME(x23, x24, 48) SAME(x25, x26, 64) SAME(x27, x28, 80)
#undef SAME
		"\tldr x10, [x9]\n\tmov sp, x10\n"
		"\tldp x19, x20, [sp, #16]\n\tldp x21, x22, [sp, #32]\n\tldp x23, x24, [sp, #48]\n\tldp x25, x26, [sp, #64]\n"
		"\tldp x27, x28, [sp, #80]\n"
		"\tldp d8, d9, [sp, #96]\n\tldp d10, d11, [sp, #112]\n\tldp d12, d13, [sp, #128]\n\tldp d14, d15, [sp, #144]\n"
		"\tldp x29, x30, [sp], #160\n"
		"\tret\n"
		".size arm_call,.-arm_call\n");

void arm_flush_denormals(void)
{
	enum { FLUSH = 1 << 24 };
	uint64_t fpcr;

	__asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
	__asm__ volatile("msr fpcr, %0" : : "r"(fpcr | FLUSH));
}

uint64_t arm_rounding(void)
{
	uint64_t fpcr;

	__asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
	return fpcr;
}

/* All but the low halves of v8 to v15, which a caller keeps. */
void arm_litter(const void *bytes)
{
	__asm__ volatile(
		"ld1 {v0.16b, v1.16b, v2.16b, v3.16b}, [%0], #64\n\tld1 {v4.16b, v5.16b, v6.16b, v7.16b}, [%0], #64\n\t"
		"ld1 {v16.16b, v17.16b, v18.16b, v19.16b}, [%0], #64\n\tld1 {v20.16b, v21.16b, v22.16b, v23.16b}, [%0], #64\n\t"
		"ld1 {v24.16b, v25.16b, v26.16b, v27.16b}, [%0], #64\n\tld1 {v28.16b, v29.16b, v30.16b, v31.16b}, [%0], #64"
		: "+r"(bytes)
		:
		: "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",
		  "v25", "v26", "v27", "v28", "v29", "v30", "v31");
}
#else /* another machine: backend_here is never this one */
void arm_flush_denormals(void) {}
uint64_t arm_rounding(void) { return 0; }
void arm_litter(const void *bytes) {}
uint64_t arm_call(guarded_fn *f, const void *const *in, const void *const *constants, void *const *out, char *workspace) { return 1; }
#endif
