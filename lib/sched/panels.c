/* Panels of a tile's operands: constants are laid out in them, other operands are packed into copies. */
#include "sched/tile.h"

int reduce_order(const struct stage *s, bool first_outside, int *out)
{
	int n = 0;
	if (s->naxes > s->nspatial && first_outside)
		out[n++] = s->nspatial;
	for (int a = s->nspatial + 1; a < s->naxes; a++)
		out[n++] = a;
	if (s->naxes > s->nspatial && !first_outside)
		out[n++] = s->nspatial;
	return n;
}

/* Lays a packed operand out: first the dims that depend on no reduce axis, then panels, then the rest in the order of the loops. */
static bool lay_out_panels(struct schedule *r, const struct tile *q, const char *buf, ex_id read, int dim)
{
	struct loop_prog *p = r->p;
	const struct stage *s = lstage(p, q->anchor);
	const struct ex *e = lex(p, read);
	struct words order = {0};
	bool done[LOOP_RANK_MAX] = {0};
	int grouped = -1;
	done[dim] = true;
	words_add(&order, buf);
	for (int d = 0; d < e->n; d++) {
		bool reduce = false;
		for (int a = s->nspatial; a < s->naxes; a++)
			reduce |= poly_uses(p->P, e->index[d], s->axis[a].var);
		if (!reduce && !done[d]) {
			words_add(&order, trace_number(d));
			done[d] = true;
		}
	}
	words_add(&order, sched_name(r, "%d/%s", dim, q->width));
	int red[LOOP_AXES_MAX], nred = reduce_order(s, q->channels_outside, red);
	for (int i = 0; i < nred; i++)
		for (int d = 0; d < e->n; d++)
			if (!done[d] && poly_uses(p->P, e->index[d], s->axis[red[i]].var)) {
				bool groups = q->dot && red[i] == s->nspatial;
				grouped = groups ? d : grouped;
				words_add(&order, groups ? sched_name(r, "%d/%d", d, (int)q->group) : trace_number(d));
				done[d] = true;
			}
	words_add(&order, sched_name(r, "%d%%%s", dim, q->width));
	if (grouped >= 0)
		words_add(&order, sched_name(r, "%d%%%d", grouped, (int)q->group));
	return sched_list(r, NULL, PRIM_LAYOUT, &order);
}

stage_id tile_unpacks(struct loop_prog *p, buf_id b)
{
	stage_id s = writer_here(p, b);
	ex_id read[READS_MAX];

	if (!s || lstage(p, s)->comb != COMB_NONE || lbuf(p, b)->scope != SCOPE_SCRATCH || !stage_in_lanes(p, s))
		return 0;
	for (int n = stage_all_reads(p, s, read), i = 0; i < n; i++)
		if (lbuf(p, lex(p, read[i])->buf)->scope != SCOPE_CONST)
			return 0;
	return s;
}

/* Lays what s reads out in panels as wide as a tile; dim: the axis of s that varies along it. */
static bool lay_out_packed(struct schedule *r, const struct tile *q, stage_id s, int dim)
{
	struct loop_prog *p = r->p;
	ex_id read[READS_MAX];
	bool all = true;

	for (int n = stage_all_reads(p, s, read), i = 0; i < n; i++) {
		const struct ex x = *lex(p, read[i]);
		struct words order = {0};
		int at = -1;
		if (!read_uses(p, read[i], lstage(p, s)->axis[dim].var))
			continue;
		for (int d = 0; d < x.n; d++)
			at = x.index[d] == stage_axis(p, s, dim) ? d : at;
		words_add(&order, sym_str(lbuf(p, x.buf)->name));
		words_add(&order, sched_name(r, "%d/%s", at, q->width));
		for (int d = 0; d < x.n; d++)
			if (d != at)
				words_add(&order, trace_number(d));
		words_add(&order, sched_name(r, "%d%%%s", at, q->width));
		all &= at >= 0 && sched_list(r, NULL, PRIM_LAYOUT, &order);
	}
	return all;
}

void widen_panel(struct schedule *r, const struct tile *q, const char *where)
{
	enum { ROWS = 8 }; /* that may share a word: eight codes of 4 bits */
	struct loop_prog *p = r->p;
	const char *name = sym_str(lstage(p, q->widened)->name), *v = axis_loop(r, q->widened, q->widened_dim, "");

	if (!sched_try(r, PRIM_AT, name, where) || !sched_try(r, PRIM_SPLIT, v, trace_number(r->lanes)))
		return;
	struct words order = {0};
	for (int a = 0; a < lstage(p, q->widened)->nspatial; a++)
		if (a != q->widened_dim)
			words_add(&order, axis_loop(r, q->widened, a, ""));
	words_add(&order, loop_part(r, v, 0));
	words_add(&order, loop_part(r, v, 1));
	sched_list(r, NULL, PRIM_REORDER, &order);
	sched_try(r, PRIM_UNROLL, loop_part(r, v, 0));
	sched_try(r, PRIM_VECTOR, loop_part(r, v, 1));
	if (lstage(p, q->widened)->nspatial == 2)
		sched_try(r, PRIM_UNROLL, axis_loop(r, q->widened, 1 - q->widened_dim, ""), trace_number(ROWS));
}

/* Is the operand the same in all steps of an axis outside of the tile, as the weights are in those of a recurrent network? */
static bool reused_outside(struct loop_prog *p, const struct tile *q, ex_id read)
{
	const struct stage *s = lstage(p, q->anchor);

	for (int a = 0; a < s->nspatial; a++)
		if (a != q->vec_axis && a != q->row_axis && s->axis[a].extent > 1 && !read_uses(p, read, s->axis[a].var))
			return true;
	return false;
}

/* Under which of the loops around r->outside to pack a read that does not depend on that loop: the innermost one that it depends on. It
 * does: `under`. */
static const char *packs_outside(struct schedule *r, const struct tile *q, ex_id read, const char *under)
{
	struct loop_prog *p = r->p;
	nest_id around[NEST_DEPTH_MAX + 1], block;
	int n = nest_loops(p, loop_find(p, r->outside), around);
	const char *loop = "root";

	if (nest_blocks(p, p->root, q->anchor, &block, 1) < 1)
		return under;
	around[n++] = loop_find(p, r->outside);
	for (int i = 0; i < n; i++)
		for (int d = 0; d < lex(p, read)->n; d++)
			if (poly_uses(p->P, bind_poly(p, lnest(p, block), lex(p, read)->index[d]), lnest(p, around[i])->var))
				loop = i == n - 1 ? under : sym_str(lnest(p, around[i])->name);
	return loop;
}

/* Packs operands that are no constants, vary along v and are reused by the rows of a tile, if they are strided along v or v's extent is
 * no multiple of the tile's width; and those that are strided and reused outside of it. The copy is made anew for each step of leading
 * axes on which the operand depends (batches). */
static void pack_operands(struct schedule *r, struct tile *q)
{
	struct loop_prog *p = r->p;
	int width = q->vectors * r->lanes;
	for (int i = 0; i < q->nread; i++) {
		const struct stage *s = lstage(p, q->anchor);
		buf_id b = lex(p, q->read[i])->buf;
		int64_t step;
		if (lbuf(p, b)->scope == SCOPE_CONST || !tile_moves(p, q, q->read[i], q->vec_axis) || tile_unpacks(p, b))
			continue;
		int dim = dim_along(p, q, q->read[i]);
		bool reused = q->row_axis >= 0 && !tile_moves(p, q, q->read[i], q->row_axis);
		bool in_order = read_step(p, q->read[i], s->axis[q->vec_axis].var, &step) && step == 1;
		if (dim < 0 || !(reused || (!in_order && reused_outside(p, q, q->read[i]))))
			continue;
		bool whole = in_order && s->axis[q->vec_axis].extent % width == 0;
		const char *sample = sched_name(r, "%s.pack", sym_str(lbuf(p, b)->name));
		if (!sched_yes(r, sample, !whole || q->dot || steps_in_set(p, q, q->read[i])))
			continue;
		int outer = r->leading;
		while (outer < s->nspatial && outer != q->vec_axis && outer != q->row_axis && read_uses(p, q->read[i], s->axis[outer].var))
			outer++;
		const char *under = outer ? axis_loop(r, q->anchor, outer - 1, "") : "root";
		if (r->outside)
			under = packs_outside(r, q, q->read[i], under);
		const char *name = sched_name(r, "%s_panel", sym_str(lbuf(p, b)->name));
		if (buf_find(p, name)) /* of another product */
			name = sched_name(r, "%s_%s", sym_str(s->name), name);
		ex_id was = q->read[i];
		if (!sched_make(r, name, PRIM_CACHE, sym_str(lbuf(p, b)->name), sym_str(s->name), under, "scratch")) {
			sched_settle(r, sample, 0);
			continue;
		}
		lay_out_panels(r, q, name, was, dim);
		q->outer = outer;
		q->nread = stage_all_reads(p, q->anchor, q->read);
		q->packed = stage_find(p, name);
		q->packed_dim = dim;
	}
}

void make_panels(struct schedule *r, struct tile *q)
{
	struct loop_prog *p = r->p;
	int width = q->vectors * r->lanes;
	q->pad = true;
	pack_operands(r, q);
	for (int i = 0; i < q->nread; i++) {
		const struct axis *v = &lstage(p, q->anchor)->axis[q->vec_axis];
		const struct loop_buf *b = lbuf(p, lex(p, q->read[i])->buf);
		if (!tile_moves(p, q, q->read[i], q->vec_axis))
			continue;
		int dim = dim_along(p, q, q->read[i]);
		stage_id s = tile_unpacks(p, lex(p, q->read[i])->buf);
		if (s && dim >= 0 && lay_out_panels(r, q, sym_str(b->name), q->read[i], dim) && lay_out_packed(r, q, s, dim)) {
			q->widened = s;
			q->widened_dim = dim;
			continue;
		}
		if (b->scope == SCOPE_CONST && dim >= 0 && b->shape[dim] == v->extent &&
		    lay_out_panels(r, q, sym_str(b->name), q->read[i], dim))
			continue;
		bool whole = q->packed && lbuf(p, lstage(p, q->packed)->out) == b && dim >= 0 && b->shape[dim] == v->extent;
		q->pad &= whole || v->extent % width == 0;
	}
}

/* If the packing copy gathers: the axis along which its operand is contiguous; else -1. */
static int gathered_from(struct loop_prog *p, const struct tile *q)
{
	const struct stage *s = lstage(p, q->packed);
	ex_id read[READS_MAX];
	int64_t step;
	if (stage_all_reads(p, q->packed, read) != 1 || !read_step(p, read[0], s->axis[q->packed_dim].var, &step) || step == 1)
		return -1;
	for (int a = 0; a < s->nspatial; a++)
		if (a != q->packed_dim && s->axis[a].extent > 1 && read_step(p, read[0], s->axis[a].var, &step) && step == 1)
			return a;
	return -1;
}

bool cuts_last(struct schedule *r, const struct tile *q, int64_t width)
{
	return q->pad && !q->dot && !is_window(r->p, q) && !r->p->usual && q->columns > width && q->columns % width &&
	       !sched_machine(r->p)->masks;
}

void mark_packing(struct schedule *r, const struct tile *q)
{
	struct loop_prog *p = r->p;
	const char *v = axis_loop(r, q->packed, q->packed_dim, ""), *u = NULL;
	struct words order = {0};
	if (!sched_try(r, PRIM_SPLIT, v, trace_number(r->lanes), "tail=peel"))
		return;
	int across = gathered_from(p, q);
	if (across >= 0 && sched_try(r, PRIM_SPLIT, axis_loop(r, q->packed, across, ""), trace_number(r->lanes), "tail=peel"))
		u = axis_loop(r, q->packed, across, "");
	if (cuts_last(r, q, r->lanes))
		sched_try(r, PRIM_PARTITION, loop_part(r, v, 0), trace_number(q->columns / r->lanes));
	words_add(&order, loop_part(r, v, 0));
	for (int a = 0; a < lstage(p, q->packed)->nspatial; a++)
		if (a != q->packed_dim)
			words_add(&order, axis_loop(r, q->packed, a, u && a == across ? ".0" : ""));
	if (u)
		words_add(&order, loop_part(r, u, 1));
	words_add(&order, loop_part(r, v, 1));
	sched_list(r, NULL, PRIM_REORDER, &order);
	if (!u || !sched_try(r, PRIM_TENSOR, loop_part(r, u, 1), sched_name(r, "transpose%d", r->lanes)))
		sched_try(r, PRIM_VECTOR, loop_part(r, v, 1));
}

/* The dim of the read along the anchor's only reduce axis, if the rows of the tile lie along its last one, *step elements apart; -1: not
 * so. */
static int dim_across_rows(struct loop_prog *p, const struct tile *q, ex_id read, int64_t *step)
{
	const struct stage *s = lstage(p, q->anchor);
	const struct ex *e = lex(p, read);
	const struct loop_buf *b = lbuf(p, e->buf);
	poly_var row = s->axis[q->row_axis].var;
	int found = -1;
	poly rest;

	if (!is_operand(p, e->buf) || b->dtype != DT_F32 || b->layout.n || !e->n || e->n != b->rank || e->dyn_dim >= 0 ||
	    !poly_linear_in(p->P, e->index[e->n - 1], row, step, &rest) || *step < 1 || tile_moves(p, q, read, q->vec_axis))
		return -1;
	for (int d = 0; d < e->n; d++)
		if (d < e->n - 1 && poly_uses(p->P, e->index[d], row))
			return -1;
		else if (e->index[d] == stage_axis(p, q->anchor, s->nspatial))
			found = d;
		else if (poly_uses(p->P, e->index[d], s->axis[s->nspatial].var))
			return -1;
	return found;
}

void turn_rows(struct schedule *r, struct tile *q)
{
	struct loop_prog *p = r->p;
	const struct stage s = *lstage(p, q->anchor);

	if (q->row_axis < 0 || q->dot || q->groups > 1 || s.naxes != s.nspatial + 1 || s.scan || p->usual || r->outside || r->blocks ||
	    r->lines)
		return;
	for (int i = 0; i < q->nread; i++) {
		buf_id b = lex(p, q->read[i])->buf;
		int64_t step;
		int dim = dim_across_rows(p, q, q->read[i], &step);
		if (dim < 0)
			continue;
		bool usual = turning_saves(p, q, step) > sched_turn_cycles(r, b, dim);
		const char *sample = sched_name(r, "%s.turn", sym_str(lbuf(p, b)->name));
		if (!sched_yes(r, sample, usual))
			continue;
		sched_turn_operand(r, b, q->anchor, q->outer ? axis_loop(r, q->anchor, q->outer - 1, "") : "root", dim);
		q->nread = stage_all_reads(p, q->anchor, q->read);
		if (lex(p, q->read[i])->buf == b)
			sched_settle(r, sample, 0);
	}
}

/* Packed rows lie side by side: not in the groups that an instruction takes. */
void pack_rows(struct schedule *r, struct tile *q)
{
	struct loop_prog *p = r->p;
	for (int i = 0; q->rows_outside && !q->dot && i < q->nread; i++) {
		const struct stage *s = lstage(p, q->anchor);
		const struct ex *e = lex(p, q->read[i]);
		int dim = -1, rank = lbuf(p, e->buf)->rank;
		for (int d = 0; d < e->n; d++)
			if (poly_uses(p->P, e->index[d], s->axis[q->row_axis].var))
				dim = dim == -1 ? d : -2;
		if (dim < 0 || lbuf(p, e->buf)->scope == SCOPE_CONST || tile_moves(p, q, q->read[i], q->vec_axis))
			continue;
		const char *name = sym_str(lbuf(p, e->buf)->name), *sample = sched_name(r, "%s.pack", name);
		if (!sched_yes(r, sample, false))
			continue;
		const char *rows = sched_name(r, "%s_rows", name);
		struct words order = {0};
		words_add(&order, rows);
		for (int d = 0; d < rank; d++)
			if (d != dim)
				words_add(&order, trace_number(d));
		words_add(&order, trace_number(dim));
		if (sched_make(r, rows, PRIM_CACHE, name, sym_str(s->name), q->tiles, "scratch"))
			sched_list(r, NULL, PRIM_LAYOUT, &order);
		else
			sched_settle(r, sample, 0);
		q->nread = stage_all_reads(p, q->anchor, q->read);
	}
}
