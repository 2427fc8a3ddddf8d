/* The page of hone advise: findings, the roofline picture, all steps. */
#include <math.h>
#include <stdio.h>
#include "advise.h"
#include "common/outfile.h"
#include "common/page.h"

enum { W = 720, H = 380, LEFT = 56, RIGHT = 16, TOP = 14, BOTTOM = 36 };

/* Both axes are logarithms, in decades: operations a byte, operations a second. */
struct axes {
	double x0, x1, y0, y1;
};

static double x_at(const struct axes *q, double x) { return LEFT + (W - LEFT - RIGHT) * (log10(x) - q->x0) / (q->x1 - q->x0); }
static double y_at(const struct axes *q, double y) { return H - BOTTOM - (H - TOP - BOTTOM) * (log10(y) - q->y0) / (q->y1 - q->y0); }

static bool is_dot(const struct timed_step *s) { return s->flop > 0 && s->bytes > 0 && s->seconds > 0; }

static struct axes axes_of(const struct advice *a)
{
	double ridge = log10(a->peak / a->rate);
	struct axes q = {floor(ridge) - 1, ceil(ridge) + 1, floor(log10(a->peak)) - 2, ceil(log10(a->peak) + 0.05)};

	for (size_t i = 0; i < a->steps.n; i++) {
		const struct timed_step *s = &a->steps.a[i];
		if (!is_dot(s))
			continue;
		q.x0 = fmin(q.x0, floor(log10(s->flop / s->bytes)));
		q.x1 = fmax(q.x1, ceil(log10(s->flop / s->bytes) + 0.01));
		q.y0 = fmin(q.y0, floor(log10(s->flop / s->seconds)));
		q.y1 = fmax(q.y1, ceil(log10(s->flop / s->seconds) + 0.01));
	}
	return q;
}

/* A number of a decade: 0.01, 1, 100, 1e5. */
static void put_decade(FILE *f, double decade) { fprintf(f, fabs(decade) < 4 ? "%g" : "%.0e", pow(10, decade)); }

static void put_grid(FILE *f, const struct axes *q)
{
	for (double d = q->x0; d <= q->x1; d++) {
		double x = x_at(q, pow(10, d));
		fprintf(f,
			"<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"var(--line)\"/><text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
			x, x, TOP, H - BOTTOM, x, H - BOTTOM + 13);
		put_decade(f, d);
		fputs("</text>\n", f);
	}
	for (double d = q->y0; d <= q->y1; d++) {
		double y = y_at(q, pow(10, d));
		fprintf(f,
			"<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"var(--line)\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
			LEFT, W - RIGHT, y, y, LEFT - 5, y + 3);
		put_decade(f, d - 9);
		fputs("</text>\n", f);
	}
	fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">operations a byte</text><text x=\"%d\" y=\"%d\">GFLOP/s</text>\n",
		W - RIGHT, H - 6, LEFT + 4, TOP + 8);
}

static void put_roofs(FILE *f, const struct axes *q, const struct advice *a)
{
	double ridge = a->peak / a->rate, left = pow(10, q->x0), low = left * a->rate;

	if (low < pow(10, q->y0)) {
		low = pow(10, q->y0);
		left = low / a->rate;
	}
	fprintf(f, "<path fill=\"none\" stroke=\"var(--base)\" stroke-width=\"2\" d=\"M%.1f %.1fL%.1f %.1fH%d\"/>\n", x_at(q, left),
		y_at(q, low), x_at(q, ridge), y_at(q, a->peak), W - RIGHT);
	fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.0f GFLOP/s</text>", W - RIGHT - 4, y_at(q, a->peak) - 4,
		1e-9 * a->peak);
	fprintf(f, "<text x=\"%.1f\" y=\"%.1f\">%.1f GB/s</text>\n", x_at(q, left) + 8, y_at(q, low) - 2, 1e-9 * a->rate);
}

/* A step is a dot; its area is its share of the run. */
static void put_dots(struct hone *h, FILE *f, const struct axes *q, const struct advice *a)
{
	for (size_t i = 0; i < a->steps.n; i++) {
		const struct timed_step *s = &a->steps.a[i];
		if (!is_dot(s))
			continue;
		fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"var(--mark)\" fill-opacity=\".55\"><title>",
			x_at(q, s->flop / s->bytes), y_at(q, s->flop / s->seconds), fmax(2, 28 * sqrt(s->seconds / a->stepped)));
		page_put(f, s->node);
		fputs("\n", f);
		page_put(f, text(h, "%s: %s of the run, %.1f GFLOP/s, %.1f GB/s", s->ops, share_text(h, s->seconds / a->stepped),
				 1e-9 * s->flop / s->seconds, 1e-9 * s->bytes / s->seconds));
		fputs("</title></circle>\n", f);
	}
}

static void put_picture(struct hone *h, FILE *f, const struct advice *a)
{
	fputs("<h2>Steps below the roofs</h2>\n<p class=\"soft\">A dot is a step, its area the step's share of the run. Left of the corner memory "
	      "bounds a step, right of it the core does; a dot above the slope has its data in a cache.</p>\n",
	      f);
	if (!(a->peak > 0) || !(a->rate > 0)) {
		fputs("<p>The roofs were not measured.</p>\n", f);
		return;
	}
	struct axes q = axes_of(a);
	fprintf(f, "<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\"><title>Roofline</title>\n", W, H, W, H);
	put_grid(f, &q);
	put_roofs(f, &q, a);
	put_dots(h, f, &q, a);
	fputs("</svg>\n", f);
}

static void put_findings(struct hone *h, FILE *f, const struct advice *a)
{
	fputs("<h2>What to look at first</h2>\n", f);
	if (!a->findings.n) {
		fputs("<p>Nothing stands out.</p>\n", f);
		return;
	}
	fputs("<ol>\n", f);
	for (size_t i = 0; i < a->findings.n; i++) {
		const struct finding *x = &a->findings.a[i];
		fputs("<li><b>", f);
		page_put(f, text(h, "%s, %s of a run", x->name, share_text(h, x->share)));
		fputs("</b><br>", f);
		page_put(f, text(h, "%s; at most %s to gain.", x->text, share_text(h, x->gain)));
		fputs("<br><span class=\"soft\">Try: ", f);
		page_put(f, x->attempt);
		fputs("</span></li>\n", f);
	}
	fputs("</ol>\n", f);
}

static const char *number(struct hone *h, double v, double unit, int digits) { return v > 0 ? text(h, "%.*f", digits, v / unit) : "-"; }

static void put_steps(struct hone *h, FILE *f, const struct advice *a)
{
	fputs("<h2>All steps, in their order</h2>\n<div class=\"wide\"><table><tr><th>kernel</th><th class=\"n\">us</th><th class=\"n\">share</th>"
	      "<th class=\"n\">predicted</th><th class=\"n\">GFLOP/s</th><th class=\"n\">GB/s</th><th>operators</th><th>node</th></tr>\n",
	      f);
	for (size_t i = 0; i < a->steps.n; i++) {
		const struct timed_step *s = &a->steps.a[i];
		fputs("<tr>", f);
		page_cell(f, "", s->kernel);
		page_cell(f, "n", text(h, "%.1f", 1e6 * s->seconds));
		page_cell(f, "n", share_text(h, s->seconds / a->stepped));
		page_cell(f, "n", number(h, s->predicted, 1e-6, 1));
		page_cell(f, "n", number(h, s->flop / s->seconds, 1e9, 1));
		page_cell(f, "n", number(h, s->bytes / s->seconds, 1e9, 1));
		page_cell(f, "", s->ops);
		page_cell(f, "", *s->why ? text(h, "%s: %s", s->node, s->why) : s->node);
		fputs("</tr>\n", f);
	}
	fputs("</table></div>\n", f);
}

void advice_page(struct hone *h, const struct advice *a, const char *path)
{
	const char *title = text(h, "Where the time of %s goes", a->model);
	struct outfile o;

	outfile_open(&o, path, false);
	page_begin(o.f, title);
	fputs("<h1>", o.f);
	page_put(o.f, title);
	fputs("</h1>\n<p class=\"soft\">", o.f);
	page_put(o.f, text(h, "%s, compiler %s", a->cpu, a->compiler));
	fputs("</p>\n<p class=\"soft\">", o.f);
	page_put(o.f, h->line);
	fputs("</p>\n<p class=\"sum\">", o.f);
	page_put(o.f, text(h, "%.4f ms a run, %zu steps", 1e3 * a->median, a->steps.n));
	fputs("</p>\n", o.f);
	put_findings(h, o.f, a);
	put_picture(h, o.f, a);
	put_steps(h, o.f, a);
	page_end(o.f);
	outfile_close(&o);
}
