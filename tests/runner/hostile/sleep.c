/* crash: asked for system call 230 (clock_nanosleep) */
#include <unistd.h>
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	sleep(1000);
}
