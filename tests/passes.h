/* The passes of a build, in their order, for test programs that run them: each tool's `tool` is called tool_NAME here (CHAIN of the
 * Makefile). */
#ifndef HONE_PASSES_H
#define HONE_PASSES_H
#include "op/pass.h"

extern const struct tool tool_ge_shape, tool_ge_fold, tool_ge_simplify, tool_ge_deadedge, tool_ge_cse, tool_ge_dedup, tool_ge_prune,
	tool_ge_integer, tool_ge_fuse, tool_ge_layout, tool_ge_plan;
static const struct tool *const chain[] = {
	&tool_ge_shape, &tool_ge_fold,    &tool_ge_simplify, &tool_ge_deadedge, &tool_ge_cse,  &tool_ge_dedup,
	&tool_ge_prune, &tool_ge_integer, &tool_ge_fuse,     &tool_ge_layout,   &tool_ge_plan,
};
#endif
