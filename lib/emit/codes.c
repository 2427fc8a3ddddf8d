/* Codes in lanes: numbers rounded to integers, moved by a zero point and limited to what a byte holds. The limits are applied before
 * the rounding, which changes no code. Then one conversion does the rounding, and what is computed from a code needs no other. */
#include <math.h>
#include "emit/vector.h"

/* min(max(round(of) + zero, lo), hi), where lo is 0: the code of NaN. */
struct code {
	ex_id of;
	double zero, lo, hi;
};

/* Is real, of f32, the code of a number, in the unsigned type t? */
static bool read_code(struct emit *e, ex_id real, enum dtype t, struct code *c)
{
	enum { WHOLE = 1 << 16 }; /* up to this, sums of zero points and bounds are exact in float */
	struct loop_prog *p = e->p;
	const struct ex *hi, *lo, *zero;
	ex_id x, sum;

	if (t != DT_U8 || lex(p, real)->dtype != DT_F32 || named_find(e, real) || !(hi = number_of(p, real, FN_MIN, &x)) ||
	    !(lo = number_of(p, x, FN_MAX, &sum)) || !within(p, real, t) || lo->c != 0)
		return false;
	zero = number_of(p, sum, FN_ADD, &x);
	x = zero ? x : sum;
	*c = (struct code){lex(p, x)->a[0], zero ? zero->c : 0, lo->c, hi->c};
	return lex(p, x)->kind == EX_CALL && lex(p, x)->fn == FN_ROUND && hi->c == floor(hi->c) && c->zero == floor(c->zero) &&
	       fabs(c->zero) <= WHOLE;
}

static const char *number(struct emit *e, double c) { return bare(e, const_text(e, DT_F32, c, 0)); }

/* s, limited to the code's bounds less its zero point; NaN becomes the lower bound. */
static const char *bound(struct emit *e, const struct code *c, const char *s)
{
	return text(e, "vmin2(vset(%s), vmax2(%s, vset(%s)))", number(e, c->hi - c->zero), s, number(e, c->lo - c->zero));
}

struct vx vx_code(struct emit *e, ex_id real, enum dtype t, const struct lanes *m)
{
	struct code c;

	if (!read_code(e, real, t, &c))
		return vx_fail;
	struct vx x = vx(e, c.of, m);
	if (x.kind != VX_VEC)
		return vx_fail;
	const char *s = text(e, "vnearest(%s)", bound(e, &c, bare(e, x.s)));
	return (struct vx){VX_INT, c.zero == 0 ? s : text(e, "(%s + %s)", s, number_mark(e, DT_I32, text(e, "%d", (int)c.zero)))};
}

struct vx vx_code_real(struct emit *e, ex_id ex, double less, const struct lanes *m)
{
	const struct ex *real = lex(e->p, ex), *code = real->kind == EX_CAST ? lex(e->p, real->a[0]) : NULL;
	struct code c;

	if (!code || real->dtype != DT_F32 || code->kind != EX_CAST || named_find(e, ex) || named_find(e, real->a[0]) ||
	    e->uses.a[ex] > 1 || e->uses.a[real->a[0]] > 1 || !read_code(e, code->a[0], code->dtype, &c))
		return vx_fail;
	struct vx x = vx(e, c.of, m);
	if (x.kind != VX_VEC)
		return vx_fail;
	const char *s = bound(e, &c, text(e, "vrint(%s)", bare(e, x.s)));
	return (struct vx){VX_VEC, c.zero == less ? s : text(e, "(%s + %s)", s, const_text(e, DT_F32, c.zero - less, 0))};
}
