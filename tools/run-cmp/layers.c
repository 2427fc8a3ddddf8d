#include "layers.h"
#include <math.h>
#include <string.h>
#include "common/msg.h"
#include "op/op.h"
#include "op/rules.h"

static bool is_codes(struct module *m, val_id v)
{
	enum dtype t = val(m, v)->type.dtype;

	return val(m, v)->kind == VAL_NODE && !val(m, v)->type.other && dtype_is_int(t) && dtype_size(t) <= 2;
}

/* Constant scales for QuantizeLinear v, all or by index of an axis. */
static node_id quantiser_of(struct module *m, val_id v)
{
	node_id n = val(m, v)->kind == VAL_NODE ? val(m, v)->def : 0;
	bool is = n && node(m, n)->op == OP_QuantizeLinear && !attr_i(node(m, n), "block_size") && node_const(m, node(m, n), 1);

	return is && (node(m, n)->nin < 3 || !node(m, n)->in[2] || node_const(m, node(m, n), 2)) ? n : 0;
}

/* What reads v in the main graph reads a new input. */
static void force(struct layers *l, size_t out)
{
	struct module *m = l->cut.m;
	struct graph *g = graph(m, m->main);
	val_id v = g->out.a[out],
	       in = graph_add_input(m, m->main, intern_printf("codes of %s", sym_str(g->out_name.a[out])), val(m, v)->type);

	for (size_t i = 0; i < graph(m, m->main)->nodes.n; i++) {
		struct node *n = node(m, graph(m, m->main)->nodes.a[i]);
		for (uint32_t k = 0; k < n->nin; k++)
			if (n->in[k] == v)
				n->in[k] = in;
	}
	vec_push(&l->forced, out);
}

void layers_open(struct layers *l, const char *path)
{
	*l = (struct layers){0};
	source_open(&l->cut, path);
	if (!l->cut.kind->graph)
		die(EX_BADUSE, "--layers: %s is no graph; the reference is one with the codes as outputs (ge-prune --codes)", path);
	struct module *m = l->cut.m;
	l->nin = graph(m, m->main)->in.n;
	l->nout = graph(m, m->main)->out.n;
	for (size_t i = 0; i < l->nout; i++) {
		val_id v = graph(m, m->main)->out.a[i];
		struct layer k = {.out = i, .before = graph(m, m->main)->out.n, .node = quantiser_of(m, v)};
		bool again = false;
		for (size_t j = 0; j < i; j++)
			again |= graph(m, m->main)->out.a[j] == v;
		if (!is_codes(m, v) || again)
			continue;
		if (k.node) {
			graph_add_output(m, m->main, node(m, k.node)->in[0],
					 intern_printf("before %s", sym_str(graph(m, m->main)->out_name.a[i])));
			vec_push(&l->layer, k);
		}
		force(l, i);
	}
	if (!l->layer.n)
		die(EX_BADUSE, "--layers: no output of %s is of a QuantizeLinear; ge-prune --codes makes them outputs", path);
}

static const struct tensor *by_name(const struct outputs *o, const char *name)
{
	for (int i = 0; i < o->n; i++)
		if (!strcmp(o->t[i].name, name))
			return o->t[i].t;
	return NULL;
}

struct outputs layers_run(struct layers *l, struct tensor **in, const struct outputs *y, struct arena *a)
{
	struct module *m = l->cut.m;
	struct graph *g = graph(m, m->main);
	struct tensor **all = ARENA_ARRAY(a, struct tensor *, g->in.n);

	memcpy(all, in, l->nin * sizeof *all);
	for (size_t i = 0; i < l->forced.n; i++) {
		const char *name = sym_str(g->out_name.a[l->forced.a[i]]);
		const struct type *t = &val(m, g->in.a[l->nin + i])->type;
		int64_t dims[RANK_MAX];
		struct tensor *codes = (struct tensor *)by_name(y, name);
		if (!codes)
			die(EX_BADDATA, "--layers: the other side has no output %s", name);
		bool same = codes->dtype == t->dtype && codes->rank == t->rank && type_dims(m, t, dims);
		for (int k = 0; same && k < t->rank; k++)
			same = codes->dims[k] == dims[k];
		if (!same)
			die(EX_BADDATA, "--layers: %s is of another type or shape on the other side", name);
		all[l->nin + i] = codes;
	}
	return l->cut.kind->run(&l->cut, all, a);
}

const struct layer *layers_find(const struct layers *l, size_t i)
{
	for (size_t k = 0; k < l->layer.n; k++)
		if (l->layer.a[k].out == i)
			return &l->layer.a[k];
	return NULL;
}

struct rounding layers_rounding(struct layers *l, const struct layer *k, const struct tensor *y, const struct tensor *r,
				const struct tensor *before)
{
	struct module *m = l->cut.m;
	const struct node *n = node(m, k->node);
	struct tensor *scale = node_const(m, n, 1), *zero = n->nin > 2 && n->in[2] ? node_const(m, n, 2) : NULL;
	int64_t count = tensor_count(y), scales = tensor_count(scale), zeros = zero ? tensor_count(zero) : 1, inner = 1;
	int axis = (int)attr_i(n, "axis");
	struct rounding worst = {0};

	tensor_data(m, scale);
	if (zero)
		tensor_data(m, zero);
	for (int i = (axis < 0 ? axis + y->rank : axis) + 1; i < y->rank; i++)
		inner *= y->dims[i];
	for (int64_t i = 0; i < count; i++) {
		double c = tensor_get(y, i), nearest = tensor_get(r, i), z = zero ? tensor_get(zero, i / inner % zeros) : 0;
		if (c == nearest)
			continue;
		double x = tensor_get(before, i) / tensor_get(scale, i / inner % scales) + z;
		x = fmin(fmax(x, dtype_lowest(y->dtype)), dtype_highest(y->dtype));
		double far = x != x ? INFINITY : fmax(fabs(c - x) - 0.5, 0);
		if (!worst.other++ || far > worst.far) {
			worst.far = far;
			worst.at = i;
		}
	}
	return worst;
}
