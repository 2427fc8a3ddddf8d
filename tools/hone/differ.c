/* The first value that differs between two stages, for hone bisect. Values are the same if they have the same name. */
#include <stdlib.h>
#include <string.h>
#include "bisect.h"
#include "common/map.h"
#include "common/progress.h"

enum { EQUAL = 1, DIFFERENT };

struct values {
	struct module *before, *after; /* after: NULL for a library */
	struct map status;             /* by name: EQUAL or DIFFERENT; 0: one of the two lacks it */
	struct map off;                /* by name: 1 + its place in the texts */
	struct words distance;
};

static bool is_main(struct module *m, val_id v) { return val(m, v)->kind == VAL_NODE && val(m, v)->graph == m->main; }

/* Writes both with all values as outputs that both have. */
static void write_both(struct values *x, const char *before, const char *after)
{
	VEC(val_id) a = {0}, b = {0};
	struct map there = {0};

	for (val_id v = 1; x->after && v < x->after->values.n; v++)
		if (val(x->after, v)->name && (is_main(x->after, v) || val(x->after, v)->kind == VAL_CONST))
			map_set(&there, val(x->after, v)->name, v);
	for (val_id v = 1; v < x->before->values.n; v++) {
		uint32_t other = map_get(&there, val(x->before, v)->name);
		if (!is_main(x->before, v) || (x->after && !other))
			continue;
		vec_push(&a, v);
		if (other)
			vec_push(&b, other);
	}
	cut_add_outputs(x->before, a.a, a.n);
	if (!x->after)
		cut_row_major(x->before);
	cut_write(x->before, before);
	if (x->after) {
		cut_add_outputs(x->after, b.a, b.n);
		cut_write(x->after, after);
	}
	map_free(&there);
	vec_free(&a);
	vec_free(&b);
}

/* "0.24 of its largest element", or why the two cannot be equal. */
static void keep_distance(struct hone *h, struct values *x, const struct facts *f, size_t i)
{
	sym name = intern(f->a[i].text);
	const char *off = "as it is not a number";

	for (; i < f->n && strcmp(f->a[i].name, "equal"); i++) {
		if (!strcmp(f->a[i].name, "error"))
			off = text(h, "by %.2g of its largest element", f->a[i].number);
		if (!strcmp(f->a[i].name, "why") && f->a[i].text)
			off = f->a[i].text;
	}
	if (i == f->n)
		return;
	map_set(&x->status, name, f->a[i].number > 0 ? EQUAL : DIFFERENT);
	words_add(&x->distance, off);
	map_set(&x->off, name, (uint32_t)x->distance.n);
}

/* False: they cannot be run so. */
static bool compare_all(struct hone *h, const struct suspect *s, struct values *x)
{
	const char *before = text(h, "%s/all.before.g", h->work), *after = text(h, "%s/all.after.g", h->work);
	struct facts told, each = {0};
	struct comparison c = {.made = after, .reference = before, .inputs = s->inputs, .tolerance = s->tolerance, .each = &each};

	write_both(x, before, after);
	if (!x->after && !library_of(h, before, "all"))
		return false;
	if (!x->after)
		c.made = text(h, "%s/all.so", h->work);
	compare_numbers(h, &c, &told);
	for (size_t i = 0; i < each.n; i++)
		if (each.a[i].text && !strcmp(each.a[i].name, "output"))
			keep_distance(h, x, &each, i);
	return each.n > 0;
}

static uint32_t status_of(const struct values *x, struct module *m, val_id v) { return map_get(&x->status, val(m, v)->name); }

/* The values of m from which a path leads to an output that differs, and none on it is equal: a value that a rewriting changed, and whose
 * readers make up for it, has none. */
static bool *harmful_values(const struct values *x, struct module *m)
{
	const struct graph *g = graph(m, m->main);
	bool *harm = xcalloc(m->values.n, sizeof *harm);

	for (size_t i = 0; i < g->out.n; i++)
		harm[g->out.a[i]] |= map_get(&x->status, g->out_name.a[i]) == DIFFERENT;
	for (size_t i = g->nodes.n; i-- > 0;) {
		const struct node *n = node(m, g->nodes.a[i]);
		bool any = false;
		for (uint32_t k = 0; k < n->nout; k++)
			any |= n->out[k] && harm[n->out[k]];
		for (uint32_t k = 0; any && k < n->nin; k++)
			if (n->in[k] && val(m, n->in[k])->kind != VAL_CONST && status_of(x, m, n->in[k]) != EQUAL)
				harm[n->in[k]] = true;
	}
	return harm;
}

/* The nodes that v is computed with from values that are equal. */
static bool *slice_of(const struct values *x, struct module *m, val_id v)
{
	const struct graph *g = graph(m, m->main);
	bool *need = xcalloc(m->values.n, sizeof *need), *keep = xcalloc(m->nodes.n, sizeof *keep);

	need[v] = true;
	for (size_t i = g->nodes.n; i-- > 0;) {
		const struct node *n = node(m, g->nodes.a[i]);
		bool any = false;
		for (uint32_t k = 0; k < n->nout; k++)
			any |= n->out[k] && need[n->out[k]];
		keep[g->nodes.a[i]] = any;
		for (uint32_t k = 0; any && k < n->nin; k++)
			if (n->in[k] && status_of(x, m, n->in[k]) != EQUAL)
				need[n->in[k]] = true;
	}
	free(need);
	return keep;
}

/* Parts for the value and, where the part up to it alone shows nothing, for some that follow; then the whole graph. */
static void try_values(struct hone *h, const struct suspect *s, struct values *x, double until, struct part_found *found)
{
	enum { TRIED = 4 };
	struct module *m = x->after ? x->after : x->before;
	const struct graph *g = graph(m, m->main);
	bool *harm = harmful_values(x, m), *keep;
	int tried = 0;

	for (size_t i = 0; i < g->nodes.n && tried < TRIED && !found->nodes; i++)
		for (uint32_t k = 0; k < node(m, g->nodes.a[i])->nout; k++) {
			val_id v = node(m, g->nodes.a[i])->out[k];
			if (!v || !harm[v] || status_of(x, m, v) != DIFFERENT || found->nodes)
				continue;
			const char *name = sym_str(val(m, v)->name);
			if (!tried++) {
				found->value = name;
				found->distance = x->distance.a[map_get(&x->off, val(m, v)->name) - 1];
			}
			val_id first = cut_find(x->before, name);
			if (!first)
				continue;
			keep = slice_of(x, x->before, first);
			shrink_part(h, s, keep, name, until, found);
			free(keep);
		}
	free(harm);
	if (found->nodes || s->maker != BY_STAGE)
		return;
	keep = xcalloc(x->before->nodes.n, sizeof *keep);
	memset(keep, 1, x->before->nodes.n);
	shrink_part(h, s, keep, NULL, until, found);
	free(keep);
}

static bool any_differs(struct values *x)
{
	for (size_t i = 0; i < x->status.nslots; i++)
		if (x->status.slot[i].key && x->status.slot[i].value == DIFFERENT)
			return true;
	return false;
}

struct part_found differ_find(struct hone *h, const struct suspect *s, double seconds)
{
	struct values x = {.before = cut_read(s->before), .after = s->after ? cut_read(s->after) : NULL};
	struct part_found found = {0};
	double until = now_seconds() + seconds;

	progress(h, "looking for the first value");
	if (compare_all(h, s, &x)) {
		found.is_memory = s->maker == BY_LIBRARY && !any_differs(&x);
		/* As they are in the files: they have more outputs now. */
		module_free(x.before);
		x.before = cut_read(s->before);
		if (x.after) {
			module_free(x.after);
			x.after = cut_read(s->after);
		}
		progress(h, "looking for the smallest part");
		try_values(h, s, &x, until, &found);
	}
	module_free(x.before);
	if (x.after)
		module_free(x.after);
	map_free(&x.status);
	map_free(&x.off);
	return found;
}
