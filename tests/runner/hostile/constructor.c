/* build error: runs code when it is loaded: a constructor */
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void early(void)
{
	open(HOSTILE_FILE, O_CREAT | O_WRONLY, 0600);
}
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
}
