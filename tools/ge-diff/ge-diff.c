/* ge-diff: what differs between two streams, for people, or as a patch. */
#include "ge-diff.h"
#include <stdlib.h>
#include <unistd.h>
#include "common/outfile.h"
#include "common/tool.h"
#include "graph/patch.h"
#include "graph/stream.h"
#include "onnx/onnx.h"

static bool patch, all;

/* Both streams are read whole; "-" is standard input. */
static int write_patch(char *const *file, const char *out)
{
	struct mapped in[2];
	struct bytes side[2], p;
	struct outfile o;

	for (int i = 0; i < 2; i++) {
		mapped_open_if(&in[i], file[i], stream_begins);
		side[i] = (struct bytes){(char *)in[i].p, in[i].n};
	}
	outfile_open(&o, out, true);
	p = patch_make(&side[0], file[0], &side[1], file[1]);
	fwrite(p.p, 1, p.n, o.f);
	outfile_close(&o);
	int rc = digest_eq(digest_bytes(side[0].p, side[0].n), digest_bytes(side[1].p, side[1].n)) ? EX_GOOD : EX_DIFFERENT;
	free(p.p);
	for (int i = 0; i < 2; i++)
		mapped_close(&in[i]);
	return rc;
}

static bool same_digest(struct module *a, struct module *b) { return digest_eq(module_digest(a), module_digest(b)); }

static int write_text(char *const *file, const char *out)
{
	struct diff d = {0};
	struct outfile o;

	for (int i = 0; i < SIDES; i++) {
		d.side[i].path = file[i];
		d.side[i].m = module_read_whole(file[i]);
	}
	int rc = same_digest(d.side[A].m, d.side[B].m) ? EX_GOOD : EX_DIFFERENT;
	outfile_open(&o, out, false);
	if (rc == EX_DIFFERENT) {
		for (int i = 0; i < SIDES; i++)
			text_writer_open(&d.side[i].w, o.f, d.side[i].m);
		match(&d);
		print_text(&d, o.f, all, isatty(fileno(o.f)) && !getenv("NO_COLOR"));
		match_free(&d);
		for (int i = 0; i < SIDES; i++)
			text_writer_close(&d.side[i].w);
	}
	outfile_close(&o);
	for (int i = 0; i < SIDES; i++)
		module_free(d.side[i].m);
	return rc;
}

static int run(const struct tool *t, struct tool_args *a)
{
	if (a->nfile != 2)
		tool_usage();
	if (patch)
		return write_patch(a->file, a->out);
	return write_text(a->file, a->out);
}

enum { KEY_PATCH = 'p', KEY_ALL = 'a' };
static const struct argp_option options[] = {
	{"all", KEY_ALL, 0, 0, "list all that differs, however much it is"},
	{"patch", KEY_PATCH, 0, 0, "write a patch, with which ge-patch makes B of A"},
	{0},
};

static error_t option(int key, char *arg)
{
	switch (key) {
	case KEY_ALL: all = true; return 0;
	case KEY_PATCH: patch = true; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

const struct tool tool = {
	.name = "ge-diff",
	.summary = "Print what differs between two graphs, or write it as a patch.",
	.args_doc = "A B",
	.more = "A and B are graph streams, or ONNX models for a text. Ends with 0 where they are equal, 1 where they differ.",
	.flags = TOOL_OUT,
	.max_files = 2,
	.options = options,
	.option = option,
	.run = run,
};
