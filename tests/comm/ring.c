/* All-reduce over a ring of threads: sums, bits equal on all ranks, odd lengths; ranks that are gone. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "comm/ring.h"
#include "common/arena.h"
#include "common/progress.h"
#include "tap.h"

enum { RANKS_MAX = 8 };
static const size_t lengths[] = {0, 1, 2, 3, 5, 8, 1023, 8192, 100003, 1 << 20};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

struct member {
	pthread_t thread;
	int rank, n, listener;
	char **addr;
	double timeout;
	int leaves; /* after that many all-reduces; -1: stays */
	int done;
	uint64_t digest[LENGTHS];
	float worst; /* largest error of a sum */
	enum ring_fault fault;
	char why[300];
};

static float value(int rank, size_t i) { return (float)((int)(i * 2654435761u % 1000) - 500) * (float)(rank + 1) / 7; }

static uint64_t bits(const float *a, size_t n)
{
	uint64_t h = 1469598103934665603u;
	for (size_t i = 0; i < n; i++) {
		uint32_t b;
		memcpy(&b, &a[i], sizeof b);
		h = (h ^ b) * 1099511628211u;
	}
	return h;
}

static void *member(void *arg)
{
	struct member *m = arg;
	const char *why = "";
	struct ring *r = ring_open(m->rank, m->n, (const char *const *)m->addr, m->listener, m->timeout, &m->fault, &why);
	float *a = xmalloc(sizeof *a * lengths[LENGTHS - 1]);
	for (int l = 0; r && l < LENGTHS && l != m->leaves; l++) {
		size_t n = lengths[l];
		for (size_t i = 0; i < n; i++)
			a[i] = value(m->rank, i);
		if (!ring_allreduce(r, a, n) || !ring_barrier(r)) {
			m->fault = ring_fault(r, &why);
			break;
		}
		for (size_t i = 0; i < n; i++) {
			double sum = 0;
			for (int k = 0; k < m->n; k++)
				sum += (double)value(k, i);
			m->worst = fmaxf(m->worst, (float)fabs(sum - (double)a[i]));
		}
		m->digest[l] = bits(a, n);
		m->done++;
	}
	snprintf(m->why, sizeof m->why, "%s", why);
	free(a);
	ring_close(r);
	return NULL;
}

static void form(struct member *m, int n, double timeout)
{
	char **addr = xcalloc((size_t)n, sizeof *addr);
	memset(m, 0, sizeof *m * (size_t)n);
	for (int i = 0; i < n; i++) {
		const char *why;
		int port = 0;
		m[i] = (struct member){.rank = i,
				       .n = n,
				       .addr = addr,
				       .timeout = timeout,
				       .leaves = -1,
				       .listener = ring_listen("127.0.0.1:0", &port, &why)};
		addr[i] = xprintf("127.0.0.1:%d", port);
	}
}

static void run(struct member *m, int n)
{
	for (int i = 0; i < n; i++)
		pthread_create(&m[i].thread, NULL, member, &m[i]);
	for (int i = 0; i < n; i++)
		pthread_join(m[i].thread, NULL);
}

static void sums(int n)
{
	struct member m[RANKS_MAX];
	int all = 1, equal = 1;
	float worst = 0;
	form(m, n, 4);
	run(m, n);
	for (int i = 0; i < n; i++) {
		all &= m[i].done == LENGTHS;
		equal &= !memcmp(m[i].digest, m[0].digest, sizeof m->digest);
		worst = fmaxf(worst, m[i].worst);
	}
	ok(all, "%d ranks: all lengths are summed%s%s", n, all ? "" : ": ", m[0].why);
	ok(equal, "%d ranks: every rank has the same bits", n);
	ok(worst < 0.01f, "%d ranks: sums are right (largest error %g)", n, (double)worst);
}

static void a_rank_leaves(void)
{
	struct member m[3];
	double start = now_seconds();
	form(m, 3, 2);
	m[1].leaves = 4;
	run(m, 3);
	ok(m[0].done == 4 && m[2].done == 4 && m[0].fault == RING_CLOSED, "a rank that leaves ends the ring: %s", m[0].why);
	ok(now_seconds() - start < 3, "within the timeout");
}

static void *silent(void *arg)
{
	struct member *m = arg;
	const char *why;
	struct ring *r = ring_open(m->rank, m->n, (const char *const *)m->addr, m->listener, m->timeout, &m->fault, &why);
	while (m->leaves < 0)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	ring_close(r);
	return NULL;
}

static void a_rank_is_silent(void)
{
	struct member m[2];
	double start = now_seconds();
	form(m, 2, 0.5);
	pthread_create(&m[1].thread, NULL, silent, &m[1]);
	pthread_create(&m[0].thread, NULL, member, &m[0]);
	pthread_join(m[0].thread, NULL);
	ok(m[0].fault == RING_SILENT && strstr(m[0].why, "silent for 0.5 s"), "a silent rank is told: %s", m[0].why);
	ok(now_seconds() - start < 2, "within the timeout");
	__atomic_store_n(&m[1].leaves, 0, __ATOMIC_SEQ_CST);
	pthread_join(m[1].thread, NULL);
}

static void nobody_there(void)
{
	struct member m[2];
	form(m, 2, 0.3);
	m[0].addr[1] = "127.0.0.1:1";
	member(&m[0]);
	ok(m[0].fault == RING_UNREACHABLE && strstr(m[0].why, "cannot reach rank 1 (127.0.0.1:1)"), "who is not there is named: %s",
	   m[0].why);
	form(m, 2, 0.3);
	member(&m[0]);
	ok(m[0].fault == RING_SILENT && strstr(m[0].why, "did not connect"), "who does not connect is named: %s", m[0].why);
	const char *why;
	int port;
	int fd = ring_listen("nowhere", &port, &why);
	ok(fd < 0 && strstr(why, "expected host:port"), "an address without a port: %s", why);
}

int main(void)
{
	sums(1);
	sums(2);
	sums(3);
	sums(4);
	sums(7);
	a_rank_leaves();
	a_rank_is_silent();
	nobody_there();
	return tap_done();
}
