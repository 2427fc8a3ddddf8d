/* Template for reductions along the contiguous axis (softmax, layer normalisation, row sums): row by row, everything
 * of a row under one loop so that it stays in the first level of cache; each reduction is split over lanes first. */
#include <string.h>
#include "loop/rule.h"

/* The reduction over lanes: a partial stage a lane, combined at the end. */
static void lanes_of(struct rule *r, stage_id s, const char *row)
{
	struct loop_prog *p = r->p;
	const char *name = sym_str(lstage(p, s)->name);
	int last = lstage(p, s)->naxes - 1;
	int64_t extent = lstage(p, s)->axis[last].extent;
	int wide = extent >= 8 * r->lanes ? 4 : 1, lanes = wide * r->lanes;
	const char *red = axis_loop(r, s, last, "");
	const char *part = arena_printf(&p->arena, "%s_part", name);
	if (extent < r->lanes || !rule_try(r, "split %s %d", red, lanes))
		goto place;
	if (!rule_try(r, "%s = rfactor %s %s.1", part, name, red))
		goto place;
	if (!rule_try(r, "at %s %s", name, row)) { /* it is a result as well, or read by one: it keeps its own rows */
		if (!lstage(p, s)->nspatial)
			return;
		row = axis_loop(r, s, lstage(p, s)->nspatial - 1, "");
	}
	if (!rule_try(r, "at %s %s", part, row))
		return;
	const char *lane = arena_printf(&p->arena, "%s.lane", part);
	const char *step = arena_printf(&p->arena, "%s.%s.0", part, strrchr(red, '.') + 1);
	/* the lane loop is the innermost spatial one of the part: init goes before the steps, then lanes inside */
	rule_try(r, "scope %s register", part);
	rule_try(r, "init %s %s", part, row);
	if (wide > 1)
		rule_try(r, "split %s %d", lane, r->lanes);
	rule_try(r, wide > 1 ? "reorder %s %s.0 %s.1" : "reorder %s %s", step, lane, lane);
	if (wide > 1) {
		rule_try(r, "unroll %s.0", lane);
		rule_try(r, "vector %s.1", lane);
		rule_try(r, "split %s.init.lane %d", part, r->lanes);
		rule_try(r, "unroll %s.init.lane.0", part);
		rule_try(r, "vector %s.init.lane.1", part);
		rule_try(r, "split %s.lane %d", name, r->lanes);
		rule_try(r, "unroll %s.lane.0", name);
		rule_try(r, "vector %s.lane.1", name);
	} else {
		rule_try(r, "vector %s", lane);
		rule_try(r, "vector %s.init.lane", part);
		rule_try(r, "vector %s.lane", name);
	}
	return;
place:
	rule_try(r, "at %s %s", name, row);
}

bool rule_rows(struct rule *r, stage_id result)
{
	struct loop_prog *p = r->p;
	const struct stage *t = lstage(p, result);
	/* the rows are the axes of the result that the reductions keep: all but the last, or all */
	int last = t->nspatial - 1;
	int64_t reduced = 0;
	for (stage_id s = 1; s < p->stages.n; s++)
		if (!lstage(p, s)->gone && lstage(p, s)->comb != COMB_NONE)
			reduced = lstage(p, s)->axis[lstage(p, s)->naxes - 1].extent;
	bool keeps_last = last >= 0 && t->axis[last].extent == reduced;
	int row_axis = keeps_last ? last - 1 : last;
	if (row_axis < 0)
		return false;
	const char *row = axis_loop(r, result, row_axis, "");
	stage_id order[64];
	int n = 0;
	for (stage_id s = (stage_id)p->stages.n - 1; s > 0 && n < 64; s--)
		if (!lstage(p, s)->gone && s != result)
			order[n++] = s;
	for (int i = 0; i < n; i++) {
		if (lstage(p, order[i])->comb != COMB_NONE) {
			lanes_of(r, order[i], row);
			continue;
		}
		int v = lstage(p, order[i])->nspatial - 1;
		if (!rule_try(r, "at %s %s", sym_str(lstage(p, order[i])->name), row) || v < 0)
			continue;
		if (rule_try(r, "split %s %d tail=peel", axis_loop(r, order[i], v, ""), r->lanes))
			rule_try(r, "vector %s", axis_loop(r, order[i], v, ".1"));
	}
	if (keeps_last && rule_try(r, "split %s %d tail=peel", axis_loop(r, result, last, ""), r->lanes))
		rule_try(r, "vector %s", axis_loop(r, result, last, ".1"));
	return true;
}
