/* Products of com.microsoft: of transposed operands, and with an activation behind them. */
#include "onnx/contrib/rows.h"

/* Operand i with its axes as the attributes have it: axis 0 behind the batch, and then the last two exchanged. *ok: false if its rank is
 * not known. */
static val_id turned(struct contrib *x, uint32_t i, const char *last, const char *batch, bool *ok)
{
	int rank = contrib_rank(x, operand(x, i));
	bool swap = attr_int(self(x), last, 0), move = attr_int(self(x), batch, 0);
	int64_t perm[8], t;

	if ((!swap && !move) || (rank >= 0 && rank < 2))
		return operand(x, i);
	if (rank < 0 || rank > 8) {
		*ok = false;
		return 0;
	}
	for (int k = 0; k < rank; k++)
		perm[k] = !move || k == rank - 1 ? k : k == rank - 2 ? 0 : k + 1;
	if (swap) {
		t = perm[rank - 1];
		perm[rank - 1] = perm[rank - 2];
		perm[rank - 2] = t;
	}
	return contrib_transposed(x, operand(x, i), rank, perm);
}

static bool fused_matmul(struct contrib *x)
{
	double alpha = attr_float(self(x), "alpha", 1);
	enum dtype t = contrib_type(x, operand(x, 0))->dtype;
	bool ok = contrib_activation_known(x) && (alpha == 1 || t);
	val_id a = turned(x, 0, "transA", "transBatchA", &ok), b = turned(x, 1, "transB", "transBatchB", &ok), y;

	if (!ok)
		return false;
	y = bin(x, OP_MatMul, a, b);
	if (alpha != 1)
		y = bin(x, OP_Mul, y, contrib_scalar(x, t, alpha));
	return done(x, contrib_activated(x, y));
}

static bool fused_gemm(struct contrib *x)
{
	val_id y;

	if (!contrib_activation_known(x))
		return false;
	y = tri(x, OP_Gemm, operand(x, 0), operand(x, 1), operand(x, 2));
	keep(x, y, "alpha");
	keep(x, y, "beta");
	keep(x, y, "transA");
	keep(x, y, "transB");
	return done(x, contrib_activated(x, y));
}

const struct contrib_row contrib_products[] = {
	{"FusedGemm", 2, fused_gemm},
	{"FusedMatMul", 2, fused_matmul},
	{"FusedMatMulActivation", 2, fused_matmul},
	{"TransposeMatMul", 2, fused_matmul},
	{0},
};
