/* crash */
#include <stdlib.h>
#include <string.h>
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	for (;;) {
		char *volatile p = malloc(1 << 24); /* else a compiler may leave it away */
		memset(p, 1, 1 << 24);
	}
}
