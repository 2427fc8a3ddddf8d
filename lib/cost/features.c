/* Features of a program: counts, as integers. */
#include "cost/features.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/intern.h"
#include "common/map.h"
#include "cost/counts.h"

static const struct {
	const char *name, *what;
} rows[] = {
#define X(id, name, what) {name, what},
#define R                 X
#define T                 X
	FEATURES(X)
#undef R
#undef T
#undef X
};

const char *feature_name(enum feature f) { return rows[f].name; }

const char *feature_what(enum feature f) { return rows[f].what; }

static const char by_default[] = "/default";

const char *column_name(int column, char name[COLUMN_NAME])
{
	int k = column % FEATURE_COUNT;

	snprintf(name, COLUMN_NAME, "%s%s", rows[k].name, column == k ? "" : by_default);
	return name;
}

int column_find(const char *name)
{
	static struct map at; /* 1 + a name's symbol -> 1 + the column */
	char is[COLUMN_NAME];

	for (int i = 0; i < COLUMN_COUNT && at.n < COLUMN_COUNT; i++)
		map_set(&at, intern(column_name(i, is)) + 1, (uint32_t)i + 1);
	return (int)map_get(&at, intern(name) + 1) - 1;
}

void columns_of(const struct features *f, const struct features *usual, struct columns *x)
{
	for (int i = 0; i < FEATURE_COUNT; i++) {
		x->a[i] = f->a[i];
		x->a[FEATURE_COUNT + i] = f->a[i] - usual->a[i];
	}
}

enum { STEPS = 32 }; /* of an octave */
static const double MOST = 0x1p200;

/* Steps of 1 + x, rounded down. Between powers of two they are even, not logarithmic: no function of libm is asked. */
static int32_t steps_of(double x)
{
	int e;
	double m = frexp(x > 0 ? 1 + fmin(x, MOST) : 1, &e); /* m in [1/2, 1) */

	return STEPS * (e - 1) + (int32_t)((m - 0.5) * 2 * STEPS);
}

double features_power(double steps)
{
	double whole = floor(steps / STEPS);

	return ldexp(1 + (steps / STEPS - whole), (int)whole);
}

static void add_target(const struct target *t, double *of)
{
	enum { RATE_CYCLES = 16 };

	of[FEATURE_LANES] = t->vector_bytes / (double)sizeof(float);
	of[FEATURE_REGISTERS] = t->vector_regs;
	of[FEATURE_PORTS] = t->fma_ports;
	of[FEATURE_LATENCY] = t->fma_latency;
	of[FEATURE_L1] = (double)t->l1;
	of[FEATURE_L2] = (double)t->l2;
	of[FEATURE_L3] = (double)t->l3;
	of[FEATURE_L2_RATE] = RATE_CYCLES * t->l2_a_cycle;
	of[FEATURE_L3_RATE] = RATE_CYCLES * t->l3_a_cycle;
	of[FEATURE_MEMORY_RATE] = RATE_CYCLES * t->memory_a_cycle;
	of[FEATURE_BY_ELEMENT] = t->by_element;
}

/* Feature `to` is the ratio of two counts. */
static void add_ratio(struct features *f, enum feature to, double a, double b) { f->a[to] = steps_of(a) - steps_of(b); }

static void add_ratios(struct features *f, const double *of, const struct target *t, const double *level)
{
	double arith = of[FEATURE_ARITH] + of[FEATURE_FUNCTIONS] + of[FEATURE_CALL_TIME];
	double lanes = t->vector_bytes / (double)sizeof(float);

	add_ratio(f, FEATURE_LOADS_BY_ARITH, of[FEATURE_LOADS] + of[FEATURE_SPREADS] + of[FEATURE_GATHERS] + of[FEATURE_SINGLES], arith);
	add_ratio(f, FEATURE_STORES_BY_ARITH, of[FEATURE_STORES] + of[FEATURE_SCATTERS] + of[FEATURE_SINGLE_STORES], arith);
	add_ratio(f, FEATURE_SCALAR_BY_ARITH, of[FEATURE_SCALAR], arith);
	add_ratio(f, FEATURE_ITERATIONS_BY_ARITH, of[FEATURE_ITERATIONS], arith);
	add_ratio(f, FEATURE_WAITS_BY_BOUND, of[FEATURE_WAITS], of[FEATURE_BOUND]);
	add_ratio(f, FEATURE_SPILLED_BY_ARITH, of[FEATURE_SPILLED], arith);
	add_ratio(f, FEATURE_L1_BY_ROOF, level[0], of[FEATURE_ROOF]);
	add_ratio(f, FEATURE_L2_BY_ROOF, level[1], of[FEATURE_ROOF]);
	add_ratio(f, FEATURE_L3_BY_ROOF, level[2], of[FEATURE_ROOF]);
	add_ratio(f, FEATURE_BOUND_BY_ROOF, of[FEATURE_BOUND], of[FEATURE_ROOF]);
	add_ratio(f, FEATURE_ARITH_BY_BOUND, arith / t->fma_ports, of[FEATURE_BOUND]);
	add_ratio(f, FEATURE_WASTE, arith, (of[FEATURE_PRODUCTS] + of[FEATURE_RESULTS]) / lanes);
	add_ratio(f, FEATURE_CODE_BY_CACHE, of[FEATURE_CODE], (double)t->l1);
	add_ratio(f, FEATURE_SET_BY_L1, of[FEATURE_HOT_SET], (double)t->l1);
	add_ratio(f, FEATURE_SET_BY_L2, of[FEATURE_HOT_SET], (double)t->l2);
	add_ratio(f, FEATURE_LIVE_BY_REGISTERS, of[FEATURE_LIVE], t->vector_regs);
}

void features_of(struct loop_prog *p, struct features *f)
{
	struct target t = target_filled(p->target);
	struct counts c = {{0}};
	int64_t *env = xcalloc((size_t)poly_nvars(p->P) + 2, sizeof *env);
	double level[COST_LEVELS];

	prog_values(p, env);
	count_work(p, &t, env, &c);
	count_traffic(p, &t, &c);
	level[0] = c.of[FEATURE_INTO_L1] / t.l2_a_cycle;
	level[1] = c.of[FEATURE_INTO_L2] / t.l3_a_cycle;
	level[2] = c.of[FEATURE_INTO_L3] / t.memory_a_cycle;
	c.of[FEATURE_ROOF] = fmax(fmax(c.of[FEATURE_BOUND], level[0]), fmax(level[1], level[2]));
	for (stage_id s = 1; s < p->stages.n; s++)
		c.of[FEATURE_STAGES] += !lstage(p, s)->gone;
	add_target(&t, c.of);
	for (int i = 0; i < FEATURE_COUNT; i++)
		f->a[i] = steps_of(c.of[i]);
	add_ratios(f, c.of, &t, level);
	for (size_t i = 0; i < c.accesses.a.n; i++)
		free(c.accesses.a.a[i].loop);
	vec_free(&c.accesses.a);
	free(env);
}
