#include "share.h"
#include <stdlib.h>
#include <string.h>
#include "form.h"
#include "graph/bodies.h"
#include "graph/fused.h"
#include "model/model.h"
#include "op/op.h"

/* A kernel of a gear. */
struct member {
	node_id node;
	double often;           /* how often its gear is taken */
	struct form own, *like; /* like[j]: as member j has it */
	size_t form;            /* the member whose form it has in the end */
};

/* Kernels that read the same weights. */
struct class
{
	uint32_t nweight;
	val_id *weight; /* sorted */
	VEC(struct member) a;
};

struct share {
	struct module *m;
	const struct share_options *o;
	const struct pass_ctx *c;
	VEC(struct class) a;
	int64_t bytes; /* of all weights */
};

/* ---- which kernels read which weights ---- */

static int compare_ids(const void *a, const void *b)
{
	val_id x = *(const val_id *)a, y = *(const val_id *)b;
	return x < y ? -1 : x > y;
}

/* Constants of some size that a group reads, each once. How many. */
static uint32_t weights_of(struct module *m, node_id fused, val_id **list)
{
	const struct graph *g = graph(m, attr_graph(node(m, fused), "graph"));
	VEC(val_id) v = {0};
	uint32_t n = 0;

	for (size_t i = 0; i < g->nodes.n; i++)
		for (uint32_t k = 0; k < node(m, g->nodes.a[i])->nin; k++) {
			val_id x = node(m, g->nodes.a[i])->in[k];
			if (x && val(m, x)->kind == VAL_CONST && val(m, x)->tensor->nbytes >= WEIGHTS_MIN)
				vec_push(&v, x);
		}
	if (v.n)
		qsort(v.a, v.n, sizeof *v.a, compare_ids);
	for (size_t i = 0; i < v.n; i++)
		if (!n || v.a[n - 1] != v.a[i])
			v.a[n++] = v.a[i];
	*list = v.n ? arena_copy(&m->arena, v.a, n * sizeof *v.a) : NULL;
	vec_free(&v);
	return n;
}

static void add_kernel(struct share *s, node_id id, double often)
{
	val_id *list;
	uint32_t n = weights_of(s->m, id, &list);
	size_t i = 0;

	if (!n)
		return;
	while (i < s->a.n && (s->a.a[i].nweight != n || memcmp(s->a.a[i].weight, list, n * sizeof *list)))
		i++;
	if (i == s->a.n)
		vec_push(&s->a, (struct class){.nweight = n, .weight = list});
	size_t number = s->a.a[i].a.n;
	vec_push(&s->a.a[i].a, (struct member){.node = id, .often = often, .form = number});
}

/* ---- which form ---- */

static bool has_kernels(struct share *s, struct class *k)
{
	for (size_t i = 0; i < k->a.n; i++) {
		struct member *x = &k->a.a[i];
		if (attr_find(node(s->m, x->node), "trace"))
			return false;
		x->own = form_own(s->m, x->node, &s->o->target, &s->m->arena);
		if (!x->own.trace)
			return false;
	}
	return true;
}

static bool agree(const struct class *k)
{
	for (size_t i = 1; i < k->a.n; i++)
		if (strcmp(k->a.a[i].own.text, k->a.a[0].own.text))
			return false;
	return true;
}

/* The first member that has the same form as j. */
static size_t first_like(const struct class *k, size_t j)
{
	size_t i = 0;

	while (strcmp(k->a.a[i].own.text, k->a.a[j].own.text))
		i++;
	return i;
}

/* Seconds of all in the form of member j; below 0: one of them cannot read it. */
static double cost_of_form(struct share *s, struct class *k, size_t j)
{
	double sum = 0;

	for (size_t i = 0; i < k->a.n; i++) {
		struct member *x = &k->a.a[i];
		x->like[j] = form_like(s->m, x->node, &s->o->target, &k->a.a[j].own, &x->own, &s->m->arena);
		if (!x->like[j].trace)
			return -1;
		sum += x->often * x->like[j].cost;
	}
	return sum;
}

static void choose(struct share *s, struct class *k)
{
	double best = -1;
	size_t form = 0;

	for (size_t i = 0; i < k->a.n; i++)
		k->a.a[i].like = ARENA_ARRAY(&s->m->arena, struct form, k->a.n);
	for (size_t j = 0; j < k->a.n; j++) {
		double cost = first_like(k, j) == j ? cost_of_form(s, k, j) : -1;
		if (cost < 0 || (best >= 0 && cost >= best))
			continue;
		best = cost;
		form = j;
	}
	for (size_t i = 0; i < k->a.n && best >= 0; i++)
		k->a.a[i].form = form;
	if (best < 0)
		pass_why(s->c, s->m, k->a.a[0].node, "no form of its weights is one that all gears can read");
}

/* ---- copies ---- */

/* What a second form of a class's weights would save, for whom it is the own one. */
struct copy {
	struct class *k;
	size_t form;
	double saved;
	int64_t bytes;
};

static int compare_copies(const void *a, const void *b)
{
	const struct copy *x = a, *y = b;
	double d = x->saved * (double)y->bytes - y->saved * (double)x->bytes;

	if (d != 0)
		return d > 0 ? -1 : 1;
	return compare_ids(&x->k->a.a[x->form].node, &y->k->a.a[y->form].node);
}

static void allow_copies(struct share *s)
{
	VEC(struct copy) list = {0};
	double room = s->o->copies * (double)s->bytes;

	for (size_t i = 0; i < s->a.n; i++) {
		struct class *k = &s->a.a[i];
		for (size_t j = 0; j < k->a.n; j++) {
			struct copy c = {.k = k, .form = j, .bytes = k->a.a[j].own.bytes};
			for (size_t n = 0; n < k->a.n; n++)
				if (k->a.a[n].like && k->a.a[n].form != n && first_like(k, n) == j)
					c.saved += k->a.a[n].often * (k->a.a[n].like[k->a.a[n].form].cost - k->a.a[n].own.cost);
			if (c.saved > 0)
				vec_push(&list, c);
		}
	}
	if (list.n)
		qsort(list.a, list.n, sizeof *list.a, compare_copies);
	for (size_t i = 0; i < list.n; i++) {
		struct copy *c = &list.a[i];
		if ((double)c->bytes > room)
			continue;
		room -= (double)c->bytes;
		for (size_t n = 0; n < c->k->a.n; n++)
			if (first_like(c->k, n) == c->form)
				c->k->a.a[n].form = n;
	}
	vec_free(&list);
}

/* ---- what is left in the graph ---- */

static void leave(struct share *s, struct class *k)
{
	for (size_t i = 0; i < k->a.n; i++) {
		struct member *x = &k->a.a[i];
		if (x->form == i || !x->like || !strcmp(k->a.a[x->form].own.text, x->own.text))
			continue;
		const struct form *f = &x->like[x->form];
		fused_set_trace(s->m, x->node, f->trace);
		pass_why(s->c, s->m, x->node, "reads its weights as another gear does: %.3f of the time of its own form",
			 x->own.cost > 0 ? f->cost / x->own.cost : 1);
	}
}

static void share_case(struct share *s, node_id gears)
{
	graph_id b;

	for (uint32_t k = 0; (b = node_branch(node(s->m, gears), k)); k++) {
		model_strips(s->m, b, &s->o->target, 1);
		for (size_t i = 0; i < graph(s->m, b)->nodes.n; i++)
			if (node(s->m, graph(s->m, b)->nodes.a[i])->op == OP_Fused)
				add_kernel(s, graph(s->m, b)->nodes.a[i], gear_expected(s->m, gears, k));
	}
}

/* Nodes that passes dropped stay in the module. */
static bool graph_has(struct module *m, graph_id g, node_id n)
{
	for (size_t i = 0; i < graph(m, g)->nodes.n; i++)
		if (graph(m, g)->nodes.a[i] == n)
			return true;
	return false;
}

void gears_share(struct module *m, const struct share_options *o, const struct pass_ctx *c)
{
	struct share s = {.m = m, .o = o, .c = c};

	for (node_id n = 1; n < m->nodes.n; n++) /* in the main graph, or in a branch of it */
		if (node(m, n)->op == OP_Case && attr_find(node(m, n), "fit") && graph_has(m, node(m, n)->graph, n))
			share_case(&s, n);
	for (size_t i = 0; i < s.a.n; i++) {
		struct class *k = &s.a.a[i];
		for (uint32_t w = 0; w < k->nweight; w++)
			s.bytes += (int64_t)val(m, k->weight[w])->tensor->nbytes;
		if (has_kernels(&s, k) && !agree(k))
			choose(&s, k);
	}
	allow_copies(&s);
	for (size_t i = 0; i < s.a.n; i++) {
		leave(&s, &s.a.a[i]);
		vec_free(&s.a.a[i].a);
	}
	vec_free(&s.a);
}

double graph_time(struct module *m, const struct target *t)
{
	const struct graph *g = graph(m, m->main);
	double sum = 0;

	for (size_t i = 0; i < g->nodes.n; i++)
		if (node_varies(m, node(m, g->nodes.a[i])))
			die(EX_BADUSE, "%s: its sizes are not known", node_where(m, g->nodes.a[i], &m->arena));
	model_strips(m, m->main, t, 1);
	for (size_t i = 0; i < graph(m, m->main)->nodes.n; i++) {
		node_id n = graph(m, m->main)->nodes.a[i];
		struct form f = {0};
		if (node(m, n)->op == OP_Fused)
			f = form_own(m, n, t, &m->arena);
		sum += f.trace ? f.cost : node_flops(m, node(m, n)) * 1e-9;
	}
	return sum;
}
