/* crash: asked for system call */
#include <sys/syscall.h>
#include <unistd.h>
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	for (;;)
		syscall(SYS_fork);
}
