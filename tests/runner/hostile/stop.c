/* crash: asked for system call */
#include <signal.h>
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	raise(SIGSTOP);
}
