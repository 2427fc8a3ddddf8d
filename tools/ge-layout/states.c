/* Where states lie that grow (--alias): a cache of keys and values to which each run adds a few rows. */
#include <string.h>
#include "ge-layout.h"
#include "model/state.h"
#include "op/op.h"

/* Why who uses value v cannot take it in another order; NULL: all can. */
static const char *why_not(struct module *m, const struct uses *uses, const bool *fused, val_id v)
{
	for (uint32_t i = uses->start[v]; i < uses->start[v + 1]; i++)
		if (!fused[uses->user[i]] || !group_takes_first(m, uses->user[i], v))
			return arena_printf(&m->arena, "%s reads it row-major", node_where(m, uses->user[i], &m->arena));
	return NULL;
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

static sym order_with_first(struct module *m, int rank, int axis)
{
	const char *text = arena_printf(&m->arena, "%d", axis);

	for (int i = 0; i < rank; i++)
		if (i != axis)
			text = arena_printf(&m->arena, "%s %d", text, i);
	return intern(text);
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
		if (!why && !(why = why_not(m, uses, fused, past)))
			why = why_not(m, uses, fused, next);
		if (why) {
			pass_why(c, m, g->nodes.a[i], "%s stays row-major: %s", sym_str(val(m, past)->name), why);
			continue;
		}
		val(m, past)->type.layout = val(m, next)->type.layout = order_with_first(m, val(m, past)->type.rank, axis);
		pass_why(c, m, g->nodes.a[i], "%s grows along axis %d, which comes first in memory", sym_str(val(m, past)->name), axis);
	}
}
