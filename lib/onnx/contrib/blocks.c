/* Codes in blocks of com.microsoft: tables of them, and weights of 4-bit floats. n_bits.c has the product with integers. */
#include "onnx/contrib/rows.h"

struct table {
	int rank, bits;
	bool packed;     /* several codes are in a byte, along the last axis, the lowest bits first */
	enum dtype type; /* of the codes as they become */
	int zero;        /* zero point, if none is given */
	int64_t gather, quantise, block;
};

static bool read_table(struct contrib *x, struct table *b)
{
	val_id codes = operand(x, 0), zeros = operand(x, 3);
	enum dtype t = contrib_type(x, codes)->dtype;

	*b = (struct table){.rank = contrib_rank(x, codes), .bits = (int)attr_int(self(x), "bits", 4)};
	if (b->rank < 1 || contrib_rank(x, operand(x, 2)) != b->rank || (t != DT_U8 && t != DT_I4 && t != DT_U4) ||
	    (zeros && (contrib_type(x, zeros)->dtype != t || contrib_rank(x, zeros) != b->rank)))
		return false;
	b->gather = attr_int(self(x), "gather_axis", 0);
	b->quantise = attr_int(self(x), "quantize_axis", 1);
	b->block = attr_int(self(x), "block_size", 128);
	if (b->gather < -b->rank || b->gather >= b->rank || b->quantise < -b->rank || b->quantise >= b->rank || b->block < 16 ||
	    (b->block & (b->block - 1)) || (t == DT_U8 && b->bits != 2 && b->bits != 4 && b->bits != 8))
		import_die(x->c, "gather_axis %lld, quantize_axis %lld, block_size %lld, bits %d of a table of rank %d",
			   (long long)b->gather, (long long)b->quantise, (long long)b->block, b->bits, b->rank);
	b->gather += b->gather < 0 ? b->rank : 0;
	b->quantise += b->quantise < 0 ? b->rank : 0;
	b->packed = t == DT_U8 && b->bits < 8;
	b->type = t == DT_I4 ? DT_I8 : DT_U8;
	b->zero = t == DT_U8 ? 1 << (b->bits - 1) : 0;
	return !b->packed || b->gather != b->rank - 1;
}

static val_id gathered(struct contrib *x, const struct table *b, val_id v)
{
	return with_int(x, bin(x, OP_Gather, v, operand(x, 1)), "axis", b->gather);
}

/* Codes of v, of `rank` axes, a byte each. */
static val_id unpacked(struct contrib *x, const struct table *b, val_id v, int rank)
{
	int64_t dims[RANK_MAX] = {0}, last = -1;
	val_id part[4], mask = contrib_scalar(x, DT_U8, (1 << b->bits) - 1);
	int per = 8 / b->bits;

	if (!b->packed)
		return v;
	for (int k = 0; k < per; k++) {
		part[k] = v;
		if (k) {
			part[k] = bin(x, OP_BitShift, v, contrib_scalar(x, DT_U8, k * b->bits));
			attr_set_str(x->m, made(x, part[k]), "direction", "RIGHT");
		}
		part[k] = bin(x, OP_Unsqueeze, bin(x, OP_BitwiseAnd, part[k], mask), contrib_ints(x, 1, &last));
	}
	dims[rank - 1] = -1;
	return contrib_reshaped(x, contrib_joined(x, per, part, -1), rank, dims);
}

static val_id decoded(struct contrib *x, const struct table *b, val_id codes, val_id scales, val_id zeros, int64_t axis)
{
	val_id v = tri(x, OP_DequantizeLinear, codes, scales, zeros);

	with_int(x, v, "axis", axis);
	return with_int(x, v, "block_size", b->block);
}

/* Zero points that all have one value, of the scales' shape. */
static val_id same_zeros(struct contrib *x, const struct table *b, val_id scales)
{
	return b->zero ? contrib_filled_like(x, scales, b->type, b->zero) : 0;
}

/* Rows are taken as they are in the file, and decoded then; along the axis of the blocks it is the other way. Of the types of 4 bits ONNX has
 * no Gather: their codes become bytes. */
static bool gather_blocks(struct contrib *x)
{
	struct table b;
	int irank = contrib_rank(x, operand(x, 1)), rank;
	val_id codes = operand(x, 0), scales = operand(x, 2), zeros = operand(x, 3);

	if (irank < 0 || !read_table(x, &b) || (rank = b.rank + irank - 1) > RANK_MAX)
		return false;
	codes = contrib_cast(x, codes, b.type);
	zeros = zeros ? contrib_cast(x, zeros, b.type) : 0;
	if (b.gather == b.quantise)
		return done(x, gathered(x, &b, decoded(x, &b, codes, scales, zeros ? zeros : same_zeros(x, &b, scales), b.quantise)));
	codes = unpacked(x, &b, gathered(x, &b, codes), rank);
	scales = gathered(x, &b, scales);
	if (zeros) {
		zeros = unpacked(x, &b, gathered(x, &b, zeros), rank);
		if (b.packed)
			zeros = contrib_part(x, zeros, -1, contrib_ints(x, 1, (int64_t[]){0}), contrib_size(x, scales, -1));
	} else {
		zeros = same_zeros(x, &b, scales);
	}
	return done(x, decoded(x, &b, codes, scales, zeros, b.quantise > b.gather ? b.quantise + irank - 1 : b.quantise));
}

/* ---- MatMulBnb4 ---- */

/* What a code of 4 bits stands for, a share of the block's largest number: FP4 and NF4 as bitsandbytes has them. */
static const float fp4[16] = {0,     0.00520833333F,  0.66666667F,  1,  0.33333333F,  0.5F,  0.16666667F,  0.25F,
			      -0.0F, -0.00520833333F, -0.66666667F, -1, -0.33333333F, -0.5F, -0.16666667F, -0.25F};
static const float nf4[16] = {-1,
			      -0.6961928009986877F,
			      -0.5250730514526367F,
			      -0.39491748809814453F,
			      -0.28444138169288635F,
			      -0.18477343022823334F,
			      -0.09105003625154495F,
			      0,
			      0.07958029955625534F,
			      0.16093020141124725F,
			      0.24611230194568634F,
			      0.33791524171829224F,
			      0.44070982933044434F,
			      0.5626170039176941F,
			      0.7229568362236023F,
			      1};

/* Weights [N, K] as numbers; two are in a byte, the first in the upper half. Blocks go on from row to row. */
static bool matmul_bnb4(struct contrib *x)
{
	int64_t n = attr_int(self(x), "N", 0), k = attr_int(self(x), "K", 0), block = attr_int(self(x), "block_size", 0),
		kind = attr_int(self(x), "quant_type", 0);
	struct tensor *codes = node_const(x->m, self(x), 1), *most = node_const(x->m, self(x), 2), *w;
	const float *table = kind ? nf4 : fp4;
	bool transposed = attr_int(self(x), "transB", 1);

	if (!codes || !most)
		return false;
	if (n < 1 || k < 1 || n > INT32_MAX || k > INT32_MAX || block < 16 || block & (block - 1) || kind < 0 || kind > 1)
		import_die(x->c, "N %lld, K %lld, block_size %lld, quant_type %lld", (long long)n, (long long)k, (long long)block,
			   (long long)kind);
	if (codes->dtype != DT_U8 || !dtype_is_float(most->dtype) || tensor_count(codes) != (n * k + 1) / 2 ||
	    tensor_count(most) != (n * k + block - 1) / block)
		import_die(x->c, "N, K and block_size do not fit the weights");
	tensor_data(x->m, codes);
	tensor_data(x->m, most);
	w = tensor_new(&x->m->arena, most->dtype, 2, (int64_t[]){n, k});
	for (int64_t i = 0; i < n * k; i++)
		tensor_set(w, i,
			   (double)table[((const uint8_t *)codes->data)[i / 2] >> (i % 2 ? 0 : 4) & 15] * tensor_get(most, i / block));
	val_id v = const_tensor(x->m, 0, w);
	return done(x, bin(x, OP_MatMul, operand(x, 0), transposed ? contrib_transposed(x, v, 2, (int64_t[]){1, 0}) : v));
}

const struct contrib_row contrib_blocks[] = {
	{"GatherBlockQuantized", 3, gather_blocks},
	{"MatMulBnb4", 3, matmul_bnb4},
	{"MatMulNBits", 3, contrib_matmul_n_bits},
	{0},
};
