/* Sums that an instruction makes of groups of products: bytes, four at a time. A group lies side by side in what stands still along
 * the vectors, and in the panels of what moves. */
#include "loop/instr.h"
#include "loop/math.h"
#include "sched/tile.h"
#include "target/target.h"

/* Does s sum products i32(read[0]) * i32(read[1]), or the same of f32? */
static bool sums_products(struct loop_prog *p, stage_id s, ex_id read[2])
{
	const struct ex *x = lex(p, lstage(p, s)->body);

	if (lstage(p, s)->comb != COMB_SUM || x->kind != EX_CALL || x->fn != FN_MUL || (x->dtype != DT_I32 && x->dtype != DT_F32))
		return false;
	for (int i = 0; i < 2; i++) {
		const struct ex *factor = lex(p, x->a[i]);
		if (factor->kind != EX_CAST || lex(p, factor->a[0])->kind != EX_READ || lex(p, factor->a[0])->dyn_dim >= 0)
			return false;
		read[i] = factor->a[0];
	}
	return true;
}

static int row_for(struct loop_prog *p, ex_id a, ex_id b, bool each)
{
	return instr_dot(p->target ? p->target : target_host(), lex(p, a)->dtype, lex(p, b)->dtype, each);
}

/* Is there an instruction for sum s of products of what is read, whole groups along its first reduction? */
static bool has_row(struct loop_prog *p, stage_id s, const ex_id read[2])
{
	const struct stage *t = lstage(p, s);
	int row = row_for(p, read[0], read[1], false);

	row = row ? row : row_for(p, read[1], read[0], false);
	return row && t->naxes > t->nspatial && t->axis[t->nspatial].extent % instr_group(row) == 0;
}

/* Does read of s's result walk along its reduce axis k where the copy s does not read neighbours? */
static bool regroups(struct loop_prog *p, stage_id s, ex_id read, poly_var k)
{
	int64_t step;
	bool apart = false;

	for (int d = 0; lex(p, read)->buf == lstage(p, s)->out && d < lex(p, read)->n; d++)
		if (poly_uses(p->P, lex(p, read)->index[d], k))
			apart |= !read_step(p, lstage(p, s)->body, lstage(p, s)->axis[d].var, &step) || step != 1;
	return apart;
}

/* A copy without fills, in steps of one length along each axis: it can be read where it lies. */
static bool copies_box(struct loop_prog *p, stage_id s)
{
	const struct stage *t = lstage(p, s);
	bool even = lex(p, t->body)->kind == EX_READ;
	int64_t step;

	for (int a = 0; a < t->nspatial && even; a++)
		even = read_step(p, t->body, t->axis[a].var, &step);
	return even;
}

bool dot_needs(struct loop_prog *p, stage_id s, stage_id reader)
{
	const struct stage *t = lstage(p, reader);
	ex_id read[2];

	if (!sums_products(p, reader, read) || !has_row(p, reader, read))
		return false;
	bool as_it_lies = copies_box(p, s);
	for (int i = 0; i < 2 && as_it_lies && t->naxes > t->nspatial; i++)
		as_it_lies = !regroups(p, s, read[i], t->axis[t->nspatial].var);
	return !as_it_lies;
}

bool is_dot(struct loop_prog *p, stage_id s)
{
	ex_id read[2];

	return sums_products(p, s, read) && has_row(p, s, read);
}

/* The sum's factors: a stands still along the vectors, or (*each) both move. */
struct factors {
	ex_id a, b;
	bool each;
};

/* false: the anchor is another sum. */
static bool find_factors(struct loop_prog *p, const struct tile *q, struct factors *f)
{
	ex_id read[2];

	if (!sums_products(p, q->anchor, read))
		return false;
	int second = tile_moves(p, q, read[0], q->vec_axis);
	if (second && tile_moves(p, q, read[1], q->vec_axis))
		second = lex(p, read[0])->dtype == DT_I8; /* the constant one is b */
	*f = (struct factors){read[second], read[!second], tile_moves(p, q, read[second], q->vec_axis)};
	return dim_along(p, q, f->b) >= 0 && (!f->each || tile_moves(p, q, f->a, q->vec_axis));
}

ex_id still_factor(struct loop_prog *p, const struct tile *q)
{
	struct factors f;

	return q->dot && find_factors(p, q, &f) && !f.each ? f.a : 0;
}

/* Equal ones are one expression, which is visited once. */
static bool count_held(struct loop_prog *p, ex_id e, void *n)
{
	*(int *)n += lex(p, e)->kind == EX_CONST || lex(p, e)->kind == EX_READ;
	return false;
}

/* Registers that what follows wants beside the sums: its constants, what it reads for a vector, and room to compute. A compiler that
 * has too few spills sums in the innermost loop, where it does not see what adds to them; else it wants one for products. */
static int held_by(struct loop_prog *p, stage_id s)
{
	int n = 1;

	if (s)
		ex_find(p, lstage(p, s)->body, count_held, &n);
	return n;
}

/* Is buffer a the copy of b, as it is made for pairs of rows? */
static bool copies(struct loop_prog *p, buf_id a, buf_id b)
{
	stage_id s = writer_here(p, a);
	const struct ex *e = s && lbuf(p, a)->scope == SCOPE_SCRATCH ? lex(p, lstage(p, s)->body) : NULL;

	return e && e->kind == EX_READ && e->buf == b;
}

/* Is the copy laid out for an instruction of another stage than that of k, which takes groups that lie side by side, or for a copy of it
 * that goes group by group? */
static bool laid_out_for_dot(struct loop_prog *p, ex_id read, poly_var k)
{
	buf_id b = lex(p, read)->buf;
	ex_id factor[2];
	int64_t step;

	for (stage_id s = 1; s < p->stages.n && lbuf(p, b)->layout.n; s++) {
		const struct stage *t = lstage(p, s);
		if (!stage_here(p, s) || t->naxes == t->nspatial || t->axis[t->nspatial].var == k || !is_dot(p, s))
			continue;
		sums_products(p, s, factor);
		for (int i = 0; i < 2; i++)
			if (copies(p, lex(p, factor[i])->buf, b) ||
			    (lex(p, factor[i])->buf == b && read_step(p, factor[i], t->axis[t->nspatial].var, &step) && step == 1))
				return true;
	}
	return false;
}

void sched_copy_along(struct schedule *r, ex_id read, poly_var k)
{
	struct loop_prog *p = r->p;
	const struct ex x = *lex(p, read);
	const struct loop_buf *b = lbuf(p, x.buf);
	bool ordered = !b->layout.n || b->layout.n == b->rank;
	stage_id copy = b->scope == SCOPE_SCRATCH && ordered ? writer_here(p, x.buf) : 0;
	int64_t step;

	if (!copy || lstage(p, copy)->comb != COMB_NONE || (read_step(p, read, k, &step) && step == 1) || laid_out_for_dot(p, read, k))
		return;
	for (int d = 0; d < x.n; d++)
		if (poly_uses(p->P, x.index[d], k) && d != contiguous_axis(p, copy)) {
			sched_axis_last(r, sym_str(b->name), copy, d);
			return;
		}
}

/* Is b a constant, or an operand that the rows of a tile share and that can be packed in groups along k? */
static bool in_panels(struct loop_prog *p, const struct tile *q, ex_id b, poly_var k)
{
	int dims = 0;

	for (int d = 0; d < lex(p, b)->n; d++)
		dims += poly_uses(p->P, lex(p, b)->index[d], k);
	return lbuf(p, lex(p, b)->buf)->scope == SCOPE_CONST || (dims == 1 && q->row_axis >= 0 && !tile_moves(p, q, b, q->row_axis));
}

/* The row of the instruction that takes pairs of rows, which lie equally far apart, of one size; 0: there is none. */
static int matrix_of(struct schedule *r, const struct tile *q, const struct factors *f)
{
	struct loop_prog *p = r->p;
	const struct stage *s = lstage(p, q->anchor);
	int64_t step;

	if (f->each || q->row_axis < 0 || q->row_steps < 2 || r->outside || r->blocks ||
	    !read_step(p, f->a, s->axis[q->row_axis].var, &step))
		return 0;
	int row = instr_matrix(p->target ? p->target : target_host(), lex(p, f->a)->dtype, lex(p, f->b)->dtype);
	return row && s->axis[s->nspatial].extent % instr_group(row) == 0 ? row : 0;
}

/* The row of the instruction that takes the anchor's factors in whole groups, if they lie side by side; 0: there is none. */
static int dot_of(struct schedule *r, const struct tile *q, struct factors *f)
{
	struct loop_prog *p = r->p;
	const struct stage *s = lstage(p, q->anchor);

	if (s->naxes == s->nspatial || !find_factors(p, q, f))
		return 0;
	int matrix = matrix_of(r, q, f), row = matrix ? matrix : row_for(p, f->a, f->b, f->each);
	bool panels = in_panels(p, q, f->b, s->axis[s->nspatial].var);
	bool fits = row && panels && instr_sums(row) == r->lanes && s->axis[s->nspatial].extent % instr_group(row) == 0;

	return fits ? row : 0;
}

static void take_row(struct tile *q, int row)
{
	q->dot = row;
	q->group = row ? instr_group(row) : 1;
	q->pair = row ? instr_rows(row) : 1;
}

void expect_dot(struct schedule *r, struct tile *q)
{
	struct factors f;

	take_row(q, dot_of(r, q, &f));
	q->held = 1;
}

void find_dot(struct schedule *r, struct tile *q)
{
	struct loop_prog *p = r->p;
	const struct stage *s = lstage(p, q->anchor);
	struct factors f;
	int64_t step;
	int row = dot_of(r, q, &f);

	take_row(q, 0);
	if (!row)
		return;
	const struct axis *k = &s->axis[s->nspatial];
	int64_t group = instr_group(row);
	sched_copy_along(r, f.a, k->var);
	if (!read_step(p, f.a, k->var, &step) || step != 1)
		return;
	if (f.each && (!read_step(p, f.a, s->axis[q->vec_axis].var, &step) || step != group))
		return;
	take_row(q, row);
	q->held = instr_row(row)->opaque ? held_by(p, q->result) : 1;
}

void check_groups(struct loop_prog *p, struct tile *q)
{
	struct factors f;
	bool there = q->dot && find_factors(p, q, &f);

	if (there && lbuf(p, lex(p, f.b)->buf)->scope != SCOPE_CONST &&
	    !(q->packed && lbuf(p, lstage(p, q->packed)->out) == lbuf(p, lex(p, f.b)->buf)))
		there = false;
	if (!there || (q->pair > 1 && !q->pad)) {
		take_row(q, 0);
		q->held = 0;
	}
}

const char *group_steps(struct schedule *r, const struct tile *q, int axis)
{
	return axis_loop(r, q->anchor, axis, q->dot && axis == lstage(r->p, q->anchor)->nspatial ? ".0" : "");
}

void split_groups(struct schedule *r, const struct tile *q)
{
	if (q->dot)
		sched_try(r, PRIM_SPLIT, axis_loop(r, q->anchor, lstage(r->p, q->anchor)->nspatial, ""), trace_number(q->group),
			  "tail=peel");
}
