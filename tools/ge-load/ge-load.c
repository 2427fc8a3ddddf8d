/* ge-load: the text form as a stream. */
#include "common/tool.h"
#include "graph/stream.h"
#include "graph/text.h"
#include "op/op.h"

static int run(const struct tool *t, struct tool_args *a)
{
	struct stream_writer *w = stream_create(a->out, false);
	struct text_reader *r = text_open(a->nfile ? a->file[0] : NULL);
	for (struct module *m; (m = text_read(r)); module_free(m)) {
		module_verify_or_die(m);
		stream_write(w, m);
	}
	text_close(r);
	stream_finish(w);
	return EX_GOOD;
}

const struct tool tool = {
	.name = "ge-load",
	.summary = "Make a graph stream of the text, or the JSON, that ge-dump prints.",
	.args_doc = "[FILE]",
	.flags = TOOL_OUT | TOOL_IN_STREAM,
	.max_files = 1,
	.run = run,
};
