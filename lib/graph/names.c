/* Names for what has none. */
#include "common/msg.h"
#include "graph/module.h"

/* used.a[name]: the scope that took it last; global.a[name]: not 0 if a constant has it, which takes it
 * everywhere. Scope 1 is that of constants and main inputs; then one a graph. */
struct namer {
	struct module *m;
	VEC(uint32_t) used, global;
	uint32_t scope;
	uint32_t next; /* number of the next made-up name in this scope */
};

static uint32_t *slot(struct namer *s, bool global, sym name)
{
	while (s->used.n <= name) {
		vec_push(&s->used, 0);
		vec_push(&s->global, 0);
	}
	return global ? &s->global.a[name] : &s->used.a[name];
}

/* Takes name in the current scope; false if it is taken or empty. */
static bool take(struct namer *s, sym name, bool global)
{
	if (!name || *slot(s, true, name) || *slot(s, false, name) == s->scope)
		return false;
	*slot(s, global, name) = s->scope;
	return true;
}

static sym make_up(struct namer *s, char letter, bool global)
{
	sym name;
	do
		name = intern_printf("%c%u", letter, ++s->next);
	while (!take(s, name, global));
	return name;
}

static void scope_begin(struct namer *s)
{
	s->scope++;
	s->next = 0;
}

/* Main inputs keep their names before all others, then constants in order of use. */
static void name_constants(struct namer *s, const struct graph_list *order)
{
	struct module *m = s->m;
	struct graph *top = graph(m, m->main);
	VEC(val_id) unnamed = {0};
	bool *seen = xcalloc(m->values.n, sizeof *seen);
	scope_begin(s);
	for (size_t i = 0; i < top->in.n; i++)
		if (!take(s, val(m, top->in.a[i])->name, false))
			vec_push(&unnamed, top->in.a[i]);
	for (size_t k = 0; k < order->n; k++) {
		const struct graph *g = graph(m, order->a[k]);
		for (size_t i = 0; i <= g->nodes.n; i++) {
			bool outs = i == g->nodes.n;
			const val_id *v = outs ? g->out.a : node(m, g->nodes.a[i])->in;
			size_t n = outs ? g->out.n : node(m, g->nodes.a[i])->nin;
			for (size_t j = 0; j < n; j++) {
				if (!v[j] || seen[v[j]] || val(m, v[j])->kind != VAL_CONST)
					continue;
				seen[v[j]] = true;
				if (!take(s, val(m, v[j])->name, true))
					vec_push(&unnamed, v[j]);
			}
		}
	}
	for (size_t i = 0; i < unnamed.n; i++) {
		struct value *v = val(m, unnamed.a[i]);
		bool is_const = v->kind == VAL_CONST;
		v->name = make_up(s, is_const ? 'c' : 'v', is_const);
	}
	vec_free(&unnamed);
	free(seen);
}

static void name_graph(struct namer *s, graph_id id)
{
	struct module *m = s->m;
	struct graph *g = graph(m, id);
	VEC(val_id) unnamed = {0};
	scope_begin(s);
	for (size_t i = 0; i < g->in.n; i++)
		if (!take(s, val(m, g->in.a[i])->name, false))
			vec_push(&unnamed, g->in.a[i]);
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = node(m, g->nodes.a[i]);
		for (uint32_t j = 0; j < n->nout; j++)
			if (n->out[j] && !take(s, val(m, n->out[j])->name, false))
				vec_push(&unnamed, n->out[j]);
	}
	for (size_t i = 0; i < unnamed.n; i++)
		val(m, unnamed.a[i])->name = make_up(s, 'v', false);
	vec_free(&unnamed);
}

void module_name_values(struct module *m)
{
	struct namer s = {.m = m};
	struct graph_list order = {0};
	if (!m->main)
		return;
	module_graph_order(m, &order);
	name_constants(&s, &order);
	for (size_t k = 0; k < order.n; k++)
		name_graph(&s, order.a[k]);
	vec_free(&order);
	vec_free(&s.used);
	vec_free(&s.global);
}
