/* Template for contractions, convolutions and windows: a register tile of the result holds its sums while the reduction runs (Goto and
 * van de Geijn 2008; BLIS). Vectors lie along the result's contiguous axis, rows of the tile along an axis on which loaded vectors are
 * reused. Constants that vary along the vectors are laid out in panels as wide as the tile. */
#include <math.h>
#include <string.h>
#include "loop/instr.h"
#include "sched/tile.h"

static const char *const sums_in[] = {"registers", "memory"};

/* The elementwise stage that reads the anchor's result and has all its axes; 0: none. */
static stage_id follower(struct loop_prog *p, stage_id anchor)
{
	buf_id b = lstage(p, anchor)->out;
	stage_id found = 0;
	for (stage_id s = 1; s < p->stages.n; s++) {
		if (!stage_here(p, s) || !stage_reads(p, s, b))
			continue;
		if (found || lstage(p, s)->comb != COMB_NONE)
			return 0;
		found = s;
	}
	ex_id read[READS_MAX];
	for (int i = 0, n = found ? stage_all_reads(p, found, read) : 0; i < n; i++)
		for (int d = 0; lex(p, read[i])->buf == b && d < lex(p, read[i])->n; d++)
			if (lex(p, read[i])->index[d] != stage_axis(p, found, d))
				return 0;
	return found && lstage(p, found)->nspatial == lbuf(p, b)->rank ? found : 0;
}

/* Marks the loops of a nest that initializes, loads or stores the tile: rows and vectors unrolled. With sums in memory the nest covers a
 * whole panel: its rows stay a loop if they are too many. */
static void mark_tile(struct schedule *r, const struct tile *q, stage_id s, const char *infix)
{
	enum { COPIES_MAX = 1024 };
	struct loop_prog *p = r->p;
	const char *name = sym_str(lstage(p, s)->name), *v = NULL, *t = NULL;
	struct words order = {0};
	for (int a = 0; a < lstage(p, s)->nspatial; a++) {
		const char *loop = sched_name(r, "%s.%s%s", name, infix, sym_str(lstage(p, s)->axis[a].name));
		*(a == q->vec_axis ? &v : &t) = loop;
		if (a != q->vec_axis && a != q->row_axis)
			words_add(&order, loop);
	}
	if (q->row_axis >= 0) {
		t = sched_name(r, "%s.%s%s", name, infix, sym_str(lstage(p, s)->axis[q->row_axis].name));
		words_add(&order, t);
	}
	words_add(&order, v);
	if (lstage(p, s)->nspatial > 1)
		sched_list(r, NULL, PRIM_REORDER, &order);
	bool tile = !q->chunk || strncmp(name, "acc.", 4) == 0, few = q->sums_wait && s == q->result;
	if (q->row_axis >= 0 && !few && (tile || lstage(p, s)->axis[q->row_axis].extent * q->vectors <= COPIES_MAX))
		sched_try(r, PRIM_UNROLL, t);
	if (sched_try(r, PRIM_SPLIT, v, trace_number(r->lanes))) {
		if (q->dot && s == q->result && q->row_axis >= 0) /* scales of one vector at a time: the sums need the registers */
			sched_try(r, PRIM_REORDER, loop_part(r, v, 0), t, loop_part(r, v, 1));
		sched_try(r, PRIM_UNROLL, loop_part(r, v, 0));
		sched_try(r, PRIM_VECTOR, loop_part(r, v, 1));
	}
}

/* Do all reads depend on the axis? Then nothing is reused along it. */
static bool batch_axis(struct loop_prog *p, const struct tile *q, int axis)
{
	bool all = true;
	for (int i = 0; i < q->nread; i++)
		all &= read_uses(p, q->read[i], lstage(p, q->anchor)->axis[axis].var);
	return all;
}

/* Adds the loops around the tile but those of v, t and the leading axes: the batch axes, or all others. */
static void other_loops(struct schedule *r, const struct tile *q, bool batches, struct words *order)
{
	for (int a = 0; a < lstage(r->p, q->anchor)->nspatial; a++)
		if (a != q->vec_axis && a != q->row_axis && a >= q->outer && a != q->lines - 1 && batch_axis(r->p, q, a) == batches)
			words_add(order, axis_loop(r, q->anchor, a, ""));
}

/* Is there a read that does not depend on v? Then panels are reused. */
static bool reuses_panels(struct loop_prog *p, const struct tile *q)
{
	bool reuse = false;
	for (int i = 0; i < q->nread; i++)
		reuse |= !tile_moves(p, q, q->read[i], q->vec_axis);
	return reuse;
}

/* Orders the spatial loops: batches, then panels (or blocks of tiles) if they are reused. If all reads depend on v the loop over panels is
 * next to the tile, so that memory is read in order. home: the loop in which a tile is complete. */
static bool order_spatial(struct schedule *r, struct tile *q)
{
	struct loop_prog *p = r->p;
	bool reuse = reuses_panels(p, q), panels_inside = (!reuse && !q->transposed_by_panel) || q->rows_outside;
	struct words order = {.gap = !q->group_loop};
	if (q->lines)
		words_add(&order, axis_loop(r, q->anchor, q->lines - 1, ""));
	if (q->group_loop)
		words_add(&order, q->group_loop);
	other_loops(r, q, true, &order);
	if (q->block)
		words_add(&order, loop_part(r, q->tloop, 0));
	if (!panels_inside)
		words_add(&order, q->panel_loop);
	other_loops(r, q, false, &order);
	q->home = q->panel_loop;
	for (int a = 0; a < lstage(p, q->anchor)->nspatial && reuse && !panels_inside; a++)
		if (a != q->vec_axis && a != q->row_axis && a >= q->outer && a != q->lines - 1 && !batch_axis(p, q, a))
			q->home = axis_loop(r, q->anchor, a, "");
	if (q->tloop) {
		words_add(&order, q->tiles);
		if (!panels_inside)
			q->home = q->tiles;
	}
	if (panels_inside)
		words_add(&order, q->panel_loop);
	add_tile_loops(r, q, &order);
	return sched_list(r, NULL, PRIM_REORDER, &order);
}

/* A panel too large for the cache is processed in chunks of the first reduce axis; sums then lie in memory between chunks. */
static void choose_chunk(struct schedule *r, struct tile *q)
{
	enum { CHUNK_MIN = 32 };
	static const double chunk_over = 1.5; /* times its share that a panel is larger: else it stays whole */
	struct loop_prog *p = r->p;
	int first = lstage(p, q->anchor)->nspatial, n = 0;
	int64_t k0 = lstage(p, q->anchor)->axis[first].extent, choice[64], usual = k0; /* halved to nothing */
	double bytes = panel_bytes(p, q, q->vectors, r->lanes), room = chunk_over * panel_room(p);
	if (q->dot || !q->result || q->row_axis < 0 || k0 < 2 * CHUNK_MIN || q->rows_outside || q->block || q->channels_outside ||
	    q->overlap || q->lines)
		return;
	while (bytes > room && bytes * (double)usual / (double)k0 > room && usual > CHUNK_MIN)
		usual = (usual + 1) / 2;
	for (int64_t c = k0; n < 64 && (c > CHUNK_MIN || c == usual); c = (c + 1) / 2)
		choice[n++] = c;
	if (n < 2)
		return;
	q->chunk = sched_sample(r, "chunk", choice, n, usual);
	if (q->chunk == k0) {
		q->chunk = 0;
	} else if (!sched_try(r, PRIM_SPLIT, axis_loop(r, q->anchor, first, ""), "chunk", "tail=peel")) {
		sched_settle(r, "chunk", k0);
		q->chunk = 0;
	}
}

/* A compiler that sees what adds to the sums of a dot loads the vectors of a reduction that is unrolled whole before all tiles. Do they not
 * fit in registers? Then it keeps them in memory, and loads them for each row. */
static bool panel_spills(struct loop_prog *p, const struct tile *q, int64_t steps)
{
	return q->dot && !instr_row(q->dot)->opaque && (q->rows + steps) * q->vectors + q->held >= sched_machine(p)->vector_regs;
}

/* Multiply-adds in the text of a reduction that is unrolled whole, of rows and vectors that both vary: a rest of a tile has a nest for each
 * number of vectors, and of rows (loop_legalize). */
static int64_t pieces_text(const struct tile *q, int64_t steps)
{
	int64_t rows = 0;

	for (int64_t size = 1; size <= q->rows; size = size < SIZES_APART ? size + 1 : 2 * size)
		rows += size;
	return (rows + q->rows) * q->vectors * (q->vectors + 1) / 2 * steps;
}

/* Are rows and vectors of the tile along axes of many sizes? */
static bool is_open(struct loop_prog *p, const struct tile *q)
{
	return p->usual && q->row_axis >= 0 && axis_varies(p, q->anchor, q->row_axis) && axis_varies(p, q->anchor, q->vec_axis);
}

/* Fully unrolls small reductions, and some steps of the innermost loop of others. Borders are then known for each step. */
static void unroll_reduction(struct schedule *r, struct tile *q, const int *red, int nred)
{
	struct loop_prog *p = r->p;
	const struct stage *s = lstage(p, q->anchor);
	int64_t choice[6], inner = nred ? s->axis[red[nred - 1]].extent / (red[nred - 1] == s->nspatial ? q->group : 1) : 1, steps = 1;
	int n = 0, most = is_open(p, q) && pieces_text(q, reduce_steps(p, q)) > PIECES_TEXT_MAX ? 0 : UNROLL_MOST;
	int64_t all = (int64_t)fmin(reduce_steps(p, q), UNROLL_MOST + 1), unroll_all = q->row_axis < 0 ? most : UNROLL_MAX;
	bool always = most && all <= UNROLL_ALWAYS && !panel_spills(p, q, all);
	if (always)
		steps = all;
	if (q->chunk && red[nred - 1] == s->nspatial)
		inner = q->chunk;
	for (int k = 1; k <= 8; k *= 2)
		if (k == 1 || (k <= inner && k * q->rows * q->vectors <= most))
			choice[n++] = k;
	if (all > inner && inner > 8 / 2 && inner <= UNROLL_MAX && choice[n - 1] < inner && inner * q->rows * q->vectors <= most)
		choice[n++] = inner;
	if (all <= unroll_all && !q->chunk && all != choice[n - 1] && all * q->rows * q->vectors <= most)
		choice[n++] = all;
	if (!always && n > 1)
		steps = sched_sample(r, "unroll", choice, n, unroll_steps(p, q, inner, choice[n - 1] == all ? all : 0));
	for (int i = 0; i < nred && steps == all; i++)
		sched_try(r, PRIM_UNROLL, group_steps(r, q, red[i]));
	if (steps > 1 && steps < all && steps == inner)
		sched_try(r, PRIM_UNROLL, group_steps(r, q, red[nred - 1]));
	else if (steps > 1 && steps < all && q->inner)
		sched_try(r, PRIM_UNROLL, q->inner, "unroll");
	else if (steps > 1 && steps < all)
		sched_try(r, PRIM_UNROLL,
			  sched_name(r, "%s%s", group_steps(r, q, red[nred - 1]), q->chunk && red[nred - 1] == s->nspatial ? ".1" : ""),
			  "unroll");
}

/* Sums in a copy of the anchor's result in registers, which is stored when a tile is complete. */
static bool sums_in_copy(struct schedule *r, struct tile *q)
{
	const char *name = sym_str(lstage(r->p, q->anchor)->name);
	q->sums = buf_find(r->p, "acc") ? sched_name(r, "%s_acc", name) : "acc";
	if (q->chunk && sched_is_long(reduce_steps(r->p, q), true) && sched_make(r, q->sums, PRIM_PARTIAL, name, q->home, "register"))
		return true;
	return sched_make(r, q->sums, PRIM_CACHE, name, name, q->home, "register");
}

/* A function (exp, erf) in the epilogue needs registers for its constants, and unrolled over the tile it is much code. Instead, the sums
 * of a tile may be stored to the first-level cache and a loop go over them: one more store each, little beside a long reduction. */
static bool choose_sums(struct schedule *r, struct tile *q)
{
	enum { FUNCTION_STEPS = 256 }; /* beside which a store and a load of the sums are little */
	struct loop_prog *p = r->p;
	if (q->rows * q->vectors < 2 || !q->function)
		return false;
	return sched_word(r, "sums", sums_in, 2, reduce_steps(p, q) >= FUNCTION_STEPS) == 1;
}

/* Splits a long sum where the loops inside are a chain yet; a loop whose extent only a run gives is none, however short it usually is. */
static void sum_in_levels(struct schedule *r, struct tile *q, const int *red, int nred)
{
	const struct stage *s = lstage(r->p, q->anchor);
	struct long_sum sum = {.terms = 1, .all = (int64_t)reduce_steps(r->p, q), .products = has_reuse(r->p, q->anchor)};
	int i = nred - 1;

	for (; i > 0 && !sched_is_long((double)(sum.terms * s->axis[red[i]].extent), sum.products) &&
	       !sched_axis_varies(r->p, q->anchor, red[i]);
	     i--)
		sum.terms *= s->axis[red[i]].extent;
	bool part = q->chunk && red[i] == s->nspatial;
	sum.steps = part ? q->chunk : s->axis[red[i]].extent;
	const char *loop = part ? loop_part(r, group_steps(r, q, red[i]), 1) : group_steps(r, q, red[i]);
	const char *inner = sched_levels(r, sym_str(s->name), loop, sum, "register", &q->levels);
	q->inner = i == nred - 1 && inner != loop ? inner : NULL;
}

/* Places initialization and reduction at the tile, and keeps its sums in registers. */
static void order_reduction(struct schedule *r, struct tile *q)
{
	struct loop_prog *p = r->p;
	const char *name = sym_str(lstage(p, q->anchor)->name);
	int first = lstage(p, q->anchor)->nspatial, red[LOOP_AXES_MAX], nred = reduce_order(lstage(p, q->anchor), q->channels_outside, red);
	sched_try(r, PRIM_INIT, name, q->chunk ? q->panel_loop : q->home);
	struct words order = {0};
	if (q->chunk) {
		words_add(&order, axis_loop(r, q->anchor, first, ".0"));
		other_loops(r, q, false, &order);
		if (q->tloop)
			words_add(&order, q->tiles);
	}
	for (int i = 0; i < nred; i++)
		words_add(&order, q->chunk && red[i] == first ? loop_part(r, group_steps(r, q, first), 1) : group_steps(r, q, red[i]));
	add_tile_loops(r, q, &order);
	if (q->dot)
		words_add(&order, axis_loop(r, q->anchor, first, ".1"));
	sched_list(r, NULL, PRIM_REORDER, &order);
	const char *done = q->chunk ? q->panel_loop : q->home;
	q->sums_wait = q->result && !q->chunk && choose_sums(r, q) && sums_in_copy(r, q);
	q->after = q->result && sched_try(r, PRIM_AFTER, sym_str(lstage(p, q->result)->name), done);
	if (!q->sums_wait && (q->chunk || !q->after)) /* the sum is stored, and the rest of the program reads it there */
		sums_in_copy(r, q);
	else if (!q->sums_wait)
		sched_try(r, PRIM_SCOPE, name, "register");
	lay_out_pairs(r, q);
	if (!q->dot && nred)
		sum_in_levels(r, q, red, nred);
	unroll_reduction(r, q, red, nred);
}

/* Choices of loop order. */
static void choose_order(struct schedule *r, struct tile *q)
{
	static const char *const order[] = {"panels", "rows"}, *const window[] = {"outside", "inside"};
	struct loop_prog *p = r->p;
	const struct stage *s = lstage(p, q->anchor);
	int64_t tiles = (q->row_steps + q->rows - 1) / q->rows, choice[8] = {0};
	int64_t panels = (s->axis[q->vec_axis].extent + q->vectors * r->lanes - 1) / (q->vectors * r->lanes);
	int n = 1;
	if (s->naxes - s->nspatial > 1 && s->axis[s->nspatial].extent > 1)
		q->channels_outside = sched_word(r, "window", window, 2, taps_innermost(p, q)) == 1;
	if (!reuses_panels(p, q) || panels < 2)
		return;
	if (tiles > 1)
		q->rows_outside = sched_word(r, "order", order, 2, rows_first(p, q)) == 1;
	for (int64_t b = 2; b < tiles && n < 6; b *= 2)
		choice[n++] = b;
	if (n > 1 && !q->rows_outside && !q->borders && !q->outer && !q->lines)
		q->block = sched_sample(r, q->block_sample = "block", choice, n, 0);
}

/* Blocks of rows of which the second-level cache holds its share; they are about equally large. */
static void choose_blocks(struct schedule *r, struct tile *q)
{
	int64_t tiles = (q->row_steps + q->rows - 1) / q->rows, choice[SAMPLE_CHOICES_MAX];
	double room = PANEL_SHARE * (double)sched_machine(r->p)->l2 / (r->blocks->bytes * q->rows);
	int64_t most = room < 1 ? 1 : room < (double)tiles ? (int64_t)room : tiles, blocks = (tiles + most - 1) / most;
	int64_t usual = (tiles + blocks - 1) / blocks;
	int n = 0;

	for (int64_t b = 1; b < tiles && n < SAMPLE_CHOICES_MAX - 2; b *= 2) {
		if (b > usual && n && choice[n - 1] < usual)
			choice[n++] = usual;
		choice[n++] = b;
	}
	if (usual < tiles && choice[n - 1] < usual)
		choice[n++] = usual;
	choice[n++] = tiles;
	q->block_sample = "row_block";
	q->block = sched_sample(r, q->block_sample, choice, n, usual);
}

/* Splits the row axis into tiles, and chooses its tail. */
static bool split_rows(struct schedule *r, struct tile *q)
{
	static const char *const tail[] = {"balance", "peel", "overlap"};
	int usual = q->borders, n = q->borders ? 2 : 3;
	int64_t steps;

	if (q->block && sched_try(r, PRIM_SPLIT, q->tloop, q->block_sample, "rows", "tail=peel")) {
		q->tiles = loop_part(r, q->tloop, 1);
		q->trow = loop_part(r, q->tloop, 2);
		return true;
	}
	if (q->block && r->blocks)
		sched_drop(r, q->block_sample);
	else if (q->block)
		sched_settle(r, q->block_sample, 0);
	q->block = 0;
	q->tiles = loop_part(r, q->tloop, 0);
	q->trow = loop_part(r, q->tloop, 1);
	/* the last block has fewer; tiles of pairs begin at even rows */
	if (q->pair > 1 || (r->outside && !poly_is_const(r->p->P, lnest(r->p, loop_find(r->p, q->tloop))->extent, &steps)))
		return sched_try(r, PRIM_SPLIT, q->tloop, "rows", "tail=peel");
	if (q->row_steps % q->rows == 0)
		return sched_try(r, PRIM_SPLIT, q->tloop, "rows", sched_name(r, "tail=%s", tail[usual]));
	q->overlap = sched_word(r, "tail", tail, n, usual) == 2;
	if (sched_try(r, PRIM_SPLIT, q->tloop, "rows", "tail=tail"))
		return true;
	sched_settle(r, "tail", usual);
	q->overlap = false;
	return sched_try(r, PRIM_SPLIT, q->tloop, "rows", "tail=tail");
}

/* Cuts loops at each phase and each step that some phases have, so that others do not run them. */
static void cut_phases(struct schedule *r, const struct tile *q)
{
	const struct stage *s = lstage(r->p, q->anchor);

	for (int a = 0; a < s->naxes; a++) {
		struct words points = {0};
		words_add(&points, axis_loop(r, q->anchor, a, ""));
		for (int64_t k = 1; k < s->axis[a].extent && q->phases >> a & 1; k++)
			words_add(&points, trace_number(k));
		if (points.n > 1)
			sched_list(r, NULL, PRIM_PARTITION, &points);
	}
}

/* Partitions loops at borders, so that the middle piece has no fills; or leaves guards. */
static void cut_borders(struct schedule *r, struct tile *q)
{
	static const char *const border[] = {"partition", "guards"};
	if (!q->borders || sched_word(r, "border", border, 2, r->p->usual) == 1)
		return;
	for (int a = 0; a < lstage(r->p, q->anchor)->nspatial; a++)
		if (a != q->vec_axis)
			sched_try(r, PRIM_PARTITION, a == q->row_axis ? q->tiles : axis_loop(r, q->anchor, a, ""), "auto");
}

/* Where masked stores are slow, the last panel is a nest of its own, if it is no whole one: the others store whole vectors. */
static void cut_last_panel(struct schedule *r, const struct tile *q)
{
	int64_t width = q->vectors * r->lanes;

	if (cuts_last(r, q, width))
		sched_try(r, PRIM_PARTITION, q->panel_loop, trace_number(q->columns / width));
}

/* Sums of all columns in the first-level cache (columns.c), rather than of some columns in registers? */
static bool choose_columns(struct schedule *r, const struct tile *q)
{
	return may_sum_in_memory(r, q) && sched_word(r, "sums", sums_in, 2, sum_in_memory(r, q)) == 1;
}

/* Gives the sums the vector axis as their contiguous one. */
static void lay_out_sums(struct schedule *r, const struct tile *q)
{
	const struct stage *s = lstage(r->p, q->anchor);

	if (q->vec_axis != s->nspatial - 1)
		sched_axis_last(r, sym_str(lbuf(r->p, s->out)->name), q->anchor, q->vec_axis);
}

/* Splits vector and row axis, and notes the names of the loops. */
static bool split_axes(struct schedule *r, struct tile *q)
{
	q->vloop = axis_loop(r, q->anchor, q->vec_axis, "");
	q->tloop = q->row_axis >= 0 ? axis_loop(r, q->anchor, q->row_axis, "") : NULL;
	if (q->groups > 1) {
		if (!sched_try(r, PRIM_SPLIT, q->tloop, trace_number(q->row_steps)))
			return false;
		q->group_loop = loop_part(r, q->tloop, 0);
		q->tloop = loop_part(r, q->tloop, 1);
	}
	q->panel_loop = loop_part(r, q->vloop, 0);
	return split_lanes(r, q) && (!q->tloop || (split_rows(r, q) && split_pairs(r, q)));
}

/* Marks the tile's loops, and those of the nests that initialize, load or store it. */
static void mark_loops(struct schedule *r, const struct tile *q)
{
	struct loop_prog *p = r->p;
	const char *sums = q->sums ? q->sums : "";

	sched_try(r, PRIM_UNROLL, loop_part(r, q->vloop, 1));
	if (q->pair > 1)
		sched_try(r, PRIM_UNROLL, loop_part(r, q->vloop, 2));
	if (!q->dot || !sched_try(r, PRIM_TENSOR, call_loop(r, q), instr_row(q->dot)->name))
		sched_try(r, PRIM_VECTOR, loop_part(r, q->vloop, 2));
	if (q->tloop)
		sched_try(r, PRIM_UNROLL, q->trow);
	mark_tile(r, q, q->anchor, "init.");
	stage_id load = stage_find(p, sched_name(r, "%s.load", sums)), store = stage_find(p, sched_name(r, "%s.store", sums));
	if (load)
		mark_tile(r, q, load, "");
	if (store)
		mark_tile(r, q, store, "");
	for (int i = 0; i < q->levels.n; i++) {
		mark_tile(r, q, stage_find(p, sched_name(r, "%s.load", q->levels.word[i])), "");
		mark_tile(r, q, stage_find(p, sched_name(r, "%s.store", q->levels.word[i])), "");
	}
	if (q->after)
		mark_tile(r, q, q->result, "");
	if (q->packed)
		mark_packing(r, q);
	if (q->paired)
		mark_pairs(r, q);
}

/* Finds what the choices start from. false: the anchor has no tile. */
static bool begin_tile(struct schedule *r, struct tile *q)
{
	struct loop_prog *p = r->p;

	q->result = follower(p, q->anchor);
	q->nread = stage_all_reads(p, q->anchor, q->read);
	q->transposed = q->transposed_by_panel = r->along >= 0 && q->result;
	q->vec_axis = q->transposed_by_panel ? r->along : contiguous_axis(p, q->result ? q->result : q->anchor);
	if (q->vec_axis < 0)
		return false;
	if (lbuf(p, lstage(p, q->anchor)->out)->dtype != DT_F32 && !stage_in_lanes(p, q->anchor))
		return false;
	q->columns = lstage(p, q->anchor)->axis[q->vec_axis].extent;
	q->phases = phase_axes(p, q->anchor);
	q->borders = !q->phases && has_guard(p, lstage(p, q->anchor)->body);
	q->function = calls_function(p, q);
	q->outer = r->leading;
	q->lines = r->lines;
	return true;
}

/* Lays copies out so that vectors of them are loaded whole, and what stands still along vectors lies in the order in which it is summed. */
static void lay_out_vectors(struct schedule *r, const struct tile *q)
{
	struct loop_prog *p = r->p;
	const struct stage s = *lstage(p, q->anchor);

	for (int i = 0; i < q->nread && !s.scan; i++)
		if (tile_moves(p, q, q->read[i], q->vec_axis))
			sched_copy_along(r, q->read[i], s.axis[q->vec_axis].var);
		else if (is_window(p, q) && s.axis[s.nspatial].extent >= r->lanes && !p->usual)
			sched_copy_along(r, q->read[i], s.axis[s.nspatial].var);
}

bool template_tile(struct schedule *r, stage_id anchor)
{
	struct tile q = {.anchor = anchor, .group = 1, .pair = 1};

	if (!begin_tile(r, &q))
		return false;
	choose_row_axis(r, &q);
	find_dot(r, &q);
	if (!q.dot)
		lay_out_vectors(r, &q);
	if (!r->blocks && choose_columns(r, &q))
		return template_columns(r, &q);
	choose_tile(r, &q);
	q.width = sched_name(r, "vectors*%d", r->lanes);
	if (r->blocks)
		choose_blocks(r, &q);
	else
		choose_order(r, &q);
	turn_rows(r, &q);
	pack_pairs(r, &q);
	make_panels(r, &q);
	check_groups(r->p, &q);
	lay_out_sums(r, &q);
	if (!split_axes(r, &q) || !order_spatial(r, &q))
		return false;
	pack_rows(r, &q);
	choose_chunk(r, &q);
	split_groups(r, &q);
	order_reduction(r, &q);
	if (q.widened)
		widen_panel(r, &q, q.chunk ? axis_loop(r, q.anchor, lstage(r->p, q.anchor)->nspatial, ".0") : q.panel_loop);
	if (q.transposed_by_panel)
		sched_transpose_panels(r, anchor, q.result, q.panel_loop);
	cut_borders(r, &q);
	cut_phases(r, &q);
	cut_last_panel(r, &q);
	mark_loops(r, &q);
	return true;
}
