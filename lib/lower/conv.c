/* Lowering of convolutions. */
#include <string.h>
#include "lower/conv.h"
#include "lower/halves.h"
#include "lower/patches.h"
#include "lower/taps.h"
#include "lower/wide.h"
#include "lower/winograd.h"
#include "loop/instr.h"
#include "sched/algorithm.h"
#include "target/backend.h"
#include "target/target.h"

/* Groups are taken several at a time, so that their channels fill vectors: weights are blocks among zeros. Codes want it, since no
 * instruction sums a vector of several groups. */
#define ALGO_MERGED "merged"

static ex_id number_weight(struct lower *L, enum dtype t, ex_id weight, poly o) { return ex_cast(L->p, t, weight); }

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

static const char *const conv_algos[] = {"winograd2",       "winograd4",  ALGO_WIDE,   "winograd2_lines",
					 "winograd4_lines", ALGO_HALVES,  ALGO_SPREAD, ALGO_MERGED,
					 ALGO_TAPS,         ALGO_PATCHES, NULL};

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

	if (attr_i(L->n, "group") != 1 || low_layout(L, 0)->n || low_window(L, L->shape[1] + 2, low_out_axes, &w))
		return false;
	for (int i = 0; i < w.n; i++)
		if (w.size[i] != 1 || w.stride[i] != 1 || w.begin[i] || L->out_shape[0][2 + i] != L->shape[0][2 + i])
			return false;
	return halves_fit_points(L, L->shape[1][1]);
}

/* Channels of a group in whole steps of the instruction; as many as there are if there is none. */
static int64_t spread_channels(struct lower *L) { return wide_spread(L, L->shape[1][1], L->out_shape[0][low_out_rank(L, 0) - 1]); }

static bool algo_fits(struct lower *L, const char *algo)
{
	struct window w;
	double speed;

	if (!strcmp(algo, ALGO_HALVES))
		return points_fit(L) || halves_fit_conv(L, &speed);
	if (!strcmp(algo, ALGO_MERGED))
		return low_const(L, 1) && merged_groups(L, 1, false) > 1;
	if (!strcmp(algo, ALGO_TAPS))
		return low_window_known(L, &w) && taps_fit(L, &w);
	if (!strcmp(algo, ALGO_PATCHES))
		return low_window_known(L, &w) && patches_fit(L, &w);
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

/* Adds what so many products of all channels are, each of so many rows, of weights of type t. apart: each product is a sum of its own; else
 * all together are one. */
static void describe_products(struct lower *L, struct algorithm *a, bool apart, double products, double rows, enum dtype t)
{
	double weights = products * (double)L->shape[1][0] * (double)L->shape[1][1];

	a->steps = (double)L->shape[1][1] * (apart ? 1 : products);
	a->multiply_adds = weights * rows;
	a->constants = (double)dtype_size(t) * weights;
}

/* Transforms, products of points, and the points that are read from where they wait between the stages. */
static struct algorithm describe_winograd(struct lower *L, const char *algo)
{
	const int64_t *out = L->out_shape[0];
	int64_t m = winograd_tile(algo), n = m + 2, tiles = out[0] * ((out[2] + m - 1) / m) * ((out[3] + m - 1) / m);
	int lanes = target_filled(L->p->target).vector_bytes / 4;
	double vectors = (double)((L->shape[1][0] + lanes - 1) / lanes + (L->shape[1][1] + lanes - 1) / lanes);
	struct algorithm a = {algo, ALGORITHM_OTHER, .speed = 1, .side = (double)n, .transforms = (double)tiles * vectors};

	a.waiting = sizeof(float) * (double)(n * n * tiles * (L->shape[1][0] + L->shape[1][1]));
	describe_products(L, &a, true, (double)(n * n), (double)tiles, DT_F32);
	return a;
}

/* Is one channel a group widened where it is read? Many taps of a tile share what they read. */
static bool widens_taps(struct lower *L)
{
	return L->shape[1][1] == 1 && (low_dtype(L, 0) != DT_F16 || target_widens_f16(L->p->target ? L->p->target : target_host()));
}

/* Does an instruction sum the products of patches, *speed times as fast as multiply-adds? Else windows are read as they lie. */
static bool patches_summed(struct lower *L, double *speed)
{
	int64_t step = wide_step(L, speed);
	struct window w;

	return step && algo_fits(L, ALGO_PATCHES) && low_window_known(L, &w) && patches_for_free(L, &w, step);
}

/* Lists the algorithms without transforms, and returns how many there are. */
static int list_sums(struct lower *L, struct algorithm *list)
{
	int64_t per = L->shape[1][1], spread = spread_channels(L);
	double speed;
	int n = 0;

	if (points_fit(L))
		list[n++] = (struct algorithm){ALGO_HALVES, .speed = halves_speed(L)};
	if (halves_fit_conv(L, &speed))
		list[n++] = (struct algorithm){ALGO_HALVES, .speed = speed};
	if (patches_summed(L, &speed)) {
		list[n++] = (struct algorithm){ALGO_PATCHES, .speed = speed};
		return n;
	}
	if (wide_step(L, &speed) && per > 1)
		list[n++] = (struct algorithm){spread > per ? ALGO_SPREAD : ALGO_USUAL, .speed = speed * (double)per / (double)spread};
	list[n++] = (struct algorithm){!widens_taps(L) && wide_chosen(L, products_of(L), per) ? ALGO_WIDE : ALGO_USUAL, .speed = 1};
	return n;
}

/* Adds the work of the n sums of the list, and what else fits constant weights and a window that is known: returns how many there are. */
static int list_others(struct lower *L, const struct window *w, struct algorithm *list, int n)
{
	double taps = 1, places = (double)L->out_shape[0][0];

	for (int i = 0; i < w->n; i++) {
		taps *= (double)w->size[i];
		places *= (double)L->out_shape[0][2 + i];
	}
	for (int i = 0; i < n; i++)
		describe_products(L, &list[i], false, taps, places, list[i].speed > 1 ? low_dtype(L, 1) : DT_F32);
	if (taps_fit(L, w)) {
		double share = taps_share(L, w);
		list[n] = (struct algorithm){ALGO_TAPS, ALGORITHM_OTHER, .speed = 1, .spared = conv_padded_elements(L, w)};
		list[n].kept = taps * share * places * (double)L->shape[1][0];
		describe_products(L, &list[n++], false, taps, places * share, DT_F32);
	}
	for (int i = 0; strcmp(conv_algos[i], ALGO_WIDE) && winograd_fits(L, conv_algos[i]); i++)
		list[n++] = describe_winograd(L, conv_algos[i]);
	return n;
}

static const char *conv_best(struct lower *L)
{
	struct algorithm list[sizeof conv_algos / sizeof *conv_algos];
	struct window w;
	int n = list_sums(L, list);

	if (low_const(L, 1) && low_window_known(L, &w))
		n = list_others(L, &w, list, n);
	return algorithm_best(L->p->target, list, n)->name;
}

static const char *winograd(struct lower *L, const struct window *w, const char *algo)
{
	int m = winograd_tile(algo);
	buf_id u = winograd_weights(L->p, m, wide_buf(L, 1), DT_F32);

	add_bias(L, winograd_stages(L->p, m, of_lines(algo), wide_buf(L, 0), u, w->begin, L->out_shape[0], low_axes(L, 4)));
	return NULL;
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

static ex_id wide_product(struct lower *L, ex_id a, ex_id b) { return low_fn2(L, FN_MUL, low_wide(L, a), low_wide(L, b)); }

/* Windows that do not overlap, as rows of a matrix. */
static void conv_patches(struct lower *L, const struct window *w)
{
	double speed;
	int64_t step = wide_step(L, &speed);
	enum dtype t = step ? low_dtype(L, 0) : DT_F32;
	struct patch_parts of = {t, wide_weights_chosen(L, products_of(L)) ? t : low_dtype(L, 1), step ? step : 1, number_weight,
				 wide_product};
	buf_id weights;

	add_bias(L, patches_sums(L, w, &of, &weights));
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
	if (!strcmp(algo, ALGO_PATCHES)) {
		conv_patches(L, &w);
		return NULL;
	}
	if (strcmp(algo, ALGO_USUAL) && !wide && !spread && merged == 1)
		return winograd(L, &w, algo);
	int64_t per = spread ? spread_channels(L) : L->shape[1][1];
	struct padded q = conv_input(L, &w, wide ? DT_F32 : low_dtype(L, 0), per, conv_groups(L));
	buf_id weights = wide         ? wide_weights(L, products_of(L))
			 : spread     ? wide_spread_buf(L, 1, 1, per)
			 : merged > 1 ? merged_weights(L, merged, low_dtype(L, 1), number_weight)
				      : 0;
	stage_id s = low_sums(L, 0, "conv");
	low_index(L, s, index);
	conv_index(L, &w, &q, s, index, conv_block(L, index[1], merged), per * merged, x, f);
	ex_id weight = weights ? low_wide(L, ex_read(L->p, weights, w.n + 2, f)) : low_read_wide(L, 1, f);
	conv_body(L, s, low_fn2(L, FN_MUL, low_wide(L, ex_read(L->p, q.buf, w.n + 2, x)), weight));
	add_bias(L, s);
	return NULL;
}

const struct lower_row lower_conv[] = {
	{OP_Conv, conv, .algos = conv_algos, .fits = algo_fits, .best = conv_best},
	{0},
};
