/* Cost models: what to expect of a schedule that has not been timed. */
#include <math.h>
#include <string.h>
#include "cost/trees.h"
#include "lower/lower.h"
#include "sched/analytic.h"
#include "search/predict.h"
#include "search/search.h"
#include "target/target.h"

static double analytic(struct loop_prog *p, const void *arg) { return loop_cost(p); }

/* A task's default schedule, which the learned model tells the others from. */
struct learned {
	struct beside usual;
	double seconds; /* by the analytic model */
};

static const char *kb;

void cost_models_use(const char *kb_file) { kb = kb_file; }

const struct trees *cost_models_learned(const struct target *t)
{
	static struct arena arena; /* for the life of the process */
	static struct trees *model;
	struct digest text;

	if (!model)
		model = trees_here(kb, target_row(t), &arena, &text);
	return model;
}

static const void *learned_task(struct space *s)
{
	struct learned *l = ARENA_NEW(&s->arena, struct learned);
	struct features f;
	const char *why;
	struct lowered x = lower_sketch(s->m, s->n, s->target, NULL, &why);

	if (!x.prog)
		return l;
	l->seconds = program_seconds(x.prog);
	features_of(x.prog, &f);
	l->usual = trees_beside(cost_models_learned(s->target), &f);
	prog_free(x.prog);
	return l;
}

/* As the analytic model, where the trees say nothing of the task, or of the schedule. */
static double learned(struct loop_prog *p, const void *arg)
{
	const struct learned *l = arg;
	struct features f;

	if (!l->usual.known)
		return loop_cost(p);
	features_of(p, &f);
	struct gain g = gain_of(&l->usual, &f);
	bool known = g.least || g.middle || g.most;
	return known ? l->seconds * exp2(-(double)g.middle / TREES_UNIT) : loop_cost(p);
}

const struct cost_model cost_models[] = {
	{"analytic", "the target's ports, caches and latencies", analytic, NULL, NULL},
	{"learned", "what tune-model learned from records, else as analytic", learned, NULL, learned_task},
	{"none", "nothing is expected", NULL, NULL, NULL},
	{0},
};

const struct cost_model *cost_model_find(const char *name)
{
	for (const struct cost_model *c = cost_models; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}
