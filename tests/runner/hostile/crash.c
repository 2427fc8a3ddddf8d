/* crash: Segmentation fault */
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	*(volatile int *)8 = 1;
}
