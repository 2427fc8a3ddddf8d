#include "common/nearest.h"
#include <ctype.h>
#include <string.h>

enum { LONGEST = 255 };

static size_t least(size_t a, size_t b, size_t c) { return a < b ? a < c ? a : c : b < c ? b : c; }

/* Levenshtein, 1966; small and capital letters are the same. */
static size_t edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t row[LONGEST + 1];

	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t before = row[0];
		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t changed = before + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
			before = row[j];
			row[j] = least(changed, row[j - 1] + 1, row[j] + 1);
		}
	}
	return row[nb];
}

void nearest_offer(struct nearest *n, const char *known)
{
	size_t a = strlen(n->word), b = strlen(known), longer = a > b ? a : b;

	if (a > LONGEST || b > LONGEST || !b)
		return;
	size_t d = edit_distance(n->word, a, known, b);
	if (2 * d <= longer && (!n->best || d < n->distance)) {
		n->best = known;
		n->distance = d;
	}
}
