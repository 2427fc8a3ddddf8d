/* hone quantize. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/progress.h"
#include "common/shown.h"
#include "common/textfile.h"
#include "hone.h"

struct quantizing {
	struct words shapes;                /* --shape=..., of the first sample */
	bool counted;                       /* there are statistics */
	double samples, calibrated, chosen; /* seconds of the last two */
	struct words times;                 /* --times=..., three; none where they were not measured */
};

static const char *statistics(struct hone *h) { return text(h, "%s/statistics", h->work); }
static bool has_samples(const struct hone *h) { return given_is(h, "data"); }

static bool wants_samples(const struct hone *h)
{
	const char *kind = given_value(h, "activations");

	return !kind || (strcmp(kind, "none") && strcmp(kind, "dynamic"));
}

/* ---- libraries ---- */

/* hone build of a graph, of the sizes that samples have: WORK/lib/NAME.so. false: there is none. */
static bool sized_library(struct hone *h, const struct quantizing *q, const char *graph, const char *name)
{
	struct child c = {0};

	progress(h, text(h, "compile %s", name));
	words_add(&c.argv, "/proc/self/exe");
	words_add(&c.argv, "build");
	words_add(&c.argv, "--quiet");
	for (size_t i = 0; i < q->shapes.n; i++)
		words_add(&c.argv, q->shapes.a[i]);
	words_add(&c.argv, "-o");
	words_add(&c.argv, text(h, "%s/lib/%s", h->work, name));
	words_add(&c.argv, "--");
	words_add(&c.argv, graph);
	return !child_run(h, &c, NULL);
}

/* How long it takes: WORK/NAME.json. */
static bool time_made(struct hone *h, const char *library, const char *name)
{
	progress(h, text(h, "time %s", name));
	return library_time(h, text(h, "%s/lib/%s.so", h->work, library), text(h, "%s/%s.json", h->work, name));
}

static bool time_library(struct hone *h, const struct quantizing *q, const char *graph, const char *name)
{
	return sized_library(h, q, graph, name) && time_made(h, name, name);
}

/* ---- statistics ---- */

static void add_samples(struct hone *h, struct words *w)
{
	for (size_t i = 0; i < h->given.n; i++)
		if (!strcmp(h->given.a[i].row->name, "data"))
			words_add(w, h->given.a[i].value);
}

static struct child calibrator(struct hone *h, const char *how, const char *out)
{
	struct child c = {.facts = text(h, "%s/facts", h->work)};

	words_add(&c.argv, "ge-calibrate");
	if (how)
		words_add(&c.argv, how);
	if (h->quiet)
		words_add(&c.argv, "--quiet");
	given_add(h, &c.argv, "calibrate");
	words_add(&c.argv, text(h, "--facts=%s", c.facts));
	words_add(&c.argv, "-o");
	words_add(&c.argv, out);
	words_add(&c.argv, "--");
	words_add(&c.argv, h->last);
	return c;
}

static int count_values(struct hone *h, const char *how, struct facts *f)
{
	struct child c = calibrator(h, how, statistics(h));

	add_samples(h, &c.argv);
	c.shows_progress = !how || !strncmp(how, "--library", 9);
	progress(h, c.shows_progress ? NULL : "calibrate");
	return child_run(h, &c, f);
}

static void find_shapes(struct hone *h, struct quantizing *q)
{
	struct child c = calibrator(h, "--sizes", text(h, "%s/sizes", h->work));
	struct facts f;

	add_samples(h, &c.argv);
	q->shapes.n = 0;
	if (child_run(h, &c, &f))
		return;
	for (size_t i = 0; i < f.n; i++)
		if (f.a[i].text && !strcmp(f.a[i].name, "shape"))
			words_add(&q->shapes, text(h, "--shape=%s", f.a[i].text));
}

/* A model that shows the library all values that are counted. */
static bool exposed_library(struct hone *h, const struct quantizing *q)
{
	const char *graph = text(h, "%s/exposed.g", h->work);
	struct child c = {0};

	words_add(&c.argv, "ge-calibrate");
	words_add(&c.argv, "--expose");
	words_add(&c.argv, "-o");
	words_add(&c.argv, graph);
	words_add(&c.argv, "--");
	words_add(&c.argv, h->last);
	return !child_run(h, &c, NULL) && sized_library(h, q, graph, "counting");
}

/* What takes the evaluator long is compiled. */
static void calibrate(struct hone *h, struct quantizing *q)
{
	double since = now_seconds();
	struct facts f;

	if (!has_samples(h) && wants_samples(h))
		die(EX_BADUSE, "quantize: which samples? --data names them");
	if (!has_samples(h))
		return;
	find_shapes(h, q);
	int code = count_values(h, "--seconds=10", &f);
	if (code == EX_NOTAVAIL) {
		if (exposed_library(h, q))
			code = count_values(h, text(h, "--library=%s/lib/counting.so", h->work), &f);
		if (code)
			code = count_values(h, NULL, &f);
	}
	if (code)
		child_failed(h, code, &f);
	child_tell(h, "ge-calibrate", &f);
	q->counted = true;
	q->samples = facts_value(&f, "samples");
	q->calibrated = now_seconds() - since;
}

/* ---- the choice ---- */

static struct child quantizer(struct hone *h, const struct quantizing *q, const char *to, const char *out)
{
	struct child c = {.facts = text(h, "%s/facts", h->work)};

	words_add(&c.argv, "ge-quantize");
	if (h->quiet || !strcmp(to, "half"))
		words_add(&c.argv, "--quiet");
	given_add(h, &c.argv, to);
	if (q->counted)
		words_add(&c.argv, text(h, "--statistics=%s", statistics(h)));
	words_add(&c.argv, text(h, "--facts=%s", c.facts));
	words_add(&c.argv, "-o");
	words_add(&c.argv, out);
	return c;
}

/* Channels made alike before they are rounded. Where a product makes them this is exact, and is done by itself if it promises to take most
 * of the error: what --equalize=PART leaves. */
#define EQUALIZE_ALONE "--equalize=0.25"

/* What --equalize and --smooth do; then the ranges are others. */
static void balance(struct hone *h, struct quantizing *q)
{
	const char *out = text(h, "%s/balanced.g", h->work);
	bool asked = given_is(h, "equalize") || given_is(h, "smooth");

	if (asked && !q->counted)
		die(EX_BADUSE, "--equalize, --smooth: which samples? --data names them");
	if (!asked && (!q->counted || !wants_samples(h) || given_is(h, "no-equalize")))
		return;
	struct child c = quantizer(h, q, "balance", out);
	if (!asked)
		words_add(&c.argv, EQUALIZE_ALONE);
	words_add(&c.argv, "--");
	words_add(&c.argv, h->last);
	struct facts f = child_must(h, &c);
	child_tell(h, "ge-quantize", &f);
	if (facts_value(&f, "balanced") == 0)
		return;
	h->last = out;
	calibrate(h, q);
}

/* What layers take longer in float, measured on models of which all, the even or the odd layers are quantised. */
static void time_layers(struct hone *h, struct quantizing *q)
{
	if (!given_is(h, "metric"))
		return;
	for (int half = 0; half <= 2; half++) {
		const char *name = text(h, "half%d", half), *graph = text(h, "%s/%s.g", h->work, name);
		struct child c = quantizer(h, q, "half", graph);
		if (half)
			words_add(&c.argv, text(h, "--alternate=%d", half));
		words_add(&c.argv, "--");
		words_add(&c.argv, h->last);
		if (child_run(h, &c, NULL) || !time_library(h, q, graph, name)) /* choose_bytes says what is wrong */
			return;
	}
	for (int half = 0; half <= 2; half++)
		words_add(&q->times, text(h, "--times=%s/half%d.json", h->work, half));
}

static void choose_bytes(struct hone *h, struct quantizing *q)
{
	const char *out = text(h, "%s/quantised.g", h->work);

	time_layers(h, q);
	progress(h, NULL);
	double since = now_seconds();
	struct child c = quantizer(h, q, "quantize", out);
	c.out = text(h, "%s/table", h->work);
	c.shows_progress = c.is_search = true;
	for (size_t i = 0; i < q->times.n; i++)
		words_add(&c.argv, q->times.a[i]);
	if (!h->quiet) {
		struct words paths = {0};
		add_samples(h, &paths);
		for (size_t i = 0; i < paths.n; i++)
			words_add(&c.argv, text(h, "--samples=%s", paths.a[i]));
		given_add(h, &c.argv, "samples");
	}
	words_add(&c.argv, "--");
	words_add(&c.argv, h->last);
	struct facts f = child_must(h, &c);
	child_tell(h, "ge-quantize", &f);
	h->last = out;
	q->chosen = now_seconds() - since;
}

/* ---- the report ---- */

enum { TURNS = 3 };

/* Both libraries, in turns: what else the machine does meets both. */
static void time_in_turns(struct hone *h, const struct quantizing *q, const char *plain)
{
	if (!sized_library(h, q, plain, "float") || !sized_library(h, q, h->last, "bytes"))
		return;
	for (int i = 0; i < TURNS; i++)
		if (!time_made(h, "float", text(h, "float%d", i)) || !time_made(h, "bytes", text(h, "bytes%d", i)))
			return;
}

/* The least of the turns, of processor time. */
static double milliseconds(struct hone *h, const char *name)
{
	double least = INFINITY;

	for (int i = 0; i < TURNS; i++) {
		struct facts f = facts_read(text(h, "%s/%s%d.json", h->work, name, i));
		least = fmin(least, facts_value(&f, "processor"));
	}
	return 1e3 * least;
}

static void put_report(struct hone *h, const struct quantizing *q, double bytes, FILE *f)
{
	double before = milliseconds(h, "float"), after = milliseconds(h, "bytes");

	put_file(f, text(h, "%s/table", h->work));
	putc('\n', f);
	stat_table(h, f);
	print_bytes(f, bytes, file_bytes(h->stem));
	if (isfinite(before) && isfinite(after))
		fprintf(f, "%-28s %12.4g %12.4g %+7.1f%%\n", "milliseconds, as a library", before, after, 100 * (after - before) / before);
	else if (!child_interrupted) /* then nobody is to wait for times */
		fprintf(f, "%-28s            not all sizes are known, or it has no kernels\n", "milliseconds, as a library");
	putc('\n', f);
	if (q->counted)
		fprintf(f, "%.0f samples in %.3f seconds, ", q->samples, q->calibrated);
	fprintf(f, "%.3f seconds to choose\n", q->chosen);
}

/* Scales by channel are of opset 13: a model of an older one becomes one of that, unless --opset says otherwise. */
static void export_quantised(struct hone *h, const char *made)
{
	struct facts f;
	int code = export_try(h, made, NULL, &f);

	if (code && !given_is(h, "opset"))
		code = export_try(h, made, "--opset=13", &f);
	if (code)
		child_failed(h, code, &f);
}

void quantize(struct hone *h)
{
	struct quantizing q = {0};
	char *report;
	FILE *f;

	place_check(h->stem);
	setenv("HONE_BLOBS", text(h, "%s/blobs", h->work), 1);
	chain_word(h, STAGE_import, "--keep-foreign");
	struct facts import = chain_stage(h, STAGE_import, "", NULL);
	chain_stage(h, STAGE_shape, "", NULL);
	chain_run(h, STAGE_fold, STAGE_prune, CLEAN, "");
	double bytes = model_bytes(h, &import);
	calibrate(h, &q);
	balance(h, &q);
	const char *plain = h->last, *folder = text(h, "%s/made", h->work), *made = text(h, "%s/%s", folder, base_name(h->stem));
	choose_bytes(h, &q);
	if (mkdir(folder, 0777))
		no_space();
	export_quantised(h, made);
	place_publish(h, made, h->stem);
	if (!h->quiet && !child_interrupted)
		time_in_turns(h, &q, plain);
	progress(h, NULL);
	f = textfile_open(&report, NULL);
	if (!h->quiet)
		put_report(h, &q, bytes, f);
	textfile_close(f);
	place_remove(h);
	child_end();
	fputs(report, stdout);
}
