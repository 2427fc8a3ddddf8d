/* The oracle of the service in tests/runner/device.c: tasks "matmul M K N", "product M K N" (the same, without single elements), "scale N"
 * (x * 2 + constant) and "steep N" (the same, the first constant infinite), row-major. */
#ifndef HONE_SMALL_ORACLE_H
#define HONE_SMALL_ORACLE_H
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/rng.h"
#include "runner/service.h"

enum { MARKS = 16, MARK = 12345 }; /* what layout "marked" has behind its elements, which lie in it the other way round */

struct small {
	bool matmul, points;
	int64_t m, k, n;
	float *constant;
	struct oracle_tensor t[2];
};

static const struct oracle_task *small_open(const char *text, const char **why)
{
	struct small *s = calloc(1, sizeof *s);
	struct oracle_task *t = calloc(1, sizeof *t);
	struct rng r = {7};

	if (!strcmp(text, "die"))
		die(65, "this task ends its process");
	while (!strcmp(text, "wait"))
		sleep(1);
	s->m = s->k = 1;
	s->matmul = sscanf(text, "matmul %ld %ld %ld", &s->m, &s->k, &s->n) == 3;
	s->points = s->matmul || sscanf(text, "product %ld %ld %ld", &s->m, &s->k, &s->n) != 3;
	s->matmul |= !s->points;
	bool steep = sscanf(text, "steep %ld", &s->n) == 1;
	if (!s->matmul && !steep && sscanf(text, "scale %ld", &s->n) != 1) {
		*why = "statement 1: neither matmul nor scale";
		return NULL;
	}
	s->constant = malloc((size_t)(s->k * s->n) * 4 + 4);
	for (int64_t i = 0; i < s->k * s->n; i++)
		s->constant[i] = i == 0 && steep ? INFINITY : (float)rng_normal(&r);
	s->t[0] = (struct oracle_tensor){DT_F32, s->matmul ? s->m * s->k : s->n};
	s->t[1] = (struct oracle_tensor){DT_F32, s->m * s->n};
	*t = (struct oracle_task){1, 1, s->t, (double)s->k, 0, s};
	return t;
}

static void small_inputs(const struct oracle_task *t, uint64_t seed, void *const *dst)
{
	struct rng r = {seed};
	float *x = dst[0];

	for (int64_t i = 0; i < t->t[0].n; i++)
		x[i] = (float)rng_normal(&r);
}

static double small_point(const struct small *s, const float *x, int64_t e)
{
	double v = s->matmul ? 0 : 2.0 * x[e] + s->constant[e];

	for (int64_t k = 0; s->matmul && k < s->k; k++)
		v += (double)x[e / s->n * s->k + k] * s->constant[k * s->n + e % s->n];
	return v;
}

static bool small_points(const struct oracle_task *t, void *const *in, int out, int n, const int64_t *element, double *v)
{
	const struct small *s = t->arg;

	for (int i = 0; i < n; i++)
		v[i] = small_point(s, in[0], element[i]);
	return s->points;
}

static void small_eval(const struct oracle_task *t, void *const *in, void *const *out, float *const *before)
{
	float *y = out[0];

	for (int64_t i = 0; i < t->t[1].n; i++)
		y[i] = (float)small_point(t->arg, in[0], i);
}

static int small_constants(const struct oracle_task *t, const char *algo, struct oracle_tensor *types, const void **data, int max)
{
	const struct small *s = t->arg;

	if (algo)
		return -1;
	types[0] = (struct oracle_tensor){DT_F32, s->k * s->n};
	data[0] = s->constant;
	return 1;
}

static const char *small_buffer(const struct runner_buf *b, int64_t n)
{
	if (*b->layout)
		return strcmp(b->layout, "marked") || b->elems != n + MARKS ? "not a layout" : NULL;
	return b->elems != n ? "not row-major" : NULL;
}

/* Row-major; "marked": from the last to the first, with marks behind. */
static void copy(const struct runner_buf *b, const void *src, void *dst)
{
	int64_t n = b->elems - (*b->layout ? MARKS : 0);

	memcpy(dst, src, (size_t)n * sizeof(float));
	for (int64_t i = 0; i < n && *b->layout; i++)
		((float *)dst)[i] = ((const float *)src)[n - 1 - i];
	for (int64_t i = n; i < b->elems; i++)
		((float *)dst)[i] = MARK;
}

static const struct oracle small = {small_open, small_inputs, small_eval, small_constants, small_points, small_buffer, copy, copy};

#endif
