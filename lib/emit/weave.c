/* Four rows of bytes woven: the bytes of a lane lie side by side, and one store writes them. */
#include "emit/vector.h"

enum { ROWS = 4 };

/* An unrolled loop over rows, in it one over lanes, in it a block: all of them whole, and nothing else. */
static nest_id only_kid(struct emit *e, nest_id loop)
{
	const struct nest *body = lnest(e->p, lnest(e->p, loop)->kid.a[0]);

	return body->kid.n == 1 && !has_locals(e, loop) && !lnest(e->p, loop)->ahead.n ? body->kid.a[0] : 0;
}

static nest_id woven_block(struct emit *e, nest_id rows, nest_id *lanes)
{
	int64_t n;

	*lanes = only_kid(e, rows);
	const struct nest *l = *lanes ? lnest(e->p, *lanes) : NULL;
	if (!l || l->kind != NEST_FOR || l->mark != LOOP_VECTOR || !poly_is_const(e->p->P, env_subst(e, l->extent), &n) || n != e->vl)
		return 0;
	nest_id block = only_kid(e, *lanes);
	const struct nest *b = block ? lnest(e->p, block) : NULL;
	if (!b || b->kind != NEST_BLOCK || b->phase != BLOCK_UPDATE || b->guard.n)
		return 0;
	const struct stage *s = lstage(e->p, b->stage);
	bool bytes =
		lbuf(e->p, s->out)->dtype == DT_U8 && lbuf(e->p, s->out)->scope != SCOPE_REGISTER && lex(e->p, s->body)->dtype == DT_U8;
	return bytes && s->comb == COMB_NONE ? block : 0;
}

static const char *lanes_of(struct emit *e, ex_id ex, void *m)
{
	struct vx x = vx(e, ex, m);

	return x.kind == VX_FAIL ? NULL : to_lanes(e, x, DT_U8);
}

/* The lanes of row `at`, and where its first byte lies; NULL: not as vectors. */
static const char *row_text(struct emit *e, poly_var row, int at, poly *first)
{
	const struct stage *s = lstage(e->p, lnest(e->p, e->block)->stage);
	struct lanes m;
	int64_t step;
	const char *x = NULL;

	env_push(e, row, poly_const(e->p->P, at));
	body_begin(e);
	if (block_lanes(e, &m) && all_lanes(e, &m) && poly_linear_in(e->p->P, write_offset(e), e->lane, &step, first) && step == ROWS)
		x = scoped(e, s->body, lanes_of, &m);
	e->nenv--;
	return x;
}

bool emit_woven(struct emit *e, nest_id rows)
{
	nest_id lanes, block = woven_block(e, rows, &lanes);
	const char *x[ROWS] = {0};
	poly first[ROWS];
	bool good = block;

	if (!block)
		return false;
	e->block = block;
	e->lane = lnest(e->p, lanes)->var;
	e->lanes = e->vl;
	e->lane_guard = 0;
	for (int i = 0; i < ROWS && good; i++) {
		x[i] = row_text(e, lnest(e->p, rows)->var, i, &first[i]);
		good = x[i] && first[i] == poly_addc(e->p->P, first[0], i);
	}
	e->lane = 0;
	buf_id out = lstage(e->p, lnest(e->p, block)->stage)->out;
	if (good && !e->dry)
		run_add(e,
			text(e, "%.*svweave(%s + %s, %s, %s, %s, %s);\n", e->depth, "\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t", e->buf_text[out],
			     poly_text(e, first[0]), bare(e, x[0]), bare(e, x[1]), bare(e, x[2]), bare(e, x[3])),
			false, out);
	return good;
}
