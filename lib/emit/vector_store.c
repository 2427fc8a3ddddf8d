/* The statement of a block for all lanes: the value, combined with the old one, is stored to registers or memory. */
#include <math.h>
#include "emit/vector.h"

/* Is ex never NaN? */
static bool is_number(struct loop_prog *p, ex_id ex)
{
	const struct ex *e = lex(p, ex);
	ex_id x;

	if (e->kind == EX_CONST)
		return !isnan(e->c);
	if (e->kind == EX_GUARD)
		return is_number(p, e->a[0]) && is_number(p, e->a[1]);
	const struct ex *n = number_of(p, ex, FN_MAX2, &x);
	n = n ? n : number_of(p, ex, FN_MIN2, &x);
	return n && e->a[0] == x && !isnan(n->c);
}

/* The greater (fn: FN_MAX) or lesser of old lanes and x. vmax tests its first operand for NaN; the sum, which waits for the iteration
 * before, is the second. */
static const char *extreme(struct emit *e, int fn, enum dtype t, const char *old, struct vx x)
{
	const char *name = fn == FN_MAX ? "max" : "min";

	if (math_lanes(t) != LANE_FLOAT)
		return text(e, "vi%s(%s, %s)", name, to_lanes(e, x, t), old);
	if (x.fn == (fn == FN_MAX ? FN_MAX2 : FN_MIN2)) /* of a number that is none, old */
		return text(e, "v%s2(%s, %s)", name, x.any, old);
	bool number = is_number(e->p, lstage(e->p, lnest(e->p, e->block)->stage)->body);
	return text(e, "v%s%s(%s, %s)", name, number ? "2" : "", to_lanes(e, x, t), old);
}

/* Old lanes of type t combined with x. */
static const char *combined(struct emit *e, enum combiner c, enum dtype t, const char *old, struct vx x)
{
	switch (c) {
	case COMB_SUM: return text(e, "%s + %s", old, t == DT_F32 ? x.s : to_lanes(e, x, t));
	case COMB_PROD: return text(e, "%s * %s", old, t == DT_F32 ? x.s : to_lanes(e, x, t));
	case COMB_MAX: return extreme(e, FN_MAX, t, old, x);
	case COMB_MIN: return extreme(e, FN_MIN, t, old, x);
	default: return to_lanes(e, x, t);
	}
}

/* x as an element of b, which is of type t. */
static const char *as_element(struct emit *e, buf_id b, enum dtype t, const char *x)
{
	return t == DT_BF16 ? bf16_element(e, b, x) : dtype_is_int(t) && dtype_size(t) < 4 ? text(e, "(%s)(%s)", ctype(t), x) : x;
}

/* A reduce loop as a vector loop: all lanes are combined into one element. */
static bool horizontal(struct emit *e, buf_id out, poly off, enum combiner c, enum dtype t, struct vx x, const struct lanes *m)
{
	static const char *const name[] = {"", "sum", "prod", "max", "min"};
	const char *to = element(e, out, off);

	if (c == COMB_NONE) {
		if (x.kind != VX_SCALAR)
			return false;
		body_lines(e);
		line(e, "%s = %s;", to, as_element(e, out, t, x.s));
		return true;
	}
	bool sum = c == COMB_SUM || c == COMB_PROD;
	if (sum && (t == DT_F16 || t == DT_BF16))
		return false; /* each sum is rounded */
	const char *v = to_lanes(e, x, t), *i = math_lanes(t) == LANE_FLOAT ? "" : "i";
	struct ex none = identity_const(c, t);
	if (!all_lanes(e, m))
		v = select_text(e, t, m->s, v, text(e, "v%sset(%s)", i, const_text(e, t, none.c, none.ic)));
	v = text(e, "v%sh%s(%s)", i, name[c], v);
	body_lines(e);
	if (t == DT_F16 || t == DT_BF16)
		line(e, "%s = %s;", to,
		     as_element(e, out, t, scalar_call(e, c == COMB_MAX ? FN_MAX : FN_MIN, t, scalar_load(e, out, off), v, "")));
	else if (!sum)
		line(e, "%s = %s_%s(%s, %s);", to, name[c], dtype_name(t), to, v);
	else if (dtype_size(t) < 4)
		line(e, "%s = %s;", to, as_element(e, out, t, text(e, "%s %c %s", to, c == COMB_SUM ? '+' : '*', v)));
	else
		line(e, "%s %s %s;", to, c == COMB_SUM ? "+=" : "*=", v);
	return true;
}

static bool to_register(struct emit *e, buf_id out, int64_t at, enum combiner c, enum dtype t, struct vx x, const struct lanes *m)
{
	bool begins = c == COMB_SUM && t == DT_F32 && !m->guard && reg_is_zero(e, out, at);

	reg_touch(e, out, at, m->n, m->mask, m->nopen);
	const struct reg_run *run = e->dry ? NULL : reg_run(e, out, at);
	int half;
	const char *both = !e->dry && c == COMB_NONE && all_lanes(e, m) ? reg_half(e, out, at, &half) : NULL;
	if (both) {
		body_lines(e);
		line(e, "%s = vhalf_set(%s, %d, %s);", both, both, half, bare(e, to_lanes(e, x, t)));
		return true;
	}
	if (!e->dry && (!run || run->lanes > e->vl))
		return false;
	const char *name = reg_name(e, out, at), *v = combined(e, c, t, name, x);
	bool sum = c == COMB_SUM || c == COMB_PROD;
	if (sum)
		v = narrowed(e, t, v);
	body_lines(e);
	if (begins && run && run->lanes == m->n)
		line(e, "%s = %s;", name, bare(e, to_lanes(e, x, t)));
	else if (run && ((m->guard && run->mixed) || run->lanes > m->n))
		line(e, "%s = %s;", name, select_text(e, t, m->s, v, name));
	else if (sum && dtype_size(t) == 4)
		line(e, "%s %s %s;", name, c == COMB_SUM ? "+=" : "*=", bare(e, t == DT_F32 ? x.s : to_lanes(e, x, t)));
	else
		line(e, "%s = %s;", name, bare(e, v));
	return true;
}

/* Lanes that lie apart in vector variables: each takes its own. */
static bool to_register_parts(struct emit *e, buf_id out, poly off, enum combiner c, enum dtype t, struct vx x, const struct lanes *m)
{
	const struct reg_run *run[VL_MAX];
	int64_t at[VL_MAX];
	int of[VL_MAX], lane[VL_MAX];

	for (int l = 0; l < m->n; l++)
		if (m->guard || c != COMB_NONE || !poly_is_const(e->p->P, lane_at(e, off, l), &at[l]))
			return false;
	e->regs[out].in_parts = true;
	int n = reg_spread(e, out, at, m->n, VL_MAX, run, of, lane);
	if (!n && !e->dry)
		return false;
	body_lines(e);
	line(e, "const %s q = %s;", lanes_ctype(t), bare(e, to_lanes(e, x, t)));
	for (int k = 0; k < n; k++) {
		const char *name = reg_name(e, out, run[k]->at), *s = text(e, "__builtin_shufflevector(%s, q", name);
		for (int i = 0; i < e->vl; i++) {
			int from = i;
			for (int l = 0; l < m->n; l++)
				from = of[l] == k && lane[l] == i ? e->vl + l : from;
			s = text(e, "%s, %d", s, from);
		}
		line(e, "%s = %s);", name, s);
	}
	return true;
}

static bool to_registers(struct emit *e, buf_id out, poly off, enum combiner c, enum dtype t, struct vx x, const struct lanes *m)
{
	const struct nest *n = lnest(e->p, e->block);
	int64_t step, at;
	poly rest;

	if (!poly_linear_in(e->p->P, off, e->lane, &step, &rest) || step != 1 || !poly_is_const(e->p->P, rest, &at))
		return to_register_parts(e, out, off, c, t, x, m);
	if (!to_register(e, out, at, c, t, x, m))
		return false;
	if (n->phase == BLOCK_INIT && lstage(e->p, n->stage)->comb == COMB_SUM && m->n == e->vl && !m->guard && !n->guard.n)
		reg_zero(e, out, at);
	return true;
}

static void to_memory(struct emit *e, buf_id out, poly rest, int64_t step, enum combiner c, enum dtype t, struct vx x,
		      const struct lanes *m)
{
	bool all = all_lanes(e, m);
	int first = step == 1 ? first_lanes(e, m, t) : 0;
	const char *to = text(e, "%s + %s", e->buf_text[out], poly_text(e, rest)), *old = "", *suffix = memory_suffix(t);

	body_lines(e);
	if (c != COMB_NONE) {
		line(e, "%s *const q = %s;", ctype(t), to);
		to = "q";
		old = step != 1 ? text(e, "vgather%s_mask(q, %ld, %s)", suffix, (long)step, m->s)
		      : all     ? text(e, "vload%s(q)", suffix)
				: text(e, "vload%s_mask(q, %s)", suffix, m->s);
	}
	const char *v = bare(e, combined(e, c, t, old, x));
	if (step == 1 && all && c == COMB_NONE && t == DT_F32)
		run_stores(e, out, rest, to, v);
	if (step != 1)
		line(e, "vscatter%s(%s, %ld, %s, %s);", suffix, to, (long)step, v, m->s);
	else if (all)
		line(e, "vstore%s(%s, %s);", suffix, to, v);
	else if (first)
		line(e, "vstore%s_first(%s, %s, %d);", suffix, to, v, first);
	else
		line(e, "vstore%s_mask(%s, %s, %s);", suffix, to, v, m->s);
}

/* The cast to t, a float of 16 bits, in a body that only compares its number with others of type t or takes its size: to round it before or
 * after is the same. 0: there is none. */
static ex_id rounded_early(struct loop_prog *p, ex_id body, enum dtype t)
{
	while (t == DT_F16 || t == DT_BF16) {
		const struct ex *x = lex(p, body);
		if (x->dtype != t)
			return 0;
		if (x->kind == EX_CAST)
			return lex(p, x->a[0])->dtype == DT_F32 ? body : 0;
		if (x->kind != EX_CALL)
			return 0;
		if (x->fn == FN_NEG || x->fn == FN_ABS) {
			body = x->a[0];
			continue;
		}
		if (x->fn != FN_MAX && x->fn != FN_MIN && x->fn != FN_MAX2 && x->fn != FN_MIN2)
			return 0;
		int leaf = lex(p, x->a[0])->kind == EX_CONST || lex(p, x->a[0])->kind == EX_READ ? 0 : 1;
		if (lex(p, x->a[leaf])->kind != EX_CONST && lex(p, x->a[leaf])->kind != EX_READ)
			return 0;
		body = x->a[!leaf];
	}
	return 0;
}

/* The body as values of type t; direct: stored without conversion. */
static struct vx body_lanes(struct emit *e, ex_id body, enum dtype t, bool direct, const struct lanes *m)
{
	if (direct && lex(e->p, body)->kind == EX_CAST && lex(e->p, body)->dtype == t && t != DT_BOOL)
		body = lex(e->p, body)->a[0];
	if (lex(e->p, body)->kind == EX_INDEX && dtype_is_int(lex(e->p, body)->dtype) && (t == DT_F32 || t == DT_I32))
		return vx_index(e, body, t);
	struct vx x = direct ? vx_code(e, body, t, m) : vx_fail;
	if (x.kind != VX_FAIL)
		return x;
	e->loose = direct ? rounded_early(e->p, body, t) : 0;
	x = vx(e, body, m);
	e->loose = 0;
	if (direct && x.kind == VX_VEC && within(e->p, body, t))
		return (struct vx){VX_INT, text(e, "vtrunc(%s)", bare(e, x.s))};
	return cast_lanes(e, t, lex(e->p, body)->dtype, x, direct);
}

/* Bools are stored as bytes. */
static struct vx as_stored(struct emit *e, enum dtype *t, struct vx x)
{
	if (*t != DT_BOOL)
		return x;
	*t = DT_U8;
	return x.kind == VX_SCALAR ? x : cast_lanes(e, DT_U8, DT_BOOL, x, true);
}

/* A step of a sum in registers that is exact: product and sum at once. */
static bool exact_step(struct emit *e, buf_id out, const struct lanes *m)
{
	const struct stage *s = lstage(e->p, lnest(e->p, e->block)->stage);
	const struct ex *body = lex(e->p, s->body);
	poly off = write_offset(e), rest;
	int64_t step, at;

	if (!s->exact || body->kind != EX_CALL || body->fn != FN_MUL || !poly_linear_in(e->p->P, off, e->lane, &step, &rest) || step != 1 ||
	    !poly_is_const(e->p->P, rest, &at) || !all_lanes(e, m))
		return false;
	ex_id a = body->a[0], b = body->a[1];
	struct vx x = vx(e, a, m), y = vx(e, b, m);
	if (x.kind == VX_FAIL || y.kind == VX_FAIL)
		return false;
	reg_touch(e, out, at, m->n, m->mask, m->nopen);
	const struct reg_run *run = e->dry ? NULL : reg_run(e, out, at);
	if (!e->dry && (!run || run->lanes != m->n || run->lanes != e->vl))
		return false;
	const char *name = reg_name(e, out, at);
	body_lines(e);
	line(e, "%s = vfma(%s, %s, %s);", name, to_vec(e, x), to_vec(e, y), name);
	return true;
}

bool vector_block(struct emit *e)
{
	const struct nest *n = lnest(e->p, e->block);
	const struct stage *s = lstage(e->p, n->stage);
	bool init = n->phase == BLOCK_INIT, sum = s->comb == COMB_SUM || s->comb == COMB_PROD;
	enum combiner c = init ? COMB_NONE : s->comb;
	ex_id body = s->body;
	buf_id out = s->out;
	enum dtype t = lbuf(e->p, out)->dtype;
	struct ex none = identity_const(s->comb, t);
	struct lanes m;
	struct vx x;
	int64_t step;
	poly rest;

	if (math_lanes(t) == LANE_NONE || (t == DT_BOOL && sum))
		return false;
	body_begin(e);
	if (!block_lanes(e, &m))
		return false;
	if (c == COMB_SUM && lbuf(e->p, out)->scope == SCOPE_REGISTER && exact_step(e, out, &m))
		return true;
	if (init)
		x = (struct vx){VX_SCALAR, const_text(e, t, none.c, none.ic)};
	else
		x = body_lanes(e, body, t, c == COMB_NONE && lbuf(e->p, out)->scope != SCOPE_REGISTER, &m);
	if (x.kind == VX_FAIL)
		return false;
	x = as_stored(e, &t, x);
	poly off = write_offset(e);
	if (!lane_in(e, off))
		return !m.guard || c != COMB_NONE ? horizontal(e, out, off, c, t, x, &m) : false;
	if (lbuf(e->p, out)->scope == SCOPE_REGISTER)
		return to_registers(e, out, off, c, t, x, &m);
	if (!poly_linear_in(e->p->P, off, e->lane, &step, &rest))
		return false;
	to_memory(e, out, rest, step, c, t, x, &m);
	return true;
}
