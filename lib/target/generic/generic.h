/* C that any CPU runs. Other backends may put text of theirs between. */
#ifndef HONE_TARGET_GENERIC_H
#define HONE_TARGET_GENERIC_H
#include "target/backend.h"

extern const char generic_prelude
	[]; /* sections stays, in_step, doubles, iota, operands (nothing, for helpers of a target), masks, and in masks edges and extremes */
extern const char generic_ints[], generic_memory[] /* formats type and ctype */, generic_f16[], generic_bf16[] /* bf16 */;
extern const struct text_section generic_one_lane[]; /* instead of the generic text, for vectors of one lane; ends with no name */
extern const struct instr generic_instr[];
#endif
