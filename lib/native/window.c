/* Windows of signals, and the matrix from spectra to the mel scale. */
#include "native/native.h"

/* The type of the result: ONNX's number is ours; 0: not such a one. */
static int window_type(const struct native *n)
{
	int64_t type = native_int(n, "output_datatype");

	return type > 0 && type <= NATIVE_BF16 && native_is_number((int)type) ? (int)type : 0;
}

enum window_kind { WINDOW_HANN, WINDOW_HAMMING, WINDOW_BLACKMAN };

/* Element k of a window whose period is n. */
static double window_at(enum window_kind kind, int64_t k, double n)
{
	double x = 2 * M_PI * (double)k / n, half = sin(x / 2);

	switch (kind) {
	case WINDOW_HANN: return half * half;
	case WINDOW_HAMMING: return 25.0 / 46 - 21.0 / 46 * cos(x);
	default: return 0.42 - 0.5 * cos(x) + 0.08 * cos(2 * x);
	}
}

static const char *window_make(struct native *n, enum window_kind kind)
{
	int type = window_type(n);
	double size = native_real(n, 0, NAN);
	int64_t count = (int64_t)(size >= 0 && size < 0x1p40 ? size : -1);

	if (!type)
		return native_no_type();
	if (count < 0)
		return native_why(n, "a window of %.0f", size);
	void *y = n->room(n, 0, type, 1, &count);
	if (!y)
		return native_no_room(n);
	for (int64_t k = 0; k < count; k++)
		native_set(type, y, k, window_at(kind, k, native_int(n, "periodic") ? size : size - 1));
	return NULL;
}

NATIVE const char *native_HannWindow(struct native *n) { return window_make(n, WINDOW_HANN); }
NATIVE const char *native_HammingWindow(struct native *n) { return window_make(n, WINDOW_HAMMING); }
NATIVE const char *native_BlackmanWindow(struct native *n) { return window_make(n, WINDOW_BLACKMAN); }

/* ---- the mel scale ---- */

static double window_mel(double hertz) { return 2595 * log10(1 + hertz / 700); }
static double window_hertz(double mel) { return 700 * expm1(mel / 2595 * M_LN10); }

/* The column of one band: a triangle from bin a over b to c. */
static void window_band(int type, void *y, int64_t rows, int64_t bands, int64_t i, int64_t a, int64_t b, int64_t c)
{
	for (int64_t j = a < 0 ? 0 : a; j <= b && j < rows; j++)
		native_set(type, y, j * bands + i, a == b ? 1 : (double)(j - a) / (double)(b - a));
	for (int64_t j = b < 0 ? 0 : b; j < c && j < rows; j++)
		native_set(type, y, j * bands + i, (double)(c - j) / (double)(c - b));
}

NATIVE const char *native_MelWeightMatrix(struct native *n)
{
	int type = window_type(n);
	double bands = native_real(n, 0, NAN), length = native_real(n, 1, NAN), rate = native_real(n, 2, NAN);
	double low = window_mel(native_real(n, 3, NAN)), high = window_mel(native_real(n, 4, NAN)), step = (high - low) / (bands + 2);
	int64_t dims[2];
	size_t bytes;

	if (!type)
		return native_no_type();
	if (!(bands >= 0 && bands < 0x1p28 && length >= 0 && length < 0x1p28 && rate >= 1 && isfinite(low) && isfinite(high)))
		return "no number of bands, length, rate or edges that there may be";
	dims[0] = (int64_t)length / 2 + 1;
	dims[1] = (int64_t)bands;
	bytes = (size_t)(dims[0] * dims[1]) * native_size(type);
	void *y = n->room(n, 0, type, 2, dims);
	if (!y)
		return native_no_room(n);
	memset(y, 0, bytes);
	for (int64_t i = 0; i < dims[1]; i++) {
		int64_t bin[3];
		for (int k = 0; k < 3; k++)
			bin[k] = native_whole(floor((length + 1) * window_hertz(low + (double)(i + k) * step) / rate), -1, dims[0]);
		window_band(type, y, dims[0], dims[1], i, bin[0], bin[1], bin[2]);
	}
	return NULL;
}
