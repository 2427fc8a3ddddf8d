/* Rates: measured by the backend's loops, kept in a file of text. */
#define _GNU_SOURCE
#include "target/rate.h"
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "common/arena.h"
#include "common/intern.h"
#include "common/msg.h"
#include "common/outfile.h"
#include "common/progress.h"
#include "common/textfile.h"
#include "target/backend.h"

/* Rates that every kind of CPU has stand first. */
static const char *const common[RATE_OWN] = {[RATE_L2] = "l2", [RATE_MEMORY] = "memory", [RATE_SHARED] = "shared"};

static const struct rate *own_rate(const struct backend *of, int i)
{
	const struct rate *r = of->process.rate;

	for (i -= RATE_OWN; r && r->name && i > 0; i--)
		r++;
	return r && r->name ? r : NULL;
}

const char *rate_name(const struct target *t, int i)
{
	if (i < RATE_OWN)
		return common[i];
	const struct rate *r = i < RATES_MAX ? own_rate(backend_of(t), i) : NULL;
	return r ? r->name : NULL;
}

double target_rate(const struct target *t, const char *name)
{
	const char *of;

	for (int i = 0; (of = rate_name(t, i)); i++)
		if (!strcmp(of, name)) {
			unsigned needs = i < RATE_OWN ? 0 : own_rate(backend_of(t), i)->features;
			return (t->features & needs) == needs ? t->rate[i] : 0;
		}
	return 0;
}

double target_fma_rate(const struct target *t)
{
	return target_rate(t, t->vector_bytes == 64 ? "fma512" : t->vector_bytes == 32 ? "fma256" : "fma128");
}

/* ---- measuring ---- */

/* Steps until a call takes 100 microseconds or so: short of a timer tick, long against the clock. */
static double best_steps(const struct rate *r, double seconds)
{
	const long n = 5000;
	double best = 0, end = now_seconds() + seconds;

	do {
		double t = now_seconds();
		r->steps(n);
		t = now_seconds() - t;
		if (n * r->ops / t > best)
			best = n * r->ops / t;
	} while (now_seconds() < end);
	return best;
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
			return best_steps(r, seconds);
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

/* Bytes a second of one pass over p. */
static double read_once(const void *p, size_t bytes)
{
	void (*read)(const void *, size_t) = backend_here()->process.read;
	double t = now_seconds();

	(read ? read : read_all)(p, bytes);
	return bytes / (now_seconds() - t);
}

static double best_reads(size_t bytes, double seconds)
{
	void *p = bytes_to_read(bytes);
	double best = 0, end = now_seconds() + seconds;

	do
		best = fmax(best, read_once(p, bytes));
	while (now_seconds() < end);
	munmap(p, bytes);
	return best;
}

/* A thread on another core, which writes the bytes each time before they are read. */
struct writer {
	char *p;
	size_t bytes;
	atomic_int turn; /* whose: */
};
enum { READS, WRITES, ENDS };

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
static double best_shared(size_t bytes, double seconds)
{
	struct writer w = {.p = bytes_to_read(bytes), .bytes = bytes};
	double best = 0, end = now_seconds() + seconds;
	pthread_t thread;

	if (start_writer(&thread, &w)) {
		do {
			atomic_store_explicit(&w.turn, WRITES, memory_order_release);
			while (atomic_load_explicit(&w.turn, memory_order_acquire) == WRITES)
				;
			best = fmax(best, read_once(w.p, bytes));
		} while (now_seconds() < end);
		atomic_store(&w.turn, ENDS);
		pthread_join(thread, NULL);
	}
	munmap(w.p, bytes);
	return best;
}

/* More than all caches hold, within reason. */
static size_t memory_bytes(const struct target *t)
{
	enum { LEAST = 64 << 20, MOST = 512 << 20 };
	size_t n = 2 * (size_t)t->l3;

	return n < LEAST ? LEAST : n > MOST ? MOST : n;
}

double rate_measure(int i, double seconds)
{
	const struct target *t = target_host();

	const size_t half_l2 = (size_t)t->l2 / 2 & ~(size_t)4095;

	if (i == RATE_L2)
		return best_reads(half_l2, seconds);
	if (i == RATE_SHARED)
		return best_shared(half_l2, seconds);
	if (i == RATE_MEMORY)
		return best_reads(memory_bytes(t), seconds);
	const struct rate *r = own_rate(backend_here(), i);
	return r && backend_of(t) == backend_here() && (t->features & r->features) == r->features ? best_steps(r, seconds) : 0;
}

/* ---- as text ---- */

enum { GIGA = 1000000000 };

static bool parse_rate(struct target *t, const char *s, size_t n)
{
	const char *colon = memchr(s, ':', n), *name;
	char *end;

	if (!colon)
		return false;
	double v = strtod(colon + 1, &end);
	if (end != s + n || !(v > 0) || !isfinite(v))
		return false;
	for (int i = 0; (name = rate_name(t, i)); i++)
		if (strlen(name) == (size_t)(colon - s) && !strncmp(name, s, (size_t)(colon - s)))
			t->rate[i] = v * GIGA;
	return true;
}

bool rates_parse(struct target *t, const char *text, size_t n)
{
	memset(t->rate, 0, sizeof t->rate);
	for (const char *end = text + n; text < end;) {
		const char *comma = memchr(text, ',', (size_t)(end - text));
		size_t k = (size_t)((comma ? comma : end) - text);
		if (!parse_rate(t, text, k))
			return false;
		text += k + (comma != NULL);
	}
	return true;
}

const char *rates_text(const struct target *t)
{
	sym s = intern("");
	const char *name;

	for (int i = 0; (name = rate_name(t, i)); i++)
		if (t->rate[i] > 0)
			s = intern_printf("%s%s%s:%.4g", sym_str(s), *sym_str(s) ? "," : "", name, t->rate[i] / GIGA);
	return sym_str(s);
}

/* ---- the file ---- */

const char *rates_path(void)
{
	const char *env = getenv("HONE_RATES");

	if (env && *env)
		return env;
	if ((env = getenv("XDG_DATA_HOME")) && *env == '/')
		return sym_str(intern_printf("%s/hone/rates", env));
	return (env = getenv("HOME")) && *env ? sym_str(intern_printf("%s/.local/share/hone/rates", env)) : NULL;
}

/* What the line of a machine begins with. */
static const char *line_start(const struct target *t) { return sym_str(intern_printf("%s;rates=", target_cpu(t))); }

void rates_read(struct target *t)
{
	const char *path = rates_path(), *start = line_start(t);
	FILE *f = path ? fopen(path, "re") : NULL;
	char *line = NULL;
	size_t size = 0;

	while (f && textfile_line(f, path, &line, &size))
		if (!strncmp(line, start, strlen(start)) && !rates_parse(t, line + strlen(start), strcspn(line + strlen(start), "\n")))
			die(EX_BADDATA, "%s: %.80s: rates are NAME:NUMBER; run-dev --probe measures them", path, line);
	free(line);
	if (f)
		fclose(f);
}

static void make_directories(const char *path)
{
	char *copy = xstrdup(path);

	for (char *s = copy + 1; (s = strchr(s, '/')); *s++ = '/') {
		*s = 0;
		if (mkdir(copy, 0777) && errno != EEXIST)
			die(EX_IO, "%s: %s", copy, strerror(errno));
	}
	free(copy);
}

void rates_write(const struct target *t)
{
	const char *path = rates_path(), *start = line_start(t);
	struct outfile out;
	char *line = NULL;
	size_t size = 0;

	if (!path)
		die(EX_IO, "no home for the rates; HONE_RATES names their file");
	make_directories(path);
	FILE *f = fopen(path, "re");
	outfile_open(&out, path, false);
	while (f && textfile_line(f, path, &line, &size))
		if (strncmp(line, start, strlen(start)))
			fputs(line, out.f);
	fprintf(out.f, "%s%s\n", start, rates_text(t));
	free(line);
	if (f)
		fclose(f);
	outfile_close(&out);
}
