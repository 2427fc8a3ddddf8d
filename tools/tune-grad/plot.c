/* Timelines of plans as a picture: the backward pass above, communication below, the tail marked. */
#include <math.h>
#include "common/outfile.h"
#include "tune-grad.h"

enum { WIDTH = 960, LEFT = 150, RIGHT = 110, ROW = 52, TOP = 34, BAR = 14 };

struct canvas {
	FILE *f;
	double scale; /* pixels a us */
};

static double pixel(const struct canvas *c, double us)
{
	return LEFT + us * c->scale;
}

static void text(const struct canvas *c, double x, double y, const char *anchor, const char *s)
{
	fprintf(c->f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	for (; *s; s++) {
		if (*s == '<' || *s == '&')
			fputs(*s == '<' ? "&lt;" : "&amp;", c->f);
		else
			fputc((unsigned char)*s < ' ' ? '?' : *s, c->f);
	}
	fputs("</text>\n", c->f);
}

static void bar(const struct canvas *c, double from, double to, double y, const char *class, const char *title)
{
	fprintf(c->f, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" class=\"%s\"><title>%s</title></rect>\n", pixel(c, from), y,
		fmax(0.3, (to - from) * c->scale), BAR, class, title);
}

/* Round steps of time, at most ten of them. */
static double step(double end)
{
	double p = pow(10, floor(log10(end / 10)));
	double s = end / 10 / p;
	return p * (s <= 1 ? 1 : s <= 2 ? 2 : s <= 5 ? 5 : 10);
}

static void axis(const struct canvas *c, double end, double height)
{
	char label[40];
	for (double t = 0, s = step(end); t <= end * (1 + 1e-9); t += s) {
		fprintf(c->f, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>\n", pixel(c, t), TOP - 6, pixel(c, t), height - 4);
		snprintf(label, sizeof label, s >= 1000 ? "%g ms" : "%g us", s >= 1000 ? t / 1000 : t);
		text(c, pixel(c, t), TOP - 12, "middle", label);
	}
}

static void timeline(const struct canvas *c, const struct grads *g, const struct curve *curve, const struct timeline *t, double y)
{
	char label[120];
	double ready = g->at.a[g->at.n - 1].ready, end = 0;
	size_t i = 0;
	text(c, LEFT - 10, y + BAR, "end", t->name);
	snprintf(label, sizeof label, "backward pass, %.1f us", ready);
	bar(c, 0, ready, y, "backward", label);
	for (size_t s = 0; s < t->plan->last.n; s++) {
		double bytes = 0;
		for (; i <= t->plan->last.a[s]; i++)
			bytes += g->at.a[i].bytes;
		double start = fmax(end, g->at.a[i - 1].ready);
		end = start + curve_at(curve, bytes);
		snprintf(label, sizeof label, "segment %zu: %.0f bytes, %.1f to %.1f us", s, bytes, start, end);
		bar(c, start, end, y + BAR + 2, s % 2 ? "odd" : "even", label);
	}
	if (t->cost.tail > 0) {
		snprintf(label, sizeof label, "tail %.1f us", t->cost.tail);
		bar(c, ready, t->cost.end, y, "tail", label);
		text(c, pixel(c, t->cost.end) + 4, y + BAR - 3, "start", label);
	}
}

void plot_timelines(const char *path, const struct grads *g, const struct curve *curve, const struct timeline *t, size_t n, double bound)
{
	struct outfile o;
	double end = 0, height = TOP + ROW * (double)n;
	for (size_t i = 0; i < n; i++)
		end = fmax(end, t[i].cost.end);
	outfile_open(&o, path, false);
	struct canvas c = {o.f, end > 0 ? (WIDTH - LEFT - RIGHT) / end : 1};
	fprintf(o.f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" font-family=\"sans-serif\" font-size=\"11\">\n", WIDTH, height);
	fputs("<style>.backward{fill:#9bb8d3}.even{fill:#4c8c4a}.odd{fill:#7fb77e}.tail{fill:#d9534f}.grid{stroke:#ddd}.bound{stroke:#333;"
	      "stroke-dasharray:4 3}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n", o.f);
	if (g->at.n && end > 0) {
		axis(&c, end, height);
		for (size_t i = 0; i < n; i++)
			timeline(&c, g, curve, &t[i], TOP + ROW * (double)i);
		fprintf(o.f, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%.1f\" class=\"bound\"><title>no plan ends before %.1f us</title></line>\n",
			pixel(&c, bound), TOP - 6, pixel(&c, bound), height - 4, bound);
	}
	fputs("</svg>\n", o.f);
	outfile_close(&o);
}
