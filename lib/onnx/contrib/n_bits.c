/* MatMulNBits of the domain com.microsoft: y = x W' + bias, W of N rows of K numbers in few bits. Each block of a row has a scale and
 * perhaps a zero point. In ONNX's words: MatMul(x, Transpose(DequantizeLinear(codes, scales, zero points))), in blocks.
 *
 * Where g_idx says which block an element is of, the columns of W and x are put in the order of the blocks; if blocks are then not whole,
 * each element is a block of its own. Zero points that are no integers are not in the product: what they take away from it is the sum of
 * x over each block, times them and the scales. */
#include <math.h>
#include <string.h>
#include "onnx/contrib/rows.h"

struct blocks {
	int64_t N, K, block, count, bits; /* count: blocks of a row */
	const int32_t *of;                /* block of each element; NULL: in order */
	int32_t *order;                   /* which element stands at each place; NULL: as they are */
	struct tensor *w, *scale, *zero;  /* zero: NULL, or there is none */
};

static bool is_power_of_two(int64_t n) { return n > 0 && !(n & (n - 1)); }

/* false: not in a form that ONNX has words for. */
static bool read_attributes(struct contrib *x, struct blocks *b)
{
	*b = (struct blocks){attr_int(self(x), "N", 0), attr_int(self(x), "K", 0), attr_int(self(x), "block_size", 0), 0,
			     attr_int(self(x), "bits", 4)};
	if ((b->bits != 2 && b->bits != 4 && b->bits != 8) || attr_int(self(x), "weight_prepacked", 0))
		return false;
	if (b->N < 1 || b->K < 1 || b->block < 16 || b->N > INT32_MAX || b->K > INT32_MAX || b->block > INT32_MAX ||
	    !is_power_of_two(b->block))
		import_die(x->c, "N %lld, K %lld, block_size %lld; takes 1 and more, and blocks of 16, 32, 64 and so on", (long long)b->N,
			   (long long)b->K, (long long)b->block);
	b->count = (b->K + b->block - 1) / b->block;
	return true;
}

static int64_t bytes_of(const struct blocks *b, int64_t n) { return (n * b->bits + 7) / 8; }
static int64_t row_bytes(const struct blocks *b) { return bytes_of(b, b->count * b->block); }

/* Operand i is a constant of n elements of type t (DT_NONE: of any float), or die. */
static struct tensor *constant(struct contrib *x, uint32_t i, enum dtype t, int64_t n)
{
	struct tensor *c = node_const(x->m, self(x), i);

	if (t ? c->dtype != t : !dtype_is_float(c->dtype))
		import_die(x->c, "operand %u is %s, takes %s", i, dtype_name(c->dtype), t ? dtype_name(t) : "a float");
	if (tensor_count(c) != n)
		import_die(x->c, "operand %u has %lld elements; K, N, bits and block_size make %lld", i, (long long)tensor_count(c),
			   (long long)n);
	import_bytes(x->c, c);
	return c;
}

static bool read_operands(struct contrib *x, struct blocks *b)
{
	for (uint32_t i = 1; i < 5; i++)
		if ((i < 3 || operand(x, i)) && !node_const(x->m, self(x), i))
			return false;
	struct tensor *z = operand(x, 3) ? node_const(x->m, self(x), 3) : NULL;
	if (z && z->dtype != DT_U8 && !dtype_is_float(z->dtype))
		return false;
	b->w = constant(x, 1, DT_U8, b->N * row_bytes(b));
	b->scale = constant(x, 2, DT_NONE, b->N * b->count);
	if (z)
		b->zero = constant(x, 3, z->dtype, b->N * (z->dtype == DT_U8 ? bytes_of(b, b->count) : b->count));
	if (operand(x, 4))
		b->of = constant(x, 4, DT_I32, b->K)->data;
	for (int64_t k = 0; b->of && k < b->K; k++)
		if (b->of[k] < 0 || b->of[k] >= b->count)
			import_die(x->c, "operand 4 has %d; there are %lld blocks", b->of[k], (long long)b->count);
	return true;
}

/* Element i of row n of rows of `row` bytes, the lowest bits first. */
static int code_at(const struct blocks *b, const struct tensor *t, int64_t row, int64_t n, int64_t i)
{
	int64_t bit = i * b->bits;

	return ((const uint8_t *)t->data)[n * row + bit / 8] >> bit % 8 & ((1 << b->bits) - 1);
}

static double zero_at(const struct blocks *b, int64_t n, int64_t i)
{
	if (!b->zero)
		return 1 << (b->bits - 1);
	return b->zero->dtype == DT_U8 ? code_at(b, b->zero, bytes_of(b, b->count), n, i) : tensor_get(b->zero, n * b->count + i);
}

/* ---- the order of the elements ---- */

/* Elements by block. Are all blocks whole, but the last? Else they stay as they are. */
static void sort(struct contrib *x, struct blocks *b)
{
	int64_t *next = xcalloc((size_t)b->count + 1, sizeof *next);
	bool whole = true, sorted = true;

	for (int64_t k = 0; k < b->K; k++) {
		next[b->of[k] + 1]++;
		sorted &= b->of[k] == k / b->block;
	}
	for (int64_t i = 0; i < b->count; i++)
		next[i + 1] += next[i];
	for (int64_t i = 0; i < b->count; i++)
		whole &= next[i] == i * b->block;
	if (whole && !sorted) {
		b->order = ARENA_ARRAY(&x->m->arena, int32_t, b->K);
		for (int64_t k = 0; k < b->K; k++)
			b->order[next[b->of[k]]++] = (int32_t)k;
	}
	if (whole)
		b->of = NULL;
	free(next);
}

/* ---- what is made ---- */

/* Of the result: blocks a row, and elements in each. */
static int64_t blocks_made(const struct blocks *b) { return b->of ? b->K : b->count; }
static int64_t block_made(const struct blocks *b) { return b->of ? 1 : b->block; }

/* Which of the operands' blocks block i of the result is. */
static int64_t block_of(const struct blocks *b, int64_t i) { return b->of ? b->of[i] : i; }

static bool zeros_are_codes(const struct blocks *b)
{
	for (int64_t n = 0; n < b->N; n++)
		for (int64_t i = 0; i < b->count; i++) {
			double z = zero_at(b, n, i);
			if (!(z >= 0 && z < 1 << b->bits && z == floor(z)))
				return false;
		}
	return true;
}

/* A constant of the result that is being filled, two axes. less: a number that is taken from codes or zero points. */
struct filling {
	const struct blocks *b;
	int less;
	struct tensor *to; /* without its bytes */
};

/* They are most of a model: none stays in memory. */
static val_id filled(struct contrib *x, const struct blocks *b, int less, enum dtype t, int64_t rows, int64_t columns,
		     void (*fill)(const void *of, void *out))
{
	struct tensor *to = ARENA_NEW(&x->m->arena, struct tensor);

	to->dtype = t;
	to->rank = 2;
	to->dims = arena_copy(&x->m->arena, (int64_t[]){rows, columns}, 2 * sizeof *to->dims);
	to->nbytes = (size_t)rows * (size_t)columns * dtype_size(t);
	import_fill(x->c, to, true, fill, &(struct filling){b, less, to});
	return const_tensor(x->m, 0, to);
}

/* f's constant with bytes at `out`. */
static struct tensor at(const struct filling *f, void *out)
{
	struct tensor t = *f->to;

	t.data = out;
	return t;
}

static void fill_codes(const void *of, void *out)
{
	const struct filling *f = of;
	const struct blocks *b = f->b;

	for (int64_t n = 0; n < b->N; n++)
		for (int64_t k = 0; k < b->K; k++)
			((uint8_t *)out)[n * b->K + k] = (uint8_t)(code_at(b, b->w, row_bytes(b), n, b->order ? b->order[k] : k) - f->less);
}

/* Codes [N, K], less a zero point that all have. */
static val_id codes(struct contrib *x, const struct blocks *b, int less)
{
	enum dtype t = b->bits <= 4 ? (less ? DT_I4 : DT_U4) : less ? DT_I8 : DT_U8;

	return filled(x, b, less, t, b->N, b->K, fill_codes);
}

static void fill_zero_codes(const void *of, void *out)
{
	const struct blocks *b = ((const struct filling *)of)->b;
	int64_t count = blocks_made(b);

	for (int64_t n = 0; n < b->N; n++)
		for (int64_t i = 0; i < count; i++)
			((uint8_t *)out)[n * count + i] = (uint8_t)zero_at(b, n, block_of(b, i));
}

static val_id zero_codes(struct contrib *x, const struct blocks *b)
{
	return filled(x, b, 0, b->bits <= 4 ? DT_U4 : DT_U8, b->N, blocks_made(b), fill_zero_codes);
}

static void fill_scales(const void *of, void *out)
{
	const struct filling *f = of;
	const struct blocks *b = f->b;
	struct tensor to = at(f, out);
	int64_t count = blocks_made(b);

	for (int64_t n = 0; n < b->N; n++)
		for (int64_t i = 0; i < count; i++)
			tensor_set(&to, n * count + i, tensor_get(b->scale, n * b->count + block_of(b, i)));
}

static val_id scales(struct contrib *x, const struct blocks *b)
{
	return filled(x, b, 0, b->scale->dtype, b->N, blocks_made(b), fill_scales);
}

static void fill_scaled_zeros(const void *of, void *out)
{
	const struct filling *f = of;
	const struct blocks *b = f->b;
	struct tensor to = at(f, out);

	for (int64_t i = 0; i < blocks_made(b); i++)
		for (int64_t n = 0; n < b->N; n++)
			tensor_set(&to, i * b->N + n,
				   (zero_at(b, n, block_of(b, i)) - f->less) * tensor_get(b->scale, n * b->count + block_of(b, i)));
}

/* Zero points, less what is in the codes, times scales: [count, N]. */
static val_id scaled_zeros(struct contrib *x, const struct blocks *b, int less)
{
	return filled(x, b, less, b->scale->dtype, blocks_made(b), b->N, fill_scaled_zeros);
}

/* The elements of v's rows in their order. */
static val_id ordered(struct contrib *x, const struct blocks *b, val_id v)
{
	if (!b->order)
		return v;
	v = bin(x, OP_Gather, v, const_copy(x->m, 0, DT_I32, 1, (int64_t[]){b->K}, b->order, sizeof *b->order * (size_t)b->K));
	attr_set_int(x->m, made(x, v), "axis", -1);
	return v;
}

/* The sums of v's rows over each block: [rows, count]. */
static val_id block_sums(struct contrib *x, const struct blocks *b, val_id v)
{
	int64_t count = blocks_made(b), block = block_made(b), more = count * block - b->K;

	if (more)
		v = make(x, OP_Pad, 4, (val_id[]){v, contrib_ints(x, 2, (int64_t[]){0, more}), 0, contrib_ints(x, 1, (int64_t[]){-1})});
	v = bin(x, OP_Reshape, v, contrib_ints(x, 3, (int64_t[]){-1, count, block}));
	v = bin(x, OP_ReduceSum, v, contrib_ints(x, 1, (int64_t[]){-1}));
	attr_set_int(x->m, made(x, v), "keepdims", 0);
	return v;
}

static val_id product(struct contrib *x, const struct blocks *b)
{
	bool in_codes = zeros_are_codes(b);
	int less = b->zero && in_codes ? 0 : 1 << (b->bits - 1);
	val_id v = ordered(x, b, operand(x, 0));
	val_id d = make(x, OP_DequantizeLinear, 3, (val_id[]){codes(x, b, less), scales(x, b), less ? 0 : zero_codes(x, b)});

	attr_set_int(x->m, made(x, d), "axis", 1);
	attr_set_int(x->m, made(x, d), "block_size", block_made(b));
	if (attr_int(self(x), "accuracy_level", 0) == 4)
		attr_set_int(x->m, made(x, d), "accuracy_level", 4);
	d = un(x, OP_Transpose, d);
	attr_set_ints(x->m, made(x, d), "perm", 2, (int64_t[]){1, 0});
	d = bin(x, OP_MatMul, v, d);
	if (!in_codes) {
		val_id away = bin(x, OP_MatMul, block_sums(x, b, v), scaled_zeros(x, b, less));
		d = bin(x, OP_Sub, d, bin(x, OP_Reshape, away, un(x, OP_Shape, d)));
	}
	return d;
}

bool contrib_matmul_n_bits(struct contrib *x)
{
	struct blocks b;
	val_id d = 0;

	if (!read_attributes(x, &b))
		return false;
	if (read_operands(x, &b)) {
		if (b.of)
			sort(x, &b);
		d = product(x, &b);
	}
	import_return(x->c, b.w);
	import_return(x->c, b.scale);
	import_return(x->c, b.zero);
	return d && done(x, operand(x, 5) ? bin(x, OP_Add, d, operand(x, 5)) : d);
}
