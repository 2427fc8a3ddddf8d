/* What a process that runs kernels does by hand. */
#include "target/x86/x86.h"
#include <sys/syscall.h>

/* The assembler text knows its layout. */
__attribute__((used)) struct guard_words x86_guard;

#ifdef __x86_64__
__asm__(".text\n"
	".p2align 5\n"
	".hidden x86_call\n"
	".globl x86_call\n"
	".type x86_call,@function\n"
	"x86_call:\n"
	"\tpush %rbx\n\tpush %rbp\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n"
	"\tlea x86_guard(%rip),%r9\n"
	"\tmov %rsp,(%r9)\n"
	"\tmov %rdi,%rax\n\tmov %rsi,%rdi\n\tmov %rdx,%rsi\n\tmov %rcx,%rdx\n\tmov %r8,%rcx\n"
	"\tmov 8(%r9),%rsp\n"
	"\tmov 16(%r9),%rbx\n\tmov 24(%r9),%rbp\n\tmov 32(%r9),%r12\n\tmov 40(%r9),%r13\n\tmov 48(%r9),%r14\n\tmov 56(%r9),%r15\n"
	"\tcall *%rax\n"
	"\tlea x86_guard(%rip),%r9\n"
	"\tmov %rsp,%rax\n\txor 8(%r9),%rax\n"
	"\txor 16(%r9),%rbx\n\txor 24(%r9),%rbp\n\txor 32(%r9),%r12\n\txor 40(%r9),%r13\n\txor 48(%r9),%r14\n\txor 56(%r9),%r15\n"
	"\tor %rbx,%rax\n\tor %rbp,%rax\n\tor %r12,%rax\n\tor %r13,%rax\n\tor %r14,%rax\n\tor %r15,%rax\n"
	"\tmov (%r9),%rsp\n"
	"\tcld\n"
	"\tpop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbp\n\tpop %rbx\n"
	"\tret\n"
	".size x86_call,.-x86_call\n");

void x86_flush_denormals(void) { __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040); }

/* Of MXCSR and the x87 unit. */
uint64_t x86_rounding(void)
{
	enum { STATUS = 0x3f }; /* bits that any code may set */
	uint32_t mxcsr;
	uint16_t fpu;

	__asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(fpu));
	return (uint64_t)fpu << 32 | (mxcsr & ~(uint32_t)STATUS);
}

void x86_litter(const void *bytes)
{
#define LOAD(n) "movups " #n "*16(%0), %%xmm" #n "\n\t"
	__asm__ volatile(LOAD(0) LOAD(1) LOAD(2) LOAD(3) LOAD(4) LOAD(5) LOAD(6) LOAD(7) LOAD(8) LOAD(9) LOAD(10) LOAD(11) LOAD(12) LOAD(13)
				 LOAD(14) LOAD(15)
			 :
			 : "r"(bytes)
			 : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
			   "xmm12", "xmm13", "xmm14", "xmm15");
#undef LOAD
#define LOAD(n) "vmovups (" #n "-16)*64(%0), %%zmm" #n "\n\t"
	if (__builtin_cpu_supports("avx512f")) /* no caller keeps anything in these */
		__asm__ volatile(LOAD(16) LOAD(17) LOAD(18) LOAD(19) LOAD(20) LOAD(21) LOAD(22) LOAD(23) LOAD(24) LOAD(25) LOAD(26) LOAD(27)
					 LOAD(28) LOAD(29) LOAD(30) LOAD(31)
				 :
				 : "r"(bytes)
				 : "memory");
#undef LOAD
}

const struct call_name x86_calls[] = {
	{SYS_fork, "fork"},   {SYS_vfork, "vfork"}, {SYS_open, "open"}, {SYS_unlink, "unlink"}, {SYS_mkdir, "mkdir"}, {SYS_dup2, "dup2"},
	{SYS_pause, "pause"}, {SYS_alarm, "alarm"}, {0, NULL},
};
#else /* another machine: backend_here is never this one */
void x86_flush_denormals(void) {}
uint64_t x86_rounding(void) { return 0; }
void x86_litter(const void *bytes) {}
uint64_t x86_call(guarded_fn *f, const void *const *in, const void *const *constants, void *const *out, char *workspace) { return 1; }
const struct call_name x86_calls[] = {{0, NULL}};
#endif
