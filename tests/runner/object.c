/* What may not be loaded is found out before it is: libraries as they are linked here, and garbled. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/rng.h"
#include "runner/object.h"
#include "runner/toolchain.h"
#include "tap.h"

static struct arena arena;

static const char *make(const char *source)
{
	const struct toolchain *t = toolchain_find();
	const char *from = "k.c", *to = NULL;
	FILE *f = fopen(from, "w");
	int status = -1;

	if (!f || fputs(source, f) < 0 || fclose(f))
		exit(1);
	for (int i = 0; i < t->steps; i++, from = to) {
		to = arena_printf(&arena, "k%s", toolchain_suffix(t, i));
		pid_t pid = fork();
		if (pid == 0) {
			char **argv = toolchain_argv(t, i, from, to, &arena);
			execvp(argv[0], argv);
			_exit(127);
		}
		waitpid(pid, &status, 0);
		if (status)
			printf("# step %d: %d\n", i, status);
	}
	return to;
}

#define DYNAMIC(words) "__asm__(\".section .dynamic,\\\"aw\\\"\\n.quad " words "\\n.text\\n\");\n"
#define KERNEL         "void hone_kernel(float *x) { x[0] = 1; }\n"

static void test_sources(void)
{
	static const struct {
		const char *source, *pattern;
	} cases[] = {
		{KERNEL, NULL},
		{"#include <math.h>\n#include <string.h>\nstatic __thread int calls;\nstatic int big[100000];\nstatic int *at[] = {big, big + 1};\n"
		 "extern char **environ;\nchar **e(void) { return environ; }\n"
		 "void hone_kernel(float *x) { memcpy(x, x + 9, x[1]); x[0] = expf(x[1]) + sqrtf(x[2]) + calls++ + at[calls][0]++; }\n",
		 NULL},
		{"volatile int n;\n__attribute__((constructor)) static void f(void) { n++; }\n" KERNEL,
		 "runs code when it is loaded: a constructor"},
		{"volatile int n;\n__attribute__((destructor)) static void f(void) { n++; }\n" KERNEL,
		 "runs code when it is loaded: a destructor"},
		{"void _init(void) {}\n" KERNEL, "runs code when it is loaded: _init"},
		{"void _fini(void) {}\n" KERNEL, "runs code when it is loaded: _fini"},
		{"__asm__(\".section .init_array,\\\"aw\\\"\\n.quad hone_kernel\\n.text\\n\");\n" KERNEL,
		 "runs code when it is loaded: a constructor"},
		{"static void f(float *x) {}\nstatic void *choose(void) { return f; }\n"
		 "void hone_kernel(float *x) __attribute__((ifunc(\"choose\")));\n",
		 "runs code when it is loaded: an indirect function"},
		{"static void f(float *x) {}\nstatic void *choose(void) { return f; }\n"
		 "static void g(float *x) __attribute__((ifunc(\"choose\")));\nvoid hone_kernel(float *x) { g(x); }\n",
		 "runs code when it is loaded: an indirect function"},
#ifdef __x86_64__ /* tags of its own: DT_INIT; relocations in its data; relocations of the tags */
		{"int n;\nvoid f(void) { n++; }\n" DYNAMIC("12, f") KERNEL, "runs code when it is loaded: _init"},
		{"char table[4096] = \"x\";\n" DYNAMIC("23, 0x4000, 2, 24, 20, 7") KERNEL, "no library"},
		{"char table[24] = \"x\";\n" DYNAMIC("23, table, 2, 24, 20, 7") KERNEL, "not of its data"},
#endif
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *why = object_check(make(cases[i].source), &arena), *pattern = cases[i].pattern;
		ok(pattern ? why && strstr(why, pattern) : !why, "source %zu: %s", i, why ? why : "may be loaded");
	}
}

/* Bytes changed, or cut off: no read outside of what is there (make asan-check). */
static void test_garbled(void)
{
	enum { RUNS = 20000, MOST = 1 << 16 };
	FILE *f = fopen(make(KERNEL), "r");
	unsigned char *all = malloc(MOST);
	size_t n = f ? fread(all, 1, MOST, f) : 0;
	struct rng r = {5};
	int refused = 0;

	if (f)
		fclose(f);
	for (int run = 0; run < RUNS; run++) {
		size_t m = run % 4 ? n : (size_t)rng_range(&r, 0, (int64_t)n);
		unsigned char *p = malloc(m + !m);
		memcpy(p, all, m);
		for (int64_t k = rng_range(&r, 1, 4); k > 0 && m; k--) {
			size_t at = (size_t)rng_range(&r, 0, (int64_t)m - 1), head = (size_t)rng_range(&r, 0, 1023);
			p[run % 2 || head >= m ? at : head] = (unsigned char)rng_u64(&r);
		}
		refused += object_check_bytes(p, m) != NULL;
		free(p);
	}
	ok(n && refused > RUNS / 5 && refused < RUNS, "garbled: %d of %d refused", refused, RUNS);
	free(all);
}

int main(void)
{
	test_sources();
	test_garbled();
	arena_release(&arena);
	return tap_done();
}
