/* What the integer products share: codes and zero points. */
#include "lower/integer.h"
#include <string.h>
#include "loop/instr.h"
#include "target/target.h"

static int row_for(struct lower *L, enum dtype a, enum dtype b)
{
	return instr_dot(L->p->target ? L->p->target : target_host(), a, b, false);
}

enum dtype int_x_type(struct lower *L) { return !row_for(L, DT_U8, DT_I8) && row_for(L, DT_I8, DT_I8) ? DT_I8 : DT_U8; }

static enum dtype code_type(struct lower *L, uint32_t i) { return i == INT_X ? int_x_type(L) : DT_I8; }

/* From the type of operand i to that of its codes. */
static int shift_of(struct lower *L, uint32_t i)
{
	enum dtype from = low_dtype(L, i), to = code_type(L, i);

	return from == to ? 0 : to == DT_U8 ? 128 : -128;
}

ex_id int_code(struct lower *L, uint32_t i, ex_id e)
{
	int shift = shift_of(L, i);

	return shift ? ex_cast(L->p, code_type(L, i), low_fnc(L, FN_ADD, ex_cast(L->p, DT_I32, e), shift)) : e;
}

buf_id int_codes(struct lower *L, uint32_t i, int axis, int64_t extent)
{
	int rank = low_rank(L, i);
	int64_t shape[LOOP_RANK_MAX], old = L->shape[i][axis];
	poly at[LOOP_RANK_MAX];

	if (!shift_of(L, i) && old == extent)
		return low_buf(L, i);
	memcpy(shape, L->shape[i], sizeof shape);
	shape[axis] = extent;
	stage_id s = low_stage(L, old == extent ? "code" : "pad", code_type(L, i), rank, shape, low_axes(L, rank));
	low_index(L, s, at);
	ex_id e = int_code(L, i, ex_read(L->p, low_buf(L, i), rank, at));
	poly inside = poly_sub(L->p->P, poly_const(L->p->P, old - 1), at[axis]);
	stage_body(L->p, s, COMB_NONE, ex_guard(L->p, 1, &inside, e, low_num(L, e, 0)));
	return lstage(L->p, s)->out;
}

/* Element at of operand z, zero points: one for all, one a row or column, or those of each matrix of a batch. */
static ex_id read_zero(struct lower *L, uint32_t z, poly at, const poly *batch)
{
	poly index[LOOP_RANK_MAX];
	int rank = low_rank(L, z);

	for (int k = 0; k < rank; k++)
		index[k] = L->shape[z][k] == 1 ? poly_const(L->p->P, 0) : batch && k < rank - 2 ? batch[k] : at;
	return ex_cast(L->p, DT_I32, low_read(L, z, index));
}

ex_id int_zero(struct lower *L, uint32_t i, poly at, const poly *batch)
{
	uint32_t z = i == INT_X ? INT_X_ZERO : INT_W_ZERO;
	int shift = shift_of(L, i);
	double c = 0;

	if (!low_has(L, z) || low_scalar(L, z, &c))
		return c + shift ? ex_const_int(L->p, DT_I32, (int64_t)c + shift) : 0;
	ex_id e = read_zero(L, z, at, batch);
	return shift ? low_fnc(L, FN_ADD, e, shift) : e;
}

ex_id int_product(struct lower *L, ex_id a, ex_id b) { return low_fn2(L, FN_MUL, ex_cast(L->p, DT_I32, a), ex_cast(L->p, DT_I32, b)); }

stage_id int_sums(struct lower *L, const char *name, buf_id b, int axis, bool but)
{
	static const char *const names[] = {"k", "s", "t", "u", "v", "k5", "k6", "k7", "k8", "k9", "k10", "k11"};
	struct loop_buf x = *lbuf(L->p, b);
	int64_t shape[LOOP_RANK_MAX];
	poly at[LOOP_RANK_MAX];
	int kept = 0;

	for (int k = 0; k < x.rank; k++)
		if ((k == axis) == but)
			shape[kept++] = x.shape[k];
	stage_id s = low_stage(L, name, DT_I32, kept, shape, low_axes(L, kept));
	for (int k = 0, q = 0, r = 0; k < x.rank; k++)
		at[k] = (k == axis) == but ? stage_axis(L->p, s, q++) : stage_reduce(L->p, s, names[r++], x.shape[k]);
	stage_body(L->p, s, COMB_SUM, ex_cast(L->p, DT_I32, ex_read(L->p, b, x.rank, at)));
	return s;
}

stage_id int_offsets(struct lower *L, stage_id w_sums, ex_id x_zero, int64_t count)
{
	struct loop_buf x = *lbuf(L->p, lstage(L->p, w_sums)->out);
	poly at[LOOP_RANK_MAX];

	stage_id s = low_stage(L, "offset", DT_I32, x.rank, x.shape, low_axes(L, x.rank));
	low_index(L, s, at);
	ex_id y = low_of(L, w_sums, at), w_zero = int_zero(L, INT_W, x.rank ? at[x.rank - 1] : poly_const(L->p->P, 0), at);
	if (w_zero)
		y = low_fn2(L, FN_SUB, y, low_fnc(L, FN_MUL, w_zero, (double)count));
	if (lex(L->p, x_zero)->kind == EX_CONST)
		y = low_fn2(L, FN_MUL, x_zero, y);
	stage_body(L->p, s, COMB_NONE, y);
	return s;
}

ex_id int_less_offset(struct lower *L, ex_id y, ex_id x_zero, ex_id offset)
{
	if (lex(L->p, x_zero)->kind != EX_CONST)
		offset = low_fn2(L, FN_MUL, x_zero, offset);
	return low_fn2(L, FN_SUB, y, offset);
}

/* ---- in i16 ---- */

const char *const int_algos[] = {"words", NULL};

bool int_bytes_fit(struct lower *L) { return row_for(L, int_x_type(L), DT_I8); }

bool int_words_fit(struct lower *L, const char *algo) { return row_for(L, DT_I16, DT_I16) && !int_bytes_fit(L); }

int64_t int_step(struct lower *L, bool words)
{
	int row = words ? row_for(L, DT_I16, DT_I16) : row_for(L, int_x_type(L), DT_I8);

	return row ? instr_row(row)->extent[1] : 1;
}

int64_t int_padded(struct lower *L, int64_t n, int64_t rows)
{
	int matrix = rows > 1 ? instr_matrix(L->p->target ? L->p->target : target_host(), int_x_type(L), DT_I8) : 0;

	return low_in_steps(n, INT_STEP, matrix ? instr_group(matrix) : 0);
}

int64_t int_mixed_step(struct lower *L)
{
	int row = row_for(L, DT_I16, DT_I8);

	return row ? instr_row(row)->extent[1] : 1;
}

const char *int_words_best(struct lower *L) { return int_words_fit(L, int_algos[0]) ? int_algos[0] : ALGO_USUAL; }

enum dtype int_words_weights(struct lower *L)
{
	bool plain = low_const(L, INT_W) && !int_zero(L, INT_W, poly_const(L->p->P, 0), NULL);

	return plain && row_for(L, DT_I16, DT_I8) ? DT_I8 : DT_I16;
}

int64_t int_words_padded(struct lower *L, int64_t n) { return low_in_steps(n, instr_row(row_for(L, DT_I16, DT_I16))->extent[1], 0); }

ex_id int_less_zero(struct lower *L, uint32_t i, ex_id e, poly at, const poly *batch, enum dtype t)
{
	uint32_t z = i == INT_X ? INT_X_ZERO : INT_W_ZERO;
	double c = 0;

	if (low_has(L, z) && (!low_scalar(L, z, &c) || c != 0))
		e = low_fn2(L, FN_SUB, ex_cast(L->p, DT_I32, e), read_zero(L, z, at, batch));
	return ex_cast(L->p, t, e);
}

buf_id int_copies(struct lower *L, uint32_t i, enum dtype t, int axis, int64_t extent, int along)
{
	int rank = low_rank(L, i);
	int64_t shape[LOOP_RANK_MAX];
	poly at[LOOP_RANK_MAX];

	memcpy(shape, L->shape[i], sizeof shape);
	shape[axis] = extent;
	stage_id s = low_stage(L, i == INT_X ? "words" : "wwords", t, rank, shape, low_axes(L, rank));
	low_index(L, s, at);
	ex_id e = int_less_zero(L, i, ex_read(L->p, low_buf(L, i), rank, at), along < 0 ? poly_const(L->p->P, 0) : at[along], at, t);
	poly inside = poly_sub(L->p->P, poly_const(L->p->P, L->shape[i][axis] - 1), at[axis]);
	stage_body(L->p, s, COMB_NONE, ex_guard(L->p, 1, &inside, e, low_num(L, e, 0)));
	return lstage(L->p, s)->out;
}
