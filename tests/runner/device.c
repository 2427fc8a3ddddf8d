/* The runner's service, with an oracle of its own (small_oracle.h). As "device --serve" it is the service; without arguments it
 * tests one that it starts, with files those candidates on it. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/progress.h"
#include "common/rng.h"
#include "runner/confine.h"
#include "runner/sandbox.h"
#include "runner/wire.h"
#include "runner/service.h"
#include "runner/toolchain.h"
#include "runner/noise_probe.h"
#include "serve_client.h"
#include "small_oracle.h"

static void test_verdicts(void)
{
	static const struct {
		const char *body, *pattern, *what;
		enum verdict v;
	} cases[] = {
		{"\tfor (int k = 0; k < 3; k++)\n\t\tfor (int i = 0; i < 5000; i++)\n\t\t\t((volatile float *)c)[i] = 2 * a[i] + b[i];",
		 NULL, "three times", VERDICT_SLOWER},
		{"\tc[0] = *;", "error:", "no C", VERDICT_BUILD},
		{"\tfor (int i = 0; i < 4999; i++)\n\t\tc[i] = 2 * a[i] + b[i];", "element 4999", "tail dropped", VERDICT_WRONG},
		{"\tfor (int i = 0; i < 5001; i++)\n\t\tc[i] = 2 * a[i] + b[i];", "result 0", "one too many", VERDICT_CRASH},
		{"\tfor (int i = 0; i < 5000; i++)\n\t\tc[i] = 2 * a[i] + b[i];\n\tc[-1] = 0;", "before its begin", "one before",
		 VERDICT_CRASH},
		{"\tfor (int i = 0; i < 5000; i++)\n\t\tc[i] = 2 * a[i] + b[i];\n\t((float *)a)[0] = 1;", "wrote to input 0",
		 "writes an input", VERDICT_CRASH},
		{"\tstatic int calls;\n\tfor (int i = 0; i < 5000 && !calls; i++)\n\t\tc[i] = 2 * a[i] + b[i];\n\tcalls++;", "element 0",
		 "only the first call", VERDICT_WRONG},
		{"\tstatic int calls;\n\tfor (int i = 0; i < 5000 && calls < 40; i++)\n\t\tc[i] = 2 * a[i] + b[i];\n\tcalls++;", "element",
		 "stops working when timed", VERDICT_WRONG},
		{"\tstatic int calls;\n\tfor (int i = 0; i < 5000; i++)\n\t\tc[i] = 2 * a[i] + b[i];\n\tif (calls++ > 40)\n\t\tc[5000] = 0;",
		 "behind its end", "writes behind its result when timed", VERDICT_CRASH},
		{"\tif (((unsigned *)c)[4999] != ~0u)\n\t\treturn;\n\tfor (int i = 0; i < 5000; i++)\n\t\tc[i] = 2 * a[i] + b[i];",
		 "element", "computes where there is no result", VERDICT_WRONG},
		{"\tstatic float last;\n\tif (((unsigned *)c)[4999] != ~0u && a[0] == last)\n\t\treturn;\n\tlast = a[0];\n"
		 "\tfor (int i = 0; i < 5000; i++)\n\t\tc[i] = 2 * a[i] + b[i];",
		 "element", "computes where its input is another", VERDICT_WRONG},
		{"\tfor (int i = 0; i < 5000; i++)\n\t\tc[i] = 0.0f / 0.0f;", "nan", "NaN", VERDICT_WRONG},
		{"\tfor (;;)\n\t\t*(volatile float *)c = 0;", "not done", "never ends", VERDICT_TIMEOUT},
		{"\t*(volatile int *)0 = 1;", "Segmentation fault", "crash", VERDICT_CRASH},
	};

	use_scale(5000);
	struct runner_answer base = build(scale);
	ok(!base.error && base.result.verdict == VERDICT_COUNT, "a build%s%s", base.why ? ": " : "", base.why ? base.why : "");
	runner_try(runner, &(struct runner_try){.task = task, .artifact = base.digest, .base = base.digest, .budget = AMPLE, .seed = 1});
	is(next(), VERDICT_TIE, NULL, "against itself");
	/* A pair of 200 ns can be told apart by where a process has its pages, about once in a hundred: then not again. */
	int apart = 0;
	double ratio[3];
	for (int i = 0; i < 3; i++) {
		char *body = xprintf("\tfor (int i = 0; i < 5000; i++)\n\t\tc[i] = 2 * a[i] + b[i]%*s;", i + 1, "");
		struct runner_answer x = try(body, base.digest, 0.5);
		apart += x.error || (x.result.verdict != VERDICT_TIE && x.result.verdict != VERDICT_UNSURE);
		ratio[i] = x.result.ratio;
		free(body);
	}
	ok(apart <= 1, "the same in other libraries: %.3f, %.3f, %.3f, %d told apart", ratio[0], ratio[1], ratio[2], apart);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		is(try(cases[i].body, base.digest, cases[i].v == VERDICT_SLOWER ? AMPLE : 0.5), cases[i].v, cases[i].pattern,
		   cases[i].what);
}

/* Where the right result is infinite, all that is not is wrong. */
static void test_infinite(void)
{
	use_elements("steep", 5000);
	struct runner_answer base = build(scale);
	is(try(scale, base.digest, AMPLE), VERDICT_TIE, NULL, "infinite where it should be");
	is(try("\tfor (int i = 0; i < 5000; i++)\n\t\tc[i] = i ? 2 * a[i] + b[i] : 1e30f;", base.digest, 0.5), VERDICT_WRONG, "element 0",
	   "finite where it is infinite");
	is(try("\tfor (int i = 0; i < 5000; i++)\n\t\tc[i] = i ? 2 * a[i] + b[i] : -b[i];", base.digest, 0.5), VERDICT_WRONG, "element 0",
	   "the other infinity");
}

/* A kernel that is three times as slow where it finds the constants in the same place as in the call before. */
static void test_cold_weights(void)
{
	/* What is counted is turns that keep nothing busy but the loop itself: where buffers lie does not change it. */
	static const char again[] =
		"\tstatic const float *last;\n\tfor (int i = 0; i < 5000; i++)\n\t\tc[i] = 2 * a[i] + b[i];\n"
		"\tfor (int k = 0, n = b == last ? 60000 : 20000; k < n; k++)\n\t\t__asm__ volatile(\"\");\n\tlast = b;";
	static const char once[] =
		"\tfor (int i = 0; i < 5000; i++)\n\t\tc[i] = 2 * a[i] + b[i];\n"
		"\tfor (int k = 0; k < 20000; k++)\n\t\t__asm__ volatile(\"\");";
	static const uint64_t cold_files[] = {0, 1 << 20};

	use_scale(5000);
	struct runner_answer base = build(once), x = build(again);
	for (int i = 0; i < 2; i++) {
		runner_try(runner, &(struct runner_try){.task = task,
							.artifact = x.digest,
							.base = base.digest,
							.budget = 1,
							.seed = 3,
							.cold_bytes = cold_files[i]});
		struct runner_answer y = next();
		bool slow = y.result.ratio > 2;
		ok(!y.error && y.result.npairs && slow == !cold_files[i], "constants %s: %.3f of the time",
		   i ? "in turn" : "where they were", y.result.ratio);
	}
}

/* Constants that are stored in another way than the base's: in turn the candidate is timed on the base's, in which it finds no
 * marks and takes another time; what it computes is looked at with its own. */
static void test_foreign(void)
{
	static const char base[] =
		"\tfor (int i = 0; i < 5000; i++)\n\t\tc[i] = 2 * a[i] + b[i];\n"
		"\tfor (int k = 0; k < 60000; k++)\n\t\t__asm__ volatile(\"\");";
	static const char marked[] =
		"\tfor (int i = 0; i < 5000; i++)\n\t\tc[i] = 2 * a[i] + b[4999 - i];\n"
		"\tfor (int k = 0, n = b[5000] == %d ? %d : %d; k < n; k++)\n\t\t__asm__ volatile(\"\");";
	static const struct {
		uint64_t cold_bytes;
		int own, foreign; /* turns with the marks, and without */
		enum verdict v;
	} cases[] = {
		{0, 60000, 180000, VERDICT_TIE},
		{1 << 20, 60000, 180000, VERDICT_SLOWER},
		{1 << 20, 10000, 10000, VERDICT_FASTER},
	};

	use_scale(5000);
	struct runner_answer x = build(base);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		ask_build_stored(arena_printf(&arena, marked, MARK, cases[i].own, cases[i].foreign), "marked", MARKS);
		struct runner_answer y = next();
		runner_try(runner, &(struct runner_try){.task = task,
							.artifact = y.digest,
							.base = x.digest,
							.budget = 1,
							.seed = 3,
							.cold_bytes = cases[i].cold_bytes});
		struct runner_answer z = next();
		/* Two loops of as many turns differ by where their code lies; one of three times as many is three times as slow. */
		bool near = verdict_timed(z.result.verdict) && z.result.ratio > 0.6 && z.result.ratio < 1.6;
		bool as_wanted = z.result.verdict == cases[i].v || (cases[i].v == VERDICT_TIE && near);
		ok(!z.error && z.result.npairs && as_wanted, "constants that lie another way, %s, %s: %.3f of the time%s%s",
		   cases[i].cold_bytes ? "in turn" : "where they were", verdict_name(cases[i].v), z.result.ratio, z.why ? ", " : "",
		   z.why ? z.why : "");
	}
}

/* Wrong where an element dwarfs the others. A search's first look at it sees that only if it is faster. */
static void test_adversarial(void)
{
	static const char body[] =
		"\tfor (int r = 0; r < %d; r++) {\n\t\tfor (int i = 0; i < 1000; i++)\n\t\t\tc[i] = 2 * a[i] + b[i]%s;\n"
		"\t\t__asm__ volatile(\"\" ::: \"memory\");\n\t}";
	static const char fault[] = " + (a[i] > 1000 ? 1e6f : 0)";
	static const struct {
		int times;
		bool once;
		enum verdict v;
	} want[] = {{30, false, VERDICT_WRONG}, {5, false, VERDICT_WRONG}, {30, true, VERDICT_SLOWER}, {5, true, VERDICT_WRONG}};

	use_scale(1000);
	struct runner_answer base = build(arena_printf(&arena, body, 15, ""));
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		struct runner_answer x = build(arena_printf(&arena, body, want[i].times, fault));
		runner_try(runner, &(struct runner_try){
					   .task = task, .artifact = x.digest, .base = base.digest, .budget = AMPLE, .once = want[i].once});
		is(next(), want[i].v, want[i].v == VERDICT_WRONG ? "element" : NULL,
		   arena_printf(&arena, "wrong on adversarial inputs, %s%s", want[i].times > 15 ? "slower" : "faster",
				want[i].once ? ", timed once" : ""));
	}
}

/* A kernel that is as fast as its process happens to be: the interval holds what two of them say, or one where that will do. In a phase
 * that slows each call anew a try may come to the end of its time: it is unsure then, and another is made, but it is never wrong. */
static void test_once(void)
{
	enum { ENOUGH = 12, TRIES = 16 * ENOUGH };
	/* The first byte of the environment is what all libraries of a process share. */
	static const char body[] =
		"\tstatic int turns;\n\textern char **environ;\n\tstruct { long s, ns; } t;\n"
		"\textern int clock_gettime(int, void *);\n\tif (!turns && **environ != 1 && **environ != 2) {\n"
		"\t\tclock_gettime(1, &t);\n\t\t**environ = 1 + (char)(t.ns * 0x9e3779b97f4a7c15u >> 63);\n\t}\n\tturns = **environ == 1 ? 36000 : 44000;\n"
		"\tfor (int i = 0; i < 5000; i++)\n\t\tc[i] = 2 * a[i] + b[i];\n"
		"\tint n = turns;\n\tfor (int k = 0; k < n; k++)\n\t\t__asm__ volatile(\"\");";
	static const char usual[] =
		"\tstatic volatile int turns = 50000;\n\tint n = turns;\n\tfor (int i = 0; i < 5000; i++)\n\t\tc[i] = 2 * a[i] + b[i];\n"
		"\tfor (int k = 0; k < n; k++)\n\t\t__asm__ volatile(\"\");";
	int wide[2] = {0}, good[2] = {0}, bad = 0, i = 0;

	use_scale(5000);
	struct runner_answer base = build(usual), x = build(body);
	for (; i < TRIES && (good[0] < ENOUGH || good[1] < ENOUGH); i++) {
		runner_try(runner, &(struct runner_try){.task = task,
							.artifact = x.digest,
							.base = base.digest,
							.budget = 1,
							.seed = (uint64_t)i,
							.width = 0.05,
							.once = i % 2});
		struct runner_answer y = next();
		good[i % 2] += !y.error && y.result.verdict == VERDICT_FASTER;
		if (y.error || (y.result.verdict != VERDICT_FASTER && y.result.verdict != VERDICT_UNSURE)) {
			printf("# try %d: %s of %zu pairs, %.3f (%.3f .. %.3f): %s\n", i,
			       y.error ? "an error" : verdict_name(y.result.verdict), y.result.npairs, y.result.ratio, y.result.lo,
			       y.result.hi,
			       y.why          ? y.why
			       : y.result.why ? y.result.why
					      : "");
			bad++;
		}
		wide[i % 2] += y.result.verdict == VERDICT_FASTER && y.result.hi > 1.12 * y.result.lo;
	}
	ok(good[0] >= ENOUGH && good[1] >= ENOUGH && !bad && wide[0] && !wide[1],
	   "as fast as its process is: two of them differ in %d of %d tries, one in %d of %d (%d tries, %d wrong)", wide[0], good[0],
	   wide[1], good[1], i, bad);
}

/* More sets of constants than the service keeps files for, and again: each kernel finds its own. */
static void test_cold_kept(void)
{
	enum { KERNELS = 11, TIMES = 2 };
	int good = 0;

	for (int i = 0; i < TIMES * KERNELS; i++) {
		int n = 4000 + 100 * (i % KERNELS);
		char *body = xprintf("\tfor (int i = 0; i < %d; i++)\n\t\tc[i] = 2 * a[i] + b[i];", n);
		use_scale(n);
		struct runner_answer x = build(body);
		runner_try(runner,
			   &(struct runner_try){
				   .task = task, .artifact = x.digest, .base = x.digest, .budget = 0.01, .seed = 3, .cold_bytes = 1 << 20});
		x = next();
		bool right = !x.error && (x.result.verdict <= VERDICT_TIE || x.result.verdict == VERDICT_UNSURE);
		if (!right)
			printf("# %s: %s\n", x.error ? "error" : verdict_name(x.result.verdict), x.why ? x.why : "");
		good += right;
		free(body);
	}
	ok(good == TIMES * KERNELS, "sets of constants of %d kernels, in turn: %d of %d are right", KERNELS, good, TIMES * KERNELS);
}

static void test_matmul(void)
{
	static const char naive[] =
		"\tfor (int i = 0; i < 32; i++)\n\t\tfor (int j = 0; j < 48; j++) {\n\t\t\tfloat s = 0;\n"
		"\t\t\tfor (int k = 0; k < 100; k++)\n\t\t\t\ts += a[i * 100 + k] * b[k * 48 + j];\n\t\t\tc[i * 48 + j] = s;\n\t\t}";

	use_matmul(32, 100, 48);
	struct runner_answer base =
		build(arena_printf(&arena, "\tfor (int r = 0; r < 3; r++) {\n%s\n\t\t__asm__ volatile(\"\" ::: \"memory\");\n\t}", naive));
	is(try(naive, base.digest, AMPLE), VERDICT_FASTER, NULL, "once, not three times");
	is(try("\tfor (int i = 0; i < 32 * 48; i++)\n\t\tc[i] = 0;", base.digest, 1), VERDICT_WRONG, "of 1536 are wrong", "zeros");
}

static void test_errors(void)
{
	struct runner_answer x;

	runner_task(runner, "sort 3");
	x = next();
	ok(x.error && strstr(x.why, "neither matmul nor scale"), "no such task: %s", x.why);
	runner_try(runner, &(struct runner_try){
				   .task = task, .artifact = (struct digest){1, 2}, .base = (struct digest){1, 2}, .budget = 1, .seed = 1});
	x = next();
	ok(x.error && strstr(x.why, "no such artifact"), "no such artifact: %s", x.why);
	sizes[0]--;
	x = build(scale);
	ok(x.error && strstr(x.why, "not row-major"), "buffers that do not fit: %s", x.why);
	sizes[0]++;
	struct runner_buf buf[3];
	for (int i = 0; i < 3; i++)
		buf[i] = (struct runner_buf){"f32", 1, &sizes[i], "", sizes[i], 0};
	int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	struct runner_build b = {"int hone_kernel;", 16, NULL, memory / 4 - 4 * sizes[0], 1, 1, 1, buf};
	runner_build(runner, task, &b);
	x = next();
	ok(x.error && strstr(x.why, "too large"), "buffers and workspace of more than a quarter of the memory: %s", x.why ? x.why : "");
}

/* Many builds at once are answered by their ids; tries as well. */
static void test_many(void)
{
	enum { N = 12 };
	uint64_t id[N];
	struct digest d[N];
	int good = 0;

	use_scale(5000);
	for (int i = 0; i < N; i++)
		id[i] = ask_build(
			arena_printf(&arena, "\tfor (int i = 0; i < 5000; i++)\n\t\tc[i] = 2 * a[i] + b[i];\n\tworkspace[0] = %d;", i));
	for (int i = 0; i < N; i++) {
		struct runner_answer x = next();
		for (int k = 0; k < N; k++)
			if (x.id == id[k] && x.result.verdict == VERDICT_COUNT) {
				d[k] = x.digest;
				good++;
			}
	}
	ok(good == N, "builds side by side");
	for (int i = 0; i < N; i++)
		runner_try(runner, &(struct runner_try){.task = task, .artifact = d[i], .base = d[0], .budget = 0.05, .seed = (uint64_t)i});
	good = 0;
	for (int i = 0; i < N; i++) {
		struct runner_answer x = next();
		good += !x.error && x.result.npairs > 0;
		if (x.error || !x.result.npairs)
			printf("# %s: %s\n", x.error ? "error" : verdict_name(x.result.verdict), x.why ? x.why : "");
	}
	ok(good == N, "tries one after another");
}

static void test_noise_probe(void)
{
	struct noise_probe a, b;
	int file = noise_probe_file(0), n = 0;
	double now = 0;

	noise_probe_open(&a, file);
	ok(noise_probe_quiet(&a, 1), "a noise probe of which nothing is known");
	noise_probe_note(&a, 1.5, now += NOISE_PROBE_EVERY);
	noise_probe_note(&a, 1, now += NOISE_PROBE_EVERY);
	noise_probe_note(&a, 2, now += NOISE_PROBE_EVERY);
	ok(noise_probe_quiet(&a, 1.05) && !noise_probe_quiet(&a, 1.2), "the least of a few is what it takes");
	noise_probe_open(&b, file);
	ok(noise_probe_quiet(&b, 1.05) && !noise_probe_quiet(&b, 1.2), "others know it too");
	for (int i = 0; i < 1000; i++)
		noise_probe_note(&b, 1.3, now + i * NOISE_PROBE_EVERY / 1000);
	ok(!noise_probe_quiet(&b, 1.2), "many at once count as one");
	for (int i = 0; i < 1000; i++) {
		noise_probe_note(&b, i % 20 ? 1.3 : 1, now += NOISE_PROBE_EVERY);
		n += i > 100 && !noise_probe_quiet(&b, 1.3);
	}
	ok(!n && !noise_probe_quiet(&b, 1.5), "what is slow for 95%% of the time is what it is: not so %d times", n);
	for (int i = 0; i < 1000; i++)
		noise_probe_note(&b, i % 2 ? 1.3 : 1, now += NOISE_PROBE_EVERY);
	ok(noise_probe_quiet(&b, 1.05) && !noise_probe_quiet(&b, 1.2), "what is slow for half of it is");
	n = 0;
	for (; !noise_probe_quiet(&b, 1.3) && n < 1000; n++)
		noise_probe_note(&b, 1.3, now += NOISE_PROBE_EVERY);
	ok(n > 50 && n < 1000, "what is slow for good is not after %d times", n);
	close(file);
	double t = noise_probe_take(100);
	ok(t > 1e-8 && t < 1e-3, "it takes %.3g us", 1e6 * t);
}

/* A service that takes the machine to be in a slow phase: what is tried is tried again, and in the end as it is; what else
 * runs stands still meanwhile, but not for longer. */
static void test_slow_phase(const char *self)
{
	enum { N = 4 };
	struct runner *usual = runner;
	const char *why;
	int tried = 0, built = 0;

	if (!ok((runner = runner_open(arena_printf(&arena, "exec %s --slow", self), 10, &arena, &why)) != NULL, "a runner in a slow phase"))
		return;
	use_scale(5000);
	struct digest base = build(scale).digest;
	double t = now_seconds();
	runner_try(runner, &(struct runner_try){.task = task, .artifact = base, .base = base, .budget = 0.2, .seed = 3});
	for (int i = 0; i < N; i++)
		ask_build(arena_printf(&arena, "%s\n\tworkspace[0] = %d;", scale, i));
	for (int i = 0; i < N + 1; i++) {
		struct runner_answer x = next();
		tried += x.result.npairs > 0;
		built += !x.error && !x.ended && x.result.verdict == VERDICT_COUNT;
	}
	t = now_seconds() - t;
	ok(tried == 1 && t > 31 * 0.05, "a try in a slow phase is made again, then as it is (%.2f s)", t);
	ok(built == N, "builds beside it go on");
	runner_close(runner);
	runner = usual;
}

/* Builds that wait for ever, or write for ever, or have no room; others go on. */
static void test_builds(const char *self)
{
	struct runner *usual = runner;
	const char *why;
	enum { SOURCE = 1 << 20 };

	if (toolchain_find()->steps == 1) {
		ok(true, "builds that do not end # SKIP the compiler is not GCC");
		return;
	}
	/* files of this service itself end at some 100 KB */
	runner = runner_open(arena_printf(&arena, "trap '' XFSZ; ulimit -f 200; exec %s --hasty", self), 10, &arena, &why);
	if (!ok(runner != NULL, "a runner with little room"))
		return;
	use_scale(50);
	if (strcmp(confine_kind(), "nothing"))
		is(build("#include \"/etc/passwd\""), VERDICT_BUILD, "passwd: No such file or directory",
		   "a compiler that has just begun sees no files");
	double t = now_seconds();
	ask_build_endless();
	is(next(), VERDICT_BUILD, "not done after 2 seconds", "text without an end");
	ok(now_seconds() - t < 5, "it is ended (%.2f s)", now_seconds() - t);
	struct runner_answer x = build(arena_printf(&arena, "%s\n/*%*s*/", scale, SOURCE, ""));
	ok(x.error && strstr(x.why, "its source cannot be written"), "no room: %s", x.why ? x.why : "");
	x = build(scale);
	ok(!x.error && !x.ended && x.result.verdict == VERDICT_COUNT, "the next is built%s%s", x.why ? ": " : "", x.why ? x.why : "");
	runner_close(runner);
	runner = usual;
	use_scale(5000);
	for (int i = 0; i < 2; i++)
		is(build(arena_printf(&arena, "\tstatic char x[1L << 36] = {1};\n\t*c = x[(int)*a + %d];", i)), VERDICT_BUILD,
		   "File size limit", "a library of 64 GB");
}

/* Compilers that wait, of the service whose directory is here. */
static int count_warm(void)
{
	int n = 0;
	FILE *f = popen("grep -lsz $PWD/here/.*/[w]arm.c /proc/[0-9]*/cmdline | wc -l", "r");

	if (f && fscanf(f, "%d", &n) != 1)
		n = 0;
	if (f)
		pclose(f);
	return n;
}

/* No lock, no times; a job that dies takes nothing with it. */
static void test_surroundings(const char *self)
{
	struct runner *usual = runner;
	const char *why;
	int before = 0;

	runner = runner_open(
		arena_printf(&arena, "mkdir -p here/hone-device.lock && TMPDIR=$PWD/here XDG_RUNTIME_DIR=$PWD/here exec %s --serve", self),
		10, &arena, &why);
	if (!ok(runner != NULL, "a runner of other directories"))
		return;
	use_scale(5000);
	struct digest base = build(scale).digest;
	struct runner_answer x = try("\tfor (int i = 0; i < 5000; i++)\n\t\tc[i] = b[i] + 2 * a[i];", base, 0.1);
	ok(x.error && strstr(x.why, "hone-device.lock"), "a lock that cannot be had: %s", x.why ? x.why : verdict_name(x.result.verdict));
	for (int i = 0; i < 100 && !before; i++) {
		usleep(50000);
		before = count_warm();
	}
	runner_task(runner, "die");
	x = next();
	usleep(50000);
	ok(x.error && count_warm() == before, "a job that dies leaves the compiler (%d): %s", before, x.why ? x.why : "");
	runner_close(runner);
	runner = usual;
}

/* The kernel is asked whether a process has its filters. */
static void test_sealed(void)
{
	bool sealed[2];

	for (int i = 0; i < 2; i++) {
		struct isolate_limits limits = {1 << 30, 10, .fault = calloc(1, sizeof *limits.fault)};
		int fd[2];
		char c = 0;
		if (pipe(fd))
			return;
		limits.channel = fd[1];
		pid_t pid = isolate_fork();
		if (pid == 0) {
			bool good = !isolate_enter(&limits) && (!i || !isolate_seal(&limits));
			if (write(limits.channel, &good, 1) == 1)
				for (;;)
					;
		}
		close(fd[1]);
		ok(read(fd[0], &c, 1) == 1 && c, "a process with %d filters", i + 1);
		sealed[i] = isolate_sealed(pid);
		isolate_kill(pid);
		close(fd[0]);
	}
	ok(sealed[1] && (!sealed[0] || system("grep -q Seccomp_filters /proc/self/status")), "one that is not sealed is found out: %d, %d",
	   sealed[0], sealed[1]);
}

/* ---- bytes on the wire ---- */

/* A session as a client would send it. */
static void good_session(struct mp_out *o)
{
	static const int64_t shape[] = {5};
	static const struct runner_buf buf[] = {{"f32", 1, shape, "", 5, 0}, {"f32", 1, shape, "", 5, 0}, {"f32", 1, shape, "", 5, 0}};
	struct runner_build b = {"int x;", 6, NULL, 0, 1, 1, 1, buf};

	mp_out_init(o);
	size_t frame = frame_begin(o, 3, 1, "hello");
	mp_put_int(o, RUNNER_VERSION);
	frame_end(o, frame);
	frame = frame_begin(o, 3, 2, "task");
	put_str0(o, "scale 5");
	frame_end(o, frame);
	frame = frame_begin(o, 10, 3, "build");
	mp_put_digest(o, (struct digest){1, 2});
	put_build(o, &b);
	frame_end(o, frame);
	frame = frame_begin(o, 7, 4, "try");
	for (int i = 0; i < 3; i++)
		mp_put_digest(o, (struct digest){1, 2});
	mp_put_double(o, 0.1);
	mp_put_int(o, 1);
	frame_end(o, frame);
}

/* The service's exit status for these bytes, and the lines it says; -1: it did not end by itself. */
static int serve_bytes(const char *self, const char *p, size_t n, int *lines)
{
	const char *command = arena_printf(&arena, "timeout 20 %s --serve >/dev/null 2>said", self);
	FILE *f = popen(command, "w");
	int c;

	if (!f)
		return -1;
	fwrite(p, 1, n, f);
	int status = pclose(f);
	*lines = 0;
	if ((f = fopen("said", "r")))
		while ((c = getc(f)) != EOF)
			*lines += c == '\n';
	if (f)
		fclose(f);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Sessions with a byte changed, or cut, or longer: 0, or one line and 65 (69: the byte was the version). */
static void test_bytes(const char *self)
{
	enum { RUNS = 120 };
	struct mp_out o;
	struct rng r = {3};
	int bad = 0, refused = 0, lines;

	good_session(&o);
	ok(serve_bytes(self, o.b.a, o.b.n, &lines) == 0 && lines == 0, "a good session");
	for (int i = 0; i < RUNS; i++) {
		size_t n = o.b.n;
		char *p = arena_copy(&arena, o.b.a, n);
		if (i % 4 == 3)
			n = (size_t)rng_range(&r, 1, (int64_t)n);
		else
			p[rng_range(&r, 0, (int64_t)n - 1)] = (char)rng_u64(&r);
		int status = serve_bytes(self, p, n, &lines);
		refused += status == 65;
		if ((status == 0 && lines == 0) || ((status == 65 || status == 69) && lines == 1))
			continue;
		bad++;
		printf("# session %d: status %d, %d lines\n", i, status, lines);
	}
	ok(bad == 0 && refused > RUNS / 4, "hostile bytes: %d of %d refused, %d badly", refused, RUNS, bad);
	mp_out_free(&o);
}

/* ---- files of candidates ---- */

static const char *read_file(const char *path)
{
	char *text = arena_alloc(&arena, 1 << 16);
	FILE *f = fopen(path, "r");

	if (!f || fread(text, 1, (1 << 16) - 1, f) == 0)
		printf("not ok - %s is not there\n", path);
	if (f)
		fclose(f);
	return text;
}

/* What candidates that do harm to a product are timed against. */
static const char product[] =
	"\tfor (int i = 0; i < 16; i++) {\n\t\tfor (int j = 0; j < 64; j++)\n\t\t\tc[i * 64 + j] = 0;\n\t\tfor (int k = 0; k < 64; k++)\n"
	"\t\t\tfor (int j = 0; j < 64; j++)\n\t\t\t\t((volatile float *)c)[i * 64 + j] += a[i * 64 + k] * b[k * 64 + j];\n\t}";

struct victim { /* task, and what candidates are timed against */
	struct digest task, base;
	int64_t sizes[3];
};

static struct victim victim(const char *name)
{
	struct victim v;

	if (!strcmp(name, "scale"))
		use_scale(5000);
	else
		use_product(name, 16, 64, 64);
	v.task = task;
	memcpy(v.sizes, sizes, sizeof sizes);
	v.base = build(strcmp(name, "scale") ? product : scale).digest;
	runner_try(runner, &(struct runner_try){.task = task, .artifact = v.base, .base = v.base, .budget = 0.5, .seed = 1});
	ok(next().result.npairs > 0, "how long the base takes beside nobody is known");
	return v;
}

static void do_harm(const char *name, const char *text, const char *want, struct victim v)
{
	const char *source = arena_printf(&arena, "#define HOSTILE_FILE \"%s/left-behind\"\n%s", getenv("PWD"), text);
	struct runner_buf buf[3];

	for (int i = 0; i < 3; i++)
		buf[i] = (struct runner_buf){"f32", 1, &v.sizes[i], "", v.sizes[i], 0};
	struct runner_build b = {source, strlen(source), NULL, 1024, 1, 1, 1, buf};
	runner_build(runner, v.task, &b);
	struct runner_answer x = next();
	double t = now_seconds();
	if (!x.error && x.result.verdict == VERDICT_COUNT) {
		runner_try(runner, &(struct runner_try){.task = v.task, .artifact = x.digest, .base = v.base, .budget = 0.5, .seed = 1});
		x = next();
	}
	t = now_seconds() - t;
	const char *verdict = x.error ? "error" : verdict_name(x.result.verdict), *words = strstr(want, ": ");
	bool slow = !x.error && x.result.verdict != VERDICT_BUILD && x.result.verdict != VERDICT_FASTER &&
		    !(verdict_timed(x.result.verdict) && x.result.ratio < 0.95);
	bool good = !strcmp(want, "never faster")
			    ? slow
			    : !strncmp(want, verdict, strlen(verdict)) && (!words || (x.why && strstr(x.why, words + 2)));
	const char *said = arena_printf(&arena, "%s, %.3f: %s", verdict, x.result.ratio, x.why ? x.why : "");
	ok(good && t < 4, "%s: %s (%.2f s)", name, said, t);
}

/* Candidates that do harm: the first line of each is the verdict and words of the reason; "never faster": any other; "(matmul)": of
 * which task; "(landlock)": where there is that; what remembers, also where the oracle has no single elements. */
static void test_hostile(char **file)
{
	struct victim of[] = {victim("scale"), victim("matmul"), victim("product")};

	for (; *file; file++) {
		const char *text = read_file(*file), *name = strrchr(*file, '/') ? strrchr(*file, '/') + 1 : *file;
		char want[200] = "", *task;
		sscanf(text, "/* %199[^*\n]", want);
		while (*want && want[strlen(want) - 1] == ' ')
			want[strlen(want) - 1] = 0;
		if (strstr(want, "(landlock)") && !strcmp(confine_kind(), "nothing")) {
			ok(true, "%s # SKIP no landlock", name);
			continue;
		}
		if ((task = strstr(want, " (landlock)")))
			*task = 0;
		if ((task = strstr(want, " (matmul)")))
			*task = 0;
		do_harm(name, text, want, of[task != NULL]);
		if (!strncmp(name, "remembers", 9))
			do_harm(name, text, want, of[2]);
	}
}

/* ---- hosts ---- */

/* The service wrote its process id there. */
static pid_t served_by(void)
{
	int pid = 0;
	FILE *f = fopen("service.pid", "r");

	if (f && fscanf(f, "%d", &pid) != 1)
		pid = 0;
	if (f)
		fclose(f);
	return pid;
}

/* A host works, then dies, or hangs, in the middle of work, beside one that goes on. */
static void test_remote(const char *command)
{
	const char *why;
	struct runner_answer x;

	if (!ok((runner = runner_open(command, 20, &arena, &why)) != NULL, "a runner behind %s", command))
		return;
	use_scale(5000);
	struct digest base = build(scale).digest;
	is(try("\tfor (int i = 0; i < 5000; i++)\n\t\tc[i] = 2 * a[i] + b[i] ;", base, AMPLE), VERDICT_TIE, NULL, "a try there");
	struct runner *fake = runner_open("fake", 1, &arena, &why), *both[2] = {runner, fake};
	for (int hang = 0; hang < 2; hang++) {
		pid_t pid = served_by();
		double t = now_seconds();
		for (int i = 0; i < 300; i++)
			runner_try(runner,
				   &(struct runner_try){.task = task, .artifact = base, .base = base, .budget = 30, .seed = (uint64_t)i});
		usleep(300000);
		if (!ok(pid > 1, "its process is known"))
			return;
		kill(pid, hang ? SIGSTOP : SIGKILL);
		runner_task(fake, "scale 3");
		int first = runner_wait(&both[1], 1, 1, &arena, &x);
		ok(first == 0 && !x.ended, "the other host answers meanwhile");
		do
			first = runner_wait(both, 2, 20, &arena, &x);
		while (first >= 0 && !x.ended);
		t = now_seconds() - t;
		ok(first == 0 && strstr(x.why, command) && !runner_alive(runner) && t < RUNNER_SILENCE + 3, "a host that %s: %s (%.1f s)",
		   hang ? "hangs" : "dies", x.why ? strstr(x.why, "--serve") : "", t);
		kill(pid, SIGKILL);
		runner_close(runner);
		if (!hang)
			runner = both[0] = runner_open(command, 20, &arena, &why);
		if (!runner)
			return;
		if (!hang) {
			use_scale(5000);
			base = build(scale).digest;
		}
	}
	runner_close(fake);
}

int main(int argc, char **argv)
{
	const char *why;

	if (argc > 1 && !strcmp(argv[1], "--serve"))
		return runner_serve(&small, 0, 0);
	if (argc > 1 && !strcmp(argv[1], "--slow"))
		return runner_serve(&small, 1e-9, 0);
	if (argc > 1 && !strcmp(argv[1], "--hasty"))
		return runner_serve(&small, 0, 2);
	if (argc > 1 && !strcmp(argv[1], "--brief"))
		return runner_serve(&small, 0, 0.05);
	if (argc > 2 && !strcmp(argv[1], "--remote")) {
		test_remote(argv[2]);
		return tap_done();
	}
	if (argc > 1) {
		if (!(runner = runner_open(arena_printf(&arena, "exec %s --serve", argv[0]), 10, &arena, &why))) {
			printf("not ok - %s\n", why);
			return 1;
		}
		test_hostile(argv + 1);
		runner_close(runner);
		return tap_done();
	}
	test_bytes(argv[0]);
	runner = runner_open(arena_printf(&arena, "exec %s --serve", argv[0]), 10, &arena, &why);
	if (!ok(runner != NULL, "a runner%s%s", runner ? "" : ": ", runner ? "" : why))
		return 1;
	test_verdicts();
	test_infinite();
	test_once();
	test_adversarial();
	test_cold_weights();
	test_foreign();
	test_cold_kept();
	test_matmul();
	test_errors();
	test_many();
	test_noise_probe();
	test_slow_phase(argv[0]);
	test_builds(argv[0]);
	test_surroundings(argv[0]);
	test_sealed();
	runner_close(runner);
	arena_release(&arena);
	return tap_done();
}
