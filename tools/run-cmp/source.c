/* The kinds of things run-cmp compares. */
#include <string.h>
#include "common/filename.h"
#include "common/msg.h"
#include "runner/library.h"
#include "onnx/onnx.h"
#include "op/op.h"
#include "op/values.h"
#include "source.h"

struct source_sizes source_sizes = {.rest = -1};

/* ---- .npy, .npz ---- */

static bool npy_is(const char *path) { return filename_ends(path, ".npy"); }
static bool npz_is(const char *path) { return filename_ends(path, ".npz"); }
static void file_open(struct source *s) {}

static struct outputs npy_run(struct source *s, struct tensor **in, struct arena *a)
{
	struct named_tensor *t = ARENA_NEW(a, struct named_tensor);

	*t = (struct named_tensor){"", npy_read(s->path, a)};
	return (struct outputs){1, t};
}

static struct outputs npz_run(struct source *s, struct tensor **in, struct arena *a)
{
	struct outputs o;

	o.n = npz_read(s->path, a, &o.t);
	return o;
}

/* ---- compiled models ---- */

static bool library_is(const char *path) { return filename_ends(path, ".so"); }

static void library_source_open(struct source *s)
{
	struct library *l = s->state = xcalloc(1, sizeof *l);

	library_open(l, s->path, NULL, 0);
	s->m = library_module(l);
}

static struct outputs library_source_run(struct source *s, struct tensor **in, struct arena *a)
{
	struct library *l = s->state;
	int n = l->model->num_outputs;
	struct outputs o = {n, ARENA_ARRAY(a, struct named_tensor, n)};
	struct tensor **out = ARENA_ARRAY(a, struct tensor *, n);

	for (int i = 0; i < l->model->num_inputs; i++) {
		const char *why = library_check(&l->model->inputs[i], in[i], a);
		if (why)
			die(EX_BADDATA, "%s: %s", s->path, why);
	}
	for (int i = 0; i < n; i++) {
		out[i] = library_tensor(&l->model->outputs[i], a);
		o.t[i] = (struct named_tensor){(char *)l->model->outputs[i].name, out[i]};
	}
	library_run(l, in, out, a);
	o.n = values_flatten(o.t, o.n, &o.t, a);
	return o;
}

/* ---- graphs, on the reference evaluator ---- */

static bool graph_is(const char *path) { return true; }

static bool has_input(struct module *m, const char *name, size_t n)
{
	const struct graph *g = graph(m, m->main);
	for (size_t i = 0; i < g->in.n; i++)
		if (sym_len(val(m, g->in.a[i])->name) == n && !memcmp(sym_str(val(m, g->in.a[i])->name), name, n))
			return true;
	return false;
}

/* INPUT:1x3 is a shape, INPUT=2,2 a value, NAME=2 a size. */
static void give(struct module *m, struct source_const *c)
{
	const char *colon = strrchr(c->arg, ':'), *eq = strchr(c->arg, '=');
	if (colon && has_input(m, c->arg, (size_t)(colon - c->arg)))
		bind_shapes(m, c->arg);
	else if (eq && has_input(m, c->arg, (size_t)(eq - c->arg)))
		c->used |= bind_consts(m, c->arg);
	else if (!source_sizes.open) /* of the second model the shapes are known */
		bind_sets(m, c->arg);
}

static void take_shapes(struct module *m)
{
	for (int i = 0; i < source_sizes.nopen; i++) {
		const struct named_tensor *x = &source_sizes.open[i];
		if (has_input(m, x->name, strlen(x->name)))
			bind_shape(m, x->name, x->t->rank, x->t->dims);
	}
}

static void graph_open(struct source *s)
{
	struct module *m = s->m = module_read_any(s->path);

	source_sizes.symbols |= bind_has_symbols(m);
	for (size_t i = 0; i < source_sizes.sets.n; i++)
		source_sizes.sets.a[i].used |= bind_sets_there(m, source_sizes.sets.a[i].arg);
	for (size_t i = 0; i < source_sizes.given.n; i++)
		give(m, &source_sizes.given.a[i]);
	for (size_t i = 0; i < source_sizes.shapes.n; i++)
		bind_shapes(m, source_sizes.shapes.a[i]);
	for (size_t i = 0; i < source_sizes.consts.n; i++)
		source_sizes.consts.a[i].used |= bind_consts(m, source_sizes.consts.a[i].arg);
	const char *options = source_sizes.rest < 0 ? NULL : bind_rest(m, source_sizes.rest);
	if (options)
		source_sizes.rest_options = options;
	if (source_sizes.open)
		take_shapes(m);
	infer_declared(m, NULL);
}

static struct outputs graph_run(struct source *s, struct tensor **in, struct arena *a)
{
	struct graph *g = graph(s->m, s->m->main);
	struct outputs o = {(int)g->out.n, ARENA_ARRAY(a, struct named_tensor, g->out.n)};
	struct tensor **out = ARENA_ARRAY(a, struct tensor *, g->out.n);

	eval_graph(s->m, s->m->main, in, out, a, NULL);
	for (size_t i = 0; i < g->out.n; i++)
		o.t[i] = (struct named_tensor){(char *)sym_str(g->out_name.a[i]), out[i]};
	o.n = values_flatten(o.t, o.n, &o.t, a);
	return o;
}

static const struct source_kind kinds[] = {
	{"array", npy_is, false, file_open, npy_run},
	{"arrays", npz_is, false, file_open, npz_run},
	{"compiled model", library_is, false, library_source_open, library_source_run},
	{"graph", graph_is, true, graph_open, graph_run},
};

void source_open(struct source *s, const char *path)
{
	const struct source_kind *k = kinds;

	while (!k->is(path))
		k++;
	*s = (struct source){.kind = k, .path = path};
	k->open(s);
}
