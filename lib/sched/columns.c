/* Template for reductions across rows that lie apart in memory, nothing of them used twice (global pooling, sums over leading axes):
 * the columns' sums wait in the first level of cache, and memory is walked in order, some rows at a time. Each of those is then
 * a stream of its own, and a sum is loaded and stored once for all of them. */
#include "target/target.h"
#include "sched/tile.h"

enum { ROWS = 4, ROWS_BEYOND_L2 = 8, ROWS_MAX = 16 };

/* Global pooling, Zen 3: 14x14 or 7x7 of 480 channels and more, in the second level of cache, takes 0.96 to 1.1 with 8 rows of the time
 * with 4, and 1.05 to 1.7 with 16; of 672, beyond it, 0.96 and 1.02. 16 short rows are one stream (144 and 240 channels, 0.93 to 1.0). */
static int64_t usual_rows(struct loop_prog *p, const struct tile *q)
{
	struct target m = target_filled(p->target);
	double columns = (double)lstage(p, q->anchor)->axis[q->v].extent, row = 4 * columns;

	if (ROWS_MAX * row <= (double)m.l1 / 2)
		return ROWS_MAX;
	return reduce_steps(p, q) * row > (double)m.l2 ? ROWS_BEYOND_L2 : ROWS;
}

bool may_sum_columns(struct rule *r, const struct tile *q)
{
	return sums_rows_apart(r->p, q) && !q->fills && reduce_steps(r->p, q) > WRITTEN_OUT_MAX &&
	       lstage(r->p, q->anchor)->axis[q->v].extent >= r->lanes;
}

/* Of the time of sums in registers, 96 to 4000 channels, 20 sizes, Zen 3: 0.58 to 1.0 but for 7x7 of 96 and 1000 channels, eight of
 * each (1.06, 1.14). Where those registers hold all sums, memory is walked in order as well. With 32, in halves: 56x56 of 144 channels,
 * beyond the second level of cache, 0.68; in it (240 to 1280 channels) 0.99 to 1.05. */
bool better_columns(struct rule *r, const struct tile *q)
{
	struct target m = target_filled(r->p->target);
	int64_t columns = lstage(r->p, q->anchor)->axis[q->v].extent;

	if (m.vector_regs > 16)
		return in_halves(r->p) && columns > VECTORS_MAX * r->lanes && reduce_steps(r->p, q) * 4 * (double)columns > (double)m.l2;
	return columns > VECTORS_APART * r->lanes;
}

/* Columns whose sums, and rows of them, are at most half of the first level; each thread has some. */
static int64_t usual_columns(struct loop_prog *p, int64_t all, int lanes)
{
	int64_t l1 = target_filled(p->target).l1, most = l1 / 2 / 4, threads = p->threads > 1 ? p->threads : 1;
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
	int64_t all = s->axis[q->v].extent, columns = usual_columns(p, all, r->lanes);
	const char *v = axis_loop(r, q->anchor, q->v, ""), *last = "root";
	char *order = arena_str(&p->arena, "");

	for (int a = 0; a < s->nspatial; a++)
		if (a != q->v)
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
	int64_t choice[8], usual = usual_rows(r->p, q);
	int n = 0;

	for (int64_t k = 1; k <= ROWS_MAX && k <= steps; k *= 2)
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
	const char *name = sym_str(s->name), *axis = sym_str(s->axis[q->v].name), *rows = axis_loop(r, q->anchor, red, ""), *vectors, *lane;

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
