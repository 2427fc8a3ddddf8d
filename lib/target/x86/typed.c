/* What x86 has of its own for vectors of int and for elements of other types: in front of the generic text (generic/typed.c). gcc
 * makes lanes one by one of what its vectors convert in wider steps than two, so it is told the instruction; clang finds it. */
#include "target/x86/x86.h"

#define V16             "VL == 16 && defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512VL__"
#define GCC             " && !defined __clang__"
#define TYPE(of, bytes) "\ttypedef " of " v __attribute__((vector_size(" bytes "), aligned(1), may_alias));\n"

/* Bytes (b) and halves (w) widened, with zeros (z) or the sign (s). */
#define LOAD(kind, of, b16, b8, b4, half) \
	"#if " V16 GCC "\n" TYPE(of, b16) "\treturn __builtin_ia32_pmov" kind \
					  "d512_mask(*(const v *)p, (vi){}, -1);\n" \
					  "#elif VL == 8 && defined __AVX2__" GCC \
					  "\n" half(kind, of, b8) "#elif VL == 4 && defined __SSE2__" GCC "\n" b4 "#else\n"
#define HALF_B(kind, of, bytes) \
	TYPE(of, "16") \
	"\ttypedef long w __attribute__((vector_size(16)));\n" \
	"\tlong x;\n\t__builtin_memcpy(&x, p, 8);\n\treturn __builtin_ia32_pmov" kind "d256((v)(w){x});\n"
#define HALF_W(kind, of, bytes) TYPE(of, "16") "\treturn __builtin_ia32_pmov" kind "d256(*(const v *)p);\n"
/* SSE2: each element twice, or behind zeros. */
#define FOUR_B(other, end) \
	TYPE("char", "16") \
	"\ttypedef short w __attribute__((vector_size(16)));\n" \
	"\tint four;\n\t__builtin_memcpy(&four, p, 4);\n\tv x = (v)(vi){four}, z = " other \
	";\n" \
	"\tx = __builtin_shufflevector(x, z, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);\n" \
	"\treturn (vi)__builtin_shufflevector((w)x, (w)" end ";\n"
#define FOUR_W(other, end) \
	TYPE("short", "16") \
	"\ttypedef long w __attribute__((vector_size(16)));\n" \
	"\tlong four;\n\t__builtin_memcpy(&four, p, 8);\n\tv x = (v)(w){four}, z = " other \
	";\n" \
	"\treturn (vi)__builtin_shufflevector(x, z, 0, 8, 1, 9, 2, 10, 3, 11)" end ";\n"

/* AVX2 has no masks for small elements: all lanes at once where the mask has all, which most of a loop's iterations do; else lane by lane. */
#define IF_ALL(what) "#if VL == 8 && defined __AVX2__\n\tif (__builtin_ia32_movmskps256((vf)m) == 255)\n\t\treturn " what ";\n#endif\n"
#define LOAD_MASK(of, bytes, load, type, pointer) \
	"#if " V16 "\n" TYPE(of, bytes) "\tv x = " load \
					"((const void *)p, (v){}, m);\n" \
					"\treturn vload_" type "((const " pointer " *)&x);\n#else\n" IF_ALL("vload_" type "(p)")

#define STORE_B \
	"#if VL == 8 && defined __AVX2__" GCC \
	"\n" \
	"\ttypedef char v __attribute__((vector_size(32)));\n" \
	"\ttypedef char w __attribute__((vector_size(8)));\n" \
	"\tw y = __builtin_shufflevector((v)x, (v)x, 0, 4, 8, 12, 16, 20, 24, 28);\n" \
	"\t__builtin_memcpy(p, &y, 8);\n" \
	"#elif VL == 4 && defined __SSE2__" GCC \
	"\n" \
	"\ttypedef short w __attribute__((vector_size(16)));\n" \
	"\tw s = __builtin_ia32_packssdw128(x & 255, x & 255);\n" \
	"\tint four = ((vi)__builtin_ia32_packuswb128(s, s))[0];\n" \
	"\t__builtin_memcpy(p, &four, 4);\n" \
	"#else\n"
#define STORE_W \
	"#if VL == 8 && defined __AVX2__" GCC \
	"\n" \
	"\ttypedef short v __attribute__((vector_size(32)));\n" \
	"\ttypedef short w __attribute__((vector_size(16)));\n" \
	"\tw y = __builtin_shufflevector((v)x, (v)x, 0, 2, 4, 6, 8, 10, 12, 14);\n" \
	"\t__builtin_memcpy(p, &y, 16);\n" \
	"#elif VL == 4 && defined __SSE2__" GCC \
	"\n" \
	"\ttypedef long w __attribute__((vector_size(16)));\n" \
	"\tvi s = x << 16 >> 16;\n" \
	"\tlong four = ((w)__builtin_ia32_packssdw128(s, s))[0];\n" \
	"\t__builtin_memcpy(p, &four, 8);\n" \
	"#else\n"
#define STORE_MASK(of, bytes, store, type, pointer) \
	"#if " V16 "\n" TYPE(of, bytes) "\tv y;\n\tvstore_" type "((" pointer " *)&y, x);\n\t" store \
					"((void *)p, y, m);\n#else\n" IF_ALL("vstore_" type "(p, x)")

#define LOAD_MASK_B(type, of)  LOAD_MASK("char", "16", "__builtin_ia32_loaddquqi128_mask", type, of)
#define LOAD_MASK_W(type, of)  LOAD_MASK("short", "32", "__builtin_ia32_loaddquhi256_mask", type, of)
#define STORE_MASK_B(type, of) STORE_MASK("char", "16", "__builtin_ia32_storedquqi128_mask", type, of)
#define STORE_MASK_W(type, of) STORE_MASK("short", "32", "__builtin_ia32_storedquhi256_mask", type, of)

/* Where small elements have no masks, the first n of them are read and written as one number, or two. */
#define FEW                 "#if (VL == 8 && defined __AVX2__ && !defined __AVX512BW__) || (VL == 4 && defined __SSE2__)\n"
#define LOAD_FIRST_B(type)  FEW "\tconst unsigned long x = first_bytes(p, n);\n\treturn vload_" type "((const void *)&x);\n#else\n"
#define STORE_FIRST_B(type) FEW "\tunsigned long y = 0;\n\tvstore_" type "((void *)&y, x);\n\tput_bytes(p, y, n);\n#else\n"
#define LOAD_FIRST_W(type) \
	FEW "\tconst unsigned long x[2] = {first_bytes(p, n < 4 ? 2 * n : 8), n > 4 ? first_bytes(p + 4, 2 * n - 8) : 0};\n" \
	    "\treturn vload_" type "((const void *)x);\n#else\n"
#define STORE_FIRST_W(type) \
	FEW "\tunsigned long y[2] = {0, 0};\n\tvstore_" type \
	    "((void *)y, x);\n\tput_bytes(p, y[0], n < 4 ? 2 * n : 8);\n" \
	    "\tif (n > 4)\n\t\tput_bytes(p + 4, y[1], 2 * n - 8);\n#else\n"

static const char load_mask_i32_text[] = "#if " V16
					 "\n"
					 "\treturn __builtin_ia32_loaddqusi512_mask((const void *)p, (vi){}, m);\n"
					 "#elif VL == 8 && defined __AVX2__\n"
					 "\treturn __builtin_ia32_maskloadd256((const vi *)p, m);\n"
					 "#else\n";
static const char store_mask_i32_text[] = "#if " V16
					  "\n"
					  "\t__builtin_ia32_storedqusi512_mask((void *)p, x, m);\n"
					  "#elif VL == 8 && defined __AVX2__\n"
					  "\t__builtin_ia32_maskstored256((vi *)p, m, x);\n"
					  "#else\n";

/* clang has no names for these: it finds them in the generic text. */
#define EXTREME(which) \
	"#if " V16 GCC \
	"\n" \
	"\treturn __builtin_ia32_p" which \
	"sd512_mask(a, b, a, -1);\n" \
	"#elif VL == 8 && defined __AVX2__" GCC \
	"\n" \
	"\treturn __builtin_ia32_p" which \
	"sd256(a, b);\n" \
	"#else\n"
#define COMPARE(which) \
	"#if VL == 16 && defined __AVX512F__ && defined __AVX512BW__\n" \
	"\treturn __builtin_ia32_cmpd512_mask(a, b, " which \
	", -1);\n" \
	"#else\n"

static const char mul16_text[] =
	"#ifdef __SSE2__\n"
	"\ttypedef short v __attribute__((vector_size(4 * VL)));\n"
	"#if VL == 16 && defined __AVX512BW__ && defined __clang__\n"
	"\treturn __builtin_ia32_pmaddwd512((v)a, (v)b);\n"
	"#elif VL == 16 && defined __AVX512BW__\n"
	"\treturn __builtin_ia32_pmaddwd512_mask((v)a, (v)b, (vi){}, -1);\n"
	"#elif VL == 8 && defined __AVX2__\n"
	"\treturn __builtin_ia32_pmaddwd256((v)a, (v)b);\n"
	"#elif VL == 4\n"
	"\treturn __builtin_ia32_pmaddwd128((v)a, (v)b);\n"
	"#else\n"
	"\treturn a * b;\n"
	"#endif\n"
	"#else\n";

/* Of NaN the instruction makes the lowest number. */
static const char trunc_text[] =
	"#ifdef __SSE2__\n"
	"\treturn __builtin_convertvector(x, vi);\n"
	"#else\n";

/* The number is looked up in a register of all of them, by the low four bits. */
static const char nibble_text[] =
	"#if VL == 16 && defined __AVX512F__\n"
	"\tconst vf all = __builtin_convertvector(VIOTA, vf);\n"
	"#ifdef __clang__\n"
	"\treturn __builtin_ia32_permvarsf512(all, x >> bit);\n"
	"#else\n"
	"\treturn __builtin_ia32_permvarsf512_mask(all, x >> bit, all, -1);\n"
	"#endif\n"
	"#else\n";

/* A table of 256 bytes is four registers: two permutations of two each, and the code's highest bit says which. Where bytes are not
 * permuted, pairs of them are. Of eight lanes: one by one, in a register of 64 bits. */
#define PERMUTED(of, gcc, clang) \
	"\ttypedef " of \
	" v __attribute__((vector_size(64), aligned(1), may_alias));\n" \
	"\tconst v *q = (const v *)table;\n" \
	"#ifdef __clang__\n" \
	"\tconst vi lo = (vi)" clang "(q[0], (v)i, q[1]), hi = (vi)" clang \
	"(q[2], (v)i, q[3]);\n" \
	"#else\n" \
	"\tconst vi lo = (vi)" gcc "((v)i, q[0], q[1], -1), hi = (vi)" gcc \
	"((v)i, q[2], q[3], -1);\n" \
	"#endif\n"
/* Into two registers by turns: each waits for what was put into it before. */
#define SET_BYTE(v, i) "\t" #v " = __builtin_ia32_vec_set_v16qi(" #v ", (char)table[codes >> (8 * " #i ") & 255], " #i ");\n"
#define EIGHT_LOADS \
	"\ttypedef short w __attribute__((vector_size(16)));\n" \
	"\ttypedef char v __attribute__((vector_size(16)));\n" \
	"\ttypedef unsigned long l __attribute__((vector_size(16)));\n" \
	"\tconst w s = __builtin_ia32_packssdw128(__builtin_shufflevector(x, x, 0, 1, 2, 3), __builtin_shufflevector(x, x, 4, 5, 6, 7));\n" \
	"\tconst unsigned long codes = ((l)__builtin_ia32_packuswb128(s, s))[0];\n" \
	"\tv a = {}, b = {};\n" SET_BYTE(a, 0) SET_BYTE(b, 4) SET_BYTE(a, 1) SET_BYTE(b, 5) SET_BYTE(a, 2) SET_BYTE(b, 6) SET_BYTE(a, 3) \
		SET_BYTE(b, 7) "\treturn __builtin_ia32_pmovzxbd256(a | b);\n"
static const char lookup_text[] =
	"#if " V16 " && defined __AVX512VBMI__\n"
	"\tconst vi i = x;\n" PERMUTED("char", "__builtin_ia32_vpermt2varqi512_mask", "__builtin_ia32_vpermi2varqi512")
	"\treturn visel(vilt(viset(127), x), hi, lo) & 255;\n"
	"#elif " V16 "\n"
	"\tconst vi i = x >> 1;\n" PERMUTED("short", "__builtin_ia32_vpermt2varhi512_mask", "__builtin_ia32_vpermi2varhi512")
	"\treturn visel(vilt(viset(127), x), hi, lo) >> ((x & 1) << 3) & 255;\n"
	"#elif VL == 8 && defined __AVX2__" GCC "\n" EIGHT_LOADS "#elif VL == 8 && defined __AVX2__\n"
	"\ttypedef char v __attribute__((vector_size(32)));\n"
	"\ttypedef char h __attribute__((vector_size(8)));\n"
	"\ttypedef char w __attribute__((vector_size(16)));\n"
	"\ttypedef unsigned long l __attribute__((vector_size(16)));\n"
	"\th y = __builtin_shufflevector((v)x, (v)x, 0, 4, 8, 12, 16, 20, 24, 28);\n"
	"\tunsigned long c, r;\n"
	"\t__builtin_memcpy(&c, &y, 8);\n"
	"#define AT(i) (unsigned long)table[c >> 8 * i & 255] << 8 * i\n"
	"\tr = (AT(0) | AT(1) | AT(2) | AT(3)) | (AT(4) | AT(5) | AT(6) | AT(7));\n"
	"#undef AT\n"
	"\treturn __builtin_convertvector(__builtin_shufflevector((w)(l){r}, (w){}, 0, 1, 2, 3, 4, 5, 6, 7), vi) & 255;\n"
	"#else\n";

static const char nearest_text[] =
	"#if VL == 16 && defined __AVX512F__\n"
	"\treturn (vi)__builtin_ia32_cvtps2dq512_mask(x, (vi){}, -1, 8);\n"
	"#elif VL == 8 && defined __AVX__\n"
	"\treturn (vi)__builtin_ia32_cvtps2dq256(x);\n"
	"#elif VL == 4 && defined __SSE2__\n"
	"\treturn (vi)__builtin_ia32_cvtps2dq(x);\n"
	"#else\n";

static const char weave_text[] =
	"#ifdef __SSE2__\n"
	"\ttypedef int v __attribute__((vector_size(4 * VL), aligned(1), may_alias));\n"
	"\t*(v *)p = a | b << 8 | c << 16 | d << 24;\n"
	"#else\n";

/* Kernels that are computed as they are written have no other. */
/* Packed within 16 bytes each, then the groups of four put in order. */
static const char store_bytes_text[] =
	"#if " V16
	"\n"
	"#ifdef __clang__\n"
	"#define HALVES(a, b) __builtin_ia32_packssdw512(a, b)\n#define BYTES(a, b) __builtin_ia32_packuswb512(a, b)\n"
	"#else\n"
	"\ttypedef char q __attribute__((vector_size(4 * VL)));\n"
	"#define HALVES(a, b) __builtin_ia32_packssdw512_mask(a, b, (h){}, -1)\n"
	"#define BYTES(a, b) __builtin_ia32_packuswb512_mask(a, b, (q){}, -1)\n"
	"#endif\n"
	"#define IN_ORDER 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15\n"
	"#elif VL == 8 && defined __AVX2__\n"
	"#define HALVES(a, b) __builtin_ia32_packssdw256(a, b)\n#define BYTES(a, b) __builtin_ia32_packuswb256(a, b)\n"
	"#define IN_ORDER 0, 4, 1, 5, 2, 6, 3, 7\n"
	"#elif VL == 4 && defined __SSE2__\n"
	"#define HALVES(a, b) __builtin_ia32_packssdw128(a, b)\n#define BYTES(a, b) __builtin_ia32_packuswb128(a, b)\n"
	"#define IN_ORDER 0, 1, 2, 3\n"
	"#endif\n"
	"#ifdef HALVES\n"
	"\ttypedef short h __attribute__((vector_size(4 * VL)));\n"
	"\ttypedef int v __attribute__((vector_size(4 * VL), aligned(1), may_alias));\n"
	"\tconst vi x = (vi)BYTES((h)HALVES(a, b), (h)HALVES(c, d));\n"
	"\t*(v *)p = (vi)__builtin_shufflevector(x, x, IN_ORDER);\n"
	"#else\n";

static const char fma_text[] =
	"#if VL == 16 && defined __AVX512F__ && !defined __clang__\n"
	"\treturn __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4);\n"
	"#elif VL == 8 && defined __FMA__ && !defined __clang__\n"
	"\treturn __builtin_ia32_vfmaddps256(a, b, c);\n"
	"#else\n";

static const char load_f16_text[] =
	"#if " V16 "\n" TYPE("short", "32") "\treturn __builtin_ia32_vcvtph2ps512_mask(*(const v *)p, (vf){}, -1, 4);\n"
					    "#elif VL == 8 && defined __F16C__\n" TYPE(
						    "short", "16") "\treturn __builtin_ia32_vcvtph2ps256(*(const v *)p);\n#else\n";
static const char store_f16_text[] =
	"#if " V16 "\n" TYPE("short", "32") "\t*(v *)p = __builtin_ia32_vcvtps2ph512_mask(x, 0, (v){}, -1);\n"
					    "#elif VL == 8 && defined __F16C__\n" TYPE(
						    "short", "16") "\t*(v *)p = __builtin_ia32_vcvtps2ph256(x, 0);\n#else\n";
/* An instruction that rounds so; denormals are zero, as they are everywhere in kernels. */
#define BF16_ROUNDED \
	"#if " V16 \
	" && defined __AVX512BF16__\n" TYPE("short", "32") "\tv y;\n" \
							   "\t__asm__(\"vcvtneps2bf16 %1, %0\" : \"=v\"(y) : \"v\"(x));\n"
static const char store_bf16_text[] = BF16_ROUNDED "\t*(v *)p = y;\n#else\n";
static const char store_mask_bf16_text[] = BF16_ROUNDED "\t__builtin_ia32_storedquhi256_mask((void *)p, y, m);\n#else\n";
static const char round_f16_text[] = "#if (" V16
				     ") || (VL == 8 && defined __F16C__)\n"
				     "\t_Float16 y[VL];\n\tvstore_f16(y, x);\n\treturn vload_f16(y);\n#else\n";

const struct text_section x86_typed_text[] = {
	{"load_u8", LOAD("zxb", "char", "16", "8", FOUR_B("{}", "z, 0, 8, 1, 9, 2, 10, 3, 11)"), HALF_B), true},
	{"load_i8", LOAD("sxb", "char", "16", "8", FOUR_B("x", "x, 0, 8, 1, 9, 2, 10, 3, 11) >> 24"), HALF_B), true},
	{"load_u16", LOAD("zxw", "short", "32", "16", FOUR_W("{}", ""), HALF_W), true},
	{"load_i16", LOAD("sxw", "short", "32", "16", FOUR_W("x", " >> 16"), HALF_W), true},
	{"load_mask_u8", LOAD_MASK_B("u8", "unsigned char"), true},
	{"load_mask_i8", LOAD_MASK_B("i8", "signed char"), true},
	{"load_mask_u16", LOAD_MASK_W("u16", "unsigned short"), true},
	{"load_mask_i16", LOAD_MASK_W("i16", "short"), true},
	{"load_mask_i32", load_mask_i32_text, true},
	{"load_first_u8", LOAD_FIRST_B("u8"), true},
	{"load_first_i8", LOAD_FIRST_B("i8"), true},
	{"load_first_u16", LOAD_FIRST_W("u16"), true},
	{"load_first_i16", LOAD_FIRST_W("i16"), true},
	{"load_mask_f16", LOAD_MASK_W("f16", "_Float16"), true},
	{"store_u8", STORE_B, true},
	{"store_i8", STORE_B, true},
	{"store_u16", STORE_W, true},
	{"store_i16", STORE_W, true},
	{"store_mask_u8", STORE_MASK_B("u8", "unsigned char"), true},
	{"store_mask_i8", STORE_MASK_B("i8", "signed char"), true},
	{"store_mask_u16", STORE_MASK_W("u16", "unsigned short"), true},
	{"store_mask_i16", STORE_MASK_W("i16", "short"), true},
	{"store_mask_i32", store_mask_i32_text, true},
	{"store_first_u8", STORE_FIRST_B("u8"), true},
	{"store_first_i8", STORE_FIRST_B("i8"), true},
	{"store_first_u16", STORE_FIRST_W("u16"), true},
	{"store_first_i16", STORE_FIRST_W("i16"), true},
	{"store_mask_f16", STORE_MASK_W("f16", "_Float16"), true},
	{"load_f16", load_f16_text, true},
	{"store_f16", store_f16_text, true},
	{"round_f16", round_f16_text, true},
	{"store_bf16", store_bf16_text, true},
	{"store_mask_bf16", store_mask_bf16_text, true},
	{"max_i32", EXTREME("max"), true},
	{"min_i32", EXTREME("min"), true},
	{"eq_i32", COMPARE("0"), true},
	{"lt_i32", COMPARE("1"), true},
	{"mul16", mul16_text, true},
	{"nibble", nibble_text, true},
	{"trunc", trunc_text, true},
	{"weave", weave_text, true},
	{"store_bytes", store_bytes_text, true},
	{"fma", fma_text, true},
	{"nearest", nearest_text, true},
	{"lookup", lookup_text, true},
	{NULL},
};
