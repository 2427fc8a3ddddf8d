/* A view as a page: the picture, what is known of each node, groups by their time, the arena. */
#define _GNU_SOURCE
#include "dot.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "common/json.h"
#include "common/page.h"
#include "common/shown.h"
#include "common/textfile.h"
#include "graph/stream.h"
#include "graph/textform.h"
#include "place.h"

static const char css[] =
#include "tools/ge-dot/page.css.inc"
	;
static const char script[] =
#include "tools/ge-dot/page.js.inc"
	;

enum {
	LETTERS = 34 /* that a box is wide */,
	VALUE_MOST = 2000 /* bytes of an attribute */,
	GROUPS_MOST = 100 /* rows */,
	PART_ITEMS = 60
};

struct page {
	FILE *f;
	const struct view *v;
	struct place at;
	struct line *line; /* in the order in which they are drawn */
	double longest;    /* of all groups, in seconds */
	struct arena scratch;
};

/* The last letters of a name say more than the first; of anything else the first. */
static void put_short(FILE *f, const char *s, size_t most, bool end)
{
	size_t n = 0, cut = 0;

	for (const char *p = s; *p; p++)
		n += (*p & 0xc0) != 0x80;
	if (n <= most) {
		page_put(f, s);
		return;
	}
	fputs(end ? "\xe2\x80\xa6" : "", f);
	cut = end ? n - most + 1 : most - 1;
	const char *p = s;
	for (size_t i = 0; i < cut; i++)
		for (p++; (*p & 0xc0) == 0x80;)
			p++;
	char *part = end ? xstrdup(p) : xprintf("%.*s", (int)(p - s), s);
	page_put(f, part);
	free(part);
	fputs(end ? "" : "\xe2\x80\xa6", f);
}

/* ---- the picture ---- */

static void put_item(struct page *g, uint32_t i)
{
	const struct item *x = &g->v->item.a[i];
	double left = item_x(&g->at, i), top = item_y(&g->at, i);
	const char *op = item_op(g->v, x, &g->scratch);
	size_t room = strlen(op) + 4 < LETTERS ? LETTERS - strlen(op) - 1 : 3;

	fprintf(g->f,
		"<g class=\"node%s\" id=\"n%u\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"4\"/><text x=\"%.1f\" y=\"%.1f\"><tspan class=\"op\">",
		x->kind == ITEM_NODE ? "" : " port", i, left, top, ITEM_W, ITEM_H, left + 7, top + 14);
	put_short(g->f, op, LETTERS, false);
	fputs("</tspan> ", g->f);
	put_short(g->f, sym_str(x->name), room, true);
	fprintf(g->f, "</text><text x=\"%.1f\" y=\"%.1f\">", left + 7, top + 28);
	put_short(g->f, item_type(g->v, x, &g->scratch), LETTERS, false);
	fputs("</text></g>\n", g->f);
}

static void put_box(struct page *g, const struct box *b)
{
	const struct group *x = &g->v->group.a[b->group];
	const char *time = seconds_text(x->seconds, &g->scratch);
	double share = g->longest > 0 ? x->seconds / g->longest : 0;

	fprintf(g->f,
		"<g class=\"group\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"6\" fill-opacity=\"%.2f\"><title>",
		b->x, b->y, b->w, b->h, 0.06 + 0.4 * share);
	page_put(g->f, group_name(g->v, x));
	fprintf(g->f, "</title></rect><text class=\"op\" x=\"%.1f\" y=\"%.1f\">", b->x + BOX_PAD, b->y + 13);
	put_short(g->f, group_name(g->v, x), LETTERS - strlen(time) - 1, true);
	fprintf(g->f, "</text><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text></g>\n", b->x + b->w - BOX_PAD, b->y + 13, time);
}

/* From the bottom of one item to the top of the next; past items that stand between in a box, and past levels, at the side. */
static void put_line(struct page *g, const struct line *l)
{
	const struct box *a = &g->at.box[g->at.in[l->from]], *b = &g->at.box[g->at.in[l->to]];
	double x = item_x(&g->at, l->from), y = item_y(&g->at, l->from), u = item_x(&g->at, l->to), v = item_y(&g->at, l->to);
	bool beside = a == b && l->to != l->from + 1, out = beside || (a != b && l->from + 1 < a->first + a->count);
	bool in = !beside && a != b && l->to > b->first, far = a != b && b->level > a->level + 1;

	if (beside) {
		fprintf(g->f, "<path d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"/>\n", x + ITEM_W, y + ITEM_H / 2., x + ITEM_W + 14,
			y + ITEM_H / 2., u + ITEM_W + 14, v + ITEM_H / 2., u + ITEM_W, v + ITEM_H / 2.);
		return;
	}
	double x0 = out ? x + ITEM_W : x + ITEM_W / 2., y0 = out ? y + ITEM_H / 2. : a == b ? y + ITEM_H : a->y + a->h;
	double x1 = in ? u : u + ITEM_W / 2., y1 = in ? v + ITEM_H / 2. : a == b ? v : b->y;
	double c0 = out ? x0 + 30 : x0, d0 = out ? y0 + 10 : y0 + 0.5 * (y1 - y0), c1 = in ? x1 - 30 : x1,
	       d1 = in ? y1 - 10 : y1 - 0.5 * (y1 - y0);
	if (far) { /* a way round what stands between */
		double side = (x0 > x1 ? x0 : x1) + ITEM_W * (0.75 + 0.02 * (b->level - a->level < 20 ? b->level - a->level : 20));
		c0 = c1 = side;
		d0 = y0 + ROW_GAP;
		d1 = y1 - ROW_GAP;
	}
	fprintf(g->f, "<path d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"/>\n", x0, y0, c0, d0, c1, d1, x1, y1);
}

/* A part is some levels, which a browser need not lay out while they are out of sight. Numbers the parts of boxes; how many there are. */
static uint32_t find_parts(struct page *g, uint32_t *part)
{
	uint32_t n = 0, items = 0;

	for (uint32_t i = 0; i < g->at.nbox; i++) {
		const struct box *b = &g->at.box[g->at.on[i]];
		if (i && items >= PART_ITEMS && b->level > g->at.box[g->at.on[i - 1]].level) {
			items = 0;
			n++;
		}
		items += b->count;
		part[g->at.on[i]] = n;
	}
	return g->at.nbox ? n + 1 : 0;
}

/* Lines by the part that they begin in; at the end, as one part more, those that go beyond the next. */
static void sort_lines(struct page *g, const uint32_t *part, uint32_t nparts, uint32_t *start)
{
	const struct view *v = g->v;
	uint32_t *of = xcalloc(v->line.n + 1, sizeof *of);

	for (size_t i = 0; i < v->line.n; i++) {
		uint32_t from = part[g->at.in[v->line.a[i].from]], to = part[g->at.in[v->line.a[i].to]];
		of[i] = to > from + 1 ? nparts : from;
		start[of[i] + 2]++;
	}
	for (uint32_t k = 0; k <= nparts; k++)
		start[k + 2] += start[k + 1];
	g->line = xcalloc(v->line.n + 1, sizeof *g->line);
	for (size_t i = 0; i < v->line.n; i++)
		g->line[start[of[i] + 1]++] = v->line.a[i];
	free(of);
}

static void put_lines(struct page *g, uint32_t from, uint32_t to)
{
	fputs("<g class=\"lines\">\n", g->f);
	for (uint32_t i = from; i < to; i++)
		put_line(g, &g->line[i]);
	fputs("</g>\n", g->f);
}

/* Boxes, then lines, then items, so that lines end at what they lead to. */
static void put_part(struct page *g, uint32_t first, uint32_t end, uint32_t from, uint32_t to)
{
	fprintf(g->f, "<g class=\"part\" data-y=\"%.0f\">\n", g->at.box[g->at.on[first]].y);
	for (uint32_t i = first; i < end; i++)
		if (g->at.box[g->at.on[i]].group)
			put_box(g, &g->at.box[g->at.on[i]]);
	put_lines(g, from, to);
	for (uint32_t i = first; i < end; i++)
		for (uint32_t k = 0; k < g->at.box[g->at.on[i]].count; k++)
			put_item(g, g->at.box[g->at.on[i]].first + k);
	fputs("</g>\n", g->f);
}

static void put_picture(struct page *g)
{
	double edge = ITEM_W * 0.9; /* lines that go round */
	uint32_t *part = xcalloc((size_t)g->at.nbox + 1, sizeof *part), nparts = find_parts(g, part);
	uint32_t *start = xcalloc((size_t)nparts + 4, sizeof *start);

	sort_lines(g, part, nparts, start);
	fprintf(g->f,
		"<div class=\"graph\"><svg viewBox=\"-20 -10 %.1f %.1f\" width=\"%.0f\" height=\"%.0f\" role=\"img\"><title>the graph</title>\n",
		g->at.w + 20 + edge, g->at.h + 20, g->at.w + 20 + edge, g->at.h + 20);
	for (uint32_t i = 0, k = 0, end; i < g->at.nbox; i = end, k++) {
		for (end = i; end < g->at.nbox && part[g->at.on[end]] == k;)
			end++;
		put_part(g, i, end, start[k], start[k + 1]);
	}
	put_lines(g, start[nparts], start[nparts + 1]);
	fputs("</svg></div>\n", g->f);
	free(part);
	free(start);
}

/* ---- what is known of each node ---- */

/* JSON inside a page: a "<" could end the script. It stands in strings only. */
static void put_json(FILE *f, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] == '<')
			fputs("\\u003c", f);
		else
			putc(s[i], f);
}

static void put_value(struct text_writer *w, val_id v, FILE *f)
{
	char *text;

	w->f = textfile_open(&text, NULL);
	text_put_value(w, v);
	if (v) {
		fputs(": ", w->f);
		text_put_type(w, &val(w->m, v)->type);
	}
	textfile_close(w->f);
	json_str(f, text);
	free(text);
}

static void put_attrs(struct text_writer *w, const struct node *n, FILE *f)
{
	for (uint32_t i = 0; i < n->nattr; i++) {
		char *text;
		size_t size;
		w->f = textfile_open(&text, &size);
		text_put_attr_value(w, &n->attr[i]);
		textfile_close(w->f);
		if (size > VALUE_MOST)
			strcpy(text + VALUE_MOST - 3, "...");
		fputs(i ? "," : "", f);
		json_str(f, sym_str(n->attr[i].name));
		putc(':', f);
		json_str(f, text);
		free(text);
	}
}

static void put_values(struct text_writer *w, const val_id *v, uint32_t n, FILE *f)
{
	for (uint32_t i = 0; i < n; i++) {
		fputs(i ? "," : "", f);
		put_value(w, v[i], f);
	}
}

static void put_item_data(struct page *g, struct text_writer *w, const struct item *x, FILE *f)
{
	fputs("{\"o\":", f);
	json_str(f, item_op(g->v, x, &g->scratch));
	fputs(",\"n\":", f);
	json_str(f, sym_str(x->name));
	if (x->kind != ITEM_NODE) {
		fputs(",\"t\":[", f);
		put_values(w, &x->value, 1, f);
		fputs("]}", f);
		return;
	}
	const struct node *n = node(w->m, x->node);
	fputs(",\"m\":", f);
	json_str(f, sym_str(n->name));
	if (x->graph != w->m->main) {
		fputs(",\"b\":", f);
		json_str(f, sym_str(graph(w->m, x->graph)->name));
	}
	fprintf(f, ",\"g\":%u,\"i\":[", x->group);
	put_values(w, n->in, n->nin, f);
	fputs("],\"t\":[", f);
	put_values(w, n->out, n->nout, f);
	fputs("],\"a\":{", f);
	put_attrs(w, n, f);
	fputs("}}", f);
}

static void put_data(struct page *g)
{
	const struct view *v = g->v;
	struct text_writer w;
	char *text;
	size_t n;
	FILE *f = textfile_open(&text, &n);

	text_writer_open(&w, f, v->m);
	fputs("{\"groups\":[0", f);
	for (uint32_t i = 1; i < v->group.n; i++) {
		fputs(",\n{\"n\":", f);
		json_str(f, group_name(v, &v->group.a[i]));
		fputs(",\"t\":", f);
		json_str(f, seconds_text(v->group.a[i].seconds, &g->scratch));
		fputs("}", f);
	}
	fputs("],\n\"items\":[0", f);
	for (uint32_t i = 1; i < v->item.n; i++) {
		fputs(",\n", f);
		put_item_data(g, &w, &v->item.a[i], f);
	}
	fputs("],\n\"lines\":[", f);
	for (size_t i = 0; i < v->line.n; i++)
		fprintf(f, "%s[%u,%u]", i ? "," : "", g->line[i].from, g->line[i].to);
	fputs("]}", f);
	text_writer_close(&w);
	textfile_close(f);
	fputs("<script type=\"application/json\" id=\"data\">", g->f);
	put_json(g->f, text, n);
	fputs("</script>\n", g->f);
	free(text);
}

/* ---- groups by their time ---- */

struct row {
	const struct group *group;
	uint32_t item; /* the first in it */
};

static int by_seconds(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->group->seconds != y->group->seconds)
		return x->group->seconds < y->group->seconds ? 1 : -1;
	return (x->item > y->item) - (x->item < y->item);
}

static void put_groups(struct page *g)
{
	const struct view *v = g->v;
	VEC(struct row) row = {0};

	for (uint32_t b = 0; b < g->at.nbox; b++)
		if (v->group.a[g->at.box[b].group].seconds > 0)
			vec_push(&row, (struct row){&v->group.a[g->at.box[b].group], g->at.box[b].first});
	if (!row.n)
		return;
	qsort(row.a, row.n, sizeof *row.a, by_seconds);
	fprintf(g->f,
		"<h2>Groups by their predicted time</h2>\n<div class=\"wide\"><table><tr><th class=\"n\">time</th><th class=\"n\">share</th>"
		"<th>group</th><th>operators</th></tr>\n");
	for (size_t i = 0; i < row.n && i < GROUPS_MOST; i++) {
		const struct group *x = row.a[i].group;
		fprintf(g->f, "<tr><td class=\"n\">%s</td><td class=\"n\">%.1f%%</td><td><a class=\"go\" href=\"#n%u\">",
			seconds_text(x->seconds, &g->scratch), 100 * x->seconds / v->seconds, row.a[i].item);
		page_put(g->f, group_name(v, x));
		fputs("</a></td><td>", g->f);
		for (uint32_t k = 0; k < x->nitem && k < LETTERS; k++) {
			fputs(k ? ", " : "", g->f);
			page_put(g->f, item_op(v, &v->item.a[row.a[i].item + k], &g->scratch));
		}
		fputs("</td></tr>\n", g->f);
	}
	fputs("</table></div>\n", g->f);
	if (row.n > GROUPS_MOST)
		fprintf(g->f, "<p class=\"soft\">and %zu shorter ones</p>\n", row.n - GROUPS_MOST);
	vec_free(&row);
}

/* ---- the page ---- */

static void put_head(struct page *g, const char *title)
{
	const struct view *v = g->v;
	char hex[33];

	fputs("<script>document.documentElement.className='js'</script>\n<h1>", g->f);
	page_put(g->f, title);
	digest_hex(module_digest(v->m), hex);
	fprintf(g->f, "</h1>\n<p class=\"sum\">%zu nodes", v->nodes);
	if (v->group.n > 1)
		fprintf(g->f, ", %zu groups", v->group.n - 1);
	if (v->seconds > 0)
		fprintf(g->f, ", predicted to take %s one after the other", seconds_text(v->seconds, &g->scratch));
	fprintf(g->f, "</p>\n<p class=\"soft\">%s</p>\n", hex);
	if (v->closed || v->hidden)
		fprintf(g->f, "<p>%s", v->closed ? "Each group is one box. " : "");
	if (v->hidden)
		fprintf(g->f, "%zu nodes are not shown: ge-dot --around NAME and --limit N show others.", v->hidden);
	fputs(v->closed || v->hidden ? "</p>\n" : "", g->f);
	fputs("<div class=\"bar\"><input id=\"q\" type=\"search\" placeholder=\"name, operator, shape\" aria-label=\"search\"><span id=\"found\" class=\"soft\"></span>"
	      "<button id=\"more\" aria-label=\"larger\">+</button><button id=\"less\" aria-label=\"smaller\">\xe2\x88\x92</button>"
	      "<button id=\"fit\">fit</button></div>\n",
	      g->f);
}

void write_html(FILE *f, const struct view *v, const char *title)
{
	struct page g = {.f = f, .v = v, .at = place_new(v)};

	for (size_t i = 1; i < v->group.n; i++)
		g.longest = v->group.a[i].seconds > g.longest ? v->group.a[i].seconds : g.longest;
	page_begin(f, title);
	fprintf(f, "<style>%s</style>\n", css);
	put_head(&g, title);
	fputs("<div class=\"both\">\n", f);
	put_picture(&g);
	fputs("<div class=\"about soft\">Choose a node to see its operands, results and attributes. Ctrl and the wheel change the size.</div></div>\n",
	      f);
	put_groups(&g);
	write_arena(f, v->m);
	put_data(&g);
	fprintf(f, "<script>%s</script>\n", script);
	page_end(f);
	place_free(&g.at);
	free(g.line);
	arena_release(&g.scratch);
}
