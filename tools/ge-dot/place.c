/* Levels by the longest way from the inputs; on a level, boxes in the order of the middle of what they read, or what reads them, as near to
 * it as those beside them let them (as in Sugiyama, Tagawa, Toda: Methods for visual understanding of hierarchical system structures, 1981).
 * Lines that skip levels take no room: they are drawn beside the boxes. */
#define _GNU_SOURCE
#include "place.h"
#include <stdlib.h>

enum { SWEEPS = 5 };

static void make_boxes(struct place *p)
{
	const struct view *v = p->v;

	p->box = xcalloc(v->item.n, sizeof *p->box);
	p->in = xcalloc(v->item.n, sizeof *p->in);
	for (uint32_t i = 1; i < v->item.n; i++) {
		uint32_t group = v->item.a[i].group;
		struct box *last = p->nbox ? &p->box[p->nbox - 1] : NULL;
		if (!group || !last || last->group != group)
			p->box[p->nbox++] = (struct box){.group = group, .first = i, .w = ITEM_W, .h = group ? BOX_TITLE + BOX_PAD : 0};
		struct box *b = &p->box[p->nbox - 1];
		b->h += ITEM_H + (b->count++ ? ITEM_GAP : 0);
		b->w = group ? ITEM_W + 2 * BOX_PAD : ITEM_W;
		p->in[i] = p->nbox - 1;
	}
}

/* Items stand in an order in which operands come first, and those of a box together. What reads nothing goes next to what reads it. */
static void find_levels(struct place *p)
{
	const struct view *v = p->v;
	uint32_t *below = xcalloc(p->nbox, sizeof *below); /* by box that reads nothing: 1 + the least level that reads it */
	bool *reads = xcalloc(p->nbox, sizeof *reads);

	for (size_t i = 0; i < v->line.n; i++) {
		struct box *from = &p->box[p->in[v->line.a[i].from]], *to = &p->box[p->in[v->line.a[i].to]];
		if (from == to)
			continue;
		reads[to - p->box] = true;
		to->level = from->level + 1 > to->level ? from->level + 1 : to->level;
	}
	for (size_t i = 0; i < v->line.n; i++) {
		uint32_t from = p->in[v->line.a[i].from], to = p->in[v->line.a[i].to];
		if (from != to && (!below[from] || below[from] > p->box[to].level + 1))
			below[from] = p->box[to].level + 1;
	}
	for (uint32_t b = 0; b < p->nbox; b++) {
		if (!reads[b] && below[b] > 1)
			p->box[b].level = below[b] - 2;
		p->nlevel = p->box[b].level >= p->nlevel ? p->box[b].level + 1 : p->nlevel;
	}
	free(below);
	free(reads);
}

/* A box and where it would like to stand. */
struct wish {
	double x;
	uint32_t box;
};

static int by_wish(const void *a, const void *b)
{
	const struct wish *x = a, *y = b;

	return x->x != y->x ? (x->x < y->x ? -1 : 1) : (x->box > y->box) - (x->box < y->box);
}

/* From left to right, none over another; then all of them by as much as they were pushed on average. on: the boxes in this order. */
static void settle(struct place *p, struct wish *w, uint32_t *on, uint32_t n)
{
	double right = -1e300, off = 0;

	qsort(w, n, sizeof *w, by_wish);
	for (uint32_t i = 0; i < n; i++) {
		struct box *b = &p->box[w[i].box];
		b->x = w[i].x > right ? w[i].x : right;
		off += b->x - w[i].x;
		right = b->x + b->w + COLUMN_GAP;
	}
	for (uint32_t i = 0; i < n; i++) {
		p->box[w[i].box].x -= off / n;
		on[i] = w[i].box;
	}
}

/* Lines by one of their ends. */
struct ends {
	uint32_t *start, *other; /* box: start[box] .. start[box + 1] */
};

static struct ends ends_of(const struct place *p, bool down)
{
	const struct view *v = p->v;
	struct ends e = {xcalloc((size_t)p->nbox + 2, sizeof *e.start), xcalloc(v->line.n + 1, sizeof *e.other)};

	for (size_t i = 0; i < v->line.n; i++)
		e.start[p->in[down ? v->line.a[i].to : v->line.a[i].from] + 2]++;
	for (uint32_t b = 0; b < p->nbox; b++)
		e.start[b + 2] += e.start[b + 1];
	for (size_t i = 0; i < v->line.n; i++)
		e.other[e.start[p->in[down ? v->line.a[i].to : v->line.a[i].from] + 1]++] =
			p->in[down ? v->line.a[i].from : v->line.a[i].to];
	return e;
}

static double wish_of(const struct place *p, const struct ends *e, uint32_t b)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t i = e->start[b]; i < e->start[b + 1]; i++)
		if (e->other[i] != b) {
			const struct box *o = &p->box[e->other[i]];
			sum += o->x + o->w / 2;
			n++;
		}
	return n ? sum / n - p->box[b].w / 2 : p->box[b].x;
}

static void find_columns(struct place *p, const uint32_t *start, uint32_t *on)
{
	struct ends ends[2] = {ends_of(p, true), ends_of(p, false)};
	struct wish *w = xcalloc((size_t)p->nbox + 1, sizeof *w);

	for (int s = 0; s < SWEEPS; s++)
		for (uint32_t k = 0; k < p->nlevel; k++) {
			uint32_t l = s % 2 ? p->nlevel - 1 - k : k, n = start[l + 1] - start[l];
			for (uint32_t i = 0; i < n; i++)
				w[i] = (struct wish){wish_of(p, &ends[s % 2], on[start[l] + i]), on[start[l] + i]};
			settle(p, w, &on[start[l]], n);
		}
	for (int i = 0; i < 2; i++) {
		free(ends[i].start);
		free(ends[i].other);
	}
	free(w);
}

static void find_rows(struct place *p, const uint32_t *start, const uint32_t *on)
{
	double left = 1e300;

	for (uint32_t l = 0; l < p->nlevel; l++) {
		double high = 0;
		for (uint32_t i = start[l]; i < start[l + 1]; i++) {
			p->box[on[i]].y = p->h;
			high = p->box[on[i]].h > high ? p->box[on[i]].h : high;
		}
		p->h += high + (l + 1 < p->nlevel ? ROW_GAP : 0);
	}
	for (uint32_t b = 0; b < p->nbox; b++)
		left = p->box[b].x < left ? p->box[b].x : left;
	for (uint32_t b = 0; b < p->nbox; b++) {
		p->box[b].x -= left;
		p->w = p->box[b].x + p->box[b].w > p->w ? p->box[b].x + p->box[b].w : p->w;
	}
}

struct place place_new(const struct view *v)
{
	struct place p = {.v = v};

	make_boxes(&p);
	find_levels(&p);
	uint32_t *start = xcalloc((size_t)p.nlevel + 2, sizeof *start), *on = xcalloc((size_t)p.nbox + 1, sizeof *on);
	for (uint32_t b = 0; b < p.nbox; b++)
		start[p.box[b].level + 2]++;
	for (uint32_t l = 0; l < p.nlevel; l++)
		start[l + 2] += start[l + 1];
	for (uint32_t b = 0; b < p.nbox; b++)
		on[start[p.box[b].level + 1]++] = b;
	find_columns(&p, start, on);
	find_rows(&p, start, on);
	free(start);
	p.on = on;
	return p;
}

void place_free(struct place *p)
{
	free(p->box);
	free(p->on);
	free(p->in);
}

double item_x(const struct place *p, uint32_t item)
{
	const struct box *b = &p->box[p->in[item]];

	return b->x + (b->group ? BOX_PAD : 0);
}

double item_y(const struct place *p, uint32_t item)
{
	const struct box *b = &p->box[p->in[item]];

	return b->y + (b->group ? BOX_TITLE : 0) + (item - b->first) * (ITEM_H + ITEM_GAP);
}
