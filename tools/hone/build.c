/* hone build, hone passes. */
#include <string.h>
#include <unistd.h>
#include "common/progress.h"
#include "common/shown.h"
#include "common/textfile.h"
#include "graph/stream.h"
#include "hone.h"

void columns(FILE *f, int width, const char *name, double nodes, double groups, double seconds)
{
	char n[32] = "", g[32] = "";

	if (nodes >= 0)
		snprintf(n, sizeof n, "%.0f", nodes);
	if (groups > 0)
		snprintf(g, sizeof g, "%.0f", groups);
	fprintf(f, "%-*s %8s %8s %9.3f\n", width, name, n, g, seconds);
}

static void put_lines(FILE *f, const struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		fprintf(f, "%s\n", shown(w->a[i]));
}

static void put_files(struct hone *h, FILE *f)
{
	static const char *const suffix[] = {"so", "a", "h", "c", "weights"};

	for (size_t i = 0; i < sizeof suffix / sizeof *suffix; i++) {
		const char *path = text(h, "%s.%s", h->stem, suffix[i]);
		if (!access(path, F_OK))
			fprintf(f, "%-40s %10.0f bytes\n", shown(path), file_bytes(path));
	}
	fprintf(f, "%-40s %10s\n", shown(text(h, "%s.d/", h->stem)), "the graph after each stage");
}

void build_report(struct hone *h, FILE *f)
{
	int width = COLUMN_NAME;

	for (size_t i = 0; i < h->lines.n; i++)
		if ((int)strlen(h->lines.a[i].name) > width)
			width = (int)strlen(h->lines.a[i].name);
	fprintf(f, "%-*s %8s %8s %9s\n", width, "stage", "nodes", "groups", "seconds");
	for (size_t i = 0; i < h->lines.n; i++)
		columns(f, width, h->lines.a[i].name, h->lines.a[i].nodes, h->lines.a[i].groups, h->lines.a[i].seconds);
	columns(f, width, "all", -1, 0, now_seconds() - h->start);
	if (h->gear_notes.n)
		putc('\n', f);
	put_lines(f, &h->gear_notes);
	putc('\n', f);
	put_lines(f, &h->plan_notes);
	put_lines(f, &h->group_notes);
	put_lines(f, &h->join_notes);
	put_lines(f, &h->schedule_notes);
	put_lines(f, &h->remarks);
	if (h->check.said && !h->check.code)
		fprintf(f, "%s\n", shown(h->check.said));
	if (h->coverage.is_known)
		coverage_report(h, f);
	else
		put_files(h, f);
}

/* Ours is not in its way: of a build without --quiet, what runs slowly is in the report. */
void build_emit(struct hone *h, const struct words *graphs)
{
	struct child c = {.facts = text(h, "%s/facts", h->work), .shows_progress = true};
	static const struct facts none;
	double since = now_seconds();

	progress(h, NULL);
	words_add(&c.argv, "ge-emit");
	given_add(h, &c.argv, "emit");
	for (size_t i = 0; i < h->targets.n; i++)
		words_add(&c.argv, text(h, "--target=%s", h->targets.a[i]));
	if (h->target && !h->targets.n)
		words_add(&c.argv, text(h, "--target=%s", h->target));
	if (h->quiet)
		words_add(&c.argv, "--quiet");
	words_add(&c.argv, text(h, "--facts=%s", c.facts));
	words_add(&c.argv, "-o");
	words_add(&c.argv, h->stem);
	words_add(&c.argv, "--");
	for (size_t i = 0; i < graphs->n; i++)
		words_add(&c.argv, graphs->a[i]);
	struct facts f = child_must(h, &c);
	child_tell(h, "ge-emit", &none);
	chain_line(h, "emit", since, &none);
	for (size_t i = 0; i < f.n; i++)
		if (f.a[i].text && !strcmp(f.a[i].name, "weights"))
			words_add(&h->remarks, f.a[i].text);
	if (facts_get(&f, "name"))
		words_add(&h->remarks, facts_get(&f, "name"));
}

void build_library(struct hone *h)
{
	struct words w = {0}, graphs = {0};

	if (h->target)
		words_add(&w, text(h, "--target=%s", h->target));
	struct facts f = chain_stage(h, STAGE_plan, "", &w);
	h->open_sizes = facts_value(&f, "open") > 0;
	h->slow_path = facts_value(&f, "slow") > 0;
	stem_open(h);
	stem_set_aside(h);
	words_add(&graphs, h->last);
	build_emit(h, &graphs);
}

void build_made(struct hone *h)
{
	if (h->targets.n) {
		targets_build(h);
	} else {
		h->target = given_value(h, "target");
		chain_run(h, STAGE_import, STAGE_schedule, 0, "");
		build_library(h);
	}
}

/* The stages alone, and what would run each step. */
static void dry_run(struct hone *h)
{
	struct words w = {0};

	if (h->targets.n)
		die(EX_BADUSE, "--dry-run: for one target at a time");
	h->target = given_value(h, "target");
	chain_run(h, STAGE_import, STAGE_schedule, 0, "");
	if (h->target)
		words_add(&w, text(h, "--target=%s", h->target));
	words_add(&w, "--steps");
	struct facts f = chain_stage(h, STAGE_plan, "", &w);
	coverage_take(h, &f);
}

static void make_all(struct hone *h)
{
	build_made(h);
	stem_keep(h);
	measure_shares(h);
	level_cost(h);
	check_library(h);
}

void build(struct hone *h)
{
	bool dry = given_is(h, "dry-run");
	char *report;
	FILE *f = textfile_open(&report, NULL);

	(dry ? dry_run : make_all)(h);
	progress(h, NULL);
	if (given_is(h, "json"))
		build_json(h, f);
	else if (!h->quiet)
		build_report(h, f);
	textfile_close(f);
	place_remove(h);
	child_end();
	put_named(h, stdout, given_is(h, "json") ? NULL : h->line_name, report);
	check_end(h);
}

/* The graph after a stage, as hone build has it. */
void passes(struct hone *h)
{
	const char *from = given_value(h, "from"), *until = given_value(h, "until");
	int first = stage_find(from ? from : "import"), last = stage_find(until ? until : "plan");

	if (given_is(h, "list")) {
		stages_print(stdout);
		return;
	}
	if (first < 0 || last < 0 || last > STAGE_plan)
		die(EX_BADUSE, "--%s %s: there is no such stage; hone passes --list", first < 0 ? "from" : "until",
		    first < 0 ? from : until);
	if (first > last)
		die(EX_BADUSE, "--from %s --until %s: in this order they do not come", from, stage_name((enum stage_id)last));
	if (given_is(h, "target"))
		chain_word(h, STAGE_plan, text(h, "--target=%s", given_value(h, "target")));
	struct stream_writer *w = stream_create(h->stem, false);
	chain_run(h, (enum stage_id)first, (enum stage_id)last, 0, "");
	progress(h, NULL);
	struct stream_reader *r = stream_open(h->last);
	for (struct module *m; (m = stream_read(r)); module_free(m))
		stream_write(w, m);
	stream_close(r);
	place_remove(h);
	child_end();
	stream_finish(w);
}
