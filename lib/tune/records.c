/* Between trials and the records of the knowledge base. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/shown.h"
#include "common/textfile.h"
#include "tune/measured.h"
#include "tune/session.h"

enum { NEAR_OCTAVES = 8, OWN_ORIGINS = 3, NEAR_ORIGINS = 3 };

/* ---- fields ---- */

static const char *field(const struct kb_record *r, const char *name)
{
	const char *s = kb_get_field(r, name);
	return s ? s : "";
}

static bool field_is(const struct kb_record *r, const char *name, const char *value) { return !strcmp(field(r, name), value); }

static const char *hex(struct digest d, struct arena *a)
{
	char s[33];

	digest_hex(d, s);
	return arena_str(a, s);
}

static enum verdict verdict_of(const struct kb_record *r) { return verdict_parse(field(r, "verdict"), strlen(field(r, "verdict"))); }

struct digest trace_identity(const char *trace) { return kb_trace_digest(trace); }

static bool is_target(const struct kb_record *r, const struct session *s) { return !kb_compare_targets(field(r, "target"), s->target_row); }

/* Is the record about that trace? Of those that kb gc has shortened only the digest is left. */
static bool is_about(const struct kb_record *r, struct digest trace)
{
	struct digest d;

	if (field_is(r, "kind", "dropped"))
		return digest_parse(field(r, "trace-digest"), strlen(field(r, "trace-digest")), &d) && digest_eq(d, trace);
	return field_is(r, "kind", "kernel") && digest_eq(trace_identity(field(r, "trace")), trace);
}

/* ---- writing ---- */

static void commit(struct session *s, struct kb_record *r)
{
	struct arena a = {0};

	kb_seal(r, &a);
	s->put++;
	if (s->opt->records_out) {
		if (isatty(STDOUT_FILENO))
			put_shown_lines(stdout, kb_text(r, &a));
		else
			fputs(kb_text(r, &a), stdout);
		if (fflush(stdout))
			die_errno(EX_IO, "standard output");
	} else {
		kb_put(s->kb, &r, 1);
	}
	arena_release(&a);
}

static const char *against(const struct trial *x) { return x->remeasurement >= FINAL ? "default" : "incumbent"; }

/* The number of the remeasurement, counted among those with the same `against`; 0: a trial, or the first against the default. */
static int remeasurement_number(const struct trial *x) { return x->remeasurement >= FINAL ? x->remeasurement - FINAL : x->remeasurement; }

void put_trial(struct session *s, const struct trial *x)
{
	struct arena a = {0};
	struct kb_record r = {0};
	const struct tuned *t = x->task;

	kb_set_field(&r, "kind", "kernel", &a);
	kb_set_field(&r, "task", t->text, &a);
	kb_set_field(&r, "target", s->target_row, &a);
	kb_set_field(&r, "trace", x->trace, &a);
	kb_set_field(&r, "stages", hex(x->request.candidate->stages, &a), &a);
	kb_set_field(&r, "source", hex(x->source, &a), &a);
	measurement_put(&r, &x->result, &a);
	if (x->remeasurement >= FINAL && verdict_timed(x->result.verdict))
		kb_set_field(&r, "mean", arena_printf(&a, "%.6g", mean_ratio(t, x)), &a);
	if (x->remeasurement >= FINAL) /* of a late remeasurement that failed: one more, so that it is what counts */
		kb_set_field(&r, "remeasurements", arena_printf(&a, "%d", count_ratios(t, x) + !verdict_timed(x->result.verdict)), &a);
	if (x->remeasurement > FINAL && !is_kept(t, x))
		kb_set_field(&r, "kept", "no", &a);
	kb_set_field(&r, "base", t->ratios_to.digest, &a);
	kb_set_field(&r, "against", against(x), &a);
	if (remeasurement_number(x))
		kb_set_field(&r, "remeasurement", arena_printf(&a, "%d", remeasurement_number(x)), &a);
	if (s->cold_bytes)
		kb_set_field(&r, "cold-weights", s->cold_text, &a);
	kb_set_field(&r, "tool", s->opt->tool, &a);
	kb_set_field(&r, "session", s->id, &a);
	kb_set_field(&r, "trial", arena_printf(&a, "%zu", x->number), &a);
	commit(s, &r);
	arena_release(&a);
}

void put_search(struct session *s, const struct tuned *t)
{
	struct arena a = {0};
	struct kb_record r = {0};
	bool whole = t->proposed < s->opt->trials;

	kb_set_field(&r, "kind", "search", &a);
	kb_set_field(&r, "task", t->text, &a);
	kb_set_field(&r, "target", s->target_row, &a);
	kb_set_field(&r, "base", t->ratios_to.digest, &a);
	kb_set_field(&r, "tool", s->opt->tool, &a);
	kb_set_field(&r, "session", s->id, &a);
	if (s->cold_bytes)
		kb_set_field(&r, "cold-weights", s->cold_text, &a);
	kb_set_field(&r, "trials", whole ? "all" : arena_printf(&a, "%zu", t->proposed), &a);
	kb_set_field(&r, "ratio", t->champion ? arena_printf(&a, "%.6g", t->champion->result.ratio) : "1", &a);
	commit(s, &r);
	arena_release(&a);
}

/* ---- reading ---- */

void read_task_records(struct session *s, struct tuned *t)
{
	kb_find(s->kb, NULL, t->text, &t->records, &t->arena);
	t->ours = ARENA_ARRAY(&t->arena, bool, t->records.n + 1);
	t->passed = ARENA_ARRAY(&t->arena, bool, t->records.n + 1);
	memset(t->passed, 0, (t->records.n + 1) * sizeof *t->passed);
	for (size_t i = 0; i < t->records.n; i++)
		t->ours[i] = kb_is_ours(&t->records.a[i]);
}

double record_base_seconds(const struct kb_record *r)
{
	struct arena a = {0};
	struct measurement m;

	measurement_samples(field(r, "samples"), &m, &a);
	double seconds = measurement_base_seconds(&m);
	arena_release(&a);
	return seconds;
}

/* What measurement_put wrote. */
static struct measurement read_measurement(const struct kb_record *r, struct arena *a)
{
	struct measurement m = {.verdict = verdict_of(r), .why = kb_get_field(r, "why")};

	if (verdict_timed(m.verdict)) {
		m.ratio = record_number(r, "ratio");
		m.lo = record_number(r, "lo");
		m.hi = record_number(r, "hi");
	}
	measurement_samples(field(r, "samples"), &m, a);
	return m;
}

static void fill(struct trial *x, const struct kb_record *r, struct arena *a)
{
	x->known = x->done = true;
	x->result = read_measurement(r, a);
	x->trace = kb_get_field(r, "trace");
	if (!x->trace)
		x->trace = x->point->trace;
	digest_parse(field(r, "source"), 32, &x->source);
}

/* The record that has the result of trial x; one of this tuning before others, so that a tuning repeats itself. */
bool recall_trial(struct session *s, struct trial *x)
{
	char number[16] = "";
	struct digest want = trace_identity(x->point->trace);
	const struct kb_record *best = NULL;
	struct tuned *t = x->task;

	if (remeasurement_number(x))
		snprintf(number, sizeof number, "%d", remeasurement_number(x));
	for (size_t i = 0; i < t->records.n; i++) {
		const struct kb_record *r = &t->records.a[i];
		if (!t->ours[i] || !field_is(r, "cold-weights", s->cold_text) || !field_is(r, "against", against(x)) ||
		    !field_is(r, "remeasurement", number) || !is_target(r, s) || !is_about(r, want))
			continue;
		if (verdict_timed(verdict_of(r)) && !kb_is_to(r, &t->ratios_to))
			continue; /* the default was another then */
		if (!best || (field_is(r, "session", s->id) && !field_is(best, "session", s->id)))
			best = r;
	}
	if (best)
		fill(x, best, &t->arena);
	return best != NULL;
}

bool recall_search(struct session *s, const struct tuned *t, bool *own)
{
	bool done = false;

	*own = true;
	for (size_t i = 0; i < t->records.n; i++) {
		const struct kb_record *r = &t->records.a[i];
		const char *trials = field(r, "trials");
		if (!field_is(r, "kind", "search") || !field_is(r, "cold-weights", s->cold_text) || !is_target(r, s) ||
		    !kb_is_to(r, &t->ratios_to) || !field_is(r, "tool", s->opt->tool) ||
		    (strcmp(trials, "all") && strtoull(trials, NULL, 10) < s->opt->trials))
			continue;
		done = true;
		*own &= field_is(r, "session", s->id);
	}
	*own &= done;
	return done;
}

/* Was it measured here, against this default, on this target, with the same cold weights? */
static bool counts_here(const struct session *s, const struct tuned *t, const struct kb_record *r)
{
	return t->ours[r - t->records.a] && is_target(r, s) && kb_is_to(r, &t->ratios_to) && field_is(r, "cold-weights", s->cold_text) &&
	       !field_is(r, "kind", "search");
}

static bool is_trial(const struct kb_record *r) { return field_is(r, "remeasurement", "") && field_is(r, "against", "incumbent"); }

static int by_trial(const void *a, const void *b)
{
	const struct kb_record *x = *(const struct kb_record *const *)a, *y = *(const struct kb_record *const *)b;
	uint64_t m = strtoull(field(x, "trial"), NULL, 10), n = strtoull(field(y, "trial"), NULL, 10);

	return m != n ? (m > n) - (m < n) : memcmp(&x->id, &y->id, sizeof x->id);
}

void recall_curve(struct session *s, struct tuned *t)
{
	VEC(const struct kb_record *) trials = {0};
	bool numbered = true;
	double best = 1;

	for (size_t i = 0; i < t->records.n; i++)
		if (counts_here(s, t, &t->records.a[i]) && is_trial(&t->records.a[i])) {
			vec_push(&trials, &t->records.a[i]);
			numbered &= *field(&t->records.a[i], "trial") != 0;
		}
	if (trials.n)
		qsort(trials.a, trials.n, sizeof *trials.a, by_trial);
	for (size_t i = 0; i < trials.n && numbered; i++) { /* kb gc leaves no numbers */
		double ratio = record_number(trials.a[i], "ratio");
		if (ratio > 0 && verdict_timed(verdict_of(trials.a[i])))
			best = fmin(best, ratio);
		vec_push(&t->curve, best);
	}
	vec_free(&trials);
}

void count_known(struct session *s, struct tuned *t)
{
	t->known = 0;
	for (size_t i = 0; i < t->records.n; i++) {
		const struct kb_record *r = &t->records.a[i];
		if (!counts_here(s, t, r))
			continue;
		double base = record_base_seconds(r);
		if (base > 0 && !(t->seconds > 0 && t->seconds <= base))
			t->seconds = base;
		t->known += is_trial(r);
	}
}

static bool is_win(const struct kb_record *r) { return kb_can_win(r); }

double record_number(const struct kb_record *r, const char *name) { return strtod(field(r, name), NULL); }

const char *record_id(const struct kb_record *r, struct arena *a) { return arena_printf(a, "record %.8s", hex(r->id, a)); }

/* Was its trace timed against the default in this run? Then this run's result counts, whoever wrote the record. */
static bool is_timed_again(const struct tuned *t, const struct kb_record *r)
{
	for (size_t i = 0; i < t->remeasurements.n; i++)
		if (t->remeasurements.a[i]->remeasurement >= FINAL && t->remeasurements.a[i]->retired &&
		    t->remeasurements.a[i]->result.verdict < VERDICT_COUNT &&
		    is_about(r, trace_identity(t->remeasurements.a[i]->point->trace)))
			return true;
	return false;
}

bool was_timed(const struct tuned *t, const char *trace)
{
	struct digest want = trace_identity(trace);

	for (size_t i = 0; i < t->trials.n; i++) {
		const struct trial *x = t->trials.a[i];
		if (x->retired && verdict_timed(x->result.verdict) && digest_eq(trace_identity(x->point->trace), want))
			return true;
	}
	return false;
}

/* Was the trace of that record timed with the same cold weights, in this run or according to a record? */
static bool is_timed_so(const struct session *s, const struct tuned *t, const struct kb_record *r)
{
	const char *trace = field(r, "trace");
	struct digest want = trace_identity(trace);

	for (size_t i = 0; i < t->records.n; i++) {
		const struct kb_record *q = &t->records.a[i];
		if (t->ours[i] && field_is(q, "cold-weights", s->cold_text) && is_target(q, s) && kb_is_to(q, &t->ratios_to) &&
		    verdict_timed(verdict_of(q)) && is_about(q, want))
			return true;
	}
	return was_timed(t, trace);
}

const struct kb_record *best_foreign(struct session *s, const struct tuned *t)
{
	const struct kb_record *best = NULL;

	for (size_t i = 0; i < t->records.n; i++) {
		const struct kb_record *r = &t->records.a[i];
		if (t->ours[i] || t->passed[i] || !is_win(r) || !is_target(r, s) || !kb_is_to(r, &t->ratios_to) ||
		    was_timed(t, field(r, "trace")) || is_timed_so(s, t, r))
			continue;
		if (!best || kb_rank(r, best) < 0)
			best = r;
	}
	return best;
}

/* A record with other cold weights counts only if there is nothing else. */
const struct kb_record *best_record(struct session *s, const struct tuned *t)
{
	const struct kb_record *best = NULL;

	for (int other = 0; other <= 1 && !best; other++)
		for (size_t i = 0; i < t->records.n; i++) {
			const struct kb_record *r = &t->records.a[i];
			bool so = field_is(r, "cold-weights", s->cold_text), counts = so || (!t->champion && !is_timed_so(s, t, r));
			if (t->ours[i] && !t->passed[i] && is_win(r) && so == !other && is_target(r, s) && kb_is_to(r, &t->ratios_to) &&
			    counts && (!best || kb_rank(r, best) < 0) && !is_timed_again(t, r))
				best = r;
		}
	return best;
}

/* ---- traces from elsewhere ---- */

static void read_others(struct session *s)
{
	struct kb_list all = {0};

	if (s->others_read)
		return;
	s->others_read = true;
	kb_find(s->kb, "kernel", NULL, &all, &s->arena);
	for (size_t i = 0; i < all.n; i++)
		if (is_win(&all.a[i]) && !field_is(&all.a[i], "session", s->id))
			vec_push(&s->others, all.a[i]);
}

struct found {
	const struct kb_record *r;
	double distance, worth;
};

static int by_distance(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	int c = (x->distance > y->distance) - (x->distance < y->distance);

	if (!c)
		c = (x->worth > y->worth) - (x->worth < y->worth);
	return c ? c : digest_cmp(x->r->id, y->r->id);
}

/* Winning traces of tasks within reach, nearest first, the best of each task only. */
int nearest_records(struct session *s, const struct tuned *t, struct near *out, int max)
{
	VEC(struct found) found = {0};
	int n = 0;

	read_others(s);
	for (size_t i = 0; i < s->others.n; i++) {
		const struct kb_record *r = &s->others.a[i];
		double d = task_distance(t->text, field(r, "task"));
		if (d > 0 && d <= NEAR_OCTAVES)
			vec_push(&found, (struct found){r, d, kb_worth(r)});
	}
	if (found.n)
		qsort(found.a, found.n, sizeof *found.a, by_distance);
	for (size_t i = 0; i < found.n && n < max; i++) {
		const struct kb_record *r = found.a[i].r;
		bool again = false;
		for (int k = 0; k < n; k++)
			again |= !strcmp(out[k].task, field(r, "task"));
		if (!again)
			out[n++] = (struct near){field(r, "task"), field(r, "trace"), hex(r->id, &s->arena), found.a[i].distance};
	}
	vec_free(&found);
	return n;
}

/* The best few records of this task that others measured. Those of this tuning are no origins: they were none when it began. */
static void add_own(struct session *s, struct tuned *t)
{
	VEC(struct found) found = {0};

	for (size_t i = 0; i < t->records.n; i++) {
		const struct kb_record *r = &t->records.a[i];
		if (is_win(r) && !field_is(r, "session", s->id))
			vec_push(&found, (struct found){r, 0, kb_worth(r)});
	}
	if (found.n)
		qsort(found.a, found.n, sizeof *found.a, by_distance);
	for (size_t i = 0; i < found.n && i < OWN_ORIGINS; i++)
		space_add_record(t->space, arena_printf(&t->arena, "%.8s", hex(found.a[i].r->id, &t->arena)), field(found.a[i].r, "trace"));
	vec_free(&found);
}

void add_recorded_origins(struct session *s, struct tuned *t)
{
	struct near near[NEAR_ORIGINS];

	add_own(s, t);
	for (int n = nearest_records(s, t, near, NEAR_ORIGINS), i = 0; i < n; i++)
		space_add_record(t->space, arena_printf(&t->arena, "%.8s", near[i].id), near[i].trace);
}
