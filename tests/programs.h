/* Programs that benchmarks and tests schedule: the stages of common kernels, by hand, without any graph. Each is given its
 * sizes and is not started yet. */
#ifndef HONE_PROGRAMS_H
#define HONE_PROGRAMS_H
#include "target/target.h"
#include "loop/loop.h"
#include "loop/math.h"
#include "lower/winograd.h"

static void relu_into(struct loop_prog *p, buf_id from, buf_id to, const char *axes)
{
	stage_id y = stage_into(p, "out", to, axes);
	poly at[4];
	for (int i = 0; i < lbuf(p, to)->rank; i++)
		at[i] = stage_axis(p, y, i);
	stage_body(p, y, COMB_NONE, ex_call(p, FN_MAX, ex_read(p, from, lbuf(p, to)->rank, at), ex_const(p, DT_F32, 0), 0));
}

/* d: m n k */
static struct loop_prog *make_gemm(const int64_t *d)
{
	struct loop_prog *p = prog_new(target_host());
	buf_id a = buf_new(p, "A", DT_F32, SCOPE_IN, 2, (int64_t[]){d[0], d[2]});
	buf_id b = buf_new(p, "B", DT_F32, SCOPE_CONST, 2, (int64_t[]){d[2], d[1]});
	buf_id y = buf_new(p, "Y", DT_F32, SCOPE_OUT, 2, (int64_t[]){d[0], d[1]});
	stage_id s = stage_new(p, "gemm", DT_F32, SCOPE_SCRATCH, 2, d, "m n");
	poly k = stage_reduce(p, s, "k", d[2]), m = stage_axis(p, s, 0), n = stage_axis(p, s, 1);
	ex_id ra = ex_read(p, a, 2, (poly[]){m, k}), rb = ex_read(p, b, 2, (poly[]){k, n});
	stage_body(p, s, COMB_SUM, ex_call(p, FN_MUL, ra, rb, 0));
	relu_into(p, lstage(p, s)->out, y, "m n");
	return p;
}

/* d: size, channels in, out, kernel, stride, pad; values in NHWC, batch 1 */
static struct loop_prog *make_conv(const int64_t *d)
{
	struct loop_prog *p = prog_new(target_host());
	struct polys *P = p->P;
	int64_t h = d[0], ci = d[1], co = d[2], k = d[3], st = d[4], pad = d[5];
	int64_t ho = (h + 2 * pad - k) / st + 1;
	buf_id x = buf_new(p, "X", DT_F32, SCOPE_IN, 4, (int64_t[]){1, ci, h, h});
	buf_id w = buf_new(p, "W", DT_F32, SCOPE_CONST, 4, (int64_t[]){co, ci, k, k});
	buf_id y = buf_new(p, "Y", DT_F32, SCOPE_OUT, 4, (int64_t[]){1, co, ho, ho});
	layout_parse(&lbuf(p, x)->layout, 4, "0 2 3 1");
	layout_parse(&lbuf(p, y)->layout, 4, "0 2 3 1");
	buf_id from = x;
	if (pad) {
		stage_id ps = stage_new(p, "pad", DT_F32, SCOPE_SCRATCH, 4, (int64_t[]){1, ci, h + 2 * pad, h + 2 * pad}, "n i h w");
		poly at[4] = {stage_axis(p, ps, 0), stage_axis(p, ps, 1), poly_addc(P, stage_axis(p, ps, 2), -pad),
			      poly_addc(P, stage_axis(p, ps, 3), -pad)};
		stage_body(p, ps, COMB_NONE, ex_read_fill(p, x, 4, at, 0));
		from = lstage(p, ps)->out;
		layout_parse(&lbuf(p, from)->layout, 4, "0 2 3 1");
	}
	stage_id s = stage_new(p, "conv", DT_F32, SCOPE_SCRATCH, 4, (int64_t[]){1, co, ho, ho}, "n o h w");
	poly i = stage_reduce(p, s, "i", ci), kh = stage_reduce(p, s, "kh", k), kw = stage_reduce(p, s, "kw", k);
	poly n = stage_axis(p, s, 0), o = stage_axis(p, s, 1);
	poly ih = poly_add(P, poly_mulc(P, stage_axis(p, s, 2), st), kh), iw = poly_add(P, poly_mulc(P, stage_axis(p, s, 3), st), kw);
	ex_id rx = ex_read(p, from, 4, (poly[]){n, i, ih, iw}), rw = ex_read(p, w, 4, (poly[]){o, i, kh, kw});
	stage_body(p, s, COMB_SUM, ex_call(p, FN_MUL, rx, rw, 0));
	relu_into(p, lstage(p, s)->out, y, "n o h w");
	return p;
}

/* d: size, channels in, out, results of a tile; 3x3, pad 1, NHWC, the weights transformed */
static struct loop_prog *make_winograd(const int64_t *d)
{
	struct loop_prog *p = prog_new(target_host());
	int64_t h = d[0], ci = d[1], co = d[2], m = d[3], shape[4] = {1, co, h, h};
	buf_id x = buf_new(p, "X", DT_F32, SCOPE_IN, 4, (int64_t[]){1, ci, h, h});
	buf_id u = buf_new(p, "U", DT_F32, SCOPE_CONST, 3, (int64_t[]){(m + 2) * (m + 2), ci, co});
	buf_id y = buf_new(p, "Y", DT_F32, SCOPE_OUT, 4, shape);
	layout_parse(&lbuf(p, x)->layout, 4, "0 2 3 1");
	layout_parse(&lbuf(p, y)->layout, 4, "0 2 3 1");
	stage_id s = winograd_stages(p, (int)m, false, x, u, (int64_t[]){1, 1}, shape, "n o h w");
	relu_into(p, lstage(p, s)->out, y, "n o h w");
	p->algo = m == 2 ? "winograd2" : "winograd4";
	return p;
}

/* d: size, channels, kernel, stride, pad; NHWC */
static struct loop_prog *make_depthwise(const int64_t *d)
{
	struct loop_prog *p = prog_new(target_host());
	struct polys *P = p->P;
	int64_t h = d[0], c = d[1], k = d[2], st = d[3], pad = d[4], ho = (h + 2 * pad - k) / st + 1;
	buf_id x = buf_new(p, "X", DT_F32, SCOPE_IN, 4, (int64_t[]){1, c, h, h});
	buf_id w = buf_new(p, "W", DT_F32, SCOPE_CONST, 4, (int64_t[]){c, 1, k, k});
	buf_id y = buf_new(p, "Y", DT_F32, SCOPE_OUT, 4, (int64_t[]){1, c, ho, ho});
	layout_parse(&lbuf(p, x)->layout, 4, "0 2 3 1");
	layout_parse(&lbuf(p, y)->layout, 4, "0 2 3 1");
	stage_id ps = stage_new(p, "pad", DT_F32, SCOPE_SCRATCH, 4, (int64_t[]){1, c, h + 2 * pad, h + 2 * pad}, "n c h w");
	poly at[4] = {stage_axis(p, ps, 0), stage_axis(p, ps, 1), poly_addc(P, stage_axis(p, ps, 2), -pad),
		      poly_addc(P, stage_axis(p, ps, 3), -pad)};
	stage_body(p, ps, COMB_NONE, ex_read_fill(p, x, 4, at, 0));
	stage_id s = stage_new(p, "conv", DT_F32, SCOPE_SCRATCH, 4, (int64_t[]){1, c, ho, ho}, "n c h w");
	poly kh = stage_reduce(p, s, "kh", k), kw = stage_reduce(p, s, "kw", k), zero = poly_const(P, 0);
	poly ih = poly_add(P, poly_mulc(P, stage_axis(p, s, 2), st), kh), iw = poly_add(P, poly_mulc(P, stage_axis(p, s, 3), st), kw);
	ex_id rx = ex_read(p, lstage(p, ps)->out, 4, (poly[]){stage_axis(p, s, 0), stage_axis(p, s, 1), ih, iw});
	ex_id rw = ex_read(p, w, 4, (poly[]){stage_axis(p, s, 1), zero, kh, kw});
	stage_body(p, s, COMB_SUM, ex_call(p, FN_MUL, rx, rw, 0));
	relu_into(p, lstage(p, s)->out, y, "n c h w");
	return p;
}

/* d: size, channels: the mean of every channel; NHWC */
static struct loop_prog *make_mean(const int64_t *d)
{
	struct loop_prog *p = prog_new(target_host());
	buf_id x = buf_new(p, "X", DT_F32, SCOPE_IN, 3, (int64_t[]){d[1], d[0], d[0]});
	buf_id y = buf_new(p, "Y", DT_F32, SCOPE_OUT, 1, (int64_t[]){d[1]});
	layout_parse(&lbuf(p, x)->layout, 3, "1 2 0");
	stage_id s = stage_new(p, "sum", DT_F32, SCOPE_SCRATCH, 1, (int64_t[]){d[1]}, "c");
	poly h = stage_reduce(p, s, "h", d[0]), w = stage_reduce(p, s, "w", d[0]);
	stage_body(p, s, COMB_SUM, ex_read(p, x, 3, (poly[]){stage_axis(p, s, 0), h, w}));
	stage_id m = stage_into(p, "mean", y, "c");
	poly c = stage_axis(p, m, 0);
	stage_body(p, m, COMB_NONE,
		   ex_call(p, FN_MUL, ex_read(p, lstage(p, s)->out, 1, &c), ex_const(p, DT_F32, 1.0 / (double)(d[0] * d[0])), 0));
	return p;
}

/* d: batch, m, n, k, B transposed: both operands computed, as in attention */
static struct loop_prog *make_batched(const int64_t *d)
{
	struct loop_prog *p = prog_new(target_host());
	buf_id a = buf_new(p, "A", DT_F32, SCOPE_IN, 3, (int64_t[]){d[0], d[1], d[3]});
	buf_id b = buf_new(p, "B", DT_F32, SCOPE_IN, 3, d[4] ? (int64_t[]){d[0], d[2], d[3]} : (int64_t[]){d[0], d[3], d[2]});
	buf_id y = buf_new(p, "Y", DT_F32, SCOPE_OUT, 3, d);
	stage_id s = stage_new(p, "bmm", DT_F32, SCOPE_SCRATCH, 3, d, "b m n");
	poly k = stage_reduce(p, s, "k", d[3]), g = stage_axis(p, s, 0), m = stage_axis(p, s, 1), n = stage_axis(p, s, 2);
	ex_id ra = ex_read(p, a, 3, (poly[]){g, m, k}), rb = ex_read(p, b, 3, (poly[]){g, d[4] ? n : k, d[4] ? k : n});
	stage_body(p, s, COMB_SUM, ex_call(p, FN_MUL, ra, rb, 0));
	relu_into(p, lstage(p, s)->out, y, "b m n");
	return p;
}

/* d: rows, columns */
static struct loop_prog *make_softmax(const int64_t *d)
{
	struct loop_prog *p = prog_new(target_host());
	buf_id x = buf_new(p, "X", DT_F32, SCOPE_IN, 2, d), y = buf_new(p, "Y", DT_F32, SCOPE_OUT, 2, d);
	stage_id mx = stage_new(p, "max", DT_F32, SCOPE_SCRATCH, 1, d, "i");
	poly j = stage_reduce(p, mx, "j", d[1]);
	stage_body(p, mx, COMB_MAX, ex_read(p, x, 2, (poly[]){stage_axis(p, mx, 0), j}));
	stage_id e = stage_new(p, "exp", DT_F32, SCOPE_SCRATCH, 2, d, "i j");
	poly at[2] = {stage_axis(p, e, 0), stage_axis(p, e, 1)};
	stage_body(p, e, COMB_NONE,
		   ex_call(p, FN_EXP, ex_call(p, FN_SUB, ex_read(p, x, 2, at), ex_read(p, lstage(p, mx)->out, 1, at), 0), 0, 0));
	stage_id s = stage_new(p, "sum", DT_F32, SCOPE_SCRATCH, 1, d, "i");
	j = stage_reduce(p, s, "j", d[1]);
	stage_body(p, s, COMB_SUM, ex_read(p, lstage(p, e)->out, 2, (poly[]){stage_axis(p, s, 0), j}));
	stage_id o = stage_into(p, "out", y, "i j");
	poly to[2] = {stage_axis(p, o, 0), stage_axis(p, o, 1)};
	stage_body(p, o, COMB_NONE, ex_call(p, FN_DIV, ex_read(p, lstage(p, e)->out, 2, to), ex_read(p, lstage(p, s)->out, 1, to), 0));
	return p;
}

/* d: rows, columns: (x - mean) / sqrt(var + 1e-5) * scale + shift */
static struct loop_prog *make_layernorm(const int64_t *d)
{
	struct loop_prog *p = prog_new(target_host());
	buf_id x = buf_new(p, "X", DT_F32, SCOPE_IN, 2, d), y = buf_new(p, "Y", DT_F32, SCOPE_OUT, 2, d);
	buf_id scale = buf_new(p, "scale", DT_F32, SCOPE_CONST, 1, d + 1), shift = buf_new(p, "shift", DT_F32, SCOPE_CONST, 1, d + 1);
	ex_id part = ex_const(p, DT_F32, 1.0 / (double)d[1]);
	stage_id sum = stage_new(p, "sum", DT_F32, SCOPE_SCRATCH, 1, d, "i");
	poly i = stage_axis(p, sum, 0), j = stage_reduce(p, sum, "j", d[1]);
	stage_body(p, sum, COMB_SUM, ex_read(p, x, 2, (poly[]){i, j}));
	stage_id sq = stage_new(p, "squares", DT_F32, SCOPE_SCRATCH, 1, d, "i");
	i = stage_axis(p, sq, 0);
	j = stage_reduce(p, sq, "j", d[1]);
	ex_id mean = ex_call(p, FN_MUL, ex_read(p, lstage(p, sum)->out, 1, &i), part, 0);
	ex_id off = ex_call(p, FN_SUB, ex_read(p, x, 2, (poly[]){i, j}), mean, 0);
	stage_body(p, sq, COMB_SUM, ex_call(p, FN_MUL, off, off, 0));
	stage_id out = stage_into(p, "out", y, "i j");
	i = stage_axis(p, out, 0);
	j = stage_axis(p, out, 1);
	mean = ex_call(p, FN_MUL, ex_read(p, lstage(p, sum)->out, 1, &i), part, 0);
	off = ex_call(p, FN_SUB, ex_read(p, x, 2, (poly[]){i, j}), mean, 0);
	ex_id var = ex_call(p, FN_MUL, ex_read(p, lstage(p, sq)->out, 1, &i), part, 0);
	ex_id r = ex_call(p, FN_RSQRT, ex_call(p, FN_ADD, var, ex_const(p, DT_F32, 1e-5), 0), 0, 0);
	ex_id n = ex_call(p, FN_MUL, ex_call(p, FN_MUL, off, r, 0), ex_read(p, scale, 1, &j), 0);
	stage_body(p, out, COMB_NONE, ex_call(p, FN_ADD, n, ex_read(p, shift, 1, &j), 0));
	return p;
}

/* d: steps, inputs, size of the state; one sequence, no biases. Gates: input, output, forget, cell. */
static struct loop_prog *make_lstm(const int64_t *d)
{
	struct loop_prog *p = prog_new(target_host());
	int64_t T = d[0], I = d[1], H = d[2], gates[2] = {T, 4 * H}, states[2] = {T, H};
	buf_id x = buf_new(p, "X", DT_F32, SCOPE_IN, 2, (int64_t[]){T, I}), y = buf_new(p, "Y", DT_F32, SCOPE_OUT, 2, states);
	buf_id w = buf_new(p, "W", DT_F32, SCOPE_CONST, 2, (int64_t[]){4 * H, I}),
	       r = buf_new(p, "R", DT_F32, SCOPE_CONST, 2, (int64_t[]){4 * H, H});
	stage_id in = stage_new(p, "input", DT_F32, SCOPE_SCRATCH, 2, gates, "t g");
	poly i = stage_reduce(p, in, "i", I);
	ex_id rx = ex_read(p, x, 2, (poly[]){stage_axis(p, in, 0), i}), rw = ex_read(p, w, 2, (poly[]){stage_axis(p, in, 1), i});
	stage_body(p, in, COMB_SUM, ex_call(p, FN_MUL, rx, rw, 0));
	stage_id s = stage_new(p, "gates", DT_F32, SCOPE_SCRATCH, 2, gates, "s g"),
		 c = stage_new(p, "cell", DT_F32, SCOPE_SCRATCH, 2, states, "s j");
	stage_id h = stage_into(p, "state", y, "s j");
	stage_scan(p, s, 0, 1);
	stage_scan(p, c, 0, 1);
	stage_scan(p, h, 0, 1);
	ex_id zero = ex_const(p, DT_F32, 0);
	poly k = stage_reduce(p, s, "k", H), before = poly_addc(p->P, stage_axis(p, s, 0), -1);
	ex_id was = ex_guard(p, 1, &before, ex_read(p, y, 2, (poly[]){before, k}), zero);
	stage_body(p, s, COMB_SUM, ex_call(p, FN_MUL, was, ex_read(p, r, 2, (poly[]){stage_axis(p, s, 1), k}), 0));
	ex_id gate[4];
	for (int g = 0; g < 4; g++) {
		stage_id of = g == 1 ? h : c;
		poly at[2] = {stage_axis(p, of, 0), poly_addc(p->P, stage_axis(p, of, 1), g * H)};
		gate[g] = ex_call(p, FN_ADD, ex_read(p, lstage(p, in)->out, 2, at), ex_read(p, lstage(p, s)->out, 2, at), 0);
		gate[g] = ex_call(p, g == 3 ? FN_TANH : FN_SIGMOID, gate[g], 0, 0);
	}
	poly now[2] = {stage_axis(p, c, 0), stage_axis(p, c, 1)}, out[2] = {stage_axis(p, h, 0), stage_axis(p, h, 1)};
	before = poly_addc(p->P, now[0], -1);
	was = ex_guard(p, 1, &before, ex_read(p, lstage(p, c)->out, 2, (poly[]){before, now[1]}), zero);
	stage_body(p, c, COMB_NONE, ex_call(p, FN_ADD, ex_call(p, FN_MUL, gate[2], was, 0), ex_call(p, FN_MUL, gate[0], gate[3], 0), 0));
	stage_body(p, h, COMB_NONE, ex_call(p, FN_MUL, gate[1], ex_call(p, FN_TANH, ex_read(p, lstage(p, c)->out, 2, out), 0, 0), 0));
	return p;
}

static const struct program {
	const char *name;
	struct loop_prog *(*make)(const int64_t *d);
} programs[] = {
	{"gemm", make_gemm},       {"conv", make_conv},           {"winograd", make_winograd},
	{"lstm", make_lstm},       {"depthwise", make_depthwise}, {"mean", make_mean},
	{"batched", make_batched}, {"softmax", make_softmax},     {"layernorm", make_layernorm},
};
#endif
