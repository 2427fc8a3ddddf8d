/* Expressions for all lanes at once. Where that is not possible (indices that are data and cannot be gathered, for one), the result is
 * VX_FAIL, and the block is written lane after lane. */
#include "emit/vector.h"
#include "target/target.h"
#include <math.h>
#include <string.h>

const struct vx vx_fail = {VX_FAIL, ""};

const char *to_vec(struct emit *e, struct vx x) { return x.kind == VX_SCALAR ? text(e, "vset(%s)", bare(e, x.s)) : x.s; }
const char *to_mask(struct emit *e, struct vx x) { return x.kind == VX_SCALAR ? text(e, "vmset(%s)", x.s) : x.s; }

struct vx vx_index(struct emit *e, ex_id ex, enum dtype as)
{
	poly i = here(e, lex(e->p, ex)->index[0]), rest;
	int64_t c;

	if (!lane_in(e, i))
		return (struct vx){VX_SCALAR, text(e, "(%s)(%s)", vtype(as), poly_text(e, i))};
	if (as == DT_I32 && poly_linear_in(e->p->P, i, e->lane, &c, &rest))
		return (struct vx){VX_INT, text(e, "viindex(%s, %ld)", poly_text(e, rest), (long)c)};
	if (as != DT_F32)
		return vx_fail;
	if (poly_linear_in(e->p->P, i, e->lane, &c, &rest))
		return (struct vx){VX_VEC, text(e, "vindex(%s, %ld)", poly_text(e, rest), (long)c)};
	const char *s = "";
	for (int l = 0; l < e->vl; l++)
		s = text(e, "%s%s(float)(%s)", s, l ? ", " : "", bare(e, poly_text(e, lane_at(e, i, l))));
	return (struct vx){VX_VEC, text(e, "((vf){%s})", s)};
}

/* Does ex read a sum that is exact? */
static bool reads_exact(struct loop_prog *p, const struct ex *x)
{
	for (stage_id s = 1; s < p->stages.n && x->kind == EX_READ; s++)
		if (lstage(p, s)->exact && lstage(p, s)->out == x->buf)
			return true;
	return false;
}

static struct vx vx_cast(struct emit *e, ex_id ex, const struct lanes *m)
{
	struct ex x = *lex(e->p, ex), from = *lex(e->p, x.a[0]);

	struct vx code = vx_code_real(e, ex, 0, m);
	if (code.kind != VX_FAIL)
		return code;
	if (from.kind == EX_INDEX && (x.dtype == DT_F32 || x.dtype == DT_I32))
		return vx_index(e, x.a[0], x.dtype);
	if (x.dtype == DT_F32 && from.kind == EX_CALL && from.fn == FN_NIBBLE)
		return vx_nibble(e, &from, m);
	struct vx a = vx(e, x.a[0], m);
	if (x.dtype == DT_I32 && a.kind == VX_VEC && reads_exact(e->p, &from))
		return (struct vx){VX_INT, text(e, "vtrunc(%s)", bare(e, a.s))};
	return cast_lanes(e, x.dtype, from.dtype, a, ex == e->loose);
}

/* vmax and vmin return NaN if either operand is NaN. If one operand is known to be a number, one instruction is enough: the number goes
 * first. NULL: neither is. */
static const char *with_number(struct emit *e, const struct ex *x, const struct vx *a)
{
	bool hands_on_nan = target_filled(e->p->target).hands_on_nan;

	for (int i = 0; i < 2 && (x->fn == FN_MAX || x->fn == FN_MIN); i++)
		if (lex(e->p, x->a[i])->kind == EX_CONST && !isnan(lex(e->p, x->a[i])->c))
			return text(e, "v%s%s(%s, %s)", x->fn == FN_MAX ? "max" : "min", hands_on_nan ? "" : "2", a[i].s, a[1 - i].s);
	return NULL;
}

static bool with_identity(struct emit *e, const struct ex *x)
{
	const struct ex *n = lex(e->p, x->a[1]);

	return (x->fn == FN_MAX2 || x->fn == FN_MIN2) && n->kind == EX_CONST && n->c == (x->fn == FN_MAX2 ? -INFINITY : INFINITY);
}

/* A row's text with the operands put in. */
static const char *filled(struct emit *e, const char *row, const struct vx *a)
{
	const char *s = "", *next;

	while ((next = strchr(row, '%'))) {
		s = text(e, "%s%.*s%s", s, (int)(next - row), row, a[next[1] - 'a'].s);
		row = next + 2;
	}
	return text(e, "%s%s", s, row);
}

/* Is the result a number of type t whatever the operands are? */
static bool keeps_type(int fn, enum dtype t)
{
	switch (fn) {
	case FN_MAX:
	case FN_MIN:
	case FN_MAX2:
	case FN_MIN2:
	case FN_FLOOR:
	case FN_CEIL:
	case FN_ROUND:
	case FN_SIGN:
	case FN_SELECT: return true;
	case FN_NEG:
	case FN_ABS: return dtype_is_float(t);
	default: return false;
	}
}

static struct vx vx_call(struct emit *e, ex_id ex, const struct lanes *m)
{
	struct ex x = *lex(e->p, ex);
	const struct math_row *r = math_row(x.fn);
	struct vx a[3] = {{VX_SCALAR, ""}, {VX_SCALAR, ""}, {VX_SCALAR, ""}};
	enum dtype t = lex(e->p, x.a[x.fn == FN_SELECT])->dtype;
	const char *s;
	bool vary = false;

	if (x.fn == FN_SUB && lex(e->p, x.a[1])->kind == EX_CONST) {
		struct vx code = vx_code_real(e, x.a[0], lex(e->p, x.a[1])->c, m);
		if (code.kind != VX_FAIL)
			return code;
	}
	for (int i = 0; i < r->arity; i++) {
		a[i] = vx(e, x.a[i], m);
		if (a[i].kind == VX_FAIL)
			return vx_fail;
		vary |= a[i].kind != VX_SCALAR;
	}
	if (!vary)
		return (struct vx){VX_SCALAR, scalar_call(e, x.fn, t, a[0].s, a[1].s, a[2].s)};
	if (!math_in_lanes(x.fn, t))
		return vx_fail;
	if (x.fn == FN_SELECT && a[0].kind == VX_SCALAR)
		return in_lanes(t, text(e, "(%s ? %s : %s)", a[0].s, to_lanes(e, a[1], t), to_lanes(e, a[2], t)));
	bool bare = t == DT_F32 && x.fn >= FN_ADD && x.fn <= FN_DIV; /* scalar op vector is C */
	for (int i = 0; i < r->arity; i++)
		a[i].s = x.fn == FN_SELECT && !i ? to_mask(e, a[i]) : bare ? a[i].s : to_lanes(e, a[i], t);
	if (math_lanes(t) == LANE_FLOAT && (s = with_number(e, &x, a)))
		return (struct vx){VX_VEC, s};
	if (t == DT_F32 && with_identity(e, &x))
		return (struct vx){VX_VEC, filled(e, r->vector, a), x.fn, a[0].s};
	const char *q = math_lanes(t) == LANE_FLOAT ? r->vector : math_lanes(t) == LANE_INT ? int_call(e, &x) : r->mask;
	s = filled(e, q, a);
	return x.fn >= FN_EQ && x.fn <= FN_NOT ? (struct vx){VX_MASK, s} : in_lanes(t, keeps_type(x.fn, t) ? s : narrowed(e, t, s));
}

/* ---- guards ---- */

struct branch {
	const struct lanes *m;
	struct vx x;
};

static const char *vx_branch(struct emit *e, ex_id ex, void *arg)
{
	struct branch *b = arg;

	b->x = vx(e, ex, b->m);
	return b->x.s;
}

static const char *name_mask(struct emit *e, const char *s)
{
	const char *name = text(e, "t%d", e->ntemp++);

	vec_push(&e->lines, text(e, "const vm %s = %s;", name, s));
	return name;
}

/* The conditions of a guard, sorted by whether they are the same in all lanes. */
struct condition {
	bool never;        /* whatever the lane */
	const char *all;   /* C condition of the parts that are the same in all lanes; "": none */
	const char *lanes; /* mask of the lanes that meet the other parts; NULL: all do */
	const char *some,
		*other; /* C conditions that some lane is in the mask, and that some lane is not; "" unless an operand would read out of bounds */
	struct lanes inner; /* the active ones that are in the mask */
};

/* False: a condition is not linear in the lane. */
static bool read_guard(struct emit *e, const struct ex *x, const struct lanes *m, struct condition *c)
{
	*c = (struct condition){.all = "", .some = "", .other = "", .inner = *m};
	for (int i = 0; i < x->n; i++) {
		poly g = here(e, x->index[i]);
		enum guard_state s = guard_state(e, g);
		if (s == GUARD_NEVER)
			return c->never = true;
		if (s == GUARD_ALWAYS)
			continue;
		if (!lane_in(e, g)) {
			c->all = text(e, "%s%s%s", c->all, *c->all ? " && " : "", cond_text(e, g));
			continue;
		}
		const char *lanes = guard_lanes(e, g);
		if (!lanes)
			return false;
		c->lanes = with_lanes(e, c->lanes, lanes);
		narrow_exactly(e, &c->inner, g);
		c->some = guard_shared(e, c->some, x->a[0], g);
		if (x->n == 1) /* only a single condition says where the other operand is read */
			c->other = guard_shared(e, c->other, x->a[1], poly_addc(e->p->P, poly_mulc(e->p->P, g, -1), -1));
	}
	if (c->lanes) {
		c->inner.s = all_lanes(e, m) ? c->lanes : with_lanes(e, m->s, c->lanes);
		c->inner.guard = true;
	}
	return true;
}

/* The active lanes in which the guard does not hold: the other operand is loaded for these alone. */
static struct lanes kept_out(struct emit *e, const struct condition *c, const struct lanes *m)
{
	enum { DEEP = 48 }; /* in guards nested deeper than this (a Concat of many operands), masks of masks would grow with each level */
	struct lanes rest = *m;

	if (!c->lanes)
		return rest;
	const char *out = text(e, "(vm)~%s", c->lanes);
	if (*c->all)
		out = text(e, "(%s ? %s : vlanes(0, VL))", c->all, out);
	rest.s = all_lanes(e, m) ? out : with_lanes(e, m->s, out);
	rest.guard = true;
	rest.exact = false;
	if (e->guarded >= DEEP)
		rest.s = name_mask(e, rest.s);
	return rest;
}

/* The value of x, or anything if the condition does not hold. */
static const char *vec_if(struct emit *e, const char *cond, struct vx x, enum dtype t)
{
	const char *s = to_lanes(e, x, t);

	return !*cond ? s : text(e, "(%s ? %s : %s)", cond, s, math_lanes(t) == LANE_BOOL ? "vmset(0)" : lanes_zero(t));
}

/* Conditions without the lane choose for all lanes at once (C's ?:, so the other operand is not evaluated). Conditions with the lane
 * narrow the mask, so that the loads of the operand stay within bounds. */
static struct vx vx_guard(struct emit *e, ex_id ex, const struct lanes *m)
{
	struct ex x = *lex(e->p, ex);
	struct condition c;

	if (!read_guard(e, &x, m, &c))
		return vx_fail;
	if (c.never)
		return vx(e, x.a[1], m);
	if (!*c.all && !c.lanes)
		return vx(e, x.a[0], m);
	struct lanes rest = kept_out(e, &c, m);
	struct branch yes = {&c.inner}, no = {&rest};
	e->guarded++;
	yes.x.s = scoped(e, x.a[0], vx_branch, &yes);
	no.x.s = scoped(e, x.a[1], vx_branch, &no);
	e->guarded--;
	if (yes.x.kind == VX_FAIL || no.x.kind == VX_FAIL || (c.lanes && math_lanes(x.dtype) == LANE_NONE))
		return vx_fail;
	if (c.lanes)
		yes.x = in_lanes(x.dtype,
				 select_text(e, x.dtype, c.inner.s, vec_if(e, c.some, yes.x, x.dtype), vec_if(e, c.other, no.x, x.dtype)));
	if (!*c.all)
		return yes.x;
	if (yes.x.kind == VX_SCALAR && no.x.kind == VX_SCALAR)
		return (struct vx){VX_SCALAR, text(e, "(%s ? %s : %s)", c.all, yes.x.s, no.x.s)};
	return in_lanes(x.dtype, text(e, "(%s ? %s : %s)", c.all, to_lanes(e, yes.x, x.dtype), to_lanes(e, no.x, x.dtype)));
}

struct vx vx(struct emit *e, ex_id ex, const struct lanes *m)
{
	struct ex x = *lex(e->p, ex);
	const struct named_ex *named = named_find(e, ex);
	struct vx r = vx_fail;

	if (named)
		return (struct vx){named->kind, named->text};
	switch (x.kind) {
	case EX_CONST: return (struct vx){VX_SCALAR, const_text(e, x.dtype, x.c, x.ic)};
	case EX_INDEX: return vx_index(e, ex, x.dtype);
	case EX_READ: r = vx_read(e, ex, m); break;
	case EX_CALL: r = vx_call(e, ex, m); break;
	case EX_CAST: r = vx_cast(e, ex, m); break;
	case EX_GUARD: r = vx_guard(e, ex, m); break;
	}
	if (r.kind != VX_FAIL)
		r.s = name_shared(e, ex, r.kind,
				  r.kind == VX_SCALAR ? vtype(x.dtype)
				  : r.kind == VX_VEC  ? "vf"
				  : r.kind == VX_INT  ? "vi"
						      : "vm",
				  r.s);
	return r;
}
