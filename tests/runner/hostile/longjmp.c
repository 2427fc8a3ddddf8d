/* crash */
#include <setjmp.h>
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	static jmp_buf nowhere;
	longjmp(nowhere, 1);
}
