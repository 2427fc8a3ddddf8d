/* Lowering of normalisations. Mean and variance are taken in two passes, in the wide type. */
#include "lower/lowering.h"

static const char *const conv_axes[] = {"", "", "m n", "n c w", "n c h w", "n c d h w"};

static void name_conv_axes(struct lower *L)
{
	int r = low_rank(L, 0);
	if (r > 1 && r < (int)(sizeof conv_axes / sizeof *conv_axes))
		low_name_axes(L, r, conv_axes[r]);
}

static ex_id read_wide_1d(struct lower *L, uint32_t i, poly at) { return low_wide(L, low_read_1d(L, i, at)); }

/* A stage of numbers that go into the result. */
static stage_id wide_stage(struct lower *L, const char *name, int rank, const int64_t *shape, const char *axes)
{
	return low_stage(L, name, low_wide_type(low_dtype(L, 0)), rank, shape, axes);
}

/* x seen as slices over which mean and variance are taken: which slice an element is in, and where. */
struct slices {
	int rank; /* of the statistics */
	int64_t shape[LOOP_RANK_MAX];
	int nred;
	int64_t red[LOOP_RANK_MAX]; /* extents inside a slice */
	int64_t count;
	/* Element of operand 0 for a slice and a place in it; and the slice of an element. */
	void (*element)(struct lower *L, const struct slices *s, const poly *slice, const poly *place, poly *x);
	void (*slice)(struct lower *L, const struct slices *s, const poly *x, poly *slice);
	int64_t per; /* channels in a group; first normalised axis */
};

/* Reduction of f over each slice: x (mean 0), else (x - mean)^2. */
static stage_id slice_sum(struct lower *L, const struct slices *s, const char *name, stage_id mean)
{
	static const char *const names[] = {"r", "s", "t", "u", "v", "w"};
	stage_id st = wide_stage(L, name, s->rank, s->shape, low_axes(L, s->rank));
	poly at[LOOP_RANK_MAX], place[LOOP_RANK_MAX], x[LOOP_RANK_MAX];

	low_index(L, st, at);
	for (int i = 0; i < s->nred; i++)
		place[i] = stage_reduce(L->p, st, i < 6 ? names[i] : "z", s->red[i]);
	s->element(L, s, at, place, x);
	ex_id e = low_read_wide(L, 0, x);
	if (mean) {
		e = low_fn2(L, FN_SUB, e, low_of(L, mean, at));
		e = low_fn2(L, FN_MUL, e, e);
	}
	stage_body(L->p, st, COMB_SUM, e);
	return st;
}

/* f(sum) of each slice: mean, or 1/sqrt(variance + epsilon). */
static stage_id slice_stat(struct lower *L, const struct slices *s, const char *name, stage_id sum, bool root, double epsilon)
{
	stage_id st = wide_stage(L, name, s->rank, s->shape, low_axes(L, s->rank));
	poly at[LOOP_RANK_MAX];

	low_index(L, st, at);
	ex_id e = low_fnc(L, FN_MUL, low_of(L, sum, at), 1.0 / (double)s->count);
	if (root)
		e = low_fn1(L, FN_RSQRT, low_fnc(L, FN_ADD, e, epsilon));
	stage_body(L->p, st, COMB_NONE, e);
	return st;
}

struct moments {
	stage_id mean, rstd;
};

static struct moments moments(struct lower *L, const struct slices *s, double epsilon)
{
	struct moments m;

	m.mean = slice_stat(L, s, "mean", slice_sum(L, s, "sum", 0), false, 0);
	m.rstd = slice_stat(L, s, "rstd", slice_sum(L, s, "squares", m.mean), true, epsilon);
	return m;
}

/* (x - mean) * rstd at x, with mean and rstd of the slice of x. */
static ex_id normalised(struct lower *L, const struct slices *s, struct moments m, const poly *x)
{
	poly at[LOOP_RANK_MAX];

	s->slice(L, s, x, at);
	return low_fn2(L, FN_MUL, low_fn2(L, FN_SUB, low_read_wide(L, 0, x), low_of(L, m.mean, at)), low_of(L, m.rstd, at));
}

/* Axes from s->per on. */
static void trailing_element(struct lower *L, const struct slices *s, const poly *slice, const poly *place, poly *x)
{
	for (int a = 0; a < low_rank(L, 0); a++)
		x[a] = a < s->per ? slice[a] : place[a - s->per];
}

static void trailing_slice(struct lower *L, const struct slices *s, const poly *x, poly *slice)
{
	for (int a = 0; a < s->rank; a++)
		slice[a] = a < s->per ? x[a] : poly_const(L->p->P, 0);
}

static const char *trailing(struct lower *L, struct slices *s, bool keep)
{
	int rank = low_rank(L, 0), a;

	if (!low_axis(attr_i(L->n, "axis"), rank, &a))
		return "axis outside the rank";
	*s = (struct slices){.element = trailing_element, .slice = trailing_slice, .per = a, .count = 1};
	for (int i = 0; i < rank; i++) {
		if (i < a || keep)
			s->shape[s->rank++] = i < a ? L->shape[0][i] : 1;
		if (i >= a) {
			s->red[s->nred++] = L->shape[0][i];
			s->count *= L->shape[0][i];
		}
	}
	return low_axes_fit(L, s->rank + s->nred);
}

static const char *layer_norm(struct lower *L)
{
	bool stats = low_wants(L, 1) || low_wants(L, 2);
	struct slices s;
	const char *why = trailing(L, &s, stats);
	poly x[LOOP_RANK_MAX];
	int rank = low_rank(L, 0);

	if (why)
		return why;
	struct moments m = moments(L, &s, attr_f(L->n, "epsilon"));
	stage_id r = low_result(L, 0, "norm");
	low_index(L, r, x);
	ex_id e = low_fn2(L, FN_MUL, normalised(L, &s, m, x), low_wide(L, low_read_bcast(L, 1, rank, x)));
	if (low_has(L, 2))
		e = low_fn2(L, FN_ADD, e, low_wide(L, low_read_bcast(L, 2, rank, x)));
	stage_body(L->p, r, COMB_NONE, low_round(L, 0, e));
	if (low_wants(L, 1))
		low_result_is(L, 1, lstage(L->p, m.mean)->out);
	if (low_wants(L, 2))
		low_result_is(L, 2, lstage(L->p, m.rstd)->out);
	return NULL;
}

static const char *rms_norm(struct lower *L)
{
	struct slices s;
	const char *why = trailing(L, &s, false);
	poly x[LOOP_RANK_MAX], place[LOOP_RANK_MAX], at[LOOP_RANK_MAX];

	if (why)
		return why;
	stage_id sum = wide_stage(L, "squares", s.rank, s.shape, low_axes(L, s.rank));
	low_index(L, sum, at);
	for (int i = 0; i < s.nred; i++)
		place[i] = stage_reduce(L->p, sum, i ? "s" : "r", s.red[i]);
	s.element(L, &s, at, place, x);
	ex_id e = low_read_wide(L, 0, x);
	stage_body(L->p, sum, COMB_SUM, low_fn2(L, FN_MUL, e, e));
	stage_id rstd = slice_stat(L, &s, "rstd", sum, true, attr_f(L->n, "epsilon"));
	stage_id r = low_result(L, 0, "norm");
	low_index(L, r, x);
	s.slice(L, &s, x, at);
	e = low_fn2(L, FN_MUL, low_read_wide(L, 0, x), low_of(L, rstd, at));
	e = low_fn2(L, FN_MUL, e, low_wide(L, low_read_bcast(L, 1, low_rank(L, 0), x)));
	stage_body(L->p, r, COMB_NONE, low_round(L, 0, e));
	return NULL;
}

/* Channels in groups of s->per, and the spatial axes. */
static void channel_element(struct lower *L, const struct slices *s, const poly *slice, const poly *place, poly *x)
{
	struct polys *P = L->p->P;
	int skip = s->per > 1;

	x[0] = slice[0];
	x[1] = skip ? poly_add(P, poly_mulc(P, slice[1], s->per), place[0]) : slice[1];
	for (int a = 2; a < low_rank(L, 0); a++)
		x[a] = place[a - 2 + skip];
}

static void channel_slice(struct lower *L, const struct slices *s, const poly *x, poly *slice)
{
	slice[0] = x[0];
	slice[1] = poly_floordiv(L->p->P, x[1], s->per);
}

static const char *norm_channels(struct lower *L, int64_t groups)
{
	int rank = low_rank(L, 0);
	int64_t c = rank > 1 ? L->shape[0][1] : 0;
	struct slices s = {.rank = 2, .element = channel_element, .slice = channel_slice, .count = 1};
	poly x[LOOP_RANK_MAX];

	if (groups < 1 || c % groups)
		return low_why(L, "%lld channels do not divide into %lld groups", (long long)c, (long long)groups);
	name_conv_axes(L);
	s.shape[0] = L->shape[0][0];
	s.shape[1] = groups;
	s.per = c / groups;
	if (s.per > 1)
		s.red[s.nred++] = s.per;
	for (int a = 2; a < rank; a++)
		s.red[s.nred++] = L->shape[0][a];
	for (int i = 0; i < s.nred; i++)
		s.count *= s.red[i];
	struct moments m = moments(L, &s, attr_f(L->n, "epsilon"));
	stage_id r = low_result(L, 0, "norm");
	low_index(L, r, x);
	ex_id e = low_fn2(L, FN_MUL, normalised(L, &s, m, x), read_wide_1d(L, 1, x[1]));
	stage_body(L->p, r, COMB_NONE, low_round(L, 0, low_fn2(L, FN_ADD, e, read_wide_1d(L, 2, x[1]))));
	return NULL;
}

static const char *instance_norm(struct lower *L) { return norm_channels(L, low_rank(L, 0) > 1 ? L->shape[0][1] : 0); }

static const char *group_norm(struct lower *L) { return norm_channels(L, attr_i(L->n, "num_groups")); }

/* x * (scale / sqrt(var + eps)) + (bias - mean * that): the two vectors are stages of their own, so that
 * constant ones are computed when the model is built. */
static const char *batch_norm(struct lower *L)
{
	int64_t c = L->shape[1][0]; /* theirs: what is made of constants is made when it is built, however many channels x has then */
	poly x[LOOP_RANK_MAX], at;

	if (attr_i(L->n, "training_mode"))
		return "training mode";
	name_conv_axes(L);
	stage_id scale = wide_stage(L, "scale", 1, &c, "c");
	low_index(L, scale, &at);
	ex_id rstd = low_fn1(L, FN_RSQRT, low_fnc(L, FN_ADD, read_wide_1d(L, 4, at), attr_f(L->n, "epsilon")));
	stage_body(L->p, scale, COMB_NONE, low_fn2(L, FN_MUL, read_wide_1d(L, 1, at), rstd));
	stage_id shift = wide_stage(L, "shift", 1, &c, "c");
	low_index(L, shift, &at);
	ex_id m = low_fn2(L, FN_MUL, read_wide_1d(L, 3, at), low_of(L, scale, &at));
	stage_body(L->p, shift, COMB_NONE, low_fn2(L, FN_SUB, read_wide_1d(L, 2, at), m));
	stage_id r = low_result(L, 0, "norm");
	low_index(L, r, x);
	at = low_rank(L, 0) > 1 ? x[1] : poly_const(L->p->P, 0);
	ex_id e = low_fn2(L, FN_MUL, low_read_wide(L, 0, x), low_of(L, scale, &at));
	stage_body(L->p, r, COMB_NONE, low_round(L, 0, low_fn2(L, FN_ADD, e, low_of(L, shift, &at))));
	return NULL;
}

/* x to the power of beta: a product of roots where it is one. */
static ex_id power_of(struct lower *L, ex_id x, double beta)
{
	ex_id root = low_fn1(L, FN_SQRT, x);

	if (beta == 0.5)
		return root;
	if (beta == 0.75)
		return low_fn2(L, FN_MUL, root, low_fn1(L, FN_SQRT, root));
	return beta == 1 ? x : low_fnc(L, FN_POW, x, beta);
}

/* x / (bias + alpha / size * sum)^beta, the sum being of squares of the channels around. */
static const char *lrn(struct lower *L)
{
	int64_t size = attr_i(L->n, "size"), before = (size - 1) / 2, after = size / 2;
	poly x[LOOP_RANK_MAX], near[LOOP_RANK_MAX];

	if (low_rank(L, 0) < 2)
		return "an image of rank below 2";
	before = before < L->shape[0][1] ? before : L->shape[0][1];
	after = after < L->shape[0][1] ? after : L->shape[0][1];
	name_conv_axes(L);
	stage_id sum = wide_stage(L, "squares", low_rank(L, 0), L->shape[0], low_axes(L, low_rank(L, 0)));
	low_index(L, sum, x);
	x[1] = poly_addc(L->p->P, poly_add(L->p->P, x[1], stage_reduce(L->p, sum, "k", before + after + 1)), -before);
	ex_id e = low_wide(L, low_read_fill(L, 0, x, 0));
	stage_body(L->p, sum, COMB_SUM, low_fn2(L, FN_MUL, e, e));
	stage_id y = low_result(L, 0, "norm");
	low_index(L, y, near);
	e = low_fnc(L, FN_MUL, low_of(L, sum, near), attr_f(L->n, "alpha") / (double)size);
	e = power_of(L, low_fnc(L, FN_ADD, e, attr_f(L->n, "bias")), attr_f(L->n, "beta"));
	stage_body(L->p, y, COMB_NONE, low_round(L, 0, low_fn2(L, FN_DIV, low_read_wide(L, 0, near), e)));
	return NULL;
}

const struct lower_row lower_norm[] = {
	{OP_BatchNormalization, batch_norm},
	{OP_GroupNormalization, group_norm},
	{OP_InstanceNormalization, instance_norm},
	{OP_LRN, lrn},
	{OP_LayerNormalization, layer_norm},
	{OP_RMSNormalization, rms_norm},
	{0},
};
