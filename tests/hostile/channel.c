/* crash: spoke on the channel of its parent */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
static int channel = -1;
__attribute__((constructor)) static void find(void)
{
	struct stat st;
	for (int i = 0; i < 64; i++)
		if (syscall(SYS_newfstatat, i, "", &st, AT_EMPTY_PATH) == 0)
			channel = i;
}
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	unsigned reply[2] = {12345, 1};
	syscall(SYS_write, channel, reply, sizeof reply);
}
