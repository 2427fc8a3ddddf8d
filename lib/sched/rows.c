/* Template for reductions along the contiguous axis (softmax, layer normalization, row sums): a block of rows at a time, all stages under
 * one loop, so that the rows stay in the first-level cache. Each reduction is split over the lanes of a vector. */
#include <string.h>
#include "sched/template.h"

static const char *const place[] = {"row", "whole"};
enum { BLOCK_MAX = 32 }; /* rows at a time */

/* Samples whether s is computed row by row where it is read, or whole before. true: row by row, and it is placed so. */
static bool place_at(struct schedule *r, stage_id s, const char *row)
{
	const char *name = sym_str(lstage(r->p, s)->name), *sample = sched_name(r, "%s.place", name);
	if (sched_word(r, sample, place, 2, 0) == 1)
		return false;
	if (sched_try(r, PRIM_AT, name, row))
		return true;
	sched_drop(r, sample); /* s is a result, or read outside the loop */
	return false;
}

/* Places stage `name`, one register of sums per lane, in the loop `row`: lanes inside, around them `step`, the last of its other loops. */
static bool keep_lanes(struct schedule *r, const char *name, const char *step, const char *row)
{
	if (!sched_try(r, PRIM_AT, name, row))
		return false;
	sched_try(r, PRIM_SCOPE, name, "register");
	sched_try(r, PRIM_INIT, name, row);
	struct stage s = *lstage(r->p, stage_find(r->p, name));
	struct words order = {0};
	for (int a = s.nspatial; a < s.naxes - 1; a++)
		words_add(&order, sched_name(r, "%s.%s", name, sym_str(s.axis[a].name)));
	words_add(&order, step);
	words_add(&order, sched_name(r, "%s.lane", name));
	sched_list(r, NULL, PRIM_REORDER, &order);
	return true;
}

static void mark_lanes(struct schedule *r, const char *name, const char *part)
{
	sched_try(r, PRIM_VECTOR, sched_name(r, "%s.lane", part));
	sched_try(r, PRIM_VECTOR, sched_name(r, "%s.init.lane", part));
	sched_try(r, PRIM_VECTOR, sched_name(r, "%s.lane", name));
}

/* Several vectors of partial sums in registers: they are added as vectors, and only the total is summed across its lanes. */
static void mark_wide(struct schedule *r, const char *name, const char *part, const char *all)
{
	sched_try(r, PRIM_SPLIT, sched_name(r, "%s.lane", part), trace_number(r->lanes));
	sched_try(r, PRIM_UNROLL, sched_name(r, "%s.lane.0", part));
	sched_try(r, PRIM_VECTOR, sched_name(r, "%s.lane.1", part));
	sched_try(r, PRIM_SPLIT, sched_name(r, "%s.init.lane", part), trace_number(r->lanes));
	sched_try(r, PRIM_UNROLL, sched_name(r, "%s.init.lane.0", part));
	sched_try(r, PRIM_VECTOR, sched_name(r, "%s.init.lane.1", part));
	sched_try(r, PRIM_UNROLL, sched_name(r, "%s.lane.0", all));
	mark_lanes(r, name, all);
}

/* The lanes of sums that begin, or are added up, on a level of a long sum. */
static void mark_level(struct schedule *r, const char *loop, bool wide)
{
	if (wide && sched_try(r, PRIM_SPLIT, loop, trace_number(r->lanes))) {
		sched_try(r, PRIM_UNROLL, loop_part(r, loop, 0));
		loop = loop_part(r, loop, 1);
	}
	sched_try(r, PRIM_VECTOR, loop);
}

/* A long sum in the lanes of stage `part`, whose last axis has so many steps, goes in levels: the loop is split inside which a chain is not
 * too long. Is that the loop of steps? */
static bool sum_in_levels(struct schedule *r, const char *part, const char *step, int64_t steps, struct words *made)
{
	stage_id s = stage_find(r->p, part);
	const struct stage *t = lstage(r->p, s);
	struct long_sum sum = {steps, 1, steps, false};
	const char *loop = step;
	int a = t->naxes - 1;

	for (int k = t->nspatial; k < a; k++)
		sum.all *= t->axis[k].extent;
	for (; a > t->nspatial && !sched_is_long((double)(sum.terms * sum.steps), false) && !sched_axis_varies(r->p, s, a);
	     sum.steps = t->axis[a].extent) {
		sum.terms *= sum.steps;
		loop = sched_name(r, "%s.%s", part, sym_str(t->axis[--a].name));
	}
	return sched_levels(r, part, loop, sum, "register", made) != loop && loop == step;
}

/* How lanes_of is asked: `row` loops over several rows; all rows are of the same elements, which are read once. */
enum rows_kind { ONE_ROW, MANY_ROWS, SAME_ROWS };

/* A loop of one step around those of the last axis that s keeps. */
static const char *around_rows(struct schedule *r, stage_id s)
{
	int last = lstage(r->p, s)->nspatial - 1;
	const char *loop = axis_loop(r, s, last, "");

	return sched_try(r, PRIM_SPLIT, loop, trace_number(lstage(r->p, s)->axis[last].extent)) ? loop_part(r, loop, 0) : loop;
}

/* True if the place of s has several rows of it (the gates of a recurrent network). */
static bool rows_within(struct schedule *r, stage_id s)
{
	int64_t n;
	int last = lstage(r->p, s)->nspatial - 1;
	nest_id loop = last < 0 ? 0 : loop_find(r->p, axis_loop(r, s, last, ""));

	return loop && poly_is_const(r->p->P, lnest(r->p, loop)->extent, &n) && n > 1;
}

/* Splits the reduction over lanes: a partial sum per lane, combined at the end. row NULL: there is only one row. */
static void lanes_of(struct schedule *r, stage_id s, const char *row, enum rows_kind kind)
{
	enum { SUMS = 4, SUMS_FROM = 8 }; /* vectors of partial sums of a row; vectors that it has at least */
	struct loop_prog *p = r->p;
	const char *name = sym_str(lstage(p, s)->name), *sample = sched_name(r, "%s.vectors", name);
	int last = lstage(p, s)->naxes - 1, n = 0;
	int64_t extent = lstage(p, s)->axis[last].extent, choice[4], wide = 0;
	const char *red = axis_loop(r, s, last, "");
	const char *part = sched_name(r, "%s_part", name), *all = sched_name(r, "%s_lanes", name);
	for (int64_t w = 1; w <= 8 && w * r->lanes <= extent; w *= 2)
		choice[n++] = w;
	if (n && lstage(p, s)->nspatial)
		wide = sched_sample(r, sample, choice, n, extent >= SUMS_FROM * r->lanes ? SUMS : 1);
	if (!wide || !sched_try(r, PRIM_SPLIT, red, sched_name(r, "%s*%d", sample, r->lanes)) ||
	    !sched_make(r, part, PRIM_RFACTOR, name, loop_part(r, red, 1))) {
		if (row)
			place_at(r, s, row);
		return;
	}
	if (wide > 1) {
		sched_try(r, PRIM_SPLIT, sched_name(r, "%s.lane", name), trace_number(r->lanes));
		sched_make(r, all, PRIM_RFACTOR, name, sched_name(r, "%s.lane.1", name));
	}
	bool placed = row && place_at(r, s, row);
	if (!placed && !lstage(p, s)->nspatial)
		return;
	if (kind == SAME_ROWS)
		row = around_rows(r, s);
	else if (!placed || kind == MANY_ROWS || rows_within(r, s)) /* per row, not per block */
		row = lstage(p, s)->nspatial ? axis_loop(r, s, lstage(p, s)->nspatial - 1, "") : row;
	const char *step = sched_name(r, "%s.%s.0", part, strrchr(red, '.') + 1);
	if (wide > 1 && !keep_lanes(r, all, sched_name(r, "%s.lane.0", all), row))
		return;
	if (!keep_lanes(r, part, step, row))
		return;
	struct words made = {0};
	bool split = sum_in_levels(r, part, step, (extent + wide * r->lanes - 1) / (wide * r->lanes), &made);
	if (wide > 1)
		mark_wide(r, name, part, all);
	else
		mark_lanes(r, name, part);
	for (int i = 0; i < made.n; i++)
		for (int k = 0; k < 2; k++)
			mark_level(r, sched_name(r, "%s.%s.lane", made.word[i], k ? "store" : "load"), wide > 1);
	if (extent % (wide * r->lanes)) /* only the last step is under masks */
		for (int i = 0; i <= (split ? made.n : 0); i++)
			sched_try(r, PRIM_PARTITION, split ? loop_part(r, step, i) : step, "auto");
}

void template_row_sum(struct schedule *r, stage_id s) { lanes_of(r, s, NULL, ONE_ROW); }

/* Numbers that s makes of all of something by the least or greatest, along memory: one or, of the same elements, two; 0: s does not. */
static int64_t extremes_of(struct loop_prog *p, stage_id id)
{
	enum { AT_MOST = 2 };
	const struct stage *s = lstage(p, id);
	ex_id read[READS_MAX];
	int64_t step, results = 1;

	if ((s->comb != COMB_MIN && s->comb != COMB_MAX) || !s->nspatial || s->naxes == s->nspatial)
		return 0;
	for (int a = 0; a < s->nspatial; a++)
		results *= s->axis[a].extent;
	for (int n = stage_all_reads(p, id, read), i = 0; i < n; i++) {
		if (lex(p, read[i])->buf != lex(p, read[0])->buf || !read_step(p, read[i], s->axis[s->naxes - 1].var, &step) || step != 1)
			return 0;
		for (int a = 0; a < s->nspatial; a++)
			if (s->axis[a].extent > 1 && read_uses(p, read[i], s->axis[a].var))
				return 0;
	}
	return results <= AT_MOST ? results : 0;
}

/* The last axis is innermost in memory, and in the loops; what is made of the same elements is made together. */
static void order_extremes(struct schedule *r, const struct stage *s, bool pair)
{
	const char *name = sym_str(s->name), *part = sched_name(r, "%s_part", name), *last = sym_str(s->axis[s->nspatial - 1].name);
	const char *all[] = {part, sched_name(r, "%s_lanes", name)};
	struct words order = {0};

	for (int a = s->nspatial; a < s->naxes; a++)
		words_add(&order, sched_name(r, "%s.%s%s", part, sym_str(s->axis[a].name), a == s->naxes - 1 ? ".0" : ""));
	if (pair)
		words_add(&order, sched_name(r, "%s.%s", part, last));
	if (order.n > 1)
		sched_list(r, NULL, PRIM_REORDER, &order);
	for (int i = 0; i < 2 && pair; i++)
		if (stage_find(r->p, all[i])) {
			sched_try(r, PRIM_UNROLL, sched_name(r, "%s.%s", all[i], last));
			sched_try(r, PRIM_UNROLL, sched_name(r, "%s.init.%s", all[i], last));
		}
	if (pair)
		sched_try(r, PRIM_UNROLL, sched_name(r, "%s.%s.1", name, last));
}

bool template_extremes(struct schedule *r)
{
	struct loop_prog *p = r->p;
	stage_id found[READS_MAX], all = (stage_id)p->stages.n;
	int64_t numbers[READS_MAX], total = 0;
	int n = 0;

	for (stage_id s = 1; s < all; s++) {
		if (!stage_here(p, s) || lstage(p, s)->comb == COMB_NONE)
			continue;
		if (n == READS_MAX || !(numbers[n] = extremes_of(p, s)))
			return false;
		total += numbers[n];
		found[n++] = s;
	}
	for (int i = 0; i < n && total > 1; i++) {
		struct stage s = *lstage(p, found[i]);
		lanes_of(r, found[i], NULL, numbers[i] > 1 ? SAME_ROWS : ONE_ROW);
		if (stage_find(p, sched_name(r, "%s_part", sym_str(s.name))))
			order_extremes(r, &s, numbers[i] > 1);
	}
	return total > 1;
}

/* Vectors along the last axis; that loop is unrolled. */
static void mark_row(struct schedule *r, stage_id s)
{
	int v = lstage(r->p, s)->nspatial - 1;
	if (v < 0 || !sched_try(r, PRIM_SPLIT, axis_loop(r, s, v, ""), trace_number(r->lanes), "tail=peel"))
		return;
	sched_try(r, PRIM_VECTOR, axis_loop(r, s, v, ".1"));
	sched_unroll(r, s, axis_loop(r, s, v, ".0"), lstage(r->p, s)->axis[v].extent / r->lanes);
}

static bool is_here(struct loop_prog *p, stage_id s, const bool *others) { return stage_here(p, s) && !(others && others[s]); }

/* Does a stage read the buffer? */
static bool is_read(struct loop_prog *p, buf_id b, const bool *others)
{
	for (stage_id s = 1; s < p->stages.n; s++)
		if (is_here(p, s, others) && stage_reads(p, s, b))
			return true;
	return false;
}

/* Bytes of a row in all buffers; *waits: in intermediate ones as long as a row. */
static double row_bytes(struct loop_prog *p, double rows, const bool *others, double *waits)
{
	double bytes = 0;

	*waits = 0;
	for (buf_id b = 1; b < p->bufs.n; b++)
		if (is_operand(p, b) && (!others || is_read(p, b, others)))
			bytes += (double)buf_elems(p, b) * (double)dtype_size(lbuf(p, b)->dtype) / rows;
	for (stage_id s = 1; s < p->stages.n; s++) {
		if (!is_here(p, s, others))
			continue;
		const struct loop_buf *b = lbuf(p, lstage(p, s)->out);
		double of_row = (double)buf_elems(p, lstage(p, s)->out) * (double)dtype_size(b->dtype) / rows;
		bytes += of_row;
		if (b->scope == SCOPE_SCRATCH && of_row > (double)dtype_size(b->dtype))
			*waits += of_row;
	}
	return bytes;
}

/* Rows that have the same statistics (the channels of a group), as the stages before the result keep a number for so many of its rows; 1:
 * each row has its own. */
static int64_t rows_of_slice(struct loop_prog *p, stage_id result, int row_axis, const bool *others)
{
	const struct stage *t = lstage(p, result);
	int64_t most = 1;

	for (stage_id s = 1; s < p->stages.n; s++) {
		const struct stage *u = lstage(p, s);
		if (!is_here(p, s, others) || s == result || u->nspatial != row_axis + 1 ||
		    t->axis[row_axis].extent % u->axis[row_axis].extent)
			continue;
		int64_t rows = t->axis[row_axis].extent / u->axis[row_axis].extent;
		most = rows > most ? rows : most;
	}
	return most;
}

/* The loop of rows that s is computed in: `row`, or where many rows outside of it have the same (the statistics of a whole image), one
 * further out; NULL: none, s is computed whole. */
static const char *loop_of_rows(struct schedule *r, stage_id s, stage_id result, int row_axis, const char *row, int64_t slice)
{
	const struct stage *t = lstage(r->p, result);
	double own = (double)buf_elems(r->p, lstage(r->p, s)->out), rows = 1;
	int within = -1;

	for (int a = 0; a <= row_axis; a++) {
		rows *= (double)t->axis[a].extent;
		if (rows == own && own > 1)
			within = a;
	}
	if (own * (double)slice >= rows)
		return row;
	return within < 0 ? NULL : axis_loop(r, result, within, "");
}

/* Is no stage computed row by row of the result? */
static bool rows_apart(struct schedule *r, stage_id result, int row_axis, const char *row, int64_t slice, const bool *others)
{
	for (stage_id s = 1; row && s < r->p->stages.n; s++)
		if (is_here(r->p, s, others) && s != result && loop_of_rows(r, s, result, row_axis, row, slice) == row)
			return false;
	return row;
}

/* Rows in a block. Several rows hide the latency of each other's sums. A vector of rows is enough: what is computed once per row (the root
 * of a variance) then fills one vector. A block fits its share of the first-level cache, and each thread has one. If no intermediate
 * row is read again, blocks may be larger. */
static int64_t usual_block(struct schedule *r, stage_id result, int row_axis, const bool *others)
{
	enum { READONLY_VECTORS = 4 };
	static const double share_kept = 0.7, readonly_share = 1.05; /* rows that are read once may just fill the cache */
	struct loop_prog *p = r->p;
	const struct stage *t = lstage(p, result);
	double rows = 1, waits, l1 = (double)sched_machine(p)->l1;
	int64_t block = 1, threads = p->threads > 1 ? p->threads : 1, share = t->axis[row_axis].extent / threads;

	for (int a = 0; a <= row_axis; a++)
		rows *= (double)t->axis[a].extent;
	double bytes = row_bytes(p, rows, others, &waits), room = (waits > 0 ? share_kept : readonly_share) * l1;
	int64_t most = waits > 0 ? r->lanes : READONLY_VECTORS * r->lanes;
	if (most > BLOCK_MAX)
		most = BLOCK_MAX;
	while (2 * block <= most && 2 * block <= share && 2 * block < t->axis[row_axis].extent && 2.0 * (double)block * bytes <= room)
		block *= 2;
	return block;
}

bool template_rows(struct schedule *r, stage_id result) { return sched_rows(r, result, NULL); }

bool sched_rows(struct schedule *r, stage_id result, const bool *others)
{
	struct loop_prog *p = r->p;
	const struct stage *t = lstage(p, result);
	/* the rows are the axes of the result that the reductions keep: all but the last, or all */
	int last = t->nspatial - 1, n = 0;
	int64_t reduced = 0, choice[7];
	bool many_columns = false; /* of a product */
	for (stage_id s = 1; s < p->stages.n; s++)
		if (is_here(p, s, others) && lstage(p, s)->comb != COMB_NONE) {
			const struct stage *u = lstage(p, s);
			reduced = u->axis[u->naxes - 1].extent;
			many_columns |= last >= 0 && u->nspatial == t->nspatial && u->axis[last].extent > 1;
		}
	bool keeps_last = last >= 0 && t->axis[last].extent == reduced && !many_columns;
	int row_axis = keeps_last ? last - 1 : last;
	const char *row = row_axis < 0 ? NULL : axis_loop(r, result, row_axis, "");
	for (int64_t b = 1; row && b <= BLOCK_MAX && (b == 1 || b < t->axis[row_axis].extent); b *= 2)
		choice[n++] = b;
	int64_t slice = row ? rows_of_slice(p, result, row_axis, others) : 1, usual = n > 1 ? usual_block(r, result, row_axis, others) : 1;
	if (slice > 1) { /* a block of all that share statistics: these are then computed once */
		bool there = slice <= BLOCK_MAX && !(slice & (slice - 1)) && slice < t->axis[row_axis].extent;
		choice[n] = usual = slice;
		n += !there;
	}
	bool apart = rows_apart(r, result, row_axis, row, slice, others);
	bool many = !apart && n > 1 && sched_sample(r, "block", choice, n, usual) > 1;
	if (many && sched_try(r, PRIM_SPLIT, row, "block", "tail=peel"))
		row = loop_part(r, row, 0);
	else if (many)
		sched_settle(r, "block", 1 + (many = false));
	stage_id order[64];
	n = 0;
	for (stage_id s = (stage_id)p->stages.n - 1; s > 0 && n < 64; s--)
		if (is_here(p, s, others) && s != result)
			order[n++] = s;
	for (int i = 0; i < n; i++) {
		const char *loop = row ? loop_of_rows(r, order[i], result, row_axis, row, slice) : NULL;
		if (lstage(p, order[i])->comb != COMB_NONE)
			lanes_of(r, order[i], loop, many && loop == row ? MANY_ROWS : ONE_ROW);
		else if (loop && place_at(r, order[i], loop))
			mark_row(r, order[i]);
	}
	if (keeps_last && !apart)
		mark_row(r, result);
	return true;
}
