/* Template for sums over rows that are strided in memory, without reuse (global pooling, sums over leading axes). The columns' sums stay in
 * the first-level cache, and memory is read in order, a few rows side by side: each row is a stream, and a sum is loaded and stored
 * once for all of them. */
#include "sched/tile.h"

enum { STREAMS_MAX = 16 };

static double row_bytes(struct loop_prog *p, const struct tile *q) { return 4 * (double)lstage(p, q->anchor)->axis[q->vec_axis].extent; }

bool may_sum_in_memory(struct schedule *r, const struct tile *q)
{
	return sums_strided_rows(r->p, q) && !q->borders && reduce_steps(r->p, q) > UNROLL_MAX &&
	       lstage(r->p, q->anchor)->axis[q->vec_axis].extent >= r->lanes;
}

/* If registers hold all sums, memory is read in order anyway. Else they take a piece of each row: a short one is no stream, and beyond the
 * second-level cache pieces of any length are none. */
bool sum_in_memory(struct schedule *r, const struct tile *q)
{
	enum { STREAM_BYTES = 512 };
	const struct target *m = sched_machine(r->p);
	int64_t vectors = apart_vectors(r->p);

	return lstage(r->p, q->anchor)->axis[q->vec_axis].extent > vectors * r->lanes &&
	       (vectors * m->vector_bytes < STREAM_BYTES || reduce_steps(r->p, q) * row_bytes(r->p, q) > (double)m->l2);
}

/* Rows read side by side: as many as half of the first-level cache holds, a few from the levels beyond. */
static int64_t usual_streams(struct loop_prog *p, const struct tile *q)
{
	enum { OF_L2 = 4, BEYOND_L2 = 8 };
	const struct target *m = sched_machine(p);
	double row = row_bytes(p, q);

	if (STREAMS_MAX * row <= (double)m->l1 / 2)
		return STREAMS_MAX;
	return reduce_steps(p, q) * row > (double)m->l2 ? BEYOND_L2 : OF_L2;
}

/* Columns in a block: sums and rows fit their share of the first-level cache, and each thread has a block. */
static int64_t usual_columns(struct loop_prog *p, int64_t all, int lanes)
{
	int64_t most = (int64_t)(BLOCK_SHARE * (double)sched_machine(p)->l1 / 4), threads = p->threads > 1 ? p->threads : 1;
	int64_t share = (all + threads - 1) / threads;

	if (share > most)
		share = most;
	return share >= all ? all : (share + lanes - 1) / lanes * lanes;
}

/* Splits the columns into blocks and vectors, the loop over blocks outside. The loop in which a block's sums begin, or root; NULL: it cannot
 * be split. */
static const char *split_columns(struct schedule *r, const struct tile *q, const char **vectors, const char **lane)
{
	struct loop_prog *p = r->p;
	const struct stage *s = lstage(p, q->anchor);
	struct words order = {0};
	int64_t all = s->axis[q->vec_axis].extent, columns = usual_columns(p, all, r->lanes);
	const char *v = axis_loop(r, q->anchor, q->vec_axis, ""), *last = "root";

	for (int a = 0; a < s->nspatial; a++)
		if (a != q->vec_axis)
			words_add(&order, last = axis_loop(r, q->anchor, a, ""));
	bool blocks = columns < all && sched_try(r, PRIM_SPLIT, v, trace_number(columns), trace_number(r->lanes), "tail=peel");
	if (!blocks && !sched_try(r, PRIM_SPLIT, v, trace_number(r->lanes), "tail=peel"))
		return NULL;
	*vectors = loop_part(r, v, blocks);
	*lane = loop_part(r, v, blocks + 1);
	if (blocks)
		words_add(&order, last = loop_part(r, v, 0));
	words_add(&order, *vectors);
	words_add(&order, *lane);
	return sched_list(r, NULL, PRIM_REORDER, &order) ? last : NULL;
}

/* Samples how many rows are read side by side. */
static int64_t sample_streams(struct schedule *r, const struct tile *q, int64_t steps)
{
	int64_t choice[8], usual = usual_streams(r->p, q);
	int n = 0;

	for (int64_t k = 1; k <= STREAMS_MAX && k <= steps; k *= 2)
		choice[n++] = k;
	while (usual > choice[n - 1])
		usual /= 2;
	return sched_sample(r, "streams", choice, n, usual);
}

/* Splits the loop of rows: `streams` are read side by side, and where it is all that is summed over, levels of a long sum. How many levels;
 * -1: it cannot be split. */
static int split_rows(struct schedule *r, const struct tile *q, const char *rows, int64_t streams)
{
	const struct stage *s = lstage(r->p, q->anchor);
	int64_t all = s->axis[s->nspatial].extent, steps = all / streams, factor[LEVELS_MAX];
	struct words split = {0};
	int n = s->naxes - s->nspatial > 1
			? 0
			: sched_level_factors(r, sym_str(s->name), (struct long_sum){steps, streams, all, false}, factor);

	words_add(&split, rows);
	for (int i = n; i-- > 0;)
		words_add(&split, trace_number(factor[i]));
	words_add(&split, "streams");
	words_add(&split, "tail=peel");
	return sched_list(r, NULL, PRIM_SPLIT, &split) ? n : -1;
}

/* Sums of a line of columns each, in vectors, for n levels of the loop of rows, or for those of the outermost that is summed over. */
static void sum_in_levels(struct schedule *r, const struct tile *q, const char *rows, int n, struct words *made)
{
	const struct stage *s = lstage(r->p, q->anchor);
	const char *name = sym_str(s->name), *axis = sym_str(s->axis[q->vec_axis].name);
	int64_t steps = s->axis[s->nspatial].extent, all = 1;

	for (int a = s->nspatial; a < s->naxes; a++)
		all *= s->axis[a].extent;
	if (s->naxes - s->nspatial > 1)
		sched_levels(r, name, axis_loop(r, q->anchor, s->nspatial, ""), (struct long_sum){steps, all / steps, all, false},
			     "scratch", made);
	else
		sched_partials(r, name, rows, n, "scratch", made);
	for (int i = 0; i < made->n; i++)
		for (int k = 0; k < 2; k++) {
			const char *loop = sched_name(r, "%s.%s.%s", made->word[i], k ? "store" : "load", axis);
			if (sched_try(r, PRIM_SPLIT, loop, trace_number(r->lanes), "tail=peel"))
				sched_try(r, PRIM_VECTOR, loop_part(r, loop, 1));
		}
}

bool template_columns(struct schedule *r, const struct tile *q)
{
	struct loop_prog *p = r->p;
	const struct stage *s = lstage(p, q->anchor);
	int red = s->naxes - 1;
	const char *name = sym_str(s->name), *axis = sym_str(s->axis[q->vec_axis].name), *rows = axis_loop(r, q->anchor, red, ""), *vectors,
		   *lane;

	int64_t streams = sample_streams(r, q, s->axis[red].extent);
	const char *begin = split_columns(r, q, &vectors, &lane);
	int n = begin ? split_rows(r, q, rows, streams) : -1;
	if (n < 0)
		return false;
	sched_try(r, PRIM_INIT, name, begin);
	struct words order = {0};
	for (int a = s->nspatial; a < red; a++)
		words_add(&order, axis_loop(r, q->anchor, a, ""));
	for (int i = 0; i <= n; i++)
		words_add(&order, loop_part(r, rows, i));
	words_add(&order, vectors);
	words_add(&order, loop_part(r, rows, n + 1));
	words_add(&order, lane);
	sched_list(r, NULL, PRIM_REORDER, &order);
	struct words made = {0};
	sum_in_levels(r, q, rows, n, &made);
	const char *acc = sched_fresh(r, "acc");
	sched_make(r, acc, PRIM_CACHE, made.n ? made.word[made.n - 1] : name, name, vectors, "register");
	sched_try(r, PRIM_UNROLL, loop_part(r, rows, n + 1));
	sched_try(r, PRIM_VECTOR, lane);
	sched_try(r, PRIM_VECTOR, sched_name(r, "%s.load.%s", acc, axis));
	sched_try(r, PRIM_VECTOR, sched_name(r, "%s.store.%s", acc, axis));
	if (sched_try(r, PRIM_SPLIT, sched_name(r, "%s.init.%s", name, axis), trace_number(r->lanes), "tail=peel"))
		sched_try(r, PRIM_VECTOR, sched_name(r, "%s.init.%s.1", name, axis));
	return true;
}
