/* crash: asked for system call 11 (munmap) */
#include <stdint.h>
#include <sys/mman.h>
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	munmap((void *)((uintptr_t)out[0] & ~4095ul), 4096);
}
