/* Random numbers. Element i of a result depends on the seed and i alone: each run gives the same, everywhere. The seed is the bits of the
 * attribute; without it, the number of the step (struct native), so that two steps differ. */
#include "native/native.h"

/* Number i of a seed: splitmix64 (Steele et al. 2014). */
static uint64_t random_bits(uint64_t seed, uint64_t i)
{
	uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* In [0, 1). */
static double random_unit(uint64_t seed, uint64_t i) { return (double)(random_bits(seed, i) >> 11) * 0x1p-53; }

/* Box and Muller 1958. */
static double random_normal(uint64_t seed, uint64_t i)
{
	double u = 1 - random_unit(seed, 2 * i), v = random_unit(seed, 2 * i + 1);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static uint64_t random_seed(const struct native *n)
{
	const struct native_attr *a = native_attr(n, "seed");
	float f = a ? (float)a->f : 0;
	uint32_t bits;

	memcpy(&bits, &f, sizeof bits);
	return random_bits(a ? bits : n->step, 0);
}

/* The type of the result; def without an attribute. */
static int random_type(const struct native *n, int def)
{
	int64_t type = native_int(n, "dtype");

	if (!type)
		return def;
	return type > 0 && type <= NATIVE_BF16 && (native_is_number((int)type) || type == NATIVE_BOOL) ? (int)type : NATIVE_NONE;
}

/* Shape and type of the result, of the operand's or of the attributes. */
static const char *random_room(struct native *n, void **y, int *type, int64_t *count)
{
	const struct native_attr *shape = native_attr(n, "shape");
	bool like = native_has(n, 0);
	int rank = like ? n->in[0].rank : shape ? shape->n : 0;
	const int64_t *dims = like ? n->in[0].dims : shape ? shape->ints : NULL;

	*type = random_type(n, like ? n->in[0].type : NATIVE_F32);
	if (!native_size(*type) || (!native_is_number(*type) && *type != NATIVE_BOOL))
		return native_no_type();
	if (rank > NATIVE_RANK_MAX)
		return "a shape of too many axes";
	for (int i = 0; i < rank; i++)
		if (dims[i] < 0)
			return "a shape that there is not";
	*y = n->room(n, 0, *type, rank, dims);
	*count = *y ? native_count_of(rank, dims) : 0;
	return *y ? NULL : native_no_room(n);
}

static const char *random_make(struct native *n, bool normal)
{
	double a = native_float(n, normal ? "mean" : "low"), b = normal ? native_float(n, "scale") : native_float(n, "high") - a;
	uint64_t seed = random_seed(n);
	int64_t count;
	int type;
	void *y;
	const char *why = random_room(n, &y, &type, &count);

	for (int64_t i = 0; !why && i < count; i++)
		native_set(type, y, i, a + b * (normal ? random_normal(seed, (uint64_t)i) : random_unit(seed, (uint64_t)i)));
	return why;
}

NATIVE const char *native_RandomNormal(struct native *n) { return random_make(n, true); }
NATIVE const char *native_RandomNormalLike(struct native *n) { return random_make(n, true); }
NATIVE const char *native_RandomUniform(struct native *n) { return random_make(n, false); }
NATIVE const char *native_RandomUniformLike(struct native *n) { return random_make(n, false); }

NATIVE const char *native_Bernoulli(struct native *n)
{
	uint64_t seed = random_seed(n);
	int64_t count;
	int type;
	void *y;
	const char *why = native_is_float(n->in[0].type) ? random_room(n, &y, &type, &count) : native_no_type();

	for (int64_t i = 0; !why && i < count; i++)
		native_set(type, y, i, random_unit(seed, (uint64_t)i) < native_get(n->in[0].type, n->in[0].data, i));
	return why;
}

/* ---- Dropout ---- */

/* Each element stays, by 1 / (1 - ratio) as large, where a random number is ratio or more; outside training all stay as they are. */
NATIVE const char *native_Dropout(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	bool training = native_has(n, 2) && native_count(&n->in[2]) == 1 && native_get(n->in[2].type, n->in[2].data, 0) != 0;
	double ratio = native_has(n, 1) && native_count(&n->in[1]) == 1 ? native_get(n->in[1].type, n->in[1].data, 0) : 0.5;
	const struct native_attr *a = native_attr(n, "seed");
	uint64_t seed = random_bits(a ? (uint64_t)a->i : n->step, 0);
	int64_t count = native_count(x);
	uint8_t *mask = NULL;
	void *y;

	if (!(ratio >= 0 && ratio < 1))
		return native_why(n, "ratio %g, takes 0 to less than 1", ratio);
	training &= ratio > 0;
	if (!native_size(x->type) || (training && !native_is_float(x->type)))
		return native_no_type();
	if (!(y = n->room(n, 0, x->type, x->rank, x->dims)) ||
	    (native_wants(n, 1) && !(mask = n->room(n, 1, NATIVE_BOOL, x->rank, x->dims))))
		return native_no_room(n);
	memcpy(y, x->data, (size_t)count * native_size(x->type));
	if (mask)
		memset(mask, 1, (size_t)count);
	for (int64_t i = 0; training && i < count; i++) {
		bool stays = random_unit(seed, (uint64_t)i) >= ratio;
		native_set(x->type, y, i, stays ? native_get(x->type, x->data, i) / (1 - ratio) : 0);
		if (mask)
			mask[i] = stays;
	}
	return NULL;
}

/* ---- Multinomial ---- */

/* The sums of probabilities, up to each class, of a row of their logarithms. */
static void random_sums(const struct native_tensor *x, int64_t row, int64_t classes, double *sum)
{
	double most = -INFINITY, all = 0;

	native_load(x->type, x->data, row * classes, classes, sum);
	for (int64_t c = 0; c < classes; c++)
		most = sum[c] > most ? sum[c] : most;
	for (int64_t c = 0; c < classes; c++)
		sum[c] = all += sum[c] == sum[c] && most > -INFINITY ? exp(sum[c] - most) : 0;
}

/* The first class whose sum is more than u. */
static int64_t random_class(const double *sum, int64_t classes, double u)
{
	int64_t lo = 0, hi = classes - 1;

	while (lo < hi) {
		int64_t middle = (lo + hi) / 2;
		if (sum[middle] > u)
			hi = middle;
		else
			lo = middle + 1;
	}
	return lo;
}

NATIVE const char *native_Multinomial(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	int64_t samples = native_int(n, "sample_size");
	int type = random_type(n, NATIVE_I32);
	uint64_t seed = random_seed(n);

	if (!native_is_float(x->type) || (type != NATIVE_I32 && type != NATIVE_I64))
		return native_no_type();
	if (x->rank != 2 || samples < 0 || (!x->dims[1] && x->dims[0] && samples))
		return "there are no classes, or less than no samples";
	void *y = n->room(n, 0, type, 2, (int64_t[]){x->dims[0], samples});
	double *sum = n->scratch(n, (size_t)x->dims[1] * sizeof *sum + 8);
	if (!y || !sum)
		return native_no_room(n);
	for (int64_t row = 0; row < x->dims[0] && samples; row++) {
		random_sums(x, row, x->dims[1], sum);
		for (int64_t i = row * samples; i < (row + 1) * samples; i++) {
			int64_t c = random_class(sum, x->dims[1], random_unit(seed, (uint64_t)i) * sum[x->dims[1] - 1]);
			if (type == NATIVE_I32)
				((int32_t *)y)[i] = (int32_t)c;
			else
				((int64_t *)y)[i] = c;
		}
	}
	return NULL;
}
