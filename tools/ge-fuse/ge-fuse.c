#include "common/digest.h"
#include "common/map.h"
#include "common/outfile.h"
#include "fuse.h"
#include "graph/fused.h"
#include "graph/stream.h"
#include "op/past.h"

static bool undo, no_producers;
static const char *plan_path, *written_path;
static struct plan_text made;
static size_t modules;

enum { OPT_UNDO = 1000, OPT_NO_PRODUCERS, OPT_PLAN, OPT_WRITE_PLAN };

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_UNDO: undo = true; return 0;
	case OPT_NO_PRODUCERS: no_producers = true; return 0;
	case OPT_PLAN: plan_path = arg; return 0;
	case OPT_WRITE_PLAN: written_path = arg; return 0;
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

/* Plans speak of what the nodes are replaced by, too: they get their names here, not when the stream is written. */
static void replace_nodes(struct module *m, const struct graph_list *list, const bool *is_fused, const struct pass_ctx *c)
{
	for (size_t i = 0; i < list->n; i++)
		if (!is_fused[list->a[i]]) {
			split_einsums(m, list->a[i], c);
			split_pasts(m, list->a[i], false, c);
			split_unpacking(m, list->a[i], c);
		}
	module_name_values(m);
}

/* Which of the graphs of its name it is, from 1, in a list. */
static uint32_t *count_names(struct module *m, const struct graph_list *list)
{
	uint32_t *ordinal = xcalloc(list->n + 1, sizeof *ordinal);
	struct map seen = {0};

	for (size_t i = 0; i < list->n; i++) {
		uint32_t key = graph(m, list->a[i])->name + 1;
		ordinal[i] = map_get(&seen, key) + 1;
		map_set(&seen, key, ordinal[i]);
	}
	map_free(&seen);
	return ordinal;
}

static void group_all(struct plan *p, const struct graph_list *list, const bool *is_fused)
{
	uint32_t *ordinal = count_names(p->m, list);

	for (size_t i = 0; i < list->n; i++) {
		if (is_fused[list->a[i]])
			continue;
		p->head.n = 1;
		group_nodes(p, list->a[i], ordinal[i]);
		if (written_path)
			plan_note(p, list->a[i], ordinal[i], &made);
		const struct grouping all = {&p->uses, p->group, p->head.a, p->head.n, p->inner};
		groups_form(p->m, list->a[i], &all);
		plan_order(p, list->a[i]);
		if (plan_path)
			plan_mark(p, list->a[i]);
	}
	free(ordinal);
}

static void fuse(struct module *m, const struct pass_ctx *c)
{
	struct plan p = {.m = m, .c = c, .producers = !no_producers};
	struct graph_list list = {0};
	bool *is_fused;

	if (plan_path)
		plan_begin(plan_path, m);
	if (written_path && modules++)
		die(EX_BADDATA, "--write-plan: the stream has several graphs, and a plan is of one");
	if (written_path)
		made.of = module_digest(m);
	expand_attentions(m, c);
	find_cached(m, c);
	list_graphs(m, &list, &is_fused);
	replace_nodes(m, &list, is_fused, c);
	p.uses = uses_new(m);
	p.pos = xcalloc(m->nodes.n, sizeof *p.pos);
	p.role = xcalloc(m->nodes.n, sizeof *p.role);
	p.group = xcalloc(m->nodes.n, sizeof *p.group);
	p.inner = xcalloc(m->values.n, sizeof *p.inner);
	p.line = xcalloc(m->nodes.n + 1, sizeof *p.line);
	p.row_major = xcalloc(m->nodes.n + 1, sizeof *p.row_major);
	p.threads = xcalloc(m->nodes.n + 1, sizeof *p.threads);
	vec_push(&p.head, 0);
	group_all(&p, &list, is_fused);
	if (plan_path)
		plan_end();
	uses_free(&p.uses);
	vec_free(&p.head);
	vec_free(&p.member);
	free(p.pos);
	free(p.role);
	free(p.group);
	free(p.inner);
	free(p.line);
	free(p.row_major);
	free(p.threads);
	free(is_fused);
	vec_free(&list);
}

static void dissolve(struct module *m, const struct pass_ctx *c)
{
	struct graph_list list = {0};

	module_graph_order(m, &list);
	for (size_t i = 0; i < list.n; i++)
		groups_dissolve(m, list.a[i], c);
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
	{"plan", OPT_PLAN, "FILE", 0, "nodes that FILE puts into groups are grouped so, all others by the rules", -1},
	{"undo", OPT_UNDO, 0, 0, "dissolve all groups"},
	{"write-plan", OPT_WRITE_PLAN, "FILE", 0, "also write the groups to FILE, as --plan reads them", -1},
	{0},
};

static const struct pass pass = {
	.run = run,
	.contract =
		"Needs shapes (ge-shape). Keeps views (Reshape and its kin) and control operators as nodes. "
		"Leaves every other node inside exactly one Fused node.",
};

/* In the provenance a plan is the digest of its text, wherever its file lies. */
static void tell_plan(struct tool_args *a, struct arena *text)
{
	struct mapped file;
	char hex[33];

	mapped_open(&file, plan_path);
	digest_hex(digest_bytes(file.p, file.n), hex);
	mapped_close(&file);
	a->options = arena_printf(text, "%s%s--plan=%s", a->options ? a->options : "", a->options && *a->options ? " " : "", hex);
}

static int fuse_main(const struct tool *t, struct tool_args *a)
{
	struct arena text = {0};
	struct outfile f;

	if (undo && (plan_path || written_path))
		die(EX_BADUSE, "--undo: there are no groups then, and no plan");
	if (plan_path)
		tell_plan(a, &text);
	int code = pass_main(t, a);
	if (written_path) {
		outfile_open(&f, written_path, false);
		plan_text_write(&made, f.f);
		outfile_close(&f);
	}
	plan_text_free(&made);
	arena_release(&text);
	return code;
}

const struct tool tool = {
	.name = "ge-fuse",
	.summary = "Group the nodes of a graph into kernels.",
	.args_doc = "[FILE]",
	.flags = TOOL_OUT | TOOL_WHY | TOOL_IN_STREAM,
	.max_files = 1,
	.run = fuse_main,
	.data = &pass,
	.options = options,
	.option = option,
};
