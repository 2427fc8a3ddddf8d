/* Random applications of operators as task texts (op/task.h), and contents at the edges of their types: what a kernel, an
 * evaluator and other programs are compared on. */
#ifndef HONE_RANDOM_CASES_H
#define HONE_RANDOM_CASES_H
#include <float.h>
#include <math.h>
#include <string.h>
#include "common/rng.h"
#include "op/op.h"

enum case_flags {
	EXACT = 1,      /* one rounding at most: the bits are those of the evaluator, the sign of a zero too */
	SUMS = 2,       /* adds up: no contents that overflow on the way; errors are small against the largest */
	NEAR = 4,       /* errors are small against 1 and the largest operand, not only against the result */
	ZEROS = 8,      /* exact but for the sign of a zero (max and min of both zeros may be either) */
	SMALL = 16,     /* counts, exponents: integers are small */
	OURS = 64,      /* not of ONNX's types */
	COMPILED = 512, /* the interpreter, which rounds where it stores, comes to other numbers */
	NO_TINY = 256,  /* nothing near denormals: what is made of them may be one */
	FINITE = 128,   /* what several results share would be no number beside an infinity */
	WEIGHTS = 32,   /* operand 1 is finite: what it is multiplied with in the padding is left out by some, zero to others */
};

/* $T the type; $S a shape, $B one that broadcasts with it, $C one that it broadcasts with, $V its last extent; $A an axis of it, $X some (i64 literal);
 * $K a number of the type; $F an attribute's; $b 0 or 1; $N the number of another type in ONNX; $U another type; $4 the number of an integer type of fewer than 8 bits; $! what follows only half the
 * time, up to the next blank. */
struct case_row {
	const char *text, *types;
	int flags;
};

static const struct case_row case_rows[] = {
#define FLOATS  "f32 f64 f16 bf16"
#define INTS    "i8 u8 i16 u16 i32 u32 i64 u64"
#define NUMBERS FLOATS " " INTS
#define ALL     NUMBERS " bool"
#define FLOAT8S " f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz"
	{"Abs $T $S", NUMBERS, EXACT},
	{"Neg $T $S", FLOATS " i8 i16 i32 i64", EXACT},
	{"Sign $T $S", NUMBERS, EXACT},
	{"Ceil $T $S", FLOATS, EXACT},
	{"Floor $T $S", FLOATS, EXACT},
	{"Round $T $S", FLOATS, EXACT},
	{"Sqrt $T $S", FLOATS, EXACT},
	{"Reciprocal $T $S", FLOATS, EXACT},
	{"Relu $T $S", FLOATS " i8 i16 i32 i64", ZEROS},
	{"Not bool $S", "bool", EXACT},
	{"IsNaN $T $S", FLOATS FLOAT8S, EXACT},
	{"IsInf{detect_negative=$b detect_positive=$b} $T $S", FLOATS FLOAT8S, EXACT},
	{"BitwiseNot $T $S", INTS, EXACT},
	{"Identity $T $S", ALL, EXACT},
	{"Exp $T $S", FLOATS, 0},
	{"Log $T $S", FLOATS, 0},
	{"Sin $T $S", FLOATS, NEAR},
	{"Cos $T $S", FLOATS, NEAR},
	{"Tan $T $S", "f32 f64", NEAR},
	{"Tanh $T $S", FLOATS, 0},
	{"Sigmoid $T $S", FLOATS, NEAR},
	{"Erf $T $S", FLOATS, 0},
	{"Sinh $T $S", FLOATS, 0},
	{"Cosh $T $S", FLOATS, 0},
	{"Asinh $T $S", FLOATS, 0},
	{"Atan $T $S", FLOATS, 0},
	{"Acos $T $S", FLOATS, NEAR},
	{"Asin $T $S", FLOATS, 0},
	{"Acosh $T $S", FLOATS, 0},
	{"Atanh $T $S", FLOATS, 0},
	{"Softplus $T $S", FLOATS, NEAR},
	{"Softsign $T $S", FLOATS, 0},
	{"Mish $T $S", FLOATS, NEAR},
	{"Gelu $T $S", FLOATS, NEAR},
	{"Gelu{approximate=tanh} $T $S", FLOATS, NEAR},
	{"HardSwish $T $S", FLOATS, NEAR},
	{"HardSigmoid{alpha=$F beta=$F} $T $S", FLOATS, NEAR},
	{"Elu{alpha=$F} $T $S", FLOATS, NEAR},
	{"Celu{alpha=$P} $T $S", "f32", NEAR},
	{"Selu{alpha=$F gamma=$F} $T $S", FLOATS, NEAR},
	{"LeakyRelu{alpha=$F} $T $S", FLOATS, 0},
	{"ThresholdedRelu{alpha=$F} $T $S", FLOATS, EXACT},
	{"Shrink{bias=$F lambd=$P} $T $S", "f32 f64 f16 " INTS, 0},
	{"Swish{alpha=$F} $T $S", FLOATS, NEAR},
	{"Add $T $S $B", NUMBERS, EXACT},
	{"Sub $T $S $B", NUMBERS, EXACT},
	{"Mul $T $S $B", NUMBERS, EXACT},
	{"Div $T $S $B", NUMBERS, EXACT},
	{"Add $T $S $K", NUMBERS, EXACT},
	{"Mul $T $S $K", NUMBERS, EXACT},
	{"Sub $T $K $S", NUMBERS, EXACT},
	{"Div $T $S $K", NUMBERS, EXACT},
	{"Div $T $K $S", NUMBERS, EXACT},
	{"Max $T $S $B $B", NUMBERS, ZEROS},
	{"Min $T $S $B $B", NUMBERS, ZEROS},
	{"Max $T $S $K", NUMBERS, ZEROS},
	{"Sum $T $S $B $B", FLOATS, SUMS},
	{"Mean $T $S $B $B", FLOATS, SUMS},
	{"Mod $T $S $B", INTS, EXACT},
	{"Mod $T $S $K", INTS, EXACT},
	{"Mod{fmod=1} $T $S $B", NUMBERS, EXACT},
	{"Mod $T $S $B", FLOATS, EXACT},
	{"Mod{fmod=1} $T $S $K", NUMBERS, EXACT},
	{"Mod $T $S $K", FLOATS, EXACT},
	{"Pow $T $S $B", "f32 f64 f16 bf16 i32 i64", SMALL},
	{"Pow $T $S $B", "u32 u64", SMALL | OURS},
	{"Pow $T $S $K", "f32 f64 f16 bf16 i32 i64", SMALL},
	{"Pow $T $S $E=2", "f32 f64 f16 bf16 i32 i64", 0},
	{"Pow $T $S $E=3", "f32 f64 f16 bf16 i32 i64", 0},
	{"Pow $T $S $E=1", "f32 f64 f16 bf16 i32 i64", EXACT},
	{"Pow $T $S $E=0", "f32 f64 f16 bf16 i32 i64", EXACT},
	{"Pow $T $S $E=-1", "f32 f64 f16 i32 i64", 0},
	{"Pow $T $S $E=-2", "f32 f64 f16 i32 i64", 0},
	{"Pow $T $S f32=0.5", "f32 f64 f16 bf16 i32 i64", 0},
	{"Pow $T $S f32=-0.5", "f32 f64 f16 bf16", 0},
	{"Pow $T $S f32 $B", "f32 f64 f16 i32 i64", SMALL},
	{"Pow $T $S i32 $B", "f32 f64 i32 i64", SMALL},
	{"Pow $T $S u64 $B", "f32 i32 i64", SMALL},
	{"Pow $T $S i32 $B", "u32 u64", SMALL | OURS},
	{"Pow $T $S u64 $B", "u64", SMALL | OURS},
	{"PRelu $T $S $B", FLOATS " i32 u32 i64 u64", 0},
	{"Equal $T $S $B", ALL, EXACT},
	{"Less $T $S $B", NUMBERS, EXACT},
	{"LessOrEqual $T $S $B", NUMBERS, EXACT},
	{"Greater $T $S $B", NUMBERS, EXACT},
	{"GreaterOrEqual $T $S $B", NUMBERS, EXACT},
	{"Less $T $S $K", NUMBERS, EXACT},
	{"And bool $S $B", "bool", EXACT},
	{"Or bool $S $B", "bool", EXACT},
	{"Xor bool $S $B", "bool", EXACT},
	{"BitwiseAnd $T $S $B", INTS, EXACT},
	{"BitwiseOr $T $S $B", INTS, EXACT},
	{"BitwiseXor $T $S $B", INTS, EXACT},
	{"BitShift{direction=LEFT} $T $S $B", INTS, EXACT},
	{"BitShift{direction=RIGHT} $T $S $B", INTS, EXACT},
	{"Where bool $S $T $S $B", ALL, EXACT},
	{"Clip $T $S $K $K", NUMBERS, ZEROS},
	{"Clip $T $S _ $K", NUMBERS, ZEROS},
	{"Clip $T $S scalar scalar", NUMBERS, ZEROS},
	{"Cast{to=$N} $T $S", ALL FLOAT8S, EXACT},
	{"Cast{to=$4} $T $S; Cast{to=1} %0", FLOATS, EXACT},
	{"Cast{to=$N} $T $S", ALL, EXACT},
	{"Cast{saturate=0 to=$8} $T $S", FLOATS, EXACT},
	{"CastLike $T $S $U 1", ALL, EXACT},
	{"Cast{to=$N} $T $S; Cast{to=$M} %0", ALL, EXACT},
	{"Cast{to=16} $T $S; Cast{to=1} %0", "f32 f64 f16 i32 i64", EXACT},
	{"Cast{to=10} $T $S; Cast{to=1} %0", "f32 f64 i32 i64", EXACT},
	{"Cast{to=16} $T $S; Neg %0; Cast{to=1} %1; Abs %2", "f32 f64 f16", EXACT},
	{"Mul $T $S $B; Neg %0", "f32 f64 f16", EXACT},
	{"Abs $T $S; Cast{to=$N} %0; Cast{to=$M} %1", NUMBERS, EXACT},
	{"ArgMax{axis=$A keepdims=$b select_last_index=$b} $T $S", NUMBERS, EXACT},
	{"ArgMin{axis=$A keepdims=$b select_last_index=$b} $T $S", NUMBERS, EXACT},
	{"ReduceMax{keepdims=$b} $T $S $X", FLOATS " i8 u8 i32 u32 i64 u64 bool", ZEROS},
	{"ReduceMin{keepdims=$b} $T $S $X", FLOATS " i8 u8 i32 u32 i64 u64 bool", ZEROS},
	{"ReduceSum{keepdims=$b} $T $S $X", FLOATS " i32 u32 i64 u64", SUMS},
	{"ReduceProd{keepdims=$b} $T $S $X", FLOATS " i32 u32 i64 u64", SUMS | SMALL},
	{"ReduceMean{keepdims=$b} $T $S $X", FLOATS " i32 u32 i64 u64", SUMS},
	{"ReduceL1{keepdims=$b} $T $S $X", FLOATS " i32 u32 i64 u64", SUMS},
	{"ReduceL2{keepdims=$b} $T $S $X", FLOATS " i32 i64", SUMS | SMALL},
	{"ReduceSumSquare{keepdims=$b} $T $S $X", FLOATS " i32 u32 i64 u64", SUMS},
	{"ReduceLogSum{keepdims=$b} $T $S $X", FLOATS, SUMS},
	{"ReduceLogSumExp{keepdims=$b} $T $S $X", FLOATS, SUMS},
	{"ReduceSum{noop_with_empty_axes=1} $T $S", FLOATS " i32 i64", ZEROS},
	{"ReduceSumSquare{noop_with_empty_axes=1} $T $S", FLOATS " i32 i64", SUMS},
	{"Softmax{axis=$A} $T $S", FLOATS, SUMS},
	{"LogSoftmax{axis=$A} $T $S", FLOATS, SUMS},
	{"Hardmax{axis=$A} $T $S", FLOATS, EXACT},
	{"LpNormalization{axis=$A p=2} $T $S", FLOATS, SUMS},
	{"CumSum{exclusive=$b reverse=$b} $T $S i64=$a", FLOATS " i32 u32 i64 u64", SUMS},
	{"CumProd{exclusive=$b reverse=$b} $T $S i64=$a", FLOATS " i32 i64", SUMS | SMALL},
	{"LayerNormalization{axis=$A} $T $S $R", FLOATS, SUMS},
	{"RMSNormalization{axis=$A} $T $S $R", FLOATS, SUMS},
	{"Transpose{perm=$Y} $T $S", ALL, EXACT},
	{"Tile $T $S i64=$Q", ALL, EXACT},
	{"Expand $T $S i64=$W", ALL, EXACT},
	{"Flatten{axis=$A} $T $S", ALL, EXACT},
	{"Unsqueeze $T $S i64=0,", ALL, EXACT},
	{"Reshape $T $S i64=-1,", ALL, EXACT},
	{"Concat{axis=$A} $T $S $S", ALL, EXACT},
	{"TopK{axis=$A largest=$b} $T $S i64=1, -> %0 %0.1", NUMBERS, EXACT},
	{"NonZero $T $S", ALL, EXACT},
	{"Shape $T $S", ALL, EXACT},
	{"QuantizeLinear $T $S $T=0.1 u8=128", "f32 f16", 0},
	{"QuantizeLinear f32 $S f32=0.3 i8=-3", "f32", 0},
	{"QuantizeLinear f32 $S f32=0.25 $T=7", "i8 u8 i16 u16", EXACT},
	{"DequantizeLinear u8 $S f32=0.1 u8=128", "u8", 0},
	{"DequantizeLinear i32 $S f32=0.1", "i32", 0},
	{"DequantizeLinear{axis=0} i8 8x3x3x3c f32 8c; Conv f32 1x3x6x6 %0", "f32", SUMS | FINITE},
	{"DequantizeLinear{axis=1 block_size=4} i8 16x12c f32 16x3c; Transpose %0; MatMul f32 5x12 %1", "f32", SUMS | FINITE},
	{"BatchNormalization $T 2x6x5 6 6 6 6", FLOATS, SUMS | FINITE},
	{"BatchNormalization $T 2x6x5 6 6 6c 6c", FLOATS, SUMS | FINITE},
	{"OneHot{axis=$A} $T $S i64=9 f32=0,1", "i8 u8 i32 i64 u64 f32", EXACT},
	{"ConstantOfShape{value=f32:1:2.5} i64=2,3", "i64", EXACT},
	{"DynamicQuantizeLinear f32 $S -> %0 %0.1 %0.2", "f32", SUMS | FINITE},
	{"Einsum{equation=\"ij,jk->ik\"} $T 3x4 4x5", FLOATS " i32 i64", SUMS},
	{"Einsum{equation=\"ij,jk,kl->il\"} $T 3x4 4x5 5x2", FLOATS " i32 i64", SUMS | SMALL},
	{"Einsum{equation=\"bij,jk,bl,l->bki\"} $T 2x3x4 1x5 2x3 3", FLOATS " i32", SUMS | SMALL},
	{"Einsum{equation=\"a,b,c->abc\"} $T 3 4 5", FLOATS " i32", SUMS | SMALL},
	{"Einsum{equation=\"...i,ij,jk->...k\"} $T 2x3x4 4x5 5x2", FLOATS, SUMS | SMALL},
	{"Range $T=3 $T=11 $T=2", "f32 f64 i32 i64", EXACT},
	{"EyeLike{k=1} $T 3x4", "f32 i64 bool", EXACT},
	{"Compress{axis=0} $T 3x4 bool=1,0,1", ALL, EXACT},
	{"ReverseSequence{batch_axis=1 time_axis=0} $T 4x3 i64=2,4,1", ALL, EXACT},
	{"ScatterND{reduction=add} $T 4x3 i64 2x1=1,1 $T 2x3", FLOATS " i32 u32 i64 u64", SUMS},
	{"ScatterND{reduction=max} $T 4x3 i64 2x1=1,1 $T 2x3", NUMBERS, ZEROS},
	{"ScatterND{reduction=add} $T 4x3 i64 5x2=1,1,0,2,1,1,-1,-3,1,1 $T 5", FLOATS " i32 u32 i64 u64", SUMS},
	{"ScatterND $T 4x3 i64 5x2=1,1,0,2,1,1,-1,-3,1,1 $T 5", ALL, EXACT},
	{"ScatterElements{axis=1} $T 3x4 i64 2x3=1,-1,0,2,3,-4 $T 2x3", ALL, EXACT},
	{"ScatterElements{axis=0 reduction=add} $T 3x2x2 i64 2x1x2=1,1,1,-1 $T 2x1x2", FLOATS " i32 u32 i64 u64", SUMS},
	{"ScatterElements{axis=1 reduction=min} $T 2x3x2 i64 2x2x2=1,1,1,-1,0,0,2,-3 $T 2x2x2", NUMBERS, ZEROS},
	{"TopK{axis=$A largest=$b} $T $S i64=2, -> %0 %0.1", NUMBERS, EXACT},
	{"MaxPool{kernel_shape=2,2 strides=2,2} $T 2x3x6x5 -> %0 %0.1", "f32 f64 f16 bf16 i8 u8", EXACT},
	{"MaxPool{kernel_shape=3,3 pads=1,1,1,1 strides=2,1} $T 1x2x5x7 -> %0 %0.1", "f32 f64 f16 bf16 i8 u8", EXACT},
	{"MaxPool{kernel_shape=3 dilations=2 pads=2,2 storage_order=$b} $T 2x2x9 -> %0 %0.1", "f32 f64 i8", EXACT},
	{"TopK{axis=1 largest=$b} $T 2x50x2 i64=20, -> %0 %0.1", NUMBERS, EXACT},
	{"Trilu{upper=$b} $T 3x5", ALL, EXACT},
	{"Trilu{upper=$b} $T 2x4x3 i64=-1", ALL, EXACT},
#undef ALL
#undef NUMBERS
#undef INTS
#undef FLOATS
};

struct random_case {
	struct arena *a;
	struct rng rng;
	enum dtype type, other, third;
	int rank;
	int64_t dims[4];
	int flags;
};

static int64_t pick(struct random_case *c, int64_t lo, int64_t hi) { return rng_range(&c->rng, lo, hi); }

static enum dtype pick_type(struct random_case *c, const char *types)
{
	int n = 1;
	for (const char *p = types; *p; p++)
		n += *p == ' ';
	for (n = (int)pick(c, 0, n - 1); n; n--)
		types = strchr(types, ' ') + 1;
	return dtype_parse(types, strcspn(types, " "));
}

static const enum dtype case_types[] = {DT_F32, DT_F64, DT_F16, DT_BF16, DT_I8,       DT_U8,         DT_I16,    DT_U16,       DT_I32,
					DT_U32, DT_I64, DT_U64, DT_BOOL, DT_F8E4M3FN, DT_F8E4M3FNUZ, DT_F8E5M2, DT_F8E5M2FNUZ};

static double edge_float(struct random_case *c, enum dtype t)
{
	static const double all[] = {0, -0.0, 1, -1, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3, 7, -7, 0.1, 1.0 / 3, 100, -100, 255, 256, 300};
	static const double far[] = {1e-3,     88.7,    89.1,    -87.4,    -104,       709.5,      -745,      3.14159265, 127.5,
				     -128.5,   32768,   65504,   65520,    0x1p24 + 1, 0x1p31,     0x1p32,    -0x1p31,    0x1p53 + 2,
				     0x1p62,   0x1p63,  -0x1p63, 0x1.8p63, 0x1p64,     1e10,       -1e10,     1e20,       1e-20,
				     -1e-30,   3e38,    -3e38,   FLT_MAX,  -FLT_MAX,   FLT_MIN,    -FLT_MIN,  1e-40,      -1e-42,
				     0x1p-149, DBL_MAX, 1e-308,  5e-324,   448,        464,        480,       240,        57344,
				     61440,    0x1p-9,  0x1p-10, 0x1p-24,  0x1p-25,    1.00390625, 1.01171875};
	int64_t k = pick(c, 0, 9);
	double v = k < 3   ? all[pick(c, 0, sizeof all / sizeof *all - 1)]
		   : k < 6 ? far[pick(c, 0, sizeof far / sizeof *far - 1)]
			   : rng_normal(&c->rng) * (k == 6   ? 30
						    : k == 7 ? 0.1
							     : 1);

	if (k == 9)
		v = (double[]){INFINITY, -INFINITY, NAN}[pick(c, 0, 2)];
	if (c->flags & SUMS && !(fabs(v) <= 300 && (fabs(v) >= 1e-3 || v == 0)))
		v = pick(c, 0, 3) ? rng_normal(&c->rng) : isfinite(v) ? 1 : v;
	if (c->flags & NO_TINY && fabs(v) < 1e-20)
		v = copysign(0, v);
	return c->flags & FINITE && !isfinite(v) ? 1 : v;
}

static int64_t edge_int(struct random_case *c, enum dtype t)
{
	static const int64_t some[] = {0,
				       1,
				       -1,
				       2,
				       -2,
				       3,
				       5,
				       7,
				       -7,
				       8,
				       10,
				       31,
				       32,
				       33,
				       63,
				       64,
				       65,
				       100,
				       127,
				       128,
				       -128,
				       255,
				       256,
				       32767,
				       65535,
				       (1 << 24) + 1,
				       INT32_MAX,
				       INT32_MIN,
				       UINT32_MAX,
				       (INT64_C(1) << 53) + 1,
				       -(INT64_C(1) << 53) - 1};
	int bits = 8 * (int)dtype_size(t);
	int64_t highest = dtype_is_signed(t) ? INT64_MAX >> (64 - bits) : bits == 64 ? -1 : (INT64_C(1) << bits) - 1;

	switch (pick(c, 0, c->flags & SMALL ? 2 : 5)) {
	case 0: return pick(c, 0, 3);
	case 1: return pick(c, dtype_is_signed(t) ? -9 : 0, 9);
	case 2: return c->flags & SMALL ? pick(c, 0, 70) : some[pick(c, 0, sizeof some / sizeof *some - 1)];
	case 3: return some[pick(c, 0, sizeof some / sizeof *some - 1)];
	case 4: return (int64_t)((uint64_t)highest + (uint64_t)pick(c, -1, 1)); /* wraps to the lowest */
	default: return (int64_t)rng_u64(&c->rng);
	}
}

/* Contents at the edges. */
static void edge_fill(struct random_case *c, struct tensor *t, size_t operand)
{
	bool plain = pick(c, 0, 7) == 0 || (c->flags & WEIGHTS && operand == 1);

	for (int64_t i = 0; i < tensor_count(t); i++) {
		uint64_t v = (uint64_t)edge_int(c, dtype_is_int(t->dtype) ? t->dtype : DT_I8);
		void *p = (char *)t->data + (size_t)i * dtype_size(t->dtype);
		if (t->dtype == DT_BOOL)
			*(uint8_t *)p = v & 1;
		else if (dtype_is_int(t->dtype))
			memcpy(p, &v, dtype_size(t->dtype));
		else
			tensor_set(t, i, plain ? rng_normal(&c->rng) : edge_float(c, t->dtype));
	}
}

static const char *shape_text(struct random_case *c, int rank, const int64_t *dims)
{
	const char *s = rank ? "" : "scalar";
	for (int i = 0; i < rank; i++)
		s = arena_printf(c->a, "%s%s%lld", s, i ? "x" : "", (long long)dims[i]);
	return s;
}

static const char *list_text(struct random_case *c, int n, const int64_t *v)
{
	const char *s = "";
	for (int i = 0; i < n; i++)
		s = arena_printf(c->a, "%s%lld%s", s, (long long)v[i], i + 1 < n || n == 1 ? "," : "");
	return s;
}

static const char *number_text(struct random_case *c, enum dtype t)
{
	if (dtype_is_int(t) || t == DT_BOOL) {
		int bits = 8 * (int)dtype_size(t);
		int64_t v = t == DT_BOOL ? pick(c, 0, 1) : edge_int(c, t);
		if (t == DT_U64)
			return arena_printf(c->a, "=%llu", (unsigned long long)v);
		v = dtype_is_signed(t) ? (int64_t)((uint64_t)v << (64 - bits)) >> (64 - bits)
				       : (int64_t)((uint64_t)v << (64 - bits) >> (64 - bits));
		return arena_printf(c->a, "=%lld", (long long)v);
	}
	struct tensor *x = tensor_new(c->a, t, 0, NULL);
	do /* none that counts as zero to some */
		tensor_set(x, 0, edge_float(c, t));
	while (tensor_get(x, 0) != 0 && fabs(tensor_get(x, 0)) < (t == DT_F64 ? DBL_MIN : FLT_MIN));
	return arena_printf(c->a, "=%.17g", tensor_get(x, 0) != tensor_get(x, 0) ? NAN : tensor_get(x, 0));
}

static void pick_shape(struct random_case *c, int least)
{
	bool empty = pick(c, 0, 15) == 0;

	c->rank = (int)pick(c, least, 4);
	for (int i = 0; i < c->rank; i++)
		c->dims[i] = pick(c, 1, c->rank < 3 ? 40 : c->rank == 3 ? 9 : 5);
	if (empty && c->rank)
		c->dims[pick(c, 0, c->rank - 1)] = 0;
}

static const char *token(struct random_case *c, char k)
{
	int64_t v[8];
	int n = 0, skip;

	switch (k) {
	case 'T': return dtype_name(c->type);
	case 'U': return dtype_name(c->other);
	case 'N': return arena_printf(c->a, "%d", dtype_to_onnx(c->other));
	case 'M': return arena_printf(c->a, "%d", dtype_to_onnx(c->third));
	case '8': return arena_printf(c->a, "%lld", (long long)pick(c, 17, 20));
	case '4': return (const char *[]){"21", "22", "25", "26"}[pick(c, 0, 3)];
	case 'S': return shape_text(c, c->rank, c->dims);
	case 'B':
		skip = (int)pick(c, 0, 2) ? 0 : (int)pick(c, 0, c->rank);
		for (int i = skip; i < c->rank; i++)
			v[n++] = pick(c, 0, 3) ? c->dims[i] : 1;
		return shape_text(c, n, v);
	case 'K': return number_text(c, c->type);
	case 'E': return dtype_name(pick(c, 0, 1) ? c->type : pick(c, 0, 1) ? DT_I64 : DT_F32);
	case 'F': return (const char *[]){"0.5", "1", "0.2", "-0.3", "2", "1.5", "0", "0.01"}[pick(c, 0, 7)];
	case 'P': return (const char *[]){"0.5", "1", "0.2", "2", "1.5", "0.01"}[pick(c, 0, 5)];
	case 'b': return pick(c, 0, 1) ? "1" : "0";
	case 'A':
	case 'a': return arena_printf(c->a, "%lld", (long long)pick(c, -c->rank, c->rank - 1));
	case 'X':
		for (int i = 0; i < c->rank; i++)
			if (pick(c, 0, 1))
				v[n++] = pick(c, 0, 1) ? i : i - c->rank;
		return n ? arena_printf(c->a, "i64=%s", list_text(c, n, v)) : pick(c, 0, 1) ? "" : "i64 0=";
	case 'Y':
		for (int i = 0; i < c->rank; i++)
			v[i] = i;
		for (int i = c->rank - 1; i > 0; i--) {
			int j = (int)pick(c, 0, i);
			int64_t x = v[i];
			v[i] = v[j];
			v[j] = x;
		}
		return arena_printf(c->a, "%.*s", (int)strlen(list_text(c, c->rank, v)) - (c->rank == 1), list_text(c, c->rank, v));
	case 'Q':
		for (int i = 0; i < c->rank; i++)
			v[i] = pick(c, 0, 5) ? pick(c, 1, 3) : 0;
		return list_text(c, c->rank, v);
	case 'W':
		for (int i = 0; i < c->rank; i++)
			v[i] = c->dims[i] == 1 ? pick(c, 1, 4) : pick(c, 0, 1) ? c->dims[i] : 1;
		return list_text(c, c->rank, v);
	default: return "";
	}
}

static const char *from_row(struct random_case *c, const struct case_row *r)
{
	const char *s = "", *p = r->text, *q;
	bool ranked = strpbrk(p, "$") && (strstr(p, "$A") || strstr(p, "$a") || strstr(p, "$Y") || strstr(p, "$Q") || strstr(p, "$W"));

	c->type = pick_type(c, r->types);
	c->flags = r->flags;
	c->other = case_types[pick(c, 0, sizeof case_types / sizeof *case_types - 1)];
	c->third = case_types[pick(c, 0, sizeof case_types / sizeof *case_types - 1)];
	pick_shape(c, ranked);
	int64_t axis = c->rank ? pick(c, 0, c->rank - 1) : 0;
	for (; (q = strchr(p, '$')); p = q + 2) {
		const char *t = token(c, q[1]);
		if (q[1] == 'A' && strstr(r->text, "$R"))
			t = arena_printf(c->a, "%lld", (long long)axis);
		if (q[1] == 'R')
			t = shape_text(c, c->rank - (int)axis, c->dims + axis);
		s = arena_printf(c->a, "%s%.*s%s", s, (int)(q - p), p, t);
	}
	return arena_printf(c->a, "%s%s", s, p);
}

/* ---- operators with windows, matrices, places ---- */

static const char *ints_attr(struct random_case *c, const char *name, int n, int64_t lo, int64_t hi)
{
	int64_t v[8];
	for (int i = 0; i < n; i++)
		v[i] = pick(c, lo, hi);
	const char *l = list_text(c, n, v);
	return arena_printf(c->a, " %s=%.*s", name, (int)strlen(l) - (n == 1), l);
}

static const char *window_case(struct random_case *c)
{
	static const char *const ops[] = {"MaxPool", "AveragePool", "LpPool", "Conv", "ConvTranspose"};
	int op = (int)pick(c, 0, 4), n = (int)pick(c, 1, 2);
	int64_t dims[4] = {pick(c, 1, 2), pick(c, 1, 6)}, k[2], group = 1;
	const char *attr = "", *kernel;

	c->flags = op == 0 ? ZEROS : op < 3 ? SUMS : op == 3 ? SUMS | WEIGHTS : SUMS | WEIGHTS | FINITE;
	c->type = pick_type(c, op == 0 ? "f32 f64 f16 bf16 i8 u8" : "f32 f64 f16 bf16");
	for (int i = 0; i < n; i++) {
		k[i] = pick(c, 1, 3);
		dims[2 + i] = pick(c, 5, 11);
	}
	const char *l = list_text(c, n, k);
	kernel = arena_printf(c->a, "kernel_shape=%.*s", (int)strlen(l) - (n == 1), l);
	if (pick(c, 0, 1))
		attr = arena_printf(c->a, "%s%s", attr, ints_attr(c, "strides", n, 1, 3));
	if (pick(c, 0, 2) == 0)
		attr = arena_printf(c->a, "%s%s", attr, ints_attr(c, "dilations", n, 1, 2));
	if (op < 3 && pick(c, 0, 2) == 0)
		attr = arena_printf(c->a, "%s ceil_mode=1", attr);
	if (pick(c, 0, 1))
		attr = arena_printf(c->a, "%s%s", attr, ints_attr(c, "pads", 2 * n, 0, 0 + (k[0] > 1 && (n == 1 || k[1] > 1))));
	if (op == 1)
		attr = arena_printf(c->a, "%s count_include_pad=%lld", attr, (long long)pick(c, 0, 1));
	if (op == 2)
		attr = arena_printf(c->a, "%s p=%lld", attr, (long long)pick(c, 1, 3));
	if (op < 3)
		return arena_printf(c->a, "%s{%s%s} %s %s", ops[op], kernel, attr, dtype_name(c->type), shape_text(c, 2 + n, dims));
	if (pick(c, 0, 2) == 0)
		group = dims[1];
	int64_t out = group * pick(c, 1, 9 / group), w[4] = {op == 3 ? out : dims[1], op == 3 ? dims[1] / group : out / group, k[0], k[1]};
	return arena_printf(c->a, "%s{%s%s group=%lld} %s %s %s%s %s", ops[op], kernel, attr, (long long)group, dtype_name(c->type),
			    shape_text(c, 2 + n, dims), shape_text(c, 2 + n, w), pick(c, 0, 1) ? "c" : "",
			    pick(c, 0, 1) ? shape_text(c, 1, &out) : "");
}

static const char *matrix_case(struct random_case *c)
{
	int64_t m = pick(c, 1, 20), n = pick(c, 1, 20), k = pick(c, 0, 9) ? pick(c, 1, 33) : 0, b = pick(c, 1, 3);
	const char *t;

	c->flags = SUMS;
	c->type = pick_type(c, "f32 f64 f16 bf16 i32 u32 i64 u64");
	t = dtype_name(c->type);
	switch (pick(c, 0, 5)) {
	case 0: return arena_printf(c->a, "MatMul %s %lldx%lld %lldx%lld", t, (long long)m, (long long)k, (long long)k, (long long)n);
	case 1:
		return arena_printf(c->a, "MatMul %s %lldx%lldx%lld %lldx%lldx%lld", t, (long long)b, (long long)m, (long long)k,
				    (long long)(pick(c, 0, 1) ? b : 1), (long long)k, (long long)n);
	case 2: return arena_printf(c->a, "MatMul %s %lld %lldx%lld", t, (long long)k, (long long)k, (long long)n);
	case 3:
		return arena_printf(c->a, "MatMulInteger %s %lldx%lld %s %lldx%lld %s", "u8", (long long)m, (long long)k, "i8",
				    (long long)k, (long long)n, pick(c, 0, 1) ? "u8=128 i8=-3" : "");
	case 4:
		return arena_printf(c->a, "Gemm{alpha=0.5 beta=2 transA=1} %s %lldx%lld %lldx%lld %lld", t, (long long)k, (long long)m,
				    (long long)k, (long long)n, (long long)n);
	default:
		return arena_printf(c->a, "Gemm{transB=1} %s %lldx%lld %lldx%lld", t, (long long)m, (long long)k, (long long)n,
				    (long long)k);
	}
}

static const char *place_case(struct random_case *c)
{
	const char *t;
	int64_t axis, v[8], e, n = pick(c, 1, 4);

	pick_shape(c, 1);
	for (int i = 0; i < c->rank; i++)
		c->dims[i] += !c->dims[i];
	c->flags = EXACT;
	c->type = pick_type(c, "f32 f64 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64 bool");
	t = dtype_name(c->type);
	axis = pick(c, 0, c->rank - 1);
	e = c->dims[axis];
	for (int i = 0; i < n; i++)
		v[i] = pick(c, -e, e - 1);
	const char *s = shape_text(c, c->rank, c->dims), *l = list_text(c, (int)n, v);
	switch (pick(c, 0, 9)) {
	case 0: return arena_printf(c->a, "Gather{axis=%lld} %s %s i64=%s", (long long)axis, t, s, l);
	case 1:
		return arena_printf(c->a, "Gather{axis=%lld} %s %s %s", (long long)axis, t, s,
				    arena_printf(c->a, "i32=%lld", (long long)v[0]));
	case 2: {
		int64_t start = pick(c, -e - 2, e + 2), step = pick(c, 0, 1) ? pick(c, 1, 3) : -pick(c, 1, 3),
			end = pick(c, 0, 3) ? pick(c, -e - 2, e + 2)
			      : step > 0    ? INT64_MAX
					    : INT64_MIN;
		return arena_printf(c->a, "Slice %s %s i64=%lld, i64=%lld, i64=%lld, i64=%lld,", t, s, (long long)start, (long long)end,
				    (long long)axis, (long long)step);
	}
	case 3: {
		static const char *const modes[] = {"constant", "edge", "reflect", "wrap"};
		int mode = (int)pick(c, 0, 3);
		int64_t pads[8];
		for (int i = 0; i < c->rank; i++) { /* what one end loses the other end does not repeat */
			int64_t *begin = pads + i, *end = pads + c->rank + i, left = c->dims[i];
			*begin = pick(c, -2, 3);
			*end = pick(c, -2, 3);
			*begin = *begin < 0 && left + *begin < 1 ? 0 : *begin;
			left += *begin < 0 ? *begin : 0;
			*end = *end < 0 && left + *end < 1 ? 0 : *end;
			left += *end < 0 ? *end : 0;
			*begin = mode == 2 && *begin >= left ? left - 1 : *begin;
			*end = mode == 2 && *end >= left ? left - 1 : *end;
		}
		return arena_printf(c->a, "Pad{mode=%s} %s %s i64=%s %s", modes[mode], t, s, list_text(c, 2 * c->rank, pads),
				    mode || pick(c, 0, 1) ? "" : arena_printf(c->a, "%s%s", t, number_text(c, c->type)));
	}
	case 4:
		return arena_printf(c->a, "%s{blocksize=2 mode=%s} %s 2x4x4x6", pick(c, 0, 1) ? "SpaceToDepth" : "DepthToSpace",
				    pick(c, 0, 1) ? "CRD" : "DCR", t);
	case 5: return arena_printf(c->a, "Split*2{axis=%lld num_outputs=2} %s %s -> %%0 %%0.1", (long long)axis, t, s);
	case 6:
		return arena_printf(c->a, "ScatterElements{axis=0 reduction=%s} %s 7 i64=1,3,-1,3 %s 4",
				    (const char *[]){"none", "add", "mul", "max", "min"}[c->type == DT_BOOL ? 0 : pick(c, 0, 4)], t, t);
	case 7: return arena_printf(c->a, "GatherElements{axis=0} %s 5x3 i64 2x3=0,1,-1,4,2,-5", t);
	case 8: return arena_printf(c->a, "GatherND %s 4x3x2 i64 2x2=0,1,-1,2", t);
	default:
		c->type = pick_type(c, "f32 f64 f16");
		c->flags = SUMS | FINITE;
		return arena_printf(c->a, "Resize{mode=%s coordinate_transformation_mode=%s%s} %s 1x2x5x4 _ f32=1,1,%s",
				    (const char *[]){"nearest", "linear", "cubic"}[pick(c, 0, 2)],
				    (const char *[]){"asymmetric", "half_pixel", "align_corners", "pytorch_half_pixel"}[pick(c, 0, 3)],
				    pick(c, 0, 1) ? " nearest_mode=floor" : "", dtype_name(c->type),
				    (const char *[]){"2,2", "1,3", "2,0.5", "1.6,2"}[pick(c, 0, 3)]);
	}
}

static const char *norm_case(struct random_case *c)
{
	const char *t;

	c->flags = SUMS;
	c->type = pick_type(c, "f32 f64 f16 bf16");
	t = dtype_name(c->type);
	switch (pick(c, 0, 6)) {
	case 0: return arena_printf(c->a, "InstanceNormalization %s 2x3x5x4 3 3", t);
	case 1: return arena_printf(c->a, "GroupNormalization{num_groups=2} %s 2x6x5 6 6", t);
	case 2: return arena_printf(c->a, "GlobalAveragePool %s 2x3x5x4", t);
	case 3: return arena_printf(c->a, "GlobalMaxPool %s 2x3x5x4", t);
	case 4: return arena_printf(c->a, "LRN{size=3} %s 1x5x4x3", t);
	case 5: return arena_printf(c->a, "MeanVarianceNormalization f32 2x3x4x5");
	default: return arena_printf(c->a, "GlobalLpPool{p=2} %s 2x3x7", t);
	}
}

/* A zero point of type t: none, a number, one that is not constant, or n of them. */
static const char *zero_text(struct random_case *c, enum dtype t, int64_t n)
{
	switch (pick(c, 0, 4)) {
	case 0: return "_";
	case 1: return arena_printf(c->a, "%s=%d", dtype_name(t), t == DT_U8 ? 128 : 0);
	case 2: return arena_printf(c->a, "%s=%lld", dtype_name(t), (long long)pick(c, 0, 127));
	case 3: return arena_printf(c->a, "%s scalar", dtype_name(t));
	default: return arena_printf(c->a, "%s %lld%s", dtype_name(t), (long long)n, pick(c, 0, 1) ? "c" : "");
	}
}

/* Zero points of each matrix of a batch. */
static const char *zeros_text(struct random_case *c, enum dtype t, int64_t batch, int64_t rows, int64_t columns)
{
	return arena_printf(c->a, "%s %lldx%lldx%lld%s", dtype_name(t), (long long)batch, (long long)rows, (long long)columns,
			    pick(c, 0, 1) ? "c" : "");
}

static const char *integer_batch(struct random_case *c, enum dtype x, enum dtype w, int64_t m, int64_t k, int64_t n)
{
	int64_t b = pick(c, 1, 3), wb = pick(c, 0, 1) ? b : 1;
	const char *of_x = pick(c, 0, 2) ? zero_text(c, x, 1) : zeros_text(c, x, b, m, 1),
		   *of_w = pick(c, 0, 1) ? zero_text(c, w, n) : zeros_text(c, w, wb, 1, n);

	return arena_printf(c->a, "MatMulInteger %s %lldx%lldx%lld %s %lldx%lldx%lld%s %s %s", dtype_name(x), (long long)b, (long long)m,
			    (long long)k, dtype_name(w), (long long)wb, (long long)k, (long long)n, pick(c, 0, 1) ? "c" : "", of_x, of_w);
}

static const char *integer_product(struct random_case *c)
{
	enum dtype x = pick_type(c, "u8 u8 i8"), w = pick_type(c, "i8 i8 u8");
	int64_t m = pick(c, 1, 20), n = pick(c, 1, 20), k = pick(c, 0, 1) ? pick(c, 1, 33) : 4 * pick(c, 1, 9);
	const char *of_x = zero_text(c, x, m), *of_w = zero_text(c, w, n), *tx = dtype_name(x), *tw = dtype_name(w);

	c->flags = EXACT;
	switch (pick(c, 0, 5)) {
	case 0: return integer_batch(c, x, w, m, k, n);
	case 1:
		return arena_printf(c->a, "MatMulInteger %s %lld %s %lldx%lldc %s %s", tx, (long long)k, tw, (long long)k, (long long)n,
				    zero_text(c, x, 1), of_w);
	case 2:
		return arena_printf(c->a, "MatMulInteger %s %lldx%lld %s %lld %s %s", tx, (long long)m, (long long)k, tw, (long long)k,
				    of_x, zero_text(c, w, 1));
	default:
		return arena_printf(c->a, "MatMulInteger %s %lldx%lld %s %lldx%lld%s %s %s", tx, (long long)m, (long long)k, tw,
				    (long long)k, (long long)n, pick(c, 0, 2) ? "c" : "", of_x, of_w);
	}
}

static const char *integer_conv(struct random_case *c)
{
	enum dtype x = pick_type(c, "u8 u8 i8"), w = pick_type(c, "i8 i8 u8");
	int64_t group = pick(c, 1, 3), per = pick(c, 0, 2) ? pick(c, 1, 9) : 1, out = group * pick(c, 1, 5), kh = pick(c, 1, 3),
		kw = pick(c, 1, 3);

	c->flags = EXACT;
	return arena_printf(c->a,
			    "ConvInteger{pads=%lld,%lld,%lld,%lld strides=%lld,%lld dilations=%lld,1 group=%lld} %s %lldx%lldx%lldx%lld %s "
			    "%lldx%lldx%lldx%lld%s %s %s",
			    (long long)pick(c, 0, 1), (long long)pick(c, 0, 1), (long long)pick(c, 0, 1), (long long)pick(c, 0, 1),
			    (long long)pick(c, 1, 2), (long long)pick(c, 1, 2), (long long)pick(c, 1, 2), (long long)group, dtype_name(x),
			    (long long)pick(c, 1, 2), (long long)(group * per), (long long)pick(c, 5, 9), (long long)pick(c, 3, 20),
			    dtype_name(w), (long long)out, (long long)per, (long long)kh, (long long)kw, pick(c, 0, 2) ? "c" : "",
			    zero_text(c, x, 1), zero_text(c, w, out));
}

/* Quantising and back: a scale of all, of each index of an axis, of blocks. */
static const char *grid_case(struct random_case *c)
{
	bool back = pick(c, 0, 1);
	enum dtype t = pick_type(c, "u8 i8 u16 i16");
	const char *op = back ? "DequantizeLinear" : "QuantizeLinear", *codes = dtype_name(t), *zero = "";

	c->rank = (int)pick(c, 1, 3);
	for (int i = 0; i < c->rank; i++)
		c->dims[i] = pick(c, 1, 9);
	c->flags = back ? FINITE | WEIGHTS : 0;
	int axis = (int)pick(c, 0, c->rank - 1);
	int64_t block = pick(c, 2, 4), grid[4];
	const char *shape = arena_printf(c->a, "%s %s", back ? codes : "f32", shape_text(c, c->rank, c->dims));
	if (pick(c, 0, 1)) {
		const char *n = shape_text(c, 1, &c->dims[axis]);
		if (pick(c, 0, 2))
			zero = arena_printf(c->a, "%s %s", codes, n);
		return arena_printf(c->a, "%s{axis=%d} %s f32 %s%s %s", op, axis - (pick(c, 0, 1) ? c->rank : 0), shape, n,
				    pick(c, 0, 1) ? "c" : "", zero);
	}
	memcpy(grid, c->dims, sizeof grid);
	grid[axis] = (grid[axis] + block - 1) / block;
	if (pick(c, 0, 2))
		zero = arena_printf(c->a, "%s %s", codes, shape_text(c, c->rank, grid));
	return arena_printf(c->a, "%s{axis=%d block_size=%lld} %s f32 %s %s", op, axis, (long long)block, shape,
			    shape_text(c, c->rank, grid), zero);
}

/* A product of codes with all that follows it, in one kernel. */
static const char *requantised(struct random_case *c)
{
	int64_t m = pick(c, 1, 9), n = pick(c, 1, 40), k = pick(c, 1, 70);
	double scale = 0.3 / (double)k;
	const char *clip = pick(c, 0, 1) ? "Relu %2" : "Clip %2 =0 =6";

	c->flags = COMPILED;
	return arena_printf(
		c->a,
		"MatMulInteger u8 %lldx%lld i8 %lldx%lldc u8=%lld; Cast{to=1} %%0; Mul %%1 f32=%g; %s; QuantizeLinear %%3 =%g u8=%lld",
		(long long)m, (long long)k, (long long)k, (long long)n, (long long)pick(c, 0, 255), scale, clip, pick(c, 0, 1) ? 0.05 : 1,
		(long long)pick(c, 0, 200));
}

static const char *quant_case(struct random_case *c)
{
	switch (pick(c, 0, 7)) {
	case 0:
	case 1:
	case 2: return integer_product(c);
	case 3:
	case 4: return integer_conv(c);
	case 5: return requantised(c);
	default: return grid_case(c);
	}
}

/* Several nodes in one kernel: each takes the result before it, some one or two of the same shape and type. Products of floats are left
 * out, as kernels add to them in one rounding; and quotients, as zeros may have either sign. */
static const char *chain_case(struct random_case *c)
{
	static const enum dtype types[] = {DT_F32, DT_F64, DT_I8, DT_U8, DT_I16, DT_U16, DT_I32, DT_U32, DT_I64, DT_U64, DT_BOOL};
	static const char *const real1[] = {"Abs", "Neg", "Floor", "Ceil", "Round", "Sign", "Relu"}, *const real2[] = {"Add", "Sub", "Max",
														       "Min"};
	static const char *const whole1[] = {"Abs", "Sign"}, *const whole2[] = {"Add", "Sub", "Max", "Min", "Mul", "Div", "Mod"};
	static const char *const tests[] = {"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"}, *const logic[] = {"And", "Or",
															    "Xor"};
	int n = (int)pick(c, 2, 5);
	enum dtype t;

#define ANY_OF(list) list[pick(c, 0, sizeof list / sizeof *list - 1)]
	pick_shape(c, 0);
	c->flags = ZEROS | NO_TINY | COMPILED;
	c->type = t = ANY_OF(types);
	const char *shape = shape_text(c, c->rank, c->dims), *s = arena_printf(c->a, "Identity %s %s", dtype_name(t), shape);
	for (int i = 0; i < n; i++) {
		bool real = dtype_is_float(t), is_bool = t == DT_BOOL;
		int64_t k = pick(c, 0, 9);
		const char *more = arena_printf(c->a, "%%%d %s %s", i, dtype_name(t), shape);
		if (k < 2) {
			t = ANY_OF(types);
			s = arena_printf(c->a, "%s; Cast{to=%d} %%%d", s, dtype_to_onnx(t), i);
		} else if (k < 4) {
			s = arena_printf(c->a, "%s; %s %%%d", s, is_bool ? "Not" : real ? ANY_OF(real1) : ANY_OF(whole1), i);
		} else if (k < 7) {
			s = arena_printf(c->a, "%s; %s %s", s, is_bool ? ANY_OF(logic) : real ? ANY_OF(real2) : ANY_OF(whole2), more);
		} else if (k < 8 && !is_bool) {
			s = arena_printf(c->a, "%s; %s %s", s, ANY_OF(tests), more);
			t = DT_BOOL;
		} else if (is_bool) {
			t = ANY_OF(types);
			s = arena_printf(c->a, "%s; Where %%%d %s %s %s", s, i, dtype_name(t), shape, shape);
		} else {
			s = arena_printf(c->a, "%s; Where bool %s %s", s, shape, more);
		}
	}
#undef ANY_OF
	return s;
}

/* Case number n: its text and the flags of its comparison in *c. */
static const char *random_case(struct random_case *c, uint64_t n, struct arena *a)
{
	enum { ROWS = sizeof case_rows / sizeof *case_rows };

	*c = (struct random_case){.a = a, .rng = {n * 0x9e3779b97f4a7c15u + 77}};
	int64_t k = pick(c, 0, ROWS + 75);
	if (k < ROWS)
		return from_row(c, &case_rows[k]);
	return k < ROWS + 10   ? window_case(c)
	       : k < ROWS + 18 ? matrix_case(c)
	       : k < ROWS + 34 ? place_case(c)
	       : k < ROWS + 40 ? norm_case(c)
	       : k < ROWS + 56 ? quant_case(c)
			       : chain_case(c);
}
#endif
