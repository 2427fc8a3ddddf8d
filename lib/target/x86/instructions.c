/* Instructions of x86 that kernels are written with by name. */
#include "target/x86/x86.h"

/* GCC's intrinsic spills the sums. Of 32 bytes it is the instruction without AVX-512. */
static void dpbusd_helper(FILE *f, const struct instr *row)
{
	bool vex = row->features == X86_AVXVNNI;

	fprintf(f,
		"typedef int viu __attribute__((vector_size(%d), aligned(1), may_alias));\n"
		"/* sums of four products of unsigned and signed bytes */\n"
		"static inline vi vpdpbusd(vi x, const unsigned char *a, const signed char *b)\n{\n\tint four;\n"
		"\t__builtin_memcpy(&four, a, 4);\n\tconst vi u = four - (vi){};\n"
		"\t__asm__(\"%svpdpbusd %%2, %%1, %%0\" : \"+%c\"(x) : \"%c\"(u), \"%cm\"(*(const viu *)b));\n\treturn x;\n}\n",
		row->vector_bytes, vex ? "%{vex%} " : "", vex ? 'x' : 'v', vex ? 'x' : 'v', vex ? 'x' : 'v');
}

static void dpbusd_each_helper(FILE *f, const struct instr *row)
{
	bool vex = row->features == X86_AVXVNNI;

	fprintf(f,
		"typedef int viu __attribute__((vector_size(%d), aligned(1), may_alias));\n"
		"/* the same of unsigned bytes of their own each */\n"
		"static inline vi vpdpbusd_each(vi x, const unsigned char *a, const signed char *b)\n{\n"
		"\tconst vi u = *(const viu *)a;\n"
		"\t__asm__(\"%svpdpbusd %%2, %%1, %%0\" : \"+%c\"(x) : \"%c\"(u), \"%cm\"(*(const viu *)b));\n\treturn x;\n}\n",
		row->vector_bytes, vex ? "%{vex%} " : "", vex ? 'x' : 'v', vex ? 'x' : 'v', vex ? 'x' : 'v');
}

static void codes_helper(FILE *f, const struct instr *row)
{
	bool vex = row->features == X86_AVXVNNI;

	fprintf(f,
		"typedef int viu __attribute__((vector_size(%d), aligned(1), may_alias));\n"
		"/* sums of four products of unsigned bytes of their own each and signed bytes */\n"
		"static inline vi vdp_codes(vi x, const signed char *a, const unsigned char *b)\n{\n\tint four;\n"
		"\t__builtin_memcpy(&four, a, 4);\n\tconst vi u = *(const viu *)b;\n"
		"\t__asm__(\"%svpdpbusd %%2, %%1, %%0\" : \"+%c\"(x) : \"%c\"(u), \"%c\"(four - (vi){}));\n\treturn x;\n}\n",
		row->vector_bytes, vex ? "%{vex%} " : "", vex ? 'x' : 'v', vex ? 'x' : 'v', vex ? 'x' : 'v');
}

/* Numbers of a and b times the low and the high halves of bytes. */
static void nibbles_helper(FILE *f, const struct instr *row)
{
	bool vex = row->features == X86_AVXVNNI;

	fprintf(f,
		"typedef int viu __attribute__((vector_size(%d), aligned(1), may_alias));\n"
		"/* sums of four products of codes, two of 4 bits in a byte, and signed bytes of their own each */\n"
		"static inline vi vdp_nibbles(vi x, const signed char *a, const signed char *b, const unsigned char *c)\n{\n\tint low, high;\n"
		"\t__builtin_memcpy(&low, a, 4);\n\t__builtin_memcpy(&high, b, 4);\n"
		"\tconst vi w = *(const viu *)c, mask = 0x0f0f0f0f - (vi){};\n"
		"\t__asm__(\"%svpdpbusd %%2, %%1, %%0\" : \"+%c\"(x) : \"%c\"(w & mask), \"%c\"(low - (vi){}));\n"
		"\t__asm__(\"%svpdpbusd %%2, %%1, %%0\" : \"+%c\"(x) : \"%c\"(w >> 4 & mask), \"%c\"(high - (vi){}));\n"
		"\treturn x;\n}\n",
		row->vector_bytes, vex ? "%{vex%} " : "", vex ? 'x' : 'v', vex ? 'x' : 'v', vex ? 'x' : 'v', vex ? "%{vex%} " : "",
		vex ? 'x' : 'v', vex ? 'x' : 'v', vex ? 'x' : 'v');
}

/* The name of the compiler's function on vectors of that many bytes. */
static const char *madd_text(int bytes)
{
	switch (bytes) {
	case 64:
		return "#ifdef __clang__\n#define MADD(a, b) __builtin_ia32_pmaddwd512(a, b)\n"
		       "#else\n#define MADD(a, b) __builtin_ia32_pmaddwd512_mask(a, b, (vi){}, -1)\n#endif\n";
	case 32: return "#define MADD(a, b) __builtin_ia32_pmaddwd256(a, b)\n";
	default: return "#define MADD(a, b) __builtin_ia32_pmaddwd128(a, b)\n";
	}
}

/* Exact: two products of 16 bits and less fit a sum of 32. */
static void madd_helper(FILE *f, const struct instr *row)
{
	fprintf(f,
		"%s"
		"typedef short vh16 __attribute__((vector_size(%d), may_alias));\n"
		"typedef short vh16u __attribute__((vector_size(%d), aligned(1), may_alias));\n"
		"static inline vh16 two_words(const short *a)\n{\n\tint two;\n"
		"\t__builtin_memcpy(&two, a, 4);\n\treturn (vh16)(two - (vi){});\n}\n",
		madd_text(row->vector_bytes), row->vector_bytes, row->vector_bytes);
}

static void maddwd_helper(FILE *f, const struct instr *row)
{
	fprintf(f, "#ifndef TWO_WORDS\n#define TWO_WORDS\n");
	madd_helper(f, row);
	fprintf(f,
		"#endif\n"
		"/* sums of two products of 16-bit numbers */\n"
		"static inline vi vpmaddwd(vi x, const short *a, const short *b)\n{\n"
		"\treturn x + (vi)MADD(two_words(a), *(const vh16u *)b);\n}\n");
}

/* The same of weights of 8 bits, which take half the memory. */
static void maddwd_bytes_helper(FILE *f, const struct instr *row)
{
	int half = row->vector_bytes / 2;

	fprintf(f, "#ifndef TWO_WORDS\n#define TWO_WORDS\n");
	madd_helper(f, row);
	fprintf(f,
		"#endif\n#ifdef __clang__\n#define WORDS(b) __builtin_convertvector(b, vh16)\n#else\n#define WORDS(b) (vh16)%s\n#endif\n",
		half == 32 ? "__builtin_ia32_pmovsxbw512_mask(b, (vh16){}, -1)" : "__builtin_ia32_pmovsxbw256(b)");
	fprintf(f,
		"typedef char vb8half __attribute__((vector_size(%d), may_alias));\n"
		"typedef char vb8halfu __attribute__((vector_size(%d), aligned(1), may_alias));\n"
		"/* sums of two products of numbers of 16 bits and of 8 */\n"
		"static inline vi vpmaddwd_bytes(vi x, const short *a, const signed char *b)\n{\n"
		"\treturn x + (vi)MADD(two_words(a), WORDS((vb8half) * (const vb8halfu *)b));\n}\n",
		half, half);
}

static const char *maddubs_text(int bytes)
{
	return bytes == 64 ? "#ifdef __clang__\n#define MADDUBS(a, b) __builtin_ia32_pmaddubsw512(a, b)\n"
			     "#else\n#define MADDUBS(a, b) __builtin_ia32_pmaddubsw512_mask(a, b, (vh16){}, -1)\n#endif\n"
			   : "#define MADDUBS(a, b) __builtin_ia32_pmaddubsw256(a, b)\n";
}

/* The same by sums of 16 bits: exact, since four products of a code of 4 bits fit them. */
static void nibbles_words_helper(FILE *f, const struct instr *row)
{
	int n = row->vector_bytes;

	fprintf(f,
		"%s%s"
		"typedef int viu __attribute__((vector_size(%d), aligned(1), may_alias));\n"
		"typedef short vh16 __attribute__((vector_size(%d), may_alias));\n"
		"typedef char vb8 __attribute__((vector_size(%d), may_alias));\n"
		"/* sums of four products of codes, two of 4 bits in a byte, and signed bytes of their own each */\n"
		"static inline vi vdp_nibbles(vi x, const signed char *a, const signed char *b, const unsigned char *c)\n{\n\tint low, high;\n"
		"\t__builtin_memcpy(&low, a, 4);\n\t__builtin_memcpy(&high, b, 4);\n"
		"\tconst vi w = *(const viu *)c, mask = 0x0f0f0f0f - (vi){};\n"
		"\tconst vh16 two = (vh16)MADDUBS((vb8)(w & mask), (vb8)(low - (vi){})) +\n"
		"\t\t(vh16)MADDUBS((vb8)(w >> 4 & mask), (vb8)(high - (vi){}));\n"
		"\treturn x + (vi)MADD(two, 1 - (vh16){});\n}\n",
		madd_text(n), maddubs_text(n), n, n, n);
}

static void dpbf16_helper(FILE *f, const struct instr *row)
{
	fprintf(f,
		"typedef short vb16u __attribute__((vector_size(64), aligned(1), may_alias));\n"
		"/* sums of two products of bfloat16 */\n"
		"static inline vf vdpbf16ps(vf x, const unsigned short *a, const unsigned short *b)\n{\n\tint two;\n"
		"\t__builtin_memcpy(&two, a, 4);\n\tconst vi u = two - (vi){};\n"
		"\t__asm__(\"vdpbf16ps %%2, %%1, %%0\" : \"+v\"(x) : \"v\"(u), \"vm\"(*(const vb16u *)b));\n\treturn x;\n}\n");
}

static void fma16_helper(FILE *f, const struct instr *row)
{
	fprintf(f,
		"typedef _Float16 vhf __attribute__((vector_size(64)));\n"
		"typedef _Float16 vhfu __attribute__((vector_size(64), aligned(2), may_alias));\n"
		"static inline vhf vfmadd16(vhf x, const _Float16 *a, const _Float16 *b)\n{\n"
		"#define FOUR *a, *a, *a, *a\n"
		"\tconst vhf u = {FOUR, FOUR, FOUR, FOUR, FOUR, FOUR, FOUR, FOUR};\n"
		"\treturn x + u * *(const vhfu *)b;\n}\n"
		"typedef short vh16f __attribute__((vector_size(32), may_alias));\n"
		"/* one half of the lanes, as f32 */\n"
		"static inline vf vhalf(vhf x, int second)\n{\n"
		"\tunion { vhf all; vh16f half[2]; } u = {x};\n"
		"\treturn __builtin_ia32_vcvtph2ps512_mask(u.half[second], (vf){}, -1, 4);\n}\n"
		"static inline vhf vhalf_set(vhf x, int second, vf by)\n{\n"
		"\tunion { vhf all; vh16f half[2]; } u = {x};\n"
		"\tu.half[second] = __builtin_ia32_vcvtps2ph512_mask(by, 0, (vh16f){}, -1);\n"
		"\treturn u.all;\n}\n");
}

/* Tiles of 16 rows: 0 and 5: sums, 1 and 2: 32 and 64 bytes of rows of a, 3 and 4: 8 and 16 groups of b. */
static void tiles_helper(FILE *f, const struct instr *row)
{
	(void)row;
	fputs("#ifndef TILES_BEGIN\n"
	      "static const struct {\n\tunsigned char palette, start, none[14];\n\tunsigned short bytes[16];\n\tunsigned char rows[16];\n"
	      "} tiles = {1, 0, {0}, {64, 32, 64, 64, 64, 64}, {16, 16, 16, 8, 16, 16}};\n"
	      "#define TILES_BEGIN __asm__ volatile(\"ldtilecfg %0\" : : \"m\"(tiles))\n"
	      "#define TILES_END   __asm__ volatile(\"tilerelease\")\n"
	      "/* Sums in a tile of 16 rows of a, t apart, and b in groups of four; k products, a multiple of 32. */\n"
	      "#define TILE_ADD(sums, a_, b_) \\\n"
	      "\t__asm__ volatile(\"tileloadd (%0,%1), %%tmm\" a_ \"\\n\\ttileloadd (%2,%3), %%tmm\" b_ \"\\n\\ttdpbssd %%tmm\" b_ \", %%tmm\" a_ \", %%tmm\" sums \\\n"
	      "\t\t: : \"r\"(a), \"r\"(t), \"r\"(b), \"r\"(64L) : \"memory\")\n"
	      "#define TILE_START(sums) \\\n"
	      "\tdo { \\\n"
	      "\t\t__asm__ volatile(\"tilezero %%tmm\" sums : : : \"memory\"); \\\n"
	      "\t\tfor (; k >= 64; k -= 64, a += 64, b += 1024) \\\n\t\t\tTILE_ADD(sums, \"2\", \"4\"); \\\n"
	      "\t\tif (k) \\\n\t\t\tTILE_ADD(sums, \"1\", \"3\"); \\\n"
	      "\t} while (0)\n"
	      "static inline void tile_start(int place, const signed char *a, long t, const signed char *b, long k)\n{\n"
	      "\tif (place)\n\t\tTILE_START(\"5\");\n\telse\n\t\tTILE_START(\"0\");\n}\n"
	      "/* the sums, in rows s apart */\n"
	      "static inline void tile_finish(int place, int *o, long s)\n{\n"
	      "\tif (place)\n\t\t__asm__ volatile(\"tilestored %%tmm5, (%0,%1)\" : : \"r\"(o), \"r\"(4 * s) : \"memory\");\n"
	      "\telse\n\t\t__asm__ volatile(\"tilestored %%tmm0, (%0,%1)\" : : \"r\"(o), \"r\"(4 * s) : \"memory\");\n}\n"
	      "static inline void tile_sums(int *o, long s, const signed char *a, long t, const signed char *b, long k)\n{\n"
	      "\ttile_start(0, a, t, b, k);\n\ttile_finish(0, o, s);\n}\n"
	      "#endif\n",
	      f);
}

static void widen_helper(FILE *f, const struct instr *row)
{
	(void)row;
	fputs("typedef unsigned char vu8 __attribute__((vector_size(64)));\n"
	      "typedef unsigned char vu8u __attribute__((vector_size(64), aligned(1), may_alias));\n"
	      "/* codes of 4 bits, in the low or the high half of bytes, without their zero point */\n"
	      "static inline void widen_codes(signed char *o, const unsigned char *a, int high)\n{\n"
	      "\tconst vi w = (vi)*(const vu8u *)a >> high & 0x0f0f0f0f;\n"
	      "\t*(vu8u *)o = (vu8)w - 8;\n}\n",
	      f);
}

const struct instr x86_instr[] = {
/* sums of int32, each of 4 products: a is the same for all sums, b lies in groups of four */
#define DPBUSD(name_, features_, bytes) \
	{ \
		.name = name_, .features = features_, .vector_bytes = bytes, .opaque = true, .nloops = 2, .extent = {bytes / 4, 4}, \
		.comb = "sum", .body = "mul(i32(a), i32(b))", .out = {"i32", {1, 0}}, .in = {{"u8", {0, 1}}, {"i8", {4, 1}}}, \
		.accumulator = "vi", .text = "vpdpbusd(%v, %a, %b)", .helper = dpbusd_helper \
	}
	DPBUSD("vpdpbusd", X86_VNNI, 64),
	DPBUSD("vpdpbusd256", X86_AVXVNNI, 32),
#undef DPBUSD
/* the same, where a lies in groups of four, too */
#define DPBUSD_EACH(name_, features_, bytes) \
	{ \
		.name = name_, .features = features_, .vector_bytes = bytes, .nloops = 2, .extent = {bytes / 4, 4}, .comb = "sum", \
		.body = "mul(i32(a), i32(b))", .out = {"i32", {1, 0}}, .in = {{"u8", {4, 1}}, {"i8", {4, 1}}}, .accumulator = "vi", \
		.text = "vpdpbusd_each(%v, %a, %b)", .helper = dpbusd_each_helper \
	}
	DPBUSD_EACH("vpdpbusd_each", X86_VNNI, 64),
	DPBUSD_EACH("vpdpbusd_each256", X86_AVXVNNI, 32),
#undef DPBUSD_EACH
/* the same, where a has the sign and b, in groups of four, has none */
#define CODES(name_, features_, bytes) \
	{ \
		.name = name_, .features = features_, .vector_bytes = bytes, .opaque = true, .nloops = 2, .extent = {bytes / 4, 4}, \
		.comb = "sum", .body = "mul(i32(a), i32(b))", .out = {"i32", {1, 0}}, .in = {{"i8", {0, 1}}, {"u8", {4, 1}}}, \
		.accumulator = "vi", .text = "vdp_codes(%v, %a, %b)", .helper = codes_helper \
	}
	CODES("vdp_codes", X86_VNNI, 64),
	CODES("vdp_codes256", X86_AVXVNNI, 32),
#undef CODES
/* sums of int32, each of 8 products of 4 numbers for each half of a byte, which are the same for all sums */
#define NIBBLES(name_, features_, bytes, opaque_, helper_) \
	{ \
		.name = name_, .features = features_, .vector_bytes = bytes, .opaque = opaque_, .nloops = 2, .extent = {bytes / 4, 4}, \
		.comb = "sum", .body = INSTR_NIBBLES, .out = {"i32", {1, 0}}, .in = {{"i8", {0, 1}}, {"i8", {0, 1}}, {"u8", {4, 1}}}, \
		.accumulator = "vi", .text = "vdp_nibbles(%v, %a, %b, %c)", .helper = helper_ \
	}
	NIBBLES("vdp_nibbles", X86_VNNI, 64, true, nibbles_helper),
	NIBBLES("vdp_nibbles256", X86_AVXVNNI, 32, true, nibbles_helper),
	NIBBLES("madd_nibbles", X86_AVX512, 64, false, nibbles_words_helper),
	NIBBLES("madd_nibbles256", X86_AVX2, 32, false, nibbles_words_helper),
#undef NIBBLES
/* sums of int32, each of 2 products of what fits 16 bits */
#define MADDWD(name_, features_, bytes) \
	{ \
		.name = name_, .features = features_, .vector_bytes = bytes, .nloops = 2, .extent = {bytes / 4, 2}, .comb = "sum", \
		.body = "mul(i32(a), i32(b))", .out = {"i32", {1, 0}}, .in = {{"i16", {0, 1}}, {"i16", {2, 1}}}, .accumulator = "vi", \
		.text = "vpmaddwd(%v, %a, %b)", .helper = maddwd_helper \
	}
	MADDWD("vpmaddwd", X86_AVX512, 64),
	MADDWD("vpmaddwd256", X86_AVX2, 32),
	MADDWD("pmaddwd", 0, 16),
#undef MADDWD
#define MADDWD_BYTES(name_, features_, bytes) \
	{ \
		.name = name_, .features = features_, .vector_bytes = bytes, .nloops = 2, .extent = {bytes / 4, 2}, .comb = "sum", \
		.body = "mul(i32(a), i32(b))", .out = {"i32", {1, 0}}, .in = {{"i16", {0, 1}}, {"i8", {2, 1}}}, .accumulator = "vi", \
		.text = "vpmaddwd_bytes(%v, %a, %b)", .helper = maddwd_bytes_helper \
	}
	MADDWD_BYTES("vpmaddwd_bytes", X86_AVX512, 64),
	MADDWD_BYTES("vpmaddwd256_bytes", X86_AVX2, 32),
#undef MADDWD_BYTES
	/* 16 sums of f32, each of 2 products of bf16; denormals are zero */
	{.name = "vdpbf16ps",
	 .features = X86_BF16,
	 .vector_bytes = 64,
	 .opaque = true,
	 .measured = true,
	 .nloops = 2,
	 .extent = {16, 2},
	 .comb = "sum",
	 .body = "mul(f32(a), f32(b))",
	 .out = {"f32", {1, 0}},
	 .in = {{"bf16", {0, 1}}, {"bf16", {2, 1}}},
	 .accumulator = "vf",
	 .text = "vdpbf16ps(%v, %a, %b)",
	 .helper = dpbf16_helper},
	/* 32 sums in half precision */
	{.name = "vfmaddph",
	 .features = X86_FP16,
	 .vector_bytes = 64,
	 .measured = true,
	 .nloops = 1,
	 .extent = {32},
	 .comb = "sum",
	 .body = "mul(a, b)",
	 .out = {"f16", {1}},
	 .in = {{"f16", {0}}, {"f16", {1}}},
	 .accumulator = "vhf",
	 .text = "vfmadd16(%v, %a, %b)",
	 .helper = fma16_helper},
/* 16 by 16 whole sums of int32, each of so many products of bytes */
#define TILE(products) \
	{ \
		.name = "tdpbssd" #products, .features = X86_AMX, .vector_bytes = 64, .opaque = true, .nloops = 4, \
		.extent = {16, 16, (products) / 4, 4}, .comb = "sum", .body = "mul(i32(a), i32(b))", .whole = true, \
		.out = {"i32", {STEP_ANY, 1, 0, 0}}, .in = {{"i8", {STEP_ANY, 0, 4, 1}}, {"i8", {0, 4, 64, 1}}}, \
		.text = "tile_sums(%o, %s, %a, %t, %b, " #products ");", .start = "tile_start(%p, %a, %t, %b, " #products ");", \
		.finish = "tile_finish(%p, %o, %s);", .many = 2, .helper = tiles_helper, .begin = "TILES_BEGIN;", .end = "TILES_END;" \
	}
	TILE(32),
	TILE(64),
	TILE(128),
#undef TILE
	/* codes of 4 bits in groups of four, in bit i and above of their bytes, as numbers with a sign */
	{.name = "widen_codes",
	 .features = X86_AMX,
	 .vector_bytes = 64,
	 .nloops = 2,
	 .extent = {16, 4},
	 .body = INSTR_WIDEN,
	 .out = {"i8", {4, 1}},
	 .in = {{"u8", {4, 1}}},
	 .text = "widen_codes(%o, %a, %i);",
	 .helper = widen_helper},
	{NULL},
};
