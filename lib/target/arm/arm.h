/* AArch64: NEON, and SVE of a length that is known when the code is made. */
#ifndef HONE_TARGET_ARM_H
#define HONE_TARGET_ARM_H
#include "target/backend.h"

enum arm_feature {
	ARM_DOTPROD = 1, /* sdot, udot */
	ARM_FP16 = 2,    /* arithmetic of halves */
	ARM_I8MM = 4,    /* usdot, smmla, ummla, usmmla */
	ARM_BF16 = 8,    /* bfdot, bfmmla */
	ARM_SVE256 = 16, /* vectors of 32 bytes, no more and no fewer */
	ARM_SVE512 = 32, /* the same of 64 */
	ARM_SVE = ARM_SVE256 | ARM_SVE512,
};

bool arm_detect(struct target *t);
extern const struct text_section arm_text[], arm_typed_text[];
extern const struct instr arm_instr[];
extern const struct rate arm_rates[];
void arm_read(const void *p, size_t n);
void arm_flush_denormals(void);
void arm_litter(const void *bytes);
uint64_t arm_call(guarded_fn *f, const void *const *in, const void *const *constants, void *const *out, char *workspace);
uint64_t arm_rounding(void);
extern struct guard_words arm_guard;
#endif
