/* The search for other groups of one segment. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "op/task.h"
#include "tune/stop.h"
#include "tune-graph.h"

enum { STEPS_MOST = 3, REMEASUREMENTS = 2, SEEDS = 1 << 16 };
#define AHEAD 0.98 /* of the time of the best so far: a step further must be below */

static int by_predicted(const void *a, const void *b)
{
	double x = ((const struct choice *)a)->predicted, y = ((const struct choice *)b)->predicted;

	return (x > y) - (x < y);
}

bool search_is_over(const struct tuning *t) { return stop || (t->deadline > 0 && now_seconds() >= t->deadline); }

static void say(const struct tuning *t, const struct choice *c)
{
	const struct measurement *r = &c->result;

	if (!t->why)
		return;
	if (!c->measured)
		warn("  %s: not timed: %.3g us expected", c->how, 1e6 * c->expected);
	else if (verdict_timed(r->verdict))
		warn("  %s: %s, %.3f (%.3f to %.3f); %.3g us expected", c->how, verdict_name(r->verdict), r->ratio, r->lo, r->hi,
		     1e6 * c->expected);
	else
		warn("  %s: %s: %s", c->how, verdict_name(r->verdict), r->why ? r->why : "");
}

static void show(struct tuning *t)
{
	double spent = now_seconds() - t->progress.start, left = INFINITY;
	char text[128], end[32] = "";

	if (t->progress.done)
		left = spent / (double)t->progress.done * (double)(t->progress.total - t->progress.done);
	if (t->deadline > 0)
		left = fmin(left, fmax(t->deadline - now_seconds(), 0));
	if (isfinite(left))
		snprintf(end, sizeof end, ", %.0f s left", left);
	snprintf(text, sizeof text, "%zu/%zu, %zu trials, %zu with other groups%s", t->progress.done, t->progress.total, t->timed, t->won,
		 end);
	progress_line(&t->progress, text);
}

/* False: a signal came, or the segment's usual groups have no library; that is said once. */
static bool measure(struct tuning *t, struct choice *c, uint64_t number)
{
	struct bench *b = &t->bench;
	bool there = bench_measure(b, c, SEEDS * t->seed + number, &t->arena);

	if (stop)
		return false;
	if (!there && !b->segment->failed)
		warn("a segment is not tuned: its usual groups cannot be built: %s", tool_said(b, &t->arena));
	b->segment->failed |= !there;
	t->timed += there;
	show(t);
	return there;
}

static void predict(struct tuning *t, const struct choice *from, struct choice *c)
{
	const struct segment *s = t->bench.segment;
	const char *reason = search_is_over(t) ? "the time is over" : "it is the usual one";
	bool usual = choice_is(c, &s->usual, s->n);

	if (c->predicted > 0)
		return;
	c->predicted = usual || search_is_over(t) ? INFINITY : bench_predict(&t->bench, c, &t->arena, &reason);
	if (c->group == from->group && c->predicted == from->predicted) {
		c->predicted = INFINITY;
		reason = "that is so already";
	}
	if (t->why && !stop && !isfinite(c->predicted))
		warn("  %s: cannot be: %s", c->how, reason);
}

/* What was timed tells what to expect of others: of this segment, and of others. */
static void learn(struct tuning *t, const struct choice *c)
{
	struct segment *s = t->bench.segment;
	struct measurement m = c->result;

	if (!verdict_timed(m.verdict) || !m.npairs)
		return;
	double base = measurement_base_seconds(&m);
	s->usual_seconds = s->usual_seconds > 0 ? fmin(s->usual_seconds, base) : base;
	paces_add(&t->paces, s->text, c->predicted, base * m.ratio);
}

/* The best few of the choices by the cost model are timed. The fastest that is faster than the usual for sure; NULL: none. */
static struct choice *try_choices(struct tuning *t, const struct choice *from, struct choices *l)
{
	struct segment *s = t->bench.segment;
	struct choice *best = NULL;
	size_t done = 0;

	for (size_t i = 0; i < l->n; i++)
		predict(t, from, &l->a[i]);
	if (l->n)
		qsort(l->a, l->n, sizeof *l->a, by_predicted);
	for (size_t i = 0; i < l->n && isfinite(l->a[i].predicted); i++) {
		struct choice *c = &l->a[i];
		expect(t, s, c);
		book_recall_choice(&t->book, s, c, 0, &t->arena);
		if (!c->measured && done < t->trials && !search_is_over(t)) {
			if (!measure(t, c, done))
				return stop ? best : NULL;
			c->measured = true;
			book_put(&t->book, s, c, 0, 0);
			learn(t, c);
		}
		done += c->measured;
		say(t, c);
		if (c->measured && c->result.verdict == VERDICT_FASTER && (!best || c->result.ratio < best->result.ratio))
			best = c;
	}
	return best;
}

/* What won was chosen by its times, which flatter it: other processes say what counts. */
static void confirm(struct tuning *t, const struct choice *best)
{
	struct segment *s = t->bench.segment;
	struct choice again = *best;
	double log_sum = 0, mean = 1;

	for (int i = 1; i <= REMEASUREMENTS; i++) {
		book_recall_choice(&t->book, s, &again, i, &t->arena);
		bool known = again.measured;
		if (!known && !measure(t, &again, t->trials + (size_t)i))
			return;
		log_sum += log(again.result.ratio);
		mean = exp(log_sum / i);
		bool faster = again.result.verdict == VERDICT_FASTER, holds = faster && i == REMEASUREMENTS && mean < KB_MATERIAL;
		if (!known)
			book_put(&t->book, s, &again, i, holds ? mean : 0);
		if (!faster || (i == REMEASUREMENTS && !holds))
			return;
	}
	if (s->won && s->mean <= mean)
		return;
	s->won = arena_copy(&t->arena, best, sizeof *best);
	s->mean = mean;
}

/* Times that were measured elsewhere, or with other weights, do not count: what won there is timed here. */
static void confirm_foreign(struct tuning *t)
{
	struct segment *s = t->bench.segment;
	struct choice c = *s->won;

	book_recall(&t->book, s, true, &t->arena);
	book_recall_choice(&t->book, s, &c, 0, &t->arena);
	if (!c.measured && !measure(t, &c, 0))
		return;
	if (!c.measured)
		book_put(&t->book, s, &c, 0, 0);
	if (c.result.verdict == VERDICT_FASTER)
		confirm(t, &c);
}

/* From the usual groups on, a step at a time while each is faster than the last. */
static void walk(struct tuning *t, struct module *m)
{
	struct segment *s = t->bench.segment;
	const struct choice *from = &s->usual;
	struct choice *best = NULL;

	for (int step = 0; step < STEPS_MOST && from; step++) {
		struct choices l = step ? (struct choices){0} : s->first;
		if (!l.n)
			choices_near(m, from, t->bench.threads, &l, &t->arena);
		struct choice *next = try_choices(t, from, &l);
		bool better = next && (!best || next->result.ratio < AHEAD * best->result.ratio);
		best = better ? next : best;
		from = better && !search_is_over(t) ? next : NULL;
	}
	if (best && !stop)
		confirm(t, best);
}

static bool is_to_search(const struct tuning *t, const struct segment *s)
{
	return (!s->done || s->foreign) && t->trials && !search_is_over(t);
}

/* Makes the segment the one that is tried. */
static struct module *open_segment(struct tuning *t, struct segment *s)
{
	const char *reason;
	struct module *m = segment_module(s->text, &t->arena, &reason);

	if (!m || graph(m, m->main)->nodes.n != s->n)
		BUG("a segment's text is not read back: %s", m ? s->text : reason);
	bench_begin(&t->bench, s, m);
	return m;
}

void search_recall(struct tuning *t, struct segment *s)
{
	struct choices known = {0};

	book_recall(&t->book, s, false, &t->arena);
	s->usual_seconds = book_choices(&t->book, s, &known, &t->arena);
	vec_free(&known);
}

/* Predicts the usual groups, and the choices next to them: all, or the row-major one. */
static void look(struct tuning *t, struct segment *s, bool all)
{
	const char *reason;
	double best = INFINITY;

	if (!t->trials || search_is_over(t))
		return;
	struct module *m = open_segment(t, s);
	s->usual.predicted = bench_predict(&t->bench, &s->usual, &t->arena, &reason);
	s->least = s->usual.predicted;
	choices_near(m, &s->usual, t->bench.threads, &s->first, &t->arena);
	for (size_t i = 0; i < s->first.n && !search_is_over(t) && (all || s->first.a[i].row_major); i++) {
		predict(t, &s->usual, &s->first.a[i]);
		expect(t, s, &s->first.a[i]);
		best = fmin(best, s->first.a[i].expected);
		s->least = fmin(s->least, s->first.a[i].predicted);
	}
	struct choice usual = s->usual;
	expect(t, s, &usual);
	s->gain = isfinite(best) && isfinite(usual.expected) ? (double)s->places * (usual.expected - best) : -INFINITY;
	module_free(m);
	t->bench.segment = NULL;
}

void search_look(struct tuning *t, struct segment *s)
{
	search_recall(t, s);
	if (!s->done)
		look(t, s, true);
}

void search_glance(struct tuning *t, struct segment *s) { look(t, s, false); }

void search_segment(struct tuning *t, struct segment *s)
{
	if (s->foreign && t->trials && search_is_over(t))
		book_recall(&t->book, s, true, &t->arena);
	if (!is_to_search(t, s))
		return;
	struct module *m = open_segment(t, s);
	if (s->foreign)
		confirm_foreign(t);
	if (!s->done)
		walk(t, m);
	if (!s->done && !s->failed && !search_is_over(t))
		book_put_searched(&t->book, s);
	module_free(m);
	t->bench.segment = NULL;
}
