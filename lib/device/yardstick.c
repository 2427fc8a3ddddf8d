#define _GNU_SOURCE
#include "device/yardstick.h"
#include <math.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define AGES 1.001 /* what is known, each time */

/* As many loads and additions at a time as the core can do, in few bytes of its cache. */
static __attribute__((noinline)) uint64_t take(void)
{
	enum { STEPS = 2000, WIDE = 4, WORDS = 64 };
	static uint64_t word[WORDS];
	uint64_t sum[WIDE] = {0};
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (uint32_t i = 0; i < STEPS * WIDE; i += WIDE) {
#pragma GCC unroll 4
		for (uint32_t k = 0; k < WIDE; k++) {
			sum[k] += word[(i + k) % WORDS];
			__asm__ volatile("" : "+r"(sum[k]));
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	return (uint64_t)(b.tv_sec - a.tv_sec) * 1000000000u + (uint64_t)b.tv_nsec - (uint64_t)a.tv_nsec;
}

double yardstick_take(int times)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < times; i++) {
		uint64_t t = take();
		least = t < least ? t : least;
	}
	return 1e-9 * (double)least;
}

int yardstick_file(double seconds)
{
	int file = memfd_create("yardstick", MFD_CLOEXEC);

	if (file >= 0 && pwrite(file, &seconds, sizeof seconds, 0) != (ssize_t)sizeof seconds)
		return close(file), -1;
	return file;
}

void yardstick_open(struct yardstick *y, int file)
{
	*y = (struct yardstick){.file = file};
	if (pread(file, &y->known, sizeof y->known, 0) != (ssize_t)sizeof y->known || !(y->known > 0))
		y->known = 0;
	y->least = y->known > 0 ? y->known : INFINITY;
}

void yardstick_close(const struct yardstick *y)
{
	double least = y->known > 0 && y->least == y->known ? AGES * y->known : y->least;

	if (isfinite(least))
		(void)!pwrite(y->file, &least, sizeof least, 0);
}

void yardstick_note(struct yardstick *y, double seconds)
{
	y->least = fmin(y->least, seconds);
}

bool yardstick_quiet(const struct yardstick *y, double seconds)
{
	return seconds <= YARDSTICK_SLOW * y->least;
}
