#define LOADS_STAY __asm__ volatile("" ::: "memory") /* none moves across */
#if defined __x86_64__
#define STAYS(x) __asm__("" : "+v"(x)) /* in its register, though it could be read again */
#else
#define STAYS(x) (void)0
#endif
#define VL 4 /* lanes of a vector of float */
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
#define __builtin_ia32_blendmps_512_mask(b, a, m)     __builtin_ia32_selectps_512(m, a, b)
#define __builtin_ia32_maxps512_mask(a, b, old, m, r) __builtin_ia32_selectps_512(m, __builtin_ia32_maxps512(a, b, r), old)
#define __builtin_ia32_minps512_mask(a, b, old, m, r) __builtin_ia32_selectps_512(m, __builtin_ia32_minps512(a, b, r), old)
#define __builtin_ia32_sqrtps512_mask(x, old, m, r)   __builtin_ia32_sqrtps512(x, r)
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
static inline float bf16_get(unsigned short h)
{
	union {
		unsigned u;
		float f;
	} x = {(unsigned)h << 16};
	return x.f;
}
static inline unsigned short bf16_put(float f)
{
	union {
		float f;
		unsigned u;
	} x = {f};
	return f != f ? 0x7fc0 : (unsigned short)((x.u + 0x7fff + (x.u >> 16 & 1)) >> 16);
}
static inline float odd_f64(double d)
{
	union {
		float f;
		unsigned u;
	} x = {(float)d};
	if ((double)x.f == d || d != d)
		return x.f;
	x.u = (x.u - (__builtin_fabs((double)x.f) > __builtin_fabs(d))) | 1;
	return x.f;
}
static inline double odd_i64(long v) { return (double)(v >> 53 && ~v >> 53 ? (v & ~2047L) | ((v & 2047) != 0) << 10 : v); }
static inline double odd_u64(unsigned long v) { return (double)(v >> 53 ? (v & ~4095UL) | ((v & 4095) != 0) << 11 : v); }
static inline vf vgather(const float *p, long step) { return (vf){p[0], p[1 * step], p[2 * step], p[3 * step]}; }
static inline float vhsum(vf x)
{
	vf y;
	y = __builtin_shufflevector(x, x, 2, 3, 0, 1);
	x = x + y;
	y = __builtin_shufflevector(x, x, 1, 0, 3, 2);
	x = x + y;
	return x[0];
}
static inline float vhprod(vf x)
{
	vf y;
	y = __builtin_shufflevector(x, x, 2, 3, 0, 1);
	x = x * y;
	y = __builtin_shufflevector(x, x, 1, 0, 3, 2);
	x = x * y;
	return x[0];
}
static inline float vhmax(vf x)
{
	vf y;
	y = __builtin_shufflevector(x, x, 2, 3, 0, 1);
	x = vmax(x, y);
	y = __builtin_shufflevector(x, x, 1, 0, 3, 2);
	x = vmax(x, y);
	return x[0];
}
static inline float vhmin(vf x)
{
	vf y;
	y = __builtin_shufflevector(x, x, 2, 3, 0, 1);
	x = vmin(x, y);
	y = __builtin_shufflevector(x, x, 1, 0, 3, 2);
	x = vmin(x, y);
	return x[0];
}
static inline vi viset(int x) { return x - (vi){}; }
static inline vi visel(vm m, vi a, vi b) { return (vi)vsel(m, (vf)a, (vf)b); }
static inline vi vimax(vi a, vi b)
{
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512VL__ && !defined __clang__
	return __builtin_ia32_pmaxsd512_mask(a, b, a, -1);
#elif VL == 8 && defined __AVX2__ && !defined __clang__
	return __builtin_ia32_pmaxsd256(a, b);
#else
	vi m = a > b;
	return (m & a) | (~m & b);
#endif
}
static inline vi vimin(vi a, vi b)
{
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512VL__ && !defined __clang__
	return __builtin_ia32_pminsd512_mask(a, b, a, -1);
#elif VL == 8 && defined __AVX2__ && !defined __clang__
	return __builtin_ia32_pminsd256(a, b);
#else
	vi m = a < b;
	return (m & a) | (~m & b);
#endif
}
static inline vi viabs(vi x) { return (x ^ (x >> 31)) - (x >> 31); }
static inline vi visign(vi x) { return (x >> 31) | (0 - x >> 31 & 1); }
/* of numbers of 16 bits and a sign, one of them not negative */
static inline vi vimul16(vi a, vi b)
{
#ifdef __SSE2__
	typedef short v __attribute__((vector_size(4 * VL)));
#if VL == 16 && defined __AVX512BW__ && defined __clang__
	return __builtin_ia32_pmaddwd512((v)a, (v)b);
#elif VL == 16 && defined __AVX512BW__
	return __builtin_ia32_pmaddwd512_mask((v)a, (v)b, (vi){}, -1);
#elif VL == 8 && defined __AVX2__
	return __builtin_ia32_pmaddwd256((v)a, (v)b);
#elif VL == 4
	return __builtin_ia32_pmaddwd128((v)a, (v)b);
#else
	return a * b;
#endif
#else
	return a * b;
#endif
}
static inline vm vieq(vi a, vi b)
{
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__
	return __builtin_ia32_cmpd512_mask(a, b, 0, -1);
#else
	return a == b;
#endif
}
static inline vm vilt(vi a, vi b)
{
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__
	return __builtin_ia32_cmpd512_mask(a, b, 1, -1);
#else
	return a < b;
#endif
}
static inline vm vine(vi a, vi b) { return (vm)~vieq(a, b); }
static inline vm vile(vi a, vi b) { return (vm)~vilt(b, a); }
static inline vi viindex(long first, long step) { return (int)first + (int)step * VIOTA; }
static inline vf vreal(vi x) { return __builtin_convertvector(x, vf); }
/* of what fits, or NaN: then the low 16 bits are 0 */
static inline vi vtrunc(vf x)
{
#ifdef __SSE2__
	return __builtin_convertvector(x, vi);
#else
	return __builtin_convertvector(vsel(veq(x, x), x, vset(0.0f)), vi);
#endif
}
/* the nearest to zero; what is out of range is the lowest or the highest, NaN 0 */
static inline vi vwhole_i32(vf x)
{
	vi r = __builtin_convertvector(vmin2(vmax2(x, vset(-0x1p31f)), vset(0x1.fffffep30f)), vi);
	r = visel(vle(vset(0x1p31f), x), viset(0x7fffffff), r);
	return visel(veq(x, x), r, viset(0));
}
static inline vi vwhole_u8(vf x) { return __builtin_convertvector(vmin2(vmax2(x, vset(0.0f)), vset(255.0f)), vi); }
static inline vi vwhole_u16(vf x) { return __builtin_convertvector(vmin2(vmax2(x, vset(0.0f)), vset(65535.0f)), vi); }
static inline vi vwhole_i8(vf x)
{
	vi r = __builtin_convertvector(vmin2(vmax2(x, vset(-128.0f)), vset(127.0f)), vi);
	return visel(veq(x, x), r, viset(0));
}
static inline vi vwhole_i16(vf x)
{
	vi r = __builtin_convertvector(vmin2(vmax2(x, vset(-32768.0f)), vset(32767.0f)), vi);
	return visel(veq(x, x), r, viset(0));
}
/* the low bits */
static inline vi vwrap_u8(vi x) { return x & 0xff; }
static inline vi vwrap_u16(vi x) { return x & 0xffff; }
static inline vi vwrap_i8(vi x) { return x << 24 >> 24; }
static inline vi vwrap_i16(vi x) { return x << 16 >> 16; }
static inline int vihsum(vi x)
{
	vi y;
	y = __builtin_shufflevector(x, x, 2, 3, 0, 1);
	x = x + y;
	y = __builtin_shufflevector(x, x, 1, 0, 3, 2);
	x = x + y;
	return x[0];
}
static inline int vihprod(vi x)
{
	vi y;
	y = __builtin_shufflevector(x, x, 2, 3, 0, 1);
	x = x * y;
	y = __builtin_shufflevector(x, x, 1, 0, 3, 2);
	x = x * y;
	return x[0];
}
static inline int vihmax(vi x)
{
	vi y;
	y = __builtin_shufflevector(x, x, 2, 3, 0, 1);
	x = vimax(x, y);
	y = __builtin_shufflevector(x, x, 1, 0, 3, 2);
	x = vimax(x, y);
	return x[0];
}
static inline int vihmin(vi x)
{
	vi y;
	y = __builtin_shufflevector(x, x, 2, 3, 0, 1);
	x = vimin(x, y);
	y = __builtin_shufflevector(x, x, 1, 0, 3, 2);
	x = vimin(x, y);
	return x[0];
}
static inline vi vload_i32(const int *p)
{
	typedef int v __attribute__((vector_size(VL * sizeof(int)), aligned(sizeof(int)), may_alias));
	return __builtin_convertvector(*(const v *)p, vi);
}
static inline vi vload_i32_mask(const int *p, vm m)
{
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512VL__
	return __builtin_ia32_loaddqusi512_mask((const void *)p, (vi){}, m);
#elif VL == 8 && defined __AVX2__
	return __builtin_ia32_maskloadd256((const vi *)p, m);
#else
	vi r = {};
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			r[i] = p[i];
	return r;
#endif
}
static inline void vstore_i32(int *p, vi x)
{
	typedef int v __attribute__((vector_size(VL * sizeof(int)), aligned(sizeof(int)), may_alias));
	*(v *)p = __builtin_convertvector(x, v);
}
static inline void vstore_i32_mask(int *p, vi x, vm m)
{
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512VL__
	__builtin_ia32_storedqusi512_mask((void *)p, x, m);
#elif VL == 8 && defined __AVX2__
	__builtin_ia32_maskstored256((vi *)p, m, x);
#else
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			p[i] = (int)x[i];
#endif
}
static inline vi vgather_i32(const int *p, long step) { return (vi){p[0], p[1 * step], p[2 * step], p[3 * step]}; }
static inline vi vgather_i32_mask(const int *p, long step, vm m)
{
	vi r = {};
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			r[i] = p[i * step];
	return r;
}
static inline void vscatter_i32(int *p, long step, vi x, vm m)
{
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			p[i * step] = x[i];
}
static inline vi vload_u16(const unsigned short *p)
{
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512VL__ && !defined __clang__
	typedef short v __attribute__((vector_size(32), aligned(1), may_alias));
	return __builtin_ia32_pmovzxwd512_mask(*(const v *)p, (vi){}, -1);
#elif VL == 8 && defined __AVX2__ && !defined __clang__
	typedef short v __attribute__((vector_size(16), aligned(1), may_alias));
	return __builtin_ia32_pmovzxwd256(*(const v *)p);
#elif VL == 4 && defined __SSE2__ && !defined __clang__
	typedef short v __attribute__((vector_size(16), aligned(1), may_alias));
	typedef long w __attribute__((vector_size(16)));
	long four;
	__builtin_memcpy(&four, p, 8);
	v x = (v)(w){four}, z = {};
	return (vi)__builtin_shufflevector(x, z, 0, 8, 1, 9, 2, 10, 3, 11);
#else
	typedef unsigned short v __attribute__((vector_size(VL * sizeof(unsigned short)), aligned(sizeof(unsigned short)), may_alias));
	return __builtin_convertvector(*(const v *)p, vi);
#endif
}
static inline vi vload_u16_mask(const unsigned short *p, vm m)
{
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512VL__
	typedef short v __attribute__((vector_size(32), aligned(1), may_alias));
	v x = __builtin_ia32_loaddquhi256_mask((const v *)p, (v){}, m);
	return vload_u16((const unsigned short *)&x);
#else
	vi r = {};
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			r[i] = p[i];
	return r;
#endif
}
static inline void vstore_u16(unsigned short *p, vi x)
{
#if VL == 8 && defined __AVX2__ && !defined __clang__
	typedef short v __attribute__((vector_size(32)));
	typedef short w __attribute__((vector_size(16)));
	w y = __builtin_shufflevector((v)x, (v)x, 0, 2, 4, 6, 8, 10, 12, 14);
	__builtin_memcpy(p, &y, 16);
#elif VL == 4 && defined __SSE2__ && !defined __clang__
	typedef long w __attribute__((vector_size(16)));
	vi s = x << 16 >> 16;
	long four = ((w)__builtin_ia32_packssdw128(s, s))[0];
	__builtin_memcpy(p, &four, 8);
#else
	typedef unsigned short v __attribute__((vector_size(VL * sizeof(unsigned short)), aligned(sizeof(unsigned short)), may_alias));
	*(v *)p = __builtin_convertvector(x, v);
#endif
}
static inline void vstore_u16_mask(unsigned short *p, vi x, vm m)
{
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512VL__
	typedef short v __attribute__((vector_size(32), aligned(1), may_alias));
	v y;
	vstore_u16((unsigned short *)&y, x);
	__builtin_ia32_storedquhi256_mask((v *)p, y, m);
#else
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			p[i] = (unsigned short)x[i];
#endif
}
static inline vi vgather_u16(const unsigned short *p, long step) { return (vi){p[0], p[1 * step], p[2 * step], p[3 * step]}; }
static inline vi vgather_u16_mask(const unsigned short *p, long step, vm m)
{
	vi r = {};
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			r[i] = p[i * step];
	return r;
}
static inline void vscatter_u16(unsigned short *p, long step, vi x, vm m)
{
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			p[i * step] = x[i];
}
static inline vi vload_i8(const signed char *p)
{
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512VL__ && !defined __clang__
	typedef char v __attribute__((vector_size(16), aligned(1), may_alias));
	return __builtin_ia32_pmovsxbd512_mask(*(const v *)p, (vi){}, -1);
#elif VL == 8 && defined __AVX2__ && !defined __clang__
	typedef char v __attribute__((vector_size(16), aligned(1), may_alias));
	typedef long w __attribute__((vector_size(16)));
	long x;
	__builtin_memcpy(&x, p, 8);
	return __builtin_ia32_pmovsxbd256((v)(w){x});
#elif VL == 4 && defined __SSE2__ && !defined __clang__
	typedef char v __attribute__((vector_size(16), aligned(1), may_alias));
	typedef short w __attribute__((vector_size(16)));
	int four;
	__builtin_memcpy(&four, p, 4);
	v x = (v)(vi){four}, z = x;
	x = __builtin_shufflevector(x, z, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
	return (vi)__builtin_shufflevector((w)x, (w)x, 0, 8, 1, 9, 2, 10, 3, 11) >> 24;
#else
	typedef signed char v __attribute__((vector_size(VL * sizeof(signed char)), aligned(sizeof(signed char)), may_alias));
	return __builtin_convertvector(*(const v *)p, vi);
#endif
}
static inline vi vload_i8_mask(const signed char *p, vm m)
{
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512VL__
	typedef char v __attribute__((vector_size(16), aligned(1), may_alias));
	v x = __builtin_ia32_loaddquqi128_mask((const v *)p, (v){}, m);
	return vload_i8((const signed char *)&x);
#else
	vi r = {};
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			r[i] = p[i];
	return r;
#endif
}
static inline void vstore_i8(signed char *p, vi x)
{
#if VL == 8 && defined __AVX2__ && !defined __clang__
	typedef char v __attribute__((vector_size(32)));
	typedef char w __attribute__((vector_size(8)));
	w y = __builtin_shufflevector((v)x, (v)x, 0, 4, 8, 12, 16, 20, 24, 28);
	__builtin_memcpy(p, &y, 8);
#elif VL == 4 && defined __SSE2__ && !defined __clang__
	typedef short w __attribute__((vector_size(16)));
	w s = __builtin_ia32_packssdw128(x & 255, x & 255);
	int four = ((vi)__builtin_ia32_packuswb128(s, s))[0];
	__builtin_memcpy(p, &four, 4);
#else
	typedef signed char v __attribute__((vector_size(VL * sizeof(signed char)), aligned(sizeof(signed char)), may_alias));
	*(v *)p = __builtin_convertvector(x, v);
#endif
}
static inline void vstore_i8_mask(signed char *p, vi x, vm m)
{
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512VL__
	typedef char v __attribute__((vector_size(16), aligned(1), may_alias));
	v y;
	vstore_i8((signed char *)&y, x);
	__builtin_ia32_storedquqi128_mask((v *)p, y, m);
#else
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			p[i] = (signed char)x[i];
#endif
}
static inline vi vgather_i8(const signed char *p, long step) { return (vi){p[0], p[1 * step], p[2 * step], p[3 * step]}; }
static inline vi vgather_i8_mask(const signed char *p, long step, vm m)
{
	vi r = {};
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			r[i] = p[i * step];
	return r;
}
static inline void vscatter_i8(signed char *p, long step, vi x, vm m)
{
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			p[i * step] = x[i];
}
static inline vi vload_u8(const unsigned char *p)
{
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512VL__ && !defined __clang__
	typedef char v __attribute__((vector_size(16), aligned(1), may_alias));
	return __builtin_ia32_pmovzxbd512_mask(*(const v *)p, (vi){}, -1);
#elif VL == 8 && defined __AVX2__ && !defined __clang__
	typedef char v __attribute__((vector_size(16), aligned(1), may_alias));
	typedef long w __attribute__((vector_size(16)));
	long x;
	__builtin_memcpy(&x, p, 8);
	return __builtin_ia32_pmovzxbd256((v)(w){x});
#elif VL == 4 && defined __SSE2__ && !defined __clang__
	typedef char v __attribute__((vector_size(16), aligned(1), may_alias));
	typedef short w __attribute__((vector_size(16)));
	int four;
	__builtin_memcpy(&four, p, 4);
	v x = (v)(vi){four}, z = {};
	x = __builtin_shufflevector(x, z, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
	return (vi)__builtin_shufflevector((w)x, (w)z, 0, 8, 1, 9, 2, 10, 3, 11);
#else
	typedef unsigned char v __attribute__((vector_size(VL * sizeof(unsigned char)), aligned(sizeof(unsigned char)), may_alias));
	return __builtin_convertvector(*(const v *)p, vi);
#endif
}
static inline vi vload_u8_mask(const unsigned char *p, vm m)
{
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512VL__
	typedef char v __attribute__((vector_size(16), aligned(1), may_alias));
	v x = __builtin_ia32_loaddquqi128_mask((const v *)p, (v){}, m);
	return vload_u8((const unsigned char *)&x);
#else
	vi r = {};
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			r[i] = p[i];
	return r;
#endif
}
static inline void vstore_u8(unsigned char *p, vi x)
{
#if VL == 8 && defined __AVX2__ && !defined __clang__
	typedef char v __attribute__((vector_size(32)));
	typedef char w __attribute__((vector_size(8)));
	w y = __builtin_shufflevector((v)x, (v)x, 0, 4, 8, 12, 16, 20, 24, 28);
	__builtin_memcpy(p, &y, 8);
#elif VL == 4 && defined __SSE2__ && !defined __clang__
	typedef short w __attribute__((vector_size(16)));
	w s = __builtin_ia32_packssdw128(x & 255, x & 255);
	int four = ((vi)__builtin_ia32_packuswb128(s, s))[0];
	__builtin_memcpy(p, &four, 4);
#else
	typedef unsigned char v __attribute__((vector_size(VL * sizeof(unsigned char)), aligned(sizeof(unsigned char)), may_alias));
	*(v *)p = __builtin_convertvector(x, v);
#endif
}
static inline void vstore_u8_mask(unsigned char *p, vi x, vm m)
{
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512VL__
	typedef char v __attribute__((vector_size(16), aligned(1), may_alias));
	v y;
	vstore_u8((unsigned char *)&y, x);
	__builtin_ia32_storedquqi128_mask((v *)p, y, m);
#else
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			p[i] = (unsigned char)x[i];
#endif
}
static inline vi vgather_u8(const unsigned char *p, long step) { return (vi){p[0], p[1 * step], p[2 * step], p[3 * step]}; }
static inline vi vgather_u8_mask(const unsigned char *p, long step, vm m)
{
	vi r = {};
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			r[i] = p[i * step];
	return r;
}
static inline void vscatter_u8(unsigned char *p, long step, vi x, vm m)
{
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			p[i * step] = x[i];
}
static inline vf vload_f16(const _Float16 *p)
{
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512VL__
	typedef short v __attribute__((vector_size(32), aligned(1), may_alias));
	return __builtin_ia32_vcvtph2ps512_mask(*(const v *)p, (vf){}, -1, 4);
#elif VL == 8 && defined __F16C__
	typedef short v __attribute__((vector_size(16), aligned(1), may_alias));
	return __builtin_ia32_vcvtph2ps256(*(const v *)p);
#else
	vf r;
	for (int i = 0; i < VL; i++)
		r[i] = (float)p[i];
	return r;
#endif
}
static inline vf vload_f16_mask(const _Float16 *p, vm m)
{
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512VL__
	typedef short v __attribute__((vector_size(32), aligned(1), may_alias));
	v x = __builtin_ia32_loaddquhi256_mask((const v *)p, (v){}, m);
	return vload_f16((const _Float16 *)&x);
#else
	vf r = {};
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			r[i] = (float)p[i];
	return r;
#endif
}
static inline void vstore_f16(_Float16 *p, vf x)
{
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512VL__
	typedef short v __attribute__((vector_size(32), aligned(1), may_alias));
	*(v *)p = __builtin_ia32_vcvtps2ph512_mask(x, 0, (v){}, -1);
#elif VL == 8 && defined __F16C__
	typedef short v __attribute__((vector_size(16), aligned(1), may_alias));
	*(v *)p = __builtin_ia32_vcvtps2ph256(x, 0);
#else
	for (int i = 0; i < VL; i++)
		p[i] = (_Float16)x[i];
#endif
}
static inline vf vround_f16(vf x)
{
#if (VL == 16 && defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512VL__) || (VL == 8 && defined __F16C__)
	_Float16 y[VL];
	vstore_f16(y, x);
	return vload_f16(y);
#else
	for (int i = 0; i < VL; i++)
		x[i] = (float)(_Float16)x[i];
	return x;
#endif
}
static inline void vstore_f16_mask(_Float16 *p, vf x, vm m)
{
#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512VL__
	typedef short v __attribute__((vector_size(32), aligned(1), may_alias));
	v y;
	vstore_f16((_Float16 *)&y, x);
	__builtin_ia32_storedquhi256_mask((v *)p, y, m);
#else
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			p[i] = (_Float16)x[i];
#endif
}
static inline vf vgather_f16(const _Float16 *p, long step) { return (vf){p[0], p[1 * step], p[2 * step], p[3 * step]}; }
static inline vf vgather_f16_mask(const _Float16 *p, long step, vm m)
{
	vf r = {};
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			r[i] = p[i * step];
	return r;
}
static inline void vscatter_f16(_Float16 *p, long step, vf x, vm m)
{
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			p[i * step] = x[i];
}
static inline vf vload_bf16(const unsigned short *p) { return (vf)(vload_u16(p) << 16); }
static inline vf vload_bf16_mask(const unsigned short *p, vm m) { return (vf)(vload_u16_mask(p, m) << 16); }
static inline vf vround_bf16(vf x)
{
	vi u = ((vi)x + 0x7fff + ((vi)x >> 16 & 1)) & (int)0xffff0000;
	return vsel(veq(x, x), (vf)u, (vf)viset(0x7fc00000));
}
static inline void vstore_bf16(unsigned short *p, vf x) { vstore_u16(p, (vi)vround_bf16(x) >> 16); }
static inline void vstore_bf16_mask(unsigned short *p, vf x, vm m) { vstore_u16_mask(p, (vi)vround_bf16(x) >> 16, m); }
static inline vf vgather_bf16(const unsigned short *p, long step)
{
	return (vf){bf16_get(p[0]), bf16_get(p[1 * step]), bf16_get(p[2 * step]), bf16_get(p[3 * step])};
}
static inline vf vgather_bf16_mask(const unsigned short *p, long step, vm m)
{
	vf r = {};
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			r[i] = bf16_get(p[i * step]);
	return r;
}
static inline void vscatter_bf16(unsigned short *p, long step, vf x, vm m)
{
	for (int i = 0; i < VL; i++)
		if (vbit(m, i))
			p[i * step] = bf16_put(x[i]);
}
static inline float max_f32(float a, float b) { return a > b || a != a ? a : b; }
static inline float min_f32(float a, float b) { return a < b || a != a ? a : b; }
static inline float abs_f32(float a) { return __builtin_fabsf(a); }
static inline float sign_f32(float a) { return a != a ? a : (float)((a > 0) - (a < 0)); }
static inline float div_f32(float a, float b) { return a / b; }
static inline float mod_f32(float a, float b) { return __builtin_fmodf(a, b); }
static inline unsigned char max_u8(unsigned char a, unsigned char b) { return a > b || a != a ? a : b; }
static inline unsigned char min_u8(unsigned char a, unsigned char b) { return a < b || a != a ? a : b; }
static inline unsigned char abs_u8(unsigned char a) { return a; }
static inline unsigned char sign_u8(unsigned char a) { return a != a ? a : (unsigned char)((a > 0) - (a < 0)); }
static inline unsigned char div_u8(unsigned char a, unsigned char b) { return b ? a / b : 0; }
static inline unsigned char mod_u8(unsigned char a, unsigned char b) { return b ? a % b : 0; }
static inline unsigned char whole_u8(double v)
{
	return v != v ? 0 : v <= 0 ? (unsigned char)0 : v >= 0x1p8 ? (unsigned char)255UL : (unsigned char)v;
}
static inline signed char max_i8(signed char a, signed char b) { return a > b || a != a ? a : b; }
static inline signed char min_i8(signed char a, signed char b) { return a < b || a != a ? a : b; }
static inline signed char abs_i8(signed char a) { return a < 0 ? -a : a; }
static inline signed char sign_i8(signed char a) { return a != a ? a : (signed char)((a > 0) - (a < 0)); }
static inline signed char div_i8(signed char a, signed char b) { return !b ? 0 : b == -1 ? -a : a / b; }
static inline signed char mod_i8(signed char a, signed char b)
{
	if (!b || b == -1)
		return 0;
	a %= b;
	return a && (a < 0) != (b < 0) ? a + b : a;
}
static inline signed char whole_i8(double v)
{
	return v != v ? 0 : v <= -0x1p7 ? (signed char)-0x1p7 : v >= 0x1p7 ? (signed char)127UL : (signed char)v;
}
static inline unsigned short max_u16(unsigned short a, unsigned short b) { return a > b || a != a ? a : b; }
static inline unsigned short min_u16(unsigned short a, unsigned short b) { return a < b || a != a ? a : b; }
static inline unsigned short abs_u16(unsigned short a) { return a; }
static inline unsigned short sign_u16(unsigned short a) { return a != a ? a : (unsigned short)((a > 0) - (a < 0)); }
static inline unsigned short div_u16(unsigned short a, unsigned short b) { return b ? a / b : 0; }
static inline unsigned short mod_u16(unsigned short a, unsigned short b) { return b ? a % b : 0; }
static inline unsigned short whole_u16(double v)
{
	return v != v ? 0 : v <= 0 ? (unsigned short)0 : v >= 0x1p16 ? (unsigned short)65535UL : (unsigned short)v;
}
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
static inline long whole_i64(double v)
{
	return v != v ? 0 : v <= -0x1p63 ? (long)-0x1p63 : v >= 0x1p63 ? (long)9223372036854775807UL : (long)v;
}
static inline _Float16 max_f16(_Float16 a, _Float16 b) { return a > b || a != a ? a : b; }
static inline _Float16 min_f16(_Float16 a, _Float16 b) { return a < b || a != a ? a : b; }
static inline _Float16 abs_f16(_Float16 a) { return __builtin_fabsf(a); }
static inline _Float16 sign_f16(_Float16 a) { return a != a ? a : (_Float16)((a > 0) - (a < 0)); }
static inline _Float16 div_f16(_Float16 a, _Float16 b) { return a / b; }
static inline _Float16 mod_f16(_Float16 a, _Float16 b) { return __builtin_fmodf(a, b); }
static inline double max_f64(double a, double b) { return a > b || a != a ? a : b; }
static inline double min_f64(double a, double b) { return a < b || a != a ? a : b; }
static inline double abs_f64(double a) { return __builtin_fabs(a); }
static inline double sign_f64(double a) { return a != a ? a : (double)((a > 0) - (a < 0)); }
static inline double div_f64(double a, double b) { return a / b; }
static inline double mod_f64(double a, double b) { return __builtin_fmod(a, b); }
static inline unsigned max_u32(unsigned a, unsigned b) { return a > b || a != a ? a : b; }
static inline unsigned min_u32(unsigned a, unsigned b) { return a < b || a != a ? a : b; }
static inline unsigned abs_u32(unsigned a) { return a; }
static inline unsigned sign_u32(unsigned a) { return a != a ? a : (unsigned)((a > 0) - (a < 0)); }
static inline unsigned div_u32(unsigned a, unsigned b) { return b ? a / b : 0; }
static inline unsigned mod_u32(unsigned a, unsigned b) { return b ? a % b : 0; }
static inline unsigned whole_u32(double v)
{
	return v != v ? 0 : v <= 0 ? (unsigned)0 : v >= 0x1p32 ? (unsigned)4294967295UL : (unsigned)v;
}
static inline unsigned long max_u64(unsigned long a, unsigned long b) { return a > b || a != a ? a : b; }
static inline unsigned long min_u64(unsigned long a, unsigned long b) { return a < b || a != a ? a : b; }
static inline unsigned long abs_u64(unsigned long a) { return a; }
static inline unsigned long sign_u64(unsigned long a) { return a != a ? a : (unsigned long)((a > 0) - (a < 0)); }
static inline unsigned long div_u64(unsigned long a, unsigned long b) { return b ? a / b : 0; }
static inline unsigned long mod_u64(unsigned long a, unsigned long b) { return b ? a % b : 0; }
static inline unsigned long whole_u64(double v)
{
	return v != v ? 0 : v <= 0 ? (unsigned long)0 : v >= 0x1p64 ? (unsigned long)18446744073709551615UL : (unsigned long)v;
}
static inline float max_bf16(float a, float b) { return a > b || a != a ? a : b; }
static inline float min_bf16(float a, float b) { return a < b || a != a ? a : b; }
static inline float abs_bf16(float a) { return __builtin_fabsf(a); }
static inline float sign_bf16(float a) { return a != a ? a : (float)((a > 0) - (a < 0)); }
static inline float div_bf16(float a, float b) { return a / b; }
static inline float mod_bf16(float a, float b) { return __builtin_fmodf(a, b); }
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
	vl low = t<-300.0, high = t> 300.0;
	t = (vd)(((vl)t & ~(low | high)) | (0xc072c00000000000L & low) | (0x4072c00000000000L & high));
	vd n = (t + 0x1.8p52) - 0x1.8p52, r = t - n;
	vd q = ((((((1.52017181e-5 * r + 1.54695532e-4) * r + 1.33339255e-3) * r + 9.61802644e-3) * r + 0.0555041035) * r + 0.240226512) *
			r +
		0.693147181) *
		       r +
	       1.0;
	return q * (vd)((vl)(n + 0x1.8p52 + 1023.0) << 52);
}
static inline vf vpow(vf x, vf y)
{
	union {
		vf v;
		vh h[2];
	} a = {vabs(x)}, b = {y};
	for (int i = 0; i < 2; i++)
		a.h[i] = __builtin_convertvector(vpow_core(__builtin_convertvector(a.h[i], vd), __builtin_convertvector(b.h[i], vd)), vh);
	vf r = a.v, half = 0.5f * y;
	vm whole = veq(vfloor(y), y), odd = whole & vne(vfloor(half), half);
	vm minus = vlt(1.0f / x, vset(0.0f)) | vlt(x, vset(0.0f));
	r = vsel(minus & odd, -r, r);
	r = vsel(vlt(x, vset(0.0f)) & vlt(vset(-__builtin_inff()), x) & (vm)~whole, vset(__builtin_nanf("")), r);
	r = vsel(vne(x, x) | vne(y, y), x + y, r);
	r = vsel(veq(x, vset(-1.0f)) & veq(vabs(y), vset(__builtin_inff())), vset(1.0f), r);
	return vsel(veq(x, vset(1.0f)) | veq(y, vset(0.0f)), vset(1.0f), r);
}
float sqrtf(float);
double sqrt(double);
static inline vf vsqrt(vf x)
{
#if VL == 16 && defined __AVX512F__
	return __builtin_ia32_sqrtps512_mask(x, x, -1, 4);
#elif VL == 8 && defined __AVX__
	return __builtin_ia32_sqrtps256(x);
#else
	vf r = x;
	for (int i = 0; i < VL; i++)
		r[i] = __builtin_sqrtf(x[i]);
	return r;
#endif
}
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
static inline vf vsign(vf x)
{
	vf one = vsign_of(vset(1.0f), x);
	return vsel(vlt(vset(0.0f), vabs(x)), one, x + 0.0f);
}
/*
 * i0: x, f64 4x24
 * i1: x2, f64 4
 * o0: y, f64 4x24
 * stage prelu(m:4 n:24) -> o0
 */
__attribute__((noinline)) static void k0(const double *restrict i0, const double *restrict i1, double *restrict o0, char *restrict ws)
{
	for (long prelu_m = 0; prelu_m < 4; prelu_m++) {
		for (long prelu_n = 0; prelu_n < 24; prelu_n++) {
			{
				const double t0 = i0[24 * prelu_m + prelu_n];
				o0[24 * prelu_m + prelu_n] = (t0 < 0.0) ? (t0 * i1[prelu_m]) : t0;
			}
		}
	}
}
void run_k0(void **data, char *ws) { k0(data[1], data[2], data[3], ws); }
/*
 * i0: x, bool 168
 * o0: y, bool 168
 * stage not(bmn:168) -> o0
 */
__attribute__((noinline)) static void k1(const unsigned char *restrict i0, unsigned char *restrict o0, char *restrict ws)
{
	for (long not_bmn_0 = 0; not_bmn_0 < 10; not_bmn_0++) { /* 4 a time */
		vstore_u8(o0 + 16 * not_bmn_0, visel((vm) ~(vine(vload_u8(i0 + 16 * not_bmn_0), viset(0))), viset(1), viset(0)));
		vstore_u8(o0 + 16 * not_bmn_0 + 4, visel((vm) ~(vine(vload_u8(i0 + 16 * not_bmn_0 + 4), viset(0))), viset(1), viset(0)));
		vstore_u8(o0 + 16 * not_bmn_0 + 8, visel((vm) ~(vine(vload_u8(i0 + 16 * not_bmn_0 + 8), viset(0))), viset(1), viset(0)));
		vstore_u8(o0 + 16 * not_bmn_0 + 12, visel((vm) ~(vine(vload_u8(i0 + 16 * not_bmn_0 + 12), viset(0))), viset(1), viset(0)));
	}
	vstore_u8(o0 + 160, visel((vm) ~(vine(vload_u8(i0 + 160), viset(0))), viset(1), viset(0)));
	vstore_u8(o0 + 164, visel((vm) ~(vine(vload_u8(i0 + 164), viset(0))), viset(1), viset(0)));
}
void run_k1(void **data, char *ws) { k1(data[1], data[2], ws); }
/*
 * i0: x, u16 4
 * o0: y, u16 2
 * o1: y2, u16 2
 * stage split(i:2) -> o0
 * stage split2(i:2) -> o1
 */
__attribute__((noinline)) static void k2(const unsigned short *restrict i0, unsigned short *restrict o0, unsigned short *restrict o1,
					 char *restrict ws)
{
	__builtin_memcpy(o0, i0, 2 * (2));
	__builtin_memcpy(o1, i0 + 2, 2 * (2));
}
void run_k2(void **data, char *ws) { k2(data[1], data[2], data[3], ws); }
/*
 * i0: x, f32 3x6x6
 * o0: y, f32 8x4x4
 * c0: dequantize, f32 8x3x3x3
 * stage conv(o:8 h:4 w:4 +i:3 +kh:3 +kw:3) -> conv
 * stage copy(o:8 h:4 w:4) -> o0
 */
__attribute__((noinline)) static void k3(const float *restrict i0, const float *restrict c0, float *restrict o0, char *restrict ws)
{
	for (long conv_h = 0; conv_h < 4; conv_h++) {
		/* conv: f32 8x1x4, register */
		vf conv_0_0, conv_1_0, conv_2_0, conv_3_0, conv_4_0, conv_5_0, conv_6_0, conv_7_0;
		conv_0_0 = vset(0.0f);
		conv_1_0 = vset(0.0f);
		conv_2_0 = vset(0.0f);
		conv_3_0 = vset(0.0f);
		conv_4_0 = vset(0.0f);
		conv_5_0 = vset(0.0f);
		conv_6_0 = vset(0.0f);
		conv_7_0 = vset(0.0f);
		for (long conv_i = 0; conv_i < 3; conv_i++) {
			for (long conv_kh = 0; conv_kh < 3; conv_kh++) {
				for (long conv_kw = 0; conv_kw < 3; conv_kw++) {
					const vf r1 = vload(i0 + 6 * conv_h + 36 * conv_i + 6 * conv_kh + conv_kw);
					conv_0_0 += r1 * c0[9 * conv_i + 3 * conv_kh + conv_kw];
					conv_1_0 += r1 * c0[9 * conv_i + 3 * conv_kh + conv_kw + 27];
					conv_2_0 += r1 * c0[9 * conv_i + 3 * conv_kh + conv_kw + 54];
					conv_3_0 += r1 * c0[9 * conv_i + 3 * conv_kh + conv_kw + 81];
					conv_4_0 += r1 * c0[9 * conv_i + 3 * conv_kh + conv_kw + 108];
					conv_5_0 += r1 * c0[9 * conv_i + 3 * conv_kh + conv_kw + 135];
					conv_6_0 += r1 * c0[9 * conv_i + 3 * conv_kh + conv_kw + 162];
					conv_7_0 += r1 * c0[9 * conv_i + 3 * conv_kh + conv_kw + 189];
				}
			}
		}
		LOADS_STAY;
		vstore(o0 + 4 * conv_h, conv_0_0);
		vstore(o0 + 4 * conv_h + 16, conv_1_0);
		vstore(o0 + 4 * conv_h + 32, conv_2_0);
		vstore(o0 + 4 * conv_h + 48, conv_3_0);
		vstore(o0 + 4 * conv_h + 64, conv_4_0);
		vstore(o0 + 4 * conv_h + 80, conv_5_0);
		vstore(o0 + 4 * conv_h + 96, conv_6_0);
		vstore(o0 + 4 * conv_h + 112, conv_7_0);
	}
}
void run_k3(void **data, char *ws) { k3(data[1], data[3], data[2], ws); }
/*
 * i0: x, f64 2x5x4
 * o0: y, f64 2x10x2
 * c0: index, i32 4x2
 * c1: weight, f64 4x2
 * c2: index2, i32 4x10
 * c3: weight2, f64 4x10
 * stage between(h:2 m:5 n:2) -> between
 * stage resize(h:2 m:10 n:2) -> o0
 */
__attribute__((noinline)) static void k4(const double *restrict i0, const int *restrict c0, const double *restrict c1,
					 const int *restrict c2, const double *restrict c3, double *restrict o0, char *restrict ws)
{
	double *between = (double *)(ws + 0); /* f64 2x5x2 */
	for (long between_h = 0; between_h < 2; between_h++) {
		for (long between_m = 0; between_m < 5; between_m++) {
			for (long between_n = 0; between_n < 2; between_n++) {
				{
					const long g0 = at(c0[between_n], 4);
					const long g1 = at(c0[between_n + 2], 4);
					const long g2 = at(c0[between_n + 4], 4);
					const long g3 = at(c0[between_n + 6], 4);
					between[10 * between_h + 2 * between_m + between_n] =
						(((i0[g0 + 20 * between_h + 4 * between_m] * c1[between_n]) +
						  (i0[g1 + 20 * between_h + 4 * between_m] * c1[between_n + 2])) +
						 (i0[g2 + 20 * between_h + 4 * between_m] * c1[between_n + 4])) +
						(i0[g3 + 20 * between_h + 4 * between_m] * c1[between_n + 6]);
				}
			}
		}
	}
	for (long resize_h = 0; resize_h < 2; resize_h++) {
		for (long resize_m = 0; resize_m < 10; resize_m++) {
			for (long resize_n = 0; resize_n < 2; resize_n++) {
				{
					const long g0 = at(c2[resize_m], 5);
					const long g1 = at(c2[resize_m + 10], 5);
					const long g2 = at(c2[resize_m + 20], 5);
					const long g3 = at(c2[resize_m + 30], 5);
					o0[20 * resize_h + 2 * resize_m + resize_n] =
						(((between[2 * g0 + 10 * resize_h + resize_n] * c3[resize_m]) +
						  (between[2 * g1 + 10 * resize_h + resize_n] * c3[resize_m + 10])) +
						 (between[2 * g2 + 10 * resize_h + resize_n] * c3[resize_m + 20])) +
						(between[2 * g3 + 10 * resize_h + resize_n] * c3[resize_m + 30]);
				}
			}
		}
	}
}
void run_k4(void **data, char *ws) { k4(data[1], data[4], data[5], data[6], data[7], data[2], ws); }
/*
 * i0: x, bf16 6x7
 * o0: y, bf16 6
 * stage sum(nc:6 +lane:4) -> sum
 * stage sum_part(nc:6 lane:4 +r.0:2) -> sum_part
 * stage root(nc:6) -> o0
 */
IN_STEP __attribute__((noinline)) static void k5(const unsigned short *restrict i0, unsigned short *restrict o0, char *restrict ws)
{
	float *sum = (float *)(ws + 0);    /* f32 4 */
	float *sum_2 = (float *)(ws + 64); /* f32 4 */
	for (long sum_nc = 0; sum_nc < 4; sum_nc++) {
		/* sum_part: f32 1x4, register */
		vf sum_part_0;
		sum[sum_nc] = 0.0f;
		sum_part_0 = vset(0.0f);
		{
			const vf t0 = vload_bf16(i0 + 7 * sum_nc);
			sum_part_0 += t0 * t0;
		}
		sum_part_0 += vsel(vlanes(0, 3), ({
					   const vf t0 = vload_bf16_mask(i0 + 7 * sum_nc + 4, vlanes(0, 3));
					   (t0 * t0);
				   }),
				   vset(0.0f));
		sum[sum_nc] += vhsum(sum_part_0);
	}
	for (long root_nc_1 = 0; root_nc_1 < 4; root_nc_1++) {
		o0[root_nc_1] = bf16_put(sqrtf(sum[root_nc_1]));
	}
	for (long sum_nc = 0; sum_nc < 2; sum_nc++) {
		/* sum_part: f32 1x4, register */
		vf sum_part_2_0;
		sum_2[sum_nc] = 0.0f;
		sum_part_2_0 = vset(0.0f);
		{
			const vf t0 = vload_bf16(i0 + 7 * sum_nc + 28);
			sum_part_2_0 += t0 * t0;
		}
		sum_part_2_0 += vsel(vlanes(0, 3), ({
					     const vf t0 = vload_bf16_mask(i0 + 7 * sum_nc + 32, vlanes(0, 3));
					     (t0 * t0);
				     }),
				     vset(0.0f));
		sum_2[sum_nc] += vhsum(sum_part_2_0);
	}
	for (long root_nc_1 = 0; root_nc_1 < 2; root_nc_1++) {
		o0[root_nc_1 + 4] = bf16_put(sqrtf(sum_2[root_nc_1]));
	}
}
void run_k5(void **data, char *ws) { k5(data[1], data[2], ws); }
/*
 * i0: x, i8 11
 * o0: y, i32 11
 * c0: pad2, i8 12x11 in order 1/12 0 1%12
 * c1: offset, i32 11
 * stage pad(i:12) -> pad
 * stage matmul(i:12 +k:12) -> matmul
 * stage zero(i:11) -> o0
 */
__attribute__((noinline)) static void k6(const signed char *restrict i0, const signed char *restrict c0, const int *restrict c1,
					 int *restrict o0, char *restrict ws)
{
	unsigned char *pad = (unsigned char *)(ws + 0); /* u8 12 */
	/* matmul: i32 12, register */
	vi matmul_0, matmul_4, matmul_8;
	vstore_u8(pad + 0, vwrap_u8(vload_i8(i0 + 0) + viset(128)));
	vstore_u8(pad + 4, vwrap_u8(vload_i8(i0 + 4) + viset(128)));
	vstore_u8(pad + 8, visel(vlanes(0, 3), vwrap_u8(vload_i8_mask(i0 + 8, vlanes(0, 3)) + viset(128)), viset(0)));
	matmul_0 = viset(0);
	matmul_4 = viset(0);
	matmul_8 = viset(0);
	for (long matmul_k = 0; matmul_k < 12; matmul_k++) {
		const unsigned char r1 = pad[matmul_k];
		matmul_0 += vimul16(viset((int)r1), vload_i8(c0 + 12 * matmul_k));
		matmul_4 += vimul16(viset((int)r1), vload_i8(c0 + 12 * matmul_k + 4));
		matmul_8 += vimul16(viset((int)r1), vload_i8(c0 + 12 * matmul_k + 8));
	}
	LOADS_STAY;
	vstore_i32(o0 + 0, matmul_0 - vload_i32(c1 + 0));
	vstore_i32(o0 + 4, matmul_4 - vload_i32(c1 + 4));
	vstore_i32_mask(o0 + 8, matmul_8 - vload_i32_mask(c1 + 8, vlanes(0, 3)), vlanes(0, 3));
}
void run_k6(void **data, char *ws) { k6(data[1], data[4], data[8], data[2], ws); }
/*
 * i0: x, f16 32
 * o0: y, f16 32
 * stage sqrt(m:32) -> o0
 */
IN_STEP __attribute__((noinline)) static void k7(const _Float16 *restrict i0, _Float16 *restrict o0, char *restrict ws)
{
	for (long sqrt_m_0 = 0; sqrt_m_0 < 2; sqrt_m_0++) { /* 4 a time */
		vstore_f16(o0 + 16 * sqrt_m_0, vround_f16(vsqrt(vload_f16(i0 + 16 * sqrt_m_0))));
		vstore_f16(o0 + 16 * sqrt_m_0 + 4, vround_f16(vsqrt(vload_f16(i0 + 16 * sqrt_m_0 + 4))));
		vstore_f16(o0 + 16 * sqrt_m_0 + 8, vround_f16(vsqrt(vload_f16(i0 + 16 * sqrt_m_0 + 8))));
		vstore_f16(o0 + 16 * sqrt_m_0 + 12, vround_f16(vsqrt(vload_f16(i0 + 16 * sqrt_m_0 + 12))));
	}
}
void run_k7(void **data, char *ws) { k7(data[1], data[2], ws); }
/*
 * i0: x, u64
 * o0: y, u64
 * stage sign() -> o0
 */
IN_STEP __attribute__((noinline)) static void k8(const unsigned long *restrict i0, unsigned long *restrict o0, char *restrict ws)
{
	o0[0] = sign_u64(i0[0]);
}
void run_k8(void **data, char *ws) { k8(data[1], data[2], ws); }
/*
 * i0: x, f32
 * o0: y, bool
 * stage isinf() -> o0
 */
__attribute__((noinline)) static void k9(const float *restrict i0, unsigned char *restrict o0, char *restrict ws)
{
	{
		const float t0 = i0[0];
		o0[0] = t0 < t0;
	}
}
void run_k9(void **data, char *ws) { k9(data[1], data[2], ws); }
/*
 * i0: x, f16 10x9x7
 * o0: y, f16 10x10x2
 * stage maxpool(nc:10 h:10 w:2 +kh:2 +kw:2) -> maxpool
 * stage copy(nc:10 h:10 w:2) -> o0
 */
__attribute__((noinline)) static void k10(const _Float16 *restrict i0, _Float16 *restrict o0, char *restrict ws)
{
	for (long maxpool_nc = 0; maxpool_nc < 10; maxpool_nc++) {
		/* maxpool: f16 1x1x2, register */
		vf maxpool_0;
		/* maxpool: f16 1x1x2, register */
		vf maxpool_3_0;
		maxpool_0 = vset(-__builtin_inff());
		maxpool_0 = vmax(vset(-__builtin_inff()), maxpool_0);
		maxpool_0 = vmax(__builtin_shufflevector(vload_f16(i0 + 63 * maxpool_nc), (vf){}, 0, 3, 0, 0), maxpool_0);
		maxpool_0 = vmax(vset(-__builtin_inff()), maxpool_0);
		maxpool_0 = vmax(__builtin_shufflevector(vload_f16(i0 + 63 * maxpool_nc + 1), (vf){}, 0, 3, 0, 0), maxpool_0);
		vstore_f16_mask(o0 + 20 * maxpool_nc, maxpool_0, vlanes(0, 2));
		for (long maxpool_h = 0; maxpool_h < 8; maxpool_h++) {
			/* maxpool: f16 1x1x2, register */
			vf maxpool_2_0;
			maxpool_2_0 = vset(-__builtin_inff());
			maxpool_2_0 = vmax(__builtin_shufflevector(vload_f16(i0 + 7 * maxpool_h + 63 * maxpool_nc), (vf){}, 0, 3, 0, 0),
					   maxpool_2_0);
			maxpool_2_0 = vmax(__builtin_shufflevector(vload_f16(i0 + 7 * maxpool_h + 63 * maxpool_nc + 7), (vf){}, 0, 3, 0, 0),
					   maxpool_2_0);
			maxpool_2_0 = vmax(__builtin_shufflevector(vload_f16(i0 + 7 * maxpool_h + 63 * maxpool_nc + 1), (vf){}, 0, 3, 0, 0),
					   maxpool_2_0);
			maxpool_2_0 = vmax(__builtin_shufflevector(vload_f16(i0 + 7 * maxpool_h + 63 * maxpool_nc + 8), (vf){}, 0, 3, 0, 0),
					   maxpool_2_0);
			vstore_f16_mask(o0 + 2 * maxpool_h + 20 * maxpool_nc + 2, maxpool_2_0, vlanes(0, 2));
		}
		maxpool_3_0 = vset(-__builtin_inff());
		maxpool_3_0 = vmax(__builtin_shufflevector(vload_f16(i0 + 63 * maxpool_nc + 56), (vf){}, 0, 3, 0, 0), maxpool_3_0);
		maxpool_3_0 = vmax(vset(-__builtin_inff()), maxpool_3_0);
		maxpool_3_0 = vmax(__builtin_shufflevector(vload_f16(i0 + 63 * maxpool_nc + 57), (vf){}, 0, 3, 0, 0), maxpool_3_0);
		maxpool_3_0 = vmax(vset(-__builtin_inff()), maxpool_3_0);
		vstore_f16_mask(o0 + 20 * maxpool_nc + 18, maxpool_3_0, vlanes(0, 2));
	}
}
void run_k10(void **data, char *ws) { k10(data[1], data[2], ws); }
/*
 * i0: x, u32 20
 * o0: y, u32
 * stage copy() -> o0
 * stage sum(one:1 +lane:4) -> sum
 * stage sum_part(one:1 lane:4 +r.0:5) -> sum_part
 */
__attribute__((noinline)) static void k11(const unsigned *restrict i0, unsigned *restrict o0, char *restrict ws)
{
	unsigned *sum = (unsigned *)(ws + 0); /* u32 1 */
	/* sum_part: u32 1x4, register */
	unsigned sum_part_0, sum_part_1, sum_part_2, sum_part_3;
	sum[0] = 0U;
	sum_part_0 = 0U;
	sum_part_1 = 0U;
	sum_part_2 = 0U;
	sum_part_3 = 0U;
	for (long sum_part_r_0 = 0; sum_part_r_0 < 5; sum_part_r_0++) {
		{
			const unsigned t0 = i0[4 * sum_part_r_0];
			sum_part_0 += t0 * t0;
		}
		{
			const unsigned t0 = i0[4 * sum_part_r_0 + 1];
			sum_part_1 += t0 * t0;
		}
		{
			const unsigned t0 = i0[4 * sum_part_r_0 + 2];
			sum_part_2 += t0 * t0;
		}
		{
			const unsigned t0 = i0[4 * sum_part_r_0 + 3];
			sum_part_3 += t0 * t0;
		}
	}
	LOADS_STAY;
	sum[0] += sum_part_0;
	sum[0] += sum_part_1;
	sum[0] += sum_part_2;
	sum[0] += sum_part_3;
	o0[0] = sum[0];
}
void run_k11(void **data, char *ws) { k11(data[1], data[2], ws); }
/*
 * i0: x, f16 12x14
 * i1: x2, f16 14
 * o0: y, f16 12
 * stage matmul(m:12 +k:14) -> matmul
 * stage round(m:12) -> o0
 */
__attribute__((noinline)) static void k12(const _Float16 *restrict i0, const _Float16 *restrict i1, _Float16 *restrict o0,
					  char *restrict ws)
{
	/* matmul: f32 12, register */
	vf matmul_0, matmul_4, matmul_8;
	matmul_0 = vset(0.0f);
	matmul_4 = vset(0.0f);
	matmul_8 = vset(0.0f);
	for (long matmul_k = 0; matmul_k < 14; matmul_k++) {
		const _Float16 r1 = i1[matmul_k];
		matmul_0 += vgather_f16(i0 + matmul_k, 14) * (float)r1;
		matmul_4 += vgather_f16(i0 + matmul_k + 56, 14) * (float)r1;
		matmul_8 += vgather_f16(i0 + matmul_k + 112, 14) * (float)r1;
	}
	LOADS_STAY;
	vstore_f16(o0 + 0, matmul_0);
	vstore_f16(o0 + 4, matmul_4);
	vstore_f16(o0 + 8, matmul_8);
}
void run_k12(void **data, char *ws) { k12(data[1], data[2], data[3], ws); }
/*
 * i0: x, u16 4
 * i1: x2, f32
 * i2: x3, u16
 * o0: y, f32 4
 * stage dequantize(i:4) -> o0
 */
__attribute__((noinline)) static void k13(const unsigned short *restrict i0, const float *restrict i1, const unsigned short *restrict i2,
					  float *restrict o0, char *restrict ws)
{
	vstore(o0 + 0, (vreal(vload_u16(i0 + 0)) - (float)i2[0]) * i1[0]);
}
void run_k13(void **data, char *ws) { k13(data[1], data[2], data[3], data[4], ws); }
/*
 * i0: x, f64 29
 * o0: y, f32 29
 * stage abs(i:29) -> o0
 */
__attribute__((noinline)) static void k14(const double *restrict i0, float *restrict o0, char *restrict ws)
{
	o0[0] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[0])))));
	o0[1] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[1])))));
	o0[2] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[2])))));
	o0[3] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[3])))));
	o0[4] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[4])))));
	o0[5] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[5])))));
	o0[6] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[6])))));
	o0[7] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[7])))));
	o0[8] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[8])))));
	o0[9] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[9])))));
	o0[10] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[10])))));
	o0[11] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[11])))));
	o0[12] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[12])))));
	o0[13] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[13])))));
	o0[14] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[14])))));
	o0[15] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[15])))));
	o0[16] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[16])))));
	o0[17] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[17])))));
	o0[18] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[18])))));
	o0[19] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[19])))));
	o0[20] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[20])))));
	o0[21] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[21])))));
	o0[22] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[22])))));
	o0[23] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[23])))));
	o0[24] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[24])))));
	o0[25] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[25])))));
	o0[26] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[26])))));
	o0[27] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[27])))));
	o0[28] = abs_f32((float)(float)(-bf16_get(bf16_put(odd_f64(i0[28])))));
}
void run_k14(void **data, char *ws) { k14(data[1], data[2], ws); }
/*
 * i0: x, i32 27
 * o0: y, i32 27
 * stage pow(mn:27) -> o0
 */
IN_STEP __attribute__((noinline)) static void k15(const int *restrict i0, int *restrict o0, char *restrict ws)
{
	for (long pow_mn = 0; pow_mn < 27; pow_mn++) {
		o0[pow_mn] = (int)(long)pow_i64((long)i0[pow_mn], (long)2);
	}
}
void run_k15(void **data, char *ws) { k15(data[1], data[2], ws); }
/*
 * i0: x, bf16
 * o0: y, bf16
 * stage round() -> o0
 */
__attribute__((noinline)) static void k16(const unsigned short *restrict i0, unsigned short *restrict o0, char *restrict ws)
{
	o0[0] = bf16_put((float)bf16_get(i0[0]));
}
void run_k16(void **data, char *ws) { k16(data[1], data[2], ws); }
/*
 * i0: x, f64 144
 * o0: y, f64 144
 * stage ceil(mn:144) -> o0
 */
IN_STEP __attribute__((noinline)) static void k17(const double *restrict i0, double *restrict o0, char *restrict ws)
{
	for (long ceil_mn = 0; ceil_mn < 144; ceil_mn++) {
		o0[ceil_mn] = ceil(i0[ceil_mn]);
	}
}
void run_k17(void **data, char *ws) { k17(data[1], data[2], ws); }
/*
 * i0: x, u8 2x6x7x6
 * o0: y, i32 2x12x7x3
 * c0: pad2, i8 12x4x2x3
 * stage pad(n:2 c:12 h:9 w:7) -> pad
 * stage conv(n:2 o:12 h:7 w:3 +i:4 +kh:2 +kw:3) -> conv
 * stage xsum(n:2 c:3 h:7 w:3 +i:4 +kh:2 +kw:3) -> xsum
 * stage zero(n:2 o:12 h:7 w:3) -> o0
 */
__attribute__((noinline)) static void k18(const unsigned char *restrict i0, const signed char *restrict c0, int *restrict o0,
					  char *restrict ws)
{
	unsigned char *pad = (unsigned char *)(ws + 0); /* u8 2x12x9x7 */
	int *conv = (int *)(ws + 1536);                 /* i32 2x12x7x3 */
	int *xsum = (int *)(ws + 3584);                 /* i32 2x3x7x3 */
	for (long pad_n = 0; pad_n < 2; pad_n++) {
		for (long pad_c = 0; pad_c < 12; pad_c++) {
			vstore_u8(pad + 63 * pad_c + 756 * pad_n, viset(-pad_c + 4 * (pad_c / 4) + 1 >= 0 ? 0 : 0));
			vstore_u8_mask(pad + 63 * pad_c + 756 * pad_n + 4, viset(-pad_c + 4 * (pad_c / 4) + 1 >= 0 ? 0 : 0), vlanes(0, 3));
			for (long pad_h = 0; pad_h < 7; pad_h++) {
				vstore_u8(pad + 63 * pad_c + 7 * pad_h + 756 * pad_n + 7,
					  -pad_c + 4 * (pad_c / 4) + 1 >= 0
						  ? (-pad_c + 2 * (pad_c / 4) + 5 >= 0
							     ? visel(vlanes(1, VL),
								     vload_u8_mask(i0 + 42 * pad_c + 6 * pad_h + 252 * pad_n -
											   84 * (pad_c / 4) - 1,
										   vlanes(1, VL)),
								     viset(0))
							     : viset(0))
						  : viset(0));
				vstore_u8_mask(
					pad + 63 * pad_c + 7 * pad_h + 756 * pad_n + 11,
					-pad_c + 4 * (pad_c / 4) + 1 >= 0
						? (-pad_c + 2 * (pad_c / 4) + 5 >= 0
							   ? vload_u8_mask(i0 + 42 * pad_c + 6 * pad_h + 252 * pad_n - 84 * (pad_c / 4) + 3,
									   vlanes(0, 3))
							   : viset(0))
						: viset(0),
					vlanes(0, 3));
			}
			vstore_u8(pad + 63 * pad_c + 756 * pad_n + 56, viset(-pad_c + 4 * (pad_c / 4) + 1 >= 0 ? 0 : 0));
			vstore_u8_mask(pad + 63 * pad_c + 756 * pad_n + 60, viset(-pad_c + 4 * (pad_c / 4) + 1 >= 0 ? 0 : 0), vlanes(0, 3));
		}
	}
	for (long conv_n = 0; conv_n < 2; conv_n++) {
		for (long conv_o = 0; conv_o < 12; conv_o++) {
			for (long conv_h = 0; conv_h < 7; conv_h++) {
				for (long conv_w = 0; conv_w < 3; conv_w++) {
					conv[3 * conv_h + 252 * conv_n + 21 * conv_o + conv_w] = 0;
					for (long conv_i = 0; conv_i < 4; conv_i++) {
						for (long conv_kh = 0; conv_kh < 2; conv_kh++) {
							for (long conv_kw = 0; conv_kw < 3; conv_kw++) {
								conv[3 * conv_h + 252 * conv_n + 21 * conv_o + conv_w] +=
									(int)pad[7 * conv_h + 63 * conv_i + 14 * conv_kh + conv_kw +
										 756 * conv_n + 2 * conv_w + 252 * (conv_o / 4)] *
									(int)c0[6 * conv_i + 3 * conv_kh + conv_kw + 24 * conv_o];
							}
						}
					}
				}
			}
		}
	}
	for (long xsum_n = 0; xsum_n < 2; xsum_n++) {
		for (long xsum_c = 0; xsum_c < 3; xsum_c++) {
			for (long xsum_h = 0; xsum_h < 7; xsum_h++) {
				for (long xsum_w = 0; xsum_w < 3; xsum_w++) {
					xsum[21 * xsum_c + 3 * xsum_h + 63 * xsum_n + xsum_w] = 0;
					for (long xsum_i = 0; xsum_i < 4; xsum_i++) {
						for (long xsum_kh = 0; xsum_kh < 2; xsum_kh++) {
							for (long xsum_kw = 0; xsum_kw < 3; xsum_kw++) {
								xsum[21 * xsum_c + 3 * xsum_h + 63 * xsum_n + xsum_w] +=
									(int)pad[252 * xsum_c + 7 * xsum_h + 63 * xsum_i + 14 * xsum_kh +
										 xsum_kw + 756 * xsum_n + 2 * xsum_w];
							}
						}
					}
				}
			}
		}
	}
	for (long zero_n = 0; zero_n < 2; zero_n++) {
		for (long zero_o = 0; zero_o < 12; zero_o++) {
			for (long zero_h = 0; zero_h < 7; zero_h++) {
				vstore_i32_mask(o0 + 3 * zero_h + 252 * zero_n + 21 * zero_o,
						vload_i32_mask(conv + 3 * zero_h + 252 * zero_n + 21 * zero_o, vlanes(0, 3)) -
							(viset(-26) *
							 vload_i32_mask(xsum + 3 * zero_h + 63 * zero_n + 21 * (zero_o / 4), vlanes(0, 3))),
						vlanes(0, 3));
			}
		}
	}
}
void run_k18(void **data, char *ws) { k18(data[1], data[4], data[2], ws); }
/*
 * i0: x, i32 322
 * o0: y, i32 322
 * stage relu(mn:322) -> o0
 */
__attribute__((noinline)) static void k19(const int *restrict i0, int *restrict o0, char *restrict ws)
{
	for (long relu_mn_0 = 0; relu_mn_0 < 20; relu_mn_0++) { /* 4 a time */
		vstore_i32(o0 + 16 * relu_mn_0, vimax(vload_i32(i0 + 16 * relu_mn_0), viset(0)));
		vstore_i32(o0 + 16 * relu_mn_0 + 4, vimax(vload_i32(i0 + 16 * relu_mn_0 + 4), viset(0)));
		vstore_i32(o0 + 16 * relu_mn_0 + 8, vimax(vload_i32(i0 + 16 * relu_mn_0 + 8), viset(0)));
		vstore_i32(o0 + 16 * relu_mn_0 + 12, vimax(vload_i32(i0 + 16 * relu_mn_0 + 12), viset(0)));
	}
	vstore_i32_mask(o0 + 320, vimax(vload_i32_mask(i0 + 320, vlanes(0, 2)), viset(0)), vlanes(0, 2));
}
void run_k19(void **data, char *ws) { k19(data[1], data[2], ws); }
