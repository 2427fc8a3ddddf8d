/* Random search: any decisions. */
#include "search/strategy.h"

static size_t propose(struct search *s, size_t n, struct point **out)
{
	size_t count = 0;

	for (int vain = 0; count < n && vain < PATIENCE;) {
		struct point *p = draw_random(s, any_origin(s));
		vain = p ? 0 : vain + 1;
		if (p)
			out[count++] = p;
	}
	return count;
}

const struct strategy strategy_random = {
	.name = "random",
	.summary = "any decisions",
	.propose = propose,
};
