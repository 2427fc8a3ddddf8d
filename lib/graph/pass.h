/* Passes: what a tool that reads a graph stream and writes one hands to the common driver (op/pass.h). */
#ifndef HONE_PASS_H
#define HONE_PASS_H
#include "common/tool.h"
#include "graph/module.h"

struct pass_ctx {
	const struct tool_args *args;
	bool why;
};
/* --why: one line on standard error about node n: what was done, or the reason it was not. */
void pass_why(const struct pass_ctx *c, struct module *m, node_id n, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

struct pass {
	/* Rewrites m in place. Called once a module. Dies by graph_die on bad data. */
	void (*run)(struct module *m, const struct pass_ctx *c);
	const char *contract; /* needs, keeps, leaves: printed by --help */
};

/* die(65) with graph and node named: "tool: SOURCE: graph/node (Op): reason". */
noreturn void graph_die(struct module *m, node_id n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* "graph/node (Op)"; unnamed nodes by their first output. */
const char *node_where(struct module *m, node_id n, struct arena *a);
#endif
