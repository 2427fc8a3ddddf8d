/* TopK. An element and its index are packed into one word, which is larger the earlier the element comes in the result: first by the
 * element's rank, then by its index. Candidates are gathered in a buffer; when it is full, all but the best k are dropped. */
#include "op/rules.h"

static const char *shape_topk(struct infer *I)
{
	int rank = rule_rank(I, 0), axis;
	int64_t a = attr_i(I->n, "axis");

	rule_out(I, 0, I->in[0].dtype, rank, rank < 0 ? NULL : rule_dims(I, rank));
	rule_out(I, 1, DT_I64, rank, rank < 0 ? NULL : rule_dims(I, rank));
	if (rank == RANK_UNKNOWN)
		return NULL;
	if (!rule_axis(a, rank, &axis))
		return rule_why(I, "axis %lld outside rank %d", (long long)a, rank);
	dim *d = rule_dims(I, rank);
	memcpy(d, I->in[0].dims, sizeof *d * (size_t)rank);
	int64_t k, whole;
	bool known = poly_is_const(rule_polys(I), d[axis], &whole);
	d[axis] = I->kin[1].yes && I->kin[1].n == 1 ? I->kin[1].e[0] : POLY_UNKNOWN;
	if (poly_is_const(rule_polys(I), d[axis], &k) && (k < 0 || (known && k > whole)))
		return rule_why(I, "%lld of %s elements", (long long)k, poly_str(rule_polys(I), I->in[0].dims[axis], &I->m->arena));
	rule_out(I, 0, I->in[0].dtype, rank, d);
	rule_out(I, 1, DT_I64, rank, d);
	return NULL;
}

typedef unsigned __int128 wide;

/* Elements of one row: off, off + stride, ... */
struct row {
	const struct tensor *x;
	int64_t off, stride, n, k;
	bool largest;
};

/* As float_rank, in 32 bits. */
static inline uint32_t rank_of_float(float f)
{
	uint32_t bits;

	f += 0.0f;
	memcpy(&bits, &f, sizeof bits);
	return f != f ? UINT32_MAX : bits ^ ((uint32_t)((int32_t)bits >> 31) | 0x80000000u);
}

static int64_t place_64(uint64_t w) { return UINT32_MAX - (uint32_t)w; }
static int64_t place_128(wide w) { return (int64_t)(UINT64_MAX - (uint64_t)w); }

typedef float floats __attribute__((vector_size(16), aligned(4), may_alias));
typedef int ints __attribute__((vector_size(16)));
typedef long long pair __attribute__((vector_size(16)));
enum { STEP = 16 };

/* Is it certain that none of the STEP elements at p come before `bound`? */
static inline bool none_before(const float *p, floats bound, bool largest)
{
	ints behind = {-1, -1, -1, -1};

	for (int i = 0; i < STEP; i += 4) {
		floats x = *(const floats *)(p + i);
		behind &= largest ? x <= bound : x >= bound;
	}
	pair both = (pair)behind;
	return (both[0] & both[1]) == -1;
}

/* The first of elements j to n - 1 that may come before element `last`, or at most STEP elements before it. Most do not. */
static int64_t skip(const struct row *r, int64_t j, int64_t last)
{
	const float *p = (const float *)r->x->data + r->off;

	if (r->x->dtype != DT_F32 || r->stride != 1)
		return j;
	floats bound = {p[last], p[last], p[last], p[last]};
	if (r->largest)
		while (j + STEP <= r->n && none_before(p + j, bound, true))
			j += STEP;
	else
		while (j + STEP <= r->n && none_before(p + j, bound, false))
			j += STEP;
	return j;
}

/* Words of those elements j to j + m - 1 that may come before `least`, at w. Returns how many. */
static int words_of_floats(const struct row *r, int64_t j, int m, uint64_t least, uint64_t *w)
{
	const float *p = (const float *)r->x->data + r->off;
	float bound = least ? p[place_64(least) * r->stride] : 0;
	uint32_t flip = r->largest ? 0 : UINT32_MAX, at[STEP];
	int n = least ? 0 : m;

	for (int i = 0; i < m; i++) {
		float x = p[(j + i) * r->stride];
		at[n < m ? n : i] = (uint32_t)i;
		n += least && !(r->largest ? x <= bound : x >= bound);
	}
	for (int i = 0; i < n; i++) {
		int64_t k = j + (least ? at[i] : (uint32_t)i);
		w[i] = (uint64_t)(rank_of_float(p[k * r->stride]) ^ flip) << 32 | (UINT32_MAX - (uint64_t)k);
	}
	return n;
}

static int words_64(const struct row *r, int64_t j, int m, uint64_t least, uint64_t *w)
{
	int64_t off = r->off + j * r->stride, v[BLOCK];
	uint32_t flip = r->largest ? 0 : UINT32_MAX, low = dtype_is_signed(r->x->dtype) ? 1u << 31 : 0;
	double d[BLOCK];
	int n = 0;

	if (r->x->dtype == DT_F32)
		return words_of_floats(r, j, m, least, w);
	if (dtype_is_float(r->x->dtype) || dtype_is_float8(r->x->dtype)) {
		load_d(r->x, off, r->stride, m, d);
		for (int i = 0; i < m; i++)
			v[i] = rank_of_float((float)d[i]);
	} else {
		load_i(r->x, off, r->stride, m, v);
		for (int i = 0; i < m; i++)
			v[i] = (uint32_t)v[i] ^ low;
	}
	for (int i = 0; i < m; i++) {
		w[n] = (uint64_t)((uint32_t)v[i] ^ flip) << 32 | (UINT32_MAX - (uint64_t)(j + i));
		n += w[n] > least;
	}
	return n;
}

static int words_128(const struct row *r, int64_t j, int m, wide least, wide *w)
{
	int64_t v[BLOCK];
	int n = 0;

	element_ranks(r->x, r->off + j * r->stride, r->stride, m, v);
	for (int i = 0; i < m; i++) {
		w[n] = (wide)((uint64_t)(r->largest ? v[i] : ~v[i]) ^ 1ull << 63) << 64 | (UINT64_MAX - (uint64_t)(j + i));
		n += w[n] > least;
	}
	return n;
}

/* How many elements are compared together, and how many words the buffer holds. */
static int step_of(const struct row *r) { return r->x->dtype == DT_F32 ? STEP : 4 * STEP; }
static int64_t room_of(const struct row *r) { return 2 * (r->k + step_of(r)); }

#define WORD     uint64_t
#define FN(name) name##_64
#include "op/topk_word.h"
#undef WORD
#undef FN
#define WORD     wide
#define FN(name) name##_128
#include "op/topk_word.h"
#undef WORD
#undef FN

/* The indices of the k first elements, in order; w: twice room_of words of either type. */
static void front_places(const struct row *r, void *w, int64_t *place)
{
	if (dtype_size(r->x->dtype) <= 4 && r->n <= UINT32_MAX) {
		front_64(r, w, (uint64_t *)w + room_of(r));
		for (int64_t j = 0; j < r->k; j++)
			place[j] = place_64(((uint64_t *)w)[j]);
	} else {
		front_128(r, w, (wide *)w + room_of(r));
		for (int64_t j = 0; j < r->k; j++)
			place[j] = place_128(((wide *)w)[j]);
	}
}

/* Copies the elements with those indices. */
static void copy_places(const struct row *r, const int64_t *place, char *y, int64_t *yi, int64_t stride)
{
	size_t size = dtype_size(r->x->dtype);
	const char *x = (const char *)r->x->data + (size_t)r->off * size;

	for (int64_t j = 0; j < r->k; j++)
		yi[j * stride] = place[j];
	if (size == 4)
		for (int64_t j = 0; j < r->k; j++)
			((uint32_t *)y)[j * stride] = ((const uint32_t *)x)[place[j] * r->stride];
	else
		for (int64_t j = 0; j < r->k; j++)
			memcpy(y + (size_t)(j * stride) * size, x + (size_t)(place[j] * r->stride) * size, size);
}

static const char *eval_topk(struct eval *e)
{
	const struct tensor *x = e->in[0];
	int64_t k = eval_int(e, 1, 0), dims[RANK_MAX];
	size_t size = dtype_size(x->dtype);
	int axis;

	if (!dtype_fixed(x->dtype) || !rule_axis(attr_i(e->n, "axis"), x->rank, &axis) || k < 0 || k > x->dims[axis])
		return "k, axis or type does not fit";
	memcpy(dims, x->dims, sizeof *dims * (size_t)x->rank);
	dims[axis] = k;
	struct tensor *y = eval_out_raw(e, 0, x->dtype, x->rank, dims), *yi = eval_out_raw(e, 1, DT_I64, x->rank, dims);
	struct axes3 s = split_at(x, axis);
	struct row r = {.x = x, .stride = s.inner, .n = s.n, .k = k, .largest = attr_i(e->n, "largest") != 0};
	void *w = eval_scratch(e, 2 * sizeof(wide) * (size_t)room_of(&r));
	int64_t *place = eval_scratch(e, sizeof *place * (size_t)(k + 1));
	for (int64_t o = 0; o < s.outer && k; o++)
		for (int64_t i = 0; i < s.inner; i++) {
			int64_t to = o * k * s.inner + i;
			r.off = o * s.n * s.inner + i;
			front_places(&r, w, place);
			copy_places(&r, place, tensor_bytes(y) + (size_t)to * size, (int64_t *)yi->data + to, s.inner);
		}
	return NULL;
}

const struct op ops_topk[] = {
	{OP_TopK, shape_topk, eval_topk},
	{0},
};
