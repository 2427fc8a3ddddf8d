/* RNN, GRU, LSTM: their shapes; lib/native/recurrent.c computes them. */
#include "op/native.h"
#include "op/rules.h"
#include "native/recurrent_functions.h"

static int directions_of(const struct node *n) { return !strcmp(attr_s(n, "direction"), "bidirectional") ? 2 : 1; }

static int gates_of(const struct node *n) { return n->op == OP_RNN ? 1 : n->op == OP_GRU ? 3 : 4; }

/* NULL, or why the node cannot have these functions. */
static const char *check_activations(const struct node *n, struct arena *arena)
{
	const struct attr *names = attr_find(n, "activations");
	int na, nb, count = (gates_of(n) == 1 ? 1 : gates_of(n) - 1) * directions_of(n);

	attr_floats(n, "activation_alpha", &na);
	attr_floats(n, "activation_beta", &nb);
	if (names && names->n != (uint32_t)count)
		return arena_printf(arena, "attribute 'activations' has %u names, takes %d", names->n, count);
	if (na > count || nb > count)
		return arena_printf(arena, "attribute 'activation_%s' has %d values for %d functions", na > count ? "alpha" : "beta",
				    na > count ? na : nb, count);
	for (uint32_t i = 0; names && i < names->n; i++)
		if (!recurrent_function_find(sym_str(names->u.strs[i])))
			return arena_printf(arena, "unknown activation \"%s\"", sym_str(names->u.strs[i]));
	return NULL;
}

/* ---- shapes ---- */

/* Checks that operand i has these extents; unknown ones are taken to be right. */
static const char *check_extents(struct infer *I, uint32_t i, int rank, const dim *want)
{
	const char *why = NULL;

	for (int k = 0; k < rank && rule_rank(I, i) == rank && !why; k++)
		why = rule_extent(I, i, k, want[k]);
	return why;
}

static const char *check_lengths(struct infer *I, dim seq)
{
	const struct known *k = rule_has(I, 4) ? &I->kin[4] : NULL;
	int64_t c, longest;

	for (int i = 0; k && k->yes && i < k->n; i++)
		if (poly_is_const(rule_polys(I), k->e[i], &c) && (c < 0 || (poly_is_const(rule_polys(I), seq, &longest) && c > longest)))
			return rule_why(I, "sequence %d has %lld steps, at most %s are there", i, (long long)c,
					poly_str(rule_polys(I), seq, &I->m->arena));
	return NULL;
}

/* An operator without W has the gates' input of all directions, `rows` of each, as X. */
static const char *check_weights(struct infer *I, dim rows)
{
	if (!rule_has(I, 2))
		return "operand 2 is missing";
	return rule_has(I, 1) || rule_rank(I, 0) != 3 ? NULL : rule_extent(I, 0, 2, poly_mulc(rule_polys(I), rows, directions_of(I->n)));
}

/* R of an operator that rounds is of codes where it has a scale, of one number or of one for each row. */
static const char *check_codes(struct infer *I, dim rows)
{
	int64_t per, all;

	if (I->n->op != OP_DynamicQuantizeLSTM)
		return NULL;
	if (I->in[2].dtype != DT_NONE && I->in[2].dtype != (rule_has(I, 8) ? DT_I8 : I->in[0].dtype))
		return rule_why(I, "R is %s", dtype_name(I->in[2].dtype));
	if (rule_rank(I, 8) == 2 && poly_is_const(rule_polys(I), rule_dim(I, 8, 1), &per) && poly_is_const(rule_polys(I), rows, &all) &&
	    per != 1 && per != all)
		return rule_why(I, "R has %lld rows, its scale %lld numbers", (long long)all, (long long)per);
	return NULL;
}

static const char *shape_recurrent(struct infer *I)
{
	struct polys *P = rule_polys(I);
	bool batch_first = attr_i(I->n, "layout");
	enum dtype t = I->in[0].dtype;
	dim dirs = rule_const(I, directions_of(I->n)), seq = POLY_UNKNOWN, batch = POLY_UNKNOWN, input = POLY_UNKNOWN,
	    hidden = POLY_UNKNOWN;
	const char *why = check_activations(I->n, &I->m->arena);

	if (why)
		return why;
	if (rule_rank(I, 0) == 3) {
		seq = rule_dim(I, 0, batch_first);
		batch = rule_dim(I, 0, !batch_first);
		input = rule_dim(I, 0, 2);
	}
	if (rule_rank(I, 2) == 3)
		hidden = rule_dim(I, 2, 2);
	if (attr_find(I->n, "hidden_size"))
		hidden = rule_const(I, attr_i(I->n, "hidden_size"));
	int64_t gates = gates_of(I->n);
	dim all = poly_mulc(P, hidden, gates), state[] = {batch_first ? batch : dirs, batch_first ? dirs : batch, hidden};
	if ((why = check_weights(I, all)) || (why = check_extents(I, 1, 3, (dim[]){dirs, all, input})) ||
	    (why = check_extents(I, 2, 3, (dim[]){dirs, all, hidden})) ||
	    (why = check_extents(I, 3, 2, (dim[]){dirs, poly_mulc(P, all, 2)})) || (why = check_extents(I, 4, 1, &batch)) ||
	    (why = check_extents(I, 5, 3, state)) || (why = check_extents(I, 6, 3, state)) ||
	    (why = check_extents(I, 7, 2, (dim[]){dirs, poly_mulc(P, hidden, 3)})) || (why = check_lengths(I, seq)) ||
	    (why = check_codes(I, all)))
		return why;
	dim *y = rule_dims(I, 4), *h = rule_dims(I, 3);
	y[0] = batch_first ? batch : seq;
	y[1] = batch_first ? seq : dirs;
	y[2] = batch_first ? dirs : batch;
	y[3] = hidden;
	memcpy(h, state, sizeof state);
	rule_out(I, 0, t, 4, y);
	rule_out(I, 1, t, 3, h);
	rule_out(I, 2, t, 3, h);
	return NULL;
}

static double flops_recurrent(struct module *m, const struct node *n)
{
	const struct type *x = &val(m, n->in[0])->type;
	int64_t w = n->in[1] ? type_count(m, &val(m, n->in[1])->type) : 0, r = type_count(m, &val(m, n->in[2])->type), t, b;

	if (w < 0 || r < 0 || x->rank != 3 || !poly_is_const(m->dims, x->dims[0], &t) || !poly_is_const(m->dims, x->dims[1], &b))
		return 0;
	return 2.0 * (double)t * (double)b * (double)(w + r);
}

const struct op ops_recurrent[] = {
	{OP_RNN, shape_recurrent, eval_native, flops_recurrent},
	{OP_GRU, shape_recurrent, eval_native, flops_recurrent},
	{OP_LSTM, shape_recurrent, eval_native, flops_recurrent},
	{OP_DynamicQuantizeLSTM, shape_recurrent, eval_native, flops_recurrent},
	{0},
};
