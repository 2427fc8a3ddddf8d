/* Elementwise operators that choose: Where, Clip, Identity and their like. */
#include <math.h>
#include "op/native.h"
#include "op/rules.h"

/* ---- Where ---- */

static const char *shape_where(struct infer *I)
{
	int rank;
	dim *dims;
	const char *why = rule_broadcast(I, 0, 2, &rank, &dims);
	poly *e;
	const struct known *c = &I->kin[0], *x = &I->kin[1], *y = &I->kin[2];

	if (why)
		return why;
	rule_out(I, 0, I->in[1].dtype ? I->in[1].dtype : I->in[2].dtype, rank, dims);
	if (!c->yes || !x->yes || !y->yes || rank > 1 || !type_static(I->m, &I->out[0]))
		return NULL;
	int n = (int)type_count(I->m, &I->out[0]);
	if (!(e = rule_known(I, 0, n)))
		return NULL;
	for (int i = 0; i < n; i++) {
		int64_t v;
		poly a = x->e[x->n == 1 ? 0 : i], b = y->e[y->n == 1 ? 0 : i];
		e[i] = poly_is_const(rule_polys(I), c->e[c->n == 1 ? 0 : i], &v) ? (v ? a : b) : a == b ? a : POLY_UNKNOWN;
	}
	return NULL;
}

static const char *eval_where(struct eval *e)
{
	struct tensor *t[3] = {e->in[0], e->in[1], e->in[2]}, *y;
	int rank[3];
	const int64_t *dims[3];
	struct bcast b;
	size_t size = dtype_size(t[1]->dtype);
	const char *why;

	for (int i = 0; i < 3; i++) {
		rank[i] = t[i]->rank;
		dims[i] = t[i]->dims;
	}
	if ((why = bcast_init(&b, 3, rank, dims, e->tmp)))
		return why;
	if (!size || t[1]->dtype != t[2]->dtype)
		return eval_why(e, "no evaluator for %s and %s", dtype_name(t[1]->dtype), dtype_name(t[2]->dtype));
	y = eval_out(e, 0, t[1]->dtype, b.out_rank, b.out_dims);
	char *o = tensor_bytes(y);
	if (b.count)
		do {
			int last = b.rank - 1;
			for (int64_t i = 0; i < b.dims[last]; i++, o += size) {
				int pick = ((const uint8_t *)t[0]->data)[b.off[0] + i * b.stride[0][last]] ? 1 : 2;
				memcpy(o, tensor_bytes(t[pick]) + (size_t)(b.off[pick] + i * b.stride[pick][last]) * size, size);
			}
		} while (bcast_next(&b));
	return NULL;
}

/* ---- Clip ---- */

static const char *eval_clip(struct eval *e)
{
	const struct tensor *x = e->in[0], *lo = eval_in(e, 1), *hi = eval_in(e, 2);
	struct tensor *y = eval_out(e, 0, x->dtype, x->rank, x->dims);
	int64_t n = tensor_count(x), w[BLOCK];
	double v[BLOCK];
	bool whole = dtype_is_int(x->dtype);
	double dlo = eval_scalar(e, 1, -INFINITY), dhi = eval_scalar(e, 2, INFINITY);
	int64_t flip = x->dtype == DT_U64 ? INT64_MIN : 0; /* brings unsigned ones into the order of signed ones */
	int64_t ilo = whole && lo ? tensor_get_int(lo, 0) ^ flip : INT64_MIN;
	int64_t ihi = whole && hi ? tensor_get_int(hi, 0) ^ flip : INT64_MAX;

	for (int64_t at = 0; at < n; at += BLOCK) {
		int c = n - at < BLOCK ? (int)(n - at) : BLOCK;
		if (whole) {
			load_i(x, at, 1, c, w);
			for (int i = 0; i < c; i++) {
				int64_t k = w[i] ^ flip;
				k = k < ilo ? ilo : k;
				w[i] = (k > ihi ? ihi : k) ^ flip;
			}
			store_i(y, at, c, w);
		} else {
			load_d(x, at, 1, c, v);
			for (int i = 0; i < c; i++)
				v[i] = v[i] < dlo || dlo != dlo ? dlo : v[i];
			for (int i = 0; i < c; i++)
				v[i] = v[i] > dhi || dhi != dhi ? dhi : v[i];
			store_d(y, at, c, v);
		}
	}
	return NULL;
}

/* ---- Identity and what equals it in inference ---- */

static const char *shape_identity(struct infer *I)
{
	rule_like(I, 0, 0);
	I->kout[0] = I->kin[0];
	return NULL;
}

static const char *eval_identity(struct eval *e)
{
	eval_give(e, 0, e->in[0]);
	return NULL;
}

#define RATIO "ratio %g, takes 0 to less than 1"

/* The only element of operand i, if it is a constant. */
static bool element_of(struct module *m, const struct node *n, uint32_t i, double *v)
{
	struct tensor *c = node_const(m, n, i), t;

	if (!c || tensor_count(c) != 1 || !dtype_fixed(c->dtype))
		return false;
	t = *c;
	t.data = tensor_data(m, c);
	*v = tensor_get(&t, 0);
	return true;
}

static const char *shape_dropout(struct infer *I)
{
	double ratio;

	rule_like(I, 0, 0);
	rule_like(I, 1, 0);
	if (I->n->nout > 1)
		I->out[1].dtype = DT_BOOL;
	if (element_of(I->m, I->n, 1, &ratio) && !(ratio >= 0 && ratio < 1))
		return rule_why(I, RATIO, ratio);
	return NULL;
}

const struct op ops_select[] = {
	{OP_Where, shape_where, eval_where},        {OP_Clip, shape_same, eval_clip},         {OP_Identity, shape_identity, eval_identity},
	{OP_Layout, shape_identity, eval_identity}, {OP_Dropout, shape_dropout, eval_native}, {0},
};
