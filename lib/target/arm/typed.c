/* What AArch64 has of its own for vectors of int and for elements of other types (generic/typed.c). Each text is two: of SVE, whose loads
 * and stores widen, narrow and take masks, and of NEON. */
#include "target/arm/arm.h"

#define EITHER(sve, neon) "#ifdef __ARM_FEATURE_SVE\n" sve "#else\n" neon "#endif\n"
#define PLACE(type)       "\ttypedef " type " v __attribute__((aligned(1), may_alias));\n"
#define MASK              "svcmpne_n_s32(ALL, (svi)m, 0)"

/* Elements of that many bits widened by an instruction, or narrowed. name: of SVE's load or store; place: what all of NEON's lie in. */
#define LOADED(name, type, mask) "\treturn (vi)(svi)svld1" name "_s32(" mask ", (const " type " *)p);\n"
#define STORED(name, type, mask) "\tsvst1" name "_s32(" mask ", (" type " *)p, (svi)x);\n"
#define LOAD(name, type, place, text) \
	EITHER(LOADED(name, type, "ALL"), \
	       PLACE(place) "\tvi r;\n\t__asm__(\"" text "\" : \"=w\"(r) : \"m\"(*(const v *)p));\n\treturn r;\n")
#define STORE(name, type, place, text) \
	EITHER(STORED(name, type, "ALL"), PLACE(place) "\tvi r;\n\t__asm__(\"" text "\" : \"=m\"(*(v *)p), \"=&w\"(r) : \"w\"(x));\n")
#define BYTES_IN(extend)  "ldr %s0, %1\\n\\t" extend " %0.8h, %0.8b\\n\\t" extend " %0.4s, %0.4h"
#define HALVES_IN(extend) "ldr %d0, %1\\n\\t" extend " %0.4s, %0.4h"
#define BYTES_OUT         "xtn %1.4h, %2.4s\\n\\txtn %1.8b, %1.8h\\n\\tstr %s1, %0"
#define HALVES_OUT        "xtn %1.4h, %2.4s\\n\\tstr %d1, %0"
/* In front of the generic text, which NEON takes. */
#define ONLY_SVE(text) "#ifdef __ARM_FEATURE_SVE\n" text "#else\n"

/* One instruction on vectors of 32 bits, of one operand or two. */
#define ONE(name, from) \
	EITHER("\tvi r;\n\t__asm__(\"" name " %0.s, %1/m, %2.s\" : \"=w\"(r) : \"Upl\"(ALL), \"w\"(" from "));\n\treturn r;\n", \
	       "\tvi r;\n\t__asm__(\"" name " %0.4s, %1.4s\" : \"=w\"(r) : \"w\"(" from "));\n\treturn r;\n")
#define TWO(name) \
	EITHER("\tvi r = a;\n\t__asm__(\"" name " %0.s, %1/m, %0.s, %2.s\" : \"+w\"(r) : \"Upl\"(ALL), \"w\"(b));\n\treturn r;\n", \
	       "\tvi r;\n\t__asm__(\"" name " %0.4s, %1.4s, %2.4s\" : \"=w\"(r) : \"w\"(a), \"w\"(b));\n\treturn r;\n")

static const char weave_text[] =
	"\ttypedef int v __attribute__((vector_size(4 * VL), aligned(1), may_alias));\n"
	"\t*(v *)p = a | b << 8 | c << 16 | d << 24;\n";

/* The low bytes of four vectors: the even halves of two, twice, then their even bytes. */
static const char store_bytes_text[] =
	EITHER("\tvi r, s;\n"
	       "\t__asm__(\"uzp1 %0.h, %2.h, %3.h\\n\\tuzp1 %1.h, %4.h, %5.h\\n\\tuzp1 %0.b, %0.b, %1.b\"\n"
	       "\t\t: \"=&w\"(r), \"=&w\"(s) : \"w\"(a), \"w\"(b), \"w\"(c), \"w\"(d));\n",
	       "\tvi r, s;\n"
	       "\t__asm__(\"uzp1 %0.8h, %2.8h, %3.8h\\n\\tuzp1 %1.8h, %4.8h, %5.8h\\n\\tuzp1 %0.16b, %0.16b, %1.16b\"\n"
	       "\t\t: \"=&w\"(r), \"=&w\"(s) : \"w\"(a), \"w\"(b), \"w\"(c), \"w\"(d));\n")
	"\ttypedef int v __attribute__((vector_size(4 * VL), aligned(1), may_alias));\n"
	"\t*(v *)p = r;\n";

#define WIDENED(mask) "\treturn (vf)(svf)svcvt_f32_f16_x(ALL, svreinterpret_f16_s32(svld1uh_s32(" mask ", (const unsigned short *)p)));\n"
#define NARROWED      "svreinterpret_s32_f16(svcvt_f16_f32_x(ALL, (svf)x))"
static const char load_f16_text[] =
	EITHER(WIDENED("ALL"), PLACE("long") "\tvf r;\n\t__asm__(\"ldr %d0, %1\\n\\tfcvtl %0.4s, %0.4h\" : \"=w\"(r) : \"m\"(*(const v *)p));\n"
					     "\treturn r;\n");
static const char store_f16_text[] =
	EITHER("\tsvst1h_s32(ALL, (short *)p, " NARROWED ");\n",
	       PLACE("long") "\tvf r;\n\t__asm__(\"fcvtn %1.4h, %2.4s\\n\\tstr %d1, %0\" : \"=m\"(*(v *)p), \"=&w\"(r) : \"w\"(x));\n");
static const char round_f16_text[] =
	EITHER("\treturn (vf)(svf)svcvt_f32_f16_x(ALL, svcvt_f16_f32_x(ALL, (svf)x));\n",
	       "\tvf r;\n\t__asm__(\"fcvtn %0.4h, %1.4s\\n\\tfcvtl %0.4s, %0.4h\" : \"=w\"(r) : \"w\"(x));\n\treturn r;\n");

const struct text_section arm_typed_text[] = {
	{"load_u8", LOAD("ub", "unsigned char", "int", BYTES_IN("uxtl"))},
	{"load_i8", LOAD("sb", "signed char", "int", BYTES_IN("sxtl"))},
	{"load_u16", LOAD("uh", "unsigned short", "long", HALVES_IN("uxtl"))},
	{"load_i16", LOAD("sh", "short", "long", HALVES_IN("sxtl"))},
	{"load_mask_u8", ONLY_SVE(LOADED("ub", "unsigned char", MASK)), true},
	{"load_mask_i8", ONLY_SVE(LOADED("sb", "signed char", MASK)), true},
	{"load_mask_u16", ONLY_SVE(LOADED("uh", "unsigned short", MASK)), true},
	{"load_mask_i16", ONLY_SVE(LOADED("sh", "short", MASK)), true},
	{"load_mask_i32", ONLY_SVE(LOADED("", "int", MASK)), true},
	{"load_mask_f16", ONLY_SVE(WIDENED(MASK)), true},
	{"store_u8", STORE("b", "signed char", "int", BYTES_OUT)},
	{"store_i8", STORE("b", "signed char", "int", BYTES_OUT)},
	{"store_u16", STORE("h", "short", "long", HALVES_OUT)},
	{"store_i16", STORE("h", "short", "long", HALVES_OUT)},
	{"store_mask_u8", ONLY_SVE(STORED("b", "signed char", MASK)), true},
	{"store_mask_i8", ONLY_SVE(STORED("b", "signed char", MASK)), true},
	{"store_mask_u16", ONLY_SVE(STORED("h", "short", MASK)), true},
	{"store_mask_i16", ONLY_SVE(STORED("h", "short", MASK)), true},
	{"store_mask_i32", ONLY_SVE(STORED("", "int", MASK)), true},
	{"store_mask_f16", ONLY_SVE("\tsvst1h_s32(" MASK ", (short *)p, " NARROWED ");\n"), true},
	{"load_f16", load_f16_text},
	{"store_f16", store_f16_text},
	{"round_f16", round_f16_text},
	{"max_i32", TWO("smax")},
	{"min_i32", TWO("smin")},
	{"trunc", ONE("fcvtzs", "x")},
	{"nearest",
	 EITHER("\tx = OP1(frintn, x);\n\tvi r;\n\t__asm__(\"fcvtzs %0.s, %1/m, %2.s\" : \"=w\"(r) : \"Upl\"(ALL), \"w\"(x));\n\treturn r;\n",
		"\tvi r;\n\t__asm__(\"fcvtns %0.4s, %1.4s\" : \"=w\"(r) : \"w\"(x));\n\treturn r;\n")},
	{"weave", weave_text},
	{"store_bytes", store_bytes_text},
	{NULL},
};
