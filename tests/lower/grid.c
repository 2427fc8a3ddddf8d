/* Wrong forms of varying sizes are seen: a program for many sizes is compared whole with those for single ones, on a grid of sizes that
 * determines what its numbers are elsewhere. */
#include <string.h>
#include "common/rng.h"
#include "common/tool.h"
#include "loop/math.h"
#include "loop/nest.h"
#include "lower/sized_impl.h"
#include "tap.h"
#include "target/target.h"

const struct tool tool; /* the library's main() is not linked */

/* What is planted. */
enum plant { NOTHING, MIDDLE, COEFFICIENT, OFFSET, REDUCED, CONSTANT, RESULT, GUARD, COMBINER, PLANTS };
static const char *const plants[] = {"nothing",           "an extent between stages",  "a coefficient",
				     "an offset",         "a reduced extent",          "a constant",
				     "a result's extent", "a guard that is not there", "a combiner"};

/* y[n, k]: sums of windows of x[n, 2 k], which is padded, with what depends on sizes: an index, and one part of k. */
static struct loop_prog *windows(int64_t n, int64_t k, enum plant plant)
{
	struct loop_prog *p = prog_new(target_host());
	int64_t wide = 2 * k + 2 + (plant == MIDDLE);
	buf_id x = buf_new(p, "x", DT_F32, SCOPE_IN, 2, (const int64_t[]){n, 2 * k}),
	       y = buf_new(p, "y", DT_F32, SCOPE_OUT, 2, (const int64_t[]){n, k + (plant == RESULT)});
	stage_id s = stage_new(p, "pad", DT_F32, SCOPE_SCRATCH, 2, (const int64_t[]){n, wide}, "i j");
	poly index[2] = {stage_axis(p, s, 0), poly_addc(p->P, stage_axis(p, s, 1), plant == OFFSET ? -2 : -1)};

	stage_body(p, s, COMB_NONE, plant == GUARD ? ex_read(p, x, 2, index) : ex_read_fill(p, x, 2, index, 0));
	buf_id pad = lstage(p, s)->out;
	s = stage_into(p, "sum", y, "i j");
	poly r = stage_reduce(p, s, "r", plant == REDUCED ? 4 : 3);
	poly i = stage_axis(p, s, 0), j = stage_axis(p, s, 1);
	index[0] = i;
	index[1] = poly_add(p->P, poly_mulc(p->P, j, 2), r);
	ex_id part = ex_const(p, DT_F32, 1.0 / (double)(k + (plant == CONSTANT)));
	ex_id at = ex_index(p, DT_F32, poly_add(p->P, poly_mulc(p->P, i, k + (plant == COEFFICIENT)), j));
	ex_id e = ex_call(p, FN_MUL, ex_read(p, pad, 2, index), part, 0);
	stage_body(p, s, plant == COMBINER ? COMB_MAX : COMB_SUM, ex_call(p, FN_ADD, e, at, 0));
	return p;
}

/* The program for all sizes, of those for six odd ones; lowering is wrong where k is even, if something is planted. */
static struct loop_prog *joined(enum plant plant)
{
	enum { N = 6 };
	static const int64_t at[N][LOOP_PARAMS_MAX] = {{17, 19}, {23, 29}, {31, 37}, {41, 43}, {47, 53}, {121, 101}};
	struct loop_prog *p[N], *q = prog_new(target_host());
	poly form[] = {prog_param(q, intern("n"), 0, POLY_INF, 1), prog_param(q, intern("k"), 0, POLY_INF, 1)};

	for (int i = 0; i < N; i++)
		p[i] = windows(at[i][0], at[i][1], at[i][1] % 2 ? NOTHING : plant);
	const char *why = prog_unify(q, N, p, at, 2, form);
	ok(!why, "one program%s%s", why ? ": " : "", why ? why : "");
	for (int i = 0; i < N; i++)
		prog_free(p[i]);
	return q;
}

static bool becomes(struct loop_prog *q, int64_t n, int64_t k, enum plant plant)
{
	struct loop_prog *p = windows(n, k, plant);

	q->params.a[0].value = n;
	q->params.a[1].value = k;
	bool same = prog_becomes(q, p);
	prog_free(p);
	return same;
}

static void planted(void)
{
	struct loop_prog *q = joined(NOTHING);
	int wrong = 0;

	for (int64_t n = 2; n < 20; n++)
		for (int64_t k = 2; k < 20; k++)
			wrong += !becomes(q, n, k, NOTHING);
	ok(!wrong, "it is the program for each of 324 sizes, %d are others", wrong);
	for (enum plant x = NOTHING + 1; x < PLANTS; x++) {
		int missed = 0;
		for (int64_t n = 2; n < 20; n++)
			for (int64_t k = 2; k < 20; k++)
				missed += becomes(q, n, k, x);
		ok(!missed, "%s is seen; not at %d sizes", plants[x], missed);
	}
	prog_free(q);
}

/* Wrong at even sizes alone: the points of which the form was made do not say so, the grid does. */
static void fooled(void)
{
	struct polys *P = polys_new();
	poly_var n = poly_var_new(P, intern("n"), 0, POLY_INF, 1), k = poly_var_new(P, intern("k"), 0, POLY_INF, 1);
	dim x[] = {poly_of(P, n), poly_mulc(P, poly_of(P, k), 2)}, y[] = {poly_of(P, n), poly_of(P, k)}, *const size[] = {x, y};
	struct sized_axis a = sized_axis(P, n, 2, (const int[]){2, 2}, size), b = sized_axis(P, k, 2, (const int[]){2, 2}, size);

	for (enum plant plant = NOTHING; plant < PLANTS; plant++) {
		struct loop_prog *q = joined(plant);
		bool same = true;
		for (int64_t i = 0; i < a.count * b.count; i++) {
			int64_t even = 19 + i / a.count * b.step;
			same &= becomes(q, 17 + i % a.count * a.step, even, even % 2 ? NOTHING : plant);
		}
		ok(same == (plant == NOTHING), "%s where a size is even: %s on the grid", plants[plant], same ? "equal" : "seen");
		prog_free(q);
	}
	polys_free(P);
}

static poly_var the_symbol(sym name, void *arg) { return name == intern("h") ? *(poly_var *)arg : 0; }

static void axis_is(const char *a, const char *b, int64_t step, int64_t count)
{
	struct polys *P = polys_new();
	poly_var h = poly_var_new(P, intern("h"), 0, POLY_INF, 1);
	dim x[2] = {0};

	if (poly_parse(P, a, the_symbol, &h, &x[0]) || poly_parse(P, b, the_symbol, &h, &x[1]))
		ok(0, "%s and %s are polynomials", a, b);
	struct sized_axis g = sized_axis(P, h, 2, (const int[]){1, 1}, (dim *const[]){&x[0], &x[1]});
	ok(g.step == step && g.count == count, "sizes %s and %s: %ld sizes, each %ld larger", a, b, (long)g.count, (long)g.step);
	polys_free(P);
}

enum { PERIOD = 4, DEGREE = 2 };

/* A number as lowering may make it. */
struct number {
	int64_t c[PERIOD][DEGREE + 1];
};

static int64_t value(const struct number *f, int64_t h)
{
	const int64_t *c = f->c[h % PERIOD];

	return c[0] + c[1] * h + c[2] * h * h;
}

/* Two that agree on the grid agree everywhere: those that differ in one coefficient or more differ on it. */
static void determined(void)
{
	struct rng rng = {3};
	int missed = 0;

	for (int i = 0; i < 20000; i++) {
		struct number f, g;
		int64_t first = rng_range(&rng, 2, 200);
		for (int r = 0; r < PERIOD; r++)
			for (int d = 0; d <= DEGREE; d++)
				f.c[r][d] = rng_range(&rng, -9, 9);
		g = f;
		int64_t *c = &g.c[rng_range(&rng, 0, PERIOD - 1)][0];
		for (int d = 0; d <= DEGREE; d++)
			c[d] += rng_range(&rng, -3, 3);
		bool same = true;
		for (int64_t h = first; h < first + PERIOD * (DEGREE + 1); h++)
			same &= value(&f, h) == value(&g, h);
		missed += same && memcmp(&f, &g, sizeof f);
	}
	ok(!missed, "of 20000 pairs of different numbers %d agree on the grid", missed);
}

int main(void)
{
	planted();
	fooled();
	axis_is("h", "4*h + 3", 1, 2);
	axis_is("h*h", "h", 1, 3);
	axis_is("floor((h + 1)/2)", "h", 1, 4);
	axis_is("floor((h + 31)/32)", "floor((h + 31)/32)", 32, 2);
	axis_is("floor((h + 31)/32)", "floor((h + 15)/16)", 16, 4);
	axis_is("floor((floor((h + 1)/2) + 1)/2)", "h", 1, 8);
	axis_is("floor(3*h/2)", "5", 1, 4);
	determined();
	return tap_done();
}
