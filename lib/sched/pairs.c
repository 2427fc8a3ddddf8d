/* Sums that an instruction makes of two rows at a time: of each 16 bytes of a vector, four, of these rows and of two columns. Rows of a
 * tile and vectors of its columns are split once more for it, and sums lie in registers in its order. Copied rows lie as a load takes
 * them. */
#include "loop/instr.h"
#include "sched/tile.h"

enum { PAIR = 2 }; /* rows, and columns of each 16 bytes of a vector: the sums there are rows by columns */

static int64_t segments(const struct schedule *r) { return r->lanes / (PAIR * PAIR); }

bool split_pairs(struct schedule *r, struct tile *q)
{
	if (q->pair == 1)
		return true;
	const char *rows = q->trow;
	q->trow = loop_part(r, rows, 0);
	q->tpair = loop_part(r, rows, 1);
	return sched_try(r, PRIM_SPLIT, rows, trace_number(q->pair), "tail=peel");
}

bool split_lanes(struct schedule *r, const struct tile *q)
{
	const char *tail = sched_name(r, "tail=%s", q->pad ? "pad" : "peel"), *two = trace_number(PAIR);

	if (q->pair == 1)
		return sched_try(r, PRIM_SPLIT, q->vloop, "vectors", trace_number(r->lanes), tail);
	if (segments(r) == 1)
		return sched_try(r, PRIM_SPLIT, q->vloop, "vectors", two, two, tail);
	return sched_try(r, PRIM_SPLIT, q->vloop, "vectors", two, trace_number(segments(r)), two, tail);
}

void add_tile_loops(struct schedule *r, const struct tile *q, struct words *order)
{
	if (q->tloop)
		words_add(order, q->trow);
	words_add(order, loop_part(r, q->vloop, 1));
	words_add(order, loop_part(r, q->vloop, 2));
	if (q->pair == 1)
		return;
	words_add(order, q->tpair);
	words_add(order, loop_part(r, q->vloop, 3));
	if (segments(r) > 1)
		words_add(order, loop_part(r, q->vloop, 4));
}

const char *call_loop(struct schedule *r, const struct tile *q) { return q->pair > 1 ? q->tpair : loop_part(r, q->vloop, 2); }

void lay_out_pairs(struct schedule *r, const struct tile *q)
{
	struct words order = {0};

	if (q->pair == 1)
		return;
	words_add(&order, q->sums ? q->sums : sym_str(lbuf(r->p, lstage(r->p, q->anchor)->out)->name));
	for (int a = 0; a < lstage(r->p, q->anchor)->nspatial; a++)
		if (a != q->row_axis && a != q->vec_axis)
			words_add(&order, trace_number(a));
	words_add(&order, sched_name(r, "%d/%d", q->row_axis, PAIR));
	words_add(&order, sched_name(r, "%d/%d", q->vec_axis, PAIR));
	words_add(&order, sched_name(r, "%d%%%d", q->row_axis, PAIR));
	words_add(&order, sched_name(r, "%d%%%d", q->vec_axis, PAIR));
	sched_list(r, NULL, PRIM_LAYOUT, &order);
}

/* The dims of a factor along rows and groups. */
struct pair_dims {
	int row, group;
	bool overlap; /* rows of a window, side by side: one is in several pairs */
};

/* Is the factor read at the axis of groups itself in one dim, in another at that of rows, or one row further for each of them, and at
 * neither elsewhere? */
static bool find_pair_dims(struct loop_prog *p, const struct tile *q, ex_id read, struct pair_dims *at)
{
	const struct ex *e = lex(p, read);
	const struct stage *s = lstage(p, q->anchor);
	poly t = stage_axis(p, q->anchor, q->row_axis), k = stage_axis(p, q->anchor, s->nspatial), rest;
	poly_var rows = s->axis[q->row_axis].var, groups = s->axis[s->nspatial].var;
	int64_t step;

	*at = (struct pair_dims){-1, -1, false};
	for (int d = 0; d < e->n; d++) {
		bool down = poly_uses(p->P, e->index[d], rows), along = poly_uses(p->P, e->index[d], groups);
		if ((down && along) || (down && at->row >= 0) || (along && (at->group >= 0 || e->index[d] != k)))
			return false;
		if (down && e->index[d] != t) {
			if (!poly_linear_in(p->P, e->index[d], rows, &step, &rest) || step != 1)
				return false;
			at->overlap = true;
		}
		at->row = down ? d : at->row;
		at->group = along ? d : at->group;
	}
	return at->row >= 0 && at->group >= 0;
}

/* The factor that can be copied pair by pair, and its dims; 0: none. */
static ex_id copied_factor(struct loop_prog *p, const struct tile *q, struct pair_dims *at)
{
	ex_id a = q->pair > 1 ? still_factor(p, q) : 0;

	return a && find_pair_dims(p, q, a, at) && lbuf(p, lex(p, a)->buf)->scope != SCOPE_CONST ? a : 0;
}

bool pairs_may_lie_together(struct loop_prog *p, const struct tile *q)
{
	struct pair_dims at;

	return copied_factor(p, q, &at) != 0;
}

/* Rows that overlap lie one after the other, a group of each: so do the two of every pair. */
static void order_pairs(struct schedule *r, const struct tile *q, const char *pairs, int rank, struct pair_dims at)
{
	const char *group = sched_name(r, "%d/%d", at.group, (int)q->group), *row = sched_name(r, "%d/%d", at.row, (int)q->pair);
	struct words order = {0};

	words_add(&order, pairs);
	if (at.overlap)
		words_add(&order, group);
	for (int d = 0; d < rank; d++)
		if (d != at.row && d != at.group)
			words_add(&order, trace_number(d));
	words_add(&order, at.overlap ? trace_number(at.row) : row);
	if (!at.overlap) {
		words_add(&order, group);
		words_add(&order, sched_name(r, "%d%%%d", at.row, (int)q->pair));
	}
	words_add(&order, sched_name(r, "%d%%%d", at.group, (int)q->group));
	sched_list(r, NULL, PRIM_LAYOUT, &order);
}

void pack_pairs(struct schedule *r, struct tile *q)
{
	struct loop_prog *p = r->p;
	struct pair_dims at;
	ex_id a = copied_factor(p, q, &at);

	if (!a)
		return;
	const char *name = sym_str(lbuf(p, lex(p, a)->buf)->name), *pairs = sched_name(r, "%s_pairs", name),
		   *sample = sched_name(r, "%s.pairs", name);
	int rank = lbuf(p, lex(p, a)->buf)->rank;
	bool again = q->columns > (int64_t)q->vectors * r->lanes; /* for the next panel */
	if (buf_find(p, pairs) || !sched_yes(r, sample, again))
		return;
	const char *under = q->outer ? axis_loop(r, q->anchor, q->outer - 1, "") : "root";
	if (!sched_make(r, pairs, PRIM_CACHE, name, sym_str(lstage(p, q->anchor)->name), under, "scratch")) {
		sched_settle(r, sample, 0);
		return;
	}
	order_pairs(r, q, pairs, rank, at);
	q->paired = stage_find(p, pairs);
	q->nread = stage_all_reads(p, q->anchor, q->read);
}

/* Pair by pair, a group by one instruction. */
void mark_pairs(struct schedule *r, const struct tile *q)
{
	struct loop_prog *p = r->p;
	const struct loop_buf *b = lbuf(p, lstage(p, q->paired)->out);
	const struct layout_part *last = &b->layout.part[b->layout.n - 1];
	int row = last[-1].axis, group = last->axis;
	bool overlap = !last[-1].mod;
	const char *t = axis_loop(r, q->paired, row, ""), *k = axis_loop(r, q->paired, group, "");
	struct words order = {0};

	if ((!overlap && !sched_try(r, PRIM_SPLIT, t, trace_number(q->pair), "tail=peel")) ||
	    !sched_try(r, PRIM_SPLIT, k, trace_number(q->group), "tail=peel"))
		return;
	for (int a = 0; a < lstage(p, q->paired)->nspatial; a++)
		if (a != row && a != group)
			words_add(&order, axis_loop(r, q->paired, a, ""));
	words_add(&order, overlap ? t : loop_part(r, t, 0));
	words_add(&order, loop_part(r, k, 0));
	if (!overlap)
		words_add(&order, loop_part(r, t, 1));
	words_add(&order, loop_part(r, k, 1));
	sched_list(r, NULL, PRIM_REORDER, &order);
	if (!overlap)
		sched_try(r, PRIM_UNROLL, loop_part(r, t, 1));
	sched_try(r, PRIM_TENSOR, loop_part(r, k, 1), sched_name(r, "copy%d", (int)dtype_size(b->dtype)));
}
