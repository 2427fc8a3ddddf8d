#include "view.h"
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "graph/bodies.h"
#include "graph/fused.h"
#include "graph/plan_text.h"

/* Where graphs and values are while a view is made. */
struct maker {
	struct view *v;
	struct graph_list order;
	node_id *caller; /* by graph: the node in whose place it is shown, 0 for none */
	uint32_t *item;  /* by node: its item */
	uint32_t *input; /* by value: the item of an input of the main graph */
	uint32_t *group; /* by node, if it is an open group */
};

static bool is_open(const struct maker *k, node_id n) { return !k->v->closed && node(k->v->m, n)->op == OP_Fused; }

/* ---- items ---- */

static void add_item(struct maker *k, node_id id, graph_id g, uint32_t group)
{
	struct module *m = k->v->m;
	const struct node *n = node(m, id);
	val_id first = plan_result(n);

	k->item[id] = (uint32_t)k->v->item.n;
	vec_push(&k->v->item, (struct item){.kind = ITEM_NODE,
					    .node = id,
					    .value = first,
					    .name = first ? val(m, first)->name : n->name,
					    .graph = g,
					    .group = group});
	k->v->group.a[group].nitem++;
}

static void add_group(struct maker *k, node_id id)
{
	k->group[id] = (uint32_t)k->v->group.n;
	vec_push(&k->v->group, (struct group){.node = id, .seconds = fused_seconds(k->v->m, id)});
}

/* A body is shown where the first node that calls it stands; of those within a group, in that group. */
struct place {
	graph_id graph;
	uint32_t next, body, group;
};

/* Bodies before their callers: no recursion, however deep a file nests them. */
static void add_nodes(struct maker *k)
{
	struct module *m = k->v->m;
	VEC(struct place) stack = {0};

	vec_push(&stack, (struct place){.graph = m->main});
	while (stack.n) {
		struct place *p = &stack.a[stack.n - 1];
		const struct graph *g = graph(m, p->graph);
		if (p->next == g->nodes.n) {
			stack.n--;
			continue;
		}
		node_id id = g->nodes.a[p->next];
		bool open = is_open(k, id), closed = !open && node(m, id)->op == OP_Fused;
		graph_id body = closed ? 0 : node_body(node(m, id), p->body++);
		if (body && k->caller[body] == id && (!open || p->body == 1)) {
			uint32_t group = p->group;
			if (open && !group) {
				add_group(k, id);
				group = k->group[id];
			}
			vec_push(&stack, (struct place){.graph = body, .group = group});
			continue;
		}
		if (body)
			continue;
		if (!open || k->caller[attr_graph(node(m, id), "graph")] != id)
			add_item(k, id, p->graph, p->group);
		p->body = 0;
		p->next++;
	}
	vec_free(&stack);
}

static void find_callers(struct maker *k)
{
	struct module *m = k->v->m;

	for (size_t i = k->order.n; i-- > 0;)
		for (size_t j = 0; j < graph(m, k->order.a[i])->nodes.n; j++) {
			node_id id = graph(m, k->order.a[i])->nodes.a[j];
			const struct node *n = node(m, id);
			graph_id body;
			for (uint32_t b = 0; (body = node_body(n, b)); b++)
				if (!k->caller[body])
					k->caller[body] = id;
			if (n->op == OP_Fused)
				k->v->seconds += fused_seconds(m, id);
		}
}

/* ---- lines ---- */

/* The operand of the caller that an input of its body is; 0: none. The last operands are the last inputs. */
static val_id passed(struct module *m, node_id caller, graph_id body, uint32_t input)
{
	const struct node *n = node(m, caller);
	int64_t at = (int64_t)n->nin - (int64_t)graph(m, body)->in.n + input;

	return at >= 0 && at < n->nin ? n->in[at] : 0;
}

/* The item that makes value v, 0 for none: through inputs of bodies to what is passed, through open groups to what makes their results. */
static uint32_t source(struct maker *k, val_id v)
{
	struct module *m = k->v->m;

	while (v) {
		const struct value *x = val(m, v);
		if (x->kind == VAL_CONST)
			return 0;
		if (x->kind == VAL_INPUT && x->graph == m->main)
			return k->input[v];
		if (x->kind == VAL_INPUT) {
			node_id caller = k->caller[x->graph];
			v = caller ? passed(m, caller, x->graph, x->index) : 0;
			continue;
		}
		if (k->item[x->def])
			return k->item[x->def];
		graph_id body = attr_graph(node(m, x->def), "graph");
		v = x->index < graph(m, body)->out.n ? graph(m, body)->out.a[x->index] : 0;
	}
	return 0;
}

static void add_line(struct maker *k, uint32_t to, val_id v)
{
	uint32_t from = source(k, v);

	if (from && from < to)
		vec_push(&k->v->line, (struct line){from, to, v});
}

/* A node reads its operands, and the results of the bodies that are shown in its place. */
static void add_lines(struct maker *k)
{
	struct view *v = k->v;

	for (uint32_t i = 1; i < v->item.n; i++) {
		const struct item *x = &v->item.a[i];
		if (x->kind == ITEM_OUTPUT)
			add_line(k, i, x->value);
		if (x->kind != ITEM_NODE)
			continue;
		const struct node *n = node(v->m, x->node);
		for (uint32_t j = 0; j < n->nin; j++)
			add_line(k, i, n->in[j]);
		graph_id body;
		for (uint32_t b = 0; !(v->closed && n->op == OP_Fused) && (body = node_body(n, b)); b++)
			for (size_t j = 0; k->caller[body] == x->node && j < graph(v->m, body)->out.n; j++)
				add_line(k, i, graph(v->m, body)->out.a[j]);
	}
}

/* ---- what is kept ---- */

/* Keeps items with keep[i] and the lines between them. */
static void keep_items(struct view *v, const bool *keep)
{
	uint32_t *now = xcalloc(v->item.n, sizeof *now), n = 1;
	size_t lines = 0;

	for (uint32_t i = 1; i < v->item.n; i++) {
		const struct item x = v->item.a[i];
		if (!keep[i]) {
			v->group.a[x.group].nitem--;
			v->hidden += x.kind == ITEM_NODE;
			continue;
		}
		now[i] = n;
		v->item.a[n++] = x;
	}
	v->item.n = n;
	for (size_t i = 0; i < v->line.n; i++) {
		struct line l = v->line.a[i];
		if (now[l.from] && now[l.to])
			v->line.a[lines++] = (struct line){now[l.from], now[l.to], l.value};
	}
	v->line.n = lines;
	free(now);
}

static void keep_first(struct view *v, size_t limit)
{
	bool *keep = xcalloc(v->item.n, sizeof *keep);

	for (size_t i = 1, nodes = 0, others = 0; i < v->item.n; i++)
		keep[i] = v->item.a[i].kind == ITEM_NODE ? nodes++ < limit : nodes <= limit && others++ < limit;
	keep_items(v, keep);
	free(keep);
}

static bool is_named(const struct view *v, const struct item *x, sym name)
{
	const struct node *n = x->kind == ITEM_NODE ? node(v->m, x->node) : NULL;
	const struct group *g = x->group ? &v->group.a[x->group] : NULL;

	if (x->name == name || (n && n->name == name) || (g && !strcmp(group_name(v, g), sym_str(name))))
		return true;
	for (uint32_t i = 0; n && i < n->nout; i++)
		if (n->out[i] && val(v->m, n->out[i])->name == name)
			return true;
	return false;
}

/* Each round takes the neighbours of what is there; lines are followed both ways. */
static void keep_around(struct view *v, const char *name, int steps)
{
	bool *keep = xcalloc(v->item.n, sizeof *keep), *next = xcalloc(v->item.n, sizeof *next), found = false;

	for (size_t i = 1; i < v->item.n; i++)
		found |= keep[i] = is_named(v, &v->item.a[i], intern(name));
	if (!found)
		die(EX_BADUSE, "--around: no node, group, input or output '%s'", name);
	for (bool grew = true; grew && steps > 0; steps--) {
		grew = false;
		memcpy(next, keep, v->item.n * sizeof *keep);
		for (size_t i = 0; i < v->line.n; i++) {
			struct line l = v->line.a[i];
			grew |= keep[l.from] != keep[l.to];
			next[l.from] |= keep[l.to];
			next[l.to] |= keep[l.from];
		}
		memcpy(keep, next, v->item.n * sizeof *keep);
	}
	keep_items(v, keep);
	free(keep);
	free(next);
}

/* ---- the whole ---- */

static void make(struct view *v)
{
	struct module *m = v->m;
	struct maker k = {.v = v};
	const struct graph *g = graph(m, m->main);

	module_graph_order(m, &k.order);
	k.caller = xcalloc(m->graphs.n, sizeof *k.caller);
	k.item = xcalloc(m->nodes.n, sizeof *k.item);
	k.group = xcalloc(m->nodes.n, sizeof *k.group);
	k.input = xcalloc(m->values.n, sizeof *k.input);
	vec_push(&v->item, (struct item){0});
	vec_push(&v->group, (struct group){0});
	for (size_t i = 0; i < g->in.n; i++) {
		k.input[g->in.a[i]] = (uint32_t)v->item.n;
		vec_push(&v->item, (struct item){.kind = ITEM_INPUT, .value = g->in.a[i], .name = val(m, g->in.a[i])->name});
	}
	find_callers(&k);
	add_nodes(&k);
	for (size_t i = 0; i < g->out.n; i++)
		vec_push(&v->item, (struct item){.kind = ITEM_OUTPUT, .value = g->out.a[i], .name = g->out_name.a[i]});
	add_lines(&k);
	vec_free(&k.order);
	free(k.caller);
	free(k.item);
	free(k.group);
	free(k.input);
}

/* Nodes of all graphs; *closed: of those that are in no group. */
static size_t count_nodes(struct module *m, size_t *closed)
{
	struct graph_list order = {0};
	bool *body = xcalloc(m->graphs.n, sizeof *body);
	size_t n = 0;

	module_graph_order(m, &order);
	for (size_t i = order.n; i-- > 0;) {
		const struct graph *g = graph(m, order.a[i]);
		n += g->nodes.n;
		*closed += body[order.a[i]] ? 0 : g->nodes.n;
		for (size_t j = 0; j < g->nodes.n; j++) {
			const struct node *x = node(m, g->nodes.a[j]);
			graph_id b;
			for (uint32_t k = 0; (b = node_body(x, k)); k++)
				body[b] |= x->op == OP_Fused || body[order.a[i]];
			n -= x->op == OP_Fused; /* its nodes are counted */
		}
	}
	free(body);
	vec_free(&order);
	return n;
}

struct view view_new(struct module *m, const struct view_opts *o)
{
	struct view v = {.m = m};
	size_t closed = 0;

	module_name_values(m);
	v.nodes = count_nodes(m, &closed);
	v.closed = !o->around && o->limit && v.nodes > o->limit && closed < v.nodes;
	make(&v);
	if (o->around)
		keep_around(&v, o->around, o->steps);
	if (o->limit && v.item.n > o->limit)
		keep_first(&v, o->limit);
	return v;
}

void view_free(struct view *v)
{
	vec_free(&v->item);
	vec_free(&v->group);
	vec_free(&v->line);
}

const char *item_op(const struct view *v, const struct item *x, struct arena *a)
{
	static const char *const words[] = {[ITEM_INPUT] = "input", [ITEM_OUTPUT] = "output"};

	if (x->kind != ITEM_NODE)
		return words[x->kind];
	const struct node *n = node(v->m, x->node);
	const char *name = node_op_name(n);
	const char *domain = n->op == OP_OTHER ? sym_str(n->domain) : op_info(n->op)->domain;
	return *domain ? arena_printf(a, "%s.%s", domain, name) : name;
}

const char *item_type(const struct view *v, const struct item *x, struct arena *a)
{
	const struct type *t = x->value ? &val(v->m, x->value)->type : NULL;

	if (!t || (t->dtype == DT_NONE && t->rank == RANK_UNKNOWN && !t->other))
		return "";
	return t->other ? sym_str(t->other) : type_str(v->m, t, a);
}

const char *seconds_text(double seconds, struct arena *a)
{
	return seconds <= 0     ? ""
	       : seconds < 1e-3 ? arena_printf(a, "%.3g us", 1e6 * seconds)
	       : seconds < 1    ? arena_printf(a, "%.3g ms", 1e3 * seconds)
				: arena_printf(a, "%.3g s", seconds);
}

const char *group_name(const struct view *v, const struct group *g)
{
	const struct node *n = node(v->m, g->node);
	val_id first = plan_result(n);

	return sym_str(n->name ? n->name : first ? val(v->m, first)->name : 0);
}
