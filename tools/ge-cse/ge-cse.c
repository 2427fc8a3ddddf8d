/* Common subexpressions: of nodes that compute the same from the same, the first stays.
 *
 * One walk in order is enough: when a node is reached its operands have been replaced already. */
#include <stdlib.h>
#include <string.h>
#include "common/digest.h"
#include "graph/bodies.h"
#include "graph/constants.h"
#include "graph/equal.h"
#include "op/pass.h"

struct cse {
	struct module *m;
	const struct pass_ctx *ctx;
	val_id *fwd;    /* by value: what stands for it, 0 itself */
	val_id *like;   /* by value: of equal constants the first, 0 itself */
	bool *dead;     /* by node */
	bool *impure;   /* by graph: holds what must not be shared */
	node_id *slots; /* open addressing */
	uint64_t *hash; /* by node */
	size_t nslots;
};

static val_id now(const struct cse *c, val_id v) { return c->fwd[v] ? c->fwd[v] : v; }

/* Operands of one key are equal. */
static val_id key(const struct cse *c, val_id v) { return c->like[v] ? c->like[v] : v; }

static uint64_t attr_hash(const struct attr *a, uint64_t h)
{
	uint64_t head[3] = {a->name, a->kind, a->n};
	h = hash64(head, sizeof head, h);
	switch (a->kind) {
	case ATTR_INT: return hash64(&a->u.i, sizeof a->u.i, h);
	case ATTR_FLOAT: return hash64(&a->u.f, sizeof a->u.f, h);
	case ATTR_STR: return hash64(a->u.s, a->n, h);
	case ATTR_INTS: return hash64(a->u.ints, sizeof *a->u.ints * a->n, h);
	case ATTR_GRAPH: return hash64(&a->u.graph, sizeof a->u.graph, h);
	default: return h;
	}
}

/* The graph of a Foreign says what its other attributes say. */
static bool follows(const struct node *n, const struct attr *a) { return n->op == OP_Foreign && a->kind == ATTR_GRAPH; }

/* Operands that may change places are hashed without their order. */
static uint64_t node_hash(const struct cse *c, const struct node *n)
{
	uint64_t head[5] = {n->op, n->optype, n->domain, n->nin, n->nout}, h = hash64(head, sizeof head, 0);
	bool ordered = !op_is(n->op, OP_COMMUTATIVE);
	uint64_t sum = 0;
	for (uint32_t i = 0; i < n->nin; i++) {
		val_id k = key(c, n->in[i]);
		if (ordered)
			h = hash64(&k, sizeof k, h);
		else
			sum += hash64(&k, sizeof k, 0);
	}
	h = hash64(&sum, sizeof sum, h);
	for (uint32_t i = 0; i < n->nattr; i++)
		if (!follows(n, &n->attr[i]))
			h = attr_hash(&n->attr[i], h);
	return h;
}

static int by_id(const void *x, const void *y)
{
	val_id a = *(const val_id *)x, b = *(const val_id *)y;
	return (a > b) - (a < b);
}

static val_id *sorted_keys(const struct cse *c, const struct node *n)
{
	val_id *k = xmalloc(sizeof *k * n->nin);
	for (uint32_t i = 0; i < n->nin; i++)
		k[i] = key(c, n->in[i]);
	qsort(k, n->nin, sizeof *k, by_id);
	return k;
}

static bool same_operands(const struct cse *c, const struct node *a, const struct node *b)
{
	uint32_t i = 0;
	while (i < a->nin && key(c, a->in[i]) == key(c, b->in[i]))
		i++;
	if (i == a->nin || !op_is(a->op, OP_COMMUTATIVE))
		return i == a->nin;
	val_id *x = sorted_keys(c, a), *y = sorted_keys(c, b);
	bool same = !memcmp(x, y, sizeof *x * a->nin);
	free(x);
	free(y);
	return same;
}

/* Which results are wanted can change what an operator does (Split), and layout is part of what a
 * value is. */
static bool same_results(struct module *m, const struct node *a, const struct node *b)
{
	for (uint32_t i = 0; i < a->nout; i++) {
		if (!a->out[i] || !b->out[i]) {
			if (a->out[i] != b->out[i])
				return false;
			continue;
		}
		if (val(m, a->out[i])->type.layout != val(m, b->out[i])->type.layout)
			return false;
	}
	return true;
}

static bool same(const struct cse *c, const struct node *a, const struct node *b)
{
	struct module *m = c->m;
	if (a->op != b->op || a->optype != b->optype || a->domain != b->domain || a->nin != b->nin || a->nout != b->nout ||
	    a->nattr != b->nattr)
		return false;
	if (!same_operands(c, a, b) || !same_results(m, a, b))
		return false;
	for (uint32_t i = 0; i < a->nattr; i++)
		if (!(follows(a, &a->attr[i]) && follows(b, &b->attr[i])) && !attr_equal(m, &a->attr[i], &b->attr[i]))
			return false;
	return true;
}

static const char *why_impure(const struct cse *c, const struct node *n)
{
	if (n->op == OP_OTHER)
		return "its operator is not known";
	if (!op_is(n->op, OP_PURE))
		return "it is random";
	graph_id b;
	for (uint32_t k = 0; (b = node_body(n, k)); k++)
		if (c->impure[b])
			return "its body is random or not known";
	return NULL;
}

static void replace(struct cse *c, node_id dup, node_id first)
{
	struct node *n = node(c->m, dup), *by = node(c->m, first);
	struct arena a = {0};
	pass_why(c->ctx, c->m, dup, "dropped: the same as %s", node_where(c->m, first, &a));
	arena_release(&a);
	for (uint32_t i = 0; i < n->nout; i++) {
		if (!n->out[i])
			continue;
		struct type *t = &val(c->m, by->out[i])->type;
		if (t->dtype == DT_NONE && t->rank == RANK_UNKNOWN && !t->other)
			*t = val(c->m, n->out[i])->type;
		c->fwd[n->out[i]] = by->out[i];
	}
	c->dead[dup] = true;
}

static void share_nodes(struct cse *c, graph_id id)
{
	struct module *m = c->m;
	const struct graph *g = graph(m, id);
	c->nslots = 64;
	while (c->nslots < 2 * g->nodes.n)
		c->nslots *= 2;
	c->slots = xcalloc(c->nslots, sizeof *c->slots);
	for (size_t k = 0; k < g->nodes.n; k++) {
		node_id at = g->nodes.a[k];
		struct node *n = node(m, at);
		for (uint32_t i = 0; i < n->nin; i++)
			n->in[i] = now(c, n->in[i]);
		const char *why = why_impure(c, n);
		if (why) {
			c->impure[id] = true;
			pass_why(c->ctx, m, at, "kept: %s", why);
			continue;
		}
		c->hash[at] = node_hash(c, n);
		size_t i = c->hash[at] & (c->nslots - 1);
		while (c->slots[i] && !(c->hash[c->slots[i]] == c->hash[at] && same(c, node(m, c->slots[i]), n)))
			i = (i + 1) & (c->nslots - 1);
		if (c->slots[i]) {
			replace(c, at, c->slots[i]);
		} else {
			c->slots[i] = at;
			pass_why(c->ctx, m, at, "kept: the first of its kind");
		}
	}
	free(c->slots);
}

/* needs: operands before their users. keeps: every result. leaves: no two pure nodes of a graph with
 * the same operator, attributes and operands; constants of equal contents are the same operand. */
static void cse(struct module *m, const struct pass_ctx *ctx)
{
	struct cse c = {
		.m = m,
		.ctx = ctx,
		.fwd = xcalloc(m->values.n, sizeof *c.fwd),
		.like = constants_first(m),
		.dead = xcalloc(m->nodes.n, sizeof *c.dead),
		.impure = xcalloc(m->graphs.n, sizeof *c.impure),
		.hash = xcalloc(m->nodes.n, sizeof *c.hash),
	};
	struct graph_list order = {0};
	module_graph_order(m, &order); /* bodies first: what they hold decides whether their nodes are shared */
	for (size_t i = 0; i < order.n; i++)
		share_nodes(&c, order.a[i]);
	module_forward(m, c.fwd);
	module_drop_nodes(m, c.dead);
	vec_free(&order);
	free(c.fwd);
	free(c.like);
	free(c.dead);
	free(c.impure);
	free(c.hash);
}

static const struct pass pass = {
	.run = cse,
	.contract = "needs nothing; keeps all results; leaves no two equal pure nodes",
};

const struct tool tool = {
	.name = "ge-cse",
	.summary = "Compute once what is computed twice.",
	PASS_TOOL(pass),
};
