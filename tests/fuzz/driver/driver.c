/* A fuzz target without libFuzzer, for make check: driver N FILE... gives it each file, then N mutants of each, the same
 * in every run (FUZZ_SEED: another one). An input that crashes it or takes more than FUZZ_SECONDS (60) of processor time is left in
 * ./culprit; FUZZ_GOES_ON=DIR: in DIR, and it goes on. What waits for something is ended as well, after far longer: a machine may be busy. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/rng.h"
#include "common/tool.h"
#include "common/vec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
/* libFuzzer's hook: a target that knows the form of its input. */
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed);

const struct tool tool = {.name = "fuzz"};

enum { LONGEST = 1 << 20, BATCH = 100, PATIENCE = 100 };
static unsigned seconds = 60;
static const char *goes_on;
static long culprits;

struct bytes {
	VEC(unsigned char) b;
};
static struct bytes now; /* what the target has */

static void keep_culprit(int sig)
{
	char path[200] = "culprit";
	if (goes_on)
		snprintf(path, sizeof path, "%s/culprit-%d", goes_on, (int)getpid());
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd >= 0 && write(fd, now.b.a, now.b.n) == (ssize_t)now.b.n)
		close(fd);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void limit(unsigned s)
{
	setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = s}, NULL);
	alarm(s * PATIENCE);
}

static void give(void)
{
	limit(seconds);
	LLVMFuzzerTestOneInput(now.b.a, now.b.n);
	limit(0);
}

static void set(struct bytes *x, const unsigned char *p, size_t n)
{
	vec_reserve(&x->b, n + 1);
	if (n)
		memcpy(x->b.a, p, n);
	x->b.n = n;
}

/* Puts m bytes in place of k at `at`. */
static void put_in_place(struct bytes *x, size_t at, size_t k, const unsigned char *p, size_t m)
{
	struct bytes y = {0};

	vec_reserve(&y.b, x->b.n - k + m + 1);
	memcpy(y.b.a, x->b.a, at);
	if (m)
		memcpy(y.b.a + at, p, m);
	memcpy(y.b.a + at + m, x->b.a + at + k, x->b.n - at - k);
	y.b.n = x->b.n - k + m;
	vec_free(&x->b);
	*x = y;
}

static void mutate(struct bytes *x, struct rng *r, const struct bytes *other)
{
	static const char *const words[] = {"-1", "0", "9223372036854775807", "1e308", "nan", "\xff\xff\xff\xff", "\n", "\t", "%", "="};
	size_t n = x->b.n, at = n ? (size_t)rng_range(r, 0, (int64_t)n - 1) : 0;
	size_t k = n ? (size_t)rng_range(r, 0, (int64_t)(n - at < 16 ? n - at : 16)) : 0;
	unsigned char byte = (unsigned char)rng_range(r, 0, 255);

	switch (n ? rng_range(r, 0, 6) : 6) {
	case 0: x->b.a[at] ^= (unsigned char)(1 << rng_range(r, 0, 7)); break;
	case 1: x->b.a[at] = byte; break;
	case 2: put_in_place(x, at, k, NULL, 0); break;
	case 3: x->b.n = at; break;
	case 4: { /* a piece of another, in place of one of its own */
		size_t from = other->b.n ? (size_t)rng_range(r, 0, (int64_t)other->b.n - 1) : 0, left = other->b.n - from;
		put_in_place(x, at, k, other->b.a + from, (size_t)rng_range(r, 0, (int64_t)(left < 64 ? left : 64)));
		break;
	}
	case 5: {
		const char *w = words[rng_range(r, 0, (int64_t)(sizeof words / sizeof *words) - 1)];
		put_in_place(x, at, k, (const unsigned char *)w, strlen(w));
		break;
	}
	default: put_in_place(x, at, 0, &byte, 1);
	}
}

static struct bytes slurp(const char *path)
{
	struct bytes x = {0};
	FILE *f = fopen(path, "rb");

	vec_reserve(&x.b, LONGEST + 1);
	if (!f) {
		perror(path);
		exit(66);
	}
	x.b.n = fread(x.b.a, 1, LONGEST, f);
	fclose(f);
	return x;
}

static void make_mutant(struct rng *r, const struct bytes *file, int files, int i)
{
	set(&now, file[i].b.a, file[i].b.n);
	if (LLVMFuzzerCustomMutator && rng_range(r, 0, 3)) {
		size_t most = 2 * now.b.n + 4096;
		vec_reserve(&now.b, most);
		now.b.n = LLVMFuzzerCustomMutator(now.b.a, now.b.n, most, (unsigned)rng_u64(r));
		return;
	}
	for (int64_t m = rng_range(r, 1, 4); m > 0; m--)
		mutate(&now, r, &file[rng_range(r, 0, files - 1)]);
}

/* Mutants first .. last-1 of file i, in a process of its own: what was refused leaves memory behind. The next to try; last: done. */
static int batch(const struct bytes *file, int files, int i, int first, int last, uint64_t seed, int *shared)
{
	int status;
	pid_t pid = fork();

	if (pid < 0) {
		perror("fork");
		exit(71);
	}
	if (pid) {
		if (waitpid(pid, &status, 0) == pid && !status)
			return last;
		if (!goes_on)
			exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
		fprintf(stderr, "file %d mutant %d: process %d ended with %d\n", i, *shared, (int)pid,
			WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
		culprits++;
		return *shared + 1;
	}
	for (int k = first; k < last; k++) {
		struct rng r = {seed << 48 ^ (uint64_t)i << 32 ^ (uint64_t)k};
		*shared = k;
		if (k)
			make_mutant(&r, file, files, i);
		else /* the first is the file itself */
			set(&now, file[i].b.a, file[i].b.n);
		give();
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	static const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGPROF, SIGALRM};
	int mutants = argc > 1 ? atoi(argv[1]) : 0, files = argc - 2;
	struct bytes *file = xcalloc((size_t)argc, sizeof *file);
	int *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t seed = getenv("FUZZ_SEED") ? strtoull(getenv("FUZZ_SEED"), NULL, 10) : 0;

	if (getenv("FUZZ_SECONDS"))
		seconds = (unsigned)atoi(getenv("FUZZ_SECONDS"));
	goes_on = getenv("FUZZ_GOES_ON");

	for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
		signal(fatal[i], keep_culprit);
	for (int i = 0; i < files; i++)
		file[i] = slurp(argv[i + 2]);
	for (int i = 0; i < files; i++)
		for (int k = 0; k <= mutants;)
			k = batch(file, files, i, k, k + BATCH < mutants + 1 ? k + BATCH : mutants + 1, seed, shared);
	if (culprits)
		printf("%ld culprits in %s\n", culprits, goes_on);
	printf("%d files, %d mutants of each\n", files, mutants);
	return culprits ? 1 : files > 0 ? 0 : 64;
}
