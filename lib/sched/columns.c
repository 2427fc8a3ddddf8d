/* Template for sums over rows that are strided in memory, without reuse (global pooling, sums over leading axes). The columns' sums stay in
 * the first-level cache, and memory is read in order, a few rows side by side: each row is a stream, and a sum is loaded and stored
 * once for all of them. */
#include "sched/tile.h"

/* Iterations of a loop of known extent. */
static bool loop_steps(struct loop_prog *p, const char *loop, int64_t *steps)
{
	nest_id n = loop_find(p, loop);

	return n && poly_is_const(p->P, lnest(p, n)->extent, steps);
}

static double row_bytes(struct loop_prog *p, const struct tile *q) { return 4 * (double)lstage(p, q->anchor)->axis[q->vec_axis].extent; }

bool may_sum_in_memory(struct schedule *r, const struct tile *q)
{
	return sums_strided_rows(r->p, q) && !q->borders && reduce_steps(r->p, q) > UNROLL_MAX &&
	       lstage(r->p, q->anchor)->axis[q->vec_axis].extent >= r->lanes;
}

/* If registers hold all sums, memory is read in order anyway. */
bool sum_in_memory(struct schedule *r, const struct tile *q)
{
	struct target m = sched_machine(r->p);

	return fit_sums_in_memory(&m, lstage(r->p, q->anchor)->axis[q->vec_axis].extent, reduce_steps(r->p, q) * row_bytes(r->p, q));
}

/* Columns in a block: sums and rows fit their share of the first-level cache, and each thread has a block. */
static int64_t usual_columns(struct loop_prog *p, int64_t all, int lanes)
{
	int64_t most = (int64_t)(fitted.block_share * (double)sched_machine(p).l1 / 4), threads = p->threads > 1 ? p->threads : 1;
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
static void sample_streams(struct schedule *r, const struct tile *q, int64_t steps)
{
	struct target m = sched_machine(r->p);
	double row = row_bytes(r->p, q);
	int64_t choice[8], usual = fit_sums_streams(&m, row, reduce_steps(r->p, q) * row);
	int n = 0;

	for (int64_t k = 1; k <= FIT_STREAMS_MAX && k <= steps; k *= 2)
		choice[n++] = k;
	while (usual > choice[n - 1])
		usual /= 2;
	sched_sample(r, "streams", choice, n, usual);
}

/* Sums of a line of columns each, in vectors. */
static void sum_in_levels(struct schedule *r, const struct tile *q, const char *rows, struct words *made)
{
	struct loop_prog *p = r->p;
	const struct stage *s = lstage(p, q->anchor);
	const char *axis = sym_str(s->axis[q->vec_axis].name),
		   *outer = s->naxes - s->nspatial > 1 ? axis_loop(r, q->anchor, s->nspatial, "") : rows;
	int64_t steps = s->axis[s->nspatial].extent, all = 1, terms;

	for (int a = s->nspatial; a < s->naxes; a++)
		all *= s->axis[a].extent;
	if (outer == rows && !loop_steps(p, rows, &steps))
		return;
	terms = (all + steps - 1) / steps;
	sched_levels(r, sym_str(s->name), outer, (struct long_sum){steps, terms, all, CHAIN_OF_TERMS, 2 * CHAIN_OF_TERMS, LEVELS_OPEN},
		     "scratch", made);
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

	sample_streams(r, q, s->axis[red].extent);
	const char *begin = split_columns(r, q, &vectors, &lane);
	if (!begin || !sched_try(r, PRIM_SPLIT, rows, "streams", "tail=peel"))
		return false;
	sched_try(r, PRIM_INIT, name, begin);
	struct words order = {0};
	for (int a = s->nspatial; a < red; a++)
		words_add(&order, axis_loop(r, q->anchor, a, ""));
	words_add(&order, loop_part(r, rows, 0));
	words_add(&order, vectors);
	words_add(&order, loop_part(r, rows, 1));
	words_add(&order, lane);
	sched_list(r, NULL, PRIM_REORDER, &order);
	struct words made = {0};
	sum_in_levels(r, q, loop_part(r, rows, 0), &made);
	sched_make(r, "acc", PRIM_CACHE, made.n ? made.word[made.n - 1] : name, name, vectors, "register");
	sched_try(r, PRIM_UNROLL, loop_part(r, rows, 1));
	sched_try(r, PRIM_VECTOR, lane);
	sched_try(r, PRIM_VECTOR, sched_name(r, "acc.load.%s", axis));
	sched_try(r, PRIM_VECTOR, sched_name(r, "acc.store.%s", axis));
	if (sched_try(r, PRIM_SPLIT, sched_name(r, "%s.init.%s", name, axis), trace_number(r->lanes), "tail=peel"))
		sched_try(r, PRIM_VECTOR, sched_name(r, "%s.init.%s.1", name, axis));
	return true;
}
