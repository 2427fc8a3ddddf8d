/* build error: runs code when it is loaded: an indirect function */
static void kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
}
static void *choose(void)
{
	for (;;)
		;
	return kernel;
}
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
	__attribute__((ifunc("choose")));
