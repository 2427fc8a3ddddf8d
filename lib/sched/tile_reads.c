/* What a tile reads: which operands depend on which axis, and which of them fit in which cache. */
#include <math.h>
#include <stdlib.h>
#include "sched/tile.h"

static bool is_guard(struct loop_prog *p, ex_id e, void *arg) { return lex(p, e)->kind == EX_GUARD; }

bool has_guard(struct loop_prog *p, ex_id e) { return ex_find(p, e, is_guard, NULL); }

struct guarded {
	stage_id anchor;
	uint32_t axes;
};

static bool add_axes(struct loop_prog *p, ex_id e, void *arg)
{
	struct guarded *g = arg;
	const struct stage *s = lstage(p, g->anchor);

	for (int i = 0; lex(p, e)->kind == EX_GUARD && i < lex(p, e)->n; i++)
		for (int a = 0; a < s->naxes; a++)
			if (poly_uses(p->P, lex(p, e)->index[i], s->axis[a].var))
				g->axes |= (uint32_t)1 << a;
	return false;
}

uint32_t phase_axes(struct loop_prog *p, stage_id anchor)
{
	enum { PHASES_MAX = 8 };
	const struct stage *s = lstage(p, anchor);
	struct guarded g = {anchor, 0};

	ex_find(p, s->body, add_axes, &g);
	for (int a = 0; a < s->naxes; a++)
		if (g.axes >> a & 1 && (s->axis[a].extent > PHASES_MAX || a == contiguous_axis(p, anchor)))
			return 0;
	return g.axes;
}

double reduce_steps(struct loop_prog *p, const struct tile *q)
{
	const struct stage *s = lstage(p, q->anchor);
	double n = 1;

	for (int a = s->nspatial; a < s->naxes; a++)
		n *= (double)s->axis[a].extent;
	return q->dot ? n / (double)q->group : n;
}

bool calls_function(struct loop_prog *p, const struct tile *q)
{
	return q->result && sched_cost(p, lstage(p, q->result)->body) >= CALL_OPERATIONS;
}

int dim_along(struct loop_prog *p, const struct tile *q, ex_id read)
{
	poly_var v = lstage(p, q->anchor)->axis[q->vec_axis].var;
	bool part = lbuf(p, lex(p, read)->buf)->scope != SCOPE_CONST;
	int64_t step, first;
	int dim = -1;
	poly rest;

	for (int d = 0; d < lex(p, read)->n; d++)
		if (poly_linear_in(p->P, lex(p, read)->index[d], v, &step, &rest) && step == 1 && poly_is_const(p->P, rest, &first) &&
		    (part || first == 0))
			dim = dim < 0 ? d : -2;
		else if (poly_uses(p->P, lex(p, read)->index[d], v))
			return -1;
	return dim;
}

/* The operand of a group is constant within it: row axes are split into groups, and a vector lies in one group if lanes divide its size. */
bool tile_moves(struct loop_prog *p, const struct tile *q, ex_id read, int axis)
{
	poly_var v = lstage(p, q->anchor)->axis[axis].var;

	if (!read_uses(p, read, v))
		return false;
	int64_t group = read_group(p, read, v);
	return group == 1 || (axis == q->vec_axis && group % sched_lanes(p) != 0);
}

static bool is_constant(struct loop_prog *p, ex_id read) { return lbuf(p, lex(p, read)->buf)->scope == SCOPE_CONST; }

/* Do steps of the reduction shift the read by less than a vector? Then most of its vectors cross a cache line. */
static bool shifts(struct loop_prog *p, const struct tile *q, ex_id read)
{
	const struct stage *s = lstage(p, q->anchor);
	int64_t step;

	for (int k = s->nspatial; k < s->naxes; k++)
		if (s->axis[k].extent > 1 && read_step(p, read, s->axis[k].var, &step) && step && llabs(step) < sched_lanes(p))
			return true;
	return false;
}

/* Is the operand read where it lies? Constants and what rows reuse are packed into panels, and some operands are transposed. */
static bool read_in_place(struct loop_prog *p, const struct tile *q, ex_id read)
{
	bool packed = dim_along(p, q, read) >= 0 && q->row_axis >= 0 && !tile_moves(p, q, read, q->row_axis);

	return tile_moves(p, q, read, q->vec_axis) && !is_constant(p, read) && !q->transposed && !packed;
}

/* Instructions for a vector of each read: strided ones load lane by lane; one that crosses a cache line loads twice. */
void count_loads(struct loop_prog *p, struct tile *q, int lanes)
{
	enum { LINE_BYTES = 64, LOAD_AND_INSERT = 2 };
	poly_var v = lstage(p, q->anchor)->axis[q->vec_axis].var;

	for (int i = 0; i < q->nread; i++) {
		int64_t step;
		ex_id read = q->read[i];
		bool in_place = read_in_place(p, q, read),
		     together = read_step(p, read, v, &step) && (step == 1 || !step || (q->dot && step == q->group));
		q->loads[i] = q->dot && tile_moves(p, q, read, q->vec_axis) ? (double)q->pair : 1;
		if (in_place && !together)
			q->loads[i] = LOAD_AND_INSERT * lanes;
		else if (in_place && shifts(p, q, read))
			q->loads[i] = 1 + (double)sched_machine(p)->vector_bytes / LINE_BYTES;
	}
}

double panel_bytes(struct loop_prog *p, const struct tile *q, int vectors, int lanes)
{
	return 4.0 * (double)q->pair * vectors * lanes * reduce_steps(p, q);
}

double panel_room(struct loop_prog *p) { return PANEL_SHARE * (double)sched_machine(p)->l2; }

void operand_bytes(struct loop_prog *p, const struct tile *q, double *still, double *moves)
{
	*still = *moves = 0;
	for (int i = 0; i < q->nread; i++)
		*(tile_moves(p, q, q->read[i], q->vec_axis) ? moves : still) +=
			(double)dtype_size(lex(p, q->read[i])->dtype) * (double)buf_elems(p, lex(p, q->read[i])->buf);
}

enum { SET_BYTES = 4096 }; /* elements so far apart share a set of the first-level cache */

static int64_t common_divisor(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

bool steps_in_set(struct loop_prog *p, const struct tile *q, ex_id read)
{
	enum { WAYS = 8, LINE_BYTES = 64 };
	const struct stage *s = lstage(p, q->anchor);
	const struct axis *k = &s->axis[s->nspatial];
	const struct target *m = sched_machine(p);
	int64_t level[] = {m->l1, m->l2}, step, bytes = (int64_t)dtype_size(lex(p, read)->dtype);

	if (s->naxes == s->nspatial || !read_step(p, read, k->var, &step) || !step)
		return false;
	step = llabs(step) * bytes;
	if (step % SET_BYTES == 0 && k->extent > m->l1 / SET_BYTES)
		return true;
	if (q->row_steps <= 2 * q->rows || s->naxes > s->nspatial + 1 || step < LINE_BYTES || is_constant(p, read))
		return false;
	for (int i = 0; i < 2; i++) { /* a cache that would hold the panel, were its lines side by side */
		int64_t way = level[i] / WAYS, lines = way / common_divisor(way, step) * WAYS;
		if (panel_bytes(p, q, q->vectors, sched_lanes(p)) <= (double)level[i] && k->extent > lines)
			return true;
	}
	return false;
}

int64_t rows_without_conflict(struct loop_prog *p, const struct tile *q)
{
	const struct stage *s = lstage(p, q->anchor);
	const struct target *m = sched_machine(p);

	for (int i = 0; q->row_axis >= 0 && i < q->nread; i++) {
		int64_t step;
		if (!tile_moves(p, q, q->read[i], q->vec_axis) && read_step(p, q->read[i], s->axis[q->row_axis].var, &step) && step &&
		    step * (int64_t)dtype_size(lex(p, q->read[i])->dtype) % SET_BYTES == 0)
			return m->l1 / SET_BYTES - 1; /* a way is left to what moves along the vectors */
	}
	return INT64_MAX;
}

int kept_vectors(struct loop_prog *p, const struct tile *q, int vectors, int lanes)
{
	const struct stage *s = lstage(p, q->anchor);
	double steps = reduce_steps(p, q);
	int kept = 0;

	if (s->axis[q->vec_axis].extent > (int64_t)vectors * lanes || steps > UNROLL_ALWAYS)
		return 0;
	for (int i = 0; i < q->nread; i++) {
		bool moves = !read_uses(p, q->read[i], s->axis[q->vec_axis].var);
		for (int a = 0; a < s->nspatial; a++)
			moves |= a != q->vec_axis && read_uses(p, q->read[i], s->axis[a].var);
		kept += moves ? 0 : (int)steps * vectors;
	}
	return kept;
}

bool is_window(struct loop_prog *p, const struct tile *q) { return lstage(p, q->anchor)->naxes - lstage(p, q->anchor)->nspatial > 1; }

bool large_window(struct loop_prog *p, const struct tile *q)
{
	double steps = reduce_steps(p, q);

	return q->borders && !p->usual && steps > UNROLL_ALWAYS && steps <= UNROLL_MAX;
}

int apart_vectors(struct loop_prog *p) { return sched_machine(p)->vector_regs / 4; }

bool sums_strided_rows(struct loop_prog *p, const struct tile *q)
{
	for (int i = 0; i < q->nread; i++)
		if (is_constant(p, q->read[i]))
			return false;
	return q->row_axis < 0;
}
