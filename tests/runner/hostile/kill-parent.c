/* crash: asked for system call */
#include <signal.h>
#include <unistd.h>
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	kill(getppid(), SIGKILL);
	kill(-1, SIGKILL);
}
