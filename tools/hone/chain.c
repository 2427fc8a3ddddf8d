/* The list of stages, and the way through it. */
#include "hone.h"
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/filename.h"
#include "common/progress.h"

/* ---- in which builds a stage runs ---- */

static bool ALWAYS(const struct hone *h) { return true; }
static bool FROM_ONNX(const struct hone *h) { return !filename_ends(h->model, ".g"); }
static bool FOR_FILE(const struct hone *h) { return h->verb->id == V_SIMPLIFY; }
static bool FOR_RUNS(const struct hone *h)
{
	return h->verb->id == V_BUILD || h->verb->id == V_TUNE || h->verb->id == V_PASSES || h->verb->id == V_BISECT;
}
static bool GEARS(const struct hone *h)
{
	return given_is(h, "gears") || given_is(h, "histogram") || given_is(h, "k") || given_is(h, "times");
}
static bool MIXED(const struct hone *h) { return given_is(h, "mixed") || (!given_is(h, "exact") && !given_is(h, "integers")); }
/* Until a runner says what it is, there is no target. */
static bool PREDICTED(const struct hone *h) { return !given_is(h, "runner") || given_is(h, "target"); }
/* Records and learned models are of one thread. */
static bool is_modeled(const struct hone *h)
{
	const char *model = given_value(h, "model"), *threads = given_value(h, "threads");

	return (!model || strcmp(model, "none")) && (!threads || !strcmp(threads, "1"));
}
static bool JOINED(const struct hone *h) { return PREDICTED(h) && is_modeled(h); } /* by the analytic model */
static bool COMPILED(const struct hone *h) { return h->verb->id == V_BUILD || h->verb->id == V_TUNE; }
static bool REGROUPED(const struct hone *h) { return h->verb->id == V_TUNE && given_is(h, "graph"); }
/* Other groups that are known to be faster, of the target that the stages run for. */
static bool RECALLED(const struct hone *h) { return JOINED(h) && !given_is(h, "no-kb") && !REGROUPED(h); }
static bool TUNED(const struct hone *h) { return h->verb->id == V_TUNE; }

static const struct stage {
	const char *name, *tool;
	bool (*is_in)(const struct hone *h);
	unsigned parts; /* enum stage_part */
	const char *options;
} stages[] = {
#define STAGE(name, tool, when, parts, options) {#name, #tool, when, parts, options},
#include "stages.h"
};

const char *stage_name(enum stage_id s) { return stages[s].name; }

int stage_find(const char *name)
{
	for (int s = 0; s < STAGES; s++)
		if (!strcmp(stages[s].name, name))
			return s;
	return -1;
}

/* Tools are written with an underscore in the list, where they are C names. */
static const char *tool_name(struct hone *h, enum stage_id s)
{
	char *name = (char *)text(h, "%s", stages[s].tool);

	for (char *p = name; *p; p++)
		if (*p == '_')
			*p = '-';
	return name;
}

void stages_print(FILE *f)
{
	struct hone h = {0};

	for (int s = 0; s < STAGES; s++)
		fprintf(f, "%-10s %s%s%s\n", stages[s].name, tool_name(&h, s), *stages[s].options ? " " : "", stages[s].options);
	arena_release(&h.arena);
}

/* ---- one stage ---- */

void chain_word(struct hone *h, enum stage_id s, const char *word) { words_add(&h->words[s], word); }

const char *chain_graph(struct hone *h, const char *name) { return text(h, "%s/%02d-%s.g", h->folder, ++h->count, name); }

static double number_of(const struct facts *f, const char *name)
{
	double v = facts_value(f, name);

	return isnan(v) ? -1 : v;
}

void chain_line(struct hone *h, const char *name, double since, const struct facts *f)
{
	if (!h->aside)
		vec_push(&h->lines, (struct stage_line){name, number_of(f, "nodes"), number_of(f, "groups"), now_seconds() - since});
}

/* Keeps the notes of a stage for the report. A note of one of several targets begins with its name, behind the notes of others. */
static void keep_notes(struct hone *h, struct words *w, const struct facts *f)
{
	if (!h->label)
		w->n = 0;
	for (size_t i = 0; i < f->n; i++)
		if (f->a[i].text && !strcmp(f->a[i].name, "note"))
			words_add(w, h->label ? text(h, "%s: %s", h->label, f->a[i].text) : f->a[i].text);
}

/* The notes of tune-graph --recall, ge-join, ge-schedule, ge-plan and ge-gears are part of the report. of_form: one of two forms that are compared; ge-integer says the same of each. */
static void take_notes(struct hone *h, enum stage_id s, bool of_form, const struct facts *f)
{
	static const struct facts none;

	if (s == STAGE_plan)
		keep_notes(h, &h->plan_notes, f);
	else if (s == STAGE_recall)
		keep_notes(h, &h->group_notes, f);
	else if (s == STAGE_join)
		keep_notes(h, &h->join_notes, f);
	else if (s == STAGE_schedule)
		keep_notes(h, &h->schedule_notes, f);
	else if (s == STAGE_gears && given_is(h, "histogram"))
		keep_notes(h, &h->gear_notes, f);
	bool reported = s == STAGE_gears || s == STAGE_recall || s == STAGE_join || s == STAGE_schedule || stages[s].parts & REPORTS ||
			(s == STAGE_mixed && !given_is(h, "mixed"));
	bool told = !h->aside && !(of_form && s == STAGE_integer) && (!reported || h->verb->id == V_PASSES);
	child_tell(h, tool_name(h, s), told ? f : &none);
}

/* A part that runs again gives its stages the same options. */
static struct child stage_child(struct hone *h, enum stage_id s, const struct words *more)
{
	bool searches = stages[s].parts & SEARCHES;
	struct child c = {.facts = text(h, "%s/facts", h->work), .shows_progress = searches, .is_search = searches};

	words_add(&c.argv, tool_name(h, s));
	if (*stages[s].options)
		words_add(&c.argv, stages[s].options);
	for (size_t i = 0; i < h->words[s].n; i++)
		words_add(&c.argv, h->words[s].a[i]);
	for (size_t i = 0; more && i < more->n; i++)
		words_add(&c.argv, more->a[i]);
	if (!h->aside || !(stages[s].parts & SIZES)) /* of sizes that are tried, those alone */
		given_add(h, &c.argv, stages[s].name);
	if (s == STAGE_schedule && !is_modeled(h)) {
		words_add(&c.argv, "--model=none");
		words_add(&c.argv, "--no-records");
	}
	if (h->quiet)
		words_add(&c.argv, "--quiet");
	words_add(&c.argv, text(h, "--facts=%s", c.facts));
	return c;
}

int chain_try(struct hone *h, enum stage_id s, const char *from, const char *to)
{
	struct child c = stage_child(h, s, NULL);

	c.shows_progress = c.is_search = false;
	words_add(&c.argv, "-o");
	words_add(&c.argv, to);
	words_add(&c.argv, "--");
	words_add(&c.argv, from);
	return child_run(h, &c, NULL);
}

struct facts chain_stage(struct hone *h, enum stage_id s, const char *prefix, const struct words *more)
{
	const char *name = text(h, "%s%s%s%s", h->label ? h->label : "", h->label ? "." : "", prefix, stages[s].name), *next;
	double since = now_seconds();
	struct child c = stage_child(h, s, more);

	progress(h, stages[s].parts & SEARCHES ? NULL : name);
	next = chain_graph(h, name);
	words_add(&c.argv, "-o");
	words_add(&c.argv, next);
	words_add(&c.argv, "--");
	words_add(&c.argv, h->last);
	c.reads_input = !strcmp(h->last, "-");
	struct facts f = child_must(h, &c);
	take_notes(h, s, *prefix != 0, &f);
	if (s == STAGE_integer && !*prefix && !h->aside && facts_value(&f, "rounded") > 0)
		h->before_level = h->before_gears ? h->before_gears : h->last;
	chain_line(h, name, since, &f);
	h->last = next;
	h->digest = facts_get(&f, "digest");
	if (!h->aside)
		words_add(&h->kept, next);
	return f;
}

/* ---- the way ---- */

static bool same_digest(const char *a, const char *b) { return a && b && !strcmp(a, b); }

/* The first stage of those that repeat with s. */
static enum stage_id repeat_from(enum stage_id s, enum stage_id first)
{
	while (s > first && stages[s - 1].parts & stages[s].parts & ~(unsigned)REPEATS)
		s--;
	return s;
}

static void narrow_run(struct hone *h)
{
	const char *before = h->digest;

	chain_stage(h, STAGE_narrow, "", NULL);
	if (!same_digest(before, h->digest))
		chain_run(h, STAGE_fold, STAGE_prune, CLEAN, "");
}

static void gears_run(struct hone *h)
{
	struct words w = {0};

	gears_words(h, &w);
	h->before_gears = h->last;
	chain_stage(h, STAGE_gears, "", &w);
	chain_run(h, STAGE_fold, STAGE_prune, CLEAN, "");
}

static void stage_run(struct hone *h, enum stage_id s, const char *prefix)
{
	if (s == STAGE_narrow)
		narrow_run(h);
	else if (s == STAGE_gears)
		gears_run(h);
	else if (s == STAGE_mixed)
		mixed_run(h);
	else
		chain_stage(h, s, prefix, NULL);
}

void chain_run(struct hone *h, enum stage_id first, enum stage_id last, unsigned part, const char *prefix)
{
	for (enum stage_id s = first; s <= last; s++) {
		const char *before = h->digest;
		bool is_in = stages[s].is_in(h);
		if (part && !(stages[s].parts & part))
			continue;
		if (is_in)
			stage_run(h, s, prefix);
		if (is_in && stages[s].parts & REPEATS && !same_digest(before, h->digest))
			s = repeat_from(s, first) - 1;
		else if (!part)
			own_passes(h, s);
	}
}

struct chain_mark chain_aside(struct hone *h, const char *folder)
{
	struct chain_mark m = {h->last, h->digest, h->folder, h->count, h->aside};

	h->folder = text(h, "%s/%s", h->work, folder);
	if (mkdir(h->folder, 0777) && access(h->folder, W_OK))
		no_space();
	h->aside = true;
	return m;
}

void chain_back(struct hone *h, const struct chain_mark *m)
{
	h->last = m->last;
	h->digest = m->digest;
	h->folder = m->folder;
	h->count = m->count;
	h->aside = m->aside;
}
