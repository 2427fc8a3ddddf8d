/* The primitives that move a stage under a loop of another one: `at` (compute_at), `after` (the reverse: an epilogue) and `init`.
 *
 * `at` moves a producer under a loop of its reader and computes only the region that one iteration reads. It is legal if nothing
 * outside that loop reads the producer.
 * `after` moves a consumer, which lies whole after that loop, to the end of a loop of its producer and computes only the region that is
 * complete there. It is legal if
 * no reduction of the producer goes on outside the loop, if the consumer reads no other region, and if no element is computed twice.
 * `init` says at which loop a reduction starts from its identity. It is legal outside the reduction loops only.
 * All find regions with region_of, and fresh loops over them with nest_of_stage. */
#include <string.h>
#include "common/msg.h"
#include "loop/nest.h"
#include "loop/prim.h"

/* Does node a come before node b in program order? Neither contains the other. */
static bool before(struct loop_prog *p, nest_id a, nest_id b)
{
	nest_id pa[2 * NEST_DEPTH_MAX + 2], pb[2 * NEST_DEPTH_MAX + 2];
	int na = 0, nb = 0;
	for (; a && na < 2 * NEST_DEPTH_MAX; a = lnest(p, a)->parent)
		pa[na++] = a;
	for (; b && nb < 2 * NEST_DEPTH_MAX; b = lnest(p, b)->parent)
		pb[nb++] = b;
	while (na && nb && pa[na - 1] == pb[nb - 1])
		na--, nb--;
	if (!na || !nb)
		return false;
	return nest_index(p, pa[na - 1]) < nest_index(p, pb[nb - 1]);
}

/* The index of the first kid of seq that reads b; the number of kids if none does. */
static size_t first_reader(struct loop_prog *p, nest_id seq, buf_id b)
{
	for (size_t i = 0; i < lnest(p, seq)->kid.n; i++) {
		int n;
		nest_id *block = nest_list(p, lnest(p, seq)->kid.a[i], 0, &n);
		for (int k = 0; k < n; k++)
			if (lnest(p, block[k])->phase == BLOCK_UPDATE && stage_reads(p, lnest(p, block[k])->stage, b))
				return i;
	}
	return lnest(p, seq)->kid.n;
}

static void whole_region(struct loop_prog *p, stage_id s, poly *lo, poly *extent)
{
	for (int a = 0; a < lstage(p, s)->naxes; a++) {
		lo[a] = poly_const(p->P, 0);
		extent[a] = axis_size(p, &lstage(p, s)->axis[a]);
	}
}

/* A scan reads its own earlier steps, so its region must have all steps, and each element may read only its own history. NULL, or
 * why that does not hold. */
static const char *scan_whole(struct loop_prog *p, stage_id s, const poly *lo, const poly *extent)
{
	const struct stage *t = lstage(p, s);
	int scan = stage_scan_axis(t), n = stage_reads_of(p, s, NULL, 0);
	ex_id *read = ARENA_ARRAY(&p->arena, ex_id, n + 1);
	int64_t first;
	if (scan < 0)
		return NULL;
	if (!poly_is_const(p->P, lo[scan], &first) || first || extent[scan] != axis_size(p, &t->axis[scan]))
		return whynot(p, "%s is a scan and needs all its steps here", sym_str(t->name));
	stage_reads_of(p, s, read, n);
	for (int i = 0; i < n; i++)
		for (int d = 0; lex(p, read[i])->buf == t->out && d < lex(p, read[i])->n; d++)
			if (d != scan && lex(p, read[i])->index[d] != poly_of(p->P, t->axis[d].var))
				return whynot(p, "%s reads other elements of its earlier steps", sym_str(t->name));
	return NULL;
}

/* A stage and the loop to put it in; top: the nest of the stage, whole at the root, or beside the loop or what is around that. NULL, or why
 * the names name no such ones. */
static const char *find_both(struct loop_prog *p, const char *stage, const char *loop, bool at_root, stage_id *s, nest_id *l, nest_id *top)
{
	if (!(*s = stage_find(p, stage)))
		return whynot(p, "no stage %s", stage);
	if (!(*l = loop_find(p, loop)))
		return loop_missing(p, loop);
	*top = stage_whole(p, *s);
	for (nest_id n = at_root ? 0 : lnest(p, *l)->parent; n && !*top; n = lnest(p, n)->parent)
		*top = lnest(p, n)->kind == NEST_SEQ ? stage_whole_in(p, n, *s) : 0;
	if (!*top || nest_blocks(p, *top, *s, NULL, 0) != nest_blocks(p, p->root, *s, NULL, 0))
		return whynot(p, "%s has been moved or split already", stage);
	return nest_inside(p, *l, *top) ? whynot(p, "%s is a loop of %s itself", loop, stage) : NULL;
}

const char *prim_at(struct loop_prog *p, const char *stage, const char *loop)
{
	stage_id s = stage_find(p, stage);
	nest_id l, top;
	if (s && !strcmp(loop, "root"))
		return NULL; /* where it starts */
	const char *why = find_both(p, stage, loop, true, &s, &l, &top);
	if (why)
		return why;
	buf_id b = lstage(p, s)->out;
	if (lbuf(p, b)->scope == SCOPE_OUT)
		return whynot(p, "%s is a result of the kernel", stage);
	if ((why = sole_writer(p, s)) || (why = nest_fits(p, l, lstage(p, s)->naxes)))
		return why;
	int n;
	nest_id *block = nest_list(p, p->root, 0, &n);
	for (int i = 0; i < n; i++)
		if (lnest(p, block[i])->phase == BLOCK_UPDATE && stage_reads(p, lnest(p, block[i])->stage, b) &&
		    !nest_inside(p, block[i], l))
			return whynot(p, "%s is read outside %s, by %s", stage, loop, sym_str(lstage(p, lnest(p, block[i])->stage)->name));
	poly lo[LOOP_AXES_MAX], extent[LOOP_AXES_MAX];
	whole_region(p, s, lo, extent);
	if (!region_of(p, b, l, true, false, lo, extent))
		return whynot(p, "nothing under %s reads %s", loop, stage);
	if ((why = scan_whole(p, s, lo, extent)))
		return why;
	nest_remove(p, top);
	nest_id seq = nest_body(p, l);
	nest_insert(p, seq, first_reader(p, seq, b), nest_of_stage(p, s, lo, extent));
	return why;
}

/* What `after` learns from the reads of the consumer. */
struct after {
	nest_id loop;
	stage_id s;              /* the consumer */
	poly *lo, *extent;       /* the region of each of its axes; the whole axis until a read narrows it */
	bool set[LOOP_AXES_MAX]; /* which a read has narrowed */
	bool any;                /* it reads something that is computed in the loop */
	int nguard;              /* guards under which that is computed: they become guards of the consumer */
	poly guard[4 * REGION_GUARDS];
	const char *why; /* why not */
};

/* The producer is complete at the end of an iteration only if the loop and those around it are no reduction of its. */
static void check_producer(struct loop_prog *p, struct after *a, stage_id producer)
{
	nest_id around[NEST_DEPTH_MAX + 1];
	int n;
	nest_id *block = nest_list(p, a->loop, producer, &n);
	int k = nest_loops(p, a->loop, around);
	around[k++] = a->loop;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < k; j++) {
			poly_var v = lnest(p, around[j])->var;
			const struct stage *q = lstage(p, producer);
			for (int x = q->nspatial; x < q->naxes && lnest(p, block[i])->phase == BLOCK_UPDATE; x++)
				if (poly_uses(p->P, lnest(p, block[i])->bind[x], v))
					a->why = whynot(p, "%s is not complete in %s: %s is a reduction", sym_str(q->name),
							sym_str(lnest(p, a->loop)->name), sym_str(lnest(p, around[j])->name));
		}
}

static void after_read(struct loop_prog *p, ex_id read, void *arg)
{
	struct after *a = arg;
	buf_id b = lex(p, read)->buf;
	bool made = false;
	for (stage_id t = 1; t < p->stages.n && !a->why; t++) /* a buffer of accumulators has several writers */
		if (!lstage(p, t)->gone && lstage(p, t)->out == b && nest_blocks(p, a->loop, t, NULL, 0)) {
			made = true;
			check_producer(p, a, t);
		}
	if (a->why || !made)
		return;
	poly lo[LOOP_RANK_MAX], extent[LOOP_RANK_MAX], guard[REGION_GUARDS];
	int nguard;
	region_of(p, b, a->loop, false, true, lo, extent);
	a->why = region_exact(p, b, a->loop, lo, extent, guard, &nguard);
	for (int i = 0; i < nguard && !a->why; i++)
		if (a->nguard == 4 * REGION_GUARDS)
			a->why = whynot(p, "%s has too many guards", sym_str(lbuf(p, b)->name));
		else
			a->guard[a->nguard++] = guard[i];
	const struct stage *s = lstage(p, a->s);
	for (int d = 0; d < lex(p, read)->n && !a->why; d++) {
		int64_t l, e;
		bool all = poly_is_const(p->P, lo[d], &l) && l == 0 &&
			   (extent[d] == buf_dim(p, b, d) || (poly_is_const(p->P, extent[d], &e) && e >= lbuf(p, b)->shape[d]));
		if (all && d != lex(p, read)->dyn_dim) {
			a->any = true;
			continue;
		}
		int axis = -1;
		for (int x = 0; x < s->nspatial; x++)
			if (lex(p, read)->index[d] == poly_of(p->P, s->axis[x].var))
				axis = x;
		if (axis < 0 || d == lex(p, read)->dyn_dim) {
			a->why = whynot(p, "%s reads more of %s than is complete in %s", sym_str(s->name), sym_str(lbuf(p, b)->name),
					sym_str(lnest(p, a->loop)->name));
		} else if (s->axis[axis].size != lbuf(p, b)->dim[d] || s->axis[axis].extent > lbuf(p, b)->shape[d]) {
			a->why = whynot(p, "%s has a larger extent than %s", sym_str(s->name), sym_str(lbuf(p, b)->name));
		} else if (a->set[axis] && (a->lo[axis] != lo[d] || a->extent[axis] != extent[d])) {
			a->why = whynot(p, "%s reads two different parts under %s", sym_str(s->name), sym_str(lnest(p, a->loop)->name));
		} else {
			a->set[axis] = a->any = true;
			a->lo[axis] = lo[d];
			a->extent[axis] = extent[d];
		}
	}
}

struct operands {
	nest_id at; /* the new nest goes in at the end of this SEQ */
	nest_id loop;
	const char *why;
};

static void operand_ready(struct loop_prog *p, ex_id read, void *arg)
{
	struct operands *o = arg;
	int n;
	nest_id *block = nest_list(p, p->root, 0, &n);
	for (int i = 0; i < n && !o->why; i++) {
		const struct stage *w = lstage(p, lnest(p, block[i])->stage);
		if (w->out == lex(p, read)->buf && !nest_inside(p, block[i], o->loop) && !before(p, block[i], o->loop))
			o->why = whynot(p, "%s is computed later", sym_str(w->name));
	}
}

const char *prim_after(struct loop_prog *p, const char *stage, const char *loop)
{
	stage_id s;
	nest_id l, top;
	const char *why = find_both(p, stage, loop, false, &s, &l, &top);
	if (why || (why = sole_writer(p, s)) || (why = nest_fits(p, l, lstage(p, s)->naxes)))
		return why;
	poly lo[LOOP_AXES_MAX], extent[LOOP_AXES_MAX];
	whole_region(p, s, lo, extent);
	struct after a = {.loop = l, .s = s, .lo = lo, .extent = extent};
	ex_reads(p, lstage(p, s)->body, after_read, &a);
	if (a.why)
		return a.why;
	if (!a.any)
		return whynot(p, "%s reads nothing that is computed in %s", stage, loop);
	/* each iteration of the loops around must give other elements, or the same ones would be computed again */
	nest_id around[NEST_DEPTH_MAX + 1];
	int k = nest_loops(p, l, around);
	around[k++] = l;
	for (int j = 0; j < k; j++) {
		int64_t n;
		bool used = poly_is_const(p->P, lnest(p, around[j])->extent, &n) && n == 1;
		for (int x = 0; x < lstage(p, s)->nspatial; x++)
			used |= poly_uses(p->P, lo[x], lnest(p, around[j])->var);
		if (!used)
			return whynot(p, "%s would be computed again in each step of %s", stage, sym_str(lnest(p, around[j])->name));
	}
	if (scan_whole(p, s, lo, extent))
		return scan_whole(p, s, lo, extent);
	struct operands o = {.loop = l};
	ex_reads(p, lstage(p, s)->body, operand_ready, &o);
	if (o.why)
		return o.why;
	nest_remove(p, top);
	nest_id seq = nest_body(p, l), fresh = nest_of_stage(p, s, lo, extent);
	guard_nest(p, fresh, a.nguard, a.guard);
	nest_insert(p, seq, lnest(p, seq)->kid.n, fresh);
	return NULL;
}

const char *prim_init(struct loop_prog *p, const char *stage, const char *loop)
{
	stage_id s = stage_find(p, stage);
	if (!s)
		return whynot(p, "no stage %s", stage);
	if (lstage(p, s)->comb == COMB_NONE)
		return whynot(p, "%s is not a reduction", stage);
	nest_id init = 0, l = p->root;
	int n;
	nest_id *block = nest_list(p, p->root, s, &n);
	if (strcmp(loop, "root") && !(l = loop_find(p, loop)))
		return loop_missing(p, loop);
	for (int i = 0; i < n; i++) {
		if (lnest(p, block[i])->phase == BLOCK_INIT) {
			if (init)
				return whynot(p, "%s is set to its identity in two places", stage);
			init = block[i];
			continue;
		}
		if (!nest_inside(p, block[i], l))
			return whynot(p, "%s is not inside %s", stage, loop);
		nest_id around[NEST_DEPTH_MAX];
		for (int k = nest_loops(p, block[i], around), j = 0; j < k; j++)
			if (lnest(p, around[j])->reduce && lnest(p, around[j])->of == s && nest_inside(p, l, around[j]))
				return whynot(p, "%s is inside the reduction %s", loop, sym_str(lnest(p, around[j])->name));
			else if ((lnest(p, around[j])->overlap || lnest(p, around[j])->of != s) && around[j] != l &&
				 nest_inside(p, around[j], l))
				return whynot(p, "iterations of %s compute the same elements again", sym_str(lnest(p, around[j])->name));
	}
	if (!init)
		return whynot(p, "%s has no init left to move", stage);
	poly lo[LOOP_AXES_MAX], extent[LOOP_AXES_MAX];
	whole_region(p, s, lo, extent);
	region_of(p, lstage(p, s)->out, l, false, true, lo, extent);
	poly guard[REGION_GUARDS];
	int nguard;
	const char *why = region_exact(p, lstage(p, s)->out, l, lo, extent, guard, &nguard);
	if (why || (why = nest_fits(p, l, lstage(p, s)->nspatial)))
		return why;
	nest_remove(p, init);
	nest_id seq = nest_body(p, l), fresh = nest_of_phase(p, s, BLOCK_INIT, "init.", lo, extent);
	guard_nest(p, fresh, nguard, guard);
	size_t at = 0;
	for (size_t i = 0; i < lnest(p, seq)->kid.n; i++)
		if (nest_blocks(p, lnest(p, seq)->kid.a[i], s, NULL, 0)) {
			at = i;
			break;
		}
	nest_insert(p, seq, at, fresh);
	return NULL;
}
