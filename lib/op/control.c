/* Calls and branches: what applies a body. */
#include "op/rules.h"

static const char *body_fits(struct infer *I, graph_id g, uint32_t nin, uint32_t nout)
{
	const struct graph *b = graph(I->m, g);

	if (!g || b->in.n != nin || b->out.n != nout)
		return rule_why(I, "the body takes %zu and gives %zu values, here are %u and %u", g ? b->in.n : 0, g ? b->out.n : 0, nin,
				nout);
	return NULL;
}

/* ---- Fused, PartitionedCall ---- */

static const char *shape_call(struct infer *I)
{
	graph_id g = attr_graph(I->n, "graph");
	const char *why = body_fits(I, g, I->n->nin, I->n->nout);

	return why ? why : I->body(I, g, I->in, I->kin, I->out, I->kout);
}

static const char *eval_call(struct eval *e) { return e->body(e, attr_graph(e->n, "graph"), (int)e->n->nin, e->in, e->out); }

/* ---- If, Case: operand 0 chooses, the others go to the body ---- */

static int branches_of(const struct node *n, graph_id g[2], const graph_id **all)
{
	const struct attr *a = attr_find(n, "branches");

	g[0] = attr_graph(n, "else_branch");
	g[1] = attr_graph(n, "then_branch");
	*all = a ? a->u.graphs : g;
	return a ? (int)a->n : 2;
}

/* What one branch or another gives. Of extents that differ it is known between which numbers they lie. */
static struct type joined(struct infer *I, const struct type *a, const struct type *b)
{
	struct type t = type_common(I->m, a, b);
	int64_t lo[2], hi[2];

	for (int k = 0; k < t.rank && !t.other; k++) {
		if (t.dims[k] || !a->dims[k] || !b->dims[k])
			continue;
		poly_range(rule_polys(I), a->dims[k], &lo[0], &hi[0]);
		poly_range(rule_polys(I), b->dims[k], &lo[1], &hi[1]);
		t.dims[k] = rule_fresh(I, lo[0] < lo[1] ? lo[0] : lo[1], hi[0] > hi[1] ? hi[0] : hi[1]);
	}
	return t;
}

static const char *shape_branch(struct infer *I)
{
	graph_id g[2];
	const graph_id *all;
	int n = branches_of(I->n, g, &all);
	int64_t pick = -1;
	struct type *out = ARENA_ARRAY(&I->m->arena, struct type, I->n->nout);
	struct known *known = ARENA_ARRAY(&I->m->arena, struct known, I->n->nout);
	bool fixed = I->kin[0].yes && I->kin[0].n == 1 && poly_is_const(rule_polys(I), I->kin[0].e[0], &pick);

	if (I->n->op == OP_If && fixed)
		pick = pick != 0;
	else if (fixed && (pick < 0 || pick >= n))
		pick = n - 1;
	for (int i = 0, first = 1; i < n; i++) {
		const char *why = body_fits(I, all[i], I->n->nin - 1, I->n->nout);
		if (why)
			return why;
		bool taken = !fixed || i == pick; /* else it may be sound for other types only */
		if ((why = I->body(I, all[i], taken ? I->in + 1 : NULL, I->kin + 1, out, known)))
			return why;
		if (!taken)
			continue;
		for (uint32_t k = 0; k < I->n->nout; k++) {
			I->out[k] = first ? out[k] : joined(I, &I->out[k], &out[k]);
			I->kout[k] = first ? known[k] : known_common(I->m, &I->kout[k], &known[k]);
		}
		first = 0;
	}
	return NULL;
}

static const char *eval_branch(struct eval *e)
{
	graph_id g[2];
	const graph_id *all;
	int n = branches_of(e->n, g, &all);
	int64_t pick = tensor_get_int(e->in[0], 0);

	if (e->n->op == OP_If)
		pick = pick != 0;
	else if (pick < 0 || pick >= n)
		pick = n - 1;
	return e->body(e, all[pick], (int)e->n->nin - 1, e->in + 1, e->out);
}

/* ---- MapIndex ---- */

static const char *shape_map(struct infer *I)
{
	rule_out(I, 0, DT_I64, 0, NULL);
	return NULL;
}

static const char *eval_map(struct eval *e)
{
	struct tensor *gears = attr_tensor(e->n, "gears");
	const int64_t *x;
	int n = eval_ints(e, 0, &x);
	struct tensor g;

	if (!gears || gears->rank != 2 || gears->dims[1] != n)
		return "the operand does not fit the gears";
	g = *gears;
	g.data = tensor_data(e->m, gears);
	for (int64_t i = 0; i < g.dims[0]; i++) {
		int k = 0;
		while (k < n && tensor_get_int(&g, i * n + k) == x[k])
			k++;
		if (k == n) {
			*(int64_t *)eval_out(e, 0, DT_I64, 0, NULL)->data = i;
			return NULL;
		}
	}
	return "no gear equals the operand";
}

const struct op ops_control[] = {
	{OP_Fused, shape_call, eval_call},    {OP_PartitionedCall, shape_call, eval_call}, {OP_If, shape_branch, eval_branch},
	{OP_Case, shape_branch, eval_branch}, {OP_MapIndex, shape_map, eval_map},          {0},
};
