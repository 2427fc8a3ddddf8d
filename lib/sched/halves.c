/* Template for products in f16: short sums of a tile in registers of halves, by the instruction; what they add up to in f32, beside them. */
#include "loop/instr.h"
#include "loop/math.h"
#include "sched/template.h"
#include "target/target.h"

struct halves {
	stage_id part, sum, result; /* short sums; of them; elementwise, of that, 0: none can follow */
	int dot;                    /* row of the instruction */
	ex_id b;                    /* the read that moves along the columns */
	int64_t rows;               /* of a tile; 1: the product has no rows */
};

/* Does s add up, over its only reduction, what another stage summed in f16? */
static bool find_parts(struct loop_prog *p, stage_id s, struct halves *h)
{
	const struct stage *t = lstage(p, s);
	const struct ex *x = lex(p, t->body);
	ex_id read[READS_MAX];

	if (!stage_here(p, s) || t->comb != COMB_SUM || t->scan || !t->nspatial || t->naxes != t->nspatial + 1 || x->kind != EX_CAST)
		return false;
	x = lex(p, x->a[0]);
	h->part = x->kind == EX_READ && x->dtype == DT_F16 ? writer_here(p, x->buf) : 0;
	const struct stage *u = h->part ? lstage(p, h->part) : NULL;
	if (!u || u->comb != COMB_SUM || u->nspatial != t->nspatial + 1 || u->naxes != u->nspatial + 1 ||
	    sched_sole_reader(p, h->part) != s)
		return false;
	poly_var n = u->axis[u->nspatial - 1].var;
	if (stage_all_reads(p, h->part, read) != 2)
		return false;
	h->b = read_uses(p, read[0], n) ? read[0] : read[1];
	h->sum = s;
	return read_uses(p, read[0], n) != read_uses(p, read[1], n);
}

/* Is r, computed element by element, of the element of s at the same place? */
static bool in_step(struct loop_prog *p, stage_id s, stage_id r)
{
	const struct stage *t = lstage(p, s), *u = lstage(p, r);
	ex_id read[READS_MAX];
	bool same = u->comb == COMB_NONE && u->nspatial == t->nspatial;

	for (int i = 0; i < t->nspatial && same; i++)
		same = u->axis[i].extent == t->axis[i].extent;
	for (int n = same ? stage_all_reads(p, r, read) : 0, i = 0; i < n; i++)
		for (int d = 0; d < t->nspatial && same && lex(p, read[i])->buf == t->out; d++)
			same = lex(p, read[i])->index[d] == stage_axis(p, r, d);
	return same;
}

bool halves_need(struct loop_prog *p, stage_id s, stage_id reader)
{
	const struct stage *t = lstage(p, reader);
	const struct ex *x = lex(p, t->body);

	if (t->comb != COMB_SUM || lbuf(p, t->out)->dtype != DT_F16 || x->kind != EX_CALL || x->fn != FN_MUL || x->dtype != DT_F16)
		return false;
	return lex(p, x->a[0])->kind == EX_READ && lex(p, x->a[1])->kind == EX_READ && lex(p, lstage(p, s)->body)->kind != EX_READ;
}

/* Rows of a tile: as many as there are registers for, each a vector of short sums and two of long ones. */
static int64_t tile_rows(struct schedule *r, const struct stage *s)
{
	int regs = sched_machine(r->p)->vector_regs;
	int64_t m = s->nspatial > 1 ? s->axis[s->nspatial - 2].extent : 1, choice[8], usual = 1;
	int n = 0;

	for (int64_t k = 1; k <= m && k <= 8 && 3 * k + 2 <= regs; k++)
		if (m % k == 0)
			choice[n++] = usual = k;
	return n > 1 ? sched_sample(r, "rows", choice, n, usual) : 1;
}

/* A copy of what stands still along the columns: products of a short sum side by side. */
static void lay_out_x(struct schedule *r, const struct halves *h)
{
	const struct stage *u = lstage(r->p, h->part);
	ex_id read[READS_MAX];

	for (int n = stage_all_reads(r->p, h->part, read), i = 0; i < n; i++)
		if (read[i] != h->b)
			sched_copy_along(r, read[i], u->axis[u->nspatial].var);
}

/* Constants in panels of the instruction's lanes. */
static void lay_out_panels(struct schedule *r, const struct halves *h, int64_t lanes)
{
	const struct ex b = *lex(r->p, h->b);
	const struct stage *u = lstage(r->p, h->part);
	poly_var n = u->axis[u->nspatial - 1].var;
	struct words order = {0};
	int dim = -1;

	for (int d = 0; d < b.n; d++)
		if (b.index[d] == poly_of(r->p->P, n))
			dim = d;
	if (dim < 0 || lbuf(r->p, b.buf)->scope != SCOPE_CONST)
		return;
	words_add(&order, sym_str(lbuf(r->p, b.buf)->name));
	words_add(&order, sched_name(r, "%d/%ld", dim, (long)lanes));
	for (int d = 0; d < b.n; d++)
		if (d != dim)
			words_add(&order, trace_number(d));
	words_add(&order, sched_name(r, "%d%%%ld", dim, (long)lanes));
	sched_list(r, NULL, PRIM_LAYOUT, &order);
}

/* The loops of a tile of stage s, named from `stem` on, are copies: rows, then vectors of its columns. */
static void mark_tile(struct schedule *r, stage_id s, const char *part, int64_t lanes, bool rows)
{
	const struct stage t = *lstage(r->p, s);
	const char *stem = sched_name(r, "%s.%s", sym_str(t.name), part),
		   *v = sched_name(r, "%s%s", stem, sym_str(t.axis[t.nspatial - 1].name));

	if (rows)
		sched_try(r, PRIM_UNROLL, sched_name(r, "%s%s", stem, sym_str(t.axis[t.nspatial - 2].name)));
	sched_try(r, PRIM_SPLIT, v, trace_number(lanes));
	sched_try(r, PRIM_UNROLL, loop_part(r, v, 0));
	if (lanes == r->lanes)
		sched_try(r, PRIM_VECTOR, loop_part(r, v, 1));
}

/* Short sums of a tile, where they are added up. */
static void place_parts(struct schedule *r, const struct halves *h, const char *where, int64_t lanes)
{
	const struct stage u = *lstage(r->p, h->part);
	const char *name = sym_str(u.name), *k = axis_loop(r, h->part, u.nspatial, ""), *n = axis_loop(r, h->part, u.nspatial - 1, "");
	bool rows = h->rows > 1;

	sched_try(r, PRIM_AT, name, where);
	sched_try(r, PRIM_SCOPE, name, "register");
	sched_try(r, PRIM_INIT, name, where);
	if (rows)
		sched_try(r, PRIM_REORDER, k, axis_loop(r, h->part, u.nspatial - 2, ""), n);
	else
		sched_try(r, PRIM_REORDER, k, n);
	mark_tile(r, h->part, "init.", r->lanes, rows);
	mark_tile(r, h->part, "", lanes, rows);
	sched_try(r, PRIM_TENSOR, loop_part(r, n, 1), instr_row(h->dot)->name);
	int64_t choice[] = {1, 2, 4}, unroll = sched_sample(r, "unroll", choice, 3, 4);
	if (unroll > 1)
		sched_try(r, PRIM_UNROLL, k, "unroll");
}

/* The sums themselves: panels of columns outside, tiles of rows in them. Returns the loop over tiles. */
static const char *tile_sums(struct schedule *r, const struct halves *h)
{
	const struct stage s = *lstage(r->p, h->sum);
	const char *n = axis_loop(r, h->sum, s.nspatial - 1, ""), *b = axis_loop(r, h->sum, s.nspatial, "");
	const char *m = s.nspatial > 1 ? axis_loop(r, h->sum, s.nspatial - 2, "") : NULL;

	if (!sched_try(r, PRIM_SPLIT, n, "2", trace_number(r->lanes), "tail=pad"))
		return NULL;
	const char *home = loop_part(r, m ? m : n, 0);
	if (m) {
		sched_try(r, PRIM_SPLIT, m, h->rows > 1 ? "rows" : "1");
		sched_try(r, PRIM_REORDER, loop_part(r, n, 0), home, loop_part(r, m, 1), loop_part(r, n, 1), loop_part(r, n, 2));
	}
	sched_try(r, PRIM_INIT, sym_str(s.name), home);
	if (m) {
		sched_try(r, PRIM_REORDER, b, loop_part(r, m, 1), loop_part(r, n, 1), loop_part(r, n, 2));
		sched_try(r, PRIM_UNROLL, loop_part(r, m, 1));
	} else {
		sched_try(r, PRIM_REORDER, b, loop_part(r, n, 1), loop_part(r, n, 2));
	}
	sched_try(r, PRIM_UNROLL, loop_part(r, n, 1));
	sched_try(r, PRIM_VECTOR, loop_part(r, n, 2));
	return home;
}

/* What follows: in the tile's registers, or a copy of them. */
static void finish_tile(struct schedule *r, struct halves *h, const char *home)
{
	struct loop_prog *p = r->p;
	const char *name = sym_str(lstage(p, h->sum)->name);
	bool rows = lstage(p, h->sum)->nspatial > 1,
	     after = h->result && sched_try(r, PRIM_AFTER, sym_str(lstage(p, h->result)->name), home);
	stage_id end = after ? h->result : 0;
	const char *acc = sched_fresh(r, "acc");

	if (after)
		sched_try(r, PRIM_SCOPE, name, "register");
	else if (sched_make(r, acc, PRIM_CACHE, name, name, home, "register"))
		end = stage_find(p, sched_name(r, "%s.store", acc));
	mark_tile(r, h->sum, "init.", r->lanes, rows);
	if (end)
		mark_tile(r, end, "", r->lanes, rows);
}

bool template_halves(struct schedule *r)
{
	struct loop_prog *p = r->p;
	struct halves h = {.dot = instr_halves(p->target ? p->target : target_host())};
	int64_t lanes = h.dot ? instr_row(h.dot)->extent[0] : 0;

	for (stage_id s = 1; s < p->stages.n && h.dot && !h.sum; s++)
		find_parts(p, s, &h);
	if (!h.sum || lanes != 2 * r->lanes)
		return false;
	stage_id next = sched_sole_reader(p, h.sum);
	h.result = next && in_step(p, h.sum, next) ? next : 0;
	h.rows = tile_rows(r, lstage(p, h.sum));
	lay_out_x(r, &h);
	lay_out_panels(r, &h, lanes);
	const char *home = tile_sums(r, &h);
	if (!home)
		return false;
	place_parts(r, &h, axis_loop(r, h.sum, lstage(p, h.sum)->nspatial, ""), lanes);
	finish_tile(r, &h, home);
	return true;
}
