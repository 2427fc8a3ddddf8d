/* ge-calibrate: what ranges a model's values have on samples. */
#include <stdlib.h>
#include <string.h>
#include "common/facts.h"
#include "common/option.h"
#include "common/outfile.h"
#include "common/progress.h"
#include "common/tool.h"
#include "graph/stream.h"
#include "onnx/onnx.h"
#include "op/op.h"
#include "quant/samples.h"
#include "quant/statistics.h"
#include "exposed.h"

enum { OPT_SET = 0x100, OPT_SHAPE, OPT_RANGE, OPT_SHARD, OPT_WHOLE, OPT_EXPOSE, OPT_LIBRARY, OPT_SIZES, OPT_SECONDS };
static VEC(const char *) sets, shapes;
static const char *library;
static bool exposes, prints_sizes;
static double seconds; /* 0: as long as it takes */
static struct sample_options sampling;

static const struct argp_option options[] = {
	{"set", OPT_SET, "NAME=SIZE,...", 0, "give symbols their sizes"},
	{"shape", OPT_SHAPE, "INPUT:1x3x224x224", 0, "give an input its shape"},
	{"range", OPT_RANGE, "LO:HI", 0, "files of other names hold bytes, 0 to 255 for LO to HI"},
	{"shard", OPT_SHARD, "K/N", 0, "take one sample of N: numbers K, K + N, ..., from 1 on"},
	{"whole", OPT_WHOLE, 0, 0, "a file is one sample, however long its first axis"},
	{"expose", OPT_EXPOSE, 0, 0, "write the model with all values that are counted as outputs, to be compiled"},
	{"library", OPT_LIBRARY, "FILE.so", 0, "what was compiled of that runs, in place of the evaluator"},
	{"sizes", OPT_SIZES, 0, 0, "print the shapes of inputs that the first sample gives, for --shape"},
	{"seconds", OPT_SECONDS, "S", 0, "give up (69) after S seconds"},
	{0},
};

static void take_shard(const char *arg)
{
	char *end;
	unsigned long long k = strtoull(arg, &end, 10), n = *end == '/' ? strtoull(end + 1, &end, 10) : 0;

	if (*end || k < 1 || k > n)
		die(EX_BADUSE, "--shard %s: write K/N, K from 1 to N", arg);
	sampling.shard = k - 1;
	sampling.of_shards = n;
}

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_SET:
		option_sizes_once("--set", arg);
		vec_push(&sets, arg);
		return 0;
	case OPT_SHAPE:
		option_name_once("--shape", arg, ':');
		vec_push(&shapes, arg);
		return 0;
	case OPT_RANGE: samples_take_range(&sampling, arg); return 0;
	case OPT_SHARD: take_shard(arg); return 0;
	case OPT_WHOLE: sampling.whole = true; return 0;
	case OPT_EXPOSE: exposes = true; return 0;
	case OPT_LIBRARY: library = arg; return 0;
	case OPT_SIZES: prints_sizes = true; return 0;
	case OPT_SECONDS: seconds = option_number("--seconds", arg, 1e-9, 1e9); return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* row: by value; NULL: it is not counted. */
static void count(void *arg, struct module *m, val_id v, const struct tensor *t)
{
	struct value_stat **row = arg;

	if (row[v])
		value_stat_add(row[v], t);
}

/* What computes the values of a sample: the evaluator, or a library (library.c). */
static void run_one(struct module *m, struct exposed *e, struct value_stat **row, struct tensor **in, struct arena *a)
{
	const struct graph *g = graph(m, m->main);
	struct eval_hooks hooks = {.each = count, .arg = row};

	for (size_t i = 0; i < g->in.n; i++)
		count(row, m, g->in.a[i], in[i]);
	if (e)
		exposed_run(e, in, a);
	else
		eval_graph(m, m->main, in, ARENA_ARRAY(a, struct tensor *, g->out.n + 1), a, &hooks);
}

static void run_samples(struct module *m, struct statistics *s, struct samples *from)
{
	const struct graph *g = graph(m, m->main);
	struct value_stat **row = statistics_begin(s, m);
	struct exposed *e = library ? exposed_open(library, m, row, s) : NULL;
	double begin = now_seconds();
	struct progress p;
	char text[64];

	progress_start(&p, "calibrating", 0);
	for (;;) {
		struct arena a = {0};
		struct tensor **in = ARENA_ARRAY(&a, struct tensor *, g->in.n + 1);
		if (!samples_next(from, in, &a)) {
			arena_release(&a);
			break;
		}
		if (seconds > 0 && now_seconds() - begin > seconds)
			die(EX_NOTAVAIL, "%g seconds are over after %llu samples", seconds, (unsigned long long)samples_total(from) - 1);
		statistics_see(s, in, g->in.n);
		run_one(m, e, row, in, &a);
		arena_release(&a);
		snprintf(text, sizeof text, "%llu samples", (unsigned long long)samples_total(from));
		progress_line(&p, text);
	}
	progress_end(&p);
	exposed_close(e);
	free(row);
	s->samples = samples_total(from);
}

static struct module *read_model(const char *path, struct digest *model)
{
	struct module *m = module_read_any(path);

	*model = module_digest(m);
	for (size_t i = 0; i < sets.n; i++)
		bind_sets(m, sets.a[i]);
	for (size_t i = 0; i < shapes.n; i++)
		bind_shapes(m, shapes.a[i]);
	infer_declared(m, NULL);
	return m;
}

static void calibrate(struct statistics *s, struct tool_args *a)
{
	struct module *m = read_model(a->file[0], &s->model);

	struct samples *from = samples_open(m, a->nfile - 1, a->file + 1, &sampling);
	run_samples(m, s, from);
	samples_close(from);
	if (!s->samples && !sampling.of_shards)
		die(EX_BADDATA, "%s: no samples", a->file[1]);
	module_free(m);
}

static void merge(struct statistics *s, struct tool_args *a)
{
	statistics_read(s, a->file[1]);
	for (int i = 2; i < a->nfile; i++) {
		struct statistics shard = {0};
		statistics_read(&shard, a->file[i]);
		statistics_merge(s, &shard, a->file[i]);
		statistics_free(&shard);
	}
	if (!s->samples)
		die(EX_BADDATA, "%s: no samples", a->file[1]);
}

static void print_sizes(struct module *m, struct samples *from, FILE *f)
{
	const struct graph *g = graph(m, m->main);
	struct arena a = {0};
	struct tensor **in = ARENA_ARRAY(&a, struct tensor *, g->in.n + 1);

	if (!samples_next(from, in, &a))
		die(EX_BADDATA, "no samples");
	for (size_t i = 0; i < g->in.n; i++) {
		const struct value *v = val(m, g->in.a[i]);
		const char *s = arena_printf(&a, "%s:", sym_str(v->name));
		if (type_static(m, &v->type))
			continue;
		for (int k = 0; k < in[i]->rank; k++)
			s = arena_printf(&a, "%s%s%lld", s, k ? "x" : "", (long long)in[i]->dims[k]);
		fprintf(f, "%s\n", s);
		facts_add("shape", s);
	}
	arena_release(&a);
}

/* --sizes */
static int write_sizes(struct tool_args *a)
{
	struct digest model;
	struct module *m = read_model(a->file[0], &model);
	struct samples *from = samples_open(m, a->nfile - 1, a->file + 1, &sampling);
	struct outfile out;

	outfile_open(&out, a->out, false);
	print_sizes(m, from, out.f);
	outfile_close(&out);
	samples_close(from);
	return EX_GOOD;
}

/* --expose */
static int write_exposed(struct tool_args *a)
{
	struct digest model;
	struct stream_writer *w = stream_create(a->out, false);
	struct module *m = read_model(a->file[0], &model);

	exposed_make(m, model);
	stream_write(w, m);
	stream_finish(w);
	return EX_GOOD;
}

static int run(const struct tool *t, struct tool_args *a)
{
	struct statistics s = {0};
	struct outfile out;

	if (exposes && a->nfile == 1)
		return write_exposed(a);
	if (a->nfile < 2 || exposes)
		tool_usage();
	if (prints_sizes)
		return write_sizes(a);
	if (!strcmp(a->file[0], "merge"))
		merge(&s, a);
	else
		calibrate(&s, a);
	outfile_open(&out, a->out, false);
	statistics_write(&s, out.f);
	facts_number("samples", (double)s.samples);
	outfile_close(&out);
	statistics_free(&s);
	return EX_GOOD;
}

const struct tool tool = {
	.name = "ge-calibrate",
	.summary = "Run a model on samples and write the ranges of its values.",
	.args_doc = "MODEL SAMPLES...\n--expose MODEL\nmerge STATISTICS...",
	.more = "SAMPLES are .npy and .npz files, or directories of them. The statistics are the input of ge-quantize.",
	.flags = TOOL_OUT,
	.max_files = -1,
	.options = options,
	.option = option,
	.run = run,
};
