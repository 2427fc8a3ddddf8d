/* ge-import: an ONNX or GGUF file as a graph stream. */
#include "common/tool.h"
#include "graph/stream.h"
#include "onnx/onnx.h"

enum { OPT_COPY = 0x100, OPT_CONST_INPUTS, OPT_NO_MAPS, OPT_KEEP_FOREIGN };

static struct onnx_import_opts opts;

static const struct argp_option options[] = {
	{"copy", OPT_COPY, NULL, 0, "copy weights into the blob store instead of referring to the file", -1},
	{"const-inputs", OPT_CONST_INPUTS, NULL, 0, "inputs with a default (weights of files before IR 4) are constants", 0},
	{"keep-foreign", OPT_KEEP_FOREIGN, NULL, 0, "operators of other domains stay whole, for ge-export", 0},
	{"no-maps", OPT_NO_MAPS, NULL, 0, "leave every ZipMap out: scores stay a tensor", 0},
	{0},
};

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_COPY: opts.copy = true; return 0;
	case OPT_CONST_INPUTS: opts.overridable_const = true; return 0;
	case OPT_KEEP_FOREIGN: opts.keep_foreign = true; return 0;
	case OPT_NO_MAPS: opts.no_maps = true; return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static int run(const struct tool *t, struct tool_args *a)
{
	struct stream_writer *w = stream_create(a->out, false);
	struct module *m = onnx_import(a->nfile ? a->file[0] : NULL, &opts);
	const char *line = arena_printf(&m->arena, "%s %s%s%s", t->name, HONE_VERSION, a->options && *a->options ? " " : "",
					a->options ? a->options : "");
	vec_push(&m->provenance, line);
	stream_write(w, m);
	stream_finish(w);
	return EX_GOOD;
}

const struct tool tool = {
	.name = "ge-import",
	.summary = "Read an ONNX or GGUF model and write it as a graph stream.",
	.args_doc = "[FILE.onnx]",
	.flags = TOOL_OUT | TOOL_IN_STREAM,
	.max_files = 1,
	.options = options,
	.option = option,
	.run = run,
};
