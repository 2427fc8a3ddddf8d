/* Which record wins. Derived on reading: the files hold measurements only. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "kb/rule.h"
#include "kb/weigh.h"

bool field_is(const struct kb_record *r, const char *name, const char *value)
{
	const char *v = kb_get_field(r, name);
	return v && !strcmp(v, value);
}

bool is_of_target(const struct kb_record *r, const char *target)
{
	const char *v = kb_get_field(r, "target");
	return v && !kb_compare_targets(v, target);
}

double kb_worth(const struct kb_record *r)
{
	double mean = kb_number(r, "mean");
	return r->worth > 0 ? r->worth : isinf(mean) ? kb_number(r, "hi") : mean;
}

const struct rule rule_schedules = {
	"kernel", "trace", "against", "default", "not timed against the default", "the default's", "an older default's",
};
const struct rule rule_plans = {
	"graph", "plan", "mean", NULL, "not confirmed in other processes", "the usual groups'", "other usual groups'",
};

/* Why a record of the task cannot win; NULL: it can. */
static const char *excluded(const struct rule *rule, const struct kb_record *r, const char *target)
{
	const char *verdict = kb_get_field(r, "verdict"), *counts = kb_get_field(r, rule->counts);
	if (!field_is(r, "kind", rule->kind))
		return "of another kind";
	if (!is_of_target(r, target))
		return "of another target";
	if (!verdict || strcmp(verdict, "faster"))
		return verdict ? verdict : kb_get_field(r, "trials") ? "a note that it was searched" : "without a verdict";
	if (!counts || (rule->value && strcmp(counts, rule->value)))
		return rule->passing;
	if (!kb_get_field(r, rule->what) || isinf(kb_number(r, "hi")) || isinf(kb_number(r, "ratio")))
		return "without what it measured, or a ratio";
	if (kb_worth(r) > KB_MATERIAL)
		return "no faster by all remeasurements";
	return kb_implausible(r);
}

/* Was the plan of a record from elsewhere measured here, with weights as cold? Then it wins by what that said, or not at all. */
static bool is_measured_here(const struct kb_list *l, const struct kb_record *r)
{
	static const char *const same[] = {"task", "plan", "base", "cold-weights"};
	for (size_t i = 0; i < l->n; i++) {
		const struct kb_record *x = &l->a[i];
		bool of = x != r && field_is(x, "kind", "graph") && kb_get_field(x, "verdict") &&
			  is_of_target(x, kb_get_field(r, "target")) && kb_is_ours(x);
		for (size_t k = 0; of && k < sizeof same / sizeof *same; k++) {
			const char *p = kb_get_field(x, same[k]), *q = kb_get_field(r, same[k]);
			of = !p == !q && (!p || !strcmp(p, q));
		}
		if (of)
			return true;
	}
	return false;
}

const char *rule_excludes(const struct rule *rule, const struct kb_list *l, const struct kb_record *r, const char *target)
{
	const char *why = excluded(rule, r, target);
	bool elsewhere = !why && rule == &rule_plans && !kb_is_ours(r) && is_measured_here(l, r);
	return elsewhere ? "of a plan that was measured here" : why;
}

bool kb_can_win(const struct kb_record *r)
{
	const char *target = kb_get_field(r, "target");
	return target && !excluded(&rule_schedules, r, target);
}

const char *kb_not_believed(const struct kb_record *r, const char *target)
{
	const char *why = kb_implausible(r);
	return why && excluded(&rule_schedules, r, target) == why ? why : NULL;
}

static double remeasurements(const struct kb_record *r) { return kb_get_field(r, "remeasurements") ? kb_number(r, "remeasurements") : 0; }

int kb_rank(const struct kb_record *a, const struct kb_record *b)
{
	double x = kb_worth(a), y = kb_worth(b);
	if (a->layer != b->layer)
		return a->layer - b->layer;
	if (x != y)
		return x < y ? -1 : 1;
	x = remeasurements(a), y = remeasurements(b);
	if (x != y)
		return x > y ? -1 : 1;
	x = kb_number(a, "ratio"), y = kb_number(b, "ratio");
	if (x != y)
		return x < y ? -1 : 1;
	return digest_cmp(a->id, b->id);
}

double least_time(const struct kb_record *r, bool base)
{
	const char *s = kb_get_field(r, "samples");
	double least = INFINITY;

	while (s) {
		char *slash, *end;
		unsigned long long x = strtoull(s, &slash, 10), y = slash > s && *slash == '/' ? strtoull(slash + 1, &end, 10) : 0;
		if (slash == s || *slash != '/' || end == slash + 1)
			break;
		if (x && y)
			least = fmin(least, base ? (double)y : (double)x);
		s = strchr(end, ' ');
	}
	return least;
}

static const double PICO = 1e-12;

double kb_seconds(struct kb *k, const char *task, const char *target, double possible)
{
	struct arena a = {0};
	struct kb_list l = {0};
	double least = INFINITY;

	kb_find(k, "kernel", task, &l, &a);
	for (size_t i = 0; i < l.n; i++) {
		const struct kb_record *r = &l.a[i];
		double of = PICO * fmin(least_time(r, false), least_time(r, true));
		if (is_of_target(r, target) && of >= possible && !kb_implausible(r))
			least = fmin(least, of);
	}
	arena_release(&a);
	return isinf(least) ? 0 : least;
}

bool same_base(const struct kb_record *a, const struct kb_record *b)
{
	const char *x = kb_get_field(a, "base"), *y = kb_get_field(b, "base");
	return !x || !y || !strcmp(x, y);
}

/* Ratios to different defaults cannot be compared; then times are. */
static int rank_any(const struct kb_record *a, const struct kb_record *b)
{
	double x = least_time(a, false), y = least_time(b, false);
	if (a->layer != b->layer || same_base(a, b) || x == y)
		return kb_rank(a, b);
	return x < y ? -1 : 1;
}

/* Is r the best of the records that are timed against the same default? */
static bool leads(const struct rule *rule, const struct kb_list *l, const char *task, const char *target, const struct kb_record *r)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct kb_record *x = &l->a[i];
		if (x != r && field_is(x, "task", task) && !excluded(rule, x, target) && same_base(x, r) && kb_rank(x, r) < 0)
			return false;
	}
	return true;
}

static const struct kb_record *best_of(const struct rule *rule, const struct kb_list *l, const char *task, const char *target)
{
	const struct kb_record *best = NULL;
	for (size_t i = 0; i < l->n; i++) {
		const struct kb_record *r = &l->a[i];
		if (field_is(r, "task", task) && !excluded(rule, r, target) && leads(rule, l, task, target, r) &&
		    (!best || rank_any(r, best) < 0))
			best = r;
	}
	return best;
}

const struct kb_record *kb_best_of(const struct kb_list *l, const char *task, const char *target)
{
	return best_of(&rule_schedules, l, task, target);
}

/* Records that were measured with as many cold weights win before others. */
const struct kb_record *kb_best_plan(const struct kb_list *l, const char *task, const char *target, const char *base, const char *cold,
				     struct arena *a)
{
	const struct kb_record *best = NULL;
	for (int other = 0; other <= 1 && !best; other++) {
		struct kb_list some = {ARENA_ARRAY(a, struct kb_record, l->n + 1), 0, 0};
		for (size_t i = 0; i < l->n; i++) {
			const struct kb_record *r = &l->a[i];
			const char *of = kb_get_field(r, "cold-weights");
			bool so = !cold || !strcmp(of ? of : "", cold);
			if (so == !other && (!base || field_is(r, "base", base)) && !rule_excludes(&rule_plans, l, r, target))
				some.a[some.n++] = *r;
		}
		const struct kb_record *r = best_of(&rule_plans, &some, task, target);
		for (size_t i = 0; r && i < l->n && !best; i++)
			best = digest_eq(l->a[i].id, r->id) ? &l->a[i] : NULL;
	}
	return best;
}

const struct kb_record *kb_best_for(const struct kb_list *l, const char *task, const char *target, const struct kb_base *base)
{
	const struct kb_record *best = NULL, *old = NULL;
	double now = INFINITY; /* the least time of today's default */
	for (size_t i = 0; i < l->n; i++) {
		const struct kb_record *r = &l->a[i];
		if (!field_is(r, "task", task) || !is_of_target(r, target))
			continue;
		if (kb_is_to(r, base)) {
			now = kb_implausible(r) ? now : fmin(now, least_time(r, true));
			if (!excluded(&rule_schedules, r, target) && (!best || kb_rank(r, best) < 0))
				best = r;
		} else if (!excluded(&rule_schedules, r, target) && leads(&rule_schedules, l, task, target, r) &&
			   (!old || rank_any(r, old) < 0)) {
			old = r;
		}
	}
	return best || !old || (isfinite(now) && least_time(old, false) >= now) ? best : old;
}

struct digest kb_trace_digest(const char *trace)
{
	while (*trace == '#') {
		trace += strcspn(trace, "\n");
		trace += *trace == '\n';
	}
	return digest_bytes(trace, strlen(trace));
}

struct kb_base kb_base_of(const char *trace)
{
	struct kb_base b;

	digest_hex(kb_trace_digest(trace), b.digest);
	digest_hex(digest_bytes(trace, strlen(trace)), b.stamped);
	return b;
}

bool kb_is_to(const struct kb_record *r, const struct kb_base *base)
{
	return field_is(r, "base", base->digest) || (*base->stamped && field_is(r, "base", base->stamped));
}

/* Is the record of that trace, by its digest? */
static bool is_of_trace(const struct kb_record *r, const char *task, const char *target, struct digest want)
{
	const char *t = kb_get_field(r, "trace");
	char hex[33];

	digest_hex(want, hex);
	return field_is(r, "task", task) && is_of_target(r, target) &&
	       ((field_is(r, "kind", "kernel") && t && digest_eq(kb_trace_digest(t), want)) ||
		(field_is(r, "kind", "dropped") && field_is(r, "trace-digest", hex)));
}

const struct kb_record *kb_measured(const struct kb_list *l, const char *task, const char *target, const char *trace)
{
	struct digest want = kb_trace_digest(trace);

	for (size_t i = 0; i < l->n; i++)
		if (is_of_trace(&l->a[i], task, target, want))
			return &l->a[i];
	return NULL;
}

const struct kb_record *kb_refuted(const struct kb_list *l, const char *task, const char *target, const struct kb_base *base,
				   const char *trace)
{
	struct digest want = kb_trace_digest(trace);
	const struct kb_record *slower = NULL;

	for (size_t i = 0; i < l->n; i++) {
		const struct kb_record *r = &l->a[i];
		const char *verdict = kb_get_field(r, "verdict");
		if (!verdict || !is_of_trace(r, task, target, want) || (base && !kb_is_to(r, base)) || kb_implausible(r))
			continue;
		if (!strcmp(verdict, "faster"))
			return NULL;
		if (strcmp(verdict, "tie") && strcmp(verdict, "unsure") && strcmp(verdict, "right"))
			slower = r;
	}
	return slower;
}
