/* A view as text for Graphviz. */
#include "dot.h"
#include <string.h>
#include "common/shown.h"

/* In quotes. Graphviz reads a backslash as the beginning of an escape, and breaks lines at \n. */
static void put_text(FILE *f, const char *s)
{
	for (int k; *s; s += k ? k : 1) {
		k = shown_length(s, 4);
		if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else if (k)
			fwrite(s, 1, (size_t)k, f);
		else
			fprintf(f, "\\\\x%02x", (unsigned char)*s);
	}
}

static void put_item(FILE *f, const struct view *v, uint32_t i, struct arena *a)
{
	const struct item *x = &v->item.a[i];
	const char *type = item_type(v, x, a);

	fprintf(f, "%s  n%u [label=\"", x->group ? "  " : "", i);
	put_text(f, item_op(v, x, a));
	fputs("\\n", f);
	put_text(f, sym_str(x->name));
	if (*type) {
		fputs("\\n", f);
		put_text(f, type);
	}
	if (x->kind == ITEM_NODE && !x->group && x->graph != v->m->main) {
		fputs("\\nin ", f);
		put_text(f, sym_str(graph(v->m, x->graph)->name));
	}
	fprintf(f, "\"%s]\n", x->kind == ITEM_NODE ? "" : " style=rounded");
}

/* Items of a group stand together but for inputs and outputs, which are in none. */
static void put_items(FILE *f, const struct view *v, struct arena *a)
{
	uint32_t open = 0;

	for (uint32_t i = 1; i <= v->item.n; i++) {
		uint32_t group = i < v->item.n ? v->item.a[i].group : 0;
		if (open && group != open)
			fputs("  }\n", f);
		if (group && group != open) {
			const struct group *g = &v->group.a[group];
			const char *time = seconds_text(g->seconds, a);
			fprintf(f, "  subgraph cluster_%u {\n    label=\"", group);
			put_text(f, group_name(v, g));
			fprintf(f, "%s%s\"\n", *time ? "\\n" : "", time);
		}
		open = group;
		if (i < v->item.n)
			put_item(f, v, i, a);
	}
}

void write_dot(FILE *f, const struct view *v)
{
	struct arena a = {0};

	fputs("digraph model {\n  node [shape=box fontname=\"sans-serif\" fontsize=10]\n  graph [fontname=\"sans-serif\" fontsize=10 color=gray]\n",
	      f);
	if (v->hidden)
		fprintf(f, "  label=\"%zu of %zu nodes are not shown\"\n", v->hidden, v->nodes);
	put_items(f, v, &a);
	for (size_t i = 0; i < v->line.n; i++)
		fprintf(f, "  n%u -> n%u\n", v->line.a[i].from, v->line.a[i].to);
	fputs("}\n", f);
	arena_release(&a);
}
