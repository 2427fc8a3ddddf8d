/* never faster (matmul) */
/* Every second call does nothing. */
static __attribute__((noinline)) void work(const float *a, const float *b, float *c)
{
	for (int z = 0; z < 3; z++) /* slower than its base */
		for (int i = 0; i < 16; i++) {
			for (int j = 0; j < 64; j++)
				c[i * 64 + j] = 0;
			for (int k = 0; k < 64; k++)
				for (int j = 0; j < 64; j++)
					((volatile float *)c)[i * 64 + j] += a[i * 64 + k] * b[k * 64 + j];
		}
}
static int calls;
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	if (calls++ % 2)
		return;
	work(in[0], constants[0], out[0]);
}
