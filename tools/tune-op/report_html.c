/* A tuning's results as one page. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/page.h"
#include "common/shown.h"
#include "report_impl.h"

enum {
	CHART_W = 220,
	CHART_H = 96, /* of one curve */
	PAD_LEFT = 34,
	PAD_RIGHT = 8,
	PAD_TOP = 8,
	PAD_BOTTOM = 18,
	CURVES_MAX = 60, /* tasks that get a curve */
	BAR_W = 640,
};

/* Ratios from here on are printed as 1.00. */
#define CLOSE_TO_1 0.995

static const char *title(const struct report *r, struct arena *a)
{
	return *r->model ? arena_printf(a, "Tuning of %s", r->model) : "Tuning";
}

static void put_date(FILE *f)
{
	char text[32];
	time_t now = time(NULL);
	struct tm t;

	if (localtime_r(&now, &t) && strftime(text, sizeof text, "%Y-%m-%d %H:%M", &t))
		fprintf(f, " &middot; %s", text);
}

/* hone tune writes its own in this part's place: it times the whole model. */
static void put_whole(FILE *f, const struct report *r, struct arena *a)
{
	struct report_totals x = report_totals(r);

	page_part_begin(f, PAGE_WHOLE);
	if (x.timed) {
		fputs("<p class=\"sum\">Whole model, predicted from its tasks: ", f);
		page_put(f, report_time(a, x.before));
		fputs(" before, ", f);
		page_put(f, report_time(a, x.after));
		fprintf(f, " after (%+.1f%%)</p>\n", 100 * (x.after / x.before - 1));
	}
	fputs("<p class=\"soft\">graph <code>", f);
	page_put(f, r->digest);
	fputs("</code></p>\n<p class=\"soft\"><code>", f);
	page_put(f, r->command);
	fputs("</code></p>\n", f);
	page_part_end(f, PAGE_WHOLE);
}

static void put_head(FILE *f, const struct report *r, struct arena *a)
{
	fputs("<h1>", f);
	page_put(f, title(r, a));
	fputs("</h1>\n<p class=\"soft\">", f);
	page_put(f, r->target);
	fputs("</p>\n<p class=\"soft\">", f);
	page_put(f, r->tool);
	put_date(f);
	fputs("</p>\n", f);
	put_whole(f, r, a);
	fputs("<p>", f);
	page_put(f, report_line(a, r));
	fputs("</p>\n", f);
	if (r->interrupted)
		fputs("<p>It was interrupted: the best so far is used, and the same command again goes on.</p>\n", f);
}

/* ---- curves ---- */

/* The lowest ratio that any curve reaches, a step below; all curves have the same axis. */
static double floor_of(const struct report *r)
{
	double least = 0.95;

	for (size_t i = 0; i < r->ntask; i++)
		if (r->task[i].ncurve)
			least = fmin(least, r->task[i].curve[r->task[i].ncurve - 1]);
	return fmax(0, floor(least * 10 - 1e-9) / 10);
}

static double y_at(double ratio, double least)
{
	return PAD_TOP + (CHART_H - PAD_TOP - PAD_BOTTOM) * (1 - (fmin(ratio, 1) - least) / (1 - least));
}

static double x_at(double trial, double most) { return PAD_LEFT + (CHART_W - PAD_LEFT - PAD_RIGHT) * trial / most; }

static void put_curve(FILE *f, const struct report_task *t, double least, double share)
{
	double most = (double)t->ncurve, last = t->curve[t->ncurve - 1], was = 1;

	fputs("<figure><figcaption title=\"", f);
	page_put(f, t->text);
	fputs("\">", f);
	page_put(f, t->title);
	fprintf(f, "</figcaption>\n<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\"><title>", CHART_W, CHART_H, CHART_W,
		CHART_H);
	page_put(f, t->title);
	fprintf(f, ": best of %zu trials %.3f of the default's time; %.1f%% of the model's time</title>\n", t->ncurve, last, 100 * share);
	fprintf(f, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"var(--base)\" stroke-dasharray=\"3 3\"/>", PAD_LEFT,
		CHART_W - PAD_RIGHT, y_at(1, least), y_at(1, least));
	fprintf(f, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"var(--line)\"/>", PAD_LEFT, CHART_W - PAD_RIGHT,
		y_at(least, least), y_at(least, least));
	fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">1</text><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.1f</text>",
		PAD_LEFT - 5, y_at(1, least) + 3, PAD_LEFT - 5, y_at(least, least) + 3, least);
	fprintf(f, "<text x=\"%d\" y=\"%d\">0</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">%zu trials</text>\n", PAD_LEFT, CHART_H - 5,
		CHART_W - PAD_RIGHT, CHART_H - 5, t->ncurve);
	fprintf(f, "<path fill=\"none\" stroke=\"var(--mark)\" stroke-width=\"1.8\" d=\"M%.1f %.1f", x_at(0, most), y_at(1, least));
	for (size_t i = 0; i < t->ncurve; i++) {
		if (t->curve[i] != was)
			fprintf(f, "H%.1fV%.1f", x_at((double)i + 1, most), y_at(t->curve[i], least));
		was = t->curve[i];
	}
	fprintf(f, "H%.1f\"/><circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\" fill=\"var(--mark)\"/></svg></figure>\n", x_at(most, most),
		x_at(most, most), y_at(last, least));
}

static void put_curves(FILE *f, const struct report *r, double before)
{
	double least = floor_of(r);
	size_t n = 0;

	for (size_t i = 0; i < r->ntask; i++)
		n += r->task[i].ncurve > 0;
	if (!n)
		return;
	fputs("<h2>Best so far, by trial</h2>\n<p class=\"soft\">Time as a share of the default's, as the search measured it; what counts is "
	      "re-timed, in the table.</p>\n<p class=\"soft\"><span style=\"color:var(--mark)\">&#9632;</span> best of the search so far, "
	      "<span style=\"color:var(--base)\">- -</span> the default; tasks by their share of the time</p>\n<div class=\"curves\">\n",
	      f);
	for (size_t i = 0, k = 0; i < r->ntask && k < CURVES_MAX; i++) {
		const struct report_task *t = &r->task[i];
		if (!t->ncurve)
			continue;
		put_curve(f, t, least, before > 0 ? t->weight * t->seconds / before : 0);
		k++;
	}
	fputs("</div>\n", f);
	if (n > CURVES_MAX)
		fprintf(f, "<p class=\"soft\">and %zu more, in the table</p>\n", n - CURVES_MAX);
}

/* ---- table ---- */

/* "62% core", "91% memory", "40% core, cached". */
static const char *roof_text(struct arena *a, const struct report *r, const struct report_task *t)
{
	const char *roof = NULL;
	double reached = report_reached(r, t, &roof);

	if (!roof)
		return "-";
	return arena_printf(a, "%.*f%% %s", reached < 0.1 ? 1 : 0, 100 * reached, !strcmp(roof, "cache") ? "core, cached" : roof);
}

static void put_row(FILE *f, const struct report *r, const struct report_task *t, double before, struct arena *a)
{
	fputs("<tr><td>", f);
	page_put(f, t->title);
	fputs("<br><code>", f);
	page_put(f, t->text);
	fputs("</code></td>", f);
	page_cell(f, "n", arena_printf(a, "%zu", t->calls));
	page_cell(f, "n", before > 0 && t->seconds > 0 ? arena_printf(a, "%.1f%%", 100 * t->weight * t->seconds / before) : "-");
	page_cell(f, "n", report_time(a, t->seconds));
	page_cell(f, "n", report_time(a, t->seconds * report_ratio(t)));
	page_cell(f, t->ratio > 0 ? "n better" : "n", report_interval(a, t));
	page_cell(f, "n", roof_text(a, r, t));
	page_cell(f, "v", t->verdict);
	page_cell(f, "n", t->failed ? arena_printf(a, "%zu (%zu failed)", t->trials, t->failed) : arena_printf(a, "%zu", t->trials));
	fputs("<td>", f);
	if (!(t->ratio > 0) && t->ncurve && t->curve[t->ncurve - 1] < CLOSE_TO_1)
		fprintf(f, "%.2f in the search, not confirmed when timed again%s", t->curve[t->ncurve - 1], t->why || t->words ? "; " : "");
	if (t->why) {
		page_put(f, t->why);
		fputs(t->words ? "; " : "", f);
	}
	if (t->trace) {
		fputs("<details><summary>", f);
		page_put(f, t->words ? t->words : "trace");
		fputs("</summary><pre>", f);
		page_put(f, t->trace);
		fputs("</pre></details>", f);
	} else if (t->words) {
		page_put(f, t->words);
	}
	fputs("</td></tr>\n", f);
}

static void put_table(FILE *f, const struct report *r, double before, struct arena *a)
{
	fputs("<h2>Tasks</h2>\n<div class=\"wide\"><table><thead><tr><th>task</th><th class=\"n\">calls</th><th class=\"n\">share of time</th>"
	      "<th class=\"n\">before</th><th class=\"n\">after</th><th class=\"n\">ratio (interval)</th><th class=\"n\">of the roof</th>"
	      "<th>verdict</th><th class=\"n\">trials</th>"
	      "<th>schedule</th></tr></thead><tbody>\n",
	      f);
	for (size_t i = 0; i < r->ntask; i++)
		put_row(f, r, &r->task[i], before, a);
	fputs("</tbody></table></div>\n<p class=\"soft\">Times are of one call. Before is the default schedule; the ratio is the chosen schedule's time to "
	      "it, by all that was timed of it.</p>\n",
	      f);
	if (r->peak > 0 && r->rate > 0)
		fprintf(f,
			"<p class=\"soft\">The roof is what bounds the chosen schedule: the core's %.0f GFLOP/s of f32, or memory's %.1f GB/s for "
			"all that it reads and writes (%s). Cached: faster than memory, so the core is its roof. Above 100%% it needs fewer "
			"operations than are counted (integers, Winograd).</p>\n",
			1e-9 * r->peak, 1e-9 * r->rate,
			r->is_measured ? "measured by run-dev --probe" : "assumed; run-dev --probe measures them");
}

/* ---- ledger ---- */

static void put_costs(FILE *f, const struct report *r, bool beside, double all)
{
	const char *between = "";
	double x = 0, most = all;
	int shade = 0;

	for (size_t i = 0; i < r->ncost && beside; i++)
		most = fmax(most, r->cost[i].seconds);
	fprintf(f, "<svg viewBox=\"0 0 %d 18\" width=\"%d\" height=\"18\" role=\"img\">", BAR_W, BAR_W);
	for (size_t i = 0; i <= r->ncost && most > 0; i++) {
		bool other = i == r->ncost;
		double seconds = other ? report_other(r) : r->cost[i].seconds;
		if (other ? beside : r->cost[i].beside != beside)
			continue;
		double w = BAR_W * seconds / most;
		fprintf(f, "<rect x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"18\" fill=\"var(--%s)\" fill-opacity=\"%.2f\"><title>", x,
			fmax(0, w - 1.5), other ? "base" : "mark", 1 - 0.22 * shade++);
		page_put(f, other ? "other" : r->cost[i].name);
		fprintf(f, ": %.1f s</title></rect>", seconds);
		x += w;
	}
	fputs("</svg>\n<p>", f);
	for (size_t i = 0; i < r->ncost; i++) {
		if (r->cost[i].beside != beside)
			continue;
		fputs(between, f);
		page_put(f, r->cost[i].name);
		fprintf(f, " %.1f s", r->cost[i].seconds);
		between = " &middot; ";
	}
	if (!beside)
		fprintf(f, "%sother %.1f s &middot; all %.1f s", between, report_other(r), all);
	fputs("</p>\n", f);
}

static void put_ledger(FILE *f, const struct report *r)
{
	double beside = 0;

	for (size_t i = 0; i < r->ncost; i++)
		beside += r->cost[i].beside ? r->cost[i].seconds : 0;
	fputs("<h2>Where the time went</h2>\n", f);
	put_costs(f, r, false, r->seconds);
	if (beside > 0) {
		fputs("<p class=\"soft\">on the runners, side by side:</p>\n", f);
		put_costs(f, r, true, beside);
	}
}

void report_html_begin(FILE *f, const struct report *r, const char *after)
{
	struct arena a = {0};

	if (after)
		page_go_on(f, after);
	else
		page_begin(f, title(r, &a));
	arena_release(&a);
}

static int by_share(const void *a, const void *b)
{
	const struct report_task *x = a, *y = b;
	double s = x->weight * x->seconds, t = y->weight * y->seconds;

	return s != t ? (s < t) - (s > t) : strcmp(x->digest, y->digest);
}

void report_html(FILE *f, const struct report *r)
{
	struct report_totals x = report_totals(r);
	struct report sorted = *r;
	struct arena a = {0};

	sorted.task = arena_alloc(&a, (r->ntask + 1) * sizeof *sorted.task);
	memcpy(sorted.task, r->task, r->ntask * sizeof *sorted.task);
	qsort(sorted.task, r->ntask, sizeof *sorted.task, by_share);
	put_head(f, r, &a);
	put_curves(f, &sorted, x.before);
	put_table(f, &sorted, x.before, &a);
	put_ledger(f, r);
	arena_release(&a);
}

void report_html_end(FILE *f) { page_end(f); }
