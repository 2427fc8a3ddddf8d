/* Groups of several contractions by default, against their parts apart.
 *
 *   build/bench/groups [--count N] [--from N] [--seed N] [--budget S]      100 groups, seed 1, 0.4 s a group and turn
 *
 * A group is drawn: two or three convolutions or products in a row, elementwise operators after each. The default schedule makes one kernel
 * of it, and one of each of its parts: a contraction and what is after it. The parts run one after the other, as in a model, because a
 * part that is timed by itself finds the caches as it has left them. The runner checks the numbers of both and times them in turns, one
 * core, cold weights. A tab-separated row a group on standard output: the group's time to that of its parts together, with the least and
 * the greatest of the turns, us of both, the task; then, after "#", the geometric mean, the worst, and the share of groups at most 1.05. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/option.h"
#include "common/rng.h"
#include "common/sorted.h"
#include "common/textfile.h"
#include "common/tool.h"
#include "emit/emit.h"
#include "lower/lower.h"
#include "answer.h"

enum { OPT_COUNT = 1000, OPT_FROM, OPT_SEED, OPT_BUDGET, TURNS = 3, PARTS_MAX = 3, TEXT = 2048, COLD = 32 << 20 };
#define WANTED        1.05
#define CHANNELS_LAST "@0,2,3,1"
static int count = 100, from; /* groups; how many of them are drawn, but not timed */
static uint64_t seed = 1;
static double budget = 0.4;
static struct arena arena;
static struct runner *r;

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_COUNT: count = (int)option_count("--count", arg, 1, 1000000); return 0;
	case OPT_FROM: from = (int)option_count("--from", arg, 0, 1000000); return 0;
	case OPT_SEED: seed = option_count("--seed", arg, 0, SIZE_MAX); return 0;
	case OPT_BUDGET: budget = option_number("--budget", arg, 0.001, 1e6); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

/* A group in the making, and its parts: task texts. A contraction's image or matrix is %N of the group, and an operand of its part. */
struct group {
	char whole[TEXT], part[PARTS_MAX][TEXT];
	int parts, ops;              /* contractions; operators of the whole */
	int part_ops;                /* operators of the last part */
	int channels, height, width; /* of what is there so far: NCHW, or rows by columns */
	bool last;                   /* channels are last in memory, of the images that are operands and results */
};

static int draw(struct rng *g, const int *from, int n) { return from[rng_range(g, 0, n - 1)]; }
#define DRAW(g, ...) draw(g, (const int[]){__VA_ARGS__}, (int)(sizeof(const int[]){__VA_ARGS__} / sizeof(int)))

static void add(char *text, const char *s)
{
	size_t n = strlen(text);

	snprintf(text + n, TEXT - n, "%s", s);
}

/* The operator behind what is there, with operands beyond the first; of the whole it reads its last result. */
static void add_op(struct group *x, const char *op, const char *input, const char *operands)
{
	char *part = x->part[x->parts - 1];

	add(x->whole, x->ops ? arena_printf(&arena, "; %s %%%d%s", op, x->ops - 1, operands)
			     : arena_printf(&arena, "%s f32 %s%s", op, input, operands));
	add(part, x->part_ops ? arena_printf(&arena, "; %s %%%d%s", op, x->part_ops - 1, operands)
			      : arena_printf(&arena, "%s f32 %s%s", op, input, operands));
	x->ops++;
	x->part_ops++;
}

static void add_elementwise(struct group *x, struct rng *g)
{
	switch (rng_range(g, 0, 4)) {
	case 0: break;
	case 1: add_op(x, "Relu", "", ""); break;
	case 2: add_op(x, "Clip", "", " =0 =6"); break;
	case 3: add_op(x, "HardSwish", "", ""); break;
	default: add_op(x, "Sigmoid", "", ""); break;
	}
}

static void add_conv(struct group *x, struct rng *g)
{
	int c = x->channels, k = DRAW(g, 1, 1, 3, 3, 5), stride = k > 1 ? DRAW(g, 1, 1, 2) : 1;
	bool depthwise = k > 1 && rng_range(g, 0, 1);
	int to = depthwise ? c : DRAW(g, 16, 24, 48, 96, 144);
	const char *input = arena_printf(&arena, "1x%dx%dx%d%s", c, x->height, x->width, x->last ? CHANNELS_LAST : "");
	const char *groups = depthwise ? arena_printf(&arena, "group=%d", c) : "", *pads = "", *strides = "";

	if (k > 1)
		pads = arena_printf(&arena, "%spads=%d,%d,%d,%d", depthwise ? " " : "", k / 2, k / 2, k / 2, k / 2);
	if (stride > 1)
		strides = " strides=2,2";
	bool plain = !*groups && !*pads;
	add_op(x, plain ? "Conv" : arena_printf(&arena, "Conv{%s%s%s}", groups, pads, strides), input,
	       arena_printf(&arena, " %dx%dx%dx%dc %dc", to, depthwise ? 1 : c, k, k, to));
	x->channels = to;
	x->height = (x->height - 1) / stride + 1;
	x->width = (x->width - 1) / stride + 1;
}

static void add_product(struct group *x, struct rng *g)
{
	int to = DRAW(g, 64, 100, 256, 384, 1024);

	add_op(x, "MatMul", arena_printf(&arena, "%dx%d", x->width, x->channels), arena_printf(&arena, " %dx%dc", x->channels, to));
	x->channels = to;
}

static struct group draw_group(struct rng *g)
{
	struct group x = {.channels = DRAW(g, 16, 32, 96, 144)};
	bool images = rng_range(g, 0, 2);
	int n = 2 + (int)rng_range(g, 0, PARTS_MAX - 2);

	x.width = x.height = DRAW(g, 7, 14, 28, 56);
	if (!images)
		x.width = DRAW(g, 1, 16, 49, 128), x.channels = DRAW(g, 64, 256, 384);
	x.last = images && rng_range(g, 0, 1);
	while (x.parts < n) {
		x.parts++;
		x.part_ops = 0;
		if (images)
			add_conv(&x, g);
		else
			add_product(&x, g);
		add_elementwise(&x, g);
		if (x.last)
			add(x.part[x.parts - 1], arena_printf(&arena, " -> %%%d" CHANNELS_LAST, x.part_ops - 1));
	}
	if (x.last)
		add(x.whole, arena_printf(&arena, " -> %%%d" CHANNELS_LAST, x.ops - 1));
	return x;
}

struct kernel {
	struct digest task, artifact;
};

/* The kernel of a task by default: a program, and the buffers that it takes. */
struct part {
	struct candidate *c;
	struct loop_prog *p;
};

static struct part part_new(const char *text)
{
	const char *why;
	struct module *m = task_module(text, 0, &arena, &why);
	struct candidate *c = m ? candidate_new(m, task_node(m), target_host(), NULL, false, &why) : NULL;

	if (!c)
		die(EX_BADDATA, "%s: %s", text, why);
	struct loop_prog *p = lower_sketch(m, task_node(m), target_host(), trace_algo(c->trace, &arena), &why).prog;
	if (!p || (why = loop_apply(p, c->trace, false)) || (why = loop_legalize(p)))
		BUG("%s: %s", text, why);
	module_free(m);
	return (struct part){c, p};
}

/* Calls one kernel after the other: each reads, as its only operand, what the one before has made. */
static void write_calls(FILE *f, const struct part *x, int n, int64_t *workspace)
{
	int64_t own = 0, kept = 0, constants = 0;

	for (int i = 0; i < n; i++)
		own = x[i].c->workspace > own ? x[i].c->workspace : own;
	own = (own + 63) / 64 * 64;
	fputs("void hone_kernel(const void *const *in, const void *const *constants, void *const *out, char *workspace)\n{\n", f);
	for (int i = 0; i < n; i++) {
		const struct candidate_buf *made = x[i].c->out;
		fprintf(f, i ? "\tpart%d((const void *)(workspace + %lld), " : "\tpart%d(in[0], ", i, (long long)(own + kept));
		kept += i ? ((int64_t)dtype_size(x[i - 1].c->out->dtype) * x[i - 1].c->out->elems + 63) / 64 * 64 : 0;
		for (int k = 0; k < x[i].c->nconst; k++)
			fprintf(f, "constants[%lld], ", (long long)constants++);
		if (i == n - 1)
			fputs("out[0], workspace);\n}\n", f);
		else
			fprintf(f, "(void *)(workspace + %lld), workspace); /* %lld elements */\n", (long long)(own + kept),
				(long long)made->elems);
	}
	*workspace = own + kept;
}

/* A kernel for the task of all parts, in which each of them is a function, as hone build makes kernels of a model. */
static struct kernel build_apart(const struct kernel *whole, const struct part *x, int n)
{
	struct loop_prog *prog[PARTS_MAX];
	struct runner_build b = {.nin = 1, .nout = 1};
	struct runner_buf *buf = ARENA_ARRAY(&arena, struct runner_buf, RUNNER_BUFS_MAX);
	char *text;
	FILE *f = textfile_open(&text, &b.nsource);

	for (int i = 0; i < n; i++)
		prog[i] = x[i].p;
	emit_prelude(f, prog, n, NULL, 0);
	for (int i = 0; i < n; i++) {
		struct runner_build its = build_of(x[i].c, &arena);
		emit_kernel(f, prog[i], arena_printf(&arena, "part%d", i));
		if (!i)
			buf[0] = its.buf[0];
		for (int k = 0; k < its.nconst; k++, b.nconst++) {
			buf[1 + b.nconst] = its.buf[its.nin + k];
			buf[1 + b.nconst].constant = (uint32_t)b.nconst;
		}
		buf[1 + b.nconst] = its.buf[its.nin + its.nconst];
		b.algo = b.algo ? arena_printf(&arena, "%s" ALGO_AND "%s", b.algo, prog[i]->algo) : prog[i]->algo;
	}
	write_calls(f, x, n, &b.workspace);
	textfile_close(f);
	b.source = text;
	b.buf = buf;
	runner_build(r, whole->task, &b);
	struct runner_answer answer = next_of(&r, &arena);
	free(text);
	if (answer.result.verdict == VERDICT_BUILD)
		die(EX_BADDATA, "%s", answer.why);
	return (struct kernel){whole->task, answer.digest};
}

static struct kernel build(const char *text)
{
	const char *why;
	struct module *m = task_module(text, 0, &arena, &why);

	if (!m)
		die(EX_BADDATA, "%s: %s", text, why);
	runner_task(r, text);
	struct digest task = next_of(&r, &arena).digest;
	struct kernel k = {task, build_trace(&r, &arena, m, NULL, task)};
	module_free(m);
	return k;
}

/* The runner checks `a` against the operators, and times both in turns. */
static struct measurement against(const struct kernel *a, const struct kernel *base, uint64_t turn)
{
	runner_try(r, &(struct runner_try){.task = a->task,
					   .artifact = a->artifact,
					   .base = base->artifact,
					   .budget = budget,
					   .seed = turn,
					   .cold_bytes = COLD,
					   .once = true});
	struct measurement x = next_of(&r, &arena).result;
	if (!x.npairs)
		die(EX_BADDATA, "%s", x.why);
	return x;
}

static double median_base(const struct measurement *x)
{
	double *v = ARENA_ARRAY(&arena, double, x->npairs + 1);

	for (size_t i = 0; i < x->npairs; i++)
		v[i] = 1e-6 * (double)x->pair[i].base;
	qsort(v, x->npairs, sizeof *v, ascending);
	return sorted_median(v, x->npairs);
}

static double time_group(const struct group *x)
{
	struct kernel whole = build(x->whole);
	struct part part[PARTS_MAX];
	double ratio[TURNS], us[TURNS];

	for (int i = 0; i < x->parts; i++)
		part[i] = part_new(x->part[i]);
	struct kernel apart = build_apart(&whole, part, x->parts);
	against(&apart, &whole, 0); /* checks its numbers */
	for (int t = 0; t < TURNS; t++) {
		struct measurement m = against(&whole, &apart, (uint64_t)t + 1);
		ratio[t] = m.ratio;
		us[t] = median_base(&m);
	}
	for (int i = 0; i < x->parts; i++) {
		candidate_free(part[i].c);
		prog_free(part[i].p);
	}
	qsort(ratio, TURNS, sizeof *ratio, ascending);
	qsort(us, TURNS, sizeof *us, ascending);
	printf("%.3f\t%.3f\t%.3f\t%.2f\t%.2f\t%s\n", ratio[TURNS / 2], ratio[0], ratio[TURNS - 1], us[TURNS / 2] * ratio[TURNS / 2],
	       us[TURNS / 2], x->whole);
	fflush(stdout);
	return ratio[TURNS / 2];
}

static int run(const struct tool *t, struct tool_args *a)
{
	struct rng g = {seed};
	const char *why;
	double sum = 0, worst = 0;
	int good = 0;

	if (!(r = runner_open(NULL, 30, &arena, &why)))
		die(EX_NOTAVAIL, "%s", why);
	printf("# %s\n# ratio\tfrom\tto\tus\tapart us\ttask\n", runner_target(r));
	for (int i = 0; i < from; i++)
		draw_group(&g);
	for (int i = 0; i < count; i++) {
		struct group x = draw_group(&g);
		double ratio = time_group(&x);
		sum += log(ratio);
		worst = fmax(worst, ratio);
		good += ratio <= WANTED;
	}
	printf("# %d groups: geomean %.3f, worst %.2f, %.0f%% at most %.2f\n", count, exp(sum / count), worst, 100.0 * good / count,
	       WANTED);
	runner_close(r);
	return 0;
}

static const struct argp_option options[] = {
	{"budget", OPT_BUDGET, "S", 0, "seconds a group and turn (0.4)", 0},
	{"count", OPT_COUNT, "N", 0, "groups to draw (100)", 0},
	{"from", OPT_FROM, "N", 0, "groups to draw before these, without timing them (0)", 0},
	{"seed", OPT_SEED, "N", 0, "of what is drawn (1)", 0},
	{0},
};

const struct tool tool = {
	.name = "groups",
	.summary = "Groups of several contractions by default, against their parts apart.",
	.run = run,
	.options = options,
	.option = option,
};
