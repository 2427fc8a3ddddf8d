/* Statistics: exact, of the set of samples alone, and no larger for more of them. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/tool.h"
#include "op/op.h"
#include "quant/statistics.h"
#include "tap.h"

const struct tool tool = {.name = "statistics"};

enum { SAMPLES = 200, WIDTH = 12, CHANNELS = 3, SHARDS_MAX = 7 };

static struct module *small_model(void)
{
	struct module *m = module_new();
	graph_id g = graph_new(m, intern("main"));
	int64_t dims[] = {1, CHANNELS, WIDTH / CHANNELS, 1};

	m->main = g;
	val_id x = graph_add_input(m, g, intern("an input"), type_make(m, DT_F32, 4, dims));
	graph_add_output(m, g, x, intern("y"));
	return m;
}

static struct statistics *begin(struct module *m)
{
	struct statistics *s = xcalloc(1, sizeof *s);

	free(statistics_begin(s, m));
	return s;
}

/* Floats of every size, zeros of both signs, now and then what is no number. */
static float any_float(struct rng *r)
{
	static const float odd[] = {0, -0.0f, INFINITY, -INFINITY, NAN, 0x1p-149f, -0x1p-149f, 0x1.fffffep127f};
	uint64_t kind = rng_u64(r) % 40;

	if (kind < 8)
		return odd[kind < 2 || rng_u64(r) % 8 == 0 ? kind : 0];
	return (float)ldexp(rng_unit(r) * 2 - 1, (int)(rng_u64(r) % 30) - 20);
}

static char *text_of(const struct statistics *s, size_t *n)
{
	char *p;
	FILE *f = open_memstream(&p, n);

	statistics_write(s, f);
	fclose(f);
	return p;
}

static void count_sample(struct statistics *s, const float *x)
{
	int64_t dims[] = {1, CHANNELS, WIDTH / CHANNELS, 1};
	struct tensor t = {.dtype = DT_F32, .rank = 4, .dims = dims, .nbytes = WIDTH * 4, .data = x};

	statistics_see(s, (struct tensor *[]){&t}, 1);
	value_stat_add(s->values.a[0], &t);
	s->samples++;
}

/* One random way to cut the samples into shards, and a random order to add them. */
static bool sharded_is(struct module *m, float (*x)[WIDTH], struct rng *r, const char *want, size_t nwant)
{
	struct statistics *shard[SHARDS_MAX], *all = begin(m);
	int n = 1 + (int)(rng_u64(r) % SHARDS_MAX);
	size_t ngot;

	for (int k = 0; k < n; k++)
		shard[k] = begin(m);
	for (int i = 0; i < SAMPLES; i++)
		count_sample(shard[rng_u64(r) % (uint64_t)n], x[i]);
	for (int left = n; left; left--) {
		int k = (int)(rng_u64(r) % (uint64_t)left);
		statistics_merge(all, shard[k], "shard");
		shard[k] = shard[left - 1];
	}
	char *got = text_of(all, &ngot);
	bool same = ngot == nwant && !memcmp(got, want, ngot);
	free(got);
	return same;
}

static void test_shards(void)
{
	struct module *m = small_model();
	struct rng r = {1};
	static float x[SAMPLES][WIDTH];
	struct statistics *one = begin(m), back = {0};
	int same = 0;
	size_t n, again;

	for (int i = 0; i < SAMPLES; i++) {
		for (int k = 0; k < WIDTH; k++)
			x[i][k] = any_float(&r);
		count_sample(one, x[i]);
	}
	char *want = text_of(one, &n);
	for (int i = 0; i < 100; i++)
		same += sharded_is(m, x, &r, want, n);
	ok(same == 100, "100 random shardings merge to the same bytes (%d)", same);
	ok(!value_stat_check(one->values.a[0]), "what was counted holds together");

	FILE *f = fopen("one.stats", "w");
	fwrite(want, 1, n, f);
	fclose(f);
	statistics_read(&back, "one.stats");
	char *got = text_of(&back, &again);
	ok(again == n && !memcmp(got, want, n), "written, read and written: the same bytes");
}

static void test_sums(void)
{
	struct exact s = {0};
	struct rng r = {2};
	double sum = 0;

	exact_add(&s, 0x1.fffffep127f);
	exact_add(&s, 0x1p-149f);
	exact_add(&s, -0x1.fffffep127f);
	ok(exact_value(&s) == 0x1p-149, "the least float survives the greatest");
	s = (struct exact){0};
	for (int i = 0; i < 100000; i++) {
		float v = (float)(rng_range(&r, -1000000, 1000000)) * 0.25f;
		sum += v; /* exact: small multiples of a quarter */
		exact_add(&s, v);
	}
	ok(exact_value(&s) == sum, "a sum of 100,000: %g", sum);
}

static void test_histogram(void)
{
	struct module *m = small_model();
	struct statistics *s = begin(m);
	float x[WIDTH] = {0};
	const struct value_stat *v = s->values.a[0];

	x[0] = 1;
	count_sample(s, x);
	ok(v->exponent == -11 && value_stat_bin(v, 0) == 11 && value_stat_bin(v, 2048) == 1, "[0, 1]: bins of 2^-11");
	x[0] = -4095;
	count_sample(s, x);
	ok(v->exponent == 1 && value_stat_bin(v, -2048) == 1 && value_stat_bin(v, 0) == 23, "[-4095, 1]: bins of 2");
}

/* Peak memory, in KiB, of ge-calibrate on so many samples. */
static long peak(int samples)
{
	static const float row[64] = {0.5f, -1, 3};
	struct rusage use = {0};
	int status = -1;
	FILE *f = fopen("many.npy", "w");
	char head[129];

	int n = snprintf(head, sizeof head, "\x93NUMPY....{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 64), }", samples);
	memcpy(head + 6, (char[]){1, 0, 118, 0}, 4);
	memset(head + n, ' ', 128 - (size_t)n);
	head[127] = '\n';
	fwrite(head, 1, 128, f);
	for (int i = 0; i < samples; i++)
		fwrite(row, sizeof row, 1, f);
	fclose(f);
	pid_t child = fork();
	if (!child) {
		execlp("ge-calibrate", "ge-calibrate", "-q", "tiny.g", "many.npy", "-o", "many.stats", (char *)0);
		_exit(127);
	}
	wait4(child, &status, 0, &use);
	return status ? -1 : use.ru_maxrss;
}

static void test_peak(void)
{
	FILE *f = fopen("tiny.txt", "w");

	fputs("hone-text 1\nmodule ir=10 opset=21\nsymbol n 0 inf\ngraph main {\n  input x: f32[n,64]\n  y = Relu(x)\n  output y = y\n}\n",
	      f);
	fclose(f);
	ok(!system("ge-load tiny.txt -o tiny.g"), "a tiny model");
	long few = peak(10), many = peak(10000);
	bool bounded = getenv("ASAN_OPTIONS") || labs(many - few) <= 512; /* the sanitizer keeps what was freed */
	ok(few > 0 && many > 0 && bounded, "10 and 10,000 samples: %ld and %ld KiB at most", few, many);
}

int main(void)
{
	test_sums();
	test_histogram();
	test_shards();
	test_peak();
	return tap_done();
}
