/* crash: asked for system call 3 (close) */
#include <unistd.h>
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	for (int i = 0; i < 1024; i++)
		close(i);
}
