/* Kernels by the default schedule against the machine's FMA peak: one run, one core, interleaved.
 *
 *   build/bench/kernels [-k] [-r ROUNDS] [NAME...]      -k keeps the generated C in ./kernels.c; 20 rounds
 *   TRACE=FILE build/bench/kernels NAME     the trace in FILE in place of the default schedule; TRACE=- prints that one
 *
 * Each kernel is built from stages, scheduled by default_schedule, emitted, compiled, checked, and timed in turn with a loop of
 * nothing but independent multiply-adds, in processor time, the peak right after each kernel, so that a slow phase of the
 * machine meets both. Printed: best and median, and the quartiles of kernel / peak. Where the peak itself varied, a line says so. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "common/outfile.h"
#include "common/rng.h"
#include "target/target.h"
#include "emit/emit.h"
#include "loop/interp.h"
#include "loop/math.h"
#include "loop/prim.h"
#include "sched/schedule.h"
#include "../tests/programs.h"

enum { ROUNDS_MAX = 1000, POINTS = 50 };
static int rounds = 20;

struct bench {
	const char *name;
	struct loop_prog *(*make)(const int64_t *d);
	int64_t d[8];
	double flops;
	struct loop_prog *p, *plain; /* scheduled; as it was made: the reference */
	void (*f)(void **data);
	void *data[8]; /* operands of the kernel, constants in its layout */
	void *logical[8];
	double time[ROUNDS_MAX], ratio[ROUNDS_MAX]; /* seconds a run; of the peak beside it */
};

static bool reference; /* programs are left as they are made */

static struct loop_prog *finish(struct loop_prog *p, const char *name)
{
	prog_collapse(p);
	prog_start(p);
	if (reference)
		return p;
	const char *file = getenv("TRACE"), *why = NULL;
	if (file && strcmp(file, "-")) {
		struct mapped m;
		mapped_open(&m, file);
		why = loop_apply(p, arena_printf(&p->arena, "%.*s", (int)m.n, (const char *)m.p), false);
		mapped_close(&m);
	} else {
		const char *trace = default_schedule(p);
		if (file)
			printf("# %s\n%s", name, trace);
	}
	if (!why)
		why = loop_legalize(p);
	if (why) {
		fprintf(stderr, "%s: %s\n", name, why);
		exit(1);
	}
	return p;
}

#define DEPTHWISE(h, c, k, s) \
	{ \
		"depthwise " #k "x" #k " " #h "px " #c " /" #s, make_depthwise, {h, c, k, s, k / 2}, \
			2.0 * c *k *k *(((h + 2 * (k / 2) - k) / s + 1) * ((h + 2 * (k / 2) - k) / s + 1)) \
	}
#define BATCHED(b, m, n, k, t) \
	{ \
		"batched " #b "x" #m "x" #n "x" #k " t" #t, make_batched, {b, m, n, k, t}, 2.0 * b *m *n *k \
	}
#define WINOGRAD(h, c, m) \
	{ \
		"winograd" #m " " #h "px " #c, make_winograd, {h, c, c, m}, 18.0 * c *c *h *h \
	} /* flops of the direct */
#define GEMM(m, n, k) \
	{ \
		"gemm " #m "x" #n "x" #k, make_gemm, {m, n, k}, 2.0 * m *n *k \
	}
#define CONV(h, ci, co, k, s, p) \
	{ \
		"conv " #k "x" #k " " #h "px " #ci "-" #co " /" #s, make_conv, {h, ci, co, k, s, p}, \
			2.0 * co *ci *k *k *(((h + 2 * p - k) / s + 1) * ((h + 2 * p - k) / s + 1)) \
	}
static struct bench benches[] = {
	GEMM(512, 512, 512),
	GEMM(128, 3072, 768),
	GEMM(197, 768, 3072),
	GEMM(1, 1000, 2048),
	GEMM(1024, 1024, 1024),
	CONV(56, 64, 64, 3, 1, 1),
	CONV(28, 128, 128, 3, 1, 1),
	CONV(14, 256, 256, 3, 1, 1),
	CONV(7, 512, 512, 3, 1, 1),
	CONV(56, 64, 256, 1, 1, 0),
	CONV(56, 256, 64, 1, 1, 0),
	CONV(28, 512, 128, 1, 1, 0),
	CONV(14, 256, 1024, 1, 1, 0),
	CONV(7, 2048, 512, 1, 1, 0),
	CONV(224, 3, 64, 7, 2, 3),
	CONV(56, 128, 128, 3, 2, 1),
	CONV(14, 512, 512, 3, 2, 1),
	CONV(56, 256, 512, 1, 2, 0),
	CONV(56, 24, 144, 1, 1, 0),
	CONV(56, 144, 24, 1, 1, 0),
	DEPTHWISE(112, 32, 3, 1),
	DEPTHWISE(56, 144, 3, 1),
	DEPTHWISE(14, 384, 3, 1),
	DEPTHWISE(7, 960, 3, 1),
	DEPTHWISE(56, 144, 3, 2),
	DEPTHWISE(28, 240, 5, 1),
	BATCHED(12, 128, 128, 64, 1),
	BATCHED(12, 128, 64, 128, 0),
	BATCHED(12, 197, 197, 64, 1),
	BATCHED(12, 197, 64, 197, 0),
	WINOGRAD(56, 64, 4),
	WINOGRAD(28, 128, 4),
	WINOGRAD(14, 256, 4),
	WINOGRAD(7, 512, 4),
	WINOGRAD(56, 64, 2),
	WINOGRAD(28, 128, 2),
	WINOGRAD(14, 256, 2),
	WINOGRAD(7, 512, 2),
	{"mean 7px 2048", make_mean, {7, 2048}, 49.0 * 2048},
	{"mean 112px 96", make_mean, {112, 96}, 112.0 * 112 * 96},
	{"softmax 1536x128", make_softmax, {1536, 128}, 5.0 * 1536 * 128},
	{"softmax 2364x197", make_softmax, {2364, 197}, 5.0 * 2364 * 197},
	{"layernorm 197x768", make_layernorm, {197, 768}, 8.0 * 197 * 768},
};
enum { NBENCH = sizeof benches / sizeof *benches };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char peak_c[] =
	"void peak(void **d)\n{\n\tvf a[14], x, y;\n\t__builtin_memcpy(&x, d[0], sizeof x); __builtin_memcpy(&y, d[1], sizeof y);\n"
	"\tfor (int i = 0; i < 14; i++) a[i] = x;\n"
	"\tfor (long n = 0; n < 200000; n++) {\n"
	"\t\ta[0] = a[0]*x+y; a[1] = a[1]*x+y; a[2] = a[2]*x+y; a[3] = a[3]*x+y; a[4] = a[4]*x+y; a[5] = a[5]*x+y; a[6] = a[6]*x+y;\n"
	"\t\ta[7] = a[7]*x+y; a[8] = a[8]*x+y; a[9] = a[9]*x+y; a[10] = a[10]*x+y; a[11] = a[11]*x+y; a[12] = a[12]*x+y; a[13] = a[13]*x+y;\n"
	"\t}\n\tfor (int i = 1; i < 14; i++) a[0] += a[i];\n\t__builtin_memcpy(d[2], a, sizeof x);\n}\n";

static int operands(struct loop_prog *p)
{
	int n = 0;
	for (buf_id i = 1; i < p->bufs.n; i++)
		n += lbuf(p, i)->scope < SCOPE_SCRATCH;
	return n;
}

/* All kernels in one file, one compilation. */
static void compile(struct bench **b, int n, bool keep)
{
	const struct target *t = target_host();
	char dir[] = "/tmp/hone-kernels-XXXXXX", made[64], so[64];
	if (!mkdtemp(dir))
		exit(71);
	snprintf(made, sizeof made, "%s/k.c", dir);
	snprintf(so, sizeof so, "%s/k.so", dir);
	const char *src = keep ? "./kernels.c" : made;
	struct loop_prog *progs[NBENCH];
	FILE *f = fopen(src, "w");
	if (!f)
		exit(74);
	for (int i = 0; i < n; i++)
		progs[i] = b[i]->p;
	emit_prelude(f, progs, n, NULL, 0);
	fprintf(f, "typedef float vf __attribute__((vector_size(%d)));\n%s", t->vector_bytes, peak_c);
	for (int i = 0; i < n; i++) {
		char name[32];
		snprintf(name, sizeof name, "k%d", i);
		emit_kernel(f, b[i]->p, name);
		fprintf(f, "void run%d(void **d) { k%d(", i, i);
		for (int k = 0; k < operands(b[i]->p); k++)
			fprintf(f, "d[%d], ", k);
		fprintf(f, "d[%d]); }\n", operands(b[i]->p));
	}
	fclose(f);
	char cmd[1024];
	snprintf(cmd, sizeof cmd, "%s %s -shared -fPIC -o %s %s -lm", target_compiler(NULL), target_cflags(t), so, src);
	if (system(cmd)) {
		fprintf(stderr, "does not compile: %s\n", cmd);
		exit(1);
	}
	void *h = dlopen(so, RTLD_NOW);
	unlink(so);
	unlink(made);
	rmdir(dir);
	for (int i = 0; i < n; i++) {
		char name[32];
		snprintf(name, sizeof name, "run%d", i);
		*(void **)&b[i]->f = dlsym(h, name);
	}
	*(void **)&b[n]->f = dlsym(h, "peak");
}

static void *aligned(size_t bytes)
{
	void *p = aligned_alloc(4096, (bytes + 8191) / 4096 * 4096);
	memset(p, 0, bytes);
	return p;
}

/* Operands in the order of emit_kernel's parameters; random. */
static void make_data(struct bench *b)
{
	struct rng r = {1};
	int n = 0;
	for (enum scope s = SCOPE_IN; s <= SCOPE_OUT; s++)
		for (buf_id i = 1; i < b->p->bufs.n; i++) {
			if (lbuf(b->p, i)->scope != s)
				continue;
			int64_t elems = buf_elems(b->plain, i);
			float *d = aligned((size_t)elems * 4);
			for (int64_t k = 0; k < elems; k++)
				d[k] = (float)rng_normal(&r);
			b->logical[n] = b->data[n] = d;
			if (s == SCOPE_CONST)
				buf_pack(b->p, i, d, b->data[n] = aligned((size_t)buf_elems(b->p, i) * 4));
			n++;
		}
	b->data[n] = aligned((size_t)b->p->workspace + 64);
}

/* A few elements in double from the stages: does the kernel compute what it should? */
static double check(struct bench *b)
{
	void *at[64] = {0};
	int n = 0;
	buf_id out = 0;
	for (enum scope s = SCOPE_IN; s <= SCOPE_OUT; s++)
		for (buf_id i = 1; i < b->plain->bufs.n; i++)
			if (lbuf(b->plain, i)->scope == s) {
				at[i] = b->logical[n++];
				out = i;
			}
	b->f(b->data);
	double worst = 0, scale = 0;
	struct rng r = {2};
	int64_t element[POINTS], off[POINTS];
	double want[POINTS];
	for (int k = 0; k < POINTS; k++) {
		poly ip[LOOP_RANK_MAX];
		element[k] = 0;
		for (int d = 0; d < lbuf(b->plain, out)->rank; d++) {
			int64_t i = rng_range(&r, 0, lbuf(b->plain, out)->shape[d] - 1);
			element[k] = element[k] * lbuf(b->plain, out)->shape[d] + i;
			ip[d] = poly_const(b->plain->P, i);
		}
		poly_is_const(b->plain->P, buf_offset(b->plain, out, ip), &off[k]);
	}
	stages_points(b->plain, out, POINTS, element, at, want);
	for (int k = 0; k < POINTS; k++) {
		worst = fmax(worst, fabs(want[k] - ((float *)at[out])[off[k]]));
		scale = fmax(scale, fabs(want[k]));
	}
	return worst / scale;
}

static int by_time(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Of one run, over at least about a millisecond. */
static double seconds_of(struct bench *b)
{
	int reps = 1 + (int)(2e8 / b->flops);
	double start = now();
	for (int k = 0; k < reps; k++)
		b->f(b->data);
	return (now() - start) / reps;
}

static void print_line(struct bench *b)
{
	qsort(b->time, (size_t)rounds, sizeof(double), by_time);
	qsort(b->ratio, (size_t)rounds, sizeof(double), by_time);
	printf("%-28s best %7.1f median %7.1f GFLOP/s", b->name, b->flops / b->time[0] / 1e9, b->flops / b->time[rounds / 2] / 1e9);
	if (b->p)
		printf("   of peak %5.1f%%  (%.1f .. %.1f)", 100 * b->ratio[rounds / 2], 100 * b->ratio[rounds / 4],
		       100 * b->ratio[3 * rounds / 4]);
	putchar('\n');
}

int main(int argc, char **argv)
{
	bool keep = false;
	for (int c; (c = getopt(argc, argv, "kr:")) != -1;)
		if (c == 'k')
			keep = true;
		else if (c != 'r' || (rounds = atoi(optarg)) < 1 || rounds > ROUNDS_MAX)
			return 64;
	struct bench *b[NBENCH + 1];
	int n = 0;
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof set, &set);
	for (int i = 0; i < NBENCH; i++) {
		bool want = argc == optind;
		for (int k = optind; k < argc; k++)
			want |= strstr(benches[i].name, argv[k]) != NULL;
		if (!want)
			continue;
		b[n] = &benches[i];
		reference = true;
		b[n]->plain = finish(b[n]->make(b[n]->d), b[n]->name);
		reference = false;
		b[n]->p = finish(b[n]->make(b[n]->d), b[n]->name);
		make_data(b[n]);
		n++;
	}
	struct bench peak = {.name = "peak", .flops = 200000.0 * 14 * 2 * target_host()->vector_bytes / 4};
	for (int i = 0; i < 3; i++)
		peak.data[i] = aligned(64);
	b[n] = &peak;
	printf("%s, core %d, %s %s\n", target_host()->cpu, sched_getcpu(), target_compiler(NULL), target_compiler_version(NULL));
	compile(b, n, keep);
	for (int i = 0; i < n; i++) {
		double err = check(b[i]);
		if (!(err < 1e-4))
			printf("%s: WRONG, error %g\n", b[i]->name, err);
	}
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < n; i++) {
			b[i]->time[round] = seconds_of(b[i]);
			peak.time[round] = seconds_of(&peak);
			b[i]->ratio[round] = b[i]->flops / b[i]->time[round] / (peak.flops / peak.time[round]);
		}
	print_line(&peak);
	if (peak.time[rounds / 2] > 1.25 * peak.time[0])
		printf("the peak's median is below 0.8 of its best: the machine was busy, look at the shares, not at GFLOP/s\n");
	for (int i = n - 1; i >= 0; i--)
		print_line(b[i]);
	return 0;
}
