/* What strategies are built from: new points, each drawn once. Private to lib/search. */
#ifndef HONE_STRATEGY_H
#define HONE_STRATEGY_H
#include "common/digest.h"
#include "search/search.h"

enum { PATIENCE = 60 }; /* draws in vain for a point before a space counts as used up */

struct points {
	struct point **a;
	size_t n, cap;
};
/* For qsort of pointers to points: the fastest first. */
int by_measure(const void *a, const void *b);
/* Removes the point with that trace; the last takes its place. */
void points_remove(struct points *from, const struct point *p);

/* A flag a point, by its number; all are false at first. */
struct marks {
	bool *a;
	size_t n, cap;
};
bool is_marked(const struct marks *m, const struct point *p);
bool mark(struct marks *m, const struct point *p); /* false: it was marked before */

extern const struct samples usual; /* no decision is asked for */
void copy_decisions(struct samples *to, const struct samples *from);
int any_origin(struct search *s);

/* The point with these decisions if it is new; NULL: it was drawn before, or there is none. */
struct point *draw(struct search *s, int origin, const struct samples *want);
struct point *draw_random(struct search *s, int origin); /* any decisions */
/* New default points of origins from *next on; their number. *next: the origin to go on with, 1 at first. */
size_t draw_origins(struct search *s, size_t *next, size_t n, struct point **out);
/* New points one decision away, until out has `most`. */
void draw_neighbours(struct search *s, const struct point *of, size_t most, struct points *out);
/* Notes a point that was made without draw. false: it was there before. */
bool claim(struct search *s, const struct point *p);
/* Notes that the point is proposed. false: one like it was. */
bool first_proposed(struct search *s, const struct point *p);

/* draw.c: what has been drawn and proposed in a search. */
struct drawn *drawn_new(void);
void drawn_free(struct drawn *d);
#endif
