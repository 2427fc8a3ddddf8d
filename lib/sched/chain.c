/* Template for two products with reductions of rows between them (attention: scores, softmax, values). Rows of the second product are taken
 * in blocks; all before it is computed under the loop over blocks, so that the rows between the products stay in the second-level cache.
 * Panels of the first product's other operand are packed outside of that loop. */
#include <stdlib.h>
#include "sched/template.h"

struct chain {
	stage_id first, second; /* the products */
	stage_id rows;          /* the stage that the second one multiplies */
	stage_id bent;          /* the elementwise stage that alone reads the first one's sums (scale, mask), and is kept; 0: none */
	size_t n;               /* stages there are at first */
	int *axis;              /* by stage: its axis along the rows + 1; 0: it is not between the products */
	bool *depends;          /* by stage: on the first product */
};

static void find_depending(struct loop_prog *p, struct chain *q)
{
	for (bool more = true; more;) {
		more = false;
		for (stage_id s = 1; s < p->stages.n; s++)
			for (stage_id t = 1; t < p->stages.n && !q->depends[s] && stage_here(p, s); t++)
				if ((t == q->first || q->depends[t]) && s != t && stage_here(p, t) && stage_reads(p, s, lstage(p, t)->out))
					more = q->depends[s] = true;
	}
}

/* Exactly two sums that reuse what they read, one of which depends on the other. */
static bool find_products(struct loop_prog *p, struct chain *q)
{
	stage_id found[2];
	int n = 0;

	for (stage_id s = 1; s < p->stages.n; s++) {
		const struct stage *t = lstage(p, s);
		if (!stage_here(p, s) || t->scan || t->comb != COMB_SUM || !has_reuse(p, s))
			continue;
		if (n == 2 || t->naxes != t->nspatial + 1)
			return false;
		found[n++] = s;
	}
	for (int i = 0; n == 2 && i < 2; i++) {
		*q = (struct chain){.first = found[i], .second = found[1 - i], .n = q->n, .axis = q->axis, .depends = q->depends};
		for (stage_id s = 0; s < p->stages.n; s++)
			q->depends[s] = false;
		find_depending(p, q);
		if (q->depends[q->second])
			return true;
	}
	return false;
}

/* Follows rows from a stage, whose axis of them is known, to those that it reads. False: they are no rows there. */
static bool follow_rows(struct loop_prog *p, struct chain *q, stage_id s)
{
	int n = stage_reads_of(p, s, NULL, 0), row = q->axis[s] - 1;
	ex_id *read = ARENA_ARRAY(&p->arena, ex_id, n + 1);

	stage_reads_of(p, s, read, n);
	for (int i = 0; i < n; i++) {
		const struct ex *x = lex(p, read[i]);
		stage_id t = writer_here(p, x->buf);
		int at = -1;
		if (!t || (t != q->first && !q->depends[t]))
			continue;
		for (int d = 0; d < x->n; d++)
			if (x->index[d] == stage_axis(p, s, row))
				at = at < 0 ? d : x->n;
			else if (poly_uses(p->P, x->index[d], lstage(p, s)->axis[row].var))
				return false;
		if (at < 0 || at >= x->n || x->dyn_dim >= 0 || at >= lstage(p, t)->nspatial || lstage(p, t)->scan)
			return false;
		if (q->axis[t] && q->axis[t] != at + 1)
			return false;
		bool known = q->axis[t];
		q->axis[t] = at + 1;
		if (t != q->first && !known && !follow_rows(p, q, t))
			return false;
	}
	return true;
}

/* The rows of the second product: the axis that what depends on the first one has, and what it is multiplied with has not. */
static bool find_rows(struct loop_prog *p, struct chain *q)
{
	const struct stage *s = lstage(p, q->second);
	ex_id read[READS_MAX];
	int n = stage_all_reads(p, q->second, read);

	for (int i = 0; i < n; i++) {
		stage_id t = writer_here(p, lex(p, read[i])->buf);
		if (t && q->depends[t])
			q->rows = q->rows && q->rows != t ? 0 : t;
	}
	for (int a = 0; q->rows && a < s->nspatial; a++) {
		bool rows = s->axis[a].extent > 1;
		for (int i = 0; i < n; i++)
			rows &= read_uses(p, read[i], s->axis[a].var) == (lex(p, read[i])->buf == lstage(p, q->rows)->out);
		if (rows && (!q->axis[q->second] || s->axis[a].extent > s->axis[q->axis[q->second] - 1].extent))
			q->axis[q->second] = a + 1;
	}
	return q->rows && q->axis[q->second] && lstage(p, q->rows)->comb == COMB_NONE && follow_rows(p, q, q->second) && q->axis[q->first];
}

static bool find_chain(struct loop_prog *p, struct chain *q) { return find_products(p, q) && find_rows(p, q); }

/* The elementwise stage between the products that alone reads the first one's sums, in the places where they are. */
static stage_id bent_sums(struct loop_prog *p, const struct chain *q)
{
	stage_id s = sched_sole_reader(p, q->first);
	ex_id read[READS_MAX];

	if (!s || s == q->rows || !q->axis[s] || lstage(p, s)->comb != COMB_NONE || lstage(p, s)->nspatial != lstage(p, q->first)->nspatial)
		return 0;
	for (int n = stage_all_reads(p, s, read), i = 0; i < n; i++)
		for (int d = 0; lex(p, read[i])->buf == lstage(p, q->first)->out && d < lex(p, read[i])->n; d++)
			if (lex(p, read[i])->index[d] != stage_axis(p, s, d))
				return 0;
	return s;
}

static struct chain chain_new(struct loop_prog *p)
{
	return (struct chain){
		.n = p->stages.n, .axis = ARENA_ARRAY(&p->arena, int, p->stages.n), .depends = ARENA_ARRAY(&p->arena, bool, p->stages.n)};
}

bool chain_fits(struct loop_prog *p)
{
	struct chain q = chain_new(p);

	return find_chain(p, &q);
}

stage_id chain_bent(struct loop_prog *p)
{
	struct chain q = chain_new(p);

	return find_chain(p, &q) ? bent_sums(p, &q) : 0;
}

/* Bytes that are kept of a row: what the first product makes, and what the second one reads. */
static double kept_bytes(struct loop_prog *p, const struct chain *q)
{
	stage_id kept[] = {q->first, q->rows};
	double bytes = 0;

	for (int i = 0; i < 2; i++) {
		const struct stage *s = lstage(p, kept[i]);
		bytes += (double)dtype_size(lbuf(p, s->out)->dtype) * (double)s->axis[s->nspatial - 1].extent;
	}
	return bytes;
}

/* The rows between the products, row by row. */
static void place_rows(struct schedule *r, const struct chain *q, const char *block)
{
	struct loop_prog *p = r->p;
	size_t all = p->stages.n;
	bool *other = ARENA_ARRAY(&p->arena, bool, all);

	for (stage_id s = 0; s < all; s++)
		other[s] = s >= q->n || !q->axis[s] || s == q->first || s == q->second || s == q->bent;
	if (sched_try(r, PRIM_AT, sym_str(lstage(p, q->rows)->name), block))
		sched_rows(r, q->rows, other);
}

bool template_chain(struct schedule *r)
{
	struct loop_prog *p = r->p;
	struct chain q = chain_new(p);

	if (!find_chain(p, &q))
		return false;
	int row = q.axis[q.second] - 1;
	q.bent = bent_sums(p, &q);
	r->blocks = &(struct row_blocks){.axis = row, .bytes = kept_bytes(p, &q)};
	bool done = template_tile(r, q.second);
	r->blocks = NULL;
	const char *block = loop_part(r, axis_loop(r, q.second, row, ""), 0);
	if (!done || !loop_find(p, block))
		return done;
	place_rows(r, &q, block);
	if (q.bent && !sched_try(r, PRIM_AT, sym_str(lstage(p, q.bent)->name), block))
		return true;
	if (!sched_try(r, PRIM_AT, sym_str(lstage(p, q.first)->name), block))
		return true;
	r->outside = block;
	template_tile(r, q.first);
	r->outside = NULL;
	return true;
}

/* Several products and other reductions, which do not follow each other so: each by itself. */
bool template_apart(struct schedule *r)
{
	struct loop_prog *p = r->p;
	stage_id all = (stage_id)p->stages.n;
	int products = 0, others = 0;

	for (stage_id s = 1; s < all; s++) {
		const struct stage *t = lstage(p, s);
		if (!stage_here(p, s) || t->comb == COMB_NONE)
			continue;
		products += t->comb == COMB_SUM && has_reuse(p, s);
		others += t->comb != COMB_SUM;
	}
	if (products < 2 || !others)
		return false;
	for (stage_id s = 1; s < all; s++) {
		const struct stage *t = lstage(p, s);
		if (!stage_here(p, s) || t->comb == COMB_NONE)
			continue;
		if (t->comb == COMB_SUM && has_reuse(p, s))
			template_tile(r, s);
		else if (reduces_rows(p, s))
			template_row_sum(r, s);
	}
	return true;
}
