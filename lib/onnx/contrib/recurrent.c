/* DynamicQuantizeLSTM: an LSTM with weights of codes, whose input and states are rounded to bytes. The input's product is one of integers for all
 * steps, MatMulInteger; hone.DynamicQuantizeLSTM rounds the states. */
#include "onnx/contrib/rows.h"

/* Operands of com.microsoft's operator. */
enum { X, W, R, LENGTHS = 4, STATES = 8, W_SCALE = 8, R_SCALE = 10, ALL = 12 };

/* Constant weights [directions, rows, columns]; a scale and a zero point are of a direction, or of a column. */
struct weights {
	struct tensor *codes, *scale, *zero;
	int64_t dirs, rows, columns;
};

/* False: an operand is no constant, or they do not fit each other. */
static bool weights_read(struct contrib *x, uint32_t i, uint32_t scale, struct weights *w)
{
	struct tensor *t[3];

	for (uint32_t k = 0; k < 3; k++)
		if (!(t[k] = node_const(x->m, self(x), k ? scale + k - 1 : i)))
			return false;
	if (t[0]->rank != 3)
		return false;
	*w = (struct weights){t[0], t[1], t[2], t[0]->dims[0], t[0]->dims[1], t[0]->dims[2]};
	for (int k = 1; k < 3; k++)
		if (t[k]->dims[0] != w->dirs || (t[k]->rank == 2 && t[k]->dims[1] != w->columns))
			return false;
	for (int k = 0; k < 3; k++)
		tensor_data(x->m, t[k]);
	return true;
}

/* The number of direction d and column c in the scales or zero points t. */
static double of_column(const struct weights *w, const struct tensor *t, int64_t d, int64_t c)
{
	return tensor_get(t, t->rank == 2 ? d * w->columns + c : d);
}

static double weight_code(const struct weights *w, int64_t d, int64_t r, int64_t c)
{
	return tensor_get(w->codes, (d * w->rows + r) * w->columns + c);
}

/* True if all codes less their zero points are bytes with a sign. */
static bool weights_fit(const struct weights *w)
{
	for (int64_t d = 0; d < w->dirs; d++)
		for (int64_t c = 0; c < w->columns; c++) {
			double zero = of_column(w, w->zero, d, c);
			for (int64_t r = 0; r < w->rows; r++)
				if (weight_code(w, d, r, c) - zero < INT8_MIN || weight_code(w, d, r, c) - zero > INT8_MAX)
					return false;
		}
	return true;
}

/* Scales or zero points of the columns of all directions side by side, of type t. */
static val_id side_by_side(struct contrib *x, const struct weights *w, const struct tensor *of, enum dtype t)
{
	struct tensor *to = tensor_new(&x->m->arena, t, 1, (int64_t[]){w->dirs * w->columns});

	for (int64_t i = 0; i < w->dirs * w->columns; i++)
		tensor_set(to, i, of_column(w, of, i / w->columns, i % w->columns));
	return const_tensor(x->m, 0, to);
}

/* The products of the input's codes q, which have one scale and zero point, with W of all directions: [steps, sequences, directions * 4 *
 * hidden]. */
static val_id input_gates(struct contrib *x, const struct weights *w, val_id q, val_id scale, val_id zero)
{
	bool fit = weights_fit(w);
	enum dtype t = fit ? DT_I8 : w->codes->dtype;
	struct tensor *to = tensor_new(&x->m->arena, t, 2, (int64_t[]){w->rows, w->dirs * w->columns});
	bool one = w->dirs == 1 && w->scale->rank == 1;

	for (int64_t r = 0; r < w->rows; r++)
		for (int64_t d = 0; d < w->dirs; d++)
			for (int64_t c = 0; c < w->columns; c++)
				tensor_set(to, (r * w->dirs + d) * w->columns + c,
					   weight_code(w, d, r, c) - (fit ? of_column(w, w->zero, d, c) : 0));
	val_id of_w = one ? contrib_scalar(x, DT_F32, of_column(w, w->scale, 0, 0)) : side_by_side(x, w, w->scale, DT_F32);
	val_id product[] = {q, const_tensor(x->m, 0, to), zero, fit ? 0 : side_by_side(x, w, w->zero, t)};
	val_id sums = contrib_cast(x, make(x, OP_MatMulInteger, 4, product), DT_F32);
	return bin(x, OP_Mul, sums, bin(x, OP_Mul, scale, of_w));
}

/* R's codes less their zero points, [directions, 4 * hidden, hidden], and its scale [directions, 1 or 4 * hidden], into in[R] and in[STATES]. False:
 * they do not fit bytes. */
static bool state_codes(struct contrib *x, const struct weights *w, val_id *in)
{
	struct tensor *to, *by;

	if (!weights_fit(w))
		return false;
	to = tensor_new(&x->m->arena, DT_I8, 3, (int64_t[]){w->dirs, w->columns, w->rows});
	for (int64_t d = 0; d < w->dirs; d++)
		for (int64_t c = 0; c < w->columns; c++)
			for (int64_t r = 0; r < w->rows; r++)
				tensor_set(to, (d * w->columns + c) * w->rows + r, weight_code(w, d, r, c) - of_column(w, w->zero, d, c));
	by = tensor_new(&x->m->arena, w->scale->dtype, 2, (int64_t[]){w->dirs, w->scale->rank == 2 ? w->columns : 1});
	for (int64_t i = 0; i < tensor_count(by); i++)
		tensor_set(by, i, tensor_get(w->scale, i));
	in[R] = const_tensor(x->m, 0, to);
	in[STATES] = const_tensor(x->m, 0, by);
	return true;
}

/* Constant weights as numbers, [directions, columns, rows], as LSTM has them. */
static val_id constant_numbers(struct contrib *x, const struct weights *w)
{
	struct tensor *to = tensor_new(&x->m->arena, DT_F32, 3, (int64_t[]){w->dirs, w->columns, w->rows});

	for (int64_t d = 0; d < w->dirs; d++)
		for (int64_t c = 0; c < w->columns; c++) {
			double s = of_column(w, w->scale, d, c), z = of_column(w, w->zero, d, c);
			for (int64_t r = 0; r < w->rows; r++)
				tensor_set(to, (d * w->columns + c) * w->rows + r, (weight_code(w, d, r, c) - z) * s);
		}
	return const_tensor(x->m, 0, to);
}

/* Weights of operand i that a run gives, as numbers in the same form. */
static val_id numbers(struct contrib *x, uint32_t i, uint32_t scale)
{
	val_id s = operand(x, scale), z = operand(x, scale + 1), v = contrib_cast(x, operand(x, i), DT_F32);
	int64_t axes[] = {1, 2};

	for (int k = 0; k < 2; k++) {
		val_id p = k ? s : contrib_cast(x, z, DT_F32);
		int rank = contrib_rank(x, k ? s : z);
		p = bin(x, OP_Unsqueeze, p, contrib_ints(x, rank == 1 ? 2 : 1, axes));
		v = bin(x, k ? OP_Mul : OP_Sub, v, p);
	}
	return contrib_transposed(x, v, 3, (int64_t[]){0, 2, 1});
}

/* The input's codes, scale and zero point: one scale for all steps that the longest sequence has. */
static void input_codes(struct contrib *x, val_id *all)
{
	val_id v = operand(x, X), lengths = operand(x, LENGTHS), seen = v;
	node_id q;

	if (lengths) {
		val_id longest = un(x, OP_ReduceMax, contrib_cast(x, lengths, DT_I64));
		longest = contrib_reshaped(x, longest, 1, (int64_t[]){1});
		seen = contrib_part(x, v, 0, contrib_ints(x, 1, (int64_t[]){0}), longest);
	}
	q = node_new(x->m, self(x)->graph, OP_DynamicQuantizeLinear, 1, &seen, 3);
	for (int k = 0; k < 3; k++)
		all[k] = node(x->m, q)->out[k];
	if (lengths)
		all[0] = tri(x, OP_QuantizeLinear, v, all[1], all[2]);
}

static bool dynamic_lstm(struct contrib *x)
{
	static const char *const names[] = {"activation_alpha", "activation_beta", "activations",  "clip",
					    "direction",        "hidden_size",     "input_forget", NULL};
	val_id in[STATES + 1] = {0}, q[3];
	struct weights w;

	for (uint32_t i = W_SCALE; i < ALL; i++)
		if (!operand(x, i))
			import_die(x->c, "operand %u is not there", i);
	for (uint32_t i = W_SCALE; i < ALL; i++)
		if (contrib_rank(x, operand(x, i)) < 1 || contrib_rank(x, operand(x, i)) > 2)
			return false;
	for (uint32_t i = R + 1; i < STATES; i++)
		in[i] = operand(x, i);
	input_codes(x, q);
	if (weights_read(x, W, W_SCALE, &w)) {
		in[X] = input_gates(x, &w, q[0], q[1], q[2]);
	} else {
		in[X] = tri(x, OP_DequantizeLinear, q[0], q[1], q[2]);
		in[W] = numbers(x, W, W_SCALE);
	}
	if (!weights_read(x, R, R_SCALE, &w))
		in[R] = numbers(x, R, R_SCALE);
	else if (!state_codes(x, &w, in))
		in[R] = constant_numbers(x, &w);
	uint32_t nin = STATES + 1;
	while (!in[nin - 1])
		nin--;
	node_id id = node_new(x->m, self(x)->graph, OP_DynamicQuantizeLSTM, (int)nin, in, 3);
	for (int k = 0; names[k]; k++) {
		const struct attr *a = attr_find(self(x), names[k]);
		if (a)
			attr_set(x->m, id, *a);
	}
	val_id y[3] = {node(x->m, id)->out[0], node(x->m, id)->out[1], node(x->m, id)->out[2]};
	for (uint32_t k = 0; k < 3; k++)
		also(x, k, y[k]);
	return true;
}

const struct contrib_row contrib_recurrent[] = {
	{"DynamicQuantizeLSTM", 3, dynamic_lstm},
	{0},
};
