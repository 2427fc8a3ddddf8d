#include "fuse.h"
#include "op/past.h"

static bool undo, no_producers;

enum { OPT_UNDO = 1000, OPT_NO_PRODUCERS };

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_UNDO: undo = true; return 0;
	case OPT_NO_PRODUCERS: no_producers = true; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

/* Graphs whose nodes may be grouped: all but the bodies of Fused nodes there are. */
static void list_graphs(struct module *m, struct graph_list *list, bool **is_fused)
{
	module_graph_order(m, list);
	*is_fused = xcalloc(m->graphs.n, sizeof **is_fused);
	for (size_t i = 0; i < list->n; i++) {
		struct graph *g = graph(m, list->a[i]);
		for (size_t k = 0; k < g->nodes.n; k++) {
			struct node *n = node(m, g->nodes.a[k]);
			if (n->op == OP_Fused)
				(*is_fused)[attr_graph(n, "graph")] = true;
		}
	}
}

static void fuse(struct module *m, const struct pass_ctx *c)
{
	struct plan p = {.m = m, .c = c, .producers = !no_producers};
	struct graph_list list = {0};
	bool *is_fused;

	expand_attentions(m, c);
	find_cached(m, c);
	list_graphs(m, &list, &is_fused);
	for (size_t i = 0; i < list.n; i++)
		if (!is_fused[list.a[i]]) {
			split_einsums(m, list.a[i], c);
			split_pasts(m, list.a[i], false, c);
			split_unpacking(m, list.a[i], c);
		}
	p.uses = uses_new(m);
	p.pos = xcalloc(m->nodes.n, sizeof *p.pos);
	p.role = xcalloc(m->nodes.n, sizeof *p.role);
	p.group = xcalloc(m->nodes.n, sizeof *p.group);
	p.inner = xcalloc(m->values.n, sizeof *p.inner);
	vec_push(&p.head, 0);
	for (size_t i = 0; i < list.n; i++) {
		if (is_fused[list.a[i]])
			continue;
		p.head.n = 1;
		group_nodes(&p, list.a[i]);
		form_groups(&p, list.a[i]);
	}
	uses_free(&p.uses);
	vec_free(&p.head);
	vec_free(&p.member);
	free(p.pos);
	free(p.role);
	free(p.group);
	free(p.inner);
	free(is_fused);
	vec_free(&list);
}

static void dissolve(struct module *m, const struct pass_ctx *c)
{
	struct graph_list list = {0};

	module_graph_order(m, &list);
	for (size_t i = 0; i < list.n; i++)
		dissolve_groups(m, list.a[i], c);
	vec_free(&list);
}

static void run(struct module *m, const struct pass_ctx *c)
{
	if (undo)
		dissolve(m, c);
	else
		fuse(m, c);
}

static const struct argp_option options[] = {
	{"no-producers", OPT_NO_PRODUCERS, 0, 0, "leave Transposes that feed a MatMul, and terms of reductions, as kernels of their own"},
	{"undo", OPT_UNDO, 0, 0, "dissolve all groups"},
	{0},
};

static const struct pass pass = {
	.run = run,
	.contract =
		"Needs shapes (ge-shape). Keeps views (Reshape and its kin) and control operators as nodes. "
		"Leaves every other node inside exactly one Fused node.",
};

const struct tool tool = {
	.name = "ge-fuse",
	.summary = "Group the nodes of a graph into kernels.",
	PASS_TOOL(pass),
	.options = options,
	.option = option,
};
