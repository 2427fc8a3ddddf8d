/* Long sums. A chain of additions in f32 is off by the root of its length, and more where the terms have one sign. A long one is made of
 * blocks: each is summed from 0 on, blocks are added up by a few, and those again. */
#include "sched/template.h"

/* Sums that are added up on each level above the blocks. */
enum { LEVEL = 16 };

/* Does a size that only a run gives decide how much s sums up? */
static bool length_varies(struct loop_prog *p, stage_id s)
{
	const struct stage *t = lstage(p, s);
	ex_id read[READS_MAX];

	for (int n = stage_all_reads(p, s, read), i = 0; i < n; i++)
		for (int d = 0; d < lex(p, read[i])->n; d++)
			for (int a = t->nspatial; a < t->naxes && lbuf(p, lex(p, read[i])->buf)->varies >> d & 1; a++)
				if (poly_uses(p->P, lex(p, read[i])->index[d], t->axis[a].var))
					return true;
	return false;
}

int sched_level_factors(struct schedule *r, const char *stage, struct long_sum sum, int64_t factor[LEVELS_MAX])
{
	struct loop_prog *p = r->p;
	stage_id s = stage_find(p, stage);
	int64_t block = sum.terms < sum.chain ? sum.chain / sum.terms : 1, product = block;
	bool open = s && length_varies(p, s);
	if (open && block > 1)
		product = block /= 2; /* what is left over behind whole blocks of the outermost level is one chain */
	int n = 0;

	if (!s || lbuf(p, lstage(p, s)->out)->dtype != DT_F32 || lstage(p, s)->comb != COMB_SUM ||
	    (open ? !sum.open : sum.all <= sum.most || sum.steps <= block))
		return 0;
	for (factor[n++] = block; n < LEVELS_MAX && (open ? n < sum.open : sum.steps > LEVEL * product); product *= LEVEL)
		factor[n++] = LEVEL;
	return n;
}

void sched_partials(struct schedule *r, const char *stage, const char *loop, int n, const char *scope, struct words *made)
{
	for (int i = 0; i < n; i++) {
		const char *name = sched_name(r, "%s_level%d", stage, i);
		if (sched_make(r, name, PRIM_PARTIAL, stage, loop_part(r, loop, i), scope))
			words_add(made, name);
	}
}

const char *sched_levels(struct schedule *r, const char *stage, const char *loop, struct long_sum sum, const char *scope,
			 struct words *made)
{
	int64_t factor[LEVELS_MAX];
	struct words split = {0};
	int n = sched_level_factors(r, stage, sum, factor);

	words_add(&split, loop);
	for (int i = n; i-- > 0;)
		words_add(&split, trace_number(factor[i]));
	words_add(&split, "tail=peel");
	if (!n || !sched_list(r, NULL, PRIM_SPLIT, &split))
		return loop;
	sched_partials(r, stage, loop, n, scope, made);
	return loop_part(r, loop, n);
}
