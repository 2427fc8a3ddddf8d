/* Known elements of results, from a run of the node on operands whose elements are known. */
#include "op/rules.h"

enum { KNOWN_FLOPS_MAX = 1 << 20 }; /* elements are few, but a window or an equation may be large */

/* Operand i as a tensor, if all its elements are known constants; else NULL. index_from >= 0: the elements are instead numbered from
 * there. */
static struct tensor *known_tensor(struct infer *I, uint32_t i, int64_t index_from, struct arena *a)
{
	int64_t dims[RANK_MAX], c;
	const struct type *t = &I->in[i];
	struct tensor *x;

	if (!type_dims(I->m, t, dims) || !dtype_fixed(t->dtype) || (uint64_t)type_count(I->m, t) > KNOWN_MAX)
		return NULL;
	if (index_from < 0 && (!I->kin[i].yes || I->kin[i].n != type_count(I->m, t)))
		return NULL;
	x = tensor_new(a, index_from >= 0 ? DT_I64 : t->dtype, t->rank, dims);
	for (int64_t k = 0, n = tensor_count(x); k < n; k++) {
		if (index_from >= 0)
			c = index_from + k;
		else if (!poly_is_const(I->m->dims, I->kin[i].e[k], &c))
			return NULL;
		store_i(x, k, 1, &c);
	}
	return x;
}

/* Which operands (bit i: operand i) the operator only moves elements of; other operands say how. 0: it does more than that. */
static unsigned moved_operands(const struct node *n)
{
	if (!op_is(n->op, OP_MOVE))
		return 0;
	const char *reduction = attr_s(n, "reduction");
	if (*reduction && strcmp(reduction, "none"))
		return 0;
	switch (n->op) {
	case OP_Concat: return ~0u;
	case OP_ScatterND:
	case OP_ScatterElements:
	case OP_Pad: return 1 | 4;
	default: return 1;
	}
}

/* Follows known elements through an operator by running its evaluator: on the numbers of the elements if it only moves them, on their
 * values if all are constants. */
void known_by_eval(struct infer *I)
{
	const struct op_info *info = op_info(I->n->op);
	unsigned moved = moved_operands(I->n);
	bool move = moved, any = false;
	struct arena a = {0};
	struct tensor **in, **out;
	VEC(poly) from = {0};

	if (!(info->traits & OP_PURE) || info->traits & (OP_CONTROL | OP_CALL) || !I->n->nin)
		return;
	for (uint32_t i = 0; i < I->n->nout; i++)
		any = any || (I->n->out[i] && !I->kout[i].yes &&
			      (dtype_is_int(I->out[i].dtype) || dtype_is_float(I->out[i].dtype) || I->out[i].dtype == DT_BOOL) &&
			      type_count(I->m, &I->out[i]) >= 0 &&
			      type_count(I->m, &I->out[i]) <= (dtype_is_float(I->out[i].dtype) ? 8 : KNOWN_MAX));
	if (!any)
		return;
	in = ARENA_ARRAY(&a, struct tensor *, I->n->nin);
	out = ARENA_ARRAY(&a, struct tensor *, I->n->nout);
	vec_push(&from, POLY_UNKNOWN); /* 0: a fill */
	bool some = !move;
	for (uint32_t i = 0; i < I->n->nin; i++) {
		bool data = i < 32 ? moved >> i & 1 : move;
		if (!I->n->in[i])
			continue;
		in[i] = known_tensor(I, i, data ? (int64_t)from.n : -1, &a);
		if (!in[i])
			goto done;
		for (int64_t k = 0, n = tensor_count(in[i]); data && k < n; k++)
			vec_push(&from, I->kin[i].yes && I->kin[i].n == n ? I->kin[i].e[k] : POLY_UNKNOWN);
		some = some || (data && I->kin[i].yes);
	}
	if (I->n->op == OP_Pad && !rule_has(I, 2))
		from.a[0] = rule_const(I, 0);
	if (!some || node_flops(I->m, I->n) > KNOWN_FLOPS_MAX || eval_node(I->m, I->id, in, out, &a))
		goto done;
	for (uint32_t i = 0; i < I->n->nout; i++) {
		poly *e;
		if (!out[i] || !I->n->out[i] || I->kout[i].yes || (!move && !dtype_is_int(out[i]->dtype) && out[i]->dtype != DT_BOOL))
			continue;
		int64_t n = tensor_count(out[i]);
		if (n > KNOWN_MAX || n != type_count(I->m, &I->out[i]) || !(e = rule_known(I, i, (int)n)))
			continue;
		for (int64_t k = 0; k < n; k++) {
			int64_t c = tensor_get_int(out[i], k);
			if (move)
				e[k] = (uint64_t)c < from.n ? from.a[c] : POLY_UNKNOWN;
			else
				e[k] = rule_fits(rule_polys(I), out[i]->dtype, rule_const(I, c));
		}
	}
done:
	vec_free(&from);
	arena_release(&a);
}
