/* Operators that copy elements from places that are regular: Transpose, Slice, Expand, Tile, Concat, Split, Pad, ... */
#include "native/moves.h"
#include "native/native.h"

enum { MOVES_AXES = 2 * NATIVE_RANK_MAX };

/* ---- strided copies ---- */

/* Dims of a dense result, outermost first, and steps in the operand, in elements. */
struct moves {
	int rank;
	int64_t dims[MOVES_AXES], stride[MOVES_AXES];
};

static void moves_axis(struct moves *m, int64_t extent, int64_t stride)
{
	m->dims[m->rank] = extent;
	m->stride[m->rank++] = stride;
}

/* Axes of extent one go, and those that are one in memory become one. */
static void moves_merge(struct moves *m)
{
	int kept = 0;

	for (int i = 0; i < m->rank; i++) {
		if (m->dims[i] == 1)
			continue;
		if (kept && m->stride[kept - 1] == m->stride[i] * m->dims[i]) {
			m->dims[kept - 1] *= m->dims[i];
			m->stride[kept - 1] = m->stride[i];
		} else {
			m->dims[kept] = m->dims[i];
			m->stride[kept++] = m->stride[i];
		}
	}
	m->rank = kept;
	if (!kept)
		moves_axis(m, 1, 1);
}

#define MOVES_ROW(T) \
	for (int64_t i = 0; i < count; i++) \
	((T *)to)[i] = ((const T *)from)[i * stride]

static void moves_row(char *to, const char *from, size_t size, int64_t count, int64_t stride)
{
	if (stride == 1) {
		memcpy(to, from, (size_t)count * size);
		return;
	}
	switch (size) {
	case 1: MOVES_ROW(uint8_t); break;
	case 2: MOVES_ROW(uint16_t); break;
	case 4: MOVES_ROW(uint32_t); break;
	case 8: MOVES_ROW(uint64_t); break;
	default:
		for (int64_t i = 0; i < count; i++)
			memcpy(to + (size_t)i * size, from + i * stride * (int64_t)size, size);
	}
}

static void moves_copy(char *to, const char *from, size_t size, struct moves m)
{
	int64_t at[MOVES_AXES] = {0}, offset = 0;
	int last;

	for (int i = 0; i < m.rank; i++)
		if (!m.dims[i])
			return;
	moves_merge(&m);
	last = m.rank - 1;
	for (int k = 0; k >= 0;) {
		moves_row(to, from + offset * (int64_t)size, size, m.dims[last], m.stride[last]);
		to += (size_t)m.dims[last] * size;
		for (k = last - 1; k >= 0; k--) {
			offset += m.stride[k];
			if (++at[k] < m.dims[k])
				break;
			offset -= at[k] * m.stride[k];
			at[k] = 0;
		}
	}
}

static void moves_strides(const struct native_tensor *x, int64_t *stride)
{
	int64_t s = 1;

	for (int i = x->rank - 1; i >= 0; i--) {
		stride[i] = s;
		s = x->dims[i] && s <= INT64_MAX / x->dims[i] ? s * x->dims[i] : 0;
	}
}

/* The whole result 0 from x, from element `first` on. */
static const char *moves_make(struct native *n, int rank, const int64_t *dims, int64_t first, const struct moves *m)
{
	const struct native_tensor *x = &n->in[0];
	size_t size = native_size(x->type);
	char *y = n->room(n, 0, x->type, rank, dims);

	if (!y)
		return native_no_room(n);
	moves_copy(y, (const char *)x->data + first * (int64_t)size, size, *m);
	return NULL;
}

NATIVE const char *native_Transpose(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	const struct native_attr *perm = native_attr(n, "perm");
	int64_t dims[NATIVE_RANK_MAX], from[NATIVE_RANK_MAX];
	struct moves m = {0};

	if (!native_size(x->type))
		return native_no_type();
	if (perm && perm->n != x->rank)
		return "perm does not fit the rank";
	moves_strides(x, from);
	for (int i = 0; i < x->rank; i++) {
		int64_t a = perm ? perm->ints[i] : x->rank - 1 - i;
		if (a < 0 || a >= x->rank)
			return "perm is not a permutation";
		for (int k = 0; perm && k < i; k++)
			if (perm->ints[k] == a)
				return "perm is not a permutation";
		dims[i] = x->dims[a];
		moves_axis(&m, dims[i], from[a]);
	}
	return moves_make(n, x->rank, dims, 0, &m);
}

NATIVE const char *native_Slice(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	const int64_t *starts = NULL, *ends = NULL, *axes = NULL, *steps = NULL;
	int64_t count = native_ints(n, 1, &starts), nends = native_ints(n, 2, &ends), naxes = native_ints(n, 3, &axes),
		nsteps = native_ints(n, 4, &steps), dims[NATIVE_RANK_MAX], stride[NATIVE_RANK_MAX], first = 0;
	bool seen[NATIVE_RANK_MAX] = {0};
	struct moves m = {0};

	if (!native_size(x->type))
		return native_no_type();
	if (count < 0 || nends != count || (naxes >= 0 && naxes != count) || (nsteps >= 0 && nsteps != count) || count > x->rank)
		return "starts, ends, axes and steps are not equally many";
	moves_strides(x, stride);
	if (x->rank)
		memcpy(dims, x->dims, sizeof *dims * (size_t)x->rank);
	for (int i = 0; i < count; i++) {
		int64_t start = starts[i], step = nsteps >= 0 ? steps[i] : 1;
		int axis = native_axis(naxes >= 0 ? axes[i] : i, x->rank);
		if (axis < 0 || !step || seen[axis])
			return "an axis is outside the rank or given twice, or a step is 0";
		seen[axis] = true;
		dims[axis] = moves_clip(x->dims[axis], &start, ends[i], step);
		first += dims[axis] ? start * stride[axis] : 0;
		stride[axis] = dims[axis] > 1 ? stride[axis] * step : 0;
	}
	for (int i = 0; i < x->rank; i++)
		moves_axis(&m, dims[i], stride[i]);
	return moves_make(n, x->rank, dims, first, &m);
}

NATIVE const char *native_Expand(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	const int64_t *shape = NULL;
	int64_t given = native_ints(n, 1, &shape), dims[NATIVE_RANK_MAX], from[NATIVE_RANK_MAX];
	struct moves m = {0};
	int rank;

	if (!native_size(x->type))
		return native_no_type();
	if (given < 0 || given > NATIVE_RANK_MAX)
		return "no shape, or its rank is too large";
	rank = given > x->rank ? (int)given : x->rank;
	moves_strides(x, from);
	for (int i = 0; i < rank; i++) {
		int at = i - (rank - x->rank), to = i - (rank - (int)given);
		int64_t a = at < 0 ? 1 : x->dims[at], b = to < 0 ? 1 : shape[to];
		if (b < 0)
			return native_why(n, "an extent of %lld", (long long)b);
		if (a != b && a != 1 && b != 1)
			return native_why(n, "extents %lld and %lld do not broadcast", (long long)a, (long long)b);
		dims[i] = a == 1 ? b : a;
		moves_axis(&m, dims[i], a == 1 ? 0 : from[at]);
	}
	return moves_make(n, rank, dims, 0, &m);
}

NATIVE const char *native_Tile(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	const int64_t *repeats = NULL;
	int64_t from[NATIVE_RANK_MAX], dims[NATIVE_RANK_MAX];
	struct moves m = {0};

	if (!native_size(x->type))
		return native_no_type();
	if (native_ints(n, 1, &repeats) != x->rank)
		return "repeats do not fit the rank";
	moves_strides(x, from);
	for (int i = 0; i < x->rank; i++) {
		if (repeats[i] < 0)
			return "a repeat is negative";
		if (__builtin_mul_overflow(x->dims[i], repeats[i], &dims[i]))
			return "a result of more elements than can be";
		moves_axis(&m, repeats[i], 0);
		moves_axis(&m, x->dims[i], from[i]);
	}
	return moves_make(n, x->rank, dims, 0, &m);
}

static struct moves moves_six(const int64_t dims[6], const int64_t stride[6])
{
	struct moves m = {0};

	for (int i = 0; i < 6; i++)
		moves_axis(&m, dims[i], stride[i]);
	return m;
}

/* Both ways an image is a tensor of six axes, three of them transposed. */
NATIVE const char *native_DepthToSpace(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	int64_t b = native_int(n, "blocksize");
	bool crd = !strcmp(native_str(n, "mode"), "CRD");

	if (!native_size(x->type))
		return native_no_type();
	if (x->rank != 4 || b < 1 || b > MOVES_BLOCKSIZE_MAX || x->dims[1] % (b * b))
		return "channels do not divide by blocksize squared";
	int64_t N = x->dims[0], C = x->dims[1] / (b * b), H = x->dims[2], W = x->dims[3], p = N && C ? H * W : 0;
	int64_t sc = crd ? b * b * p : p, s1 = crd ? b * p : C * b * p, s2 = crd ? p : C * p;
	struct moves m = moves_six((int64_t[]){N, C, H, b, W, b}, (int64_t[]){C * b * b * p, sc, W, s1, 1, s2});
	return moves_make(n, 4, (int64_t[]){N, C, H * b, W * b}, 0, &m);
}

NATIVE const char *native_SpaceToDepth(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	int64_t b = native_int(n, "blocksize");
	bool crd = !strcmp(native_str(n, "mode"), "CRD");

	if (!native_size(x->type))
		return native_no_type();
	if (x->rank != 4 || b < 1 || b > MOVES_BLOCKSIZE_MAX || x->dims[2] % b || x->dims[3] % b)
		return "the image does not divide by blocksize";
	int64_t N = x->dims[0], C = x->dims[1], H = x->dims[2] / b, W = x->dims[3] / b, row = N && C && H ? W * b : 0;
	struct moves m = crd ? moves_six((int64_t[]){N, C, b, b, H, W}, (int64_t[]){C * H * b * row, H * b * row, row, 1, b * row, b})
			     : moves_six((int64_t[]){N, b, b, C, H, W}, (int64_t[]){C * H * b * row, row, 1, H * b * row, b * row, b});
	return moves_make(n, 4, (int64_t[]){N, C * b * b, H, W}, 0, &m);
}

/* ---- Concat, Split ---- */

NATIVE const char *native_Concat(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	int64_t dims[NATIVE_RANK_MAX] = {0}, outer, inner, done = 0;
	size_t size = native_size(x->type);
	int axis = native_axis(native_int(n, "axis"), x->rank);
	char *y;

	if (!size)
		return native_no_type();
	if (axis < 0)
		return "axis outside the rank";
	memcpy(dims, x->dims, sizeof *dims * (size_t)x->rank);
	dims[axis] = 0;
	for (int i = 0; i < n->nin; i++) {
		const struct native_tensor *t = &n->in[i];
		for (int k = 0; t->rank == x->rank && k < x->rank; k++)
			if (k != axis && t->dims[k] != x->dims[k])
				return native_why(n, "operand %d has another extent at axis %d", i, k);
		if (t->rank != x->rank || t->type != x->type)
			return native_why(n, "operand %d has another rank or type", i);
		if (__builtin_add_overflow(dims[axis], t->dims[axis], &dims[axis]))
			return "a result of more elements than can be";
	}
	if (!(y = n->room(n, 0, x->type, x->rank, dims)))
		return native_no_room(n);
	if (!native_count_of(x->rank, dims))
		return NULL;
	outer = native_count_of(axis, dims);
	inner = native_count_of(x->rank - axis - 1, dims + axis + 1);
	for (int i = 0; i < n->nin; i++) {
		size_t run = (size_t)(n->in[i].dims[axis] * inner) * size;
		for (int64_t o = 0; o < outer; o++)
			memcpy(y + (size_t)(o * dims[axis] * inner + done) * size, (const char *)n->in[i].data + (size_t)o * run, run);
		done += n->in[i].dims[axis] * inner;
	}
	return NULL;
}

/* The extent of part i of an axis of extent d split evenly into so many: the last may be smaller. */
static int64_t moves_chunk(int64_t d, int64_t parts, int64_t i)
{
	int64_t chunk = d / parts + (d % parts > 0), left = d - chunk * i;

	return left < 0 ? 0 : left < chunk ? left : chunk;
}

NATIVE const char *native_Split(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	const int64_t *sizes = NULL;
	int64_t count = native_ints(n, 1, &sizes), dims[NATIVE_RANK_MAX], outer, inner, whole, done = 0;
	size_t size = native_size(x->type);
	int axis = native_axis(native_int(n, "axis"), x->rank);

	if (!size)
		return native_no_type();
	if (axis < 0 || (count >= 0 && count != n->nout))
		return "axis outside the rank, or sizes do not fit the results";
	memcpy(dims, x->dims, sizeof *dims * (size_t)x->rank);
	whole = x->dims[axis];
	outer = native_count(x) ? native_count_of(axis, x->dims) : 0;
	inner = outer ? native_count_of(x->rank - axis - 1, x->dims + axis + 1) : 0;
	for (int i = 0; i < n->nout; i++) {
		dims[axis] = count >= 0 ? sizes[i] : moves_chunk(whole, n->nout, i);
		if (dims[axis] < 0 || dims[axis] > whole - done)
			return "the sizes do not add up to the extent";
		char *y = n->room(n, i, x->type, x->rank, dims);
		if (!y)
			return native_no_room(n);
		size_t run = (size_t)(dims[axis] * inner) * size;
		for (int64_t o = 0; o < outer && native_wants(n, i); o++)
			memcpy(y + (size_t)o * run, (const char *)x->data + (size_t)((o * whole + done) * inner) * size, run);
		done += dims[axis];
	}
	return done == whole ? NULL : "the sizes do not add up to the extent";
}

/* ---- Pad: a table per axis says where each index comes from ---- */

/* Index in what is padded for index i of the result, along an axis of extent n padded by b at its begin; -1: the fill value. */
static int64_t moves_source(char mode, int64_t i, int64_t b, int64_t n)
{
	int64_t at = i - b;

	if (at >= 0 && at < n)
		return at;
	switch (mode) {
	case 'e': return at < 0 ? 0 : n - 1;
	case 'w': return n ? ((at % n) + n) % n : -1;
	case 'r': {
		int64_t period = n > 1 ? 2 * (n - 1) : 1;
		if (at < 0 ? -at < n : at - period <= 0 && at >= n) /* once */
			return at < 0 ? -at : period - at;
		at = ((at % period) + period) % period;
		return at < n ? at : period - at;
	}
	default: return -1;
	}
}

/* What negative pads leave of an axis; it is cropped first, then padded. */
struct moves_crop {
	int64_t begin, extent; /* of the operand */
	int64_t before;        /* elements that are put before it */
};

static struct moves_crop moves_crop(int64_t extent, int64_t begin, int64_t end)
{
	struct moves_crop c = {.begin = begin < 0 ? -begin : 0, .before = begin > 0 ? begin : 0};

	c.extent = extent - c.begin + (end < 0 ? end : 0);
	c.extent = c.extent < 0 ? 0 : c.extent;
	return c;
}

/* Crop of each axis, and the result's dims. */
static const char *moves_pads(struct native *n, char mode, struct moves_crop *crop, int64_t *dims)
{
	const struct native_tensor *x = &n->in[0];
	const int64_t *pads = NULL, *axes = NULL;
	int64_t count = native_ints(n, 1, &pads), naxes = native_ints(n, 3, &axes);
	bool seen[NATIVE_RANK_MAX] = {0};

	naxes = naxes < 0 ? x->rank : naxes;
	if (count != 2 * naxes || naxes > x->rank)
		return "pads do not fit the axes";
	for (int k = 0; k < x->rank; k++) {
		dims[k] = x->dims[k];
		crop[k] = moves_crop(x->dims[k], 0, 0);
	}
	for (int64_t i = 0; i < naxes; i++) {
		int axis = native_axis(axes ? axes[i] : i, x->rank);
		if (axis < 0 || seen[axis])
			return "an axis is outside the rank or given twice";
		seen[axis] = true;
		if (__builtin_add_overflow(dims[axis], pads[i], &dims[axis]) ||
		    __builtin_add_overflow(dims[axis], pads[naxes + i], &dims[axis]) || dims[axis] < 0)
			return "pads leave a negative extent";
		crop[axis] = moves_crop(x->dims[axis], pads[i], pads[naxes + i]);
		if (dims[axis] && !crop[axis].extent && mode != 'c')
			return "pads leave nothing to repeat";
	}
	return NULL;
}

/* Of an axis: where each index comes from; from `first` on, `run` of them are those of the operand from `begin` on, and have no entry. */
struct moves_pad {
	int64_t *source, count, first, run, begin;
};

/* whole: of all indices. NULL: no memory. */
static const int64_t *moves_pad_axis(struct native *n, struct moves_pad *p, char mode, const struct moves_crop *c, bool whole)
{
	p->first = whole ? 0 : c->before < p->count ? c->before : p->count;
	p->run = whole ? 0 : c->extent < p->count - p->first ? c->extent : p->count - p->first;
	p->begin = p->run ? c->begin : 0;
	if (!(p->source = n->scratch(n, sizeof *p->source * (size_t)p->count)))
		return NULL;
	for (int64_t i = 0; i < p->count; i += i == p->first && p->run ? p->run : 1)
		if (i != p->first || !p->run) {
			int64_t at = moves_source(mode, i, c->before, c->extent);
			p->source[i] = at < 0 ? at : at + c->begin;
		}
	return p->source;
}

static inline void moves_each(char *to, const char *from, size_t size, int64_t n, const int64_t *source, const char *fill)
{
	for (int64_t i = 0; i < n; i++)
		memcpy(to + (size_t)i * size, source[i] < 0 ? fill : from + (size_t)source[i] * size, size);
}

/* n elements about the run. */
static void moves_border(char *to, const char *from, size_t size, int64_t n, const int64_t *source, const char *fill)
{
	switch (size) {
	case 1: moves_each(to, from, 1, n, source, fill); break;
	case 2: moves_each(to, from, 2, n, source, fill); break;
	case 4: moves_each(to, from, 4, n, source, fill); break;
	case 8: moves_each(to, from, 8, n, source, fill); break;
	default: moves_each(to, from, size, n, source, fill);
	}
}

/* A line of the result, from the one at `from`. */
static void moves_padded_row(char *to, const char *from, size_t size, const struct moves_pad *p, const char *fill)
{
	int64_t after = p->first + p->run;

	moves_border(to, from, size, p->first, p->source, fill);
	memcpy(to + (size_t)p->first * size, from + (size_t)p->begin * size, (size_t)p->run * size);
	moves_border(to + (size_t)after * size, from, size, p->count - after, p->source + after, fill);
}

NATIVE const char *native_Pad(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	int64_t dims[NATIVE_RANK_MAX + 1] = {1}, from[NATIVE_RANK_MAX + 1], at[NATIVE_RANK_MAX] = {0}, count;
	struct moves_crop crop[NATIVE_RANK_MAX + 1];
	struct moves_pad pad[NATIVE_RANK_MAX + 1];
	char mode = *native_str(n, "mode"), zero[16] = {0}, *y;
	size_t size = native_size(x->type);
	int last = x->rank - 1;
	const char *why = size ? moves_pads(n, mode, crop, dims) : native_no_type(), *fill = native_has(n, 2) ? n->in[2].data : zero;

	if (why)
		return why;
	if (native_has(n, 2) && (n->in[2].type != x->type || native_count(&n->in[2]) < 1))
		return "the value does not fit the operand";
	if (!(y = n->room(n, 0, x->type, x->rank, dims)))
		return native_no_room(n);
	if (!(count = native_count_of(x->rank, dims)))
		return NULL;
	moves_strides(x, from);
	for (int k = 0; k < x->rank; k++) {
		pad[k].count = dims[k];
		if (!moves_pad_axis(n, &pad[k], mode, &crop[k], k < last))
			return native_no_room(n);
	}
	if (!x->rank)
		memcpy(y, x->data, size);
	for (int64_t rows = x->rank ? count / dims[last] : 0; rows > 0; rows--, y += (size_t)dims[last] * size) {
		int64_t offset = 0;
		for (int k = 0; offset >= 0 && k < last; k++)
			offset = pad[k].source[at[k]] < 0 ? -1 : offset + pad[k].source[at[k]] * from[k];
		if (offset >= 0)
			moves_padded_row(y, (const char *)x->data + (size_t)offset * size, size, &pad[last], fill);
		else
			for (int64_t i = 0; i < dims[last]; i++)
				memcpy(y + (size_t)i * size, fill, size);
		for (int k = last - 1; k >= 0 && ++at[k] == dims[k]; k--)
			at[k] = 0;
	}
	return NULL;
}

/* ---- Trilu, ReverseSequence ---- */

NATIVE const char *native_Trilu(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	bool upper = native_int(n, "upper");
	int64_t k = native_number(n, 1, 0), count = native_count(x);
	size_t size = native_size(x->type);
	char *y;

	if (x->rank < 2 || !size)
		return "takes matrices of numbers";
	if (!(y = n->room(n, 0, x->type, x->rank, x->dims)))
		return native_no_room(n);
	int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
	for (int64_t i = 0; i < count; i++) {
		int64_t off = i % columns - i / columns % rows;
		if (upper ? off >= k : off <= k)
			memcpy(y + (size_t)i * size, (const char *)x->data + (size_t)i * size, size);
		else
			memset(y + (size_t)i * size, 0, size);
	}
	return NULL;
}

NATIVE const char *native_ReverseSequence(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	int64_t b = native_int(n, "batch_axis"), t = native_int(n, "time_axis");
	const int64_t *length = NULL;
	size_t size = native_size(x->type), run;
	char *y;

	if (x->rank < 2 || b < 0 || b > 1 || t != 1 - b || !size || native_ints(n, 1, &length) != x->dims[b])
		return "axes or lengths do not fit";
	for (int64_t i = 0; i < x->dims[b]; i++)
		if (length[i] < 0 || length[i] > x->dims[t])
			return "a length is outside the time axis";
	if (!(y = n->room(n, 0, x->type, x->rank, x->dims)))
		return native_no_room(n);
	if (!native_count(x))
		return NULL;
	run = (size_t)native_count_of(x->rank - 2, x->dims + 2) * size;
	for (int64_t i = 0; i < x->dims[0]; i++)
		for (int64_t j = 0; j < x->dims[1]; j++, y += run) {
			int64_t batch = b ? j : i, time = b ? i : j, source = time < length[batch] ? length[batch] - 1 - time : time;
			int64_t si = b ? source : i, sj = b ? j : source;
			memcpy(y, (const char *)x->data + (size_t)(si * x->dims[1] + sj) * run, run);
		}
	return NULL;
}
