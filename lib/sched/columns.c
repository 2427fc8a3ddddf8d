/* Template for reductions across rows that lie apart in memory, nothing of them used twice (global pooling, sums over leading axes):
 * the columns' sums wait in the first-level cache, and memory is walked in order, some rows at a time. Each of those is then
 * a stream of its own, and a sum is loaded and stored once for all of them. */
#include "sched/tile.h"

static double row_bytes(struct loop_prog *p, const struct tile *q) { return 4 * (double)lstage(p, q->anchor)->axis[q->vec_axis].extent; }

bool may_sum_in_memory(struct rule *r, const struct tile *q)
{
	return sums_strided_rows(r->p, q) && !q->borders && reduce_steps(r->p, q) > UNROLL_MAX &&
	       lstage(r->p, q->anchor)->axis[q->vec_axis].extent >= r->lanes;
}

/* Where registers hold all sums, memory is walked in order as well. */
bool sum_in_memory(struct rule *r, const struct tile *q)
{
	struct target m = rule_machine(r->p);

	return fit_sums_in_memory(&m, lstage(r->p, q->anchor)->axis[q->vec_axis].extent, reduce_steps(r->p, q) * row_bytes(r->p, q));
}

/* Columns whose sums, and rows of them, fill at most their share of the first-level cache; each thread has some. */
static int64_t usual_columns(struct loop_prog *p, int64_t all, int lanes)
{
	int64_t most = (int64_t)(fitted.block_share * (double)rule_machine(p).l1 / 4), threads = p->threads > 1 ? p->threads : 1;
	int64_t share = (all + threads - 1) / threads;

	if (share > most)
		share = most;
	return share >= all ? all : (share + lanes - 1) / lanes * lanes;
}

/* Splits the columns; each block's loop is outside, and the loops that are neither columns' nor reduced. The innermost of them, or root:
 * there a block's sums begin. NULL: lanes do not divide off. */
static const char *split_columns(struct rule *r, const struct tile *q, const char **vectors, const char **lane)
{
	struct loop_prog *p = r->p;
	const struct stage *s = lstage(p, q->anchor);
	int64_t all = s->axis[q->vec_axis].extent, columns = usual_columns(p, all, r->lanes);
	const char *v = axis_loop(r, q->anchor, q->vec_axis, ""), *last = "root";
	char *order = arena_str(&p->arena, "");

	for (int a = 0; a < s->nspatial; a++)
		if (a != q->vec_axis)
			order = arena_printf(&p->arena, "%s %s", order, last = axis_loop(r, q->anchor, a, ""));
	bool blocks = columns < all && rule_try(r, "split %s %lld %d tail=peel", v, (long long)columns, r->lanes);
	if (!blocks && !rule_try(r, "split %s %d tail=peel", v, r->lanes))
		return NULL;
	*vectors = arena_printf(&p->arena, "%s.%d", v, blocks);
	*lane = arena_printf(&p->arena, "%s.%d", v, blocks + 1);
	if (blocks)
		order = arena_printf(&p->arena, "%s %s", order, last = arena_printf(&p->arena, "%s.0", v));
	return rule_try(r, "reorder%s %s %s", order, *vectors, *lane) ? last : NULL;
}

/* Rows that are read side by side. */
static void sample_streams(struct rule *r, const struct tile *q, int64_t steps)
{
	struct target m = rule_machine(r->p);
	double row = row_bytes(r->p, q);
	int64_t choice[8], usual = fit_sums_streams(&m, row, reduce_steps(r->p, q) * row);
	int n = 0;

	for (int64_t k = 1; k <= FIT_STREAMS_MAX && k <= steps; k *= 2)
		choice[n++] = k;
	while (usual > choice[n - 1])
		usual /= 2;
	rule_sample(r, "streams", choice, n, usual);
}

bool rule_columns(struct rule *r, const struct tile *q)
{
	struct loop_prog *p = r->p;
	const struct stage *s = lstage(p, q->anchor);
	int red = s->naxes - 1;
	const char *name = sym_str(s->name), *axis = sym_str(s->axis[q->vec_axis].name), *rows = axis_loop(r, q->anchor, red, ""), *vectors,
		   *lane;

	sample_streams(r, q, s->axis[red].extent);
	const char *begin = split_columns(r, q, &vectors, &lane);
	if (!begin || !rule_try(r, "split %s streams tail=peel", rows))
		return false;
	rule_try(r, "init %s %s", name, begin);
	char *order = arena_str(&p->arena, "");
	for (int a = s->nspatial; a < red; a++)
		order = arena_printf(&p->arena, "%s %s", order, axis_loop(r, q->anchor, a, ""));
	rule_try(r, "reorder%s %s.0 %s %s.1 %s", order, rows, vectors, rows, lane);
	rule_try(r, "acc = cache %s %s %s register", name, name, vectors);
	rule_try(r, "unroll %s.1", rows);
	rule_try(r, "vector %s", lane);
	rule_try(r, "vector acc.load.%s", axis);
	rule_try(r, "vector acc.store.%s", axis);
	if (rule_try(r, "split %s.init.%s %d tail=peel", name, axis, r->lanes))
		rule_try(r, "vector %s.init.%s.1", name, axis);
	return true;
}
