#include "rewritten.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/facts.h"
#include "common/msg.h"
#include "common/shown.h"
#include "op/op.h"

/* ---- what rounding accounts for ---- */

/* The distance of two numbers of type t, relative to them; 0: none that matters beside f32's tolerance. */
static double grain(enum dtype t)
{
	switch (t) {
	case DT_F16: return 0x1p-10;
	case DT_BF16: return 0x1p-7;
	case DT_F4E2M1:
	case DT_F8E8M0: return 1;
	case DT_F6E2M3:
	case DT_F8E4M3FN:
	case DT_F8E4M3FNUZ: return 0x1p-3;
	case DT_F6E3M2:
	case DT_F8E5M2:
	case DT_F8E5M2FNUZ: return 0x1p-2;
	default: return 0;
	}
}

/* The same where a number of type from is rounded to a whole one of type to, relative to the largest, with as many levels below 0 as above. */
static double level(enum dtype from, enum dtype to)
{
	if (!dtype_is_float(from))
		return 0;
	switch (to) {
	case DT_I16:
	case DT_U16: return 1.0 / 0x7fff;
	case DT_I8:
	case DT_U8: return 1.0 / 0x7f;
	default: return 0;
	}
}

/* A result is a grain off; one behind others, if their errors add up as those of independent roundings do, the root of
 * their number. */
static double rounding(struct module *m)
{
	double *steps = xcalloc(m->values.n, sizeof *steps), most = 0;
	struct graph_list order = {0};
	module_graph_order(m, &order);
	for (size_t k = 0; k < order.n; k++) {
		const struct graph *g = graph(m, order.a[k]);
		for (size_t i = 0; i < g->nodes.n; i++) {
			const struct node *n = node(m, g->nodes.a[i]);
			enum dtype first = n->nin && n->in[0] ? val(m, n->in[0])->type.dtype : DT_NONE;
			double before = 0, own = 0;
			for (uint32_t j = 0; j < n->nin; j++)
				before = fmax(before, n->in[j] ? steps[n->in[j]] : 0);
			for (uint32_t j = 0; j < n->nout; j++)
				own = fmax(own, n->out[j] ? fmax(grain(val(m, n->out[j])->type.dtype),
								 level(first, val(m, n->out[j])->type.dtype))
							  : 0);
			for (uint32_t j = 0; j < n->nout; j++)
				if (n->out[j])
					most = fmax(most, steps[n->out[j]] = before + own * own);
		}
	}
	vec_free(&order);
	free(steps);
	return sqrt(most);
}

/* ---- what to try ---- */

/* Sizes that are open: those that count cases, the others; and what integers are that index nothing. Cases are the
 * first axis of an input, and also the only open axis of one. */
struct attempt {
	int64_t cases, size, integer;
	bool lone_is_case;
};

static const int64_t sizes[] = {8, 32, 64, 2, 4, 16, 128, 256, 3, 1, 512, 224, 640, 1024}, cases[] = {2, 1},
		     integers[] = {INT64_MIN, 1, 2, -1, 3, 8, 16, 32};
enum { COUNT_SIZES = sizeof sizes / sizeof *sizes, COUNT_INTEGERS = sizeof integers / sizeof *integers };
static const double SECONDS = 20; /* for all tries */

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Gives every open size of m one; *options: which, as options. */
static bool fill_sizes(struct module *m, const struct attempt *t, char **options)
{
	bool any = false;
	for (size_t i = 0; i < graph(m, m->main)->in.n; i++) {
		val_id in = graph(m, m->main)->in.a[i];
		const struct type *type = &val(m, in)->type;
		int64_t dims[RANK_MAX], c;
		int rank = type->rank == RANK_UNKNOWN ? 2 : type->rank, open = 0;
		bool unnamed = type->rank == RANK_UNKNOWN;
		if (type->other)
			continue;
		for (int k = 0; k < type->rank; k++)
			open += !poly_is_const(m->dims, type->dims[k], NULL);
		for (int k = 0; k < rank; k++) {
			bool first = k == 0 || (t->lone_is_case && open == 1);
			poly_var v;
			dims[k] = first ? t->cases : t->size;
			type = &val(m, in)->type;
			if (type->rank == RANK_UNKNOWN)
				continue;
			if (poly_is_const(m->dims, type->dims[k], &c)) {
				dims[k] = c;
			} else if ((v = poly_is_var(m->dims, type->dims[k]))) {
				const char *name = sym_str(poly_var_name(m->dims, v));
				*options = xprintf("%s --set %s=%lld", *options, shell_word(name, &m->arena), (long long)dims[k]);
				bind_symbol(m, name, dims[k]);
				any = true;
			} else if (type->dims[k] == POLY_UNKNOWN) {
				unnamed = true;
			} else {
				dims[k] = -1;
			}
		}
		any |= unnamed;
		if (!unnamed)
			continue;
		bind_shape(m, sym_str(val(m, in)->name), rank, dims);
		*options = xprintf("%s --shape %s:", *options, shell_word(sym_str(val(m, in)->name), &m->arena));
		for (int k = 0; k < rank; k++)
			*options = dims[k] < 0 ? xprintf("%s%s?", *options, k ? "x" : "")
					       : xprintf("%s%s%lld", *options, k ? "x" : "", (long long)dims[k]);
	}
	if (bind_rest(m, t->size)) /* symbols that only show in sums */
		any = true;
	return any;
}

static bool has_integers(struct module *m)
{
	const struct graph *g = graph(m, m->main);
	for (size_t i = 0; i < g->in.n; i++) {
		enum dtype t = val(m, g->in.a[i])->type.dtype;
		if (t == DT_I64 || t == DT_I32)
			return true;
	}
	return false;
}

static bool any_empty(const struct outputs *o)
{
	for (int i = 0; i < o->n; i++)
		if (tensor_count(o->t[i].t) == 0)
			return true;
	return false;
}

/* ---- trying ---- */

struct trying {
	struct rewritten *w;
	struct source *r;
	const char *path;
	struct input_spec *spec;
	struct arena *a;
	struct tensor ***in;
	struct outputs *out;
	bool open_sizes, integers;
	char *options;
	enum exit_code code; /* of the last try that failed */
	char why[sizeof((struct msg_trap *)NULL)->why];
};

static void try(struct trying *t, const struct attempt *x)
{
	t->options = xstrdup("");
	source_sizes.open = NULL;
	source_open(t->r, t->path);
	if (!t->r->kind->graph)
		die(EX_BADUSE, "--rewritten: %s is no graph", t->path);
	t->integers = has_integers(t->r->m);
	t->spec->integer = x->integer == INT64_MIN ? NULL : &x->integer;
	t->open_sizes = fill_sizes(t->r->m, x, &t->options);
	infer_declared(t->r->m, NULL);
	t->w->tolerance = rounding(t->r->m);
	t->w->cut = around_cut(t->r->m, &t->w->around, true);
	*t->in = inputs_make(t->r->m, t->spec, t->a);
	*t->out = t->r->kind->run(t->r, *t->in, t->a);
}

/* false: it does not run so. Where a node turns out to have no evaluator for its types, again without it. */
static bool runs(struct trying *t, const struct attempt *x)
{
	for (;;) {
		struct msg_trap trap;
		if (!setjmp(trap.at)) {
			msg_trap = &trap;
			try(t, x);
			msg_trap = NULL;
			return true;
		}
		msg_trap = NULL;
		eval_abandon();
		node_id n = strstr(trap.why, "no evaluator") ? around_named(t->r->m, trap.why) : 0;
		t->code = trap.code;
		memcpy(t->why, trap.why, sizeof t->why);
		if (!n)
			return false;
		vec_push(&t->w->around.failed, n);
	}
}

void rewritten_reference(struct rewritten *w, struct source *r, const char *path, struct input_spec *spec, struct arena *a,
			 struct tensor ***in, struct outputs *out)
{
	struct trying t = {.w = w, .r = r, .path = path, .spec = spec, .a = a, .in = in, .out = out, .open_sizes = true, .integers = true};
	struct attempt x, empty;
	enum exit_code first_code = EX_GOOD; /* why the first try failed is what is said */
	char first_why[sizeof t.why];
	double start = now();
	bool some_empty = false, good = false;
	for (int i = 0; i < COUNT_SIZES && !good && (i == 0 || t.open_sizes); i++)
		for (int k = 0; k < 4 && !good && (k == 0 || t.open_sizes); k++)
			for (int j = 0; j < COUNT_INTEGERS && !good && (j == 0 || t.integers) && now() - start < SECONDS; j++) {
				x = (struct attempt){cases[k % 2], sizes[i], integers[j], k >= 2};
				good = runs(&t, &x);
				if (!good && !first_code) {
					first_code = t.code;
					memcpy(first_why, t.why, sizeof first_why);
				}
				if (good && t.open_sizes && any_empty(out)) {
					good = false;
					empty = x;
					some_empty = true;
				}
			}
	if (!good && some_empty)
		good = runs(&t, &empty);
	bool asked = spec->files.n || spec->ranges.n || source_sizes.given.n; /* then it is a mistake of who asked */
	if (!good)
		die(asked || first_code == EX_BADUSE ? first_code : EX_NOTAVAIL, "%s", first_why);
	if (*t.options)
		facts_text("sizes", t.options);
	if (x.integer != INT64_MIN)
		facts_number("integers", (double)x.integer);
	if (*t.options && !facts_wanted())
		note("sizes that were not given are%s", t.options);
	if (x.integer != INT64_MIN && !facts_wanted())
		note("integers are %lld", (long long)x.integer);
	spec->integer = x.integer == INT64_MIN ? NULL : arena_copy(a, &x.integer, sizeof x.integer);
}

bool rewritten_again(struct source *r, const struct input_spec *spec, struct arena *a, struct tensor ***in, struct outputs *out)
{
	struct msg_trap trap;

	if (setjmp(trap.at)) {
		msg_trap = NULL;
		eval_abandon();
		return false;
	}
	msg_trap = spec->ranges.n ? NULL : &trap;
	*in = inputs_make(r->m, spec, a);
	*out = r->kind->run(r, *in, a);
	msg_trap = NULL;
	return true;
}

void rewritten_open(struct rewritten *w, struct source *y, const char *path, struct source *r, struct tensor **in)
{
	struct graph *g = graph(r->m, r->m->main);
	struct named_tensor *list = xcalloc(g->in.n + 1, sizeof *list);
	for (size_t i = 0; i < g->in.n; i++)
		list[i] = (struct named_tensor){(char *)sym_str(val(r->m, g->in.a[i])->name), in[i]};
	source_sizes.open = list;
	source_sizes.nopen = (int)g->in.n;
	source_open(y, path);
	if (!y->m)
		die(EX_BADUSE, "--rewritten: %s is neither a graph nor a library", path);
	if (w->cut && !y->kind->graph)
		die(EX_NOTAVAIL, "%s: %s has no evaluator, and a library is not run without it", r->path, sym_str(w->around.nodes.a[0].op));
	if (y->kind->graph)
		around_cut(y->m, &w->around, false);
	if (w->around.lost)
		die(EX_NOTAVAIL, "%s: %s: no evaluator, nor a partner in %s to check around", path, w->around.lost, r->path);
	free(list);
	source_sizes.open = NULL;
}
