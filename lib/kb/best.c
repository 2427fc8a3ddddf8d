/* Which record wins. Derived on reading: the files hold measurements only. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "kb/weigh.h"

static bool is(const struct kb_record *r, const char *name, const char *value)
{
	const char *v = kb_get_field(r, name);
	return v && !strcmp(v, value);
}

static bool is_target(const struct kb_record *r, const char *target)
{
	const char *v = kb_get_field(r, "target");
	return v && !kb_compare_targets(v, target);
}

double kb_worth(const struct kb_record *r)
{
	double mean = kb_number(r, "mean");
	return r->worth > 0 ? r->worth : isinf(mean) ? kb_number(r, "hi") : mean;
}

/* Why a record of the task cannot win; NULL: it can. */
static const char *excluded(const struct kb_record *r, const char *target)
{
	const char *verdict = kb_get_field(r, "verdict");
	if (!is(r, "kind", "kernel"))
		return "of another kind";
	if (!is_target(r, target))
		return "of another target";
	if (!verdict || strcmp(verdict, "faster"))
		return verdict ? verdict : "without a verdict";
	if (!is(r, "against", "default"))
		return "not timed against the default";
	if (!kb_get_field(r, "trace") || isinf(kb_number(r, "hi")) || isinf(kb_number(r, "ratio")))
		return "without a trace or a ratio";
	if (kb_worth(r) > KB_MATERIAL)
		return "no faster by all remeasurements";
	return kb_implausible(r);
}

bool kb_can_win(const struct kb_record *r)
{
	const char *target = kb_get_field(r, "target");
	return target && !excluded(r, target);
}

const char *kb_not_believed(const struct kb_record *r, const char *target)
{
	const char *why = kb_implausible(r);
	return why && excluded(r, target) == why ? why : NULL;
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

/* Picoseconds of a call, the least of the record's samples that are no 0: of its kernel, or of the default that it was timed against. */
static double least_time(const struct kb_record *r, bool base)
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
		if (is_target(r, target) && of >= possible && !kb_implausible(r))
			least = fmin(least, of);
	}
	arena_release(&a);
	return isinf(least) ? 0 : least;
}

static bool same_base(const struct kb_record *a, const struct kb_record *b)
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
static bool leads(const struct kb_list *l, const char *task, const char *target, const struct kb_record *r)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct kb_record *x = &l->a[i];
		if (x != r && is(x, "task", task) && !excluded(x, target) && same_base(x, r) && kb_rank(x, r) < 0)
			return false;
	}
	return true;
}

const struct kb_record *kb_best_of(const struct kb_list *l, const char *task, const char *target)
{
	const struct kb_record *best = NULL;
	for (size_t i = 0; i < l->n; i++) {
		const struct kb_record *r = &l->a[i];
		if (is(r, "task", task) && !excluded(r, target) && leads(l, task, target, r) && (!best || rank_any(r, best) < 0))
			best = r;
	}
	return best;
}

const struct kb_record *kb_best_for(const struct kb_list *l, const char *task, const char *target, const struct kb_base *base)
{
	const struct kb_record *best = NULL, *old = NULL;
	double now = INFINITY; /* the least time of today's default */
	for (size_t i = 0; i < l->n; i++) {
		const struct kb_record *r = &l->a[i];
		if (!is(r, "task", task) || !is_target(r, target))
			continue;
		if (kb_is_to(r, base)) {
			now = kb_implausible(r) ? now : fmin(now, least_time(r, true));
			if (!excluded(r, target) && (!best || kb_rank(r, best) < 0))
				best = r;
		} else if (!excluded(r, target) && leads(l, task, target, r) && (!old || rank_any(r, old) < 0)) {
			old = r;
		}
	}
	return best || !old || (isfinite(now) && least_time(old, false) >= now) ? best : old;
}

/* Why r wins, in words. base: today's default, or NULL. */
static const char *in_words(const struct kb *k, const struct kb_record *r, const struct kb_base *base, struct arena *a)
{
	char hex[33];
	double worth = kb_worth(r);
	bool known = worth == kb_number(r, "ratio") || worth == kb_number(r, "hi");
	digest_hex(r->id, hex);
	return arena_printf(a, "%.12s: %.4f of %s's time (%.4f .. %.4f)%s, %s%s", hex, kb_number(r, "ratio"),
			    base && kb_get_field(r, "base") && !kb_is_to(r, base) ? "an older default" : "the default", kb_number(r, "lo"),
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
static const char *count_excluded(const struct kb_list *l, const char *target, struct arena *a)
{
	VEC(struct {
		const char *why;
		size_t n;
	})
	reasons = {0};
	const char *text = "";
	for (size_t i = 0; i < l->n; i++) {
		const char *why = excluded(&l->a[i], target);
		size_t j = 0;
		if (!why)
			continue;
		const char *of = kb_get_field(&l->a[i], "target");
		if (of && is(&l->a[i], "kind", "kernel") && !is_target(&l->a[i], target))
			why = arena_printf(a, "of another target (%s)", kb_target_differs(of, target, a));
		else if (kb_not_believed(&l->a[i], target))
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

static const char *explain(const struct kb *k, const struct kb_list *l, const char *target, const struct kb_base *base,
			   const struct kb_record *best, struct arena *a)
{
	enum { SHOWN = 10 };
	const char *text = best   ? arena_printf(a, "wins: %s\n", in_words(k, best, base, a))
			   : l->n ? "no record wins\n"
				  : "there is no record of this task\n";
	const struct kb_record **rest = ARENA_ARRAY(a, const struct kb_record *, l->n + 1);
	size_t n = 0;
	for (size_t i = 0; i < l->n; i++)
		if (&l->a[i] != best && !excluded(&l->a[i], target))
			rest[n++] = &l->a[i];
	qsort(rest, n, sizeof *rest, by_rank);
	for (size_t i = 0; i < n && i < SHOWN; i++)
		text = arena_printf(a, "%s%s: %s%s\n", text, best ? "over" : "not", in_words(k, rest[i], base, a),
				    beaten_by(best, rest[i], base));
	if (n > SHOWN)
		text = arena_printf(a, "%sand %s %zu more\n", text, best ? "over" : "not", n - SHOWN);
	const char *out = count_excluded(l, target, a);
	return *out ? arena_printf(a, "%scould not win: %s\n", text, out) : text;
}

const struct kb_record *kb_best(struct kb *k, const char *task, const char *target, const struct kb_base *base, struct arena *a,
				const char **why)
{
	struct kb_list *l = ARENA_NEW(a, struct kb_list);
	kb_find(k, NULL, task, l, a);
	const struct kb_record *best = base ? kb_best_for(l, task, target, base) : kb_best_of(l, task, target);
	if (why)
		*why = explain(k, l, target, base, best, a);
	return best;
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
	return is(r, "base", base->digest) || (*base->stamped && is(r, "base", base->stamped));
}

const struct kb_record *kb_measured(const struct kb_list *l, const char *task, const char *target, const char *trace)
{
	struct digest want = kb_trace_digest(trace);
	char hex[33];
	digest_hex(want, hex);
	for (size_t i = 0; i < l->n; i++) {
		const struct kb_record *r = &l->a[i];
		const char *t = kb_get_field(r, "trace");
		if (is(r, "task", task) && is_target(r, target) &&
		    ((is(r, "kind", "kernel") && t && digest_eq(kb_trace_digest(t), want)) ||
		     (is(r, "kind", "dropped") && is(r, "trace-digest", hex))))
			return r;
	}
	return NULL;
}
