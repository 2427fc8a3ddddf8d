/* Ranges by four methods. All begin with the least and the greatest element; the last three then cut the ends off. */
#include <math.h>
#include "quant/range.h"

const char *const range_method_names[RANGE_METHODS] = {"minmax", "percentile", "entropy", "mse"};

enum { LEVELS = 256 };
#define CHANCE 1e-3 /* probability of an element where the model of the distribution has none */

static double bin_middle(const struct value_stat *v, int64_t i) { return ldexp((double)i + 0.5, v->exponent); }

/* The bin of zero holds mostly exact zeros, which have no error. */
static double element_of(const struct value_stat *v, int64_t i) { return i ? bin_middle(v, i) : 0; }

static struct range minmax(const struct value_stat *v)
{
	return (struct range){v->min < 0 ? (double)v->min : 0, v->max > 0 ? (double)v->max : 0};
}

/* ---- how good a range is ---- */

static double rounded(double x, struct range r, double step)
{
	x = x < r.lo ? r.lo : x > r.hi ? r.hi : x;
	return rint(x / step) * step;
}

double range_error(const struct value_stat *v, struct range r, int levels)
{
	double step = (r.hi - r.lo) / (levels - 1), sum = 0, n = 0;
	int64_t first, last;

	value_stat_bins(v, &first, &last);
	for (int64_t i = first; i <= last; i++) {
		uint64_t count = value_stat_bin(v, i);
		if (!count)
			continue;
		double x = element_of(v, i), e = step > 0 ? x - rounded(x, r, step) : x;
		sum += (double)count * e * e;
		n += (double)count;
	}
	return n ? sum / n : 0;
}

double value_stat_power(const struct value_stat *v) { return range_error(v, (struct range){0, 0}, LEVELS); }

/* Divergence (Kullback and Leibler) of the quantised histogram, cut to r and spread evenly over each level, from the original one.
 * Random counts differ from an even spread by half a nat for each bin but one of a level (Wilks 1938); that is not counted as loss. */
static double divergence(const struct value_stat *v, struct range r)
{
	double step = (r.hi - r.lo) / (LEVELS - 1), mass[LEVELS + 1] = {0}, lost[LEVELS + 1] = {0}, sum = 0, n = 0;
	int used[LEVELS + 1] = {0};
	int64_t first, last;

	value_stat_bins(v, &first, &last);
	for (int64_t i = first; i <= last; i++) {
		double x = element_of(v, i), c = (double)value_stat_bin(v, i);
		bool out = x < r.lo || x > r.hi;
		int at = out ? 0 : (int)rint((x - r.lo) / step);
		n += c;
		if (!c || !i) /* zero is exact, however many there are */
			continue;
		if (out) { /* what is cut off has almost no probability in the model */
			sum += c * log(c / CHANCE);
			continue;
		}
		mass[at] += c;
		used[at]++;
		lost[at] += c * log(c);
	}
	for (int k = 0; k <= LEVELS; k++) {
		double noise = used[k] ? 0.5 * (used[k] - 1) : 0, loss = used[k] ? lost[k] - mass[k] * log(mass[k] / used[k]) - noise : 0;
		sum += loss > 0 ? loss : 0;
	}
	return sum / n;
}

/* ---- the search ---- */

typedef double (*worth)(const struct value_stat *v, struct range r);
static double by_error(const struct value_stat *v, struct range r) { return range_error(v, r, LEVELS); }

/* The best range: first both ends are drawn in together, then each end alone. */
static struct range drawn_in(const struct value_stat *v, worth cost)
{
	enum { STEPS = 64 };
	struct range full = minmax(v), best = full;
	double least = cost(v, full);

	for (int pass = 0; pass < 3; pass++) {
		struct range from = best;
		for (int i = 1; i < STEPS; i++) {
			double part = 1 - (double)i / STEPS;
			struct range r = {pass == 2 ? from.lo : from.lo * part, pass == 1 ? from.hi : from.hi * part};
			double c = r.hi > r.lo ? cost(v, r) : INFINITY;
			if (c < least) {
				least = c;
				best = r;
			}
		}
	}
	return best;
}

static struct range percentile_range(const struct value_stat *v, double percentile)
{
	struct range r = minmax(v);
	int64_t first, last;
	double n = (double)(v->count - v->nans - v->infinite), cut = n * (100 - percentile) / 200, seen = 0;

	value_stat_bins(v, &first, &last);
	for (int64_t i = first; i < 0 && (seen += (double)value_stat_bin(v, i)) <= cut; i++)
		r.lo = ldexp((double)(i + 1), v->exponent);
	seen = 0;
	for (int64_t i = last; i > 0 && (seen += (double)value_stat_bin(v, i)) <= cut; i--)
		r.hi = ldexp((double)i, v->exponent);
	return r;
}

struct range range_of(const struct value_stat *v, enum range_method method, double percentile)
{
	struct range full = minmax(v);

	if (full.hi <= full.lo)
		return full;
	switch (method) {
	case RANGE_PERCENTILE: return percentile_range(v, percentile);
	case RANGE_ENTROPY: return drawn_in(v, divergence);
	case RANGE_MSE: return drawn_in(v, by_error);
	default: return full;
	}
}

struct bytes_scale bytes_scale_of(struct range r)
{
	float scale = (float)((r.hi - r.lo) / 255);

	if (!(scale >= 0x1p-126f)) /* nothing but zeros, or as good as */
		return (struct bytes_scale){1, 0};
	double zero = rint(-r.lo / (double)scale);
	return (struct bytes_scale){scale, (uint8_t)(zero < 0 ? 0 : zero > 255 ? 255 : zero)};
}
