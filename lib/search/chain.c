/* Bellman's recursion, forwards over the stages. */
#include "search/chain.h"
#include <math.h>
#include <stdlib.h>
#include "common/vec.h"

double chain_best(size_t n, uint32_t states, double (*cost)(const void *of, size_t k, uint32_t before, uint32_t after), const void *of,
		  uint32_t *after)
{
	double *least = xcalloc((n + 1) * states, sizeof *least);     /* [stage][state before it]: of all stages up to there */
	uint32_t *before = xcalloc((n + 1) * states, sizeof *before); /* [stage][state after it]: the state before it on that way */
	double all;

	for (uint32_t s = 1; s < states; s++)
		least[s] = INFINITY;
	for (size_t k = 0; k < n; k++)
		for (uint32_t to = 0; to < states; to++) {
			double *now = &least[(k + 1) * states + to];
			*now = INFINITY;
			for (uint32_t from = 0; from < states; from++) {
				double way = least[k * states + from];
				way = isfinite(way) ? way + cost(of, k, from, to) : way;
				if (way < *now) {
					*now = way;
					before[k * states + to] = from;
				}
			}
		}
	all = least[n * states];
	for (size_t k = n, s = 0; k-- > 0; s = before[k * states + s])
		after[k] = isfinite(all) ? (uint32_t)s : 0;
	free(least);
	free(before);
	return all;
}
