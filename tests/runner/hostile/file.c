/* crash: asked for system call */
#include <fcntl.h>
#include <unistd.h>
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	int fd = open(HOSTILE_FILE, O_CREAT | O_WRONLY, 0600);
	out[0][0] = write(fd, "x", 1);
}
