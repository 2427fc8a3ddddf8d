/* x86-64, from SSE2 to AVX-512. */
#ifndef HONE_TARGET_X86_H
#define HONE_TARGET_X86_H
#include "target/backend.h"

enum x86_feature {
	X86_FMA = 1,
	X86_AVX2 = 2,   /* and F16C, as x86-64-v3 has it */
	X86_AVX512 = 4, /* F BW CD DQ VL */
	X86_VNNI = 8,   /* of AVX-512 */
	X86_FP16 = 16,
	X86_BF16 = 32,    /* of AVX-512 */
	X86_AVXVNNI = 64, /* on 32 bytes, in the encoding of AVX2 */
	X86_VBMI = 128,   /* of AVX-512 */
	X86_AMX = 256,    /* tiles of bytes, which the kernel lets this process use */
};

bool x86_detect(struct target *t);
void x86_measured(struct target *t);
extern const struct text_section x86_text[], x86_typed_text[];
extern const struct instr x86_instr[];
extern const struct rate x86_rates[];
void x86_read(const void *p, size_t n);
void x86_flush_denormals(void);
void x86_litter(const void *bytes);
uint64_t x86_call(guarded_fn *f, const void *const *in, const void *const *constants, void *const *out, char *workspace);
uint64_t x86_rounding(void);
extern struct guard_words x86_guard;
extern const struct call_name x86_calls[];
#endif
