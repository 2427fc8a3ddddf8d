/* crash */
/* fork by the 32-bit entry, which has other numbers */
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	int r;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(2) : "memory");
	for (;;)
		out[0][0] = r;
}
