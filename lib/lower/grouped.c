/* Operands of a convolution, as its sums read them: by group, and several groups of channels at a time. */
#include <string.h>
#include "lower/conv.h"
#include "target/target.h"

void conv_index(struct lower *L, const struct window *w, const struct padded *q, stage_id s, const poly *index, poly group, int64_t per,
		poly *x, poly *f)
{
	struct polys *P = L->p->P;

	/* One input channel a group: no such axis at all, the channel is a function of o. */
	f[0] = index[1];
	f[1] = per == 1 ? poly_const(P, 0) : stage_reduce(L->p, s, "i", per);
	x[0] = index[0];
	x[1] = poly_add(P, poly_mulc(P, group, per), f[1]);
	for (int i = 0; i < w->n; i++) {
		f[2 + i] = w->size[i] == 1 ? poly_const(P, 0) : stage_reduce(L->p, s, low_taps[w->n][i], w->size[i]);
		x[2 + i] = poly_addc(P, poly_add(P, poly_mulc(P, index[2 + i], w->stride[i]), poly_mulc(P, f[2 + i], w->dilation[i])),
				     -q->offset[i]);
	}
}

poly conv_block(struct lower *L, poly o, int64_t m)
{
	int64_t groups = conv_groups(L);

	return groups <= m ? poly_const(L->p->P, 0) : poly_floordiv(L->p->P, o, L->shape[1][0] / groups * m);
}

void conv_body(struct lower *L, stage_id s, ex_id body)
{
	stage_body(L->p, s, lstage(L->p, s)->naxes > lstage(L->p, s)->nspatial ? COMB_SUM : COMB_NONE, body);
}

int64_t merged_groups(struct lower *L, int64_t step, bool rest)
{
	const struct layout *l = low_layout(L, 0);
	int64_t lanes = target_filled(L->p->target).vector_bytes / 4, groups = conv_groups(L), per = L->shape[1][1];
	int64_t results = L->shape[1][0] / groups, m = 1;

	if (groups == 1 || per == 1 || !l->n || l->part[l->n - 1].axis != 1 || results % lanes == 0)
		return 1;
	while (m <= groups && ((!rest && groups % m) || results * m % lanes || per * m % step))
		m++;
	return m <= groups ? m : 1;
}

buf_id merged_weights(struct lower *L, int64_t m, enum dtype t, ex_id (*element)(struct lower *L, enum dtype t, ex_id weight, poly o))
{
	struct polys *P = L->p->P;
	int rank = low_rank(L, 1);
	int64_t shape[LOOP_RANK_MAX], per = L->shape[1][1], results = L->shape[1][0] / attr_i(L->n, "group");
	poly at[LOOP_RANK_MAX];

	memcpy(shape, L->shape[1], sizeof shape);
	shape[1] = per * m;
	stage_id s = low_stage(L, "merged", t, rank, shape, low_axes(L, rank));
	low_index(L, s, at);
	poly first = poly_mulc(P, poly_mod(P, poly_floordiv(P, at[0], results), m), per);
	poly own = poly_sub(P, at[1], first), inside[2] = {own, poly_sub(P, poly_const(P, per - 1), own)};
	at[1] = own;
	ex_id e = element(L, t, ex_read(L->p, low_buf(L, 1), rank, at), at[0]);
	stage_body(L->p, s, COMB_NONE, ex_guard(L->p, 2, inside, e, low_num(L, e, 0)));
	return lstage(L->p, s)->out;
}
