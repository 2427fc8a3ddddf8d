#define _GNU_SOURCE
#include "runner/noise_probe.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "common/sorted.h"

enum { NOTES = 256 };
struct notes {
	double last;           /* when */
	uint64_t n;            /* noted since ever */
	double seconds[NOTES]; /* a ring */
};

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
	struct notes notes = {.n = seconds > 0 ? NOTES : 0};
	int file = memfd_create("yardstick", MFD_CLOEXEC);

	for (int i = 0; i < NOTES; i++)
		notes.seconds[i] = seconds;
	if (file >= 0 && pwrite(file, &notes, sizeof notes, 0) != (ssize_t)sizeof notes)
		return close(file), -1;
	return file;
}

static double quiet(struct notes notes)
{
	size_t n = notes.n < NOTES ? notes.n : NOTES;

	qsort(notes.seconds, n, sizeof *notes.seconds, ascending);
	return n ? notes.seconds[(size_t)(YARDSTICK_QUIET * (double)(n - 1))] : INFINITY;
}

void yardstick_open(struct yardstick *y, int file)
{
	struct notes notes;

	*y = (struct yardstick){file, INFINITY};
	if (pread(file, &notes, sizeof notes, 0) == (ssize_t)sizeof notes)
		y->quiet = quiet(notes);
}

/* Of two who write at once one is lost: there are enough. */
void yardstick_note(struct yardstick *y, double seconds, double now)
{
	struct notes notes;

	if (pread(y->file, &notes, sizeof notes, 0) != (ssize_t)sizeof notes || (notes.n && now - notes.last < YARDSTICK_EVERY))
		return;
	notes.last = now;
	notes.seconds[notes.n++ % NOTES] = seconds;
	(void)!pwrite(y->file, &notes, sizeof notes, 0);
	y->quiet = quiet(notes);
}

bool yardstick_quiet(const struct yardstick *y, double seconds) { return seconds <= YARDSTICK_SLOW * y->quiet; }
