/* Lanes of other types than f32: the C types of their vectors, and conversions between them. */
#include "emit/vector.h"
#include "common/msg.h"

/* The C type of a vector of elements in memory or registers. A bool is stored as an integer. */
const char *lanes_ctype(enum dtype t) { return math_lanes(t) == LANE_FLOAT ? "vf" : "vi"; }

/* What the names of loads and stores end with. */
const char *memory_suffix(enum dtype t)
{
	switch (t) {
	case DT_F32: return "";
	case DT_F16: return "_f16";
	case DT_BF16: return "_bf16";
	case DT_I32: return "_i32";
	case DT_I16: return "_i16";
	case DT_U16: return "_u16";
	case DT_I8:
	case DT_I4:
	case DT_I2: return "_i8";
	case DT_U8:
	case DT_U4:
	case DT_U2:
	case DT_BOOL: return "_u8";
	default: BUG("no vectors of %s", dtype_name(t));
	}
}

const char *lanes_zero(enum dtype t) { return math_lanes(t) == LANE_FLOAT ? "vset(0.0f)" : "viset(0)"; }

const char *to_lanes(struct emit *e, struct vx x, enum dtype t)
{
	switch (math_lanes(t)) {
	case LANE_FLOAT: return to_vec(e, x);
	case LANE_INT: return x.kind == VX_SCALAR ? text(e, "viset(%s)", bare(e, x.s)) : x.s;
	default: return to_mask(e, x);
	}
}

struct vx in_lanes(enum dtype t, const char *s)
{
	switch (math_lanes(t)) {
	case LANE_FLOAT: return (struct vx){VX_VEC, s};
	case LANE_INT: return (struct vx){VX_INT, s};
	case LANE_BOOL: return (struct vx){VX_MASK, s};
	default: return vx_fail;
	}
}

const char *select_text(struct emit *e, enum dtype t, const char *m, const char *a, const char *b)
{
	switch (math_lanes(t)) {
	case LANE_FLOAT: return text(e, "vsel(%s, %s, %s)", m, a, b);
	case LANE_INT: return text(e, "visel(%s, %s, %s)", m, a, b);
	default: return text(e, "((%s & %s) | ((vm)~%s & %s))", m, a, m, b);
	}
}

const char *narrowed(struct emit *e, enum dtype t, const char *s)
{
	switch (t) {
	case DT_F16:
	case DT_BF16: return text(e, "vround%s(%s)", memory_suffix(t), bare(e, s));
	case DT_I8:
	case DT_U8:
	case DT_I4:
	case DT_U4:
	case DT_I2:
	case DT_U2:
	case DT_I16:
	case DT_U16: return text(e, "vwrap%s(%s)", memory_suffix(t), bare(e, s));
	default: return s;
	}
}

/* Does type `to` have every number of integer type `from`? */
static bool holds(enum dtype to, enum dtype from)
{
	size_t a = dtype_size(to), b = dtype_size(from);
	bool sign = dtype_is_signed(from);

	return sign == dtype_is_signed(to) ? a >= b : !sign && a > b;
}

const struct ex *number_of(struct loop_prog *p, ex_id ex, int fn, ex_id *x)
{
	const struct ex *call = lex(p, ex);

	for (int i = 0; i < 2 && call->kind == EX_CALL && call->fn == fn; i++) {
		*x = call->a[1 - i];
		if (lex(p, call->a[i])->kind == EX_CONST)
			return lex(p, call->a[i]);
	}
	return NULL;
}

bool within(struct loop_prog *p, ex_id ex, enum dtype t)
{
	bool sign = dtype_is_signed(t);
	double high = dtype_size(t) < 4 && math_lanes(t) == LANE_INT ? (double)(1 << (8 * (int)dtype_size(t) - sign)) : 0;
	const struct ex *outer, *inner;
	ex_id x, ignored;

	if ((outer = number_of(p, ex, FN_MIN, &x)) &&
	    ((inner = number_of(p, x, FN_MAX, &ignored)) || (inner = number_of(p, x, FN_MAX2, &ignored))))
		return outer->c < high && outer->c >= inner->c && inner->c >= (sign ? -high : 0);
	if ((outer = number_of(p, ex, FN_MAX, &x)) && (inner = number_of(p, x, FN_MIN, &ignored)))
		return inner->c < high && inner->c >= outer->c && outer->c >= (sign ? -high : 0);
	return false;
}

static struct vx from_float(struct emit *e, enum dtype to, enum dtype from, const char *s, bool stored)
{
	switch (math_lanes(to)) {
	case LANE_FLOAT: return (struct vx){VX_VEC, stored || to == DT_F32 ? s : narrowed(e, to, s)};
	case LANE_INT: return (struct vx){VX_INT, text(e, "vwhole%s(%s)", memory_suffix(to), bare(e, s))};
	default: return (struct vx){VX_MASK, text(e, "vne(%s, vset(0.0f))", s)};
	}
}

static struct vx from_int(struct emit *e, enum dtype to, enum dtype from, const char *s, bool stored)
{
	switch (math_lanes(to)) {
	case LANE_FLOAT:
		if (to != DT_F32 && dtype_size(from) == 4)
			return vx_fail; /* that would round twice */
		s = text(e, "vreal(%s)", bare(e, s));
		return (struct vx){VX_VEC, stored || to == DT_F32 ? s : narrowed(e, to, s)};
	case LANE_INT: return (struct vx){VX_INT, stored || holds(to, from) ? s : narrowed(e, to, s)};
	default: return (struct vx){VX_MASK, text(e, "vine(%s, viset(0))", bare(e, s))};
	}
}

struct vx cast_lanes(struct emit *e, enum dtype to, enum dtype from, struct vx x, bool stored)
{
	if (x.kind == VX_FAIL || to == from)
		return x;
	if (x.kind == VX_SCALAR)
		return (struct vx){VX_SCALAR, cast_text(e, to, from, x.s)};
	if (math_lanes(to) == LANE_NONE)
		return vx_fail;
	if (x.kind == VX_VEC)
		return from_float(e, to, from, x.s, stored);
	if (x.kind == VX_INT)
		return from_int(e, to, from, x.s, stored);
	return math_lanes(to) == LANE_FLOAT ? (struct vx){VX_VEC, text(e, "vsel(%s, vset(1.0f), vset(0.0f))", x.s)}
					    : (struct vx){VX_INT, text(e, "visel(%s, viset(1), viset(0))", x.s)};
}

/* Is ex a number of 8 bits (unsign: without a sign), widened? */
static bool of_bytes(struct loop_prog *p, ex_id ex, bool unsign)
{
	enum dtype t = lex(p, ex)->kind == EX_CAST ? lex(p, lex(p, ex)->a[0])->dtype : DT_F32;

	return lex(p, ex)->dtype == DT_I32 && (t == DT_U8 || (t == DT_I8 && !unsign));
}

const char *int_call(struct emit *e, const struct ex *x)
{
	bool bytes = x->fn == FN_MUL && of_bytes(e->p, x->a[0], false) && of_bytes(e->p, x->a[1], false) &&
		     (of_bytes(e->p, x->a[0], true) || of_bytes(e->p, x->a[1], true));

	return bytes ? "vimul16(%a, %b)" : math_row(x->fn)->whole;
}

/* NaN converts to the lowest 32-bit integer, whose low bits are 0: the code of NaN. */
static struct vx code_lanes(struct emit *e, ex_id code, const struct lanes *m)
{
	const struct ex *x = lex(e->p, code);
	struct vx whole = x->kind == EX_CAST && !named_find(e, code) ? vx_code(e, x->a[0], x->dtype, m) : vx_fail;

	if (whole.kind != VX_FAIL)
		return whole;
	if (x->kind != EX_CAST || lex(e->p, x->a[0])->dtype != DT_F32 || named_find(e, code) || !within(e->p, x->a[0], x->dtype))
		return vx(e, code, m);
	struct vx real = vx(e, x->a[0], m);
	return real.kind == VX_VEC ? (struct vx){VX_INT, text(e, "vtrunc(%s)", bare(e, real.s))} : vx(e, code, m);
}

struct vx vx_nibble(struct emit *e, const struct ex *call, const struct lanes *m)
{
	struct vx x = vx(e, call->a[0], m), bit = vx(e, call->a[1], m);

	if (x.kind == VX_SCALAR && bit.kind == VX_SCALAR)
		return (struct vx){VX_SCALAR, text(e, "(float)%s", scalar_call(e, FN_NIBBLE, DT_I32, x.s, bit.s, ""))};
	if (x.kind != VX_INT || bit.kind != VX_SCALAR)
		return vx_fail;
	return (struct vx){VX_VEC, text(e, "vnibble(%s, %s)", bare(e, x.s), bare(e, bit.s))};
}

struct vx vx_lookup(struct emit *e, ex_id ex, const struct lanes *m)
{
	ex_id code = looked_up_by(e->p, ex);
	struct vx x = code_lanes(e, code, m);
	bool sign = lex(e->p, ex)->dtype == DT_I8;

	if (x.kind == VX_SCALAR)
		return (struct vx){VX_SCALAR, lookup_text(e, ex, x.s)};
	if (x.kind != VX_INT)
		return vx_fail;
	if (lex(e->p, code)->dtype == DT_I8)
		x.s = text(e, "vwrap_u8(%s)", bare(e, x.s));
	x.s = text(e, "vlookup(%s%s, %s)", sign ? "(const unsigned char *)" : "", e->buf_text[lex(e->p, ex)->buf], bare(e, x.s));
	return (struct vx){VX_INT, sign ? text(e, "vwrap_i8(%s)", x.s) : x.s};
}
