/* Template for one row times a matrix in blocks that have a factor each (weights of few bits): the sums of a panel of columns, and those
 * of one block of it, stay in registers; the matrix is read once, in order. */
#include "sched/fitted.h"
#include "sched/schedule.h"
#include "sched/template.h"
#include "loop/instr.h"

/* Where codes are read they are widened for each row, in a panel once for all rows, at build time never again. From how many rows a way pays
 * depends on how fast a machine multiplies and how fast it reads memory. These two were timed on one; no rate says them yet. */
enum widening schedule_widens(int64_t rows)
{
	enum { ROWS_WHERE_READ = 8, ROWS_IN_PANELS = 64 };

	return rows <= ROWS_WHERE_READ ? WIDEN_WHERE_READ : rows <= ROWS_IN_PANELS ? WIDEN_PANEL : WIDEN_AT_BUILD;
}

/* Digits are made once a row, in about the time that they save in so many columns: both are vector operations on what is in registers. */
bool schedule_digits_pay(int64_t columns)
{
	enum { COLUMNS = 64 };

	return columns > COLUMNS;
}

struct blocks {
	stage_id block, sum, result; /* sums of a block; of what is made of them; elementwise, of that: 0: none can follow */
	int vectors;
	int dot;        /* row of the instruction that sums a block in integers; 0: floats */
	int64_t digits; /* sums of a block for each column */
};

/* Does s sum what another sum gave, over the axis that this one has in front of its columns? That one is found. */
static stage_id sum_of_blocks(struct loop_prog *p, stage_id s)
{
	const struct stage *t = lstage(p, s);
	ex_id read[READS_MAX];

	if (t->gone || t->comb != COMB_SUM || t->nspatial != 1 || t->naxes != 2 || t->scan)
		return 0;
	for (int n = stage_all_reads(p, s, read), i = 0; i < n; i++) {
		const struct ex *x = lex(p, read[i]);
		stage_id b = buf_writer(p, x->buf);
		const struct stage *u = b ? lstage(p, b) : NULL;
		if (u && u->comb == COMB_SUM && (u->nspatial == 2 || u->nspatial == 3) && u->naxes == u->nspatial + 1 && !u->scan &&
		    x->index[0] == poly_of(p->P, t->axis[1].var) && x->index[x->n - 1] == poly_of(p->P, t->axis[0].var))
			return b;
	}
	return 0;
}

static bool find_blocks(struct loop_prog *p, struct blocks *q)
{
	for (stage_id s = 1; s < p->stages.n && !q->sum; s++)
		if ((q->block = sum_of_blocks(p, s)))
			q->sum = s;
	const struct stage *b = lstage(p, q->block);
	if (q->sum && b->nspatial == 3 && !(q->dot = instr_nibbles(p->target ? p->target : target_host())))
		return false;
	q->digits = q->dot ? b->axis[1].extent : 1;
	if (!q->sum || sched_sole_reader(p, q->block) != q->sum || !stage_in_lanes(p, q->block) || !stage_in_lanes(p, q->sum))
		return false;
	stage_id r = lbuf(p, lstage(p, q->sum)->out)->scope == SCOPE_OUT ? 0 : sched_sole_reader(p, q->sum);
	if (r && lstage(p, r)->comb == COMB_NONE && lstage(p, r)->nspatial == 1 &&
	    lstage(p, r)->axis[0].extent == lstage(p, q->sum)->axis[0].extent)
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

/* The vectors of a nest that covers a panel. part: "" or "init.". */
static void mark(struct schedule *r, stage_id s, const char *part, int axis)
{
	const char *v = sched_name(r, "%s.%s%s", sym_str(lstage(r->p, s)->name), part, sym_str(lstage(r->p, s)->axis[axis].name));

	if (!sched_try(r, PRIM_SPLIT, v, trace_number(r->lanes)))
		return;
	sched_try(r, PRIM_UNROLL, loop_part(r, v, 0));
	sched_try(r, PRIM_VECTOR, loop_part(r, v, 1));
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

/* The sums of one block for each digit, by the instruction. */
static void place_digits(struct schedule *r, const struct blocks *q)
{
	const char *name = sym_str(lstage(r->p, q->block)->name), *k = axis_loop(r, q->block, 3, ""), *d = axis_loop(r, q->block, 1, "");
	const char *v = axis_loop(r, q->block, 2, "");
	int64_t group = instr_row(q->dot)->extent[1], steps = lstage(r->p, q->block)->axis[3].extent / group;

	mark(r, q->block, "init.", 2);
	sched_try(r, PRIM_UNROLL, sched_name(r, "%s.init.%s", name, sym_str(lstage(r->p, q->block)->axis[1].name)));
	sched_try(r, PRIM_SPLIT, k, trace_number(group));
	sched_try(r, PRIM_SPLIT, v, trace_number(r->lanes));
	sched_try(r, PRIM_REORDER, loop_part(r, k, 0), d, loop_part(r, v, 0), loop_part(r, v, 1), loop_part(r, k, 1));
	sched_try(r, PRIM_UNROLL, d);
	sched_try(r, PRIM_UNROLL, loop_part(r, v, 0));
	sched_try(r, PRIM_TENSOR, loop_part(r, v, 1), instr_row(q->dot)->name);
	unroll_block(r, loop_part(r, k, 0), steps);
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
	mark(r, q->block, "init.", 1);
	mark(r, q->block, "", 1);
	unroll_block(r, k, lstage(p, q->block)->axis[2].extent);
}

/* Columns of whole panels of so many. */
static int64_t in_panels(int64_t columns, int64_t width) { return (columns + width - 1) / width * width; }

/* Vectors of columns: as many as hide the latency of the sums, where panels of them are not filled up by much. */
static void choose_vectors(struct schedule *r, struct blocks *q)
{
	int64_t columns = lstage(r->p, q->sum)->axis[0].extent, choice[4];
	int n = 0, usual = 0;

	for (int64_t v = 1; v <= 8 && (v == 1 || v * r->lanes <= columns); v *= 2)
		choice[n++] = v;
	for (int i = 0; i < n && choice[i] <= 4 && (!q->dot || 2 * choice[i] * (q->digits + 1) <= sched_machine(r->p).vector_regs); i++)
		if (8 * in_panels(columns, choice[i] * r->lanes) <= 9 * in_panels(columns, r->lanes))
			usual = i;
	q->vectors = (int)sched_sample(r, "vectors", choice, n, choice[usual]);
}

bool template_packed(struct schedule *r)
{
	struct loop_prog *p = r->p;
	struct blocks q = {0};

	if (!find_blocks(p, &q) || lstage(p, q.sum)->axis[0].extent < r->lanes)
		return false;
	const char *name = sym_str(lstage(p, q.sum)->name), *v = axis_loop(r, q.sum, 0, "");
	choose_vectors(r, &q);
	bool pad = lay_out(r, q.block, q.dot ? 2 : 1, 0, q.dot ? (int)instr_row(q.dot)->extent[1] : 1);
	pad &= lay_out(r, q.sum, 0, q.block, 1);
	const char *home = loop_part(r, v, 0), *over = axis_loop(r, q.sum, 1, "");
	sched_try(r, PRIM_SPLIT, v, "vectors", trace_number(r->lanes), sched_name(r, "tail=%s", pad ? "pad" : "peel"));
	sched_try(r, PRIM_INIT, name, home);
	sched_try(r, PRIM_REORDER, over, loop_part(r, v, 1), loop_part(r, v, 2));
	place_block(r, &q, over);
	bool after = q.result && sched_try(r, PRIM_AFTER, sym_str(lstage(p, q.result)->name), home);
	const char *sums = NULL;
	if (after)
		sched_try(r, PRIM_SCOPE, name, "register");
	else if (sched_make(r, "acc", PRIM_CACHE, name, name, home, "register"))
		sums = "acc.store";
	sched_try(r, PRIM_UNROLL, loop_part(r, v, 1));
	sched_try(r, PRIM_VECTOR, loop_part(r, v, 2));
	mark(r, q.sum, "init.", 0);
	if (after)
		mark(r, q.result, "", 0);
	if (sums && stage_find(p, sums))
		mark(r, stage_find(p, sums), "", 0);
	for (stage_id s = 1, n = (stage_id)p->stages.n; s < n; s++)
		if (!lstage(p, s)->gone && (lstage(p, s)->comb == COMB_SUM || lstage(p, s)->comb == COMB_MAX) && stage_whole(p, s))
			template_row_sum(r, s);
	return true;
}
