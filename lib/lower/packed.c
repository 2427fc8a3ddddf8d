/* Products with weights of few bits. */
#include "lower/packed.h"
#include <float.h>
#include <string.h>
#include "loop/instr.h"
#include "op/rules.h"
#include "sched/schedule.h"
#include "target/target.h"

enum { IN_WORD = 8 }; /* codes of 4 bits in an i32 */

/* The node of the group that makes v, if it is such a one. */
static const struct node *made_by(struct lower *L, val_id v, enum opcode op)
{
	const struct value *x = val(L->m, v);

	return x->kind == VAL_NODE && node(L->m, x->def)->op == op ? node(L->m, x->def) : NULL;
}

/* The rows of the lowering column look at one node: for a while another one than that at hand. */
struct view {
	const struct node *n;
	int64_t (*shape)[LOOP_RANK_MAX];
};

static struct view look_at(struct lower *L, const struct packed *q)
{
	struct view old = {L->n, L->shape};

	L->n = q->node;
	L->shape = q->shape;
	return old;
}

static void look_back(struct lower *L, struct view old)
{
	L->n = old.n;
	L->shape = old.shape;
}

static bool constant(struct lower *L, uint32_t i) { return !low_has(L, i) || low_const(L, i); }

/* Are scales along the columns, or blocks of them, and not along what is summed up in another way? */
static bool fits(struct lower *L, struct packed *q)
{
	enum dtype t = low_dtype(L, 0);
	int axis, summed = q->turned;

	if (low_rank(L, 0) != 2 || !constant(L, 0) || !constant(L, 1) || !constant(L, 2) || low_out_dtype(L, 0) != DT_F32)
		return false;
	if (!dtype_is_int4(t) && t != DT_U8 && t != DT_I8)
		return false;
	q->words = dtype_is_int4(t);
	q->K = q->shape[0][summed];
	q->N = q->shape[0][!summed];
	q->block = q->K;
	if (low_count(L, 1) > 1) {
		int64_t block = attr_i(L->n, "block_size");
		if (!low_axis(attr_i(L->n, "axis"), 2, &axis) || (block ? axis != summed : axis == summed))
			return false;
		q->block = block > 0 && block < q->K ? block : q->K;
	}
	q->count = (q->K + q->block - 1) / q->block;
	return q->K > 1 && q->N > 1;
}

/* All codes without a sign: those of i4 are moved by this. */
static int moved(enum dtype t) { return t == DT_I4 ? 8 : 0; }

/* Code k of a column, in its place in the word or byte that it shares. */
static void put_code(const struct packed *q, void *to, int64_t k, int64_t i, uint8_t c)
{
	int64_t half = q->block / 2;

	if (q->digits)
		((uint8_t *)to)[(k / q->block * half + k % half) * q->N + i] |= (uint8_t)(c << (k % q->block < half ? 0 : 4));
	else if (q->words)
		((uint32_t *)to)[k / IN_WORD * q->N + i] |= (uint32_t)c << 4 * (k % IN_WORD);
	else
		((uint8_t *)to)[k * q->N + i] = c;
}

static void fill_codes(struct lower *L, const struct packed *q, void *to)
{
	struct tensor *t = low_const(L, 0);
	const uint8_t *p = tensor_data(L->m, t);
	int64_t along = q->turned ? 1 : q->N, across = q->turned ? q->K : 1;

	for (int64_t k = 0; k < q->K; k++)
		for (int64_t i = 0; i < q->N; i++) {
			uint8_t c = p[k * along + i * across];
			put_code(q, to, k, i, q->words ? (c + moved(t->dtype)) & 15 : c);
		}
}

/* A constant of codes in whole blocks; without contents where only a sketch is asked for. */
static buf_id codes_of(struct lower *L, const struct packed *q)
{
	int64_t K = q->count * q->block, shape[] = {q->digits ? K / 2 : q->words ? (K + IN_WORD - 1) / IN_WORD : K, q->N};
	enum dtype t = q->digits ? DT_U8 : q->words ? DT_I32 : low_dtype(L, 0);
	size_t size = (size_t)(shape[0] * shape[1]) * dtype_size(t);
	void *data = L->sketch ? NULL : arena_alloc(&L->m->arena, size);

	if (data) {
		memset(data, 0, size);
		fill_codes(L, q, data);
	}
	buf_id b = buf_new(L->p, "codes", t, SCOPE_CONST, 2, shape);
	lbuf(L->p, b)->data = data;
	lbuf(L->p, b)->operand = (int)L->cvals.n;
	vec_push(&L->cvals, const_new(L->m, 0, t, 2, shape, data, size));
	return b;
}

/* Finds the form, no more. */
static bool find_form(struct lower *L, bool turned, int64_t rows, struct packed *q)
{
	val_id v = L->n->in[1];
	const struct node *t = made_by(L, v, OP_Transpose);

	if (rows < 1 || schedule_widens(rows) == WIDEN_AT_BUILD || low_dtype(L, 0) != DT_F32 || low_rank(L, 1) != 2)
		return false;
	*q = (struct packed){.turned = turned};
	if (t) {
		int n;
		const int64_t *perm = attr_ints(t, "perm", &n);
		q->turned ^= !perm || perm[0] == 1;
		v = t->in[0];
	}
	if (!(q->node = made_by(L, v, OP_DequantizeLinear)))
		return false;
	q->shape = arena_alloc(&L->p->arena, sizeof *q->shape * q->node->nin);
	for (uint32_t i = 0; i < q->node->nin; i++)
		if (q->node->in[i])
			type_dims(L->m, &val(L->m, q->node->in[i])->type, q->shape[i]);
	struct view old = look_at(L, q);
	bool yes = fits(L, q);
	look_back(L, old);
	return yes;
}

bool packed_find(struct lower *L, bool turned, int64_t rows, bool digits, struct packed *q)
{
	if (!find_form(L, turned, rows, q))
		return false;
	struct view old = look_at(L, q);
	q->digits = digits;
	q->as_is = !q->words && (q->K % q->block == 0 || rows > 1);
	q->codes = q->as_is ? low_buf(L, 0) : codes_of(L, q);
	look_back(L, old);
	return true;
}

bool packed_digits_pay(struct lower *L, bool turned, int64_t rows)
{
	return packed_digits_fit(L, turned, rows) && schedule_digits_pay(L->out_shape[0][low_out_rank(L, 0) - 1]);
}

bool packed_digits_fit(struct lower *L, bool turned, int64_t rows)
{
	enum { SUMMED = 4, HALVES = 2 }; /* products of an instruction, for each half of a byte */
	const struct target *t = L->p->target ? L->p->target : target_host();
	struct packed q;

	return rows == 1 && find_form(L, turned, rows, &q) && q.words && q.count > 1 && q.block % (HALVES * SUMMED) == 0 &&
	       instr_nibbles(t);
}

/* Code (k, n), in f32. */
static ex_id code_at(struct lower *L, const struct packed *q, poly k, poly n)
{
	struct polys *P = L->p->P;
	bool turned = q->turned && q->as_is;
	poly at[] = {turned ? n : k, turned ? k : n}, word[] = {poly_floordiv(P, k, IN_WORD), n};

	if (!q->words)
		return ex_cast(L->p, DT_F32, ex_read(L->p, q->codes, 2, at));
	ex_id bit = ex_index(L->p, DT_I32, poly_mulc(P, poly_mod(P, k, IN_WORD), 4));
	return ex_cast(L->p, DT_F32, low_fn2(L, FN_NIBBLE, ex_read(L->p, q->codes, 2, word), bit));
}

/* Operand i of the DequantizeLinear (scale, zero point) of element (k, n), in f32. */
static ex_id grid_at(struct lower *L, const struct packed *q, uint32_t i, poly k, poly n)
{
	poly at[] = {q->turned ? n : k, q->turned ? k : n};
	struct view old = look_at(L, q);
	ex_id e = low_has(L, i) ? low_float(L, low_grid(L, i, at)) : ex_const(L->p, DT_F32, 0);

	if (i == 2 && moved(low_dtype(L, 0)))
		e = lex(L->p, e)->kind == EX_CONST ? low_num(L, e, lex(L->p, e)->c + moved(low_dtype(L, 0)))
						   : low_fnc(L, FN_ADD, e, moved(low_dtype(L, 0)));
	look_back(L, old);
	return e;
}

static bool is_zero(struct lower *L, ex_id e) { return lex(L->p, e)->kind == EX_CONST && lex(L->p, e)->c == 0; }

static ex_id packed_weight(struct lower *L, const struct packed *q, poly k, poly n)
{
	ex_id x = code_at(L, q, k, n), zero = grid_at(L, q, 2, k, n);

	if (!is_zero(L, zero))
		x = low_fn2(L, FN_SUB, x, zero);
	return low_fn2(L, FN_MUL, x, grid_at(L, q, 1, k, n));
}

ex_id packed_read(struct lower *L, struct packed *q, int64_t rows, poly k, poly n)
{
	poly at[2];

	if (schedule_widens(rows) == WIDEN_WHERE_READ)
		return packed_weight(L, q, k, n);
	stage_id s = low_stage(L, "weights", DT_F32, 2, (int64_t[]){q->K, q->N}, "k n");
	low_index(L, s, at);
	stage_body(L->p, s, COMB_NONE, packed_weight(L, q, at[0], at[1]));
	vec_push(&L->late, lstage(L->p, s)->out);
	return low_of(L, s, (poly[]){k, n});
}

/* Element k of the row, which is of operand 0; 0 beyond its end. */
static ex_id row_at(struct lower *L, const struct packed *q, int axis, poly k)
{
	poly at[LOOP_RANK_MAX];

	for (int i = 0; i < low_rank(L, 0); i++)
		at[i] = i == axis ? k : poly_const(L->p->P, 0);
	return q->K % q->block ? low_read_fill(L, 0, at, 0) : low_read(L, 0, at);
}

/* The row with zeros behind it, so that all its blocks are whole. */
static buf_id whole_blocks(struct lower *L, const struct packed *q, int axis)
{
	stage_id s = low_stage(L, "pad", DT_F32, 1, (int64_t[]){q->count * q->block}, "k");

	stage_body(L->p, s, COMB_NONE, row_at(L, q, axis, stage_axis(L->p, s, 0)));
	return lstage(L->p, s)->out;
}

static ex_id padded_at(struct lower *L, const struct packed *q, buf_id pad, int axis, poly k)
{
	return pad ? ex_read(L->p, pad, 1, &k) : row_at(L, q, axis, k);
}

static poly in_block(struct lower *L, const struct packed *q, poly block, poly k)
{
	return poly_add(L->p->P, poly_mulc(L->p->P, block, q->block), k);
}

/* The sums of a row's blocks. */
static stage_id row_sums(struct lower *L, const struct packed *q, buf_id pad, int axis)
{
	stage_id s = low_stage(L, "xsum", DT_F32, 1, (int64_t[]){q->count}, "b");
	poly k = in_block(L, q, stage_axis(L->p, s, 0), stage_reduce(L->p, s, "k", q->block));

	stage_body(L->p, s, COMB_SUM, padded_at(L, q, pad, axis, k));
	return s;
}

/* Products of a row's blocks and their codes, in f32. */
static stage_id block_products(struct lower *L, const struct packed *q, buf_id pad, int axis)
{
	stage_id s = low_stage(L, "block", DT_F32, 2, (int64_t[]){q->count, q->N}, "b n");
	poly k = in_block(L, q, stage_axis(L->p, s, 0), stage_reduce(L->p, s, "k", q->block));

	stage_body(L->p, s, COMB_SUM, low_fn2(L, FN_MUL, padded_at(L, q, pad, axis, k), code_at(L, q, k, stage_axis(L->p, s, 1))));
	return s;
}

/* ---- the row as digits ---- */

enum { DIGITS = 3, BASE = 254, FIRST = 127 }; /* digits are of -127 to 127 */

/* The largest magnitudes of a row's blocks. */
static stage_id block_tops(struct lower *L, const struct packed *q, buf_id pad, int axis)
{
	stage_id s = low_stage(L, "top", DT_F32, 1, (int64_t[]){q->count}, "b");
	poly k = in_block(L, q, stage_axis(L->p, s, 0), stage_reduce(L->p, s, "k", q->block));

	stage_body(L->p, s, COMB_MAX, low_fn1(L, FN_ABS, padded_at(L, q, pad, axis, k)));
	return s;
}

/* [digit, block, k]. What a digit leaves of its number is the fraction that the next one is of, times the base. */
static stage_id row_digits(struct lower *L, const struct packed *q, buf_id pad, int axis, stage_id top)
{
	stage_id level = low_stage(L, "level", DT_F32, 2, (int64_t[]){q->count, q->block}, "b k");
	poly at[3];

	low_index(L, level, at);
	ex_id least = low_fnc(L, FN_MAX, low_of(L, top, at), FLT_MIN);
	ex_id x = low_fn2(L, FN_DIV, padded_at(L, q, pad, axis, in_block(L, q, at[0], at[1])), least);
	stage_body(L->p, level, COMB_NONE, low_fnc(L, FN_MUL, x, FIRST));
	stage_id s = low_stage(L, "digit", DT_I8, 3, (int64_t[]){DIGITS, q->count, q->block}, "d b k");
	low_index(L, s, at);
	ex_id rest = low_of(L, level, at + 1), digit[DIGITS], y = 0;
	for (int d = 0; d < DIGITS; d++) {
		digit[d] = low_fn1(L, FN_ROUND, rest);
		rest = low_fnc(L, FN_MUL, low_fn2(L, FN_SUB, rest, digit[d]), BASE);
	}
	for (int d = DIGITS - 1; d >= 0; d--) {
		poly not_after = poly_sub(L->p->P, poly_const(L->p->P, d), at[0]);
		y = y ? ex_guard(L->p, 1, &not_after, digit[d], y) : digit[d];
	}
	stage_body(L->p, s, COMB_NONE, ex_cast(L->p, DT_I8, y));
	return s;
}

static ex_id half_of_byte(struct lower *L, ex_id byte, int bit)
{
	return low_fn2(L, FN_NIBBLE, ex_cast(L->p, DT_I32, byte), ex_const_int(L->p, DT_I32, bit));
}

/* [block, digit, column]: products of each digit. */
static stage_id digit_products(struct lower *L, const struct packed *q, stage_id digit)
{
	stage_id s = low_stage(L, "block", DT_I32, 3, (int64_t[]){q->count, DIGITS, q->N}, "b d n");
	struct polys *P = L->p->P;
	int64_t half = q->block / 2;
	poly b = stage_axis(L->p, s, 0), d = stage_axis(L->p, s, 1), k = stage_reduce(L->p, s, "k", half);
	poly code[] = {poly_add(P, poly_mulc(P, b, half), k), stage_axis(L->p, s, 2)}, low[] = {d, b, k},
	     high[] = {d, b, poly_addc(P, k, half)};
	ex_id byte = ex_read(L->p, q->codes, 2, code);

	ex_id x = low_fn2(L, FN_MUL, ex_cast(L->p, DT_I32, low_of(L, digit, low)), half_of_byte(L, byte, 0));
	ex_id y = low_fn2(L, FN_MUL, ex_cast(L->p, DT_I32, low_of(L, digit, high)), half_of_byte(L, byte, 4));
	stage_body(L->p, s, COMB_SUM, low_fn2(L, FN_ADD, x, y));
	return s;
}

/* What 1 in the first digit of a block's numbers stands for: NaN where one of them is no number. */
static stage_id units(struct lower *L, const struct packed *q, stage_id top, stage_id xs)
{
	stage_id s = low_stage(L, "unit", DT_F32, 1, (int64_t[]){q->count}, "b");
	poly b = stage_axis(L->p, s, 0);
	ex_id none = low_fnc(L, FN_MUL, low_of(L, xs, &b), 0);

	stage_body(L->p, s, COMB_NONE, low_fn2(L, FN_ADD, low_fnc(L, FN_MUL, low_of(L, top, &b), 1.0 / FIRST), none));
	return s;
}

static ex_id of_digits(struct lower *L, stage_id part, stage_id unit, poly b, poly n)
{
	double weight = 1;
	ex_id y = 0;

	for (int d = 0; d < DIGITS; d++, weight /= BASE) {
		ex_id x = ex_cast(L->p, DT_F32, low_of(L, part, (poly[]){b, poly_const(L->p->P, d), n}));
		y = y ? low_fn2(L, FN_ADD, y, low_fnc(L, FN_MUL, x, weight)) : x;
	}
	return low_fn2(L, FN_MUL, y, low_of(L, unit, &b));
}

/* ---- the product ---- */

stage_id packed_row(struct lower *L, const struct packed *q, const char *name, int axis)
{
	int column = low_out_rank(L, 0) - 1;
	buf_id pad = q->K % q->block ? whole_blocks(L, q, axis) : 0;
	poly index[LOOP_RANK_MAX], none = poly_const(L->p->P, 0);
	bool zeros = !is_zero(L, grid_at(L, q, 2, none, none));
	stage_id xs = 0, top = 0, part;

	if (q->digits)
		top = block_tops(L, q, pad, axis);
	part = top ? digit_products(L, q, row_digits(L, q, pad, axis, top)) : block_products(L, q, pad, axis);
	if (zeros || top)
		xs = row_sums(L, q, pad, axis);
	stage_id unit = top ? units(L, q, top, xs) : 0;
	stage_id s = low_sums(L, 0, name);
	low_index(L, s, index);
	poly b = stage_reduce(L->p, s, "b", q->count), first = poly_mulc(L->p->P, b, q->block);
	ex_id y = unit ? of_digits(L, part, unit, b, index[column]) : low_of(L, part, (poly[]){b, index[column]});
	if (zeros)
		y = low_fn2(L, FN_SUB, y, low_fn2(L, FN_MUL, grid_at(L, q, 2, first, index[column]), low_of(L, xs, &b)));
	stage_body(L->p, s, COMB_SUM, low_fn2(L, FN_MUL, y, grid_at(L, q, 1, first, index[column])));
	return s;
}
