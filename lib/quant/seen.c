#include "quant/seen.h"
#include <string.h>

/* The place of d: that of the first which is not less. */
static uint32_t place(const struct seen *s, struct digest d)
{
	uint32_t low = 0, high = s->n;

	while (low < high) {
		uint32_t at = (low + high) / 2;
		if (digest_cmp(s->least[at], d) < 0)
			low = at + 1;
		else
			high = at;
	}
	return low;
}

static bool has(const struct seen *s, struct digest d)
{
	uint32_t at = place(s, d);

	return at < s->n && digest_eq(s->least[at], d);
}

void seen_add(struct seen *s, struct digest sample)
{
	uint32_t at = place(s, sample);

	if (at == SEEN_MOST || has(s, sample))
		return;
	s->n += s->n < SEEN_MOST;
	memmove(s->least + at + 1, s->least + at, (s->n - at - 1) * sizeof *s->least);
	s->least[at] = sample;
}

void seen_merge(struct seen *s, const struct seen *from)
{
	for (uint32_t i = 0; i < from->n; i++)
		seen_add(s, from->least[i]);
}

uint32_t seen_before(const struct seen *s, const struct seen *from, uint32_t *of)
{
	uint32_t found = 0;

	*of = 0;
	for (uint32_t i = 0; i < from->n; i++) {
		if (s->n == SEEN_MOST && digest_cmp(from->least[i], s->least[SEEN_MOST - 1]) > 0)
			break;
		++*of;
		found += has(s, from->least[i]);
	}
	return found;
}
