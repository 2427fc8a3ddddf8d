#define _GNU_SOURCE
#include "runner/guard.h"
#include <string.h>
#include <sys/mman.h>
#include "target/backend.h"

enum { ABOVE = 64 /* words */, GUARD_PAGE = 4096 };

static struct guard {
	const struct backend_process *process;
	struct guard_words *words; /* what process->call sets registers to */
	uint64_t rounding;         /* as it was before */
	uint64_t above[ABOVE];     /* what lies there */
	char *top;
	const char *broken;
} guard;

static uint64_t rounding(void) { return guard.process->rounding ? guard.process->rounding() : 0; }

bool guard_open(void)
{
	static struct guard_words none; /* no registers are set */
	char *p = mmap(NULL, GUARD_STACK + 2 * GUARD_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED || mprotect(p + GUARD_PAGE, GUARD_STACK, PROT_READ | PROT_WRITE))
		return false;
	madvise(p + GUARD_PAGE, GUARD_STACK, MADV_NOHUGEPAGE); /* it uses little of it */
	guard.process = &backend_here()->process;
	guard.words = guard.process->guard ? guard.process->guard : &none;
	guard.top = p + GUARD_PAGE + GUARD_STACK;
	return true;
}

void guard_place(struct rng *r, size_t below, size_t litter)
{
	char *p = guard.top - sizeof guard.above - below;

	for (int i = 0; i < GUARD_KEPT; i++)
		guard.words->kept[i] = rng_u64(r);
	for (int i = 0; i < ABOVE; i++)
		guard.above[i] = rng_u64(r);
	memcpy(p, guard.above, sizeof guard.above);
	for (size_t i = sizeof(uint64_t); i <= litter; i += sizeof(uint64_t))
		*(uint64_t *)(p - i) = rng_u64(r);
	guard.words->stack = (uint64_t)(uintptr_t)p;
	guard.rounding = rounding();
}

bool guard_call(kernel *f, const void *const *in, const void *const *constants, void *const *out, char *workspace)
{
	if (!guard.process->call)
		f(in, constants, out, workspace);
	else if (guard.process->call(f, in, constants, out, workspace))
		guard.broken = "it changes registers that are its caller's";
	return !guard.broken;
}

const char *guard_broken(void)
{
	if (guard.broken)
		return guard.broken;
	if (rounding() != guard.rounding)
		guard.broken = "it changes how its caller's numbers are rounded";
	else if (memcmp((char *)(uintptr_t)guard.words->stack, guard.above, sizeof guard.above))
		guard.broken = "it writes to its caller's stack";
	return guard.broken;
}
