/* The known word that a mistyped one was meant to be. */
#ifndef HONE_NEAREST_H
#define HONE_NEAREST_H
#include <stddef.h>

/* Offer each known word, then read `best`. */
struct nearest {
	const char *word; /* the mistyped one */
	const char *best; /* the nearest of those offered; of equals the first; NULL: none shares half of its letters with word */
	size_t distance;  /* insertions, deletions, changes of a letter from word to best */
};
/* Words of more than 255 bytes are not considered. */
void nearest_offer(struct nearest *n, const char *known);
#endif
