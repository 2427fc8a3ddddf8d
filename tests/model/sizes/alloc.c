/* Runs a library again and again and counts what it asks of the C library: alloc LIBRARY "NAME=SIZE,..." ["NAME=SIZE,..."]... A line a run:
 * how often it allocated; at the end how many are not freed, and how many bytes it asked for, aligned. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "op/hone_value.h"
#include "runner/model_abi.h"

static long made, freed, bytes;
static int counting;
static void *(*next_malloc)(size_t), *(*next_calloc)(size_t, size_t), *(*next_realloc)(void *, size_t), *(*next_aligned)(size_t, size_t);
static void (*next_free)(void *);
static char early[4096];
static size_t early_used;

static void find(void)
{
	next_malloc = dlsym(RTLD_NEXT, "malloc");
	next_realloc = dlsym(RTLD_NEXT, "realloc");
	next_aligned = dlsym(RTLD_NEXT, "aligned_alloc");
	next_free = dlsym(RTLD_NEXT, "free");
	next_calloc = dlsym(RTLD_NEXT, "calloc");
}

void *malloc(size_t n)
{
	if (!next_malloc)
		find();
	made += counting;
	return next_malloc(n);
}

/* dlsym itself asks for some. */
void *calloc(size_t n, size_t size)
{
	if (!next_calloc && early_used + n * size <= sizeof early) {
		early_used += (n * size + 15) / 16 * 16;
		return early + early_used - (n * size + 15) / 16 * 16;
	}
	made += counting;
	return next_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	if (!next_realloc)
		find();
	made += counting;
	freed += counting && p;
	return next_realloc(p, n);
}

void *aligned_alloc(size_t align, size_t n)
{
	if (!next_aligned)
		find();
	made += counting;
	bytes += counting ? (long)n : 0;
	return next_aligned(align, n);
}

int posix_memalign(void **p, size_t align, size_t n)
{
	*p = aligned_alloc(align, n);
	return *p ? 0 : 12;
}

void free(void *p)
{
	if ((char *)p >= early && (char *)p < early + sizeof early)
		return;
	if (!next_free)
		find();
	freed += counting && p;
	next_free(p);
}

enum { MOST = 64, ROOM = 1 << 18 };
static struct hone_value in[MOST], out[MOST];
static int64_t shape[MOST][16];
static double data[MOST][ROOM / 8];

static int64_t size_of(const char *sizes, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = sizes; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (!strncmp(p, name, n) && p[n] == '=')
			return atol(p + n + 1);
	fprintf(stderr, "no size for %s\n", name);
	exit(2);
}

static void fill(int i, const char *type, size_t n)
{
	uint32_t r = (uint32_t)i * 7919u + 1;

	memset(data[i], 0, sizeof data[i]);
	for (size_t k = 0; k < n && !strcmp(type, "f32") && k < ROOM / 4; k++) {
		r = r * 1664525u + 1013904223u;
		((float *)data[i])[k] = (float)(r >> 8) / (1 << 23) - 1;
	}
	for (size_t k = 0; k < n && !strcmp(type, "i64") && k < ROOM / 8; k++)
		((int64_t *)data[i])[k] = 1;
}

static void give(const struct hone_model *m, const char *sizes)
{
	for (int i = 0; i < m->num_inputs; i++) {
		const struct hone_tensor *t = &m->inputs[i];
		int type = !strcmp(t->type, "f32") ? 1 : !strcmp(t->type, "i64") ? 7 : !strcmp(t->type, "bool") ? 9 : 0;
		size_t n = 1;
		for (int k = 0; k < t->rank; k++) {
			shape[i][k] = t->shape[k] >= 0 ? t->shape[k] : size_of(sizes, t->symbol[k]);
			n *= (size_t)shape[i][k];
		}
		if (!type || n * 8 > ROOM) {
			fprintf(stderr, "input %s: %s\n", t->name, type ? "too large" : t->type);
			exit(2);
		}
		in[i] = (struct hone_value){type, t->rank, shape[i], data[i]};
		fill(i, t->type, n);
	}
}

int main(int argc, char **argv)
{
	char weights[4096];
	void *so = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	const struct hone_model *m = so ? dlsym(so, "hone_model") : NULL;

	if (!m || !m->run_values || m->num_inputs > MOST || m->num_outputs > MOST)
		return fprintf(stderr, "%s: %s\n", argv[1], m ? "no open sizes" : dlerror()), 2;
	snprintf(weights, sizeof weights, "%.*s.weights", (int)strlen(argv[1]) - 3, argv[1]);
	counting = 1;
	void *h = m->open(weights, NULL);
	counting = 0;
	for (int i = 2; h && i < argc; i++) {
		give(m, argv[i]);
		long before = made;
		counting = 1;
		int failed = m->run_values(h, in, out, NULL);
		counting = 0;
		printf("%s %ld%s%s\n", argv[i], made - before, failed ? " failed: " : "", failed ? m->error() : "");
	}
	if (!h)
		return fprintf(stderr, "%s\n", m->error()), 2;
	counting = 1;
	m->close(h);
	counting = 0;
	printf("not freed %ld\nbytes %ld\n", made - freed, bytes);
	return 0;
}
