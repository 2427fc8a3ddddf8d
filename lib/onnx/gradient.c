/* Gradient of ai.onnx.preview.training: the nodes from its xs and zs to its y, differentiated backwards by the rows of lib/grad. */
#include "grad/grad.h"
#include "onnx/contrib.h"

struct gradient {
	struct contrib *x;
	size_t nvalues, nnodes; /* of the module and the graph, before anything was made */
	val_id *is;             /* what stands for a value: itself, an operand of the Gradient, a copy that such an operand leads to */
	bool *needed, *active;  /* y depends on this value; it depends on one of xs */
	struct grad back;
};

/* ---- through the graph ---- */

static noreturn void refuse(const struct gradient *d, const struct node *n)
{
	import_unsupported(d->x->c, "no derivative of %s, here of '%s'%s%s", node_op_name(n),
			   n->nout && n->out[0] ? sym_str(val(d->x->m, n->out[0])->name) : "", d->back.why ? ": " : "",
			   d->back.why ? d->back.why : "");
}

/* Operands of the Gradient stand for the values that xs and zs name. */
static void read_names(struct gradient *d, const char *attr, uint32_t first)
{
	struct contrib *x = d->x;
	const struct attr *a = attr_find(self(x), attr);
	val_id v;

	for (uint32_t i = 0; a && a->kind == ATTR_STRS && i < a->n; i++) {
		if (!operand(x, first + i) || !scope_defined_here(x->c, a->u.strs[i], &v) || !v || v >= d->nvalues)
			import_unsupported(x->c, "'%s' is not a value of this graph with an operand", sym_str(a->u.strs[i]));
		d->is[v] = operand(x, first + i);
		d->active[v] = !first;
	}
}

static node_id at(const struct gradient *d, size_t k) { return graph(d->x->m, self(d->x)->graph)->nodes.a[k]; }

/* Marks what y depends on, up to xs and zs. */
static void mark_needed(struct gradient *d)
{
	struct module *m = d->x->m;

	for (size_t k = d->nnodes; k-- > 0;) {
		const struct node *n = node(m, at(d, k));
		bool needed = false;
		for (uint32_t i = 0; i < n->nout; i++)
			needed |= n->out[i] && d->needed[n->out[i]] && !d->is[n->out[i]];
		for (uint32_t i = 0; needed && i < n->nin; i++)
			if (n->in[i])
				d->needed[n->in[i]] = true;
	}
}

static val_id stands(const struct gradient *d, val_id v) { return v && d->is[v] ? d->is[v] : v; }

/* The node again, of what its operands stand for, if one of them is another value. */
static void again(struct gradient *d, node_id id)
{
	struct module *m = d->x->m;
	uint32_t nin = node(m, id)->nin;
	val_id *in = ARENA_ARRAY(&m->arena, val_id, nin + 1);
	bool other = false;

	for (uint32_t i = 0; i < nin; i++) {
		in[i] = stands(d, node(m, id)->in[i]);
		other |= in[i] != node(m, id)->in[i];
	}
	if (!other)
		return;
	node_id copy = node_new(m, self(d->x)->graph, node(m, id)->op, (int)nin, in, (int)node(m, id)->nout);
	node(m, copy)->attr = node(m, id)->attr;
	node(m, copy)->nattr = node(m, id)->nattr;
	for (uint32_t i = 0; i < node(m, id)->nout; i++)
		if (node(m, id)->out[i])
			d->is[node(m, id)->out[i]] = node(m, copy)->out[i];
}

/* The nodes in between, forwards: which depend on xs, and those again that depend on other values than the graph has. */
static void run_forward(struct gradient *d)
{
	struct module *m = d->x->m;

	for (size_t k = 0; k < d->nnodes; k++) {
		const struct node *n = node(m, at(d, k));
		bool needed = false, active = false;
		for (uint32_t i = 0; i < n->nout; i++)
			needed |= n->out[i] && d->needed[n->out[i]] && !d->is[n->out[i]];
		for (uint32_t i = 0; needed && i < n->nin; i++)
			active |= n->in[i] && d->active[n->in[i]];
		if (!needed)
			continue;
		for (uint32_t i = 0; active && i < n->nout; i++)
			if (n->out[i])
				d->active[n->out[i]] = true;
		for (size_t l = 0; active && l < d->x->c->late.n; l++)
			if (d->x->c->late.a[l].node == at(d, k))
				refuse(d, n);
		again(d, at(d, k));
	}
}

static const struct type *type_of(void *x, val_id v) { return contrib_type(x, v); }

static void put_results(struct gradient *d, const struct attr *xs)
{
	struct contrib *x = d->x;
	val_id v = 0;

	for (uint32_t i = 0; i < xs->n; i++) {
		if (!wants(x, i))
			continue;
		scope_defined_here(x->c, xs->u.strs[i], &v);
		if (d->back.sum[v])
			result_is(x, i, un(x, OP_Identity, d->back.sum[v]));
		else
			result_is(x, i, contrib_filled_like(x, operand(x, i), contrib_type(x, operand(x, i))->dtype, 0));
	}
}

bool gradient_expand(struct contrib *x)
{
	struct module *m = x->m;
	struct gradient d = {.x = x, .nvalues = m->values.n, .nnodes = graph(m, self(x)->graph)->nodes.n};
	const struct attr *xs = attr_find(self(x), "xs");
	const char *name = attr_str(self(x), "y", "");
	val_id y = 0;

	if (!xs || xs->kind != ATTR_STRS || self(x)->nout > xs->n)
		import_die(x->c, "there are %u results, and no 'xs' for each", self(x)->nout);
	if (!scope_defined_here(x->c, intern(name), &y) || !y || val(m, y)->kind == VAL_CONST || x->c->opset < OPSET_NUMPY)
		import_unsupported(x->c, "'%s' is no value of this graph that is defined before, or its opset is older than %d", name,
				   OPSET_NUMPY);
	d.is = ARENA_ARRAY(&m->arena, val_id, d.nvalues);
	d.needed = ARENA_ARRAY(&m->arena, bool, d.nvalues);
	d.active = ARENA_ARRAY(&m->arena, bool, d.nvalues);
	read_names(&d, "xs", 0);
	read_names(&d, "zs", xs->n);
	d.needed[y] = true;
	mark_needed(&d);
	run_forward(&d);
	enum dtype t = contrib_type(x, stands(&d, y))->dtype;
	if (t != DT_F32 && t != DT_F64 && t != DT_F16)
		import_unsupported(x->c, "'%s' is not of floats of a known type", name);
	d.back = (struct grad){
		.m = m, .graph = self(x)->graph, .type = type_of, .arg = x, .nvalues = d.nvalues, .is = d.is, .active = d.active};
	d.back.sum = ARENA_ARRAY(&m->arena, val_id, d.nvalues);
	if (d.active[y])
		d.back.sum[y] = contrib_filled_like(x, stands(&d, y), t, 1);
	for (size_t k = d.nnodes; k-- > 0;)
		if (!grad_back(&d.back, at(&d, k)))
			refuse(&d, node(m, at(&d, k)));
	put_results(&d, xs);
	return true;
}
