/* The input of a convolution as its taps see it. */
#include "lower/conv.h"
#include "lower/integer.h"

bool conv_no_zeros(struct lower *L) { return !int_zero(L, INT_W, poly_const(L->p->P, 0), NULL); }

/* Channel of x that channel c of the copy stands for, which has `per` a group; *inside: there is one. */
static poly own_channel(struct lower *L, int64_t per, poly c, poly *inside)
{
	struct polys *P = L->p->P;
	int64_t own = L->shape[1][1];
	poly i = poly_mod(P, c, per);

	if (conv_no_zeros(L))
		i = poly_min(P, i, poly_const(P, own - 1));
	*inside = poly_sub(P, poly_const(P, own - 1), i);
	return poly_add(P, poly_mulc(P, poly_floordiv(P, c, per), own), i);
}

/* The code that stands for 0 in x. */
static ex_id zero_code(struct lower *L)
{
	ex_id zero = int_zero(L, INT_X, poly_const(L->p->P, 0), NULL);

	if (zero && lex(L->p, zero)->kind != EX_CONST)
		return ex_cast(L->p, int_x_type(L), zero);
	return ex_const_int(L->p, int_x_type(L), zero ? lex(L->p, zero)->ic : 0);
}

/* Element `at` of x, of codes; the padding is the zero point, and 0 or any code where x has no such channel. As another type than
 * that of codes, less the zero point: 0. */
static ex_id padded_code(struct lower *L, enum dtype t, int64_t per, poly *at)
{
	bool less = t != int_x_type(L);
	int rank = low_rank(L, 0);
	poly inside, cond[2 * LOOP_RANK_MAX];

	at[1] = own_channel(L, per, at[1], &inside);
	for (int i = 0; i < rank; i++) {
		cond[2 * i] = at[i];
		cond[2 * i + 1] = poly_sub(L->p->P, poly_const(L->p->P, L->shape[0][i] - 1), at[i]);
	}
	ex_id e = ex_read(L->p, low_buf(L, 0), rank, at), none = dtype_is_float(t) ? ex_const(L->p, t, 0) : ex_const_int(L->p, t, 0);
	e = less ? int_less_zero(L, INT_X, e, poly_const(L->p->P, 0), NULL, t) : int_code(L, INT_X, e);
	e = ex_guard(L->p, 2 * rank, cond, e, less ? none : zero_code(L));
	return ex_guard(L->p, 1, &inside, e, none);
}

/* Element `at` of x, of numbers, as type t: 0 in the padding and where x has no such channel. */
static ex_id padded_number(struct lower *L, enum dtype t, int64_t per, poly *at)
{
	poly inside;

	if (per == L->shape[1][1])
		return ex_cast(L->p, t, low_read_fill(L, 0, at, 0));
	at[1] = own_channel(L, per, at[1], &inside);
	return ex_guard(L->p, 1, &inside, ex_cast(L->p, t, low_read_fill(L, 0, at, 0)), ex_const(L->p, t, 0));
}

int64_t conv_groups(struct lower *L) { return L->shape[0][1] / L->shape[1][1]; }

ex_id conv_element(struct lower *L, enum dtype t, int64_t per, poly *at)
{
	return L->n->op == OP_ConvInteger ? padded_code(L, t, per, at) : padded_number(L, t, per, at);
}

struct padded conv_input(struct lower *L, const struct window *w, enum dtype t, int64_t per, int64_t groups)
{
	struct padded q = {0};
	int rank = w->n + 2;
	int64_t shape[LOOP_RANK_MAX];
	poly at[LOOP_RANK_MAX];
	bool needed = per != L->shape[1][1] || t != low_dtype(L, 0) || groups != conv_groups(L);

	shape[0] = L->shape[0][0];
	shape[1] = groups * per;
	for (int i = 0; i < w->n; i++) {
		int64_t in = L->shape[0][2 + i];
		shape[2 + i] = (L->out_shape[0][2 + i] - 1) * w->stride[i] + (w->size[i] - 1) * w->dilation[i] + 1;
		q.offset[i] = w->begin[i];
		needed |= w->begin[i] > 0 || shape[2 + i] - w->begin[i] > in;
	}
	if (!needed) {
		q.buf = low_buf(L, 0);
		return q;
	}
	stage_id s = low_stage(L, "pad", t, rank, shape, low_in_axes[w->n]);
	low_index(L, s, at);
	for (int i = 0; i < w->n; i++) {
		at[2 + i] = poly_addc(L->p->P, at[2 + i], -w->begin[i]);
		q.offset[i] = 0;
	}
	stage_body(L->p, s, COMB_NONE, conv_element(L, t, per, at));
	q.buf = lstage(L->p, s)->out;
	return q;
}

double conv_padded_elements(struct lower *L, const struct window *w)
{
	double n = (double)(L->shape[0][0] * L->shape[0][1]);

	for (int i = 0; i < w->n; i++)
		n *= (double)((L->out_shape[0][2 + i] - 1) * w->stride[i] + (w->size[i] - 1) * w->dilation[i] + 1);
	return n;
}
