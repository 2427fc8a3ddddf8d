/* Convolutions whose windows do not overlap.
 *
 * The operand is copied once, each window's elements side by side in the order in which they lie in the operand. A sum then runs over one
 * axis, however few channels there are.
 *
 * Windows that follow each other along the lines of a row-major operand are copied line by line instead: a window's element in line k of
 * its lines is element f of a piece. A sum runs over the pieces, then over the lines. */
#include "lower/patches.h"
#include <string.h>
#include "lower/conv.h"

bool patches_fit(struct lower *L, const struct window *w)
{
	bool some = false;

	if (attr_i(L->n, "group") != 1 || !low_const(L, 1))
		return false;
	for (int i = 0; i < w->n; i++) {
		if (w->stride[i] < (w->size[i] - 1) * w->dilation[i] + 1 || w->size[i] < 1 || L->out_shape[0][2 + i] < 1)
			return false;
		some |= w->stride[i] > 1;
	}
	return some && L->shape[1][1] > 0 && L->out_shape[0][0] > 0;
}

bool patches_for_free(struct lower *L, const struct window *w, int64_t step)
{
	bool copied = L->shape[1][1] % step != 0;

	for (int i = 0; i < w->n; i++) {
		int64_t last = (L->out_shape[0][2 + i] - 1) * w->stride[i] + (w->size[i] - 1) * w->dilation[i];
		copied |= w->begin[i] > 0 || last - w->begin[i] >= L->shape[0][2 + i];
	}
	return copied;
}

/* The parts of a row, outermost first: taps and channels as they lie in the operand. */
struct row {
	int n;
	int dim[SPATIAL_MAX + 1];      /* of the operand: 1 or that of a tap */
	int64_t size[SPATIAL_MAX + 1]; /* the last one with what fills the row */
	int64_t length, last;          /* of the whole row; size of the last part without what fills it */
	bool joined;                   /* the last part has the channels of all taps side by side, too: these lie one after the other */
};

static void add_part(struct row *r, int dim, int64_t size)
{
	r->dim[r->n] = dim;
	r->size[r->n++] = size;
	r->last = size;
}

static struct row row_of(struct lower *L, const struct window *w, int64_t step)
{
	const struct layout *l = low_layout(L, 0);
	const int64_t *size = L->shape[1];
	bool inner = l->n && l->part[l->n - 1].axis == 1;
	struct row r = {.joined = inner && w->dilation[w->n - 1] == 1, .length = 1};

	if (!inner)
		add_part(&r, 1, size[1]);
	for (int i = 0; i < w->n - r.joined; i++)
		add_part(&r, 2 + i, size[2 + i]);
	if (inner)
		add_part(&r, r.joined ? 1 + w->n : 1, r.joined ? size[1 + w->n] * size[1] : size[1]);
	for (int i = 0; i < r.n; i++)
		r.length *= r.size[i];
	if (r.length % step) {
		r.size[r.n - 1] = (r.last + step - 1) / step * step;
		r.length = r.length / r.last * r.size[r.n - 1];
	}
	return r;
}

/* Indices, by dim of the weights, of the parts of a row. */
static void taps_of(struct lower *L, const struct row *r, const poly *part, poly *at)
{
	for (int i = 0; i < r->n; i++)
		at[r->dim[i]] = part[i];
	if (r->joined) {
		at[1] = poly_mod(L->p->P, part[r->n - 1], L->shape[1][1]);
		at[r->dim[r->n - 1]] = poly_floordiv(L->p->P, part[r->n - 1], L->shape[1][1]);
	}
}

/* Guards e: 0 beyond the last part's own elements. */
static ex_id filled(struct lower *L, const struct row *r, poly last, ex_id e)
{
	poly inside = poly_sub(L->p->P, poly_const(L->p->P, r->last - 1), last);

	return r->size[r->n - 1] == r->last ? e : ex_guard(L->p, 1, &inside, e, low_num(L, e, 0));
}

/* The rows: image, places, parts of a row. */
static stage_id rows(struct lower *L, const struct window *w, const struct row *r, const struct patch_parts *of)
{
	struct polys *P = L->p->P;
	int rank = 1 + w->n + r->n;
	int64_t shape[LOOP_RANK_MAX];
	poly at[LOOP_RANK_MAX], x[LOOP_RANK_MAX];

	shape[0] = L->out_shape[0][0];
	for (int i = 0; i < w->n; i++)
		shape[1 + i] = L->out_shape[0][2 + i];
	memcpy(shape + 1 + w->n, r->size, sizeof *shape * (size_t)r->n);
	stage_id s = low_stage(L, "patches", of->x_type, rank, shape, low_axes(L, rank));
	low_index(L, s, at);
	x[0] = at[0];
	taps_of(L, r, at + 1 + w->n, x);
	for (int i = 0; i < w->n; i++) {
		poly first = poly_addc(P, poly_mulc(P, at[1 + i], w->stride[i]), -w->begin[i]);
		x[2 + i] = poly_add(P, first, poly_mulc(P, x[2 + i], w->dilation[i]));
	}
	stage_body(L->p, s, COMB_NONE, filled(L, r, at[rank - 1], conv_element(L, of->x_type, L->shape[1][1], x)));
	return s;
}

/* Indices of the parts of element k of a row. */
static void parts_of(struct polys *P, const struct row *r, poly k, poly *at)
{
	for (int i = r->n - 1; i >= 0; i--) {
		at[i] = i ? poly_mod(P, k, r->size[i]) : k;
		k = i ? poly_floordiv(P, k, r->size[i]) : k;
	}
}

static stage_id row_weights(struct lower *L, const struct window *w, const struct row *r, const struct patch_parts *of)
{
	const int64_t shape[2] = {L->shape[1][0], r->length};
	poly at[LOOP_RANK_MAX], part[SPATIAL_MAX + 1], f[LOOP_RANK_MAX];

	stage_id s = low_stage(L, "weights", of->w_type, 2, shape, "o k");
	low_index(L, s, at);
	parts_of(L->p->P, r, at[1], part);
	f[0] = at[0];
	taps_of(L, r, part, f);
	ex_id e = of->weight(L, of->w_type, ex_read(L->p, low_buf(L, 1), w->n + 2, f), at[0]);
	stage_body(L->p, s, COMB_NONE, filled(L, r, part[r->n - 1], e));
	return s;
}

/* ---- line by line ---- */

/* Do whole steps of the sum lie side by side in each line of the operand, and the lines' windows, too? */
static bool by_lines(struct lower *L, const struct window *w, int64_t step)
{
	const struct layout *l = low_layout(L, 0);
	int last = w->n - 1;

	return !l->n && w->size[last] % step == 0 && w->stride[last] == w->size[last] && w->dilation[last] == 1;
}

/* Lines that a window reads: those of each channel and each tap along the axes before the last. */
static int64_t lines_of(struct lower *L, const struct window *w)
{
	int64_t lines = L->shape[1][1];

	for (int i = 0; i < w->n - 1; i++)
		lines *= w->size[i];
	return lines;
}

/* Channel and taps of line k, by dim of the weights. */
static void line_at(struct lower *L, const struct window *w, poly k, poly *at)
{
	struct polys *P = L->p->P;

	for (int i = w->n - 2; i >= 0; i--) {
		at[2 + i] = poly_mod(P, k, w->size[i]);
		k = poly_floordiv(P, k, w->size[i]);
	}
	at[1] = k;
}

/* The copy: image, places along the axes before the last, lines of a window, elements of a line. */
static stage_id lines(struct lower *L, const struct window *w, const struct patch_parts *of)
{
	struct polys *P = L->p->P;
	int last = w->n - 1, rank = w->n + 2;
	int64_t shape[LOOP_RANK_MAX];
	poly at[LOOP_RANK_MAX], x[LOOP_RANK_MAX];

	shape[0] = L->out_shape[0][0];
	for (int i = 0; i < last; i++)
		shape[1 + i] = L->out_shape[0][2 + i];
	shape[1 + last] = lines_of(L, w);
	shape[2 + last] = L->out_shape[0][2 + last] * w->size[last];
	stage_id s = low_stage(L, "patches", of->x_type, rank, shape, low_axes(L, rank));
	low_index(L, s, at);
	x[0] = at[0];
	line_at(L, w, at[1 + last], x);
	for (int i = 0; i < last; i++) {
		poly first = poly_addc(P, poly_mulc(P, at[1 + i], w->stride[i]), -w->begin[i]);
		x[2 + i] = poly_add(P, first, poly_mulc(P, x[2 + i], w->dilation[i]));
	}
	x[2 + last] = poly_addc(P, at[2 + last], -w->begin[last]);
	stage_body(L->p, s, COMB_NONE, conv_element(L, of->x_type, L->shape[1][1], x));
	return s;
}

/* The weights: channel of the result, line, element of a piece. */
static stage_id line_weights(struct lower *L, const struct window *w, const struct patch_parts *of)
{
	const int64_t shape[3] = {L->shape[1][0], lines_of(L, w), w->size[w->n - 1]};
	poly at[3], f[LOOP_RANK_MAX];

	stage_id s = low_stage(L, "weights", of->w_type, 3, shape, "o k f");
	low_index(L, s, at);
	f[0] = at[0];
	line_at(L, w, at[1], f);
	f[1 + w->n] = at[2];
	stage_body(L->p, s, COMB_NONE, of->weight(L, of->w_type, ex_read(L->p, low_buf(L, 1), w->n + 2, f), at[0]));
	return s;
}

static stage_id sums_by_lines(struct lower *L, const struct window *w, const struct patch_parts *of, buf_id *weights)
{
	stage_id x = lines(L, w, of), f = line_weights(L, w, of);
	struct polys *P = L->p->P;
	int last = w->n - 1;
	poly index[LOOP_RANK_MAX], at[LOOP_RANK_MAX], weight[3];

	stage_id s = low_sums(L, 0, "conv");
	low_index(L, s, index);
	weight[0] = index[1];
	weight[2] = stage_reduce(L->p, s, "f", w->size[last]);
	weight[1] = stage_reduce(L->p, s, "k", lines_of(L, w));
	at[0] = index[0];
	for (int i = 0; i < last; i++)
		at[1 + i] = index[2 + i];
	at[1 + last] = weight[1];
	at[2 + last] = poly_add(P, poly_mulc(P, index[2 + last], w->stride[last]), weight[2]);
	stage_body(L->p, s, COMB_SUM, of->product(L, low_of(L, x, at), low_of(L, f, weight)));
	*weights = lstage(L->p, f)->out;
	return s;
}

/* ---- */

stage_id patches_sums(struct lower *L, const struct window *w, const struct patch_parts *of, buf_id *weights)
{
	if (by_lines(L, w, of->step))
		return sums_by_lines(L, w, of, weights);
	struct row r = row_of(L, w, of->step);
	stage_id x = rows(L, w, &r, of), f = row_weights(L, w, &r, of);
	poly index[LOOP_RANK_MAX], at[LOOP_RANK_MAX], pair[2];

	stage_id s = low_sums(L, 0, "conv");
	low_index(L, s, index);
	poly k = stage_reduce(L->p, s, "k", r.length);
	at[0] = index[0];
	for (int i = 0; i < w->n; i++)
		at[1 + i] = index[2 + i];
	parts_of(L->p->P, &r, k, at + 1 + w->n);
	pair[0] = index[1];
	pair[1] = k;
	stage_body(L->p, s, COMB_SUM, of->product(L, low_of(L, x, at), low_of(L, f, pair)));
	*weights = lstage(L->p, f)->out;
	return s;
}
