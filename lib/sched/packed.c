/* Template for a few rows times a matrix in blocks that have a factor each (weights of few bits): the sums of a panel of columns, and
 * those of one block of it, stay in registers; the matrix is read in order, once for all rows that registers hold. */
#include "sched/schedule.h"
#include "sched/template.h"
#include "loop/instr.h"
#include "loop/math.h"

enum { PANEL = 4 }; /* vectors of columns side by side, at most */

/* A panel that is filled up would be widened element by element. */
bool schedule_tiles(struct loop_prog *p, int64_t rows, int64_t columns, int64_t products)
{
	int row = instr_tile(p->target ? p->target : target_host(), products);

	return row && rows >= instr_row(row)->extent[0] && sched_lanes(p) == instr_row(row)->extent[1] &&
	       columns % (PANEL * instr_row(row)->extent[1]) == 0;
}

struct blocks {
	stage_id block, sum, result; /* sums of a block; of what is made of them; elementwise, of that: 0: none can follow */
	int vectors;
	int dot;        /* row of the instruction that sums a block in integers; 0: floats */
	int64_t digits; /* sums of a block for each column of a row */
	bool many;      /* the first axis of the sum is rows */
	int64_t rows;   /* at a time */
	int tile;       /* row of the instruction that makes a tile of sums of a block; 0: none */
	stage_id codes; /* the stage that makes what tiles multiply the rows with */
};

/* Does s sum what another sum gave, over the axis that this one has in front of its columns? That one is found. */
static stage_id sum_of_blocks(struct loop_prog *p, stage_id s)
{
	const struct stage *t = lstage(p, s);
	ex_id read[READS_MAX];

	if (!stage_here(p, s) || t->comb != COMB_SUM || t->nspatial < 1 || t->nspatial > 2 || t->naxes != t->nspatial + 1 || t->scan)
		return 0;
	for (int n = stage_all_reads(p, s, read), i = 0; i < n; i++) {
		const struct ex *x = lex(p, read[i]);
		stage_id b = writer_here(p, x->buf);
		const struct stage *u = b ? lstage(p, b) : NULL;
		bool many = t->nspatial == 2;
		bool floats = u && dtype_is_float(lbuf(p, u->out)->dtype);
		if (u && u->comb == COMB_SUM && (floats ? !many && u->nspatial == 2 : u->nspatial == 2 + many || u->nspatial == 3 + many) &&
		    u->naxes == u->nspatial + 1 && !u->scan && x->index[0] == stage_axis(p, s, t->nspatial) &&
		    x->index[x->n - 1] == stage_axis(p, s, t->nspatial - 1) && (!many || x->index[1] == stage_axis(p, s, 0)))
			return b;
	}
	return 0;
}

static bool is_nibble(struct loop_prog *p, ex_id e, void *arg) { return lex(p, e)->kind == EX_CALL && lex(p, e)->fn == FN_NIBBLE; }

/* The instruction that sums digits times codes. */
static int dot_of(struct loop_prog *p, stage_id s)
{
	const struct target *t = p->target ? p->target : target_host();

	return ex_find(p, lstage(p, s)->body, is_nibble, NULL) ? instr_nibbles(t) : instr_dot(t, DT_I8, DT_U8, false);
}

bool tile_needs(struct loop_prog *p, stage_id s, stage_id reader)
{
	const struct stage *b = lstage(p, reader);

	return lbuf(p, lstage(p, s)->out)->dtype == DT_I8 && lstage(p, s)->nspatial == 2 && b->comb == COMB_SUM && b->nspatial == 4 &&
	       b->naxes == 5 && ex_find(p, lstage(p, s)->body, is_nibble, NULL) &&
	       instr_tile(p->target ? p->target : target_host(), b->axis[b->nspatial].extent);
}

/* Does another stage make what rows are multiplied with, in bytes with a sign? */
static void find_tile(struct loop_prog *p, struct blocks *q)
{
	const struct stage *b = lstage(p, q->block);
	ex_id read[READS_MAX];
	stage_id s = 0;

	for (int n = stage_all_reads(p, q->block, read), i = 0; i < n; i++)
		if (read_uses(p, read[i], b->axis[b->nspatial - 1].var))
			s = writer_here(p, lex(p, read[i])->buf);
	if (!q->many || !s || lbuf(p, lstage(p, s)->out)->dtype != DT_I8 || lstage(p, s)->nspatial != 2)
		return;
	q->tile = instr_tile(p->target ? p->target : target_host(), b->axis[b->nspatial].extent);
	q->codes = q->tile ? s : 0;
}

static bool find_blocks(struct loop_prog *p, struct blocks *q)
{
	for (stage_id s = 1; s < p->stages.n && !q->sum; s++)
		if ((q->block = sum_of_blocks(p, s)))
			q->sum = s;
	const struct stage *b = lstage(p, q->block), *sum = lstage(p, q->sum);
	if (!q->sum)
		return false;
	q->many = sum->nspatial == 2;
	find_tile(p, q);
	if (!q->tile && !dtype_is_float(lbuf(p, b->out)->dtype) && !(q->dot = dot_of(p, q->block)))
		return false;
	q->digits = b->nspatial == 3 + q->many ? b->axis[b->nspatial - 2].extent : 1; /* one digit has no axis */
	if (sched_sole_reader(p, q->block) != q->sum || !stage_in_lanes(p, q->block) || !stage_in_lanes(p, q->sum))
		return false;
	stage_id r = is_result(p, lstage(p, q->sum)->out) ? 0 : sched_sole_reader(p, q->sum);
	bool same = r && lstage(p, r)->comb == COMB_NONE && lstage(p, r)->nspatial == sum->nspatial;
	for (int a = 0; same && a < sum->nspatial; a++)
		same = lstage(p, r)->axis[a].extent == sum->axis[a].extent;
	if (same)
		q->result = r;
	return true;
}

/* The dim of the read that is the column v alone, where it is constant; -1: there is none. */
static int panel_dim(struct loop_prog *p, ex_id read, poly_var v)
{
	const struct ex *x = lex(p, read);
	int dim = -1;

	for (int d = 0; d < x->n; d++)
		if (poly_uses(p->P, x->index[d], v))
			dim = dim == -1 && x->index[d] == poly_of(p->P, v) ? d : -2;
	return lbuf(p, x->buf)->scope == SCOPE_CONST ? dim : -1;
}

/* Lays constants of stage s that vary along its columns (axis a) out in panels, groups of so many of what is summed side by side.
 * false: something else varies along them, too. */
static bool lay_out(struct schedule *r, stage_id s, int a, stage_id but, int group)
{
	struct loop_prog *p = r->p;
	ex_id read[READS_MAX];
	bool all = true;

	for (int n = stage_all_reads(p, s, read), i = 0; i < n; i++) {
		const struct ex x = *lex(p, read[i]);
		int dim = panel_dim(p, read[i], lstage(p, s)->axis[a].var);
		bool again = false;
		for (int j = 0; j < i; j++)
			again |= lex(p, read[j])->buf == x.buf;
		if (again || !read_uses(p, read[i], lstage(p, s)->axis[a].var) || (but && x.buf == lstage(p, but)->out))
			continue;
		struct words order = {0};
		words_add(&order, sym_str(lbuf(p, x.buf)->name));
		words_add(&order, sched_name(r, "%d/vectors*%d", dim, r->lanes));
		for (int d = 0; d < x.n; d++)
			if (d != dim)
				words_add(&order, group > 1 ? sched_name(r, "%d/%d", d, group) : trace_number(d));
		words_add(&order, sched_name(r, "%d%%vectors*%d", dim, r->lanes));
		for (int d = 0; group > 1 && d < x.n; d++)
			if (d != dim)
				words_add(&order, sched_name(r, "%d%%%d", d, group));
		all &= dim >= 0 && sched_list(r, NULL, PRIM_LAYOUT, &order);
	}
	return all;
}

/* What is multiplied with the codes of one block lies side by side: rows a power of two apart would share a set of the cache. */
static void lay_out_rows(struct schedule *r, const struct blocks *q)
{
	struct loop_prog *p = r->p;
	const struct stage *s = lstage(p, q->block);
	ex_id read[READS_MAX];

	for (int n = stage_all_reads(p, q->block, read), i = 0; i < n; i++) {
		const struct ex x = *lex(p, read[i]);
		struct words order = {0};
		int at = -1;
		for (int d = 0; d < x.n; d++)
			at = x.index[d] == poly_of(p->P, s->axis[0].var) ? d : at;
		if (at < 0 || lbuf(p, x.buf)->scope != SCOPE_SCRATCH || lbuf(p, x.buf)->layout.n)
			continue;
		words_add(&order, sym_str(lbuf(p, x.buf)->name));
		words_add(&order, trace_number(at));
		for (int d = 0; d < x.n; d++)
			if (d != at)
				words_add(&order, trace_number(d));
		sched_list(r, NULL, PRIM_LAYOUT, &order);
	}
}

/* The vectors of a nest that covers a panel, and its axes from `first` on around them: rows, digits. part: "" or "init.". */
static void mark(struct schedule *r, stage_id s, const char *part, int first, int axis)
{
	const char *name = sym_str(lstage(r->p, s)->name);
	const char *v = sched_name(r, "%s.%s%s", name, part, sym_str(lstage(r->p, s)->axis[axis].name));

	if (sched_try(r, PRIM_SPLIT, v, trace_number(r->lanes))) {
		sched_try(r, PRIM_UNROLL, loop_part(r, v, 0));
		sched_try(r, PRIM_VECTOR, loop_part(r, v, 1));
	}
	for (int a = first; a < axis; a++)
		sched_try(r, PRIM_UNROLL, sched_name(r, "%s.%s%s", name, part, sym_str(lstage(r->p, s)->axis[a].name)));
}

/* The loop k along a block, which has so many steps. */
static void unroll_block(struct schedule *r, const char *k, int64_t steps)
{
	int64_t choice[5];
	int n = 0;

	for (int64_t u = 1; u <= 16 && u <= steps; u *= 2)
		choice[n++] = u;
	int64_t unroll = sched_sample(r, "unroll", choice, n, choice[n < 4 ? n - 1 : 3]);
	if (unroll > 1 && unroll < steps)
		sched_try(r, PRIM_UNROLL, k, "unroll");
	else if (unroll > 1)
		sched_try(r, PRIM_UNROLL, k);
}

/* The sums of one block for each row and digit, by the instruction. */
static void place_digits(struct schedule *r, const struct blocks *q)
{
	int n = lstage(r->p, q->block)->nspatial;
	const char *k = axis_loop(r, q->block, n, ""), *v = axis_loop(r, q->block, n - 1, "");
	int64_t group = instr_row(q->dot)->extent[1], steps = lstage(r->p, q->block)->axis[n].extent / group;
	struct words order = {0};

	mark(r, q->block, "init.", 1, n - 1);
	sched_try(r, PRIM_SPLIT, k, trace_number(group));
	sched_try(r, PRIM_SPLIT, v, trace_number(r->lanes));
	words_add(&order, loop_part(r, k, 0));
	for (int a = 1; a < n - 1; a++)
		words_add(&order, axis_loop(r, q->block, a, ""));
	words_add(&order, loop_part(r, v, 0));
	words_add(&order, loop_part(r, v, 1));
	words_add(&order, loop_part(r, k, 1));
	sched_list(r, NULL, PRIM_REORDER, &order);
	for (int a = 1; a < n - 1; a++)
		sched_try(r, PRIM_UNROLL, axis_loop(r, q->block, a, ""));
	sched_try(r, PRIM_UNROLL, loop_part(r, v, 0));
	sched_try(r, PRIM_TENSOR, loop_part(r, v, 1), instr_row(q->dot)->name);
	unroll_block(r, loop_part(r, k, 0), steps);
}

/* Panels of codes that tiles multiply the rows with, one at a time, in the groups that the instruction takes; codes are read in the order of memory. */
static void place_codes(struct schedule *r, const struct blocks *q, const char *where)
{
	struct loop_prog *p = r->p;
	const char *name = sym_str(lstage(p, q->codes)->name), *k = axis_loop(r, q->codes, 0, ""), *v = axis_loop(r, q->codes, 1, "");
	const struct instr *row = instr_row(q->tile), *widen = instr_row(instr_widen(p->target ? p->target : target_host()));
	int64_t group = row->extent[3], half = row->extent[2] * group / 2;

	if (!sched_try(r, PRIM_AT, name, where))
		return;
	sched_try(r, PRIM_LAYOUT, name, sched_name(r, "1/%d", r->lanes), sched_name(r, "0/%ld", (long)group),
		  sched_name(r, "1%%%d", r->lanes), sched_name(r, "0%%%ld", (long)group));
	sched_try(r, PRIM_SPLIT, k, trace_number(half));
	sched_try(r, PRIM_SPLIT, loop_part(r, k, 0), "2");
	sched_try(r, PRIM_SPLIT, loop_part(r, k, 1), trace_number(group));
	sched_try(r, PRIM_SPLIT, v, trace_number(r->lanes));
	const char *b = loop_part(r, loop_part(r, k, 0), 0), *high = loop_part(r, loop_part(r, k, 0), 1);
	const char *groups = loop_part(r, loop_part(r, k, 1), 0), *in_group = loop_part(r, loop_part(r, k, 1), 1);
	sched_try(r, PRIM_REORDER, b, groups, loop_part(r, v, 0), high, loop_part(r, v, 1), in_group);
	sched_try(r, PRIM_UNROLL, high);
	if (widen)
		sched_try(r, PRIM_TENSOR, loop_part(r, v, 1), widen->name);
}

/* A tile of sums of one block, where they are used, and its codes by panels. Blocks so many at a time as can be under way. */
static void place_tile(struct schedule *r, const struct blocks *q, const char *where, const char *panels)
{
	struct loop_prog *p = r->p;
	const char *name = sym_str(lstage(p, q->block)->name);
	int n = lstage(p, q->block)->nspatial;
	const char *k = axis_loop(r, q->block, n, ""), *m = axis_loop(r, q->block, 1, "");

	if (!sched_try(r, PRIM_AT, name, where))
		return;
	sched_try(r, PRIM_INIT, name, where);
	place_codes(r, q, panels);
	sched_try(r, PRIM_SPLIT, k, trace_number(instr_row(q->tile)->extent[3]));
	sched_try(r, PRIM_REORDER, m, axis_loop(r, q->block, n - 1, ""), loop_part(r, k, 0), loop_part(r, k, 1));
	sched_try(r, PRIM_TENSOR, m, instr_row(q->tile)->name);
	if (instr_row(q->tile)->many > 1)
		sched_try(r, PRIM_UNROLL, where, trace_number(instr_row(q->tile)->many));
}

/* The sums of one block, where they are used. */
static void place_block(struct schedule *r, const struct blocks *q, const char *where)
{
	struct loop_prog *p = r->p;
	const char *name = sym_str(lstage(p, q->block)->name);

	if (!sched_try(r, PRIM_AT, name, where))
		return;
	sched_try(r, PRIM_SCOPE, name, "register");
	sched_try(r, PRIM_INIT, name, where);
	if (q->dot) {
		place_digits(r, q);
		return;
	}
	const char *k = axis_loop(r, q->block, 2, "");
	sched_try(r, PRIM_REORDER, k, axis_loop(r, q->block, 1, ""));
	mark(r, q->block, "init.", 1, 1);
	mark(r, q->block, "", 1, 1);
	unroll_block(r, k, lstage(p, q->block)->axis[2].extent);
}

/* Columns of whole panels of so many. */
static int64_t in_panels(int64_t columns, int64_t width) { return (columns + width - 1) / width * width; }

/* Rows at a time: registers hold their sums, those of a block and of all. The last tile begins earlier if it is not full, and each
 * takes codes apart, in about the time of half a row. */
static void choose_rows(struct schedule *r, struct blocks *q)
{
	enum { MOST = 8 };
	int64_t all = q->many ? lstage(r->p, q->sum)->axis[0].extent : 1, choice[MOST], usual = 1, least = 0;
	int64_t hold = sched_machine(r->p)->vector_regs * 3 / 4 / (q->digits + 1);
	int n = 0;

	for (int64_t rows = 1; rows <= MOST && rows <= all; rows++) {
		int64_t cost = (all + rows - 1) / rows * (2 * rows + 1);
		choice[n++] = rows;
		if (!least || (rows <= hold && cost <= least)) {
			least = cost;
			usual = rows;
		}
	}
	if (q->tile)
		choice[0] = usual = instr_row(q->tile)->extent[0];
	q->rows = q->many ? sched_sample(r, "rows", choice, q->tile ? 1 : n, usual) : 1;
}

/* Vectors of columns: as many as hide the latency of the sums, where panels of them are not filled up by much. */
static void choose_vectors(struct schedule *r, struct blocks *q)
{
	const struct stage *s = lstage(r->p, q->sum);
	int64_t columns = s->axis[s->nspatial - 1].extent, sums = q->rows * (q->digits + 1), choice[4];
	int n = 0, usual = 0;

	for (int64_t v = 1; v <= 8 && (v == 1 || v * r->lanes <= columns); v *= 2)
		choice[n++] = v;
	for (int i = 0; i < n && choice[i] <= PANEL && (q->tile || !q->dot || 2 * choice[i] * sums <= sched_machine(r->p)->vector_regs);
	     i++)
		if (8 * in_panels(columns, choice[i] * r->lanes) <= 9 * in_panels(columns, r->lanes))
			usual = i;
	q->vectors = (int)sched_sample(r, "vectors", choice, n, choice[usual]);
}

/* The same of tiles: all of a panel for each tile of rows. */
static const char *split_tiles(struct schedule *r, const struct blocks *q, const char *m, const char *v, const char *over)
{
	const char *home = loop_part(r, v, 1);

	sched_try(r, PRIM_REORDER, loop_part(r, v, 0), loop_part(r, m, 0), home, loop_part(r, m, 1), loop_part(r, v, 2));
	sched_try(r, PRIM_INIT, sym_str(lstage(r->p, q->sum)->name), home);
	sched_try(r, PRIM_REORDER, over, loop_part(r, m, 1), loop_part(r, v, 2));
	sched_try(r, PRIM_UNROLL, loop_part(r, m, 1));
	return home;
}

/* Loops around the sum of a block: panels, then tiles of rows. The innermost. */
static const char *split_sum(struct schedule *r, const struct blocks *q, bool pad, const char *over)
{
	int n = lstage(r->p, q->sum)->nspatial;
	const char *name = sym_str(lstage(r->p, q->sum)->name), *v = axis_loop(r, q->sum, n - 1, ""), *home = loop_part(r, v, 0);

	sched_try(r, PRIM_SPLIT, v, "vectors", trace_number(r->lanes), sched_name(r, "tail=%s", pad ? "pad" : "peel"));
	if (q->many) {
		const char *m = axis_loop(r, q->sum, 0, "");
		sched_try(r, PRIM_SPLIT, m, "rows", "tail=overlap");
		if (q->tile)
			return split_tiles(r, q, m, v, over);
		sched_try(r, PRIM_REORDER, home, loop_part(r, m, 0), loop_part(r, m, 1), loop_part(r, v, 1), loop_part(r, v, 2));
		home = loop_part(r, m, 0);
		sched_try(r, PRIM_INIT, name, home);
		sched_try(r, PRIM_REORDER, over, loop_part(r, m, 1), loop_part(r, v, 1), loop_part(r, v, 2));
		sched_try(r, PRIM_UNROLL, loop_part(r, m, 1));
		return home;
	}
	sched_try(r, PRIM_INIT, name, home);
	sched_try(r, PRIM_REORDER, over, loop_part(r, v, 1), loop_part(r, v, 2));
	return home;
}

bool template_packed(struct schedule *r)
{
	struct loop_prog *p = r->p;
	struct blocks q = {0};

	if (!find_blocks(p, &q) || lstage(p, q.sum)->axis[q.many].extent < r->lanes)
		return false;
	const char *name = sym_str(lstage(p, q.sum)->name), *v = axis_loop(r, q.sum, q.many, "");
	choose_rows(r, &q);
	choose_vectors(r, &q);
	bool pad = q.tile ? lay_out(r, q.codes, 1, 0, (int)instr_row(q.tile)->extent[3])
			  : lay_out(r, q.block, lstage(p, q.block)->nspatial - 1, 0, q.dot ? (int)instr_row(q.dot)->extent[1] : 1);
	pad &= lay_out(r, q.sum, q.many, q.block, 1);
	if (q.many)
		lay_out_rows(r, &q);
	const char *over = axis_loop(r, q.sum, 1 + q.many, ""), *home = split_sum(r, &q, pad, over);
	if (q.tile)
		place_tile(r, &q, over, loop_part(r, v, 0));
	else
		place_block(r, &q, over);
	bool after = q.result && sched_try(r, PRIM_AFTER, sym_str(lstage(p, q.result)->name), home);
	const char *sums = NULL, *acc = sched_fresh(r, "acc");
	if (after)
		sched_try(r, PRIM_SCOPE, name, "register");
	else if (sched_make(r, acc, PRIM_CACHE, name, name, home, "register"))
		sums = sched_name(r, "%s.store", acc);
	if (!q.tile)
		sched_try(r, PRIM_UNROLL, loop_part(r, v, 1));
	sched_try(r, PRIM_VECTOR, loop_part(r, v, 2));
	mark(r, q.sum, "init.", 0, q.many);
	if (after)
		mark(r, q.result, "", 0, q.many);
	if (sums && stage_find(p, sums))
		mark(r, stage_find(p, sums), "", 0, q.many);
	for (stage_id s = 1, n = (stage_id)p->stages.n; s < n; s++)
		if (stage_here(p, s) && (lstage(p, s)->comb == COMB_SUM || lstage(p, s)->comb == COMB_MAX) && stage_whole(p, s))
			template_row_sum(r, s);
	return true;
}
