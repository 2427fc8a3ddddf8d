/* The vector bodies are written for any number of lanes: vf and vi are vectors of float and int, vm is the
 * mask that a comparison gives (target/generic/prelude.c). A target may have text of its own for what stands between "@{NAME" and "@}"
 * (target/backend.h). Polynomials are minimax fits (Lawson's iteration) of our own; the
 * argument reductions are those of Cody and Waite 1980. */
#include "loop/math.h"
#include "common/msg.h"
#include <math.h>
#include <stdbool.h>

/* max and min of floats hand on NaN from either side. */
static double ev_max(double a, double b, double c) { return a > b || a != a ? a : b; }
static double ev_min(double a, double b, double c) { return a < b || a != a ? a : b; }
static double ev_max2(double a, double b, double c) { return a > b ? a : b; }
static double ev_min2(double a, double b, double c) { return a < b ? a : b; }
static double ev_sign(double a, double b, double c) { return a != a ? a : (a > 0) - (a < 0); }
static double ev_add(double a, double b, double c) { return a + b; }
static double ev_sub(double a, double b, double c) { return a - b; }
static double ev_mul(double a, double b, double c) { return a * b; }
static double ev_div(double a, double b, double c) { return a / b; }
static double ev_pow(double a, double b, double c) { return pow(a, b); }
static double ev_mod(double a, double b, double c) { return fmod(a, b); }
static double ev_neg(double a, double b, double c) { return -a; }
static double ev_abs(double a, double b, double c) { return fabs(a); }
static double ev_sqrt(double a, double b, double c) { return sqrt(a); }
static double ev_rsqrt(double a, double b, double c) { return 1 / sqrt(a); }
static double ev_recip(double a, double b, double c) { return 1 / a; }
static double ev_exp(double a, double b, double c) { return exp(a); }
static double ev_log(double a, double b, double c) { return log(a); }
static double ev_tanh(double a, double b, double c) { return tanh(a); }
static double ev_sigmoid(double a, double b, double c) { return 1 / (1 + exp(-a)); }
static double ev_erf(double a, double b, double c) { return erf(a); }
static double ev_sin(double a, double b, double c) { return sin(a); }
static double ev_cos(double a, double b, double c) { return cos(a); }
static double ev_floor(double a, double b, double c) { return floor(a); }
static double ev_ceil(double a, double b, double c) { return ceil(a); }
static double ev_round(double a, double b, double c) { return nearbyint(a); }
static double ev_eq(double a, double b, double c) { return a == b; }
static double ev_ne(double a, double b, double c) { return a != b; }
static double ev_lt(double a, double b, double c) { return a < b; }
static double ev_le(double a, double b, double c) { return a <= b; }
static double ev_gt(double a, double b, double c) { return a > b; }
static double ev_ge(double a, double b, double c) { return a >= b; }
static double ev_and(double a, double b, double c) { return a != 0 && b != 0; }
static double ev_or(double a, double b, double c) { return a != 0 || b != 0; }
static double ev_xor(double a, double b, double c) { return (a != 0) != (b != 0); }
static double ev_not(double a, double b, double c) { return a == 0; }
static double ev_nibble(double a, double b, double c) { return (double)((int64_t)a >> ((int64_t)b & 63) & 15); }
static double ev_bitand(double a, double b, double c) { return (double)((int64_t)a & (int64_t)b); }
static double ev_bitor(double a, double b, double c) { return (double)((int64_t)a | (int64_t)b); }
static double ev_bitxor(double a, double b, double c) { return (double)((int64_t)a ^ (int64_t)b); }
static double ev_bitnot(double a, double b, double c) { return (double)~(int64_t)a; }
static double ev_shl(double a, double b, double c) { return (double)((int64_t)a << ((int64_t)b & 63)); }
static double ev_shr(double a, double b, double c) { return (double)((int64_t)a >> ((int64_t)b & 63)); }
static double ev_acos(double a, double b, double c) { return acos(a); }
static double ev_acosh(double a, double b, double c) { return acosh(a); }
static double ev_asin(double a, double b, double c) { return asin(a); }
static double ev_asinh(double a, double b, double c) { return asinh(a); }
static double ev_atan(double a, double b, double c) { return atan(a); }
static double ev_atanh(double a, double b, double c) { return atanh(a); }
static double ev_over(double a, double b, double c) { return ev_div(a, b, c); }
static double ev_select(double a, double b, double c) { return a != 0 ? b : c; }

/* exp(x) = 2^n exp(r), |r| <= ln(2)/2; 2^n in one instruction, or in two factors so that results below the
 * normal range and infinity come out right. The clamps let NaN through. vexp_minus is exp(-x) for what adds it to something
 * that is not small: below exp(-87) any such number; n + 127 are low bits of t, and 2^n what they are shifted to. */
static const char exp_text[] =
	"static inline vf vexp_near_0(vf r)\n"
	"{\n"
	"\tvf p = (((1.38142218e-3f * r + 8.36889868e-3f) * r + 0.0416684057f) * r + 0.166665191f) * r + 0.499999933f;\n"
	"\treturn (p * r + 1.0f) * r + 1.0f;\n"
	"}\n"
	"static inline vf vexp(vf x)\n"
	"{\n"
	"\tx = vmin2(vset(89.0f), vmax2(vset(-104.0f), x));\n"
	"\tvf n = (x * 1.44269504f + 12582912.0f) - 12582912.0f;\n"
	"\treturn vldexp(vexp_near_0((x - n * 0x1.62e4p-1f) - n * 1.42860677e-6f), n);\n"
	"}\n"
	"@{exp_minus\n"
	"static inline vf vexp_minus(vf x)\n"
	"{\n"
	"\tx = vmin2(vset(87.0f), vmax2(vset(-89.0f), x));\n"
	"\tvf t = 12583039.0f - x * 1.44269504f, n = t - 12583039.0f;\n"
	"\treturn vexp_near_0((-x - n * 0x1.62e4p-1f) - n * 1.42860677e-6f) * (vf)((vi)t << 23);\n"
	"}\n"
	"@}\n";

/* x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)). */
static const char log_text[] =
	"static inline vf vlog(vf x)\n"
	"{\n"
	"\tvm tiny = vlt(x, vset(0x1p-126f));\n"
	"\tvi u = (vi)vsel(tiny, x * 0x1p23f, x);\n"
	"\tvi k = (u - 0x3f3504f3) >> 23;\n"
	"\tvf e = __builtin_convertvector(k, vf) - vsel(tiny, vset(23.0f), vset(0.0f));\n"
	"\tvf f = (vf)(u - (k << 23)) - 1.0f, z = f * f;\n"
	"\tvf p = (((((((-0.0763565139f * f + 0.127633256f) * f - 0.131605832f) * f + 0.142015533f) * f\n"
	"\t\t- 0.166232983f) * f + 0.200012334f) * f - 0.250008227f) * f + 0.333333317f) * f;\n"
	"\tvf r = e * 0x1.62e4p-1f + (f - (0.5f * z - (p * z + e * 1.42860677e-6f)));\n"
	"\tr = vsel(vlt(x, vset(__builtin_inff())), r, x);\n"
	"\tr = vsel(vlt(x, vset(0.0f)), vset(__builtin_nanf(\"\")), r);\n"
	"\treturn vsel(veq(x, vset(0.0f)), vset(-__builtin_inff()), r);\n"
	"}\n";

/* |x| = n ln(2)/2 + h, |h| <= ln(2)/4: tanh of the sum by p = tanh(h) and s = 2^n, a quotient that is p itself where n is 0. */
static const char tanh_text[] =
	"static inline vf vtanh(vf x)\n"
	"{\n"
	"\tvf t = vmin2(vset(10.0f), vabs(x)), k = t * 2.88539008f + 12583039.0f, n = k - 12583039.0f;\n"
	"\tvf h = (t - n * 0x1.62e4p-2f) - n * 7.14303385e-7f, z = h * h, s = (vf)((vi)k << 23);\n"
	"\tvf p = h * z * ((-0.0527175888f * z + 0.133311465f) * z - 0.333333224f) + h;\n"
	"\treturn vsign_of((p * (s + 1.0f) + (s - 1.0f)) / (p * (s - 1.0f) + (s + 1.0f)), x);\n"
	"}\n";

static const char sigmoid_text[] = "static inline vf vsigmoid(vf x) { return 1.0f / (1.0f + vexp_minus(x)); }\n";

/* An odd polynomial near 0, 1 - exp(-p(|x|)) beyond. */
static const char erf_text[] =
	"@{erf\n"
	"static inline vf verf(vf x)\n"
	"{\n"
	"\tvf t = vmin2(vset(4.0f), vabs(x)), z = x * x;\n"
	"\tvf s = ((((-5.95377336e-4f * z + 4.9859482e-3f) * z - 0.0267617265f) * z + 0.112816828f) * z\n"
	"\t\t- 0.376124811f) * z + 0.128379148f;\n"
	"\tvf q = (((((-1.94777713e-4f * t + 3.03182017e-3f) * t - 0.0221813873f) * t + 0.103836909f) * t\n"
	"\t\t+ 0.637290418f) * t + 1.12761121f) * t + 2.11312605e-4f;\n"
	"\treturn vsel(vlt(t, vset(0.93f)), x * s + x, vsign_of(1.0f - vexp_minus(q), x));\n"
	"}\n"
	"@}\n";

/* In double, halves of a vector at a time: 2^(y log2 |x|), log2 by the series of atanh; then the sign and
 * the special cases of C's Annex F. */
static const char pow_text[] =
	"static inline vd vpow_core(vd x, vd y)\n"
	"{\n"
	"\tvl u = (vl)x;\n"
	"\tvl k = (u - 0x3fe6a09e667f3bcdL) >> 52;\n"
	"\tvd m = (vd)(u - (k << 52));\n"
	"\tvd s = (m - 1.0) / (m + 1.0), z = s * s;\n"
	"\tvd p = ((((z / 11 + 1.0 / 9) * z + 1.0 / 7) * z + 1.0 / 5) * z + 1.0 / 3) * z + 1.0;\n"
	"\tvd l = __builtin_convertvector(k, vd) + s * p * 2.8853900817779268;\n"
	"\tvl zero = x == 0.0, huge = x == __builtin_inf();\n"
	"\tl = (vd)(((vl)l & ~(zero | huge)) | (0xfff0000000000000L & zero) | (0x7ff0000000000000L & huge));\n"
	"\tvd t = y * l;\n"
	"\tvl low = t < -300.0, high = t > 300.0;\n"
	"\tt = (vd)(((vl)t & ~(low | high)) | (0xc072c00000000000L & low) | (0x4072c00000000000L & high));\n"
	"\tvd n = (t + 0x1.8p52) - 0x1.8p52, r = t - n;\n"
	"\tvd q = ((((((1.52017181e-5 * r + 1.54695532e-4) * r + 1.33339255e-3) * r + 9.61802644e-3) * r\n"
	"\t\t+ 0.0555041035) * r + 0.240226512) * r + 0.693147181) * r + 1.0;\n"
	"\treturn q * (vd)((vl)(n + 0x1.8p52 + 1023.0) << 52);\n"
	"}\n"
	"static inline vf vpow(vf x, vf y)\n"
	"{\n"
	"@{pow\n"
	"\tunion { vf v; vh h[2]; } a = {vabs(x)}, b = {y};\n"
	"\tfor (int i = 0; i < 2; i++)\n"
	"\t\ta.h[i] = __builtin_convertvector(\n"
	"\t\t\tvpow_core(__builtin_convertvector(a.h[i], vd), __builtin_convertvector(b.h[i], vd)), vh);\n"
	"\tvf r = a.v, half = 0.5f * y;\n"
	"@}\n"
	"\tvm whole = veq(vfloor(y), y), odd = whole & vne(vfloor(half), half);\n"
	"\tvm minus = vlt(1.0f / x, vset(0.0f)) | vlt(x, vset(0.0f));\n"
	"\tr = vsel(minus & odd, -r, r);\n"
	"\tr = vsel(vlt(x, vset(0.0f)) & vlt(vset(-__builtin_inff()), x) & (vm)~whole, vset(__builtin_nanf(\"\")), r);\n"
	"\tr = vsel(vne(x, x) | vne(y, y), x + y, r);\n"
	"\tr = vsel(veq(x, vset(-1.0f)) & veq(vabs(y), vset(__builtin_inff())), vset(1.0f), r);\n"
	"\treturn vsel(veq(x, vset(1.0f)) | veq(y, vset(0.0f)), vset(1.0f), r);\n"
	"}\n";

static const char floor_text[] =
	"static inline vf vfloor(vf x)\n"
	"{\n"
	"@{floor\n"
	"\tvf r = vrint(x);\n"
	"\treturn vsign_of(vsel(vlt(x, r), r - 1.0f, r), x);\n"
	"@}\n"
	"}\n";
static const char ceil_text[] =
	"static inline vf vceil(vf x)\n"
	"{\n"
	"@{ceil\n"
	"\tvf r = vrint(x);\n"
	"\treturn vsign_of(vsel(vlt(r, x), r + 1.0f, r), x);\n"
	"@}\n"
	"}\n";
static const char round_text[] =
	"static inline vf vrint(vf x)\n"
	"{\n"
	"@{round\n"
	"\tvf t = vabs(x), r = (t + 0x1p23f) - 0x1p23f;\n"
	"\treturn vsel(vlt(t, vset(0x1p23f)), vsign_of(r, x), x);\n"
	"@}\n"
	"}\n";
static const char sqrt_text[] =
	"static inline vf vsqrt(vf x)\n"
	"{\n"
	"@{sqrt\n"
	"\tvf r = x;\n"
	"\tfor (int i = 0; i < VL; i++)\n"
	"\t\tr[i] = __builtin_sqrtf(x[i]);\n"
	"\treturn r;\n"
	"@}\n"
	"}\n";
static const char sign_text[] =
	"static inline vf vsign(vf x)\n"
	"{\n"
	"\tvf one = vsign_of(vset(1.0f), x);\n"
	"\treturn vsel(vlt(vset(0.0f), vabs(x)), one, x + 0.0f);\n"
	"}\n";

/* Multiplications by 1 / y take a few cycles, divisions many. Where they are fused with additions the quotient is corrected by what it
 * leaves of x, and is as the division rounds it (P. Markstein, IA-64 and elementary functions, 2000, theorem 8.5). */
static const char over_text[] =
	"/* x / y; z is 1 / y */\n"
	"static inline vf vover(vf x, vf y, vf z)\n"
	"{\n"
	"@{over\n"
	"\treturn x / y;\n"
	"@}\n"
	"}\n";

/* Beyond 1 it is pi/2 - atan(1 / |x|). */
static const char atan_text[] =
	"static inline vf vatan(vf x)\n"
	"{\n"
	"\tvf one = vset(1.0f), t = vabs(x);\n"
	"\tvm big = vlt(one, t);\n"
	"\tvf r = vsel(big, -one, t) / vsel(big, t, one), z = r * r;\n"
	"\tvf p = ((((((2.91975634e-3f * z - 0.0163642373f) * z + 0.0432059728f) * z - 0.0755172893f) * z + 0.106657863f) * z\n"
	"\t\t- 0.142110035f) * z + 0.199937671f) * z - 0.333331525f;\n"
	"\treturn vsign_of(vsel(big, vset(1.57079637f), vset(0.0f)) + (r + r * z * p), x);\n"
	"}\n";

/* Beyond 1/2, asin(t) = pi/2 - 2 asin(sqrt((1 - t) / 2)); acos(t) is the second part of that. */
#define ASIN_BODY \
	"\tvf t = vabs(x);\n" \
	"\tvm big = vlt(vset(0.5f), t);\n" \
	"\tvf z = vsel(big, 0.5f - 0.5f * t, t * t), s = vsel(big, vsqrt(z), t);\n" \
	"\tvf p = (((0.0422117971f * z + 0.0241520926f) * z + 0.0454760417f) * z + 0.0749525204f) * z + 0.166667536f;\n" \
	"\tvf r = s + s * z * p;\n"
static const char asin_text[] =
	"static inline vf vasin(vf x)\n"
	"{\n" ASIN_BODY
	"\treturn vsign_of(vsel(big, 1.57079637f - 2.0f * r, r), x);\n"
	"}\n";
static const char acos_text[] =
	"static inline vf vacos(vf x)\n"
	"{\n" ASIN_BODY
	"\tvf far = vsel(vlt(x, vset(0.0f)), 3.14159274f - 2.0f * r, 2.0f * r);\n"
	"\treturn vsel(big, far, 1.57079637f - vsign_of(r, x));\n"
	"}\n";

#define LANE_BY_LANE(name, f) \
	"static inline vf " name \
	"(vf x)\n" \
	"{\n" \
	"\tvf r = x;\n" \
	"\tfor (int i = 0; i < VL; i++)\n" \
	"\t\tr[i] = " f \
	"(x[i]);\n" \
	"\treturn r;\n" \
	"}\n"
static const char mod_text[] =
	"static inline vf vmod(vf x, vf y)\n"
	"{\n"
	"\tfor (int i = 0; i < VL; i++)\n"
	"\t\tx[i] = __builtin_fmodf(x[i], y[i]);\n"
	"\treturn x;\n"
	"}\n";

/* eval, ulps, scalar, vector, helper, needs */
static const struct math_row rows[FN_COUNT] = {
#define ROW(id, ...) [FN_##id] = {__VA_ARGS__}
	ROW(ADD, "add", 2, ev_add, 0.5, "(%a + %b)", "(%a + %b)", .whole = "(%a + %b)"),
	ROW(SUB, "sub", 2, ev_sub, 0.5, "(%a - %b)", "(%a - %b)", .whole = "(%a - %b)"),
	ROW(MUL, "mul", 2, ev_mul, 0.5, "(%a * %b)", "(%a * %b)", .whole = "(%a * %b)"),
	ROW(DIV, "div", 2, ev_div, 0.5, "div_%t(%a, %b)", "(%a / %b)"),
	ROW(MAX, "max", 2, ev_max, 0, "max_%t(%a, %b)", "vmax(%a, %b)", .whole = "vimax(%a, %b)", .mask = "(%a | %b)"),
	ROW(MIN, "min", 2, ev_min, 0, "min_%t(%a, %b)", "vmin(%a, %b)", .whole = "vimin(%a, %b)", .mask = "(%a & %b)"),
	ROW(MAX2, "max2", 2, ev_max2, 0, "max2_%t(%a, %b)", "vmax2(%a, %b)", .whole = "vimax(%a, %b)"),
	ROW(MIN2, "min2", 2, ev_min2, 0, "min2_%t(%a, %b)", "vmin2(%a, %b)", .whole = "vimin(%a, %b)"),
	ROW(POW, "pow", 2, ev_pow, 1, "pow%f(%a, %b)", "vpow(%a, %b)", pow_text, FN_FLOOR),
	ROW(MOD, "mod", 2, ev_mod, 0, "mod_%t(%a, %b)", "vmod(%a, %b)", mod_text),
	ROW(NEG, "neg", 1, ev_neg, 0, "(-%a)", "(-%a)", .whole = "(-%a)"),
	ROW(ABS, "abs", 1, ev_abs, 0, "abs_%t(%a)", "vabs(%a)", .whole = "viabs(%a)"),
	ROW(SQRT, "sqrt", 1, ev_sqrt, 0.5, "sqrt%f(%a)", "vsqrt(%a)", sqrt_text),
	ROW(RSQRT, "rsqrt", 1, ev_rsqrt, 1.5, "(1 / sqrt%f(%a))", "(1.0f / vsqrt(%a))", NULL, FN_SQRT),
	ROW(RECIP, "recip", 1, ev_recip, 0.5, "div_%t(1, %a)", "(1.0f / %a)"),
	ROW(EXP, "exp", 1, ev_exp, 2, "exp%f(%a)", "vexp(%a)", exp_text),
	ROW(LOG, "log", 1, ev_log, 2, "log%f(%a)", "vlog(%a)", log_text),
	ROW(TANH, "tanh", 1, ev_tanh, 3, "tanh%f(%a)", "vtanh(%a)", tanh_text),
	ROW(SIGMOID, "sigmoid", 1, ev_sigmoid, 4, "(1 / (1 + exp%f(-%a)))", "vsigmoid(%a)", sigmoid_text, FN_EXP),
	ROW(ERF, "erf", 1, ev_erf, 3, "erf%f(%a)", "verf(%a)", erf_text, FN_EXP),
	ROW(SIN, "sin", 1, ev_sin, 1, "sin%f(%a)", "vsin(%a)", LANE_BY_LANE("vsin", "sinf")),
	ROW(COS, "cos", 1, ev_cos, 1, "cos%f(%a)", "vcos(%a)", LANE_BY_LANE("vcos", "cosf")),
	ROW(FLOOR, "floor", 1, ev_floor, 0, "floor%f(%a)", "vfloor(%a)", floor_text, FN_ROUND, .whole = "%a"),
	ROW(CEIL, "ceil", 1, ev_ceil, 0, "ceil%f(%a)", "vceil(%a)", ceil_text, FN_ROUND, .whole = "%a"),
	ROW(ROUND, "round", 1, ev_round, 0, "rint%f(%a)", "vrint(%a)", round_text, .whole = "%a"),
	ROW(SIGN, "sign", 1, ev_sign, 0, "sign_%t(%a)", "vsign(%a)", sign_text, .whole = "visign(%a)"),
	ROW(EQ, "eq", 2, ev_eq, 0, "(%a == %b)", "veq(%a, %b)", .whole = "vieq(%a, %b)", .mask = "(vm)~(%a ^ %b)"),
	ROW(NE, "ne", 2, ev_ne, 0, "(%a != %b)", "vne(%a, %b)", .whole = "vine(%a, %b)", .mask = "(%a ^ %b)"),
	ROW(LT, "lt", 2, ev_lt, 0, "(%a < %b)", "vlt(%a, %b)", .whole = "vilt(%a, %b)"),
	ROW(LE, "le", 2, ev_le, 0, "(%a <= %b)", "vle(%a, %b)", .whole = "vile(%a, %b)"),
	ROW(GT, "gt", 2, ev_gt, 0, "(%a > %b)", "vlt(%b, %a)", .whole = "vilt(%b, %a)"),
	ROW(GE, "ge", 2, ev_ge, 0, "(%a >= %b)", "vle(%b, %a)", .whole = "vile(%b, %a)"),
	ROW(AND, "and", 2, ev_and, 0, "(%a && %b)", "(%a & %b)", .mask = "(%a & %b)"),
	ROW(OR, "or", 2, ev_or, 0, "(%a || %b)", "(%a | %b)", .mask = "(%a | %b)"),
	ROW(XOR, "xor", 2, ev_xor, 0, "(!%a != !%b)", "(%a ^ %b)", .mask = "(%a ^ %b)"),
	ROW(NOT, "not", 1, ev_not, 0, "(!%a)", "(vm)~(%a)", .mask = "(vm)~(%a)"),
	ROW(SELECT, "select", 3, ev_select, 0, "(%a ? %b : %c)", "vsel(%a, %b, %c)", .whole = "visel(%a, %b, %c)",
	    .mask = "((%a & %b) | ((vm)~%a & %c))"),
	ROW(NIBBLE, "nibble", 2, ev_nibble, 0, "(%a >> %b & 15)", NULL, .whole = "(%a >> %b & 15)"),
	ROW(BITAND, "bitand", 2, ev_bitand, 0, "(%a & %b)", NULL, .whole = "(%a & %b)"),
	ROW(BITOR, "bitor", 2, ev_bitor, 0, "(%a | %b)", NULL, .whole = "(%a | %b)"),
	ROW(BITXOR, "bitxor", 2, ev_bitxor, 0, "(%a ^ %b)", NULL, .whole = "(%a ^ %b)"),
	ROW(BITNOT, "bitnot", 1, ev_bitnot, 0, "(~%a)", NULL, .whole = "(~%a)"),
	ROW(SHL, "shl", 2, ev_shl, 0, "((unsigned long)%b > 63 ? 0 : (unsigned long)%a << %b)", NULL),
	ROW(SHR, "shr", 2, ev_shr, 0,
	    "((unsigned long)%b > 63 ? -(unsigned long)(%a < 0) : %a < 0 ? ~(~(unsigned long)%a >> %b) : (unsigned long)%a >> %b)", NULL),
	ROW(OVER, "over", 3, ev_over, 0.5, "div_%t(%a, %b)", "vover(%a, %b, %c)", over_text),
	ROW(ACOS, "acos", 1, ev_acos, 1.5, "acos%f(%a)", "vacos(%a)", acos_text, FN_SQRT),
	ROW(ACOSH, "acosh", 1, ev_acosh, 3, "acosh%f(%a)", "vacosh(%a)", LANE_BY_LANE("vacosh", "acoshf")),
	ROW(ASIN, "asin", 1, ev_asin, 2, "asin%f(%a)", "vasin(%a)", asin_text, FN_SQRT),
	ROW(ASINH, "asinh", 1, ev_asinh, 3, "asinh%f(%a)", "vasinh(%a)", LANE_BY_LANE("vasinh", "asinhf")),
	ROW(ATAN, "atan", 1, ev_atan, 1.5, "atan%f(%a)", "vatan(%a)", atan_text),
	ROW(ATANH, "atanh", 1, ev_atanh, 3, "atanh%f(%a)", "vatanh(%a)", LANE_BY_LANE("vatanh", "atanhf")),
#undef ROW
};

const struct math_row *math_row(enum math_fn f)
{
	if (f <= FN_NONE || f >= FN_COUNT)
		BUG("no function %d", (int)f);
	return &rows[f];
}

enum lane_type math_lanes(enum dtype t)
{
	switch (t) {
	case DT_F32:
	case DT_F16:
	case DT_BF16: return LANE_FLOAT;
	case DT_I32:
	case DT_I16:
	case DT_U16:
	case DT_I8:
	case DT_U8:
	case DT_I4:
	case DT_U4:
	case DT_I2:
	case DT_U2: return LANE_INT;
	case DT_BOOL: return LANE_BOOL;
	default: return LANE_NONE;
	}
}

bool math_in_lanes(enum math_fn f, enum dtype t)
{
	const struct math_row *r = math_row(f);

	switch (math_lanes(t)) {
	case LANE_FLOAT: return r->vector && (f < FN_AND || f > FN_NOT);
	case LANE_INT: return r->whole != NULL;
	case LANE_BOOL: return r->mask != NULL;
	default: return false;
	}
}

double math_eval(enum math_fn f, double a, double b, double c) { return math_row(f)->eval(a, b, c); }

int64_t math_wrap(enum dtype t, int64_t v)
{
	int unused = 64 - dtype_bits(t);

	if (t == DT_BOOL)
		return v != 0;
	return dtype_is_signed(t) ? (int64_t)((uint64_t)v << unused) >> unused : (int64_t)((uint64_t)v << unused >> unused);
}

int64_t math_whole(enum dtype t, double v)
{
	bool sign = dtype_is_signed(t);
	int bits = dtype_bits(t) - sign;
	double end = ldexp(1, bits), low = sign ? -end : 0;
	int64_t highest = (int64_t)(UINT64_MAX >> (64 - bits));

	if (t == DT_BOOL || v != v)
		return t == DT_BOOL && v != 0;
	if (v >= end)
		return highest;
	return v <= low ? (sign ? -highest - 1 : 0) : v < 0x1p63 ? (int64_t)v : (int64_t)(uint64_t)v;
}

static int64_t int_pow(int64_t a, int64_t b)
{
	uint64_t r = 1, x = (uint64_t)a;

	if (b < 0)
		return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
	for (; b; b >>= 1, x *= x)
		r *= b & 1 ? x : 1;
	return (int64_t)r;
}

static int64_t int_div(bool sign, int64_t a, int64_t b)
{
	if (!b)
		return 0;
	return !sign ? (int64_t)((uint64_t)a / (uint64_t)b) : b == -1 ? (int64_t) - (uint64_t)a : a / b;
}

static int64_t int_mod(bool sign, int64_t a, int64_t b)
{
	if (!sign)
		return b ? (int64_t)((uint64_t)a % (uint64_t)b) : 0;
	int64_t r = b == 0 || b == -1 ? 0 : a % b;
	return r && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t int_value(enum math_fn f, enum dtype t, int64_t a, int64_t b)
{
	bool sign = dtype_is_signed(t), less = sign ? a < b : (uint64_t)a < (uint64_t)b;

	switch (f) {
	case FN_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
	case FN_SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
	case FN_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
	case FN_DIV: return int_div(sign, a, b);
	case FN_MAX:
	case FN_MAX2: return less ? b : a;
	case FN_MIN:
	case FN_MIN2: return less ? a : b;
	case FN_POW: return int_pow(a, b);
	case FN_MOD: return int_mod(sign, a, b);
	case FN_NEG: return (int64_t) - (uint64_t)a;
	case FN_ABS: return sign && a < 0 ? (int64_t) - (uint64_t)a : a;
	case FN_RECIP: return int_div(sign, 1, a);
	case FN_FLOOR:
	case FN_CEIL:
	case FN_ROUND: return a;
	case FN_SIGN: return sign ? (a > 0) - (a < 0) : a != 0;
	case FN_EQ: return a == b;
	case FN_NE: return a != b;
	case FN_LT: return less;
	case FN_LE: return less || a == b;
	case FN_GT: return !less && a != b;
	case FN_GE: return !less;
	case FN_AND: return a && b;
	case FN_OR: return a || b;
	case FN_XOR: return !a != !b;
	case FN_NOT: return !a;
	case FN_NIBBLE: return a >> (b & 63) & 15;
	case FN_BITAND: return a & b;
	case FN_BITOR: return a | b;
	case FN_BITXOR: return a ^ b;
	case FN_BITNOT: return ~a;
	case FN_SHL: return (uint64_t)b > 63 ? 0 : (int64_t)((uint64_t)a << b);
	case FN_SHR: return (uint64_t)b > 63 ? -(int64_t)(sign && a < 0) : sign ? a >> b : (int64_t)((uint64_t)a >> b);
	default: break;
	}
	double x = sign ? (double)a : (double)(uint64_t)a, y = sign ? (double)b : (double)(uint64_t)b;
	return math_whole(t, math_eval(f, x, y, 0));
}

int64_t math_eval_int(enum math_fn f, enum dtype t, int64_t a, int64_t b) { return math_wrap(t, int_value(f, t, a, b)); }
