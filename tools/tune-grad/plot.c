/* Timelines of plans as a picture: the backward pass above, communication below, the tail marked. A viewer that prefers dark gets
 * dark colours. What is too narrow to see is drawn together, so the file stays small; a plan that takes more than twice as long as
 * the best is cut. */
#include <math.h>
#include <string.h>
#include "common/outfile.h"
#include "common/shown.h"
#include "tune-grad.h"

enum { WIDTH = 1000, LEFT = 170, RIGHT = 140, ROW = 48, TOP = 92, BOTTOM = 14, BAR = 14, NAME_LONG = 22 };
static const double narrow = 0.7; /* pixels: segments and gaps below are drawn together */
static const double longest = 2;  /* times the best plan's end: as far as the picture goes */

struct canvas {
	FILE *f;
	double scale, end; /* pixels a us; us at the right edge */
	double height;
};

static const char style[] =
	"<style>text{fill:#222}.dim{fill:#666}.back{fill:#fff}.pass{fill:#9bb8d3}.even{fill:#3f7f3d}.odd{fill:#7dba7b}.many{fill:#5f9d5d}"
	".tail{fill:#d9534f}.late{fill:#b52b27}.grid{stroke:#e2e2e2}.bound{stroke:#333;stroke-dasharray:4 3}.cut{fill:#fff}\n"
	"@media(prefers-color-scheme:dark){text{fill:#e6e6e6}.dim{fill:#a8a8a8}.back{fill:#16191d}.pass{fill:#4f7396}.even{fill:#6fbf6c}"
	".odd{fill:#3d7d3b}.many{fill:#569b54}.tail{fill:#e0605c}.late{fill:#ff8f8a}.grid{stroke:#33383f}.bound{stroke:#ddd}.cut{fill:#16191d}}"
	"</style>\n";

static double pixel(const struct canvas *c, double us) { return LEFT + fmin(us, c->end) * c->scale; }

static void escaped(FILE *f, const char *s)
{
	while (*s) {
		size_t n = (size_t)shown_length(s, 4);
		if (*s == '<' || *s == '&')
			fputs(*s == '<' ? "&lt;" : "&amp;", f);
		else if (n)
			fwrite(s, 1, n, f);
		else
			fputc('?', f);
		s += n ? n : 1;
	}
}

static void text(const struct canvas *c, double x, double y, const char *attributes, const char *s)
{
	fprintf(c->f, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, attributes);
	escaped(c->f, s);
	fputs("</text>\n", c->f);
}

static void bar(const struct canvas *c, double from, double to, double y, const char *class, const char *title)
{
	if (from > c->end)
		return;
	fprintf(c->f, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" class=\"%s\"><title>", pixel(c, from), y,
		fmax(narrow, pixel(c, to) - pixel(c, from)), BAR, class);
	escaped(c->f, title);
	fputs("</title></rect>\n", c->f);
}

struct duration {
	char s[32];
};
static struct duration duration(double us)
{
	struct duration d;
	if (us < 1e3)
		snprintf(d.s, sizeof d.s, "%.1f us", us);
	else
		snprintf(d.s, sizeof d.s, us < 1e6 ? "%.2f ms" : "%.3f s", us < 1e6 ? us * 1e-3 : us * 1e-6);
	return d;
}

/* Round steps of time, at most ten of them. */
static double step(double end)
{
	double p = pow(10, floor(log10(end / 10)));
	double s = end / 10 / p;
	return p * (s <= 1 ? 1 : s <= 2 ? 2 : s <= 5 ? 5 : 10);
}

static void axis(const struct canvas *c)
{
	double s = step(c->end), unit = s < 1e3 ? 1 : s < 1e6 ? 1e3 : 1e6;
	for (int i = 0; i * s <= c->end * (1 + 1e-9); i++) {
		char label[40];
		snprintf(label, sizeof label, "%g", i * s / unit);
		fprintf(c->f, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>\n", pixel(c, i * s), TOP - 12,
			pixel(c, i * s), c->height - BOTTOM);
		text(c, pixel(c, i * s), TOP - 18, " text-anchor=\"middle\" class=\"dim\"", label);
	}
	text(c, LEFT - 14, TOP - 18, " text-anchor=\"end\" class=\"dim\"", unit == 1 ? "us" : unit == 1e3 ? "ms" : "s");
}

static void legend(const struct canvas *c, double bound)
{
	static const struct {
		const char *class, *label;
		int width;
	} entry[] = {{"pass", NULL, 130}, {"even", "all-reduces, each of a segment", 226}, {"tail", "tail", 66}};
	double x = LEFT, y = 44;
	char label[80];
	for (size_t i = 0; i < sizeof entry / sizeof *entry; i++) {
		const char *what = entry[i].label ? entry[i].label : opt.gather ? "forward pass" : "backward pass";
		fprintf(c->f, "<rect x=\"%.0f\" y=\"%.0f\" width=\"12\" height=\"12\" class=\"%s\"/>\n", x, y - 11, entry[i].class);
		if (i == 1)
			fprintf(c->f, "<rect x=\"%.0f\" y=\"%.0f\" width=\"12\" height=\"12\" class=\"odd\"/>\n", x += 12, y - 11);
		text(c, x + 18, y, "", i == 1 && opt.gather ? "all-gathers, each of a segment" : what);
		x += entry[i].width;
	}
	fprintf(c->f, "<line x1=\"%.0f\" y1=\"%.0f\" x2=\"%.0f\" y2=\"%.0f\" class=\"bound\"/>\n", x + 6, y - 13, x + 6, y + 3);
	snprintf(label, sizeof label, "no plan ends before %s", duration(bound).s);
	text(c, x + 16, y, "", label);
}

/* Segments one after the other; those too narrow to see, and close to each other, as one. */
static void segments(const struct canvas *c, const struct grads *g, const struct curve *curve, const struct plan *p, double y)
{
	struct {
		double from, to, bytes;
		size_t first, n;
	} run = {0};
	char label[160];
	double end = 0;
	size_t i = 0;
	for (size_t s = 0; s <= p->last.n; s++) {
		double bytes = 0, start = INFINITY, stop = INFINITY;
		if (s < p->last.n) {
			for (; i <= p->last.a[s]; i++)
				bytes += g->at.a[i].bytes;
			start = fmax(end, g->at.a[i - 1].ready);
			stop = end = start + curve_at(curve, bytes);
		}
		bool joins = run.n && (stop - start) * c->scale < narrow && (run.n > 1 || (run.to - run.from) * c->scale < narrow) &&
			     (start - run.to) * c->scale < narrow;
		if (joins) {
			run.to = stop;
			run.bytes += bytes;
			run.n++;
			continue;
		}
		if (run.n == 1)
			snprintf(label, sizeof label, "segment %zu: %.0f bytes, %s to %s", run.first, run.bytes, duration(run.from).s,
				 duration(run.to).s);
		else if (run.n)
			snprintf(label, sizeof label, "segments %zu to %zu: %.0f bytes, %s to %s", run.first, run.first + run.n - 1,
				 run.bytes, duration(run.from).s, duration(run.to).s);
		if (run.n)
			bar(c, run.from, run.to, y, run.n > 1 ? "many" : run.first % 2 ? "odd" : "even", label);
		run.from = start, run.to = stop, run.bytes = bytes, run.first = s, run.n = 1;
	}
}

/* A name that is too long: its end, which is what files differ in. */
static void plan_name(const struct canvas *c, const char *name, bool ours, double y)
{
	char label[4 * NAME_LONG + 4];
	size_t length = 0;
	for (const char *s = name; *s; s++)
		length += (*s & 0xc0) != 0x80;
	const char *from = name;
	for (; length > NAME_LONG && *from; from++)
		length -= (from[1] & 0xc0) != 0x80;
	snprintf(label, sizeof label, "%s%s", from > name ? "\xe2\x80\xa6" : "", from);
	text(c, LEFT - 14, y, ours ? " text-anchor=\"end\" font-weight=\"bold\"" : " text-anchor=\"end\"", label);
}

static void timeline(const struct canvas *c, const struct grads *g, const struct curve *curve, const struct timeline *t, bool ours,
		     double y)
{
	char label[80];
	double ready = g->at.a[g->at.n - 1].ready;
	plan_name(c, t->name, ours, y + BAR - 3);
	snprintf(label, sizeof label, "%zu segment%s", t->cost.segments, t->cost.segments == 1 ? "" : "s");
	text(c, LEFT - 14, y + 2 * BAR, " text-anchor=\"end\" class=\"dim\"", label);
	snprintf(label, sizeof label, "%s pass, %s", opt.gather ? "forward" : "backward", duration(ready).s);
	bar(c, 0, ready, y, "pass", label);
	segments(c, g, curve, t->plan, y + BAR + 2);
	if (t->cost.tail > 0) {
		snprintf(label, sizeof label, "tail, %s", duration(t->cost.tail).s);
		bar(c, ready, t->cost.end, y, "tail", label);
	}
	if (t->cost.end > c->end * (1 + 1e-9)) /* it goes on: a notch */
		fprintf(c->f, "<path d=\"M%.1f %.1f l-7 %d l5 0 l-7 %d l5 0 l7 %d l-5 0 l7 %d z\" class=\"cut\"/>\n", pixel(c, c->end) - 12,
			y - 1, BAR + 2, BAR + 2, -BAR - 2, -BAR - 2);
	snprintf(label, sizeof label, "ends at %s", duration(t->cost.end).s);
	text(c, WIDTH - RIGHT + 12, y + BAR - 3, "", label);
	snprintf(label, sizeof label, "tail %s", duration(t->cost.tail).s);
	text(c, WIDTH - RIGHT + 12, y + 2 * BAR, t->cost.tail > 0 ? " class=\"late\"" : " class=\"dim\"", label);
}

void plot_timelines(const char *path, const struct grads *g, const struct curve *curve, const struct timeline *t, size_t n, double bound)
{
	struct outfile o;
	double bytes = 0, last = 0, best = INFINITY;
	char label[120];
	for (size_t i = 0; i < n; i++) {
		last = fmax(last, t[i].cost.end);
		best = fmin(best, t[i].cost.end);
	}
	for (size_t i = 0; i < g->at.n; i++)
		bytes += g->at.a[i].bytes;
	if (best > 0)
		last = fmin(last, longest * best);
	outfile_open(&o, path, false);
	struct canvas c = {o.f, last > 0 ? (WIDTH - LEFT - RIGHT) / last : 1, last, TOP + ROW * (double)n + BOTTOM};
	fprintf(o.f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\" font-family=\"sans-serif\" font-size=\"12\">\n",
		WIDTH, c.height, WIDTH, c.height);
	fputs(style, o.f);
	fputs("<rect width=\"100%\" height=\"100%\" class=\"back\"/>\n", o.f);
	snprintf(label, sizeof label, "%zu tensor%s, %.4g MB", g->at.n, g->at.n == 1 ? "" : "s", bytes * 1e-6);
	text(&c, LEFT, 22, " font-size=\"14\" font-weight=\"bold\"", label);
	if (g->at.n && last > 0) {
		legend(&c, bound);
		axis(&c);
		for (size_t i = 0; i < n; i++)
			timeline(&c, g, curve, &t[i], i == 0, TOP + ROW * (double)i);
		fprintf(o.f,
			"<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%.1f\" class=\"bound\"><title>no plan ends before %s</title></line>\n",
			pixel(&c, bound), TOP - 12, pixel(&c, bound), c.height - BOTTOM, duration(bound).s);
	}
	fputs("</svg>\n", o.f);
	outfile_close(&o);
}
