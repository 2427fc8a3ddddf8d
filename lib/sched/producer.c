/* Producer at consumer: what a part makes for another one is computed line by line where that reads it, so that it stays in the cache. */
#include "sched/template.h"

/* The product that alone reads the buffer; 0: there is none. */
static stage_id sole_product(struct loop_prog *p, buf_id b)
{
	stage_id found = 0;

	if (lbuf(p, b)->scope != SCOPE_SCRATCH)
		return 0;
	for (stage_id s = 1; s < p->stages.n; s++) {
		if (lstage(p, s)->gone || !stage_reads(p, s, b))
			continue;
		if (found || lstage(p, s)->comb != COMB_SUM || lstage(p, s)->scan || !has_reuse(p, s))
			return 0;
		found = s;
	}
	return found;
}

/* Does every read of the buffer use axis a in dim d alone, with its whole extent? */
static bool read_in_lines(struct loop_prog *p, stage_id s, buf_id b, int a, int d)
{
	ex_id read[READS_MAX];
	int n = stage_all_reads(p, s, read);

	for (int i = 0; i < n; i++) {
		const struct ex *x = lex(p, read[i]);
		for (int k = 0; x->buf == b && k < x->n; k++)
			if (k == d ? x->index[k] != stage_axis(p, s, a) : poly_uses(p->P, x->index[k], lstage(p, s)->axis[a].var))
				return false;
		if (x->buf == b && x->dyn_dim >= 0)
			return false;
	}
	return n < READS_MAX && lbuf(p, b)->shape[d] == lstage(p, s)->axis[a].extent;
}

/* The axis of the product along the outermost dim of the buffer that both share; two wider axes remain for a tile. -1: there is none. */
static int axis_of_lines(struct loop_prog *p, stage_id s, buf_id b)
{
	const struct stage *t = lstage(p, s);
	const struct loop_buf *x = lbuf(p, b);
	int wide = 0;

	for (int a = 0; a < t->nspatial; a++)
		wide += t->axis[a].extent > 1;
	for (int i = 0; wide > 2 && i < x->rank - 1; i++) {
		int d = x->layout.n ? x->layout.part[i].axis : i;
		for (int a = 0; a < t->nspatial; a++)
			if (t->axis[a].extent > 1 && t->axis[a].kind == AXIS_SPATIAL && read_in_lines(p, s, b, a, d))
				return a;
	}
	return -1;
}

/* Bytes of buffers of that kind that the stages of the part read. */
static double bytes_read(struct loop_prog *p, uint32_t part, bool constants)
{
	double bytes = 0;

	for (buf_id b = 1; b < p->bufs.n; b++) {
		bool read = false;
		stage_id maker = buf_writer(p, b);
		if ((lbuf(p, b)->scope == SCOPE_CONST) != constants || (maker && lstage(p, maker)->part == part))
			continue;
		for (stage_id s = 1; s < p->stages.n && !read; s++)
			read = !lstage(p, s)->gone && lstage(p, s)->part == part && stage_reads(p, s, b);
		bytes += read ? (double)dtype_size(lbuf(p, b)->dtype) * (double)buf_elems(p, b) : 0;
	}
	return bytes;
}

/* The nearest cache level whose share holds so many bytes. */
static int level_of(const struct target *m, double bytes)
{
	return bytes <= CACHE_SHARE * (double)m->l1 ? 1 : bytes <= CACHE_SHARE * (double)m->l2 ? 2 : 3;
}

/* Cycles to read what comes from that level. */
static double read_cycles(const struct target *m, int level, double bytes)
{
	return level == 1 ? 0 : bytes / (level == 2 ? m->l2_a_cycle : m->l3_a_cycle);
}

/* Do lines stay in a nearer cache than the whole buffer with the operands of its part, and does reading both parts' constants again for
 * each line cost less than writing and reading the buffer? */
static bool lines_pay(struct loop_prog *p, const struct producer *q)
{
	const struct target *m = sched_machine(p);
	double whole = (double)dtype_size(lbuf(p, q->made)->dtype) * (double)buf_elems(p, q->made);
	double lines = (double)lstage(p, q->reader)->axis[q->axis].extent;
	double constants = bytes_read(p, q->part, true) + bytes_read(p, lstage(p, q->reader)->part, true);
	int near = level_of(m, constants + 2 * whole / lines), far = level_of(m, whole + bytes_read(p, q->part, false));

	return near < far && lines * read_cycles(m, near, constants) < 2 * read_cycles(m, far, whole);
}

/* Is the part one f32 product without a transform, and elementwise stages? */
static bool is_plain(struct loop_prog *p, uint32_t part)
{
	uint32_t before = p->part;
	int sums = 0, others = 0;

	p->part = part;
	for (stage_id s = 1; s < p->stages.n; s++) {
		if (!stage_here(p, s))
			continue;
		sums += lstage(p, s)->comb == COMB_SUM && !is_dot(p, s) && lbuf(p, lstage(p, s)->out)->dtype == DT_F32;
		others += (lstage(p, s)->comb != COMB_NONE && lstage(p, s)->comb != COMB_SUM) || stage_choice(p, s);
	}
	p->part = before;
	return sums == 1 && !others;
}

bool producer_find(struct loop_prog *p, struct producer *q)
{
	uint32_t part = p->part;

	for (buf_id b = 1; b < p->bufs.n; b++) {
		stage_id maker = buf_writer(p, b), reader = maker && !lstage(p, maker)->gone ? sole_product(p, b) : 0;
		if (!reader || lstage(p, reader)->part != part || lstage(p, maker)->part == part || !is_plain(p, part) ||
		    !is_plain(p, lstage(p, maker)->part))
			continue;
		*q = (struct producer){b, maker, reader, lstage(p, maker)->part, axis_of_lines(p, reader, b), false};
		if (q->axis >= 0) {
			q->pays = lines_pay(p, q);
			return true;
		}
	}
	return false;
}

bool producer_place(struct schedule *r, const struct producer *q, const char *loop)
{
	struct loop_prog *p = r->p;

	if (!sched_try(r, PRIM_AT, sym_str(lstage(p, q->maker)->name), loop))
		return false;
	for (stage_id s = q->maker - 1; s > 0; s--)
		if (!lstage(p, s)->gone && lstage(p, s)->part == q->part && lstage(p, s)->comb != COMB_NONE)
			sched_try(r, PRIM_AT, sym_str(lstage(p, s)->name), loop);
	return true;
}
