/* Segments in the knowledge base. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "common/shown.h"
#include "common/textfile.h"
#include "tune/measured.h"
#include "tune-graph.h"

static const char *field(const struct kb_record *r, const char *name)
{
	const char *s = kb_get_field(r, name);

	return s ? s : "";
}

static double number(const struct kb_record *r, const char *name) { return strtod(field(r, name), NULL); }

/* A segment that several threads run is a task of its own. */
static const char *task_of(const struct book *b, const struct segment *s, struct arena *a)
{
	return b->threads > 1 ? arena_printf(a, "%d threads: %s", b->threads, s->text) : s->text;
}

/* The text of a segment whose task that is; NULL: it is of other threads. */
static const char *text_of(const struct book *b, const char *task)
{
	static const char of[] = " threads: ";
	char *end;
	long threads = strtol(task, &end, 10);

	if (end == task || strncmp(end, of, sizeof of - 1))
		return b->threads > 1 ? NULL : task;
	return threads == b->threads ? end + sizeof of - 1 : NULL;
}

/* Is the record of this machine and user, with weights as cold as now? */
static bool is_measured_so(const struct book *b, const struct kb_record *r)
{
	return kb_is_ours(r) && !kb_compare_targets(field(r, "target"), b->target) &&
	       strtoull(field(r, "cold-weights"), NULL, 10) == b->cold_bytes;
}

/* The bytes of cold weights as records have them; "": none. */
static const char *cold_text(const struct book *b, struct arena *a)
{
	return b->cold_bytes ? arena_printf(a, "%llu", (unsigned long long)b->cold_bytes) : "";
}

static struct measurement read_measurement(const struct kb_record *r, struct arena *a)
{
	const char *verdict = field(r, "verdict"), *why = kb_get_field(r, "why");

	return (struct measurement){.verdict = verdict_parse(verdict, strlen(verdict)),
				    .why = why ? arena_str(a, why) : NULL,
				    .ratio = number(r, "ratio"),
				    .lo = number(r, "lo"),
				    .hi = number(r, "hi")};
}

static void commit(const struct book *b, struct kb_record *r, struct arena *a)
{
	kb_seal(r, a);
	if (!b->prints) {
		kb_put(b->kb, &r, 1);
		return;
	}
	if (isatty(STDOUT_FILENO))
		put_shown_lines(stdout, kb_text(r, a));
	else
		fputs(kb_text(r, a), stdout);
	if (fflush(stdout))
		die_errno(EX_IO, "standard output");
}

static struct kb_record record_of(const struct book *b, const char *task, const char *plan, struct arena *a)
{
	struct kb_record r = {0};

	kb_set_field(&r, "kind", "graph", a);
	kb_set_field(&r, "task", task, a);
	kb_set_field(&r, "target", b->target, a);
	kb_set_field(&r, "plan", plan, a);
	kb_set_field(&r, "tool", b->tool, a);
	if (b->cold_bytes)
		kb_set_field(&r, "cold-weights", cold_text(b, a), a);
	return r;
}

void book_put(const struct book *b, const struct segment *s, const struct choice *c, int remeasurement, double mean)
{
	struct arena a = {0};
	struct kb_record r = record_of(b, task_of(b, s, &a), choice_text(c, s->n, &a), &a);

	kb_set_field(&r, "base", choice_text(&s->usual, s->n, &a), &a);
	kb_set_field(&r, "how", c->how, &a);
	if (c->predicted > 0)
		kb_set_field(&r, "predicted", arena_printf(&a, "%.6g", c->predicted), &a);
	if (c->predicted > 0 && !remeasurement) {
		kb_set_field(&r, "expected", arena_printf(&a, "%.6g", c->expected), &a);
		kb_set_field(&r, "expected-by", c->like_usual ? "usual" : arena_printf(&a, "%zu", c->like), &a);
	}
	if (c->kernels) {
		kb_set_field(&r, "kernels", c->kernels, &a);
		kb_set_field(&r, "usual-kernels", c->usual_kernels, &a);
	}
	measurement_put(&r, &c->result, &a);
	if (remeasurement)
		kb_set_field(&r, "remeasurement", arena_printf(&a, "%d", remeasurement), &a);
	if (mean > 0) {
		kb_set_field(&r, "mean", arena_printf(&a, "%.6g", mean), &a);
		kb_set_field(&r, "remeasurements", arena_printf(&a, "%d", remeasurement), &a);
	}
	commit(b, &r, &a);
	arena_release(&a);
}

static const char *hex(struct digest d, struct arena *a)
{
	char text[33];

	digest_hex(d, text);
	return arena_str(a, text);
}

static const char *model_task(const struct book *b, struct digest model, struct arena *a)
{
	const char *name = hex(model, a);

	return b->threads > 1 ? arena_printf(a, "%d threads: model %s", b->threads, name) : arena_printf(a, "model %s", name);
}

void book_put_whole(const struct book *b, struct digest model, struct digest plan, const struct measurement *m)
{
	struct arena a = {0};
	struct kb_record r = record_of(b, model_task(b, model, &a), hex(plan, &a), &a);

	measurement_put(&r, m, &a);
	commit(b, &r, &a);
	arena_release(&a);
}

enum verdict book_recall_whole(const struct book *b, struct digest model, struct digest plan, struct measurement *m, struct arena *keep)
{
	struct kb_list l = {0};
	struct arena a = {0};
	enum verdict v = VERDICT_COUNT;

	kb_find(b->kb, "graph", model_task(b, model, &a), &l, &a);
	for (size_t i = 0; i < l.n && (v == VERDICT_COUNT || v == VERDICT_UNSURE); i++)
		if (is_measured_so(b, &l.a[i]) && !strcmp(field(&l.a[i], "plan"), hex(plan, &a))) {
			*m = read_measurement(&l.a[i], keep);
			v = m->verdict;
		}
	arena_release(&a);
	return v;
}

void book_put_searched(const struct book *b, const struct segment *s)
{
	struct arena a = {0};
	struct kb_record r = record_of(b, task_of(b, s, &a), choice_text(s->won ? s->won : &s->usual, s->n, &a), &a);

	kb_set_field(&r, "base", choice_text(&s->usual, s->n, &a), &a);
	kb_set_field(&r, "trials", arena_printf(&a, "%zu", b->trials), &a);
	commit(b, &r, &a);
	arena_release(&a);
}

void book_recall(const struct book *b, struct segment *s, bool here, struct arena *a)
{
	struct kb_list l = {0};
	const struct kb_record *r;
	const char *base = choice_text(&s->usual, s->n, a);
	struct choice *won = ARENA_NEW(a, struct choice);

	s->won = NULL;
	s->foreign = false;
	kb_find(b->kb, "graph", task_of(b, s, a), &l, a);
	for (size_t i = l.n; i-- > 0;) {
		r = &l.a[i];
		bool so = is_measured_so(b, r);
		s->done |= so && kb_get_field(r, "trials") && number(r, "trials") >= (double)b->trials && !strcmp(field(r, "base"), base);
		if ((here && !so) || !choice_parse(field(r, "plan"), s->n, won, a))
			l.a[i] = l.a[--l.n];
	}
	r = kb_best_plan(&l, task_of(b, s, a), b->target, base, cold_text(b, a), a);
	while (r && b->trusted && !kb_is_trusted(b->kb, r)) {
		s->foreign = true;
		l.a[r - l.a] = l.a[--l.n];
		r = kb_best_plan(&l, task_of(b, s, a), b->target, base, cold_text(b, a), a);
	}
	s->overtaken = r && !kb_stands(kb_standing(b->kb, r, b->target, a));
	if (s->overtaken)
		return;
	if (!r)
		return;
	choice_parse(field(r, "plan"), s->n, won, a);
	won->how = arena_str(a, field(r, "how"));
	s->won = won;
	s->foreign = !b->trusted && !is_measured_so(b, r);
	s->mean = number(r, "mean");
}

/* Median picoseconds of the candidate in a record's samples, as seconds; 0: there are none. */
static double candidate_seconds(const struct kb_record *r, struct arena *a)
{
	struct measurement m = {0};

	measurement_samples(field(r, "samples"), &m, a);
	for (size_t i = 0; i < m.npairs; i++)
		m.pair[i].base = m.pair[i].candidate;
	return measurement_base_seconds(&m);
}

void book_paces(const struct book *b, struct paces *out, struct arena *a)
{
	struct kb_list l = {0};

	kb_find(b->kb, "graph", NULL, &l, a);
	for (size_t i = 0; i < l.n; i++) {
		const char *task = text_of(b, field(&l.a[i], "task"));
		if (task && is_measured_so(b, &l.a[i]))
			paces_add(out, task, number(&l.a[i], "predicted"), candidate_seconds(&l.a[i], a));
	}
}

double book_choices(const struct book *b, const struct segment *s, struct choices *out, struct arena *a)
{
	struct kb_list l = {0};
	const char *base = choice_text(&s->usual, s->n, a);
	double seconds = 0;

	kb_find(b->kb, "graph", task_of(b, s, a), &l, a);
	for (size_t i = 0; i < l.n; i++) {
		const struct kb_record *r = &l.a[i];
		struct choice c = {.how = field(r, "how"), .predicted = number(r, "predicted"), .measured = true};
		if (!is_measured_so(b, r) || !kb_get_field(r, "verdict") || strcmp(field(r, "base"), base))
			continue;
		c.result = read_measurement(r, a);
		measurement_samples(field(r, "samples"), &c.result, a);
		double of = measurement_base_seconds(&c.result);
		seconds = of > 0 && (seconds <= 0 || of < seconds) ? of : seconds;
		if (!kb_get_field(r, "remeasurement") && !kb_get_field(r, "mean"))
			vec_push(out, c);
	}
	return seconds;
}

void book_recall_choice(const struct book *b, const struct segment *s, struct choice *c, int remeasurement, struct arena *a)
{
	struct kb_list l = {0};

	c->measured = false;
	kb_find(b->kb, "graph", task_of(b, s, a), &l, a);
	for (size_t i = 0; i < l.n && !c->measured; i++) {
		const struct kb_record *r = &l.a[i];
		if (!kb_get_field(r, "verdict") || (!remeasurement && kb_get_field(r, "mean")) || !is_measured_so(b, r) ||
		    (int)number(r, "remeasurement") != remeasurement || strcmp(field(r, "base"), choice_text(&s->usual, s->n, a)) ||
		    strcmp(field(r, "plan"), choice_text(c, s->n, a)))
			continue;
		c->measured = true;
		c->result = read_measurement(r, a);
	}
}
