/* The blocks of the first text stand in a table by their hash; the second is searched for them byte by byte, and what is found is
 * extended both ways (as in Bentley, McIlroy: Data compression using long common strings, 1999). */
#include "graph/delta.h"
#include <stdlib.h>
#include <string.h>
#include "common/arena.h"
#include "common/digest.h"

enum { BLOCK = 16 };

struct delta {
	const char *a, *b;
	size_t na, nb;
	uint32_t *first; /* by hash: 1 + the number of the first block that has it, 0 for none */
	size_t mask;
	size_t stop;  /* of the last copy in a */
	size_t begin; /* of what no edit has of b yet */
	struct edit last;
	void (*put)(const struct edit *e, void *arg);
	void *arg;
};

/* Two words, mixed: a call of a hash function for each byte of b would be most of the time. */
static size_t slot_of(const struct delta *d, const char *p)
{
	uint64_t x, y;

	memcpy(&x, p, sizeof x);
	memcpy(&y, p + sizeof x, sizeof y);
	x = (x ^ (y << 23 | y >> 41)) * 0x9e3779b97f4a7c15u + y;
	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
	return (size_t)(x ^ x >> 32) & d->mask;
}

static void index_blocks(struct delta *d)
{
	size_t n = d->na / BLOCK, size = 64;

	while (size < 2 * n && size < (size_t)1 << 31)
		size *= 2;
	d->first = xcalloc(size, sizeof *d->first);
	d->mask = size - 1;
	for (size_t i = 0; i < n && i < UINT32_MAX; i++) {
		uint32_t *slot = &d->first[slot_of(d, d->a + i * BLOCK)];
		if (!*slot)
			*slot = (uint32_t)i + 1;
	}
}

/* The last edit is put when the next begins: bytes up to there are added by it. */
static void flush(struct delta *d, size_t to)
{
	d->last.add = d->b + d->begin;
	d->last.nadd = to - d->begin;
	if (d->last.keep || d->last.nadd)
		d->put(&d->last, d->arg);
}

/* The bytes at `at` of a and `from` of b are the same for a block. Takes all that are around it; where the match ends in b. */
static size_t take(struct delta *d, size_t at, size_t from)
{
	size_t n = BLOCK;

	while (at + n < d->na && from + n < d->nb && d->a[at + n] == d->b[from + n])
		n++;
	while (at && from > d->begin && d->a[at - 1] == d->b[from - 1])
		at--, from--, n++;
	flush(d, from);
	d->last = (struct edit){.skip = (int64_t)at - (int64_t)d->stop, .keep = n};
	d->stop = at + n;
	d->begin = from + n;
	return d->begin;
}

void delta_make(const char *a, size_t na, const char *b, size_t nb, void (*put)(const struct edit *e, void *arg), void *arg)
{
	struct delta d = {.a = a, .b = b, .na = na, .nb = nb, .put = put, .arg = arg};

	index_blocks(&d);
	for (size_t i = 0; i + BLOCK <= nb;) {
		size_t straight = d.stop + (i - d.begin); /* as if the bytes since the last copy were changed in place */
		uint32_t block = d.first[slot_of(&d, b + i)];
		size_t at = block ? (size_t)(block - 1) * BLOCK : na;
		if (straight + BLOCK <= na && !memcmp(a + straight, b + i, BLOCK))
			i = take(&d, straight, i);
		else if (at + BLOCK <= na && !memcmp(a + at, b + i, BLOCK))
			i = take(&d, at, i);
		else
			i++;
	}
	flush(&d, nb);
	free(d.first);
}
