/* Instructions of x86 that kernels are written with by name. */
#include "target/x86/x86.h"

static void dpbusd_helper(FILE *f, const struct instr *row)
{
	fprintf(f,
		"typedef int viu __attribute__((vector_size(64), aligned(1), may_alias));\n"
		"/* sums of four products of unsigned and signed bytes; GCC's intrinsic spills the sums */\n"
		"static inline vi vpdpbusd(vi x, const unsigned char *a, const signed char *b)\n{\n\tint four;\n"
		"\t__builtin_memcpy(&four, a, 4);\n\tconst vi u = four - (vi){};\n"
		"\t__asm__(\"vpdpbusd %%2, %%1, %%0\" : \"+v\"(x) : \"v\"(u), \"vm\"(*(const viu *)b));\n\treturn x;\n}\n");
}

static void fma16_helper(FILE *f, const struct instr *row)
{
	fprintf(f,
		"typedef _Float16 vhf __attribute__((vector_size(64)));\n"
		"typedef _Float16 vhfu __attribute__((vector_size(64), aligned(2), may_alias));\n"
		"static inline vhf vfmadd16(vhf x, const _Float16 *a, const _Float16 *b)\n{\n"
		"\treturn x + (*a - (vhf){}) * *(const vhfu *)b;\n}\n");
}

const struct instr x86_instr[] = {
	/* 16 sums of int32, each of 4 products: a is the same for all sums, b lies in groups of four */
	{.name = "vpdpbusd",
	 .features = X86_VNNI,
	 .vector_bytes = 64,
	 .nloops = 2,
	 .extent = {16, 4},
	 .comb = "sum",
	 .body = "mul(i32(a), i32(b))",
	 .out = {"i32", {1, 0}},
	 .in = {{"u8", {0, 1}}, {"i8", {4, 1}}},
	 .accumulator = "vi",
	 .text = "vpdpbusd(%v, %a, %b)",
	 .helper = dpbusd_helper},
	/* 32 sums in half precision */
	{.name = "vfmaddph",
	 .features = X86_FP16,
	 .vector_bytes = 64,
	 .nloops = 1,
	 .extent = {32},
	 .comb = "sum",
	 .body = "mul(a, b)",
	 .out = {"f16", {1}},
	 .in = {{"f16", {0}}, {"f16", {1}}},
	 .accumulator = "vhf",
	 .text = "vfmadd16(%v, %a, %b)",
	 .helper = fma16_helper},
	{NULL},
};
