/* Primitives that make new stages: cache, rfactor. */
#include <string.h>
#include "common/msg.h"
#include "loop/math.h"
#include "loop/nest.h"
#include "loop/prim.h"

static const char *axis_names(struct loop_prog *p, const struct stage *s)
{
	char *names = arena_str(&p->arena, "");
	for (int a = 0; a < s->nspatial; a++)
		names = arena_printf(&p->arena, "%s%s ", names, sym_str(s->axis[a].name));
	return names;
}

/* A buffer of the type and shape of b, row-major. */
static buf_id buf_like(struct loop_prog *p, const char *name, buf_id b, enum scope scope)
{
	struct loop_buf x = *lbuf(p, b);
	buf_id made = buf_new(p, name, x.dtype, scope, x.rank, x.shape);
	memcpy(lbuf(p, made)->dim, x.dim, sizeof x.dim);
	memcpy(lbuf(p, made)->size, x.dim, sizeof x.dim);
	return made;
}

static stage_id stage_like(struct loop_prog *p, const char *name, buf_id b, enum scope scope, const char *axes)
{
	sym u = stage_unused_name(p, name);
	return stage_into(p, sym_str(u), buf_like(p, sym_str(u), b, scope), axes);
}

/* A stage that copies buffer `from` to `to` (0: a new buffer called name). Not placed anywhere. */
static stage_id copy_stage(struct loop_prog *p, buf_id from, buf_id to, enum scope scope, const char *name, const char *axes)
{
	struct loop_buf b = *lbuf(p, from);
	stage_id c = to ? stage_into(p, name, to, axes) : stage_like(p, name, from, scope, axes);
	poly index[LOOP_RANK_MAX];
	for (int d = 0; d < b.rank; d++)
		index[d] = stage_axis(p, c, d);
	stage_body(p, c, COMB_NONE, ex_read(p, from, b.rank, index));
	return c;
}

/* NULL if what is copied under l, the box at lo, is there by then: where b is computed in a loop that l shares, the box
 * lies in what one iteration of that loop computes. */
static const char *is_ready(struct loop_prog *p, buf_id b, nest_id l, const poly *lo, const poly *extent)
{
	struct polys *P = p->P;
	int n;
	nest_id *block = nest_list(p, p->root, 0, &n);
	for (int i = 0; i < n; i++) {
		if (lstage(p, lnest(p, block[i])->stage)->out != b)
			continue;
		nest_id shared = l;
		while (shared && (lnest(p, shared)->kind != NEST_FOR || !nest_inside(p, block[i], shared)))
			shared = lnest(p, shared)->parent;
		if (!shared)
			continue;
		poly from[LOOP_RANK_MAX], size[LOOP_RANK_MAX];
		region_of(p, b, shared, false, true, from, size);
		for (int d = 0; d < lbuf(p, b)->rank; d++) {
			int64_t before, after, most, end;
			poly made = poly_add(P, from[d], size[d]);
			poly_range(P, poly_sub(P, lo[d], from[d]), &before, &most);
			poly_range(P, poly_sub(P, made, poly_add(P, lo[d], extent[d])), &after, &most);
			bool all = made == buf_dim(p, b, d) || (poly_is_const(P, made, &end) && end >= lbuf(p, b)->shape[d]);
			if (before < 0 || (after < 0 && !all))
				return whynot(p, "the copy of %s would be larger than what %s computes of it", sym_str(lbuf(p, b)->name),
					      sym_str(lnest(p, shared)->name));
		}
	}
	return NULL;
}

static bool has_guard(const struct nest *block, poly e)
{
	for (size_t i = 0; i < block->guard.n; i++)
		if (block->guard.a[i] == e)
			return true;
	return false;
}

/* Where no reader under l runs, its copy does not either: what it would read may not be there. */
static void guard_copy(struct loop_prog *p, nest_id copy, stage_id s, nest_id l)
{
	int n, first = 0;
	nest_id *block = nest_list(p, l, s, &n), around[NEST_DEPTH_MAX];
	while (first + 1 < n && lnest(p, block[first])->phase == BLOCK_INIT)
		first++;
	int k = nest_loops(p, block[first], around);
	for (size_t g = 0; g < lnest(p, block[first])->guard.n; g++) {
		poly e = lnest(p, block[first])->guard.a[g];
		bool common = true;
		for (int i = 0; i < k; i++)
			common &= around[i] == l || !nest_inside(p, around[i], l) || !poly_uses(p->P, e, lnest(p, around[i])->var);
		for (int i = first + 1; i < n; i++)
			common &= lnest(p, block[i])->phase == BLOCK_INIT || has_guard(lnest(p, block[i]), e);
		if (common)
			guard_nest(p, copy, 1, &e);
	}
}

static const char *cache_read(struct loop_prog *p, buf_id b, stage_id s, nest_id l, enum scope scope, const char *name)
{
	int n;
	nest_id *block = nest_list(p, p->root, s, &n);
	for (int i = 0; i < n; i++)
		if (lnest(p, block[i])->phase == BLOCK_UPDATE && !nest_inside(p, block[i], l))
			return whynot(p, "%s is not wholly inside the loop", sym_str(lstage(p, s)->name));
	nest_id seq = nest_body(p, l);
	size_t at = lnest(p, seq)->kid.n;
	for (size_t i = 0; i < lnest(p, seq)->kid.n && at == lnest(p, seq)->kid.n; i++)
		if (nest_blocks(p, lnest(p, seq)->kid.a[i], s, NULL, 0))
			at = i;
	for (size_t i = at; i < lnest(p, seq)->kid.n; i++) {
		int m;
		nest_id *made = nest_list(p, lnest(p, seq)->kid.a[i], 0, &m);
		for (int j = 0; j < m; j++)
			if (lstage(p, lnest(p, made[j])->stage)->out == b)
				return whynot(p, "%s is computed inside the loop, after the copy", sym_str(lbuf(p, b)->name));
	}
	/* the reader's body reads the copy from now on, so the region is what is read of the copy */
	stage_id c = copy_stage(p, b, 0, scope, name, "");
	buf_id copy = lstage(p, c)->out;
	ex_id old = lstage(p, s)->body, body = ex_rebuf(p, old, 1, &b, &copy);
	lstage(p, s)->body = body;
	poly lo[LOOP_AXES_MAX], extent[LOOP_AXES_MAX];
	region_of(p, copy, l, true, false, lo, extent);
	const char *why = is_ready(p, b, l, lo, extent);
	if (why) { /* the copy's stage and buffer are the last ones */
		lstage(p, s)->body = old;
		p->stages.n--;
		p->bufs.n--;
		prog_names_forget(p);
		return why;
	}
	nest_id nest = nest_of_stage(p, c, lo, extent);
	guard_copy(p, nest, s, l);
	nest_insert(p, seq, at, nest);
	return NULL;
}

/* The identity of s is still set in b, outside, by a stage of its own. */
static void identity_apart(struct loop_prog *p, stage_id s, buf_id b, const char *axes, int n, const nest_id *block)
{
	stage_id zero = 0;

	for (int i = 0; i < n; i++) {
		struct nest *k = lnest(p, block[i]);
		if (k->phase != BLOCK_INIT)
			continue;
		if (!zero) {
			zero = stage_into(p, arena_printf(&p->arena, "%s.init", sym_str(lstage(p, s)->name)), b, axes);
			stage_body(p, zero, COMB_NONE, ex_new(p, identity_const(lstage(p, s)->comb, lbuf(p, b)->dtype)));
		}
		k = lnest(p, block[i]);
		k->stage = zero;
		k->phase = BLOCK_UPDATE;
	}
}

/* Accumulators: under l stage s works on a copy of its result. adds: the copy begins with the identity, and is added to the result. */
static const char *cache_write(struct loop_prog *p, stage_id s, nest_id l, enum scope scope, const char *name, bool adds)
{
	buf_id b = lstage(p, s)->out;
	int n;
	nest_id *block = nest_list(p, p->root, s, &n);
	bool init_inside = false;
	for (int i = 0; i < n; i++) {
		bool inside = nest_inside(p, block[i], l);
		if (lnest(p, block[i])->phase == BLOCK_INIT)
			init_inside |= inside;
		else if (!inside)
			return whynot(p, "%s is not wholly inside the loop", sym_str(lstage(p, s)->name));
	}
	if (adds && (init_inside || lstage(p, s)->comb != COMB_SUM))
		return whynot(p, "%s is no sum that begins outside the loop", sym_str(lstage(p, s)->name));
	if (stage_reads(p, s, b))
		return whynot(p, "%s reads what it wrote in earlier steps", sym_str(lstage(p, s)->name));
	int m;
	nest_id *all = nest_list(p, l, 0, &m);
	for (int i = 0; i < m; i++)
		if (lnest(p, all[i])->stage != s &&
		    (stage_reads(p, lnest(p, all[i])->stage, b) || lstage(p, lnest(p, all[i])->stage)->out == b))
			return whynot(p, "%s touches %s inside the loop", sym_str(lstage(p, lnest(p, all[i])->stage)->name),
				      sym_str(lbuf(p, b)->name));
	poly lo[LOOP_AXES_MAX], extent[LOOP_AXES_MAX];
	region_of(p, b, l, false, true, lo, extent);
	poly guard[REGION_GUARDS];
	int nguard;
	const char *why = region_exact(p, b, l, lo, extent, guard, &nguard);
	if (why)
		return why;
	const char *axes = axis_names(p, lstage(p, s));
	struct loop_buf shape = *lbuf(p, b);
	buf_id acc = buf_like(p, name, b, scope);
	lbuf(p, acc)->layout = shape.layout;
	nest_id seq = nest_body(p, l);
	stage_id out = copy_stage(p, acc, b, 0, arena_printf(&p->arena, "%s.store", name), axes);
	if (adds)
		lstage(p, out)->comb = COMB_SUM;
	nest_id copy = adds ? nest_of_phase(p, out, BLOCK_UPDATE, "", lo, extent) : nest_of_stage(p, out, lo, extent);
	guard_nest(p, copy, nguard, guard);
	nest_insert(p, seq, lnest(p, seq)->kid.n, copy);
	if (init_inside || lstage(p, s)->comb == COMB_NONE) {
		lstage(p, s)->out = acc;
		return NULL;
	}
	/* the sum so far comes in */
	stage_id in = copy_stage(p, b, acc, 0, arena_printf(&p->arena, "%s.load", name), axes);
	if (adds)
		stage_body(p, in, COMB_NONE, ex_new(p, identity_const(COMB_SUM, shape.dtype)));
	copy = nest_of_stage(p, in, lo, extent);
	guard_nest(p, copy, nguard, guard);
	nest_insert(p, seq, 0, copy);
	identity_apart(p, s, b, axes, n, block);
	lstage(p, s)->out = acc;
	return NULL;
}

/* NULL if something new may be called that. (Names stand in comments of the C, among other places.) */
static const char *bad_name(struct loop_prog *p, const char *name)
{
	static const char chars[] = ".0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	if (strspn(name, chars) != strlen(name) || !strspn(name, strchr(chars, '_')))
		return whynot(p, "%s is no name: letters, digits, _ and ., a letter or _ first", name);
	return buf_find(p, name) || stage_find(p, name) ? whynot(p, "there is a %s already", name) : NULL;
}

const char *prim_cache(struct loop_prog *p, const char *buf, const char *stage, const char *loop, enum scope scope, const char *name)
{
	buf_id b = buf_find(p, buf);
	stage_id s = stage_find(p, stage);
	nest_id l = strcmp(loop, "root") ? loop_find(p, loop) : p->root;
	if (!b || !s || !l)
		return whynot(p, "no %s %s", !b ? "buffer" : !s ? "stage" : "loop", !b ? buf : !s ? stage : loop);
	if (scope < SCOPE_SCRATCH)
		return "scope is scratch, stack or register";
	const char *why = bad_name(p, name);
	if (why || (why = nest_fits(p, l, lbuf(p, b)->rank)))
		return why;
	if (lstage(p, s)->out == b)
		return cache_write(p, s, l, scope, name, false);
	if (!stage_reads(p, s, b))
		return whynot(p, "%s does not touch %s", stage, buf);
	return cache_read(p, b, s, l, scope, name);
}

const char *prim_partial(struct loop_prog *p, const char *stage, const char *loop, enum scope scope, const char *name)
{
	stage_id s = stage_find(p, stage);
	nest_id l = loop_find(p, loop);

	if (!s || !l)
		return whynot(p, "no %s %s", !s ? "stage" : "loop", !s ? stage : loop);
	if (scope < SCOPE_SCRATCH)
		return "scope is scratch, stack or register";
	const char *why = bad_name(p, name);
	if (why || (why = nest_fits(p, l, lbuf(p, lstage(p, s)->out)->rank)))
		return why;
	return cache_write(p, s, l, scope, name, true);
}

/* A sum of varying length is cut where its last lanes are too many. */
static void part_sums(struct loop_prog *p, nest_id n, void *arg)
{
	if (lnest(p, n)->kind == NEST_FOR && lnest(p, n)->reduce && !poly_is_const(p->P, lnest(p, n)->extent, NULL))
		lnest(p, n)->part = true;
}

/* 1: the first of the k loops around the update of s is over the steps of a scan, which other stages stand in too; else 0. */
static int steps_around(struct loop_prog *p, stage_id s, const nest_id *around, int k)
{
	return k && stage_scan_axis(lstage(p, s)) >= 0 && lnest(p, around[0])->scan && nest_blocks(p, around[0], 0, NULL, 0) > 2;
}

/* Is the nest of s, at the root or in the `steps` loops of a scan, still as its stage made it, but for splits and order of reduce loops? around: the
 * k loops of update. */
static const char *factor_fits(struct loop_prog *p, stage_id s, const char *stage, nest_id update, const nest_id *around, int k, int steps)
{
	for (int i = steps; i < k; i++)
		if (lnest(p, around[i])->of != s || !prog_fixed(p, lnest(p, around[i])->extent) || lnest(p, around[i])->cut.n ||
		    lnest(p, around[i])->step)
			return whynot(p, "%s is scheduled already", stage);
	if (sole_writer(p, s))
		return sole_writer(p, s);
	if (k <= steps || nest_blocks(p, around[steps], 0, NULL, 0) != 2 ||
	    lnest(p, around[steps])->parent != (steps ? nest_body(p, around[0]) : p->root))
		return whynot(p, "%s is not at the root", stage);
	for (int a = 0; a < lstage(p, s)->nspatial; a++) {
		poly at = poly_of(p->P, lnest(p, around[steps + a])->var);
		if (steps && a == stage_scan_axis(lstage(p, s)))
			at = poly_add(p->P, poly_of(p->P, lnest(p, around[0])->var), at);
		if (lnest(p, update)->bind[a] != at)
			return whynot(p, "%s is scheduled already", stage);
	}
	return NULL;
}

/* The whole of a stage as nest number `place` of the root; scan: of what one iteration of that loop over steps runs, the whole of its step. */
static nest_id place_whole(struct loop_prog *p, stage_id s, nest_id scan, size_t place)
{
	poly lo[LOOP_AXES_MAX], extent[LOOP_AXES_MAX];

	for (int a = 0; a < lstage(p, s)->naxes; a++) {
		bool step = scan && a == stage_scan_axis(lstage(p, s));
		lo[a] = step ? poly_of(p->P, lnest(p, scan)->var) : poly_const(p->P, 0);
		extent[a] = step ? poly_const(p->P, 1) : axis_size(p, &lstage(p, s)->axis[a]);
	}
	nest_id made = nest_of_stage(p, s, lo, extent);
	nest_insert(p, scan ? nest_body(p, scan) : p->root, place, made);
	return made;
}

/* The part's axes: the spatial ones of s, the factored loop, then a reduce axis for each other reduce loop. */
const char *prim_rfactor(struct loop_prog *p, const char *stage, const char *loop, const char *name)
{
	stage_id s = stage_find(p, stage);
	nest_id l = loop_find(p, loop), block[3], around[NEST_DEPTH_MAX];
	if (!s || !l)
		return whynot(p, "no %s %s", s ? "loop" : "stage", s ? loop : stage);
	if (!lnest(p, l)->reduce || lnest(p, l)->of != s)
		return whynot(p, "%s is no reduce loop of %s", loop, stage);
	const char *why = bad_name(p, name);
	if (why)
		return why;
	int n = nest_blocks(p, p->root, s, block, 3);
	if (n != 2 || lnest(p, block[0])->phase != BLOCK_INIT)
		return whynot(p, "%s is scheduled already", stage);
	nest_id update = block[1];
	int k = nest_loops(p, update, around), steps = steps_around(p, s, around, k);
	if ((why = factor_fits(p, s, stage, update, around, k, steps)))
		return why;
	struct stage old = *lstage(p, s);
	struct loop_buf b = *lbuf(p, old.out);
	int64_t lanes, shape[LOOP_RANK_MAX];
	if (!poly_is_const(p->P, lnest(p, l)->extent, &lanes))
		return whynot(p, "%s has an extent that varies", loop);
	if (b.rank == LOOP_RANK_MAX || k > LOOP_AXES_MAX || b.scope == SCOPE_OUT)
		return whynot(p, "%s has too many axes, or is a result", stage);
	poly guard[16];
	int ng = (int)lnest(p, update)->guard.n;
	if (ng > 16)
		return whynot(p, "%s has too many guards", stage);
	memcpy(shape, b.shape, sizeof shape);
	shape[b.rank] = lanes;
	sym partial = stage_unused_name(p, name);
	buf_id parts = buf_new(p, sym_str(partial), b.dtype, SCOPE_SCRATCH, b.rank + 1, shape);
	memcpy(lbuf(p, parts)->dim, b.dim, sizeof *b.dim * (size_t)b.rank);
	memcpy(lbuf(p, parts)->size, b.dim, sizeof *b.dim * (size_t)b.rank);
	stage_id part = stage_into(p, sym_str(partial), parts, arena_printf(&p->arena, "%slane", axis_names(p, &old)));
	/* loop variables of the old nest as axes of the part, then old axes as bindings in those */
	poly_var lv[NEST_DEPTH_MAX], av[LOOP_AXES_MAX];
	poly by[NEST_DEPTH_MAX], at[LOOP_AXES_MAX];
	for (int i = 0; i < k; i++) {
		lv[i] = lnest(p, around[i])->var;
		by[i] = i < steps                  ? poly_const(p->P, 0)
			: i - steps < old.nspatial ? stage_axis(p, part, i - steps)
			: around[i] == l           ? stage_axis(p, part, old.nspatial)
						   : stage_reduce_over(p, part, strchr(sym_str(lnest(p, around[i])->name), '.') + 1,
								       lnest(p, around[i])->extent);
	}
	for (int a = 0; a < old.naxes; a++) {
		av[a] = old.axis[a].var;
		at[a] = poly_subst_many(p->P, lnest(p, update)->bind[a], k, lv, by);
	}
	for (int i = 0; i < ng; i++)
		guard[i] = poly_subst_many(p->P, lnest(p, update)->guard.a[i], k, lv, by);
	ex_id none = ex_new(p, identity_const(old.comb, b.dtype));
	stage_body(p, part, old.comb, ex_guard(p, ng, guard, ex_subst(p, old.body, old.naxes, av, at), none));
	if (stage_scan_axis(&old) >= 0)
		stage_scan(p, part, stage_scan_axis(&old), old.scan);
	/* s combines the parts */
	lstage(p, s)->naxes = old.nspatial;
	poly index[LOOP_RANK_MAX];
	for (int a = 0; a < old.nspatial; a++)
		index[a] = stage_axis(p, s, a);
	index[old.nspatial] = stage_reduce(p, s, "lane", lanes);
	stage_body(p, s, old.comb, ex_read(p, lstage(p, part)->out, b.rank + 1, index));
	size_t place = nest_index(p, around[steps]);
	nest_id scan = steps ? around[0] : 0;
	nest_remove(p, around[steps]);
	nest_id sums = place_whole(p, part, scan, place);
	if (p->params.n)
		nest_walk(p, sums, part_sums, NULL);
	place_whole(p, s, scan, place + 1);
	return NULL;
}
