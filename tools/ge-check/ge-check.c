#include "common/tool.h"
#include "graph/stream.h"
#include "op/op.h"

static int run(const struct tool *t, struct tool_args *a)
{
	struct stream_reader *r = stream_open(a->nfile ? a->file[0] : NULL);
	for (struct module *m; (m = stream_read(r)); module_free(m))
		module_verify_or_die(m);
	stream_close(r);
	return EX_GOOD;
}

const struct tool tool = {
	.name = "ge-check",
	.summary = "Check that a graph stream is whole and its modules are sound.",
	.args_doc = "[FILE]",
	.more = "Says nothing when all is well; else names the node and the fault and ends with 65.",
	.flags = TOOL_IN_STREAM,
	.max_files = 1,
	.run = run,
};
