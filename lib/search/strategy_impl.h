/* What strategies share. Private to lib/search. */
#ifndef HONE_STRATEGY_IMPL_H
#define HONE_STRATEGY_IMPL_H
#include "common/digest.h"
#include "search/search.h"

enum { PATIENCE = 60 }; /* draws in vain for a point before a space counts as used up */

struct digest_set *set_new(void);
void set_free(struct digest_set *s);
bool set_add(struct digest_set *s, struct digest d); /* false: it was there */

/* For qsort of pointers to points: the fastest first. */
int by_measure(const void *a, const void *b);
extern const struct samples usual; /* no decision is asked for */
void copy_decisions(struct samples *to, const struct samples *from);
int any_origin(struct search *s);
/* The point, if neither it nor a request for it has been there before; NULL: it has, or there is none. */
struct point *draw(struct search *s, int origin, const struct samples *want);
/* Of a point that was made without draw: has it not been there before? From now on it has. */
bool claim(struct search *s, const struct point *p);
/* Of a point to be proposed: has none like it been? It is in the pool no more. */
bool first_proposed(struct search *s, const struct point *p);
struct point *draw_random(struct search *s, int origin); /* any decisions */
/* The usual points of origins that have not been proposed; count. */
size_t draw_origins(struct search *s, size_t n, struct point **out);
/* All points one decision away, to the pool. */
void draw_neighbours(struct search *s, const struct point *of);
size_t propose_genetic(struct search *s, size_t n, struct point **out);
/* What descents ask for; *end: they have come to their end. */
size_t descend(struct search *s, size_t n, struct point **out, bool *end);
size_t propose_descent(struct search *s, size_t n, struct point **out);
size_t propose_bayes(struct search *s, size_t n, struct point **out);
#endif
