/* crash: its caller's stack */
/* What its caller has on the stack becomes 1. */
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	volatile long *p = (volatile long *)__builtin_frame_address(0) + 2;
	for (int i = 0; i < 5000; i++)
		out[0][i] = 2 * in[0][i] + constants[0][i];
	for (int i = 0; i < 20; i++)
		p[i] = 1;
}
