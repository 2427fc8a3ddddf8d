/* hone tune: hone build with a search before ge-plan. */
#include <math.h>
#include <signal.h>
#include <string.h>
#include "common/progress.h"
#include "common/shown.h"
#include "common/textfile.h"
#include "hone.h"

const char *target_runner(struct hone *h)
{
	return text(h, "--runner=run-dev --serve %s", shell_word(text(h, "--target=%s", given_value(h, "target")), &h->arena));
}

/* The runner alone knows what is wrong with a target. */
static void check_target(struct hone *h)
{
	struct child c = {0};

	words_add(&c.argv, "run-dev");
	words_add(&c.argv, "--serve");
	words_add(&c.argv, text(h, "--target=%s", given_value(h, "target")));
	child_must(h, &c);
}

/* The name of the model in the report: without its folder, .onnx and .gguf. */
static const char *title(struct hone *h)
{
	const char *name = base_name(h->model);
	size_t n = strlen(name);

	return n > 5 && (!strcmp(name + n - 5, ".onnx") || !strcmp(name + n - 5, ".gguf")) ? text(h, "%.*s.g", (int)n - 5, name) : name;
}

/* What cannot be planned is not searched for: sizes that are missing, --no-fallback. */
static void check_plan(struct hone *h)
{
	struct child c = {.facts = text(h, "%s/facts", h->work)};

	words_add(&c.argv, "ge-plan");
	words_add(&c.argv, "--quiet");
	words_add(&c.argv, "--no-open");
	given_add(h, &c.argv, "first-plan");
	if (h->target)
		words_add(&c.argv, text(h, "--target=%s", h->target));
	words_add(&c.argv, text(h, "--facts=%s", c.facts));
	words_add(&c.argv, "-o");
	words_add(&c.argv, "/dev/null");
	words_add(&c.argv, "--");
	words_add(&c.argv, h->last);
	child_must(h, &c);
}

/* What is left of --seconds for the search in the groups, of which most are its own. */
static double seconds_left(const struct hone *h, double begun)
{
	return fmax(strtod(given_value(h, "seconds"), NULL) - (now_seconds() - begun), 1e-3);
}

static const char *groups_page(struct hone *h) { return text(h, "%s/groups.html", h->work); }

/* Other groups, before those of the rules are made; the graph with the usual ones, for telling what all that gains. */
static const char *regroup(struct hone *h)
{
	static const double share = 1.0 / 3;
	const char *trials = given_value(h, "trials"), *plain;

	if (given_is(h, "target") || given_is(h, "runner"))
		die(EX_BADUSE, "tune: --graph times on this machine alone: it goes with neither --target nor --runner");
	if (given_is(h, "seconds"))
		chain_word(h, STAGE_regroup, text(h, "--seconds=%g", share * seconds_left(h, now_seconds())));
	if (trials && !strcmp(trials, "0"))
		chain_word(h, STAGE_regroup, "--trials=0");
	if (given_value(h, "threads"))
		chain_word(h, STAGE_regroup, text(h, "--threads=%s", given_value(h, "threads")));
	if (given_is(h, "report")) {
		chain_word(h, STAGE_regroup, text(h, "--report=%s", groups_page(h)));
		chain_word(h, STAGE_regroup, text(h, "--title=%s", title(h)));
	}
	struct chain_mark m = chain_aside(h, "usual");
	chain_run(h, STAGE_fuse, STAGE_schedule, 0, "");
	plain = h->last;
	check_plan(h);
	chain_back(h, &m);
	chain_run(h, STAGE_regroup, STAGE_regroup, 0, "");
	return plain;
}

static void search(struct hone *h, const char *table, double begun)
{
	struct child c = {.facts = text(h, "%s/facts", h->work), .out = table, .shows_progress = true, .is_search = true};
	const char *next = text(h, "%s/%02d-%s.g", h->folder, ++h->count, stage_name(STAGE_tune));
	bool elsewhere = given_is(h, "target") || given_is(h, "runner");
	double since = now_seconds();

	words_add(&c.argv, "tune-op");
	given_add(h, &c.argv, "tune");
	if (given_is(h, "graph") && given_is(h, "seconds"))
		words_add(&c.argv, text(h, "--seconds=%g", seconds_left(h, begun)));
	if (given_is(h, "graph") && given_is(h, "report"))
		words_add(&c.argv, text(h, "--report-after=%s", groups_page(h)));
	if (child_interrupted) /* before it began: what is known is used */
		words_add(&c.argv, "--trials=0");
	if (given_is(h, "target")) {
		check_target(h);
		words_add(&c.argv, target_runner(h));
	}
	if (h->quiet || given_is(h, "json")) /* the table is silent with --quiet */
		words_add(&c.argv, "--json");
	if (h->quiet)
		words_add(&c.argv, "--quiet");
	words_add(&c.argv, text(h, "--title=%s", title(h)));
	words_add(&c.argv, text(h, "--facts=%s", c.facts));
	words_add(&c.argv, "-o");
	words_add(&c.argv, next);
	words_add(&c.argv, "--");
	words_add(&c.argv, h->last);
	progress(h, NULL);
	struct facts f = child_must(h, &c);
	child_tell(h, "tune-op", &f);
	if (elsewhere && facts_get(&f, "target")) /* the library is for where kernels were timed */
		h->target = facts_get(&f, "target");
	chain_line(h, stage_name(STAGE_tune), since, &f);
	words_add(&h->kept, next);
	h->last = next;
}

/* Seconds of the whole model, tuned and not, in turns; infinite: it was not timed. */
struct both {
	double before, after;
};

/* Where kernels were timed elsewhere this machine says nothing. */
static struct both time_both(struct hone *h, const char *plain)
{
	enum { TURNS = 3 };
	const char *library = strchr(h->stem, '/') ? text(h, "%s.so", h->stem) : text(h, "./%s.so", h->stem);
	struct both x = {INFINITY, INFINITY};

	if (!library_of(h, plain, "default"))
		return x;
	for (int i = 0; i < TURNS; i++) {
		x.before = fmin(x.before, library_least(h, text(h, "%s/default.so", h->work)));
		x.after = fmin(x.after, library_least(h, library));
	}
	if (isfinite(x.before) && isfinite(x.after))
		words_add(&h->form_times,
			  text(h, "the whole model, fastest run of %d turns each: %.4g ms by default, %.4g ms tuned (%+.1f%%)", TURNS,
			       1e3 * x.before, 1e3 * x.after, 100 * (x.after / x.before - 1)));
	return x;
}

static void put_report(struct hone *h, const char *table, FILE *f)
{
	put_file(f, table);
	if (given_is(h, "json"))
		return;
	for (size_t i = 0; i < h->form_times.n; i++)
		fprintf(f, "%s\n", h->form_times.a[i]);
	putc('\n', f);
	build_report(h, f);
}

/* The library is there, whatever comes of this. */
static void learn(struct hone *h)
{
	struct child c = {.facts = text(h, "%s/facts", h->work)};
	struct facts f;

	progress(h, "learn");
	words_add(&c.argv, "tune-model");
	words_add(&c.argv, "learn");
	if (given_is(h, "kb"))
		words_add(&c.argv, text(h, "--kb=%s", given_value(h, "kb")));
	if (h->quiet)
		words_add(&c.argv, "--quiet");
	words_add(&c.argv, text(h, "--facts=%s", c.facts));
	child_run(h, &c, &f);
	child_tell(h, "tune-model", &f);
}

void tune(struct hone *h)
{
	bool elsewhere = given_is(h, "target") || given_is(h, "runner");
	const char *plain = NULL, *table = text(h, "%s/table", h->work);
	double begun = now_seconds();
	struct both whole = {INFINITY, INFINITY};
	char *report;

	if (given_is(h, "learn") && elsewhere)
		die(EX_BADUSE, "tune: --learn is of this machine: it goes with neither --target nor --runner");
	h->target = given_value(h, "target");
	chain_word(h, STAGE_schedule, "--no-records"); /* the search has the records, and times what was not measured here */
	chain_run(h, STAGE_import, STAGE_integer, 0, "");
	if (given_is(h, "graph"))
		plain = regroup(h);
	chain_run(h, STAGE_fuse, STAGE_share, 0, "");
	if (given_is(h, "mixed") && !elsewhere)
		mixed_fastest(h);
	chain_run(h, STAGE_join, STAGE_schedule, 0, "");
	check_plan(h);
	plain = plain ? plain : h->last;
	search(h, table, begun);
	build_library(h);
	if (!elsewhere && (given_is(h, "report") || (!h->quiet && !given_is(h, "json"))))
		whole = time_both(h, plain);
	tune_page(h, whole.before, whole.after);
	stem_keep(h);
	level_cost(h);
	if (given_is(h, "learn") && !child_interrupted)
		learn(h);
	progress(h, NULL);
	FILE *f = textfile_open(&report, NULL);
	if (!h->quiet)
		put_report(h, table, f);
	textfile_close(f);
	place_remove(h);
	child_end();
	fputs(report, stdout);
}
