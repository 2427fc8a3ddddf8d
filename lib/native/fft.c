/* DFT and STFT: the fast Fourier transform, in double. Lengths of small prime factors take a pass for each (Stockham, 1966); others are a
 * convolution of a power of 2 (Bluestein, 1970). Complex numbers are pairs. */
#include "native/native.h"

enum { FFT_FACTORS = 64, FFT_PRIME = 13 }; /* factors up to that have a pass */

struct fft {
	int64_t n, m; /* length; of the convolution, 0: there is none */
	int nf;       /* factors of n, or of m */
	int factor[FFT_FACTORS];
	double *root;             /* exp(-2 pi i k / length), for each k */
	double *chirp, *spectrum; /* of the convolution */
	double *work, *x;         /* room for a pass; the signal, of the larger length */
};

/* ---- passes ---- */

/* One pass: sequences of length n, each `step` interleaved, into r of length n / r. */
static void fft_pass4(int64_t n, int64_t step, const double *root, const double *x, double *y)
{
	int64_t m = n / 4;

	for (int64_t p = 0; p < m; p++) {
		const double *w1 = root + 2 * p * step, *w2 = w1 + 2 * p * step, *w3 = w2 + 2 * p * step;
		const double *a = x + 2 * step * p, *b = a + 2 * step * m, *c = b + 2 * step * m, *d = c + 2 * step * m;
		double *y0 = y + 2 * step * 4 * p, *y1 = y0 + 2 * step, *y2 = y1 + 2 * step, *y3 = y2 + 2 * step;
		for (int64_t q = 0; q < 2 * step; q += 2) {
			double acr = a[q] + c[q], aci = a[q + 1] + c[q + 1], amr = a[q] - c[q], ami = a[q + 1] - c[q + 1];
			double bdr = b[q] + d[q], bdi = b[q + 1] + d[q + 1], bmr = b[q] - d[q], bmi = b[q + 1] - d[q + 1];
			double r1 = amr + bmi, i1 = ami - bmr, r2 = acr - bdr, i2 = aci - bdi, r3 = amr - bmi, i3 = ami + bmr;
			y0[q] = acr + bdr;
			y0[q + 1] = aci + bdi;
			y1[q] = r1 * w1[0] - i1 * w1[1];
			y1[q + 1] = r1 * w1[1] + i1 * w1[0];
			y2[q] = r2 * w2[0] - i2 * w2[1];
			y2[q + 1] = r2 * w2[1] + i2 * w2[0];
			y3[q] = r3 * w3[0] - i3 * w3[1];
			y3[q + 1] = r3 * w3[1] + i3 * w3[0];
		}
	}
}

static void fft_pass(int r, int64_t n, int64_t step, const double *root, const double *x, double *y)
{
	int64_t m = n / r, all = n * step;

	for (int64_t p = 0; p < m; p++)
		for (int j = 0; j < r; j++) {
			double *to = y + 2 * step * (r * p + j);
			for (int k = 0; k < r; k++) {
				const double *from = x + 2 * step * (p + k * m),
					     *w = root + 2 * ((j * k % r * (all / r) + j * p * step) % all);
				for (int64_t q = 0; q < 2 * step; q += 2) {
					double re = from[q] * w[0] - from[q + 1] * w[1], im = from[q] * w[1] + from[q + 1] * w[0];
					to[q] = k ? to[q] + re : re;
					to[q + 1] = k ? to[q + 1] + im : im;
				}
			}
		}
}

/* Transforms x, of that length, in place. */
static void fft_passes(const struct fft *f, int64_t length, double *x)
{
	double *from = x, *to = f->work;
	int64_t n = length, step = 1;

	for (int i = 0; i < f->nf; i++) {
		if (f->factor[i] == 4)
			fft_pass4(n, step, f->root, from, to);
		else
			fft_pass(f->factor[i], n, step, f->root, from, to);
		double *other = from;
		from = to;
		to = other;
		n /= f->factor[i];
		step *= f->factor[i];
	}
	if (from != x)
		memcpy(x, from, 2 * (size_t)length * sizeof *x);
}

/* ---- plans ---- */

/* The factors of n; false: one of them is too large. */
static bool fft_factors(struct fft *f, int64_t n)
{
	f->nf = 0;
	while (n % 4 == 0) {
		f->factor[f->nf++] = 4;
		n /= 4;
	}
	for (int p = 2; p <= FFT_PRIME; p++)
		while (n % p == 0) {
			f->factor[f->nf++] = p;
			n /= p;
		}
	return n == 1;
}

/* Roots of unity, each as a product of two of few. */
static bool fft_roots(struct native *t, struct fft *f, int64_t n)
{
	int64_t few = (int64_t)sqrt((double)n) + 1;
	double *fine = t->scratch(t, 2 * (size_t)few * sizeof *fine);

	f->root = t->scratch(t, 2 * (size_t)n * sizeof *f->root);
	if (!fine || !f->root)
		return false;
	for (int64_t k = 0; k < few; k++) {
		double angle = -2 * M_PI * (double)k / (double)n;
		fine[2 * k] = cos(angle);
		fine[2 * k + 1] = sin(angle);
	}
	for (int64_t k = 0; k < n; k += few) {
		double angle = -2 * M_PI * (double)k / (double)n, re = cos(angle), im = sin(angle);
		for (int64_t j = 0; j < few && k + j < n; j++) {
			f->root[2 * (k + j)] = re * fine[2 * j] - im * fine[2 * j + 1];
			f->root[2 * (k + j) + 1] = re * fine[2 * j + 1] + im * fine[2 * j];
		}
	}
	return true;
}

/* The chirp exp(-pi i k^2 / n), and the transform of its conjugate on both sides. */
static void fft_chirp(struct fft *f)
{
	int64_t square = 0; /* k^2 modulo 2 n */

	memset(f->spectrum, 0, 2 * (size_t)f->m * sizeof *f->spectrum);
	for (int64_t k = 0; k < f->n; k++) {
		double angle = -M_PI * (double)square / (double)f->n, re = cos(angle), im = sin(angle);
		f->chirp[2 * k] = re;
		f->chirp[2 * k + 1] = im;
		f->spectrum[2 * k] = re;
		f->spectrum[2 * k + 1] = -im;
		if (k) {
			f->spectrum[2 * (f->m - k)] = re;
			f->spectrum[2 * (f->m - k) + 1] = -im;
		}
		square = (square + 2 * k + 1) % (2 * f->n);
	}
	fft_passes(f, f->m, f->spectrum);
}

static const char *fft_plan(struct native *t, struct fft *f, int64_t n)
{
	int64_t length = n;

	f->n = n;
	f->m = 0;
	if (n > INT64_C(1) << 40)
		return "the transform is too long";
	if (!fft_factors(f, n)) {
		for (f->m = 1; f->m < 2 * n - 1; f->m *= 2)
			;
		length = f->m;
		fft_factors(f, f->m);
	}
	f->work = t->scratch(t, 2 * (size_t)length * sizeof *f->work);
	f->x = t->scratch(t, 2 * (size_t)length * sizeof *f->x);
	if (!f->work || !f->x || !fft_roots(t, f, length))
		return native_no_room(t);
	if (!f->m)
		return NULL;
	f->chirp = t->scratch(t, 2 * (size_t)n * sizeof *f->chirp);
	f->spectrum = t->scratch(t, 2 * (size_t)f->m * sizeof *f->spectrum);
	if (!f->chirp || !f->spectrum)
		return native_no_room(t);
	fft_chirp(f);
	return NULL;
}

/* x *= y; swapped: real and imaginary parts of the result change places. */
static void fft_times(int64_t n, double *x, const double *y, double scale, bool swapped)
{
	for (int64_t k = 0; k < n; k++) {
		double re = scale * (x[2 * k] * y[2 * k] - x[2 * k + 1] * y[2 * k + 1]);
		double im = scale * (x[2 * k] * y[2 * k + 1] + x[2 * k + 1] * y[2 * k]);
		x[2 * k] = swapped ? im : re;
		x[2 * k + 1] = swapped ? re : im;
	}
}

/* Transforms f->x[0..n) in place. With real and imaginary parts exchanged before and after, it is the inverse without its factor 1/n. */
static void fft_run(const struct fft *f)
{
	double *x = f->x;

	if (!f->m) {
		fft_passes(f, f->n, x);
		return;
	}
	fft_times(f->n, x, f->chirp, 1, false);
	memset(x + 2 * f->n, 0, 2 * (size_t)(f->m - f->n) * sizeof *x);
	fft_passes(f, f->m, x);
	fft_times(f->m, x, f->spectrum, 1, true);
	fft_passes(f, f->m, x);
	for (int64_t k = 0; k < f->n; k++) {
		double re = x[2 * k + 1];
		x[2 * k + 1] = x[2 * k];
		x[2 * k] = re;
	}
	fft_times(f->n, x, f->chirp, 1 / (double)f->m, false);
}

/* ---- signals ---- */

/* A signal in a tensor: element k is at off + k * step, of `parts` numbers, and zero from n on. */
struct fft_signal {
	int type, parts;
	void *p;
	int64_t off, step, n;
};

/* Writes the signal to f->x: as complex numbers, those of a real one with imaginary parts of 0; imaginary: as imaginary parts alone.
 * swapped: real and imaginary parts are exchanged. window: NULL, or what each is multiplied by. */
static void fft_load(const struct fft *f, const struct fft_signal *s, bool swapped, bool imaginary, const double *window)
{
	double *x = f->x;
	int64_t n = s->n < f->n ? s->n : f->n;
	int at = imaginary || swapped;

	for (int64_t k = 0; k < f->n; k++) {
		double w = window ? window[k] : 1;
		int64_t i = s->off + k * s->step;
		x[2 * k + at] = k < n ? w * native_get(s->type, s->p, i) : 0;
		if (!imaginary)
			x[2 * k + 1 - at] = k < n && s->parts == 2 ? w * native_get(s->type, s->p, i + 1) : 0;
	}
}

/* Writes the first s->n of x, of which real and imaginary parts are exchanged if swapped. */
static void fft_store(const struct fft *f, const struct fft_signal *s, double scale, bool swapped)
{
	for (int64_t k = 0; k < s->n; k++) {
		native_set(s->type, s->p, s->off + k * s->step, scale * f->x[2 * k + swapped]);
		if (s->parts == 2)
			native_set(s->type, s->p, s->off + k * s->step + 1, scale * f->x[2 * k + !swapped]);
	}
}

/* Of two real signals that were transformed as one complex number: the transform of the first, or of the second. */
static void fft_store_real(const struct fft *f, const struct fft_signal *s, bool second)
{
	const double *x = f->x;

	for (int64_t k = 0; k < s->n; k++) {
		const double *a = x + 2 * k, *b = x + 2 * (k ? f->n - k : 0);
		double re = second ? a[1] + b[1] : a[0] + b[0], im = second ? b[0] - a[0] : a[1] - b[1];
		native_set(s->type, s->p, s->off + k * s->step, re / 2);
		native_set(s->type, s->p, s->off + k * s->step + 1, im / 2);
	}
}

/* The other half of a one-sided spectrum, with real and imaginary parts exchanged; what of a real signal must be real is. */
static void fft_mirror(const struct fft *f)
{
	double *x = f->x;

	x[0] = 0;
	for (int64_t k = 1; k <= f->n / 2; k++) {
		if (2 * k == f->n)
			x[2 * k] = 0;
		x[2 * (f->n - k)] = -x[2 * k];
		x[2 * (f->n - k) + 1] = x[2 * k + 1];
	}
}

/* ---- DFT ---- */

/* Row number i of all that lie along an axis. */
static void fft_row(struct fft_signal *s, int64_t i, int64_t extent, int64_t inner)
{
	s->off = (i / inner * extent * inner + i % inner) * s->parts;
	s->step = inner * s->parts;
}

static void fft_rows(const struct fft *f, const struct fft_signal *from, const struct fft_signal *to, int64_t rows, int64_t inner,
		     int64_t extent, int64_t result, bool inverse, bool half)
{
	struct fft_signal x = *from, y = *to;

	for (int64_t i = 0; i < rows; i++) {
		fft_row(&x, i, extent, inner);
		fft_row(&y, i, result, inner);
		fft_load(f, &x, inverse, false, NULL);
		if (x.parts == 1 && !inverse && i + 1 < rows) { /* two at a time */
			fft_row(&x, i + 1, extent, inner);
			fft_load(f, &x, false, true, NULL);
			fft_run(f);
			fft_store_real(f, &y, false);
			fft_row(&y, ++i, result, inner);
			fft_store_real(f, &y, true);
			continue;
		}
		if (inverse && half)
			fft_mirror(f);
		fft_run(f);
		fft_store(f, &y, inverse ? 1 / (double)f->n : 1, inverse);
	}
}

NATIVE const char *native_DFT(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	bool inverse = native_int(n, "inverse") != 0, half = native_int(n, "onesided") != 0;
	int axis = x->rank < 2 ? -1 : native_axis(native_number(n, 2, -2), x->rank), parts = inverse && half ? 1 : 2;
	int64_t dims[NATIVE_RANK_MAX], length, inner, rows = 1;
	struct fft f;
	const char *why;

	if (!native_is_float(x->type))
		return native_no_type();
	if (axis < 0 || axis == x->rank - 1)
		return "the axis is outside the signal";
	if (x->dims[x->rank - 1] != 1 && x->dims[x->rank - 1] != 2)
		return "a number is neither real nor complex";
	length = native_number(n, 1, inverse && half ? 2 * (x->dims[axis] - 1) : x->dims[axis]);
	if (length < 1)
		return native_why(n, "a transform of length %lld", (long long)length);
	memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
	dims[axis] = half && !inverse ? length / 2 + 1 : length;
	dims[x->rank - 1] = parts;
	if ((why = fft_plan(n, &f, length)))
		return why;
	void *y = n->room(n, 0, x->type, x->rank, dims);
	if (!y)
		return native_no_room(n);
	inner = native_count_of(x->rank - 2 - axis, x->dims + axis + 1);
	for (int i = 0; i < x->rank - 1; i++)
		rows *= i == axis ? 1 : x->dims[i];
	struct fft_signal from = {.type = x->type, .parts = (int)x->dims[x->rank - 1], .p = x->data, .n = x->dims[axis]};
	struct fft_signal to = {.type = x->type, .parts = parts, .p = y, .n = dims[axis]};
	fft_rows(&f, &from, &to, rows, inner, x->dims[axis], dims[axis], inverse, half);
	return NULL;
}

/* ---- STFT ---- */

static void fft_frames(const struct fft *f, const struct native_tensor *x, void *y, int64_t frames, int64_t hop, int64_t bins,
		       const double *window)
{
	struct fft_signal from = {.type = x->type, .parts = (int)x->dims[2], .p = x->data, .step = x->dims[2], .n = f->n};
	struct fft_signal to = {.type = x->type, .parts = 2, .p = y, .step = 2, .n = bins};

	for (int64_t i = 0; i < x->dims[0] * frames; i++) {
		int64_t next = i + 1;
		from.off = (i / frames * x->dims[1] + i % frames * hop) * from.parts;
		to.off = i * bins * 2;
		fft_load(f, &from, false, false, window);
		if (from.parts == 2 || next == x->dims[0] * frames) {
			fft_run(f);
			fft_store(f, &to, 1, false);
			continue;
		}
		from.off = next / frames * x->dims[1] + next % frames * hop;
		fft_load(f, &from, false, true, window);
		fft_run(f);
		fft_store_real(f, &to, false);
		to.off = next * bins * 2;
		fft_store_real(f, &to, true);
		i = next;
	}
}

NATIVE const char *native_STFT(struct native *n)
{
	const struct native_tensor *x = &n->in[0], *w = native_has(n, 2) ? &n->in[2] : NULL;
	int64_t hop = native_number(n, 1, 0), length, frames, bins;
	double *window = NULL;
	struct fft f;
	const char *why;

	if (!native_is_float(x->type) || (w && !native_is_float(w->type)))
		return native_no_type();
	if (x->rank != 3 || (x->dims[2] != 1 && x->dims[2] != 2))
		return "the signal has not the form [batch][length][1 or 2]";
	length = native_number(n, 3, w ? native_count(w) : x->dims[1]);
	if (hop < 1 || length < 1 || length > x->dims[1])
		return native_why(n, "frames of %lld, each %lld, of a signal of %lld", (long long)length, (long long)hop,
				  (long long)x->dims[1]);
	if (w && native_count(w) != length)
		return native_why(n, "a window of %lld for frames of %lld", (long long)native_count(w), (long long)length);
	frames = (x->dims[1] - length) / hop + 1;
	bins = native_int(n, "onesided") ? length / 2 + 1 : length;
	void *y = n->room(n, 0, x->type, 4, (int64_t[]){x->dims[0], frames, bins, 2});
	if (!y)
		return native_no_room(n);
	if ((why = fft_plan(n, &f, length)))
		return why;
	if (w) {
		window = n->scratch(n, (size_t)length * sizeof *window);
		if (!window)
			return native_no_room(n);
		native_load(w->type, w->data, 0, length, window);
	}
	fft_frames(&f, x, y, frames, hop, bins, window);
	return NULL;
}
