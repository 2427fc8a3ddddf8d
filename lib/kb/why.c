/* Which record wins, in words. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kb/rule.h"
#include "kb/weigh.h"

/* Why r wins, in words. base: today's default, or NULL. */
static const char *in_words(const struct rule *rule, const struct kb *k, const struct kb_record *r, const struct kb_base *base,
			    struct arena *a)
{
	char hex[33];
	double worth = kb_worth(r);
	bool known = worth == kb_number(r, "ratio") || worth == kb_number(r, "hi");
	digest_hex(r->id, hex);
	return arena_printf(a, "%.12s: %.4f of %s time (%.4f .. %.4f)%s, %s%s", hex, kb_number(r, "ratio"),
			    base && kb_get_field(r, "base") && !kb_is_to(r, base) ? rule->outdated : rule->usual, kb_number(r, "lo"),
			    kb_number(r, "hi"), known ? "" : arena_printf(a, ", mean %.4f", worth), kb_shown(kb_layer_path(k, r->layer), a),
			    kb_is_ours(r) ? "" : ", not measured here");
}

static int by_rank(const void *x, const void *y)
{
	return kb_rank(*(const struct kb_record *const *)x, *(const struct kb_record *const *)y);
}

static const char *short_id(const struct kb_record *r, struct arena *a)
{
	char hex[33];
	digest_hex(r->id, hex);
	return arena_printf(a, "%.12s", hex);
}

/* "3 slower, 1 of another target": what could not win, by reason. */
static const char *count_excluded(const struct rule *rule, const struct kb_list *l, const char *target, struct arena *a)
{
	VEC(struct {
		const char *why;
		size_t n;
	})
	reasons = {0};
	const char *text = "";
	for (size_t i = 0; i < l->n; i++) {
		const char *why = rule_excludes(rule, l, &l->a[i], target);
		size_t j = 0;
		if (!why)
			continue;
		const char *of = kb_get_field(&l->a[i], "target");
		if (of && field_is(&l->a[i], "kind", rule->kind) && !is_of_target(&l->a[i], target))
			why = arena_printf(a, "of another target (%s)", kb_target_differs(of, target, a));
		else if (why == kb_implausible(&l->a[i]))
			why = arena_printf(a, "not believed (%s: %s)", short_id(&l->a[i], a), why);
		while (j < reasons.n && strcmp(reasons.a[j].why, why))
			j++;
		if (j == reasons.n) {
			vec_reserve(&reasons, j + 1);
			reasons.a[reasons.n].why = why;
			reasons.a[reasons.n++].n = 0;
		}
		reasons.a[j].n++;
	}
	for (size_t j = 0; j < reasons.n; j++)
		text = arena_printf(a, "%s%s%zu %s", text, *text ? ", " : "", reasons.a[j].n, kb_shown(reasons.a[j].why, a));
	vec_free(&reasons);
	return text;
}

/* Why best (NULL: no record) wins, and not r. */
static const char *beaten_by(const struct kb_record *best, const struct kb_record *r, const struct kb_base *base)
{
	if (!best)
		return isinf(least_time(r, false)) ? " (its samples do not say whether the default takes less time now)"
						   : " (the default takes less time now)";
	if (same_base(r, best))
		return r->layer != best->layer ? " (of a layer behind)" : "";
	if (base && kb_is_to(best, base))
		return "";
	return r->layer != best->layer ? " (of a layer behind)" : " (another default; by time)";
}

static const char *explain(const struct rule *rule, const struct kb *k, const struct kb_list *l, const char *target,
			   const struct kb_base *base, const struct kb_record *best, struct arena *a)
{
	enum { SHOWN = 10 };
	const char *text = best   ? arena_printf(a, "wins: %s\n", in_words(rule, k, best, base, a))
			   : l->n ? "no record wins\n"
				  : "there is no record of this task\n";
	const struct kb_record **rest = ARENA_ARRAY(a, const struct kb_record *, l->n + 1);
	size_t n = 0;
	for (size_t i = 0; i < l->n; i++)
		if (&l->a[i] != best && !rule_excludes(rule, l, &l->a[i], target))
			rest[n++] = &l->a[i];
	qsort(rest, n, sizeof *rest, by_rank);
	for (size_t i = 0; i < n && i < SHOWN; i++)
		text = arena_printf(a, "%s%s: %s%s\n", text, best ? "over" : "not", in_words(rule, k, rest[i], base, a),
				    beaten_by(best, rest[i], base));
	if (n > SHOWN)
		text = arena_printf(a, "%sand %s %zu more\n", text, best ? "over" : "not", n - SHOWN);
	const char *out = count_excluded(rule, l, target, a);
	return *out ? arena_printf(a, "%scould not win: %s\n", text, out) : text;
}

const struct kb_record *kb_best(struct kb *k, const char *task, const char *target, const struct kb_base *base, struct arena *a,
				const char **why)
{
	struct kb_list *l = ARENA_NEW(a, struct kb_list);
	kb_find(k, NULL, task, l, a);
	const struct kb_record *best = base ? kb_best_for(l, task, target, base) : kb_best_of(l, task, target);
	if (why)
		*why = explain(&rule_schedules, k, l, target, base, best, a);
	return best;
}

/* A plan with what it changes, as its tuner said. */
static const char *plan_in_words(const struct kb_record *r, struct arena *a)
{
	const char *plan = kb_get_field(r, "plan"), *base = kb_get_field(r, "base"), *how = kb_get_field(r, "how");
	return arena_printf(a, "groups: %s (usual: %s)%s%s\n", kb_shown(plan, a), kb_shown(base ? base : "not known", a), how ? ": " : "",
			    kb_shown(how ? how : "", a));
}

/* Says how kernels tuned since change the gain of the plan that wins; "": they do not. */
static const char *standing_in_words(struct kb_standing s, struct arena *a)
{
	if (kb_stands(s) && s.usual == 1)
		return "";
	return arena_printf(a, "%s: with the kernels that were tuned since, %.4f of the usual groups' time then, these themselves %.4f\n",
			    kb_stands(s) ? "used" : "not used", s.plan, s.usual);
}

/* Plans of whole models: each as it was measured. */
static const char *whole_in_words(const struct kb_list *l, const char *target, struct arena *a)
{
	const char *text = "";
	for (size_t i = 0; i < l->n; i++) {
		const struct kb_record *r = &l->a[i];
		const char *plan = kb_get_field(r, "plan"), *verdict = kb_get_field(r, "verdict"), *ratio = kb_get_field(r, "ratio");
		const char *here = !is_of_target(r, target) ? ", of another target" : kb_is_ours(r) ? "" : ", not measured here";
		text = arena_printf(a, "%splan %.12s: %s%s%s%s\n", text, kb_shown(plan ? plan : "", a),
				    kb_shown(verdict ? verdict : "without a verdict", a), ratio ? ", " : "",
				    ratio ? arena_printf(a, "%s of the time with the usual groups", kb_shown(ratio, a)) : "", here);
	}
	return text;
}

const struct kb_record *kb_why_plan(struct kb *k, const char *task, const char *target, struct arena *a, const char **why)
{
	struct kb_list l = {0};
	kb_find(k, "graph", task, &l, a);
	*why = NULL;
	if (!l.n)
		return NULL;
	if (!strncmp(task, "model ", 6)) {
		*why = whole_in_words(&l, target, a);
		return NULL;
	}
	const struct kb_record *best = kb_best_plan(&l, task, target, NULL, NULL, a);
	*why = explain(&rule_plans, k, &l, target, NULL, best, a);
	if (!best)
		return NULL;
	struct kb_standing s = kb_standing(k, best, target, a);
	*why = arena_printf(a, "%s%s%s", plan_in_words(best, a), *why, standing_in_words(s, a));
	return kb_stands(s) ? best : NULL;
}
