#define LOADS_STAY __asm__ volatile("" ::: "memory") /* none moves across */
#if defined __x86_64__
#define STAYS(x) __asm__("" : "+v"(x)) /* in its register, though it could be read again */
#else
#define STAYS(x) (void)0
#endif
#define VL 8 /* lanes of a vector of float */
#if VL == 8 && defined __GNUC__ && !defined __clang__
#define IN_STEP __attribute__((optimize("schedule-insns", "sched-pressure"))) /* vectors side by side */
#else
#define IN_STEP
#endif
typedef float vf __attribute__((vector_size(4 * VL)));
typedef int vi __attribute__((vector_size(4 * VL)));
typedef float vh __attribute__((vector_size(2 * VL)));
typedef double vd __attribute__((vector_size(4 * VL)));
typedef long vl __attribute__((vector_size(4 * VL)));
typedef float vfu __attribute__((vector_size(4 * VL), aligned(4), may_alias));
#if VL == 16
#define VIOTA ((vi){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
#elif VL == 8
#define VIOTA ((vi){0, 1, 2, 3, 4, 5, 6, 7})
#else
#define VIOTA ((vi){0, 1, 2, 3})
#endif
static inline vf vset(float x) { return x - (vf){}; }
static inline vf vload(const float *p) { return *(const vfu *)p; }
static inline void vstore(float *p, vf x) { *(vfu *)p = x; }
static inline vf vabs(vf x) { return (vf)((vi)x & 0x7fffffff); }
static inline vf vsign_of(vf x, vf s) { return (vf)(((vi)x & 0x7fffffff) | ((vi)s & (int)0x80000000)); }
/* first + step * lane, as float */
static inline vf vindex(long first, long step) { return __builtin_convertvector((int)first + (int)step * VIOTA, vf); }
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__
#ifdef __clang__ /* its names */
#define __builtin_ia32_blendmps_512_mask(b, a, m) __builtin_ia32_selectps_512(m, a, b)
#define __builtin_ia32_maxps512_mask(a, b, old, m, r) __builtin_ia32_selectps_512(m, __builtin_ia32_maxps512(a, b, r), old)
#define __builtin_ia32_minps512_mask(a, b, old, m, r) __builtin_ia32_selectps_512(m, __builtin_ia32_minps512(a, b, r), old)
#define __builtin_ia32_sqrtps512_mask(x, old, m, r) __builtin_ia32_sqrtps512(x, r)
#endif
typedef unsigned short vm;
static inline vm vlanes(long lo, long hi)
{
	unsigned below = lo <= 0 ? 0 : lo >= VL ? 0xffff : (1u << lo) - 1;
	unsigned under = hi <= 0 ? 0 : hi >= VL ? 0xffff : (1u << hi) - 1;
	return (vm)(under & ~below);
}
static inline vm vmset(int c) { return c ? 0xffff : 0; }
static inline int vbit(vm m, int i) { return m >> i & 1; }
static inline vf vsel(vm m, vf a, vf b) { return __builtin_ia32_blendmps_512_mask(b, a, m); }
static inline vm veq(vf a, vf b) { return __builtin_ia32_cmpps512_mask(a, b, 0, -1, 4); }
static inline vm vne(vf a, vf b) { return __builtin_ia32_cmpps512_mask(a, b, 4, -1, 4); }
static inline vm vlt(vf a, vf b) { return __builtin_ia32_cmpps512_mask(a, b, 17, -1, 4); }
static inline vm vle(vf a, vf b) { return __builtin_ia32_cmpps512_mask(a, b, 18, -1, 4); }
static inline vf vmax2(vf a, vf b) { return __builtin_ia32_maxps512_mask(a, b, a, -1, 4); }
static inline vf vmin2(vf a, vf b) { return __builtin_ia32_minps512_mask(a, b, a, -1, 4); }
static inline vf vmax(vf a, vf b) { return __builtin_ia32_maxps512_mask(a, b, a, veq(a, a), 4); }
static inline vf vmin(vf a, vf b) { return __builtin_ia32_minps512_mask(a, b, a, veq(a, a), 4); }
static inline vf vldexp(vf x, vf n) { return __builtin_ia32_scalefps512_mask(x, n, x, -1, 4); }
static inline vf vload_mask(const float *p, vm m) { return __builtin_ia32_loadups512_mask(p, (vf){}, m); }
static inline void vstore_mask(float *p, vf x, vm m) { __builtin_ia32_storeups512_mask(p, x, m); }
#else
typedef vi vm;
static inline vm vlanes(long lo, long hi)
{
	int a = lo < 0 ? 0 : lo > VL ? VL : (int)lo, b = hi < 0 ? 0 : hi > VL ? VL : (int)hi;
	return (VIOTA >= a) & (VIOTA < b);
}
static inline vm vmset(int c) { return (vi){} - !!c; }
static inline int vbit(vm m, int i) { return m[i] & 1; }
static inline vf vsel(vm m, vf a, vf b) { return (vf)((m & (vi)a) | (~m & (vi)b)); }
static inline vm veq(vf a, vf b) { return a == b; }
static inline vm vne(vf a, vf b) { return a != b; }
static inline vm vlt(vf a, vf b) { return a < b; }
static inline vm vle(vf a, vf b) { return a <= b; }
#if VL == 8 && defined __AVX2__
static inline vf vmax2(vf a, vf b) { return __builtin_ia32_maxps256(a, b); }
static inline vf vmin2(vf a, vf b) { return __builtin_ia32_minps256(a, b); }
static inline vf vload_mask(const float *p, vm m) { return __builtin_ia32_maskloadps256((const vf *)p, m); }
static inline void vstore_mask(float *p, vf x, vm m) { __builtin_ia32_maskstoreps256((vf *)p, m, x); }
#else
static inline vf vmax2(vf a, vf b) { return vsel(a > b, a, b); }
static inline vf vmin2(vf a, vf b) { return vsel(a < b, a, b); }
static inline vf vload_mask(const float *p, vm m)
{
	vf r = {};
	for (int i = 0; i < VL; i++)
		if (m[i])
			r[i] = p[i];
	return r;
}
static inline void vstore_mask(float *p, vf x, vm m)
{
	for (int i = 0; i < VL; i++)
		if (m[i])
			p[i] = x[i];
}
#endif
static inline vf vmax(vf a, vf b) { return vsel(veq(a, a), vmax2(a, b), a); }
static inline vf vmin(vf a, vf b) { return vsel(veq(a, a), vmin2(a, b), a); }
static inline vf vldexp(vf x, vf n)
{
	vi k = (vi)(n + 12583166.0f), h = k >> 1; /* n + 2 * 127 in the low bits */
	return x * (vf)(h << 23) * (vf)((k - h) << 23);
}
#endif
static inline vf vgather_mask(const float *p, long step, vm m)
{
	vf r = {};
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			r[i] = p[i * step];
	return r;
}
static inline void vscatter(float *p, long step, vf x, vm m)
{
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			p[i * step] = x[i];
}
/* An index that is data: negative counts from the end; never outside. */
#ifndef BAD_INDEX
static __thread int bad_index;
#define BAD_INDEX bad_index
#endif
static inline long at(long i, long n)
{
	i += i < 0 ? n : 0;
	if (__builtin_expect((unsigned long)i < (unsigned long)n, 1))
		return i;
	BAD_INDEX = 1;
	return i < 0 ? 0 : n - 1;
}
static inline long floordiv(long a, long c) { return a < 0 ? -((c - 1 - a) / c) : a / c; }
static inline long lmin(long a, long b) { return a < b ? a : b; }
static inline long lmax(long a, long b) { return a > b ? a : b; }
static inline vf vgather(const float *p, long step)
{
	return (vf){p[0], p[1 * step], p[2 * step], p[3 * step], p[4 * step], p[5 * step], p[6 * step], p[7 * step]};
}
static inline float vhsum(vf x)
{
	vf y;
	y = __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
	x = x + y;
	y = __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
	x = x + y;
	y = __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
	x = x + y;
	return x[0];
}
static inline float vhprod(vf x)
{
	vf y;
	y = __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
	x = x * y;
	y = __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
	x = x * y;
	y = __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
	x = x * y;
	return x[0];
}
static inline float vhmax(vf x)
{
	vf y;
	y = __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
	x = vmax(x, y);
	y = __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
	x = vmax(x, y);
	y = __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
	x = vmax(x, y);
	return x[0];
}
static inline float vhmin(vf x)
{
	vf y;
	y = __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
	x = vmin(x, y);
	y = __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
	x = vmin(x, y);
	y = __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
	x = vmin(x, y);
	return x[0];
}
static inline float max_f32(float a, float b) { return a > b || a != a ? a : b; }
static inline float min_f32(float a, float b) { return a < b || a != a ? a : b; }
static inline float abs_f32(float a) { return __builtin_fabsf(a); }
static inline float sign_f32(float a) { return a != a ? a : (float)((a > 0) - (a < 0)); }
static inline float div_f32(float a, float b) { return a / b; }
static inline float mod_f32(float a, float b)
{
	return __builtin_fmodf(a, b);
}
static inline unsigned short max_u16(unsigned short a, unsigned short b) { return a > b || a != a ? a : b; }
static inline unsigned short min_u16(unsigned short a, unsigned short b) { return a < b || a != a ? a : b; }
static inline unsigned short abs_u16(unsigned short a) { return a; }
static inline unsigned short sign_u16(unsigned short a) { return a != a ? a : (unsigned short)((a > 0) - (a < 0)); }
static inline unsigned short div_u16(unsigned short a, unsigned short b) { return b ? a / b : 0; }
static inline unsigned short mod_u16(unsigned short a, unsigned short b)
{
	return b ? a % b : 0;
}
static inline unsigned short whole_u16(double v) { return v != v ? 0 : v <= 0 ? (unsigned short)0 : v >= 0x1p16 ? (unsigned short)65535UL : (unsigned short)v; }
static inline short max_i16(short a, short b) { return a > b || a != a ? a : b; }
static inline short min_i16(short a, short b) { return a < b || a != a ? a : b; }
static inline short abs_i16(short a) { return a < 0 ? -a : a; }
static inline short sign_i16(short a) { return a != a ? a : (short)((a > 0) - (a < 0)); }
static inline short div_i16(short a, short b) { return !b ? 0 : b == -1 ? -a : a / b; }
static inline short mod_i16(short a, short b)
{
	if (!b || b == -1)
		return 0;
	a %= b;
	return a && (a < 0) != (b < 0) ? a + b : a;
}
static inline short whole_i16(double v) { return v != v ? 0 : v <= -0x1p15 ? (short)-0x1p15 : v >= 0x1p15 ? (short)32767UL : (short)v; }
static inline int max_i32(int a, int b) { return a > b || a != a ? a : b; }
static inline int min_i32(int a, int b) { return a < b || a != a ? a : b; }
static inline int abs_i32(int a) { return a < 0 ? -a : a; }
static inline int sign_i32(int a) { return a != a ? a : (int)((a > 0) - (a < 0)); }
static inline int div_i32(int a, int b) { return !b ? 0 : b == -1 ? -a : a / b; }
static inline int mod_i32(int a, int b)
{
	if (!b || b == -1)
		return 0;
	a %= b;
	return a && (a < 0) != (b < 0) ? a + b : a;
}
static inline int whole_i32(double v) { return v != v ? 0 : v <= -0x1p31 ? (int)-0x1p31 : v >= 0x1p31 ? (int)2147483647UL : (int)v; }
static inline long max_i64(long a, long b) { return a > b || a != a ? a : b; }
static inline long min_i64(long a, long b) { return a < b || a != a ? a : b; }
static inline long abs_i64(long a) { return a < 0 ? -a : a; }
static inline long sign_i64(long a) { return a != a ? a : (long)((a > 0) - (a < 0)); }
static inline long div_i64(long a, long b) { return !b ? 0 : b == -1 ? -a : a / b; }
static inline long mod_i64(long a, long b)
{
	if (!b || b == -1)
		return 0;
	a %= b;
	return a && (a < 0) != (b < 0) ? a + b : a;
}
static inline long whole_i64(double v) { return v != v ? 0 : v <= -0x1p63 ? (long)-0x1p63 : v >= 0x1p63 ? (long)9223372036854775807UL : (long)v; }
static inline _Float16 max_f16(_Float16 a, _Float16 b) { return a > b || a != a ? a : b; }
static inline _Float16 min_f16(_Float16 a, _Float16 b) { return a < b || a != a ? a : b; }
static inline _Float16 abs_f16(_Float16 a) { return __builtin_fabsf(a); }
static inline _Float16 sign_f16(_Float16 a) { return a != a ? a : (_Float16)((a > 0) - (a < 0)); }
static inline _Float16 div_f16(_Float16 a, _Float16 b) { return a / b; }
static inline _Float16 mod_f16(_Float16 a, _Float16 b)
{
	return __builtin_fmodf(a, b);
}
static inline double max_f64(double a, double b) { return a > b || a != a ? a : b; }
static inline double min_f64(double a, double b) { return a < b || a != a ? a : b; }
static inline double abs_f64(double a) { return __builtin_fabs(a); }
static inline double sign_f64(double a) { return a != a ? a : (double)((a > 0) - (a < 0)); }
static inline double div_f64(double a, double b) { return a / b; }
static inline double mod_f64(double a, double b)
{
	return __builtin_fmod(a, b);
}
static inline unsigned max_u32(unsigned a, unsigned b) { return a > b || a != a ? a : b; }
static inline unsigned min_u32(unsigned a, unsigned b) { return a < b || a != a ? a : b; }
static inline unsigned abs_u32(unsigned a) { return a; }
static inline unsigned sign_u32(unsigned a) { return a != a ? a : (unsigned)((a > 0) - (a < 0)); }
static inline unsigned div_u32(unsigned a, unsigned b) { return b ? a / b : 0; }
static inline unsigned mod_u32(unsigned a, unsigned b)
{
	return b ? a % b : 0;
}
static inline unsigned whole_u32(double v) { return v != v ? 0 : v <= 0 ? (unsigned)0 : v >= 0x1p32 ? (unsigned)4294967295UL : (unsigned)v; }
static inline unsigned long max_u64(unsigned long a, unsigned long b) { return a > b || a != a ? a : b; }
static inline unsigned long min_u64(unsigned long a, unsigned long b) { return a < b || a != a ? a : b; }
static inline unsigned long abs_u64(unsigned long a) { return a; }
static inline unsigned long sign_u64(unsigned long a) { return a != a ? a : (unsigned long)((a > 0) - (a < 0)); }
static inline unsigned long div_u64(unsigned long a, unsigned long b) { return b ? a / b : 0; }
static inline unsigned long mod_u64(unsigned long a, unsigned long b)
{
	return b ? a % b : 0;
}
static inline unsigned long whole_u64(double v) { return v != v ? 0 : v <= 0 ? (unsigned long)0 : v >= 0x1p64 ? (unsigned long)18446744073709551615UL : (unsigned long)v; }
static inline float max_bf16(float a, float b) { return a > b || a != a ? a : b; }
static inline float min_bf16(float a, float b) { return a < b || a != a ? a : b; }
static inline float abs_bf16(float a) { return __builtin_fabsf(a); }
static inline float sign_bf16(float a) { return a != a ? a : (float)((a > 0) - (a < 0)); }
static inline float div_bf16(float a, float b) { return a / b; }
static inline float mod_bf16(float a, float b)
{
	return __builtin_fmodf(a, b);
}
static inline float bf16_get(unsigned short h) { union { unsigned u; float f; } x = {(unsigned)h << 16}; return x.f; }
static inline unsigned short bf16_put(float f)
{
	union { float f; unsigned u; } x = {f};
	return f != f ? 0x7fc0 : (unsigned short)((x.u + 0x7fff + (x.u >> 16 & 1)) >> 16);
}
static inline float odd_f64(double d)
{
	union { float f; unsigned u; } x = {(float)d};
	if ((double)x.f == d || d != d)
		return x.f;
	x.u = (x.u - (__builtin_fabs((double)x.f) > __builtin_fabs(d))) | 1;
	return x.f;
}
static inline double odd_i64(long v) { return (double)(v >> 53 && ~v >> 53 ? (v & ~2047L) | ((v & 2047) != 0) << 10 : v); }
static inline double odd_u64(unsigned long v) { return (double)(v >> 53 ? (v & ~4095UL) | ((v & 4095) != 0) << 11 : v); }
static inline long pow_i64(long a, long b)
{
	long r = 1;
	if (b < 0)
		return a == 1 ? 1 : a == -1 ? b & 1 ? -1 : 1 : 0;
	for (; b; b >>= 1, a *= a)
		r *= b & 1 ? a : 1;
	return r;
}
float powf(float, float);
double pow(double, double);
float floorf(float);
double floor(double);
float rintf(float);
double rint(double);
static inline vf vrint(vf x)
{
#if VL == 16 && defined __AVX512F__
	return __builtin_ia32_rndscaleps_mask(x, 8, x, -1, 4);
#else
	vf t = vabs(x), r = (t + 0x1p23f) - 0x1p23f;
	return vsel(vlt(t, vset(0x1p23f)), vsign_of(r, x), x);
#endif
}
static inline vf vfloor(vf x)
{
#if VL == 16 && defined __AVX512F__
	return __builtin_ia32_rndscaleps_mask(x, 9, x, -1, 4);
#else
	vf r = vrint(x);
	return vsign_of(vsel(vlt(x, r), r - 1.0f, r), x);
#endif
}
static inline vd vpow_core(vd x, vd y)
{
	vl u = (vl)x;
	vl k = (u - 0x3fe6a09e667f3bcdL) >> 52;
	vd m = (vd)(u - (k << 52));
	vd s = (m - 1.0) / (m + 1.0), z = s * s;
	vd p = ((((z / 11 + 1.0 / 9) * z + 1.0 / 7) * z + 1.0 / 5) * z + 1.0 / 3) * z + 1.0;
	vd l = __builtin_convertvector(k, vd) + s * p * 2.8853900817779268;
	vl zero = x == 0.0, huge = x == __builtin_inf();
	l = (vd)(((vl)l & ~(zero | huge)) | (0xfff0000000000000L & zero) | (0x7ff0000000000000L & huge));
	vd t = y * l;
	vl low = t < -300.0, high = t > 300.0;
	t = (vd)(((vl)t & ~(low | high)) | (0xc072c00000000000L & low) | (0x4072c00000000000L & high));
	vd n = (t + 0x1.8p52) - 0x1.8p52, r = t - n;
	vd q = ((((((1.52017181e-5 * r + 1.54695532e-4) * r + 1.33339255e-3) * r + 9.61802644e-3) * r
		+ 0.0555041035) * r + 0.240226512) * r + 0.693147181) * r + 1.0;
	return q * (vd)((vl)(n + 0x1.8p52 + 1023.0) << 52);
}
static inline vf vpow(vf x, vf y)
{
	union { vf v; vh h[2]; } a = {vabs(x)}, b = {y};
	for (int i = 0; i < 2; i++)
		a.h[i] = __builtin_convertvector(
			vpow_core(__builtin_convertvector(a.h[i], vd), __builtin_convertvector(b.h[i], vd)), vh);
	vf r = a.v, half = 0.5f * y;
	vm whole = veq(vfloor(y), y), odd = whole & vne(vfloor(half), half);
	vm minus = vlt(1.0f / x, vset(0.0f)) | vlt(x, vset(0.0f));
	r = vsel(minus & odd, -r, r);
	r = vsel(vlt(x, vset(0.0f)) & vlt(vset(-__builtin_inff()), x) & (vm)~whole, vset(__builtin_nanf("")), r);
	r = vsel(vne(x, x) | vne(y, y), x + y, r);
	r = vsel(veq(x, vset(-1.0f)) & veq(vabs(y), vset(__builtin_inff())), vset(1.0f), r);
	return vsel(veq(x, vset(1.0f)) | veq(y, vset(0.0f)), vset(1.0f), r);
}
static inline vf vmod(vf x, vf y)
{
	for (int i = 0; i < VL; i++)
		x[i] = __builtin_fmodf(x[i], y[i]);
	return x;
}
float expf(float);
double exp(double);
static inline vf vexp_near_0(vf r)
{
	vf p = (((1.38142218e-3f * r + 8.36889868e-3f) * r + 0.0416684057f) * r + 0.166665191f) * r + 0.499999933f;
	return (p * r + 1.0f) * r + 1.0f;
}
static inline vf vexp(vf x)
{
	x = vmin2(vset(89.0f), vmax2(vset(-104.0f), x));
	vf n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;
	return vldexp(vexp_near_0((x - n * 0x1.62e4p-1f) - n * 1.42860677e-6f), n);
}
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512DQ__
static inline vf vexp_minus(vf x)
{
	vf t = 12582912.0f - x * 1.44269504f, n = t - 12582912.0f, r = (-x - n * 0x1.62e4p-1f) - n * 1.42860677e-6f;
	r = __builtin_ia32_rangeps512_mask(r, vset(0.35f), 2, r, -1, 4); /* the lesser, with the sign of r */
	vf p = ((8.31252048e-3f * r + 0.0418901581f) * r + 0.166671147f) * r + 0.499992315f;
	return vldexp((p * r + 1.0f) * r + 1.0f, n);
}
#else
static inline vf vexp_minus(vf x)
{
	x = vmin2(vset(87.0f), vmax2(vset(-89.0f), x));
	vf t = 12583039.0f - x * 1.44269504f, n = t - 12583039.0f;
	return vexp_near_0((-x - n * 0x1.62e4p-1f) - n * 1.42860677e-6f) * (vf)((vi)t << 23);
}
#endif
float logf(float);
double log(double);
static inline vf vlog(vf x)
{
	vm tiny = vlt(x, vset(0x1p-126f));
	vi u = (vi)vsel(tiny, x * 0x1p23f, x);
	vi k = (u - 0x3f3504f3) >> 23;
	vf e = __builtin_convertvector(k, vf) - vsel(tiny, vset(23.0f), vset(0.0f));
	vf f = (vf)(u - (k << 23)) - 1.0f, z = f * f;
	vf p = (((((((-0.0763565139f * f + 0.127633256f) * f - 0.131605832f) * f + 0.142015533f) * f
		- 0.166232983f) * f + 0.200012334f) * f - 0.250008227f) * f + 0.333333317f) * f;
	vf r = e * 0x1.62e4p-1f + (f - (0.5f * z - (p * z + e * 1.42860677e-6f)));
	r = vsel(vlt(x, vset(__builtin_inff())), r, x);
	r = vsel(vlt(x, vset(0.0f)), vset(__builtin_nanf("")), r);
	return vsel(veq(x, vset(0.0f)), vset(-__builtin_inff()), r);
}
float erff(float);
double erf(double);
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__
#ifdef __clang__
#define ERF(i) __builtin_ia32_vpermi2varps512(*(const vf *)erf_of[i], k, *(const vf *)(erf_of[i] + 16))
#else
#define ERF(i) __builtin_ia32_vpermt2varps512_mask(k, *(const vf *)erf_of[i], *(const vf *)(erf_of[i] + 16), -1)
#endif
static const float erf_of[5][32] __attribute__((aligned(64))) = {
	{
		0.0f, 0.140316203f, 0.276326388f, 0.404116899f, 0.520499885f, 0.623240888f, 0.711155653f, 0.784075081f,
		0.842700779f, 0.888388216f, 0.92290014f, 0.948170066f, 0.966105163f, 0.978443742f, 0.986671686f, 0.99199003f,
		0.995322287f, 0.997345984f, 0.998537302f, 0.999217033f, 0.999593019f, 0.999794602f, 0.999899387f, 0.999952137f,
		0.999977887f, 0.999990106f, 0.999995708f, 0.999998212f, 0.999999285f, 0.999999702f, 0.999999881f, 1.0f,
	},
	{
		1.12837911f, 1.11088479f, 1.06001377f, 0.980352581f, 0.87878257f, 0.763499677f, 0.642931342f, 0.524745345f,
		0.415107816f, 0.31827426f, 0.236521348f, 0.170359924f, 0.118930362f, 0.0804722682f, 0.0527749658f, 0.0335457735f,
		0.0206669234f, 0.0123407608f, 0.00714226812f, 0.00400643796f, 0.002178255f, 0.00114785496f, 0.000586264068f, 0.000290220109f,
		0.000139248194f, 6.47559282e-05f, 2.9187524e-05f, 1.27509575e-05f, 5.39903385e-06f, 2.21573077e-06f, 8.81344192e-07f, 3.39783043e-07f,
	},
	{
		6.86481962e-06f, -0.138853624f, -0.265000641f, -0.367630839f, -0.43939057f, -0.477186948f, -0.482198328f, -0.459152132f,
		-0.415107816f, -0.358058572f, -0.295651764f, -0.234245002f, -0.178395689f, -0.130767599f, -0.092356354f, -0.0628984794f,
		-0.0413339734f, -0.0262242202f, -0.0160701815f, -0.00951534603f, -0.00544567592f, -0.00301314425f, -0.00161224185f, -0.000834392151f,
		-0.00041774998f, -0.000202365263f, -9.48610614e-05f, -4.30353066e-05f, -1.88970262e-05f, -8.03221974e-06f, -3.3051308e-06f, -1.31669913e-06f,
	},
	{
		-0.376675934f, -0.358222485f, -0.308781534f, -0.23465471f, -0.146428347f, -0.0558054522f, 0.0265291277f, 0.0925957039f,
		0.138031602f, 0.16215305f, 0.16730547f, 0.157788232f, 0.13867934f, 0.114830151f, 0.0901894942f, 0.0674969628f,
		0.0482868105f, 0.0330983847f, 0.021776583f, 0.0137713458f, 0.00837997161f, 0.00491103623f, 0.00277385837f, 0.00151091255f,
		0.000794072286f, 0.000402842445f, 0.000197345391f, 9.33847114e-05f, 4.26976476e-05f, 1.88677059e-05f, 8.05964555e-06f, 3.32873242e-06f,
	},
	{
		0.0140812118f, 0.0668230131f, 0.126093388f, 0.166023433f, 0.182714954f, 0.176242918f, 0.150597319f, 0.112413511f,
		0.0692825764f, 0.0281222854f, -0.00599030498f, -0.0303384829f, -0.0444632433f, -0.0496204719f, -0.048041638f, -0.0422325321f,
		-0.0344423167f, -0.0263735354f, -0.019103352f, -0.0131545458f, -0.00864152238f, -0.0054296609f, -0.00326944911f, -0.00188955921f,
		-0.00104944804f, -0.000560669927f, -0.000288373645f, -0.000142890785f, -6.82505779e-05f, -3.14395111e-05f, -1.39733856e-05f, -5.99445639e-06f,
	},
};
static inline vf verf(vf x)
{
	vf t = vmin2(vset(3.9374998f), vabs(x)), n = t * 8.0f + 12582912.0f;
	vf d = t - (n - 12582912.0f) * 0.125f;
	vi k = (vi)n;
	return vsign_of((((ERF(4) * d + ERF(3)) * d + ERF(2)) * d + ERF(1)) * d + ERF(0), x);
}
#else
static inline vf verf(vf x)
{
	vf t = vmin2(vset(4.0f), vabs(x)), z = x * x;
	vf s = ((((-5.95377336e-4f * z + 4.9859482e-3f) * z - 0.0267617265f) * z + 0.112816828f) * z
		- 0.376124811f) * z + 0.128379148f;
	vf q = (((((-1.94777713e-4f * t + 3.03182017e-3f) * t - 0.0221813873f) * t + 0.103836909f) * t
		+ 0.637290418f) * t + 1.12761121f) * t + 2.11312605e-4f;
	return vsel(vlt(t, vset(0.93f)), x * s + x, vsign_of(1.0f - vexp_minus(q), x));
}
#endif
float ceilf(float);
double ceil(double);
static inline vf vceil(vf x)
{
#if VL == 16 && defined __AVX512F__
	return __builtin_ia32_rndscaleps_mask(x, 10, x, -1, 4);
#else
	vf r = vrint(x);
	return vsign_of(vsel(vlt(r, x), r + 1.0f, r), x);
#endif
}
/*
 * i0: x, f64 48
 * i1: x2, f64
 * o0: y, bool 48
 * stage lessorequal(bn:48) -> o0
 */
__attribute__((noinline)) static void k0(const double *restrict i0, const double *restrict i1, unsigned char *restrict o0, char *restrict ws)
{
	for (long lessorequal_bn = 0; lessorequal_bn < 48; lessorequal_bn++) {
		o0[lessorequal_bn] = i0[lessorequal_bn] <= i1[0];
	}
}
void run_k0(void **data, char *ws)
{
	k0(data[1], data[2], data[3], ws);
}
/*
 * i0: x, i32 4x30
 * o0: y, i32 4x30
 * stage cumprod(b:4 hmn:30) -> cumprod
 * stage reverse(b:4 hmn:30) -> o0
 */
__attribute__((noinline)) static void k1(const int *restrict i0, int *restrict o0, char *restrict ws)
{
	int *cumprod = (int *)(ws + 0); /* i32 4x30 */
	for (long cumprod_hmn = 0; cumprod_hmn < 30; cumprod_hmn++) {
		{
			const int t0 = i0[cumprod_hmn + 90];
			cumprod[cumprod_hmn] = t0;
		}
	}
	for (long cumprod_b = 0; cumprod_b < 3; cumprod_b++) {
		for (long cumprod_hmn = 0; cumprod_hmn < 30; cumprod_hmn++) {
			{
				const int t0 = i0[-30 * cumprod_b + cumprod_hmn + 60];
				cumprod[30 * cumprod_b + cumprod_hmn + 30] = cumprod[30 * cumprod_b + cumprod_hmn] * t0;
			}
		}
	}
	for (long reverse_b = 0; reverse_b < 4; reverse_b++) {
		__builtin_memcpy(o0 + 30 * reverse_b, cumprod + -30 * reverse_b + 90, 4 * (30));
	}
}
void run_k1(void **data, char *ws)
{
	k1(data[1], data[2], ws);
}
/*
 * i0: x, f32 48
 * o0: y, f32 48
 * stage ceil(bm:48) -> o0
 */
IN_STEP __attribute__((noinline)) static void k2(const float *restrict i0, float *restrict o0, char *restrict ws)
{
	vstore(o0 + 0, vceil(vload(i0 + 0)));
	vstore(o0 + 8, vceil(vload(i0 + 8)));
	vstore(o0 + 16, vceil(vload(i0 + 16)));
	vstore(o0 + 24, vceil(vload(i0 + 24)));
	vstore(o0 + 32, vceil(vload(i0 + 32)));
	vstore(o0 + 40, vceil(vload(i0 + 40)));
}
void run_k2(void **data, char *ws)
{
	k2(data[1], data[2], ws);
}
/*
 * i0: x, f16 6x20
 * o0: y, f16 6
 * stage sum(nc:6 +lane:8) -> sum
 * stage sum_part(nc:6 lane:8 +rs.0:3) -> sum_part
 * stage mean(nc:6) -> o0
 */
__attribute__((noinline)) static void k3(const _Float16 *restrict i0, _Float16 *restrict o0, char *restrict ws)
{
	float *sum = (float *)(ws + 0); /* f32 4 */
	float *sum_2 = (float *)(ws + 64); /* f32 4 */
	for (long sum_nc = 0; sum_nc < 4; sum_nc++) {
		/* sum_part: f32 1x8, register */
		vf sum_part_0;
		sum[sum_nc] = 0.0f;
		sum_part_0 = vset(0.0f);
		for (long sum_part_rs_0 = 0; sum_part_rs_0 < 2; sum_part_rs_0++) {
			sum_part_0[0] += (float)i0[20 * sum_nc + 8 * sum_part_rs_0];
			sum_part_0[1] += (float)i0[20 * sum_nc + 8 * sum_part_rs_0 + 1];
			sum_part_0[2] += (float)i0[20 * sum_nc + 8 * sum_part_rs_0 + 2];
			sum_part_0[3] += (float)i0[20 * sum_nc + 8 * sum_part_rs_0 + 3];
			sum_part_0[4] += (float)i0[20 * sum_nc + 8 * sum_part_rs_0 + 4];
			sum_part_0[5] += (float)i0[20 * sum_nc + 8 * sum_part_rs_0 + 5];
			sum_part_0[6] += (float)i0[20 * sum_nc + 8 * sum_part_rs_0 + 6];
			sum_part_0[7] += (float)i0[20 * sum_nc + 8 * sum_part_rs_0 + 7];
		}
		LOADS_STAY;
		sum_part_0[0] += (float)i0[20 * sum_nc + 16];
		sum_part_0[1] += (float)i0[20 * sum_nc + 17];
		sum_part_0[2] += (float)i0[20 * sum_nc + 18];
		sum_part_0[3] += (float)i0[20 * sum_nc + 19];
		sum_part_0[4] += 0.0f;
		sum_part_0[5] += 0.0f;
		sum_part_0[6] += 0.0f;
		sum_part_0[7] += 0.0f;
		sum[sum_nc] += vhsum(sum_part_0);
	}
	for (long mean_nc_1 = 0; mean_nc_1 < 4; mean_nc_1++) {
		o0[mean_nc_1] = (_Float16)(sum[mean_nc_1] * 0.0500000007f);
	}
	for (long sum_nc = 0; sum_nc < 2; sum_nc++) {
		/* sum_part: f32 1x8, register */
		vf sum_part_2_0;
		sum_2[sum_nc] = 0.0f;
		sum_part_2_0 = vset(0.0f);
		for (long sum_part_rs_0 = 0; sum_part_rs_0 < 2; sum_part_rs_0++) {
			sum_part_2_0[0] += (float)i0[20 * sum_nc + 8 * sum_part_rs_0 + 80];
			sum_part_2_0[1] += (float)i0[20 * sum_nc + 8 * sum_part_rs_0 + 81];
			sum_part_2_0[2] += (float)i0[20 * sum_nc + 8 * sum_part_rs_0 + 82];
			sum_part_2_0[3] += (float)i0[20 * sum_nc + 8 * sum_part_rs_0 + 83];
			sum_part_2_0[4] += (float)i0[20 * sum_nc + 8 * sum_part_rs_0 + 84];
			sum_part_2_0[5] += (float)i0[20 * sum_nc + 8 * sum_part_rs_0 + 85];
			sum_part_2_0[6] += (float)i0[20 * sum_nc + 8 * sum_part_rs_0 + 86];
			sum_part_2_0[7] += (float)i0[20 * sum_nc + 8 * sum_part_rs_0 + 87];
		}
		LOADS_STAY;
		sum_part_2_0[0] += (float)i0[20 * sum_nc + 96];
		sum_part_2_0[1] += (float)i0[20 * sum_nc + 97];
		sum_part_2_0[2] += (float)i0[20 * sum_nc + 98];
		sum_part_2_0[3] += (float)i0[20 * sum_nc + 99];
		sum_part_2_0[4] += 0.0f;
		sum_part_2_0[5] += 0.0f;
		sum_part_2_0[6] += 0.0f;
		sum_part_2_0[7] += 0.0f;
		sum_2[sum_nc] += vhsum(sum_part_2_0);
	}
	for (long mean_nc_1 = 0; mean_nc_1 < 2; mean_nc_1++) {
		o0[mean_nc_1 + 4] = (_Float16)(sum_2[mean_nc_1] * 0.0500000007f);
	}
}
void run_k3(void **data, char *ws)
{
	k3(data[1], data[2], ws);
}
/*
 * i0: x, i16 38
 * o0: y, i16 38
 * stage neg(i:38) -> o0
 */
__attribute__((noinline)) static void k4(const short *restrict i0, short *restrict o0, char *restrict ws)
{
	for (long neg_i = 0; neg_i < 38; neg_i++) {
		o0[neg_i] = (short)(-i0[neg_i]);
	}
}
void run_k4(void **data, char *ws)
{
	k4(data[1], data[2], ws);
}
/*
 * i0: x, i32 221
 * i1: x2, u64 221
 * o0: y, i32 221
 * stage pow(mn:221) -> o0
 */
IN_STEP __attribute__((noinline)) static void k5(const int *restrict i0, const unsigned long *restrict i1, int *restrict o0, char *restrict ws)
{
	for (long pow_mn = 0; pow_mn < 221; pow_mn++) {
		{
			const unsigned long t0 = i1[pow_mn];
			o0[pow_mn] = (int)(long)pow_i64((long)i0[pow_mn], (long)((t0 >= 9223372036854775808UL) ? (mod_u64(t0, 4611686018427387904UL) + 4611686018427387904UL) : t0));
		}
	}
}
void run_k5(void **data, char *ws)
{
	k5(data[1], data[2], data[3], ws);
}
/*
 * i0: x, bf16 5x3
 * o0: y, bf16 2x3
 * c0: w, i64 2x3
 * stage gather(m:2 n:3) -> o0
 */
__attribute__((noinline)) static void k6(const unsigned short *restrict i0, const long *restrict c0, unsigned short *restrict o0, char *restrict ws)
{
	for (long gather_m = 0; gather_m < 2; gather_m++) {
		for (long gather_n = 0; gather_n < 3; gather_n++) {
			{
				const long g0 = at(c0[3 * gather_m + gather_n], 5);
				o0[3 * gather_m + gather_n] = bf16_put(bf16_get(i0[3 * g0 + gather_n]));
			}
		}
	}
}
void run_k6(void **data, char *ws)
{
	k6(data[1], data[3], data[2], ws);
}
/*
 * i0: x, f64
 * o0: y, f64
 * stage gelu() -> o0
 */
IN_STEP __attribute__((noinline)) static void k7(const double *restrict i0, double *restrict o0, char *restrict ws)
{
	{
		const double t0 = i0[0];
		o0[0] = (t0 * 0.5) * (erf((t0 * 0.70710678118654757)) + 1.0);
	}
}
void run_k7(void **data, char *ws)
{
	k7(data[1], data[2], ws);
}
/*
 * i0: x, u16
 * i1: x2, u32
 * o0: y, u32
 * stage mod() -> o0
 */
IN_STEP __attribute__((noinline)) static void k8(const unsigned short *restrict i0, const unsigned *restrict i1, unsigned *restrict o0, char *restrict ws)
{
	o0[0] = mod_u32((unsigned)i0[0], i1[0]);
}
void run_k8(void **data, char *ws)
{
	k8(data[1], data[2], data[3], ws);
}
/*
 * i0: x, i32 570
 * o0: y, i32
 * stage copy() -> o0
 * stage prod(m:1 +lane:8) -> prod
 * stage prod_lanes(m:1 lane:8 +lane.0:4) -> prod_lanes
 * stage prod_part(m:1 lane:32 +rs.0:18) -> prod_part
 */
__attribute__((noinline)) static void k9(const int *restrict i0, int *restrict o0, char *restrict ws)
{
	int *prod = (int *)(ws + 0); /* i32 1 */
	/* prod_part: i32 1x32, register */
	int prod_part_0, prod_part_1, prod_part_2, prod_part_3, prod_part_4, prod_part_5, prod_part_6, prod_part_7;
	int prod_part_8, prod_part_9, prod_part_10, prod_part_11, prod_part_12, prod_part_13, prod_part_14, prod_part_15;
	int prod_part_16, prod_part_17, prod_part_18, prod_part_19, prod_part_20, prod_part_21, prod_part_22;
	int prod_part_23, prod_part_24, prod_part_25, prod_part_26, prod_part_27, prod_part_28, prod_part_29;
	int prod_part_30, prod_part_31;
	/* prod_lanes: i32 1x8, register */
	int prod_lanes_0, prod_lanes_1, prod_lanes_2, prod_lanes_3, prod_lanes_4, prod_lanes_5, prod_lanes_6;
	int prod_lanes_7;
	prod[0] = 1;
	prod_lanes_0 = 1;
	prod_lanes_1 = 1;
	prod_lanes_2 = 1;
	prod_lanes_3 = 1;
	prod_lanes_4 = 1;
	prod_lanes_5 = 1;
	prod_lanes_6 = 1;
	prod_lanes_7 = 1;
	prod_part_0 = 1;
	prod_part_1 = 1;
	prod_part_2 = 1;
	prod_part_3 = 1;
	prod_part_4 = 1;
	prod_part_5 = 1;
	prod_part_6 = 1;
	prod_part_7 = 1;
	prod_part_8 = 1;
	prod_part_9 = 1;
	prod_part_10 = 1;
	prod_part_11 = 1;
	prod_part_12 = 1;
	prod_part_13 = 1;
	prod_part_14 = 1;
	prod_part_15 = 1;
	prod_part_16 = 1;
	prod_part_17 = 1;
	prod_part_18 = 1;
	prod_part_19 = 1;
	prod_part_20 = 1;
	prod_part_21 = 1;
	prod_part_22 = 1;
	prod_part_23 = 1;
	prod_part_24 = 1;
	prod_part_25 = 1;
	prod_part_26 = 1;
	prod_part_27 = 1;
	prod_part_28 = 1;
	prod_part_29 = 1;
	prod_part_30 = 1;
	prod_part_31 = 1;
	for (long prod_part_rs_0 = 0; prod_part_rs_0 < 17; prod_part_rs_0++) {
		prod_part_0 *= i0[32 * prod_part_rs_0];
		prod_part_1 *= i0[32 * prod_part_rs_0 + 1];
		prod_part_2 *= i0[32 * prod_part_rs_0 + 2];
		prod_part_3 *= i0[32 * prod_part_rs_0 + 3];
		prod_part_4 *= i0[32 * prod_part_rs_0 + 4];
		prod_part_5 *= i0[32 * prod_part_rs_0 + 5];
		prod_part_6 *= i0[32 * prod_part_rs_0 + 6];
		prod_part_7 *= i0[32 * prod_part_rs_0 + 7];
		prod_part_8 *= i0[32 * prod_part_rs_0 + 8];
		prod_part_9 *= i0[32 * prod_part_rs_0 + 9];
		prod_part_10 *= i0[32 * prod_part_rs_0 + 10];
		prod_part_11 *= i0[32 * prod_part_rs_0 + 11];
		prod_part_12 *= i0[32 * prod_part_rs_0 + 12];
		prod_part_13 *= i0[32 * prod_part_rs_0 + 13];
		prod_part_14 *= i0[32 * prod_part_rs_0 + 14];
		prod_part_15 *= i0[32 * prod_part_rs_0 + 15];
		prod_part_16 *= i0[32 * prod_part_rs_0 + 16];
		prod_part_17 *= i0[32 * prod_part_rs_0 + 17];
		prod_part_18 *= i0[32 * prod_part_rs_0 + 18];
		prod_part_19 *= i0[32 * prod_part_rs_0 + 19];
		prod_part_20 *= i0[32 * prod_part_rs_0 + 20];
		prod_part_21 *= i0[32 * prod_part_rs_0 + 21];
		prod_part_22 *= i0[32 * prod_part_rs_0 + 22];
		prod_part_23 *= i0[32 * prod_part_rs_0 + 23];
		prod_part_24 *= i0[32 * prod_part_rs_0 + 24];
		prod_part_25 *= i0[32 * prod_part_rs_0 + 25];
		prod_part_26 *= i0[32 * prod_part_rs_0 + 26];
		prod_part_27 *= i0[32 * prod_part_rs_0 + 27];
		prod_part_28 *= i0[32 * prod_part_rs_0 + 28];
		prod_part_29 *= i0[32 * prod_part_rs_0 + 29];
		prod_part_30 *= i0[32 * prod_part_rs_0 + 30];
		prod_part_31 *= i0[32 * prod_part_rs_0 + 31];
	}
	LOADS_STAY;
	prod_part_0 *= i0[544];
	prod_part_1 *= i0[545];
	prod_part_2 *= i0[546];
	prod_part_3 *= i0[547];
	prod_part_4 *= i0[548];
	prod_part_5 *= i0[549];
	prod_part_6 *= i0[550];
	prod_part_7 *= i0[551];
	prod_part_8 *= i0[552];
	prod_part_9 *= i0[553];
	prod_part_10 *= i0[554];
	prod_part_11 *= i0[555];
	prod_part_12 *= i0[556];
	prod_part_13 *= i0[557];
	prod_part_14 *= i0[558];
	prod_part_15 *= i0[559];
	prod_part_16 *= i0[560];
	prod_part_17 *= i0[561];
	prod_part_18 *= i0[562];
	prod_part_19 *= i0[563];
	prod_part_20 *= i0[564];
	prod_part_21 *= i0[565];
	prod_part_22 *= i0[566];
	prod_part_23 *= i0[567];
	prod_part_24 *= i0[568];
	prod_part_25 *= i0[569];
	prod_part_26 *= 1;
	prod_part_27 *= 1;
	prod_part_28 *= 1;
	prod_part_29 *= 1;
	prod_part_30 *= 1;
	prod_part_31 *= 1;
	prod_lanes_0 *= prod_part_0;
	prod_lanes_1 *= prod_part_1;
	prod_lanes_2 *= prod_part_2;
	prod_lanes_3 *= prod_part_3;
	prod_lanes_4 *= prod_part_4;
	prod_lanes_5 *= prod_part_5;
	prod_lanes_6 *= prod_part_6;
	prod_lanes_7 *= prod_part_7;
	prod_lanes_0 *= prod_part_8;
	prod_lanes_1 *= prod_part_9;
	prod_lanes_2 *= prod_part_10;
	prod_lanes_3 *= prod_part_11;
	prod_lanes_4 *= prod_part_12;
	prod_lanes_5 *= prod_part_13;
	prod_lanes_6 *= prod_part_14;
	prod_lanes_7 *= prod_part_15;
	prod_lanes_0 *= prod_part_16;
	prod_lanes_1 *= prod_part_17;
	prod_lanes_2 *= prod_part_18;
	prod_lanes_3 *= prod_part_19;
	prod_lanes_4 *= prod_part_20;
	prod_lanes_5 *= prod_part_21;
	prod_lanes_6 *= prod_part_22;
	prod_lanes_7 *= prod_part_23;
	prod_lanes_0 *= prod_part_24;
	prod_lanes_1 *= prod_part_25;
	prod_lanes_2 *= prod_part_26;
	prod_lanes_3 *= prod_part_27;
	prod_lanes_4 *= prod_part_28;
	prod_lanes_5 *= prod_part_29;
	prod_lanes_6 *= prod_part_30;
	prod_lanes_7 *= prod_part_31;
	prod[0] *= prod_lanes_0;
	prod[0] *= prod_lanes_1;
	prod[0] *= prod_lanes_2;
	prod[0] *= prod_lanes_3;
	prod[0] *= prod_lanes_4;
	prod[0] *= prod_lanes_5;
	prod[0] *= prod_lanes_6;
	prod[0] *= prod_lanes_7;
	o0[0] = prod[0];
}
void run_k9(void **data, char *ws)
{
	k9(data[1], data[2], ws);
}
/*
 * i0: x, u32 8
 * i1: x2, u32 8
 * o0: y, i32 8
 * stage cast2(i:8) -> o0
 */
__attribute__((noinline)) static void k10(const unsigned *restrict i0, const unsigned *restrict i1, int *restrict o0, char *restrict ws)
{
	for (long cast2_i = 0; cast2_i < 8; cast2_i++) {
		o0[cast2_i] = (int)(i0[cast2_i] > i1[cast2_i]);
	}
}
void run_k10(void **data, char *ws)
{
	k10(data[1], data[2], data[3], ws);
}
/*
 * i0: x, i32 33x12
 * o0: y, i32 33x12
 * stage cumprod(m:33 n:12) -> cumprod
 * stage reverse(m:33 n:12) -> o0
 */
__attribute__((noinline)) static void k11(const int *restrict i0, int *restrict o0, char *restrict ws)
{
	int *cumprod = (int *)(ws + 0); /* i32 33x12 */
	for (long cumprod_n = 0; cumprod_n < 12; cumprod_n++) {
		{
			const int t0 = i0[cumprod_n + 384];
			cumprod[cumprod_n] = t0;
		}
	}
	for (long cumprod_m = 0; cumprod_m < 32; cumprod_m++) {
		for (long cumprod_n = 0; cumprod_n < 12; cumprod_n++) {
			{
				const int t0 = i0[-12 * cumprod_m + cumprod_n + 372];
				cumprod[12 * cumprod_m + cumprod_n + 12] = cumprod[12 * cumprod_m + cumprod_n] * t0;
			}
		}
	}
	for (long reverse_m = 0; reverse_m < 33; reverse_m++) {
		__builtin_memcpy(o0 + 12 * reverse_m, cumprod + -12 * reverse_m + 384, 4 * (12));
	}
}
void run_k11(void **data, char *ws)
{
	k11(data[1], data[2], ws);
}
/*
 * i0: x, f64 12
 * o0: y, f64 12
 * stage logsoftmax(i:12) -> o0
 * stage max(one:1 +lane:8) -> max
 * stage max_part(one:1 lane:8 +r.0:2) -> max_part
 * stage sum(one:1 +lane:8) -> sum
 * stage sum_part(one:1 lane:8 +r.0:2) -> sum_part
 */
IN_STEP __attribute__((noinline)) static void k12(const double *restrict i0, double *restrict o0, char *restrict ws)
{
	double *max = (double *)(ws + 0); /* f64 1 */
	double *sum = (double *)(ws + 64); /* f64 1 */
	/* max_part: f64 1x8, register */
	double max_part_0, max_part_1, max_part_2, max_part_3, max_part_4, max_part_5, max_part_6, max_part_7;
	/* sum_part: f64 1x8, register */
	double sum_part_0, sum_part_1, sum_part_2, sum_part_3, sum_part_4, sum_part_5, sum_part_6, sum_part_7;
	max[0] = -__builtin_inf();
	max_part_0 = -__builtin_inf();
	max_part_1 = -__builtin_inf();
	max_part_2 = -__builtin_inf();
	max_part_3 = -__builtin_inf();
	max_part_4 = -__builtin_inf();
	max_part_5 = -__builtin_inf();
	max_part_6 = -__builtin_inf();
	max_part_7 = -__builtin_inf();
	const double r1 = i0[0];
	max_part_0 = max_f64(max_part_0, r1);
	const double r2 = i0[1];
	max_part_1 = max_f64(max_part_1, r2);
	const double r3 = i0[2];
	max_part_2 = max_f64(max_part_2, r3);
	const double r4 = i0[3];
	max_part_3 = max_f64(max_part_3, r4);
	const double r5 = i0[4];
	max_part_4 = max_f64(max_part_4, r5);
	const double r6 = i0[5];
	max_part_5 = max_f64(max_part_5, r6);
	const double r7 = i0[6];
	max_part_6 = max_f64(max_part_6, r7);
	const double r8 = i0[7];
	max_part_7 = max_f64(max_part_7, r8);
	const double r9 = i0[8];
	max_part_0 = max_f64(max_part_0, r9);
	const double r10 = i0[9];
	max_part_1 = max_f64(max_part_1, r10);
	const double r11 = i0[10];
	max_part_2 = max_f64(max_part_2, r11);
	const double r12 = i0[11];
	max_part_3 = max_f64(max_part_3, r12);
	max_part_4 = max_f64(max_part_4, (-__builtin_inf()));
	max_part_5 = max_f64(max_part_5, (-__builtin_inf()));
	max_part_6 = max_f64(max_part_6, (-__builtin_inf()));
	max_part_7 = max_f64(max_part_7, (-__builtin_inf()));
	max[0] = max_f64(max[0], max_part_0);
	max[0] = max_f64(max[0], max_part_1);
	max[0] = max_f64(max[0], max_part_2);
	max[0] = max_f64(max[0], max_part_3);
	max[0] = max_f64(max[0], max_part_4);
	max[0] = max_f64(max[0], max_part_5);
	max[0] = max_f64(max[0], max_part_6);
	max[0] = max_f64(max[0], max_part_7);
	sum[0] = 0.0;
	sum_part_0 = 0.0;
	sum_part_1 = 0.0;
	sum_part_2 = 0.0;
	sum_part_3 = 0.0;
	sum_part_4 = 0.0;
	sum_part_5 = 0.0;
	sum_part_6 = 0.0;
	sum_part_7 = 0.0;
	const double r13 = max[0];
	sum_part_0 += exp((r1 - r13));
	sum_part_1 += exp((r2 - r13));
	sum_part_2 += exp((r3 - r13));
	sum_part_3 += exp((r4 - r13));
	sum_part_4 += exp((r5 - r13));
	sum_part_5 += exp((r6 - r13));
	sum_part_6 += exp((r7 - r13));
	sum_part_7 += exp((r8 - r13));
	sum_part_0 += exp((r9 - r13));
	sum_part_1 += exp((r10 - r13));
	sum_part_2 += exp((r11 - r13));
	sum_part_3 += exp((r12 - r13));
	sum_part_4 += 0.0;
	sum_part_5 += 0.0;
	sum_part_6 += 0.0;
	sum_part_7 += 0.0;
	sum[0] += sum_part_0;
	sum[0] += sum_part_1;
	sum[0] += sum_part_2;
	sum[0] += sum_part_3;
	sum[0] += sum_part_4;
	sum[0] += sum_part_5;
	sum[0] += sum_part_6;
	sum[0] += sum_part_7;
	const double r14 = sum[0];
	o0[0] = (r1 - r13) - log(r14);
	o0[1] = (r2 - r13) - log(r14);
	o0[2] = (r3 - r13) - log(r14);
	o0[3] = (r4 - r13) - log(r14);
	o0[4] = (r5 - r13) - log(r14);
	o0[5] = (r6 - r13) - log(r14);
	o0[6] = (r7 - r13) - log(r14);
	o0[7] = (r8 - r13) - log(r14);
	o0[8] = (r9 - r13) - log(r14);
	o0[9] = (r10 - r13) - log(r14);
	o0[10] = (r11 - r13) - log(r14);
	o0[11] = (r12 - r13) - log(r14);
}
void run_k12(void **data, char *ws)
{
	k12(data[1], data[2], ws);
}
/*
 * i0: x, u16 25
 * i1: x2, u16 25
 * o0: y, u16 25
 * stage sub(i:25) -> o0
 */
__attribute__((noinline)) static void k13(const unsigned short *restrict i0, const unsigned short *restrict i1, unsigned short *restrict o0, char *restrict ws)
{
	for (long sub_i = 0; sub_i < 25; sub_i++) {
		o0[sub_i] = (unsigned short)(i0[sub_i] - i1[sub_i]);
	}
}
void run_k13(void **data, char *ws)
{
	k13(data[1], data[2], data[3], ws);
}
/*
 * i0: x, i64 32
 * o0: y, i64 32
 * stage div(hmn:32) -> o0
 */
__attribute__((noinline)) static void k14(const long *restrict i0, long *restrict o0, char *restrict ws)
{
	for (long div_hmn = 0; div_hmn < 32; div_hmn++) {
		o0[div_hmn] = div_i64(8, i0[div_hmn]);
	}
}
void run_k14(void **data, char *ws)
{
	k14(data[1], data[2], ws);
}
/*
 * i0: x, u64
 * i1: x2, u64
 * o0: y, bool
 * stage equal() -> o0
 */
__attribute__((noinline)) static void k15(const unsigned long *restrict i0, const unsigned long *restrict i1, unsigned char *restrict o0, char *restrict ws)
{
	o0[0] = i0[0] == i1[0];
}
void run_k15(void **data, char *ws)
{
	k15(data[1], data[2], data[3], ws);
}
/*
 * i0: x, bool 19
 * i1: x2, bool 19
 * o0: y, bool 19
 * stage xor(i:19) -> o0
 */
__attribute__((noinline)) static void k16(const unsigned char *restrict i0, const unsigned char *restrict i1, unsigned char *restrict o0, char *restrict ws)
{
	for (long xor_i = 0; xor_i < 19; xor_i++) {
		o0[xor_i] = !i0[xor_i] != !i1[xor_i];
	}
}
void run_k16(void **data, char *ws)
{
	k16(data[1], data[2], data[3], ws);
}
/*
 * i0: x, f32 5x13
 * i1: x2, f32 13x11
 * o0: y, f32 5x11
 * stage x2_panel(a0:13 a1:16) -> x2_panel
 * stage matmul(m:5 n:16 +k:13) -> matmul
 * stage copy(m:5 n:11) -> o0
 */
__attribute__((noinline)) static void k17(const float *restrict i0, const float *restrict i1, float *restrict o0, char *restrict ws)
{
	float *x2_panel = (float *)(ws + 0); /* f32 13x16 in order 1/16 0 1%16 */
	/* matmul: f32 5x16, register */
	vf matmul_0_0, matmul_0_8, matmul_1_0, matmul_1_8, matmul_2_0, matmul_2_8, matmul_3_0, matmul_3_8, matmul_4_0;
	vf matmul_4_8;
	for (long x2_panel_a1_0 = 0; x2_panel_a1_0 < 2; x2_panel_a1_0++) {
		for (long x2_panel_a0 = 0; x2_panel_a0 < 13; x2_panel_a0++) {
			vstore(x2_panel + 16 * x2_panel_a0 + 8 * x2_panel_a1_0, vsel(vlanes(0, -8 * x2_panel_a1_0 + 11), vload_mask(i1 + 11 * x2_panel_a0 + 8 * x2_panel_a1_0, vlanes(0, -8 * x2_panel_a1_0 + 11)), vset(0.0f)));
		}
	}
	matmul_0_0 = vset(0.0f);
	matmul_0_8 = vset(0.0f);
	matmul_1_0 = vset(0.0f);
	matmul_1_8 = vset(0.0f);
	matmul_2_0 = vset(0.0f);
	matmul_2_8 = vset(0.0f);
	matmul_3_0 = vset(0.0f);
	matmul_3_8 = vset(0.0f);
	matmul_4_0 = vset(0.0f);
	matmul_4_8 = vset(0.0f);
	for (long matmul_k = 0; matmul_k < 13; matmul_k++) {
		const float r1 = i0[matmul_k];
		const vf r2 = vload(x2_panel + 16 * matmul_k);
		matmul_0_0 += r1 * r2;
		const vf r3 = vload(x2_panel + 16 * matmul_k + 8);
		matmul_0_8 += r1 * r3;
		const float r4 = i0[matmul_k + 13];
		matmul_1_0 += r4 * r2;
		matmul_1_8 += r4 * r3;
		const float r5 = i0[matmul_k + 26];
		matmul_2_0 += r5 * r2;
		matmul_2_8 += r5 * r3;
		const float r6 = i0[matmul_k + 39];
		matmul_3_0 += r6 * r2;
		matmul_3_8 += r6 * r3;
		const float r7 = i0[matmul_k + 52];
		matmul_4_0 += r7 * r2;
		matmul_4_8 += r7 * r3;
	}
	LOADS_STAY;
	vstore(o0 + 0, matmul_0_0);
	vstore_mask(o0 + 8, matmul_0_8, vlanes(0, 3));
	vstore(o0 + 11, matmul_1_0);
	vstore_mask(o0 + 19, matmul_1_8, vlanes(0, 3));
	vstore(o0 + 22, matmul_2_0);
	vstore_mask(o0 + 30, matmul_2_8, vlanes(0, 3));
	vstore(o0 + 33, matmul_3_0);
	vstore_mask(o0 + 41, matmul_3_8, vlanes(0, 3));
	vstore(o0 + 44, matmul_4_0);
	vstore_mask(o0 + 52, matmul_4_8, vlanes(0, 3));
}
void run_k17(void **data, char *ws)
{
	k17(data[1], data[2], data[3], ws);
}
/*
 * i0: x, f64 11x13
 * i1: x2, f64 2x13
 * o0: y, f64 11x2
 * stage gemm_part(m:11 n:2 lane:8 +k.0:2) -> gemm_part
 * stage gemm(m:11 n:2 +lane:8) -> gemm
 * stage copy(m:11 n:2) -> o0
 */
__attribute__((noinline)) static void k18(const double *restrict i0, const double *restrict i1, double *restrict o0, char *restrict ws)
{
	double *gemm = (double *)(ws + 0); /* f64 1x1 */
	for (long copy_m = 0; copy_m < 11; copy_m++) {
		for (long copy_n = 0; copy_n < 2; copy_n++) {
			/* gemm_part: f64 1x1x8, register */
			double gemm_part_0, gemm_part_1, gemm_part_2, gemm_part_3, gemm_part_4, gemm_part_5, gemm_part_6, gemm_part_7;
			gemm_part_0 = 0.0;
			gemm_part_1 = 0.0;
			gemm_part_2 = 0.0;
			gemm_part_3 = 0.0;
			gemm_part_4 = 0.0;
			gemm_part_5 = 0.0;
			gemm_part_6 = 0.0;
			gemm_part_7 = 0.0;
			gemm_part_0 += i0[13 * copy_m] * i1[13 * copy_n];
			gemm_part_1 += i0[13 * copy_m + 1] * i1[13 * copy_n + 1];
			gemm_part_2 += i0[13 * copy_m + 2] * i1[13 * copy_n + 2];
			gemm_part_3 += i0[13 * copy_m + 3] * i1[13 * copy_n + 3];
			gemm_part_4 += i0[13 * copy_m + 4] * i1[13 * copy_n + 4];
			gemm_part_5 += i0[13 * copy_m + 5] * i1[13 * copy_n + 5];
			gemm_part_6 += i0[13 * copy_m + 6] * i1[13 * copy_n + 6];
			gemm_part_7 += i0[13 * copy_m + 7] * i1[13 * copy_n + 7];
			gemm_part_0 += i0[13 * copy_m + 8] * i1[13 * copy_n + 8];
			gemm_part_1 += i0[13 * copy_m + 9] * i1[13 * copy_n + 9];
			gemm_part_2 += i0[13 * copy_m + 10] * i1[13 * copy_n + 10];
			gemm_part_3 += i0[13 * copy_m + 11] * i1[13 * copy_n + 11];
			gemm_part_4 += i0[13 * copy_m + 12] * i1[13 * copy_n + 12];
			gemm_part_5 += 0.0;
			gemm_part_6 += 0.0;
			gemm_part_7 += 0.0;
			gemm[0] = 0.0;
			gemm[0] += gemm_part_0;
			gemm[0] += gemm_part_1;
			gemm[0] += gemm_part_2;
			gemm[0] += gemm_part_3;
			gemm[0] += gemm_part_4;
			gemm[0] += gemm_part_5;
			gemm[0] += gemm_part_6;
			gemm[0] += gemm_part_7;
			o0[2 * copy_m + copy_n] = gemm[0];
		}
	}
}
void run_k18(void **data, char *ws)
{
	k18(data[1], data[2], data[3], ws);
}
/*
 * i0: x, u32 40
 * o0: y, u32 40
 * stage abs(bhn:40) -> o0
 */
__attribute__((noinline)) static void k19(const unsigned *restrict i0, unsigned *restrict o0, char *restrict ws)
{
	for (long abs_bhn = 0; abs_bhn < 40; abs_bhn++) {
		o0[abs_bhn] = abs_u32(i0[abs_bhn]);
	}
}
void run_k19(void **data, char *ws)
{
	k19(data[1], data[2], ws);
}
/*
 * i0: x, f32 25
 * o0: y, f32 25
 * stage reciprocal(i:25) -> o0
 */
__attribute__((noinline)) static void k20(const float *restrict i0, float *restrict o0, char *restrict ws)
{
	vstore(o0 + 0, 1.0f / vload(i0 + 0));
	vstore(o0 + 8, 1.0f / vload(i0 + 8));
	vstore(o0 + 16, 1.0f / vload(i0 + 16));
	o0[24] = div_f32(1, i0[24]);
}
void run_k20(void **data, char *ws)
{
	k20(data[1], data[2], ws);
}
/*
 * i0: x, i32 40
 * i1: x2, bool 40
 * i2: x3, u64 40
 * i3: x4, u64 40
 * o0: y, u64 40
 * stage mul(bhn:40) -> o0
 */
__attribute__((noinline)) static void k21(const int *restrict i0, const unsigned char *restrict i1, const unsigned long *restrict i2, const unsigned long *restrict i3, unsigned long *restrict o0, char *restrict ws)
{
	for (long mul_bhn = 0; mul_bhn < 40; mul_bhn++) {
		o0[mul_bhn] = (i1[mul_bhn] ? (unsigned long)i0[mul_bhn] : i2[mul_bhn]) * i3[mul_bhn];
	}
}
void run_k21(void **data, char *ws)
{
	k21(data[1], data[2], data[3], data[4], data[5], ws);
}
/*
 * i0: x, bf16
 * o0: y, bf16
 * stage exp() -> o0
 */
IN_STEP __attribute__((noinline)) static void k22(const unsigned short *restrict i0, unsigned short *restrict o0, char *restrict ws)
{
	o0[0] = bf16_put((float)expf(bf16_get(i0[0])));
}
void run_k22(void **data, char *ws)
{
	k22(data[1], data[2], ws);
}
