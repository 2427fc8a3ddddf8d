/* ge-quantize: a model of floats and its statistics in, a model of bytes out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/facts.h"
#include "common/option.h"
#include "common/tool.h"
#include "graph/pass.h"
#include "graph/stream.h"
#include "onnx/onnx.h"
#include "op/op.h"
#include "op/pass.h"
#include "outputs.h"
#include "target/target.h"

enum {
	OPT_METHOD = 0x100,
	OPT_PERCENTILE,
	OPT_WEIGHTS,
	OPT_ACTIVATIONS,
	OPT_CORRECT,
	OPT_ONLY,
	OPT_SKIP,
	OPT_METRIC,
	OPT_DROP,
	OPT_EQUALIZE,
	OPT_BLOCK,
	OPT_SMOOTH,
	OPT_SECONDS,
	OPT_ALTERNATE,
	OPT_TIMES,
	OPT_SAMPLES,
	OPT_RANGE,
	OPT_WHOLE
};
static struct quantize_options quantizing = {.method = RANGE_MSE, .percentile = 99.99, .weight_bits = 8, .block = -1, .correct = true};
static struct metric metric = {.drop = 0.5};
static const char *statistics_path, *times[3];
static int ntimes;
static VEC(char *) samples;
static struct sample_options sampling;
static int half; /* of the layers; 0: all */
static struct balance_options balancing = {.smooth = -1, .worth = 1};

static const struct argp_option options[] = {
	{"statistics", 's', "FILE", 0, "what ge-calibrate wrote of this model"},
	{"method", OPT_METHOD, "NAME", 0, "ranges of operands: minmax, percentile, entropy or mse; mse"},
	{"percentile", OPT_PERCENTILE, "P", 0, "of a hundred elements, P lie inside; 99.99"},
	{"weights", OPT_WEIGHTS, "BITS", 0, "8 or 4; 8"},
	{"activations", OPT_ACTIVATIONS, "KIND", 0, "static, dynamic (by their range in each run), or none; static"},
	{"block", OPT_BLOCK, "N", 0, "with --activations none, N weights of a matrix share a scale; 0: a channel; 32 of 4 bits, else 0"},
	{"no-correction", OPT_CORRECT, 0, 0, "leave biases as they are"},
	{"samples", OPT_SAMPLES, "PATH", 0, "report how far the outputs are from float on these samples; repeated", -1},
	{"range", OPT_RANGE, "LO:HI", 0, "--samples, as for ge-calibrate", -1},
	{"whole", OPT_WHOLE, 0, 0, "--samples, as for ge-calibrate", -1},
	{"equalize", OPT_EQUALIZE, "PART", OPTION_ARG_OPTIONAL,
	 "write a model of floats whose products make channels of like ranges, where at most PART of the error is to be left; 1"},
	{"smooth", OPT_SMOOTH, "A", 0, "the same by normalizations and multiplications; A of the range goes into weights"},
	{"only", OPT_ONLY, "WHAT", 0, "quantise only layers of this name or operator; a pattern, repeated"},
	{"skip", OPT_SKIP, "WHAT", 0, "leave layers of this name or operator in float"},
	{"metric", OPT_METRIC, "COMMAND", 0, "COMMAND MODEL.onnx prints how good the model is, more is better"},
	{"drop", OPT_DROP, "D", 0, "how much less than that of the float model it may be; 0.5"},
	{"seconds", OPT_SECONDS, "S", 0, "end the search for that after S seconds, with the best so far"},
	{"alternate", OPT_ALTERNATE, "1|2", 0, "quantise every other layer only, from the first or the second on: to be timed"},
	{"times", OPT_TIMES, "FILE", 0,
	 "three of them: what run-dev measured of the model with all layers quantised, with the first half, with the second"},
	{0},
};

static void take_method(const char *arg)
{
	for (int i = 0; i < RANGE_METHODS; i++)
		if (!strcmp(arg, range_method_names[i])) {
			quantizing.method = (enum range_method)i;
			return;
		}
	die(EX_BADUSE, "--method %s: minmax, percentile, entropy or mse", arg);
}

static void take_activations(const char *arg)
{
	if (!strcmp(arg, "none"))
		quantizing.activations = ACTIVATIONS_NONE;
	else if (!strcmp(arg, "dynamic"))
		quantizing.activations = ACTIVATIONS_DYNAMIC;
	else if (!strcmp(arg, "static"))
		quantizing.activations = ACTIVATIONS_STATIC;
	else
		die(EX_BADUSE, "--activations %s: static, dynamic or none", arg);
}

static error_t option(int key, char *arg)
{
	switch (key) {
	case 's': statistics_path = arg; return 0;
	case OPT_METHOD: take_method(arg); return 0;
	case OPT_PERCENTILE: quantizing.percentile = option_number("--percentile", arg, 50, 100); return 0;
	case OPT_WEIGHTS:
		quantizing.weight_bits = (int)option_count("--weights", arg, 4, 8);
		if (quantizing.weight_bits != 4 && quantizing.weight_bits != 8)
			die(EX_BADUSE, "--weights %s: 8 or 4", arg);
		return 0;
	case OPT_BLOCK:
		quantizing.block = (int)option_count("--block", arg, 0, 1 << 20);
		if (quantizing.block && quantizing.block < 16)
			die(EX_BADUSE, "--block %s: 16 or more, or 0", arg);
		return 0;
	case OPT_ACTIVATIONS: take_activations(arg); return 0;
	case OPT_CORRECT: quantizing.correct = false; return 0;
	case OPT_EQUALIZE:
		balancing.equalize = true;
		balancing.worth = arg ? option_number("--equalize", arg, 0, 1) : 1;
		return 0;
	case OPT_SMOOTH: balancing.smooth = option_number("--smooth", arg, 0, 1); return 0;
	case OPT_ONLY: chosen_only(arg); return 0;
	case OPT_SKIP: chosen_skip(arg); return 0;
	case OPT_METRIC: metric.command = arg; return 0;
	case OPT_SECONDS: metric.seconds = option_number("--seconds", arg, 0.001, 1e6); return 0;
	case OPT_ALTERNATE:
		if (strcmp(arg, "1") && strcmp(arg, "2"))
			die(EX_BADUSE, "--alternate %s: 1 or 2", arg);
		half = *arg - '0';
		return 0;
	case OPT_SAMPLES: vec_push(&samples, arg); return 0;
	case OPT_RANGE: samples_take_range(&sampling, arg); return 0;
	case OPT_WHOLE: sampling.whole = true; return 0;
	case OPT_TIMES:
		if (ntimes == 3)
			die(EX_BADUSE, "--times %s: give three, of all layers and of each half", arg);
		times[ntimes++] = arg;
		return 0;
	case OPT_DROP: metric.drop = option_number("--drop", arg, 0, 1e30); return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* ---- layers ---- */

static size_t not_finite; /* layers that would be quantised, but for such operands */

static bool quantisable(const struct plan *p, struct module *m, const struct uses *u, const struct node *n)
{
	struct weights_at at;
	uint32_t fit = 0;

	for (uint32_t i = 0; i < n->nin; i++)
		fit += n->in[i] && p->stat[n->in[i]];
	if (part_of(n->op) == PART_INPUTS)
		return p->options.activations == ACTIVATIONS_STATIC && fit == n->nin;
	if (part_of(n->op) == PART_TABLE)
		return is_table(m, u, n);
	if (!weights_of(m, n, &at) || val(m, n->in[0])->kind == VAL_CONST)
		return false;
	switch (p->options.activations) {
	case ACTIVATIONS_NONE: return true;
	case ACTIVATIONS_DYNAMIC: return n->op != OP_ConvTranspose && val(m, n->in[0])->type.dtype == DT_F32;
	default: not_finite += p->odd[n->in[0]]; return p->stat[n->in[0]];
	}
}

/* How much longer a node takes in float: a quarter of the bytes, and of products four times as many a cycle. */
static double estimated_gain(struct module *m, const struct node *n)
{
	struct target t = target_filled(target_host());
	double rate = t.hertz * t.fma_ports * 2 * t.vector_bytes / 4, bytes = 0, flops = node_flops(m, n);

	for (uint32_t i = 0; i < n->nin + n->nout; i++) {
		val_id v = i < n->nin ? n->in[i] : n->out[i - n->nin];
		int64_t count = v ? type_count(m, &val(m, v)->type) : 0;
		bytes += count > 0 ? 4 * (double)count : 0;
	}
	double products = part_of(n->op) == PART_WEIGHTS ? flops / rate : 0, moved = bytes / (t.l3_a_cycle * t.hertz);
	return 0.75e6 * (products > moved ? products : moved) + 1e-3;
}

static void find_layers(struct plan *p, struct module *m)
{
	const struct graph *g = graph(m, m->main);
	struct uses u = uses_new(m);

	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = node(m, g->nodes.a[i]);
		enum part part = part_of(n->op);
		if (part != PART_NONE && part != PART_MOVES && is_chosen(m, n) && quantisable(p, m, &u, n))
			vec_push(&p->layers, (struct layer){.node = g->nodes.a[i],
							    .name = layer_name(m, n),
							    .part = part,
							    .harm = NAN,
							    .microseconds = estimated_gain(m, n)});
	}
	uses_free(&u);
}

static void find_statistics(struct plan *p, struct module *m, struct statistics *s)
{
	p->stat = ARENA_ARRAY(&p->arena, const struct value_stat *, m->values.n);
	p->odd = ARENA_ARRAY(&p->arena, bool, m->values.n);
	for (val_id v = 1; v < m->values.n; v++) {
		const struct value *x = val(m, v);
		const struct value_stat *r = x->graph == m->main && x->type.dtype == DT_F32 ? statistics_find(s, sym_str(x->name)) : NULL;
		p->odd[v] = r && (r->nans || r->infinite);
		p->stat[v] = r && r->count && !p->odd[v] ? r : NULL;
	}
}

static void warn_of_layers(const struct plan *p)
{
	if (not_finite)
		warn("%zu layers stay in float: their operands were infinite, or no number, for some of the samples", not_finite);
	if (!p->layers.n)
		warn("no layer was quantised");
}

/* A model, and the statistics of it. */
static struct module *read_model(const char *path, struct statistics *s)
{
	struct module *m = module_read_any(path);

	if (statistics_path)
		statistics_read(s, statistics_path);
	if (statistics_path && !digest_eq(s->model, module_digest(m)))
		die(EX_BADDATA, "%s: statistics of another model; ge-calibrate makes those of this one", statistics_path);
	infer_declared(m, NULL);
	return m;
}

/* --equalize, --smooth: still in floats. */
static int write_balanced(const struct tool *t, struct tool_args *a)
{
	struct statistics s = {0};
	struct stream_writer *w = stream_create(a->out, false);
	struct module *m = read_model(a->nfile ? a->file[0] : NULL, &s);
	int n = balance(m, &s, &balancing);

	pass_provenance(m, t->name, a->options);
	stream_write(w, m);
	stream_finish(w);
	facts_number("balanced", n);
	if (n || balancing.worth == 1)
		note("%d operands have channels of like ranges now; their statistics are new", n);
	return EX_GOOD;
}

static void make_plan(struct plan *p, const char *path, struct statistics *s)
{
	struct module *m = read_model(path, s);

	p->options = quantizing;
	p->source = m->source;
	p->bytes = stream_bytes(m, true, &p->nbytes);
	struct module *again = plan_module(p); /* whose ids are those of all that follow */
	p->nvalues = again->values.n;
	p->nnodes = again->nodes.n;
	chosen_check(again);
	find_statistics(p, again, s);
	find_layers(p, again);
	keep_worth(p, again);
	module_free(m);
}

/* Layers that bytes do not make faster stay in float. */
static void leave_slower(struct plan *p, bool *on)
{
	times_read(p, times);
	for (size_t i = 0; i < p->layers.n; i++)
		on[i] &= p->layers.a[i].microseconds >= 0;
}

/* On the samples; NULL: there are none. */
static struct output_errors *compare_outputs(struct plan *p, struct module *quantised)
{
	struct output_errors *e = ARENA_NEW(&p->arena, struct output_errors);

	if (!samples.n)
		return NULL;
	struct samples *from = samples_open(quantised, (int)samples.n, samples.a, &sampling);
	outputs_compare(p, quantised, from, e);
	samples_close(from);
	return e;
}

static int run(const struct tool *t, struct tool_args *a)
{
	struct statistics s = {0};
	struct plan p = {0};

	bool balanced = balancing.equalize || balancing.smooth >= 0;
	if (!statistics_path && (balanced || quantizing.activations == ACTIVATIONS_STATIC))
		die(EX_BADUSE, "-s FILE: statistics are needed; ge-calibrate makes them");
	if (balanced)
		return write_balanced(t, a);
	if (ntimes && ntimes < 3)
		die(EX_BADUSE, "--times %s: give three, of all layers and of each half", times[ntimes - 1]);
	if (quantizing.block < 0)
		quantizing.block = quantizing.weight_bits == 4 ? 32 : 0;
	struct stream_writer *w = stream_create(a->out, false);
	make_plan(&p, a->nfile ? a->file[0] : NULL, &s);
	bool *on = xcalloc(p.layers.n + 1, sizeof *on);
	for (size_t i = 0; i < p.layers.n; i++)
		on[i] = !half || alternates(i, half);
	module_free(plan_build(&p, on, p.layers.a));
	if (ntimes)
		leave_slower(&p, on);
	bool held = !metric.command || metric_hold(&metric, &p, on);
	struct module *m = plan_build(&p, on, NULL);
	struct output_errors *errors = compare_outputs(&p, m);
	pass_provenance(m, t->name, a->options);
	stream_write(w, m);
	stream_finish(w);
	warn_of_layers(&p);
	if (metric.interrupted && isnan(metric.after))
		warn("stopped before the metric of the quantised model was known; no layer stays in floats because of it");
	else if (!held || metric.interrupted)
		warn("%s: the metric is %.6g, wanted %.6g; this is the best so far", metric.interrupted ? "stopped" : "all layers tried",
		     metric.after, metric.before - metric.drop);
	if (!metric.command) /* which says better what a layer costs */
		hint(&p, errors, on);
	if (a->out && (a->json || !msg_quiet))
		report_print(&p, &metric, errors, on, a->json);
	return EX_GOOD;
}

const struct tool tool = {
	.name = "ge-quantize",
	.summary = "Write a model in which layers compute on bytes.",
	.args_doc = "[FILE]",
	.more = "FILE is a graph stream or ends in .onnx. With -o the report of each layer is on standard output.",
	.flags = TOOL_OUT | TOOL_JSON | TOOL_IN_STREAM,
	.max_files = 1,
	.options = options,
	.option = option,
	.run = run,
};
