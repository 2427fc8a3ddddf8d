#include "lower/taps.h"

enum { TAPS_MAX = 25 }; /* stages that are worth their text, and reads of the last one */

/* Results first to last along axis i that tap k reaches inside the operand; fewer than one: none. */
struct reach {
	int64_t first, last;
};

static int64_t ceil_div(int64_t a, int64_t b) { return a > 0 ? (a + b - 1) / b : -(-a / b); }

static struct reach reach_of(struct lower *L, const struct window *w, int i, int64_t k)
{
	int64_t at = k * w->dilation[i] - w->begin[i], in = L->shape[0][2 + i], out = L->out_shape[0][2 + i], s = w->stride[i];
	struct reach r = {ceil_div(-at, s), ceil_div(in - at, s) - 1};

	r.first = r.first < 0 ? 0 : r.first;
	r.last = r.last > out - 1 ? out - 1 : r.last;
	return r;
}

static int64_t taps_of(const struct window *w)
{
	int64_t taps = 1;

	for (int i = 0; i < w->n && taps <= TAPS_MAX; i++)
		taps *= w->size[i] <= TAPS_MAX ? w->size[i] : TAPS_MAX + 1;
	return taps;
}

double taps_share(struct lower *L, const struct window *w)
{
	double share = 1;

	for (int i = 0; i < w->n; i++) {
		double reached = 0;
		for (int64_t k = 0; k < w->size[i]; k++) {
			struct reach r = reach_of(L, w, i, k);
			reached += r.last >= r.first ? (double)(r.last - r.first + 1) : 0;
		}
		share *= reached / (double)(w->size[i] * L->out_shape[0][2 + i]);
	}
	return share;
}

bool taps_fit(struct lower *L, const struct window *w)
{
	int64_t taps = taps_of(w);

	for (int i = 0; i < w->n + 2; i++)
		if (L->out_shape[0][i] < 1 || L->shape[0][i] < 1)
			return false;
	if (low_dtype(L, 0) != DT_F32 || attr_i(L->n, "group") != 1 || !low_const(L, 1) || taps < 2 || taps > TAPS_MAX)
		return false;
	double share = taps_share(L, w);
	return share > 0 && share < 1;
}

/* Axes of a box of results: image, places, then channels. */
static const char *const box_axes[] = {NULL, "n w o", "n h w o", "n d h w o"};

/* Weights of tap k: channel of the operand, channel of the result. */
static stage_id tap_weights(struct lower *L, const struct window *w, const int64_t *k)
{
	const int64_t shape[2] = {L->shape[1][1], L->shape[1][0]};
	poly at[2], from[LOOP_RANK_MAX];

	stage_id s = low_stage(L, "weights", DT_F32, 2, shape, "i o");
	low_index(L, s, at);
	from[0] = at[1];
	from[1] = at[0];
	for (int i = 0; i < w->n; i++)
		from[2 + i] = poly_const(L->p->P, k[i]);
	stage_body(L->p, s, COMB_NONE, low_read(L, 1, from));
	return s;
}

/* Sums of tap k over the channels, for the box of results that it reaches. */
static stage_id tap_sums(struct lower *L, const struct window *w, const int64_t *k, const struct reach *r, buf_id x, bool copy)
{
	struct polys *P = L->p->P;
	stage_id weights = tap_weights(L, w, k);
	int64_t shape[LOOP_RANK_MAX];
	poly at[LOOP_RANK_MAX], from[LOOP_RANK_MAX], f[2];
	int rank = w->n + 2;

	shape[0] = L->out_shape[0][0];
	for (int i = 0; i < w->n; i++)
		shape[1 + i] = r[i].last - r[i].first + 1;
	shape[rank - 1] = L->out_shape[0][1];
	stage_id s = low_stage(L, "tap", DT_F32, rank, shape, box_axes[w->n]);
	low_index(L, s, at);
	f[0] = stage_reduce(L->p, s, "i", L->shape[1][1]);
	f[1] = at[rank - 1];
	from[0] = at[0];
	from[copy ? rank - 1 : 1] = f[0];
	for (int i = 0; i < w->n; i++) {
		int64_t first = r[i].first * w->stride[i] + k[i] * w->dilation[i] - w->begin[i];
		from[(copy ? 1 : 2) + i] = poly_addc(P, poly_mulc(P, at[1 + i], w->stride[i]), first);
	}
	stage_body(L->p, s, COMB_SUM, low_fn2(L, FN_MUL, ex_read(L->p, x, rank, from), low_of(L, weights, f)));
	return s;
}

/* The sum of one tap for element `index` of the result; 0 outside of the tap's box. */
static ex_id tap_at(struct lower *L, const struct window *w, stage_id tap, const struct reach *r, const poly *index)
{
	poly at[LOOP_RANK_MAX];

	at[0] = index[0];
	for (int i = 0; i < w->n; i++)
		at[1 + i] = poly_addc(L->p->P, index[2 + i], -r[i].first);
	at[1 + w->n] = index[1];
	return ex_read_fill(L->p, lstage(L->p, tap)->out, w->n + 2, at, 0);
}

void taps_conv(struct lower *L, const struct window *w)
{
	bool copy;
	buf_id x = low_turned(L, w->n, &copy);
	int64_t taps = taps_of(w), k[SPATIAL_MAX];
	stage_id tap[TAPS_MAX];
	struct reach reach[TAPS_MAX][SPATIAL_MAX];
	poly index[LOOP_RANK_MAX];
	int n = 0;

	for (int64_t t = 0; t < taps; t++) {
		int64_t rest = t;
		bool any = true;
		for (int i = w->n - 1; i >= 0; i--) {
			k[i] = rest % w->size[i];
			rest /= w->size[i];
			reach[n][i] = reach_of(L, w, i, k[i]);
			any &= reach[n][i].last >= reach[n][i].first;
		}
		if (any) {
			tap[n] = tap_sums(L, w, k, reach[n], x, copy);
			n++;
		}
	}
	stage_id s = low_result(L, 0, "conv");
	low_index(L, s, index);
	ex_id y = low_has(L, 2) ? low_read_1d(L, 2, index[1]) : 0;
	for (int t = 0; t < n; t++) {
		ex_id e = tap_at(L, w, tap[t], reach[t], index);
		y = y ? low_fn2(L, FN_ADD, y, e) : e;
	}
	stage_body(L->p, s, COMB_NONE, y);
}
