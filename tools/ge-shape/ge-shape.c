/* ge-shape: types of all values, sizes given to symbols and inputs. */
#include <inttypes.h>
#include <string.h>
#include "common/nearest.h"
#include "common/option.h"
#include "common/shown.h"
#include "graph/symbols.h"
#include "op/op.h"
#include "op/pass.h"

enum { OPT_SET = 0x100, OPT_SHAPE, OPT_CONST, OPT_EXTERN, OPT_OUTPUTS };
static struct bindings bound;
static VEC(const char *) externs, outputs;

static const struct argp_option options[] = {
	{"set", OPT_SET, "NAME=SIZE,...", 0, "give symbols their sizes, in the whole model"},
	{"shape", OPT_SHAPE, "INPUT:1x3x224x224", 0, "give an input its shape (? leaves an extent as it is)"},
	{"const", OPT_CONST, "INPUT=VALUE,...", 0, "make an input a constant: a number, or a list for one axis"},
	{"outputs", OPT_OUTPUTS, "NAME,...", 0, "make values of the main graph outputs, too"},
	{"extern", OPT_EXTERN, "DOMAIN.OP=FUNCTION[:RULE]", 0,
	 "a C function computes that operator, which hone does not know; RULE: types of its results, as 'T[n,c] f32[c] -> T[n,1]'"},
	{0},
};

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_SET:
		option_sizes_once("--set", arg);
		vec_push(&bound.sets, arg);
		return 0;
	case OPT_SHAPE:
		option_name_once("--shape", arg, ':');
		vec_push(&bound.shapes, arg);
		return 0;
	case OPT_CONST:
		option_name_once("--const", arg, '=');
		vec_push(&bound.consts, arg);
		return 0;
	case OPT_OUTPUTS:
		for (char *save, *name = strtok_r(arg, ",", &save); name; name = strtok_r(NULL, ",", &save))
			vec_push(&outputs, name);
		return 0;
	case OPT_EXTERN:
		extern_check(arg);
		vec_push(&externs, arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static void why_graph(struct module *m, graph_id g, const struct known *known, const struct pass_ctx *c)
{
	for (size_t i = 0; i < graph(m, g)->nodes.n; i++) {
		node_id id = graph(m, g)->nodes.a[i];
		const struct node *n = node(m, id);
		const char *s = "";
		for (uint32_t k = 0; k < n->nout; k++) {
			const struct value *v = val(m, n->out[k]);
			const struct known *kn = &known[n->out[k]];
			if (!n->out[k])
				continue;
			s = arena_printf(&m->arena, "%s%s%s", s, *s ? ", " : "", type_str(m, &v->type, &m->arena));
			for (int j = 0; kn->yes && j < kn->n && j < 8; j++)
				s = arena_printf(&m->arena, "%s%s%s%s", s, j ? ", " : " = [", poly_str(m->dims, kn->e[j], &m->arena),
						 j + 1 == kn->n ? "]"
						 : j == 7       ? ", ...]"
								: "");
		}
		pass_why(c, m, id, "%s%s", s, op_row(n->op) ? "" : " (no shape rule for this operator)");
	}
}

static void why_symbols(struct module *m)
{
	struct symbols s = {0};
	int64_t lo, hi;

	symbols_mark_module(&s, m);
	symbols_sort(&s, m);
	for (size_t i = 0; i < s.list.n; i++) {
		poly_var_range(m->dims, s.list.a[i], &lo, &hi);
		const char *most = hi == POLY_INF ? "any number" : arena_printf(&m->arena, "%" PRId64, hi);
		warn("symbol %s: %" PRId64 " to %s", sym_str(poly_var_name(m->dims, s.list.a[i])), lo, most);
	}
	symbols_free(&s);
}

static void why(struct module *m, const struct known *known, const struct pass_ctx *c)
{
	symbols_name(m);
	for (graph_id g = 1; g < m->graphs.n; g++)
		why_graph(m, g, known, c);
	why_symbols(m);
}

/* The value of that name becomes an output of that name, if it is none yet. */
static void add_output(struct module *m, const char *name)
{
	struct nearest near = {.word = name};
	sym wanted = intern(name);
	const struct graph *g = graph(m, m->main);

	for (size_t i = 0; i < g->out.n; i++)
		if (g->out_name.a[i] == wanted)
			return;
	for (size_t i = 0; i < g->nodes.n; i++)
		for (uint32_t k = 0; k < node(m, g->nodes.a[i])->nout; k++) {
			val_id v = node(m, g->nodes.a[i])->out[k];
			if (v && val(m, v)->name == wanted) {
				graph_add_output(m, m->main, v, wanted);
				return;
			}
			if (v && val(m, v)->name)
				nearest_offer(&near, sym_str(val(m, v)->name));
		}
	die(EX_BADUSE, "--outputs %s: no value of the main graph has that name%s%s", shown(name), near.best ? "; near it: " : "",
	    near.best ? shown(near.best) : "");
}

static void shape(struct module *m, const struct pass_ctx *c)
{
	struct known *known;

	bind_all(m, &bound);
	for (size_t i = 0; i < externs.n; i++)
		extern_bind(m, externs.a[i]);
	for (size_t i = 0; i < outputs.n; i++)
		add_output(m, outputs.a[i]);
	infer_declared(m, &known);
	if (bounds_above_zero(m))
		infer_declared(m, &known);
	if (c->why)
		why(m, known, c);
}

static const struct pass pass = {
	.run = shape,
	.contract =
		"Needs nothing. Changes types only, inputs given with --const, operators given with --extern and outputs given with --outputs. Leaves every type as precise as the rules "
		"can make it.",
};

const struct tool tool = {
	.name = "ge-shape",
	.summary = "Infer the types and shapes of all values of a graph.",
	PASS_TOOL(pass),
	.options = options,
	.option = option,
};
