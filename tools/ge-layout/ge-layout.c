/* Which values have their channels innermost in memory. */
#include <stdlib.h>
#include <string.h>
#include "ge-layout.h"
#include "graph/fused.h"
#include "model/state.h"
#include "op/op.h"
#include "op/pass.h"
#include "op/task.h"

/* What an operator says about the layout of its operands and results that are images. */
enum follow {
	FOLLOW_STOP, /* nothing */
	FOLLOW_ALL,  /* as good in any layout: they should agree */
	FOLLOW_SEED, /* is fastest with channels innermost */
};

/* An image has one to three axes behind those of the batch and the channels. */
enum { IMAGE_RANK_MIN = 3, IMAGE_RANK_MAX = 5 };

/* True if a window over an image of one or three axes gains from channels innermost: codes are summed along channels, in groups of
 * neighbours, and steps longer than one leave gaps in lines of the last axis. Other windows read such lines as they lie. */
static bool wants_channels(struct module *m, const struct node *n)
{
	const struct type *w = n->nin > 1 ? &val(m, n->in[1])->type : NULL;
	int64_t stride[IMAGE_RANK_MAX], per;
	int count = attr_list(n, "strides", stride, IMAGE_RANK_MAX);

	if (!w || w->rank < IMAGE_RANK_MIN || (poly_is_const(m->dims, w->dims[1], &per) && per == 1))
		return false;
	for (int i = 0; i < count; i++)
		if (stride[i] > 1)
			return true;
	return dtype_is_int(w->dtype);
}

static enum follow follow_of(struct module *m, const struct node *n)
{
	enum opcode op = n->op;

	if (op_is(op, OP_WINDOW))
		return val(m, n->out[0])->type.rank == 4 || wants_channels(m, n) ? FOLLOW_SEED : FOLLOW_ALL;
	return op_is(op, OP_ELEMENTWISE) || op_is(op, OP_ANY_LAYOUT) || node_maps_codes(m, n) ? FOLLOW_ALL : FOLLOW_STOP;
}

struct laying {
	struct module *m;
	const struct pass_ctx *c;
	struct uses uses;
	size_t nvalues;                        /* without constants that lowering makes */
	uint8_t *group;                        /* node: enum follow of a Fused node */
	bool *kept;                            /* node: its values stay row-major, as it would have no kernel otherwise */
	uint32_t *calls;                       /* graph: Fused nodes that have it as body */
	bool *varies;                          /* value of a body: it is not made of constants alone */
	sym *end;                              /* value: the layout that it has anyway */
	VEC(val_id) work;                      /* values just decided, whose groups are to be looked at */
	sym channels_last[IMAGE_RANK_MAX + 1]; /* by rank */
};

/* Bytes are in the same order in either layout: one channel, or one pixel. */
static bool order_is_same(const struct module *m, const struct type *t)
{
	int64_t n;

	if (poly_is_const(m->dims, t->dims[1], &n) && n == 1)
		return true;
	for (int i = 2; i < t->rank; i++)
		if (!poly_is_const(m->dims, t->dims[i], &n) || n != 1)
			return false;
	return true;
}

static bool is_fused(const struct laying *l, node_id n)
{
	const struct node *x = node(l->m, n);

	return x->op == OP_Fused && l->calls[attr_graph(x, "graph")] == 1;
}

/* NULL if v may have its channels innermost, else why not. Fused nodes read and write any mix of
 * layouts; whoever else touches v sees its bytes. */
static const char *why_not_last(const struct laying *l, val_id v)
{
	const struct value *x = val(l->m, v);

	if (x->kind != VAL_NODE)
		return "it is an input";
	if (l->uses.nout[v])
		return "it is a result of the graph";
	if (order_is_same(l->m, &x->type))
		return NULL;
	if (!is_fused(l, x->def))
		return "it is the result of a view or another node that is not fused";
	if (fused_is_row_major(l->m, x->def))
		return "its group keeps it so";
	if (l->kept[x->def] || group_is_native(l->m, x->def))
		return "it is the result of a native step";
	for (uint32_t i = l->uses.start[v]; i < l->uses.start[v + 1]; i++)
		if (!is_fused(l, l->uses.user[i]))
			return "it is an operand of a view or another node that is not fused";
		else if (l->kept[l->uses.user[i]] || group_is_native(l->m, l->uses.user[i]))
			return "it is an operand of a native step";
	return NULL;
}

/* Floats, codes and their sums. */
static bool is_image(const struct type *t)
{
	return !t->other && t->rank >= IMAGE_RANK_MIN && t->rank <= IMAGE_RANK_MAX &&
	       (dtype_is_float(t->dtype) || (dtype_is_int(t->dtype) && dtype_size(t->dtype) <= 4));
}

static bool is_last(const struct laying *l, const struct type *t) { return is_image(t) && t->layout == l->channels_last[t->rank]; }

static void decide(struct laying *l, node_id because, val_id v)
{
	struct value *x = val(l->m, v);
	const char *why;

	if (!v || x->kind == VAL_CONST || !is_image(&x->type) || x->type.layout)
		return;
	why = why_not_last(l, v);
	if (why) {
		pass_why(l->c, l->m, because, "%s stays row-major: %s", sym_str(x->name), why);
		return;
	}
	pass_why(l->c, l->m, because, "%s has its channels innermost", sym_str(x->name));
	x->type.layout = l->channels_last[x->type.rank];
	vec_push(&l->work, v);
}

static void decide_all(struct laying *l, node_id n)
{
	const struct node *x = node(l->m, n);

	for (uint32_t i = 0; i < x->nin; i++)
		decide(l, n, x->in[i]);
	for (uint32_t i = 0; i < x->nout; i++)
		decide(l, n, x->out[i]);
}

/* The strongest word of the nodes of a body, if none of them stops. */
static enum follow follow_of_group(const struct laying *l, graph_id body)
{
	const struct graph *g = graph(l->m, body);
	enum follow f = FOLLOW_ALL;

	for (size_t i = 0; i < g->nodes.n; i++) {
		enum follow x = follow_of(l->m, node(l->m, g->nodes.a[i]));
		if (x == FOLLOW_SEED)
			f = FOLLOW_SEED;
		else if (x == FOLLOW_STOP)
			return FOLLOW_STOP;
	}
	return f;
}

static void lay_out_graph(struct laying *l, graph_id g)
{
	const struct graph *x = graph(l->m, g);

	for (size_t i = 0; i < x->nodes.n; i++)
		if (l->group[x->nodes.a[i]] == FOLLOW_SEED)
			decide_all(l, x->nodes.a[i]);
	while (l->work.n) {
		val_id v = l->work.a[--l->work.n];
		if (l->group[val(l->m, v)->def] != FOLLOW_STOP)
			decide_all(l, val(l->m, v)->def);
		for (uint32_t i = l->uses.start[v]; i < l->uses.start[v + 1]; i++)
			if (l->group[l->uses.user[i]] != FOLLOW_STOP)
				decide_all(l, l->uses.user[i]);
	}
}

/* Is n computed of anything but constants? */
static bool varies(const struct laying *l, const struct node *n)
{
	for (uint32_t k = 0; k < n->nin; k++)
		if (n->in[k] && l->varies[n->in[k]])
			return true;
	return false;
}

/* Body inputs and results are laid out as the values outside; what is between, as the results. What is made of constants is laid
 * out by who reads it. */
static void lay_out_body(struct laying *l, node_id fused)
{
	const struct node *f = node(l->m, fused);
	const struct graph *b = graph(l->m, attr_graph(f, "graph"));
	bool any = false;

	for (size_t i = 0; i < b->in.n; i++)
		l->varies[b->in.a[i]] = true;
	for (uint32_t i = 0; i < f->nin && i < b->in.n; i++)
		if (f->in[i]) {
			any |= is_last(l, &val(l->m, f->in[i])->type);
			val(l->m, b->in.a[i])->type.layout = val(l->m, f->in[i])->type.layout;
		}
	for (uint32_t k = 0; k < f->nout; k++)
		any |= f->out[k] && is_last(l, &val(l->m, f->out[k])->type);
	for (size_t i = 0; i < b->nodes.n && any && l->group[fused] != FOLLOW_STOP; i++) {
		const struct node *n = node(l->m, b->nodes.a[i]);
		for (uint32_t k = 0; k < n->nout && varies(l, n); k++) {
			l->varies[n->out[k]] = true;
			if (n->out[k] && is_image(&val(l->m, n->out[k])->type))
				val(l->m, n->out[k])->type.layout = l->channels_last[val(l->m, n->out[k])->type.rank];
		}
	}
	for (uint32_t k = 0; k < f->nout && k < b->out.n; k++)
		if (f->out[k])
			val(l->m, b->out.a[k])->type.layout = val(l->m, f->out[k])->type.layout;
}

static bool all_row_major;
static VEC(const char *) aliases;

enum { OPT_ROW_MAJOR = 1000, OPT_ALIAS };

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_ALIAS: vec_push(&aliases, arg); return 0;
	case OPT_ROW_MAJOR: all_row_major = true; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static void lay_out_appended(struct laying *l)
{
	bool *fused = xcalloc(l->m->nodes.n, sizeof *fused);

	for (node_id n = 1; n < l->m->nodes.n; n++)
		fused[n] = node(l->m, n)->op == OP_Fused && l->calls[attr_graph(node(l->m, n), "graph")] == 1;
	lay_out_states(l->m, l->c, &l->uses, fused);
	free(fused);
}

static void find_groups(struct laying *l, const struct graph_list *list)
{
	for (size_t k = 0; k < list->n; k++) {
		const struct graph *g = graph(l->m, list->a[k]);
		for (size_t i = 0; i < g->nodes.n; i++) {
			const struct node *n = node(l->m, g->nodes.a[i]);
			if (n->op != OP_Fused)
				continue;
			l->calls[attr_graph(n, "graph")]++;
			l->group[g->nodes.a[i]] = (uint8_t)follow_of_group(l, attr_graph(n, "graph"));
		}
	}
}

/* Inputs and results of a part of another graph keep the layouts that they have there. */
static void note_ends(struct laying *l)
{
	const struct graph *g = graph(l->m, l->m->main);
	bool part = module_meta(l->m, META_PART);

	l->end = xcalloc(l->nvalues, sizeof *l->end);
	for (size_t i = 0; part && i < g->in.n; i++)
		l->end[g->in.a[i]] = val(l->m, g->in.a[i])->type.layout;
	for (size_t i = 0; part && i < g->out.n; i++)
		l->end[g->out.a[i]] = val(l->m, g->out.a[i])->type.layout;
}

static void forget_layouts(struct laying *l)
{
	for (size_t v = 1; v < l->nvalues; v++)
		val(l->m, (val_id)v)->type.layout = l->end[v];
}

/* Lays all values out anew. */
static void lay_out_all(struct laying *l, const struct graph_list *list)
{
	struct module *m = l->m;

	forget_layouts(l);
	memset(l->varies, 0, l->nvalues * sizeof *l->varies);
	for (size_t v = 1; v < l->nvalues; v++)
		if (is_last(l, &val(m, (val_id)v)->type))
			vec_push(&l->work, (val_id)v);
	lay_out_appended(l);
	for (size_t k = 0; k < list->n; k++) {
		if (l->calls[list->a[k]])
			continue;
		lay_out_graph(l, list->a[k]);
		for (size_t i = 0; i < graph(m, list->a[k])->nodes.n; i++)
			if (is_fused(l, graph(m, list->a[k])->nodes.a[i]))
				lay_out_body(l, graph(m, list->a[k])->nodes.a[i]);
	}
}

/* Is an operand or a result of n laid out with channels innermost? */
static bool any_last(const struct laying *l, const struct node *n)
{
	bool any = false;

	for (uint32_t i = 0; i < n->nin; i++)
		any |= n->in[i] && is_last(l, &val(l->m, n->in[i])->type);
	for (uint32_t k = 0; k < n->nout; k++)
		any |= n->out[k] && is_last(l, &val(l->m, n->out[k])->type);
	return any;
}

/* Keeps the values row-major of groups that their layouts leave without a kernel. False: there is none. */
static bool keep_some(struct laying *l, const struct graph_list *list)
{
	bool found = false;

	for (size_t k = 0; k < list->n; k++)
		for (size_t i = 0; i < graph(l->m, list->a[k])->nodes.n; i++) {
			node_id n = graph(l->m, list->a[k])->nodes.a[i];
			if (l->kept[n] || !is_fused(l, n) || !any_last(l, node(l->m, n)))
				continue;
			found |= l->kept[n] = group_lacks_kernel(l->m, n);
		}
	return found;
}

static void lay_out(struct module *m, const struct pass_ctx *c)
{
	struct laying l = {.m = m,
			   .c = c,
			   .uses = uses_new(m),
			   .nvalues = m->values.n,
			   .channels_last = {[3] = intern("0 2 1"), [4] = intern("0 2 3 1"), [5] = intern("0 2 3 4 1")}};
	const struct pass_ctx silent = {0};
	struct graph_list list = {0};

	states_declare(m, aliases.n, aliases.a);
	states_settle(m);
	l.group = xcalloc(m->nodes.n, sizeof *l.group);
	l.kept = xcalloc(m->nodes.n, sizeof *l.kept);
	l.calls = xcalloc(m->graphs.n, sizeof *l.calls);
	l.varies = xcalloc(m->values.n, sizeof *l.varies);
	note_ends(&l);
	forget_layouts(&l);
	module_graph_order(m, &list);
	find_groups(&l, &list);
	if (!all_row_major) {
		l.c = &silent;
		do
			lay_out_all(&l, &list);
		while (keep_some(&l, &list));
		l.c = c;
		lay_out_all(&l, &list);
	}
	task_settle(m, m->main);
	uses_free(&l.uses);
	vec_free(&l.work);
	vec_free(&list);
	free(l.group);
	free(l.kept);
	free(l.calls);
	free(l.varies);
	free(l.end);
}

static const struct argp_option options[] = {
	{"alias", OPT_ALIAS, "INPUT=OUTPUT", 0, "the library will keep INPUT: what OUTPUT is in one run, INPUT is in the next"},
	{"row-major", OPT_ROW_MAJOR, 0, 0, "make every value row-major again"},
	{0},
};

static const struct pass pass = {
	.run = lay_out,
	.contract =
		"Needs Fused nodes (ge-fuse). Keeps nodes and shapes. Leaves the layout of every value decided, groups in "
		"the order that tuning knows them by.",
};

const struct tool tool = {
	.name = "ge-layout",
	.summary = "Choose the memory layout of values between kernels.",
	PASS_TOOL(pass),
	.options = options,
	.option = option,
};
