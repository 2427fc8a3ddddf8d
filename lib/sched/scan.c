/* Template for programs that go on from step to step (recurrent networks, cumulative sums): sums outside of the scan are
 * tiles over all steps; in a step sums are tiles as well, the rest is vectors; the first step, which has none before it,
 * is cut off. */
#include <string.h>
#include "sched/template.h"

static bool in_scan(struct loop_prog *p, stage_id s) { return lstage(p, s)->scan && stage_scan_axis(lstage(p, s)) >= 0; }

/* The loop over the steps of stage s; 0: there is none. */
static nest_id steps_of(struct loop_prog *p, stage_id s)
{
	int n;
	nest_id *block = nest_list(p, p->root, s, &n);
	for (nest_id l = n ? block[0] : 0; l; l = lnest(p, l)->parent)
		if (nest_keeps_order(p, l))
			return l;
	return 0;
}

/* The extremes of what lies in rows, in each step: those of each lane in a register, then of the lanes. */
static void extremes_of_step(struct schedule *r, stage_id s)
{
	struct loop_prog *p = r->p;
	const struct stage *t = lstage(p, s);
	const char *name = sym_str(t->name), *part = sched_name(r, "%s_part", name), *acc = sched_name(r, "%s_acc", name);
	int64_t extent = t->axis[t->naxes - 1].extent;
	const char *red = axis_loop(r, s, t->naxes - 1, ""), *inner = axis_loop(r, s, t->nspatial - 1, "");
	const char *row = sched_name(r, "%s.%s", part, strrchr(inner, '.') + 1);
	const char *step = sched_name(r, "%s.%s.0", part, strrchr(red, '.') + 1);
	struct words order = {0};

	if (r->lanes < 2 || extent < r->lanes || t->nspatial < 2)
		return;
	for (int a = t->nspatial; a < t->naxes - 1; a++)
		words_add(&order, sched_name(r, "%s.%s", part, sym_str(t->axis[a].name)));
	words_add(&order, step);
	words_add(&order, sched_name(r, "%s.lane", part));
	if (!sched_try(r, PRIM_SPLIT, red, trace_number(r->lanes)) || !sched_make(r, part, PRIM_RFACTOR, name, loop_part(r, red, 1)))
		return;
	sched_try(r, PRIM_INIT, part, row);
	sched_list(r, NULL, PRIM_REORDER, &order);
	sched_make(r, acc, PRIM_CACHE, part, part, row, "register");
	sched_try(r, PRIM_UNROLL, row);
	sched_try(r, PRIM_VECTOR, sched_name(r, "%s.init.lane", part));
	sched_try(r, PRIM_VECTOR, sched_name(r, "%s.lane", part));
	sched_try(r, PRIM_VECTOR, sched_name(r, "%s.store.lane", acc));
	sched_try(r, PRIM_VECTOR, sched_name(r, "%s.lane", name));
	if (extent % r->lanes)
		sched_try(r, PRIM_PARTITION, step, "auto");
}

bool template_scan(struct schedule *r)
{
	struct loop_prog *p = r->p;
	bool any = false;
	for (stage_id s = 1; s < p->stages.n; s++)
		any |= stage_here(p, s) && in_scan(p, s);
	if (!any)
		return false;
	stage_id n = (stage_id)p->stages.n; /* tiles add stages */
	for (stage_id s = 1; s < n; s++) {
		if (!stage_here(p, s))
			continue;
		if (in_scan(p, s) && lstage(p, s)->comb == COMB_MAX)
			extremes_of_step(r, s);
		else if (lstage(p, s)->comb != COMB_NONE)
			template_tile(r, s);
		else if (in_scan(p, s))
			template_map(r, s);
	}
	nest_id last = 0;
	for (stage_id s = 1; s < n; s++) {
		nest_id steps = stage_here(p, s) && in_scan(p, s) ? steps_of(p, s) : 0;
		if (steps && steps != last)
			sched_try(r, PRIM_PARTITION, sym_str(lnest(p, steps)->name), "auto");
		last = steps;
	}
	return true;
}

/* Several products one after the other, as of a recurrent network's only step: each a tile, or of rows that are summed up where they
 * lie. */
bool template_sums(struct schedule *r)
{
	struct loop_prog *p = r->p;
	int sums = 0;

	for (stage_id s = 1; s < p->stages.n; s++) {
		if (!stage_here(p, s) || lstage(p, s)->comb == COMB_NONE)
			continue;
		if (lstage(p, s)->comb != COMB_SUM || !has_reuse(p, s))
			return false;
		sums++;
	}
	if (sums < 2)
		return false;
	for (stage_id s = 1, n = (stage_id)p->stages.n; s < n; s++) /* tiles add stages */
		if (stage_here(p, s) && lstage(p, s)->comb != COMB_NONE) {
			if (reads_rows_once(p, s, s))
				template_row_sum(r, s);
			else
				template_tile(r, s);
		}
	return true;
}
