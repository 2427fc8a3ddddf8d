/* ge-dump: a stream as text. */
#include "common/outfile.h"
#include "common/tool.h"
#include "graph/check.h"
#include "graph/stream.h"
#include "graph/text.h"
#include "onnx/onnx.h"

static int run(const struct tool *t, struct tool_args *a)
{
	const char *path = a->nfile ? a->file[0] : NULL;
	struct outfile o;
	outfile_open(&o, a->out, false);
	if (path && onnx_is_path(path)) {
		struct module *m = onnx_import(path, &(struct onnx_import_opts){.no_store = true});
		(a->json ? json_form_write : text_write)(o.f, m);
		module_free(m);
	} else {
		struct stream_reader *r = stream_open(path);
		for (struct module *m; (m = stream_read(r)); module_free(m)) {
			module_check_or_die(m);
			(a->json ? json_form_write : text_write)(o.f, m);
		}
		stream_close(r);
	}
	outfile_close(&o);
	return EX_GOOD;
}

const struct tool tool = {
	.name = "ge-dump",
	.summary = "Print a graph stream or an ONNX model as text.",
	.args_doc = "[FILE]",
	.more = "ge-load makes the same stream of it again.",
	.flags = TOOL_OUT | TOOL_JSON | TOOL_IN_STREAM,
	.max_files = 1,
	.run = run,
};
