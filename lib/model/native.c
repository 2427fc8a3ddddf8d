/* Calls without a kernel that a function of lib/native computes. */
#include <stdlib.h>
#include "graph/kinds.h"
#include "model/model_impl.h"
#include "model/state.h"
#include "op/native.h"

/* No value, or a tensor with elements of one size, or a list of such; or of strings where its function takes them. */
static bool is_plain(struct module *m, val_id v, bool texts)
{
	const struct type *t = &val(m, v)->type;

	return !v || (!t->other && (dtype_size(t->dtype) || (texts && t->dtype == DT_STR))) || type_lists_numbers(t);
}

/* Are all values of n plain for the function of `by`? A view of constant strings is not: they stand in the C file, not among the values of a run. */
static bool all_plain(struct module *m, const struct node *n, const struct node *by)
{
	bool texts = native_takes_texts(by), views = op_is(by->op, OP_VIEW);

	for (uint32_t i = 0; i < n->nin; i++)
		if (!is_plain(m, n->in[i], texts && !(views && n->in[i] && val(m, n->in[i])->kind == VAL_CONST)))
			return false;
	for (uint32_t k = 0; k < n->nout; k++)
		if (!is_plain(m, n->out[k], texts))
			return false;
	return true;
}

/* A view that only adds axes of size one: what comes first in memory does so in the result. */
static bool view_keeps_first(struct module *m, const struct node *f, const struct node *x)
{
	int first = axis_first(m, &val(m, x->in[0])->type), after = first > 0 ? node_axis_after(m, x, first - 1) : -1;

	return after >= 0 && f->nout == 1 && axis_first(m, &val(m, x->out[0])->type) == after + 1 &&
	       val(m, f->out[0])->type.layout == val(m, x->out[0])->type.layout;
}

/* Rows are put into a cache whose axis of rows comes first in memory: the result lies as it does. */
static bool cache_keeps_first(struct module *m, const struct node *f, const struct node *x)
{
	val_id in = x->nin ? x->in[0] : 0;
	int axis = in ? node_puts_rows(x, val(m, in)->type.rank) : -1;

	return axis >= 0 && f->nout == 1 && axis_first(m, &val(m, in)->type) == axis + 1 &&
	       val(m, in)->type.layout == val(m, x->out[0])->type.layout && val(m, in)->type.layout == val(m, f->out[0])->type.layout;
}

static bool results_plain(struct module *m, const struct node *n)
{
	for (uint32_t k = 0; k < n->nout; k++)
		if (n->out[k] && !row_major(m, &val(m, n->out[k])->type))
			return false;
	return true;
}

/* Operands of node x, alone in group f, lie as its function takes them. */
static bool laid_right(struct module *m, const struct node *f, const struct node *x)
{
	const struct graph *g = graph(m, attr_graph(f, "graph"));

	for (uint32_t i = 0; i < f->nin; i++)
		if (i >= g->in.n || val(m, f->in[i])->type.layout != val(m, g->in.a[i])->type.layout)
			return false;
	if (op_is(x->op, OP_VIEW) && view_keeps_first(m, f, x))
		return true;
	bool cache = cache_keeps_first(m, f, x);
	if (!cache && (!results_plain(m, f) || !results_plain(m, x)))
		return false;
	for (uint32_t i = 0; i < x->nin; i++) {
		int first = x->in[i] ? axis_first(m, &val(m, x->in[i])->type) : 0;
		if (first &&
		    (first < 0 || !native_takes_first(x, i) || (i == 0 && !cache && node_puts_rows(x, val(m, x->in[0])->type.rank) >= 0)))
			return false;
	}
	return true;
}

node_id native_node(struct module *m, node_id group)
{
	node_id id = group_alone(m, group);

	return id && node_native(node(m, id)) && all_plain(m, node(m, group), node(m, id)) && all_plain(m, node(m, id), node(m, id)) &&
			       laid_right(m, node(m, group), node(m, id))
		       ? id
		       : 0;
}

node_id native_view(struct module *m, node_id group)
{
	node_id id = native_node(m, group);

	return id && op_is(node(m, id)->op, OP_VIEW) && node(m, group)->nout == 1 && node_varies(m, node(m, group)) &&
			       !val(m, node(m, group)->out[0])->type.other
		       ? id
		       : 0;
}

const struct call *call_native(const struct call *c) { return c->kernel != KERNEL_NATIVE ? c->otherwise : c->settled ? NULL : c; }

void model_report_native(struct model *M)
{
	char *text;
	uint32_t named = calls_named(M, KERNEL_NATIVE, &text);

	if (named)
		note("%u of %zu steps native: %s", named, M->calls.n, text);
	free(text);
}
