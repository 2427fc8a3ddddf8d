/* crash: asked for system call */
#include <unistd.h>
int daemon(int, int);
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	daemon(0, 0);
	for (;;)
		;
}
