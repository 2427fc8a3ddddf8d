/* hone bisect --stages: how far the numbers after each stage are from the model's, as a table and as a page. */
#include <math.h>
#include <string.h>
#include "bisect.h"
#include "common/outfile.h"
#include "common/page.h"
#include "common/shown.h"

void error_take(struct hone *h, struct stage_error *e, const struct facts *each)
{
	struct stage_error x = {0};

	for (size_t i = 0; i < each->n; i++) {
		const struct fact *f = &each->a[i];
		if (!strcmp(f->name, "output"))
			x = (struct stage_error){.stage = e->stage, .output = f->text, .at = "", .relative = INFINITY, .equal = e->equal};
		else if (!strcmp(f->name, "error"))
			x.relative = f->number;
		else if (!strcmp(f->name, "scale"))
			x.absolute = x.relative * f->number;
		else if (!strcmp(f->name, "why"))
			x.why = f->text;
		else if (!strcmp(f->name, "at"))
			x.at = text(h, "%s%s%.0f", x.at, *x.at ? "," : "", f->number);
		bool ends = x.output && (i + 1 == each->n || !strcmp(f[1].name, "output"));
		if (ends && (!e->output || (!e->why && (x.why || x.relative > e->relative))))
			*e = x;
	}
}

static const char *where(struct hone *h, const struct stage_error *e)
{
	if (e->why)
		return text(h, "%s%s%s", e->output ? e->output : "", e->output ? ": " : "", e->why);
	return e->relative > 0 ? text(h, "%s[%s]", e->output, e->at) : "nowhere";
}

static const char *number(struct hone *h, const struct stage_error *e, double v)
{
	return e->why || !isfinite(v) ? "-" : v > 0 ? text(h, "%.2e", v) : "0";
}

void errors_print(struct hone *h, const struct stage_error *e, size_t n)
{
	printf("%-12s %-9s %9s %9s  %s\n", "stage", "", "absolute", "relative", "where");
	for (size_t i = 0; i < n; i++)
		printf("%-12s %-9s %9s %9s  %s\n", e[i].stage, e[i].equal ? "equal" : "DIFFERENT", number(h, &e[i], e[i].absolute),
		       number(h, &e[i], e[i].relative), shown(where(h, &e[i])));
}

/* ---- the page ---- */

/* Decades of the axis. */
struct axis {
	double least, most;
};

/* Both limits on a decade, the tolerance and all errors between. */
static struct axis axis_of(const struct stage_error *e, size_t n, double tolerance)
{
	struct axis x = {floor(log10(tolerance)) - 2, ceil(log10(tolerance)) + 1};

	for (size_t i = 0; i < n; i++)
		if (!e[i].why && isfinite(e[i].relative) && e[i].relative > 0) {
			x.least = fmin(x.least, floor(log10(e[i].relative)) - 1);
			x.most = fmax(x.most, ceil(log10(e[i].relative)));
		}
	return x;
}

/* Where a value lies on the axis, in percent; one that is not finite: at its end. */
static double percent(const struct axis *x, double v)
{
	return isfinite(v) ? v > 0 ? 100 * (log10(v) - x->least) / (x->most - x->least) : 0 : 100;
}

static void put_row(struct hone *h, FILE *f, const struct axis *x, const struct stage_error *e, double tolerance)
{
	const char *told = e->equal ? "equal" : "different";

	fputs("<tr>", f);
	page_cell(f, "v", e->stage);
	fprintf(f,
		"<td class=\"scale\"><div title=\"%s\" style=\"width:%.2f%%;background:var(--%s)\"></div><i style=\"left:%.2f%%\"></i></td>",
		told, e->why ? 100 : percent(x, e->relative), e->equal ? "mark" : "worse", percent(x, tolerance));
	page_cell(f, "n", number(h, e, e->relative));
	page_cell(f, "n", number(h, e, e->absolute));
	page_cell(f, e->equal ? "v" : "v worse", told);
	page_cell(f, "", where(h, e));
	fputs("</tr>\n", f);
}

static void put_picture(struct hone *h, FILE *f, const struct stage_error *e, size_t n, double tolerance)
{
	const struct axis x = axis_of(e, n, tolerance);

	fputs("<style>.scale{position:relative;min-width:9rem;width:45%}.scale div{height:.9rem;margin:.15rem 0}"
	      ".scale i{position:absolute;top:0;bottom:0;border-left:1px dashed var(--soft)}th.scale span{float:right}"
	      "@media print{.scale div{print-color-adjust:exact;-webkit-print-color-adjust:exact}}</style>\n",
	      f);
	fprintf(f,
		"<div class=\"wide\"><table><thead><tr><th>stage</th><th class=\"scale\">1e%.0f<span>1e%.0f</span></th>"
		"<th class=\"n\">relative</th><th class=\"n\">absolute</th><th></th><th>where</th></tr></thead><tbody>\n",
		x.least, x.most);
	for (size_t i = 0; i < n; i++)
		put_row(h, f, &x, &e[i], tolerance);
	fputs("</tbody></table></div>\n<p class=\"soft\">A bar is the largest error after a stage, in any output, as a share of the output's largest "
	      "element; its scale has a power of ten for each step. <span style=\"color:var(--mark)\">&#9632;</span> within the tolerance (the "
	      "dashed line), <span style=\"color:var(--worse)\">&#9632;</span> beyond it, or not comparable. Absolute is the same error in "
	      "the output's own unit; where: the output and the element.</p>\n",
	      f);
}

void errors_page(struct hone *h, const struct stage_error *e, size_t n, double tolerance, const char *path)
{
	const char *title = text(h, "Error by stage of %s", base_name(h->model));
	const struct stage_error *worst = e;
	struct outfile o;

	for (size_t i = 1; i < n; i++)
		if (!worst->why && (e[i].why || e[i].relative > worst->relative))
			worst = &e[i];
	outfile_open(&o, path, false);
	page_begin(o.f, title);
	fputs("<h1>", o.f);
	page_put(o.f, title);
	fputs("</h1>\n<p class=\"soft\"><code>", o.f);
	page_put(o.f, h->line);
	fputs("</code></p>\n<p class=\"sum\">", o.f);
	page_put(o.f, text(h, "The largest error is after %s: %s, %s (%.2g allowed)", worst->stage, number(h, worst, worst->relative),
			   where(h, worst), tolerance));
	fputs("</p>\n", o.f);
	put_picture(h, o.f, e, n, tolerance);
	page_end(o.f);
	outfile_close(&o);
}
