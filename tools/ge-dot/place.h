/* Where the boxes of a view stand in a picture. */
#ifndef GE_DOT_PLACE_H
#define GE_DOT_PLACE_H
#include "view.h"

enum { ITEM_W = 232, ITEM_H = 34, ITEM_GAP = 8, BOX_PAD = 9, BOX_TITLE = 18, COLUMN_GAP = 22, ROW_GAP = 30 };

/* A group, or an item that is in none. Items of a box stand one below the other. */
struct box {
	uint32_t group, first, count; /* first: item */
	uint32_t level;
	double x, y, w, h;
};
struct place {
	const struct view *v;
	struct box *box;
	uint32_t nbox, nlevel;
	uint32_t *on; /* boxes, level after level, from left to right */
	uint32_t *in; /* by item: its box */
	double w, h;
};

/* Boxes on levels, each below all that it reads; linear but for sorting a level. */
struct place place_new(const struct view *v);
void place_free(struct place *p);
double item_x(const struct place *p, uint32_t item);
double item_y(const struct place *p, uint32_t item);
#endif
