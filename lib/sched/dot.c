/* Sums that an instruction makes of groups of products: bytes, four at a time. A group lies side by side in what stands still along
 * the vectors, and in the panels of what moves. */
#include "loop/instr.h"
#include "loop/math.h"
#include "sched/tile.h"
#include "target/target.h"

/* Reads of the product i32(a) * i32(b), a the one that stands still along the vectors; false: the anchor is another sum. */
static bool factors(struct loop_prog *p, const struct tile *q, ex_id *a, ex_id *b)
{
	const struct stage *s = lstage(p, q->anchor);
	const struct ex *x = lex(p, s->body), *of[2];

	if (s->comb != COMB_SUM || x->kind != EX_CALL || x->fn != FN_MUL || x->dtype != DT_I32)
		return false;
	for (int i = 0; i < 2; i++) {
		of[i] = lex(p, x->a[i]);
		if (of[i]->kind != EX_CAST || lex(p, of[i]->a[0])->kind != EX_READ || lex(p, of[i]->a[0])->dyn_dim >= 0)
			return false;
	}
	int still = tile_moves(p, q, of[0]->a[0], q->vec_axis);
	*a = of[still]->a[0];
	*b = of[!still]->a[0];
	return !read_uses(p, *a, s->axis[q->vec_axis].var) && dim_along(p, q, *b) >= 0;
}

void find_dot(struct rule *r, struct tile *q)
{
	struct loop_prog *p = r->p;
	const struct stage *s = lstage(p, q->anchor);
	int64_t step;
	ex_id a, b;

	q->group = 1;
	if (s->naxes == s->nspatial || !factors(p, q, &a, &b))
		return;
	int row = instr_dot(p->target ? p->target : target_host(), lex(p, a)->dtype, lex(p, b)->dtype);
	if (!row || instr_row(row)->extent[0] != r->lanes)
		return;
	const struct axis *k = &s->axis[s->nspatial];
	int64_t group = instr_row(row)->extent[1];
	if (k->extent % group || !read_step(p, a, k->var, &step) || step != 1 || lbuf(p, lex(p, b)->buf)->scope != SCOPE_CONST)
		return;
	q->dot = row;
	q->group = group;
}

const char *group_steps(struct rule *r, const struct tile *q, int axis)
{
	return axis_loop(r, q->anchor, axis, q->dot && axis == lstage(r->p, q->anchor)->nspatial ? ".0" : "");
}

void split_groups(struct rule *r, const struct tile *q)
{
	if (q->dot)
		rule_try(r, "split %s %lld tail=peel", axis_loop(r, q->anchor, lstage(r->p, q->anchor)->nspatial, ""), (long long)q->group);
}
