/* Plans as text: groups that are given, and those that the rules made. */
#include <stdarg.h>
#include <string.h>
#include "common/shown.h"
#include "fuse.h"
#include "graph/fused.h"
#include "graph/stream.h"

static const char *path; /* NULL: none is given */
static struct plan_text given;
static bool *taken; /* group of it: its graph was met */

#define REFUSE(g, ...) refuse((g)->line, __VA_ARGS__)
static noreturn void refuse(size_t line, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static noreturn void refuse(size_t line, const char *fmt, ...)
{
	char reason[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, sizeof reason, fmt, ap);
	va_end(ap);
	die(EX_BADDATA, "%s:%zu: %s", path, line, reason);
}

void plan_begin(const char *file, struct module *m)
{
	if (!path)
		plan_text_read(&given, file);
	path = file;
	if (!digest_eq(given.of, module_digest(m)))
		die(EX_BADDATA, "%s: a plan of another graph than %s; ge-stat --digest names a graph", path,
		    m->source ? m->source : "this one");
	free(taken);
	taken = xcalloc(given.group.n, sizeof *taken);
}

static int by_name(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Names of nodes of a graph, sorted, each with its node behind it. */
static uint64_t *list_names(struct module *m, graph_id g, size_t *n)
{
	const struct graph *x = graph(m, g);
	uint64_t *list = xcalloc(x->nodes.n + 1, sizeof *list);

	*n = 0;
	for (size_t i = 0; i < x->nodes.n; i++) {
		val_id v = plan_result(node(m, x->nodes.a[i]));
		if (v)
			list[(*n)++] = (uint64_t)val(m, v)->name << 32 | x->nodes.a[i];
	}
	qsort(list, *n, sizeof *list, by_name);
	return list;
}

static node_id find_named(const uint64_t *list, size_t n, sym name)
{
	size_t lo = 0;

	for (size_t hi = n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;
		if (list[mid] >> 32 < name)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && list[lo] >> 32 == name ? (node_id)list[lo] : 0;
}

static void join_named(struct plan *p, const struct plan_group *x, sym name, node_id n, bool first)
{
	const char *what = shown(sym_str(name));

	if (!n)
		REFUSE(x, "no node of graph %s has the result %s", shown(sym_str(x->graph)), what);
	if (p->group[n])
		REFUSE(x, "%s is in a group already", what);
	if (!may_be_grouped(p, n))
		REFUSE(x, "%s is in no group: a view, a control operator, or unknown", what);
	if (x->node.n > 1 && !has_kernel(p->m, n))
		REFUSE(x, "%s has no kernel: it is a group of its own", what);
	if (first)
		group_new(p, n);
	else
		p->group[n] = (uint32_t)p->head.n - 1;
	p->line[p->head.n - 1] = x->line;
	p->row_major[p->head.n - 1] = x->row_major;
	p->threads[p->head.n - 1] = x->threads;
}

void plan_apply(struct plan *p, graph_id g, uint32_t ordinal)
{
	size_t nname;

	if (!path)
		return;
	uint64_t *list = list_names(p->m, g, &nname);
	memset(p->line, 0, p->m->nodes.n * sizeof *p->line);
	memset(p->row_major, 0, p->m->nodes.n * sizeof *p->row_major);
	memset(p->threads, 0, p->m->nodes.n * sizeof *p->threads);
	for (size_t i = 0; i < given.group.n; i++) {
		const struct plan_group *x = &given.group.a[i];
		if (x->graph != graph(p->m, g)->name || x->ordinal != ordinal)
			continue;
		taken[i] = true;
		for (size_t k = 0; k < x->node.n; k++)
			join_named(p, x, x->node.a[k], find_named(list, nname, x->node.a[k]), k == 0);
	}
	free(list);
}

void plan_end(void)
{
	for (size_t i = 0; i < given.group.n; i++)
		if (!taken[i])
			REFUSE(&given.group.a[i], "no such graph: %s", shown(sym_str(given.group.a[i].graph)));
}

/* ---- order ---- */

static node_id maker(struct module *m, graph_id g, val_id v)
{
	return v && val(m, v)->kind == VAL_NODE && val(m, v)->graph == g ? val(m, v)->def : 0;
}

/* The nodes of a cycle that `start` is on, by who reads them: next[start] reads start, and so on around. */
static node_id *find_cycle(struct module *m, graph_id g, node_id start)
{
	node_id *next = xcalloc(m->nodes.n, sizeof *next);
	VEC(node_id) open = {0};

	vec_push(&open, start);
	while (open.n && !next[start]) {
		node_id n = open.a[--open.n];
		for (uint32_t i = 0; i < node(m, n)->nin && !next[start]; i++) {
			node_id d = maker(m, g, node(m, n)->in[i]);
			if (!d || next[d])
				continue;
			next[d] = n;
			vec_push(&open, d);
		}
	}
	vec_free(&open);
	return next;
}

void plan_order(struct plan *p, graph_id g)
{
	struct module *m = p->m;
	node_id start = path ? graph_sort(m, g) : 0, n = start;
	size_t line = 0;

	if (!start)
		return;
	size_t *of = xcalloc(m->graphs.n, sizeof *of); /* body: the line of its group */
	for (size_t k = 1; k < p->head.n; k++)
		of[node(m, p->head.a[k])->graph] = p->line[k];
	node_id *next = find_cycle(m, g, start);
	do {
		size_t its = node(m, n)->op == OP_Fused ? of[attr_graph(node(m, n), "graph")] : 0;
		line = !line || (its && its < line) ? its : line;
		n = next[n];
	} while (n != start);
	refuse(line, "the group waits for its own results: what lies between its nodes is not in it");
}

void plan_mark(const struct plan *p, graph_id g)
{
	struct module *m = p->m;
	uint32_t *group = xcalloc(m->graphs.n, sizeof *group); /* body: its group */

	for (size_t k = 1; k < p->head.n; k++)
		group[node(m, p->head.a[k])->graph] = (uint32_t)k;
	for (size_t i = 0; i < graph(m, g)->nodes.n; i++) {
		node_id n = graph(m, g)->nodes.a[i];
		uint32_t k = node(m, n)->op == OP_Fused ? group[attr_graph(node(m, n), "graph")] : 0;
		if (k && p->row_major[k])
			fused_set_row_major(m, n);
		if (k && p->threads[k])
			fused_set_threads(m, n, p->threads[k]);
	}
	free(group);
}

/* ---- what the rules made ---- */

void plan_note(const struct plan *p, graph_id g, uint32_t ordinal, struct plan_text *out)
{
	struct module *m = p->m;
	const struct graph *x = graph(m, g);
	size_t *at = xcalloc(p->head.n, sizeof *at); /* group: its place in the text */

	for (int others = 0; others < 2; others++)
		for (size_t i = 0; i < x->nodes.n; i++) {
			node_id n = x->nodes.a[i];
			uint32_t k = p->group[n];
			if (!k || (n != p->head.a[k]) != others)
				continue;
			if (!others) {
				struct plan_group *its = plan_text_add(out, x->name, ordinal);
				its->row_major = p->row_major[k];
				its->threads = p->threads[k];
				at[k] = out->group.n - 1;
			}
			vec_push(&out->group.a[at[k]].node, val(m, plan_result(node(m, n)))->name);
		}
	free(at);
}
