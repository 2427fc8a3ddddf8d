/* The passes that every graph goes through, in the order of a build, for test programs that run them: each tool's `tool` is called
 * tool_NAME here (CHAIN of the Makefile). */
#ifndef HONE_PASSES_H
#define HONE_PASSES_H
#include "op/pass.h"

/* Of tools/hone/stages.h, made by the Makefile. */
#define PASS(name) extern const struct tool tool_##name;
#include "passes.inc"
#undef PASS
#define PASS(name) &tool_##name,
static const struct tool *const chain[] = {
#include "passes.inc"
};
#undef PASS
#endif
