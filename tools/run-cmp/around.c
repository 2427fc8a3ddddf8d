#include "around.h"
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "graph/bodies.h"
#include "graph/pass.h"
#include "op/op.h"

enum { SIZE_UNKNOWN = 2 }; /* extents of results that depend on data */

struct cutter {
	struct module *m;
	struct around *a;
	bool *unknown; /* by value: nothing of that type can be made up */
	bool *dark;    /* by node: is cut */
	bool *made_up; /* by value */
	int *number;   /* by node that is cut: which it is in the reference */
	bool is_reference;
};

static bool has_evaluator(struct module *m, const struct node *n)
{
	graph_id b;
	if (op_unable(m, n))
		return false;
	for (uint32_t k = 0; (b = node_body(n, k)); k++)
		for (size_t i = 0; i < graph(m, b)->nodes.n; i++)
			if (!has_evaluator(m, node(m, graph(m, b)->nodes.a[i])))
				return false;
	return true;
}

static bool can_be_made(const struct type *t)
{
	return !t->other && t->rank != RANK_UNKNOWN && (dtype_size(t->dtype) || t->dtype == DT_STR) && t->dtype != DT_C64 &&
	       t->dtype != DT_C128;
}

static sym op_of(const struct node *n) { return n->op == OP_OTHER ? n->optype : intern(op_name(n->op)); }

/* The number of a node in the reference, by operator and name, the first that has no partner yet; -1: none. */
static int number(struct cutter *c, const struct node *n)
{
	struct around_node x = {.op = op_of(n), .name = n->name};
	if (c->is_reference) {
		vec_push(&c->a->nodes, x);
		return (int)c->a->nodes.n - 1;
	}
	for (size_t i = 0; i < c->a->nodes.n; i++) {
		struct around_node *y = &c->a->nodes.a[i];
		if (!y->paired && y->op == x.op && y->name == x.name) {
			y->paired = true;
			return (int)i;
		}
	}
	return -1;
}

/* A result of a node that is cut: of the reference what its type allows, of the other model what was made up there. */
static bool is_unknown(struct cutter *c, val_id v, int k, uint32_t i)
{
	struct type *t = &val(c->m, v)->type;
	if (c->is_reference)
		return i >= AROUND_RESULTS || !can_be_made(t);
	const struct type *made = k >= 0 && i < AROUND_RESULTS ? c->a->nodes.a[k].made[i] : NULL;
	int64_t dims[RANK_MAX];
	if (!made || !type_dims(c->a->reference, made, dims))
		return true;
	*t = type_make(c->m, made->dtype, made->rank, dims);
	return false;
}

static void find(struct cutter *c)
{
	struct module *m = c->m;
	struct graph *g = graph(m, m->main);
	for (size_t i = 0; i < g->in.n; i++)
		c->unknown[g->in.a[i]] = val(m, g->in.a[i])->type.other != 0;
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = node(m, g->nodes.a[i]);
		bool dark = c->dark[g->nodes.a[i]] || !has_evaluator(m, n);
		for (uint32_t k = 0; k < n->nin; k++)
			dark |= n->in[k] && c->unknown[n->in[k]];
		c->dark[g->nodes.a[i]] = dark;
		if (!dark)
			continue;
		c->number[g->nodes.a[i]] = number(c, n);
		for (uint32_t k = 0; k < n->nout; k++)
			if (n->out[k])
				c->unknown[n->out[k]] = is_unknown(c, n->out[k], c->number[g->nodes.a[i]], k);
	}
}

static void becomes_input(struct module *m, val_id v, sym name)
{
	struct value *x = val(m, v);
	struct graph *g = graph(m, m->main);
	for (int k = 0; k < x->type.rank; k++)
		if (!poly_is_const(m->dims, x->type.dims[k], NULL))
			x->type.dims[k] = poly_const(m->dims, SIZE_UNKNOWN);
	x->kind = VAL_INPUT;
	x->def = 0;
	x->index = (uint32_t)g->in.n;
	x->name = name;
	vec_push(&g->in, v);
}

static void cut(struct cutter *c, node_id id)
{
	struct module *m = c->m;
	int k = c->number[id];
	if (k < 0)
		c->a->lost = node_where(m, id, &m->arena);
	for (uint32_t i = 0; i < node(m, id)->nin; i++) {
		val_id v = node(m, id)->in[i];
		if (v && !c->unknown[v])
			graph_add_output(m, m->main, v, intern_printf("operand %u of %s %d", i, sym_str(op_of(node(m, id))), k));
	}
	for (uint32_t i = 0; i < node(m, id)->nout; i++) {
		val_id v = node(m, id)->out[i];
		if (!v || c->unknown[v])
			continue;
		c->made_up[v] = true;
		becomes_input(m, v, intern_printf("result %u of %s %d", i, sym_str(op_of(node(m, id))), k));
		if (c->is_reference)
			c->a->nodes.a[k].made[i] = arena_copy(&m->arena, &val(m, v)->type, sizeof(struct type));
	}
}

static void drop_unknown(struct cutter *c)
{
	struct graph *g = graph(c->m, c->m->main);
	size_t kept = 0;
	for (size_t i = 0; i < g->out.n; i++) {
		if (c->unknown[g->out.a[i]] || c->made_up[g->out.a[i]])
			continue;
		g->out_name.a[kept] = g->out_name.a[i];
		g->out.a[kept++] = g->out.a[i];
	}
	g->out.n = g->out_name.n = kept;
	kept = 0;
	for (size_t i = 0; i < g->in.n; i++) {
		if (c->unknown[g->in.a[i]])
			continue;
		val(c->m, g->in.a[i])->index = (uint32_t)kept;
		g->in.a[kept++] = g->in.a[i];
	}
	g->in.n = kept;
}

int around_cut(struct module *m, struct around *a, bool reference)
{
	struct cutter c = {m,
			   a,
			   xcalloc(m->values.n, sizeof *c.unknown),
			   xcalloc(m->nodes.n, sizeof *c.dark),
			   xcalloc(m->values.n, sizeof *c.made_up),
			   xcalloc(m->nodes.n, sizeof *c.number),
			   reference};
	struct graph *g = graph(m, m->main);
	int count = 0;
	for (size_t i = 0; i < a->failed.n && reference; i++)
		c.dark[a->failed.a[i]] = true;
	if (reference) {
		a->nodes.n = 0;
		a->reference = m;
	}
	/* In the other model what failed in the reference is known by operator and name. */
	for (size_t i = 0; i < g->nodes.n && !reference; i++)
		for (size_t k = 0; k < a->nodes.n; k++)
			c.dark[g->nodes.a[i]] |= a->nodes.a[k].op == op_of(node(m, g->nodes.a[i])) && a->nodes.a[k].name &&
						 a->nodes.a[k].name == node(m, g->nodes.a[i])->name;
	find(&c);
	for (size_t i = 0; i < g->nodes.n; i++)
		if (c.dark[g->nodes.a[i]]) {
			cut(&c, g->nodes.a[i]);
			count++;
		}
	module_drop_nodes(m, c.dark);
	drop_unknown(&c);
	if (count)
		infer_module(m, NULL);
	free(c.unknown);
	free(c.dark);
	free(c.made_up);
	free(c.number);
	return count;
}

node_id around_named(struct module *m, const char *why)
{
	struct graph *g = graph(m, m->main);
	struct arena a = {0};
	node_id hit = 0;
	for (size_t i = 0; i < g->nodes.n && !hit; i++) {
		const char *where = node_where(m, g->nodes.a[i], &a), *at = strstr(why, where);
		if (at && at[strlen(where)] == ':')
			hit = g->nodes.a[i];
	}
	arena_release(&a);
	return hit;
}
