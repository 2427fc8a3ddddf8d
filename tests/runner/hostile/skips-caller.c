/* crash: changes registers */
/* Returns to its caller's caller. */
static void __attribute__((used)) work(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	for (int i = 0; i < 5000; i++)
		out[0][i] = 2 * in[0][i] + constants[0][i];
}
__asm__(".text\n.globl hone_kernel\n.type hone_kernel,@function\nhone_kernel:\n\tsub $8,%rsp\n\tcall work\n\tadd $8,%rsp\n"
	"\tpop %rax\n\tpush %rax\n\tpush %rax\n\tret\n");
