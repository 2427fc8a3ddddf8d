/* A branch for each gear, and what chooses between them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "choose.h"
#include "gears.h"
#include "graph/clone.h"
#include "graph/symbols.h"
#include "model/model.h"
#include "op/op.h"

/* ---- which symbols ---- */

/* Where the size of a symbol can be read: axis of an input. */
struct place {
	uint32_t input;
	int axis;
};

static const char *symbols_of_inputs(struct module *m, struct symbols *s)
{
	const struct graph *g = graph(m, m->main);
	const char *list = "";

	for (size_t i = 0; i < g->in.n; i++)
		symbols_mark(s, m, &val(m, g->in.a[i])->type);
	symbols_sort(s, m);
	for (size_t i = 0; i < s->list.n; i++)
		list = arena_printf(&m->arena, "%s%s%s", list, *list ? ", " : "", sym_str(poly_var_name(m->dims, s->list.a[i])));
	return list;
}

static bool find_place(struct module *m, poly_var v, struct place *at)
{
	const struct graph *g = graph(m, m->main);

	for (uint32_t i = 0; i < g->in.n; i++) {
		const struct type *t = &val(m, g->in.a[i])->type;
		for (int k = 0; k < t->rank && !t->other; k++)
			if (t->dims[k] && poly_is_var(m->dims, t->dims[k]) == v) {
				*at = (struct place){i, k};
				return true;
			}
	}
	return false;
}

/* Fills g->var; die(64) where the model has no such symbol. The symbols of inputs that have no sizes: with a histogram die(64), else true if
 * there are any. */
static bool find_symbols(struct module *m, struct gears *g)
{
	struct symbols s = {0};
	const char *list = symbols_of_inputs(m, &s);
	bool open = false;

	for (int i = 0; i < g->n; i++) {
		struct place at;
		g->var[i] = 0;
		if (!g->name[i] && s.list.n != 1)
			die(EX_BADUSE, "--gears: sizes of which symbol? The inputs have %s", *list ? list : "none");
		if (!g->name[i])
			g->name[i] = poly_var_name(m->dims, s.list.a[0]);
		for (size_t k = 0; k < s.list.n; k++)
			if (poly_var_name(m->dims, s.list.a[k]) == g->name[i])
				g->var[i] = s.list.a[k];
		if (!g->var[i])
			die(EX_BADUSE, "--gears %s: the model has no symbol of that name; it has %s", sym_str(g->name[i]),
			    *list ? list : "none");
		if (!find_place(m, g->var[i], &at))
			die(EX_BADUSE, "--gears %s: no axis of an input has just that size", sym_str(g->name[i]));
	}
	for (size_t k = 0; k < s.list.n; k++) {
		bool given = false;
		for (int i = 0; i < g->n; i++)
			given |= g->var[i] == s.list.a[k];
		if (!given && (g->histogram || g->exact))
			die(EX_BADUSE, "symbol %s has no size; --set %s=.. of ge-shape gives it one, --gears several",
			    sym_str(poly_var_name(m->dims, s.list.a[k])), sym_str(poly_var_name(m->dims, s.list.a[k])));
		open |= !given;
	}
	symbols_free(&s);
	return open;
}

/* ---- sizes beside others that stay open ---- */

/* One graph of any size stays; its kernels have others for these sizes (lib/model/versions.c). */
static void name_sizes(struct module *m, const struct gears *g, const struct pass_ctx *c)
{
	for (int i = 0; i < g->n; i++) {
		const char *key = arena_printf(&m->arena, GEARS_OPEN "%s", sym_str(g->name[i])), *list = "", *was = module_meta(m, key);
		for (size_t k = 0; k < gears_count(g); k++)
			list = arena_printf(&m->arena, "%s%s%" PRId64, list, k ? " " : "", g->size.a[k * (size_t)g->n + (size_t)i]);
		if (was && strcmp(was, list))
			die(EX_BADUSE, "the model has other gears already");
		module_set_meta(m, key, intern(list));
		if (c->why)
			warn("%s: other sizes stay open: one graph for all, with kernels of their own for %s", sym_str(g->name[i]), list);
	}
}

/* ---- a gear ---- */

/* In the types of values from `from` on, the symbols have the sizes of gear k. */
static void give_sizes(struct module *m, const struct gears *g, size_t k, size_t from)
{
	poly by[SYMBOLS_MAX];

	for (int i = 0; i < g->n; i++)
		by[i] = poly_const(m->dims, g->size.a[k * (size_t)g->n + (size_t)i]);
	for (size_t v = from; v < m->values.n; v++) {
		struct type *t = &m->values.a[v].type;
		dim *d = t->rank > 0 ? arena_copy(&m->arena, t->dims, sizeof *d * (size_t)t->rank) : NULL;
		for (int j = 0; j < t->rank; j++)
			d[j] = d[j] ? poly_subst_many(m->dims, d[j], g->n, g->var, by) : POLY_UNKNOWN;
		t->dims = t->rank > 0 ? d : t->dims;
	}
}

static bool name_taken(struct module *m, sym name)
{
	for (graph_id g = 1; g < m->graphs.n; g++)
		if (graph(m, g)->name == name)
			return true;
	return false;
}

/* The suffix, or a longer one, with which no name of a graph is one that is there already. */
static const char *free_suffix(struct module *m, const char *s)
{
	bool taken = true;

	while (taken) {
		taken = false;
		for (graph_id b = 1; b < m->graphs.n && !taken; b++)
			taken = name_taken(m, intern_printf("%s%s", sym_str(graph(m, b)->name), s));
		s = taken ? arena_printf(&m->arena, "%s_", s) : s;
	}
	return s;
}

static const char *suffix_of(struct module *m, const struct gears *g, size_t k)
{
	const char *s = "";

	for (int i = 0; i < g->n; i++)
		s = arena_printf(&m->arena, "%s%s%" PRId64, s, i ? "x" : ".", g->size.a[k * (size_t)g->n + (size_t)i]);
	return free_suffix(m, s);
}

/* Outputs that are inputs or constants need no gear. */
static void drop_kept_outputs(struct module *m, graph_id b)
{
	struct graph *x = graph(m, b);
	size_t kept = 0;

	for (size_t k = 0; k < x->out.n; k++) {
		if (val(m, x->out.a[k])->kind != VAL_NODE)
			continue;
		x->out_name.a[kept] = x->out_name.a[k];
		x->out.a[kept++] = x->out.a[k];
	}
	x->out.n = x->out_name.n = kept;
}

/* A copy of the main graph whose inputs have no defaults. */
static graph_id body_new(struct module *m, const char *suffix)
{
	graph_id b = graph_clone(m, m->main, suffix);

	for (size_t i = 0; i < graph(m, b)->in.n; i++) {
		struct value *x = val(m, graph(m, b)->in.a[i]);
		x->overridable = false;
		x->tensor = NULL;
	}
	return b;
}

static graph_id branch_new(struct module *m, const struct gears *g, size_t k)
{
	size_t from = m->values.n;
	graph_id b = body_new(m, suffix_of(m, g, k));

	drop_kept_outputs(m, b);
	give_sizes(m, g, k, from);
	return b;
}

/* ---- the new main graph ---- */

static void set_strs(struct module *m, node_id n, const char *name, const struct gears *g)
{
	attr_set(m, n, (struct attr){.name = intern(name), .kind = ATTR_STRS, .n = (uint32_t)g->n, .u.strs = g->name});
}

/* open: a size without a gear has the number behind the last. */
static val_id add_index(struct module *m, const struct gears *g, bool open)
{
	const struct graph *x = graph(m, m->main);
	int64_t axes[SYMBOLS_MAX], of[SYMBOLS_MAX], dims[2] = {(int64_t)gears_count(g), g->n};
	VEC(val_id) in = {0};
	struct place at;

	for (int i = 0; i < g->n; i++) {
		size_t j = 0;
		find_place(m, g->var[i], &at);
		while (j < in.n && in.a[j] != x->in.a[at.input])
			j++;
		if (j == in.n)
			vec_push(&in, x->in.a[at.input]);
		axes[i] = at.axis;
		of[i] = (int64_t)j;
	}
	node_id n = node_new(m, m->main, OP_MapIndex, (int)in.n, in.a, 1);
	struct tensor *t = tensor_new(&m->arena, DT_I64, 2, dims);
	memcpy((void *)t->data, g->size.a, g->size.n * sizeof *g->size.a);
	attr_set(m, n, (struct attr){.name = intern("gears"), .kind = ATTR_TENSOR, .u.tensor = t});
	attr_set_ints(m, n, "axes", g->n, axes);
	attr_set_ints(m, n, "of", g->n, of);
	set_strs(m, n, "names", g);
	if (open)
		attr_set_int(m, n, "open", 1);
	if (g->pad)
		attr_set_int(m, n, "up", 1);
	if (g->count)
		attr_set_ints(m, n, "counts", (int)gears_count(g), g->count);
	vec_free(&in);
	return node(m, n)->out[0];
}

/* The axis of v along which it counts what is padded; -1: none, or nothing is. */
static int64_t padded_axis(const struct gears *g, const int *axis, val_id v) { return g->pad ? axis[v] : -1; }

/* The results of node n are those outputs of a graph that nodes made. */
static void take_outputs(struct module *m, graph_id g, node_id n)
{
	for (size_t k = 0, i = 0; k < graph(m, g)->out.n; k++) {
		val_id old = graph(m, g)->out.a[k], v;
		if (val(m, old)->kind != VAL_NODE)
			continue;
		v = node(m, n)->out[i++];
		val(m, v)->type = val(m, old)->type;
		val(m, v)->name = val(m, old)->name;
		graph(m, g)->out.a[k] = v;
	}
}

/* The main graph becomes a Case. like: a graph whose values are those that axis is of. */
static void add_case(struct module *m, const struct gears *g, const graph_id *branch, graph_id like, const int *axis)
{
	struct graph *x = graph(m, m->main);
	const struct graph *from = graph(m, like);
	VEC(val_id) in = {0};
	VEC(int64_t) fit = {0}, cut = {0};
	size_t nin = x->in.n;

	for (size_t k = 0; k < x->out.n; k++)
		if (val(m, x->out.a[k])->kind == VAL_NODE)
			vec_push(&cut, padded_axis(g, axis, from->out.a[k]));
	x->nodes.n = 0;
	vec_push(&in, add_index(m, g, false));
	for (size_t i = 0; i < nin; i++) {
		vec_push(&in, graph(m, m->main)->in.a[i]);
		vec_push(&fit, padded_axis(g, axis, graph(m, like)->in.a[i]));
	}
	node_id n = node_new(m, m->main, OP_Case, (int)in.n, in.a, (int)cut.n);
	attr_set(m, n, (struct attr){.name = intern("branches"), .kind = ATTR_GRAPHS, .n = (uint32_t)gears_count(g), .u.graphs = branch});
	attr_set_ints(m, n, "cut", (int)cut.n, cut.a);
	attr_set_ints(m, n, "fit", (int)fit.n, fit.a);
	take_outputs(m, m->main, n);
	vec_free(&in);
	vec_free(&fit);
	vec_free(&cut);
}

/* ---- a branch for all other sizes ---- */

/* Is there a gear? */
static val_id add_condition(struct module *m, const struct gears *g)
{
	int64_t count = (int64_t)gears_count(g);
	val_id n = const_copy(m, 0, DT_I64, 0, NULL, &count, sizeof count), index = add_index(m, g, true);
	node_id less = node_new(m, m->main, OP_Less, 2, (val_id[]){index, n}, 1);

	return node(m, less)->out[0];
}

/* The main graph becomes an If: where there is a gear, a graph with the Case of them, else one of any size. */
static void add_open(struct module *m, const struct gears *g, const graph_id *branch, const int *axis)
{
	graph_id main = m->main, gears = body_new(m, free_suffix(m, ".gears")), any = body_new(m, free_suffix(m, ".open"));
	struct graph *x = graph(m, main);
	VEC(val_id) in = {0};
	uint32_t nout = 0;

	m->main = gears;
	add_case(m, g, branch, main, axis);
	m->main = main;
	drop_kept_outputs(m, gears);
	drop_kept_outputs(m, any);
	x->nodes.n = 0;
	vec_push(&in, add_condition(m, g));
	for (size_t i = 0; i < x->in.n; i++)
		vec_push(&in, x->in.a[i]);
	for (size_t k = 0; k < x->out.n; k++)
		nout += val(m, x->out.a[k])->kind == VAL_NODE;
	node_id n = node_new(m, main, OP_If, (int)in.n, in.a, (int)nout);
	attr_set_graph(m, n, "then_branch", gears);
	attr_set_graph(m, n, "else_branch", any);
	attr_set_int(m, n, "captures", (int64_t)in.n - 1);
	take_outputs(m, main, n);
	vec_free(&in);
}

/* ---- the pass ---- */

/* The Case of a model that has gears; 0: it has none. */
static node_id geared(struct module *m)
{
	for (graph_id g = 1; g < m->graphs.n; g++)
		for (size_t i = 0; i < graph(m, g)->nodes.n; i++) {
			node_id n = graph(m, g)->nodes.a[i];
			if (node(m, n)->op == OP_Case && attr_find(node(m, n), "fit"))
				return n;
		}
	return 0;
}

/* Does a table of sizes, whose columns are other ones, have gear k? */
static bool has_gear(const int64_t *table, const struct gears *g, size_t k, const int *column)
{
	for (size_t r = 0; r < gears_count(g); r++) {
		int i = 0;
		while (i < g->n && table[r * (size_t)g->n + (size_t)column[i]] == g->size.a[k * (size_t)g->n + (size_t)i])
			i++;
		if (i == g->n)
			return true;
	}
	return false;
}

/* Are the gears of a MapIndex these? */
static bool same_gears(struct module *m, node_id index, const struct gears *g)
{
	const struct attr *names = index ? attr_find(node(m, index), "names") : NULL;
	struct tensor *t = index ? attr_tensor(node(m, index), "gears") : NULL;
	int64_t *table = ARENA_ARRAY(&m->arena, int64_t, g->size.n + 1);
	int column[SYMBOLS_MAX];

	if (!names || (int)names->n != g->n || !t || tensor_count(t) != (int64_t)g->size.n || tensor_ints(m, t, table, (int)g->size.n) < 0)
		return false;
	for (int i = 0; i < g->n; i++) {
		sym name = g->name[i] ? g->name[i] : names->u.strs[0];
		column[i] = 0;
		while (column[i] < g->n && names->u.strs[column[i]] != name)
			column[i]++;
		if (column[i] == g->n)
			return false;
	}
	for (size_t k = 0; k < gears_count(g); k++)
		if (!has_gear(table, g, k, column))
			return false;
	return true;
}

/* The last symbol whose smaller sizes can be padded. */
static void find_padding(struct module *m, struct gears *g, const struct known *known, int *axis, const struct pass_ctx *c)
{
	for (int i = g->n - 1; i >= 0 && !g->exact && !g->pad; i--) {
		const char *why = rows_follow(m, g->var[i], known, axis);
		if (c->why)
			warn("%s: %s%s", sym_str(g->name[i]), why ? "sizes between gears are refused: " : "sizes between gears are padded",
			     why ? why : "");
		g->pad = !why;
		if (!why)
			gears_put_last(g, i);
	}
}

/* A fault of a branch is none before a run takes it. Of gears it is one: dies of it. */
static void check_branch(struct module *m, const struct gears *g, size_t k, graph_id b)
{
	graph_id main = m->main;

	m->main = b;
	infer_module(m, NULL);
	m->main = main;
	for (size_t i = 0; i < graph(m, b)->in.n; i++)
		if (!type_static(m, &val(m, graph(m, b)->in.a[i])->type))
			die(EX_BADUSE, "--gears: %s does not fit the model", gear_text(g, k, &m->arena));
}

void gears_build(struct module *m, struct gears *g, const struct pass_ctx *c)
{
	node_id there = geared(m);

	if (there && !g->histogram && g->open == (node(m, there)->graph != m->main) && same_gears(m, val(m, node(m, there)->in[0])->def, g))
		return;
	if (there)
		die(EX_BADUSE, "the model has other gears already");
	struct known *known;

	if (find_symbols(m, g)) {
		name_sizes(m, g, c);
		return;
	}
	infer_module(m, &known);
	int *axis = ARENA_ARRAY(&m->arena, int, m->values.n);
	find_padding(m, g, known, axis, c);
	if (g->histogram)
		gears_choose(g, g->histogram, g->times, g->most, &m->arena);
	graph_id *branch = ARENA_ARRAY(&m->arena, graph_id, gears_count(g) + 1);
	for (size_t k = 0; k < gears_count(g); k++) {
		branch[k] = branch_new(m, g, k);
		if (c->why)
			warn("gear %zu: %s", k, gear_text(g, k, &m->arena));
	}
	for (size_t k = 0; k < gears_count(g); k++)
		check_branch(m, g, k, branch[k]);
	if (g->open)
		add_open(m, g, branch, axis);
	else
		add_case(m, g, branch, m->main, axis);
	infer_module(m, NULL);
}
