/* Vectors of one lane, of CPUs without vectors: what the generic text cannot say of them. A double takes two of their lanes. */
#include "target/generic/generic.h"

static const char doubles_text[] =
	"typedef float vh __attribute__((vector_size(4)));\n"
	"typedef double vd __attribute__((vector_size(8)));\n"
	"typedef long vl __attribute__((vector_size(8)));\n";

static const char pow_text[] =
	"\tvd d = vpow_core(__builtin_convertvector(vabs(x), vd), __builtin_convertvector(y, vd));\n"
	"\tvf r = __builtin_convertvector(d, vf), half = 0.5f * y;\n";

const struct text_section generic_one_lane[] = {
	{"doubles", doubles_text},
	{"iota", "#define VIOTA ((vi){0})\n"},
	{"pow", pow_text},
	{NULL},
};
