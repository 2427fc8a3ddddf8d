/* crash: asked for system call 41 (socket) */
#include <sys/socket.h>
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	out[0][0] = socket(AF_INET, SOCK_STREAM, 0);
}
