#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "common/outfile.h"
#include "runner/library.h"
#include "exposed.h"

struct exposed {
	struct library l;
	struct value_stat **row; /* by output of the library; NULL: it is not counted */
	struct tensor **out;
	struct arena arena;
};

/* The last output is one that there was, under the name of the model: a library of other weights has another. */
static void expose(struct module *m, struct digest model, struct value_stat *const *row)
{
	struct graph *g = graph(m, m->main);
	bool *out = xcalloc(m->values.n, sizeof *out);
	char hex[33];

	for (size_t i = 0; i < g->out.n; i++)
		out[g->out.a[i]] = true;
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = node(m, g->nodes.a[i]);
		for (uint32_t k = 0; k < n->nout; k++)
			if (n->out[k] && row[n->out[k]] && !out[n->out[k]])
				graph_add_output(m, m->main, n->out[k], val(m, n->out[k])->name);
	}
	digest_hex(model, hex);
	if (g->out.n) /* a checked graph has one */
		graph_add_output(m, m->main, g->out.a[0], intern_printf("statistics_of_%s", hex));
	free(out);
}

void exposed_make(struct module *m, struct digest model)
{
	struct statistics s = {0};
	struct value_stat **row = statistics_begin(&s, m);

	expose(m, model, row);
	free(row);
	statistics_free(&s);
}

static bool is_of(const struct exposed *e, struct module *m)
{
	const struct graph *g = graph(m, m->main);
	const struct hone_model *l = e->l.model;
	bool same = (size_t)l->num_inputs == g->in.n && (size_t)l->num_outputs == g->out.n;

	for (size_t i = 0; same && i < g->in.n; i++)
		same = !strcmp(l->inputs[i].name, sym_str(val(m, g->in.a[i])->name));
	for (size_t i = 0; same && i < g->out.n; i++)
		same = !strcmp(l->outputs[i].name, sym_str(g->out_name.a[i])) &&
		       tensor_dtype(&l->outputs[i]) == val(m, g->out.a[i])->type.dtype;
	return same;
}

static struct digest digest_of_file(const char *path)
{
	struct mapped f;

	mapped_open(&f, path);
	struct digest d = digest_bytes(f.p, f.n);
	mapped_close(&f);
	return d;
}

struct exposed *exposed_open(const char *path, struct module *m, struct value_stat **row, struct statistics *s)
{
	struct exposed *e = xcalloc(1, sizeof *e);
	struct graph *g = graph(m, m->main);

	library_open(&e->l, path, NULL, 1);
	expose(m, s->model, row);
	if (!is_of(e, m))
		die(EX_BADDATA, "%s: not the library of what --expose makes of this model", path);
	s->by_library = true;
	s->library = digest_of_file(path);
	e->row = ARENA_ARRAY(&e->arena, struct value_stat *, g->out.n + 1);
	e->out = ARENA_ARRAY(&e->arena, struct tensor *, g->out.n + 1);
	for (size_t i = 0; i < g->out.n; i++) {
		e->row[i] = i + 1 < g->out.n ? row[g->out.a[i]] : NULL;
		e->out[i] = library_tensor(&e->l.model->outputs[i], &e->arena);
	}
	return e;
}

void exposed_run(struct exposed *e, struct tensor **in, struct arena *a)
{
	const struct hone_model *l = e->l.model;

	for (int i = 0; i < l->num_inputs; i++) {
		const char *why = library_check(&l->inputs[i], in[i], a);
		if (why)
			die(EX_BADDATA, "%s: %s", e->l.path, why);
	}
	library_run(&e->l, in, e->out, a);
	for (int i = 0; i < l->num_outputs; i++)
		if (e->row[i])
			value_stat_add(e->row[i], e->out[i]);
}

void exposed_close(struct exposed *e)
{
	if (!e)
		return;
	library_close(&e->l);
	arena_release(&e->arena);
	free(e);
}
