/* Which constants are trained, and the inputs that they become. */
#include <fnmatch.h>
#include <stdlib.h>
#include "ge-grad.h"
#include "op/op.h"

enum part { NOT_READ, READ, FIXED };

/* By value: does a node of the main graph that v depends on read it as a weight? One that is read in a body, or as a setting, is fixed. */
static void mark(struct module *m, val_id v, uint8_t *part, bool *needed)
{
	const struct graph *g = graph(m, m->main);

	needed[v] = true;
	for (size_t k = g->nodes.n; k-- > 0;) {
		const struct node *n = node(m, g->nodes.a[k]);
		bool any = false;
		for (uint32_t i = 0; i < n->nout; i++)
			any |= n->out[i] && needed[n->out[i]];
		for (uint32_t i = 0; any && i < n->nin; i++) {
			needed[n->in[i]] = true;
			if (part[n->in[i]] != FIXED)
				part[n->in[i]] = grad_is_flat(n) || grad_is_setting(n->op, i) ? FIXED : READ;
		}
	}
	for (graph_id b = 1; b < m->graphs.n; b++)
		for (size_t k = 0; b != m->main && k < graph(m, b)->nodes.n; k++) {
			const struct node *n = node(m, graph(m, b)->nodes.a[k]);
			for (uint32_t i = 0; i < n->nin; i++)
				part[n->in[i]] = FIXED;
		}
}

/* Single numbers, as operators take them, are no weights. */
static bool may_train(struct module *m, val_id v)
{
	const struct value *x = val(m, v);

	return x->kind == VAL_CONST && dtype_is_float(x->type.dtype) && x->tensor->rank > 0 && x->name;
}

static bool is_frozen(struct module *m, val_id v, size_t n, const char *const *pattern, bool *met)
{
	bool yes = false;

	for (size_t i = 0; i < n; i++)
		if (!fnmatch(pattern[i], sym_str(val(m, v)->name), 0))
			yes = met[i] = true;
	return yes;
}

struct weights weights_find(struct module *m, val_id v, size_t npattern, const char *const *pattern, const struct pass_ctx *c)
{
	const char *source = m->source ? m->source : "standard input";
	uint8_t *part = xcalloc(m->values.n, 1);
	bool *needed = xcalloc(m->values.n, sizeof *needed), *met = xcalloc(npattern + 1, sizeof *met),
	     *seen = xcalloc(m->values.n, sizeof *seen);
	struct weights w = {0};
	size_t all = 0;

	mark(m, v, part, needed);
	for (size_t k = 0; k < graph(m, m->main)->nodes.n; k++) {
		node_id id = graph(m, m->main)->nodes.a[k];
		for (uint32_t i = 0; i < node(m, id)->nin; i++) {
			val_id x = node(m, id)->in[i];
			if (seen[x] || part[x] != READ || !may_train(m, x))
				continue;
			seen[x] = true;
			all++;
			bool frozen = is_frozen(m, x, npattern, pattern, met);
			pass_why(c, m, id, "%s is %s", sym_str(val(m, x)->name), frozen ? "frozen" : "trained");
			if (!frozen)
				vec_push(&w.is, x);
		}
	}
	for (size_t i = 0; i < npattern; i++)
		if (!met[i])
			die(EX_BADUSE, "%s: --freeze '%s' meets no weight", source, pattern[i]);
	if (!all)
		die(EX_BADDATA, "%s: no weight reaches '%s'", source, sym_str(val(m, v)->name));
	if (!w.is.n)
		die(EX_BADUSE, "%s: --freeze: all %zu weights are frozen", source, all);
	free(part);
	free(needed);
	free(met);
	free(seen);
	return w;
}

void weights_free(struct module *m, struct weights *w)
{
	size_t n = m->values.n + w->is.n;
	val_id *fwd = xcalloc(n, sizeof *fwd);

	for (size_t i = 0; i < w->is.n; i++) {
		struct value was = *val(m, w->is.a[i]);
		val_id x = graph_add_input(m, m->main, was.name, was.type);
		val(m, x)->tensor = was.tensor;
		val(m, x)->overridable = true;
		val(m, w->is.a[i])->name = 0;
		fwd[w->is.a[i]] = x;
		vec_push(&w->input, x);
	}
	module_forward(m, fwd);
	free(fwd);
}
