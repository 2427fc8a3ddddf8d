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

static bool takes_first(struct module *m, const bool *fused, node_id n, val_id v)
{
	bool takes = fused[n] || node(m, n)->op != OP_Fused;

	for (uint32_t i = 0; i < node(m, n)->nin && !fused[n]; i++)
		takes &= node(m, n)->in[i] != v || native_takes_first(node(m, n), i);
	return takes && (!fused[n] || group_takes_first(m, n, v));
}

/* Why who uses value v, or what views it, cannot take it with the axis first; NULL: all can. lay: lay out the views. */
static const char *why_not(struct module *m, const struct uses *uses, const bool *fused, val_id v, int axis, bool lay)
{
	const char *why = NULL;

	for (uint32_t i = uses->start[v]; i < uses->start[v + 1] && !why; i++) {
		node_id n = uses->user[i];
		int after = axis_behind(m, n, v, axis);
		val_id view = after >= 0 ? node(m, n)->out[0] : 0;
		if ((after < 0 && !takes_first(m, fused, n, v)) || (view && uses->nout[view]))
			return arena_printf(&m->arena, "%s reads it row-major", node_where(m, n, &m->arena));
		if (view && lay)
			val(m, view)->type.layout = order_with_first(m, val(m, view)->type.rank, after);
		if (view)
			why = why_not(m, uses, fused, view, after, lay);
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

static bool is_kept_as(struct module *m, val_id in, int64_t out)
{
	const char *name = module_meta(m, arena_printf(&m->arena, STATE_ALIAS "%s", sym_str(val(m, in)->name)));

	return out >= 0 && name && !strcmp(name, sym_str(graph(m, m->main)->out_name.a[out]));
}

void lay_out_states(struct module *m, const struct pass_ctx *c, const struct uses *uses, const bool *fused)
{
	const struct graph *g = graph(m, m->main);
	val_id past, next;

	for (size_t i = 0; i < g->nodes.n; i++) {
		int axis = append_axis(m, g->nodes.a[i], &past, &next);
		if (axis < 0 || !fused[g->nodes.a[i]] || val(m, past)->kind != VAL_INPUT || !is_kept_as(m, past, one_output(g, next)) ||
		    uses->nout[past] || type_static(m, &val(m, past)->type))
			continue;
		const char *why = axis_outermost(m, &val(m, past)->type, axis) ? "it is row-major with that axis first" : NULL;
		if (!why && !(why = why_not(m, uses, fused, past, axis, false)))
			why = why_not(m, uses, fused, next, axis, false);
		if (why) {
			pass_why(c, m, g->nodes.a[i], "%s stays row-major: %s", sym_str(val(m, past)->name), why);
			continue;
		}
		why_not(m, uses, fused, past, axis, true);
		why_not(m, uses, fused, next, axis, true);
		val(m, past)->type.layout = val(m, next)->type.layout = order_with_first(m, val(m, past)->type.rank, axis);
		pass_why(c, m, g->nodes.a[i], "%s grows along axis %d, which comes first in memory", sym_str(val(m, past)->name), axis);
	}
}
