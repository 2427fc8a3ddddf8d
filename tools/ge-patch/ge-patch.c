/* ge-patch: applies a patch of ge-diff --patch. */
#include <stdlib.h>
#include "common/outfile.h"
#include "common/tool.h"
#include "graph/patch.h"
#include "graph/stream.h"

static int run(const struct tool *t, struct tool_args *a)
{
	struct stream_writer *w = stream_create(a->out, false);
	struct mapped patch, base;
	const char *path = a->nfile > 1 ? a->file[1] : NULL;

	if (a->nfile < 1)
		tool_usage();
	mapped_open_if(&patch, a->file[0], patch_begins);
	mapped_open_if(&base, path, stream_begins);
	struct bytes out = patch_apply(&(struct bytes){(char *)patch.p, patch.n}, a->file[0], &(struct bytes){(char *)base.p, base.n},
				       path ? path : "standard input");
	stream_write_bytes(w, out.p, out.n);
	free(out.p);
	mapped_close(&patch);
	mapped_close(&base);
	stream_finish(w);
	return EX_GOOD;
}

const struct tool tool = {
	.name = "ge-patch",
	.summary = "Make a graph stream of another by a patch of ge-diff --patch.",
	.args_doc = "PATCH [FILE]",
	.more = "FILE is the first stream of ge-diff; the output has the bytes of the second.",
	.flags = TOOL_OUT,
	.max_files = 2,
	.run = run,
};
