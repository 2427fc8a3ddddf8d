/* Template for elementwise stages and copies: loops in memory order, vectors along the contiguous axis. Operands that lie in another
 * order may be read in blocks. */
#include <string.h>
#include "loop/math.h"
#include "sched/template.h"

enum { CHOICES_MAX = 256 }; /* pieces of a partitioned loop: with more, it stays one loop with a guard */

/* The contiguous axis of a read that is strided along v; -1: there is no such read. */
static int crossing_axis(struct loop_prog *p, stage_id s, int v)
{
	ex_id read[READS_MAX];
	for (int n = stage_all_reads(p, s, read), i = 0; i < n; i++) {
		const struct stage *t = lstage(p, s);
		int64_t step;
		if (!read_uses(p, read[i], t->axis[v].var) || !read_step(p, read[i], t->axis[v].var, &step) || step == 1)
			continue;
		for (int a = 0; a < t->nspatial; a++)
			if (a != v && t->axis[a].extent > 4 && read_uses(p, read[i], t->axis[a].var) &&
			    read_step(p, read[i], t->axis[a].var, &step) && step == 1)
				return a;
	}
	return -1;
}

/* The axes of s from the outermost to the innermost in the memory of its result. */
static int memory_order(struct loop_prog *p, stage_id s, int *out)
{
	const struct loop_buf *b = lbuf(p, lstage(p, s)->out);
	bool moved = b->layout.n && b->layout.n == b->rank;
	for (int i = 0; i < b->rank; i++)
		out[i] = moved ? b->layout.part[i].axis : i;
	return b->rank;
}

/* Splits axis a in blocks: the loop over blocks outermost, that over a block next to the vectors. The cache lines that a block reads are
 * used whole before they leave the cache. */
static void block_across(struct schedule *r, stage_id s, int v, int a)
{
	struct loop_prog *p = r->p;
	const char *name = sched_name(r, "%s.block", sym_str(lstage(p, s)->name)), *loop = axis_loop(r, s, a, "");
	int64_t choice[5] = {0};
	int n = 1, order[LOOP_RANK_MAX], rank = memory_order(p, s, order);
	for (int64_t b = 4; b <= 32 && b < lstage(p, s)->axis[a].extent; b *= 2)
		choice[n++] = b;
	if (n < 2 || !sched_sample(r, name, choice, n, 0))
		return;
	struct words loops = {0};
	words_add(&loops, loop_part(r, loop, 0));
	for (int i = 0; i < rank; i++)
		if (order[i] != a && order[i] != v)
			words_add(&loops, axis_loop(r, s, order[i], ""));
	words_add(&loops, axis_loop(r, s, v, ".0"));
	words_add(&loops, loop_part(r, loop, 1));
	words_add(&loops, axis_loop(r, s, v, ".1"));
	if (!sched_try(r, PRIM_SPLIT, loop, name, "tail=peel") || !sched_list(r, NULL, PRIM_REORDER, &loops))
		sched_settle(r, name, 0);
}

/* A plain copy of an operand that is contiguous along axis a: transposed in registers, a square of lanes by lanes at a time. v is split
 * into vectors already. Squares follow each other along the result, so that it is written in order. */
static bool transpose_blocks(struct schedule *r, stage_id s, int v, int a)
{
	struct loop_prog *p = r->p;
	const char *along = axis_loop(r, s, v, ""), *across = axis_loop(r, s, a, "");
	int order[LOOP_RANK_MAX], rank = memory_order(p, s, order);
	struct words loops = {0};

	if (lex(p, lstage(p, s)->body)->kind != EX_READ || lstage(p, s)->comb != COMB_NONE ||
	    !sched_try(r, PRIM_SPLIT, across, trace_number(r->lanes), "tail=peel"))
		return false;
	for (int i = 0; i < rank; i++)
		if (order[i] != v)
			words_add(&loops, axis_loop(r, s, order[i], order[i] == a ? ".0" : ""));
	words_add(&loops, loop_part(r, along, 0));
	words_add(&loops, loop_part(r, across, 1));
	words_add(&loops, loop_part(r, along, 1));
	sched_list(r, NULL, PRIM_REORDER, &loops);
	return sched_try(r, PRIM_TENSOR, loop_part(r, across, 1), sched_name(r, "transpose%d", r->lanes));
}

/* Does the stage read a line for each step of v, and walk along them with w? What it reads beside them is the same for all. */
static bool reads_lines(struct loop_prog *p, stage_id s, int v, int w)
{
	ex_id read[READS_MAX];
	int n = stage_all_reads(p, s, read), lines = 0, same = 0;
	int64_t step;

	for (int i = 0; i < n; i++) {
		if (!read_uses(p, read[i], lstage(p, s)->axis[v].var)) {
			same += !read_uses(p, read[i], lstage(p, s)->axis[w].var);
			continue;
		}
		if (!read_step(p, read[i], lstage(p, s)->axis[v].var, &step) || step == 1 ||
		    !read_step(p, read[i], lstage(p, s)->axis[w].var, &step) || step != 1)
			return false;
		lines++;
	}
	return lines == 1 && n == 1 + same;
}

/* Lines shorter than half a vector whose elements come from a line each (channels of pixels): several lines are fused until they make
 * whole vectors. Each vector then gathers neighbouring elements of those lines. */
static bool weave_lines(struct schedule *r, stage_id s, int v)
{
	struct loop_prog *p = r->p;
	int order[LOOP_RANK_MAX], rank = memory_order(p, s, order), w = rank > 1 ? order[rank - 2] : -1;
	int64_t lines = lstage(p, s)->axis[v].extent, vectors = lines;

	if (w < 0 || order[rank - 1] != v || lines < 2 || !reads_lines(p, s, v, w))
		return false;
	while (vectors % 2 == 0) /* vectors until the pattern of lanes repeats */
		vectors /= 2;
	const char *loop = sched_name(r, "%s*%s", axis_loop(r, s, w, ""), sym_str(lstage(p, s)->axis[v].name));
	if (!sched_try(r, PRIM_FUSE, axis_loop(r, s, w, ""), axis_loop(r, s, v, "")))
		return false;
	sched_try(r, PRIM_SPLIT, loop, trace_number(vectors), trace_number(r->lanes), "tail=peel");
	sched_try(r, PRIM_UNROLL, loop_part(r, loop, 1));
	sched_try(r, PRIM_VECTOR, loop_part(r, loop, 2));
	return true;
}

/* Rows of bytes, four of them side by side in the result: vectors along what is contiguous in the operand, the rows unrolled, so that one
 * store writes all four. */
static bool weave_rows(struct schedule *r, stage_id s, int v)
{
	enum { ROWS = 4 };
	struct loop_prog *p = r->p;
	int order[LOOP_RANK_MAX], rank = memory_order(p, s, order), c = rank > 1 ? order[rank - 2] : -1;
	struct words loops = {0};
	ex_id read[READS_MAX];
	int64_t step;

	if (c < 0 || order[rank - 1] != v || lstage(p, s)->axis[v].extent != ROWS || lstage(p, s)->axis[c].extent < r->lanes ||
	    dtype_size(lbuf(p, lstage(p, s)->out)->dtype) != 1 || stage_all_reads(p, s, read) != 1 ||
	    !read_step(p, read[0], lstage(p, s)->axis[c].var, &step) || step != 1 ||
	    !read_step(p, read[0], lstage(p, s)->axis[v].var, &step) || step == 1)
		return false;
	const char *loop = axis_loop(r, s, c, "");
	if (!sched_try(r, PRIM_SPLIT, loop, trace_number(r->lanes), "tail=peel"))
		return false;
	for (int i = 0; i < rank - 2; i++) {
		words_add(&loops, axis_loop(r, s, order[i], ""));
		sched_try(r, PRIM_PARTITION, axis_loop(r, s, order[i], ""), "auto");
	}
	words_add(&loops, loop_part(r, loop, 0));
	words_add(&loops, axis_loop(r, s, v, ""));
	words_add(&loops, loop_part(r, loop, 1));
	sched_list(r, NULL, PRIM_REORDER, &loops);
	sched_try(r, PRIM_UNROLL, axis_loop(r, s, v, ""));
	sched_try(r, PRIM_VECTOR, loop_part(r, loop, 1));
	return true;
}

/* Is something read in steps along v that are not all alike? */
static bool skips(struct loop_prog *p, stage_id s, int v)
{
	ex_id read[READS_MAX];
	int64_t step;

	for (int n = stage_all_reads(p, s, read), i = 0; i < n; i++)
		if (!read_step(p, read[i], lstage(p, s)->axis[v].var, &step))
			return true;
	return false;
}

/* Lines of codes that are a part of a vector each (channels of pixels, made up to four), with fills about them or elements left out: so
 * many are fused that they are a vector. */
static bool join_lines(struct schedule *r, stage_id s, int v)
{
	struct loop_prog *p = r->p;
	int order[LOOP_RANK_MAX], rank = memory_order(p, s, order), w = rank > 1 ? order[rank - 2] : -1;
	int64_t line = lstage(p, s)->axis[v].extent;

	if (w < 0 || order[rank - 1] != v || line < 2 || line >= r->lanes || r->lanes % line ||
	    dtype_size(lbuf(p, lstage(p, s)->out)->dtype) > 2)
		return false;
	const char *loop = sched_name(r, "%s*%s", axis_loop(r, s, w, ""), sym_str(lstage(p, s)->axis[v].name));
	if (!sched_try(r, PRIM_FUSE, axis_loop(r, s, w, ""), axis_loop(r, s, v, "")) ||
	    !sched_try(r, PRIM_SPLIT, loop, trace_number(r->lanes), "tail=peel"))
		return false;
	sched_try(r, PRIM_PARTITION, loop_part(r, loop, 0), "auto");
	sched_try(r, PRIM_VECTOR, loop_part(r, loop, 1));
	return true;
}

/* Squares of so many steps of axis a of a copy are whole: the last one is moved back, where sizes are known, there are so many, and no two
 * threads write the same. */
static const char *square_tail(struct loop_prog *p, stage_id s, int a, int steps)
{
	return !p->usual && p->threads <= 1 && lstage(p, s)->axis[a].extent > steps ? "tail=overlap" : "tail=peel";
}

/* As transpose_blocks, for elements of 1, 2 or 8 bytes: blocks of 16 bytes by as many rows, or fewer if axis v is shorter. */
static bool turn_bytes(struct schedule *r, stage_id s, int v, int a)
{
	struct loop_prog *p = r->p;
	const char *along = axis_loop(r, s, v, ""), *across = axis_loop(r, s, a, "");
	int columns = 16 / (int)dtype_size(lbuf(p, lstage(p, s)->out)->dtype), rows = columns, order[LOOP_RANK_MAX],
	    rank = memory_order(p, s, order);
	struct words loops = {0};

	while (rows > 2 && rows > lstage(p, s)->axis[v].extent)
		rows /= 2;
	bool square = rows == columns;
	if (!sched_try(r, PRIM_SPLIT, across, trace_number(columns), square ? square_tail(p, s, a, columns) : "tail=peel") ||
	    !sched_try(r, PRIM_SPLIT, along, trace_number(rows), square ? square_tail(p, s, v, rows) : "tail=peel"))
		return false;
	for (int i = 0; i < rank; i++)
		words_add(&loops, axis_loop(r, s, order[i], order[i] == a || order[i] == v ? ".0" : ""));
	words_add(&loops, loop_part(r, across, 1));
	words_add(&loops, loop_part(r, along, 1));
	return sched_list(r, NULL, PRIM_REORDER, &loops) &&
	       sched_try(r, PRIM_TENSOR, loop_part(r, across, 1), sched_name(r, "turn%dx%d", rows, columns));
}

/* A copy of elements of any type: in blocks if it transposes, else whole lines. */
static bool move_elements(struct schedule *r, stage_id s, int v)
{
	struct loop_prog *p = r->p;
	ex_id body = lstage(p, s)->body;
	int bytes = (int)dtype_size(lbuf(p, lstage(p, s)->out)->dtype), across = crossing_axis(p, s, v);
	int64_t step;

	if (lex(p, body)->kind != EX_READ || lex(p, body)->dyn_dim >= 0 ||
	    lbuf(p, lex(p, body)->buf)->dtype != lbuf(p, lstage(p, s)->out)->dtype)
		return false;
	if (across >= 0 && bytes == 4)
		return sched_try(r, PRIM_SPLIT, axis_loop(r, s, v, ""), trace_number(r->lanes), "tail=peel") &&
		       transpose_blocks(r, s, v, across);
	if (across >= 0)
		return turn_bytes(r, s, v, across);
	return read_step(p, body, lstage(p, s)->axis[v].var, &step) && step == 1 &&
	       sched_try(r, PRIM_TENSOR, axis_loop(r, s, v, ""), sched_name(r, "copy%d", bytes));
}

static bool is_call(struct loop_prog *p, ex_id e, void *fn) { return lex(p, e)->kind == EX_CALL && lex(p, e)->fn == *(int *)fn; }

static bool calls(struct loop_prog *p, ex_id e, int fn) { return ex_find(p, e, is_call, &fn); }

/* Vectors in an iteration. Independent ones hide latency; divisions all wait for one unit, so they get one. */
static int64_t usual_unroll(struct loop_prog *p, ex_id body, int64_t steps)
{
	enum { USUAL = 4, WITH_EXP = 8 };
	bool division = lex(p, body)->kind == EX_CALL && lex(p, body)->fn == FN_DIV;
	bool exp = (calls(p, body, FN_EXP) || calls(p, body, FN_SIGMOID)) && !calls(p, body, FN_ERF);

	return division || steps < 2 ? 1 : steps < USUAL ? 2 : exp && steps >= WITH_EXP ? WITH_EXP : USUAL;
}

void sched_unroll(struct schedule *r, stage_id s, const char *loop, int64_t steps)
{
	const char *name = sched_name(r, "%s.unroll", sym_str(lstage(r->p, s)->name));
	int64_t choice[4];
	int64_t usual = usual_unroll(r->p, lstage(r->p, s)->body, steps);
	int n = 0;
	for (int64_t k = 1; k <= 8 && (k == 1 || k <= steps); k *= 2)
		choice[n++] = k;
	if (n > 1 && sched_sample(r, name, choice, n, usual) > 1 && !sched_try(r, PRIM_UNROLL, loop, name))
		sched_settle(r, name, 1);
}

struct choices {
	poly_var v;
	int n;
};

static bool count_choice(struct loop_prog *p, ex_id e, void *arg)
{
	const struct ex *x = lex(p, e);
	struct choices *c = arg;
	c->n += x->kind == EX_GUARD && x->n == 1 && lex(p, x->a[1])->kind != EX_CONST && poly_uses(p->P, x->index[0], c->v);
	return false;
}

/* Guards of the body that choose between operands by the index along v (Concat). */
static int choices_along(struct loop_prog *p, stage_id s, int v)
{
	struct choices c = {.v = lstage(p, s)->axis[v].var};
	ex_find(p, lstage(p, s)->body, count_choice, &c);
	return c.n;
}

/* Are lines along v, whose size varies, a few vectors? Of longer ones the rest, a vector that is not full, is less than a fifth. */
static bool short_lines(struct loop_prog *p, stage_id s, int v)
{
	enum { VECTORS = 4 };
	const struct loop_buf *b = lbuf(p, lstage(p, s)->out);

	return p->usual && b->rank > 1 && b->varies >> v & 1 && lstage(p, s)->axis[v].extent <= VECTORS * sched_lanes(p);
}

/* Vectors that lie side by side in all lines, then what is left of all: what is known of the rest is found once. */
static bool lines_apart(struct schedule *r, stage_id s, int v)
{
	int order[LOOP_RANK_MAX], rank = memory_order(r->p, s, order);
	struct words loops = {0};

	if (!sched_try(r, PRIM_SPLIT, axis_loop(r, s, v, ""), trace_number(r->lanes), "tail=peel"))
		return false;
	words_add(&loops, axis_loop(r, s, v, ".0"));
	for (int i = 0; i < rank; i++)
		if (order[i] != v)
			words_add(&loops, axis_loop(r, s, order[i], ""));
	words_add(&loops, axis_loop(r, s, v, ".1"));
	sched_list(r, NULL, PRIM_REORDER, &loops);
	sched_try(r, PRIM_VECTOR, axis_loop(r, s, v, ".1"));
	return true;
}

static bool is_guard(struct loop_prog *p, ex_id e, void *arg) { return lex(p, e)->kind == EX_GUARD; }

/* Axis along which every read of s that varies along v and another axis is contiguous; -1: there is none, or s only copies. */
static int turned_axis(struct loop_prog *p, stage_id s, int v)
{
	const struct stage *t = lstage(p, s);
	ex_id read[READS_MAX];
	int64_t step;
	int a = crossing_axis(p, s, v);

	if (a < 0 || lex(p, t->body)->kind == EX_READ || lbuf(p, t->out)->dtype != DT_F32 || !stage_in_lanes(p, s) || t->scan ||
	    t->axis[a].extent < sched_lanes(p) || t->axis[v].extent < sched_lanes(p))
		return -1;
	for (int n = stage_all_reads(p, s, read), i = 0; i < n; i++)
		if (read_uses(p, read[i], t->axis[v].var) &&
		    (!read_step(p, read[i], t->axis[a].var, &step) || step != 1 || lex(p, read[i])->dyn_dim >= 0))
			return -1;
	return a;
}

/* All operands lie across the result: it is computed in their order, and turned in squares. */
static bool compute_turned(struct schedule *r, stage_id s, int v)
{
	struct loop_prog *p = r->p;
	int a = turned_axis(p, s, v);
	const char *name = sym_str(lstage(p, s)->name), *cache = sched_name(r, "%s_turned", name);

	if (a < 0 || !sched_make(r, cache, PRIM_CACHE, sym_str(lbuf(p, lstage(p, s)->out)->name), name, "root", "scratch"))
		return false;
	sched_axis_last(r, cache, s, a);
	sched_squares(r, stage_find(p, sched_name(r, "%s.store", cache)), a, v, true, true);
	template_map(r, s);
	return true;
}

/* Is s a copy with fills of f32, or of bytes that may become another type, for which each byte is gathered? */
static bool gathers(struct loop_prog *p, stage_id s, ex_id read)
{
	enum dtype from = lbuf(p, lex(p, read)->buf)->dtype, to = lbuf(p, lstage(p, s)->out)->dtype;

	if (to == DT_F32 && from == DT_F32)
		return lex(p, lstage(p, s)->body)->kind == EX_GUARD;
	return dtype_size(from) == 1 && dtype_size(to) <= 2 && lex(p, lstage(p, s)->body)->kind != EX_READ && stage_in_lanes(p, s);
}

/* A copy of an operand that lies across it: the operand is turned first, so that lines are copied. */
static void turn_operand(struct schedule *r, stage_id s, int v)
{
	struct loop_prog *p = r->p;
	ex_id read[READS_MAX];

	if (p->usual || lstage(p, s)->axis[v].extent < r->lanes || stage_all_reads(p, s, read) != 1 || lex(p, read[0])->dyn_dim >= 0 ||
	    !gathers(p, s, read[0]))
		return;
	int a = crossing_axis(p, s, v), dim = -1;
	for (int d = 0; d < lex(p, read[0])->n; d++)
		dim = lex(p, read[0])->index[d] == stage_axis(p, s, v) ? d : dim;
	if (a >= 0 && lstage(p, s)->axis[a].extent >= r->lanes && dim >= 0)
		sched_turn_operand(r, lex(p, read[0])->buf, s, "root", dim);
}

void template_map(struct schedule *r, stage_id s)
{
	struct loop_prog *p = r->p;
	const struct loop_buf *b = lbuf(p, lstage(p, s)->out);
	int v = contiguous_axis(p, s), order[LOOP_RANK_MAX];
	if (v < 0 || compute_turned(r, s, v))
		return;
	if (b->layout.n && b->layout.n == b->rank) { /* a permutation of the axes */
		struct words loops = {0};
		for (int i = 0, n = memory_order(p, s, order); i < n; i++)
			words_add(&loops, axis_loop(r, s, order[i], ""));
		sched_list(r, NULL, PRIM_REORDER, &loops);
	}
	turn_operand(r, s, v);
	/* loops are partitioned where fills end, and at each operand of a choice */
	bool fills = ex_find(p, lstage(p, s)->body, is_guard, NULL);
	int choices = choices_along(p, s, v);
	if (stage_in_lanes(p, s) && (weave_rows(r, s, v) || ((fills || skips(p, s, v)) && join_lines(r, s, v))))
		return;
	for (int a = 0; a < lstage(p, s)->nspatial; a++)
		if (a != v && fills)
			sched_try(r, PRIM_PARTITION, axis_loop(r, s, a, ""), "auto");
	int64_t extent = lstage(p, s)->axis[v].extent;
	if (lbuf(p, lstage(p, s)->out)->dtype != DT_F32 && !fills && move_elements(r, s, v))
		return;
	if (stage_in_lanes(p, s) && extent < r->lanes / 2 && weave_lines(r, s, v))
		return;
	if (!stage_in_lanes(p, s) || extent < r->lanes / 2 || choices > CHOICES_MAX) {
		if (choices && choices <= CHOICES_MAX)
			sched_try(r, PRIM_PARTITION, axis_loop(r, s, v, ""), "auto");
		return;
	}
	if (fills && short_lines(p, s, v) && lines_apart(r, s, v))
		return;
	if (extent <= r->lanes) {
		sched_try(r, PRIM_VECTOR, axis_loop(r, s, v, ""));
		return;
	}
	if (!sched_try(r, PRIM_SPLIT, axis_loop(r, s, v, ""), trace_number(r->lanes), "tail=peel"))
		return;
	int across = fills ? -1 : crossing_axis(p, s, v);
	if (across >= 0 && transpose_blocks(r, s, v, across))
		return;
	if (across >= 0)
		block_across(r, s, v, across);
	sched_try(r, PRIM_VECTOR, axis_loop(r, s, v, ".1"));
	if (choices) /* only vectors across the end of an operand read two, under masks */
		sched_try(r, PRIM_PARTITION, axis_loop(r, s, v, ".0"), "auto");
	else if (across < 0)
		sched_unroll(r, s, axis_loop(r, s, v, ".0"), extent / r->lanes);
}
