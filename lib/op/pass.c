#include <stdlib.h>
#include "graph/check.h"
#include "graph/stream.h"
#include "op/op.h"
#include "op/pass.h"
#include "target/rate.h"

void pass_provenance(struct module *m, const char *tool, const char *options)
{
	const char *rates = rates_used();

	options = options ? options : "";
	vec_push(&m->provenance, arena_printf(&m->arena, "%s %s%s%s%s%s", tool, HONE_VERSION, *options ? " " : "", options,
					      rates ? " rates=" : "", rates ? rates : ""));
}

/* A module that a pass broke is our bug, and easier to find here than three passes later. */
static void check_result(struct module *m)
{
	node_id n;
	graph_id g;
	const char *why = module_check(m, &n, &g);
	if (why)
		BUG("the result does not pass the checker: %s: %s", n ? node_where(m, n, &m->arena) : sym_str(graph(m, g)->name), why);
}

int pass_main(const struct tool *t, struct tool_args *a)
{
	const struct pass *p = t->data;
	struct pass_ctx c = {.args = a, .why = a->why};
	/* The writer is opened first: if the tool dies from here on, its stream ends with an abort record. */
	struct stream_writer *w = stream_create(a->out, false);
	struct stream_reader *r = stream_open(a->nfile ? a->file[0] : NULL);
	for (struct module *m; (m = stream_read(r)); module_free(m)) {
		module_verify_or_die(m);
		p->run(m, &c);
		check_result(m);
		pass_provenance(m, t->name, a->options);
		stream_write(w, m);
	}
	stream_close(r);
	stream_finish(w);
	return EX_GOOD;
}
