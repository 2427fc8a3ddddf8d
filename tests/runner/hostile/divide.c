/* crash: Floating point exception */
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	volatile int zero = 0;
	out[0][0] = (zero + 100) / zero;
}
