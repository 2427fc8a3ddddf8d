/* Lowering of convolutions of integers. */
#include <string.h>
#include "lower/conv.h"
#include "lower/integer.h"
#include "lower/patches.h"
#include "loop/instr.h"
#include "sched/algorithm.h"
#include "target/target.h"

/* The first that fits is the best one, but for what is said in conv_int_best. */
enum algo { PATCHES_WORDS, PATCHES, MERGED_WORDS, MERGED, WORDS, QUADS, FLOATS, REALS, ALGOS };
static const char *const conv_int_algos[ALGOS + 1] = {
	[PATCHES_WORDS] = "patches_words",
	[PATCHES] = "patches",
	[MERGED_WORDS] = "merged_words",
	[MERGED] = "merged",
	[WORDS] = "words",
	[QUADS] = "quads",
	[FLOATS] = "floats",
	[REALS] = "reals",
};

/* ALGOS: the usual one. */
static enum algo algo_of(const char *name)
{
	enum algo a = 0;

	while (a < ALGOS && strcmp(name, conv_int_algos[a]))
		a++;
	return a;
}

static bool is_words(enum algo a) { return a == PATCHES_WORDS || a == MERGED_WORDS || a == WORDS; }
static bool is_merged(enum algo a) { return a == MERGED_WORDS || a == MERGED; }
static bool is_patches(enum algo a) { return a == PATCHES_WORDS || a == PATCHES; }

/* A weight of channel o of the result: its code, or i16 less its zero point. */
static ex_id code_or_word(struct lower *L, enum dtype t, ex_id weight, poly o)
{
	return t == DT_I16 ? int_less_zero(L, INT_W, weight, o, NULL, t) : int_code(L, INT_W, weight);
}

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
	index[1] = conv_block(L, o, 1);
	if (w_zero)
		y = low_fn2(L, FN_SUB, y, low_fn2(L, FN_MUL, int_zero(L, INT_W, o, NULL), low_of(L, x_sums, index)));
	stage_body(L->p, r, COMB_NONE, y);
}

/* ---- depthwise: rows in groups of four ---- */

/* x is copied so that four rows lie byte by byte side by side: a step of a dot product has the taps of four rows. The window of a row of
 * results begins at one of four places in a group, its phase: weights are there once for each, among zeros. */
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

	stage_id s = low_stage(L, "rows", int_x_type(L), 5, shape, "n q w c t");
	low_index(L, s, at);
	poly row = poly_add(P, poly_mulc(P, at[1], 4), at[4]);
	poly x[4] = {at[0], at[3], poly_addc(P, row, -w->begin[0]), poly_addc(P, at[2], -w->begin[1])};
	stage_body(L->p, s, COMB_NONE, conv_element(L, int_x_type(L), 1, x));
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
	const struct layout *l = low_layout(L, 0);
	const struct target *t = L->p->target ? L->p->target : target_host();
	int row = instr_dot(t, int_x_type(L), DT_I8, true);
	struct window w;

	return row && instr_row(row)->extent[1] == 4 && low_rank(L, 0) == 4 && L->shape[1][1] == 1 && L->shape[0][1] == L->shape[1][0] &&
	       L->shape[1][0] % instr_row(row)->extent[0] == 0 && !window_read(L->m, L->n, 2, L->shape[1] + 2, &w) && w.dilation[0] == 1 &&
	       conv_no_zeros(L) && l->n && l->part[l->n - 1].axis == 1;
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

static bool merged_fit(struct lower *L, bool words)
{
	return conv_no_zeros(L) && low_const(L, INT_W) && merged_groups(L, int_step(L, words), true) > 1;
}

static bool conv_int_fits(struct lower *L, const char *name)
{
	enum algo a = algo_of(name);
	struct window w;

	if (a == QUADS || a == FLOATS || a == REALS)
		return a == QUADS ? quads_fit(L) : reals_fit(L);
	if (is_words(a) ? !int_words_fit(L, name) : !int_bytes_fit(L))
		return false;
	if (is_patches(a))
		return conv_no_zeros(L) && low_window_known(L, &w) && patches_fit(L, &w);
	return L->shape[1][1] > 1 && (!is_merged(a) || merged_fit(L, is_words(a)));
}

/* Rows side by side are a copy in vectors where what stands for 0 beyond the borders is known before the kernel runs. */
static bool zero_is_known(struct lower *L)
{
	ex_id zero = int_zero(L, INT_X, poly_const(L->p->P, 0), NULL);

	return !zero || lex(L->p, zero)->kind == EX_CONST;
}

/* Codes become f32 in each tap, or once in a copy: is the copy better? */
static bool floats_best(struct lower *L, const struct window *w)
{
	double reads = (double)(L->out_shape[0][0] * low_count(L, INT_W));

	for (int i = 0; i < w->n; i++)
		reads *= (double)L->out_shape[0][2 + i];
	struct algorithm list[] = {{conv_int_algos[REALS], ALGORITHM_SUMS, .converted = reads},
				   {conv_int_algos[FLOATS], ALGORITHM_COPY, .kept = conv_padded_elements(L, w)}};
	return algorithm_best(L->p->target, list, 2) == &list[1];
}

/* Is algorithm a, which fits, worth its copies? */
static bool worth_it(struct lower *L, enum algo a)
{
	struct window w;

	if (a == QUADS)
		return zero_is_known(L);
	if (a == FLOATS)
		return low_window_known(L, &w) && floats_best(L, &w);
	return a != PATCHES || (low_window_known(L, &w) && patches_for_free(L, &w, INT_STEP));
}

static const char *conv_int_best(struct lower *L)
{
	for (enum algo a = 0; a < ALGOS; a++)
		if (conv_int_fits(L, conv_int_algos[a]) && worth_it(L, a))
			return conv_int_algos[a];
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
	struct padded q = conv_input(L, w, int_x_type(L), 1, conv_groups(L));
	buf_id f32 = int_copies(L, INT_W, DT_F32, 1, 1, 0);
	poly index[LOOP_RANK_MAX], x[LOOP_RANK_MAX], f[LOOP_RANK_MAX], none = poly_const(L->p->P, 0);
	stage_id offset = 0, s = low_stage(L, "conv", DT_F32, w->n + 2, L->out_shape[0], low_axes(L, w->n + 2));
	ex_id zero = int_zero(L, INT_X, none, NULL);

	low_index(L, s, index);
	conv_index(L, w, &q, s, index, conv_block(L, index[1], 1), 1, x, f);
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

/* Depthwise, of codes and weights less their zero points as f32: each code is converted once, not for each tap. */
static const char *conv_floats(struct lower *L, const struct window *w)
{
	struct padded q = conv_input(L, w, DT_F32, 1, conv_groups(L));
	buf_id f32 = int_copies(L, INT_W, DT_F32, 1, 1, 0);
	poly index[LOOP_RANK_MAX], x[LOOP_RANK_MAX], f[LOOP_RANK_MAX];

	stage_id s = low_stage(L, "conv", DT_F32, w->n + 2, L->out_shape[0], low_axes(L, w->n + 2));
	low_index(L, s, index);
	conv_index(L, w, &q, s, index, conv_block(L, index[1], 1), 1, x, f);
	conv_body(L, s, low_fn2(L, FN_MUL, ex_read(L->p, q.buf, w->n + 2, x), ex_read(L->p, f32, w->n + 2, f)));
	lstage(L->p, s)->exact = true;
	stage_id r = low_result(L, 0, "whole");
	low_index(L, r, index);
	stage_body(L->p, r, COMB_NONE, ex_cast(L->p, DT_I32, low_of(L, s, index)));
	return NULL;
}

/* Windows that do not overlap, as rows of a matrix. */
static const char *conv_patches(struct lower *L, const struct window *w, bool words)
{
	struct patch_parts of = {words ? DT_I16 : int_x_type(L), words ? int_words_weights(L) : DT_I8, int_step(L, words), code_or_word,
				 int_product};
	buf_id codes;
	stage_id s = patches_sums(L, w, &of, &codes);

	if (!words && int_zero(L, INT_X, poly_const(L->p->P, 0), NULL))
		less_zeros(L, w, NULL, s, codes, L->shape[1][1]);
	else
		low_result_is(L, 0, lstage(L->p, s)->out);
	return NULL;
}

static const char *conv_integer(struct lower *L)
{
	struct window w;
	const char *why = low_window(L, L->shape[1] + 2, low_out_axes, &w);
	poly index[LOOP_RANK_MAX], x[LOOP_RANK_MAX], f[LOOP_RANK_MAX], none = poly_const(L->p->P, 0);

	if (why)
		return why;
	enum algo a = algo_of(low_algo(L));
	bool words = is_words(a);
	if (a == QUADS)
		return conv_quads(L, &w);
	if (a == FLOATS || a == REALS)
		return a == FLOATS ? conv_floats(L, &w) : conv_reals(L, &w);
	if (is_patches(a))
		return conv_patches(L, &w, words);
	int64_t old = L->shape[1][1], merged = is_merged(a) ? merged_groups(L, int_step(L, words), true) : 1;
	int64_t rows = L->out_shape[0][low_out_rank(L, 0) - 1];
	int64_t per = old == 1 || merged > 1 ? old : words ? int_words_padded(L, old) : int_padded(L, old, rows);
	struct padded q = conv_input(L, &w, words ? DT_I16 : int_x_type(L), per, (conv_groups(L) + merged - 1) / merged * merged);
	enum dtype t = words ? int_words_weights(L) : DT_I8;
	buf_id codes = merged > 1    ? merged_weights(L, merged, t, code_or_word)
		       : t == DT_I16 ? int_copies(L, INT_W, DT_I16, 1, per, 0)
				     : int_codes(L, INT_W, 1, per);
	stage_id s = low_sums(L, 0, "conv");
	low_index(L, s, index);
	conv_index(L, &w, &q, s, index, conv_block(L, index[1], merged), per * merged, x, f);
	conv_body(L, s, int_product(L, ex_read(L->p, q.buf, w.n + 2, x), ex_read(L->p, codes, w.n + 2, f)));
	if (!words && (int_zero(L, INT_X, none, NULL) || int_zero(L, INT_W, none, NULL)))
		less_zeros(L, &w, &q, s, codes, per);
	else
		low_result_is(L, 0, lstage(L->p, s)->out);
	return NULL;
}

const struct lower_row lower_conv_integer[] = {
	{OP_ConvInteger, conv_integer, .algos = conv_int_algos, .fits = conv_int_fits, .best = conv_int_best},
	{0},
};
