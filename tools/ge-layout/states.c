/* Where states lie that grow (--alias): a cache of keys and values to which each run adds a few rows. */
#include <string.h>
#include "ge-layout.h"
#include "model/state.h"
#include "op/native.h"
#include "op/op.h"

static sym order_with_first(struct module *m, int rank, int axis)
{
	const char *text = arena_printf(&m->arena, "%d", axis);

	for (int i = 0; i < rank; i++)
		if (i != axis)
			text = arena_printf(&m->arena, "%s %d", text, i);
	return intern(text);
}

/* Node n, in no group, whose result is value v with more axes of size one: where axis is there. -1: it is none. */
static int axis_behind(struct module *m, node_id n, val_id v, int axis)
{
	return node(m, n)->op != OP_Fused && node(m, n)->nin && node(m, n)->in[0] == v && node(m, n)->nout == 1
		       ? node_axis_after(m, node(m, n), axis)
		       : -1;
}

/* A state that grows: a Concat adds rows to what it was, and a step may then put rows into that. */
struct growing {
	struct module *m;
	const struct uses *uses;
	const bool *fused;       /* by node: a group, and its graph is called once */
	val_id past, next, last; /* what it was, that with more rows, and what it is next: the same, or with rows put into it */
	int axis;
};

static bool takes_first(const struct growing *w, node_id n, val_id v)
{
	struct module *m = w->m;
	bool takes = w->fused[n] || node(m, n)->op != OP_Fused;

	if (v == w->next && v != w->last && val(m, w->last)->def == n)
		return true;
	for (uint32_t i = 0; i < node(m, n)->nin && !w->fused[n]; i++)
		takes &= node(m, n)->in[i] != v || native_takes_first(node(m, n), i);
	return takes && (!w->fused[n] || group_takes_first(m, n, v));
}

/* Why who uses value v, or what views it, cannot take it with the axis first; NULL: all can. lay: lay out the views. */
static const char *why_not(const struct growing *w, val_id v, int axis, bool lay)
{
	struct module *m = w->m;
	const struct uses *uses = w->uses;
	const char *why = NULL;

	for (uint32_t i = uses->start[v]; i < uses->start[v + 1] && !why; i++) {
		node_id n = uses->user[i];
		int after = axis_behind(m, n, v, axis);
		val_id view = after >= 0 ? node(m, n)->out[0] : 0;
		if ((after < 0 && !takes_first(w, n, v)) || (view && uses->nout[view]))
			return arena_printf(&m->arena, "%s reads it row-major", node_where(m, n, &m->arena));
		if (view && lay)
			val(m, view)->type.layout = order_with_first(m, val(m, view)->type.rank, after);
		if (view)
			why = why_not(w, view, after, lay);
	}
	return why;
}

/* The number of the one output that value v is; -1: there is none, or several. */
static int64_t one_output(const struct graph *g, val_id v)
{
	int64_t found = -1;

	for (size_t k = 0; k < g->out.n; k++)
		if (g->out.a[k] == v && found >= 0)
			return -1;
		else if (g->out.a[k] == v)
			found = (int64_t)k;
	return found;
}

/* The value that input `in` is in the next run; 0: it is not kept, or the value is another output, too. */
static val_id kept_as(struct module *m, val_id in)
{
	const struct graph *g = graph(m, m->main);
	const char *name = module_meta(m, arena_printf(&m->arena, STATE_ALIAS "%s", sym_str(val(m, in)->name)));

	for (size_t k = 0; k < g->out.n && name; k++)
		if (!strcmp(name, sym_str(g->out_name.a[k])))
			return one_output(g, g->out.a[k]) < 0 ? 0 : g->out.a[k];
	return 0;
}

/* Does the group of node n make a state grow? */
static bool find_growing(struct growing *w, node_id n)
{
	struct module *m = w->m;

	w->axis = w->fused[n] ? append_axis(m, n, &w->past, &w->next) : -1;
	if (w->axis < 0 || val(m, w->past)->kind != VAL_INPUT || w->uses->nout[w->past] || type_static(m, &val(m, w->past)->type))
		return false;
	w->last = kept_as(m, w->past);
	return w->last && append_written(m, w->next, w->axis, w->last) && (w->last == w->next || !w->uses->nout[w->next]);
}

/* Looks at, or lays out, all that uses a value of the state. */
static const char *why_not_any(const struct growing *w, bool lay)
{
	const val_id v[] = {w->past, w->next, w->last};
	const char *why = NULL;

	for (int i = 0; i < 3 && !why; i++)
		why = why_not(w, v[i], w->axis, lay);
	return why;
}

void lay_out_states(struct module *m, const struct pass_ctx *c, const struct uses *uses, const bool *fused)
{
	const struct graph *g = graph(m, m->main);

	for (size_t i = 0; i < g->nodes.n; i++) {
		struct growing w = {.m = m, .uses = uses, .fused = fused};
		if (!find_growing(&w, g->nodes.a[i]))
			continue;
		const char *why =
			axis_outermost(m, &val(m, w.past)->type, w.axis) ? "it is row-major with that axis first" : why_not_any(&w, false);
		if (why) {
			pass_why(c, m, g->nodes.a[i], "%s stays row-major: %s", sym_str(val(m, w.past)->name), why);
			continue;
		}
		why_not_any(&w, true);
		sym layout = order_with_first(m, val(m, w.past)->type.rank, w.axis);
		val(m, w.past)->type.layout = val(m, w.next)->type.layout = val(m, w.last)->type.layout = layout;
		pass_why(c, m, g->nodes.a[i], "%s grows along axis %d, which comes first in memory", sym_str(val(m, w.past)->name), w.axis);
	}
}
