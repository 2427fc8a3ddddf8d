/* What came of a tuning of segments, as a page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/page.h"
#include "tune-graph.h"

static const char *time_text(double seconds, struct arena *a)
{
	return seconds >= 1e-3 ? arena_printf(a, "%.3g ms", 1e3 * seconds) : arena_printf(a, "%.3g us", 1e6 * seconds);
}

static const char *ratio_text(const struct measurement *r, struct arena *a)
{
	return verdict_timed(r->verdict) ? arena_printf(a, "%.3f (%.3f to %.3f)", r->ratio, r->lo, r->hi) : "-";
}

static void put_figure(FILE *f, struct module *m, const uint32_t *group, const uint32_t *other, const char *caption)
{
	fputs("<figure><figcaption>", f);
	page_put(f, caption);
	fputs("</figcaption>\n", f);
	picture_put(f, m, group, other, caption);
	fputs("</figure>\n", f);
}

static void put_pictures(FILE *f, const struct segment *s, double seconds, struct arena *a)
{
	const char *why, *usual = seconds > 0 ? arena_printf(a, "the usual groups, %s", time_text(seconds, a)) : "the usual groups";
	struct module *m = segment_module(s->text, a, &why);

	fputs("<div class=\"pair\">\n", f);
	put_figure(f, m, s->usual.group, s->won ? s->won->group : NULL, s->won ? arena_printf(a, "before: %s", usual) : usual);
	if (s->won)
		put_figure(f, m, s->won->group, s->usual.group,
			   arena_printf(a, "after: %.3f of that time%s", s->mean, s->won->row_major ? ", row-major between groups" : ""));
	fputs("</div>\n", f);
	module_free(m);
}

static int by_ratio(const void *x, const void *y)
{
	const struct choice *a = x, *b = y;
	bool timed = verdict_timed(a->result.verdict), other = verdict_timed(b->result.verdict);
	int c = other - timed;

	if (!c && timed)
		c = (a->result.ratio > b->result.ratio) - (a->result.ratio < b->result.ratio);
	return c ? c : strcmp(a->how, b->how);
}

static void put_choices(FILE *f, const struct choices *l, struct arena *a)
{
	if (!l->n)
		return;
	fputs("<div class=\"wide\"><table><thead><tr><th>other groups</th><th class=\"n\">ratio (interval)</th><th>verdict</th>"
	      "<th class=\"n\">predicted</th><th></th></tr></thead><tbody>\n",
	      f);
	for (size_t i = 0; i < l->n; i++) {
		const struct choice *c = &l->a[i];
		fputs("<tr>", f);
		page_cell(f, "", c->how);
		page_cell(f, c->result.verdict == VERDICT_FASTER ? "n better" : "n", ratio_text(&c->result, a));
		page_cell(f, "v", verdict_name(c->result.verdict));
		page_cell(f, "n", c->predicted > 0 ? time_text(c->predicted, a) : "-");
		page_cell(f, "", c->result.why ? c->result.why : "");
		fputs("</tr>\n", f);
	}
	fputs("</tbody></table></div>\n", f);
}

static void put_segment(FILE *f, const struct tuning *t, const struct segment *s, size_t number)
{
	struct arena a = {0};
	struct choices l = {0};
	double seconds = book_choices(&t->book, s, &l, &a);

	if (l.n)
		qsort(l.a, l.n, sizeof *l.a, by_ratio);
	fprintf(f, "<h2>Segment %zu", number);
	if (s->places > 1)
		fprintf(f, ", in %zu places", s->places);
	fputs(s->won ? ": " : "</h2>\n", f);
	if (s->won) {
		page_put(f, s->won->how);
		fputs("</h2>\n", f);
	}
	fputs("<details><summary>its text</summary><pre>", f);
	page_put(f, s->text);
	fputs("</pre></details>\n", f);
	put_pictures(f, s, seconds, &a);
	put_choices(f, &l, &a);
	vec_free(&l);
	arena_release(&a);
}

static const char *whole_text(const struct tuning *t, struct arena *a)
{
	const struct measurement *r = &t->whole;

	if (!t->won)
		return "";
	if (r->verdict == VERDICT_COUNT)
		return "; the whole model was not timed with them";
	return verdict_timed(r->verdict) ? arena_printf(a, "; the whole model is %s with them, %.3f of the usual time (%.3f to %.3f)",
							verdict_name(r->verdict), r->ratio, r->lo, r->hi)
					 : arena_printf(a, "; the whole model with them: %s", verdict_name(r->verdict));
}

void report_write(const struct tuning *t, const struct segments *s, const char *model, FILE *f)
{
	struct arena a = {0};
	size_t number = 0;
	const struct spent *x = &t->bench.spent;
	const char *title = *model ? arena_printf(&a, "Groups of %s", model) : "Groups of nodes";

	page_begin(f, title);
	fputs("<h1>", f);
	page_put(f, title);
	fputs("</h1>\n<p class=\"soft\">", f);
	page_put(f, t->book.target);
	fputs("</p>\n<p class=\"soft\">", f);
	page_put(f, t->book.tool);
	fprintf(f, "</p>\n<p class=\"sum\">%zu of %zu segments have other groups than the usual ones%s</p>\n", t->won, path_segments(s),
		whole_text(t, &a));
	if (stop)
		fputs("<p>It was interrupted: the best so far is used, and the same command again goes on.</p>\n", f);
	for (size_t i = 0; i < s->a.n; i++)
		if (s->a.a[i].wanted)
			put_segment(f, t, &s->a.a[i], ++number);
	fputs("<h2>Where the time went, for groups</h2>\n", f);
	fprintf(f, "<p>predict %.1f s &middot; build %.1f s &middot; compare %.1f s &middot; time %.1f s</p>\n", x->predict, x->build,
		x->compare, x->time);
	page_end(f);
	arena_release(&a);
}
