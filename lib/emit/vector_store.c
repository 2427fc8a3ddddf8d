/* The statement of a block for all lanes: what it computes, combined with what was there, to registers or memory. */
#include "emit/vector.h"

static const char *combined(struct emit *e, enum combiner c, const char *old, struct vx x)
{
	switch (c) {
	case COMB_SUM: return text(e, "%s + %s", old, x.s);
	case COMB_PROD: return text(e, "%s * %s", old, x.s);
	case COMB_MAX:
		return text(e, "vmax(%s, %s)", to_vec(e, x),
			    old); /* vmax tests its first operand for NaN: not the sum, which waits for the step before */
	case COMB_MIN: return text(e, "vmin(%s, %s)", to_vec(e, x), old);
	default: return to_vec(e, x);
	}
}

/* A reduce loop as a vector loop: all lanes are combined into one element. */
static bool horizontal(struct emit *e, buf_id out, poly off, enum combiner c, struct vx x, const struct lanes *m)
{
	static const char *const name[] = {"", "sum", "prod", "max", "min"};

	if (c == COMB_NONE) {
		if (x.kind != VX_SCALAR)
			return false;
		body_lines(e);
		line(e, "%s = %s;", element(e, out, off), x.s);
		return true;
	}
	const char *v = to_vec(e, x), *to = element(e, out, off);
	if (!all_lanes(e, m))
		v = text(e, "vsel(%s, %s, vset(%s))", m->s, v, const_text(e, DT_F32, combiner_identity(c), 0));
	v = text(e, "vh%s(%s)", name[c], v);
	body_lines(e);
	if (c == COMB_SUM || c == COMB_PROD)
		line(e, "%s %s %s;", to, c == COMB_SUM ? "+=" : "*=", v);
	else
		line(e, "%s = %s_f32(%s, %s);", to, name[c], to, v);
	return true;
}

static bool to_register(struct emit *e, buf_id out, int64_t at, enum combiner c, struct vx x, const struct lanes *m)
{
	reg_touch(e, out, at, m->n, m->mask, m->nopen);
	const struct reg_run *run = e->dry ? NULL : reg_run(e, out, at);
	if (!e->dry && !run)
		return false;
	const char *name = reg_name(e, out, at);
	body_lines(e);
	if (run && ((m->guard && run->mixed) || run->lanes > m->n))
		line(e, "%s = vsel(%s, %s, %s);", name, m->s, combined(e, c, name, x), name);
	else if (c == COMB_SUM || c == COMB_PROD)
		line(e, "%s %s %s;", name, c == COMB_SUM ? "+=" : "*=", bare(e, x.s));
	else
		line(e, "%s = %s;", name, bare(e, combined(e, c, name, x)));
	return true;
}

static void to_memory(struct emit *e, buf_id out, poly rest, int64_t step, enum combiner c, struct vx x, const struct lanes *m)
{
	bool all = all_lanes(e, m);
	const char *to = text(e, "%s + %s", e->buf_text[out], poly_text(e, rest)), *old = "";

	body_lines(e);
	if (c != COMB_NONE) {
		line(e, "float *const q = %s;", to);
		to = "q";
		old = step != 1 ? text(e, "vgather_mask(q, %ld, %s)", (long)step, m->s)
		      : all     ? "vload(q)"
				: text(e, "vload_mask(q, %s)", m->s);
	}
	const char *v = bare(e, combined(e, c, old, x));
	if (step != 1)
		line(e, "vscatter(%s, %ld, %s, %s);", to, (long)step, v, m->s);
	else if (all)
		line(e, "vstore(%s, %s);", to, v);
	else
		line(e, "vstore_mask(%s, %s, %s);", to, v, m->s);
}

bool vector_block(struct emit *e)
{
	const struct nest *n = lnest(e->p, e->block);
	stage_id sid = n->stage;
	bool init = n->phase == BLOCK_INIT;
	enum combiner c = lstage(e->p, sid)->comb;
	buf_id out = lstage(e->p, sid)->out;
	struct lanes m;
	struct vx x;
	int64_t step, at;
	poly rest;

	if (lbuf(e->p, out)->dtype != DT_F32)
		return false;
	body_begin(e);
	if (!block_lanes(e, &m))
		return false;
	if (init)
		x = (struct vx){VX_SCALAR, const_text(e, DT_F32, combiner_identity(c), 0)};
	else if (lex(e->p, lstage(e->p, sid)->body)->dtype != DT_F32)
		return false;
	else
		x = vx(e, lstage(e->p, sid)->body, &m);
	if (x.kind != VX_SCALAR && x.kind != VX_VEC)
		return false;
	poly off = write_offset(e);
	if (init)
		c = COMB_NONE;
	if (!lane_in(e, off))
		return !m.guard || c != COMB_NONE ? horizontal(e, out, off, c, x, &m) : false;
	if (!poly_linear_in(e->p->P, off, e->lane, &step, &rest))
		return false;
	if (lbuf(e->p, out)->scope != SCOPE_REGISTER) {
		to_memory(e, out, rest, step, c, x, &m);
		return true;
	}
	return step == 1 && poly_is_const(e->p->P, rest, &at) && to_register(e, out, at, c, x, &m);
}
