/* Convolutions in f16: rows of places by channels of the result, as a product of matrices. */
#include <string.h>
#include "common/msg.h"
#include "loop/instr.h"
#include "lower/conv.h"
#include "lower/halves.h"
#include "target/target.h"

/* How the sum of an element is cut into short ones, and the result into rows. */
struct cut {
	struct window w;
	int64_t groups, own, out; /* of a group: channels of x, of the result */
	int64_t per;              /* channels of x, with zeros that fill short sums */
	int64_t taps, line;       /* of a window; of those side by side in one short sum */
	int64_t sum, blocks;      /* products of a short sum; short sums of an element */
	bool joined;              /* rows go over all axes of places, else over the last one */
	int64_t outer, row, room; /* lines of places; places of a line; with what fills tiles */
};

enum { ROWS_MOST = 8, ROWS_FEW = 4 }; /* of a tile */
enum { ADDING = 4 };                  /* instructions for a vector of short sums: two widen it, two add */

static int64_t tile_of(int64_t row)
{
	for (int64_t k = ROWS_MOST; k > 1; k--)
		if (row % k == 0)
			return k;
	return 1;
}

static int64_t round_up(int64_t n, int64_t by) { return (n + by - 1) / by * by; }

/* All taps of a line with their few channels, or some channels of one tap. */
static void cut_sums(struct cut *q)
{
	int64_t last = q->w.size[q->w.n - 1];

	q->line = 1;
	q->per = q->own;
	if (q->own < HALVES_LEAST && q->own * last >= HALVES_LEAST && q->own * last <= HALVES_MOST && q->taps > last) {
		q->line = last;
		q->sum = q->own * last;
	} else {
		while (!(q->sum = halves_short(q->per, q->taps > 1)))
			q->per++;
	}
	q->blocks = q->per / q->sum * q->taps;
	if (q->line > 1)
		q->blocks = q->taps / q->line;
}

/* A line of places is whole tiles: else all lines are one, else what is missing is computed, too. */
static void cut_rows(struct lower *L, struct cut *q)
{
	const int64_t *size = L->out_shape[0] + 2;

	q->outer = 1;
	for (int i = 0; i < q->w.n - 1; i++)
		q->outer *= size[i];
	q->row = size[q->w.n - 1];
	q->joined = q->outer > 1 && tile_of(q->row) < ROWS_FEW;
	if (q->joined) {
		q->row *= q->outer;
		q->outer = 1;
	}
	q->room = q->row;
	if (tile_of(q->row) >= ROWS_FEW || q->row < ROWS_FEW)
		return;
	q->room = round_up(q->row, ROWS_MOST);
	for (int64_t k = ROWS_MOST - 1; k >= ROWS_FEW; k--)
		if (round_up(q->row, k) < q->room)
			q->room = round_up(q->row, k);
}

static bool cut(struct lower *L, struct cut *q)
{
	*q = (struct cut){.groups = attr_i(L->n, "group"), .own = L->shape[1][1], .taps = 1};
	if (low_dtype(L, 0) != DT_F16 || low_dtype(L, 1) != DT_F16 || !low_const(L, 1) || q->own < 2 ||
	    low_window(L, L->shape[1] + 2, low_out_axes, &q->w) || low_count(L, 1) == 0)
		return false;
	q->out = L->shape[1][0] / q->groups;
	for (int i = 0; i < q->w.n; i++)
		q->taps *= q->w.size[i];
	for (int i = 0; i < q->w.n; i++)
		if (L->out_shape[0][2 + i] < 1)
			return false;
	cut_sums(q);
	cut_rows(L, q);
	return L->out_shape[0][0] > 0;
}

bool halves_fit_conv(struct lower *L, double *speed)
{
	const struct target *t = L->p->target ? L->p->target : target_host();
	int dot = instr_halves(t);
	struct cut q;

	if (!dot || !cut(L, &q))
		return false;
	int64_t room = round_up(q.out, instr_row(dot)->extent[0]);
	double added = (double)q.sum / (double)(q.sum + ADDING); /* share of the products in all instructions */
	*speed = halves_speed(L) * added * (double)q.own / (double)q.per * (double)q.out / (double)room * (double)q.row / (double)q.room;
	return true;
}

/* Numbers of the last n axes of such sizes, of row-major number e. */
static void numbers_of(struct polys *P, poly e, int n, const int64_t *size, poly *at)
{
	for (int i = n - 1; i >= 0; i--) {
		at[i] = i ? poly_mod(P, e, size[i]) : e;
		e = i ? poly_floordiv(P, e, size[i]) : e;
	}
}

/* Channel of the group, and tap, of product k of block b. */
static void product_of(struct lower *L, const struct cut *q, poly b, poly k, poly *channel, poly *tap)
{
	struct polys *P = L->p->P;
	int n = q->w.n;

	if (q->line > 1) {
		numbers_of(P, b, n - 1, q->w.size, tap);
		tap[n - 1] = poly_floordiv(P, k, q->own);
		*channel = poly_mod(P, k, q->own);
		return;
	}
	numbers_of(P, q->taps > 1 ? poly_mod(P, b, q->taps) : poly_const(P, 0), n, q->w.size, tap);
	*channel = poly_add(P, poly_mulc(P, poly_floordiv(P, b, q->taps), q->sum), k);
}

/* The weights by blocks, each channel of the result beside the next. */
static stage_id weights_by_blocks(struct lower *L, const struct cut *q)
{
	int64_t shape[] = {q->groups, q->blocks, q->sum, q->out};
	poly at[LOOP_RANK_MAX], index[LOOP_RANK_MAX];

	stage_id s = low_stage(L, "taps", DT_F16, 4, shape, "g s k o");
	low_index(L, s, at);
	index[0] = poly_add(L->p->P, poly_mulc(L->p->P, at[0], q->out), at[3]);
	product_of(L, q, at[1], at[2], &index[1], index + 2);
	stage_body(L->p, s, COMB_NONE, low_read_fill(L, 1, index, 0));
	return s;
}

/* Elements n g q p o of the result: short sums of block b. */
static ex_id product(struct lower *L, const struct cut *q, const struct padded *x, stage_id taps, const poly *at, poly b, poly k)
{
	struct polys *P = L->p->P;
	const int64_t *size = L->out_shape[0] + 2;
	int n = q->w.n;
	poly place[SPATIAL_MAX], tap[SPATIAL_MAX], channel, index[LOOP_RANK_MAX], w[] = {at[1], b, k, at[4]};
	poly p = q->room > q->row ? poly_min(P, at[3], poly_const(P, q->row - 1)) : at[3];

	if (q->joined || n == 1) {
		numbers_of(P, p, n, size, place);
	} else {
		numbers_of(P, at[2], n - 1, size, place);
		place[n - 1] = p;
	}
	product_of(L, q, b, k, &channel, tap);
	index[0] = at[0];
	index[1] = poly_add(P, poly_mulc(P, at[1], q->per), channel);
	for (int i = 0; i < n; i++)
		index[2 + i] = poly_addc(P, poly_add(P, poly_mulc(P, place[i], q->w.stride[i]), poly_mulc(P, tap[i], q->w.dilation[i])),
					 -x->offset[i]);
	return low_fn2(L, FN_MUL, ex_read(L->p, x->buf, n + 2, index), low_of(L, taps, w));
}

/* The result: sums s in its own order, with the bias. */
static void put_in_order(struct lower *L, const struct cut *q, stage_id s)
{
	struct polys *P = L->p->P;
	const int64_t *size = L->out_shape[0] + 2;
	int n = q->w.n;
	poly index[LOOP_RANK_MAX], at[5];

	stage_id r = low_result(L, 0, "bias");
	low_index(L, r, index);
	at[0] = index[0];
	at[1] = q->groups > 1 ? poly_floordiv(P, index[1], q->out) : poly_const(P, 0);
	at[2] = poly_const(P, 0);
	at[4] = q->groups > 1 ? poly_mod(P, index[1], q->out) : index[1];
	poly e = index[2];
	for (int i = 1; i < n - !q->joined; i++)
		e = poly_add(P, poly_mulc(P, e, size[i]), index[2 + i]);
	at[3] = q->joined || n == 1 ? e : index[n + 1];
	if (!q->joined && n > 1)
		at[2] = e;
	ex_id y = low_of(L, s, at);
	if (low_has(L, 2))
		y = low_fn2(L, FN_ADD, y, low_wide(L, low_read_1d(L, 2, index[1])));
	stage_body(L->p, r, COMB_NONE, low_round(L, 0, y));
}

void halves_conv(struct lower *L)
{
	poly at[LOOP_RANK_MAX], index[LOOP_RANK_MAX];
	struct cut q;

	if (!cut(L, &q))
		BUG("a convolution that is not for halves");
	struct padded x = conv_input(L, &q.w, DT_F16, q.per, q.groups);
	stage_id taps = weights_by_blocks(L, &q);
	int64_t shape[] = {q.blocks, L->out_shape[0][0], q.groups, q.outer, q.room, q.out};
	stage_id part = low_stage(L, "block", DT_F16, 6, shape, "s n g q p o");
	low_index(L, part, at);
	poly k = stage_reduce(L->p, part, "k", q.sum);
	stage_body(L->p, part, COMB_SUM, product(L, &q, &x, taps, at + 1, at[0], k));
	stage_id s = low_stage(L, "conv", DT_F32, 5, shape + 1, "n g q p o");
	low_index(L, s, index);
	at[0] = stage_reduce(L->p, s, "s", q.blocks);
	memcpy(at + 1, index, 5 * sizeof *at);
	stage_body(L->p, s, COMB_SUM, low_wide(L, low_of(L, part, at)));
	put_in_order(L, &q, s);
}
