/* TopK. An element and its index are packed into one word, which is larger the earlier the element comes in the result: first by the
 * element's rank, then by its index. Candidates are gathered in a buffer; when it is full, all but the best k are dropped. */
#include "native/native.h"

typedef unsigned __int128 topk_wide;

/* Elements of one row: off, off + stride, ... */
struct topk_row {
	const struct native_tensor *x;
	int64_t off, stride, n, k;
	bool largest;
};

/* native_order_of in 32 bits. */
static inline uint32_t topk_order_of(float f)
{
	uint32_t bits;

	f += 0.0f;
	memcpy(&bits, &f, sizeof bits);
	return f != f ? UINT32_MAX : bits ^ ((uint32_t)((int32_t)bits >> 31) | 0x80000000u);
}

static int64_t topk_place_64(uint64_t w) { return UINT32_MAX - (uint32_t)w; }
static int64_t topk_place_128(topk_wide w) { return (int64_t)(UINT64_MAX - (uint64_t)w); }

typedef float topk_floats __attribute__((vector_size(16), aligned(4), may_alias));
typedef int topk_ints __attribute__((vector_size(16)));
typedef long long topk_pair __attribute__((vector_size(16)));
enum { TOPK_STEP = 16, TOPK_BLOCK = 4 * TOPK_STEP };

/* Is it certain that none of the TOPK_STEP elements at p come before `bound`? */
static inline bool topk_none_before(const float *p, topk_floats bound, bool largest)
{
	topk_ints behind = {-1, -1, -1, -1};

	for (int i = 0; i < TOPK_STEP; i += 4) {
		topk_floats x = *(const topk_floats *)(p + i);
		behind &= largest ? x <= bound : x >= bound;
	}
	topk_pair both = (topk_pair)behind;
	return (both[0] & both[1]) == -1;
}

/* The first of elements j to n - 1 that may come before element `last`, or at most TOPK_STEP elements before it. Most do not. */
static int64_t topk_skip(const struct topk_row *r, int64_t j, int64_t last)
{
	const float *p = (const float *)r->x->data + r->off;

	if (r->x->type != NATIVE_F32 || r->stride != 1)
		return j;
	topk_floats bound = {p[last], p[last], p[last], p[last]};
	if (r->largest)
		while (j + TOPK_STEP <= r->n && topk_none_before(p + j, bound, true))
			j += TOPK_STEP;
	else
		while (j + TOPK_STEP <= r->n && topk_none_before(p + j, bound, false))
			j += TOPK_STEP;
	return j;
}

/* Words of those elements j to j + m - 1 that may come before `least`, at w. Returns how many. */
static int topk_words_of_floats(const struct topk_row *r, int64_t j, int m, uint64_t least, uint64_t *w)
{
	const float *p = (const float *)r->x->data + r->off;
	float bound = least ? p[topk_place_64(least) * r->stride] : 0;
	uint32_t flip = r->largest ? 0 : UINT32_MAX, at[TOPK_STEP];
	int n = least ? 0 : m;

	for (int i = 0; i < m; i++) {
		float x = p[(j + i) * r->stride];
		at[n < m ? n : i] = (uint32_t)i;
		n += least && !(r->largest ? x <= bound : x >= bound);
	}
	for (int i = 0; i < n; i++) {
		int64_t k = j + (least ? at[i] : (uint32_t)i);
		w[i] = (uint64_t)(topk_order_of(p[k * r->stride]) ^ flip) << 32 | (UINT32_MAX - (uint64_t)k);
	}
	return n;
}

static int topk_words_64(const struct topk_row *r, int64_t j, int m, uint64_t least, uint64_t *w)
{
	uint32_t flip = r->largest ? 0 : UINT32_MAX, low = native_is_signed(r->x->type) ? 1u << 31 : 0;
	bool whole = native_is_int(r->x->type) || r->x->type == NATIVE_BOOL;
	int n = 0;

	if (r->x->type == NATIVE_F32)
		return topk_words_of_floats(r, j, m, least, w);
	for (int i = 0; i < m; i++) {
		int64_t at = r->off + (j + i) * r->stride;
		uint32_t v = whole ? (uint32_t)native_get_int(r->x->type, r->x->data, at) ^ low
				   : topk_order_of((float)native_get(r->x->type, r->x->data, at));
		w[n] = (uint64_t)(v ^ flip) << 32 | (UINT32_MAX - (uint64_t)(j + i));
		n += w[n] > least;
	}
	return n;
}

static int topk_words_128(const struct topk_row *r, int64_t j, int m, topk_wide least, topk_wide *w)
{
	int n = 0;

	for (int i = 0; i < m; i++) {
		int64_t v = native_order(r->x->type, r->x->data, r->off + (j + i) * r->stride);
		w[n] = (topk_wide)((uint64_t)(r->largest ? v : ~v) ^ 1ull << 63) << 64 | (UINT64_MAX - (uint64_t)(j + i));
		n += w[n] > least;
	}
	return n;
}

/* How many elements are compared together, and how many words the buffer holds. */
static int topk_step_of(const struct topk_row *r) { return r->x->type == NATIVE_F32 ? TOPK_STEP : 4 * TOPK_STEP; }
static int64_t topk_room_of(const struct topk_row *r) { return 2 * (r->k + topk_step_of(r)); }

#define WORD     uint64_t
#define FN(name) topk_##name##_64
#include "native/topk_word.h"
#undef WORD
#undef FN
#define WORD     topk_wide
#define FN(name) topk_##name##_128
#include "native/topk_word.h"
#undef WORD
#undef FN

/* The indices of the k first elements, in order; w: twice topk_room_of words of either type. */
static void topk_front_places(const struct topk_row *r, void *w, int64_t *place)
{
	if (native_size(r->x->type) <= 4 && r->n <= UINT32_MAX) {
		topk_front_64(r, w, (uint64_t *)w + topk_room_of(r));
		for (int64_t j = 0; j < r->k; j++)
			place[j] = topk_place_64(((uint64_t *)w)[j]);
	} else {
		topk_front_128(r, w, (topk_wide *)w + topk_room_of(r));
		for (int64_t j = 0; j < r->k; j++)
			place[j] = topk_place_128(((topk_wide *)w)[j]);
	}
}

/* Copies the elements with those indices. */
static void topk_copy_places(const struct topk_row *r, const int64_t *place, char *y, int64_t *yi, int64_t stride)
{
	size_t size = native_size(r->x->type);
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

NATIVE const char *native_TopK(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	int64_t k = native_number(n, 1, 0), dims[NATIVE_RANK_MAX], inner, outer;
	int axis = native_axis(native_int(n, "axis"), x->rank);
	size_t size = native_size(x->type);

	if (!size || x->type == NATIVE_C64 || x->type == NATIVE_C128)
		return native_no_type();
	if (axis < 0 || k < 0 || k > x->dims[axis])
		return "k or axis does not fit";
	memcpy(dims, x->dims, sizeof *dims * (size_t)x->rank);
	dims[axis] = k;
	char *y = n->room(n, 0, x->type, x->rank, dims);
	int64_t *yi = n->room(n, 1, NATIVE_I64, x->rank, dims);
	outer = native_count_of(axis, x->dims);
	inner = native_count_of(x->rank - axis - 1, x->dims + axis + 1);
	struct topk_row r = {.x = x, .stride = inner, .n = x->dims[axis], .k = k, .largest = native_int(n, "largest") != 0};
	void *w = n->scratch(n, 2 * sizeof(topk_wide) * (size_t)topk_room_of(&r));
	int64_t *place = n->scratch(n, sizeof *place * (size_t)(k + 1));
	if (!y || !yi || !w || !place)
		return native_no_room(n);
	for (int64_t o = 0; o < outer && k; o++)
		for (int64_t i = 0; i < inner; i++) {
			int64_t to = o * k * inner + i;
			r.off = o * r.n * inner + i;
			topk_front_places(&r, w, place);
			topk_copy_places(&r, place, y + (size_t)to * size, yi + to, inner);
		}
	return NULL;
}
