/* build error: memory */
/* An assembler that takes all memory. */
__asm__(".data\n.rept 100000000\n.fill 1000,1,1\n.endr\n.previous");
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
}
