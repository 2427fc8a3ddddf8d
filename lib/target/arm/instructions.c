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

/* Products of two rows of a, t elements apart, with two columns of b for each 16 bytes of the vector: all of b's groups lie side by side. Of
 * one row (rows: 1) the other is zero. */
static void matrix(FILE *f, const struct instr *row, const char *name, const char *sum, const char *a, const char *b, const char *ins)
{
	bool neon = row->vector_bytes == NEON;
	const char *of = strcmp(ins, "bfmmla") ? neon ? "16b" : "b" : neon ? "8h" : "h";

	put_vector(f, row);
	fprintf(f,
		"typedef long vrows __attribute__((vector_size(%5$d), aligned(1), may_alias));\n"
		"/* sums of products of two rows with columns */\n"
		"static inline %1$s %2$s(%1$s x, const %3$s *a, long t, const %4$s *b, long rows)\n{\n"
		"\tlong first, second = 0;\n\tvrows u;\n\tconst vi w = *(const viu *)b;\n"
		"\t__builtin_memcpy(&first, a, 8);\n\tif (rows > 1)\n\t\t__builtin_memcpy(&second, a + t, 8);\n"
		"\tif (rows > 1 && t * sizeof *a == 8)\n\t\tu = %6$s;\n\telse\n\t\t%7$s;\n"
		"\t__asm__(\"%8$s %%0.%9$s, %%1.%10$s, %%2.%10$s\" : \"+w\"(x) : \"w\"(u), \"w\"(w));\n\treturn x;\n}\n",
		sum, name, a, b, row->vector_bytes, neon ? "*(const vrows *)a" : "(vrows)(svi)svld1rq_s32(ALL, (const int *)a)",
		neon ? "u = (vrows){first, second}"
		     : "__asm__(\"zip1 %0.d, %1.d, %2.d\" : \"=w\"(u) : \"w\"(first - (vrows){}), \"w\"(second - (vrows){}))",
		ins, sums(row), of);
}

static const char sixteen[] = "unsigned short";

static void smmla_helper(FILE *f, const struct instr *row) { matrix(f, row, "vsmmla", "vi", with_sign, with_sign, "smmla"); }
static void usmmla_helper(FILE *f, const struct instr *row) { matrix(f, row, "vusmmla", "vi", without, with_sign, "usmmla"); }
static void bfmmla_helper(FILE *f, const struct instr *row) { matrix(f, row, "vbfmmla", "vf", sixteen, sixteen, "bfmmla"); }

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

/* Sums of a pair of rows and of columns, each of `group` products. NEON has one pair of columns. */
#define NEON_PAIRS(group) \
	.nloops = 3, .extent = {2, 2, group}, .out.step = {2, 1, 0}, .in[0].step = {STEP_ANY, 0, 1}, .in[1].step = {0, group, 1}
#define SVE_PAIRS(length, group) \
	.nloops = 4, .extent = {2, (length) / NEON, 2, group}, .out.step = {2, 4, 1, 0}, .in[0].step = {STEP_ANY, 0, 0, 1}, \
	.in[1].step = {0, 2 * (group), group, 1}
#define MATRIX(name_, end, features_, length, sum, a, b, vector, text_, pairs, ...) \
	{ \
		.name = name_ end, .features = features_, .vector_bytes = length, .opaque = true, .comb = "sum", \
		.body = "mul(" sum "(a), " sum "(b))", .out.dtype = sum, .in[0].dtype = a, .in[1].dtype = b, pairs, .accumulator = vector, \
		.text = text_ "(%v, %a, %t, %b, 2)", .part = text_ "(%v, %a, %t, %b, %m)", __VA_ARGS__ \
	}
#define MATRICES(end, length, bytes, halves, sve) \
	MATRIX("usmmla", end, sve | ARM_I8MM, length, "i32", "u8", "i8", "vi", "vusmmla", bytes, .helper = usmmla_helper), \
		MATRIX("smmla", end, sve | ARM_I8MM, length, "i32", "i8", "i8", "vi", "vsmmla", bytes, .helper = smmla_helper), \
		MATRIX("bfmmla", end, sve | ARM_BF16, length, "f32", "bf16", "bf16", "vf", "vbfmmla", halves, .helper = bfmmla_helper, \
		       .measured = true)

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
	MATRICES("", 16, NEON_PAIRS(8), NEON_PAIRS(4), 0),
	MATRICES("256", 32, SVE_PAIRS(32, 8), SVE_PAIRS(32, 4), ARM_SVE256),
	MATRICES("512", 64, SVE_PAIRS(64, 8), SVE_PAIRS(64, 4), ARM_SVE512),
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
