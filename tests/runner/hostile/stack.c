/* crash: Segmentation fault */
static int deep(volatile int *p)
{
	volatile int a[1000];
	a[0] = *p + 1;
	return deep(a) + a[0];
}
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	volatile int zero = 0;
	out[0][0] = deep(&zero);
}
