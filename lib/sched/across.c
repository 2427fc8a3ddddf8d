/* Vectors along another axis than the result's contiguous one. Vectors usually lie along the contiguous axis. If that axis is short, or
 * operands are read along it with a stride, the axis along which constants vary may be better. The result is then computed in a
 * buffer that has that axis innermost, and transposed in squares of as many rows and columns as a vector has lanes. Operands that
 * vary along the axis are transposed before. */
#include <math.h>
#include <string.h>
#include "sched/analytic.h"
#include "sched/template.h"

struct across {
	stage_id anchor, result; /* result: the elementwise stage that follows, or the anchor */
	int o, w;                /* the axis that becomes innermost; the one that is innermost now */
};

/* Fuses lines that follow each other in memory, if single lines would leave squares partly empty. The fused loop; NULL: they stay. */
static const char *join_lines(struct schedule *r, stage_id s, int o, int w, int64_t *steps)
{
	const struct stage *t = lstage(r->p, s);
	int h = w - 1;
	if (h < 0 || h == o || *steps != t->axis[w].extent || *steps % r->lanes == 0 || axis_steps(r, s, h) != t->axis[h].extent ||
	    t->axis[h].extent < 2)
		return NULL;
	if (!sched_try(r, PRIM_FUSE, axis_loop(r, s, h, ""), axis_loop(r, s, w, "")))
		return NULL;
	*steps *= t->axis[h].extent;
	return sched_name(r, "%s*%s", axis_loop(r, s, h, ""), sym_str(t->axis[w].name));
}

bool axis_varies(struct loop_prog *p, stage_id s, int a)
{
	ex_id read[READS_MAX];
	bool yes = lbuf(p, lstage(p, s)->out)->varies >> a & 1;

	for (int i = 0, n = stage_all_reads(p, s, read); i < n; i++)
		for (int d = 0; d < lex(p, read[i])->n; d++)
			yes |= lex(p, read[i])->index[d] == stage_axis(p, s, a) && lbuf(p, lex(p, read[i])->buf)->varies >> d & 1;
	return yes;
}

/* The greatest power of two below n, lanes at most. */
static int64_t part_of_lanes(const struct schedule *r, int64_t n)
{
	int64_t side = r->lanes;

	while (side >= n && side > 1)
		side /= 2;
	return side;
}

/* Squares along a line get one size if possible: then all are one function. Where masked stores are slow, they are whole, but for the last.
 * An axis that varies may be longer than a square is. */
void sched_squares(struct schedule *r, stage_id s, int o, int w, bool from, bool join)
{
	const int axis[2] = {from ? o : w, from ? w : o};
	const char *square[2], *lines = NULL;
	struct words order = {0};
	int64_t along = axis_steps(r, s, w);
	bool varies = axis_varies(r->p, s, w), whole = !sched_machine(r->p)->masks;

	if (join && !varies)
		lines = join_lines(r, s, o, w, &along);
	for (int i = 0; i < lstage(r->p, s)->nspatial; i++)
		if (i != o && i != w && !(lines && i == w - 1))
			words_add(&order, axis_loop(r, s, i, ""));
	for (int k = 0; k < 2; k++) {
		int64_t n = axis[k] == o ? axis_steps(r, s, o) : along, squares = (n + r->lanes - 1) / r->lanes;
		int64_t side = axis[k] == o || lines || (whole && !varies) ? r->lanes
			       : varies                                    ? part_of_lanes(r, n)
									   : (n + squares - 1) / squares;
		square[k] = axis[k] == w && lines ? lines : axis_loop(r, s, axis[k], "");
		if (n > side && sched_try(r, PRIM_SPLIT, square[k], trace_number(side), "tail=peel")) {
			words_add(&order, loop_part(r, square[k], 0));
			square[k] = loop_part(r, square[k], 1);
		}
	}
	words_add(&order, square[0]);
	words_add(&order, square[1]);
	sched_list(r, NULL, PRIM_REORDER, &order);
	if (!sched_try(r, PRIM_TENSOR, square[0], sched_name(r, "transpose%d", r->lanes)))
		sched_try(r, PRIM_VECTOR, square[1]);
}

static bool identity_read(struct loop_prog *p, stage_id s, ex_id read)
{
	const struct ex *x = lex(p, read);
	for (int d = 0; d < x->n; d++)
		if (x->index[d] != stage_axis(p, s, d))
			return false;
	return x->n == lstage(p, s)->nspatial && x->dyn_dim < 0;
}

/* The stage of the kernel's only result: the anchor, or an elementwise stage of its sums, in row-major order; 0: there is none. */
static stage_id plain_result(struct loop_prog *p, stage_id anchor)
{
	stage_id found = 0;
	for (stage_id s = 1; s < p->stages.n; s++) {
		if (!stage_here(p, s) || !is_result(p, lstage(p, s)->out))
			continue;
		if (found)
			return 0;
		found = s;
	}
	if (!found || (found != anchor && lstage(p, found)->comb != COMB_NONE))
		return 0;
	const struct loop_buf *b = lbuf(p, lstage(p, found)->out);
	if (b->layout.n || (b->dtype != DT_F32 && !is_dot(p, anchor)) || b->rank != lstage(p, anchor)->nspatial)
		return 0;
	ex_id read[READS_MAX];
	for (int n = found == anchor ? 0 : stage_all_reads(p, found, read), i = 0; i < n; i++)
		if (lex(p, read[i])->buf == lstage(p, anchor)->out && !identity_read(p, found, read[i]))
			return 0;
	return found == anchor || stage_reads(p, found, lstage(p, anchor)->out) ? found : 0;
}

int sched_constants_axis(struct loop_prog *p, stage_id s)
{
	const struct stage *t = lstage(p, s);
	ex_id read[READS_MAX];
	int found = -1;

	for (int n = stage_all_reads(p, s, read), i = 0; i < n; i++)
		for (int a = 0; a < t->nspatial && lbuf(p, lex(p, read[i])->buf)->scope == SCOPE_CONST; a++) {
			if (!read_uses(p, read[i], t->axis[a].var) || a == found)
				continue;
			if (found >= 0)
				return -1;
			found = a;
		}
	return found;
}

/* The kernel's operand that b is, or is a copy of, and the stage that reads it; 0: b is computed. */
static buf_id operand_of(struct loop_prog *p, buf_id b, stage_id *reader)
{
	ex_id read[READS_MAX];
	stage_id copy = writer_here(p, b);
	if (!copy)
		return is_operand(p, b) ? b : 0;
	if (lstage(p, copy)->comb != COMB_NONE || stage_all_reads(p, copy, read) != 1)
		return 0;
	*reader = copy;
	b = lex(p, read[0])->buf;
	return is_operand(p, b) && lex(p, read[0])->n == lstage(p, copy)->nspatial ? b : 0;
}

/* The only dim of the read that depends on axis o, if its index is that axis; -1: there is none. */
static int dim_of(struct loop_prog *p, stage_id s, ex_id read, int o)
{
	int dim = -1;
	for (int d = 0; d < lex(p, read)->n; d++)
		if (lex(p, read)->index[d] == stage_axis(p, s, o))
			dim = d;
		else if (poly_uses(p->P, lex(p, read)->index[d], lstage(p, s)->axis[o].var))
			return -1;
	return dim;
}

/* Cycles to transpose a buffer: loads, shuffles and stores, or elements one by one where no instruction shuffles their type; if it does not
 * fit in the second-level cache, also writing and reading it. */
static double transpose_cycles(struct schedule *r, enum dtype t, double others, double o, double w)
{
	enum { MOVES = 2 }; /* a load and a store */
	double lanes = r->lanes, squares = others * ceil(o / lanes) * ceil(w / lanes), bytes = (double)dtype_size(t) * others * o * w;
	double beyond = bytes > (double)sched_machine(r->p)->l2 ? 2 * bytes / sched_machine(r->p)->l3_a_cycle : 0;

	return squares * lanes * (t == DT_F32 ? log2(lanes) + MOVES : lanes) + beyond;
}

double sched_turn_cycles(struct schedule *r, buf_id id, int o)
{
	const struct loop_buf *b = lbuf(r->p, id);
	double others = 1;
	int w = b->rank - 1;
	for (int d = 0; d < w; d++)
		others *= d == o ? 1 : (double)b->shape[d];
	return transpose_cycles(r, b->dtype, others, (double)b->shape[o], (double)b->shape[w]);
}

/* Operands of the result that have its shape and layout: they are transposed as it is. */
static int result_operands(struct loop_prog *p, const struct across *q, buf_id *out)
{
	ex_id read[READS_MAX];
	int n = q->result == q->anchor ? 0 : stage_all_reads(p, q->result, read), found = 0;
	for (int i = 0; i < n; i++) {
		const struct loop_buf *b = lbuf(p, lex(p, read[i])->buf);
		bool alike =
			is_operand(p, lex(p, read[i])->buf) && b->dtype == DT_F32 && !b->layout.n && identity_read(p, q->result, read[i]);
		for (int d = 0; alike && d < b->rank; d++)
			alike = b->shape[d] == lstage(p, q->result)->axis[d].extent;
		for (int k = 0; k < found; k++)
			alike &= out[k] != lex(p, read[i])->buf;
		if (alike)
			out[found++] = lex(p, read[i])->buf;
	}
	return found;
}

/* Has another part made b with its dim d innermost already? */
static bool made_along(struct loop_prog *p, buf_id b, int d)
{
	const struct loop_buf *x = lbuf(p, b);

	return x->scope == SCOPE_SCRATCH && x->dtype == DT_F32 && x->layout.n == x->rank && x->layout.part[x->rank - 1].axis == d;
}

/* Operands of the anchor that vary along o, are no constants and lie along another axis; -1: one of them cannot be transposed. */
static int moving_operands(struct loop_prog *p, const struct across *q, buf_id *out, stage_id *reader, int *dim)
{
	ex_id read[READS_MAX];
	int n = stage_all_reads(p, q->anchor, read), found = 0;
	for (int i = 0; i < n; i++) {
		bool constant = lbuf(p, lex(p, read[i])->buf)->scope == SCOPE_CONST;
		int d = dim_of(p, q->anchor, read[i], q->o);
		if (constant || d < 0)
			continue;
		reader[found] = q->anchor;
		buf_id b = operand_of(p, lex(p, read[i])->buf, &reader[found]);
		if (b && made_along(p, b, d))
			continue;
		if (!b || lbuf(p, b)->layout.n || lbuf(p, b)->dtype != DT_F32 || lbuf(p, b)->rank != lex(p, read[i])->n ||
		    d == lbuf(p, b)->rank - 1)
			return -1;
		out[found] = b;
		dim[found++] = d;
	}
	return found;
}

void sched_turn_operand(struct schedule *r, buf_id b, stage_id reader, const char *loop, int o)
{
	struct loop_prog *p = r->p;
	const char *of = sym_str(lbuf(p, b)->name), *name = sched_name(r, "%s_across", of);
	if (!sched_make(r, name, PRIM_CACHE, of, sym_str(lstage(p, reader)->name), loop, "scratch"))
		return;
	stage_id copy = stage_find(p, name);
	sched_axis_last(r, name, copy, o);
	if (dtype_size(lbuf(p, b)->dtype) == sizeof(float))
		sched_squares(r, copy, o, lstage(p, copy)->nspatial - 1, false, true);
	else
		template_map(r, copy);
}

static bool transpose_result(struct schedule *r, stage_id result, const char *loop, int o, int w)
{
	const char *name = sym_str(lstage(r->p, result)->name), *out = sym_str(lbuf(r->p, lstage(r->p, result)->out)->name);
	const char *results = sched_fresh(r, "results");
	if (!sched_make(r, results, PRIM_CACHE, out, name, loop, "scratch"))
		return false;
	sched_axis_last(r, results, result, o);
	sched_squares(r, stage_find(r->p, sched_name(r, "%s.store", results)), o, w, true, true);
	return true;
}

void sched_transpose_panels(struct schedule *r, stage_id anchor, stage_id result, const char *loop)
{
	int w = contiguous_axis(r->p, result);
	sched_turn_operand(r, r->moving, anchor, loop, r->moving_dim);
	transpose_result(r, result, loop, r->along, w);
}

/* May one step of the anchor's leading axis be computed after the other? */
static bool may_step(struct loop_prog *p, const struct across *q)
{
	const struct stage *s = lstage(p, q->anchor);
	ex_id read[READS_MAX];
	bool may = q->o && q->w && s->axis[0].extent > 1 && !p->usual && count_reductions(p) == 1 && !is_dot(p, q->anchor);

	for (int n = stage_all_reads(p, q->anchor, read), i = 0; i < n; i++)
		may &= read_group(p, read[i], s->axis[0].var) == 1;
	return may;
}

/* Does it pay to compute and turn the results of one step of the anchor's leading axis after the other? Then they stay in the second-level
 * cache, but constants are read again in each step, while the sums run; else all results are turned at the end. */
static bool steps_pay(struct schedule *r, const struct across *q)
{
	struct loop_prog *p = r->p;
	const struct target *m = sched_machine(p);
	buf_id out = lstage(p, q->result)->out;
	const struct loop_buf *b = lbuf(p, out);
	const struct stage *s = lstage(p, q->anchor);
	double rows = 0, steps = (double)b->shape[0], bytes = (double)buf_elems(p, out) * (double)dtype_size(b->dtype), constants = 0;
	ex_id read[READS_MAX];

	for (int n = stage_all_reads(p, q->anchor, read), i = 0; i < n; i++)
		if (lbuf(p, lex(p, read[i])->buf)->scope == SCOPE_CONST)
			constants += (double)buf_elems(p, lex(p, read[i])->buf) * (double)dtype_size(lex(p, read[i])->dtype);
	for (int a = 1; a < s->nspatial; a++)
		rows = a == q->o ? rows : fmax(rows, (double)s->axis[a].extent);
	if (fmin(rows, SECOND_AXIS) < fmin(steps, SECOND_AXIS)) /* rows of a tile lie along the leading axis (row_axes) */
		return false;
	if (p->threads > 1) /* a team shares panels, and turns results together at the end */
		return false;
	double again = constants > CACHE_SHARE * (double)m->l2 ? (steps - 1) * constants / m->l3_a_cycle : 0;
	return bytes > (double)m->l2 && bytes / steps <= PANEL_SHARE * (double)m->l2 && MEMORY_OVERLAP * again < 2 * bytes / m->l3_a_cycle;
}

/* Cycles to turn the result, all at once or step by step. may: nothing else stands against steps. */
static double turn_result_cycles(struct schedule *r, const struct across *q, bool may)
{
	const struct loop_buf *b = lbuf(r->p, lstage(r->p, q->result)->out);
	double step = 1;

	if (!may || !may_step(r->p, q) || !steps_pay(r, q))
		return sched_turn_cycles(r, lstage(r->p, q->result)->out, q->o);
	for (int d = 1; d < b->rank; d++)
		step *= d == q->o || d == q->w ? 1 : (double)b->shape[d];
	return (double)b->shape[0] * transpose_cycles(r, b->dtype, step, (double)b->shape[q->o], (double)b->shape[q->w]);
}

/* If nothing is reused along o (depthwise), operands are transposed one panel at a time, so that they stay in the caches next to the core.
 * The padded copy is then inlined. */
static bool by_panels(struct schedule *r, const struct across *q, int noperands, int nmoving, buf_id moving, stage_id reader, int dim)
{
	struct loop_prog *p = r->p;
	const struct stage *s = lstage(p, q->anchor);
	if (nmoving != 1 || noperands || q->result == q->anchor || s->axis[q->o].extent % r->lanes)
		return false;
	ex_id read[READS_MAX];
	for (int n = stage_all_reads(p, q->anchor, read), i = 0; i < n; i++)
		if (!read_uses(p, read[i], s->axis[q->o].var))
			return false;
	if (reader != q->anchor && !sched_try(r, PRIM_INLINE, sym_str(lstage(p, reader)->name)))
		return false;
	r->along = q->o;
	r->moving = moving;
	r->moving_dim = dim;
	return true;
}

/* The loop in each step of which results are computed and turned: "root", or that over the leading axis, which template_tile then leaves
 * outermost. */
static const char *turn_where(struct schedule *r, const struct across *q)
{
	static const char *const turned[] = {"together", "apart"};
	struct loop_prog *p = r->p;
	const char *loop = axis_loop(r, q->anchor, 0, "");

	if (!may_step(p, q))
		return "root";
	if (sched_word(r, "turned", turned, 2, steps_pay(r, q)) == 0)
		return "root";
	if (q->result != q->anchor && !sched_try(r, PRIM_AFTER, sym_str(lstage(p, q->result)->name), loop)) {
		sched_settle(r, "turned", 0);
		return "root";
	}
	r->leading = 1;
	return loop;
}

bool sched_across(struct schedule *r, stage_id anchor)
{
	struct loop_prog *p = r->p;
	struct across q = {.anchor = anchor, .result = plain_result(p, anchor)};
	buf_id operand[READS_MAX], moving[READS_MAX];
	stage_id reader[READS_MAX];
	int dim[READS_MAX];

	if (!q.result || (lbuf(p, lstage(p, anchor)->out)->dtype != DT_F32 && !is_dot(p, anchor)))
		return false;
	q.w = contiguous_axis(p, q.result);
	q.o = q.w < 0 ? -1 : sched_constants_axis(p, anchor);
	if (q.o < 0 || q.o == q.w || lstage(p, q.result)->axis[q.o].extent < r->lanes)
		return false;
	int n = result_operands(p, &q, operand), m = moving_operands(p, &q, moving, reader, dim);
	if (m < 0)
		return false;
	stage_id after = q.result == anchor ? 0 : q.result;
	double turns = turn_result_cycles(r, &q, m == 0);
	for (int i = 0; i < n; i++)
		turns += sched_turn_cycles(r, operand[i], q.o);
	for (int i = 0; i < m; i++)
		turns += sched_turn_cycles(r, moving[i], dim[i]);
	static const double margin = 0.9; /* of the time along the contiguous axis: a transpose takes memory, too */
	const char *const axis[] = {sym_str(lstage(p, q.result)->axis[q.w].name), sym_str(lstage(p, q.result)->axis[q.o].name)};
	bool better = sched_cycles_along(r, anchor, after, q.o, m > 0) + turns < margin * sched_cycles_along(r, anchor, after, q.w, false);
	if (sched_word(r, "along", axis, 2, better) == 0)
		return false;
	if (by_panels(r, &q, n, m, moving[0], reader[0], dim[0]))
		return true;
	const char *where = m ? "root" : turn_where(r, &q);
	if (!transpose_result(r, q.result, where, q.o, q.w)) {
		sched_settle(r, "along", 0);
		return false;
	}
	for (int i = 0; i < n; i++)
		sched_turn_operand(r, operand[i], q.result, where, q.o);
	for (int i = 0; i < m; i++)
		sched_turn_operand(r, moving[i], reader[i], "root", dim[i]);
	return true;
}
