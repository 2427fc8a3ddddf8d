/* Families of stages for the property tests of schedules, of random sizes. */
#ifndef HONE_FAMILIES_H
#define HONE_FAMILIES_H
#include <string.h>
#include "common/rng.h"
#include "loop/loop.h"
#include "loop/math.h"
#include "target/target.h"

static struct rng rng;
static struct target target; /* this machine's, or with shorter vectors */
static int64_t pick(int64_t lo, int64_t hi) { return rng_range(&rng, lo, hi); }
static bool chance(int percent) { return pick(0, 99) < percent; }
static int64_t size(int64_t most)
{
	static const int64_t awkward[] = {1, 2, 3, 5, 7, 8, 13, 16, 17, 19, 23, 31, 32, 33, 37, 48, 50};
	int64_t s;
	do
		s = awkward[pick(0, sizeof awkward / sizeof *awkward - 1)];
	while (s > most);
	return s;
}

/* ---- families of stages ---- */

#define IDX(...) \
	(poly[]) { __VA_ARGS__ }
#define DIMS(...) \
	(int64_t[]) { __VA_ARGS__ }
static ex_id f1(struct loop_prog *p, int fn, ex_id a) { return ex_call(p, fn, a, 0, 0); }
static ex_id f2(struct loop_prog *p, int fn, ex_id a, ex_id b) { return ex_call(p, fn, a, b, 0); }
static ex_id num(struct loop_prog *p, double c) { return ex_const(p, DT_F32, c); }

static void matmul(struct loop_prog *p)
{
	int64_t M = size(50), N = size(50), K = size(20);
	buf_id a = buf_new(p, "a", DT_F32, SCOPE_IN, 2, DIMS(M, K)),
	       b = buf_new(p, "b", DT_F32, chance(50) ? SCOPE_CONST : SCOPE_IN, 2, DIMS(K, N));
	buf_id bias = buf_new(p, "bias", DT_F32, SCOPE_CONST, 1, DIMS(N)), y = buf_new(p, "y", DT_F32, SCOPE_OUT, 2, DIMS(M, N));
	stage_id mm = stage_new(p, "mm", DT_F32, SCOPE_SCRATCH, 2, DIMS(M, N), "m n");
	poly k = stage_reduce(p, mm, "k", K), m = stage_axis(p, mm, 0), n = stage_axis(p, mm, 1);
	stage_body(p, mm, COMB_SUM, f2(p, FN_MUL, ex_read(p, a, 2, IDX(m, k)), ex_read(p, b, 2, IDX(k, n))));
	stage_id e = stage_into(p, "relu", y, "m n");
	m = stage_axis(p, e, 0), n = stage_axis(p, e, 1);
	ex_id sum = f2(p, FN_ADD, ex_read(p, lstage(p, mm)->out, 2, IDX(m, n)), ex_read(p, bias, 1, IDX(n)));
	stage_body(p, e, COMB_NONE, f2(p, FN_MAX, sum, num(p, 0)));
}

/* Row or column of the input for output i, tap k. */
static poly window(struct loop_prog *p, poly i, poly k, int64_t stride, int64_t dilation, int64_t pad)
{
	return poly_addc(p->P, poly_add(p->P, poly_mulc(p->P, i, stride), poly_mulc(p->P, k, dilation)), -pad);
}

static void conv_any(struct loop_prog *p, bool depthwise)
{
	int64_t C = size(depthwise ? 33 : 7), O = depthwise ? C : size(33), K = pick(1, 3), s = pick(1, 2), d = pick(1, 2),
		pad = pick(0, 2);
	int64_t span = d * (K - 1) + 1, H = size(8) + span, W = size(8) + span;
	int64_t Y = (H + 2 * pad - span) / s + 1, X = (W + 2 * pad - span) / s + 1;
	buf_id x = buf_new(p, "x", DT_F32, SCOPE_IN, 3, DIMS(C, H, W)), y = buf_new(p, "y", DT_F32, SCOPE_OUT, 3, DIMS(O, Y, X));
	buf_id w = buf_new(p, "w", DT_F32, SCOPE_CONST, depthwise ? 3 : 4, depthwise ? DIMS(C, K, K) : DIMS(O, C, K, K));
	stage_id cv = stage_new(p, "conv", DT_F32, SCOPE_SCRATCH, 3, DIMS(O, Y, X), "o y x");
	poly c = depthwise ? stage_axis(p, cv, 0) : stage_reduce(p, cv, "c", C), ky = stage_reduce(p, cv, "ky", K),
	     kx = stage_reduce(p, cv, "kx", K);
	poly o = stage_axis(p, cv, 0), iy = window(p, stage_axis(p, cv, 1), ky, s, d, pad),
	     ix = window(p, stage_axis(p, cv, 2), kx, s, d, pad);
	ex_id weight = depthwise ? ex_read(p, w, 3, IDX(c, ky, kx)) : ex_read(p, w, 4, IDX(o, c, ky, kx));
	stage_body(p, cv, COMB_SUM, f2(p, FN_MUL, ex_read_fill(p, x, 3, IDX(c, iy, ix), 0), weight));
	stage_id e = stage_into(p, "act", y, "o y x");
	ex_id v = ex_read(p, lstage(p, cv)->out, 3, IDX(stage_axis(p, e, 0), stage_axis(p, e, 1), stage_axis(p, e, 2)));
	stage_body(p, e, COMB_NONE, f2(p, FN_MUL, v, f1(p, FN_SIGMOID, v)));
}
static void conv(struct loop_prog *p) { conv_any(p, false); }
static void depthwise(struct loop_prog *p) { conv_any(p, true); }

static void softmax(struct loop_prog *p)
{
	int64_t R = size(13), N = size(50);
	buf_id x = buf_new(p, "x", DT_F32, SCOPE_IN, 2, DIMS(R, N)), y = buf_new(p, "y", DT_F32, SCOPE_OUT, 2, DIMS(R, N));
	stage_id mx = stage_new(p, "max", DT_F32, SCOPE_SCRATCH, 1, DIMS(R), "r");
	poly k = stage_reduce(p, mx, "k", N);
	stage_body(p, mx, COMB_MAX, ex_read(p, x, 2, IDX(stage_axis(p, mx, 0), k)));
	stage_id ex = stage_new(p, "exp", DT_F32, SCOPE_SCRATCH, 2, DIMS(R, N), "r n");
	poly r = stage_axis(p, ex, 0), n = stage_axis(p, ex, 1);
	stage_body(p, ex, COMB_NONE, f1(p, FN_EXP, f2(p, FN_SUB, ex_read(p, x, 2, IDX(r, n)), ex_read(p, lstage(p, mx)->out, 1, IDX(r)))));
	stage_id sum = stage_new(p, "sum", DT_F32, SCOPE_SCRATCH, 1, DIMS(R), "r");
	k = stage_reduce(p, sum, "k", N);
	stage_body(p, sum, COMB_SUM, ex_read(p, lstage(p, ex)->out, 2, IDX(stage_axis(p, sum, 0), k)));
	stage_id e = stage_into(p, "div", y, "r n");
	r = stage_axis(p, e, 0), n = stage_axis(p, e, 1);
	stage_body(p, e, COMB_NONE,
		   f2(p, FN_DIV, ex_read(p, lstage(p, ex)->out, 2, IDX(r, n)), ex_read(p, lstage(p, sum)->out, 1, IDX(r))));
}

static void layernorm(struct loop_prog *p)
{
	int64_t R = size(13), N = size(50);
	buf_id x = buf_new(p, "x", DT_F32, SCOPE_IN, 2, DIMS(R, N)), y = buf_new(p, "y", DT_F32, SCOPE_OUT, 2, DIMS(R, N));
	buf_id g = buf_new(p, "g", DT_F32, SCOPE_CONST, 1, DIMS(N)), b = buf_new(p, "b", DT_F32, SCOPE_CONST, 1, DIMS(N));
	stage_id mean = stage_new(p, "mean", DT_F32, SCOPE_SCRATCH, 1, DIMS(R), "r");
	poly k = stage_reduce(p, mean, "k", N), r = stage_axis(p, mean, 0);
	stage_body(p, mean, COMB_SUM, f2(p, FN_MUL, ex_read(p, x, 2, IDX(r, k)), num(p, 1.0 / (double)N)));
	stage_id dev = stage_new(p, "dev", DT_F32, SCOPE_SCRATCH, 2, DIMS(R, N), "r n");
	r = stage_axis(p, dev, 0);
	stage_body(p, dev, COMB_NONE,
		   f2(p, FN_SUB, ex_read(p, x, 2, IDX(r, stage_axis(p, dev, 1))), ex_read(p, lstage(p, mean)->out, 1, IDX(r))));
	stage_id var = stage_new(p, "var", DT_F32, SCOPE_SCRATCH, 1, DIMS(R), "r");
	k = stage_reduce(p, var, "k", N), r = stage_axis(p, var, 0);
	ex_id v = ex_read(p, lstage(p, dev)->out, 2, IDX(r, k));
	stage_body(p, var, COMB_SUM, f2(p, FN_MUL, v, v));
	stage_id e = stage_into(p, "norm", y, "r n");
	r = stage_axis(p, e, 0);
	poly n = stage_axis(p, e, 1);
	ex_id s = f1(p, FN_RSQRT,
		     f2(p, FN_ADD, f2(p, FN_MUL, ex_read(p, lstage(p, var)->out, 1, IDX(r)), num(p, 1.0 / (double)N)), num(p, 1e-5)));
	ex_id u = f2(p, FN_MUL, ex_read(p, lstage(p, dev)->out, 2, IDX(r, n)), s);
	stage_body(p, e, COMB_NONE, f2(p, FN_ADD, f2(p, FN_MUL, u, ex_read(p, g, 1, IDX(n))), ex_read(p, b, 1, IDX(n))));
}

/* What the others leave out: an embedding (index that is data), integers, a mask, a transpose, a max pool, indices
 * as numbers, a row in blocks. */
static void mixed(struct loop_prog *p)
{
	int64_t T = size(13), V = size(23), D = size(37);
	buf_id ids = buf_new(p, "ids", DT_I64, SCOPE_IN, 1, DIMS(T)), table = buf_new(p, "table", DT_F32, SCOPE_CONST, 2, DIMS(V, D));
	buf_id mask = buf_new(p, "mask", DT_BOOL, SCOPE_IN, 2, DIMS(T, D)), y = buf_new(p, "y", DT_F32, SCOPE_OUT, 2, DIMS(D, T));
	buf_id cnt = buf_new(p, "count", DT_I64, SCOPE_OUT, 1, DIMS(T));
	stage_id em = stage_new(p, "embed", DT_F32, SCOPE_SCRATCH, 2, DIMS(T, D), "t d");
	poly t = stage_axis(p, em, 0), d = stage_axis(p, em, 1);
	ex_id id = ex_read(p, ids, 1, IDX(t));
	ex_id row = ex_read_at(p, table, 2, IDX(t, d), 0, id);
	ex_id pos = f2(p, FN_MUL, ex_index(p, DT_F32, d), num(p, 0.125));
	stage_body(p, em, COMB_NONE, ex_call(p, FN_SELECT, ex_read(p, mask, 2, IDX(t, d)), f2(p, FN_ADD, row, pos), num(p, -3)));
	stage_id po = stage_new(p, "pool", DT_F32, SCOPE_SCRATCH, 2, DIMS(T, D), "t d");
	poly k = stage_reduce(p, po, "k", 3);
	t = stage_axis(p, po, 0), d = stage_axis(p, po, 1);
	stage_body(p, po, COMB_MAX, ex_read_fill(p, lstage(p, em)->out, 2, IDX(t, window(p, d, k, 1, 1, 1)), -INFINITY));
	stage_id tr = stage_into(p, "gelu", y, "d t");
	ex_id v = ex_read(p, lstage(p, po)->out, 2, IDX(stage_axis(p, tr, 1), stage_axis(p, tr, 0)));
	ex_id half = f2(p, FN_MUL, v, num(p, 0.5));
	ex_id big = ex_call(p, FN_SELECT, f2(p, FN_AND, f2(p, FN_GT, v, num(p, -1)), f1(p, FN_NOT, f2(p, FN_GE, v, num(p, 1)))),
			    f1(p, FN_ERF, half), f1(p, FN_TANH, v));
	stage_body(p, tr, COMB_NONE, f2(p, FN_MUL, half, f2(p, FN_ADD, num(p, 1), big)));
	stage_id ct = stage_into(p, "tally", cnt, "t");
	k = stage_reduce(p, ct, "k", D);
	t = stage_axis(p, ct, 0);
	ex_id on = ex_call(p, FN_SELECT, ex_read(p, mask, 2, IDX(t, k)), ex_read(p, ids, 1, IDX(t)), ex_const(p, DT_I64, -1));
	stage_body(p, ct, COMB_SUM, ex_call(p, FN_MOD, on, ex_const(p, DT_I64, 5), 0));
}

/* A transposed copy, as packing makes them: whole, or with a fill behind some row. */
static void transpose(struct loop_prog *p)
{
	int64_t B = size(3), M = size(50), N = size(50), rows = chance(50) ? N : pick(1, N);
	buf_id x = buf_new(p, "x", DT_F32, SCOPE_IN, 3, DIMS(B, rows, M)), y = buf_new(p, "y", DT_F32, SCOPE_OUT, 3, DIMS(B, M, N));
	stage_id tr = stage_new(p, "tr", DT_F32, SCOPE_SCRATCH, 3, DIMS(B, M, N), "b m n");
	stage_body(p, tr, COMB_NONE, ex_read_fill(p, x, 3, IDX(stage_axis(p, tr, 0), stage_axis(p, tr, 2), stage_axis(p, tr, 1)), 0));
	stage_id e = stage_into(p, "twice", y, "b m n");
	ex_id v = ex_read(p, lstage(p, tr)->out, 3, IDX(stage_axis(p, e, 0), stage_axis(p, e, 1), stage_axis(p, e, 2)));
	stage_body(p, e, COMB_NONE, f2(p, FN_ADD, v, v));
}

/* A step before on, in the middle of three axes; one stage before it, one after. */
static void cumulative(struct loop_prog *p)
{
	int64_t R = size(13), T = size(19), C = size(20), back = pick(1, 2);
	buf_id x = buf_new(p, "x", DT_F32, SCOPE_IN, 3, DIMS(R, T, C)), y = buf_new(p, "y", DT_F32, SCOPE_OUT, 3, DIMS(R, T, C));
	stage_id twice = stage_new(p, "twice", DT_F32, SCOPE_SCRATCH, 3, DIMS(R, T, C), "r t c");
	poly r = stage_axis(p, twice, 0), t = stage_axis(p, twice, 1), c = stage_axis(p, twice, 2);
	stage_body(p, twice, COMB_NONE, f2(p, FN_MUL, ex_read(p, x, 3, IDX(r, t, c)), num(p, 2)));
	stage_id run = stage_new(p, "run", DT_F32, SCOPE_SCRATCH, 3, DIMS(R, T, C), "r t c");
	stage_scan(p, run, 1, 1);
	r = stage_axis(p, run, 0), t = stage_axis(p, run, 1), c = stage_axis(p, run, 2);
	poly before = poly_addc(p->P, t, -back);
	ex_id was = ex_guard(p, 1, &before, ex_read(p, lstage(p, run)->out, 3, IDX(r, before, c)), num(p, 0));
	stage_body(p, run, COMB_NONE, f2(p, FN_ADD, f2(p, FN_MUL, was, num(p, 0.5)), ex_read(p, lstage(p, twice)->out, 3, IDX(r, t, c))));
	stage_id e = stage_into(p, "act", y, "r t c");
	r = stage_axis(p, e, 0), t = stage_axis(p, e, 1), c = stage_axis(p, e, 2);
	poly from = chance(50) ? t : poly_sub(p->P, poly_const(p->P, T - 1), t);
	stage_body(p, e, COMB_NONE, f1(p, FN_TANH, ex_read(p, lstage(p, run)->out, 3, IDX(r, from, c))));
}

/* Two stages that need each other: sums over the state of the step before, and the state. */
static void recurrent(struct loop_prog *p)
{
	int64_t T = size(13), B = size(5), H = size(33), I = size(8);
	buf_id x = buf_new(p, "x", DT_F32, SCOPE_IN, 3, DIMS(T, B, I)), w = buf_new(p, "w", DT_F32, SCOPE_CONST, 2, DIMS(H, I));
	buf_id rr = buf_new(p, "r", DT_F32, SCOPE_CONST, 2, DIMS(H, H)), y = buf_new(p, "y", DT_F32, SCOPE_OUT, 3, DIMS(T, B, H));
	stage_id in = stage_new(p, "input", DT_F32, SCOPE_SCRATCH, 3, DIMS(T, B, H), "t b j");
	poly i = stage_reduce(p, in, "i", I), t = stage_axis(p, in, 0), b = stage_axis(p, in, 1), j = stage_axis(p, in, 2);
	stage_body(p, in, COMB_SUM, f2(p, FN_MUL, ex_read(p, x, 3, IDX(t, b, i)), ex_read(p, w, 2, IDX(j, i))));
	stage_id sums = stage_new(p, "sums", DT_F32, SCOPE_SCRATCH, 3, DIMS(T, B, H), "s b j");
	stage_id state =
		chance(50) ? stage_into(p, "state", y, "s b j") : stage_new(p, "state", DT_F32, SCOPE_SCRATCH, 3, DIMS(T, B, H), "s b j");
	stage_scan(p, sums, 0, 1);
	stage_scan(p, state, 0, 1);
	poly k = stage_reduce(p, sums, "k", H), s = stage_axis(p, sums, 0), before = poly_addc(p->P, s, -1);
	b = stage_axis(p, sums, 1), j = stage_axis(p, sums, 2);
	ex_id was = ex_guard(p, 1, &before, ex_read(p, lstage(p, state)->out, 3, IDX(before, b, k)), num(p, 0.25));
	stage_body(p, sums, COMB_SUM, f2(p, FN_MUL, was, ex_read(p, rr, 2, IDX(j, k))));
	s = stage_axis(p, state, 0), b = stage_axis(p, state, 1), j = stage_axis(p, state, 2);
	poly at = poly_sub(p->P, poly_const(p->P, T - 1), s);
	ex_id sum = f2(p, FN_ADD, ex_read(p, lstage(p, in)->out, 3, IDX(at, b, j)), ex_read(p, lstage(p, sums)->out, 3, IDX(s, b, j)));
	stage_body(p, state, COMB_NONE, f1(p, FN_TANH, sum));
	if (lstage(p, state)->out == y)
		return;
	stage_id e = stage_into(p, "half", y, "t b j");
	ex_id v = ex_read(p, lstage(p, state)->out, 3, IDX(stage_axis(p, e, 0), stage_axis(p, e, 1), stage_axis(p, e, 2)));
	stage_body(p, e, COMB_NONE, f2(p, FN_MUL, v, num(p, 0.5)));
}
#endif
