/* ge-join: a kernel becomes part of the one that reads its result, where that is faster by the cost model. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "common/map.h"
#include "common/option.h"
#include "graph/fused.h"
#include "lower/lower.h"
#include "op/pass.h"
#include "op/task.h"
#include "sched/schedule.h"
#include "search/predict.h"
#include "target/target.h"

enum { OPT_TARGET = 1000 };
static struct target target;

/* The tasks of the graph, and what is known of kernels that two of them make. */
struct joining {
	struct module *m;
	const struct pass_ctx *c;
	struct arena *a;
	struct task_list tasks;
	struct map task_of;     /* node -> 1 + its task */
	struct map known;       /* 1 + text of a joined kernel -> 1 + where its seconds are */
	VEC(double) joined_for; /* seconds of joined kernels; 0: none of its products is computed line by line */
	double *seconds;        /* of a task, by its default schedule; 0: not asked yet */
	uint32_t joined;
};

static double seconds_of_task(struct joining *q, node_id n)
{
	uint32_t task = map_get(&q->task_of, n) - 1;

	if (!q->seconds[task])
		q->seconds[task] = group_seconds(q->m, n, &target);
	return q->seconds[task];
}

static double seconds_of_joined(struct joining *q, node_id joined)
{
	const char *why;
	struct lowered l = lower_sketch(q->m, joined, &target, NULL, &why);
	double seconds = l.prog && schedule_has_producer(l.prog) ? program_seconds(l.prog) : 0;

	if (l.prog)
		prog_free(l.prog);
	return seconds;
}

/* Seconds of the two as one kernel, of copies that nothing refers to; 0: joining them is out of the question. */
static double ask_pair(struct joining *q, node_id a, node_id b)
{
	node_id joined = fused_join(q->m, a, b, "?");
	const char *why, *text = task_text(q->m, joined, q->a, &why);
	uint32_t key = text ? intern(text) + 1 : 0, at = text ? map_get(&q->known, key) : 0;

	if (!text)
		return 0;
	if (!at) {
		vec_push(&q->joined_for, seconds_of_joined(q, joined));
		map_set(&q->known, key, at = (uint32_t)q->joined_for.n);
	}
	return q->joined_for.a[at - 1];
}

static int count_anchors(struct module *m, node_id fused)
{
	const struct graph *g = graph(m, attr_graph(node(m, fused), "graph"));
	int n = 0;

	for (size_t i = 0; i < g->nodes.n; i++)
		n += op_is(node(m, g->nodes.a[i])->op, OP_ANCHOR);
	return n;
}

/* Does a node of the body make each result? */
static bool makes_results(struct module *m, node_id fused)
{
	const struct graph *g = graph(m, attr_graph(node(m, fused), "graph"));
	bool makes = true;

	for (size_t k = 0; k < g->out.n; k++)
		makes &= val(m, g->out.a[k])->kind == VAL_NODE;
	return makes;
}

/* May the kernel be joined with another one? It has a task and no trace, and is not joined yet. */
static bool may_join(struct joining *q, node_id n)
{
	return node(q->m, n)->op == OP_Fused && map_get(&q->task_of, n) && !attr_find(node(q->m, n), "trace") && makes_results(q->m, n) &&
	       count_anchors(q->m, n) == 1;
}

/* The kernel that alone reads the only result of n; 0: there is none. */
static node_id sole_reader(struct joining *q, const struct uses *u, node_id n)
{
	val_id v = node(q->m, n)->nout == 1 ? node(q->m, n)->out[0] : 0;
	node_id reader = v && uses_count(u, v) == 1 && !u->nout[v] ? u->user[u->start[v]] : 0;

	return reader && node(q->m, reader)->graph == node(q->m, n)->graph ? reader : 0;
}

/* The joined node has the results of b, and b's place. */
static void take_place(struct joining *q, node_id a, node_id b, bool *dead)
{
	struct module *m = q->m;
	node_id x = fused_join(m, a, b, "");
	struct graph *g = graph(m, node(m, b)->graph);

	memcpy(node(m, x)->out, node(m, b)->out, node(m, b)->nout * sizeof *node(m, b)->out);
	for (uint32_t k = 0; k < node(m, x)->nout; k++)
		val(m, node(m, x)->out[k])->def = x;
	for (size_t i = 0; i < g->nodes.n; i++)
		if (g->nodes.a[i] == b)
			g->nodes.a[i] = x;
	dead[a] = true;
	q->joined++;
}

static void join_graph(struct joining *q, graph_id g)
{
	struct module *m = q->m;
	size_t n = graph(m, g)->nodes.n, before = m->nodes.n;
	node_id *list = xcalloc(n + 1, sizeof *list);
	bool *dead = xcalloc(before, sizeof *dead);
	struct uses u = uses_new(m);

	memcpy(list, graph(m, g)->nodes.a, n * sizeof *list);
	for (size_t i = 0; i < n; i++) {
		node_id a = list[i], b = may_join(q, a) ? sole_reader(q, &u, a) : 0;
		if (dead[a] || !b || dead[b] || !may_join(q, b))
			continue;
		double joined = ask_pair(q, a, b), apart = joined > 0 ? seconds_of_task(q, a) + seconds_of_task(q, b) : 0;
		bool yes = joined > 0 && joined < apart;
		if (joined > 0)
			pass_why(q->c, m, a, "%s into %s: %.3f of the time of the two apart", yes ? "joined" : "not joined",
				 node_where(m, b, &m->arena), joined / apart);
		if (!yes)
			continue;
		take_place(q, a, b, dead);
		dead[b] = true; /* its place is taken */
	}
	bool *gone = xcalloc(m->nodes.n, sizeof *gone);
	memcpy(gone, dead, before * sizeof *dead);
	module_drop_nodes(m, gone);
	uses_free(&u);
	free(gone);
	free(dead);
	free(list);
}

static void join(struct module *m, const struct pass_ctx *c)
{
	struct arena a = {0};
	struct joining q = {.m = m, .c = c, .a = &a};

	if (!target.cores)
		target = *target_host();
	task_list_make(&q.tasks, m, &a);
	q.seconds = ARENA_ARRAY(&a, double, q.tasks.n + 1);
	for (size_t i = 0; i < q.tasks.n; i++)
		for (uint32_t k = 0; k < q.tasks.a[i].count; k++)
			map_set(&q.task_of, q.tasks.a[i].node[k], (uint32_t)i + 1);
	join_graph(&q, m->main);
	if (q.joined) {
		task_settle(m, m->main);
		note("%" PRIu32 " %s another one line by line", q.joined, q.joined == 1 ? "kernel computes" : "kernels compute");
	}
	task_list_free(&q.tasks);
	map_free(&q.task_of);
	map_free(&q.known);
	vec_free(&q.joined_for);
	arena_release(&a);
}

static error_t option(int key, char *arg)
{
	if (key != OPT_TARGET)
		return ARGP_ERR_UNKNOWN;
	if (!target_find(arg, &target))
		die(EX_BADUSE, "--target=%s: %s", arg, target_why_not(arg));
	return 0;
}

static const struct pass pass = {
	.run = join,
	.contract =
		"Needs Fused nodes and their layouts (ge-fuse, ge-layout); those of sizes that vary, and those that have a trace, stay. "
		"Joins Fused nodes, a kernel and the only one that reads its result. Keeps what is computed.",
};

static const struct argp_option options[] = {
	{"target", OPT_TARGET, "NAME", 0, "for this target: %s (default: native)", 0},
	{0},
};

static const char *names(int key) { return target_names(); }

const struct tool tool = {
	.name = "ge-join",
	.summary = "Join kernels with those that read their results, where that is faster.",
	.args_doc = "[FILE]",
	.flags = TOOL_OUT | TOOL_WHY | TOOL_IN_STREAM,
	.max_files = 1,
	.run = pass_main,
	.data = &pass,
	.options = options,
	.option = option,
	.names = names,
};
