/* Instructions of AArch64 that kernels are written with by name: of NEON, and of SVE of a length that is known. */
#include "target/arm/arm.h"

/* Vectors of bytes as text: the suffixes of registers of sums and of bytes. */
static const char *sums(const struct instr *row) { return row->vector_bytes == 16 ? "4s" : "s"; }
static const char *bytes(const struct instr *row) { return row->vector_bytes == 16 ? "16b" : "b"; }

static void put_vector(FILE *f, const struct instr *row)
{
	fprintf(f, "typedef int viu __attribute__((vector_size(%d), aligned(1), may_alias));\n", row->vector_bytes);
}

/* x and four products each of bytes of a, the same for all sums, and of b. */
static void dot(FILE *f, const struct instr *row, const char *name, const char *a, const char *b, const char *ins, bool swap)
{
	put_vector(f, row);
	fprintf(f,
		"/* sums of four products of bytes */\n"
		"static inline vi %s(vi x, const %s *a, const %s *b)\n{\n\tint four;\n"
		"\t__builtin_memcpy(&four, a, 4);\n\tconst vi u = four - (vi){}, w = *(const viu *)b;\n"
		"\t__asm__(\"%s %%0.%s, %%1.%s, %%2.%s\" : \"+w\"(x) : \"w\"(%s), \"w\"(%s));\n\treturn x;\n}\n",
		name, a, b, ins, sums(row), bytes(row), bytes(row), swap ? "w" : "u", swap ? "u" : "w");
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

static void sdot_helper(FILE *f, const struct instr *row) { dot(f, row, "vsdot", with_sign, with_sign, "sdot", false); }
static void sdot_each_helper(FILE *f, const struct instr *row) { each(f, row, "vsdot_each", with_sign, with_sign, "sdot"); }
static void usdot_helper(FILE *f, const struct instr *row) { dot(f, row, "vusdot", without, with_sign, "usdot", false); }
static void usdot_each_helper(FILE *f, const struct instr *row) { each(f, row, "vusdot_each", without, with_sign, "usdot"); }
static void codes_helper(FILE *f, const struct instr *row) { dot(f, row, "vdp_codes", with_sign, without, "usdot", true); }

/* Codes of 4 bits have no sign to lose. */
static void nibbles_helper(FILE *f, const struct instr *row)
{
	put_vector(f, row);
	fprintf(f,
		"/* sums of four products of codes, two of 4 bits in a byte, and signed bytes of their own each */\n"
		"static inline vi vdp_nibbles(vi x, const signed char *a, const signed char *b, const unsigned char *c)\n{\n\tint low, high;\n"
		"\t__builtin_memcpy(&low, a, 4);\n\t__builtin_memcpy(&high, b, 4);\n"
		"\tconst vi w = *(const viu *)c, mask = 0x0f0f0f0f - (vi){}, u = low - (vi){}, v = high - (vi){};\n"
		"\t__asm__(\"sdot %%0.%1$s, %%1.%2$s, %%2.%2$s\" : \"+w\"(x) : \"w\"(w & mask), \"w\"(u));\n"
		"\t__asm__(\"sdot %%0.%1$s, %%1.%2$s, %%2.%2$s\" : \"+w\"(x) : \"w\"(w >> 4 & mask), \"w\"(v));\n"
		"\treturn x;\n}\n",
		sums(row), bytes(row));
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
	{NULL},
};
