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

double noise_probe_take(int times)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < times; i++) {
		uint64_t t = take();
		least = t < least ? t : least;
	}
	return 1e-9 * (double)least;
}

int noise_probe_file(double seconds)
{
	struct notes notes = {.n = seconds > 0 ? NOTES : 0};
	int file = memfd_create("noise probe", MFD_CLOEXEC);

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
	return n ? notes.seconds[(size_t)(NOISE_PROBE_QUIET * (double)(n - 1))] : INFINITY;
}

void noise_probe_open(struct noise_probe *y, int file)
{
	struct notes notes;

	*y = (struct noise_probe){file, INFINITY};
	if (pread(file, &notes, sizeof notes, 0) == (ssize_t)sizeof notes)
		y->quiet = quiet(notes);
}

/* Of two who write at once one is lost: there are enough. */
void noise_probe_note(struct noise_probe *y, double seconds, double now)
{
	struct notes notes;

	if (pread(y->file, &notes, sizeof notes, 0) != (ssize_t)sizeof notes || (notes.n && now - notes.last < NOISE_PROBE_EVERY))
		return;
	notes.last = now;
	notes.seconds[notes.n++ % NOTES] = seconds;
	(void)!pwrite(y->file, &notes, sizeof notes, 0);
	y->quiet = quiet(notes);
}

bool noise_probe_quiet(const struct noise_probe *y, double seconds) { return seconds <= NOISE_PROBE_SLOW * y->quiet; }
