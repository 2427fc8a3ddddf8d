/* Template for large windows of pooling, which are reduced in two stages: first along all axes but the last, then along the last. The
 * lines between the stages stay in the first-level cache: those of a plane if they fit, else those that one line of results needs. */
#include "sched/tile.h"

struct windows {
	stage_id lines, all, result; /* result: the elementwise stage that follows; 0: there is none */
	int v, last;                 /* vectors lie along v; the second stage combines along last */
	int order[LOOP_RANK_MAX], n; /* axes from the outside in, but for v if that is another one than last */
};

/* The first or the last spatial axis of s that a window of its only read slides along; -1: none. */
static int window_axis(struct loop_prog *p, stage_id s, ex_id read, bool first)
{
	const struct stage *t = lstage(p, s);
	int found = -1;

	for (int a = 0; a < t->nspatial; a++)
		for (int d = 0; d < lex(p, read)->n; d++)
			for (int k = t->nspatial; k < t->naxes && poly_uses(p->P, lex(p, read)->index[d], t->axis[a].var); k++)
				if (poly_uses(p->P, lex(p, read)->index[d], t->axis[k].var) && (found < 0 || !first))
					found = a;
	return found;
}

static bool find_windows(struct loop_prog *p, struct windows *w)
{
	ex_id read[READS_MAX];
	int n = 0;

	for (stage_id s = 1; s < p->stages.n; s++)
		if (stage_here(p, s) && lstage(p, s)->comb != COMB_NONE) {
			n++;
			w->lines = w->lines ? w->lines : s;
		}
	w->all = n == 2 ? sched_sole_reader(p, w->lines) : 0;
	if (!w->all || lstage(p, w->all)->comb != lstage(p, w->lines)->comb ||
	    lstage(p, w->all)->nspatial != lstage(p, w->lines)->nspatial || stage_all_reads(p, w->all, read) != 1 ||
	    (w->last = window_axis(p, w->all, read[0], false)) < 0)
		return false;
	w->result = sched_sole_reader(p, w->all);
	if (w->result && (lstage(p, w->result)->comb != COMB_NONE || lstage(p, w->result)->nspatial != lstage(p, w->all)->nspatial))
		w->result = 0;
	return true;
}

/* Loops in memory order. If the windows' last axis is not the contiguous one, the loop over vectors is outermost. */
static void find_order(struct loop_prog *p, struct windows *w)
{
	const struct loop_buf *b = lbuf(p, lstage(p, w->result ? w->result : w->all)->out);
	int rank = lstage(p, w->all)->nspatial;

	w->v = contiguous_axis(p, w->result ? w->result : w->all);
	w->n = 0;
	for (int i = 0; i < rank; i++) {
		int a = b->layout.n == rank ? b->layout.part[i].axis : i;
		if (a != w->v || a == w->last)
			w->order[w->n++] = a;
	}
}

/* Orders the loops of s: vectors along v innermost. The loop in which its sums begin. */
static const char *order_stage(struct schedule *r, const struct windows *w, stage_id s, int from)
{
	struct loop_prog *p = r->p;
	const char *v = axis_loop(r, s, w->v, ""), *name = sym_str(lstage(p, s)->name), *home = loop_part(r, v, 0);
	struct words outer = {.gap = w->v == w->last}, inner = {0};

	if (!sched_try(r, PRIM_SPLIT, v, trace_number(r->lanes), "tail=peel"))
		return NULL;
	if (w->v != w->last)
		words_add(&outer, home);
	for (int i = from; i < w->n; i++) {
		home = w->order[i] == w->v ? loop_part(r, v, 0) : axis_loop(r, s, w->order[i], "");
		words_add(&outer, home);
	}
	words_add(&outer, loop_part(r, v, 1));
	sched_list(r, NULL, PRIM_REORDER, &outer);
	sched_try(r, PRIM_INIT, name, home);
	for (int k = lstage(p, s)->nspatial; k < lstage(p, s)->naxes; k++)
		words_add(&inner, axis_loop(r, s, k, ""));
	words_add(&inner, loop_part(r, v, 1));
	sched_list(r, NULL, PRIM_REORDER, &inner);
	return home;
}

/* Vectors of what only sets or writes the sums of stage s, in loops NEST.AXIS. */
static void mark_vectors(struct schedule *r, stage_id s, const char *nest, int v)
{
	const struct stage *t = lstage(r->p, s);
	const char *loop = sched_name(r, "%s.%s", nest, sym_str(t->axis[v].name));
	struct words order = {0};

	for (int i = 0; i < t->nspatial; i++)
		if (i != v)
			words_add(&order, sched_name(r, "%s.%s", nest, sym_str(t->axis[i].name)));
	words_add(&order, loop);
	if (v != t->nspatial - 1)
		sched_list(r, NULL, PRIM_REORDER, &order);
	if (sched_try(r, PRIM_SPLIT, loop, trace_number(r->lanes))) {
		sched_try(r, PRIM_UNROLL, loop_part(r, loop, 0));
		sched_try(r, PRIM_VECTOR, loop_part(r, loop, 1));
	}
}

/* Fully unrolls the taps of a stage if they are few: borders are then known for each. */
static bool unroll_taps(struct schedule *r, stage_id s)
{
	const struct stage *t = lstage(r->p, s);
	double taps = 1;

	for (int k = t->nspatial; k < t->naxes; k++)
		taps *= (double)t->axis[k].extent;
	for (int k = t->nspatial; k < t->naxes && taps <= UNROLL_MAX; k++)
		sched_try(r, PRIM_UNROLL, axis_loop(r, s, k, ""));
	return taps <= UNROLL_MAX;
}

/* The loop of the second stage in which lines are computed: outside a plane if its share of the first-level cache holds the plane's
 * lines, else outside one line of results. *from: the first axis inside, as an index of the order. */
static const char *lines_loop(struct schedule *r, const struct windows *w, int *from)
{
	struct loop_prog *p = r->p;
	const struct stage *s = lstage(p, w->lines);
	ex_id read[READS_MAX];
	double bytes = w->v == w->last ? 4 : 4.0 * r->lanes;
	int first = stage_all_reads(p, w->lines, read) ? window_axis(p, w->lines, read[0], true) : -1, at = 0;

	while (at < w->n && w->order[at] != first)
		at++;
	for (int i = at; i < w->n; i++)
		bytes *= (double)s->axis[w->order[i]].extent;
	if (at == w->n || bytes > BLOCK_SHARE * (double)sched_machine(p)->l1)
		for (at = 0; at < w->n && w->order[at] != w->last;)
			at++;
	*from = at;
	if (w->v != w->last && (at == 0 || w->order[at] == first))
		return axis_loop(r, w->all, w->v, ".0");
	return at == 0 ? "root" : axis_loop(r, w->all, w->order[at - 1], "");
}

/* Partitions loops at borders: the middle piece has no fills. */
static void cut_borders(struct schedule *r, const struct windows *w, int from)
{
	ex_id read[READS_MAX];
	int first = stage_all_reads(r->p, w->lines, read) ? window_axis(r->p, w->lines, read[0], true) : 0, i = 0;

	while (i < w->n && w->order[i] != first)
		i++;
	for (; i < w->n; i++)
		if (w->order[i] != w->v)
			sched_try(r, PRIM_PARTITION, axis_loop(r, i < from ? w->all : w->lines, w->order[i], ""), "auto");
}

static void schedule_lines(struct schedule *r, const struct windows *w, const char *loop, int from)
{
	struct loop_prog *p = r->p;
	const char *name = sym_str(lstage(p, w->lines)->name), *acc = sched_fresh(r, "acc"), *home;

	if (!sched_try(r, PRIM_AT, name, loop))
		return;
	if (!(home = order_stage(r, w, w->lines, from)) || !sched_make(r, acc, PRIM_CACHE, name, name, home, "register"))
		return;
	if (unroll_taps(r, w->lines))
		cut_borders(r, w, from);
	sched_try(r, PRIM_VECTOR, axis_loop(r, w->lines, w->v, ".1"));
	mark_vectors(r, w->lines, sched_name(r, "%s.init", name), w->v);
	mark_vectors(r, w->lines, sched_name(r, "%s.store", acc), w->v);
}

bool template_windows(struct schedule *r)
{
	struct loop_prog *p = r->p;
	struct windows w = {0};
	const char *home;
	int from;

	if (!find_windows(p, &w))
		return false;
	find_order(p, &w);
	const struct loop_buf *out = lbuf(p, lstage(p, w.result ? w.result : w.all)->out);
	const char *name = sym_str(lstage(p, w.all)->name), *sums = sched_fresh(r, "sums");
	if (out->layout.n == out->rank) /* lines have the result's layout */
		sched_layout(r, sym_str(lbuf(p, lstage(p, w.lines)->out)->name), &out->layout);
	if (!stage_in_lanes(p, w.lines) || !stage_in_lanes(p, w.all) || !(home = order_stage(r, &w, w.all, 0))) {
		sched_try(r, PRIM_AT, sym_str(lstage(p, w.lines)->name), w.last ? axis_loop(r, w.all, w.last - 1, "") : "root");
		return true;
	}
	if (w.result && sched_try(r, PRIM_AFTER, sym_str(lstage(p, w.result)->name), home)) {
		sched_try(r, PRIM_SCOPE, name, "register");
		mark_vectors(r, w.result, sym_str(lstage(p, w.result)->name), w.v);
	} else if (sched_make(r, sums, PRIM_CACHE, name, name, home, "register")) {
		mark_vectors(r, w.all, sched_name(r, "%s.store", sums), w.v);
	}
	unroll_taps(r, w.all);
	sched_try(r, PRIM_VECTOR, axis_loop(r, w.all, w.v, ".1"));
	mark_vectors(r, w.all, sched_name(r, "%s.init", name), w.v);
	const char *loop = lines_loop(r, &w, &from);
	schedule_lines(r, &w, loop, from);
	return true;
}

bool template_windows_apart(struct schedule *r)
{
	struct loop_prog *p = r->p;
	ex_id read[READS_MAX];
	stage_id end = (stage_id)p->stages.n;
	int reductions = 0, done = 0;

	for (stage_id s = 1; s < end; s++) {
		bool slides = false;
		if (!stage_here(p, s) || lstage(p, s)->comb == COMB_NONE)
			continue;
		for (int n = stage_all_reads(p, s, read), i = 0; i < n; i++)
			slides |= window_axis(p, s, read[i], true) >= 0;
		if (!slides || reduces_rows(p, s) || !stage_whole(p, s))
			return false;
		reductions++;
	}
	if (reductions < 2)
		return false;
	for (stage_id s = 1; s < end; s++)
		if (stage_here(p, s) && lstage(p, s)->comb != COMB_NONE)
			done += template_tile(r, s);
	return done > 0;
}
