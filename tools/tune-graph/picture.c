/* A segment as a picture: its nodes, in boxes the groups. */
#include <stdlib.h>
#include "common/page.h"
#include "common/shown.h"
#include "common/utf8.h"
#include "op/task.h"
#include "tune-graph.h"

/* In pixels. */
enum { NODE_W = 210, NODE_H = 19, NODE_GAP = 9, BOX_PAD = 9, COLUMN_GAP = 16, ROW_GAP = 24, BEND = 5, TEXT_MOST = 37 };

/* A group, or a node that is in none. */
struct box {
	uint32_t group; /* 0: none */
	uint32_t first, count, level;
	double x, y, h;
};
struct picture {
	struct module *m;
	uint32_t n;     /* statements */
	uint32_t *box;  /* statement: its box, */
	uint32_t *rank; /* and which of that it is, from 0 */
	struct box *of;
	uint32_t boxes, levels;
	double w, h;
};

static const struct node *statement(const struct picture *p, uint32_t i) { return node(p->m, graph(p->m, p->m->main)->nodes.a[i]); }

/* The statement that makes operand k of statement i, + 1; 0: none does. */
static uint32_t maker(const struct picture *p, uint32_t i, uint32_t k)
{
	val_id v = statement(p, i)->in[k];

	for (uint32_t j = 0; v && val(p->m, v)->kind == VAL_NODE && j < i; j++)
		if (graph(p->m, p->m->main)->nodes.a[j] == val(p->m, v)->def)
			return j + 1;
	return 0;
}

static void make_boxes(struct picture *p, const uint32_t *group)
{
	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t b = 0;
		while (b < p->boxes && (!group[i] || p->of[b].group != group[i]))
			b++;
		if (b == p->boxes)
			p->of[p->boxes++] = (struct box){.group = group[i], .first = i};
		p->box[i] = b;
		p->rank[i] = p->of[b].count++;
	}
}

/* A box stands below all that it reads. */
static void find_levels(struct picture *p)
{
	bool again = true;

	for (uint32_t round = 0; again && round <= p->boxes; round++) {
		again = false;
		for (uint32_t i = 0; i < p->n; i++)
			for (uint32_t k = 0; k < statement(p, i)->nin; k++) {
				uint32_t from = maker(p, i, k);
				struct box *to = &p->of[p->box[i]];
				if (!from || p->box[from - 1] == p->box[i] || to->level > p->of[p->box[from - 1]].level)
					continue;
				to->level = p->of[p->box[from - 1]].level + 1;
				again = true;
			}
	}
	for (uint32_t b = 0; b < p->boxes; b++)
		p->levels = p->of[b].level >= p->levels ? p->of[b].level + 1 : p->levels;
}

/* Rows of boxes, each in the middle. */
static void place(struct picture *p)
{
	uint32_t most = 0;

	for (uint32_t l = 0; l < p->levels; l++) {
		uint32_t count = 0;
		for (uint32_t b = 0; b < p->boxes; b++)
			count += p->of[b].level == l;
		most = count > most ? count : most;
	}
	p->w = most * (NODE_W + 2 * BOX_PAD + COLUMN_GAP);
	for (uint32_t l = 0; l < p->levels; l++) {
		uint32_t count = 0, k = 0;
		double high = 0;
		for (uint32_t b = 0; b < p->boxes; b++)
			count += p->of[b].level == l;
		for (uint32_t b = 0; b < p->boxes; b++) {
			struct box *x = &p->of[b];
			if (x->level != l)
				continue;
			x->x = p->w / 2 + (k++ - count / 2.0) * (NODE_W + 2 * BOX_PAD + COLUMN_GAP) + COLUMN_GAP / 2.0;
			x->y = p->h;
			x->h = 2 * BOX_PAD + x->count * NODE_H + (x->count - 1) * NODE_GAP;
			high = x->h > high ? x->h : high;
		}
		p->h += high + (l + 1 < p->levels ? ROW_GAP : 0);
	}
}

static double node_x(const struct picture *p, uint32_t i) { return p->of[p->box[i]].x + BOX_PAD; }
static double node_y(const struct picture *p, uint32_t i) { return p->of[p->box[i]].y + BOX_PAD + p->rank[i] * (NODE_H + NODE_GAP); }

static double box_end(const struct box *b) { return b->y + b->h; }

/* From the bottom of one to the top of the other. Past nodes that stand between in its box: out at the right, in at the left. */
static void put_edge(FILE *f, const struct picture *p, uint32_t from, uint32_t to)
{
	const struct box *a = &p->of[p->box[from]], *b = &p->of[p->box[to]];
	bool next = a == b && p->rank[to] == p->rank[from] + 1, out = !next && (a == b || p->rank[from] + 1 < a->count);
	bool in = !next && a != b && p->rank[to] > 0;
	double x = node_x(p, from), y = node_y(p, from), u = node_x(p, to), v = node_y(p, to), side = x + NODE_W + BEND, left = u - BEND;

	if (out && a == b) {
		fprintf(f, "<path d=\"M%.1f %.1fQ%.1f %.1f %.1f %.1fL%.1f %.1fQ%.1f %.1f %.1f %.1f\"/>", side - BEND, y + NODE_H / 2.0,
			side, y + NODE_H / 2.0, side, y + NODE_H, side, v, side, v + NODE_H / 2.0, u + NODE_W, v + NODE_H / 2.0);
		return;
	}
	if (out)
		fprintf(f, "<path d=\"M%.1f %.1fQ%.1f %.1f %.1f %.1fL%.1f %.1f", side - BEND, y + NODE_H / 2.0, side, y + NODE_H / 2.0,
			side, y + NODE_H, side, box_end(a));
	else
		fprintf(f, "<path d=\"M%.1f %.1f", x + NODE_W / 2.0, y + NODE_H);
	x = out ? side : x + NODE_W / 2.0;
	y = out ? box_end(a) : y + NODE_H;
	double ex = in ? left : u + NODE_W / 2.0, ey = in ? b->y : v;
	fprintf(f, "C%.1f %.1f %.1f %.1f %.1f %.1f", x, (y + ey) / 2, ex, (y + ey) / 2, ex, ey);
	if (in)
		fprintf(f, "L%.1f %.1fQ%.1f %.1f %.1f %.1f", left, v, left, v + NODE_H / 2.0, u, v + NODE_H / 2.0);
	fputs("\"/>", f);
}

/* Are the nodes of that box a group in the other grouping, too? */
static bool is_alike(const struct picture *p, const struct box *b, const uint32_t *group, const uint32_t *other)
{
	for (uint32_t i = 0; other && i < p->n; i++)
		if ((group[i] == b->group) != (other[i] == other[b->first]))
			return false;
	return true;
}

/* Bytes of the first `most` characters of s. */
static int bytes_of(const char *s, int most)
{
	int n = 0;

	for (int k = 0; s[n] && k < most; k++) {
		int length = utf8_length(s + n, UTF8_MAX);
		n += length ? length : 1;
	}
	return n;
}

static void put_node(FILE *f, const struct picture *p, uint32_t i)
{
	struct arena a = {0};
	const char *title = node_title(p->m, graph(p->m, p->m->main)->nodes.a[i], &a);

	fprintf(f, "<g><title>");
	page_put(f, title);
	fprintf(f, "</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"3\" fill=\"var(--page)\" stroke=\"var(--line)\"/>",
		node_x(p, i), node_y(p, i), NODE_W, NODE_H);
	fprintf(f, "<text class=\"op\" x=\"%.1f\" y=\"%.1f\">", node_x(p, i) + 6, node_y(p, i) + 13);
	page_put(f, arena_printf(&a, "%.*s", bytes_of(title, TEXT_MOST), title));
	fprintf(f, "</text></g>\n");
	arena_release(&a);
}

void picture_put(FILE *f, struct module *m, const uint32_t *group, const uint32_t *other, const char *what)
{
	uint32_t n = (uint32_t)graph(m, m->main)->nodes.n;
	struct picture p = {.m = m, .n = n};

	p.box = xcalloc(n + 1, sizeof *p.box);
	p.rank = xcalloc(n + 1, sizeof *p.rank);
	p.of = xcalloc(n + 1, sizeof *p.of);
	make_boxes(&p, group);
	find_levels(&p);
	place(&p);
	fprintf(f, "<svg viewBox=\"-2 -2 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" role=\"img\"><title>", p.w + 4, p.h + 4, p.w + 4,
		p.h + 4);
	page_put(f, what);
	fputs("</title>\n<g fill=\"none\" stroke=\"var(--base)\">", f);
	for (uint32_t b = 0; b < p.boxes; b++) {
		const struct box *x = &p.of[b];
		if (x->group)
			fprintf(f,
				"<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" rx=\"6\" fill=\"var(--tint)\" stroke=\"var(--%s)\"/>\n",
				x->x, x->y, NODE_W + 2 * BOX_PAD, x->h, is_alike(&p, x, group, other) ? "line" : "mark");
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < statement(&p, i)->nin; k++)
			if (maker(&p, i, k))
				put_edge(f, &p, maker(&p, i, k) - 1, i);
	fputs("</g>\n", f);
	for (uint32_t i = 0; i < n; i++)
		put_node(f, &p, i);
	fputs("</svg>\n", f);
	free(p.box);
	free(p.rank);
	free(p.of);
}
