/* What may be in either form, and what goes from one to another. */
#include <string.h>
#include "graph/equal.h"
#include "mixed.h"

static bool is_float(struct mixed *x, val_id v) { return v && val(x->m, v)->type.dtype == DT_F32; }
static bool is_const(struct mixed *x, val_id v) { return val(x->m, v)->kind == VAL_CONST; }

/* The DequantizeLinear that makes v; 0: none. */
static node_id dequantise(struct mixed *x, val_id v)
{
	node_id n = v && val(x->m, v)->kind == VAL_NODE ? val(x->m, v)->def : 0;

	return n && node(x->m, n)->op == OP_DequantizeLinear ? n : 0;
}

/* Of weights: made of constants alone, as far as is seen here. */
static bool is_weight(struct mixed *x, val_id v)
{
	node_id n = dequantise(x, v);

	return is_const(x, v) || (n && is_const(x, node(x->m, n)->in[0]));
}

/* v has one reader, a QuantizeLinear of floats. */
static bool is_quantised(struct mixed *x, val_id v)
{
	uint32_t at = x->uses.start[v];

	return uses_count(&x->uses, v) == 1 && !x->uses.nout[v] && node(x->m, x->uses.user[at])->op == OP_QuantizeLinear &&
	       node(x->m, x->uses.user[at])->in[0] == v;
}

static bool has_static_types(struct mixed *x, const struct node *n)
{
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && !type_static(x->m, &val(x->m, n->in[i])->type))
			return false;
	return n->nout == 1 && n->out[0] && is_float(x, n->out[0]) && type_static(x->m, &val(x->m, n->out[0])->type);
}

/* Quantised: its operands come dequantised, and what only passes numbers on is quantised again, which makes a difference only where
 * quantisers may go. */
static bool is_island(struct mixed *x, const struct node *n)
{
	uint32_t quantised = 0;

	for (uint32_t i = 0; i < n->nin; i++) {
		if (!is_float(x, n->in[i]))
			continue;
		if (!dequantise(x, n->in[i]) && !(i && is_const(x, n->in[i])))
			return false;
		quantised += dequantise(x, n->in[i]) != 0;
	}
	return may_be(n->op, x->low) == MAY_ALLOW ? quantised >= 2 : x->drops && quantised && is_quantised(x, n->out[0]);
}

/* An elementwise node that is the only reader of a product: it is done with it, in either form. Gives the product's thing. */
static uint32_t joins(struct mixed *x, const struct node *n)
{
	uint32_t thing = 0;

	for (uint32_t i = 0; i < n->nin; i++) {
		val_id v = n->in[i];
		if (!v || !is_float(x, v) || is_weight(x, v))
			continue;
		if (thing || val(x->m, v)->kind != VAL_NODE || uses_count(&x->uses, v) != 1)
			return 0;
		thing = x->of[val(x->m, v)->def];
		if (!thing || may_be(node(x->m, x->thing.a[thing].node)->op, x->low) != MAY_ALLOW)
			return 0;
	}
	return op_is(n->op, OP_ELEMENTWISE) ? thing : 0;
}

static bool may_be_thing(struct mixed *x, const struct node *n)
{
	if (!may_be(n->op, x->low) || !has_static_types(x, n))
		return false;
	if (x->low == DT_U8)
		return is_island(x, n);
	for (uint32_t i = 0; i < n->nin; i++)
		if (is_float(x, n->in[i]))
			return true;
	return false;
}

static bool is_named(struct mixed *x, node_id id, const char *name)
{
	const struct node *n = node(x->m, id);

	return !strcmp(sym_str(n->name), name) || (n->nout && n->out[0] && !strcmp(sym_str(val(x->m, n->out[0])->name), name));
}

static void find_things(struct mixed *x)
{
	const struct graph *g = graph(x->m, x->m->main);

	vec_push(&x->thing, (struct thing){0});
	for (size_t i = 0; i < g->nodes.n; i++) {
		node_id id = g->nodes.a[i];
		const struct node *n = node(x->m, id);
		uint32_t with = x->low == DT_U8 && may_be(n->op, x->low) ? joins(x, n) : 0;
		if (with) {
			x->of[id] = with;
		} else if (may_be_thing(x, n)) {
			x->of[id] = (uint32_t)x->thing.n;
			vec_push(&x->thing, (struct thing){.node = id});
		}
	}
}

static void keep_named(struct mixed *x, const char *name)
{
	const struct graph *g = graph(x->m, x->m->main);
	bool found = false;

	for (size_t i = 0; i < g->nodes.n; i++)
		if (is_named(x, g->nodes.a[i], name)) {
			found = true;
			if (x->of[g->nodes.a[i]])
				x->thing.a[x->of[g->nodes.a[i]]].kept = true;
		}
	if (!found)
		die(EX_BADUSE, "--keep %s: there is no such node", name);
}

static uint32_t maker_of(struct mixed *x, val_id v) { return val(x->m, v)->kind == VAL_NODE ? x->of[val(x->m, v)->def] : 0; }

/* Things that read v, and the outside; true if there are any but the outside. */
static bool push_readers(struct mixed *x, val_id v)
{
	bool any = false;

	for (uint32_t i = x->uses.start[v]; i < x->uses.start[v + 1]; i++) {
		vec_push(&x->reader, x->of[x->uses.user[i]]);
		any |= x->of[x->uses.user[i]] != 0;
	}
	if (x->uses.nout[v])
		vec_push(&x->reader, 0);
	return any;
}

bool is_per_tensor(struct mixed *x, const struct node *n)
{
	for (uint32_t i = 1; i < n->nin; i++) {
		struct tensor *t = n->in[i] ? node_const(x->m, n, i) : NULL;
		if (n->in[i] && (!t || tensor_count(t) != 1))
			return false;
	}
	return true;
}

/* Node d dequantises what node q quantised, by the same scale and zero point. */
static bool undoes(struct mixed *x, const struct node *d, const struct node *q)
{
	bool zero = q->nin > 2 && q->in[2], has_zero = d->nin > 2 && d->in[2];

	return d->op == OP_DequantizeLinear && values_equal(x->m, d->in[1], q->in[1]) && zero == has_zero &&
	       (!zero || values_equal(x->m, d->in[2], q->in[2]));
}

/* Only what is read dequantised, by one scale, can be had as it was before. */
static void cross_at(struct mixed *x, node_id q)
{
	const struct node *n = node(x->m, q);
	struct crossing k = {.v = n->in[0], .at = q, .first = (uint32_t)x->reader.n};
	val_id out = n->out[0];
	bool any = maker_of(x, k.v) != 0;

	if (x->uses.nout[out] || !type_static(x->m, &val(x->m, k.v)->type) || !is_per_tensor(x, n))
		return;
	for (uint32_t i = x->uses.start[out]; i < x->uses.start[out + 1]; i++)
		if (!undoes(x, node(x->m, x->uses.user[i]), n))
			return;
	for (uint32_t i = x->uses.start[out]; i < x->uses.start[out + 1]; i++) {
		val_id v = node(x->m, x->uses.user[i])->out[0];
		x->plain[v] = k.v;
		any |= push_readers(x, v);
	}
	k.n = (uint32_t)x->reader.n - k.first;
	if (any)
		vec_push(&x->crossing, k);
}

static void cross_value(struct mixed *x, val_id v)
{
	struct crossing k = {.v = v, .first = (uint32_t)x->reader.n};

	if (!is_float(x, v) || is_const(x, v) || !type_static(x->m, &val(x->m, v)->type))
		return;
	bool any = push_readers(x, v) || maker_of(x, v);
	k.n = (uint32_t)x->reader.n - k.first;
	if (any)
		vec_push(&x->crossing, k);
}

static void find_crossings(struct mixed *x)
{
	const struct graph *g = graph(x->m, x->m->main);

	if (x->low == DT_U8 && !x->drops) /* all are there in either form */
		return;
	for (size_t i = 0; i < g->in.n && x->low != DT_U8; i++)
		cross_value(x, g->in.a[i]);
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = node(x->m, g->nodes.a[i]);
		if (x->low == DT_U8 && n->op == OP_QuantizeLinear)
			cross_at(x, g->nodes.a[i]);
		for (uint32_t k = 0; k < n->nout && x->low != DT_U8; k++)
			if (n->out[k])
				cross_value(x, n->out[k]);
	}
}

void mixed_find(struct mixed *x, const char *const *keep, size_t nkeep)
{
	x->uses = uses_new(x->m);
	x->uses_values = x->m->values.n;
	x->of = xcalloc(x->m->nodes.n, sizeof *x->of);
	x->plain = xcalloc(x->m->values.n, sizeof *x->plain);
	for (val_id v = 0; v < x->m->values.n; v++)
		x->plain[v] = v;
	find_things(x);
	for (size_t i = 0; i < nkeep; i++)
		keep_named(x, keep[i]);
	find_crossings(x);
	x->is_low = xcalloc(x->thing.n, sizeof *x->is_low);
}

void mixed_free(struct mixed *x)
{
	uses_free(&x->uses);
	free(x->of);
	free(x->plain);
	free(x->is_low);
	vec_free(&x->thing);
	vec_free(&x->crossing);
	vec_free(&x->reader);
	vec_free(&x->wanted);
}
