/* Choice among algorithms by counts of their parts. */
#include "sched/algorithm.h"
#include <math.h>
#include <stddef.h>
#include "loop/instr.h"
#include "sched/schedule.h"
#include "target/rate.h"

/* A tile of sums takes some steps' time to begin and to end. */
static double products_cycles(const struct target *m, double multiply_adds, double steps)
{
	enum { AROUND = 3 };

	return multiply_adds * (1 + AROUND / steps) / ((double)m->vector_bytes / 4 * m->fma_ports);
}

/* What some layers like this one leave of their constants in the second-level cache is still there in the next run, the others come from
 * memory. */
static double constants_cycles(const struct target *m, bool known, double bytes)
{
	enum { LAYERS = 8 };
	double stays = known ? fmin(1, (double)m->l2 / (LAYERS * bytes)) : 0;

	return bytes * (stays / m->l2_a_cycle + (1 - stays) / m->memory_a_cycle);
}

/* Lines, then columns: each of 2 n takes about n^2 / 2 operations. n^2 results of each are stored, one a cycle. */
static double transform_cycles(const struct target *m, double n) { return n * n * n / m->fma_ports + 2 * n * n; }

static double kept_cycles(const struct target *m, double elements)
{
	double bytes = 4 * elements;

	return 2 * bytes / (bytes > (double)m->l2 ? m->l3_a_cycle : m->l2_a_cycle);
}

/* Two operations convert a vector. */
static double converted_cycles(const struct target *m, double elements) { return elements / ((double)m->vector_bytes / 4); }

static double cycles(const struct target *m, bool known, const struct algorithm *a)
{
	double n = 0;

	if (a->multiply_adds > 0)
		n += products_cycles(m, a->multiply_adds / a->speed, a->steps / a->speed);
	if (a->constants > 0)
		n += constants_cycles(m, known, a->constants);
	n += transform_cycles(m, a->side) * a->transforms + a->waiting / m->l2_a_cycle;
	return n + kept_cycles(m, a->kept) + converted_cycles(m, a->converted);
}

static const struct algorithm *usual(const struct algorithm *list, int n)
{
	const struct algorithm *last = NULL;

	for (const struct algorithm *a = list; a < list + n; a++)
		if (a->kind == ALGORITHM_SUMS) {
			last = a;
			if (a->speed > 1)
				break;
		}
	return last;
}

const struct algorithm *algorithm_best(const struct target *t, const struct algorithm *list, int n)
{
	const double OTHER_SUMS_MARGIN = 0.85;
	struct target m = target_filled(t);
	const struct algorithm *sums = usual(list, n), *best = sums;
	double direct = cycles(&m, t != NULL, sums), least = INFINITY;

	for (const struct algorithm *a = list; a < list + n; a++) {
		double share = a->kind == ALGORITHM_OTHER ? OTHER_SUMS_MARGIN : 1, now = cycles(&m, t != NULL, a);
		if (a->kind != ALGORITHM_SUMS && now < fmin(least, share * direct + share * kept_cycles(&m, a->spared))) {
			least = now;
			best = a;
		}
	}
	return best;
}

/* A vector of elements is widened by two operations, for as many rows at a time as there are registers. */
bool algorithm_widens_constants(const struct target *t, double products)
{
	struct target m = target_filled(t ? t : target_host());
	double times = products / m.vector_regs, widening = 2 * times / (m.vector_bytes / sizeof(float));

	return widening > 2 / m.memory_a_cycle;
}

double algorithm_speed(const struct target *t, int row) { return target_rate(t, instr_row(row)->name) / target_fma_rate(t); }

bool algorithm_copies_both(double products, double a, double b) { return products > READ_ONCE * a && products > READ_ONCE * b; }

/* Less than two thirds pays for what waits between them. */
bool algorithm_in_two(double one, double two) { return 3 * two <= 2 * one; }

/* Where codes are read they are widened for each row, in a panel once for all rows. From how many rows a panel pays depends on how fast a
 * machine multiplies and how fast it reads memory. The number was found on one machine; no rate says it yet. */
enum widening algorithm_widening(int64_t rows)
{
	enum { ROWS_WHERE_READ = 8 };

	return rows <= ROWS_WHERE_READ ? WIDEN_WHERE_READ : WIDEN_PANEL;
}

/* Digits are made once a row, in about the time that they save in so many columns: both are vector operations on what is in registers.
 * Several rows are bound by products, not by the bytes of the codes: floats are faster where an instruction sums no more than the digits. */
bool algorithm_digits(int64_t rows, int64_t columns, double summed)
{
	enum { COLUMNS = 64 };

	return columns > COLUMNS && (rows == 1 || summed > 1);
}
