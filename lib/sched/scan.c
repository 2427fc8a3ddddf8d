/* Template for programs that go on from step to step (recurrent networks, cumulative sums): sums outside of the scan are
 * tiles over all steps; in a step sums are tiles as well, the rest is vectors; the first step, which has none before it,
 * is cut off. */
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

bool template_scan(struct schedule *r)
{
	struct loop_prog *p = r->p;
	bool any = false;
	for (stage_id s = 1; s < p->stages.n; s++)
		any |= !lstage(p, s)->gone && in_scan(p, s);
	if (!any)
		return false;
	for (stage_id s = 1, n = (stage_id)p->stages.n; s < n; s++) { /* tiles add stages */
		if (lstage(p, s)->gone)
			continue;
		if (in_scan(p, s) && lstage(p, s)->comb == COMB_MAX) /* a range: a few numbers of one row, left as plain loops */
			continue;
		if (lstage(p, s)->comb != COMB_NONE)
			template_tile(r, s);
		else if (in_scan(p, s))
			template_map(r, s);
	}
	nest_id last = 0;
	for (stage_id s = 1; s < p->stages.n; s++) {
		nest_id steps = !lstage(p, s)->gone && in_scan(p, s) ? steps_of(p, s) : 0;
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
		if (lstage(p, s)->gone || lstage(p, s)->comb == COMB_NONE)
			continue;
		if (lstage(p, s)->comb != COMB_SUM || !has_reuse(p, s))
			return false;
		sums++;
	}
	if (sums < 2)
		return false;
	for (stage_id s = 1, n = (stage_id)p->stages.n; s < n; s++) /* tiles add stages */
		if (!lstage(p, s)->gone && lstage(p, s)->comb != COMB_NONE) {
			if (reads_rows_once(p, s, s))
				template_row_sum(r, s);
			else
				template_tile(r, s);
		}
	return true;
}
