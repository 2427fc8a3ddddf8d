#define _GNU_SOURCE
#include "runner/guard.h"
#include <string.h>
#include <sys/mman.h>

enum { KEPT = 6, ABOVE = 64 /* words */, GUARD_PAGE = 4096 };

/* The assembler text knows the first four. */
static struct guard {
	uint64_t caller; /* its stack pointer, while the kernel has the processor */
	uint64_t stack;  /* where the kernel's begins */
	uint64_t kept[KEPT];
	uint32_t mxcsr, usual_mxcsr;
	uint16_t fpu, usual_fpu;
	uint64_t above[ABOVE]; /* what lies there */
	char *top;
	const char *broken;
} guard __asm__("hone_guard") __attribute__((used));

#if defined __x86_64__
/* The value is 0, if registers and stack pointer are what they were. Nothing that the kernel may have changed is used to find out. */
uint64_t hone_guard_enter(kernel *f, const void *const *in, const void *const *constants, void *const *out, char *workspace);
__asm__(".text\n"
	".p2align 5\n"
	".hidden hone_guard_enter\n"
	".globl hone_guard_enter\n"
	".type hone_guard_enter,@function\n"
	"hone_guard_enter:\n"
	"\tpush %rbx\n\tpush %rbp\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n"
	"\tlea hone_guard(%rip),%r9\n"
	"\tmov %rsp,(%r9)\n"
	"\tmov %rdi,%rax\n\tmov %rsi,%rdi\n\tmov %rdx,%rsi\n\tmov %rcx,%rdx\n\tmov %r8,%rcx\n"
	"\tmov 8(%r9),%rsp\n"
	"\tmov 16(%r9),%rbx\n\tmov 24(%r9),%rbp\n\tmov 32(%r9),%r12\n\tmov 40(%r9),%r13\n\tmov 48(%r9),%r14\n\tmov 56(%r9),%r15\n"
	"\tcall *%rax\n"
	"\tlea hone_guard(%rip),%r9\n"
	"\tmov %rsp,%rax\n\txor 8(%r9),%rax\n"
	"\txor 16(%r9),%rbx\n\txor 24(%r9),%rbp\n\txor 32(%r9),%r12\n\txor 40(%r9),%r13\n\txor 48(%r9),%r14\n\txor 56(%r9),%r15\n"
	"\tor %rbx,%rax\n\tor %rbp,%rax\n\tor %r12,%rax\n\tor %r13,%rax\n\tor %r14,%rax\n\tor %r15,%rax\n"
	"\tmov (%r9),%rsp\n"
	"\tcld\n"
	"\tpop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbp\n\tpop %rbx\n"
	"\tret\n"
	".size hone_guard_enter,.-hone_guard_enter\n");

enum { STATUS = 0x3f }; /* bits of MXCSR that any code may set */

static void control(uint32_t *mxcsr, uint16_t *fpu) { __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(*mxcsr), "=m"(*fpu)); }
#else
static uint64_t hone_guard_enter(kernel *f, const void *const *in, const void *const *constants, void *const *out, char *workspace)
{
	f(in, constants, out, workspace);
	return 0;
}

enum { STATUS = 0 };

static void control(uint32_t *mxcsr, uint16_t *fpu)
{
	*mxcsr = 0;
	*fpu = 0;
}
#endif

bool guard_open(void)
{
	char *p = mmap(NULL, GUARD_STACK + 2 * GUARD_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED || mprotect(p + GUARD_PAGE, GUARD_STACK, PROT_READ | PROT_WRITE))
		return false;
	madvise(p + GUARD_PAGE, GUARD_STACK, MADV_NOHUGEPAGE); /* it uses little of it */
	guard.top = p + GUARD_PAGE + GUARD_STACK;
	return true;
}

void guard_place(struct rng *r, size_t below, size_t litter)
{
	char *p = guard.top - sizeof guard.above - below;

	for (int i = 0; i < KEPT; i++)
		guard.kept[i] = rng_u64(r);
	for (int i = 0; i < ABOVE; i++)
		guard.above[i] = rng_u64(r);
	memcpy(p, guard.above, sizeof guard.above);
	for (size_t i = sizeof(uint64_t); i <= litter; i += sizeof(uint64_t))
		*(uint64_t *)(p - i) = rng_u64(r);
	guard.stack = (uint64_t)(uintptr_t)p;
	control(&guard.usual_mxcsr, &guard.usual_fpu);
}

bool guard_call(kernel *f, const void *const *in, const void *const *constants, void *const *out, char *workspace)
{
	if (hone_guard_enter(f, in, constants, out, workspace))
		guard.broken = "it changes registers that are its caller's";
	return !guard.broken;
}

const char *guard_broken(void)
{
	if (guard.broken)
		return guard.broken;
	control(&guard.mxcsr, &guard.fpu);
	if ((guard.mxcsr ^ guard.usual_mxcsr) & ~(uint32_t)STATUS || guard.fpu != guard.usual_fpu)
		guard.broken = "it changes how its caller's numbers are rounded";
	else if (memcmp((char *)(uintptr_t)guard.stack, guard.above, sizeof guard.above))
		guard.broken = "it writes to its caller's stack";
	return guard.broken;
}
