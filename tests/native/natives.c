/* Functions of lib/native, called as the evaluator and compiled models do, with contents and sizes that no file was made for: what they
 * compute is checked, or that they say no. Under the address sanitizer, that they stay in their memory. */
#include <stdlib.h>
#include <string.h>
#include "common/memory.h"
#include "common/tool.h"
#include "graph/types.h"
#include "native/table.h"
#include "tap.h"
#include "native/call.h"

/* ---- DFT ---- */

/* The largest error of a transform of length n of m numbers of an axis with others inside, against the sum itself; 1000: it said no. */
static double dft_error(int64_t n, int64_t m, int parts, bool inverse)
{
	struct call *c = call_new(1);
	double *x = operand(c, NATIVE_F64, DIMS(2, m, 3, parts)), worst = 0;

	for (int64_t i = 0; i < 2 * m * 3 * parts; i++)
		x[i] = sin(0.7 * (double)i) + (double)(i % 5) / 3;
	put_int(c, n);
	put_int(c, 1);
	attr(c, "inverse")->i = inverse;
	const char *why = run(c, "DFT");
	const double *y = c->out[0].data;
	for (int64_t b = 0; !why && b < 6; b++)
		for (int64_t k = 0; k < n; k++) {
			double re = 0, im = 0, *at = x + (b / 3 * m * 3 + b % 3) * parts;
			const double *is = y + (b / 3 * n * 3 + k * 3 + b % 3) * 2;
			for (int64_t j = 0; j < n && j < m; j++) {
				double angle = (inverse ? 2 : -2) * M_PI * (double)(j * k % n) / (double)n, s = sin(angle), q = cos(angle);
				double xr = at[j * 3 * parts], xi = parts == 2 ? at[j * 3 * parts + 1] : 0;
				re += xr * q - xi * s;
				im += xr * s + xi * q;
			}
			worst = fmax(worst, hypot(re / (inverse ? (double)n : 1) - is[0], im / (inverse ? (double)n : 1) - is[1]));
		}
	call_free(c);
	return why ? 1000 : worst;
}

static void test_dft(void)
{
	double worst = 0;

	for (int64_t n = 1; n <= 130; n++)
		for (int k = 0; k < 4; k++)
			worst = fmax(worst, dft_error(n, n, 1 + k % 2, k / 2));
	ok(worst < 1e-12, "transforms of 1 to 130 numbers are off by at most %g", worst);
	worst = fmax(fmax(dft_error(509, 509, 2, false), dft_error(1024, 1000, 1, false)), dft_error(1000, 1201, 1, true));
	ok(worst < 1e-11, "long ones, longer and shorter than the signal, by %g", worst);
}

/* A signal from its one-sided spectrum is the signal. */
static void test_one_sided(void)
{
	bool same = true;

	for (int64_t n = 1; n <= 40; n++) {
		struct call *c = call_new(1), *d = call_new(1);
		float *x = operand(c, NATIVE_F32, DIMS(1, n, 1));
		for (int64_t i = 0; i < n; i++)
			x[i] = (float)(i * i % 7);
		put_int(c, n);
		put_int(c, -2);
		attr(c, "onesided")->i = 1;
		const char *why = run(c, "DFT");
		float *y = operand(d, NATIVE_F32, DIMS(1, n / 2 + 1, 2));
		if (!why)
			memcpy(y, c->out[0].data, 2 * (size_t)(n / 2 + 1) * sizeof *y);
		put_int(d, n);
		put_int(d, -2);
		attr(d, "onesided")->i = 1;
		attr(d, "inverse")->i = 1;
		same = same && !why && !run(d, "DFT") && d->out[0].dims[1] == n && d->out[0].dims[2] == 1;
		for (int64_t i = 0; same && i < n; i++)
			same = fabsf(((float *)d->out[0].data)[i] - x[i]) < 1e-5f;
		call_free(c);
		call_free(d);
	}
	ok(same, "a signal comes back from its one-sided spectrum");
}

/* ---- what indices and places may be ---- */

/* A grid of any numbers reads pixels only, and gives numbers that are between them. */
static void test_grid(const char *mode, const char *padding, int64_t extent, bool corners)
{
	static const float odd[] = {0, -1, 1, 0.3f, 1e30f, -1e30f, INFINITY, -INFINITY, NAN, 3e9f, 1e-45f, 1.0000001f};
	enum { N = sizeof odd / sizeof *odd };
	struct call *c = call_new(1);
	float *x = operand(c, NATIVE_F32, DIMS(1, 2, extent, extent)), *at;
	bool fits = true;

	for (int64_t i = 0; i < 2 * extent * extent; i++)
		x[i] = 1;
	at = operand(c, NATIVE_F32, DIMS(1, N, N, 2));
	for (int i = 0; i < N * N; i++) {
		at[2 * i] = odd[i / N];
		at[2 * i + 1] = odd[i % N];
	}
	attr(c, "mode")->s = mode;
	attr(c, "padding_mode")->s = padding;
	attr(c, "align_corners")->i = corners;
	fits = !run(c, "GridSample");
	for (int i = 0; fits && i < 2 * N * N; i++)
		fits = ((float *)c->out[0].data)[i] >= -0.3f && ((float *)c->out[0].data)[i] <= 1.6f;
	ok(fits, "a grid of odd numbers over %lld pixels, %s, %s, corners %d", (long long)extent, mode, padding, corners);
	call_free(c);
}

static void test_regions(const char *op, const char *mode, int64_t ratio)
{
	static const float odd[] = {0, -1, 3, 1e30f, -1e30f, INFINITY, NAN, 7.5f};
	enum { N = sizeof odd / sizeof *odd };
	bool align = !strcmp(op, "RoiAlign"), fits;
	int columns = align ? 4 : 5;
	struct call *c = call_new(1);
	float *x = operand(c, NATIVE_F32, DIMS(2, 2, 5, 6)), *r;

	for (int i = 0; i < 120; i++)
		x[i] = 1;
	r = operand(c, NATIVE_F32, DIMS(N * N, columns));
	for (int i = 0; i < N * N; i++) {
		float *to = r + i * columns;
		if (!align)
			*to++ = (float)(i % 2);
		to[0] = odd[i / N];
		to[1] = odd[i % N];
		to[2] = odd[(i + 3) % N];
		to[3] = odd[(i / N + 5) % N];
	}
	int64_t *image = align ? operand(c, NATIVE_I64, DIMS(N * N)) : NULL;
	for (int i = 0; image && i < N * N; i++)
		image[i] = i % 2;
	attr(c, "output_height")->i = 3;
	attr(c, "output_width")->i = 2;
	attr(c, "sampling_ratio")->i = ratio;
	attr(c, "spatial_scale")->f = 1;
	attr(c, "mode")->s = mode;
	attr(c, "pooled_shape")->ints = (const int64_t[]){3, 2};
	c->attr[c->n.nattr - 1].n = 2;
	fits = !run(c, op);
	for (int i = 0; fits && i < N * N * 12; i++)
		fits = ((float *)c->out[0].data)[i] >= 0 && ((float *)c->out[0].data)[i] <= 1.0001f;
	ok(fits, "%s %s %lld of odd regions", op, mode, (long long)ratio);
	if (align)
		image[5] = 2;
	else
		r[25] = -1;
	const char *why = run(c, op);
	ok(why && strstr(why, "region 5 of image"), "%s: no such image: %s", op, why);
	call_free(c);
}

/* Boxes in a row of which each overlaps the next by half. */
static void test_suppression(void)
{
	enum { N = 200 };
	struct call *c = call_new(1);
	float *box = operand(c, NATIVE_F32, DIMS(1, N, 4)), *score = operand(c, NATIVE_F32, DIMS(1, 2, N));
	bool good = true;

	for (int i = 0; i < N; i++) {
		memcpy(box + 4 * i, (float[]){0, (float)i, 1, (float)i + 2}, 16);
		score[i] = (float)(i % 2) + (float)i / N;
		score[N + i] = i == 7 ? 1 : NAN;
	}
	put_int(c, 50);
	put_float(c, 0.3f);
	put_float(c, 0.5f);
	const char *why = run(c, "NonMaxSuppression");
	const int64_t *y = c->out[0].data;
	for (int i = 0; !why && i < 50; i++)
		good = good && y[3 * i + 1] == 0 && y[3 * i + 2] == N - 1 - 2 * i;
	ok(!why && good && c->out[0].dims[0] == 51 && y[151] == 1 && y[152] == 7, "boxes that overlap are left out: %s", why ? why : "");
	call_free(c);
}

static void test_unpool(void)
{
	struct call *c = call_new(1);
	float *x = operand(c, NATIVE_F32, DIMS(1, 1, 2, 2));
	int64_t *at = operand(c, NATIVE_I64, DIMS(1, 1, 2, 2));

	for (int i = 0; i < 4; i++) {
		x[i] = (float)i + 1;
		at[i] = 5 * i;
	}
	struct native_attr *a = attr(c, "kernel_shape");
	a->ints = (const int64_t[]){2, 2};
	a->n = 2;
	a = attr(c, "strides");
	a->ints = (const int64_t[]){2, 2};
	a->n = 2;
	const char *why = run(c, "MaxUnpool");
	ok(!why && ((float *)c->out[0].data)[10] == 3, "elements at their places: %s", why ? why : "");
	at[2] = 16;
	why = run(c, "MaxUnpool");
	ok(why && strstr(why, "index 16 of 16"), "no such place: %s", why);
	at[2] = -1;
	ok(run(c, "MaxUnpool") != NULL, "nor one before the first");
	call_free(c);
}

static void test_labels(void)
{
	struct call *c = call_new(1);
	float *x = operand(c, NATIVE_F32, DIMS(2, 3));
	int32_t *label = operand(c, NATIVE_I32, DIMS(2));

	memset(x, 0, 6 * sizeof *x);
	label[0] = 1;
	label[1] = 3;
	attr(c, "reduction")->s = "mean";
	const char *why = run(c, "SoftmaxCrossEntropyLoss");
	ok(why && strstr(why, "label 3 of 3 classes"), "no such class: %s", why);
	attr(c, "ignore_index")->i = 3;
	why = run(c, "SoftmaxCrossEntropyLoss");
	ok(!why && fabs(*(float *)c->out[0].data - log(3)) < 1e-6, "but one that is ignored: %s", why ? why : "");
	call_free(c);
}

/* Of a matrix of 3 x 4, elements that indices name along either axis, twice the same place. */
static void test_scatter(int64_t axis)
{
	struct call *c = call_new(1);
	int32_t *x = operand(c, NATIVE_I32, DIMS(3, 4)), *u;
	int64_t *at = operand(c, NATIVE_I64, DIMS(2, 2)), extent = axis ? 4 : 3;
	bool good;

	u = operand(c, NATIVE_I32, DIMS(2, 2));
	for (int i = 0; i < 12; i++)
		x[i] = 1;
	for (int i = 0; i < 4; i++)
		u[i] = 10 * (i + 1);
	memcpy(at, axis ? (int64_t[]){1, -3, 0, 3} : (int64_t[]){1, 0, -2, 2}, 4 * sizeof *at);
	attr(c, "axis")->i = axis;
	attr(c, "reduction")->s = "add";
	good = !run(c, "ScatterElements");
	for (int i = 0; good && i < 12; i++) {
		static const int32_t along[2][12] = {{1, 21, 1, 1, 41, 1, 1, 1, 1, 41, 1, 1}, {1, 31, 1, 1, 31, 1, 1, 41, 1, 1, 1, 1}};
		good = ((int32_t *)c->out[0].data)[i] == along[axis][i];
	}
	ok(good, "elements are added along axis %lld", (long long)axis);
	for (int k = 0; k < 3; k++) {
		at[3] = k == 0 ? extent : k == 1 ? -extent - 1 : INT64_MIN;
		const char *why = run(c, "ScatterElements");
		good = good && why && strstr(why, "is outside the axis of extent");
	}
	ok(good, "an index outside is refused");
	call_free(c);
}

/* ---- random numbers ---- */

static void draw(const char *op, float seed, uint64_t step, double *mean, double *square, float *first)
{
	enum { N = 100000 };
	struct call *c = call_new(1);
	struct native_attr *a = attr(c, "shape");

	a->ints = (const int64_t[]){N};
	attr(c, "scale")->f = 1;
	attr(c, "high")->f = 1;
	if (seed)
		attr(c, "seed")->f = seed;
	c->n.step = step;
	*mean = *square = NAN;
	if (!run(c, op)) {
		*mean = *square = 0;
		for (int i = 0; i < N; i++) {
			double v = ((float *)c->out[0].data)[i];
			*mean += v / N;
			*square += v * v / N;
		}
		*first = *(float *)c->out[0].data;
	}
	call_free(c);
}

static void test_random(void)
{
	double mean, square;
	float a, b, d;

	draw("RandomNormal", 0, 1, &mean, &square, &a);
	ok(fabs(mean) < 0.02 && fabs(square - 1) < 0.03, "normal: mean %g, square %g", mean, square);
	draw("RandomNormal", 0, 1, &mean, &square, &b);
	draw("RandomNormal", 0, 2, &mean, &square, &d);
	ok(a == b && a != d, "the same numbers again, and others in another step");
	draw("RandomNormal", 3.5f, 1, &mean, &square, &a);
	draw("RandomNormal", 3.5f, 2, &mean, &square, &b);
	ok(a == b && a != d, "a seed decides");
	draw("RandomUniform", 0, 1, &mean, &square, &a);
	ok(fabs(mean - 0.5) < 0.01 && fabs(square - 1 / 3.0) < 0.01, "uniform: mean %g, square %g", mean, square);
}

/* ---- small floats ---- */

static void test_small_floats(void)
{
	static const int types[] = {NATIVE_F16, NATIVE_BF16};
	uint16_t x[8] = {0}, y[8] = {0}; /* as large as any type */
	bool same = true;

	for (int t = 0; t < 2; t++)
		for (uint32_t b = 0; b < 65536; b++) {
			x[0] = (uint16_t)b;
			double v = native_get(types[t], x, 0);
			native_set(types[t], y, 0, v);
			same = same && (*x == *y || v != v);
		}
	ok(same, "halves and bfloat16 come back from doubles");
	native_set(NATIVE_F16, y, 0, 65519.99);
	ok(*y == 0x7bff, "the largest half");
	native_set(NATIVE_F16, y, 0, 65520);
	ok(*y == 0x7c00, "one that is too large");
	native_set(NATIVE_F16, y, 0, 0x1.8p-24);
	ok(*y == 2, "halfway to even");
}

/* More tuples than memory has, each of no numbers: the product of what updates must have does not fit. */
static void test_scatter_overflow(void)
{
	struct call *c = call_new(1);

	operand(c, NATIVE_F32, DIMS(4));
	operand(c, NATIVE_I64, DIMS((int64_t)1 << 62, 0));
	operand(c, NATIVE_F32, DIMS(0, 4));
	ok(run(c, "ScatterND") != NULL, "ScatterND: 2^62 tuples of no numbers");
	call_free(c);
}

/* A sum over no numbers is 0, whatever the memory held before. */
static void test_attention_empty(void)
{
	struct call *c = call_new(2);
	int bad = 0;

	operand(c, NATIVE_F32, DIMS(1, 3, 0));
	operand(c, NATIVE_F32, DIMS(1, 3, 0));
	float *v = operand(c, NATIVE_F32, DIMS(1, 3, 4));
	for (int i = 0; i < 12; i++)
		v[i] = 1;
	attr(c, "kv_num_heads")->i = 2;
	attr(c, "q_num_heads")->i = 2;
	attr(c, "scale")->f = 1;
	attr(c, "update_rule")->s = "linear";
	const char *why = run(c, "LinearAttention");
	for (int i = 0; !why && i < 12; i++)
		bad += ((const float *)c->out[0].data)[i] != 0;
	ok(!why && !bad, "LinearAttention of heads of no numbers: zeros (%s)", why ? why : "");
	call_free(c);
}

static void test_order(void)
{
	static const float up[] = {-INFINITY, -2, -0x1p-149f, -0.0f, 0, 0x1p-149f, 2, INFINITY, NAN};
	static const uint64_t whole[] = {0, 1, INT64_MAX, 1ull << 63, UINT64_MAX};
	bool right = true;

	for (int i = 0; i < 8; i++) {
		int64_t a = native_order(NATIVE_F32, up, i), b = native_order(NATIVE_F32, up, i + 1);
		right &= up[i] == up[i + 1] ? a == b : a < b;
	}
	ok(right && native_order_of(-NAN) == native_order_of(NAN), "the order of floats");
	for (int i = 0; i < 4; i++)
		right &= native_order(NATIVE_U64, whole, i) < native_order(NATIVE_U64, whole, i + 1);
	ok(right && native_order(NATIVE_I64, whole, 4) < native_order(NATIVE_I64, whole, 0), "the order of integers");
}

static void test_odd(void)
{
	ok((float)native_odd((1ull << 63) + (1ull << 39) + 1) > 0x1p63f && native_odd_of(-5) == -5 && native_odd(UINT64_MAX) < 0x1p64,
	   "integers on the way to less");
}

static void test_sizes(void)
{
	for (enum dtype t = DT_NONE; t < DT_COUNT; t++)
		ok(native_size((int)t) == (t == DT_STR ? sizeof(struct native_string) : dtype_size(t)), "an element of %s has %zu bytes",
		   dtype_name(t), native_size((int)t));
}

static void test_float8(void)
{
	static const double highest[] = {448, 240, 57344, 57344}, least[] = {0x1p-9, 0x1p-10, 0x1p-16, 0x1p-17};
	int wrong = 0, tie = 0;

	for (int t = NATIVE_F8E4M3FN; t <= NATIVE_F8E5M2FNUZ; t++) {
		for (int b = 0; b < 256; b++) {
			double f = native_get_small(t, (uint8_t)b), next = native_get_small(t, (uint8_t)(b + 1));
			wrong += f == f && !isinf(f) && (native_put_small(t, f, true) != b || native_put_small(t, f, false) != b);
			/* half way to the next of its sign: to the even one; a little beyond: to the next */
			if (b % 128 == 127 || !(fabs(next) > fabs(f)) || isinf(next))
				continue;
			double half = (f + next) / 2;
			tie += native_put_small(t, half, true) != (b & 1 ? b + 1 : b);
			tie += native_put_small(t, half * (1 + 0x1p-50), true) != b + 1 ||
			       (half != 0 && native_put_small(t, half * (1 - 0x1p-50), true) != b);
		}
		wrong += native_get_small(t, native_put_small(t, INFINITY, true)) != highest[t - NATIVE_F8E4M3FN] ||
			 native_get_small(t, native_put_small(t, -1e30, true)) != -highest[t - NATIVE_F8E4M3FN];
		wrong += native_get_small(t, 1) != least[t - NATIVE_F8E4M3FN] ||
			 isfinite(native_get_small(t, native_put_small(t, 1e9, false)));
		wrong += !isnan(native_get_small(t, native_put_small(t, NAN, true)));
	}
	ok(!wrong, "every float8 to float and back, the largest, the least, what is no number");
	ok(!tie, "to float8: to the nearest, halfway to the even one");
}

/* ---- reductions and sums along axes that are operands ---- */

/* Element 0 of what op makes of [2, n, 3] along axis 1, elements 2, 3, 4, ... along it; *size: how many there are. */
static double reduced(const char *op, int type, int64_t n, bool keep, int64_t *size)
{
	struct call *c = call_new(1);
	void *x = operand(c, type, DIMS(2, n, 3));

	for (int64_t i = 0; i < 6 * n; i++)
		native_set(type, x, i, (double)(i / 3 % (n + !n) + 2));
	put_int(c, -2);
	attr(c, "keepdims")->i = keep;
	const char *why = run(c, op);
	double v = why ? NAN : native_get(type, c->out[0].data, 0);
	*size = why ? -1 : c->out[0].rank == 2 + keep ? native_count(&c->out[0]) : -2;
	call_free(c);
	return v;
}

static void test_reduce(void)
{
	static const struct {
		const char *op;
		double of_none, of_four;
	} cases[] = {{"ReduceSum", 0, 14},        {"ReduceProd", 1, 120},
		     {"ReduceMax", -INFINITY, 5}, {"ReduceMin", INFINITY, 2},
		     {"ReduceL1", 0, 14},         {"ReduceL2", 0, sqrt(54)},
		     {"ReduceSumSquare", 0, 54},  {"ReduceLogSum", -INFINITY, log(14)},
		     {"ReduceMean", NAN, 3.5},    {"ReduceLogSumExp", -INFINITY, 5 + log(1 + exp(-1) + exp(-2) + exp(-3))}};
	static const int types[] = {NATIVE_F32, NATIVE_F64, NATIVE_F16, NATIVE_I64, NATIVE_U8};

	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		int wrong = 0;
		for (int t = 0; t < 3; t++) {
			int64_t size, kept;
			double none = reduced(cases[k].op, types[t], 0, false, &size),
			       four = reduced(cases[k].op, types[t], 4, true, &kept);
			wrong += size != 6 || kept != 6 || !(none == cases[k].of_none || (isnan(none) && isnan(cases[k].of_none)));
			wrong += !(fabs(four - cases[k].of_four) < (t == 2 ? 4e-3 : 1e-6));
		}
		ok(!wrong, "%s of nothing, and of 2, 3, 4 and 5", cases[k].op);
	}
	int64_t size;
	ok(reduced("ReduceMax", NATIVE_U8, 0, false, &size) == 0 && reduced("ReduceMin", NATIVE_U8, 0, false, &size) == 255 &&
		   reduced("ReduceMin", NATIVE_I64, 0, false, &size) == 0x1p63 &&
		   reduced("ReduceSum", NATIVE_U8, 200, false, &size) == 203 * 100 % 256,
	   "integers: the extremes of nothing, sums that wrap");
}

static void test_reduce_refused(void)
{
	struct call *c = call_new(1);
	operand(c, NATIVE_F32, DIMS(2, 3));
	put_int(c, 2);
	ok(run(c, "ReduceSum") != NULL, "ReduceSum: an axis outside the rank is refused");
	call_free(c);
	c = call_new(1);
	operand(c, NATIVE_F32, DIMS(2, 3));
	put_int(c, -3);
	ok(run(c, "CumSum") != NULL, "CumSum: an axis outside the rank is refused");
	call_free(c);
	c = call_new(1);
	operand(c, NATIVE_F32, DIMS(2, 3));
	memcpy(operand(c, NATIVE_I64, DIMS(2)), (int64_t[]){1, -1}, 2 * sizeof(int64_t));
	ok(run(c, "ReduceSum") != NULL, "ReduceSum: an axis that is given twice is refused");
	call_free(c);
}

static void test_cumulate(bool exclusive, bool reverse)
{
	struct call *c = call_new(1);
	int32_t *x = operand(c, NATIVE_I32, DIMS(2, 4, 3)), wrong = 0;

	for (int i = 0; i < 24; i++)
		x[i] = i * i;
	put_int(c, 1);
	attr(c, "exclusive")->i = exclusive;
	attr(c, "reverse")->i = reverse;
	const char *why = run(c, "CumSum");
	for (int i = 0; i < 24 && !why; i++) {
		int sum = 0, k = i / 3 % 4;
		for (int j = 0; j < 4; j++)
			if (reverse ? j > k || (j == k && !exclusive) : j < k || (j == k && !exclusive))
				sum += x[i + (j - k) * 3];
		wrong += ((int32_t *)c->out[0].data)[i] != sum;
	}
	ok(!why && !wrong, "CumSum%s%s along a middle axis", exclusive ? " exclusive" : "", reverse ? " reverse" : "");
	call_free(c);
}

/* ---- casts ---- */

/* x of one type as another. */
static double as(int from, double x, int to, bool saturate)
{
	struct call *c = call_new(1);

	native_set(from, operand(c, from, 0, (int64_t[]){0}), 0, x);
	attr(c, "to")->i = to;
	attr(c, "saturate")->i = saturate;
	attr(c, "round_mode")->s = "up";
	double v = run(c, "Cast") ? -1e300 : native_get(to, c->out[0].data, 0);
	call_free(c);
	return v;
}

static void test_casts(void)
{
	ok(as(NATIVE_F32, -1.5, NATIVE_U8, true) == 0 && as(NATIVE_F64, 1e30, NATIVE_I32, true) == INT32_MAX &&
		   as(NATIVE_F32, NAN, NATIVE_I64, true) == 0 && as(NATIVE_F32, 0.5, NATIVE_BOOL, true) == 1,
	   "floats to integers: cut off, the nearest there is; to bool");
	ok(as(NATIVE_I32, 300, NATIVE_U8, true) == 44 && as(NATIVE_I64, 9, NATIVE_I4, true) == -7 &&
		   as(NATIVE_F32, 9, NATIVE_I4, true) == -7 && as(NATIVE_I8, -1, NATIVE_U2, true) == 3,
	   "integers to less: the low bits");
	ok(as(NATIVE_F32, 1000, NATIVE_F8E4M3FN, true) == 448 && isnan(as(NATIVE_F32, 1000, NATIVE_F8E4M3FN, false)) &&
		   isinf(as(NATIVE_F16, 62000, NATIVE_F8E5M2, false)) && as(NATIVE_F32, 5, NATIVE_F8E8M0, true) == 8 &&
		   as(NATIVE_F4E2M1, 6, NATIVE_BF16, true) == 6,
	   "float8 and less, saturating or not");
	ok(as(NATIVE_U64, 0x1p63, NATIVE_F32, true) == 0x1p63 && as(NATIVE_U64, 0x1p63, NATIVE_F16, true) == INFINITY,
	   "u64 of which the highest bit is set");
	ok(as(NATIVE_F32, 1, NATIVE_STR, true) == -1e300 && as(NATIVE_F32, 1, NATIVE_C64, true) == -1e300 &&
		   as(NATIVE_F32, 1, 99, true) == -1e300,
	   "no numbers, no types: refused");
}

/* ---- what does not fit ---- */

static void test_misfits(void)
{
	static const int64_t counts[] = {0, 5}, places[] = {0, 1};
	struct call *c = call_new(1);

	operand(c, NATIVE_F32, DIMS(2, 5));
	operand(c, NATIVE_F32, DIMS(3));
	attr(c, "axis")->i = 1;
	ok(run(c, "QuantizeLinear") && run(c, "DequantizeLinear"), "quantising: scales that do not fit the axis are refused");
	attr(c, "block_size")->i = INT64_MAX;
	ok(run(c, "QuantizeLinear") != NULL, "blocks, too");
	call_free(c);
	c = call_new(3);
	operand(c, NATIVE_F32, DIMS(2, 3, 1));
	for (int i = 0; i < 4; i++)
		operand(c, NATIVE_F32, DIMS(i == 2 ? 2 : 3));
	ok(run(c, "BatchNormalization") != NULL, "BatchNormalization: means of fewer channels are refused");
	call_free(c);
	c = call_new(1);
	memset(operand(c, NATIVE_I64, DIMS(4)), 0, 32);
	struct native_attr *a = attr(c, "pool_int64s");
	a->ints = places, a->n = 2;
	a = attr(c, "ngram_indexes");
	a->ints = places, a->n = 2;
	a = attr(c, "ngram_counts");
	a->ints = counts, a->n = 2;
	ok(run(c, "TfIdfVectorizer") != NULL, "TfIdfVectorizer: n-grams beyond the pool are refused");
	call_free(c);
}

/* Resize to sizes that are an operand. */
static void test_resize(const char *mode, int64_t size, bool good)
{
	struct call *c = call_new(1);
	float *x = operand(c, NATIVE_F32, DIMS(1, 3));

	for (int i = 0; i < 3; i++)
		x[i] = (float)i;
	c->n.nin += 2;
	int64_t *sizes = operand(c, NATIVE_I64, DIMS(2));
	sizes[0] = 1;
	sizes[1] = size;
	attr(c, "mode")->s = mode;
	attr(c, "coordinate_transformation_mode")->s = "asymmetric";
	attr(c, "nearest_mode")->s = "floor";
	const char *why = run(c, "Resize");
	const float *y = c->out[0].data;
	ok(good ? !why && c->out[0].dims[1] == size && (!size || (y[0] == 0 && y[size - 1] == 2)) : why != NULL, "Resize, %s, to %lld",
	   mode, (long long)size);
	call_free(c);
}

/* An LSTM of one unit over 3 steps of 2 sequences, the second of len steps: weights are 0, so that its cell is halved each step. */
static void test_lstm(int64_t len, bool good)
{
	struct call *c = call_new(3);
	float *x = operand(c, NATIVE_F32, DIMS(3, 2, 1));
	bool halved = true;

	memset(x, 0, 6 * sizeof *x);
	memset(operand(c, NATIVE_F32, DIMS(1, 4, 1)), 0, 16);
	memset(operand(c, NATIVE_F32, DIMS(1, 4, 1)), 0, 16);
	c->n.nin++;
	int32_t *lens = operand(c, NATIVE_I32, DIMS(2));
	lens[0] = 3;
	lens[1] = (int32_t)len;
	memset(operand(c, NATIVE_F32, DIMS(1, 2, 1)), 0, 8);
	float *cell = operand(c, NATIVE_F32, DIMS(1, 2, 1));
	cell[0] = cell[1] = 1;
	const char *why = run(c, "LSTM");
	const float *y = c->out[0].data, *last = c->out[2].data;
	for (int64_t s = 0; s < 3 && !why; s++)
		halved &= s < len ? y[2 * s + 1] > 0 : y[2 * s + 1] == 0;
	ok(good ? !why && halved && last[0] == 0.125f && last[1] == ldexpf(1, -(int)len) : why != NULL, "LSTM, a sequence of %lld steps",
	   (long long)len);
	call_free(c);
}

/* A number of an image is cut off to a whole one, and that image has to be there. */
static void test_no_image(int64_t images, float number, bool good)
{
	struct call *c = call_new(1);

	memset(operand(c, NATIVE_F32, DIMS(images, 1, 2, 2)), 0, (size_t)images * 16);
	float *region = operand(c, NATIVE_F32, DIMS(1, 5));
	memset(region, 0, 5 * sizeof *region);
	region[0] = number;
	attr(c, "pooled_shape")->ints = (const int64_t[]){1, 1};
	c->attr[c->n.nattr - 1].n = 2;
	attr(c, "spatial_scale")->f = 1;
	const char *why = run(c, "MaxRoiPool");
	ok(good ? !why : why != NULL, "MaxRoiPool: image %g of %lld", (double)number, (long long)images);
	call_free(c);
}

int main(void)
{
	static const char *const modes[] = {"nearest", "linear", "cubic"}, *const paddings[] = {"zeros", "border", "reflection"};

	test_float8();
	test_reduce();
	test_reduce_refused();
	for (int i = 0; i < 4; i++)
		test_cumulate(i & 1, i >> 1);
	test_casts();
	for (int64_t n = -1; n < 5; n++)
		test_lstm(n, n >= 0 && n < 4);
	test_misfits();
	for (int i = 0; i < 8; i++)
		test_resize(i % 2 ? "nearest" : "linear", (int64_t[]){6, 0, -1, INT64_MAX}[i / 2], i < 4);
	test_order();
	test_odd();
	test_sizes();
	test_scatter_overflow();
	test_attention_empty();
	test_dft();
	test_one_sided();
	for (int i = 0; i < 36; i++)
		test_grid(modes[i % 3], paddings[i / 3 % 3], i / 9 % 2 ? 1 : 5, i / 18);
	test_regions("RoiAlign", "avg", 0);
	test_regions("RoiAlign", "max", 0);
	test_regions("RoiAlign", "avg", 3);
	test_regions("MaxRoiPool", "", 0);
	test_no_image(1, -0.5f, true);
	test_no_image(0, -0.5f, false);
	test_no_image(1, 1.5f, false);
	test_suppression();
	test_unpool();
	test_labels();
	test_scatter(0);
	test_scatter(1);
	test_random();
	test_small_floats();
	return tap_done();
}
