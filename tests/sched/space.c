/* The space of the templates: whatever is decided, the program is valid and computes what its stages say, in the
 * interpreter and (some) compiled; its trace, replayed, is the same program. Decisions carry over between sizes. Samples of
 * traces are listed and changed. SPACE_TEST_VECTORS=N: decisions tried a program. */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "programs.h"
#include "common/progress.h"
#include "common/rng.h"
#include "sched/analytic.h"
#include "emit/emit.h"
#include "loop/interp.h"
#include "loop/prim.h"
#include "loop/sampling.h"
#include "sched/schedule.h"
#include "run_kernel.h"
#include "near.h"
#include "tap.h"

enum { VECTORS = 50, COMPILED = 1, BUFS = 512, MADE_MAX = 40 };

/* d: rows, columns: f(transposed x) + bias, and twice that */
static struct loop_prog *make_chain(const int64_t *d)
{
	struct loop_prog *p = prog_new(target_host());
	int64_t turned[2] = {d[1], d[0]};
	buf_id x = buf_new(p, "X", DT_F32, SCOPE_IN, 2, turned), bias = buf_new(p, "bias", DT_F32, SCOPE_CONST, 1, d + 1);
	buf_id y = buf_new(p, "Y", DT_F32, SCOPE_OUT, 2, d), z = buf_new(p, "Z", DT_F32, SCOPE_OUT, 2, d);
	stage_id s = stage_new(p, "sig", DT_F32, SCOPE_SCRATCH, 2, d, "i j");
	poly at[2] = {stage_axis(p, s, 0), stage_axis(p, s, 1)}, back[2] = {at[1], at[0]};
	stage_body(p, s, COMB_NONE, ex_call(p, FN_SIGMOID, ex_read(p, x, 2, back), 0, 0));
	stage_id a = stage_into(p, "add", y, "i j");
	poly to[2] = {stage_axis(p, a, 0), stage_axis(p, a, 1)};
	stage_body(p, a, COMB_NONE, ex_call(p, FN_ADD, ex_read(p, lstage(p, s)->out, 2, to), ex_read(p, bias, 1, to + 1), 0));
	stage_id t = stage_into(p, "twice", z, "i j");
	poly of[2] = {stage_axis(p, t, 0), stage_axis(p, t, 1)};
	stage_body(p, t, COMB_NONE, ex_call(p, FN_MUL, ex_read(p, lstage(p, s)->out, 2, of), ex_const(p, DT_F32, 2), 0));
	return p;
}

/* d: size, channels, window, stride, pad: the largest of a window, NHWC; then a plain copy to NCHW */
static struct loop_prog *make_pool(const int64_t *d)
{
	struct loop_prog *p = prog_new(target_host());
	struct polys *P = p->P;
	int64_t h = d[0], c = d[1], ho = (h + 2 * d[4] - d[2]) / d[3] + 1;
	buf_id x = buf_new(p, "X", DT_F32, SCOPE_IN, 3, (int64_t[]){c, h, h}),
	       y = buf_new(p, "Y", DT_F32, SCOPE_OUT, 3, (int64_t[]){c, ho, ho});
	layout_parse(&lbuf(p, x)->layout, 3, "1 2 0");
	stage_id s = stage_new(p, "pool", DT_F32, SCOPE_SCRATCH, 3, (int64_t[]){c, ho, ho}, "c h w");
	layout_parse(&lbuf(p, lstage(p, s)->out)->layout, 3, "1 2 0");
	poly kh = stage_reduce(p, s, "kh", d[2]), kw = stage_reduce(p, s, "kw", d[2]);
	poly ih = poly_addc(P, poly_add(P, poly_mulc(P, stage_axis(p, s, 1), d[3]), kh), -d[4]);
	poly iw = poly_addc(P, poly_add(P, poly_mulc(P, stage_axis(p, s, 2), d[3]), kw), -d[4]);
	stage_body(p, s, COMB_MAX, ex_read_fill(p, x, 3, (poly[]){stage_axis(p, s, 0), ih, iw}, -INFINITY));
	relu_into(p, lstage(p, s)->out, y, "c h w");
	return p;
}

static const struct shape {
	const char *name;
	struct loop_prog *(*make)(const int64_t *d);
	int64_t d[8];
} shapes[] = {
	{"gemm 23x35x11", make_gemm, {23, 35, 11}},
	{"gemm 5x35x70", make_gemm, {5, 35, 70}},
	{"gemm 1x67x41", make_gemm, {1, 67, 41}},
	{"conv 1x1", make_conv, {7, 9, 21, 1, 1, 0}},
	{"conv 3x3", make_conv, {6, 3, 17, 3, 1, 1}},
	{"conv 3x3/2", make_conv, {9, 3, 20, 3, 2, 1}},
	{"conv 5x5/2", make_conv, {7, 2, 16, 5, 2, 2}},
	{"depthwise 3x3", make_depthwise, {7, 19, 3, 1, 1}},
	{"depthwise 5x5/2", make_depthwise, {8, 32, 5, 2, 2}},
	{"pool 3x3/2", make_pool, {11, 37, 3, 2, 1}},
	{"mean", make_mean, {7, 33}},
	{"mean, many columns", make_mean, {6, 4203}},
	{"batched", make_batched, {2, 17, 19, 13, 0}},
	{"batched, turned", make_batched, {2, 11, 40, 17, 1}},
	{"softmax 5x129", make_softmax, {5, 129}},
	{"softmax 7x37", make_softmax, {7, 37}},
	{"layernorm 6x150", make_layernorm, {6, 150}},
	{"layernorm 3x48", make_layernorm, {3, 48}},
	{"chain 13x37", make_chain, {13, 37}},
	{"chain 4x64", make_chain, {4, 64}},
};

static struct rng rng = {11};

static struct loop_prog *program(const struct shape *s)
{
	struct loop_prog *p = s->make(s->d);
	prog_collapse(p);
	prog_start(p);
	return p;
}

/* ---- data: the same operands for the plain program, in the layouts of the scheduled one ---- */

struct data {
	void *at[BUFS];
};

static int64_t elements(const struct loop_buf *b)
{
	int64_t n = 1;
	for (int d = 0; d < b->rank; d++)
		n *= b->shape[d];
	return n;
}

static void data_new(struct loop_prog *plain, struct loop_prog *p, struct data *d)
{
	struct rng r = {7};
	*d = (struct data){0};
	for (buf_id b = 1; b < plain->bufs.n; b++) {
		if (lbuf(plain, b)->scope >= SCOPE_SCRATCH)
			continue;
		int64_t n = elements(lbuf(plain, b));
		float *v = calloc((size_t)n + 1, sizeof *v);
		for (int64_t i = 0; i < n; i++)
			v[i] = (float)rng_normal(&r);
		d->at[b] = aligned_alloc(64, ((size_t)buf_elems(p, b) * sizeof(float) + 127) / 64 * 64);
		buf_pack(p, b, v, d->at[b]);
		free(v);
	}
}

static void data_free(struct data *d)
{
	for (int b = 0; b < BUFS; b++)
		free(d->at[b]);
}

static double difference(struct loop_prog *plain, const struct data *want, const struct data *got)
{
	double worst = 0, scale = 1e-30;
	for (buf_id b = 1; b < plain->bufs.n; b++)
		for (int64_t i = 0; lbuf(plain, b)->scope == SCOPE_OUT && i < elements(lbuf(plain, b)); i++) {
			double x = ((float *)want->at[b])[i], y = ((float *)got->at[b])[i];
			worst = fmax(worst, off_by(y, x));
			scale = fmax(scale, size_of(x));
		}
	return worst / scale;
}

/* ---- compiled ---- */

struct made {
	const struct shape *shape;
	struct loop_prog *p;
	const char *trace;
};
static VEC(struct made) made;

static void try_compiled(void)
{
	VEC(struct loop_prog *) all = {0};

	for (size_t i = 0; i < made.n; i++)
		vec_push(&all, made.a[i].p);
	void *lib = compile_kernels(all.a, (int)all.n, target_host(), "space-kernels");
	if (!ok(lib != NULL, "%zu kernels compile", made.n))
		return;
	int bad = 0;
	for (size_t i = 0; i < made.n; i++) {
		struct loop_prog *plain = program(made.a[i].shape);
		struct data want, got;
		data_new(plain, plain, &want);
		data_new(plain, made.a[i].p, &got);
		stages_eval(plain, want.at);
		run_kernel(lib, (int)i, made.a[i].p, got.at);
		double e = difference(plain, &want, &got);
		if (!(e < 1e-4) && !bad++)
			printf("# %s differs by %g:\n%s", made.a[i].shape->name, e, made.a[i].trace);
		data_free(&want);
		data_free(&got);
		prog_free(plain);
	}
	ok(!bad, "compiled, they agree with the stages: %zu, %d do not", made.n, bad);
}

/* ---- one point ---- */

static void remember(struct samples *seen, const struct samples *got)
{
	for (size_t i = 0; i < got->n; i++) {
		size_t k = 0;
		while (k < seen->n && strcmp(seen->a[k].name, got->a[i].name))
			k++;
		if (k == seen->n)
			vec_push(seen, got->a[i]);
		seen->a[k] = got->a[i];
	}
}

/* What was met, by its lines: the same names, choices and decisions. */
static bool lists_same(const char *trace, const struct samples *got)
{
	struct arena a = {0};
	struct samples read = {0};
	bool same;
	trace_samples(trace, &a, &read);
	same = read.n == got->n;
	for (size_t i = 0; same && i < got->n; i++)
		same = !strcmp(read.a[i].name, got->a[i].name) && read.a[i].n == got->a[i].n && read.a[i].decision == got->a[i].decision &&
		       !memcmp(read.a[i].choice, got->a[i].choice, sizeof read.a[i].choice[0] * (size_t)got->a[i].n);
	vec_free(&read);
	arena_release(&a);
	return same;
}

static struct arena kept; /* what samples that were met point to */

/* NULL, or what is wrong with the schedule that these decisions give. */
static const char *try_point(const struct shape *s, const struct samples *want, struct samples *got, bool keep, char **trace)
{
	struct loop_prog *p = program(s), *again = program(s), *plain = program(s);
	struct arena a = {0};
	static char said[512];
	const char *text = schedule_with(p, want, got), *why = loop_apply(again, text, false);
	*trace = strdup(text);
	if (!why && strcmp(prog_str(p, &a), prog_str(again, &a)))
		why = "the trace replayed is another program";
	if (!why && !lists_same(text, got))
		why = "trace_samples lists others than were met";
	samples_keep(got, &kept);
	double before = loop_cost(p);
	if (!why && (!isfinite(before) || before <= 0))
		why = "its predicted time is no time";
	if (!why && strcmp(prog_str(p, &a), prog_str(again, &a)))
		why = "predicting changed it";
	if (!why)
		why = loop_legalize(p);
	if (!why)
		why = loop_verify(p);
	if (!why && !isfinite(loop_cost(p)))
		why = "legalized, its predicted time is no time";
	if (!why) {
		struct data x, y;
		data_new(plain, plain, &x);
		data_new(plain, p, &y);
		stages_eval(plain, x.at);
		why = loop_interp(p, y.at);
		double e = why ? 0 : difference(plain, &x, &y);
		if (!(e < 1e-5)) {
			snprintf(said, sizeof said, "differs by %g", e);
			why = said;
		}
		data_free(&x);
		data_free(&y);
	}
	if (why && why != said) {
		snprintf(said, sizeof said, "%s", why);
		why = said;
	}
	if (keep && !why)
		vec_push(&made, (struct made){s, p, *trace});
	else
		prog_free(p);
	prog_free(again);
	prog_free(plain);
	arena_release(&a);
	return why;
}

static void try_shape(const struct shape *s, int vectors)
{
	struct samples seen = {0};
	VEC(char *) texts = {0};
	int bad = 0, distinct = 0;
	double t = now_seconds();
	for (int i = 0; i < vectors; i++) {
		struct samples want = {0}, got = {0};
		char *trace;
		int share = i ? (int)rng_range(&rng, 1, 4) : 0; /* how many are decided otherwise: a few, or most */
		for (size_t k = 0; k < seen.n; k++)
			if (rng_range(&rng, 0, 3) < share) {
				struct sample x = seen.a[k];
				x.decision = x.choice[rng_range(&rng, 0, x.n - 1)];
				vec_push(&want, x);
			}
		const char *why = try_point(s, &want, &got, i % (vectors / COMPILED + 1) == 1 && made.n < MADE_MAX, &trace);
		if (why && bad++ < 2) {
			printf("# %s: %s\n#", s->name, why);
			for (size_t k = 0; k < got.n; k++)
				printf(" %s=%s%ld", got.a[k].name, got.a[k].decision == got.a[k].usual ? "" : "!", (long)got.a[k].decision);
			printf("\n%s", trace);
		}
		bool old = false;
		for (size_t k = 0; k < texts.n && !old; k++)
			old = !strcmp(texts.a[k], trace);
		distinct += !old;
		vec_push(&texts, trace);
		remember(&seen, &got);
		vec_free(&want);
		vec_free(&got);
	}
	ok(!bad, "%s: %zu samples, %d decisions, %d schedules, %d bad (%.1f s)", s->name, seen.n, vectors, distinct, bad,
	   now_seconds() - t);
	vec_free(&seen);
	arena_release(&kept);
}

/* ---- traces ---- */

static void try_names(void)
{
	struct shape s = {"", make_gemm, {37, 50, 20}};
	struct arena a = {0};
	static const char text[] =
		"v = sample.choice 1 2 4 := 2\nr t = sample.split gemm.m parts=2 max=8 := 5 8\ntail = sample.choice peel balance := balance\n"
		"layout B 1/v*16 0 1%v*16\nsplit gemm.n v 16 tail=pad\nsplit gemm.m t tail=tail\nfree = sample.choice a b := b\n";
	struct loop_prog *p = program(&s), *q = program(&s);
	const char *why = loop_apply(p, text, false), *layout = layout_str(&lbuf(p, buf_find(p, "B"))->layout, 2, &a);
	ok(!why && !strcmp(layout, "1/32 0 1%32"), "names and products of names stand for numbers: %s", why ? why : layout);
	why = loop_apply(q, "layout B 1/32 0 1%32\nsplit gemm.n 2 16 tail=pad\nsplit gemm.m 8 tail=balance", false);
	ok(!why && !strcmp(prog_str(p, &a), prog_str(q, &a)), "the program is that of the numbers");
	struct samples got = {0};
	trace_samples(text, &a, &got);
	ok(got.n == 4 && got.a[0].n == 3 && got.a[1].n == 8 && got.a[1].decision == 8 && got.a[2].word && got.a[0].bound &&
		   got.a[1].bound && got.a[2].bound && !got.a[3].bound,
	   "samples of a trace: %zu", got.n);
	const char *changed = trace_decide(text, "v", 4, &a);
	ok(changed && strstr(changed, "v = sample.choice 1 2 4 := 4\nr t"), "a decision is changed");
	changed = trace_decide(text, "r", 3, &a);
	ok(changed && strstr(changed, ":= 5 3\n"), "the inner part of a split is changed");
	changed = trace_decide(text, "tail", 0, &a);
	ok(changed && strstr(changed, ":= peel\n"), "a word is changed");
	ok(!trace_decide(text, "v", 3, &a) && !trace_decide(text, "w", 3, &a), "no such choice, no such sample");
	static const char *const wrong[] = {"split gemm.n v*16",
					    "split gemm.n 4*",
					    "layout B 1/v 0 1%v",
					    "split gemm.n 99999999999*99999999999",
					    "k = sample.choice 1 2 := 3",
					    "k = sample.choice a b := c",
					    "k = sample.choice a b := a\nsplit gemm.n k"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct loop_prog *w = program(&s);
		why = loop_apply(w, wrong[i], false);
		ok(why != NULL, "refused: %s", why ? why : wrong[i]);
		prog_free(w);
	}
	vec_free(&got);
	prog_free(p);
	prog_free(q);
	arena_release(&a);
}

/* Decisions of one size, wanted for another: those that are choices there hold. */
static void try_transfer(void)
{
	struct shape from = {"", make_gemm, {37, 50, 20}}, to = {"", make_gemm, {3, 200, 20}};
	struct samples want = {0}, got = {0};
	struct loop_prog *p = program(&from), *q = program(&to);
	schedule_with(p, NULL, &want);
	for (size_t i = 0; i < want.n; i++)
		if (!strcmp(want.a[i].name, "vectors"))
			want.a[i].decision = 3;
	schedule_with(q, &want, &got);
	bool same = true, taken = false;
	for (size_t i = 0; i < got.n; i++) {
		same &= got.a[i].decision >= 0;
		taken |= !strcmp(got.a[i].name, "vectors") && got.a[i].decision == 3;
	}
	ok(same && taken, "decisions carry over to another size");
	vec_free(&want);
	vec_free(&got);
	prog_free(p);
	prog_free(q);
}

static double predicted(const struct shape *s, const char *name, int64_t decision)
{
	struct samples want = {0};
	struct loop_prog *p = program(s);
	vec_push(&want, (struct sample){.name = name, .decision = decision});
	schedule_with(p, &want, NULL);
	double t = loop_cost(p);
	vec_free(&want);
	prog_free(p);
	return t;
}

/* What cannot be close: one row at a time, one chain of sums, many passes over the sums. */
static void try_cost(void)
{
	struct shape gemm = {"", make_gemm, {256, 256, 256}}, norm = {"", make_layernorm, {64, 1024}};
	double usual = predicted(&gemm, "", 0);
	ok(usual < 0.5 * predicted(&gemm, "rows", 1), "the model: a tile of one row is slow");
	ok(usual > 2.0 * 256 * 256 * 256 / 600e9 && usual < 2.0 * 256 * 256 * 256 / 5e9, "the model: a product of 256 takes %.0f us",
	   1e6 * usual);
	ok(predicted(&norm, "", 0) < predicted(&norm, "squares.vectors", 1), "the model: one chain of sums is slower than four");
}

static int64_t usual_of(const struct shape *s, const char *name, const char **trace, struct arena *a)
{
	struct samples got = {0};
	struct loop_prog *p = program(s);
	int64_t usual = -1;
	*trace = arena_str(a, schedule_with(p, NULL, &got));
	for (size_t i = 0; i < got.n; i++)
		if (!strcmp(got.a[i].name, name))
			usual = got.a[i].usual;
	vec_free(&got);
	prog_free(p);
	return usual;
}

/* Reductions along rows: several rows at a time, as long as the first level of cache holds them. */
static void try_rows(void)
{
	struct shape narrow = {"", make_softmax, {384, 128}}, wide = {"", make_softmax, {384, 1 << 20}}, two = {"", make_softmax, {2, 128}};
	struct arena a = {0};
	const char *trace;
	ok(usual_of(&wide, "block", &trace, &a) == 1, "long rows: one at a time");
	ok(usual_of(&two, "block", &trace, &a) == -1, "two rows: nothing to choose");
	ok(usual_of(&narrow, "block", &trace, &a) >= 4, "short rows: several at a time");
	ok(strstr(trace, "\nsum_lanes = rfactor sum sum.lane.1\n") && strstr(trace, "\nvector sum.lane\n"),
	   "vectors of sums are added before their lanes");
	arena_release(&a);
}

/* Where one panel is all, a window's weights are kept in registers from tile to tile: there must be room for both. */
static void try_window(void)
{
	struct shape one = {"", make_depthwise, {56, 32, 3, 1, 1}};
	struct arena a = {0};
	const char *trace;
	int regs = target_host()->vector_regs;
	int64_t rows = usual_of(&one, "rows", &trace, &a), vectors = usual_of(&one, "vectors", &trace, &a);
	int64_t lanes = target_host()->vector_bytes / 4, kept = vectors * lanes >= 32 ? 9 * vectors : 0;
	ok(rows * vectors + kept < regs || rows == 1, "depthwise: a tile of %ld x %ld, %ld vectors of weights", (long)rows, (long)vectors,
	   (long)kept);
	arena_release(&a);
}

int main(int argc, char **argv)
{
	const char *s = getenv("SPACE_TEST_VECTORS");
	int vectors = s && atoi(s) > 0 ? atoi(s) : VECTORS;
	try_names();
	try_transfer();
	try_cost();
	try_rows();
	try_window();
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (argc < 2 || !strncmp(shapes[i].name, argv[1], strlen(argv[1])))
			try_shape(&shapes[i], vectors);
	if (made.n)
		try_compiled();
	return tap_done();
}
