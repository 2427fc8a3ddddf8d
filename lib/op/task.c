/* Tasks: a group's text, its canonical form in the graph, and the tasks of a module. */
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "graph/bodies.h"
#include "graph/pass.h"
#include "op/op.h"
#include "op/task_impl.h"

enum { FORM_VERSION = 1 }; /* of the text; part of what names a task */

/* ---- text ---- */

struct writer {
	struct task_form *f;
	struct task_out o;
	enum dtype type;     /* the element type last written; DT_NONE: none yet */
	uint32_t *number;    /* by value: its number + 1 as an input ($0 $1 ..) or constant (#0 #1 ..); 0: not written yet */
	uint32_t *statement; /* by node */
	uint32_t ninputs, nconstants;
};

static void put_layout(struct task_out *o, const struct type *t)
{
	if (!t->layout)
		return;
	put_word(o, "@");
	for (const char *s = sym_str(t->layout); *s; s++)
		put_text(o, *s == ' ' ? "," : s, 1);
}

static void put_type(struct writer *w, enum dtype t)
{
	if (w->type == t)
		return;
	w->type = t;
	put_word(&w->o, dtype_name(t));
	put_word(&w->o, " ");
}

static void put_shape(struct writer *w, const struct type *t)
{
	int64_t dims[RANK_MAX];

	type_dims(w->f->m, t, dims);
	for (int i = 0; i < t->rank; i++) {
		put_word(&w->o, i ? "x" : "");
		put_int(&w->o, dims[i]);
	}
	if (!t->rank)
		put_word(&w->o, "scalar");
}

/* "=0.5", "i64=1,1", "=3," (a vector of one), "1x1=0.5" */
static void put_constant(struct writer *w, struct tensor *t)
{
	struct tensor x = *t;
	struct type type = tensor_type(w->f->m, t);

	x.data = tensor_data(w->f->m, t);
	if (t->rank > 1) {
		put_type(w, t->dtype);
		put_shape(w, &type);
	} else if (t->dtype != w->type) {
		put_word(&w->o, dtype_name(t->dtype));
	}
	put_word(&w->o, "=");
	task_put_elements(&w->o, &x);
	if (t->rank == 1 && t->dims[0] == 1)
		put_word(&w->o, ",");
}

static void put_result(struct writer *w, const struct form_value *x)
{
	put_word(&w->o, "%");
	put_int(&w->o, w->statement[x->node]);
	if (x->index) {
		put_word(&w->o, ".");
		put_int(&w->o, x->index);
	}
}

/* A value that has been written before: by its number. */
static void put_again(struct writer *w, uint32_t k)
{
	put_word(&w->o, w->f->value.a[k].kind == FORM_INPUT ? "$" : "#");
	put_int(&w->o, w->number[k] - 1);
}

static void put_leaf(struct writer *w, uint32_t k)
{
	const struct form_value *x = &w->f->value.a[k];
	const struct value *v = val(w->f->m, x->v);

	if (x->by_value) {
		put_constant(w, v->tensor);
	} else if (w->number[k]) {
		put_again(w, k);
	} else {
		w->number[k] = x->kind == FORM_INPUT ? ++w->ninputs : ++w->nconstants;
		put_type(w, v->type.dtype);
		put_shape(w, &v->type);
		put_word(&w->o, x->kind == FORM_CONST ? "c" : "");
		put_layout(&w->o, &v->type);
	}
}

static void put_operand(struct writer *w, uint32_t k)
{
	put_word(&w->o, " ");
	if (k == FORM_ABSENT)
		put_word(&w->o, "_");
	else if (w->f->value.a[k].kind == FORM_RESULT)
		put_result(w, &w->f->value.a[k]);
	else
		put_leaf(w, k);
}

static void put_statement(struct writer *w, const struct form_node *n)
{
	enum opcode op = node(w->f->m, n->id)->op;
	const struct op_info *o = op_info(op);

	if (*o->domain) {
		put_word(&w->o, o->domain);
		put_word(&w->o, ".");
	}
	put_word(&w->o, o->name);
	if (o->max_out < 0) {
		put_word(&w->o, "*");
		put_int(&w->o, n->nout);
	}
	put_word(&w->o, w->f->text.a + n->attrs);
	for (uint32_t i = 0; i < n->nin; i++)
		put_operand(w, w->f->operand.a[n->first + i]);
}

/* Writes nothing if the only result is result 0 of the last statement, row-major. */
static void put_results(struct writer *w)
{
	struct module *m = w->f->m;
	const struct graph *g = graph(m, w->f->body);
	const struct form_value *first = &w->f->value.a[w->f->result[0]];

	if (g->out.n == 1 && first->kind == FORM_RESULT && !first->index && w->statement[first->node] + 1 == w->f->order.n &&
	    !val(m, g->out.a[0])->type.layout)
		return;
	put_word(&w->o, " ->");
	for (size_t k = 0; k < g->out.n; k++) {
		const struct form_value *x = &w->f->value.a[w->f->result[k]];
		put_word(&w->o, " ");
		if (x->kind == FORM_RESULT)
			put_result(w, x);
		else
			put_again(w, w->f->result[k]);
		put_layout(&w->o, &val(m, g->out.a[k])->type);
	}
}

const char *task_text(struct module *m, node_id n, struct arena *a, const char **why)
{
	struct task_form f;
	char *text = NULL;

	*why = task_form_make(&f, m, n, a);
	if (!*why) {
		struct writer w = {.f = &f};
		w.number = xcalloc(f.value.n, sizeof *w.number);
		w.statement = xcalloc(f.node.n, sizeof *w.statement);
		for (size_t i = 0; i < f.order.n; i++) {
			put_word(&w.o, i ? "; " : "");
			put_statement(&w, &f.node.a[f.order.a[i]]);
			w.statement[f.order.a[i]] = (uint32_t)i;
		}
		put_results(&w);
		put_end(&w.o);
		text = arena_copy(a, w.o.a, w.o.n + 1);
		vec_free(&w.o);
		free(w.number);
		free(w.statement);
	}
	task_form_release(&f);
	return text;
}

struct digest task_digest(const char *text)
{
	struct digest_state *s = digest_new();
	const char version[] = {'t', 'a', 's', 'k', '0' + FORM_VERSION, '\n'};

	digest_add(s, version, sizeof version);
	digest_add(s, text, strlen(text));
	return digest_end(s);
}

node_id task_node(struct module *m) { return graph(m, m->main)->nodes.a[0]; }

/* ---- canonical groups ---- */

static bool body_is_shared(struct module *m, node_id n, const uint32_t *calls) { return calls[attr_graph(node(m, n), "graph")] > 1; }

/* Operands in the order of their first use; equal ones once, constants inside. */
static void settle_inputs(struct task_form *f)
{
	struct module *m = f->m;
	struct graph *g = graph(m, f->body);
	struct node *x = node(m, f->fused);
	val_id *inner = xcalloc(g->in.n + 1, sizeof *inner), *outer = xcalloc(g->in.n + 1, sizeof *outer);
	bool *listed = xcalloc(f->value.n + 1, sizeof *listed);
	uint32_t n = 0;

	for (size_t i = 0; i < f->order.n; i++) {
		const struct form_node *y = &f->node.a[f->order.a[i]];
		for (uint32_t k = 0; k < y->nin; k++) {
			uint32_t o = f->operand.a[y->first + k];
			if (o == FORM_ABSENT || f->value.a[o].kind != FORM_INPUT || listed[o])
				continue;
			listed[o] = true;
			inner[n] = f->value.a[o].v;
			outer[n++] = x->in[val(m, f->value.a[o].v)->index];
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		g->in.a[i] = inner[i];
		x->in[i] = outer[i];
	}
	for (uint32_t i = 0; i < n; i++)
		val(m, inner[i])->index = i;
	g->in.n = x->nin = n;
	free(inner);
	free(outer);
	free(listed);
}

static void settle_group(struct task_form *f)
{
	struct module *m = f->m;
	struct graph *g = graph(m, f->body);

	settle_inputs(f);
	for (size_t i = 0; i < f->order.n; i++) {
		const struct form_node *x = &f->node.a[f->order.a[i]];
		struct node *n = node(m, x->id);
		g->nodes.a[i] = x->id;
		n->nin = x->nin;
		n->nout = x->nout;
		for (uint32_t k = 0; k < x->nin; k++) {
			uint32_t o = f->operand.a[x->first + k];
			n->in[k] = o == FORM_ABSENT ? 0 : f->value.a[o].v;
		}
	}
	g->nodes.n = f->order.n;
	for (size_t k = 0; k < g->out.n; k++)
		g->out.a[k] = f->value.a[f->result[k]].v;
}

/* ---- gears ---- */

static bool is_gears(const struct node *n) { return n->op == OP_Case && attr_find(n, "fit"); }

/* Is it the question whether there is a gear? */
static bool leads_to_gears(struct module *m, const struct node *n)
{
	graph_id then = n->op == OP_If ? node_branch(n, 1) : 0;

	for (size_t i = 0; then && i < graph(m, then)->nodes.n; i++)
		if (is_gears(node(m, graph(m, then)->nodes.a[i])))
			return true;
	return false;
}

static void settle_graph(struct module *m, graph_id g, const uint32_t *calls);

static void settle_gears(struct module *m, node_id id, const uint32_t *calls)
{
	const struct node *n = node(m, id);

	for (uint32_t k = 0; is_gears(n) && node_branch(n, k); k++)
		settle_graph(m, node_branch(n, k), calls);
	if (leads_to_gears(m, n))
		settle_graph(m, node_branch(n, 1), calls);
}

static void settle_graph(struct module *m, graph_id g, const uint32_t *calls)
{
	struct arena a = {0};

	for (size_t i = 0; i < graph(m, g)->nodes.n; i++) {
		node_id n = graph(m, g)->nodes.a[i];
		struct task_form f;
		settle_gears(m, n, calls);
		if (node(m, n)->op != OP_Fused || body_is_shared(m, n, calls))
			continue;
		if (!task_form_make(&f, m, n, &a))
			settle_group(&f);
		task_form_release(&f);
	}
	arena_release(&a);
}

void task_settle(struct module *m, graph_id g)
{
	uint32_t *calls = xcalloc(m->graphs.n, sizeof *calls);

	for (size_t i = 1; i < m->nodes.n; i++)
		if (node(m, (node_id)i)->op == OP_Fused)
			calls[attr_graph(node(m, (node_id)i), "graph")]++;
	settle_graph(m, g, calls);
	free(calls);
}

/* ---- the tasks of a module ---- */

/* Index of the task in the list, which gets it if it is new. */
static size_t find_task(struct task_list *l, uint32_t *slot, size_t nslots, const char *text)
{
	struct digest d = task_digest(text);
	size_t i = d.lo & (nslots - 1);

	while (slot[i] && !digest_eq(l->a[slot[i] - 1].digest, d))
		i = (i + 1) & (nslots - 1);
	if (!slot[i]) {
		vec_push(l, (struct task){.text = text, .digest = d});
		slot[i] = (uint32_t)l->n;
	}
	return slot[i] - 1;
}

static int by_work(const void *a, const void *b)
{
	const struct task *x = a, *y = b;
	double u = x->flops * x->weight, v = y->flops * y->weight;

	return u != v ? (u > v ? -1 : 1) : strcmp(x->text, y->text);
}

/* A group, and how often a run computes it. */
struct counted {
	node_id node;
	double weight;
};
struct counted_list {
	struct counted *a;
	size_t n, cap;
};

/* The groups of graph g; of its gears, too, in the graph itself or in a branch behind the question whether there is a gear. */
static void list_groups(struct module *m, graph_id g, double weight, struct counted_list *l)
{
	for (size_t i = 0; i < graph(m, g)->nodes.n; i++) {
		node_id id = graph(m, g)->nodes.a[i];
		const struct node *n = node(m, id);
		uint32_t branches = 0;
		if (n->op == OP_Fused)
			vec_push(l, (struct counted){id, weight});
		while (is_gears(n) && node_branch(n, branches))
			branches++;
		for (uint32_t k = 0; k < branches; k++)
			list_groups(m, node_branch(n, k), weight * gear_expected(m, id, k), l);
		if (leads_to_gears(m, n))
			list_groups(m, node_branch(n, 1), weight, l);
	}
}

void task_list_make(struct task_list *l, struct module *m, struct arena *a)
{
	struct counted_list g = {0};
	size_t nslots = 16;

	*l = (struct task_list){0};
	list_groups(m, m->main, 1, &g);
	while (nslots < 2 * g.n)
		nslots *= 2;
	uint32_t *slot = xcalloc(nslots, sizeof *slot), *of = xcalloc(g.n + 1, sizeof *of);
	for (size_t i = 0; i < g.n; i++) {
		struct arena tmp = {0};
		node_id n = g.a[i].node;
		const char *why, *text = task_text(m, n, &tmp, &why);
		if (text) {
			of[i] = (uint32_t)find_task(l, slot, nslots, text) + 1;
			struct task *t = &l->a[of[i] - 1];
			if (t->text == text) {
				t->text = arena_str(a, text);
				t->title = task_title(m, n, a);
				t->flops = node_flops(m, node(m, n));
			}
			t->count++;
			t->weight += g.a[i].weight;
		} else {
			vec_push(&l->without, (struct task_without){n, arena_str(a, why)});
		}
		arena_release(&tmp);
	}
	for (size_t i = 0; i < l->n; i++) {
		l->a[i].node = ARENA_ARRAY(a, node_id, l->a[i].count);
		l->a[i].count = 0;
	}
	for (size_t i = 0; i < g.n; i++)
		if (of[i])
			l->a[of[i] - 1].node[l->a[of[i] - 1].count++] = g.a[i].node;
	if (l->n)
		qsort(l->a, l->n, sizeof *l->a, by_work);
	vec_free(&g);
	free(slot);
	free(of);
}

const char *task_list_none(const struct task_list *l, struct module *m, struct arena *a)
{
	size_t n = l->without.n;

	if (l->n)
		return NULL;
	if (!n)
		return "no node is a group; ge-fuse makes them, then ge-layout";
	const char *more = n > 1 ? arena_printf(a, " (and %zu more groups)", n - 1) : "";
	return arena_printf(a, "%s: %s%s", node_where(m, l->without.a[0].node, a), l->without.a[0].why, more);
}

void task_list_free(struct task_list *l)
{
	vec_free(&l->without);
	vec_free(l);
}
