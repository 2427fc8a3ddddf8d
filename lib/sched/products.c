/* Counts of the parts of a convolution. */
#include "sched/products.h"
#include <math.h>

/* A tile of sums takes some steps' time to begin and to end. */
double products_cycles(const struct target *m, double multiply_adds, double steps)
{
	enum { AROUND = 3 };

	return multiply_adds * (1 + AROUND / steps) / ((double)m->vector_bytes / 4 * m->fma_ports);
}

/* What some layers like this one leave of their constants in the second-level cache is still there in the next run, the others come from
 * memory. */
double constants_cycles(const struct target *m, double bytes)
{
	enum { LAYERS = 8 };
	struct target f = target_filled(m);
	double stays = m ? fmin(1, (double)m->l2 / (LAYERS * bytes)) : 0;

	return bytes * (stays / f.l2_a_cycle + (1 - stays) / f.memory_a_cycle);
}

/* Lines, then columns: each of 2 n takes about n^2 / 2 operations. n^2 results of each are stored, one a cycle. */
double transform_cycles(const struct target *m, double n) { return n * n * n / m->fma_ports + 2 * n * n; }
