/* timeout: first call */
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	for (;;)
		*(volatile float *)out[0] = 0;
}
