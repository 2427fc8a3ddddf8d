/* The tuning loop. What is proposed, and for which task, depends only on the seed and on the results of retired batches. Batches are
 * retired in the order in which they were issued, in whatever order their trials end. So a tuning that was interrupted and is
 * started again takes the same way: it reads the results that it has recorded, and goes on from there. */
#include "tune/session.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/progress.h"
#include "target/target.h"
#include "op/task.h"
#include "tune/stop.h"

enum { BATCH = 4, IN_FLIGHT = 16, IN_FLIGHT_TASK = 2, FINALISTS = 8, LOST_MAX = 8 };
#define SEARCH_SECONDS  0.25 /* at most, timing what is timed once */
#define CONFIRM_SECONDS 1.0
#define KNOWN_TO        0.03 /* of its ratio, what is remeasured; */
#define SEARCHED_TO     0.04 /* what is searched among: all that leads is remeasured */
#define BETTER          0.98 /* than the champion, so much is worth a trial of its own, */
#define RIVAL           1.02 /* and when the search has ended, so much: it was timed once */
#define FINALS_SHARE    0.25 /* of --seconds, */
#define FINALS_SECONDS  2.0  /* or so much a task, */
#define LATE_SHARE      0.35 /* and of that for late remeasurements */
#define REST            0.05 /* of --seconds: what is left of all that is too little to go on with */
#define GUESSED_RATE    3e10 /* FLOP/s of a task that has not been timed, to choose which task is next */

struct batch {
	struct tuned *task;
	size_t n;
	struct trial *trial[BATCH + REMEASUREMENTS];
};

/* ---- trials ---- */

/* Makes the kernel and hands it over, unless its result is known already. */
static void resolve(struct session *s, struct trial *x)
{
	struct tuned *t = x->task;
	const char *why;

	if (recall_trial(s, x))
		return;
	double start = now_seconds();
	struct candidate *c = candidate_new(t->m, t->n, s->target, x->point->trace, false, &why);
	s->ledger.generate += now_seconds() - start;
	if (!c) {
		x->done = true;
		x->result = (struct measurement){.verdict = VERDICT_BUILD, .why = why};
		return;
	}
	x->trace = arena_str(&t->arena, c->trace);
	x->source = source_digest(c);
	if (!x->remeasurement && digest_eq(x->source, t->base.source)) {
		x->done = true;
		x->result = (struct measurement){.verdict = VERDICT_TIE, .ratio = 1, .lo = 1, .hi = 1};
	}
	for (size_t i = 0; i < t->trials.n && !x->remeasurement && !x->done && !x->same; i++)
		if (t->trials.a[i] != x && !t->trials.a[i]->remeasurement && !t->trials.a[i]->same &&
		    digest_eq(t->trials.a[i]->source, x->source))
			x->same = t->trials.a[i];
	if (x->done || x->same) {
		candidate_free(c);
		return;
	}
	bool once = !x->remeasurement || (x->remeasurement < FINAL && t->phase == PHASE_SEARCH); /* is it faster at all? */
	double goal = !x->remeasurement ? search_best(t->search) : 0; /* of worse points it need not know by how much */
	if (x->remeasurement && x->remeasurement < FINAL && t->phase == PHASE_FINAL && t->champion)
		goal = mean_ratio(t, t->champion);
	x->request = (struct request){.base = &t->base,
				      .candidate = c,
				      .source = x->source,
				      .owner = x,
				      .budget = once ? SEARCH_SECONDS : CONFIRM_SECONDS,
				      .seed = (seed_of(s, t) + x->number) * 0x9e3779b97f4a7c15u,
				      .cold_bytes = s->cold_bytes,
				      .goal = goal,
				      .width = once ? SEARCHED_TO : KNOWN_TO,
				      .once = once};
	dispatcher_add(s->dispatcher, &x->request);
}

/* A number as it is when it is read again. */
static double as_recorded(double x)
{
	char text[32];

	snprintf(text, sizeof text, "%.6g", x);
	return strtod(text, NULL);
}

/* No runner can do this task. */
static void give_up(struct tuned *t)
{
	if (!t->untunable)
		warn("%s: %s; it is not tuned", t->title, t->base.broken);
	t->untunable = t->base.broken;
	t->phase = PHASE_DONE;
}

static void take_trial(struct session *s, struct request *r)
{
	struct trial *x = r->owner;
	struct tuned *t = x->task;

	x->done = true;
	x->result = r->result;
	x->result.ratio = as_recorded(x->result.ratio);
	x->result.lo = as_recorded(x->result.lo);
	x->result.hi = as_recorded(x->result.hi);
	s->ledger.build += r->build_seconds;
	s->ledger.run += x->result.seconds;
	if (x->result.lost) {
		x->result.verdict = VERDICT_COUNT;
		if (!t->base.broken)
			warn("%s: %s", t->title, x->result.why);
	} else {
		put_trial(s, x);
		t->timed++;
	}
	candidate_free(r->candidate);
	r->candidate = NULL;
	if (t->base.broken)
		give_up(t);
}

static bool is_done(const struct trial *x) { return x->same ? x->same->done : x->done; }

/* ---- batches ---- */

struct trial *trial_new(struct tuned *t, struct point *p, int remeasurement)
{
	struct trial *x = ARENA_NEW(&t->arena, struct trial);

	x->task = t;
	x->point = p;
	x->remeasurement = remeasurement;
	x->number = t->trials.n + 1;
	vec_push(&t->trials, x);
	if (remeasurement)
		vec_push(&t->remeasurements, x);
	return x;
}

/* Takes in what runners have done, and gives them more. */
static void poll_runners(struct session *s, double timeout)
{
	for (struct request *r; (r = dispatcher_next(s->dispatcher, timeout)); timeout = 0)
		take_trial(s, r);
}

static void send(struct session *s, struct batch *b)
{
	b->task->in_flight++;
	vec_push(&s->batches, b);
	for (size_t i = 0; i < b->n && !stop; i++) {
		resolve(s, b->trial[i]);
		poll_runners(s, 0);
	}
}

/* Of a batch. */
static size_t trials_left(const struct session *s, const struct tuned *t)
{
	size_t left = s->opt->trials > t->proposed ? s->opt->trials - t->proposed : 0;

	return left < BATCH ? left : BATCH;
}

/* The next batch of a task: new points, and the one that seems best, afresh. */
static void issue(struct session *s, struct tuned *t)
{
	struct batch *b = ARENA_NEW(&s->arena, struct batch);
	struct point *p[BATCH];

	b->task = t;
	if (t->phase == PHASE_NEW)
		begin(s, t);
	if (t->phase == PHASE_SEARCH) {
		size_t n = trials_left(s, t);
		double start = now_seconds();
		meet(s, t);
		n = search_propose(t->search, n, p);
		s->ledger.search += now_seconds() - start;
		while (b->n < n) {
			b->trial[b->n] = trial_new(t, p[b->n], 0);
			b->n++;
		}
		t->proposed += n;
		if (!n || t->proposed >= s->opt->trials)
			t->phase = PHASE_FINAL;
	} else if (t->phase == PHASE_FINAL) {
		t->turns++;
		b->n = add_finals(t, b->trial);
		if (!b->n)
			b->n = add_more_remeasurements(t, b->trial);
		if (!b->n && t->finalists++ < FINALISTS)
			b->n = add_remeasurements(t, RIVAL, t->champion ? 1 : REMEASUREMENTS, b->trial);
		if (!b->n)
			t->phase = PHASE_LATE;
	} else if (t->phase == PHASE_LATE) {
		b->n = add_finals(t, b->trial);
		if (!b->n)
			b->n = add_late_remeasurements(t, b->trial);
		if (!b->n)
			t->phase = PHASE_DONE;
	}
	send(s, b);
}

/* A task for which there was no time: takes what won for the nearest tasks, or before. */
static void issue_records(struct session *s, struct tuned *t)
{
	struct batch *b = ARENA_NEW(&s->arena, struct batch);
	struct point *p[BATCH];

	begin(s, t);
	if (t->phase == PHASE_DONE)
		return;
	meet(s, t);
	b->task = t;
	for (size_t n = search_propose_records(t->search, trials_left(s, t), p); b->n < n; b->n++)
		b->trial[b->n] = trial_new(t, p[b->n], 0);
	t->proposed += b->n;
	t->phase = b->n ? PHASE_FINAL : PHASE_DONE;
	if (b->n)
		send(s, b);
}

/* Confirms the best point of a task while its search goes on: an interrupt then leaves something. */
static void confirm(struct session *s, struct tuned *t)
{
	struct batch *b = ARENA_NEW(&s->arena, struct batch);

	b->task = t;
	b->n = add_finals(t, b->trial);
	if (!b->n && !is_remeasuring(t))
		b->n = add_more_remeasurements(t, b->trial);
	if (!b->n && !is_remeasuring(t))
		b->n = add_remeasurements(t, BETTER, t->champion ? 1 : REMEASUREMENTS, b->trial);
	if (b->n)
		send(s, b);
}

static void retire_trial(struct tuned *t, struct trial *x)
{
	if (x->same)
		x->result = x->same->result;
	bool timed = verdict_timed(x->result.verdict), right = x->result.verdict == VERDICT_RIGHT;
	t->searched |= timed || right;
	double base = measurement_base_seconds(&x->result);
	if (base > 0 && !(t->seconds > 0 && t->seconds <= base))
		t->seconds = base;
	x->retired = true;
	if (x->remeasurement) {
		x->repeat = x->result.verdict == VERDICT_COUNT && t->lost++ < LOST_MAX;
		if (x->remeasurement >= FINAL)
			t->champion = find_champion(t);
		if (x->result.verdict < VERDICT_COUNT) /* the search goes by all that is known of it: what leads by one timing was lucky */
			search_tell(t->search, x->point, timed ? point_ratio(t, x->point) : INFINITY);
		return;
	}
	t->known += x->known;
	if (x->result.verdict < VERDICT_COUNT)
		t->failed[x->result.verdict]++;
	search_tell(t->search, x->point, timed ? x->result.ratio : right ? 1 : INFINITY);
	double best = t->curve.n ? t->curve.a[t->curve.n - 1] : 1;
	vec_push(&t->curve, timed && x->result.ratio < best ? x->result.ratio : best);
}

/* Retires the oldest batch, if all of it is done. */
static bool retire(struct session *s)
{
	struct batch *b = s->batches.n ? s->batches.a[0] : NULL;

	for (size_t i = 0; b && i < b->n; i++)
		if (!is_done(b->trial[i]))
			return false;
	if (!b)
		return false;
	for (size_t i = 0; i < b->n; i++)
		retire_trial(b->task, b->trial[i]);
	memmove(s->batches.a, s->batches.a + 1, --s->batches.n * sizeof *s->batches.a);
	b->task->in_flight--;
	if (b->task->phase == PHASE_SEARCH)
		confirm(s, b->task);
	if (b->task->phase == PHASE_DONE && !b->task->in_flight && !b->task->untunable && !b->task->cut) {
		b->task->complete = true;
		put_search(s, b->task);
	}
	return true;
}

/* ---- the loop ---- */

static int late_remeasurements(const struct tuned *t) { return t->champion ? t->champion->remeasurement - FINAL : 0; }

/* When all other work is done: remeasures the choices of all tasks in turn. */
static struct tuned *next_late(struct session *s)
{
	struct tuned *next = NULL;

	for (int i = 0; i < s->ntask; i++) {
		struct tuned *t = &s->task[i];
		if (t->phase < PHASE_LATE)
			return NULL;
		if (t->phase == PHASE_LATE && !t->in_flight && (!next || late_remeasurements(t) < late_remeasurements(next)))
			next = t;
	}
	return next;
}

/* Tasks whose search has ended are confirmed first, in turn; then others go on searching. */
static struct tuned *next_final(struct session *s)
{
	struct tuned *next = NULL;

	for (int i = 0; i < s->ntask; i++) {
		struct tuned *t = &s->task[i];
		if (t->phase == PHASE_FINAL && !t->in_flight && (!next || t->turns < next->turns))
			next = t;
	}
	return next;
}

static struct tuned *next_task(struct session *s)
{
	struct tuned *final = next_final(s);
	if (final)
		return final;
	struct task_state *state = xcalloc((size_t)s->ntask + 1, sizeof *state);

	for (int i = 0; i < s->ntask; i++) {
		struct tuned *t = &s->task[i];
		bool searches = t->phase == PHASE_NEW || t->phase == PHASE_SEARCH;
		double seconds = t->seconds > 0 ? t->seconds : t->flops / GUESSED_RATE;
		state[i] = (struct task_state){
			.calls = t->weight,
			.seconds = seconds * (t->champion ? mean_ratio(t, t->champion) : 1),
			.trials = t->proposed,
			.outlook = t->phase == PHASE_SEARCH ? search_outlook(t->search) : (struct outlook){0},
			.busy = t->in_flight >= IN_FLIGHT_TASK,
			.done = !searches,
		};
	}
	int i = schedule_next(s->opt->scheduler, state, s->ntask, BATCH);
	free(state);
	return i < 0 ? next_late(s) : &s->task[i];
}

static void issue_all(struct session *s, double deadline)
{
	struct tuned *t;

	while (s->batches.n < IN_FLIGHT && !stop && now_seconds() < deadline && (t = next_task(s)))
		issue(s, t);
}

/* Waits for trials until all batches are retired, a signal comes, or the time is over. */
static void loop(struct session *s, double deadline, double end)
{
	struct progress p;

	progress_start(&p, "tuning", 0);
	p.logged = true;
	while (!stop && now_seconds() < deadline) {
		issue_all(s, deadline);
		if (!s->batches.n)
			break;
		if (retire(s))
			continue;
		double start = now_seconds(), left = deadline - start;
		poll_runners(s, left < 0.2 ? fmax(left, 0.001) : 0.2);
		s->ledger.wait += now_seconds() - start;
		session_show(s, &p, end);
	}
	progress_end(&p);
}

/* The time for searching is over: drops what is not being timed. In the time left before late remeasurements, remeasures what seems
 * better than what was confirmed, and times what won elsewhere for tasks that had no turn. */
static void finals(struct session *s, double deadline)
{
	double late = deadline - LATE_SHARE * (deadline - now_seconds());

	for (int i = 0; i < s->ntask; i++)
		s->task[i].cut = s->task[i].phase == PHASE_NEW || s->task[i].phase == PHASE_SEARCH;
	dispatcher_drop(s->dispatcher);
	for (size_t i = 0; i < s->batches.n; i++) {
		struct batch *b = s->batches.a[i];
		size_t n = 0;
		for (size_t k = 0; k < b->n; k++) {
			struct trial *x = b->trial[k];
			const struct trial *real = x->same ? x->same : x;
			if (real->done || real->request.state == REQUEST_RUNS)
				b->trial[n++] = x;
			else
				x->dropped = true;
			x->task->cut |= x->dropped && !x->remeasurement;
		}
		b->n = n;
	}
	for (int i = 0; i < s->ntask; i++) {
		struct tuned *t = &s->task[i];
		if (t->phase == PHASE_NEW)
			issue_records(s, t);
		else if (t->phase == PHASE_SEARCH)
			t->phase = PHASE_FINAL;
	}
	loop(s, late, deadline);
	for (int i = 0; i < s->ntask; i++)
		if (s->task[i].phase == PHASE_FINAL) {
			s->task[i].phase = PHASE_LATE;
			s->task[i].cut = true;
		}
	loop(s, deadline, deadline);
}

/* What was left to try when the time was over. */
static void send_dropped(struct session *s, struct tuned *t)
{
	for (size_t i = 0; i < t->trials.n;) {
		struct batch *b = ARENA_NEW(&s->arena, struct batch);
		b->task = t;
		for (; i < t->trials.n && b->n < BATCH; i++) {
			struct trial *x = t->trials.a[i];
			if (!x->dropped || x->remeasurement)
				continue;
			if (x->request.candidate)
				candidate_free(x->request.candidate);
			x->request.candidate = NULL;
			x->same = NULL;
			x->dropped = false;
			b->trial[b->n++] = x;
		}
		if (b->n)
			send(s, b);
	}
}

/* Late remeasurements took less time than was kept for them: searches that were cut go on. false: there is none. */
static bool resume(struct session *s)
{
	bool any = false;

	for (int i = 0; i < s->ntask; i++) {
		struct tuned *t = &s->task[i];
		if (!t->cut || t->untunable)
			continue;
		any = true;
		t->cut = false;
		t->finalists = 0;
		t->phase = PHASE_SEARCH;
		send_dropped(s, t);
	}
	return any;
}

static const char *session_id(struct session *s)
{
	struct digest_state *d = digest_new();
	struct digest sum = {0, 0};
	char hex[33];

	for (int i = 0; i < s->ntask; i++) { /* in whatever order */
		sum.hi += s->task[i].skipped ? 0 : s->task[i].digest.hi;
		sum.lo += s->task[i].skipped ? 0 : s->task[i].digest.lo;
	}
	digest_add(d, &sum, sizeof sum);
	digest_add(d, s->opt->tool, strlen(s->opt->tool));
	digest_add(d, s->target_row, strlen(s->target_row));
	digest_add(d, s->cold_text, strlen(s->cold_text));
	digest_hex(digest_end(d), hex);
	return arena_str(&s->arena, hex);
}

/* The mean of all remeasurements, with the last one's interval widened to hold it. */
static void set_ratio(struct tuned *t, double mean, double lo, double hi)
{
	t->ratio = mean;
	t->lo = fmin(lo, mean);
	t->hi = fmax(hi, mean);
}

/* ---- records from elsewhere ---- */

static void pass_over(struct tuned *t, const struct kb_record *r, const char *why)
{
	t->passed[r - t->records.a] = true;
	warn("%s: %s: %s; passed over", t->title, record_id(r, &t->arena), kb_shown(why, &t->arena));
}

/* Times a record's trace against the default; the result counts as a late remeasurement. */
static void time_record(struct session *s, struct tuned *t, const struct kb_record *r)
{
	struct point *p = ARENA_NEW(&t->arena, struct point);
	const char *why;

	if (!t->base.candidate && !prepare(s, t))
		return;
	*p = (struct point){.trace = kb_get_field(r, "trace"), .from = record_id(r, &t->arena)};
	struct candidate *c = candidate_new(t->m, t->n, s->target, p->trace, false, &why);
	if (!c) {
		pass_over(t, r, why);
		return;
	}
	struct trial *x = trial_new(t, p, FINAL);
	x->trace = arena_str(&t->arena, c->trace);
	x->source = source_digest(c);
	x->request = (struct request){.base = &t->base,
				      .candidate = c,
				      .source = x->source,
				      .owner = x,
				      .budget = CONFIRM_SECONDS,
				      .cold_bytes = s->cold_bytes,
				      .seed = (seed_of(s, t) + x->number) * 0x9e3779b97f4a7c15u,
				      .width = KNOWN_TO};
	dispatcher_add(s->dispatcher, &x->request);
	while (!x->done && !stop)
		poll_runners(s, 0.2);
	if (!x->done) {
		x->dropped = true;
		return;
	}
	x->retired = true;
	if (x->result.verdict < VERDICT_COUNT)
		t->searched = true;
	double base = measurement_base_seconds(&x->result);
	if (base > 0 && !(t->seconds > 0 && t->seconds <= base))
		t->seconds = base;
	t->champion = find_champion(t);
	t->passed[r - t->records.a] = true;
	if (verdict_timed(x->result.verdict))
		note("%s: %s says %s of the default's time; timed here: %.3f", t->title, record_id(r, &t->arena),
		     kb_shown(kb_get_field(r, "ratio"), &t->arena), mean_ratio(t, x));
	else
		pass_over(t, r, x->result.why ? x->result.why : verdict_name(x->result.verdict));
}

/* Names the records that would win if their numbers were believed. */
static void pass_over_disbelieved(struct session *s, struct tuned *t)
{
	for (size_t i = 0; i < t->records.n; i++) {
		const char *why = t->passed[i] ? NULL : kb_not_believed(&t->records.a[i], s->target_row);
		if (why)
			pass_over(t, &t->records.a[i], why);
	}
}

/* Times the best few records of others before they are used, until one is faster here too. */
static void confirm_foreign(struct session *s, struct tuned *t)
{
	enum { FOREIGN = 4 };
	const struct kb_record *r;

	pass_over_disbelieved(s, t);
	if (!s->opt->trials && (r = best_foreign(s, t)))
		note("%s: %s was not measured here; without trials it is not used", t->title, record_id(r, &t->arena));
	if (!s->opt->trials)
		return;

	for (int i = 0; i < FOREIGN && !stop && (r = best_foreign(s, t)) && !(t->champion && mean_ratio(t, t->champion) <= kb_worth(r));
	     i++) {
		const struct trial *before = t->champion;
		time_record(s, t, r);
		if (t->champion != before || t->untunable)
			return;
	}
}

/* The best that is known; a record only if its trace is a schedule of this program. */
static const struct kb_record *best_that_replays(struct session *s, struct tuned *t)
{
	const struct kb_record *r;
	const char *why;

	while ((r = best_record(s, t))) {
		struct candidate *c = candidate_new(t->in, t->node, s->target, kb_get_field(r, "trace"), false, &why);
		if (c) {
			candidate_free(c);
			return r;
		}
		pass_over(t, r, why);
	}
	return NULL;
}

/* The best that is confirmed, by this tuning or an earlier one. */
static void conclude(struct session *s, struct tuned *t)
{
	const struct kb_record *r = best_that_replays(s, t);
	const struct trial *c = t->champion;

	if (r && (!c || kb_worth(r) <= as_recorded(mean_ratio(t, c)))) {
		t->trace = kb_get_field(r, "trace");
		double mean = record_number(r, "mean");
		set_ratio(t, mean > 0 ? kb_worth(r) : record_number(r, "ratio"), record_number(r, "lo"), record_number(r, "hi"));
		t->from = record_id(r, &t->arena);
		if (!(t->seconds > 0))
			t->seconds = record_base_seconds(r);
	} else if (c) {
		t->trace = c->trace;
		set_ratio(t, as_recorded(mean_ratio(t, c)), c->result.lo, c->result.hi);
		t->from = c->point->from;
	}
}

/* Chooses the tasks to search; false: none. Tasks that this tuning has finished are searched again from its records while others are left:
 * the order of tasks, and their origins, followed from them. */
static bool recall_searches(struct session *s)
{
	bool any = false, *own = xcalloc((size_t)s->ntask + 1, sizeof *own);

	for (int i = 0; i < s->ntask; i++) {
		struct tuned *t = &s->task[i];
		t->phase = PHASE_DONE;
		if (!find_default(s, t, t->in, t->node))
			continue;
		read_task_records(s, t);
		t->searched = t->complete = recall_search(s, t, &own[i]);
		if (!t->skipped && s->opt->trials && !t->searched)
			t->phase = PHASE_NEW;
		any |= t->phase == PHASE_NEW;
	}
	for (int i = 0; i < s->ntask; i++) {
		struct tuned *t = &s->task[i];
		if (any && own[i] && !t->skipped && s->opt->trials)
			t->phase = PHASE_NEW;
		if (t->phase == PHASE_DONE && !t->untunable)
			count_known(s, t);
	}
	free(own);
	return any;
}

static void set_cold_bytes(struct session *s)
{
	uint64_t given = (uint64_t)s->opt->cold_bytes << 20;

	if (s->opt->cold_bytes >= 0)
		s->cold_bytes = given < RUNNER_COLD_MAX ? given : RUNNER_COLD_MAX;
	else
		s->cold_bytes = s->ntask ? runner_cold_bytes(s->task[0].in, s->target) : 0;
	s->cold_text = s->cold_bytes ? arena_printf(&s->arena, "%llu", (unsigned long long)s->cold_bytes) : "";
}

/* The share of the time left that is kept for what follows the searches. */
static double finals_seconds(const struct session *s, double left)
{
	int n = 0;

	for (int i = 0; i < s->ntask; i++)
		n += s->task[i].phase != PHASE_DONE;
	return fmin(FINALS_SHARE * left, FINALS_SECONDS * n);
}

void session_run(struct session *s, const char *const *runner, int nrunner)
{
	double start = now_seconds(), end = s->opt->seconds > 0 ? start + s->opt->seconds : INFINITY;

	stop_catch(); /* before the knowledge base starts its process, which inherits it */
	if (!(s->dispatcher = dispatcher_new(runner, nrunner, &stop)))
		stop_end();
	s->target = dispatcher_machine(s->dispatcher);
	s->target_row = dispatcher_target(s->dispatcher);
	if (dispatcher_emulated(s->dispatcher))
		warn("the device is emulated: kernels are checked and not timed, and schedules stay as they are");
	set_cold_bytes(s);
	s->id = session_id(s);
	bool writes = !s->opt->records_out && s->opt->trials > 0;
	s->kb = writes ? kb_open(s->opt->kb, true) : kb_open_if_there(s->opt->kb); /* the first of a sweep finds none */
	bool any = recall_searches(s);
	while (any) {
		double deadline = end - finals_seconds(s, end - now_seconds());
		loop(s, deadline, end);
		any = !stop && now_seconds() >= deadline;
		if (any)
			finals(s, end);
		any = any && !stop && end - now_seconds() > REST * s->opt->seconds && resume(s);
	}
	s->interrupted = stop != 0;
	for (int i = 0; i < s->ntask; i++) {
		struct tuned *t = &s->task[i];
		if (!t->curve.n && !t->untunable) {
			count_known(s, t);
			recall_curve(s, t);
		}
		t->searched |= t->known > 0;
		if (!t->untunable)
			confirm_foreign(s, t);
		conclude(s, t);
	}
	for (int i = 0; i < s->ntask; i++) {
		struct tuned *t = &s->task[i];
		if (!t->searched && !t->trace && !t->given && !t->untunable && !take_older(s, t))
			take_nearest(s, t);
	}
	s->ledger.all = now_seconds() - start;
}

void session_close(struct session *s)
{
	for (int i = 0; i < s->ntask; i++) {
		struct tuned *t = &s->task[i];
		for (size_t k = 0; k < t->trials.n; k++)
			if (t->trials.a[k]->request.candidate)
				candidate_free(t->trials.a[k]->request.candidate);
		if (t->base.candidate)
			candidate_free(t->base.candidate);
		if (t->search)
			search_free(t->search);
		if (t->space)
			space_free(t->space);
		if (t->m)
			module_free(t->m);
		vec_free(&t->trials);
		vec_free(&t->remeasurements);
		vec_free(&t->curve);
		vec_free(&t->met);
		arena_release(&t->arena);
	}
	vec_free(&s->batches);
	vec_free(&s->others);
	dispatcher_free(s->dispatcher);
	kb_close(s->kb);
	arena_release(&s->arena);
}
