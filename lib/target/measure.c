/* Rates measured: the backend's loops, and reading of memory, in processor time. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "common/msg.h"
#include "common/progress.h"
#include "common/sorted.h"
#include "target/backend.h"
#include "target/rate.h"

/* Seconds of processor time of this thread: what else the core does does not count. */
static double own_seconds(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) ? now_seconds() : (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What is timed: once(arg) does work of so many operations or bytes, and gives the seconds that it took. */
struct timed {
	double (*once)(void *arg);
	void *arg;
	double work;
};

/* The best of each of several parts of the time: how far these are apart tells how far to trust the best. */
static struct rate_measured best_of_parts(const struct timed *w, double seconds)
{
	enum { PARTS = 7 };
	double best[PARTS] = {0};

	for (int k = 0; k < PARTS; k++) {
		double end = now_seconds() + seconds / PARTS;
		do
			best[k] = fmax(best[k], w->work / w->once(w->arg));
		while (now_seconds() < end);
	}
	qsort(best, PARTS, sizeof *best, ascending);
	return (struct rate_measured){best[PARTS - 1], sorted_median(best, PARTS)};
}

enum { STEPS = 5000 }; /* 100 microseconds or so: short of a timer tick, long against the clock */

static double take_steps(void *arg)
{
	const struct rate *r = arg;
	double t = own_seconds();

	r->steps(STEPS);
	return own_seconds() - t;
}

static struct rate_measured best_steps(const struct rate *r, double seconds)
{
	return best_of_parts(&(struct timed){take_steps, (void *)r, STEPS * r->ops}, seconds);
}

/* Whatever this machine passes for. */
double peak_flops(int vector_bytes, double seconds)
{
	const struct backend *here = backend_here();
	const struct rate *r = here->process.rate;
	struct target t = {0};
	char name[16];

	snprintf(name, sizeof name, "fma%d", 8 * vector_bytes);
	if (here->detect)
		here->detect(&t);
	for (; r && r->name; r++)
		if (!strcmp(r->name, name) && (t.features & r->features) == r->features)
			return best_steps(r, seconds).best;
	return 0;
}

static void read_all(const void *p, size_t n)
{
	const uint64_t *w = p;
	uint64_t sum[4] = {0};

	for (size_t i = 0; i + 4 <= n / sizeof *w; i += 4)
		for (int k = 0; k < 4; k++)
			sum[k] += w[i + (size_t)k];
	__asm__ volatile("" : : "r"(sum[0] ^ sum[1] ^ sum[2] ^ sum[3]));
}

static void *bytes_to_read(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die(EX_SYSTEM, "%zu bytes to read: %s", bytes, strerror(errno));
	madvise(p, bytes, MADV_HUGEPAGE);
	memset(p, 1, bytes);
	return p;
}

/* A thread on another core, which writes the bytes each time before they are read. */
struct writer {
	char *p;
	size_t bytes;
	atomic_int turn; /* whose: */
};
enum { READS, WRITES, ENDS };

/* Has the bytes written, and waits for it. */
static void let_write(struct writer *w)
{
	atomic_store_explicit(&w->turn, WRITES, memory_order_release);
	while (atomic_load_explicit(&w->turn, memory_order_acquire) == WRITES)
		;
}

/* Bytes that are read, as often as it takes until that is long against the clock. */
struct reading {
	void *p;
	size_t bytes, times;
	struct writer *writer; /* who writes them before; NULL: nobody */
};

static double read_bytes(void *arg)
{
	const struct reading *r = arg;
	void (*read)(const void *, size_t) = backend_here()->process.read;

	if (r->writer)
		let_write(r->writer);
	double t = own_seconds();
	for (size_t i = 0; i < r->times; i++)
		(read ? read : read_all)(r->p, r->bytes);
	return own_seconds() - t;
}

static struct rate_measured best_reads(size_t bytes, double seconds)
{
	enum { LONG = 4 << 20 };
	struct reading r = {bytes_to_read(bytes), bytes, bytes < LONG ? LONG / bytes : 1, NULL};
	struct rate_measured m = best_of_parts(&(struct timed){read_bytes, &r, (double)(r.bytes * r.times)}, seconds);

	munmap(r.p, bytes);
	return m;
}

static void *write_in_turn(void *arg)
{
	struct writer *w = arg;
	int turn;

	while ((turn = atomic_load_explicit(&w->turn, memory_order_acquire)) != ENDS) {
		if (turn != WRITES)
			continue;
		memset(w->p, ++w->p[0], w->bytes);
		atomic_store_explicit(&w->turn, READS, memory_order_release);
	}
	return NULL;
}

/* On the first CPU that may be used and is not this one; false: there is none. */
static bool start_writer(pthread_t *thread, struct writer *w)
{
	int here = sched_getcpu(), failed = -1;
	pthread_attr_t attr;
	cpu_set_t set;

	if (pthread_attr_init(&attr))
		return false;
	for (int cpu = 0; failed && cpu < CPU_SETSIZE; cpu++) {
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		if (cpu != here && !pthread_attr_setaffinity_np(&attr, sizeof set, &set))
			failed = pthread_create(thread, &attr, write_in_turn, w);
	}
	pthread_attr_destroy(&attr);
	return !failed;
}

/* Of what another core wrote last; 0: there is no other. */
static struct rate_measured best_shared(size_t bytes, double seconds)
{
	struct writer w = {.p = bytes_to_read(bytes), .bytes = bytes};
	struct reading r = {w.p, bytes, 1, &w};
	struct rate_measured m = {0};
	pthread_t thread;

	if (start_writer(&thread, &w)) {
		m = best_of_parts(&(struct timed){read_bytes, &r, (double)bytes}, seconds);
		atomic_store(&w.turn, ENDS);
		pthread_join(thread, NULL);
	}
	munmap(w.p, bytes);
	return m;
}

/* More than all caches hold, within reason. */
static size_t memory_bytes(const struct target *t)
{
	enum { LEAST = 64 << 20, MOST = 512 << 20 };
	size_t n = 2 * (size_t)t->l3;

	return n < LEAST ? LEAST : n > MOST ? MOST : n;
}

struct rate_measured rate_measure(int i, double seconds)
{
	const struct target *t = target_host();

	const size_t half_l2 = (size_t)t->l2 / 2 & ~(size_t)4095;

	if (i == RATE_L2)
		return best_reads(half_l2, seconds);
	if (i == RATE_SHARED)
		return best_shared(half_l2, seconds);
	if (i == RATE_MEMORY)
		return best_reads(memory_bytes(t), seconds);
	const struct rate *r = rate_row(backend_here(), i);
	if (!r || backend_of(t) != backend_here() || (t->features & r->features) != r->features)
		return (struct rate_measured){0};
	return best_steps(r, seconds);
}
