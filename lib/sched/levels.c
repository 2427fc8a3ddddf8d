/* Long sums. A chain of additions in f32 is off by the root of its length, and more where the terms have one sign. A long one is made of
 * blocks: each is summed from 0 on, blocks are added up by a few, and those again. */
#include "sched/template.h"

/* Sums of terms, and of products. A sum longer than `most` is made of chains of about `chain` terms, and these of at most `level` chains on
 * each level above. Where only a run gives the length, there are levels_open such levels of level_open chains. The error of sums is then at
 * most twice that of pairwise sums (tests/lower/sums.py). Chains of products are longer: the sums of a tile fill the registers, and each end
 * of a chain costs a load and a store of all of them. */
static const struct kind {
	int chain, most, level, level_open, levels_open;
} kinds[] = {{64, 64, 8, 10, 3}, {96, 128, 16, 16, 1}};

bool sched_is_long(double terms, bool products) { return terms > kinds[products].most; }

bool sched_axis_varies(struct loop_prog *p, stage_id s, int a)
{
	const struct stage *t = lstage(p, s);
	ex_id read[READS_MAX];

	for (int n = stage_all_reads(p, s, read), i = 0; i < n; i++)
		for (int d = 0; d < lex(p, read[i])->n; d++)
			if (lbuf(p, lex(p, read[i])->buf)->varies >> d & 1 && poly_uses(p->P, lex(p, read[i])->index[d], t->axis[a].var))
				return true;
	return false;
}

/* Does a size that only a run gives decide how much s sums up? */
static bool length_varies(struct loop_prog *p, stage_id s)
{
	bool varies = false;

	for (int a = lstage(p, s)->nspatial; a < lstage(p, s)->naxes; a++)
		varies |= sched_axis_varies(p, s, a);
	return varies;
}

/* Iterations of a block: about as many as make a chain. Those of products divide all iterations, where such a number is near: nothing is then
 * left over. */
static int64_t block_of(struct long_sum sum, const struct kind *k, bool open)
{
	int64_t usual = sum.terms < k->chain ? k->chain / sum.terms : 1;

	for (int64_t by = 0; sum.products && !open && by <= usual / 3; by++)
		for (int64_t block = usual + by; block >= usual - by; block -= by ? 2 * by : 1)
			if (sum.steps % block == 0)
				return block;
	return usual;
}

int sched_level_factors(struct schedule *r, const char *stage, struct long_sum sum, int64_t factor[LEVELS_MAX])
{
	struct loop_prog *p = r->p;
	stage_id s = stage_find(p, stage);
	const struct kind *k = &kinds[sum.products];
	bool open = s && length_varies(p, s);
	int64_t block = block_of(sum, k, open);
	if (open && !sum.products && block > 1)
		block /= 2; /* what is left over behind whole blocks of the outermost level is one chain */
	int64_t product = block;
	int level = open ? k->level_open : k->level, n = 0;

	if (!s || lbuf(p, lstage(p, s)->out)->dtype != DT_F32 || lstage(p, s)->comb != COMB_SUM ||
	    (!open && (!sched_is_long((double)sum.all, sum.products) || sum.steps <= block)))
		return 0;
	for (factor[n++] = block; n < LEVELS_MAX && (open ? n < k->levels_open : sum.steps > level * product); product *= level)
		factor[n++] = level;
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
