/* tune-grad rank: one process of calibrate or run. Reads a line, does it, answers by a line:
 *
 *   listen HOST:PORT               port N           the socket that the rank before connects to
 *   ring RANK N TIMEOUT ADDR...    ok               joins the ring
 *   time BYTES COUNT               us T...          the times of COUNT all-reduces, one right behind the other
 *   grads COUNT, lines BYTES US    ok               the tensors
 *   plan COUNT, lines LAST         ok               one more plan
 *   work                           ok               finds out how much work a us is
 *   iterate PLAN sleep|work        took US          one backward pass and its communication
 *   quit
 *
 * or "error FAULT what". As its standard input closes it ends at once; a host that fell off the network does not see that, so one
 * that hears nothing for a minute ends too. */
#define _GNU_SOURCE
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include "comm/ring.h"
#include "common/progress.h"
#include "rank.h"
#include "team.h"
#include "tune-grad.h"

static struct {
	int rank, ranks, listener;
	struct ring *ring;
	struct wire wire;
	float *data; /* what is summed: zeros; as long as the longest segment */
	size_t floats;
	struct grads grads;
	VEC(struct plan) plans;
	double work_per_us; /* steps of work() */
	char *line;
	size_t size;
} me;

enum { IDLE = 60 }; /* s */

static noreturn void fault(enum ring_fault f, const char *fmt, ...)
{
	va_list ap;
	printf("error %d ", (int)f);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	/* The fault of a neighbour is told by the one who has it; to leave now would be the next fault. */
	sleep(IDLE);
	_exit(EX_SYSTEM);
}

static noreturn void ring_failed(void)
{
	const char *why;
	enum ring_fault f = ring_fault(me.ring, &why);
	fault(f, "%s", why);
}

static bool ring_sum(float *data, size_t n)
{
	if (!ring_allreduce(me.ring, data, n))
		ring_failed();
	return true;
}

static bool ring_meet(void)
{
	if (!ring_barrier(me.ring))
		ring_failed();
	return true;
}

/* Rank 0 reports; the others end with the tool, and if rank 0 is the silent one, end it. */
static noreturn void mpi_silent(void)
{
	if (me.rank == 0)
		fault(RING_SILENT, "a rank is silent for %.3g s", opt.timeout);
	sleep(1);
	die(EX_NOTAVAIL, "rank %d: another rank is silent for %.3g s", me.rank, opt.timeout);
}

static double us_now(void) { return now_seconds() * 1e6; }

static void make_room(double bytes)
{
	size_t n = (size_t)ceil(bytes / sizeof(float));
	if (n <= me.floats)
		return;
	free(me.data);
	me.data = n < SIZE_MAX / sizeof(float) ? calloc(n, sizeof(float)) : NULL;
	if (!me.data)
		fault(RING_FINE, "rank %d: no memory for a segment of %.3g GB", me.rank, bytes * 1e-9);
	for (size_t i = 0; i < n; i += 1024) /* the pages are there before anything is timed */
		((volatile float *)me.data)[i] = 0;
	me.floats = n;
}

static char *next_line(bool mpi)
{
	if (!mpi || me.rank == 0) {
		alarm(IDLE);
		ssize_t k = getline(&me.line, &me.size, stdin);
		alarm(0);
		if (k < 0) {
			if (!mpi)
				_exit(EX_GOOD);
			me.line = xrealloc(me.line, me.size = 8);
			strcpy(me.line, "quit\n");
		}
	}
	if (mpi)
		mpi_share_line(&me.line, &me.size);
	return me.line;
}

/* Joining. */

static void do_listen(const char *arg)
{
	const char *why;
	char *addr = xprintf("%.*s", (int)strcspn(arg, "\n"), arg);
	int port = 0;
	me.listener = ring_listen(addr, &port, &why);
	if (me.listener < 0)
		fault(RING_UNREACHABLE, "%s", why);
	free(addr);
	printf("port %d\n", port);
}

static void do_ring(char *arg)
{
	VEC(const char *) addr = {0};
	enum ring_fault f;
	const char *why;
	char *save, *word = strtok_r(arg, " \n", &save);
	double head[3] = {0};
	for (int i = 0; word; i++, word = strtok_r(NULL, " \n", &save)) {
		if (i < 3)
			head[i] = atof(word);
		else
			vec_push(&addr, word);
	}
	me.rank = (int)head[0];
	me.ranks = (int)head[1];
	if (me.ranks < 1 || (size_t)me.ranks != addr.n)
		fault(RING_FINE, "ring: %d ranks, %zu addresses", me.ranks, addr.n);
	me.ring = ring_open(me.rank, me.ranks, addr.a, me.listener, head[2], &f, &why);
	if (!me.ring)
		fault(f, "%s", why);
	vec_free(&addr);
	me.wire = (struct wire){ring_sum, ring_meet};
	puts("ok");
}

static void do_time(const char *arg, bool mpi)
{
	double bytes = 0;
	int count = 0;
	if (sscanf(arg, "%lf %d", &bytes, &count) != 2 || count < 1)
		fault(RING_FINE, "time: '%.60s'", arg);
	size_t n = (size_t)ceil(bytes / sizeof(float));
	double *us = xcalloc((size_t)count, sizeof *us);
	make_room(bytes);
	if (!me.wire.barrier())
		mpi_silent();
	double before = us_now();
	for (int i = 0; i < count; i++) {
		if (!me.wire.allreduce(me.data, n))
			mpi_silent();
		double now = us_now();
		us[i] = now - before;
		before = now;
	}
	if (mpi && !mpi_mean(us, count))
		mpi_silent();
	if (mpi && me.rank > 0)
		return;
	printf("us");
	for (int i = 0; i < count; i++)
		printf(" %.2f", us[i]);
	putchar('\n');
	free(us);
}

/* Tensors and plans. */

static void do_grads(const char *arg)
{
	size_t n = strtoul(arg, NULL, 10);
	me.grads.at.n = 0;
	for (size_t i = 0; i < n; i++) {
		struct grad g = {.name = ""};
		if (sscanf(next_line(false), "%lf %lf", &g.bytes, &g.ready) != 2)
			fault(RING_FINE, "grads: '%.60s'", me.line);
		vec_push(&me.grads.at, g);
	}
	puts("ok");
}

static double segment_bytes(const struct plan *p, size_t s)
{
	double sum = 0;
	for (size_t i = s ? p->last.a[s - 1] + 1 : 0; i <= p->last.a[s]; i++)
		sum += me.grads.at.a[i].bytes;
	return sum;
}

static void do_plan(const char *arg)
{
	size_t n = strtoul(arg, NULL, 10);
	struct plan p = {0};
	for (size_t i = 0; i < n; i++) {
		unsigned long last = strtoul(next_line(false), NULL, 10);
		if (last >= me.grads.at.n)
			fault(RING_FINE, "plan: '%.60s'", me.line);
		vec_push(&p.last, (uint32_t)last);
	}
	for (size_t s = 0; s < n; s++)
		make_room(segment_bytes(&p, s));
	vec_push(&me.plans, p);
	puts("ok");
}

/* Computation. */

/* Multiply-adds that no cache or memory limits, as a device would do; the answer depends on them all. */
static __attribute__((noinline)) float work(double steps)
{
	float a[16];
	for (int i = 0; i < 16; i++)
		a[i] = (float)i;
	for (double s = 0; s < steps; s++)
		for (int i = 0; i < 16; i++)
			a[i] = a[i] * 0.999f + 0.5f;
	for (int i = 1; i < 16; i++)
		a[0] += a[i];
	return a[0];
}

static volatile float worked;

static void do_work(void)
{
	double steps = 1000, us = 0;
	for (; us < 20e3; steps *= 2) { /* the last run counts */
		double start = us_now();
		worked = work(steps);
		us = us_now() - start;
		me.work_per_us = steps / us;
	}
	puts("ok");
}

static void sleep_until(double us)
{
	struct timespec t = {.tv_sec = (time_t)(us * 1e-6)};
	t.tv_nsec = (long)((us - (double)t.tv_sec * 1e6) * 1e3);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
		;
}

/* An iteration: this thread computes and hands over segments, the other one sends them in order. */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	const struct plan *plan; /* NULL: nothing to do */
	size_t posted, sent;     /* segments */
	double end;              /* us_now() when the last was sent */
	double *bytes;           /* of each segment */
} job = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0, 0, 0, NULL};

static void *communicate(void *arg)
{
	(void)arg;
	prctl(PR_SET_TIMERSLACK, 1);
	pthread_mutex_lock(&job.lock);
	for (;;) {
		while (!job.plan || job.sent == job.posted)
			pthread_cond_wait(&job.changed, &job.lock);
		size_t s = job.sent;
		pthread_mutex_unlock(&job.lock);
		me.wire.allreduce(me.data, (size_t)ceil(job.bytes[s] / sizeof(float)));
		pthread_mutex_lock(&job.lock);
		job.end = us_now();
		job.sent++;
		if (job.sent == job.plan->last.n)
			pthread_cond_broadcast(&job.changed);
	}
	return NULL;
}

static void post_segment(void)
{
	pthread_mutex_lock(&job.lock);
	job.posted++;
	pthread_cond_broadcast(&job.changed);
	pthread_mutex_unlock(&job.lock);
}

static double compute(const struct plan *p, double start, bool sleep)
{
	double done = 0;
	for (size_t s = 0; s < p->last.n; s++) {
		double ready = me.grads.at.a[p->last.a[s]].ready;
		if (sleep)
			sleep_until(start + ready);
		else
			worked = work((ready - done) * me.work_per_us);
		done = ready;
		post_segment();
	}
	return us_now();
}

static void do_iterate(const char *arg)
{
	static pthread_t thread;
	size_t index = 0;
	char mode[8] = "";
	if (sscanf(arg, "%zu %7s", &index, mode) != 2 || index >= me.plans.n)
		fault(RING_FINE, "iterate: '%.60s'", arg);
	const struct plan *p = &me.plans.a[index];
	if (!thread && pthread_create(&thread, NULL, communicate, NULL))
		fault(RING_FINE, "rank %d: no thread", me.rank);
	job.bytes = xcalloc(p->last.n + 1, sizeof *job.bytes);
	for (size_t s = 0; s < p->last.n; s++)
		job.bytes[s] = segment_bytes(p, s);
	pthread_mutex_lock(&job.lock);
	job.posted = job.sent = 0;
	job.plan = p;
	pthread_mutex_unlock(&job.lock);
	me.wire.barrier();
	double start = us_now(), end = compute(p, start, !strcmp(mode, "sleep"));
	pthread_mutex_lock(&job.lock);
	while (job.sent < p->last.n)
		pthread_cond_wait(&job.changed, &job.lock);
	job.plan = NULL;
	if (p->last.n && job.end > end)
		end = job.end;
	pthread_mutex_unlock(&job.lock);
	free(job.bytes);
	printf("took %.2f\n", end - start);
}

/* Ends the process as soon as nobody listens to it any more, whatever the other threads wait for. */
static void *watch(void *arg)
{
	(void)arg;
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLRDHUP};
	while (poll(&p, 1, -1) < 0)
		;
	_exit(EX_GOOD);
}

int grad_rank(struct tool_args *a)
{
	pthread_t watcher;
	if (a->nfile)
		die(EX_BADUSE, "rank takes no file: calibrate and run start it, and talk to it on standard input and output");
	me.listener = -1;
	prctl(PR_SET_TIMERSLACK, 1);
	if (opt.mpi)
		me.wire = mpi_wire(&me.rank, &me.ranks, opt.timeout);
	else if (pthread_create(&watcher, NULL, watch, NULL))
		die(EX_SYSTEM, "no thread");
	if (me.rank == 0)
		puts(RANK_HELLO);
	for (;;) {
		fflush(stdout);
		char *line = next_line(opt.mpi);
		size_t k = strcspn(line, " \n");
		char *arg = line + k + (line[k] == ' ');
		line[k] = 0;
		if (!strcmp(line, "listen"))
			do_listen(arg);
		else if (!strcmp(line, "ring"))
			do_ring(arg);
		else if (!strcmp(line, "time") && me.wire.allreduce)
			do_time(arg, opt.mpi);
		else if (!strcmp(line, "grads"))
			do_grads(arg);
		else if (!strcmp(line, "plan"))
			do_plan(arg);
		else if (!strcmp(line, "work"))
			do_work();
		else if (!strcmp(line, "iterate") && me.ring)
			do_iterate(arg);
		else if (!strcmp(line, "quit"))
			break;
		else
			fault(RING_FINE, "'%.60s' is not known here", line);
	}
	if (opt.mpi)
		mpi_end();
	fflush(stdout);
	_exit(EX_GOOD); /* the other threads wait for ever */
}
