/* Counting: sums, ranges, histograms. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "op/op.h"
#include "quant/statistics.h"

/* ---- histograms ---- */

/* Exact: a float divided by a power of two is a double. v is finite; where its bin is far beyond what a histogram has, as a damaged file
 * may say, it is some bin that far away. */
static int64_t bin_of(float v, int exponent) { return (int64_t)fmax(-0x1p61, fmin(0x1p61, floor(ldexp((double)v, -exponent)))); }

static bool fits(float min, float max, int exponent)
{
	double first = floor(ldexp((double)min, -exponent)), last = floor(ldexp((double)max, -exponent));

	return last - first < STAT_BINS;
}

/* The least width for which zero and [min, max] lie within STAT_BINS bins. */
static int exponent_for(float min, float max, int from)
{
	min = min < 0 ? min : 0;
	max = max > 0 ? max : 0;
	while (!fits(min, max, from))
		from++;
	return from;
}

void value_stat_bins(const struct value_stat *v, int64_t *first, int64_t *last)
{
	*first = v->min < 0 ? bin_of(v->min, v->exponent) : 0;
	*last = v->max > 0 ? bin_of(v->max, v->exponent) : 0;
}

/* Bins of twice the width, as often as it takes. */
static void widen(struct value_stat *v, int exponent)
{
	uint64_t bins[STAT_BINS];
	int64_t first, last;

	if (exponent == v->exponent)
		return;
	value_stat_bins(v, &first, &last);
	memcpy(bins, v->bins, sizeof bins);
	memset(v->bins, 0, sizeof bins);
	int shift = exponent - v->exponent;
	for (int64_t i = first; i <= last; i++) {
		int64_t to = shift < 63 ? i >> shift : i < 0 ? -1 : 0;
		v->bins[(uint64_t)to % STAT_BINS] += bins[(uint64_t)i % STAT_BINS];
	}
	v->exponent = exponent;
}

static void take_range(struct value_stat *v, float min, float max)
{
	if (min > max)
		return;
	float lo = min < v->min ? min : v->min, hi = max > v->max ? max : v->max;
	widen(v, exponent_for(lo, hi, v->exponent));
	v->min = lo;
	v->max = hi;
}

/* ---- counting ---- */

/* Elements x[0], x[stride], ..., n of them. */
struct run {
	const float *x;
	int64_t n, stride;
};

static void take_finite(const struct run *r, float *least, float *greatest, struct value_stat *v)
{
	float min = *least, max = *greatest;

	for (int64_t i = 0; i < r->n; i++) {
		float x = r->x[i * r->stride] + 0.0f; /* of two zeros there is one */
		if (!isfinite(x)) {
			v->nans += isnan(x);
			v->infinite += !isnan(x);
			continue;
		}
		min = x < min ? x : min;
		max = x > max ? x : max;
	}
	*least = min;
	*greatest = max;
}

static void add_to_channel(struct value_stat *v, uint32_t c, const struct run *r, float *least, float *greatest)
{
	struct channel_stat *s = &v->channel[c];

	take_finite(r, &s->min, &s->max, v);
	exact_add_all(&s->sum, r->x, r->n, r->stride);
	*least = s->min < *least ? s->min : *least;
	*greatest = s->max > *greatest ? s->max : *greatest;
}

/* Elements of a channel lie in pieces; across them, where pieces are short. */
static void add_channels(struct value_stat *v, const float *x, int64_t outer, int64_t inner, float *least, float *greatest)
{
	enum { SHORT = 32 };
	int64_t step = v->channels * inner;

	for (uint32_t c = 0; c < v->channels; c++) {
		for (int64_t o = 0; inner >= SHORT && o < outer; o++)
			add_to_channel(v, c, &(struct run){x + o * step + c * inner, inner, 1}, least, greatest);
		for (int64_t i = 0; inner < SHORT && i < inner; i++)
			add_to_channel(v, c, &(struct run){x + c * inner + i, outer, step}, least, greatest);
	}
}

static void add_to_bins(struct value_stat *v, const float *x, int64_t n)
{
	double scale = ldexp(1, -v->exponent);

	for (int64_t i = 0; i < n; i++) {
		if (!isfinite(x[i]))
			continue;
		double at = (double)x[i] * scale; /* exact, for scale is a power of two */
		int64_t bin = (int64_t)at;
		v->bins[(uint64_t)(bin - ((double)bin > at)) % STAT_BINS]++;
	}
}

static void add_floats(struct value_stat *v, const float *x, int64_t n, int64_t inner)
{
	float least = INFINITY, greatest = -INFINITY;

	v->count += (uint64_t)n;
	if (v->channels)
		add_channels(v, x, n / (v->channels * inner), inner, &least, &greatest);
	else
		take_finite(&(struct run){x, n, 1}, &least, &greatest, v);
	take_range(v, least, greatest);
	add_to_bins(v, x, n);
}

void value_stat_add(struct value_stat *v, const struct tensor *t)
{
	int64_t inner = 1, n = tensor_count(t);

	if (v->channels && (v->axis >= t->rank || t->dims[v->axis] != v->channels))
		die(EX_BADDATA, "%s: %u channels at axis %d were declared, the value has others", v->name, v->channels, v->axis);
	for (int k = v->axis + 1; v->channels && k < t->rank; k++)
		inner *= t->dims[k];
	if (!n || t->dtype == DT_F32) {
		add_floats(v, t->data, n, inner);
		return;
	}
	float *x = xcalloc((size_t)n, sizeof *x);
	for (int64_t i = 0; i < n; i++)
		x[i] = (float)tensor_get(t, i);
	add_floats(v, x, n, inner);
	free(x);
}

/* ---- the values of a model ---- */

/* The axis of channels: axis 1 if an operator slides a window over the value or the rank is above 3, else the innermost. */
static int channel_axis(struct module *m, const struct uses *u, val_id v)
{
	const struct value *x = val(m, v);

	if (x->type.rank < 1)
		return -1;
	if (x->kind == VAL_NODE && op_is(node(m, x->def)->op, OP_WINDOW) && x->type.rank > 2)
		return 1;
	for (uint32_t i = u->start[v]; i < u->start[v + 1]; i++)
		if (op_is(node(m, u->user[i])->op, OP_WINDOW) && x->type.rank > 2)
			return 1;
	return x->type.rank > 3 ? 1 : x->type.rank - 1;
}

static void add_row(struct statistics *s, struct module *m, const struct uses *u, val_id v, struct value_stat **row)
{
	const struct value *x = val(m, v);
	int64_t n;

	if (!v || !dtype_is_float(x->type.dtype) || x->type.dtype == DT_F64 || x->type.other)
		return;
	struct value_stat *r = ARENA_NEW(&s->arena, struct value_stat);
	r->name = sym_str(x->name);
	r->min = INFINITY;
	r->max = -INFINITY;
	r->exponent = EXACT_UNIT;
	r->axis = channel_axis(m, u, v);
	if (r->axis >= 0 && poly_is_const(m->dims, x->type.dims[r->axis], &n) && n > 0 && n <= STAT_CHANNELS_MAX)
		r->channels = (uint32_t)n;
	else
		r->axis = -1;
	r->channel = ARENA_ARRAY(&s->arena, struct channel_stat, r->channels + 1);
	for (uint32_t i = 0; i < r->channels; i++)
		r->channel[i].min = INFINITY, r->channel[i].max = -INFINITY;
	row[v] = r;
	vec_push(&s->values, r);
}

struct value_stat **statistics_begin(struct statistics *s, struct module *m)
{
	struct value_stat **row = xcalloc(m->values.n, sizeof *row);
	const struct graph *g = graph(m, m->main);
	struct uses u = uses_new(m);

	for (size_t i = 0; i < g->in.n; i++)
		add_row(s, m, &u, g->in.a[i], row);
	for (size_t i = 0; i < g->nodes.n; i++)
		for (uint32_t k = 0; k < node(m, g->nodes.a[i])->nout; k++)
			add_row(s, m, &u, node(m, g->nodes.a[i])->out[k], row);
	uses_free(&u);
	return row;
}

const struct value_stat *statistics_find(const struct statistics *s, const char *name)
{
	for (size_t i = 0; i < s->values.n; i++)
		if (!strcmp(s->values.a[i]->name, name))
			return s->values.a[i];
	return NULL;
}

void statistics_free(struct statistics *s)
{
	vec_free(&s->values);
	arena_release(&s->arena);
	*s = (struct statistics){0};
}

/* ---- merging ---- */

void statistics_see(struct statistics *s, struct tensor *const *in, size_t n)
{
	struct digest_state *d = digest_new();

	for (size_t i = 0; i < n; i++) {
		const struct tensor *t = in[i];
		int64_t head[] = {t->dtype, t->rank, (int64_t)t->nbytes};
		digest_add(d, head, sizeof head);
		digest_add(d, t->dims, sizeof *t->dims * (size_t)t->rank);
		digest_add(d, t->data, t->data ? t->nbytes : 0);
	}
	seen_add(&s->seen, digest_end(d));
}

static bool add_count(uint64_t *to, uint64_t n) { return !__builtin_add_overflow(*to, n, to) && *to <= INT64_MAX; }

static bool merge_value(struct value_stat *v, const struct value_stat *from)
{
	int64_t first, last;
	bool good = add_count(&v->count, from->count) && add_count(&v->nans, from->nans) && add_count(&v->infinite, from->infinite);

	take_range(v, from->min, from->max);
	value_stat_bins(from, &first, &last);
	int shift = v->exponent - from->exponent;
	for (int64_t i = first; i <= last; i++) {
		int64_t to = shift < 63 ? i >> shift : i < 0 ? -1 : 0;
		v->bins[(uint64_t)to % STAT_BINS] += value_stat_bin(from, i);
	}
	for (uint32_t c = 0; c < v->channels; c++) {
		struct channel_stat *x = &v->channel[c];
		const struct channel_stat *y = &from->channel[c];
		x->min = y->min < x->min ? y->min : x->min;
		x->max = y->max > x->max ? y->max : x->max;
		exact_merge(&x->sum, &y->sum);
	}
	return good;
}

static void warn_of_seen(const struct statistics *s, const struct statistics *from, const char *path)
{
	uint32_t of, before = seen_before(&s->seen, &from->seen, &of);

	if (before)
		warn("%s: %u of %u samples that were compared are counted already; they count twice now. Is a file merged twice?", path,
		     before, of);
}

void statistics_merge(struct statistics *s, const struct statistics *from, const char *path)
{
	bool same = digest_eq(s->model, from->model) && s->values.n == from->values.n;

	for (size_t i = 0; same && i < s->values.n; i++)
		same = !strcmp(s->values.a[i]->name, from->values.a[i]->name) && s->values.a[i]->channels == from->values.a[i]->channels &&
		       s->values.a[i]->axis == from->values.a[i]->axis;
	if (!same)
		die(EX_BADDATA, "%s: statistics of another model than those before", path);
	if (s->by_library != from->by_library || !digest_eq(s->library, from->library))
		die(EX_BADDATA, "%s: another library or evaluator computed it than those before", path);
	warn_of_seen(s, from, path);
	seen_merge(&s->seen, &from->seen);
	bool good = add_count(&s->samples, from->samples);
	for (size_t i = 0; i < s->values.n; i++)
		good &= merge_value(s->values.a[i], from->values.a[i]);
	if (!good)
		die(EX_BADDATA, "%s: more elements than can be counted", path);
}

/* ---- checking ---- */

static const char *check_channels(const struct value_stat *v)
{
	for (uint32_t c = 0; c < v->channels; c++)
		if (!(v->channel[c].min > v->channel[c].max) && !(v->channel[c].min >= v->min && v->channel[c].max <= v->max))
			return "a channel is outside the range";
	return NULL;
}

const char *value_stat_check(const struct value_stat *v)
{
	uint64_t finite = 0;
	int64_t first, last;

	if (v->count > INT64_MAX || v->nans > v->count || v->infinite > v->count - v->nans)
		return "the counts do not add up";
	if (v->count - v->nans - v->infinite ? !(isfinite(v->min) && isfinite(v->max) && v->min <= v->max)
					     : !(v->min == INFINITY && v->max == -INFINITY))
		return "the range is not one of so many elements";
	if (v->exponent != exponent_for(v->min, v->max, EXACT_UNIT))
		return "the bins are not as wide as the range has them";
	value_stat_bins(v, &first, &last);
	for (int64_t i = first; i <= last; i++)
		if (__builtin_add_overflow(finite, value_stat_bin(v, i), &finite))
			return "the bins do not add up";
	if (finite != v->count - v->nans - v->infinite)
		return "the bins do not add up";
	return check_channels(v);
}
