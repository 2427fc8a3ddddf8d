/* Counting: sums, ranges, histograms. */
#include <math.h>
#include <string.h>
#include "common/msg.h"
#include "op/op.h"
#include "quant/statistics.h"

/* ---- exact sums ---- */

static void add_shifted(struct exact *s, uint64_t mantissa, int shift, bool negative)
{
	unsigned __int128 wide = (unsigned __int128)mantissa << (shift & 63);
	int at = shift >> 6;
	uint64_t part[2] = {(uint64_t)wide, (uint64_t)(wide >> 64)}, carry = 0;

	for (int i = at; i < EXACT_LIMBS && (i < at + 2 || carry); i++) {
		uint64_t p = i < at + 2 ? part[i - at] : 0, old = s->limb[i];
		if (negative) {
			s->limb[i] = old - p - carry;
			carry = old < p || old - p < carry;
		} else {
			s->limb[i] = old + p + carry;
			carry = s->limb[i] < p || (carry && s->limb[i] == p);
		}
	}
}

void exact_add(struct exact *s, float v)
{
	uint32_t bits, exponent;

	memcpy(&bits, &v, sizeof bits);
	exponent = bits >> 23 & 255;
	add_shifted(s, (bits & 0x7fffff) | (exponent ? 0x800000 : 0), exponent ? (int)exponent - 1 : 0, bits >> 31);
}

static bool exact_negative(const struct exact *s) { return s->limb[EXACT_LIMBS - 1] >> 63; }

double exact_value(const struct exact *s)
{
	bool negative = exact_negative(s);
	uint64_t borrow = negative;
	double v = 0;

	for (int i = 0; i < EXACT_LIMBS; i++) {
		uint64_t limb = negative ? ~s->limb[i] + borrow : s->limb[i];
		borrow = borrow && !limb;
		v += ldexp((double)limb, 64 * i + EXACT_UNIT);
	}
	return negative ? -v : v;
}

static void exact_merge(struct exact *s, const struct exact *from)
{
	unsigned __int128 carry = 0;

	for (int i = 0; i < EXACT_LIMBS; i++) {
		carry += (unsigned __int128)s->limb[i] + from->limb[i];
		s->limb[i] = (uint64_t)carry;
		carry >>= 64;
	}
}

/* ---- histograms ---- */

/* v is finite; exact, for a float divided by a power of two is one of double precision. */
static int64_t bin_of(float v, int exponent) { return (int64_t)floor(ldexp((double)v, -exponent)); }

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

/* Elements from..from + n of t as floats; of two zeros there is one. */
static void load(const struct tensor *t, int64_t from, int n, float *to)
{
	if (t->dtype == DT_F32) {
		for (int i = 0; i < n; i++)
			to[i] = ((const float *)t->data)[from + i] + 0.0f;
		return;
	}
	for (int i = 0; i < n; i++)
		to[i] = (float)tensor_get(t, from + i) + 0.0f;
}

static void add_to_channel(struct channel_stat *c, float v)
{
	c->min = v < c->min ? v : c->min;
	c->max = v > c->max ? v : c->max;
	exact_add(&c->sum, v);
}

enum { PIECE = 1024 };

static void add_piece(struct value_stat *v, const float *x, int n, int64_t at, int64_t inner)
{
	float min = INFINITY, max = -INFINITY;

	v->count += (uint64_t)n;
	for (int i = 0; i < n; i++) {
		if (!isfinite(x[i])) {
			v->nans += isnan(x[i]);
			v->infinite += !isnan(x[i]);
			continue;
		}
		min = x[i] < min ? x[i] : min;
		max = x[i] > max ? x[i] : max;
		if (v->channels)
			add_to_channel(&v->channel[(at + i) / inner % v->channels], x[i]);
	}
	take_range(v, min, max);
	double scale = ldexp(1, -v->exponent / 2), rest = ldexp(1, -v->exponent - -v->exponent / 2);
	for (int i = 0; i < n; i++)
		if (isfinite(x[i]))
			v->bins[(uint64_t)(int64_t)floor((double)x[i] * scale * rest) % STAT_BINS]++;
}

void value_stat_add(struct value_stat *v, const struct tensor *t)
{
	int64_t inner = 1, n = tensor_count(t);
	float x[PIECE];

	if (v->channels && (v->axis >= t->rank || t->dims[v->axis] != v->channels))
		die(EX_BADDATA, "%s: %u channels at axis %d were declared, the value has others", v->name, v->channels, v->axis);
	for (int k = v->axis + 1; v->channels && k < t->rank; k++)
		inner *= t->dims[k];
	for (int64_t i = 0; i < n; i += PIECE) {
		int piece = n - i < PIECE ? (int)(n - i) : PIECE;
		load(t, i, piece, x);
		add_piece(v, x, piece, i, inner);
	}
}

/* ---- the values of a model ---- */

/* Channels are where what slides a window over the value has them, else innermost. */
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

void statistics_merge(struct statistics *s, const struct statistics *from, const char *path)
{
	bool same = digest_eq(s->model, from->model) && s->values.n == from->values.n;

	for (size_t i = 0; same && i < s->values.n; i++)
		same = !strcmp(s->values.a[i]->name, from->values.a[i]->name) && s->values.a[i]->channels == from->values.a[i]->channels &&
		       s->values.a[i]->axis == from->values.a[i]->axis;
	if (!same)
		die(EX_BADDATA, "%s: statistics of another model than those before", path);
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
