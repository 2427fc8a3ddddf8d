/* Messages about nodes. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "common/shown.h"
#include "graph/pass.h"

const char *node_where(struct module *m, node_id id, struct arena *a)
{
	const struct node *n = node(m, id);
	const char *g = sym_str(graph(m, n->graph)->name);
	const char *op = node_op_name(n);
	sym name = n->name;
	for (uint32_t i = 0; !name && i < n->nout; i++)
		if (n->out[i])
			name = val(m, n->out[i])->name;
	return arena_printf(a, "%s/%s (%s)", *g ? shown(g) : "main", name ? shown(sym_str(name)) : "?", shown(op));
}

noreturn void graph_die(struct module *m, node_id n, const char *fmt, ...)
{
	struct arena a = {0};
	char *reason, kept[sizeof msg_trap->why];
	va_list ap;
	va_start(ap, fmt);
	if (vasprintf(&reason, fmt, ap) < 0)
		die(EX_SYSTEM, "out of memory");
	va_end(ap);
	const char *line = arena_printf(&a, "%s: %s%s%s", m->source ? m->source : "standard input", n ? node_where(m, n, &a) : "",
					n ? ": " : "", reason);
	free(reason);
	if (msg_trap) { /* the process goes on, and keeps as much as the trap does */
		snprintf(kept, sizeof kept, "%s", line);
		arena_release(&a);
		line = kept;
	}
	die(EX_BADDATA, "%s", line);
}

void pass_why(const struct pass_ctx *c, struct module *m, node_id n, const char *fmt, ...)
{
	char *what;
	va_list ap;
	if (!c->why)
		return;
	va_start(ap, fmt);
	if (vasprintf(&what, fmt, ap) < 0)
		die(EX_SYSTEM, "out of memory");
	va_end(ap);
	struct arena a = {0};
	warn("%s: %s", node_where(m, n, &a), what);
	arena_release(&a);
	free(what);
}
