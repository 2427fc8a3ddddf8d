/* crash: asked for system call */
#include <pthread.h>
static void *spin(void *arg)
{
	for (;;)
		;
}
void hone_kernel(const float *const *in, const float *const *constants, float *const *out, char *workspace)
{
	pthread_t t;
	for (int i = 0; i < 100; i++)
		pthread_create(&t, 0, spin, 0);
}
