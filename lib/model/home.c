/* Where values are: views share the bytes of another, the rest have a home each. */
#include <stdlib.h>
#include <string.h>
#include "model/model_impl.h"
#include "common/msg.h"
#include "graph/bodies.h"
#include "graph/pass.h"

int64_t value_bytes(struct module *m, val_id v)
{
	const struct type *t = &val(m, v)->type;
	int64_t dims[RANK_MAX], n = (int64_t)dtype_size(t->dtype);
	struct layout l = {0};

	if (t->layout)
		layout_parse(&l, t->rank, sym_str(t->layout));
	if (!l.n)
		return type_count(m, t) * n;
	type_dims(m, t, dims);
	for (int i = 0; i < l.n; i++)
		n *= l.part[i].mod ? l.part[i].mod : (dims[l.part[i].axis] + l.part[i].div - 1) / l.part[i].div;
	return n;
}

static double constant_bytes(struct module *m, const struct node *n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && val(m, n->in[i])->kind == VAL_CONST && !value_varies(m, n->in[i]))
			sum += (double)value_bytes(m, n->in[i]);
	return sum;
}

double node_bytes(struct module *m, const struct node *n)
{
	graph_id body = n->op == OP_Fused ? node_body(n, 0) : 0;
	double sum = constant_bytes(m, n);

	for (uint32_t i = 0; i < n->nin + n->nout; i++) {
		val_id v = i < n->nin ? n->in[i] : n->out[i - n->nin];
		if (v && value_varies(m, v))
			return 0;
		if (v && (i >= n->nin || val(m, v)->kind != VAL_CONST))
			sum += (double)value_bytes(m, v);
	}
	for (size_t i = 0; body && i < graph(m, body)->nodes.n; i++)
		sum += constant_bytes(m, node(m, graph(m, body)->nodes.a[i]));
	return sum;
}

bool value_varies(const struct module *m, val_id v)
{
	return v && (!type_static(m, &m->values.a[v].type) || !dtype_size(m->values.a[v].type.dtype));
}

bool node_varies(const struct module *m, const struct node *n)
{
	bool varies = false;

	for (uint32_t i = 0; i < n->nin; i++)
		varies |= value_varies(m, n->in[i]);
	for (uint32_t k = 0; k < n->nout; k++)
		varies |= value_varies(m, n->out[k]);
	return varies;
}

/* What views a value of varying size is a step, which shares the bytes. */
bool node_is_view(struct module *m, const struct node *n)
{
	return op_is(n->op, OP_VIEW) && !(n->nin && value_varies(m, n->in[0])) && !(n->nout && value_varies(m, n->out[0]));
}

bool row_major(struct module *m, const struct type *t)
{
	if (!t->layout)
		return true;
	int last = -1;
	for (const char *s = sym_str(t->layout); *s; s += strspn(s, " ")) {
		char *end;
		int axis = (int)strtol(s, &end, 10);
		int64_t size;
		if (end == s || axis < 0 || axis >= t->rank || (*end && *end != ' '))
			return false;
		s = end;
		if (poly_is_const(m->dims, t->dims[axis], &size) && size == 1)
			continue;
		if (axis < last)
			return false;
		last = axis;
	}
	return true;
}

/* The value whose bytes the result of a native step shares (native_share): step `group` is one view, of varying size. 0: it is none. */
static val_id shared(struct model *M, node_id group)
{
	node_id x = native_view(M->m, group);
	const struct node *n = node(M->m, group);

	if (!x || !value_varies(M->m, n->out[0]))
		return 0;
	return call_operand(M, &(struct call){.node = group, .alone = x}, 0);
}

void views_follow_graph(struct model *M, const struct graph *g)
{
	struct module *m = M->m;

	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = node(m, g->nodes.a[i]);
		val_id of = n->op == OP_Fused ? shared(M, g->nodes.a[i]) : 0;
		if (of)
			M->root[n->out[0]] = M->root[of];
		if (!node_is_view(m, n) || !n->out[0])
			continue;
		if (!op_is(n->op, OP_ELEMENTWISE) && !row_major(m, &val(m, n->in[0])->type))
			die(EX_BADDATA, "%s: %s: a view of a value that is not row-major", m->source ? m->source : "-",
			    node_where(m, g->nodes.a[i], &m->arena));
		M->root[n->out[0]] = M->root[n->in[0]];
	}
}

/* Output k is computed straight into its place, unless another is, of the same value. */
static void find_output(struct model *M, struct section *s, size_t k)
{
	val_id r = M->root[graph(M->m, s->graph)->out.a[k]];
	bool taken = val(M->m, r)->kind != VAL_NODE || value_varies(M->m, r) || value_varies(M->m, graph(M->m, s->graph)->out.a[k]);

	for (size_t j = 0; j < s->out.n; j++)
		taken |= s->out.a[j] == r;
	if (!taken)
		s->out.a[k] = r;
}

/* States before the others: what is kept is not copied. */
static void find_outputs(struct model *M, struct section *s)
{
	const struct graph *g = graph(M->m, s->graph);

	for (size_t k = 0; k < g->out.n; k++)
		vec_push(&s->out, 0);
	for (size_t i = 0; s == M->sections.a && i < M->states.n; i++)
		find_output(M, s, M->states.a[i].out);
	for (size_t k = 0; k < g->out.n; k++)
		find_output(M, s, k);
}

void views_follow(struct model *M)
{
	struct module *m = M->m;

	M->nroots = m->values.n;
	M->ngraphs = m->graphs.n;
	M->root = xcalloc(M->nroots, sizeof *M->root);
	for (val_id v = 1; v < m->values.n; v++)
		M->root[v] = v;
	for (size_t s = 0; s < M->sections.n; s++) {
		views_follow_graph(M, graph(m, M->sections.a[s].graph));
		find_outputs(M, &M->sections.a[s]);
	}
}

void views_split(struct model *M, graph_id g)
{
	const struct module *m = M->m;
	size_t roots = M->nroots, graphs = M->ngraphs;

	M->nroots = m->values.n;
	M->root = xrealloc(M->root, M->nroots * sizeof *M->root);
	for (size_t v = roots; v < M->nroots; v++)
		M->root[v] = (val_id)v;
	M->ngraphs = m->graphs.n;
	M->section_of = xrealloc(M->section_of, M->ngraphs * sizeof *M->section_of);
	memset(M->section_of + graphs, 0, (M->ngraphs - graphs) * sizeof *M->section_of);
	sizes_grow(M, roots);
	views_follow_graph(M, graph(M->m, g));
}

int64_t home_bytes(const struct model *M, const struct call *c, val_id v)
{
	return value_bytes(M->m, v) / (M->inner[M->root[v]] ? c->images : 1);
}

int64_t image_step(const struct model *M, const struct call *c, val_id v)
{
	return c->images > 1 && !M->inner[M->root[v]] ? value_bytes(M->m, v) / c->images : 0;
}

struct home value_home(struct model *M, val_id v)
{
	struct module *m = M->m;
	val_id r = M->root[v];
	const struct value *x = val(m, r);
	int count;

	if (M->slot && M->slot[v])
		return (struct home){HOME_SLOT, M->slot[v] - 1, 0};
	if (x->kind == VAL_INPUT)
		return (struct home){HOME_INPUT, x->index, 0};
	if (x->kind == VAL_CONST)
		return (struct home){HOME_CONST, r, 0};
	const struct section *s = value_section(M, r);
	for (uint32_t k = 0; s && k < s->out.n; k++)
		if (s->out.a[k] == r)
			return (struct home){HOME_OUTPUT, k, 0};
	const int64_t *offsets = attr_ints(node(m, x->def), "offsets", &count);
	if (!offsets || (int)x->index >= count || offsets[x->index] < 0)
		return (struct home){HOME_NONE, 0, 0};
	return (struct home){HOME_ARENA, 0, offsets[x->index]};
}
