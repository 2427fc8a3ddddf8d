/* ge-pack: a stream that needs no blob store, and back. */
#include "common/tool.h"
#include "graph/stream.h"
#include "op/op.h"

static bool undo;

static error_t option(int key, char *arg)
{
	if (key != 'u')
		return ARGP_ERR_UNKNOWN;
	undo = true;
	return 0;
}

static int run(const struct tool *t, struct tool_args *a)
{
	struct stream_writer *w = stream_create(a->out, !undo);
	struct stream_reader *r = stream_open(a->nfile ? a->file[0] : NULL);
	for (struct module *m; (m = stream_read(r)); module_free(m)) {
		module_verify_or_die(m);
		stream_write(w, m);
	}
	stream_close(r);
	stream_finish(w);
	return EX_GOOD;
}

static const struct argp_option options[] = {
	{"undo", 'u', 0, 0, "put the blobs into the store, write a stream that refers to them"},
	{0},
};

const struct tool tool = {
	.name = "ge-pack",
	.summary = "Put the weights of a graph stream into the stream itself.",
	.args_doc = "[FILE]",
	.more = "Every tool reads such streams too.",
	.flags = TOOL_OUT | TOOL_IN_STREAM,
	.max_files = 1,
	.options = options,
	.option = option,
	.run = run,
};
