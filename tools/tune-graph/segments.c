/* Cutting a model into segments, and putting the winners together. */
#include <string.h>
#include "common/map.h"
#include "graph/fused.h"
#include "graph/stream.h"
#include "op/task.h"
#include "tune-graph.h"

enum {
	GROUPS_LEAST = 3, /* of a segment, if a cut is to end it */
	GROUPS_MOST = 12, /* then it ends where fewest values pass */
	STATEMENTS_MOST = 96,
};

struct cutting {
	struct module *m;
	uint32_t *group; /* node: by the rules, from 1; 0: none */
	uint32_t *unit;  /* node: which group, or node outside of all, in the order in which they run */
	uint32_t units;
	bool *is_group;    /* unit */
	bool *computes;    /* unit: it does more than move bytes */
	uint32_t *live;    /* unit: values that are made up to it and read after it */
	uint32_t *segment; /* unit: its segment, from 1 */
	uint32_t segments;
	struct map layout; /* name + 1 of a value between groups: its layout */
	const sym *name;   /* node: what it is called in a plan */
};

static struct module *read_module(const char *path)
{
	struct stream_reader *r = stream_open(path);
	struct module *m = stream_read_only(r);

	stream_close(r);
	return m;
}

static const struct graph *nodes_of(struct module *m) { return graph(m, m->main); }

/* Which of the graphs of its name the main one is: it comes last. */
static uint32_t main_ordinal(struct module *m)
{
	struct graph_list list = {0};
	uint32_t n = 0;

	module_graph_order(m, &list);
	for (size_t i = 0; i < list.n; i++)
		n += graph(m, list.a[i])->name == nodes_of(m)->name;
	vec_free(&list);
	return n;
}

/* Groups of the main graph. */
static void read_groups(struct cutting *c, const struct plan_text *usual)
{
	struct map at = {0};
	uint32_t k = 0, ordinal = main_ordinal(c->m);

	for (size_t i = 0; i < nodes_of(c->m)->nodes.n; i++) {
		val_id v = plan_result(node(c->m, nodes_of(c->m)->nodes.a[i]));
		if (v)
			map_set(&at, val(c->m, v)->name + 1, nodes_of(c->m)->nodes.a[i]);
	}
	for (size_t i = 0; i < usual->group.n; i++) {
		const struct plan_group *g = &usual->group.a[i];
		if (g->graph != nodes_of(c->m)->name || g->ordinal != ordinal)
			continue;
		k++;
		for (size_t j = 0; j < g->node.n; j++) {
			node_id n = map_get(&at, g->node.a[j] + 1);
			if (n)
				c->group[n] = k;
		}
	}
	map_free(&at);
}

/* A group runs where its last node stands. */
static void number_units(struct cutting *c)
{
	const struct graph *g = nodes_of(c->m);
	size_t *last = xcalloc(g->nodes.n + 1, sizeof *last);
	uint32_t *of = xcalloc(g->nodes.n + 1, sizeof *of);

	for (size_t i = 0; i < g->nodes.n; i++)
		last[c->group[g->nodes.a[i]]] = i;
	for (size_t i = 0; i < g->nodes.n; i++) {
		uint32_t k = c->group[g->nodes.a[i]];
		if (k && last[k] != i)
			continue;
		c->is_group[c->units] = k;
		of[k] = c->units;
		c->unit[g->nodes.a[i]] = c->units++;
	}
	for (size_t i = 0; i < g->nodes.n; i++) {
		node_id n = g->nodes.a[i];
		if (c->group[n])
			c->unit[n] = of[c->group[n]];
		c->computes[c->unit[n]] |= !op_is(node(c->m, n)->op, OP_MOVE) && !op_is(node(c->m, n)->op, OP_VIEW);
	}
	free(last);
	free(of);
}

/* Counts the values that are alive after each unit; an input, from its first reader on. After a unit that only moves bytes all values count, so
 * that no segment ends there: in the model such copies are free, at a segment's end they are not. */
static void count_live(struct cutting *c)
{
	struct module *m = c->m;
	struct uses u = uses_new(m);

	for (val_id v = 1; v < m->values.n; v++) {
		const struct value *x = val(m, v);
		if (x->kind == VAL_CONST || x->graph != m->main || u.start[v] == u.start[v + 1])
			continue;
		uint32_t from = x->kind == VAL_NODE ? c->unit[x->def] : UINT32_MAX, to = 0;
		for (uint32_t i = u.start[v]; i < u.start[v + 1]; i++) {
			uint32_t at = c->unit[u.user[i]];
			to = at > to ? at : to;
			from = at < from && x->kind == VAL_INPUT ? at : from;
		}
		for (uint32_t i = from; i < to; i++)
			c->live[i]++;
	}
	for (uint32_t i = 0; i < c->units; i++)
		c->live[i] += c->computes[i] ? 0 : c->units;
	uses_free(&u);
}

/* Ends a segment at the first unit after GROUPS_LEAST groups with one live value; after GROUPS_MOST groups, at the unit with the fewest. */
static void choose_cuts(struct cutting *c)
{
	uint32_t begin = 0, groups = 0, best = UINT32_MAX;

	for (uint32_t i = 0; i < c->units; i++) {
		groups += c->is_group[i];
		if (groups >= GROUPS_LEAST && (best == UINT32_MAX || c->live[i] <= c->live[best]))
			best = i;
		bool ends = best != UINT32_MAX && (c->live[best] <= 1 || groups >= GROUPS_MOST);
		if (!ends && i + 1 < c->units)
			continue;
		i = ends ? best : i;
		for (c->segments++; begin <= i; begin++)
			c->segment[begin] = c->segments;
		groups = 0;
		best = UINT32_MAX;
	}
}

/* ---- texts ---- */

/* Layouts of values between groups, by name. */
static struct map read_layouts(const char *laid)
{
	struct module *m = read_module(laid);
	struct map layout = {0};

	for (val_id v = 1; v < m->values.n; v++)
		if (val(m, v)->kind != VAL_CONST && val(m, v)->graph == m->main && val(m, v)->type.layout)
			map_set(&layout, val(m, v)->name + 1, val(m, v)->type.layout);
	module_free(m);
	return layout;
}

static const struct graph *body_of(struct module *m, node_id fused) { return graph(m, attr_graph(node(m, fused), "graph")); }

/* Lays a segment's ends out. */
static void lay(struct module *m, node_id fused, const struct map *layout, enum cut_state before, enum cut_state after)
{
	const struct graph *body = body_of(m, fused);

	for (size_t i = 0; i < body->in.n; i++)
		val(m, body->in.a[i])->type.layout = before == CUT_USUAL ? map_get(layout, val(m, body->in.a[i])->name + 1) : 0;
	for (size_t i = 0; i < body->out.n; i++)
		val(m, body->out.a[i])->type.layout = after == CUT_USUAL ? map_get(layout, val(m, body->out.a[i])->name + 1) : 0;
}

static uint32_t find_segment(struct segments *s, const char *text)
{
	for (size_t i = 0; i < s->a.n; i++)
		if (!strcmp(s->a.a[i].text, text))
			return (uint32_t)i;
	vec_push(&s->a, (struct segment){.text = text});
	return (uint32_t)s->a.n - 1;
}

/* How the results of a statement leave, of which some are laid out otherwise than row-major if the cut has its usual state. */
static enum leaves leaves(const struct cutting *c, const struct graph *body, node_id n, enum cut_state after)
{
	for (size_t i = 0; i < body->out.n; i++) {
		const struct value *v = val(c->m, body->out.a[i]);
		if (v->kind == VAL_NODE && v->def == n && map_get(&c->layout, v->name + 1))
			return after == CUT_USUAL ? LEAVES_USUAL : LEAVES_ROWS;
	}
	return LEAVES_NOT;
}

/* Place k (from 0) of a segment, laid out and settled. */
static void add_part(struct segments *out, const struct cutting *c, node_id fused, enum cut_state before, enum cut_state after,
		     struct arena *a)
{
	const char *why, *text = task_text(c->m, fused, a, &why);
	const struct graph *body = body_of(c->m, fused);
	uint32_t n = (uint32_t)body->nodes.n, of = text ? find_segment(out, text) : NO_SEGMENT;
	struct way *w = &out->place.a[c->segment[c->unit[body->nodes.a[0]]] - 1].way[before][after];

	out->left_out += !text && !before && !after;
	if (!text)
		return;
	struct segment *s = &out->a.a[of];
	sym *names = ARENA_ARRAY(a, sym, n);
	uint8_t *leaving = ARENA_ARRAY(a, uint8_t, n);
	uint32_t *usual = ARENA_ARRAY(a, uint32_t, n);
	for (uint32_t i = 0; i < n; i++) {
		names[i] = c->name[body->nodes.a[i]];
		leaving[i] = (uint8_t)leaves(c, body, body->nodes.a[i], after);
		usual[i] = c->group[body->nodes.a[i]];
	}
	*w = (struct way){of, names, leaving};
	s->places += (!before && !after) || of >= out->usual;
	if (s->usual.group)
		return;
	choice_settle(usual, n);
	s->n = n;
	s->usual.group = usual;
}

/* Segments with two groups or more become Fused nodes. */
static void form_segments(struct cutting *c)
{
	struct module *m = c->m;
	const struct graph *g = nodes_of(m);
	struct uses uses = uses_new(m);
	uint32_t *groups = xcalloc(c->segments + 2, sizeof *groups), *nodes = xcalloc(c->segments + 2, sizeof *nodes);
	uint32_t *of = xcalloc(m->nodes.n, sizeof *of);
	node_id *head = xcalloc(c->segments + 2, sizeof *head);
	val_id *inner = xcalloc(m->values.n, sizeof *inner);

	for (uint32_t i = 0; i < c->units; i++)
		groups[c->segment[i]] += c->is_group[i];
	for (size_t i = 0; i < g->nodes.n; i++)
		nodes[c->segment[c->unit[g->nodes.a[i]]]]++;
	for (size_t i = 0; i < g->nodes.n; i++) {
		node_id n = g->nodes.a[i];
		uint32_t k = c->segment[c->unit[n]];
		if (groups[k] < 2 || nodes[k] > STATEMENTS_MOST)
			continue;
		of[n] = k;
		head[k] = n;
	}
	groups_form(m, m->main, &(struct grouping){&uses, of, head, c->segments + 1, inner});
	if (graph_sort(m, m->main))
		BUG("segments wait for each other");
	uses_free(&uses);
	free(groups);
	free(nodes);
	free(of);
	free(head);
	free(inner);
}

static bool is_segment(struct module *m, node_id n, size_t old) { return node(m, n)->op == OP_Fused && n >= old; }

/* Which cuts images pass whose layout can be another. */
static void find_turns(struct segments *out, const struct cutting *c)
{
	struct module *m = c->m;
	struct uses u = uses_new(m);

	vec_reserve(&out->place, c->segments);
	for (uint32_t k = 0; k < c->segments; k++) {
		struct place p = {0};
		for (int i = 0; i < CUT_STATES * CUT_STATES; i++)
			p.way[i / CUT_STATES][i % CUT_STATES].segment = NO_SEGMENT;
		vec_push(&out->place, p);
	}
	for (val_id v = 1; v < m->values.n; v++) {
		const struct value *x = val(m, v);
		if (x->kind != VAL_NODE || x->graph != m->main || !map_get(&c->layout, x->name + 1))
			continue;
		uint32_t from = c->segment[c->unit[x->def]], to = from;
		for (uint32_t i = u.start[v]; i < u.start[v + 1]; i++) {
			uint32_t at = c->segment[c->unit[u.user[i]]];
			to = at > to ? at : to;
		}
		for (uint32_t k = from; k < to; k++) {
			out->place.a[k - 1].turns = true;
			out->place.a[k - 1].tied |= k > from;
		}
	}
	uses_free(&u);
}

/* Are there such images before and after place k in these states, and may they be so together? */
static bool can_be(const struct segments *s, size_t k, enum cut_state before, enum cut_state after)
{
	const struct place *p = &s->place.a[k];

	return (!before || (k && p[-1].turns)) && (!after || p->turns) && (!p->tied || before == after);
}

static void add_parts(struct segments *out, const struct cutting *c, size_t old, enum cut_state before, enum cut_state after,
		      struct arena *a)
{
	const struct graph *g = nodes_of(c->m);

	for (size_t i = 0; i < g->nodes.n; i++)
		if (is_segment(c->m, g->nodes.a[i], old))
			lay(c->m, g->nodes.a[i], &c->layout, before, after);
	task_settle(c->m, c->m->main);
	for (size_t i = 0; i < g->nodes.n; i++)
		if (is_segment(c->m, g->nodes.a[i], old) &&
		    can_be(out, c->segment[c->unit[body_of(c->m, g->nodes.a[i])->nodes.a[0]]] - 1, before, after))
			add_part(out, c, g->nodes.a[i], before, after, a);
}

/* The ways of all places; those between usual cuts first. */
static void add_ways(struct segments *out, const struct cutting *c, size_t old, struct arena *a)
{
	bool turns = false;

	for (size_t k = 0; k < out->place.n; k++)
		turns |= out->place.a[k].turns;
	out->usual = SIZE_MAX;
	add_parts(out, c, old, CUT_USUAL, CUT_USUAL, a);
	out->usual = out->a.n;
	for (size_t i = 0; i < out->usual; i++)
		out->a.a[i].wanted = true;
	for (int i = 1; turns && i < CUT_STATES * CUT_STATES; i++)
		add_parts(out, c, old, i / CUT_STATES, i % CUT_STATES, a);
}

void segments_cut(struct segments *out, const char *plain, const char *laid, const struct plan_text *usual, struct arena *a)
{
	struct module *m = read_module(plain);
	size_t n = m->nodes.n;
	sym *name = xcalloc(n, sizeof *name);
	struct cutting c = {.m = m,
			    .group = xcalloc(n, sizeof *c.group),
			    .unit = xcalloc(n, sizeof *c.unit),
			    .is_group = xcalloc(n, sizeof *c.is_group),
			    .computes = xcalloc(n, sizeof *c.computes),
			    .live = xcalloc(n, sizeof *c.live),
			    .segment = xcalloc(n, sizeof *c.segment),
			    .layout = read_layouts(laid),
			    .name = name};

	for (size_t i = 0; i < nodes_of(m)->nodes.n; i++) {
		val_id v = plan_result(node(m, nodes_of(m)->nodes.a[i]));
		name[nodes_of(m)->nodes.a[i]] = v ? val(m, v)->name : 0;
	}
	read_groups(&c, usual);
	number_units(&c);
	count_live(&c);
	choose_cuts(&c);
	find_turns(out, &c);
	form_segments(&c);
	add_ways(out, &c, n, a);
	map_free(&c.layout);
	free(name);
	free(c.group);
	free(c.unit);
	free(c.is_group);
	free(c.computes);
	free(c.live);
	free(c.segment);
	module_free(m);
}

struct module *segment_module(const char *text, struct arena *a, const char **why)
{
	struct module *m = task_module(text, 1, a, why);
	const struct pass_ctx quiet = {0};

	if (!m)
		return NULL;
	groups_dissolve(m, m->main, &quiet);
	module_name_values(m);
	module_set_meta(m, META_PART, intern("1"));
	return m;
}

const uint32_t *segment_groups(struct module *m, const struct plan_text *plan, struct arena *a)
{
	const struct graph *g = nodes_of(m);
	uint32_t *group = ARENA_ARRAY(a, uint32_t, g->nodes.n + 1);
	struct map of = {0};

	for (size_t i = 0; i < plan->group.n; i++)
		for (size_t k = 0; k < plan->group.a[i].node.n; k++)
			map_set(&of, plan->group.a[i].node.a[k] + 1, (uint32_t)i + 1);
	for (size_t i = 0; i < g->nodes.n; i++)
		group[i] = map_get(&of, val(m, plan_result(node(m, g->nodes.a[i])))->name + 1);
	map_free(&of);
	choice_settle(group, (uint32_t)g->nodes.n);
	return group;
}

/* ---- the whole plan ---- */

/* Do the results of group g stay row-major? Those that leave lie as the cut says, those within as the choice says. */
static bool group_is_rows(const struct segment *s, const struct choice *c, const struct way *w, uint32_t g)
{
	bool rows = c->row_major, usual = false;

	for (uint32_t i = 0; i < s->n; i++) {
		rows |= c->group[i] == g && w->leaves[i] == LEAVES_ROWS;
		usual |= c->group[i] == g && w->leaves[i] == LEAVES_USUAL;
	}
	return rows && !usual;
}

static void plan_place(const struct segment *s, const struct way *w, sym graph, uint32_t ordinal, struct plan_text *out)
{
	const struct choice *c = s->won ? s->won : &s->usual;

	for (uint32_t g = 1; g <= s->n; g++) {
		struct plan_group *its = NULL;
		for (uint32_t i = 0; i < s->n; i++) {
			if (c->group[i] != g)
				continue;
			its = its ? its : plan_text_add(out, graph, ordinal);
			vec_push(&its->node, w->name[i]);
		}
		if (its) {
			its->row_major = group_is_rows(s, c, w, g);
			its->threads = choice_threads(c, s->n, g);
		}
	}
}

void segments_plan(const struct segments *s, const char *plain, struct plan_text *out)
{
	struct module *m = read_module(plain);
	uint32_t ordinal = main_ordinal(m);

	*out = (struct plan_text){.of = module_digest(m)};
	for (size_t k = 0; k < s->place.n; k++) {
		const struct way *w = path_way(s, k);
		if (w->segment != NO_SEGMENT && (s->a.a[w->segment].won || s->place.a[k].after))
			plan_place(&s->a.a[w->segment], w, nodes_of(m)->name, ordinal, out);
	}
	module_free(m);
}
