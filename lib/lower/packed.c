/* Products with weights of few bits. */
#include "lower/packed.h"
#include <float.h>
#include <string.h>
#include "loop/instr.h"
#include "lower/integer.h"
#include "op/rules.h"
#include "sched/algorithm.h"
#include "sched/schedule.h"
#include "target/target.h"

enum { IN_WORD = 8, BYTES = 4 };              /* codes of 4 bits in an i32; its bytes */
enum { DIGITS = 3, BASE = 254, FIRST = 127 }; /* of a number; digits are of -127 to 127 */

static const struct target *target_of(struct lower *L) { return L->p->target ? L->p->target : target_host(); }

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

static struct view look_at_node(struct lower *L, const struct node *n, int64_t (*shape)[LOOP_RANK_MAX])
{
	struct view old = {L->n, L->shape};

	L->n = n;
	L->shape = shape;
	return old;
}

static struct view look_at(struct lower *L, const struct packed *q) { return look_at_node(L, q->node, q->shape); }

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

/* Codes of 4 bits and those that digits multiply have no sign: others are moved by this. */
static int moved(const struct packed *q, enum dtype t) { return t == DT_I4 ? 8 : t == DT_I8 && q->digits ? 128 : 0; }

/* The bit in its word at which code k begins, where bytes are pairs. */
static int pair_bit(const struct packed *q, int64_t k) { return (int)(8 * (k % BYTES) + (k % q->block < q->block / 2 ? 0 : 4)); }

/* Code k of a column, in its place in the word or byte that it shares. */
static void put_code(const struct packed *q, void *to, int64_t k, int64_t i, uint8_t c)
{
	int64_t half = q->block / 2;

	if (q->paired)
		((uint32_t *)to)[(k / q->block * half + k % half) / BYTES * q->N + i] |= (uint32_t)c << pair_bit(q, k);
	else if (q->digits && q->words)
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
			put_code(q, to, k, i, (uint8_t)(c + moved(q, t->dtype)) & (q->words ? 15 : 255));
		}
}

/* The program's constants are other ones where codes lie in another order. */
static void note_order(struct lower *L, const char *name, enum dtype t)
{
	struct digest_state *s = digest_new();

	digest_add(s, &L->p->constants, sizeof L->p->constants);
	digest_add(s, name, strlen(name));
	digest_add(s, &t, sizeof t);
	L->p->constants = digest_end(s);
}

/* A constant of codes in whole blocks; without contents where only a sketch is asked for. */
static buf_id codes_of(struct lower *L, const struct packed *q)
{
	int64_t K = q->count * q->block, shape[] = {!q->words ? K : q->digits ? K / 2 : (K + IN_WORD - 1) / IN_WORD, q->N};
	enum dtype t = q->digits ? DT_U8 : q->words ? DT_I32 : low_dtype(L, 0);
	size_t size = (size_t)(shape[0] * shape[1]) * dtype_size(t);
	void *data = L->sketch ? NULL : arena_alloc(&L->m->arena, size);

	if (data) {
		memset(data, 0, size);
		fill_codes(L, q, data);
	}
	const char *name = q->words && !q->digits && !q->paired ? "words" : "codes";
	buf_id b = buf_new(L->p, name, t, SCOPE_CONST, 2, shape);
	lbuf(L->p, b)->data = data;
	lbuf(L->p, b)->operand = (int)L->cvals.n;
	vec_push(&L->cvals, const_new(L->m, 0, t, 2, shape, data, size));
	note_order(L, name, t);
	return b;
}

/* The dims of n's operands. */
static int64_t (*shapes_of(struct lower *L, const struct node *n))[LOOP_RANK_MAX]
{
	int64_t(*shape)[LOOP_RANK_MAX] = arena_alloc(&L->p->arena, sizeof *shape * n->nin);

	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i])
			type_dims(L->m, &val(L->m, n->in[i])->type, shape[i]);
	return shape;
}

/* Finds the form, no more. */
static bool find_form(struct lower *L, bool turned, int64_t rows, struct packed *q)
{
	val_id v = L->n->in[1];
	const struct node *t = made_by(L, v, OP_Transpose);

	if (rows < 1 || low_dtype(L, 0) != DT_F32 || low_rank(L, 1) != 2)
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
	q->shape = shapes_of(L, q->node);
	struct view old = look_at(L, q);
	bool yes = fits(L, q);
	look_back(L, old);
	return yes;
}

/* Halves of a block have whole words, and another kernel may want to read them as digits do. */
static bool pairs_fit(struct lower *L, const struct packed *q)
{
	return q->count > 1 && q->block % IN_WORD == 0 && instr_nibbles(target_of(L));
}

/* Are the rows codes of bytes, with a scale for each block of the weights' and no zero point? That node is found. */
static bool find_coded_rows(struct lower *L, const struct packed *q, int axis, const struct node **rows)
{
	const struct node *n = made_by(L, L->n->in[0], OP_DequantizeLinear);
	int at;

	if (!n || n->nin > 2 || q->count <= 1 || q->K % q->block || attr_i(n, "block_size") != q->block ||
	    !low_axis(attr_i(n, "axis"), low_rank(L, 0), &at) || at != axis)
		return false;
	struct view old = look_at_node(L, n, shapes_of(L, n));
	bool yes = low_dtype(L, 0) == DT_I8 && low_dtype(L, 1) == DT_F32 && low_rank(L, 1) == low_rank(L, 0) && !low_const(L, 0) &&
		   low_is_there(L, 0) && low_is_there(L, 1);
	look_back(L, old);
	*rows = n;
	return yes;
}

/* The axes that the rows of the result lie along. More than ROW_AXES_MAX: nobody asks for them. */
static void set_rows(struct lower *L, struct packed *q)
{
	for (int i = 0; i < low_out_rank(L, 0) - 1; i++)
		if (L->out_shape[0][i] > 1 && q->row_axes < ROW_AXES_MAX)
			q->row_dims[q->row_axes++] = L->out_shape[0][i];
}

bool packed_find(struct lower *L, bool turned, int64_t rows, const char *algo, int axis, struct packed *q)
{
	if (!find_form(L, turned, rows, q))
		return false;
	set_rows(L, q);
	if (!strcmp(algo, ALGO_BYTES))
		find_coded_rows(L, q, axis, &q->coded);
	struct view old = look_at(L, q);
	bool digits = q->coded || !strcmp(algo, ALGO_DIGITS);
	q->digits = digits ? q->coded ? 1 : DIGITS : 0;
	q->paired = q->words && !digits && algorithm_widening(rows) == WIDEN_PANEL && pairs_fit(L, q);
	q->as_is = !q->words && !digits && (q->K % q->block == 0 || rows > 1);
	q->codes = q->as_is ? low_buf(L, 0) : codes_of(L, q);
	look_back(L, old);
	return true;
}

bool packed_digits_chosen(struct lower *L, bool turned, int64_t rows)
{
	int dot = instr_dot(target_of(L), int_x_type(L), DT_I8, false);
	double summed = dot ? (double)instr_row(dot)->extent[1] / DIGITS : 0;

	return packed_digits_fit(L, turned, rows) && algorithm_digits(rows, L->out_shape[0][low_out_rank(L, 0) - 1], summed);
}

/* Axes of the result that its rows lie along. */
static int row_axes(struct lower *L)
{
	int n = 0;

	for (int i = 0; i < low_out_rank(L, 0) - 1; i++)
		n += L->out_shape[0][i] > 1;
	return n;
}

enum { SUMMED = 4 }; /* products of an instruction, for each half of a byte */

/* Has the target an instruction for blocks of bytes times such codes? A block's sum may be any of that many products. */
static bool integers_fit(const struct target *t, bool four_bits, int64_t block)
{
	enum { HALVES = 2 };

	if (block > INT32_MAX / FIRST / (four_bits ? 15 : 255))
		return false;
	return four_bits ? block % (HALVES * SUMMED) == 0 && instr_nibbles(t) : block % SUMMED == 0 && instr_dot(t, DT_I8, DT_U8, false);
}

bool packed_bytes_chosen(const struct target *t, bool four_bits, int64_t block, int64_t columns)
{
	return integers_fit(t, four_bits, block) && algorithm_digits(1, columns, SUMMED);
}

bool packed_digits_fit(struct lower *L, bool turned, int64_t rows)
{
	struct packed q;

	return row_axes(L) <= 1 && find_form(L, turned, rows, &q) && q.count > 1 && integers_fit(target_of(L), q.words, q.block);
}

bool packed_bytes_fit(struct lower *L, bool turned, int64_t rows, int axis)
{
	const struct node *coded;
	struct packed q;

	return row_axes(L) <= ROW_AXES_MAX && find_form(L, turned, rows, &q) && find_coded_rows(L, &q, axis, &coded) &&
	       integers_fit(target_of(L), q.words, q.block);
}

/* Code (k, n), in f32, where bytes are pairs. */
static ex_id pair_code(struct lower *L, const struct packed *q, poly k, poly n)
{
	struct polys *P = L->p->P;
	int64_t half = q->block / 2;
	poly block = poly_floordiv(P, k, q->block), high = poly_floordiv(P, poly_mod(P, k, q->block), half);
	poly in_half = poly_floordiv(P, poly_mod(P, k, half), BYTES), bit = poly_mulc(P, poly_mod(P, k, BYTES), 8);
	poly word[] = {poly_add(P, poly_mulc(P, block, q->block / IN_WORD), in_half), n};

	ex_id at = ex_index(L->p, DT_I32, poly_add(P, bit, poly_mulc(P, high, 4)));
	return ex_cast(L->p, DT_F32, low_fn2(L, FN_NIBBLE, ex_read(L->p, q->codes, 2, word), at));
}

/* Code (k, n), in f32. */
static ex_id code_at(struct lower *L, const struct packed *q, poly k, poly n)
{
	struct polys *P = L->p->P;
	bool turned = q->turned && q->as_is;
	poly at[] = {turned ? n : k, turned ? k : n}, word[] = {poly_floordiv(P, k, IN_WORD), n};

	if (q->paired)
		return pair_code(L, q, k, n);
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

	int move = i == 2 ? moved(q, low_dtype(L, 0)) : 0;
	if (move)
		e = lex(L->p, e)->kind == EX_CONST ? low_num(L, e, lex(L->p, e)->c + move) : low_fnc(L, FN_ADD, e, move);
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

	if (algorithm_widening(rows) == WIDEN_WHERE_READ)
		return packed_weight(L, q, k, n);
	stage_id s = low_stage(L, "weights", DT_F32, 2, (int64_t[]){q->K, q->N}, "k n");
	low_index(L, s, at);
	stage_body(L->p, s, COMB_NONE, packed_weight(L, q, at[0], at[1]));
	vec_push(&L->late, lstage(L->p, s)->out);
	return low_of(L, s, (poly[]){k, n});
}

/* ---- rows, in blocks ---- */

/* Names of the axes of rows, so many of the last. */
static const char *row_names(const struct packed *q)
{
	static const char all[] = "h i j m "; /* ROW_AXES_MAX */

	return all + strlen(all) - 2 * (size_t)q->row_axes;
}

/* A stage for each row: their axes are its first. */
static stage_id row_stage(struct lower *L, const struct packed *q, const char *name, enum dtype t, int n, const int64_t *dims,
			  const char *axes)
{
	int64_t all[LOOP_RANK_MAX];

	memcpy(all, q->row_dims, (size_t)q->row_axes * sizeof *all);
	memcpy(all + q->row_axes, dims, (size_t)n * sizeof *dims);
	return low_stage(L, name, t, q->row_axes + n, all, arena_printf(&L->p->arena, "%s%s", row_names(q), axes));
}

/* A row, by its number along each of their axes. */
struct row {
	poly at[ROW_AXES_MAX];
};

/* The row of stage s whose axes of rows begin at `first`. */
static struct row row_from(struct lower *L, const struct packed *q, stage_id s, int first)
{
	struct row m;

	for (int i = 0; i < q->row_axes; i++)
		m.at[i] = stage_axis(L->p, s, first + i);
	return m;
}

static struct row row_of(struct lower *L, const struct packed *q, stage_id s) { return row_from(L, q, s, 0); }

/* An axis of stage s behind those of rows. */
static poly axis_of(struct lower *L, const struct packed *q, stage_id s, int i) { return stage_axis(L->p, s, i + q->row_axes); }

/* An element of row m of such a stage. */
static ex_id of_row(struct lower *L, const struct packed *q, stage_id s, struct row m, int n, const poly *at)
{
	poly all[LOOP_RANK_MAX];

	memcpy(all, m.at, (size_t)q->row_axes * sizeof *all);
	memcpy(all + q->row_axes, at, (size_t)n * sizeof *at);
	return low_of(L, s, all);
}

/* Where element k of row m is in operand i, which is summed along `axis`. */
static void index_in_row(struct lower *L, uint32_t i, int axis, struct row m, poly k, poly *at)
{
	int n = 0;

	for (int d = 0; d < low_rank(L, i); d++)
		at[d] = d == axis ? k : L->shape[i][d] > 1 ? m.at[n++] : poly_const(L->p->P, 0);
}

/* Element k of row m of operand 0; 0 beyond its end. */
static ex_id row_at(struct lower *L, const struct packed *q, int axis, struct row m, poly k)
{
	poly at[LOOP_RANK_MAX];

	index_in_row(L, 0, axis, m, k, at);
	return q->K % q->block ? low_read_fill(L, 0, at, 0) : low_read(L, 0, at);
}

/* The rows with zeros behind them, so that all their blocks are whole. */
static stage_id whole_blocks(struct lower *L, const struct packed *q, int axis)
{
	stage_id s = row_stage(L, q, "pad", DT_F32, 1, (int64_t[]){q->count * q->block}, "k");

	stage_body(L->p, s, COMB_NONE, row_at(L, q, axis, row_of(L, q, s), axis_of(L, q, s, 0)));
	return s;
}

static ex_id padded_at(struct lower *L, const struct packed *q, stage_id pad, int axis, struct row m, poly k)
{
	return pad ? of_row(L, q, pad, m, 1, &k) : row_at(L, q, axis, m, k);
}

static poly in_block(struct lower *L, const struct packed *q, poly block, poly k)
{
	return poly_add(L->p->P, poly_mulc(L->p->P, block, q->block), k);
}

/* The sums of the rows' blocks. */
static stage_id row_sums(struct lower *L, const struct packed *q, stage_id pad, int axis)
{
	stage_id s = row_stage(L, q, "xsum", DT_F32, 1, (int64_t[]){q->count}, "b");
	poly k = in_block(L, q, axis_of(L, q, s, 0), stage_reduce(L->p, s, "k", q->block));

	stage_body(L->p, s, COMB_SUM, padded_at(L, q, pad, axis, row_of(L, q, s), k));
	return s;
}

/* Products of the only row's blocks and their codes, in f32. */
static stage_id block_products(struct lower *L, const struct packed *q, stage_id pad, int axis)
{
	stage_id s = low_stage(L, "block", DT_F32, 2, (int64_t[]){q->count, q->N}, "b n");
	poly k = in_block(L, q, stage_axis(L->p, s, 0), stage_reduce(L->p, s, "k", q->block));
	struct row only = {{0}};

	stage_body(L->p, s, COMB_SUM, low_fn2(L, FN_MUL, padded_at(L, q, pad, axis, only, k), code_at(L, q, k, stage_axis(L->p, s, 1))));
	return s;
}

/* ---- rows as digits ---- */

/* Operand i of the node that the rows are codes of, element k of row m; for a scale, that of block k. */
static ex_id coded_at(struct lower *L, const struct packed *q, uint32_t i, int axis, struct row m, poly k)
{
	struct view old = look_at_node(L, q->coded, shapes_of(L, q->coded));
	poly at[LOOP_RANK_MAX];

	index_in_row(L, i, axis, m, k, at);
	ex_id e = low_read(L, i, at);
	look_back(L, old);
	return e;
}

/* The largest magnitudes of the rows' blocks. */
static stage_id block_tops(struct lower *L, const struct packed *q, stage_id pad, int axis)
{
	stage_id s = row_stage(L, q, "top", DT_F32, 1, (int64_t[]){q->count}, "b");
	poly k = in_block(L, q, axis_of(L, q, s, 0), stage_reduce(L->p, s, "k", q->block));

	stage_body(L->p, s, COMB_MAX, low_fn1(L, FN_ABS, padded_at(L, q, pad, axis, row_of(L, q, s), k)));
	return s;
}

/* [row, digit, block, k]. What a digit leaves of its number is the fraction that the next one is of, times the base. */
static stage_id row_digits(struct lower *L, const struct packed *q, stage_id pad, int axis, stage_id top)
{
	stage_id level = row_stage(L, q, "level", DT_F32, 2, (int64_t[]){q->count, q->block}, "b k");
	poly at[] = {axis_of(L, q, level, 0), axis_of(L, q, level, 1)}, d;
	struct row m = row_of(L, q, level);

	ex_id least = low_fnc(L, FN_MAX, of_row(L, q, top, m, 1, at), FLT_MIN);
	ex_id x = low_fn2(L, FN_DIV, padded_at(L, q, pad, axis, m, in_block(L, q, at[0], at[1])), least);
	stage_body(L->p, level, COMB_NONE, low_fnc(L, FN_MUL, x, FIRST));
	stage_id s = row_stage(L, q, "digit", DT_I8, 3, (int64_t[]){DIGITS, q->count, q->block}, "d b k");
	d = axis_of(L, q, s, 0);
	at[0] = axis_of(L, q, s, 1);
	at[1] = axis_of(L, q, s, 2);
	ex_id rest = of_row(L, q, level, row_of(L, q, s), 2, at), digit[DIGITS], y = 0;
	for (int i = 0; i < DIGITS; i++) {
		digit[i] = low_fn1(L, FN_ROUND, rest);
		rest = low_fnc(L, FN_MUL, low_fn2(L, FN_SUB, rest, digit[i]), BASE);
	}
	for (int i = DIGITS - 1; i >= 0; i--) {
		poly not_after = poly_sub(L->p->P, poly_const(L->p->P, i), d);
		y = y ? ex_guard(L->p, 1, &not_after, digit[i], y) : digit[i];
	}
	stage_body(L->p, s, COMB_NONE, ex_cast(L->p, DT_I8, y));
	return s;
}

static ex_id half_of_byte(struct lower *L, ex_id byte, int bit)
{
	return low_fn2(L, FN_NIBBLE, ex_cast(L->p, DT_I32, byte), ex_const_int(L->p, DT_I32, bit));
}

/* Digit at[0] of element at[2] of block at[1] of row m. */
static ex_id digit_at(struct lower *L, const struct packed *q, stage_id digit, int axis, struct row m, const poly *at)
{
	ex_id e = q->coded ? coded_at(L, q, 0, axis, m, in_block(L, q, at[1], at[2])) : of_row(L, q, digit, m, 3, at);

	return ex_cast(L->p, DT_I32, e);
}

/* The sums of the codes of the rows' blocks. */
static stage_id coded_sums(struct lower *L, const struct packed *q, int axis)
{
	stage_id s = row_stage(L, q, "xsum", DT_I32, 1, (int64_t[]){q->count}, "b");
	poly k = in_block(L, q, axis_of(L, q, s, 0), stage_reduce(L->p, s, "k", q->block));

	stage_body(L->p, s, COMB_SUM, ex_cast(L->p, DT_I32, coded_at(L, q, 0, axis, row_of(L, q, s), k)));
	return s;
}

/* Are rows and codes multiplied tile by tile? The codes become bytes with a sign then, once for all rows. */
static bool in_tiles(struct lower *L, const struct packed *q)
{
	enum { ZERO = 8 }; /* of a code of 4 bits that has no sign, the middle */
	poly none = poly_const(L->p->P, 0);
	ex_id zero = grid_at(L, q, 2, none, none);

	return q->coded && q->words && q->row_axes == 1 && lex(L->p, zero)->kind == EX_CONST && lex(L->p, zero)->c == ZERO &&
	       instr_widen(target_of(L)) && schedule_tiles(L->p, q->row_dims[0], q->N, q->block);
}

/* [k, column]: a code as a byte with a sign. */
static stage_id signed_codes(struct lower *L, const struct packed *q)
{
	stage_id s = low_stage(L, "signed", DT_I8, 2, (int64_t[]){q->K, q->N}, "k n");
	struct polys *P = L->p->P;
	int64_t half = q->block / 2;
	poly k = stage_axis(L->p, s, 0), high = poly_floordiv(P, poly_mod(P, k, q->block), half);
	poly at[] = {poly_add(P, poly_mulc(P, poly_floordiv(P, k, q->block), half), poly_mod(P, k, half)), stage_axis(L->p, s, 1)};
	ex_id bit = ex_index(L->p, DT_I32, poly_mulc(P, high, 4));
	ex_id code = low_fn2(L, FN_NIBBLE, ex_cast(L->p, DT_I32, ex_read(L->p, q->codes, 2, at)), bit);

	stage_body(L->p, s, COMB_NONE, ex_cast(L->p, DT_I8, low_fn2(L, FN_SUB, code, ex_const_int(L->p, DT_I32, 8))));
	vec_push(&L->late, lstage(L->p, s)->out);
	return s;
}

/* [block, row, column]: products of a block's bytes with such codes. */
static stage_id tile_products(struct lower *L, const struct packed *q, int axis)
{
	stage_id codes = signed_codes(L, q);
	stage_id s = low_stage(L, "block", DT_I32, 4, (int64_t[]){q->count, q->row_dims[0], 1, q->N}, "b m d n");
	poly k = in_block(L, q, stage_axis(L->p, s, 0), stage_reduce(L->p, s, "k", q->block));
	ex_id x = ex_cast(L->p, DT_I32, coded_at(L, q, 0, axis, row_from(L, q, s, 1), k));
	ex_id y = ex_cast(L->p, DT_I32, low_of(L, codes, (poly[]){k, stage_axis(L->p, s, 3)}));

	stage_body(L->p, s, COMB_SUM, low_fn2(L, FN_MUL, x, y));
	return s;
}

/* [block, row, digit, column]: products of each digit. */
static stage_id digit_products(struct lower *L, const struct packed *q, int axis, stage_id digit)
{
	int64_t half = q->words ? q->block / 2 : q->block, dims[LOOP_RANK_MAX] = {q->count};
	int n = 1 + q->row_axes;

	memcpy(dims + 1, q->row_dims, (size_t)q->row_axes * sizeof *dims);
	dims[n] = q->digits;
	dims[n + 1] = q->N;
	stage_id s = low_stage(L, "block", DT_I32, n + 2, dims, arena_printf(&L->p->arena, "b %sd n", row_names(q)));
	struct polys *P = L->p->P;
	poly b = stage_axis(L->p, s, 0), d = stage_axis(L->p, s, n), k = stage_reduce(L->p, s, "k", half), high = poly_addc(P, k, half);
	poly code[] = {poly_add(P, poly_mulc(P, b, half), k), stage_axis(L->p, s, n + 1)};
	struct row m = row_from(L, q, s, 1);
	ex_id byte = ex_read(L->p, q->codes, 2, code), x = digit_at(L, q, digit, axis, m, (poly[]){d, b, k});

	if (q->words) {
		ex_id y = low_fn2(L, FN_MUL, digit_at(L, q, digit, axis, m, (poly[]){d, b, high}), half_of_byte(L, byte, 4));
		x = low_fn2(L, FN_ADD, low_fn2(L, FN_MUL, x, half_of_byte(L, byte, 0)), y);
	} else {
		x = low_fn2(L, FN_MUL, x, ex_cast(L->p, DT_I32, byte));
	}
	stage_body(L->p, s, COMB_SUM, x);
	return s;
}

/* What 1 in the first digit of a block's numbers stands for: NaN where one of them is no number. */
static stage_id units(struct lower *L, const struct packed *q, stage_id top, stage_id xs)
{
	stage_id s = row_stage(L, q, "unit", DT_F32, 1, (int64_t[]){q->count}, "b");
	poly b = axis_of(L, q, s, 0);
	struct row m = row_of(L, q, s);
	ex_id none = low_fnc(L, FN_MUL, of_row(L, q, xs, m, 1, &b), 0);

	stage_body(L->p, s, COMB_NONE, low_fn2(L, FN_ADD, low_fnc(L, FN_MUL, of_row(L, q, top, m, 1, &b), 1.0 / FIRST), none));
	return s;
}

static ex_id of_digits(struct lower *L, const struct packed *q, stage_id part, stage_id unit, struct row m, poly b, poly n)
{
	poly at[LOOP_RANK_MAX] = {b};
	double weight = 1;
	ex_id y = 0;

	memcpy(at + 1, m.at, (size_t)q->row_axes * sizeof *at);
	at[q->row_axes + 2] = n;
	for (int i = 0; i < q->digits; i++, weight /= BASE) {
		at[q->row_axes + 1] = poly_const(L->p->P, i);
		ex_id x = ex_cast(L->p, DT_F32, low_of(L, part, at));
		y = y ? low_fn2(L, FN_ADD, y, low_fnc(L, FN_MUL, x, weight)) : x;
	}
	return unit ? low_fn2(L, FN_MUL, y, of_row(L, q, unit, m, 1, &b)) : y;
}

/* ---- the product ---- */

/* The row that element `index` of the result is of. */
static struct row result_row(struct lower *L, const poly *index)
{
	struct row m = {{0}};
	int n = 0;

	for (int i = 0; i < low_out_rank(L, 0) - 1; i++)
		if (L->out_shape[0][i] > 1)
			m.at[n++] = index[i];
	return m;
}

/* Zero point of block b of a column times the sum of what that block multiplies in row m. */
static ex_id zero_part(struct lower *L, const struct packed *q, stage_id xs, struct row m, poly b, poly n)
{
	ex_id sum = ex_cast(L->p, DT_F32, of_row(L, q, xs, m, 1, &b));

	return low_fn2(L, FN_MUL, grid_at(L, q, 2, poly_mulc(L->p->P, b, q->block), n), sum);
}

static ex_id weight_scale(struct lower *L, const struct packed *q, poly b, poly n)
{
	return grid_at(L, q, 1, poly_mulc(L->p->P, b, q->block), n);
}

/* [row, block]: zero_part, if all columns have the same: made once for them. */
static stage_id same_zeros(struct lower *L, const struct packed *q, stage_id xs)
{
	stage_id s = row_stage(L, q, "zeros", DT_F32, 1, (int64_t[]){q->count}, "b");

	stage_body(L->p, s, COMB_NONE, zero_part(L, q, xs, row_of(L, q, s), axis_of(L, q, s, 0), poly_const(L->p->P, 0)));
	return s;
}

/* A block's share of an element: of integers until the scales. zeros: see same_zeros; 0: columns have their own. */
static ex_id coded_share(struct lower *L, const struct packed *q, int axis, stage_id part, stage_id xs, stage_id zeros, struct row m,
			 poly b, poly n)
{
	ex_id y = of_digits(L, q, part, 0, m, b, n);

	if (xs)
		y = low_fn2(L, FN_SUB, y, zeros ? of_row(L, q, zeros, m, 1, &b) : zero_part(L, q, xs, m, b, n));
	return low_fn2(L, FN_MUL, low_fn2(L, FN_MUL, y, coded_at(L, q, 1, axis, m, b)), weight_scale(L, q, b, n));
}

/* The product's stage, whose elements are sums over blocks; index: of an element, m: its row, b: the block. */
static stage_id sums_of_blocks(struct lower *L, const struct packed *q, const char *name, poly *index, struct row *m, poly *b)
{
	stage_id s = low_sums(L, 0, name);

	low_index(L, s, index);
	*b = stage_reduce(L->p, s, "b", q->count);
	*m = result_row(L, index);
	return s;
}

static stage_id coded_rows(struct lower *L, const struct packed *q, const char *name, int axis, bool zeros)
{
	bool tiles = in_tiles(L, q);
	stage_id part = tiles ? tile_products(L, q, axis) : digit_products(L, q, axis, 0);
	stage_id xs = zeros && !tiles ? coded_sums(L, q, axis) : 0;
	poly index[LOOP_RANK_MAX], none = poly_const(L->p->P, 0), b;
	stage_id same = xs && lex(L->p, grid_at(L, q, 2, none, none))->kind == EX_CONST ? same_zeros(L, q, xs) : 0;
	struct row m;
	stage_id s = sums_of_blocks(L, q, name, index, &m, &b);

	stage_body(L->p, s, COMB_SUM, coded_share(L, q, axis, part, xs, same, m, b, index[low_out_rank(L, 0) - 1]));
	return s;
}

stage_id packed_rows(struct lower *L, const struct packed *q, const char *name, int axis)
{
	poly index[LOOP_RANK_MAX], none = poly_const(L->p->P, 0), b;
	struct row m;
	bool zeros = !is_zero(L, grid_at(L, q, 2, none, none));
	stage_id xs = 0, top = 0, part;

	if (q->coded)
		return coded_rows(L, q, name, axis, zeros);
	stage_id pad = q->K % q->block ? whole_blocks(L, q, axis) : 0;
	if (q->digits)
		top = block_tops(L, q, pad, axis);
	part = top ? digit_products(L, q, axis, row_digits(L, q, pad, axis, top)) : block_products(L, q, pad, axis);
	if (zeros || top)
		xs = row_sums(L, q, pad, axis);
	stage_id unit = top ? units(L, q, top, xs) : 0;
	stage_id s = sums_of_blocks(L, q, name, index, &m, &b);
	poly n = index[low_out_rank(L, 0) - 1];
	ex_id y = unit ? of_digits(L, q, part, unit, m, b, n) : low_of(L, part, (poly[]){b, n});
	if (zeros)
		y = low_fn2(L, FN_SUB, y, zero_part(L, q, xs, m, b, n));
	stage_body(L->p, s, COMB_SUM, low_fn2(L, FN_MUL, y, weight_scale(L, q, b, n)));
	return s;
}
