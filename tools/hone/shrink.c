/* The smallest part of a graph that still shows a difference, for hone bisect: by delta debugging (Zeller and Hildebrandt, 2002). */
#include <stdlib.h>
#include <string.h>
#include "bisect.h"
#include "common/progress.h"

struct shrinking {
	struct hone *h;
	const struct suspect *s;
	const char *last; /* NULL: none is asked for */
	enum cut_ends ends;
	double until;
	struct arena arena;
	int n;
	struct named_tensor *values; /* what the nodes read */
	VEC(node_id) nodes;          /* what is left */
	size_t in_module;            /* nodes of the module, for flags */
};

/* ---- the numbers that the nodes read ---- */

static struct tensor *value_of(const struct shrinking *x, const char *name)
{
	for (int i = 0; i < x->n; i++)
		if (!strcmp(x->values[i].name, name))
			return x->values[i].t;
	return NULL;
}

/* Runs A for the results that the nodes read. False: it does not run. */
static bool take_values(struct shrinking *x, const bool *keep)
{
	struct hone *h = x->h;
	struct module *m = cut_read(x->s->before);
	const struct graph *g = graph(m, m->main);
	const char *graph = text(h, "%s/read.g", h->work), *values = text(h, "%s/read.npz", h->work);
	VEC(val_id) read = {0};
	struct named_tensor *inputs;
	struct child c = {0};

	for (size_t i = 0; i < g->nodes.n; i++)
		for (uint32_t k = 0; keep[g->nodes.a[i]] && k < node(m, g->nodes.a[i])->nin; k++) {
			val_id v = node(m, g->nodes.a[i])->in[k];
			if (v && val(m, v)->kind == VAL_NODE)
				vec_push(&read, v);
		}
	cut_add_outputs(m, read.a, read.n);
	cut_write(m, graph);
	module_free(m);
	vec_free(&read);
	words_add(&c.argv, "run-ref");
	words_add(&c.argv, "--quiet");
	words_add(&c.argv, text(h, "-i%s", x->s->inputs));
	words_add(&c.argv, "-o");
	words_add(&c.argv, values);
	words_add(&c.argv, "--");
	words_add(&c.argv, graph);
	if (child_run(h, &c, NULL))
		return false;
	int n = npz_read(values, &x->arena, &x->values), k = npz_read(x->s->inputs, &x->arena, &inputs);
	struct named_tensor *all = ARENA_ARRAY(&x->arena, struct named_tensor, n + k + 1);
	memcpy(all, x->values, (size_t)n * sizeof *all);
	memcpy(all + n, inputs, (size_t)k * sizeof *all);
	x->values = all;
	x->n = n + k;
	return true;
}

/* ---- one part ---- */

/* The files of the part of these nodes; values_file NULL: its graph alone, as before ge-layout. False: it cannot be cut so. */
static bool write_part(struct shrinking *x, const bool *keep, const char *graph_file, const char *values_file)
{
	struct module *m = cut_read(x->s->before);
	val_id last = x->last ? cut_find(m, x->last) : 0;
	bool good = cut_part(m, keep, last, x->ends);
	const struct graph *g = graph(m, m->main);
	struct named_tensor *list = xcalloc(g->in.n + 1, sizeof *list);

	for (size_t i = 0; i < g->in.n && good; i++) {
		const char *name = sym_str(val(m, g->in.a[i])->name);
		list[i] = (struct named_tensor){(char *)name, value_of(x, name)};
		good = list[i].t != NULL;
	}
	if (good && x->s->maker == BY_LIBRARY && values_file)
		cut_row_major(m);
	if (!values_file)
		cut_no_layouts(m);
	if (good && values_file)
		npz_write(values_file, (int)g->in.n, list);
	if (good)
		cut_write(m, graph_file);
	free(list);
	module_free(m);
	return good;
}

/* B of the part: the path, or NULL. */
static const char *made_of(struct hone *h, const struct suspect *s, const char *graph)
{
	static const enum stage_id kernels[] = {STAGE_fuse, STAGE_layout, STAGE_join, STAGE_schedule};
	const char *next = text(h, "%s/part.after.g", h->work);

	if (s->maker == BY_STAGE)
		return chain_try(h, s->stage, graph, next) ? NULL : next;
	for (size_t i = 0; s->maker == BY_KERNELS && i < sizeof kernels / sizeof *kernels; i++) {
		next = text(h, "%s/part.%s.g", h->work, stage_name(kernels[i]));
		if (chain_try(h, kernels[i], graph, next))
			return NULL;
		graph = next;
	}
	return library_of(h, graph, "part") ? text(h, "%s/part.so", h->work) : NULL;
}

static bool shows(struct shrinking *x, const bool *keep)
{
	struct hone *h = x->h;
	const char *graph = text(h, "%s/part.g", h->work), *values = text(h, "%s/part.npz", h->work), *after;
	struct facts told;

	if (!write_part(x, keep, graph, values) || !(after = made_of(h, x->s, graph)))
		return false;
	struct comparison c = {.made = after, .reference = graph, .inputs = values, .tolerance = x->s->tolerance};
	int code = compare_numbers(h, &c, &told);
	return code == EX_DIFFERENT || code >= 128; /* or it crashes */
}

/* ---- fewer nodes ---- */

static bool *flags(const struct shrinking *x, size_t skip_from, size_t skip_to)
{
	bool *keep = xcalloc(x->in_module, sizeof *keep);

	for (size_t i = 0; i < x->nodes.n; i++)
		if (i < skip_from || i >= skip_to)
			keep[x->nodes.a[i]] = true;
	return keep;
}

/* Takes out runs of nodes, the longest first, as long as the rest shows it. */
static void shrink(struct shrinking *x)
{
	for (size_t size = x->nodes.n / 2; size > 0 && now_seconds() < x->until; size = size > 1 ? (size + 1) / 2 : 0) {
		bool again = true;
		while (again && now_seconds() < x->until) {
			again = false;
			for (size_t from = 0; from < x->nodes.n && x->nodes.n > 1 && now_seconds() < x->until;) {
				size_t to = from + size < x->nodes.n ? from + size : x->nodes.n;
				bool *keep = flags(x, from, to), less = to - from < x->nodes.n && shows(x, keep);
				free(keep);
				if (less) {
					memmove(x->nodes.a + from, x->nodes.a + to, (x->nodes.n - to) * sizeof *x->nodes.a);
					x->nodes.n -= to - from;
					again = size == 1;
				} else {
					from = to;
				}
			}
		}
	}
}

const char *part_operators(struct hone *h, struct module *m, const bool *keep)
{
	enum { NAMED = 12 };
	const struct graph *g = graph(m, m->main);
	const char *list = "";
	int named = 0;

	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = node(m, g->nodes.a[i]);
		if (keep[g->nodes.a[i]] && named++ < NAMED)
			list = text(h, "%s%s%s", list, *list ? ", " : "", node_op_name(n));
	}
	return named > NAMED ? text(h, "%s, ...", list) : list;
}

static void take_nodes(struct shrinking *x, struct module *m, const bool *keep)
{
	const struct graph *g = graph(m, m->main);

	x->in_module = m->nodes.n;
	for (size_t i = 0; i < g->nodes.n; i++)
		if (keep[g->nodes.a[i]])
			vec_push(&x->nodes, g->nodes.a[i]);
}

void shrink_part(struct hone *h, const struct suspect *s, const bool *keep, const char *last, double until, struct part_found *found)
{
	struct shrinking x = {.h = h, .s = s, .last = last, .ends = CUT_UNREAD, .until = until};
	struct module *m = cut_read(s->before);
	bool good = take_values(&x, keep);

	take_nodes(&x, m, keep);
	if (good && !shows(&x, keep)) {
		x.ends = CUT_AS_READ;
		good = shows(&x, keep);
	}
	if (good && x.nodes.n) {
		shrink(&x);
		bool *left = flags(&x, 0, 0);
		found->graph = text(h, "%s/found.g", h->work);
		found->values = text(h, "%s/found.npz", h->work);
		if (write_part(&x, left, found->graph, found->values)) {
			found->nodes = x.nodes.n;
			found->operators = part_operators(h, m, left);
			found->laid_out = text(h, "%s/laid_out.g", h->work);
			write_part(&x, left, found->laid_out, NULL);
		}
		free(left);
	}
	vec_free(&x.nodes);
	module_free(m);
	arena_release(&x.arena);
}
