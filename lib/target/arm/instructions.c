/* Instructions of AArch64 that kernels are written with by name: of NEON, and of SVE of a length that is known. */
#include "target/arm/arm.h"
#include <string.h>

enum { NEON = 16 }; /* bytes of its vectors; longer ones are SVE's */

/* Vectors of bytes as text: the suffixes of registers of sums and of bytes. */
static const char *sums(const struct instr *row) { return row->vector_bytes == NEON ? "4s" : "s"; }
static const char *bytes(const struct instr *row) { return row->vector_bytes == NEON ? "16b" : "b"; }

static void put_vector(FILE *f, const struct instr *row)
{
	fprintf(f, "typedef int viu __attribute__((vector_size(%d), aligned(1), may_alias));\n", row->vector_bytes);
}

/* x and four products each of bytes of a, the same for all sums, and of b. NEON takes those of a from an element of a register: nothing
 * spreads them over a vector, which would take a unit that multiplies. The instruction is named by the vector's sign, then the element's. */
static void dot(FILE *f, const struct instr *row, const char *name, const char *a, const char *b, const char *ins)
{
	bool neon = row->vector_bytes == NEON;

	put_vector(f, row);
	fprintf(f,
		"/* sums of four products of bytes */\n"
		"static inline vi %s(vi x, const %s *a, const %s *b)\n{\n\tint four;\n"
		"\t__builtin_memcpy(&four, a, 4);\n\tconst vi w = *(const viu *)b;\n",
		name, a, b);
	if (neon)
		fprintf(f, "\t__asm__(\"%s %%0.4s, %%1.16b, %%2.4b[0]\" : \"+w\"(x) : \"w\"(w), \"w\"(four));\n", ins);
	else if (!strcmp(ins, "sudot")) /* of vectors there is the other order alone */
		fprintf(f, "\t__asm__(\"usdot %%0.s, %%2.b, %%1.b\" : \"+w\"(x) : \"w\"(w), \"w\"(four - (vi){}));\n");
	else
		fprintf(f, "\t__asm__(\"%s %%0.s, %%1.b, %%2.b\" : \"+w\"(x) : \"w\"(w), \"w\"(four - (vi){}));\n", ins);
	fprintf(f, "\treturn x;\n}\n");
}

static void each(FILE *f, const struct instr *row, const char *name, const char *a, const char *b, const char *ins)
{
	put_vector(f, row);
	fprintf(f,
		"/* the same of bytes of their own each */\n"
		"static inline vi %s(vi x, const %s *a, const %s *b)\n{\n\tconst vi u = *(const viu *)a, w = *(const viu *)b;\n"
		"\t__asm__(\"%s %%0.%s, %%1.%s, %%2.%s\" : \"+w\"(x) : \"w\"(u), \"w\"(w));\n\treturn x;\n}\n",
		name, a, b, ins, sums(row), bytes(row), bytes(row));
}

static const char with_sign[] = "signed char", without[] = "unsigned char";

static void sdot_helper(FILE *f, const struct instr *row) { dot(f, row, "vsdot", with_sign, with_sign, "sdot"); }
static void sdot_each_helper(FILE *f, const struct instr *row) { each(f, row, "vsdot_each", with_sign, with_sign, "sdot"); }
static void usdot_helper(FILE *f, const struct instr *row) { dot(f, row, "vusdot", without, with_sign, "sudot"); }
static void usdot_each_helper(FILE *f, const struct instr *row) { each(f, row, "vusdot_each", without, with_sign, "usdot"); }
static void codes_helper(FILE *f, const struct instr *row) { dot(f, row, "vdp_codes", with_sign, without, "usdot"); }

/* Codes of 4 bits have no sign to lose. */
static void nibbles_helper(FILE *f, const struct instr *row)
{
	bool neon = row->vector_bytes == NEON;

	put_vector(f, row);
	fprintf(f,
		"/* sums of four products of codes, two of 4 bits in a byte, and signed bytes of their own each */\n"
		"static inline vi vdp_nibbles(vi x, const signed char *a, const signed char *b, const unsigned char *c)\n{\n\tint low, high;\n"
		"\t__builtin_memcpy(&low, a, 4);\n\t__builtin_memcpy(&high, b, 4);\n"
		"\tconst vi w = *(const viu *)c, mask = 0x0f0f0f0f - (vi){};\n"
		"\t__asm__(\"sdot %%0.%1$s, %%1.%2$s, %%2.%3$s\" : \"+w\"(x) : \"w\"(w & mask), \"w\"(low%4$s));\n"
		"\t__asm__(\"sdot %%0.%1$s, %%1.%2$s, %%2.%3$s\" : \"+w\"(x) : \"w\"(w >> 4 & mask), \"w\"(high%4$s));\n"
		"\treturn x;\n}\n",
		sums(row), bytes(row), neon ? "4b[0]" : "b", neon ? "" : " - (vi){}");
}

/* Products of the low halves and of the high ones, whose neighbours are then added: two of 16 bits fit a sum of 32. */
static void pairs_helper(FILE *f, const struct instr *row)
{
	put_vector(f, row);
	fprintf(f,
		"/* sums of two products of 16-bit numbers */\n"
		"static inline vi vsmlal_pairs(vi x, const short *a, const short *b)\n{\n\tint two;\n"
		"\t__builtin_memcpy(&two, a, 4);\n\tconst vi u = two - (vi){}, w = *(const viu *)b;\n\tvi low, high;\n"
		"\t__asm__(\"smull %%0.4s, %%2.4h, %%3.4h\\n\\tsmull2 %%1.4s, %%2.8h, %%3.8h\\n\\taddp %%0.4s, %%0.4s, %%1.4s\"\n"
		"\t\t: \"=&w\"(low), \"=&w\"(high) : \"w\"(u), \"w\"(w));\n\treturn x + low;\n}\n");
}

/* Two products of bfloat16 each; denormals are zero. */
static void bfdot_helper(FILE *f, const struct instr *row)
{
	bool neon = row->vector_bytes == NEON;

	put_vector(f, row);
	fprintf(f,
		"/* sums of two products of bfloat16 */\n"
		"static inline vf vbfdot(vf x, const unsigned short *a, const unsigned short *b)\n{\n\tint two;\n"
		"\t__builtin_memcpy(&two, a, 4);\n\tconst vi w = *(const viu *)b;\n"
		"\t__asm__(\"bfdot %%0.%s, %%1.%s, %%2.%s\" : \"+w\"(x) : \"w\"(w), \"w\"(two%s));\n\treturn x;\n}\n",
		sums(row), neon ? "8h" : "h", neon ? "2h[0]" : "h", neon ? "" : " - (vi){}");
}

/* The compiler multiplies by an element where a's number is in a register. */
static void fmla_half_helper(FILE *f, const struct instr *row)
{
	fprintf(f,
		"typedef _Float16 vhf __attribute__((vector_size(16)));\n"
		"typedef _Float16 vhfu __attribute__((vector_size(16), aligned(2), may_alias));\n"
		"static inline vhf vfmla_half(vhf x, const _Float16 *a, const _Float16 *b)\n{\n"
		"\tconst _Float16 u = *a;\n\treturn x + (vhf){u, u, u, u, u, u, u, u} * *(const vhfu *)b;\n}\n"
		"/* one half of the lanes, as f32 */\n"
		"static inline vf vhalf(vhf x, int second)\n{\n\tvf r;\n"
		"\tif (second)\n\t\t__asm__(\"fcvtl2 %%0.4s, %%1.8h\" : \"=w\"(r) : \"w\"(x));\n"
		"\telse\n\t\t__asm__(\"fcvtl %%0.4s, %%1.4h\" : \"=w\"(r) : \"w\"(x));\n\treturn r;\n}\n"
		"static inline vhf vhalf_set(vhf x, int second, vf by)\n{\n"
		"\tunion { vhf all; long half[2]; } u = {x};\n\tunion { vhf all; long half[2]; } v;\n"
		"\t__asm__(\"fcvtn %%0.4h, %%1.4s\" : \"=w\"(v.all) : \"w\"(by));\n"
		"\tu.half[second] = v.half[0];\n\treturn u.all;\n}\n");
}

#define SUMS(name_, features_, bytes_, a, step, b, text_, opaque_, helper_) \
	{ \
		.name = name_, .features = features_, .vector_bytes = bytes_, .opaque = opaque_, .nloops = 2, .extent = {(bytes_) / 4, 4}, \
		.comb = "sum", .body = "mul(i32(a), i32(b))", .out = {"i32", {1, 0}}, .in = {{a, {step, 1}}, {b, {4, 1}}}, \
		.accumulator = "vi", .text = text_ "(%v, %a, %b)", .helper = helper_ \
	}
/* Sums of int32, each of 4 products, b in groups of four: a the same for all sums, and a of its own each. Of u8 and i8 where there is such
 * an instruction: it comes first. */
#define DOTS(end, length, signs, mixed) \
	SUMS("usdot" end, mixed, length, "u8", 0, "i8", "vusdot", true, usdot_helper), \
		SUMS("usdot_each" end, mixed, length, "u8", 4, "i8", "vusdot_each", false, usdot_each_helper), \
		SUMS("sudot" end, mixed, length, "i8", 0, "u8", "vdp_codes", true, codes_helper), \
		SUMS("sdot" end, signs, length, "i8", 0, "i8", "vsdot", true, sdot_helper), \
		SUMS("sdot_each" end, signs, length, "i8", 4, "i8", "vsdot_each", false, sdot_each_helper), \
	{ \
		.name = "sdot_nibbles" end, .features = signs, .vector_bytes = length, .opaque = true, .nloops = 2, \
		.extent = {(length) / 4, 4}, .comb = "sum", .body = INSTR_NIBBLES, .out = {"i32", {1, 0}}, \
		.in = {{"i8", {0, 1}}, {"i8", {0, 1}}, {"u8", {4, 1}}}, .accumulator = "vi", .text = "vdp_nibbles(%v, %a, %b, %c)", \
		.helper = nibbles_helper \
	}

#define BFDOT(end, length, features_) \
	{ \
		.name = "bfdot" end, .features = features_, .vector_bytes = length, .opaque = true, .measured = true, .nloops = 2, \
		.extent = {(length) / 4, 2}, .comb = "sum", .body = "mul(f32(a), f32(b))", .out = {"f32", {1, 0}}, \
		.in = {{"bf16", {0, 1}}, {"bf16", {2, 1}}}, .accumulator = "vf", .text = "vbfdot(%v, %a, %b)", .helper = bfdot_helper \
	}

const struct instr arm_instr[] = {
	DOTS("", 16, ARM_DOTPROD, ARM_I8MM),
	DOTS("256", 32, ARM_SVE256, ARM_SVE256 | ARM_I8MM),
	DOTS("512", 64, ARM_SVE512, ARM_SVE512 | ARM_I8MM),
	/* sums of int32, each of 2 products of what fits 16 bits */
	{.name = "smlal_pairs",
	 .vector_bytes = 16,
	 .nloops = 2,
	 .extent = {4, 2},
	 .comb = "sum",
	 .body = "mul(i32(a), i32(b))",
	 .out = {"i32", {1, 0}},
	 .in = {{"i16", {0, 1}}, {"i16", {2, 1}}},
	 .accumulator = "vi",
	 .text = "vsmlal_pairs(%v, %a, %b)",
	 .helper = pairs_helper},
	BFDOT("", NEON, ARM_BF16),
	BFDOT("256", 2 * NEON, ARM_SVE256 | ARM_BF16),
	BFDOT("512", 4 * NEON, ARM_SVE512 | ARM_BF16),
	/* 8 sums in half precision */
	{.name = "fmla_half",
	 .features = ARM_FP16,
	 .vector_bytes = NEON,
	 .measured = true,
	 .nloops = 1,
	 .extent = {8},
	 .comb = "sum",
	 .body = "mul(a, b)",
	 .out = {"f16", {1}},
	 .in = {{"f16", {0}}, {"f16", {1}}},
	 .accumulator = "vhf",
	 .text = "vfmla_half(%v, %a, %b)",
	 .helper = fmla_half_helper},
	{NULL},
};
