/* Differences as text: a line for what goes, comes or changes, those of a kind together. */
#define _GNU_SOURCE
#include "ge-diff.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "common/map.h"
#include "common/shown.h"
#include "common/textfile.h"
#include "graph/plan_text.h"
#include "graph/stream.h"

enum { SHORT = 10, MANY = 2 * SHORT, LONG = 64 /* names in a line, lines of a list, bytes of a value */ };

struct tally {
	sym what;
	size_t n;
};

struct report {
	struct diff *d;
	FILE *f;
	bool all;
	VEC(struct tally) tally; /* what changed in the nodes of a graph */
	const char *red, *green, *yellow, *bold, *plain;
};

/* Where one of the two sides is written. */
static struct text_writer *of(struct report *r, int which)
{
	r->d->side[which].w.f = r->f;
	return &r->d->side[which].w;
}

static void put_number(FILE *f, size_t n, const char *what) { fprintf(f, "%zu %s%s", n, what, n == 1 ? "" : "s"); }

static void put_node(struct report *r, int which, node_id id)
{
	const struct node *n = node(r->d->side[which].m, id);
	val_id v = plan_result(n);

	text_put_op(of(r, which), n);
	putc(' ', r->f);
	if (v)
		text_put_value(of(r, which), v);
	else
		text_put_name(r->f, n->name);
}

/* ---- nodes that come or go ---- */

struct list {
	VEC(node_id) node;
};

/* Operators of the nodes of a group, in order. */
static void put_group(struct report *r, int which, graph_id g)
{
	const struct graph *x = graph(r->d->side[which].m, g);

	fputs(":", r->f);
	for (size_t i = 0; i < x->nodes.n && (r->all || i < SHORT); i++) {
		putc(' ', r->f);
		text_put_op(of(r, which), node(r->d->side[which].m, x->nodes.a[i]));
	}
	if (!r->all && x->nodes.n > SHORT)
		fprintf(r->f, " and %zu more", x->nodes.n - SHORT);
}

static int by_op(const void *a, const void *b, void *arg)
{
	const struct module *m = arg;
	node_id i = *(const node_id *)a, j = *(const node_id *)b;
	const struct node *x = &m->nodes.a[i], *y = &m->nodes.a[j];
	int c = x->op != y->op ? (x->op < y->op ? -1 : 1) : strcmp(sym_str(x->optype), sym_str(y->optype));

	return c ? c : i < j ? -1 : i > j;
}

/* A line an operator with the names of its nodes; a line each for groups. */
static void put_list(struct report *r, int which, struct list *l, const char *sign, const char *color)
{
	struct module *m = r->d->side[which].m;

	if (l->node.n)
		qsort_r(l->node.a, l->node.n, sizeof *l->node.a, by_op, m);
	for (size_t i = 0, end; i < l->node.n; i = end) {
		const struct node *n = node(m, l->node.a[i]);
		bool group = n->op == OP_Fused;
		for (end = i + 1; end < l->node.n && node(m, l->node.a[end])->op == n->op && node(m, l->node.a[end])->optype == n->optype;)
			end++;
		for (size_t k = i; k < end && (r->all || k - i < SHORT); k++) {
			if (k == i || group) {
				fprintf(r->f, "%s  %s ", color, sign);
				text_put_op(of(r, which), n);
				putc(' ', r->f);
			} else {
				fputs(", ", r->f);
			}
			val_id v = plan_result(node(m, l->node.a[k]));
			v ? text_put_value(of(r, which), v) : text_put_name(r->f, node(m, l->node.a[k])->name);
			if (group && attr_graph(node(m, l->node.a[k]), "graph"))
				put_group(r, which, attr_graph(node(m, l->node.a[k]), "graph"));
			fprintf(r->f, "%s", group ? "\n" : "");
		}
		if (!r->all && end - i > SHORT)
			fprintf(r->f, "%s%zu more%s", group ? "    and " : " and ", end - i - SHORT, group ? "\n" : "");
		fprintf(r->f, "%s%s", r->plain, group ? "" : "\n");
	}
}

/* ---- nodes that change ---- */

/* Text about one side, in memory, up to textfile_close of the writer's f. */
static struct text_writer *begin(struct report *r, int which, char **text)
{
	struct text_writer *w = &r->d->side[which].w;

	w->f = textfile_open(text, NULL);
	return w;
}

/* The caller frees what these return. */
static char *op_text(struct report *r, int which, const struct node *n)
{
	char *text;
	struct text_writer *w = begin(r, which, &text);
	text_put_op(w, n);
	textfile_close(w->f);
	return text;
}

static char *value_text(struct report *r, int which, val_id v)
{
	char *text;
	struct text_writer *w = begin(r, which, &text);
	text_put_value(w, v);
	textfile_close(w->f);
	return text;
}

static char *type_text(struct report *r, int which, val_id v)
{
	char *text;
	struct text_writer *w = begin(r, which, &text);
	text_put_type(w, &val(w->m, v)->type);
	textfile_close(w->f);
	return text;
}

static char *attr_text(struct report *r, int which, const struct attr *a)
{
	char *text;
	if (!a)
		return NULL;
	struct text_writer *w = begin(r, which, &text);
	text_put_attr_value(w, a);
	textfile_close(w->f);
	return text;
}

/* A long text from a little before the first byte that differs. */
static void put_part(FILE *f, const char *s, size_t same)
{
	size_t n = strlen(s), from = n > LONG && same > LONG / 4 ? same - LONG / 4 : 0;

	fputs(from ? "..." : "", f);
	char *part = xprintf("%.*s", LONG, s + from);
	put_shown(f, part);
	free(part);
	fputs(n - from > LONG ? "..." : "", f);
}

/* Attributes by their name; operands and results as such, whichever they are. */
static void count_change(struct report *r, const char *what)
{
	sym name = intern_n(what, strcspn(what, " "));
	size_t i = 0;

	while (i < r->tally.n && r->tally.a[i].what != name)
		i++;
	if (i == r->tally.n)
		vec_push(&r->tally, (struct tally){.what = name});
	r->tally.a[i].n++;
}

/* Takes both texts. NULL: it is not there. */
static void put_change(struct report *r, const char *what, char *a, char *b)
{
	size_t same = 0;

	count_change(r, what);
	while (a && b && a[same] && a[same] == b[same])
		same++;
	fprintf(r->f, "      ");
	put_shown(r->f, what);
	fputs(": ", r->f);
	fputs(r->red, r->f);
	a ? put_part(r->f, a, same) : (void)fputs("none", r->f);
	fprintf(r->f, "%s -> %s", r->plain, r->green);
	b ? put_part(r->f, b, same) : (void)fputs("none", r->f);
	fprintf(r->f, "%s\n", r->plain);
	free(a);
	free(b);
}

/* Both are sorted by name. */
static void put_attrs(struct report *r, const struct node *x, const struct node *y)
{
	for (uint32_t i = 0, j = 0; i < x->nattr || j < y->nattr;) {
		int c = i == x->nattr ? 1 : j == y->nattr ? -1 : strcmp(sym_str(x->attr[i].name), sym_str(y->attr[j].name));
		const struct attr *a = c <= 0 ? &x->attr[i++] : NULL, *b = c >= 0 ? &y->attr[j++] : NULL;
		if (!a || !b || !same_attr(r->d, a, b))
			put_change(r, sym_str((a ? a : b)->name), attr_text(r, A, a), attr_text(r, B, b));
	}
}

static void put_results(struct report *r, const struct node *x, const struct node *y)
{
	struct side *s = r->d->side;

	for (uint32_t i = 0; i < x->nout || i < y->nout; i++) {
		val_id a = i < x->nout ? x->out[i] : 0, b = i < y->nout ? y->out[i] : 0;
		if (!a && !b)
			continue;
		char *what = xprintf("result %u", (unsigned)i);
		if (!a || !b || val(s[A].m, a)->name != val(s[B].m, b)->name)
			put_change(r, what, a ? value_text(r, A, a) : NULL, b ? value_text(r, B, b) : NULL);
		if (a && b && !same_type(r->d, &val(s[A].m, a)->type, &val(s[B].m, b)->type))
			put_change(r, i ? what : "type", type_text(r, A, a), type_text(r, B, b));
		free(what);
	}
}

static void put_changes(struct report *r, node_id a, node_id b)
{
	struct side *s = r->d->side;
	const struct node *x = node(s[A].m, a), *y = node(s[B].m, b);

	fprintf(r->f, "%s  ~ ", r->yellow);
	put_node(r, B, b);
	fprintf(r->f, "%s\n", r->plain);
	if (x->op != y->op || x->domain != y->domain || x->optype != y->optype)
		put_change(r, "operator", op_text(r, A, x), op_text(r, B, y));
	for (uint32_t i = 0, n = 0; i < x->nin || i < y->nin; i++) {
		val_id v = i < x->nin ? x->in[i] : 0, u = i < y->nin ? y->in[i] : 0;
		if ((i < x->nin && i < y->nin && same_value(r->d, v, u)) || (n++ >= SHORT && !r->all))
			continue;
		char *what = xprintf("operand %u", (unsigned)i);
		put_change(r, what, i < x->nin ? value_text(r, A, v) : NULL, i < y->nin ? value_text(r, B, u) : NULL);
		free(what);
	}
	put_attrs(r, x, y);
	put_results(r, x, y);
	if (x->name != y->name)
		put_change(r, "name", xstrdup(sym_str(x->name)), xstrdup(sym_str(y->name)));
}

/* How many nodes changed in which way, where they are many; then the first of them. */
static void put_all_changes(struct report *r, struct list *l)
{
	FILE *f = r->f;
	char *text[2];

	r->tally.n = 0;
	for (int cut = 0; cut < 2; cut++) {
		r->f = textfile_open(&text[cut], NULL);
		for (size_t i = cut ? MANY : 0; i < l->node.n && (cut || r->all || i < MANY); i++)
			put_changes(r, r->d->side[B].node[l->node.a[i]], l->node.a[i]);
		textfile_close(r->f);
		if (r->all)
			break;
	}
	r->f = f;
	if (l->node.n > SHORT) {
		fprintf(f, "%s  ~ %zu nodes:", r->yellow, l->node.n);
		for (size_t i = 0; i < r->tally.n; i++) {
			fprintf(f, "%s ", i ? "," : "");
			put_shown(f, sym_str(r->tally.a[i].what));
			fprintf(f, " %zu", r->tally.a[i].n);
		}
		fprintf(f, "%s\n", r->plain);
	}
	fputs(text[0], f);
	if (!r->all && l->node.n > MANY)
		fprintf(f, "  ~ and %zu more (--all)\n", l->node.n - MANY);
	free(text[0]);
	if (!r->all)
		free(text[1]);
}

/* ---- graphs ---- */

struct section {
	struct list gone, come, changed, moved; /* moved: nodes of A, by the graph of B that they are in now */
};

static void section_free(struct section *s)
{
	vec_free(&s->gone.node);
	vec_free(&s->come.node);
	vec_free(&s->changed.node);
	vec_free(&s->moved.node);
}

/* Graph g of A became h of B; either may be 0. */
static struct section gather(struct diff *d, graph_id g, graph_id h)
{
	struct section s = {0};

	for (size_t i = 0; g && i < graph(d->side[A].m, g)->nodes.n; i++) {
		node_id a = graph(d->side[A].m, g)->nodes.a[i], b = d->side[A].node[a];
		if (!b)
			vec_push(&s.gone.node, a);
		else if (d->side[B].in[b] != h)
			vec_push(&s.moved.node, a);
	}
	for (size_t i = 0; h && i < graph(d->side[B].m, h)->nodes.n; i++) {
		node_id b = graph(d->side[B].m, h)->nodes.a[i], a = d->side[B].node[b];
		if (!a)
			vec_push(&s.come.node, b);
		else if (changed(d, a, b))
			vec_push(&s.changed.node, b);
	}
	return s;
}

static void put_moved(struct report *r, struct list *l)
{
	struct diff *d = r->d;
	size_t lines = 0;

	for (size_t i = 0, end; i < l->node.n; i = end) {
		graph_id h = d->side[B].in[d->side[A].node[l->node.a[i]]];
		for (end = i + 1; end < l->node.n && d->side[B].in[d->side[A].node[l->node.a[end]]] == h;)
			end++;
		if (!r->all && (!d->side[B].graph[h] || lines++ >= MANY)) /* groups that come are listed as nodes */
			continue;
		fputs("  > to ", r->f);
		text_put_label(of(r, B), h);
		for (size_t k = i; k < end && (r->all || k - i < SHORT); k++) {
			fputs(k == i ? ": " : ", ", r->f);
			put_node(r, A, l->node.a[k]);
		}
		if (!r->all && end - i > SHORT)
			fprintf(r->f, " and %zu more", end - i - SHORT);
		putc('\n', r->f);
	}
	if (!r->all && lines > MANY)
		fprintf(r->f, "    and %zu more lines (--all)\n", lines - MANY);
}

/* Inputs or outputs of a main graph. */
struct ports {
	VEC(val_id) value;
	VEC(sym) name;
	struct map at; /* by name: 1 + its place */
};

static struct ports ports_of(struct side *s, bool outputs)
{
	const struct graph *g = graph(s->m, s->m->main);
	struct ports p = {0};

	for (size_t i = 0; i < (outputs ? g->out.n : g->in.n); i++) {
		val_id v = outputs ? g->out.a[i] : g->in.a[i];
		sym name = outputs ? g->out_name.a[i] : val(s->m, v)->name;
		vec_push(&p.value, v);
		vec_push(&p.name, name);
		if (name)
			map_set(&p.at, name, (uint32_t)i + 1);
	}
	return p;
}

static void ports_free(struct ports *p)
{
	vec_free(&p->value);
	vec_free(&p->name);
	map_free(&p->at);
}

static void put_port(struct report *r, const char *sign, const char *color, const char *what, sym name)
{
	fprintf(r->f, "%s%s %s ", color, sign, what);
	text_put_name(r->f, name);
	fputs(r->plain, r->f);
}

static void put_type_of(struct report *r, int which, val_id v)
{
	putc(' ', r->f);
	text_put_type(of(r, which), &val(r->d->side[which].m, v)->type);
}

/* The one of A became that of B. */
static void put_port_change(struct report *r, const char *what, sym name, val_id v, val_id u, bool outputs)
{
	struct side *s = r->d->side;
	bool type = !same_type(r->d, &val(s[A].m, v)->type, &val(s[B].m, u)->type), source = outputs && !same_value(r->d, v, u);

	if (!type && !source)
		return;
	put_port(r, "~", r->yellow, what, name);
	if (type) {
		put_type_of(r, A, v);
		fputs(" ->", r->f);
		put_type_of(r, B, u);
	}
	if (source) {
		fputs(" of ", r->f);
		text_put_value(of(r, A), v);
		fputs(" -> ", r->f);
		text_put_value(of(r, B), u);
	}
	putc('\n', r->f);
}

static void put_ports(struct report *r, const char *what, bool outputs)
{
	struct ports p[SIDES] = {ports_of(&r->d->side[A], outputs), ports_of(&r->d->side[B], outputs)};

	for (int which = A; which < SIDES; which++)
		for (size_t i = 0; i < p[which].value.n; i++) {
			sym name = p[which].name.a[i];
			uint32_t other = name ? map_get(&p[!which].at, name) : 0;
			if (other && which == A)
				put_port_change(r, what, name, p[A].value.a[i], p[B].value.a[other - 1], outputs);
			if (other)
				continue;
			put_port(r, which == A ? "-" : "+", which == A ? r->red : r->green, what, name);
			put_type_of(r, which, p[which].value.a[i]);
			putc('\n', r->f);
		}
	ports_free(&p[A]);
	ports_free(&p[B]);
}

/* ---- constants ---- */

/* Constants that the graphs of a side use, in the order of their first use. */
struct constants {
	VEC(val_id) value;
	struct map by_name;
};

static void add_constant(struct side *s, struct constants *c, val_id v)
{
	sym name = v && val(s->m, v)->kind == VAL_CONST ? val(s->m, v)->name : 0;

	if (!name || map_get(&c->by_name, name))
		return;
	map_set(&c->by_name, name, v);
	vec_push(&c->value, v);
}

static struct constants constants_of(struct side *s)
{
	struct constants c = {0};

	for (size_t k = 0; k < s->w.order.n; k++) {
		const struct graph *g = graph(s->m, s->w.order.a[k]);
		for (size_t i = 0; i < g->nodes.n; i++)
			for (uint32_t j = 0; j < node(s->m, g->nodes.a[i])->nin; j++)
				add_constant(s, &c, node(s->m, g->nodes.a[i])->in[j]);
		for (size_t i = 0; i < g->out.n; i++)
			add_constant(s, &c, g->out.a[i]);
	}
	return c;
}

static char *constant_text(struct side *s, val_id v)
{
	struct tensor *t = val(s->m, v)->tensor;
	struct type type = tensor_type(s->m, t);
	char hex[33];

	digest_hex(tensor_digest(s->m, t), hex);
	return xprintf("%s %.8s", type_str(s->m, &type, &s->w.scratch), hex);
}

static void put_constant(struct report *r, int which, const char *sign, const char *color, val_id v)
{
	char *s = constant_text(&r->d->side[which], v);

	fprintf(r->f, "%s%s constant ", color, sign);
	text_put_name(r->f, val(r->d->side[which].m, v)->name);
	fprintf(r->f, "%s %s", r->plain, s);
	free(s);
}

struct counts {
	size_t gone, come, changed, moved;
};

static struct counts put_constants(struct report *r)
{
	struct side *s = r->d->side;
	struct constants c[SIDES] = {constants_of(&s[A]), constants_of(&s[B])};
	struct counts n = {0};

	for (int which = A; which < SIDES; which++)
		for (size_t i = 0; i < c[which].value.n; i++) {
			val_id v = c[which].value.a[i], u = map_get(&c[!which].by_name, val(s[which].m, v)->name);
			size_t *count = u ? &n.changed : which == A ? &n.gone : &n.come;
			if (u && (which == B || same_tensor(r->d, val(s[A].m, v)->tensor, val(s[B].m, u)->tensor)))
				continue;
			if (++*count > MANY && !r->all)
				continue;
			put_constant(r, which, u ? "~" : which == A ? "-" : "+", u ? r->yellow : which == A ? r->red : r->green, v);
			char *to = u ? constant_text(&s[B], u) : NULL;
			fprintf(r->f, "%s%s\n", u ? " -> " : "", u ? to : "");
			free(to);
		}
	size_t most = n.gone > n.come ? n.gone : n.come;
	if (!r->all && (most > n.changed ? most : n.changed) > MANY)
		fprintf(r->f, "  not all are listed (--all)\n");
	for (int which = A; which < SIDES; which++) {
		vec_free(&c[which].value);
		map_free(&c[which].by_name);
	}
	return n;
}

/* ---- the whole ---- */

static void put_counts(FILE *f, const char *what, const struct counts *n)
{
	fprintf(f, "%s: %zu removed, %zu added, %zu changed", what, n->gone, n->come, n->changed);
	if (n->moved)
		fprintf(f, ", %zu in other graphs", n->moved);
	putc('\n', f);
}

static void put_graph(struct report *r, graph_id g, graph_id h, struct counts *all)
{
	struct section s = gather(r->d, g, h);
	struct counts n = {s.gone.node.n, s.come.node.n, s.changed.node.n, s.moved.node.n};

	if (n.gone + n.come + n.changed + (h || r->all ? n.moved : 0)) { /* a group that is dissolved goes as a node */
		fprintf(r->f, "%sgraph ", r->bold);
		text_put_label(of(r, h ? B : A), h ? h : g);
		fprintf(r->f, "%s", r->plain);
		put_counts(r->f, !h ? " (removed)" : !g ? " (added)" : "", &n);
		put_list(r, A, &s.gone, "-", r->red);
		put_list(r, B, &s.come, "+", r->green);
		put_moved(r, &s.moved);
		put_all_changes(r, &s.changed);
	}
	all->gone += n.gone;
	all->come += n.come;
	all->changed += n.changed;
	all->moved += n.moved;
	section_free(&s);
}

static void put_header(struct report *r)
{
	for (int which = A; which < SIDES; which++) {
		struct side *s = &r->d->side[which];
		size_t nodes = 0;
		char hex[33];
		for (size_t k = 0; k < s->w.order.n; k++)
			nodes += graph(s->m, s->w.order.a[k])->nodes.n;
		digest_hex(module_digest(s->m), hex);
		fprintf(r->f, "%s%s %s%s: ", which == A ? r->red : r->green, which == A ? "---" : "+++", shown(s->path), r->plain);
		put_number(r->f, nodes, "node");
		fputs(", ", r->f);
		put_number(r->f, s->w.order.n, "graph");
		fprintf(r->f, ", opset %" PRId64 ", %s\n", s->m->opset, hex);
	}
}

void print_text(struct diff *d, FILE *f, bool all, bool color)
{
	struct report r = {.d = d, .f = f, .all = all, .red = "", .green = "", .yellow = "", .bold = "", .plain = ""};
	struct side *a = &d->side[A], *b = &d->side[B];
	struct counts nodes = {0}, constants;

	if (color) {
		r.red = "\033[31m";
		r.green = "\033[32m";
		r.yellow = "\033[33m";
		r.bold = "\033[1m";
		r.plain = "\033[0m";
	}
	put_header(&r);
	put_ports(&r, "input", false);
	put_ports(&r, "output", true);
	for (size_t k = b->w.order.n; k-- > 0;) /* main first */
		put_graph(&r, b->graph[b->w.order.a[k]], b->w.order.a[k], &nodes);
	for (size_t k = a->w.order.n; k-- > 0;)
		if (!a->graph[a->w.order.a[k]])
			put_graph(&r, a->w.order.a[k], 0, &nodes);
	constants = put_constants(&r);
	put_counts(f, "nodes", &nodes);
	put_counts(f, "constants", &constants);
	vec_free(&r.tally);
}
