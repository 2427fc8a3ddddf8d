/* build error: runs code when it is loaded */
int n;
void early(void)
{
	n++;
}
__asm__(".section .dynamic,\"aw\"\n.quad 12, early\n.text\n"); /* DT_INIT */
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
}
