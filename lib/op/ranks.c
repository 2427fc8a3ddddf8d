/* Shapes that follow from what reads a value: where no rule knows a rank, an operator that takes one alone tells it, since the run fails
 * with any other. Only readers in the value's own graph count: they run where it is made. */
#include "graph/pass.h"
#include "op/rules.h"

struct ranks {
	struct module *m;
	struct type *want; /* by value: RANK_UNKNOWN, or what readers ask for; an extent may be POLY_UNKNOWN */
	bool any;
};

static bool open_rank(const struct ranks *r, val_id v, graph_id g)
{
	const struct value *x = v ? val(r->m, v) : NULL;

	return x && x->kind != VAL_CONST && x->graph == g && !x->type.other && x->type.rank == RANK_UNKNOWN;
}

/* What is known of v now. */
static const struct type *shape_of(const struct ranks *r, val_id v)
{
	return val(r->m, v)->type.rank == RANK_UNKNOWN ? &r->want[v] : &val(r->m, v)->type;
}

/* v is of that rank. Of dims, constants and symbols are taken. */
static void wants(struct ranks *r, val_id v, int rank, const dim *dims)
{
	struct type *w = &r->want[v];

	if (rank < 0 || rank > RANK_MAX || (w->rank != RANK_UNKNOWN && w->rank != rank))
		return;
	if (w->rank == RANK_UNKNOWN) {
		w->rank = rank;
		w->dims = ARENA_ARRAY(&r->m->arena, dim, rank + 1);
	}
	for (int i = 0; i < rank; i++)
		if (poly_is_const(r->m->dims, dims[i], NULL) ? !w->dims[i] || poly_is_var(r->m->dims, w->dims[i])
							     : !w->dims[i] && poly_is_var(r->m->dims, dims[i]))
			w->dims[i] = dims[i];
	r->any = true;
}

static void wants_demanded(struct ranks *r, const struct node *n, uint32_t i)
{
	dim dims[RANK_MAX];
	struct type t[16];

	if (n->nin > 16)
		return;
	for (uint32_t k = 0; k < n->nin; k++)
		t[k] = n->in[k] ? *shape_of(r, n->in[k]) : type_none();
	int rank = demand_shape(r->m, n, t, i, dims);
	if (n->op == OP_Conv && i == 0 && rank > 1 && rank == t[1].rank)
		dims[1] = poly_mulc(r->m->dims, t[1].dims[1], attr_i(n, "group"));
	if (rank >= 0)
		wants(r, n->in[i], rank, dims);
}

/* Operand 0 has the result's axes but for those that are added. */
static void wants_without(struct ranks *r, const struct node *n, const struct type *out)
{
	struct tensor *axes = node_const(r->m, n, 1);
	int64_t axis[RANK_MAX];
	bool added[RANK_MAX] = {0};
	dim dims[RANK_MAX];
	int count = axes ? tensor_ints(r->m, axes, axis, RANK_MAX) : -1, k, kept = 0;

	if (count < 0)
		return;
	for (int i = 0; i < count; i++) {
		if (!rule_axis(axis[i], out->rank, &k) || added[k])
			return;
		added[k] = true;
	}
	for (int i = 0; i < out->rank; i++)
		if (!added[i])
			dims[kept++] = out->dims[i];
	wants(r, n->in[0], kept, dims);
}

/* All operands have the result's axes, but for the extent along one. */
static void wants_joined(struct ranks *r, graph_id g, const struct node *n, const struct type *out)
{
	dim dims[RANK_MAX];
	int axis;

	if (!rule_axis(attr_i(n, "axis"), out->rank, &axis))
		return;
	for (int i = 0; i < out->rank; i++)
		dims[i] = i == axis ? POLY_UNKNOWN : out->dims[i];
	for (uint32_t i = 0; i < n->nin; i++)
		if (open_rank(r, n->in[i], g))
			wants(r, n->in[i], out->rank, dims);
}

/* The operand of a recurrence and its states are of one batch. */
static void wants_batch(struct ranks *r, graph_id g, const struct node *n)
{
	enum { INITIAL = 5, CELL };
	bool batch_first = attr_i(n, "layout");
	const struct type *x = shape_of(r, n->in[0]);
	dim batch, dims[3] = {0};

	if (x->rank != 3)
		return;
	batch = x->dims[!batch_first];
	if (!batch && open_rank(r, n->in[0], g)) {
		dims[!batch_first] = batch = poly_of(r->m->dims, poly_var_new(r->m->dims, 0, 0, POLY_INF, 1));
		wants(r, n->in[0], 3, dims);
	}
	dims[!batch_first] = batch;
	dims[batch_first] = n->nin > 1 && n->in[1] && shape_of(r, n->in[1])->rank == 3 ? shape_of(r, n->in[1])->dims[0] : POLY_UNKNOWN;
	for (uint32_t i = INITIAL; i <= CELL; i++)
		if (i < n->nin && open_rank(r, n->in[i], g))
			wants(r, n->in[i], 3, dims);
}

static void look(struct ranks *r, graph_id g, const struct node *n)
{
	const struct type *out = n->nout && n->out[0] ? shape_of(r, n->out[0]) : NULL;

	for (uint32_t i = 0; i < n->nin; i++)
		if (open_rank(r, n->in[i], g))
			wants_demanded(r, n, i);
	if (op_is(n->op, OP_RECURRENT))
		wants_batch(r, g, n);
	if (out && out->rank != RANK_UNKNOWN && n->op == OP_Concat)
		wants_joined(r, g, n, out);
	if (!out || out->rank == RANK_UNKNOWN || !n->nin || !open_rank(r, n->in[0], g))
		return;
	if (n->op == OP_Unsqueeze)
		wants_without(r, n, out);
	else if (n->nin == 1 && op_is(n->op, OP_ELEMENTWISE))
		wants(r, n->in[0], out->rank, out->dims);
}

bool ranks_asked(struct module *m)
{
	struct ranks r = {.m = m, .want = ARENA_ARRAY(&m->arena, struct type, m->values.n)};

	for (val_id v = 1; v < m->values.n; v++)
		r.want[v].rank = RANK_UNKNOWN;
	for (graph_id g = 1; g < m->graphs.n; g++)
		for (size_t i = graph(m, g)->nodes.n; i-- > 0;)
			look(&r, g, node(m, graph(m, g)->nodes.a[i]));
	for (val_id v = 1; v < m->values.n && r.any; v++)
		if (r.want[v].rank != RANK_UNKNOWN && val(m, v)->type.rank == RANK_UNKNOWN) {
			val(m, v)->type.rank = r.want[v].rank;
			val(m, v)->type.dims = r.want[v].dims;
		}
	return r.any;
}
