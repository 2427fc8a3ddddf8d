/* Modules as text. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "graph/symbols.h"
#include "graph/text.h"
#include "graph/textform.h"

void text_put_type(struct text_writer *w, const struct type *t)
{
	fprintf(w->f, "%s[", dtype_name(t->dtype));
	if (t->rank == RANK_UNKNOWN)
		putc('*', w->f);
	for (int i = 0; i < t->rank; i++)
		fprintf(w->f, "%s%s", i ? "," : "", poly_str(w->m->dims, t->dims[i], &w->scratch));
	putc(']', w->f);
	if (t->layout) {
		putc('@', w->f);
		text_put_string(w->f, sym_str(t->layout), sym_len(t->layout));
	}
	if (t->other) {
		putc('%', w->f);
		text_put_string(w->f, sym_str(t->other), sym_len(t->other));
	}
}

/* ": TYPE", or nothing where nothing is known. */
static void put_typed(struct text_writer *w, const struct type *t)
{
	if (t->dtype == DT_NONE && t->rank == RANK_UNKNOWN && !t->layout && !t->other)
		return;
	fputs(": ", w->f);
	text_put_type(w, t);
}

void text_put_value(struct text_writer *w, val_id v)
{
	const struct value *x = val(w->m, v);
	if (!v) {
		putc('-', w->f);
		return;
	}
	if (x->kind == VAL_CONST)
		putc('@', w->f);
	text_put_name(w->f, x->name);
}

void text_put_label(struct text_writer *w, graph_id g)
{
	text_put_name(w->f, graph(w->m, g)->name);
	if (w->ordinal[g] > 1)
		fprintf(w->f, "#%" PRIu32, w->ordinal[g]);
}

static void put_list(struct text_writer *w, const struct attr *a)
{
	static const char *const empty[] = {[ATTR_FLOATS] = "floats", [ATTR_STRS] = "strings", [ATTR_GRAPHS] = "graphs"};
	if (a->n == 0 && a->kind != ATTR_INTS)
		fputs(empty[a->kind], w->f);
	putc('[', w->f);
	for (uint32_t i = 0; i < a->n; i++) {
		fputs(i ? "," : "", w->f);
		switch (a->kind) {
		case ATTR_INTS: fprintf(w->f, "%" PRId64, a->u.ints[i]); break;
		case ATTR_FLOATS: text_put_float(w->f, a->u.floats[i], true); break;
		case ATTR_STRS: text_put_string(w->f, sym_str(a->u.strs[i]), sym_len(a->u.strs[i])); break;
		default: fputs("graph ", w->f), text_put_label(w, a->u.graphs[i]); break;
		}
	}
	putc(']', w->f);
}

void text_put_attr_value(struct text_writer *w, const struct attr *a)
{
	switch ((enum attr_kind)a->kind) {
	case ATTR_INT: fprintf(w->f, "%" PRId64, a->u.i); break;
	case ATTR_FLOAT: text_put_float(w->f, a->u.f, true); break;
	case ATTR_STR: text_put_string(w->f, a->u.s, a->n); break;
	case ATTR_INTS:
	case ATTR_FLOATS:
	case ATTR_STRS:
	case ATTR_GRAPHS: put_list(w, a); break;
	case ATTR_TENSOR: text_put_tensor(w->f, w->m, a->u.tensor); break;
	case ATTR_GRAPH: fputs("graph ", w->f), text_put_label(w, a->u.graph); break;
	case ATTR_TYPE: fputs("type ", w->f), text_put_type(w, a->u.type); break;
	}
}

/* In a name of neither letters nor digits each part is quoted. */
void text_put_op(struct text_writer *w, const struct node *n)
{
	const char *name = node_op_name(n);
	const char *domain = n->op == OP_OTHER ? sym_str(n->domain) : op_info(n->op)->domain;
	bool odd = !text_plain(name, strlen(name)) || strpbrk(name, ".:");
	odd |= *domain && (!text_plain(domain, strlen(domain)) || strchr(domain, ':'));
	if (*domain) {
		odd ? text_put_string(w->f, domain, strlen(domain)) : (void)fputs(domain, w->f);
		putc('.', w->f);
	}
	odd ? text_put_string(w->f, name, strlen(name)) : (void)fputs(name, w->f);
}

static void put_node(struct text_writer *w, const struct node *n)
{
	fputs("  ", w->f);
	for (uint32_t i = 0; i < n->nout; i++) {
		fputs(i ? ", " : "", w->f);
		text_put_value(w, n->out[i]);
		if (n->out[i])
			put_typed(w, &val(w->m, n->out[i])->type);
	}
	fputs(n->nout ? " = " : "= ", w->f);
	text_put_op(w, n);
	putc('(', w->f);
	for (uint32_t i = 0; i < n->nin; i++) {
		fputs(i ? ", " : "", w->f);
		text_put_value(w, n->in[i]);
	}
	putc(')', w->f);
	for (uint32_t i = 0; i < n->nattr; i++) {
		fputs(i ? " " : " {", w->f);
		text_put_name(w->f, n->attr[i].name);
		putc('=', w->f);
		text_put_attr_value(w, &n->attr[i]);
	}
	fputs(n->nattr ? "}" : "", w->f);
	if (n->name) {
		putc(' ', w->f);
		text_put_string(w->f, sym_str(n->name), sym_len(n->name));
	}
	putc('\n', w->f);
}

static void put_graph(struct text_writer *w, graph_id id)
{
	const struct graph *g = graph(w->m, id);
	fputs("graph ", w->f);
	text_put_label(w, id);
	fputs(" {\n", w->f);
	for (size_t i = 0; i < g->in.n; i++) {
		const struct value *v = val(w->m, g->in.a[i]);
		fputs("  input ", w->f);
		text_put_value(w, g->in.a[i]);
		put_typed(w, &v->type);
		if (v->overridable && v->tensor) {
			fputs(" = ", w->f);
			text_put_tensor(w->f, w->m, v->tensor);
		}
		putc('\n', w->f);
	}
	for (size_t i = 0; i < g->nodes.n; i++)
		put_node(w, node(w->m, g->nodes.a[i]));
	for (size_t i = 0; i < g->out.n; i++) {
		fputs("  output ", w->f);
		text_put_name(w->f, g->out_name.a[i]);
		fputs(" = ", w->f);
		text_put_value(w, g->out.a[i]);
		putc('\n', w->f);
	}
	fputs("}\n", w->f);
}

static void put_const(struct text_writer *w, val_id v, bool *seen)
{
	if (!v || seen[v] || val(w->m, v)->kind != VAL_CONST)
		return;
	seen[v] = true;
	fputs("const ", w->f);
	text_put_name(w->f, val(w->m, v)->name);
	fputs(" = ", w->f);
	text_put_tensor(w->f, w->m, val(w->m, v)->tensor);
	putc('\n', w->f);
}

/* Those that are used, in the order of their first use. */
static void put_consts(struct text_writer *w)
{
	bool *seen = xcalloc(w->m->values.n, sizeof *seen);
	for (size_t k = 0; k < w->order.n; k++) {
		const struct graph *g = graph(w->m, w->order.a[k]);
		for (size_t i = 0; i < g->nodes.n; i++) {
			const struct node *n = node(w->m, g->nodes.a[i]);
			for (uint32_t j = 0; j < n->nin; j++)
				put_const(w, n->in[j], seen);
		}
		for (size_t i = 0; i < g->out.n; i++)
			put_const(w, g->out.a[i], seen);
	}
	free(seen);
}

static void put_bound(FILE *f, int64_t v, int64_t none, const char *word)
{
	if (v == none)
		fputs(word, f);
	else
		fprintf(f, "%" PRId64, v);
}

static void put_symbols(struct text_writer *w)
{
	struct module *m = w->m;
	struct symbols s = {0};
	for (size_t k = 0; k < w->order.n; k++) {
		const struct graph *g = graph(m, w->order.a[k]);
		for (size_t i = 0; i < g->in.n; i++)
			symbols_mark(&s, m, &val(m, g->in.a[i])->type);
		for (size_t i = 0; i < g->nodes.n; i++) {
			const struct node *n = node(m, g->nodes.a[i]);
			for (uint32_t j = 0; j < n->nout; j++)
				if (n->out[j])
					symbols_mark(&s, m, &val(m, n->out[j])->type);
			for (uint32_t j = 0; j < n->nattr; j++)
				if (n->attr[j].kind == ATTR_TYPE)
					symbols_mark(&s, m, n->attr[j].u.type);
		}
	}
	symbols_sort(&s, m);
	for (size_t i = 0; i < s.list.n; i++) {
		int64_t lo, hi, divisor = poly_var_divisor(m->dims, s.list.a[i]);
		poly_var_range(m->dims, s.list.a[i], &lo, &hi);
		fputs("symbol ", w->f);
		text_put_name(w->f, poly_var_name(m->dims, s.list.a[i]));
		putc(' ', w->f);
		put_bound(w->f, lo, INT64_MIN, "-inf");
		putc(' ', w->f);
		put_bound(w->f, hi, POLY_INF, "inf");
		if (divisor > 1)
			fprintf(w->f, " step %" PRId64, divisor);
		putc('\n', w->f);
	}
	symbols_free(&s);
}

static void number_graphs(struct text_writer *w)
{
	VEC(uint32_t) count = {0}; /* by name */
	w->ordinal = xcalloc(w->m->graphs.n, sizeof *w->ordinal);
	for (size_t i = 0; i < w->order.n; i++) {
		sym name = graph(w->m, w->order.a[i])->name;
		while (count.n <= name)
			vec_push(&count, 0);
		w->ordinal[w->order.a[i]] = ++count.a[name];
	}
	vec_free(&count);
}

void text_writer_open(struct text_writer *w, FILE *f, struct module *m)
{
	*w = (struct text_writer){.f = f, .m = m};
	if (!m->main)
		BUG("a module without a main graph");
	module_name_values(m);
	symbols_name(m);
	module_graph_order(m, &w->order);
	number_graphs(w);
}

void text_writer_close(struct text_writer *w)
{
	free(w->ordinal);
	vec_free(&w->order);
	arena_release(&w->scratch);
}

void text_put_head(struct text_writer *w)
{
	struct module *m = w->m;
	FILE *f = w->f;

	fprintf(f, "hone-text %d\nmodule ir=%" PRId64 " opset=%" PRId64 "\n", TEXT_VERSION, m->ir_version, m->opset);
	for (size_t i = 0; i < m->provenance.n; i++) {
		fputs("provenance ", f);
		text_put_string(f, m->provenance.a[i], strlen(m->provenance.a[i]));
		putc('\n', f);
	}
	for (size_t i = 0; i < m->meta.n; i++) {
		fputs("meta ", f);
		text_put_string(f, sym_str(m->meta.a[i].key), sym_len(m->meta.a[i].key));
		fputs(" = ", f);
		text_put_string(f, sym_str(m->meta.a[i].value), sym_len(m->meta.a[i].value));
		putc('\n', f);
	}
	put_symbols(w);
	put_consts(w);
}

void text_write(FILE *f, struct module *m)
{
	struct text_writer w;
	text_writer_open(&w, f, m);
	text_put_head(&w);
	for (size_t i = 0; i < w.order.n; i++)
		put_graph(&w, w.order.a[i]);
	text_writer_close(&w);
}
