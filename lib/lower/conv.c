/* Lowering of convolutions. */
#include <string.h>
#include "lower/lowering.h"
#include "lower/winograd.h"
#include "op/rules.h"
#include "sched/fitted.h"
#include "target/target.h"

static const char *const out_axes[] = {"", "n o w", "n o h w", "n o d h w"};
static const char *const in_axes[] = {"", "n c w", "n c h w", "n c d h w"};
static const char *const taps[][SPATIAL_MAX] = {{NULL}, {"kw"}, {"kh", "kw"}, {"kd", "kh", "kw"}};

/* The input as the taps see it: with padding a copy of that size, and the offset of tap 0 in it. */
struct padded {
	buf_id buf;
	int64_t offset[SPATIAL_MAX]; /* tap k of output i reads at i*stride + k*dilation - offset */
};

/* Pure data movement. All of the box that is read is there, so the convolution itself has no borders. */
static struct padded pad_input(struct lower *L, const struct window *w)
{
	struct padded q = {0};
	int rank = w->n + 2;
	int64_t shape[LOOP_RANK_MAX];
	poly at[LOOP_RANK_MAX];
	bool needed = false;

	shape[0] = L->shape[0][0];
	shape[1] = L->shape[0][1];
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
	stage_id s = low_stage(L, "pad", low_dtype(L, 0), rank, shape, in_axes[w->n]);
	low_index(L, s, at);
	for (int i = 0; i < w->n; i++) {
		at[2 + i] = poly_addc(L->p->P, at[2 + i], -w->begin[i]);
		q.offset[i] = 0;
	}
	stage_body(L->p, s, COMB_NONE, low_read_fill(L, 0, at, 0));
	q.buf = lstage(L->p, s)->out;
	return q;
}

static void add_bias(struct lower *L, stage_id conv)
{
	poly index[LOOP_RANK_MAX];

	if (!low_has(L, 2)) {
		low_result_is(L, 0, lstage(L->p, conv)->out);
		return;
	}
	stage_id s = low_result(L, 0, "bias");
	low_index(L, s, index);
	ex_id y = low_fn2(L, FN_ADD, low_of(L, conv, index), low_wide(L, low_read_1d(L, 2, index[1])));
	stage_body(L->p, s, COMB_NONE, low_round(L, 0, y));
}

/* ---- Winograd ---- */

static const char *const conv_algos[] = {"winograd2", "winograd4", NULL};

static int tile_of(const char *algo) { return algo[strlen(algo) - 1] - '0'; }

/* 3x3 taps, one step apart, all channels in one group. */
static bool winograd_fits(struct lower *L, const char *algo)
{
	struct window w;

	if (low_rank(L, 0) != 4 || low_dtype(L, 0) != DT_F32 || attr_i(L->n, "group") != 1 ||
	    window_read(L->m, L->n, 2, L->shape[1] + 2, &w))
		return false;
	for (int i = 0; i < 2; i++)
		if (w.size[i] != 3 || w.stride[i] != 1 || w.dilation[i] != 1)
			return false;
	return true;
}

/* Cycles of so many products of all channels, each of so many rows. */
static double product_cycles(struct lower *L, bool transformed, double products, double rows)
{
	struct target t = target_filled(L->p->target);
	double weights = products * (double)L->shape[1][0] * (double)L->shape[1][1];

	return fit_product_cycles(&t, transformed, weights * rows) + fit_constant_cycles(L->p->target, 4 * weights);
}

static double direct_cycles(struct lower *L)
{
	const int64_t *out = L->out_shape[0];
	return product_cycles(L, false, 9, (double)(out[0] * out[2] * out[3]));
}

/* A transform takes some n^3 cycles a vector of channels, n points a side of a tile. */
static double winograd_cycles(struct lower *L, int m)
{
	const int64_t *out = L->out_shape[0];
	int64_t n = m + 2, tiles = out[0] * ((out[2] + m - 1) / m) * ((out[3] + m - 1) / m);
	struct target t = target_filled(L->p->target);
	int lanes = t.vector_bytes / 4;
	double vectors = (double)((L->shape[1][0] + lanes - 1) / lanes + (L->shape[1][1] + lanes - 1) / lanes);
	double transform = fit_transform_cycles(&t, (double)(n * n * n));

	return product_cycles(L, true, (double)(n * n), (double)tiles) + transform * (double)tiles * vectors;
}

/* Winograd's where it is faster by a margin: it takes more memory, and rounds more. */
static const char *conv_best(struct lower *L)
{
	double best = fitted.transform_margin * direct_cycles(L);
	const char *algo = ALGO_USUAL;

	for (int i = 0; conv_algos[i]; i++)
		if (winograd_fits(L, conv_algos[i]) && low_const(L, 1) && winograd_cycles(L, tile_of(conv_algos[i])) < best) {
			best = winograd_cycles(L, tile_of(conv_algos[i]));
			algo = conv_algos[i];
		}
	return algo;
}

static const char *winograd(struct lower *L, const struct window *w, int m)
{
	buf_id u = winograd_weights(L->p, m, low_buf(L, 1), DT_F32);

	add_bias(L, winograd_stages(L->p, m, low_buf(L, 0), u, w->begin, L->out_shape[0], low_axes(L, 4)));
	return NULL;
}

static const char *conv(struct lower *L)
{
	struct polys *P = L->p->P;
	int n = low_rank(L, 0) - 2;
	int64_t *wshape = L->shape[1], groups = attr_i(L->n, "group");
	struct window w;
	const char *why = window_read(L->m, L->n, n, wshape + 2, &w);
	poly index[LOOP_RANK_MAX], x[LOOP_RANK_MAX], f[LOOP_RANK_MAX];

	if (why)
		return why;
	if (n < 1)
		return "no spatial axes";
	for (int i = 0; i < n; i++)
		window_extent(&w, i, L->shape[0][2 + i]);
	low_name_axes(L, n + 2, out_axes[n]);
	const char *algo = low_algo(L);
	if (strcmp(algo, ALGO_USUAL))
		return winograd(L, &w, tile_of(algo));
	struct padded q = pad_input(L, &w);
	stage_id s = low_sums(L, 0, "conv");
	low_index(L, s, index);
	/* One input channel a group: no such axis at all, the channel is a function of o. */
	f[0] = index[1];
	f[1] = wshape[1] == 1 ? poly_const(P, 0) : stage_reduce(L->p, s, "i", wshape[1]);
	poly group = groups == 1 ? poly_const(P, 0) : poly_floordiv(P, index[1], wshape[0] / groups);
	x[0] = index[0];
	x[1] = poly_add(P, poly_mulc(P, group, wshape[1]), f[1]);
	for (int i = 0; i < n; i++) {
		f[2 + i] = w.size[i] == 1 ? poly_const(P, 0) : stage_reduce(L->p, s, taps[n][i], w.size[i]);
		x[2 + i] = poly_addc(P, poly_add(P, poly_mulc(P, index[2 + i], w.stride[i]), poly_mulc(P, f[2 + i], w.dilation[i])),
				     -q.offset[i]);
	}
	ex_id body = low_fn2(L, FN_MUL, low_wide(L, ex_read(L->p, q.buf, n + 2, x)), low_read_wide(L, 1, f));
	bool reduces = lstage(L->p, s)->naxes > n + 2;
	stage_body(L->p, s, reduces ? COMB_SUM : COMB_NONE, body);
	add_bias(L, s);
	return NULL;
}

const struct lower_row lower_conv[] = {
	{OP_Conv, conv, .algos = conv_algos, .fits = winograd_fits, .best = conv_best},
	{0},
};
