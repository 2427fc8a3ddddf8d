/* hone train: a model with other weights. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/filename.h"
#include "common/option.h"
#include "common/outfile.h"
#include "common/progress.h"
#include "common/shown.h"
#include "graph/stream.h"
#include "hone.h"
#include "onnx/replace.h"
#include "op/npy.h"

struct training {
	long batch;
	double epochs;
	int64_t samples, held;
	const char *backward, *step, *judge; /* graphs; judge NULL: nothing is held out */
	struct words frozen;                 /* --freeze=..., of what is no initializer */
};

/* ---- sizes ---- */

static double number_given(const struct hone *h, const char *option, double without, double least, double most)
{
	const char *v = given_value(h, option);

	return v ? option_number(text((struct hone *)h, "--%s", option), v, least, most) : without;
}

static void read_numbers(struct hone *h, struct training *t)
{
	static const char *const needed[] = {"data", "labels", "loss"};
	double part = number_given(h, "validate", 0, 0, 0.9);

	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (!given_is(h, needed[i]))
			die(EX_BADUSE, "train: --%s is missing; hone help train", needed[i]);
	t->epochs = given_is(h, "epochs") ? (double)option_count("--epochs", given_value(h, "epochs"), 1, 1u << 31) : 10;
	t->batch = given_is(h, "batch") ? (long)option_count("--batch", given_value(h, "batch"), 1, 1u << 30) : 32;
	struct npy_rows *r = npy_rows_open(given_value(h, "data"));
	t->samples = r->rank > 0 ? r->dims[0] : 0;
	npy_rows_close(r);
	t->held = (int64_t)(part * (double)t->samples);
	if (part > 0 && !t->held)
		die(EX_BADDATA, "%s: of %lld samples --validate %s holds out none", given_value(h, "data"), (long long)t->samples,
		    given_value(h, "validate"));
	if (t->samples - t->held < t->batch)
		die(EX_BADDATA, "%s: %lld samples to train with, fewer than a batch of %ld", given_value(h, "data"),
		    (long long)(t->samples - t->held), t->batch);
}

static struct module *read_graph(const char *path)
{
	struct stream_reader *r = stream_open(path);
	struct module *m = stream_read(r);

	stream_close(r);
	if (!m)
		die(EX_BADDATA, "%s: no graph", path);
	return m;
}

/* The batch is axis 0 of the only input: its symbol gets that size. */
static const char *batch_option(struct hone *h, const struct training *t)
{
	struct module *m = read_graph(h->last);
	const struct graph *g = graph(m, m->main);
	const struct value *x = NULL;
	const char *option = NULL;
	int64_t size;

	for (size_t i = 0; i < g->in.n; i++)
		if (!val(m, g->in.a[i])->overridable) {
			if (x)
				die(EX_NOTAVAIL, "%s: it has inputs %s and %s; train takes models of one", h->model, sym_str(x->name),
				    sym_str(val(m, g->in.a[i])->name));
			x = val(m, g->in.a[i]);
		}
	if (!x || x->type.rank < 1)
		die(EX_NOTAVAIL, "%s: it has no input with a batch along axis 0", h->model);
	poly_var v = x->type.dims[0] ? poly_is_var(m->dims, x->type.dims[0]) : 0;
	if (v)
		option = text(h, "--set=%s=%ld", sym_str(poly_var_name(m->dims, v)), t->batch);
	else if (!x->type.dims[0] || !poly_is_const(m->dims, x->type.dims[0], &size))
		die(EX_NOTAVAIL, "%s: axis 0 of input %s has no name: --shape gives its size", h->model, sym_str(x->name));
	else if (size != t->batch)
		die(EX_BADUSE, "%s: its batch is %lld: --batch %lld", h->model, (long long)size, (long long)size);
	module_free(m);
	return option;
}

/* ---- graphs ---- */

/* TOOL of h->last, with its own options and those of the command line, as the graph NAME. */
static const char *run_pass(struct hone *h, const char *tool, const char *name, const struct words *more)
{
	struct child c = {.facts = text(h, "%s/facts", h->work)};
	const char *next = chain_graph(h, name);

	progress(h, name);
	words_add(&c.argv, tool);
	given_add(h, &c.argv, name);
	for (size_t i = 0; more && i < more->n; i++)
		words_add(&c.argv, more->a[i]);
	words_add(&c.argv, text(h, "--facts=%s", c.facts));
	words_add(&c.argv, "-o");
	words_add(&c.argv, next);
	words_add(&c.argv, "--");
	words_add(&c.argv, h->last);
	child_must(h, &c);
	child_tell(h, tool, &(struct facts){0});
	return next;
}

/* A pattern that meets this name alone. */
static const char *pattern_of(struct hone *h, const char *name)
{
	char *p = arena_alloc(&h->arena, 2 * strlen(name) + 1), *to = p;

	for (; *name; *to++ = *name++)
		if (strchr("*?[]\\", *name))
			*to++ = '\\';
	*to = 0;
	return p;
}

/* The model's file in memory; the caller frees it. */
static unsigned char *read_model(struct hone *h, size_t *n)
{
	struct mapped file;

	mapped_open(&file, h->model);
	unsigned char *p = xmalloc(file.n + 1);
	memcpy(p, file.p, file.n);
	*n = file.n;
	mapped_close(&file);
	return p;
}

/* What of the graph's weights the file has as initializers; others become constants of t->frozen. */
static void freeze_others(struct hone *h, struct training *t, const char *made)
{
	struct module *m = read_graph(made);
	const struct graph *g = graph(m, m->main);
	struct replacement *r = ARENA_ARRAY(&m->arena, struct replacement, g->in.n + 1);
	size_t n, nr = 0;
	unsigned char *file = read_model(h, &n);

	for (size_t i = 0; i < g->in.n; i++)
		if (val(m, g->in.a[i])->overridable)
			r[nr++].name = sym_str(val(m, g->in.a[i])->name);
	onnx_replace(file, n, r, nr);
	for (size_t i = 0; i < nr; i++)
		if (r[i].why_not)
			words_add(&t->frozen, text(h, "--freeze=%s", pattern_of(h, r[i].name)));
	if (t->frozen.n == nr)
		die(EX_NOTAVAIL, "%s: no initializer can be trained: %s: %s", h->model, r[0].name, r[0].why_not);
	free(file);
	module_free(m);
}

static void make_graphs(struct hone *h, struct training *t)
{
	struct words shape = {0}, judge = {0}, steps = {0};
	const char *name = given_value(h, "output");

	chain_word(h, STAGE_import, "--const-inputs");
	chain_stage(h, STAGE_import, "", NULL);
	const char *batch = batch_option(h, t);
	if (batch)
		words_add(&shape, batch);
	chain_stage(h, STAGE_shape, "", &shape);
	const char *shaped = h->last;
	t->backward = run_pass(h, "ge-grad", "grad", NULL);
	freeze_others(h, t, t->backward);
	if (t->frozen.n) {
		h->last = shaped;
		t->backward = run_pass(h, "ge-grad", "grad", &t->frozen);
	}
	h->last = t->backward;
	struct module *m = read_graph(t->backward);
	name = text(h, "%s", sym_str(graph(m, m->main)->out_name.a[0])); /* the one that the loss is of */
	module_free(m);
	words_add(&judge, text(h, "--output=%s", name));
	if (t->held)
		t->judge = run_pass(h, "ge-prune", "judge", &judge);
	words_add(&steps, text(h, "--steps=%.0f", t->epochs * floor((double)(t->samples - t->held) / (double)t->batch)));
	if (!given_is(h, "optimizer"))
		words_add(&steps, "--optimizer=adamw");
	t->step = run_pass(h, "ge-optim", "optim", &steps);
}

static const char *library(struct hone *h, const char *graph, const char *name)
{
	struct child c = {.facts = text(h, "%s/facts", h->work)};

	progress(h, text(h, "compile %s", name));
	words_add(&c.argv, "/proc/self/exe");
	words_add(&c.argv, "build");
	words_add(&c.argv, "--quiet");
	given_add(h, &c.argv, "library");
	words_add(&c.argv, "-o");
	words_add(&c.argv, text(h, "%s/lib/%s", h->work, name));
	words_add(&c.argv, "--");
	words_add(&c.argv, graph);
	child_must(h, &c);
	return text(h, "%s/lib/%s.so", h->work, name);
}

/* ---- training ---- */

static const char *run_steps(struct hone *h, const struct training *t)
{
	const char *weights = text(h, "%s/weights.npz", h->work);
	struct child c = {.shows_progress = true, .is_search = true};

	words_add(&c.argv, "run-dev");
	words_add(&c.argv, text(h, "--train=%s", given_value(h, "data")));
	given_add(h, &c.argv, "training");
	words_add(&c.argv, text(h, "--epochs=%.0f", t->epochs));
	if (given_is(h, "minutes"))
		words_add(&c.argv, text(h, "--seconds=%.9g", 60 * number_given(h, "minutes", 1, 1e-6, 1e9)));
	const char *step = library(h, t->step, "step");
	if (t->judge)
		words_add(&c.argv, text(h, "--judge=%s", library(h, t->judge, "judge")));
	if (h->quiet)
		words_add(&c.argv, "--quiet");
	words_add(&c.argv, "-o");
	words_add(&c.argv, weights);
	words_add(&c.argv, "--");
	words_add(&c.argv, step);
	progress(h, NULL);
	child_must(h, &c);
	child_tell(h, "run-dev", &(struct facts){0});
	return weights;
}

/* The model's own bytes, with the trained weights in their places. */
static void write_model(struct hone *h, const struct training *t, const char *weights)
{
	struct module *m = read_graph(t->backward);
	const struct graph *g = graph(m, m->main);
	struct named_tensor *w;
	int nw = npz_read(weights, &h->arena, &w);
	struct replacement *r = ARENA_ARRAY(&m->arena, struct replacement, g->in.n + 1);
	size_t n, nr = 0;
	unsigned char *file = read_model(h, &n);
	struct outfile out;

	for (size_t i = 0; i < g->in.n; i++)
		for (int k = 0; k < nw && val(m, g->in.a[i])->overridable; k++)
			if (!strcmp(w[k].name, sym_str(val(m, g->in.a[i])->name)))
				r[nr++] = (struct replacement){.name = w[k].name, .t = w[k].t};
	onnx_replace(file, n, r, nr);
	for (size_t i = 0; i < nr; i++)
		if (r[i].why_not)
			die(EX_NOTAVAIL, "%s: %s: %s", h->model, r[i].name, r[i].why_not);
	place_folders(h, h->stem);
	place_check(h->stem);
	outfile_open(&out, h->stem, false);
	fwrite(file, 1, n, out.f);
	outfile_close(&out);
	if (!h->quiet)
		printf("%s: %zu weights of %s, trained%s\n", shown(h->stem), nr, shown(h->model),
		       t->held ? "; the best of what was held out" : "");
	free(file);
	module_free(m);
}

void train(struct hone *h)
{
	struct training t = {0};

	if (!filename_ends(h->model, ".onnx"))
		die(EX_NOTAVAIL, "%s: train takes an .onnx file", h->model);
	read_numbers(h, &t);
	place_check(h->stem);
	make_graphs(h, &t);
	write_model(h, &t, run_steps(h, &t));
}
