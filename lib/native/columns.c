/* Col2Im: blocks added up where they lie in the image. */
#include "native/native.h"

enum { COLUMNS_AXES = 16 };

struct columns {
	int axes;
	int64_t image[COLUMNS_AXES], block[COLUMNS_AXES], count[COLUMNS_AXES], stride[COLUMNS_AXES], dilation[COLUMNS_AXES],
		pad[COLUMNS_AXES];
	int64_t size, taps, blocks; /* elements of an image and of a block, and how many blocks there are */
};

static bool columns_small(int64_t x, int64_t least) { return x >= least && x <= INT32_MAX; }

static const char *columns_axis(const struct native *n, struct columns *c, int a)
{
	int64_t end = native_int_at(n, "pads", c->axes + a), extent;

	c->image[a] = native_get_int(n->in[1].type, n->in[1].data, a);
	c->block[a] = native_get_int(n->in[2].type, n->in[2].data, a);
	c->stride[a] = native_int_at(n, "strides", a);
	c->dilation[a] = native_int_at(n, "dilations", a);
	c->pad[a] = native_int_at(n, "pads", a);
	if (!columns_small(c->image[a], 0) || !columns_small(c->block[a], 1) || !columns_small(c->stride[a], 1) ||
	    !columns_small(c->dilation[a], 1) || !columns_small(c->pad[a], 0) || !columns_small(end, 0))
		return native_why((struct native *)n, "image, block, stride, dilation or padding of axis %d", a);
	extent = c->image[a] + c->pad[a] + end - c->dilation[a] * (c->block[a] - 1) - 1;
	c->count[a] = extent < 0 ? 0 : extent / c->stride[a] + 1;
	if (__builtin_mul_overflow(c->size, c->image[a], &c->size) || __builtin_mul_overflow(c->taps, c->block[a], &c->taps) ||
	    __builtin_mul_overflow(c->blocks, c->count[a], &c->blocks))
		return "the image is too large";
	return NULL;
}

static const char *columns_read(const struct native *n, struct columns *c)
{
	const char *why;

	*c = (struct columns){.axes = (int)native_count(&n->in[1]), .size = 1, .taps = 1, .blocks = 1};
	if (n->in[0].rank != 3 || native_count(&n->in[1]) < 1 || native_count(&n->in[1]) > COLUMNS_AXES ||
	    native_count(&n->in[2]) != c->axes)
		return "blocks and shapes do not fit each other";
	for (int a = 0; a < c->axes; a++)
		if ((why = columns_axis(n, c, a)))
			return why;
	if (n->in[0].dims[1] % c->taps || n->in[0].dims[2] != c->blocks)
		return native_why((struct native *)n, "%lld rows of %lld are not the blocks of such an image", (long long)n->in[0].dims[1],
				  (long long)n->in[0].dims[2]);
	return NULL;
}

/* Where the first element of a tap, along all axes but the last, lies in the image for a row of blocks; -1: outside. */
static int64_t columns_line(const struct columns *c, int64_t tap, int64_t line)
{
	int64_t at = 0, step = c->image[c->axes - 1];

	tap /= c->block[c->axes - 1];
	for (int a = c->axes - 2; a >= 0; a--) {
		int64_t i = line % c->count[a] * c->stride[a] - c->pad[a] + tap % c->block[a] * c->dilation[a];
		if (i < 0 || i >= c->image[a])
			return -1;
		at += i * step;
		step *= c->image[a];
		line /= c->count[a];
		tap /= c->block[a];
	}
	return at;
}

#define COLUMNS_ADD(name, T, OP) \
	static void columns_##name(const struct columns *c, const void *from, void *to) \
	{ \
		const T *x = (const T *)from; \
		T *y = (T *)to; \
		int last = c->axes - 1; \
		int64_t lines = c->count[last] ? c->blocks / c->count[last] : 0; \
		for (int64_t tap = 0; tap < c->taps; tap++) \
			for (int64_t line = 0; line < lines; line++, x += c->count[last]) { \
				int64_t at = columns_line(c, tap, line); \
				int64_t first = tap % c->block[last] * c->dilation[last] - c->pad[last]; \
				for (int64_t i = 0; at >= 0 && i < c->count[last]; i++, first += c->stride[last]) \
					if (first >= 0 && first < c->image[last]) \
						y[at + first] = (T)(y[at + first] OP x[i]); \
			} \
	}
COLUMNS_ADD(f32, float, +)
COLUMNS_ADD(f64, double, +)
COLUMNS_ADD(u8, uint8_t, +)
COLUMNS_ADD(u16, uint16_t, +)
COLUMNS_ADD(u32, uint32_t, +)
COLUMNS_ADD(u64, uint64_t, +)
COLUMNS_ADD(bool, uint8_t, |)

typedef void columns_add(const struct columns *, const void *, void *);

static columns_add *columns_of(int type)
{
	switch (type) {
	case NATIVE_F32: return columns_f32;
	case NATIVE_F64:
	case NATIVE_F16:
	case NATIVE_BF16: return columns_f64;
	case NATIVE_BOOL: return columns_bool;
	case NATIVE_U8:
	case NATIVE_I8: return columns_u8;
	case NATIVE_U16:
	case NATIVE_I16: return columns_u16;
	case NATIVE_U32:
	case NATIVE_I32: return columns_u32;
	case NATIVE_U64:
	case NATIVE_I64: return columns_u64;
	default: return NULL;
	}
}

NATIVE const char *native_Col2Im(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	bool small = x->type == NATIVE_F16 || x->type == NATIVE_BF16;
	columns_add *add = columns_of(x->type);
	int64_t dims[COLUMNS_AXES + 2], channels;
	struct columns c;
	const char *why = columns_read(n, &c), *from = x->data;

	if (why)
		return why;
	if (!add)
		return native_no_type();
	channels = x->dims[1] / c.taps;
	dims[0] = x->dims[0];
	dims[1] = channels;
	memcpy(dims + 2, c.image, (size_t)c.axes * sizeof *dims);
	void *y = n->room(n, 0, x->type, c.axes + 2, dims), *sums = y;
	size_t count = (size_t)(x->dims[0] * channels * c.size), size = small ? sizeof(double) : native_size(x->type);
	if (small) {
		from = (const char *)native_doubles(n, x);
		sums = n->scratch(n, count * size);
	}
	if (!y || !from || !sums)
		return native_no_room(n);
	memset(sums, 0, count * size);
	for (int64_t i = 0; i < x->dims[0] * channels; i++)
		add(&c, from + (size_t)(i * c.taps * c.blocks) * size, (char *)sums + (size_t)(i * c.size) * size);
	if (small)
		native_store(x->type, y, 0, (int64_t)count, sums);
	return NULL;
}
