/* Four rows of bytes by one store: woven, so that the bytes of a lane lie side by side, or one behind the other. */
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

/* The same of codes, which are of 0 to 255 before they are made bytes; NULL: not known to be. */
static const char *codes_of(struct emit *e, ex_id ex, void *m)
{
	const struct ex *cast = lex(e->p, ex);

	if (cast->kind != EX_CAST)
		return NULL;
	struct vx x = vx_code(e, cast->a[0], DT_U8, m);
	if (x.kind != VX_FAIL || !within(e->p, cast->a[0], DT_U8) || lex(e->p, cast->a[0])->dtype != DT_F32)
		return x.kind == VX_INT ? x.s : NULL;
	x = vx(e, cast->a[0], m);
	return x.kind == VX_VEC ? text(e, "vtrunc(%s)", bare(e, x.s)) : NULL;
}

/* How rows lie in memory. */
struct rows {
	const char *call;
	int64_t lane, row; /* bytes from one lane to the next, and from row to row */
	const char *(*lanes)(struct emit *e, ex_id ex, void *m);
};

/* The lanes of a row, and where its first byte lies; NULL: not as vectors. */
static const char *row_text(struct emit *e, const struct rows *r, poly_var row, poly at, poly *first)
{
	const struct stage *s = lstage(e->p, lnest(e->p, e->block)->stage);
	struct lanes m;
	int64_t step;
	const char *x = NULL;

	env_push(e, row, at);
	body_begin(e);
	if (block_lanes(e, &m) && all_lanes(e, &m) && poly_linear_in(e->p->P, write_offset(e), e->lane, &step, first) && step == r->lane)
		x = scoped(e, s->body, r->lanes, &m);
	e->nenv--;
	return x;
}

/* The rows from `at` on of the loop. */
static bool emit_rows(struct emit *e, const struct rows *r, nest_id loop, poly at)
{
	nest_id lanes, block = woven_block(e, loop, &lanes);
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
		x[i] = row_text(e, r, lnest(e->p, loop)->var, poly_addc(e->p->P, at, i), &first[i]);
		good = x[i] && first[i] == poly_addc(e->p->P, first[0], i * r->row);
	}
	e->lane = 0;
	buf_id out = lstage(e->p, lnest(e->p, block)->stage)->out;
	if (good && !e->dry)
		run_add(e,
			text(e, "%.*s%s(%s + %s, %s, %s, %s, %s);\n", e->depth, "\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t", r->call,
			     e->buf_text[out], poly_text(e, first[0]), bare(e, x[0]), bare(e, x[1]), bare(e, x[2]), bare(e, x[3])),
			false, out);
	return good;
}

bool emit_woven(struct emit *e, nest_id loop)
{
	return emit_rows(e, &(struct rows){"vweave", ROWS, 1, lanes_of}, loop, poly_const(e->p->P, 0));
}

bool emit_packed(struct emit *e, nest_id loop, poly at)
{
	return emit_rows(e, &(struct rows){"vstore_bytes", 1, e->vl, codes_of}, loop, at);
}
