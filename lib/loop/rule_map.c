/* Template for elementwise stages and copies: loops in memory order, vectors along the contiguous axis. */
#include <string.h>
#include "loop/rule.h"

void rule_map(struct rule *r, stage_id s)
{
	struct loop_prog *p = r->p;
	const struct loop_buf *b = lbuf(p, lstage(p, s)->out);
	int v = contiguous_axis(p, s);
	if (v < 0)
		return;
	if (b->layout.n && b->layout.n == b->rank) { /* a permutation: loops outermost first */
		char *order = arena_str(&p->arena, "");
		for (int i = 0; i < b->layout.n; i++)
			order = arena_printf(&p->arena, "%s %s", order, axis_loop(r, s, b->layout.part[i].axis, ""));
		rule_try(r, "reorder%s", order);
	}
	/* fills: the middle, where there are none, gets loops of its own */
	for (int a = 0; a < lstage(p, s)->nspatial; a++)
		if (a != v && lex(p, lstage(p, s)->body)->kind == EX_GUARD)
			rule_try(r, "partition %s auto", axis_loop(r, s, a, ""));
	if (b->dtype != DT_F32 || lstage(p, s)->axis[v].extent < r->lanes / 2)
		return;
	if (lstage(p, s)->axis[v].extent <= r->lanes) {
		rule_try(r, "vector %s", axis_loop(r, s, v, ""));
		return;
	}
	if (rule_try(r, "split %s %d tail=peel", axis_loop(r, s, v, ""), r->lanes))
		rule_try(r, "vector %s", axis_loop(r, s, v, ".1"));
}
