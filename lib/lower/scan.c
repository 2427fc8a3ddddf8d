/* Lowering of what goes on from step to step: cumulative sums, recurrent networks. */
#include <string.h>
#include <strings.h>
#include "lower/integer.h"

static uint32_t next_scan(struct lower *L)
{
	uint32_t n = 1;
	for (stage_id s = 1; s < L->p->stages.n; s++)
		if (lstage(L->p, s)->scan >= n)
			n = lstage(L->p, s)->scan + 1;
	return n;
}

/* yes at steps from the second on, no at the first. */
static ex_id after_first(struct lower *L, poly step, ex_id yes, ex_id no)
{
	poly cond = poly_addc(L->p->P, step, -1);
	return ex_guard(L->p, 1, &cond, yes, no);
}

/* ---- cumulative sums and products ---- */

struct running {
	struct lower *L;
	int rank, axis;
	bool reverse, exclusive;
};

/* The element that stage s adds at its index; before: the index of the step before. */
static ex_id running_element(const struct running *q, stage_id s, poly *index, poly *before)
{
	struct polys *P = q->L->p->P;
	poly x[LOOP_RANK_MAX];

	low_index(q->L, s, index);
	memcpy(x, index, sizeof x);
	memcpy(before, index, sizeof x);
	before[q->axis] = poly_addc(P, index[q->axis], -1);
	poly from = q->exclusive ? before[q->axis] : index[q->axis];
	x[q->axis] = q->reverse ? poly_sub(P, poly_const(P, q->L->shape[0][q->axis] - 1), from) : from;
	return low_read_wide(q->L, 0, x);
}

/* An algorithm for sums of f32: what rounding adds to one is taken from the next element (Kahan's sums), so that each has the error of its own
 * rounding alone. */
static const char *const cumsum_algos[] = {"compensated", NULL};

/* The axis along which the node sums up f32, which is not the last; -1: it does something else. */
static int cumsum_axis(struct lower *L)
{
	int64_t at;
	int axis;

	return low_dtype(L, 0) == DT_F32 && low_ints(L, 1, &at, 1) == 1 && low_axis(at, low_rank(L, 0), &axis) && axis < low_rank(L, 0) - 1
		       ? axis
		       : -1;
}

static bool cumsum_fits(struct lower *L, const char *algo)
{
	(void)algo;
	return cumsum_axis(L) >= 0;
}

/* A shorter chain is as good as other sums of f32 are (lib/sched/levels.c). */
static bool cumsum_is_long(struct lower *L)
{
	enum { CHAIN = 64 };

	return cumsum_axis(L) >= 0 && L->shape[0][cumsum_axis(L)] > CHAIN;
}

static const char *cumsum_best(struct lower *L) { return cumsum_is_long(L) ? cumsum_algos[0] : ALGO_USUAL; }

/* The expression that stage s adds instead of e. lost: (sum - sum before) - element, which is no number where a sum is not finite:
 * nothing is taken then. */
static ex_id compensated(const struct running *q, stage_id s, ex_id e, const poly *before)
{
	struct lower *L = q->L;
	poly index[LOOP_RANK_MAX], then[LOOP_RANK_MAX];
	stage_id lost = low_stage(L, "lost", DT_F32, q->rank, L->out_shape[0], low_axes(L, q->rank));

	stage_scan(L->p, lost, q->axis, lstage(L->p, s)->scan);
	ex_id x = running_element(q, lost, index, then), step = low_fn2(L, FN_SUB, low_of(L, s, index), low_of(L, s, then));
	ex_id d = low_fn2(L, FN_SUB, step, low_fn2(L, FN_SUB, x, low_of(L, lost, then))), none = low_num(L, d, 0);
	stage_body(L->p, lost, COMB_NONE, after_first(L, index[q->axis], ex_call(L->p, FN_SELECT, low_fn2(L, FN_EQ, d, d), d, none), none));
	return low_fn2(L, FN_SUB, e, low_of(L, lost, before));
}

static const char *cumulate(struct lower *L, const char *name, enum math_fn f, double none, bool compensate)
{
	struct running q = {L, low_rank(L, 0), 0, attr_i(L->n, "reverse"), attr_i(L->n, "exclusive")};
	poly index[LOOP_RANK_MAX], before[LOOP_RANK_MAX];
	int64_t at;

	if (low_ints(L, 1, &at, 1) != 1)
		return "the axis is not constant";
	if (!low_axis(at, q.rank, &q.axis))
		return low_why(L, "axis %lld outside rank %d", (long long)at, q.rank);
	if (q.axis == q.rank - 1 && dtype_is_float(low_dtype(L, 0)))
		return "each sum of a row waits for the one before it";
	bool rounds = low_wide_type(low_dtype(L, 0)) != low_dtype(L, 0);
	stage_id s = q.reverse || rounds ? low_sums(L, 0, name) : low_result(L, 0, name);
	stage_scan(L->p, s, q.axis, next_scan(L));
	ex_id e = running_element(&q, s, index, before), add = compensate ? compensated(&q, s, e, before) : e;
	ex_id all = low_fn2(L, f, low_of(L, s, before), add);
	stage_body(L->p, s, COMB_NONE, after_first(L, index[q.axis], all, q.exclusive ? low_num(L, e, none) : e));
	if (!q.reverse && !rounds)
		return NULL;
	stage_id y = low_result(L, 0, q.reverse ? "reverse" : "round");
	low_index(L, y, index);
	if (q.reverse)
		index[q.axis] = poly_sub(L->p->P, poly_const(L->p->P, L->shape[0][q.axis] - 1), index[q.axis]);
	stage_body(L->p, y, COMB_NONE, low_round(L, 0, low_of(L, s, index)));
	return NULL;
}

static const char *cumsum(struct lower *L)
{
	bool compensate = strcmp(low_algo(L), ALGO_USUAL);

	if (!compensate && cumsum_is_long(L))
		return "a chain of sums in f32 so long has to be compensated";
	return cumulate(L, "cumsum", FN_ADD, 0, compensate);
}

static const char *cumprod(struct lower *L) { return cumulate(L, "cumprod", FN_MUL, 1, false); }

/* ---- recurrent networks ---- */

enum { DIRECTIONS_MAX = 2, ACTIVATIONS_MAX = 6 };

struct rnn {
	struct lower *L;
	int64_t T, B, I, H, gates; /* steps, batch, sizes of input and state; gates of an input */
	int dirs;
	bool batch_first, reverse;
	double clip;
	enum math_fn act[ACTIVATIONS_MAX];
	int per;        /* activations a direction */
	stage_id input; /* t b d g: what the input gives to all gates; 0: operand 0 is that */
	bool rounds;    /* products read the state as DynamicQuantizeLinear rounds it */
	bool coded;     /* R is of codes, with a scale */
	/* Of the direction at hand. */
	int d;
	uint32_t scan;
	stage_id codes; /* rounded states; where R is of codes these, less their zero point */
	stage_id scale; /* of the codes of each step */
	stage_id state[DIRECTIONS_MAX], cell[DIRECTIONS_MAX];
};

static const char *read_activations(struct rnn *q, const char *const *usual, int per)
{
	static const struct {
		const char *name;
		enum math_fn fn;
	} known[] = {{"Sigmoid", FN_SIGMOID}, {"Tanh", FN_TANH}, {"Relu", FN_MAX}};
	const struct attr *names = attr_find(q->L->n, "activations");

	q->per = per;
	for (int i = 0; i < per * q->dirs; i++) {
		const char *name = names && (uint32_t)i < names->n ? sym_str(names->u.strs[i]) : usual[i % per];
		for (size_t k = 0; k < sizeof known / sizeof *known; k++)
			if (!strcasecmp(known[k].name, name))
				q->act[i] = known[k].fn;
		if (!q->act[i])
			return low_why(q->L, "activation %s", name);
	}
	return NULL;
}

/* All sequences are as long as the input has steps, or why not. */
static const char *check_lengths(struct rnn *q)
{
	struct lower *L = q->L;
	int64_t len[64];

	if (!low_has(L, 4))
		return NULL;
	int n = low_ints(L, 4, len, 64);
	for (int i = 0; i < n; i++)
		if (len[i] != q->T)
			n = -1;
	return n < 0 ? "sequences of several lengths" : NULL;
}

static const char *read_rnn(struct rnn *q, struct lower *L, int64_t gates)
{
	const char *direction = attr_s(L->n, "direction");

	*q = (struct rnn){
		.L = L, .gates = gates, .dirs = strcmp(direction, "bidirectional") ? 1 : 2, .reverse = !strcmp(direction, "reverse")};
	q->batch_first = attr_i(L->n, "layout");
	q->clip = attr_f(L->n, "clip");
	if (low_rank(L, 0) != 3 || (low_has(L, 1) && low_rank(L, 1) != 3) || low_rank(L, 2) != 3)
		return "the sequence, W or R is not of rank 3";
	q->T = L->shape[0][q->batch_first];
	q->B = L->shape[0][!q->batch_first];
	q->I = L->shape[0][2];
	q->H = L->shape[2][2];
	if (low_has(L, 1) ? L->shape[1][0] != q->dirs || L->shape[1][1] != gates * q->H || L->shape[1][2] != q->I
			  : q->I != q->dirs * gates * q->H)
		return "W does not fit the sequence";
	if (L->shape[2][1] != gates * q->H || !q->T)
		return "R does not fit the sequence";
	return check_lengths(q);
}

static ex_id activate(struct rnn *q, int which, ex_id x)
{
	enum math_fn f = q->act[q->d * q->per + which];

	if (q->clip > 0)
		x = low_fnc(q->L, FN_MIN, low_fnc(q->L, FN_MAX, x, -q->clip), q->clip);
	return f == FN_MAX ? low_fnc(q->L, FN_MAX, x, 0) : low_fn1(q->L, f, x);
}

static void input_product(struct rnn *q)
{
	struct lower *L = q->L;
	enum dtype type = low_wide_type(low_dtype(L, 0));
	stage_id s = q->input = low_stage(L, "input", type, 4, (int64_t[]){q->T, q->B, q->dirs, q->gates * q->H}, "t b d g");
	poly i = stage_reduce(L->p, s, "i", q->I), t = stage_axis(L->p, s, 0), b = stage_axis(L->p, s, 1);
	ex_id x = low_read_wide(L, 0, q->batch_first ? (poly[]){b, t, i} : (poly[]){t, b, i});
	ex_id w = low_read_wide(L, 1, (poly[]){stage_axis(L->p, s, 2), stage_axis(L->p, s, 3), i});

	stage_body(L->p, s, COMB_SUM, low_fn2(L, FN_MUL, x, w));
}

/* A stage of the scan of the direction at hand: s b and n of its own. */
static stage_id step_stage(struct rnn *q, const char *name, int64_t n, const char *axes)
{
	stage_id s = low_stage(q->L, name, low_wide_type(low_dtype(q->L, 0)), 3, (int64_t[]){q->T, q->B, n}, axes);

	stage_scan(q->L->p, s, 0, q->scan);
	return s;
}

/* Element j of sequence b of what stage `of` had in the step before stage s's; in the first step operand init (0 if there is none). */
static ex_id earlier_of(struct rnn *q, stage_id of, uint32_t init, stage_id s, poly b, poly j)
{
	struct lower *L = q->L;
	poly step = stage_axis(L->p, s, 0), d = poly_const(L->p->P, q->d);
	ex_id e = low_of(L, of, (poly[]){poly_addc(L->p->P, step, -1), b, j});
	ex_id first = low_has(L, init) ? low_read_wide(L, init, q->batch_first ? (poly[]){b, d, j} : (poly[]){d, b, j}) : low_num(L, e, 0);

	return after_first(L, step, e, first);
}

static ex_id earlier(struct rnn *q, stage_id of, uint32_t init, stage_id s, poly j)
{
	return earlier_of(q, of, init, s, stage_axis(q->L->p, s, 1), j);
}

/* Element k of row (first + g) of R. Rows that are some of a constant's are one of their own: it can lie as its product likes. */
static ex_id recurrent_weight(struct rnn *q, stage_id s, int64_t first, poly k)
{
	struct lower *L = q->L;
	int64_t n = lstage(L->p, s)->axis[2].extent;
	poly d = poly_const(L->p->P, q->d);

	if (n == q->gates * q->H || !low_const(L, 2))
		return low_read_wide(L, 2, (poly[]){d, poly_addc(L->p->P, stage_axis(L->p, s, 2), first), k});
	stage_id rows = low_stage(L, "rows", low_dtype(L, 2), 2, (int64_t[]){n, q->H}, "g k");
	stage_body(L->p, rows, COMB_NONE,
		   low_read(L, 2, (poly[]){d, poly_addc(L->p->P, stage_axis(L->p, rows, 0), first), stage_axis(L->p, rows, 1)}));
	return low_wide(L, low_of(L, rows, (poly[]){stage_axis(L->p, s, 2), k}));
}

/* Sums over k of f's element k times row (first + g) of R. */
static void recurrent_product(struct rnn *q, stage_id s, int64_t first, ex_id (*f)(struct rnn *q, stage_id s, poly k))
{
	struct lower *L = q->L;
	poly k = stage_reduce(L->p, s, "k", q->H);
	stage_body(L->p, s, COMB_SUM, low_fn2(L, FN_MUL, f(q, s, k), recurrent_weight(q, s, first, k)));
}

static ex_id state_before(struct rnn *q, stage_id s, poly j) { return earlier(q, q->state[q->d], 5, s, j); }

/* Bias number `gate` of the input's or of the state's; 0: there are none. */
static ex_id bias(struct rnn *q, stage_id s, int gate, bool of_state)
{
	struct lower *L = q->L;
	poly at[2] = {poly_const(L->p->P, q->d), poly_addc(L->p->P, stage_axis(L->p, s, 2), (gate + (of_state ? q->gates : 0)) * q->H)};

	return low_has(L, 3) ? low_read_wide(L, 3, at) : 0;
}

static ex_id plus(struct rnn *q, ex_id a, ex_id b) { return b ? low_fn2(q->L, FN_ADD, a, b) : a; }

/* Element j of a gate from the input alone, with its bias. */
static ex_id from_input(struct rnn *q, stage_id s, int gate)
{
	struct lower *L = q->L;
	poly step = stage_axis(L->p, s, 0), t = q->d || q->reverse ? poly_sub(L->p->P, poly_const(L->p->P, q->T - 1), step) : step;
	poly b = stage_axis(L->p, s, 1), g = poly_addc(L->p->P, stage_axis(L->p, s, 2), gate * q->H), d = poly_const(L->p->P, q->d);
	poly of_all = poly_addc(L->p->P, g, q->d * q->gates * q->H);
	ex_id x = q->input ? low_of(L, q->input, (poly[]){t, b, d, g})
			   : low_read_wide(L, 0, q->batch_first ? (poly[]){b, t, of_all} : (poly[]){t, b, of_all});

	return plus(q, x, bias(q, s, gate, false));
}

/* And from the state: stage sums has it, bias added. */
static ex_id from_state(struct rnn *q, stage_id sums, stage_id s, int gate, int bias_gate)
{
	struct lower *L = q->L;
	poly at[3] = {stage_axis(L->p, s, 0), stage_axis(L->p, s, 1), poly_addc(L->p->P, stage_axis(L->p, s, 2), gate * q->H)};
	ex_id e = low_of(L, sums, at);

	if (q->coded) {
		poly of_row[2] = {poly_const(L->p->P, q->d), L->shape[8][1] > 1 ? at[2] : poly_const(L->p->P, 0)};
		ex_id scale = low_fn2(L, FN_MUL, low_of(L, q->scale, at), low_read_wide(L, 8, of_row));
		e = low_fn2(L, FN_MUL, ex_cast(L->p, lex(L->p, scale)->dtype, e), scale);
	}
	return plus(q, e, bias(q, s, bias_gate, true));
}

static ex_id both(struct rnn *q, stage_id sums, stage_id s, int gate)
{
	return low_fn2(q->L, FN_ADD, from_input(q, s, gate), from_state(q, sums, s, gate, gate));
}

/* Peephole weight `number` times c, added to x. */
static ex_id peep(struct rnn *q, stage_id s, ex_id x, int number, ex_id c)
{
	struct lower *L = q->L;
	poly at[2] = {poly_const(L->p->P, q->d), poly_addc(L->p->P, stage_axis(L->p, s, 2), number * q->H)};

	return low_has(L, 7) ? low_fn2(L, FN_ADD, x, low_fn2(L, FN_MUL, low_read_wide(L, 7, at), c)) : x;
}

/* R's codes, padded with 0 to K in a row: bytes where an instruction multiplies these with words, else words. */
static stage_id code_rows(struct rnn *q, int64_t K)
{
	struct lower *L = q->L;
	stage_id s = low_stage(L, "wwords", int_mixed_step(L) > 1 ? DT_I8 : DT_I16, 2, (int64_t[]){q->gates * q->H, K}, "g k");
	poly at[3] = {poly_const(L->p->P, q->d), stage_axis(L->p, s, 0), stage_axis(L->p, s, 1)};
	poly inside = poly_sub(L->p->P, poly_const(L->p->P, q->H - 1), at[2]);
	ex_id e = ex_cast(L->p, lbuf(L->p, lstage(L->p, s)->out)->dtype, low_read(L, 2, at));

	stage_body(L->p, s, COMB_NONE, ex_guard(L->p, 1, &inside, e, low_num(L, e, 0)));
	return s;
}

/* Sums of products of codes: the state's, less their zero point, with R's. */
static void code_product(struct rnn *q, stage_id s)
{
	struct lower *L = q->L;
	int64_t K = lbuf(L->p, lstage(L->p, q->codes)->out)->shape[2];
	stage_id w = code_rows(q, K);
	poly k = stage_reduce(L->p, s, "k", K);
	ex_id x = low_of(L, q->codes, (poly[]){stage_axis(L->p, s, 0), stage_axis(L->p, s, 1), k});

	stage_body(L->p, s, COMB_SUM, int_product(L, x, low_of(L, w, (poly[]){stage_axis(L->p, s, 2), k})));
}

static stage_id one_number_a_step(struct rnn *q, const char *name)
{
	stage_id s = low_stage(q->L, name, DT_F32, 1, (int64_t[]){q->T}, "s");

	stage_scan(q->L->p, s, 0, q->scan);
	return s;
}

static ex_id at_step(struct rnn *q, stage_id of, stage_id s) { return low_of(q->L, of, (poly[]){stage_axis(q->L->p, s, 0)}); }

/* The state before, in each step rounded to 256 steps between its least and its greatest number, which are at most and at least 0: what
 * DynamicQuantizeLinear and DequantizeLinear make of it. */
struct rounding {
	stage_id range; /* s e: the greatest number and that of all negatives */
	stage_id scale, zero;
};

static void round_stages(struct rnn *q, struct rounding *r)
{
	r->range = low_stage(q->L, "range", DT_F32, 2, (int64_t[]){q->T, 2}, "s e");
	stage_scan(q->L->p, r->range, 0, q->scan);
	r->scale = q->scale = one_number_a_step(q, "scale");
	r->zero = one_number_a_step(q, "zero");
	if (!q->coded) {
		q->codes = step_stage(q, "codes", q->H, "s b j");
		return;
	}
	int64_t mixed = int_mixed_step(q->L), step = mixed > 1 ? mixed : int_step(q->L, true), K = (q->H + step - 1) / step * step;
	q->codes = low_stage(q->L, "codes", DT_I16, 3, (int64_t[]){q->T, q->B, K}, "s b j");
	stage_scan(q->L->p, q->codes, 0, q->scan);
}

static void range_body(struct rnn *q, stage_id s)
{
	struct lower *L = q->L;
	poly b = stage_reduce(L->p, s, "b", q->B), j = stage_reduce(L->p, s, "j", q->H);
	poly first = poly_mulc(L->p->P, stage_axis(L->p, s, 1), -1);
	ex_id h = earlier_of(q, q->state[q->d], 5, s, b, j);

	stage_body(L->p, s, COMB_MAX, ex_guard(L->p, 1, &first, h, low_fn1(L, FN_NEG, h)));
}

/* The greatest number of a step, at least 0, or the least, at most 0, as stage s reads them. */
static ex_id end_of_range(struct rnn *q, const struct rounding *r, stage_id s, bool greatest)
{
	struct lower *L = q->L;
	ex_id x = low_of(L, r->range, (poly[]){stage_axis(L->p, s, 0), poly_const(L->p->P, !greatest)});

	x = low_fnc(L, FN_MAX, x, 0);
	return greatest ? x : low_fn1(L, FN_NEG, x);
}

static void round_bodies(struct rnn *q, const struct rounding *r)
{
	struct lower *L = q->L;

	range_body(q, r->range);
	ex_id range = low_fn2(L, FN_SUB, end_of_range(q, r, r->scale, true), end_of_range(q, r, r->scale, false));
	stage_body(L->p, r->scale, COMB_NONE,
		   low_select(L, low_fnc(L, FN_EQ, range, 0), low_num(L, range, 1), low_fnc(L, FN_DIV, range, 255)));
	ex_id from = low_fn1(L, FN_NEG, end_of_range(q, r, r->zero, false));
	stage_body(L->p, r->zero, COMB_NONE, low_fn1(L, FN_ROUND, low_fn2(L, FN_DIV, from, at_step(q, r->scale, r->zero))));
	ex_id scale = at_step(q, r->scale, q->codes), zero = at_step(q, r->zero, q->codes);
	poly j = stage_axis(L->p, q->codes, 2);
	ex_id h = earlier(q, q->state[q->d], 5, q->codes, j);
	ex_id code = low_fn2(L, FN_ADD, low_fn1(L, FN_ROUND, low_fn2(L, FN_DIV, h, scale)), zero);
	code = low_fnc(L, FN_MIN, low_fnc(L, FN_MAX, code, 0), 255);
	code = low_fn2(L, FN_SUB, code, zero);
	if (q->coded) {
		poly inside = poly_sub(L->p->P, poly_const(L->p->P, q->H - 1), j);
		code = ex_cast(L->p, DT_I16, ex_guard(L->p, 1, &inside, code, low_num(L, code, 0)));
	}
	stage_body(L->p, q->codes, COMB_NONE, q->coded ? code : low_fn2(L, FN_MUL, code, scale));
}

static ex_id rounded_state(struct rnn *q, stage_id s, poly k)
{
	return low_of(q->L, q->codes, (poly[]){stage_axis(q->L->p, s, 0), stage_axis(q->L->p, s, 1), k});
}

/* Gates in ONNX's order: input, output, forget, cell. */
static void lstm_direction(struct rnn *q)
{
	struct lower *L = q->L;
	struct rounding r = {0};

	if (q->rounds)
		round_stages(q, &r);
	stage_id gates =
		low_stage(L, "gates", q->coded ? DT_I32 : low_wide_type(low_dtype(L, 0)), 3, (int64_t[]){q->T, q->B, 4 * q->H}, "s b g");
	stage_scan(L->p, gates, 0, q->scan);
	stage_id c = q->cell[q->d] = step_stage(q, "cell", q->H, "s b j");
	stage_id h = q->state[q->d] = step_stage(q, "state", q->H, "s b j");

	if (q->rounds)
		round_bodies(q, &r);
	if (q->coded)
		code_product(q, gates);
	else
		recurrent_product(q, gates, 0, q->rounds ? rounded_state : state_before);
	ex_id was = earlier(q, c, 6, c, stage_axis(L->p, c, 2));
	ex_id in = activate(q, 0, peep(q, c, both(q, gates, c, 0), 0, was)), forget;
	if (attr_i(L->n, "input_forget"))
		forget = low_fn2(L, FN_SUB, low_num(L, in, 1), in);
	else
		forget = activate(q, 0, peep(q, c, both(q, gates, c, 2), 2, was));
	ex_id fresh = activate(q, 1, both(q, gates, c, 3));
	stage_body(L->p, c, COMB_NONE, low_fn2(L, FN_ADD, low_fn2(L, FN_MUL, forget, was), low_fn2(L, FN_MUL, in, fresh)));
	ex_id now = low_of(L, c, (poly[]){stage_axis(L->p, h, 0), stage_axis(L->p, h, 1), stage_axis(L->p, h, 2)});
	ex_id out = activate(q, 0, peep(q, h, both(q, gates, h, 1), 1, now));
	stage_body(L->p, h, COMB_NONE, low_fn2(L, FN_MUL, out, activate(q, 2, now)));
}

/* The reset state of GRU: r * h. It is the cell here, for the product that reads it. */
static ex_id reset_state(struct rnn *q, stage_id s, poly k)
{
	return low_of(q->L, q->cell[q->d], (poly[]){stage_axis(q->L->p, s, 0), stage_axis(q->L->p, s, 1), k});
}

/* Gates: update, reset, new. */
static void gru_direction(struct rnn *q)
{
	struct lower *L = q->L;
	bool linear = attr_i(L->n, "linear_before_reset");
	stage_id gates = step_stage(q, "gates", (linear ? 3 : 2) * q->H, "s b g"), reset = 0, part = 0;

	if (!linear) {
		reset = q->cell[q->d] = step_stage(q, "reset", q->H, "s b j");
		part = step_stage(q, "part", q->H, "s b j");
	}
	stage_id h = q->state[q->d] = step_stage(q, "state", q->H, "s b j");
	recurrent_product(q, gates, 0, state_before);
	ex_id sum;
	if (linear) {
		sum = low_fn2(L, FN_MUL, activate(q, 0, both(q, gates, h, 1)), from_state(q, gates, h, 2, 2));
	} else {
		ex_id r = activate(q, 0, both(q, gates, reset, 1));
		stage_body(L->p, reset, COMB_NONE, low_fn2(L, FN_MUL, r, state_before(q, reset, stage_axis(L->p, reset, 2))));
		recurrent_product(q, part, 2 * q->H, reset_state);
		sum = from_state(q, part, h, 0, 2);
	}
	ex_id z = activate(q, 0, both(q, gates, h, 0)), fresh = activate(q, 1, low_fn2(L, FN_ADD, from_input(q, h, 2), sum));
	ex_id keep = low_fn2(L, FN_MUL, z, state_before(q, h, stage_axis(L->p, h, 2)));
	stage_body(L->p, h, COMB_NONE, low_fn2(L, FN_ADD, low_fn2(L, FN_MUL, low_fn2(L, FN_SUB, low_num(L, z, 1), z), fresh), keep));
}

static void rnn_direction(struct rnn *q)
{
	stage_id gates = step_stage(q, "gates", q->H, "s b g"), h = q->state[q->d] = step_stage(q, "state", q->H, "s b j");

	recurrent_product(q, gates, 0, state_before);
	stage_body(q->L->p, h, COMB_NONE, activate(q, 0, both(q, gates, h, 0)));
}

/* Result k: all steps (whole), or the last one, of the states or cells of both directions. */
static void rnn_result(struct rnn *q, uint32_t k, const char *name, const stage_id *of, bool whole)
{
	struct lower *L = q->L;
	struct polys *P = L->p->P;
	poly at[LOOP_RANK_MAX], last = poly_const(P, q->T - 1);

	if (!low_wants(L, k))
		return;
	stage_id s = low_result(L, k, name);
	low_index(L, s, at);
	poly t = whole ? at[q->batch_first] : 0, d = whole ? at[q->batch_first ? 2 : 1] : at[q->batch_first];
	poly b = whole ? at[q->batch_first ? 0 : 2] : at[!q->batch_first], j = at[whole ? 3 : 2];
	poly ahead = !whole ? last : q->reverse ? poly_sub(P, last, t) : t, first = poly_mulc(P, d, -1);
	ex_id e = low_of(L, of[0], (poly[]){ahead, b, j});
	if (q->dirs == 2)
		e = ex_guard(L->p, 1, &first, e, low_of(L, of[1], (poly[]){whole ? poly_sub(P, last, t) : last, b, j}));
	stage_body(L->p, s, COMB_NONE, low_round(L, k, e));
}

static const char *recurrent(struct lower *L, int gates, const char *const *usual, int per, void (*direction)(struct rnn *q))
{
	struct rnn q;
	const char *why = read_rnn(&q, L, gates);

	q.rounds = L->n->op == OP_DynamicQuantizeLSTM;
	q.coded = q.rounds && low_has(L, 8);
	if (why || (why = read_activations(&q, usual, per)))
		return why;
	if (low_has(L, 1))
		input_product(&q);
	for (q.d = 0; q.d < q.dirs; q.d++) {
		q.scan = next_scan(L);
		direction(&q);
	}
	rnn_result(&q, 0, "y", q.state, true);
	rnn_result(&q, 1, "last", q.state, false);
	rnn_result(&q, 2, "last", q.cell, false);
	return NULL;
}

static const char *lstm(struct lower *L) { return recurrent(L, 4, (const char *const[]){"Sigmoid", "Tanh", "Tanh"}, 3, lstm_direction); }
static const char *gru(struct lower *L) { return recurrent(L, 3, (const char *const[]){"Sigmoid", "Tanh"}, 2, gru_direction); }
static const char *rnn(struct lower *L) { return recurrent(L, 1, (const char *const[]){"Tanh"}, 1, rnn_direction); }

const struct lower_row lower_scan[] = {
	{OP_CumProd, cumprod},
	{OP_CumSum, cumsum, .algos = cumsum_algos, .fits = cumsum_fits, .best = cumsum_best},
	{OP_LSTM, lstm},
	{OP_DynamicQuantizeLSTM, lstm},
	{OP_GRU, gru},
	{OP_RNN, rnn},
	{0},
};
