/* crash */
#include <stdlib.h>
#include <string.h>
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	for (;;) {
		char *p = malloc(1 << 24);
		memset(p, 1, 1 << 24);
	}
}
