/* Lowering of convolutions. */
#include <math.h>
#include <string.h>
#include "lower/conv.h"
#include "lower/halves.h"
#include "lower/integer.h"
#include "lower/taps.h"
#include "lower/wide.h"
#include "lower/winograd.h"
#include "loop/instr.h"
#include "sched/fitted.h"
#include "target/backend.h"
#include "target/target.h"

/* Channels are copied so that those of a group, with zeros, are whole steps of an instruction that sums products in 16 bits. */
#define ALGO_SPREAD "spread"

/* Groups are taken several at a time, so that their channels fill vectors: weights are blocks among zeros. Codes want it, since no
 * instruction sums a vector of several groups. */
#define ALGO_MERGED "merged"

static bool of_codes(struct lower *L) { return L->n->op == OP_ConvInteger; }

/* Are channels beyond those of x multiplied by 0 alone? Else their sums are wanted, too. */
static bool any_will_do(struct lower *L) { return !int_zero(L, INT_W, poly_const(L->p->P, 0), NULL); }

/* Channel of x that channel c of the copy stands for, which has `per` a group; *inside: there is one. */
static poly own_channel(struct lower *L, int64_t per, poly c, poly *inside)
{
	struct polys *P = L->p->P;
	int64_t own = L->shape[1][1];
	poly i = poly_mod(P, c, per);

	if (any_will_do(L))
		i = poly_min(P, i, poly_const(P, own - 1));
	*inside = poly_sub(P, poly_const(P, own - 1), i);
	return poly_add(P, poly_mulc(P, poly_floordiv(P, c, per), own), i);
}

/* The code that stands for 0 in x. */
static ex_id zero_code(struct lower *L)
{
	ex_id zero = int_zero(L, INT_X, poly_const(L->p->P, 0), NULL);

	if (zero && lex(L->p, zero)->kind != EX_CONST)
		return ex_cast(L->p, DT_U8, zero);
	return ex_const_int(L->p, DT_U8, zero ? lex(L->p, zero)->ic : 0);
}

/* Element `at` of x, of codes; the padding is the zero point, and 0 or any code where x has no such channel. As i16, less the zero
 * point: 0. */
static ex_id padded_code(struct lower *L, enum dtype t, int rank, int64_t per, poly *at)
{
	bool words = t == DT_I16;
	poly inside, cond[2 * LOOP_RANK_MAX];

	at[1] = own_channel(L, per, at[1], &inside);
	for (int i = 0; i < rank; i++) {
		cond[2 * i] = at[i];
		cond[2 * i + 1] = poly_sub(L->p->P, poly_const(L->p->P, L->shape[0][i] - 1), at[i]);
	}
	ex_id e = ex_read(L->p, low_buf(L, 0), rank, at), none = ex_const_int(L->p, t, 0);
	e = words ? int_less_zero(L, INT_X, e, poly_const(L->p->P, 0), NULL, t) : int_code(L, INT_X, e);
	e = ex_guard(L->p, 2 * rank, cond, e, words ? none : zero_code(L));
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

static int64_t groups_of(struct lower *L) { return L->shape[0][1] / L->shape[1][1]; }

/* As conv_input, with room for so many groups: beyond those of x, its channels stand for 0. */
static struct padded grouped_input(struct lower *L, const struct window *w, enum dtype t, int64_t per, int64_t groups)
{
	struct padded q = {0};
	int rank = w->n + 2;
	int64_t shape[LOOP_RANK_MAX];
	poly at[LOOP_RANK_MAX];
	bool needed = per != L->shape[1][1] || t != low_dtype(L, 0) || groups != groups_of(L);

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
	stage_body(L->p, s, COMB_NONE, of_codes(L) ? padded_code(L, t, rank, per, at) : padded_number(L, t, per, at));
	q.buf = lstage(L->p, s)->out;
	return q;
}

struct padded conv_input(struct lower *L, const struct window *w, enum dtype t, int64_t per)
{
	return grouped_input(L, w, t, per, groups_of(L));
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

static const char *const conv_algos[] = {"winograd2", "winograd4", ALGO_WIDE,   "winograd2_lines", "winograd4_lines",
					 ALGO_HALVES, ALGO_SPREAD, ALGO_MERGED, ALGO_TAPS,         NULL};

static bool of_lines(const char *algo) { return !strcmp(winograd_of_lines(algo), algo); }

/* 3x3 taps, one step apart, all channels in one group. Tiles with three axes are for sizes that vary: nobody is offered them. */
static bool winograd_fits(struct lower *L, const char *algo)
{
	struct window w;

	if ((of_lines(algo) && L->offered) || low_rank(L, 0) != 4 || low_wide_type(low_dtype(L, 0)) != DT_F32 ||
	    attr_i(L->n, "group") != 1 || window_read(L->m, L->n, 2, L->shape[1] + 2, &w))
		return false;
	for (int i = 0; i < 2; i++)
		if (w.size[i] != 3 || w.stride[i] != 1 || w.dilation[i] != 1)
			return false;
	return true;
}

/* Is each element of the result of one element of each channel, at its own place, in f16 and in lines of the last axis? */
static bool points_fit(struct lower *L)
{
	struct window w;

	if (attr_i(L->n, "group") != 1 || lbuf(L->p, low_buf(L, 0))->layout.n || low_window(L, L->shape[1] + 2, low_out_axes, &w))
		return false;
	for (int i = 0; i < w.n; i++)
		if (w.size[i] != 1 || w.stride[i] != 1 || w.begin[i] || L->out_shape[0][2 + i] != L->shape[0][2 + i])
			return false;
	return halves_fit_points(L, L->shape[1][1]);
}

/* Channels of a group in whole steps of the instruction; as many as there are if there is none. */
static int64_t spread_channels(struct lower *L)
{
	double speed;
	int64_t step = wide_step(L, &speed), per = L->shape[1][1];

	return step ? (per + step - 1) / step * step : per;
}

/* Groups whose channels of the result together are whole vectors and whose channels of x are whole steps of `step`; 1: a group is so
 * alone, or no number of them is. rest: the last of them may be fewer. */
static int64_t merged_groups(struct lower *L, int64_t step, bool rest)
{
	const struct layout *l = &lbuf(L->p, low_buf(L, 0))->layout;
	int64_t lanes = target_filled(L->p->target).vector_bytes / 4, groups = groups_of(L), per = L->shape[1][1];
	int64_t results = L->shape[1][0] / groups, m = 1;

	if (groups == 1 || per == 1 || !l->n || l->part[l->n - 1].axis != 1 || results % lanes == 0)
		return 1;
	while (m <= groups && ((!rest && groups % m) || results * m % lanes || per * m % step))
		m++;
	return m <= groups ? m : 1;
}

/* Buffer of the weights of m groups at a time: blocks along a diagonal, 0 beside them. element makes its elements of the weights. */
static buf_id merged_weights(struct lower *L, int64_t m, enum dtype t, ex_id (*element)(struct lower *L, ex_id weight, poly o))
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
	ex_id e = element(L, ex_read(L->p, low_buf(L, 1), rank, at), at[0]);
	stage_body(L->p, s, COMB_NONE, ex_guard(L->p, 2, inside, e, low_num(L, e, 0)));
	return lstage(L->p, s)->out;
}

static ex_id plain_weight(struct lower *L, ex_id weight, poly o) { return weight; }
static ex_id code_weight(struct lower *L, ex_id weight, poly o) { return int_code(L, INT_W, weight); }
static ex_id word_weight(struct lower *L, ex_id weight, poly o) { return int_less_zero(L, INT_W, weight, o, NULL, DT_I16); }

/* Reads the window with its pads; names no axes, so it can be asked before an algorithm is taken. */
static bool window_of(struct lower *L, struct window *w)
{
	if (window_read(L->m, L->n, low_rank(L, 0) - 2, L->shape[1] + 2, w) || w->n < 1)
		return false;
	for (int i = 0; i < w->n; i++)
		window_extent(w, i, L->shape[0][2 + i]);
	return true;
}

static bool algo_fits(struct lower *L, const char *algo)
{
	struct window w;
	double speed;

	if (!strcmp(algo, ALGO_HALVES))
		return points_fit(L) || halves_fit_conv(L, &speed);
	if (!strcmp(algo, ALGO_MERGED))
		return low_const(L, 1) && merged_groups(L, 1, false) > 1;
	if (!strcmp(algo, ALGO_TAPS))
		return window_of(L, &w) && taps_fit(L, &w);
	if (!strcmp(algo, ALGO_SPREAD))
		return L->shape[1][1] > 1 && spread_channels(L) > L->shape[1][1];
	return strcmp(algo, ALGO_WIDE) ? winograd_fits(L, algo) : wide_fits(L, algo);
}

static double products_of(struct lower *L)
{
	double n = (double)low_count(L, 1) * (double)L->out_shape[0][0];

	for (int i = 2; i < low_out_rank(L, 0); i++)
		n *= (double)L->out_shape[0][i];
	return n;
}

/* Cycles of so many products of all channels, each of so many rows, of weights of type t, speed times as fast as multiply-adds of f32. */
static double product_cycles(struct lower *L, bool transformed, double products, double rows, enum dtype t, double speed)
{
	struct target m = target_filled(L->p->target);
	double weights = products * (double)L->shape[1][0] * (double)L->shape[1][1];

	return fit_product_cycles(&m, transformed, weights * rows / speed) +
	       fit_constant_cycles(L->p->target, (double)dtype_size(t) * weights);
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

	return product_cycles(L, true, (double)(n * n), (double)tiles, DT_F32, 1) + transform * (double)tiles * vectors;
}

/* Is one channel a group widened where it is read? Many taps of a tile share what they read. */
static bool widens_taps(struct lower *L)
{
	return L->shape[1][1] == 1 && (low_dtype(L, 0) != DT_F16 || target_widens_f16(L->p->target ? L->p->target : target_host()));
}

/* The best one without transforms. *speed: of its products, of multiply-adds of f32. */
static const char *direct_best(struct lower *L, double *speed)
{
	int64_t per = L->shape[1][1], spread = spread_channels(L);

	if ((points_fit(L) && (*speed = halves_speed(L)) > 1) || (halves_fit_conv(L, speed) && *speed > 1))
		return ALGO_HALVES;
	if (wide_step(L, speed) && per > 1 && *speed * (double)per > (double)spread) {
		*speed *= (double)per / (double)spread;
		return spread > per ? ALGO_SPREAD : ALGO_USUAL;
	}
	*speed = 1;
	return !widens_taps(L) && wide_pays(L, products_of(L), per) ? ALGO_WIDE : ALGO_USUAL;
}

/* Cycles to write and read back what a kernel keeps on the way. */
static double kept_cycles(struct lower *L, double elements)
{
	struct target m = target_filled(L->p->target);
	double bytes = 4 * elements;

	return 2 * bytes / (bytes > (double)m.l2 ? m.l3_a_cycle : m.l2_a_cycle);
}

/* Elements of the padded copy that the direct sum reads. */
static double padded_elements(struct lower *L, const struct window *w)
{
	double n = (double)(L->shape[0][0] * L->shape[0][1]);

	for (int i = 0; i < w->n; i++)
		n *= (double)((L->out_shape[0][2 + i] - 1) * w->stride[i] + (w->size[i] - 1) * w->dilation[i] + 1);
	return n;
}

/* Algorithms other than the direct sum are taken where they are faster by a margin: they take more memory, and Winograd's rounds more. */
static const char *conv_best(struct lower *L)
{
	struct window w;
	double speed, taps = 1, places = (double)L->out_shape[0][0];
	const char *algo = direct_best(L, &speed);

	if (!low_const(L, 1) || !window_of(L, &w))
		return algo;
	for (int i = 0; i < w.n; i++) {
		taps *= (double)w.size[i];
		places *= (double)L->out_shape[0][2 + i];
	}
	double direct = product_cycles(L, false, taps, places, speed > 1 ? low_dtype(L, 1) : DT_F32, speed);
	double best = fitted.transform_margin * direct;
	if (taps_fit(L, &w) && !strcmp(algo, ALGO_USUAL)) {
		double share = taps_share(L, &w), kept = kept_cycles(L, taps * share * places * (double)L->shape[1][0]);
		double cycles = product_cycles(L, false, taps, places * share, DT_F32, 1) + kept;
		if (cycles < best + fitted.transform_margin * kept_cycles(L, padded_elements(L, &w))) {
			best = fmin(best, cycles);
			algo = ALGO_TAPS;
		}
	}
	for (int i = 0; strcmp(conv_algos[i], ALGO_WIDE) && winograd_fits(L, conv_algos[i]); i++)
		if (winograd_cycles(L, winograd_tile(conv_algos[i])) < best) {
			best = winograd_cycles(L, winograd_tile(conv_algos[i]));
			algo = conv_algos[i];
		}
	return algo;
}

static const char *winograd(struct lower *L, const struct window *w, const char *algo)
{
	int m = winograd_tile(algo);
	buf_id u = winograd_weights(L->p, m, wide_buf(L, 1), DT_F32);

	add_bias(L, winograd_stages(L->p, m, of_lines(algo), wide_buf(L, 0), u, w->begin, L->out_shape[0], low_axes(L, 4)));
	return NULL;
}

/* Elements x of the input and f of the weights whose products are summed in element `index` of stage s, with a reduce axis for each; group:
 * which of the groups, of `per` input channels each. */
static void conv_index(struct lower *L, const struct window *w, const struct padded *q, stage_id s, const poly *index, poly group,
		       int64_t per, poly *x, poly *f)
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

/* The block of m groups that channel o of the result is of. */
static poly block_of(struct lower *L, poly o, int64_t m)
{
	int64_t groups = groups_of(L);

	return groups <= m ? poly_const(L->p->P, 0) : poly_floordiv(L->p->P, o, L->shape[1][0] / groups * m);
}

/* Combines with what reduce axes there are. */
static void conv_body(struct lower *L, stage_id s, ex_id body)
{
	stage_body(L->p, s, lstage(L->p, s)->naxes > lstage(L->p, s)->nspatial ? COMB_SUM : COMB_NONE, body);
}

/* The weights with zeros behind the channels of a group. */
static buf_id spread_weights(struct lower *L, int64_t per)
{
	int rank = low_rank(L, 1);
	int64_t shape[LOOP_RANK_MAX];
	poly at[LOOP_RANK_MAX];

	memcpy(shape, L->shape[1], sizeof shape);
	shape[1] = per;
	stage_id s = low_stage(L, "spread", low_dtype(L, 1), rank, shape, low_axes(L, rank));
	low_index(L, s, at);
	stage_body(L->p, s, COMB_NONE, low_read_fill(L, 1, at, 0));
	return lstage(L->p, s)->out;
}

/* An operand's element in the product of element `index` of the result and channel k, the weight first: for halves_sums. */
static ex_id point_factor(struct lower *L, uint32_t i, const poly *index, poly k, const void *arg)
{
	int rank = low_rank(L, 0);
	poly at[LOOP_RANK_MAX];

	(void)arg;
	for (int d = 2; d < rank; d++)
		at[d] = i ? index[d] : poly_const(L->p->P, 0);
	at[0] = index[!i];
	at[1] = k;
	return low_read(L, !i, at);
}

static const char *conv(struct lower *L)
{
	struct window w;
	const char *why = low_window(L, L->shape[1] + 2, low_out_axes, &w);
	poly index[LOOP_RANK_MAX], x[LOOP_RANK_MAX], f[LOOP_RANK_MAX];

	if (why)
		return why;
	const char *algo = low_algo(L);
	bool wide = !strcmp(algo, ALGO_WIDE), spread = !strcmp(algo, ALGO_SPREAD);
	int64_t merged = strcmp(algo, ALGO_MERGED) ? 1 : merged_groups(L, 1, false);
	if (!strcmp(algo, ALGO_HALVES)) {
		if (points_fit(L))
			add_bias(L, halves_sums(L, "conv", L->shape[1][1], point_factor, NULL));
		else
			halves_conv(L);
		return NULL;
	}
	if (!strcmp(algo, ALGO_TAPS)) {
		taps_conv(L, &w);
		return NULL;
	}
	if (strcmp(algo, ALGO_USUAL) && !wide && !spread && merged == 1)
		return winograd(L, &w, algo);
	int64_t per = spread ? spread_channels(L) : L->shape[1][1];
	struct padded q = conv_input(L, &w, wide ? DT_F32 : low_dtype(L, 0), per);
	buf_id weights = wide         ? wide_weights(L, products_of(L))
			 : spread     ? spread_weights(L, per)
			 : merged > 1 ? merged_weights(L, merged, low_dtype(L, 1), plain_weight)
				      : 0;
	stage_id s = low_sums(L, 0, "conv");
	low_index(L, s, index);
	conv_index(L, &w, &q, s, index, block_of(L, index[1], merged), per * merged, x, f);
	ex_id weight = weights ? low_wide(L, ex_read(L->p, weights, w.n + 2, f)) : low_read_wide(L, 1, f);
	conv_body(L, s, low_fn2(L, FN_MUL, low_wide(L, ex_read(L->p, q.buf, w.n + 2, x)), weight));
	add_bias(L, s);
	return NULL;
}

/* ---- integers ---- */

/* Stage of the sums of the codes of x that the windows of a group read. */
static stage_id window_sums(struct lower *L, const struct window *w, const struct padded *q, int64_t per)
{
	int64_t shape[LOOP_RANK_MAX];
	poly index[LOOP_RANK_MAX], x[LOOP_RANK_MAX], f[LOOP_RANK_MAX];

	memcpy(shape, L->out_shape[0], sizeof shape);
	shape[1] = attr_i(L->n, "group");
	stage_id s = low_stage(L, "xsum", DT_I32, w->n + 2, shape, low_in_axes[w->n]);
	low_index(L, s, index);
	conv_index(L, w, q, s, index, index[1], per, x, f);
	conv_body(L, s, ex_cast(L->p, DT_I32, ex_read(L->p, q->buf, w->n + 2, x)));
	return s;
}

/* Products in a sum. */
static int64_t w_count(struct lower *L)
{
	int64_t count = 1;

	for (int i = 1; i < low_rank(L, INT_W); i++)
		count *= L->shape[INT_W][i];
	return count;
}

/* Sum s of products of raw codes less what their zero points add to it. */
static void less_zeros(struct lower *L, const struct window *w, const struct padded *q, stage_id s, buf_id codes, int64_t per)
{
	poly index[LOOP_RANK_MAX], none = poly_const(L->p->P, 0);
	ex_id x_zero = int_zero(L, INT_X, none, NULL), w_zero = int_zero(L, INT_W, none, NULL);
	stage_id offset = 0, x_sums = w_zero ? window_sums(L, w, q, per) : 0;

	if (x_zero)
		offset = int_offsets(L, int_sums(L, "wsum", codes, 0, true), x_zero, w_count(L));
	stage_id r = low_result(L, 0, "zero");
	low_index(L, r, index);
	poly o = index[1];
	ex_id y = low_of(L, s, index);
	if (x_zero)
		y = int_less_offset(L, y, x_zero, low_of(L, offset, &o));
	index[1] = block_of(L, o, 1);
	if (w_zero)
		y = low_fn2(L, FN_SUB, y, low_fn2(L, FN_MUL, int_zero(L, INT_W, o, NULL), low_of(L, x_sums, index)));
	stage_body(L->p, r, COMB_NONE, y);
}

/* ---- depthwise: rows in groups of four ---- */

/* x is copied so that four rows lie byte by byte side by side: a step of a dot product has the taps of four rows. The window of a row of
 * results begins at one of four places in a group, its phase: weights are there once for each, among zeros. */
static const char *const conv_int_algos[] = {"merged_words", ALGO_MERGED, "words", "quads", "reals", NULL};

static bool is_words(const char *algo) { return !strcmp(algo, conv_int_algos[0]) || !strcmp(algo, conv_int_algos[2]); }
static bool is_merged(const char *algo) { return !strcmp(algo, conv_int_algos[0]) || !strcmp(algo, conv_int_algos[1]); }
static bool is_quads(const char *algo) { return !strcmp(algo, conv_int_algos[3]); }
static bool is_reals(const char *algo) { return !strcmp(algo, conv_int_algos[4]); }

struct quads {
	int64_t phases, groups; /* of rows that a window touches */
	int64_t stride;         /* rows from one result to the next */
};

static struct quads quads_of(const struct window *w)
{
	int64_t stride = w->stride[0], phases = stride % 4 == 0 ? 1 : stride % 2 == 0 ? 2 : 4;

	return (struct quads){phases, (w->size[0] - 1 + 4 - 4 / phases) / 4 + 1, stride};
}

/* The copy: group, column, channel, row of the group. */
static buf_id rows_by_four(struct lower *L, const struct window *w, const struct quads *q)
{
	const int64_t *out = L->out_shape[0];
	int64_t shape[5] = {L->shape[0][0], q->stride * (out[2] - 1) / 4 + q->groups,
			    (out[3] - 1) * w->stride[1] + (w->size[1] - 1) * w->dilation[1] + 1, L->shape[0][1], 4};
	struct polys *P = L->p->P;
	poly at[LOOP_RANK_MAX];

	stage_id s = low_stage(L, "rows", DT_U8, 5, shape, "n q w c t");
	low_index(L, s, at);
	poly row = poly_add(P, poly_mulc(P, at[1], 4), at[4]);
	poly x[4] = {at[0], at[3], poly_addc(P, row, -w->begin[0]), poly_addc(P, at[2], -w->begin[1])};
	stage_body(L->p, s, COMB_NONE, padded_code(L, DT_U8, 4, 1, x));
	return lstage(L->p, s)->out;
}

static buf_id taps_by_phase(struct lower *L, const struct window *w, const struct quads *q, buf_id codes)
{
	int64_t shape[5] = {q->phases, q->groups, w->size[1], L->shape[1][0], 4};
	struct polys *P = L->p->P;
	poly at[LOOP_RANK_MAX], none = poly_const(P, 0);

	stage_id s = low_stage(L, "taps", DT_I8, 5, shape, "p g k o t");
	low_index(L, s, at);
	poly phase = poly_mod(P, poly_mulc(P, at[0], q->stride), 4);
	poly row = poly_sub(P, poly_add(P, poly_mulc(P, at[1], 4), at[4]), phase);
	poly inside[2] = {row, poly_sub(P, poly_const(P, w->size[0] - 1), row)}, f[4] = {at[3], none, row, at[2]};
	ex_id e = ex_read(L->p, codes, 4, f);
	stage_body(L->p, s, COMB_NONE, ex_guard(L->p, 2, inside, e, low_num(L, e, 0)));
	return lstage(L->p, s)->out;
}

static stage_id sum_quads(struct lower *L, const struct window *w, buf_id codes)
{
	struct quads q = quads_of(w);
	struct polys *P = L->p->P;
	buf_id rows = rows_by_four(L, w, &q), taps = taps_by_phase(L, w, &q, codes);
	poly at[LOOP_RANK_MAX];

	stage_id s = low_sums(L, 0, "conv");
	low_index(L, s, at);
	poly t = stage_reduce(L->p, s, "t", 4), g = stage_reduce(L->p, s, "g", q.groups), k = stage_reduce(L->p, s, "kw", w->size[1]);
	poly group = poly_add(P, poly_floordiv(P, poly_mulc(P, at[2], q.stride), 4), g);
	poly column = poly_add(P, poly_mulc(P, at[3], w->stride[1]), poly_mulc(P, k, w->dilation[1]));
	poly x[5] = {at[0], group, column, at[1], t}, f[5] = {poly_mod(P, at[2], q.phases), g, k, at[1], t};
	stage_body(L->p, s, COMB_SUM, int_product(L, ex_read(L->p, rows, 5, x), ex_read(L->p, taps, 5, f)));
	return s;
}

/* Each channel by itself, side by side, and as many as an instruction takes at a time. */
static bool quads_fit(struct lower *L)
{
	const struct layout *l = &lbuf(L->p, low_buf(L, 0))->layout;
	const struct target *t = L->p->target ? L->p->target : target_host();
	int row = instr_dot(t, DT_U8, DT_I8, true);
	struct window w;

	return row && instr_row(row)->extent[1] == 4 && low_rank(L, 0) == 4 && L->shape[1][1] == 1 && L->shape[0][1] == L->shape[1][0] &&
	       L->shape[1][0] % instr_row(row)->extent[0] == 0 && !window_read(L->m, L->n, 2, L->shape[1] + 2, &w) && w.dilation[0] == 1 &&
	       any_will_do(L) && l->n && l->part[l->n - 1].axis == 1;
}

/* ---- depthwise: in f32 ---- */

/* A multiply-add of f32 does in one step what takes two with integers. Are sums of all taps whole numbers that f32 has? */
static bool reals_fit(struct lower *L)
{
	enum { MOST = (1 << 24) / (255 * 255) };
	int64_t taps = 1;

	for (int i = 2; i < low_rank(L, 1) && taps <= MOST; i++)
		taps *= L->shape[1][i] <= MOST ? L->shape[1][i] : MOST + 1;
	return L->shape[1][1] == 1 && taps > 1 && taps <= MOST;
}

static bool conv_int_fits(struct lower *L, const char *algo)
{
	if (is_quads(algo))
		return quads_fit(L);
	if (is_reals(algo))
		return reals_fit(L);
	if (is_merged(algo) && (!any_will_do(L) || !low_const(L, INT_W) || merged_groups(L, int_step(L, is_words(algo)), true) == 1))
		return false;
	return L->shape[1][1] > 1 && (is_words(algo) ? int_words_fit(L, algo) : int_bytes_fit(L));
}

/* Rows side by side are a copy in vectors where what stands for 0 beyond the borders is known before the kernel runs. */
static bool zero_is_known(struct lower *L)
{
	ex_id zero = int_zero(L, INT_X, poly_const(L->p->P, 0), NULL);

	return !zero || lex(L->p, zero)->kind == EX_CONST;
}

static const char *conv_int_best(struct lower *L)
{
	for (int i = 0; conv_int_algos[i]; i++)
		if (conv_int_fits(L, conv_int_algos[i]) && (!is_quads(conv_int_algos[i]) || zero_is_known(L)))
			return conv_int_algos[i];
	return ALGO_USUAL;
}

static const char *conv_quads(struct lower *L, const struct window *w)
{
	buf_id codes = int_codes(L, INT_W, 1, 1);
	stage_id s = sum_quads(L, w, codes);

	if (int_zero(L, INT_X, poly_const(L->p->P, 0), NULL))
		less_zeros(L, w, NULL, s, codes, 1);
	else
		low_result_is(L, 0, lstage(L->p, s)->out);
	return NULL;
}

/* Depthwise, of codes and of weights less their zero points as f32. */
static const char *conv_reals(struct lower *L, const struct window *w)
{
	struct padded q = conv_input(L, w, DT_U8, 1);
	buf_id f32 = int_copies(L, INT_W, DT_F32, 1, 1, 0);
	poly index[LOOP_RANK_MAX], x[LOOP_RANK_MAX], f[LOOP_RANK_MAX], none = poly_const(L->p->P, 0);
	stage_id offset = 0, s = low_stage(L, "conv", DT_F32, w->n + 2, L->out_shape[0], low_axes(L, w->n + 2));
	ex_id zero = int_zero(L, INT_X, none, NULL);

	low_index(L, s, index);
	conv_index(L, w, &q, s, index, block_of(L, index[1], 1), 1, x, f);
	conv_body(L, s, low_fn2(L, FN_MUL, ex_cast(L->p, DT_F32, ex_read(L->p, q.buf, w->n + 2, x)), ex_read(L->p, f32, w->n + 2, f)));
	lstage(L->p, s)->exact = true;
	if (zero)
		offset = int_offsets(L, int_sums(L, "wsum", int_codes(L, INT_W, 1, 1), 0, true), zero, w_count(L));
	stage_id r = low_result(L, 0, "zero");
	low_index(L, r, index);
	ex_id y = ex_cast(L->p, DT_I32, low_of(L, s, index));
	stage_body(L->p, r, COMB_NONE, zero ? int_less_offset(L, y, zero, low_of(L, offset, &index[1])) : y);
	return NULL;
}

static const char *conv_integer(struct lower *L)
{
	struct window w;
	const char *why = low_window(L, L->shape[1] + 2, low_out_axes, &w);
	poly index[LOOP_RANK_MAX], x[LOOP_RANK_MAX], f[LOOP_RANK_MAX], none = poly_const(L->p->P, 0);

	if (why)
		return why;
	const char *algo = low_algo(L);
	if (is_quads(algo))
		return conv_quads(L, &w);
	if (is_reals(algo))
		return conv_reals(L, &w);
	bool words = is_words(algo);
	int64_t old = L->shape[1][1], merged = is_merged(algo) ? merged_groups(L, int_step(L, words), true) : 1;
	int64_t per = old == 1 || merged > 1 ? old : words ? int_words_padded(L, old) : int_padded(old);
	struct padded q = grouped_input(L, &w, words ? DT_I16 : DT_U8, per, (groups_of(L) + merged - 1) / merged * merged);
	buf_id codes = merged > 1 ? merged_weights(L, merged, words ? DT_I16 : DT_I8, words ? word_weight : code_weight)
		       : words    ? int_copies(L, INT_W, DT_I16, 1, per, 0)
				  : int_codes(L, INT_W, 1, per);
	stage_id s = low_sums(L, 0, "conv");
	low_index(L, s, index);
	conv_index(L, &w, &q, s, index, block_of(L, index[1], merged), per * merged, x, f);
	conv_body(L, s, int_product(L, ex_read(L->p, q.buf, w.n + 2, x), ex_read(L->p, codes, w.n + 2, f)));
	if (!words && (int_zero(L, INT_X, none, NULL) || int_zero(L, INT_W, none, NULL)))
		less_zeros(L, &w, &q, s, codes, per);
	else
		low_result_is(L, 0, lstage(L->p, s)->out);
	return NULL;
}

const struct lower_row lower_conv[] = {
	{OP_Conv, conv, .algos = conv_algos, .fits = algo_fits, .best = conv_best},
	{OP_ConvInteger, conv_integer, .algos = conv_int_algos, .fits = conv_int_fits, .best = conv_int_best},
	{0},
};
