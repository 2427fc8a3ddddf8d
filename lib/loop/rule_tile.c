/* Template for contractions, convolutions and windows: a tile of the result is kept in registers while the reduction
 * runs; vectors lie along the result's contiguous axis v, rows of the tile along the axis t that reuses what v reads
 * (Goto and van de Geijn 2008; register tiles as in BLIS). Constants that vary along v are laid out in panels as
 * wide as the tile. The tile's size comes from counting: multiply-adds, loads and latency of one step of the
 * reduction, times the number of tiles, with the remainders that balanced tiles leave. */
#include <math.h>
#include <string.h>
#include "device/target.h"
#include "loop/rule.h"

struct tile {
	stage_id anchor, result; /* result: the elementwise stage that follows; 0: none can follow directly */
	int v, t;                /* axes of the anchor; t -1: no second axis */
	int rows, vectors;
	int outer;               /* leading axes that stay outermost: operands are packed inside them */
	int nread;
	ex_id read[READS_MAX];
	const char *vloop, *tloop; /* their loops, before the split; tloop NULL: no t */
	const char *panel_loop, *home; /* over panels; in which a tile is complete */
	bool after;              /* the result is computed tile by tile */
	int64_t chunk;           /* reduce steps of axis k0 kept in cache at a time; 0: all */
	stage_id packed;         /* the stage that packs an operand; 0: none */
	int packed_dim;
	bool pad;                /* v is rounded up; all that varies along it has room */
};

/* The stage that reads the anchor's result element by element and has all the anchor's axes; 0: none. */
static stage_id follower(struct loop_prog *p, stage_id anchor)
{
	buf_id b = lstage(p, anchor)->out;
	stage_id found = 0;
	for (stage_id s = 1; s < p->stages.n; s++) {
		if (lstage(p, s)->gone || !stage_reads(p, s, b))
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

/* Cycles for the whole anchor with a tile of rows x vectors: the steps of its reduction, each bound by multiply-adds,
 * loads or latency, and what a tile costs once. Balanced tiles: the mean number of rows counts. */
static double tile_cost(struct loop_prog *p, const struct tile *q, int rows, int vectors, int lanes)
{
	const struct target *m = p->target;
	const struct stage *s = lstage(p, q->anchor);
	double panels = ceil((double)s->axis[q->v].extent / (lanes * vectors)), tiles = 1, mean_rows = 1, steps = 1, loads = 0;
	if (q->t >= 0) {
		tiles = ceil((double)s->axis[q->t].extent / rows);
		mean_rows = (double)s->axis[q->t].extent / tiles;
	}
	for (int a = s->nspatial; a < s->naxes; a++)
		steps *= (double)s->axis[a].extent;
	for (int i = 0; i < q->nread; i++) {
		bool along = read_uses(p, q->read[i], s->axis[q->v].var);
		bool down = q->t >= 0 && read_uses(p, q->read[i], s->axis[q->t].var);
		loads += (along ? vectors : 1) * (down ? mean_rows : 1);
	}
	int ports = m && m->fma_ports ? m->fma_ports : 2, latency = m && m->fma_latency ? m->fma_latency : 4;
	double step = fmax(fmax(mean_rows * vectors / ports, loads / 2), latency) + 0.5; /* 0.5: the loop itself */
	double once = (double)rows * vectors + 8; /* zeroing, writing back, the epilogue */
	return panels * tiles * (steps * step + once);
}

static bool has_guard(struct loop_prog *p, ex_id e)
{
	return e && (lex(p, e)->kind == EX_GUARD || has_guard(p, lex(p, e)->a[0]) || has_guard(p, lex(p, e)->a[1]) || has_guard(p, lex(p, e)->a[2]));
}

/* Bytes of what varies along v, for one panel of that many vectors and all of the reduction. */
static double panel_bytes(struct loop_prog *p, const struct tile *q, int vectors, int lanes)
{
	const struct stage *s = lstage(p, q->anchor);
	double k = 4.0 * vectors * lanes;
	for (int a = s->nspatial; a < s->naxes; a++)
		k *= (double)s->axis[a].extent;
	return k;
}

/* What of the second level of cache a panel may fill: the other operand streams past it. */
static double panel_room(struct loop_prog *p)
{
	return 0.7 * (double)(p->target && p->target->l2 ? p->target->l2 : 1 << 20);
}

/* Rows that the first level of cache holds side by side: rows a multiple of 4 KB apart lie in one set. */
static int64_t rows_without_conflict(struct loop_prog *p, const struct tile *q)
{
	const struct stage *s = lstage(p, q->anchor);
	int ways = (int)((p->target && p->target->l1 ? p->target->l1 : 32 << 10) / 4096);
	for (int i = 0; q->t >= 0 && i < q->nread; i++) {
		int64_t step;
		if (!read_uses(p, q->read[i], s->axis[q->v].var) && read_step(p, q->read[i], s->axis[q->t].var, &step) && step && step * 4 % 4096 == 0)
			return ways > 6 ? ways - 3 : 4;
	}
	return INT64_MAX;
}

static void choose_tile(struct loop_prog *p, struct tile *q, int lanes)
{
	const struct stage *s = lstage(p, q->anchor);
	int regs = p->target && p->target->vector_regs ? p->target->vector_regs : 16;
	int64_t most_rows = q->t < 0 ? 1 : s->axis[q->t].extent, conflict = rows_without_conflict(p, q);
	if (most_rows > conflict)
		most_rows = conflict;
	if (has_guard(p, s->body) && most_rows > 14) /* written out once a border: nine times */
		most_rows = 14;
	double best = INFINITY;
	q->rows = q->vectors = 1;
	for (int vectors = 1; vectors <= 8; vectors++)
		for (int rows = 1; rows <= 30 && rows <= most_rows; rows++) {
			if (rows * vectors + vectors + 1 > regs && rows * vectors > 1)
				continue;
			if (vectors > 1 && (int64_t)(vectors - 1) * lanes >= s->axis[q->v].extent)
				continue;
			double c = tile_cost(p, q, rows, vectors, lanes);
			if (q->t >= 0 && vectors > 1 && panel_bytes(p, q, vectors, lanes) > panel_room(p))
				c *= 1.15;
			if (c < best * 0.999) {
				best = c;
				q->rows = rows;
				q->vectors = vectors;
			}
		}
}

/* The second axis of the tile: the one along which the most reads stand still that move along v. */
static int second_axis(struct loop_prog *p, const struct tile *q)
{
	const struct stage *s = lstage(p, q->anchor);
	int best = -1;
	double score = 0;
	for (int a = 0; a < s->nspatial; a++) {
		if (a == q->v || s->axis[a].extent < 2)
			continue;
		double reuse = 0;
		for (int i = 0; i < q->nread; i++)
			reuse += read_uses(p, q->read[i], s->axis[q->v].var) && !read_uses(p, q->read[i], s->axis[a].var);
		double size = (double)(s->axis[a].extent < 30 ? s->axis[a].extent : 30);
		if (reuse * size >= score && reuse > 0) { /* the inner of equals: shorter steps in memory */
			score = reuse * size;
			best = a;
		}
	}
	return best;
}

/* Order of the other dims of a packed constant: those that follow no reduce axis first, then as the loops run. */
static const char *panel_layout(struct loop_prog *p, const struct tile *q, ex_id read, int dim, int width)
{
	const struct stage *s = lstage(p, q->anchor);
	const struct ex *e = lex(p, read);
	char *text = arena_printf(&p->arena, "%d/%d", dim, width);
	bool done[LOOP_RANK_MAX] = {0};
	done[dim] = true;
	for (int d = 0; d < e->n; d++) {
		bool reduce = false;
		for (int a = s->nspatial; a < s->naxes; a++)
			reduce |= poly_uses(p->P, e->index[d], s->axis[a].var);
		if (!reduce && !done[d]) {
			text = arena_printf(&p->arena, "%s %d", text, d);
			done[d] = true;
		}
	}
	/* loops run: kernel window outside, channels inside, that is the reduce axes from the last to the first but
	 * for one reduce axis alone */
	for (int a = s->nspatial + 1; a <= s->naxes; a++)
		for (int d = 0; d < e->n; d++)
			if (!done[d] && poly_uses(p->P, e->index[d], s->axis[a < s->naxes ? a : s->nspatial].var)) {
				text = arena_printf(&p->arena, "%s %d", text, d);
				done[d] = true;
			}
	return arena_printf(&p->arena, "%s %d%%%d", text, dim, width);
}

/* The dim of the read whose index is exactly axis v and that no other dim follows; -1: none. */
static int dim_along(struct loop_prog *p, const struct tile *q, ex_id read)
{
	const struct stage *s = lstage(p, q->anchor);
	int dim = -1;
	for (int d = 0; d < lex(p, read)->n; d++)
		if (lex(p, read)->index[d] == poly_of(p->P, s->axis[q->v].var))
			dim = dim < 0 ? d : -2;
		else if (poly_uses(p->P, lex(p, read)->index[d], s->axis[q->v].var))
			return -1;
	return dim;
}

/* Operands that vary along v, not constant, with another step than one or with no room for whole vectors: a packed
 * copy, made anew for each step of the leading axes that the operand varies along too (batches). */
static void pack_operands(struct rule *r, struct tile *q)
{
	struct loop_prog *p = r->p;
	int width = q->vectors * r->lanes;
	for (int i = 0; i < q->nread; i++) {
		const struct stage *s = lstage(p, q->anchor);
		buf_id b = lex(p, q->read[i])->buf;
		int64_t step;
		if (lbuf(p, b)->scope == SCOPE_CONST || !read_uses(p, q->read[i], s->axis[q->v].var))
			continue;
		int dim = dim_along(p, q, q->read[i]);
		bool reused = q->t >= 0 && !read_uses(p, q->read[i], s->axis[q->t].var);
		if (dim < 0 || !reused || (read_step(p, q->read[i], s->axis[q->v].var, &step) && step == 1 && s->axis[q->v].extent % width == 0))
			continue;
		int outer = 0;
		while (outer < s->nspatial && outer != q->v && outer != q->t && read_uses(p, q->read[i], s->axis[outer].var))
			outer++;
		const char *under = outer ? axis_loop(r, q->anchor, outer - 1, "") : "root";
		const char *name = arena_printf(&p->arena, "%s_panel", sym_str(lbuf(p, b)->name));
		const char *layout = panel_layout(p, q, q->read[i], dim, width);
		if (!rule_try(r, "%s = cache %s %s %s scratch", name, sym_str(lbuf(p, b)->name), sym_str(s->name), under))
			continue;
		q->outer = outer;
		q->nread = stage_all_reads(p, q->anchor, q->read);
		rule_try(r, "layout %s %s", name, layout);
		q->packed = stage_find(p, name);
		q->packed_dim = dim;
	}
}

/* Lays constants out in panels and copies operands that are strided along v into panels; says whether all that moves
 * along v now has room for the rounded-up axis. */
static void make_panels(struct rule *r, struct tile *q)
{
	struct loop_prog *p = r->p;
	int width = q->vectors * r->lanes;
	q->pad = true;
	pack_operands(r, q);
	for (int i = 0; i < q->nread; i++) {
		const struct axis *v = &lstage(p, q->anchor)->axis[q->v];
		const struct loop_buf *b = lbuf(p, lex(p, q->read[i])->buf);
		if (!read_uses(p, q->read[i], v->var))
			continue;
		int dim = dim_along(p, q, q->read[i]);
		if (b->scope == SCOPE_CONST && dim >= 0 && b->shape[dim] == v->extent &&
		    rule_try(r, "layout %s %s", sym_str(b->name), panel_layout(p, q, q->read[i], dim, width)))
			continue;
		if (!(q->packed && lbuf(p, lstage(p, q->packed)->out) == b))
			q->pad &= v->extent % width == 0;
	}
}

/* Splits and marks the loops of a nest that only sets or writes the tile: rows and vectors unrolled. */
static void mark_tile(struct rule *r, const struct tile *q, stage_id s, const char *infix)
{
	struct loop_prog *p = r->p;
	const char *name = sym_str(lstage(p, s)->name), *v = NULL, *t = NULL;
	char *order = arena_str(&p->arena, "");
	for (int a = 0; a < lstage(p, s)->nspatial; a++) {
		const char *loop = arena_printf(&p->arena, "%s.%s%s", name, infix, sym_str(lstage(p, s)->axis[a].name));
		*(a == q->v ? &v : &t) = loop;
		if (a != q->v && a != q->t)
			order = arena_printf(&p->arena, "%s %s", order, loop);
	}
	if (q->t >= 0) {
		t = arena_printf(&p->arena, "%s.%s%s", name, infix, sym_str(lstage(p, s)->axis[q->t].name));
		order = arena_printf(&p->arena, "%s %s", order, t);
	}
	if (lstage(p, s)->nspatial > 1)
		rule_try(r, "reorder%s %s", order, v);
	if (q->t >= 0)
		rule_try(r, "unroll %s", t);
	if (rule_try(r, "split %s %d", v, r->lanes)) {
		rule_try(r, "unroll %s.0", v);
		rule_try(r, "vector %s.1", v);
	}
}

/* The packing copy: panel by panel, a vector of it at a time. */
static void mark_packing(struct rule *r, const struct tile *q)
{
	struct loop_prog *p = r->p;
	const char *v = axis_loop(r, q->packed, q->packed_dim, "");
	char *order = arena_str(&p->arena, "");
	if (!rule_try(r, "split %s %d tail=peel", v, r->lanes))
		return;
	order = arena_printf(&p->arena, "%s.0", v);
	for (int a = 0; a < lstage(p, q->packed)->nspatial; a++)
		if (a != q->packed_dim)
			order = arena_printf(&p->arena, "%s %s", order, axis_loop(r, q->packed, a, ""));
	rule_try(r, "reorder %s %s.1", order, v);
	rule_try(r, "vector %s.1", v);
}

/* Reduce axes from the outside in: window axes, then the first (channels, k). */
static int reduce_order(const struct stage *s, int *out)
{
	int n = 0;
	for (int a = s->nspatial + 1; a < s->naxes; a++)
		out[n++] = a;
	if (s->naxes > s->nspatial)
		out[n++] = s->nspatial;
	return n;
}

/* Loops around the tile that are neither v's nor t's, but for those that stay outermost (batches), each before it. */
static char *other_loops(struct rule *r, const struct tile *q, char *order)
{
	for (int a = 0; a < lstage(r->p, q->anchor)->nspatial; a++)
		if (a != q->v && a != q->t && a >= q->outer)
			order = arena_printf(&r->p->arena, "%s %s", order, axis_loop(r, q->anchor, a, ""));
	return order;
}

/* Spatial loops: where a panel is reused its loop is outermost; where all moves along v it is next to the tile, so that
 * memory is walked in order. home: the loop in which a tile is complete. */
static bool order_spatial(struct rule *r, struct tile *q)
{
	struct loop_prog *p = r->p;
	bool reuse = false;
	for (int i = 0; i < q->nread; i++)
		reuse |= !read_uses(p, q->read[i], lstage(p, q->anchor)->axis[q->v].var);
	q->panel_loop = arena_printf(&p->arena, "%s.0", q->vloop);
	char *order = other_loops(r, q, arena_str(&p->arena, reuse ? q->panel_loop : ""));
	q->home = q->panel_loop;
	for (int a = 0; a < lstage(p, q->anchor)->nspatial && reuse; a++)
		if (a != q->v && a != q->t && a >= q->outer)
			q->home = axis_loop(r, q->anchor, a, "");
	if (q->tloop) {
		order = arena_printf(&p->arena, "%s %s.0", order, q->tloop);
		if (reuse)
			q->home = arena_printf(&p->arena, "%s.0", q->tloop);
	}
	if (!reuse)
		order = arena_printf(&p->arena, "%s %s", order, q->panel_loop);
	if (q->tloop)
		order = arena_printf(&p->arena, "%s %s.1", order, q->tloop);
	return rule_try(r, "reorder %s %s.1 %s.2", order, q->vloop, q->vloop);
}

/* A panel too large for the cache is gone through in pieces of the first reduce axis; sums wait in memory. */
static void choose_chunk(struct rule *r, struct tile *q)
{
	struct loop_prog *p = r->p;
	int first = lstage(p, q->anchor)->nspatial;
	int64_t k0 = lstage(p, q->anchor)->axis[first].extent;
	double bytes = panel_bytes(p, q, q->vectors, r->lanes), room = 1.5 * panel_room(p);
	if (bytes <= room || !q->result || q->t < 0 || k0 < 64)
		return;
	q->chunk = k0;
	while (bytes * (double)q->chunk / (double)k0 > room && q->chunk > 32)
		q->chunk = (q->chunk + 1) / 2;
	if (!rule_try(r, "split %s %ld tail=peel", axis_loop(r, q->anchor, first, ""), (long)q->chunk))
		q->chunk = 0;
}

/* Init, then the reduction between the tile's place and the tile; the sums become registers. */
static void order_reduction(struct rule *r, struct tile *q)
{
	struct loop_prog *p = r->p;
	const char *name = sym_str(lstage(p, q->anchor)->name);
	int red[LOOP_AXES_MAX], nred = reduce_order(lstage(p, q->anchor), red);
	rule_try(r, "init %s %s", name, q->chunk ? q->panel_loop : q->home);
	char *in = arena_str(&p->arena, "");
	for (int i = 0; i < nred; i++)
		in = arena_printf(&p->arena, "%s %s%s", in, axis_loop(r, q->anchor, red[i], ""), q->chunk && i == nred - 1 ? ".1" : "");
	if (q->tloop)
		in = arena_printf(&p->arena, "%s %s.1", in, q->tloop);
	in = arena_printf(&p->arena, "%s %s.1 %s.2", in, q->vloop, q->vloop);
	if (q->chunk) {
		char *out = arena_printf(&p->arena, "%s.0", axis_loop(r, q->anchor, red[nred - 1], ""));
		out = other_loops(r, q, out);
		if (q->tloop)
			out = arena_printf(&p->arena, "%s %s.0", out, q->tloop);
		rule_try(r, "reorder %s%s", out, in);
	} else {
		rule_try(r, "reorder%s", in);
	}
	const char *done = q->chunk ? q->panel_loop : q->home;
	q->after = q->result && rule_try(r, "after %s %s", sym_str(lstage(p, q->result)->name), done);
	if (q->chunk || !q->after) /* the sum goes to memory, the rest of the program reads it there */
		rule_try(r, "acc = cache %s %s %s register", name, name, q->home);
	else
		rule_try(r, "scope %s register", name);
	/* small windows are unrolled whole where nothing else reduces */
	double window = 1;
	for (int i = 0; i < nred; i++)
		window *= (double)lstage(p, q->anchor)->axis[red[i]].extent;
	for (int i = 0; i < nred && window <= 9; i++)
		rule_try(r, "unroll %s", axis_loop(r, q->anchor, red[i], ""));
}

bool rule_tile(struct rule *r, stage_id anchor)
{
	struct loop_prog *p = r->p;
	struct tile q = {.anchor = anchor, .result = follower(p, anchor)};
	q.nread = stage_all_reads(p, anchor, q.read);
	q.v = contiguous_axis(p, q.result ? q.result : anchor);
	if (q.v < 0 || lbuf(p, lstage(p, anchor)->out)->dtype != DT_F32)
		return false;
	q.t = second_axis(p, &q);
	choose_tile(p, &q, r->lanes);
	make_panels(r, &q);
	if (q.v != lstage(p, anchor)->nspatial - 1) { /* vectors of the sums lie along v as well */
		char *order = arena_str(&p->arena, "");
		for (int a = 0; a < lstage(p, anchor)->nspatial; a++)
			if (a != q.v)
				order = arena_printf(&p->arena, "%s%d ", order, a);
		rule_try(r, "layout %s %s%d", sym_str(lbuf(p, lstage(p, anchor)->out)->name), order, q.v);
	}
	q.vloop = axis_loop(r, anchor, q.v, "");
	q.tloop = q.t >= 0 ? axis_loop(r, anchor, q.t, "") : NULL;
	bool fills = has_guard(p, lstage(p, anchor)->body);
	if (!rule_try(r, "split %s %d %d tail=%s", q.vloop, q.vectors, r->lanes, q.pad ? "pad" : "peel"))
		return false;
	if (q.tloop && !rule_try(r, "split %s %d tail=%s", q.tloop, q.rows, fills ? "peel" : "balance"))
		return false;
	if (!order_spatial(r, &q))
		return false;
	choose_chunk(r, &q);
	order_reduction(r, &q);
	for (int a = 0; fills && a < lstage(p, anchor)->nspatial; a++) /* the middle has no fills */
		if (a != q.v)
			rule_try(r, "partition %s auto", axis_loop(r, anchor, a, a == q.t ? ".0" : ""));
	rule_try(r, "unroll %s.1", q.vloop);
	rule_try(r, "vector %s.2", q.vloop);
	if (q.tloop)
		rule_try(r, "unroll %s.1", q.tloop);
	mark_tile(r, &q, anchor, "init.");
	stage_id load = stage_find(p, "acc.load"), store = stage_find(p, "acc.store");
	if (load)
		mark_tile(r, &q, load, "");
	if (store)
		mark_tile(r, &q, store, "");
	if (q.after)
		mark_tile(r, &q, q.result, "");
	if (q.packed)
		mark_packing(r, &q);
	return true;
}
