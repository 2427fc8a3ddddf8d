/* Lowering of losses: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss. */
#include <string.h>
#include "lower/along.h"

/* The sample at an index of the labels. */
struct sample {
	ex_id place;   /* its label; one too large where it is below 0, which reading then tells */
	ex_id ignored; /* 0: no label is */
	ex_id weight;  /* 0: all are 1 */
};

static struct sample sample_at(struct lower *L, const poly *at)
{
	const struct attr *ignore = attr_find(L->n, "ignore_index");
	struct sample s = {.place = ex_cast(L->p, DT_I64, low_read(L, 1, at))};
	poly zero = poly_const(L->p->P, 0);

	if (ignore)
		s.ignored = low_fnc(L, FN_EQ, s.place, (double)ignore->u.i);
	s.place = low_select(L, low_fnc(L, FN_LT, s.place, 0), low_num(L, s.place, (double)L->shape[0][1]), s.place);
	if (ignore)
		s.place = low_select(L, s.ignored, low_num(L, s.place, 0), s.place);
	if (low_has(L, 2))
		s.weight = low_wide(L, ex_read_at(L->p, low_buf(L, 2), 1, &zero, 0, s.place));
	return s;
}

/* y, or 0 where the sample is ignored. */
static ex_id unless_ignored(struct lower *L, const struct sample *s, ex_id y)
{
	return s->ignored ? low_select(L, s->ignored, low_num(L, y, 0), y) : y;
}

/* The loss of the sample at `at`, in the wide type. */
static ex_id loss_at(struct lower *L, const poly *at, const struct expsum *e)
{
	struct sample s = sample_at(L, at);
	int rank = low_rank(L, 0);
	poly x[LOOP_RANK_MAX];

	for (int k = 0; k < rank; k++)
		x[k] = k == 1 ? poly_const(L->p->P, 0) : at[k ? k - 1 : 0];
	ex_id y = low_wide(L, ex_read_at(L->p, low_buf(L, 0), rank, x, 1, s.place));
	if (e) {
		y = low_fn2(L, FN_SUB, y, low_wide(L, low_of(L, e->max, at)));
		y = low_fn2(L, FN_SUB, y, low_fn1(L, FN_LOG, low_of(L, e->sum, at)));
	}
	y = low_fn1(L, FN_NEG, y);
	return unless_ignored(L, &s, s.weight ? low_fn2(L, FN_MUL, y, s.weight) : y);
}

/* The index of the labels in a stage that sums over all of them. */
static void all_labels(struct lower *L, stage_id s, poly *at)
{
	for (int k = 0; k < low_rank(L, 1); k++)
		at[k] = stage_reduce(L->p, s, along_names[k], L->shape[1][k]);
}

static const char *loss(struct lower *L, bool softmax)
{
	const char *how = attr_str(L->n, "reduction", "mean");
	struct along r = {.rank = low_rank(L, 0), .count = 1, .reduce = {[1] = true}};
	bool none = !strcmp(how, "none"), counted = attr_find(L->n, "ignore_index") || low_has(L, 2);
	enum dtype t = low_wide_type(low_dtype(L, 0));
	struct expsum e;
	poly at[LOOP_RANK_MAX];

	if (r.rank < 2 || low_rank(L, 1) != r.rank - 1 || !low_count(L, 1))
		return "scores and labels that do not fit each other, or none";
	if (softmax && low_wants(L, 1))
		return "logarithms of probabilities, too";
	if (softmax)
		e = along_exp(L, &r, false, false);
	stage_id each = none ? low_result(L, 0, "loss") : along_statistic(L, &r, "loss", t);
	low_index(L, each, at);
	ex_id y = loss_at(L, at, softmax ? &e : NULL);
	stage_body(L->p, each, COMB_NONE, none ? low_round(L, 0, y) : y);
	if (none)
		return NULL;
	stage_id sum = low_stage(L, "sum", t, 0, NULL, ""), weights = 0;
	all_labels(L, sum, at);
	stage_body(L->p, sum, COMB_SUM, low_of(L, each, at));
	if (!strcmp(how, "mean") && counted) {
		weights = low_stage(L, "weights", t, 0, NULL, "");
		all_labels(L, weights, at);
		struct sample s = sample_at(L, at);
		ex_id one = ex_const(L->p, t, 1);
		stage_body(L->p, weights, COMB_SUM, unless_ignored(L, &s, s.weight ? s.weight : one));
	}
	stage_id out = low_result(L, 0, how);
	y = low_of(L, sum, at);
	if (weights)
		y = low_fn2(L, FN_DIV, y, low_of(L, weights, at));
	else if (!strcmp(how, "mean"))
		y = low_fnc(L, FN_MUL, y, 1.0 / (double)low_count(L, 1));
	stage_body(L->p, out, COMB_NONE, low_round(L, 0, y));
	return NULL;
}

static const char *negative_log_likelihood(struct lower *L) { return loss(L, false); }
static const char *softmax_cross_entropy(struct lower *L) { return loss(L, true); }

const struct lower_row lower_loss[] = {
	{OP_NegativeLogLikelihoodLoss, negative_log_likelihood},
	{OP_SoftmaxCrossEntropyLoss, softmax_cross_entropy},
	{0},
};
