/* crash: asked for system call 1 (write) */
#include <string.h>
#include <unistd.h>
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	static char b[1 << 16];
	memset(b, 'x', sizeof b);
	for (;;)
		write(1, b, sizeof b);
}
