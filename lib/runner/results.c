/* Are these the right results? */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/half.h"
#include "runner/try_impl.h"

double number_at(enum dtype t, const void *p, int64_t i)
{
	switch (t) {
	case DT_F32: return ((const float *)p)[i];
	case DT_F64: return ((const double *)p)[i];
	case DT_F16: return half_to_float(((const uint16_t *)p)[i]);
	case DT_BF16: return bf16_to_float(((const uint16_t *)p)[i]);
#define INT(id, name, size, onnx, T) \
	case DT_##id: return (double)((const T *)p)[i];
		INT_DTYPES(INT)
#undef INT
	default: return ((const uint8_t *)p)[i];
	}
}

static double epsilon(enum dtype t)
{
	switch (t) {
	case DT_F64: return 0x1p-52;
	case DT_F32: return 0x1p-23;
	case DT_F16: return 0x1p-10;
	case DT_BF16: return 0x1p-7;
	default: return 0; /* integers */
	}
}

static double largest(enum dtype t)
{
	switch (t) {
	case DT_F32:
	case DT_BF16: return FLT_MAX;
	case DT_F16: return 65504;
	default: return DBL_MAX;
	}
}

static bool has_floats(const struct problem *p)
{
	for (int i = 0; i < p->nin; i++)
		if (epsilon(p->t[i].tensor.dtype) > 0)
			return true;
	return false;
}

double results_rms(enum dtype t, const void *x, int64_t n)
{
	double sum = 0, lane[8] = {0};
	int64_t i = 0;

	for (const float *f = x; t == DT_F32 && i + 8 <= n; i += 8) /* sums side by side: the usual type, and it is long */
		for (int k = 0; k < 8; k++)
			lane[k] += fabsf(f[i + k]) <= FLT_MAX ? (double)f[i + k] * (double)f[i + k] : 0;
	for (int k = 0; k < 8; k++)
		sum += lane[k];
	for (; i < n; i++) {
		double v = number_at(t, x, i);
		sum += isfinite(v) ? v * v : 0;
	}
	return n ? sqrt(sum / (double)n) : 0;
}

struct tolerance {
	double relative, scale, flat;
};

static struct tolerance tolerance_of(const struct problem *p, int out, int seed)
{
	enum dtype t = p->t[out].tensor.dtype;
	double step = fmax(epsilon(t), epsilon(t) > 0 ? epsilon(p->t[out].tensor.step) : 0);
	struct tolerance r = {TRY_TOLERANCE * step * (8 + sqrt(p->reduction)), 0, 0};

	if (seed >= PROBLEM_SEEDS)
		r.relative *= TRY_ADVERSARIAL_SLACK;
	if (r.relative > 0)
		r.scale = results_rms(t, problem_data(p, out, seed), p->t[out].tensor.n);
	else if (p->t[out].tensor.rounded == ROUNDED_NEAR || ((t == DT_I8 || t == DT_U8) && has_floats(p)))
		r.flat = p->t[out].tensor.rounded != ROUNDED_EXACT;
	return r;
}

/* What is rounded is right within half a step and the error that a sum of floats may have. How many are not; *first. */
static int64_t wrongly_rounded(const struct problem *p, int out, int seed, const void *got, int64_t *first)
{
	enum dtype t = p->t[out].tensor.dtype;
	int64_t n = p->t[out].tensor.n, wrong = 0;
	const float *before = problem_before(p, out, seed);
	double lo, hi, slack = seed >= PROBLEM_SEEDS ? TRY_ADVERSARIAL_SLACK : 1, scale = results_rms(DT_F32, before, n);
	double relative = slack * TRY_TOLERANCE * epsilon(DT_F32) * (8 + sqrt(p->reduction));
	const void *right = problem_data(p, out, seed);

	problem_ends(t, &lo, &hi);
	for (int64_t i = 0; i < n; i++) {
		double x = before[i], y = number_at(t, got, i);
		bool same = y == number_at(t, right, i);
		if (!same && fabs(y - fmin(fmax(x, lo), hi)) > 0.5 + relative * fmax(fabs(x), scale) && wrong++ == 0)
			*first = i;
	}
	return wrong;
}

static double allowed(const struct tolerance *r, double x) { return r->flat + r->relative * fmax(fabs(x), r->scale); }

/* Where x is infinite rounding may have kept y among the numbers, the largest of them. */
static bool equal(const struct tolerance *r, enum dtype t, double x, double y)
{
	if (isnan(x) || isnan(y))
		return isnan(x) && isnan(y);
	if (isinf(x))
		return copysign(y, x) == y && fabs(y) >= largest(t) / 2;
	return x == y || fabs(x - y) <= allowed(r, x);
}

bool results_equal(const struct problem *p, int out, int seed, double x, double y)
{
	struct tolerance r = tolerance_of(p, out, seed);

	return equal(&r, p->t[out].tensor.dtype, x, y);
}

/* How many of the first elements are right beyond doubt: all are, in whole blocks, none infinite or no number. */
static int64_t right_floats(const struct tolerance *r, const float *x, const float *y, int64_t n)
{
	enum { BLOCK = 64 };
	int64_t i = 0;

	for (; i + BLOCK <= n; i += BLOCK) {
		int good = 0;
		for (int k = 0; k < BLOCK; k++) {
			double u = x[i + k], v = y[i + k], scale = fabs(u) > r->scale ? fabs(u) : r->scale;
			good += fabs(u - v) <= r->flat + r->relative * scale && fabs(u) <= DBL_MAX;
		}
		if (good < BLOCK)
			break;
	}
	return i;
}

const char *results_compare(const struct problem *p, int out, int seed, const void *got, struct arena *a)
{
	enum dtype t = p->t[out].tensor.dtype;
	int64_t n = p->t[out].tensor.n, wrong = 0, first = 0;
	const void *right = problem_data(p, out, seed);
	struct tolerance r = tolerance_of(p, out, seed);

	if (r.relative == 0 && !memcmp(right, got, p->t[out].bytes))
		return NULL;
	if (p->t[out].tensor.rounded == ROUNDED_NEAR) {
		wrong = wrongly_rounded(p, out, seed, got, &first);
		n = 0;
	}
	int64_t i = t == DT_F32 ? right_floats(&r, right, got, n) : 0;
	for (; i < n; i++) {
		bool same = dtype_size(t) == 8 && t != DT_F64 ? ((const int64_t *)right)[i] == ((const int64_t *)got)[i]
							      : equal(&r, t, number_at(t, right, i), number_at(t, got, i));
		if (!same && wrong++ == 0)
			first = i;
	}
	if (!wrong)
		return NULL;
	return arena_printf(a, "result %d, element %lld: %.9g, not %.9g (%lld of %lld are wrong)", out - p->nin, (long long)first,
			    number_at(t, got, first), number_at(t, right, first), (long long)wrong, (long long)p->t[out].tensor.n);
}
