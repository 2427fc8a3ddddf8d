/* How well the analytic model (sched/analytic.h) ranks schedules: random decisions of the templates, compiled and timed in
 * turn, against what the model predicts.
 *
 *   build/bench/cost [-v] [-n SCHEDULES] [NAME...]     -v prints every schedule
 *
 * Printed: Spearman's rank correlation, the time of the usual schedule and of the model's favourite as multiples of the best,
 * and what a prediction costs. Times are CPU time of the thread, the least of some rounds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/rng.h"
#include "target/target.h"
#include "sched/analytic.h"
#include "emit/emit.h"
#include "loop/interp.h"
#include "loop/prim.h"
#include "loop/sampling.h"
#include "sched/schedule.h"
#include "../tests/programs.h"

enum { ROUNDS = 5, MOST = 200 };

static const struct kernel {
	const char *name;
	struct loop_prog *(*make)(const int64_t *d);
	int64_t d[8];
} kernels[] = {
	{"gemm 128x768x768", make_gemm, {128, 768, 768}},
	{"gemm 197x512x1024", make_gemm, {197, 512, 1024}},
	{"conv 3x3 14px 256-256", make_conv, {14, 256, 256, 3, 1, 1}},
	{"conv 1x1 28px 256-128", make_conv, {28, 256, 128, 1, 1, 0}},
	{"depthwise 3x3 28px 144", make_depthwise, {28, 144, 3, 1, 1}},
	{"softmax 384x128", make_softmax, {384, 128}},
	{"layernorm 197x768", make_layernorm, {197, 768}},
};

struct schedule {
	struct loop_prog *p;
	void (*run)(void **);
	void *data[16];
	double predicted, measured;
	char decisions[1024];
};

static double now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct loop_prog *program(const struct kernel *k)
{
	struct loop_prog *p = k->make(k->d);
	prog_collapse(p);
	prog_start(p);
	return p;
}

/* Random decisions: of what has been seen, some. The first is as usual. false: it does not finish. */
static bool draw(const struct kernel *k, struct rng *r, struct samples *seen, bool usual, struct schedule *s, double *seconds)
{
	struct samples want = {0}, got = {0};
	int share = (int)rng_range(r, 1, 3);
	for (size_t i = 0; i < seen->n && !usual; i++)
		if (rng_range(r, 0, 3) < share) {
			struct sample x = seen->a[i];
			x.decision = x.choice[rng_range(r, 0, x.n - 1)];
			vec_push(&want, x);
		}
	s->p = program(k);
	schedule_with(s->p, &want, &got);
	double t = now(CLOCK_THREAD_CPUTIME_ID);
	s->predicted = loop_cost(s->p);
	*seconds += now(CLOCK_THREAD_CPUTIME_ID) - t;
	for (size_t i = 0; i < got.n; i++) {
		size_t j = 0, n = strlen(s->decisions);
		while (j < seen->n && strcmp(seen->a[j].name, got.a[i].name))
			j++;
		if (j == seen->n)
			vec_push(seen, got.a[i]);
		if (got.a[i].decision != got.a[i].usual)
			snprintf(s->decisions + n, sizeof s->decisions - n, " %s=%ld", got.a[i].name, (long)got.a[i].decision);
	}
	vec_free(&want);
	vec_free(&got);
	return !loop_legalize(s->p) && !loop_verify(s->p);
}

static void make_data(struct schedule *s)
{
	struct rng r = {1};
	int n = 0;
	for (enum scope scope = SCOPE_IN; scope <= SCOPE_OUT; scope++)
		for (buf_id b = 1; b < s->p->bufs.n; b++) {
			if (lbuf(s->p, b)->scope != scope)
				continue;
			size_t elems = (size_t)buf_elems(s->p, b);
			float *d = aligned_alloc(64, (elems * 4 + 127) / 64 * 64);
			for (size_t i = 0; i < elems; i++)
				d[i] = (float)rng_normal(&r);
			s->data[n++] = d;
		}
	s->data[n] = aligned_alloc(64, ((size_t)s->p->workspace + 127) / 64 * 64);
	memset(s->data[n], 0, (size_t)s->p->workspace);
}

static bool compile(struct schedule *s, int n)
{
	char dir[] = "/tmp/hone-cost-XXXXXX", command[2048], name[64];
	struct loop_prog *all[MOST];
	if (!mkdtemp(dir))
		return false;
	snprintf(command, sizeof command, "%s/k.c", dir);
	FILE *f = fopen(command, "w");
	for (int i = 0; i < n; i++)
		all[i] = s[i].p;
	emit_prelude(f, all, n, NULL, 0);
	for (int i = 0; i < n; i++) {
		int operands = 0;
		snprintf(name, sizeof name, "k%d", i);
		emit_kernel(f, s[i].p, name);
		fprintf(f, "void run%d(void **d) { k%d(", i, i);
		for (buf_id b = 1; b < s[i].p->bufs.n; b++)
			if (lbuf(s[i].p, b)->scope <= SCOPE_OUT)
				fprintf(f, "d[%d], ", operands++);
		fprintf(f, "d[%d]); }\n", operands);
	}
	fclose(f);
	snprintf(command, sizeof command, "%s %s -w -shared -fPIC -o %s/k.so %s/k.c -lm", target_compiler(NULL),
		 target_cflags(target_host()), dir, dir);
	bool good = !system(command);
	snprintf(command, sizeof command, "%s/k.so", dir);
	void *lib = good ? dlopen(command, RTLD_NOW) : NULL;
	for (int i = 0; lib && i < n; i++) {
		snprintf(name, sizeof name, "run%d", i);
		*(void **)&s[i].run = dlsym(lib, name);
	}
	snprintf(command, sizeof command, "rm -rf %s", dir);
	if (system(command))
		fprintf(stderr, "%s is left\n", dir);
	return lib != NULL;
}

static double seconds_of(const struct schedule *s, int reps)
{
	double start = now(CLOCK_THREAD_CPUTIME_ID);
	for (int k = 0; k < reps; k++)
		s->run((void **)s->data);
	return (now(CLOCK_THREAD_CPUTIME_ID) - start) / reps;
}

static void rank(const struct schedule *s, int n, bool predicted, double *out)
{
	for (int i = 0; i < n; i++) {
		double x = predicted ? s[i].predicted : s[i].measured;
		out[i] = 0;
		for (int k = 0; k < n; k++) {
			double y = predicted ? s[k].predicted : s[k].measured;
			out[i] += y < x ? 1 : y == x ? 0.5 : 0;
		}
	}
}

static double spearman(const struct schedule *s, int n)
{
	double a[MOST], b[MOST], mean = 0.5 * n, ab = 0, aa = 0, bb = 0;
	rank(s, n, true, a);
	rank(s, n, false, b);
	for (int i = 0; i < n; i++) {
		ab += (a[i] - mean) * (b[i] - mean);
		aa += (a[i] - mean) * (a[i] - mean);
		bb += (b[i] - mean) * (b[i] - mean);
	}
	return ab / sqrt(aa * bb);
}

static void try_kernel(const struct kernel *k, int want, bool verbose)
{
	static struct schedule s[MOST];
	struct samples seen = {0};
	struct rng r = {3};
	int n = 0, best = 0, favourite = 0;
	double predicting = 0;
	memset(s, 0, sizeof s);
	for (int i = 0; i < 4 * want && n < want; i++) {
		bool old = false;
		s[n] = (struct schedule){0};
		if (!draw(k, &r, &seen, i == 0, &s[n], &predicting))
			continue;
		for (int j = 0; j < n; j++)
			old |= !strcmp(s[j].decisions, s[n].decisions);
		n += !old;
	}
	if (!compile(s, n)) {
		printf("%-26s does not compile\n", k->name);
		return;
	}
	for (int i = 0; i < n; i++) {
		make_data(&s[i]);
		seconds_of(&s[i], 1);
		s[i].measured = INFINITY;
	}
	int reps = 1 + (int)(2e-3 / seconds_of(&s[0], 3));
	for (int t = 0; t < ROUNDS; t++)
		for (int i = 0; i < n; i++)
			s[i].measured = fmin(s[i].measured, seconds_of(&s[i], reps));
	for (int i = 0; i < n; i++) {
		best = s[i].measured < s[best].measured ? i : best;
		favourite = s[i].predicted < s[favourite].predicted ? i : favourite;
	}
	printf("%-26s %3d schedules  Spearman %.2f  usual %.2f  favourite %.2f of the best; %.1f ms a prediction\n", k->name, n,
	       spearman(s, n), s[0].measured / s[best].measured, s[favourite].measured / s[best].measured, 1e3 * predicting / n);
	for (int i = 0; i < n && verbose; i++)
		printf("  %9.1f us, predicted %9.1f %s\n", 1e6 * s[i].measured, 1e6 * s[i].predicted, s[i].decisions);
	fflush(stdout);
	vec_free(&seen);
}

int main(int argc, char **argv)
{
	int want = 20, first = 1;
	bool verbose = false;
	for (; first < argc && argv[first][0] == '-'; first++)
		if (!strcmp(argv[first], "-v"))
			verbose = true;
		else if (!strcmp(argv[first], "-n") && first + 1 < argc)
			want = atoi(argv[++first]);
	if (want < 2 || want > MOST)
		want = 20;
	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
		for (int k = first; k <= argc; k++)
			if ((k == argc && first == argc) || (k < argc && strstr(kernels[i].name, argv[k]))) {
				try_kernel(&kernels[i], want, verbose);
				break;
			}
	return 0;
}
