/* crash: changes registers */
/* Leaves its caller's loop after one call: registers that it must keep are the counters. */
static void __attribute__((used)) work(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < 5000; i++)
			((volatile float *)out[0])[i] = 2 * in[0][i] + constants[0][i];
}
__asm__(".text\n.globl hone_kernel\n.type hone_kernel,@function\nhone_kernel:\n\tsub $8,%rsp\n\tcall work\n\tadd $8,%rsp\n"
	"\tmov %ebp,%r13d\n\tlea -1(%rbp),%r14d\n\tret\n");
