/* Polynomials: random expressions keep their value through simplification, substitution and assumption;
 * ranges enclose; and the identities that loop indices live on hold by `==`. */
#include <string.h>
#include "common/arena.h"
#include "common/poly.h"
#include "common/rng.h"
#include "tap.h"

enum { NVARS = 6, CASES = 20000, POINTS = 24 };

static struct polys *P;
static struct rng rng = {1};
static poly_var vars[NVARS + 1];
static int64_t lo[NVARS + 1], hi[NVARS + 1], step[NVARS + 1];

/* An expression as it was asked for, evaluated without the library. */
struct expr {
	int kind; /* 0 constant, 1 variable, then + - * floor mod min max ceil */
	int64_t c;
	const struct expr *a, *b;
};
static struct arena arena;

static const struct expr *random_expr(int depth, poly *out)
{
	struct expr *e = ARENA_NEW(&arena, struct expr);
	poly a = POLY_UNKNOWN, b = POLY_UNKNOWN;
	e->kind = depth == 0 ? (int)rng_range(&rng, 0, 3) : (int)rng_range(&rng, 2, 10);
	if (depth == 0)
		e->kind = e->kind != 0;
	if (e->kind >= 2)
		e->a = random_expr((int)rng_range(&rng, 0, depth - 1), &a);
	if (e->kind < 5 || e->kind == 7 || e->kind == 8) {
		if (e->kind >= 2)
			e->b = random_expr((int)rng_range(&rng, 0, depth - 1), &b);
	}
	switch (e->kind) {
	case 0:
		e->c = rng_range(&rng, -20, 20);
		*out = poly_const(P, e->c);
		break;
	case 1:
		e->c = rng_range(&rng, 1, NVARS);
		*out = poly_of(P, vars[e->c]);
		break;
	case 2: *out = poly_add(P, a, b); break;
	case 3: *out = poly_sub(P, a, b); break;
	case 4:
		if (depth > 2 || rng_unit(&rng) < 0.7) { /* mostly by a constant */
			e->kind = 10;
			e->c = rng_range(&rng, -9, 9);
			*out = poly_mulc(P, a, e->c);
		} else {
			*out = poly_mul(P, a, b);
		}
		break;
	case 5:
		e->c = rng_range(&rng, 1, 12);
		*out = poly_floordiv(P, a, e->c);
		break;
	case 6:
		e->c = rng_range(&rng, 1, 12);
		*out = poly_mod(P, a, e->c);
		break;
	case 7: *out = poly_min(P, a, b); break;
	case 8: *out = poly_max(P, a, b); break;
	case 9:
		e->c = rng_range(&rng, 1, 12);
		*out = poly_ceildiv(P, a, e->c);
		break;
	default:
		e->c = rng_range(&rng, -9, 9);
		*out = poly_mulc(P, a, e->c);
		break;
	}
	return e;
}

static int64_t floor_of(int64_t a, int64_t c)
{
	int64_t q = a / c;
	return q * c > a ? q - 1 : q;
}

static int64_t value(const struct expr *e, const int64_t *env)
{
	if (e->kind == 0)
		return e->c;
	if (e->kind == 1)
		return env[vars[e->c]];
	int64_t a = value(e->a, env), b = e->b ? value(e->b, env) : 0;
	switch (e->kind) {
	case 2: return a + b;
	case 3: return a - b;
	case 4: return a * b;
	case 5: return floor_of(a, e->c);
	case 6: return a - e->c * floor_of(a, e->c);
	case 7: return a < b ? a : b;
	case 8: return a > b ? a : b;
	case 9: return -floor_of(-a, e->c);
	default: return a * e->c;
	}
}

static void random_vars(void)
{
	polys_free(P);
	P = polys_new();
	arena_release(&arena);
	for (int i = 1; i <= NVARS; i++) {
		step[i] = i == NVARS ? 4 : 1;
		lo[i] = i % 3 == 0 ? -step[i] * rng_range(&rng, 0, 4) : 0;
		hi[i] = step[i] * rng_range(&rng, 0, 16);
		int64_t most = rng_range(&rng, 0, 2) ? hi[i] : POLY_INF; /* values stay below hi */
		vars[i] = poly_var_new(P, intern_printf("%c", "?abcdef"[i]), lo[i], most, step[i]);
	}
}

static void random_env(int64_t *env)
{
	for (int i = 1; i <= NVARS; i++) {
		int64_t v = rng_range(&rng, lo[i], hi[i]);
		env[vars[i]] = v - v % step[i];
	}
}

static int show(const char *what, poly e, const int64_t *env, int64_t want, int64_t got)
{
	printf("# %s: %s: %lld, not %lld at", what, poly_str(P, e, &arena), (long long)got, (long long)want);
	for (int i = 1; i <= NVARS; i++)
		printf(" %c=%lld", "?abcdef"[i], (long long)env[vars[i]]);
	putchar('\n');
	return 1;
}

static void test_values(void)
{
	int wrong = 0, outside = 0, unknown = 0;
	double width = 0, tight = 0;
	for (int k = 0; k < CASES && wrong + outside < 5; k++) {
		int64_t env[NVARS + 2], l, h, seen_lo = INT64_MAX, seen_hi = INT64_MIN;
		poly e;
		if (k % 8 == 0)
			random_vars();
		const struct expr *x = random_expr((int)rng_range(&rng, 1, 5), &e);
		if (!e && ++unknown)
			continue;
		poly_range(P, e, &l, &h);
		for (int i = 0; i < POINTS; i++) {
			random_env(env);
			int64_t want = value(x, env), got = poly_eval(P, e, env);
			if (want != got)
				wrong += show("value", e, env, want, got);
			if (want < l || want > h)
				outside += show("range", e, env, want, want < l ? l : h);
			seen_lo = want < seen_lo ? want : seen_lo;
			seen_hi = want > seen_hi ? want : seen_hi;
		}
		if (l != INT64_MIN && h != INT64_MAX) {
			width += (double)h - (double)l + 1;
			tight += (double)(seen_hi - seen_lo) + 1;
		}
	}
	ok(!wrong, "%d random expressions keep their value", CASES);
	ok(!outside, "their ranges enclose the values");
	ok(unknown == 0, "none of them is unknown (%d)", unknown);
	printf("# ranges are %.2f times as wide as the values seen\n", width / tight);
}

/* v becomes q*u + w, as splitting a loop does; and u and w become floor and mod of v, as fusing does. */
static void test_subst(void)
{
	int wrong = 0, assumed = 0;
	for (int k = 0; k < CASES / 2 && wrong + assumed < 5; k++) {
		int64_t env[NVARS + 4];
		poly e;
		if (k % 8 == 0)
			random_vars();
		const struct expr *x = random_expr((int)rng_range(&rng, 1, 4), &e);
		int v = (int)rng_range(&rng, 1, NVARS - 1);
		int64_t q = rng_range(&rng, 1, 6);
		poly_var u = poly_var_new(P, intern("u"), 0, 3, 1), w = poly_var_new(P, intern("w"), 0, q - 1, 1);
		random_env(env);
		int64_t wide[NVARS + 64];
		memcpy(wide, env, sizeof env);
		wide[u] = rng_range(&rng, 0, 3), wide[w] = rng_range(&rng, 0, q - 1);
		env[vars[v]] = q * wide[u] + wide[w];
		if (lo[v] == 0 && hi[v] >= 4 * q - 1) {
			poly by = poly_add(P, poly_mulc(P, poly_of(P, u), q), poly_of(P, w));
			poly f = poly_subst(P, e, vars[v], by);
			if (poly_uses(P, f, vars[v]) || poly_eval(P, f, wide) != value(x, env))
				wrong += show("subst", f, env, value(x, env), poly_eval(P, f, wide));
			poly_var two[] = {u, w};
			poly back[] = {poly_floordiv(P, poly_of(P, vars[v]), q), poly_mod(P, poly_of(P, vars[v]), q)};
			/* u lies in [0, 3] only where v < 4*q */
			poly g = poly_assume(P, poly_subst_many(P, f, 2, two, back), vars[v], 0, 4 * q - 1);
			if (poly_eval(P, g, env) != value(x, env))
				wrong += show("subst_many", g, env, value(x, env), poly_eval(P, g, env));
		}
		random_env(env);
		int64_t l = rng_range(&rng, lo[v], env[vars[v]]), h = rng_range(&rng, env[vars[v]], hi[v]), rl, rh;
		poly a = poly_assume(P, e, vars[v], l, h);
		if (poly_eval(P, a, env) != value(x, env))
			assumed += show("assume", a, env, value(x, env), poly_eval(P, a, env));
		int64_t vlo[NVARS + 64], vhi[NVARS + 64];
		for (int i = 1; i <= NVARS; i++)
			vlo[vars[i]] = i == v ? l : lo[i], vhi[vars[i]] = i == v ? h : hi[i];
		poly_range_in(P, e, vlo, vhi, &rl, &rh);
		if (value(x, env) < rl || value(x, env) > rh)
			assumed += show("range_in", e, env, value(x, env), rl);
	}
	ok(!wrong, "substitution keeps the value");
	ok(!assumed, "an assumption keeps the value where it holds");
}

static poly_var by_name(sym name, void *arg)
{
	(void)arg;
	poly_var v = poly_var_find(P, name);
	return v ? v : poly_var_new(P, name, 0, 63, 1);
}

static void test_text(void)
{
	int wrong = 0;
	for (int k = 0; k < CASES / 4 && wrong < 5; k++) {
		poly e, back;
		if (k % 8 == 0)
			random_vars();
		random_expr((int)rng_range(&rng, 1, 5), &e);
		const char *why = poly_parse(P, poly_str(P, e, &arena), by_name, NULL, &back);
		if (why || back != e) {
			printf("# %s: %s\n# %s\n", poly_str(P, e, &arena), why ? why : "differs", poly_str(P, back, &arena));
			wrong++;
		}
	}
	ok(!wrong, "text is read back to the same polynomial");
	static const char *const bad[] = {"", "1 +", "floor(a/0)", "min(a)", "(a", "a b", "99999999999999999999", "\"x", "a**b"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		poly e;
		ok(poly_parse(P, bad[i], by_name, NULL, &e) != NULL, "refused: '%s'", bad[i]);
	}
}

/* Both sides are parsed; `==` must say that they are equal. Ranges as the names say: i, j, k in [0, 63];
 * b2 in [0, 1], b4 in [0, 3], b8 in [0, 7]; n >= 0 without bound. */
static void test_identities(void)
{
	static const char *const equal[][2] = {
		{"floor((4*i + b4)/4)", "i"},
		{"floor((5*i)/4)", "i + floor(i/4)"},
		{"floor((8*i + 4*b2 + b4)/8)", "i"},
		{"floor((8*i + 4*b2 + b4)/4)", "2*i + b2"},
		{"floor(floor(n/4)/3)", "floor(n/12)"},
		{"floor((floor((n - 1)/2) + 1 - 1)/2) + 1", "floor((n - 1)/4) + 1"},
		{"floor((4*i + 2)/8)", "floor(i/2)"},
		{"floor((6*i + 3*j + 2)/3)", "2*i + j"},
		{"-floor(-n/4)", "floor((n + 3)/4)"},
		{"floor((12*i + 3*b4 + b2)/6)", "2*i + floor(b4/2)"},
		{"i - 4*floor(i/4) + 4*floor(i/4)", "i"},
		{"floor((i - 8*floor(i/8))/8)", "0"},
		{"floor(i/64)", "0"},
		{"floor((i + j)/127)", "0"},
		{"min(i, 100)", "i"},
		{"max(i, j + 64)", "j + 64"},
		{"min(min(n, 8), 4)", "min(n, 4)"},
		{"min(n, min(i, j))", "min(min(j, n), i)"},
		{"-min(-n, -i)", "max(n, i)"},
		{"min(2*n, 2*i)", "2*min(i, n)"},
		{"max(n + i, n + j)", "n + max(j, i)"},
		{"max(n, 0)", "n"},
		{"max(-n, 0)", "0"},
		{"n*(i + 1) - n", "i*n"},
		{"(n + 1)*(n - 1)", "n*n - 1"},
		{"floor((n*n + n*4)/4)", "n + floor(n*n/4)"},
		{"4*floor(q/4)", "q"},
		{"floor((q + 3)/4)", "floor(q/4)"},
		{"2*floor(q/4)", "floor(q/2)"},
		{"q - 2*floor(q/2)", "0"},
	};
	polys_free(P);
	P = polys_new();
	static const struct {
		const char *name;
		int64_t hi, divisor;
	} names[] = {{"i", 63, 1}, {"j", 63, 1}, {"b2", 1, 1}, {"b4", 3, 1}, {"b8", 7, 1}, {"n", POLY_INF, 1}, {"q", POLY_INF, 4}};
	for (size_t k = 0; k < sizeof names / sizeof *names; k++)
		poly_var_new(P, intern(names[k].name), 0, names[k].hi, names[k].divisor);
	for (size_t k = 0; k < sizeof equal / sizeof *equal; k++) {
		poly a, b;
		const char *why = poly_parse(P, equal[k][0], by_name, NULL, &a);
		why = why ? why : poly_parse(P, equal[k][1], by_name, NULL, &b);
		if (!ok(!why && a == b, "%s = %s", equal[k][0], equal[k][1]))
			printf("# %s, %s\n", poly_str(P, a, &arena), poly_str(P, b, &arena));
	}
	static const struct {
		const char *e;
		int64_t lo, hi;
	} ranges[] = {
		{"i - 8*floor(i/8)", 0, 7},
		{"3*i - 2*j + 5", -121, 194},
		{"floor(i/4) - 2*floor(i/8)", 0, 1},
		{"4*i + 2 - 8*floor(i/2)", 2, 6},
		{"min(n, 4*i + 4) - 4*i", INT64_MIN, 4},
		{"min(n - 4*floor(n/4), 3)", 0, 3},
		{"floor(n/3) - 4*floor(n/12)", 0, 3},
		{"n*i", 0, INT64_MAX},
		{"n*max(i, 1) - n", 0, INT64_MAX},
		{"2*n*max(j, 1) - n + i", 0, INT64_MAX},
		{"max(i, j) - min(i, j)", -63, 63},
		{"5*(i - 8*floor(i/8)) + j - 2*floor(j/2)", 0, 36},
	};
	for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
		poly e;
		int64_t l, h;
		poly_parse(P, ranges[k].e, by_name, NULL, &e);
		poly_range(P, e, &l, &h);
		if (!ok(l >= ranges[k].lo && h <= ranges[k].hi, "range of %s", ranges[k].e))
			printf("# %lld..%lld\n", (long long)l, (long long)h);
	}
}

static void test_division(void)
{
	static const char *const cases[][3] = {
		{"b*s*64", "b*s", "64"},  {"b*s*64", "64", "b*s"}, {"b*s + 2*b", "s + 2", "b"},         {"s*s - 1", "s - 1", "s + 1"},
		{"b*s", "t", "?"},        {"3*b", "2", "?"},       {"floor(s/2)*b", "floor(s/2)", "b"}, {"0", "b", "0"},
		{"q", "4", "floor(q/4)"},
	};
	poly_var_new(P, intern("q"), 0, POLY_INF, 4);
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		poly a, b, c;
		poly_parse(P, cases[k][0], by_name, NULL, &a);
		poly_parse(P, cases[k][1], by_name, NULL, &b);
		poly_parse(P, cases[k][2], by_name, NULL, &c);
		ok(poly_divide(P, a, b) == c, "(%s) / (%s) = %s", cases[k][0], cases[k][1], cases[k][2]);
	}
	poly n = poly_of(P, by_name(intern("n"), NULL)), big = poly_const(P, INT64_MAX);
	ok(poly_mul(P, poly_mulc(P, n, INT64_MAX), big) == POLY_UNKNOWN, "a coefficient that overflows is unknown");
	poly e = n;
	for (int i = 0; i < 40; i++)
		e = poly_mul(P, e, poly_addc(P, e, i));
	ok(e == POLY_UNKNOWN, "a degree out of bounds is unknown");
	poly_var x = poly_var_new(P, 0, 0, 9, 1);
	poly rest;
	int64_t c;
	e = poly_add(P, poly_mulc(P, poly_of(P, x), 3), poly_floordiv(P, n, 2));
	ok(poly_linear_in(P, e, x, &c, &rest) && c == 3 && rest == poly_floordiv(P, n, 2), "linear in a variable");
	ok(!poly_linear_in(P, poly_mul(P, e, e), x, &c, &rest), "not linear in a variable");
}

static void test_narrow(void)
{
	struct polys *Q = polys_new();
	poly_var v = poly_var_new(Q, intern("v"), 0, POLY_INF, 1);
	poly e = poly_addc(Q, poly_mulc(Q, poly_of(Q, v), 2), -1);
	int64_t least, most;

	poly_range(Q, e, &least, &most);
	ok(least == -1, "a sum's range");
	poly_var_narrow(Q, v, 1, 5);
	poly_range(Q, e, &least, &most);
	ok(least == 1 && most == 9, "after its variable is narrowed, is %ld to %ld", (long)least, (long)most);
	ok(poly_max(Q, e, poly_const(Q, 0)) == e, "what simplifies since then");
	polys_free(Q);
}

int main(void)
{
	test_values();
	test_subst();
	test_text();
	test_identities();
	test_division();
	test_narrow();
	return tap_done();
}
