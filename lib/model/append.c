/* States that grow: what a step appends to one stays where it is, and nothing before it moves. */
#include <stdlib.h>
#include "model/model_impl.h"
#include "model/state.h"
#include "graph/layout.h"
#include "op/native.h"
#include "op/op.h"

int axis_first(struct module *m, const struct type *t)
{
	struct layout l;

	if (row_major(m, t))
		return 0;
	if (t->rank < 1 || layout_parse(&l, t->rank, sym_str(t->layout)) || l.n != t->rank)
		return -1;
	for (int i = 0; i < l.n; i++)
		if (l.part[i].div != 1 || l.part[i].mod || (i > 1 && l.part[i].axis < l.part[i - 1].axis))
			return -1;
	return 1 + l.part[0].axis;
}

bool axis_outermost(struct module *m, const struct type *t, int axis)
{
	bool plain = row_major(m, t);
	int64_t n;

	for (int i = 0; i < axis && plain; i++)
		if (!poly_is_const(m->dims, t->dims[i], &n) || n != 1)
			return false;
	return plain || axis_first(m, t) == axis + 1;
}

int append_axis(struct module *m, node_id group, val_id *past, val_id *next)
{
	node_id id = node(m, group)->op == OP_Fused ? group_alone(m, group) : 0;
	const struct node *n = id ? node(m, id) : NULL;
	struct call c = {.node = group, .alone = id};
	const struct model of = {.m = m};

	if (!n || node(m, group)->nout != 1)
		return -1;
	*past = call_operand(&of, &c, 0);
	*next = node(m, group)->out[0];
	for (uint32_t i = 1; i < n->nin; i++)
		if (call_operand(&of, &c, i) == *past)
			return -1;
	return *past ? node_joins(n, val(m, *past)->type.rank) : -1;
}

val_id append_written(struct module *m, val_id grown, int axis, val_id out)
{
	node_id group = val(m, out)->kind == VAL_NODE ? val(m, out)->def : 0;
	node_id id = group && node(m, group)->op == OP_Fused ? group_alone(m, group) : 0;
	const struct model of = {.m = m};
	const struct call c = {.node = group, .alone = id};

	if (out == grown || !id || node_puts_rows(node(m, id), val(m, grown)->type.rank) != axis || call_operand(&of, &c, 0) != grown)
		return out == grown ? out : 0;
	for (uint32_t i = 1; i < node(m, id)->nin; i++)
		if (call_operand(&of, &c, i) == grown)
			return 0;
	return out;
}

/* The operands that are appended are row-major. */
static bool parts_plain(struct module *m, const struct node *f, val_id past)
{
	for (uint32_t i = 0; i < f->nin; i++)
		if (f->in[i] != past && val(m, f->in[i])->type.layout)
			return false;
	return true;
}

uint32_t append_state(const struct model *M, node_id group)
{
	struct module *m = M->m;
	const struct graph *g = graph(m, m->main);
	val_id past, next;
	int axis = append_axis(m, group, &past, &next);

	for (uint32_t i = 0; i < M->states.n && axis >= 0; i++) {
		const struct state *s = &M->states.a[i];
		const struct type *t = &val(m, past)->type, *u = &val(m, next)->type;
		val_id out = g->out.a[s->out];
		if (s->open && g->in.a[s->in] == past && append_written(m, next, axis, out) && t->layout == u->layout &&
		    t->layout == val(m, out)->type.layout && axis_outermost(m, t, axis) && parts_plain(m, node(m, group), past))
			return i + 1;
	}
	return 0;
}

static noreturn void bad_layout(struct model *M, const char *what, sym name)
{
	model_die_at(M->m, 0, EX_BADDATA,
		     arena_printf(&M->m->arena, "%s %s is not row-major, and no state that grows", what, sym_str(name)));
}

/* Callers give and take row-major bytes, but to parts of other models. */
static void check_layouts(struct model *M)
{
	struct module *m = M->m;
	const struct graph *g = graph(m, m->main);

	if (module_meta(m, META_PART))
		return;
	bool *in = xcalloc(g->in.n + 1, sizeof *in), *out = xcalloc(g->out.n + 1, sizeof *out);

	for (size_t i = 0; i < M->states.n; i++)
		if (M->states.a[i].axis)
			in[M->states.a[i].in] = out[M->states.a[i].out] = true;
	for (size_t i = 0; i < g->in.n; i++)
		if (!in[i] && val(m, g->in.a[i])->type.layout)
			bad_layout(M, "input", val(m, g->in.a[i])->name);
	for (size_t k = 0; k < g->out.n; k++)
		if (!out[k] && val(m, g->out.a[k])->type.layout)
			bad_layout(M, "output", g->out_name.a[k]);
	free(in);
	free(out);
}

void states_append(struct model *M)
{
	struct module *m = M->m;
	const struct graph *g = graph(m, m->main);
	val_id past, next;

	for (size_t i = 0; i < g->nodes.n; i++) {
		uint32_t s = append_state(M, g->nodes.a[i]);
		if (s)
			M->states.a[s - 1].axis = 1 + append_axis(m, g->nodes.a[i], &past, &next);
	}
	check_layouts(M);
}
