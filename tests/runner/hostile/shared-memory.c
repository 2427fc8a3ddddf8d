/* crash: asked for system call 29 (shmget) */
#include <sys/ipc.h>
#include <sys/shm.h>
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
}
