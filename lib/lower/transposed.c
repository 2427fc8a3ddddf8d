/* Lowering of transposed convolutions, as the convolutions they are.
 *
 * Of results y those with y = step*q + r are phase r. Result y takes tap k from element (y + begin - k*dilation) / step of the operand
 * where that is whole: so of each phase every step-th tap, from elements that q moves along one by one. A phase is a convolution with
 * a step of one; all phases are one stage with axes for r, and what is left is to put them next to each other.
 *
 * Apart: the phases are axes of their own, each with its own taps and elements; taps that one has fewer of than another are guarded, and
 * a schedule that cuts loops at phases and taps leaves them out. Merged: the phases are more channels of one convolution. All of them then
 * see the same elements: the window covers what any of them takes, or begins are cut from the results. What is fewer multiply-adds is
 * taken. */
#include <string.h>
#include "target/target.h"
#include "lower/windows.h"

static const char *const spatial[][SPATIAL_MAX] = {{NULL}, {"w"}, {"h", "w"}, {"d", "h", "w"}};

/* Pads and output sizes of a transposed convolution: begin[i] is what is cut at the start. */
static const char *transposed_begin(struct lower *L, struct window *w)
{
	int c, ns;
	const int64_t *more = attr_ints(L->n, "output_padding", &c), *shape = attr_ints(L->n, "output_shape", &ns);

	for (int i = 0; i < w->n; i++) {
		int64_t full = (L->shape[0][2 + i] - 1) * w->stride[i] + (w->size[i] - 1) * w->dilation[i] + 1 + (more ? more[i] : 0);
		int64_t total = full - L->out_shape[0][2 + i];
		if (!shape && w->auto_pad == 'E')
			continue;
		if (w->auto_pad == 'V' || total < 0)
			total = 0;
		w->begin[i] = w->auto_pad == 'U' ? total / 2 : total - total / 2;
	}
	return NULL;
}

/* One spatial axis. Result y = step*q + r - cut; tap number t of phase r is tap k(r, t) from element q + at(r, t). */
struct phased {
	int64_t size, step, dilation, begin;
	int64_t taps; /* t: from 0 to taps - 1 */
	int64_t cut;
	int64_t count; /* q: from 0 to count - 1 */
	int64_t first; /* merged: k(r, t) = r + step*t - first, at(r, t) = last - t */
	int64_t last;
};
struct phases {
	int n;
	int64_t groups, inner, outer; /* channels of a group: of the operand, of the result */
	bool innermost;               /* channels are, in the sums' memory */
	bool merged;
	struct phased axis[SPATIAL_MAX];
};

static int64_t up(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

static int64_t gcd(int64_t a, int64_t b) { return b ? gcd(b, a % b) : a; }

static struct phased apart(struct phased a, int64_t out)
{
	int64_t g = gcd(a.step, a.dilation);

	a.taps = up(a.size * g, a.step);
	a.cut = 0;
	a.count = up(out, a.step);
	return a;
}

/* The same elements for all phases: taps of all of them, or begin cut from the results as far as it is no whole step. */
static struct phased together(struct phased a, int64_t out, bool cuts)
{
	int64_t c = cuts ? a.begin / a.step * a.step : a.begin;

	a.cut = a.begin - c;
	a.count = up(out + a.cut, a.step);
	a.last = (a.step - 1 + c) / a.step;
	a.taps = a.last - up(c - (a.size - 1), a.step) + 1;
	a.first = a.step * a.last - c;
	return a;
}

/* Multiply-adds of a channel of the operand, with those of lanes that nobody wants. */
static double work(struct lower *L, const struct phases *f)
{
	int64_t lanes = target_filled(L->p->target).vector_bytes / 4, columns = f->outer, places = 1, r = 1;
	double taps = 1;

	for (int i = 0; i < f->n; i++) {
		const struct phased *a = &f->axis[i];
		bool last = i == f->n - 1;
		taps *= f->merged ? (double)a->taps : (double)a->size / (double)a->step; /* the mean of the phases */
		places = (last && !f->innermost && taps > 1 ? up(a->count, lanes) * lanes : a->count) * places;
		if (last && f->merged && f->innermost)
			columns *= a->step;
		else
			r *= a->step;
	}
	if (f->innermost)
		columns = up(columns, lanes) * lanes;
	return taps * (double)places * (double)columns * (double)r;
}

/* Vectors along the channels of a result whose columns are innermost: where a vector of them is filled, and the operand is copied with its
 * padding anyway. */
static bool sums_across(struct lower *L, const struct phases *f, const struct window *w)
{
	int64_t lanes = target_filled(L->p->target).vector_bytes / 4;
	bool window = false;

	for (int i = 0; i < f->n; i++)
		window |= (w->size[i] - 1) * w->dilation[i] + 1 > w->stride[i];
	return window && f->groups == 1 && f->outer >= lanes && f->inner >= lanes;
}

static struct phases phases_of(struct lower *L, const struct window *w)
{
	static const struct layout none;
	const struct layout *l = L->outs ? &lbuf(L->p, L->outs[0])->layout : &none; /* without: only whether it can be lowered is asked */
	struct phases f = {.n = w->n, .groups = attr_i(L->n, "group"), .outer = L->shape[1][1]}, best;

	f.inner = L->shape[1][0] / f.groups;
	f.innermost = (l->n && l->part[l->n - 1].axis == 1) || sums_across(L, &f, w);
	bool may_merge = f.groups == 1;
	for (int i = 0; i < w->n; i++) {
		struct phased a = {.size = w->size[i], .step = w->stride[i], .dilation = w->dilation[i], .begin = w->begin[i]};
		may_merge &= a.step == 1 || a.dilation == 1;
		f.axis[i] = apart(a, L->out_shape[0][2 + i]);
	}
	best = f;
	for (int cuts = 0; cuts < 1 << w->n && may_merge; cuts++) {
		struct phases g = f;
		g.merged = true;
		for (int i = 0; i < w->n; i++)
			if (g.axis[i].step > 1)
				g.axis[i] = together(f.axis[i], L->out_shape[0][2 + i], cuts >> i & 1);
		if (work(L, &g) < work(L, &best) || (!best.merged && work(L, &g) <= work(L, &best)))
			best = g;
	}
	return best;
}

/* Tap k(r, t); and the element that it takes, from q on. */
static poly tap_of(struct lower *L, const struct phases *f, int i, poly r, poly t, poly *element)
{
	struct polys *P = L->p->P;
	const struct phased *a = &f->axis[i];

	if (f->merged && a->step > 1) {
		*element = poly_addc(P, poly_mulc(P, t, -1), a->last);
		return poly_addc(P, poly_add(P, r, poly_mulc(P, t, a->step)), -a->first);
	}
	/* k*dilation = r + begin (modulo step): with what both share divided out, k = (r + begin) / g * inverse (modulo step / g) */
	int64_t g = gcd(a->step, a->dilation), every = a->step / g, inverse = 0;
	while (every > 1 && inverse * (a->dilation / g) % every != 1)
		inverse++;
	poly at = poly_addc(P, r, a->begin);
	poly k = poly_mod(P, poly_mulc(P, poly_floordiv(P, at, g), inverse), every);
	*element = poly_floordiv(P, poly_sub(P, at, poly_mulc(P, k, a->dilation)), a->step);
	*element = poly_sub(P, *element, poly_mulc(P, t, a->dilation / g));
	return poly_add(P, k, poly_mulc(P, t, every));
}

/* The operand with room for all that is read: element 0 is offset[i] of the copy. *turned: its channels come last, not second. */
static buf_id padded(struct lower *L, const struct phases *f, int64_t *offset, bool *turned)
{
	struct polys *P = L->p->P;
	int64_t shape[LOOP_RANK_MAX];
	poly at[LOOP_RANK_MAX];
	bool needed = false;

	shape[0] = L->shape[0][0];
	shape[1] = L->shape[0][1];
	for (int i = 0; i < f->n; i++) {
		int64_t lo, hi;
		poly r = poly_of(P, poly_var_new(P, 0, 0, f->axis[i].step - 1, 1)),
		     t = poly_of(P, poly_var_new(P, 0, 0, f->axis[i].taps - 1, 1)), e;
		tap_of(L, f, i, r, t, &e);
		poly_range(P, e, &lo, &hi);
		offset[i] = lo < 0 ? -lo : 0;
		shape[2 + i] = offset[i] + f->axis[i].count + hi;
		needed |= lo < 0 || shape[2 + i] > L->shape[0][2 + i];
	}
	*turned = false;
	if (!needed)
		return f->innermost ? low_turned(L, f->n, turned) : low_buf(L, 0);
	stage_id s = low_stage(L, "pad", low_dtype(L, 0), f->n + 2, shape, low_in_axes[f->n]);
	low_index(L, s, at);
	for (int i = 0; i < f->n; i++)
		at[2 + i] = poly_addc(P, at[2 + i], -offset[i]);
	stage_body(L->p, s, COMB_NONE, low_read_fill(L, 0, at, 0));
	return lstage(L->p, s)->out;
}

/* Weights of each phase: merged: (phases, channel) as one; else phases, channel; then channel of the operand, taps. Zero where a phase has
 * fewer taps than another. */
static stage_id phase_weights(struct lower *L, const struct phases *f)
{
	static const char *const names[][2] = {
		{NULL}, {"rw o i kw", "o i kw"}, {"rh rw o i kh kw", "o i kh kw"}, {"rd rh rw o i kd kh kw", "o i kd kh kw"}};
	struct polys *P = L->p->P;
	int64_t shape[LOOP_RANK_MAX], channels = f->groups * f->outer;
	poly at[LOOP_RANK_MAX], x[LOOP_RANK_MAX], cond[3 * SPATIAL_MAX], r[SPATIAL_MAX], unused;
	int rank = 0, nc = 0;

	for (int i = 0; i < f->n; i++)
		if (f->merged)
			channels *= f->axis[i].step;
		else
			shape[rank++] = f->axis[i].step;
	int head = rank;
	shape[rank++] = channels;
	shape[rank++] = f->inner;
	for (int i = 0; i < f->n; i++)
		shape[rank++] = f->axis[i].taps;
	stage_id s = low_stage(L, "weights", low_dtype(L, 1), rank, shape, names[f->n][f->merged]);
	low_index(L, s, at);
	poly rest = poly_floordiv(P, at[head], f->outer), o = at[head];
	for (int i = f->n - 1; i >= 0; i--) {
		r[i] = f->merged ? poly_mod(P, rest, f->axis[i].step) : at[i];
		rest = f->merged ? poly_floordiv(P, rest, f->axis[i].step) : rest;
	}
	x[0] = f->merged ? at[head + 1] : poly_add(P, poly_mulc(P, poly_floordiv(P, o, f->outer), f->inner), at[head + 1]);
	x[1] = poly_mod(P, o, f->outer);
	for (int i = 0; i < f->n; i++) {
		const struct phased *a = &f->axis[i];
		int64_t g = gcd(a->step, a->dilation);
		x[2 + i] = tap_of(L, f, i, r[i], at[head + 2 + i], &unused);
		cond[nc++] = x[2 + i];
		cond[nc++] = poly_sub(P, poly_const(P, a->size - 1), x[2 + i]);
		if (g > 1) /* phases that no tap reaches */
			cond[nc++] = poly_mulc(P, poly_mod(P, poly_addc(P, r[i], a->begin), g), -1);
	}
	ex_id w = low_read(L, 1, x);
	stage_body(L->p, s, COMB_NONE, ex_guard(L->p, nc, cond, w, low_num(L, w, 0)));
	return s;
}

/* Axes of the stage of all phases. Channels innermost: n, then of each spatial axis q and r, then the channel: bytes then lie as in the
 * result. Else n, r, channel, q: vectors run along the last q. Merged: r of the last axis, or of all, are in the channel's. */
struct phase_axes {
	int rank;
	int64_t shape[LOOP_RANK_MAX];
	char names[64];
	int q[SPATIAL_MAX], r[SPATIAL_MAX], o; /* numbers of axes; r -1: in that of o */
};

static void add_axis(struct phase_axes *a, int *to, int64_t extent, const char *name, const char *of)
{
	*to = a->rank;
	a->shape[a->rank++] = extent;
	strcat(strcat(strcat(a->names, " "), name), of);
}

static struct phase_axes axes_of(struct lower *L, const struct phases *f)
{
	struct phase_axes a = {.rank = 1, .shape = {L->shape[0][0]}, .names = "n"};
	int64_t inside = 1;

	for (int i = 0; i < f->n; i++) {
		a.r[i] = -1;
		if (f->innermost)
			add_axis(&a, &a.q[i], f->axis[i].count, "", spatial[f->n][i]);
		if (f->merged && (!f->innermost || i == f->n - 1))
			inside *= f->axis[i].step;
		else
			add_axis(&a, &a.r[i], f->axis[i].step, "r", spatial[f->n][i]);
	}
	add_axis(&a, &a.o, inside * f->outer * f->groups, "o", "");
	for (int i = 0; i < f->n && !f->innermost; i++)
		add_axis(&a, &a.q[i], f->axis[i].count, "", spatial[f->n][i]);
	return a;
}

/* y, but 0 for a tap that the phase does not have. */
static ex_id own_taps(struct lower *L, const struct phases *f, const struct phase_axes *a, const poly *index, const poly *t, ex_id y)
{
	poly cond[SPATIAL_MAX], unused;
	int n = 0;

	for (int i = 0; i < f->n; i++)
		if (f->axis[i].taps > 1 && f->axis[i].size % f->axis[i].step)
			cond[n++] =
				poly_sub(L->p->P, poly_const(L->p->P, f->axis[i].size - 1), tap_of(L, f, i, index[a->r[i]], t[i], &unused));
	return n ? ex_guard(L->p, n, cond, y, low_num(L, y, 0)) : y;
}

/* The sums of all phases. */
static stage_id phase_sums(struct lower *L, const struct phases *f, const struct phase_axes *a)
{
	struct polys *P = L->p->P;
	int64_t offset[SPATIAL_MAX], stride = f->outer;
	poly index[LOOP_RANK_MAX], x[LOOP_RANK_MAX], w[LOOP_RANK_MAX], t[SPATIAL_MAX];
	bool turned;
	buf_id operand = padded(L, f, offset, &turned);
	stage_id weights = phase_weights(L, f);
	stage_id s = low_stage(L, "conv", low_wide_type(low_out_dtype(L, 0)), a->rank, a->shape, a->names);
	int k = 0;

	low_index(L, s, index);
	for (int i = 0; i < f->n && !f->merged; i++)
		w[k++] = index[a->r[i]];
	w[k] = index[a->o];
	for (int i = f->n - 1; i >= 0 && f->merged; stride *= f->axis[i--].step)
		if (a->r[i] >= 0)
			w[k] = poly_add(P, w[k], poly_mulc(P, index[a->r[i]], stride));
	k++;
	poly c = f->inner == 1 ? poly_const(P, 0) : stage_reduce(L->p, s, "i", f->inner);
	w[k++] = c;
	x[0] = index[0];
	x[turned ? f->n + 1 : 1] = f->groups == 1 ? c : poly_add(P, poly_mulc(P, poly_floordiv(P, index[a->o], f->outer), f->inner), c);
	for (int i = 0; i < f->n; i++) {
		poly e;
		t[i] = f->axis[i].taps == 1 ? poly_const(P, 0) : stage_reduce(L->p, s, low_taps[f->n][i], f->axis[i].taps);
		tap_of(L, f, i, a->r[i] < 0 ? poly_const(P, 0) : index[a->r[i]], t[i], &e);
		w[k++] = t[i];
		x[(turned ? 1 : 2) + i] = poly_addc(P, poly_add(P, index[a->q[i]], e), offset[i]);
	}
	ex_id y = low_fn2(L, FN_MUL, low_wide(L, ex_read(L->p, operand, f->n + 2, x)), low_wide(L, low_of(L, weights, w)));
	if (!f->merged)
		y = own_taps(L, f, a, index, t, y);
	stage_body(L->p, s, lstage(L->p, s)->naxes > a->rank ? COMB_SUM : COMB_NONE, y);
	return s;
}

/* Steps far larger than the window: most phases are zero, and so would most weights be. */
static bool is_sparse(const struct phases *f)
{
	enum { TIMES_MAX = 16 };
	double weights = 1, phases = 1;

	for (int i = 0; i < f->n; i++) {
		weights *= (double)f->axis[i].size;
		phases *= (double)(f->axis[i].step * f->axis[i].taps);
	}
	return phases > TIMES_MAX * weights;
}

static const char *conv_transpose(struct lower *L)
{
	struct polys *P = L->p->P;
	int n = low_rank(L, 0) - 2;
	struct window w;
	const char *why = window_read(L->m, L->n, n, L->shape[1] + 2, &w);
	poly index[LOOP_RANK_MAX], at[LOOP_RANK_MAX], inside = poly_const(P, 0);

	if (why || n < 1 || (why = transposed_begin(L, &w)))
		return why ? why : "no spatial axes";
	low_name_axes(L, n + 2, low_out_axes[n]);
	struct phases f = phases_of(L, &w);
	if (is_sparse(&f))
		return "strides far larger than its window";
	struct phase_axes a = axes_of(L, &f);
	stage_id conv = phase_sums(L, &f, &a), s = low_result(L, 0, low_has(L, 2) ? "bias" : "phases");
	low_index(L, s, index);
	at[0] = index[0];
	for (int i = 0; i < n; i++) {
		poly y = poly_addc(P, index[2 + i], f.axis[i].cut), r = poly_mod(P, y, f.axis[i].step);
		at[a.q[i]] = poly_floordiv(P, y, f.axis[i].step);
		if (a.r[i] >= 0)
			at[a.r[i]] = r;
		else
			inside = poly_add(P, poly_mulc(P, inside, f.axis[i].step), r);
	}
	at[a.o] = poly_add(P, poly_mulc(P, inside, f.outer * f.groups), index[1]);
	ex_id y = low_of(L, conv, at);
	if (low_has(L, 2))
		y = low_fn2(L, FN_ADD, y, low_wide(L, low_read_1d(L, 2, index[1])));
	stage_body(L->p, s, COMB_NONE, low_round(L, 0, y));
	return NULL;
}

const struct lower_row lower_transposed[] = {
	{OP_ConvTranspose, conv_transpose},
	{0},
};
