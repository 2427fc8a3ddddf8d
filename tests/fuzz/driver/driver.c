/* A fuzz target without libFuzzer, for make check: driver N FILE... gives it each file, then N mutants of each, the same
 * in every run. An input that crashes it or takes a minute is left in ./culprit. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/rng.h"
#include "common/tool.h"
#include "common/vec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

const struct tool tool = {.name = "fuzz"};

enum { LONGEST = 1 << 16, SECONDS = 60, BATCH = 250 };

struct bytes {
	VEC(unsigned char) b;
};
static struct bytes now; /* what the target has */

static void keep_culprit(int sig)
{
	int fd = open("culprit", O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd >= 0 && write(fd, now.b.a, now.b.n) == (ssize_t)now.b.n)
		close(fd);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void give(void)
{
	alarm(SECONDS);
	LLVMFuzzerTestOneInput(now.b.a, now.b.n);
	alarm(0);
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

/* Mutants first .. last-1 of file i, in a process of its own: what was refused leaves memory behind. */
static void batch(const struct bytes *file, int files, int i, int first, int last)
{
	struct rng r = {(uint64_t)i << 32 | (uint64_t)first};
	int status;
	pid_t pid = fork();

	if (pid < 0) {
		perror("fork");
		exit(71);
	}
	if (pid) {
		if (waitpid(pid, &status, 0) != pid || status)
			exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
		return;
	}
	for (int k = first; k < last; k++) {
		set(&now, file[i].b.a, file[i].b.n);
		for (int64_t m = k ? rng_range(&r, 1, 4) : 0; m > 0; m--) /* the first is the file itself */
			mutate(&now, &r, &file[rng_range(&r, 0, files - 1)]);
		give();
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	static const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM};
	int mutants = argc > 1 ? atoi(argv[1]) : 0, files = argc - 2;
	struct bytes *file = xcalloc((size_t)argc, sizeof *file);

	for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
		signal(fatal[i], keep_culprit);
	for (int i = 0; i < files; i++)
		file[i] = slurp(argv[i + 2]);
	for (int i = 0; i < files; i++)
		for (int k = 0; k <= mutants; k += BATCH)
			batch(file, files, i, k, k + BATCH < mutants + 1 ? k + BATCH : mutants + 1);
	printf("%d files, %d mutants of each\n", files, mutants);
	return files > 0 ? 0 : 64;
}
