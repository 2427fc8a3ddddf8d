/* The common driver of the tools that read a graph stream and write one. */
#ifndef HONE_OP_PASS_H
#define HONE_OP_PASS_H
#include "graph/pass.h"

/* struct tool.run of every pass tool (tool.data is the struct pass): reads modules from the file or
 * standard input, checks each, runs the pass, appends provenance, writes. Aborts are passed on. */
int pass_main(const struct tool *t, struct tool_args *a);
/* Appends a tool's line: its options that change the result (NULL: none), and which rates it chose by (target/rate.h). */
void pass_provenance(struct module *m, const char *tool, const char *options);

/* Of such a tool, all but its names, options and sentence. */
#define PASS_TOOL(pass) \
	.args_doc = "[FILE]", .flags = TOOL_OUT | TOOL_WHY | TOOL_IN_STREAM, .max_files = 1, .run = pass_main, .data = &(pass)
#endif
