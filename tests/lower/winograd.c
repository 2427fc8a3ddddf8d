/* Winograd's convolutions, on random awkward sizes: the stages give the direct convolution's numbers, and the nest that the default
 * schedule makes of them gives the stages'. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/rng.h"
#include "target/target.h"
#include "loop/interp.h"
#include "loop/math.h"
#include "loop/prim.h"
#include "lower/winograd.h"
#include "sched/schedule.h"
#include "near.h"
#include "tap.h"

enum { CASES = 40 };

struct size {
	int64_t n, c, o, h, w, begin[2], out[4];
	bool channels_last, lines;
};

static struct rng rng;

static struct size random_size(void)
{
	struct size z = {.n = rng_range(&rng, 1, 3),
			 .c = rng_range(&rng, 1, 20),
			 .o = rng_range(&rng, 1, 40),
			 .h = rng_range(&rng, 3, 15),
			 .w = rng_range(&rng, 3, 15)};
	z.begin[0] = rng_range(&rng, 0, 2);
	z.begin[1] = rng_range(&rng, 0, 2);
	z.channels_last = rng_range(&rng, 0, 3) > 0;
	z.lines = rng_range(&rng, 0, 2) == 0;
	const int64_t out[4] = {z.n, z.o, z.h - 2 + z.begin[0] + rng_range(&rng, 0, 2), z.w - 2 + z.begin[1] + rng_range(&rng, 0, 2)};
	memcpy(z.out, out, sizeof out);
	return z;
}

static stage_id direct(struct loop_prog *p, const struct size *z, buf_id x, buf_id w)
{
	stage_id s = stage_new(p, "conv", DT_F32, SCOPE_SCRATCH, 4, z->out, "n o h w");
	poly i = stage_reduce(p, s, "i", z->c), kh = stage_reduce(p, s, "kh", 3), kw = stage_reduce(p, s, "kw", 3);
	poly h = poly_addc(p->P, poly_add(p->P, stage_axis(p, s, 2), kh), -z->begin[0]),
	     v = poly_addc(p->P, poly_add(p->P, stage_axis(p, s, 3), kw), -z->begin[1]);
	ex_id in = ex_read_fill(p, x, 4, (poly[]){stage_axis(p, s, 0), i, h, v}, 0);
	stage_body(p, s, COMB_SUM, ex_call(p, FN_MUL, in, ex_read(p, w, 4, (poly[]){stage_axis(p, s, 1), i, kh, kw}), 0));
	return s;
}

/* A convolution and an epilogue with an operand of its own; m 0: the direct one. */
static struct loop_prog *program(const struct size *z, int m)
{
	struct loop_prog *p = prog_new(target_host());
	buf_id x = buf_new(p, "x", DT_F32, SCOPE_IN, 4, (int64_t[]){z->n, z->c, z->h, z->w});
	int64_t points = (m + 2) * (m + 2);
	buf_id w = m ? buf_new(p, "u", DT_F32, SCOPE_CONST, 3, (int64_t[]){points, z->c, z->o})
		     : buf_new(p, "w", DT_F32, SCOPE_CONST, 4, (int64_t[]){z->o, z->c, 3, 3});
	buf_id r = buf_new(p, "r", DT_F32, SCOPE_IN, 4, z->out), y = buf_new(p, "y", DT_F32, SCOPE_OUT, 4, z->out);
	for (buf_id b = 1; z->channels_last && b < p->bufs.n; b++)
		if (b != w)
			layout_parse(&lbuf(p, b)->layout, 4, "0 2 3 1");
	stage_id s = m ? winograd_stages(p, m, z->lines, x, w, z->begin, z->out, "n o h w") : direct(p, z, x, w);
	stage_id e = stage_into(p, "act", y, "n o h w");
	poly at[4] = {stage_axis(p, e, 0), stage_axis(p, e, 1), stage_axis(p, e, 2), stage_axis(p, e, 3)};
	ex_id sum = ex_call(p, FN_ADD, ex_read(p, r, 4, at), ex_read(p, lstage(p, s)->out, 4, at), 0);
	stage_body(p, e, COMB_NONE, ex_call(p, FN_MAX, sum, ex_const(p, DT_F32, 0), 0));
	p->algo = m == 4 ? "winograd4" : m ? "winograd2" : ALGO_USUAL;
	p->algo = z->lines ? winograd_of_lines(p->algo) : p->algo;
	prog_collapse(p);
	prog_start(p);
	return p;
}

/* The operands are in place in data; the result is left there. run NULL: the stages. */
static const char *compute(struct loop_prog *p, const struct size *z, float *const *data, float *out,
			   const char *(*run)(struct loop_prog *, void **))
{
	void **at = calloc(p->bufs.n, sizeof *at);
	const char *why = NULL;
	int n = 0;

	for (buf_id b = 1; b < p->bufs.n; b++)
		if (lbuf(p, b)->scope <= SCOPE_CONST)
			buf_pack(p, b, data[n++], at[b] = calloc((size_t)buf_elems(p, b), sizeof(float)));
		else if (lbuf(p, b)->scope == SCOPE_OUT)
			at[b] = out;
	if (run)
		why = run(p, at);
	else
		stages_eval(p, at);
	for (buf_id b = 1; b < p->bufs.n; b++)
		if (at[b] != out)
			free(at[b]);
	free(at);
	return why;
}

static double difference(const float *a, const float *b, int64_t n)
{
	double worst = 0, scale = 1e-30;
	for (int64_t i = 0; i < n; i++) {
		worst = fmax(worst, off_by(b[i], a[i]));
		scale = fmax(scale, size_of(a[i]));
	}
	return worst / scale;
}

static float *random_data(int64_t n)
{
	float *v = calloc((size_t)n, sizeof *v);
	for (int64_t i = 0; i < n; i++)
		v[i] = (float)rng_normal(&rng);
	return v;
}

/* The points of weights w. */
static float *transformed(const struct size *z, int m, float *w)
{
	struct loop_prog *p = prog_new(target_host());
	int64_t shape[3] = {(m + 2) * (m + 2), z->c, z->o};
	buf_id b = buf_new(p, "w", DT_F32, SCOPE_CONST, 4, (int64_t[]){z->o, z->c, 3, 3}), y = buf_new(p, "y", DT_F32, SCOPE_OUT, 3, shape);
	buf_id u = winograd_weights(p, m, b, DT_F32);
	stage_id s = stage_into(p, "copy", y, "s c o");
	stage_body(p, s, COMB_NONE, ex_read(p, u, 3, (poly[]){stage_axis(p, s, 0), stage_axis(p, s, 1), stage_axis(p, s, 2)}));
	float *out = calloc((size_t)(shape[0] * shape[1] * shape[2]), sizeof *out);
	void **at = calloc(p->bufs.n, sizeof *at);
	at[b] = w;
	at[y] = out;
	stages_eval(p, at);
	free(at);
	prog_free(p);
	return out;
}

static void try_case(int seed, int *blocked, int *across)
{
	rng = (struct rng){seed};
	struct size z = random_size();
	int64_t count = z.out[0] * z.out[1] * z.out[2] * z.out[3];
	float *data[3] = {random_data(z.n * z.c * z.h * z.w), random_data(z.o * z.c * 9), random_data(count)};
	float *want = calloc((size_t)count, sizeof *want), *got = calloc((size_t)count, sizeof *got);
	struct loop_prog *p = program(&z, 0);
	compute(p, &z, data, want, NULL);
	prog_free(p);
	for (int m = 2; m <= 4; m += 2) {
		float *u = transformed(&z, m, data[1]), *with[3] = {data[0], u, data[2]};
		p = program(&z, m);
		compute(p, &z, with, got, NULL);
		double stages = difference(want, got, count);
		const char *trace = default_schedule(p), *why = loop_legalize(p);
		*blocked += strstr(trace, "at rows") != NULL;
		*across += strstr(trace, "results = cache") != NULL;
		if (!why)
			why = loop_verify(p);
		if (!why)
			why = compute(p, &z, with, got, loop_interp);
		double nest = difference(want, got, count);
		ok(!why && stages < 1e-5 && nest < 1e-5,
		   "%d: %ld x %ld x %ld x %ld to %ld channels, tile %d: stages off by %g, nest by %g%s%s", seed, (long)z.n, (long)z.c,
		   (long)z.h, (long)z.w, (long)z.o, m, stages, nest, why ? ": " : "", why ? why : "");
		prog_free(p);
		free(u);
	}
	for (int i = 0; i < 3; i++)
		free(data[i]);
	free(want);
	free(got);
}

int main(int argc, char **argv)
{
	const char *some = getenv("WINOGRAD_CASES");
	int blocked = 0, across = 0, cases = some ? atoi(some) : CASES;

	for (int seed = argc > 1 ? atoi(argv[1]) : 1, end = argc > 1 ? seed : cases; seed <= end; seed++)
		try_case(seed, &blocked, &across);
	ok(argc > 1 || blocked >= cases / 2, "the template fits %d of them", blocked);
	ok(argc > 1 || across >= cases / 8, "of which %d are stored across", across);
	return tap_done();
}
