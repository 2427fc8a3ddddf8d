/* The backward pass: a loss of an output, and its derivative by every weight that is trained. */
#include <stdlib.h>
#include <string.h>
#include "common/tool.h"
#include "ge-grad.h"
#include "op/op.h"
#include "op/pass.h"

static const char *loss, *output;
static VEC(const char *) frozen;

/* The output of that name, else a value of the main graph; without a name the only output. */
static val_id find_output(struct module *m)
{
	const struct graph *g = graph(m, m->main);
	const char *source = m->source ? m->source : "standard input";

	if (!output && g->out.n != 1)
		die(EX_BADUSE, "%s: it has %zu outputs: --output says of which the loss is", source, g->out.n);
	if (!output)
		return g->out.a[0];
	for (size_t i = 0; i < g->out.n; i++)
		if (!strcmp(sym_str(g->out_name.a[i]), output))
			return g->out.a[i];
	for (val_id v = 1; v < m->values.n; v++)
		if (val(m, v)->graph == m->main && val(m, v)->name == intern(output))
			return v;
	die(EX_BADUSE, "%s: no output or value '%s'; ge-stat lists the outputs", source, output);
}

/* The nodes that a trained weight reaches, forwards. What cannot be differentiated is refused on the way back, if the loss needs it. */
static void mark_active(struct grad *d, size_t nnodes)
{
	struct module *m = d->m;

	for (size_t k = 0; k < nnodes; k++) {
		const struct node *n = node(m, graph(m, d->graph)->nodes.a[k]);
		bool active = false;
		for (uint32_t i = 0; i < n->nin; i++)
			active |= d->active[n->in[i]];
		for (uint32_t i = 0; active && !grad_is_flat(n) && i < n->nout; i++)
			d->active[n->out[i]] = true;
	}
	d->active[0] = false;
}

static void go_back(struct grad *d, size_t nnodes, const struct pass_ctx *c)
{
	struct module *m = d->m;

	for (size_t k = nnodes; k-- > 0;) {
		node_id id = graph(m, d->graph)->nodes.a[k];
		if (!grad_back(d, id)) {
			const char *where = node_where(m, id, &m->arena);
			die(EX_NOTAVAIL, "%s: %s: no derivative of this%s%s", m->source ? m->source : "standard input", where,
			    d->why ? ": " : "", d->why ? d->why : "");
		}
		if (grad_is_flat(node(m, id)))
			pass_why(c, m, id, "its derivative is zero");
	}
}

/* The outputs are the one that was chosen, the loss, and the derivatives. */
static void set_outputs(struct grad *d, val_id y, val_id number, const struct weights *w)
{
	struct module *m = d->m;
	struct graph *g = graph(m, m->main);
	sym name = val(m, y)->name;

	for (size_t i = 0; i < g->out.n; i++)
		if (g->out.a[i] == y)
			name = g->out_name.a[i];
	g->out.n = g->out_name.n = 0;
	graph_add_output(m, m->main, y, name);
	graph_add_output(m, m->main, number, intern("loss"));
	for (size_t i = 0; i < w->input.n; i++) {
		val_id by = d->sum[w->input.a[i]];
		if (!by)
			by = grad_filled_like(d, w->input.a[i], val(m, w->input.a[i])->type.dtype, 0);
		graph_add_output(m, m->main, by, intern_printf("%s.grad", sym_str(val(m, w->input.a[i])->name)));
	}
}

/* needs: operators with a derivative between the weights and the output. keeps: the output that was chosen. leaves: an input for the labels,
 * the loss and its derivatives as outputs, and each trained weight as an input with a default. */
static void grad(struct module *m, const struct pass_ctx *c)
{
	struct grad d = {.m = m, .graph = m->main, .nvalues = m->values.n};

	if (!loss)
		die(EX_BADUSE, "--loss says which: %s", loss_names());
	module_name_values(m);
	infer_module(m, NULL);
	val_id y = find_output(m);
	val_id number = loss_make(&d, loss, y);
	struct weights w = weights_find(m, y, frozen.n, frozen.a, c);
	weights_free(m, &w);
	infer_module(m, NULL);
	d.nvalues = m->values.n;
	d.sum = ARENA_ARRAY(&m->arena, val_id, d.nvalues);
	d.active = ARENA_ARRAY(&m->arena, bool, d.nvalues);
	size_t nnodes = graph(m, m->main)->nodes.n;
	for (size_t i = 0; i < w.input.n; i++)
		d.active[w.input.a[i]] = true;
	mark_active(&d, nnodes);
	if (!d.active[number])
		die(EX_BADDATA, "%s: no weight reaches the loss", m->source ? m->source : "standard input");
	d.sum[number] = grad_scalar(&d, grad_type(&d, number)->dtype, 1);
	go_back(&d, nnodes, c);
	set_outputs(&d, y, number, &w);
	infer_module(m, NULL);
	vec_free(&w.is);
	vec_free(&w.input);
}

enum { KEY_LOSS = 'l', KEY_OUTPUT = 'O', KEY_FREEZE = 'f' };
static const struct argp_option options[] = {
	{"loss", KEY_LOSS, "NAME", 0, "what is made small: ce (classes along axis 1), mse, bce (of logits), l1", 0},
	{"output", KEY_OUTPUT, "NAME", 0, "of this output or value; without, of the only output", 0},
	{"freeze", KEY_FREEZE, "PATTERN", 0, "weights with such a name stay as they are (may be repeated)", 0},
	{0},
};

static error_t option(int key, char *arg)
{
	switch (key) {
	case KEY_LOSS:
		if (!loss_is(arg))
			die(EX_BADUSE, "--loss %s: there are %s", arg, loss_names());
		loss = arg;
		return 0;
	case KEY_OUTPUT: output = arg; return 0;
	case KEY_FREEZE: vec_push(&frozen, arg); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct pass pass = {
	.run = grad,
	.contract =
		"needs operators that have a derivative; keeps the output that the loss is of; leaves the loss and a derivative for each "
		"trained weight, which is an input",
};

const struct tool tool = {
	.name = "ge-grad",
	.summary = "Add a loss and the backward pass to a graph.",
	PASS_TOOL(pass),
	.options = options,
	.option = option,
};
