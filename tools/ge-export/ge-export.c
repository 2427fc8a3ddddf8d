/* ge-export: a graph stream as an ONNX file. */
#include <limits.h>
#include <stdlib.h>
#include "common/option.h"
#include "common/tool.h"
#include "graph/module.h"
#include "onnx/onnx.h"

enum { OPT_OPSET = 0x100, OPT_EXTERNAL };

static struct onnx_export_opts opts;

static const struct argp_option options[] = {
	{"opset", OPT_OPSET, "N", 0, "write opset N, 7 to 28; without, that of the file the graph came from", 0},
	{"external", OPT_EXTERNAL, "FILE", 0, "write weights into FILE beside the model (needed above 2 GB)", -1},
	{0},
};

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_OPSET: opts.opset = (int)option_count("--opset", arg, 1, INT_MAX); return 0;
	case OPT_EXTERNAL: opts.external = arg; return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static int run(const struct tool *t, struct tool_args *a)
{
	struct module *m = module_read_whole(a->nfile ? a->file[0] : NULL);
	onnx_export(m, a->out, &opts);
	module_free(m);
	return EX_GOOD;
}

const struct tool tool = {
	.name = "ge-export",
	.summary = "Write a graph stream as an ONNX model.",
	.args_doc = "[FILE]",
	.flags = TOOL_OUT | TOOL_IN_STREAM,
	.max_files = 1,
	.options = options,
	.option = option,
	.run = run,
};
