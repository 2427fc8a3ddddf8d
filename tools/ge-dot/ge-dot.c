/* ge-dot: pictures of a graph. */
#include <string.h>
#include "common/filename.h"
#include "common/option.h"
#include "common/outfile.h"
#include "common/tool.h"
#include "graph/check.h"
#include "onnx/onnx.h"
#include "dot.h"

enum { LIMIT = 4000, STEPS = 5, KEY_AROUND = 1000, KEY_HTML, KEY_LIMIT, KEY_STEPS };
static bool html;
static struct view_opts opts = {.limit = LIMIT, .steps = STEPS};

static int run(const struct tool *t, struct tool_args *a)
{
	const char *path = a->nfile ? a->file[0] : NULL;
	struct module *m = module_read_whole(path);
	struct view v = view_new(m, &opts);
	struct outfile o;

	outfile_open(&o, a->out, false);
	if (!opts.around && (v.closed || v.hidden))
		note("%zu nodes, more than --limit=%zu: %s", v.nodes, opts.limit,
		     v.hidden ? "the first are shown; --around NAME shows others" : "each group is one box");
	if (html || (a->out && filename_ends(a->out, ".html")))
		write_html(o.f, &v, path && strcmp(path, "-") ? path : "graph");
	else
		write_dot(o.f, &v);
	outfile_close(&o);
	view_free(&v);
	module_free(m);
	return EX_GOOD;
}

static const struct argp_option options[] = {
	{"html", KEY_HTML, 0, 0, "write a page for a browser, in place of text for Graphviz; -o FILE.html does, too"},
	{"limit", KEY_LIMIT, "N", 0, "show N nodes at most, 0: all (4000)"},
	{"around", KEY_AROUND, "NAME", 0, "show what is near this node, group, input or output"},
	{"steps", KEY_STEPS, "N", 0, "near: N lines away at most (5)"},
	{0},
};

static error_t option(int key, char *arg)
{
	switch (key) {
	case KEY_HTML: html = true; return 0;
	case KEY_LIMIT: opts.limit = option_count("--limit", arg, 0, UINT32_MAX); return 0;
	case KEY_AROUND: opts.around = arg; return 0;
	case KEY_STEPS: opts.steps = (int)option_count("--steps", arg, 0, INT32_MAX); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

const struct tool tool = {
	.name = "ge-dot",
	.summary = "Draw a graph: as text for Graphviz, or as a page.",
	.args_doc = "[FILE]",
	.more = "FILE is a graph stream or an ONNX model: ge-dot model.g | dot -Tsvg >model.svg",
	.flags = TOOL_OUT | TOOL_IN_STREAM,
	.max_files = 1,
	.options = options,
	.option = option,
	.run = run,
};
