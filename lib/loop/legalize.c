/* Legalization: from a scheduled nest to one that can be emitted.
 *
 *  1. Windows: a local buffer needs to hold only what is alive at one time. The innermost loop around all that touches it is
 *     where it is allocated; the region touched in one iteration is its size.
 *  2. Cutting: a loop is cut at given points (tails, and where guards and fills change), and the nest is copied with a loop for
 *     each piece. In a piece most guards are always true or never, and vanish. A loop over tiles of an axis whose size varies becomes one
 *     over the whole tiles, and what is left in one piece, or in pieces of 16, of 8 and of 7 to 1 where loops must be unrolled.
 *  3. Settling: instructions, registers and prefetches are checked again in the copy.
 *  4. Layout: each scratch buffer gets its offset in the workspace. */
#include <string.h>
#include "common/msg.h"
#include "loop/copy.h"
#include "loop/instr.h"
#include "loop/nest.h"

/* ---- windows ---- */

/* Where b is allocated: the innermost loop (or the root) around all blocks that read or write it; 0 if none does. */
static nest_id home_of(struct loop_prog *p, buf_id b)
{
	nest_id home = 0;
	int n;
	nest_id *block = nest_list(p, p->root, 0, &n);
	for (int i = 0; i < n; i++) {
		struct nest *k = lnest(p, block[i]);
		if (lstage(p, k->stage)->out != b && !(k->phase == BLOCK_UPDATE && stage_reads(p, k->stage, b)))
			continue;
		nest_id at = home ? home : lnest(p, block[i])->parent;
		while (!nest_inside(p, block[i], at))
			at = lnest(p, at)->parent;
		home = at;
	}
	for (; home && home != p->root && lnest(p, home)->kind != NEST_FOR;)
		home = lnest(p, home)->parent;
	return home;
}

/* A step of a scan may read what earlier steps wrote, so such a buffer is allocated outside the scan loop; unless each step reads
 * only what it wrote itself. */
static nest_id outside_scans(struct loop_prog *p, buf_id b, nest_id home)
{
	int scan = stage_scan_axis(lstage(p, buf_writer(p, b)));
	nest_id out = home;

	for (nest_id l = home; scan >= 0 && l && l != p->root; l = lnest(p, l)->parent) {
		poly lo[LOOP_RANK_MAX], extent[LOOP_RANK_MAX], from[LOOP_RANK_MAX], size[LOOP_RANK_MAX];
		if (lnest(p, l)->kind != NEST_FOR || !lnest(p, l)->scan)
			continue;
		region_of(p, b, l, false, true, lo, extent);
		int64_t steps;
		bool one = poly_is_const(p->P, extent[scan], &steps) && steps == 1;
		if (region_of(p, b, l, true, false, from, size) && !(one && from[scan] == lo[scan] && size[scan] == extent[scan]))
			out = lnest(p, l)->parent;
	}
	while (out && out != p->root && lnest(p, out)->kind != NEST_FOR)
		out = lnest(p, out)->parent;
	return out;
}

static const char *find_windows(struct loop_prog *p)
{
	for (buf_id b = 1; b < p->bufs.n; b++) {
		if (lbuf(p, b)->scope < SCOPE_SCRATCH)
			continue;
		stage_id w = buf_writer(p, b);
		nest_id home = w ? home_of(p, b) : 0;
		home = home ? outside_scans(p, b, home) : 0;
		if (!home) {
			lbuf(p, b)->alloc = 0;
			continue;
		}
		lbuf(p, b)->alloc = home;
		if (home == p->root && lbuf(p, b)->scope != SCOPE_REGISTER)
			continue;
		poly lo[LOOP_RANK_MAX], extent[LOOP_RANK_MAX];
		region_of(p, b, home, true, true, lo, extent);
		for (int d = 0; d < lbuf(p, b)->rank; d++) {
			int64_t l, h;
			poly_range(p->P, extent[d], &l, &h);
			lbuf(p, b)->base[d] = lo[d];
			lbuf(p, b)->extent[d] = h > 0 ? h : 1;
			lbuf(p, b)->size[d] = l != h && prog_fixed(p, extent[d]) ? extent[d] : POLY_UNKNOWN;
		}
	}
	return NULL;
}

/* ---- cutting ---- */

static stage_id stage_clone(struct copy *c, stage_id s)
{
	struct loop_prog *p = c->p;
	bool touches = false;
	for (int i = 0; i < c->nb; i++)
		touches |= lstage(p, s)->out == c->from[i] || stage_reads(p, s, c->from[i]);
	if (!touches)
		return s;
	for (size_t i = 0; i < c->stages.n; i++)
		if (c->stages.a[i].from == s && c->stages.a[i].gen == c->gen)
			return c->stages.a[i].to;
	struct stage n = *lstage(p, s);
	n.body = ex_rebuf(p, n.body, c->nb, c->from, c->to);
	for (int i = c->nb - 1; i >= 0; i--)
		if (n.out == c->from[i]) {
			n.out = c->to[i];
			break;
		}
	vec_push(&p->stages, n);
	stage_id to = (stage_id)p->stages.n - 1;
	vec_push(&c->stages, (struct clone){s, to, c->gen});
	return to;
}

static void copy_into(struct copy *c, nest_id from, nest_id seq);

static void copy_block(struct copy *c, nest_id from, nest_id seq)
{
	enum { BLOCKS_MAX = 1 << 16 };
	struct loop_prog *p = c->p;
	if (++c->blocks > BLOCKS_MAX) {
		c->why = whynot(p, "the pieces of its loops have more than %d blocks", BLOCKS_MAX);
		return;
	}
	stage_id s = stage_clone(c, lnest(p, from)->stage);
	nest_id k = nest_block(p, s, lnest(p, from)->phase);
	for (int a = 0; a < lstage(p, s)->naxes; a++)
		lnest(p, k)->bind[a] = copy_sub(c, lnest(p, from)->bind[a]);
	for (size_t i = 0; i < lnest(p, from)->guard.n; i++) {
		poly g = copy_sub(c, lnest(p, from)->guard.a[i]);
		int64_t lo, hi;
		poly_range(p->P, g, &lo, &hi);
		if (hi < 0)
			return; /* never runs */
		bool twice = false;
		for (size_t j = 0; j < lnest(p, k)->guard.n; j++)
			twice |= lnest(p, k)->guard.a[j] == g;
		if (lo < 0 && !twice && !(p->params.n && copy_holds(p, g, seq)))
			vec_push(&lnest(p, k)->guard, g);
	}
	if (copy_idle(p, k))
		return;
	if (p->params.n) {
		copy_decide(p, k, seq);
		copy_skip(p, k, seq);
	}
	nest_insert(p, seq, lnest(p, seq)->kid.n, k);
}

/* Gives the piece its own copies of the buffers that are allocated in loop `from`. Returns how many the map had before. */
static int map_buffers(struct copy *c, nest_id from, nest_id to)
{
	struct loop_prog *p = c->p;
	int nb = c->nb;
	for (buf_id b = 1, n = (buf_id)p->bufs.n; b < n; b++) {
		if (lbuf(p, b)->alloc != from || lbuf(p, b)->scope < SCOPE_SCRATCH)
			continue;
		if (c->nb == 64) {
			c->why = "more than 64 local buffers in one loop";
			return nb;
		}
		struct loop_buf copy = *lbuf(p, b);
		copy.alloc = to;
		for (int d = 0; d < copy.rank; d++)
			copy.base[d] = copy_sub(c, copy.base[d]);
		vec_push(&p->bufs, copy);
		c->from[c->nb] = b;
		c->to[c->nb++] = (buf_id)p->bufs.n - 1;
	}
	if (c->nb != nb)
		c->gen++;
	return nb;
}

static buf_id mapped(const struct copy *c, buf_id b)
{
	for (int i = c->nb - 1; i >= 0; i--)
		if (c->from[i] == b)
			return c->to[i];
	return b;
}

void copy_piece(struct copy *c, nest_id from, poly first, poly extent, nest_id seq, uint32_t team, const struct tiles *tiles)
{
	struct loop_prog *p = c->p;
	int64_t n = 0, low, high;
	bool fixed = poly_is_const(p->P, extent, &n), loop = !(fixed && n == 1) || team || c->in_call || lnest(p, from)->outline;
	poly_range(p->P, extent, &low, &high);
	if (high <= 0)
		return;
	nest_id into = seq, home = 0;
	poly at = tiles ? tiles->begin : first;
	if (loop) {
		struct nest old = *lnest(p, from);
		nest_id f = nest_for(p, old.name, extent, old.reduce, old.of);
		lnest(p, f)->mark = old.mark;
		lnest(p, f)->unroll = old.unroll;
		lnest(p, f)->instr = old.instr;
		lnest(p, f)->outline = old.outline;
		for (size_t i = 0; i < old.ahead.n; i++)
			vec_push(&lnest(p, f)->ahead, ((struct prefetch){mapped(c, old.ahead.a[i].b), old.ahead.a[i].steps}));
		lnest(p, f)->overlap = old.overlap;
		lnest(p, f)->known = tiles ? tiles->known : POLY_UNKNOWN;
		lnest(p, f)->team = team;
		lnest(p, f)->first = first;
		lnest(p, f)->whole = copy_sub(c, old.extent);
		nest_insert(p, seq, lnest(p, seq)->kid.n, f);
		if (!(fixed && n == 1) && !(tiles && high == 1))
			at = poly_add(p->P, at, poly_mulc(p->P, poly_of(p->P, lnest(p, f)->var), tiles ? lnest(p, from)->step : 1));
		home = f;
	} else { /* no loop: its local buffers are allocated in the loop around */
		for (home = seq; home != p->root && lnest(p, home)->kind != NEST_FOR;)
			home = lnest(p, home)->parent;
	}
	into = loop ? nest_body(p, home) : seq;
	if (c->nv + 2 > 2 * NEST_DEPTH_MAX) {
		c->why = "nest too deep";
		return;
	}
	int nv = c->nv;
	c->v[c->nv] = lnest(p, from)->var;
	c->by[c->nv++] = at;
	if (tiles) {
		c->v[c->nv] = lnest(p, from)->len;
		c->by[c->nv++] = tiles->len;
	}
	int nb = map_buffers(c, from, home ? home : p->root);
	nest_id body = nest_body(p, from);
	for (size_t i = 0; i < lnest(p, body)->kid.n && !c->why; i++)
		copy_into(c, lnest(p, body)->kid.a[i], into);
	if (c->nb != nb) {
		c->nb = nb;
		c->gen++;
	}
	c->nv = nv;
	if (into != seq && !lnest(p, into)->kid.n) { /* no block is left in it: take it out, it is the last kid */
		lnest(p, seq)->kid.n--;
		lnest(p, home)->parent = 0;
	}
}

static void copy_for(struct copy *c, nest_id from, nest_id seq)
{
	struct loop_prog *p = c->p;
	if (lnest(p, from)->step) {
		copy_tiles(c, from, seq, lnest(p, from)->mark == LOOP_PARALLEL && p->threads > 1 ? ++c->teams : 0);
		return;
	}
	poly extent = copy_sub(c, lnest(p, from)->extent);
	int64_t n, *cut = ARENA_ARRAY(&p->arena, int64_t, lnest(p, from)->cut.n + 1);
	int ncut = 0;
	uint32_t team = lnest(p, from)->mark == LOOP_PARALLEL && p->threads > 1 ? ++c->teams : 0;
	bool call = lnest(p, from)->mark == LOOP_CALL;
	if (p->params.n && lnest(p, from)->part && !c->in_call && !poly_is_const(p->P, extent, NULL)) {
		copy_parts(c, from, seq, extent, team);
		return;
	}
	if (!poly_is_const(p->P, extent, &n) || call || c->in_call) {
		c->in_call |= call;
		copy_piece(c, from, poly_const(p->P, 0), extent, seq, team, NULL);
		c->in_call &= !call;
		return;
	}
	for (size_t i = 0; i < lnest(p, from)->cut.n; i++)
		cut[ncut++] = lnest(p, from)->cut.a[i];
	int64_t tail;
	if (lnest(p, from)->tail_at != POLY_UNKNOWN && poly_is_const(p->P, copy_sub(c, lnest(p, from)->tail_at), &tail))
		cut[ncut++] = tail;
	for (int i = 1; i < ncut; i++) /* insertion sort: they are few, or sorted already */
		for (int j = i; j > 0 && cut[j] < cut[j - 1]; j--) {
			int64_t t = cut[j];
			cut[j] = cut[j - 1];
			cut[j - 1] = t;
		}
	int64_t first = 0;
	for (int i = 0; i <= ncut && !c->why; i++) {
		int64_t end = i < ncut ? cut[i] : n;
		if (end > n)
			end = n;
		if (end <= first)
			continue;
		copy_piece(c, from, poly_const(p->P, first), poly_const(p->P, end - first), seq, team, NULL);
		first = end;
	}
}

static void copy_into(struct copy *c, nest_id from, nest_id seq)
{
	struct loop_prog *p = c->p;
	switch (lnest(p, from)->kind) {
	case NEST_SEQ:
		for (size_t i = 0; i < lnest(p, from)->kid.n && !c->why; i++)
			copy_into(c, lnest(p, from)->kid.a[i], seq);
		break;
	case NEST_FOR: copy_for(c, from, seq); break;
	case NEST_BLOCK: copy_block(c, from, seq); break;
	}
}

/* ---- where guards change (partition auto) ---- */

struct guards {
	nest_id loop, block;
	VEC(int64_t) at;
};

/* Where does the guard e >= 0 change over the loop's variable v? Write e = coef*v + rest. With the least rest it holds for all
 * values of the other loops from (coef < 0: up to) some v on, with the greatest for some of these values: cut at both. */
static void guard_points(struct loop_prog *p, struct guards *g, poly e)
{
	int64_t coef, lo, hi, n;
	poly rest;
	poly_var v = lnest(p, g->loop)->var;
	if (!poly_is_const(p->P, lnest(p, g->loop)->extent, &n) || !poly_linear_in(p->P, e, v, &coef, &rest) || !coef)
		return;
	poly_range(p->P, rest, &lo, &hi);
	const int64_t r[2] = {lo, hi};
	for (int i = 0; i < 2; i++) {
		if (r[i] == INT64_MIN || r[i] == INT64_MAX)
			continue;
		/* coef > 0: true from ceil(-r/coef) on; coef < 0: true up to floor(r/-coef) */
		int64_t a = coef > 0 ? -r[i] : r[i], b = coef > 0 ? coef : -coef;
		int64_t q = a >= 0 ? a / b : -((-a + b - 1) / b);
		int64_t point = coef > 0 ? q + (a > 0 && a % b != 0) : q + 1;
		if (point > 0 && point < n)
			vec_push(&g->at, point);
	}
}

static bool guard_fills(struct loop_prog *p, ex_id e, void *arg)
{
	struct guards *g = arg;
	for (int i = 0; lex(p, e)->kind == EX_GUARD && i < lex(p, e)->n; i++)
		guard_points(p, g, bind_poly(p, lnest(p, g->block), lex(p, e)->index[i]));
	return false;
}

const char *partition_auto(struct loop_prog *p, nest_id loop)
{
	enum { CUTS_MAX = 256 };
	struct guards g = {.loop = loop};
	int n;
	nest_id *block = nest_list(p, loop, 0, &n);
	for (int i = 0; i < n; i++) {
		struct nest *k = lnest(p, g.block = block[i]);
		for (size_t j = 0; j < k->guard.n; j++)
			guard_points(p, &g, k->guard.a[j]);
		if (k->phase == BLOCK_UPDATE)
			ex_find(p, lstage(p, k->stage)->body, guard_fills, &g);
	}
	for (size_t i = 0; i < g.at.n; i++) {
		bool twice = false;
		for (size_t j = 0; j < lnest(p, loop)->cut.n; j++)
			twice |= lnest(p, loop)->cut.a[j] == g.at.a[i];
		if (!twice && lnest(p, loop)->cut.n < CUTS_MAX)
			vec_push(&lnest(p, loop)->cut, g.at.a[i]);
	}
	vec_free(&g.at);
	return NULL;
}

/* ---- workspace ---- */

enum { ALIGN = 64, STACK_MAX = 256 << 10 };
static bool in_team(struct loop_prog *p, nest_id n)
{
	for (; n; n = lnest(p, n)->parent)
		if (lnest(p, n)->kind == NEST_FOR && lnest(p, n)->team)
			return true;
	return false;
}

/* Adds the bytes of b to *at; false: that is more than `most`. */
static bool add_bytes(struct loop_prog *p, buf_id b, int64_t most, int64_t *at)
{
	int64_t n = buf_elems(p, b), size = (int64_t)dtype_size(lbuf(p, b)->dtype);
	if (n > (most - *at) / size)
		return false;
	*at += n * size;
	return true;
}

static poly bytes_of(struct loop_prog *p, buf_id b)
{
	poly bytes = poly_mulc(p->P, buf_count(p, b), (int64_t)dtype_size(lbuf(p, b)->dtype));
	return poly_mulc(p->P, poly_ceildiv(p->P, bytes, ALIGN), ALIGN);
}

/* Offsets of the scratch buffers from byte *at on, which moves to their end: of those that threads share, or (private) of those that
 * each thread has for itself. NULL, or why not. */
static const char *place(struct loop_prog *p, bool private, int64_t *at, poly *start)
{
	for (buf_id b = 1; b < p->bufs.n; b++) {
		struct loop_buf *x = lbuf(p, b);
		if (x->scope != SCOPE_SCRATCH || !x->alloc || x->private != private)
			continue;
		x->offset = *at;
		if (p->params.n) {
			x->start = *start;
			*start = poly_add(p->P, *start, bytes_of(p, b));
			continue;
		}
		if (!add_bytes(p, b, WORKSPACE_MAX, at))
			return whynot(p, "scratch buffer %s: it is larger than any memory", sym_str(x->name));
		*at = (*at + ALIGN - 1) / ALIGN * ALIGN;
	}
	return NULL;
}

static const char *lay_out_varying(struct loop_prog *p, poly shared, poly end)
{
	int64_t lo;

	p->private_of = poly_sub(p->P, end, shared);
	p->workspace_of = poly_add(p->P, shared, poly_mulc(p->P, p->private_of, p->threads > 1 ? p->threads : 1));
	if (p->workspace_of == POLY_UNKNOWN)
		return "the size of its workspace cannot be written down";
	poly_range(p->P, p->private_of, &lo, &p->private);
	poly_range(p->P, p->workspace_of, &lo, &p->workspace);
	return lo > WORKSPACE_MAX ? "its workspace is larger than any memory" : NULL;
}

/* The workspace: first the shared buffers, then, for each thread, its private ones. Stack buffers are only counted. */
static const char *lay_out(struct loop_prog *p)
{
	int64_t stack = 0, shared = 0;
	for (buf_id b = 1; b < p->bufs.n; b++) {
		struct loop_buf *x = lbuf(p, b);
		if (x->scope < SCOPE_SCRATCH || !x->alloc)
			continue;
		if (p->params.n && !poly_is_const(p->P, buf_count(p, b), NULL)) {
			if (x->scope == SCOPE_REGISTER)
				return whynot(p, "register buffer %s: its size varies", sym_str(x->name));
			x->scope = SCOPE_SCRATCH;
		}
		if (x->scope == SCOPE_STACK && !add_bytes(p, b, STACK_MAX, &stack))
			return whynot(p, "stack buffer %s: more than %d KB on the stack", sym_str(x->name), STACK_MAX >> 10);
		x->private = in_team(p, x->alloc);
	}
	const char *why;
	poly at = poly_const(p->P, 0);
	if ((why = place(p, false, &shared, &at)))
		return why;
	int64_t end = shared;
	poly alone = at;
	if ((why = place(p, true, &end, &at)))
		return why;
	if (p->params.n)
		return lay_out_varying(p, alone, at);
	p->private = end - shared;
	p->workspace = shared + p->private * (p->threads > 1 ? p->threads : 1);
	return p->workspace > WORKSPACE_MAX ? whynot(p, "the workspaces of the threads are larger than any memory") : NULL;
}

/* ---- registers ---- */

struct registers {
	nest_id block;
	const char *why;
};

static void check_register(struct loop_prog *p, struct registers *r, buf_id b, const poly *index)
{
	nest_id loops[NEST_DEPTH_MAX];
	poly off = buf_offset(p, b, index);
	bool in_call = false;
	for (int n = nest_loops(p, r->block, loops), i = 0; i < n; i++) {
		const struct nest *l = lnest(p, loops[i]);
		in_call |= l->mark == LOOP_CALL;
		if (poly_uses(p->P, off, l->var) && !in_call && l->mark != LOOP_VECTOR && (l->mark != LOOP_UNROLL || l->unroll))
			r->why = whynot(p, "register buffer %s: its index varies in %s, which is neither unrolled nor a vector",
					sym_str(lbuf(p, b)->name), sym_str(l->name));
	}
}

static void check_register_read(struct loop_prog *p, ex_id read, void *arg)
{
	struct registers *r = arg;
	poly index[LOOP_RANK_MAX];
	if (lbuf(p, lex(p, read)->buf)->scope != SCOPE_REGISTER)
		return;
	for (int d = 0; d < lex(p, read)->n; d++)
		index[d] = bind_poly(p, lnest(p, r->block), lex(p, read)->index[d]);
	check_register(p, r, lex(p, read)->buf, index);
}

static const char *check_registers(struct loop_prog *p)
{
	int n = nest_blocks(p, p->root, 0, NULL, 0);
	nest_id *block = ARENA_ARRAY(&p->arena, nest_id, n + 1);
	nest_blocks(p, p->root, 0, block, n);
	struct registers r = {0};
	for (int i = 0; i < n && !r.why; i++) {
		const struct nest *k = lnest(p, r.block = block[i]);
		if (lbuf(p, lstage(p, k->stage)->out)->scope == SCOPE_REGISTER)
			check_register(p, &r, lstage(p, k->stage)->out, k->bind);
		if (k->phase == BLOCK_UPDATE)
			ex_reads(p, lstage(p, k->stage)->body, check_register_read, &r);
	}
	return r.why;
}

/* Buffers of the nest before the copy are dead: mark them by alloc 0. */
static void drop_dead_buffers(struct loop_prog *p)
{
	for (buf_id b = 1; b < p->bufs.n; b++)
		if (lbuf(p, b)->alloc && !nest_inside(p, lbuf(p, b)->alloc, p->root))
			lbuf(p, b)->alloc = 0;
}

/* Done before loops are cut, because pieces of one parallel loop run at the same time, too. */
static void check_parallel(struct loop_prog *p, nest_id n, void *arg)
{
	const char **why = arg;
	if (!*why && lnest(p, n)->kind == NEST_FOR && lnest(p, n)->mark == LOOP_PARALLEL)
		*why = parallel_races(p, n);
}

const char *loop_legalize(struct loop_prog *p)
{
	const char *why = find_windows(p);
	if (p->threads > 1)
		nest_walk(p, p->root, check_parallel, &why);
	if (why)
		return why;
	struct copy c = {.p = p};
	nest_id root = nest_seq(p, 0);
	for (buf_id b = 1; b < p->bufs.n; b++)
		if (lbuf(p, b)->alloc == p->root)
			lbuf(p, b)->alloc = root;
	nest_id old = p->root;
	p->root = root;
	copy_into(&c, old, root);
	vec_free(&c.stages);
	if (c.why)
		return c.why;
	drop_dead_buffers(p);
	p->legalized = true;
	if ((why = instr_settle(p)) || (why = check_registers(p)) || (why = hints_settle(p)))
		return why;
	return lay_out(p);
}
