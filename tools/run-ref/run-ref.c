/* run-ref: a graph on the reference evaluator. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/option.h"
#include "common/progress.h"
#include "common/shown.h"
#include "common/tool.h"
#include "onnx/onnx.h"
#include "op/strings.h"
#include "op/values.h"

enum { OPT_SEED = 0x100, OPT_SET, OPT_SHAPE, OPT_CONST, OPT_RANGE, OPT_TIME, OPT_MEMORY, OPT_BODIES };
static struct input_spec spec;
static struct bindings bound;
static bool timed;

static const struct argp_option options[] = {
	{"input", 'i', "NAME=FILE", 0, "contents of an input: .npy, or a .npz that has several by name"},
	{"seed", OPT_SEED, "N", 0, "of the random contents of all other inputs; 0"},
	{"range", OPT_RANGE, "NAME=LO:HI", 0, "random contents of this input in [LO, HI]"},
	{"set", OPT_SET, "NAME=SIZE,...", 0, "give symbols their sizes"},
	{"shape", OPT_SHAPE, "INPUT:1x3x224x224", 0, "give an input its shape"},
	{"const", OPT_CONST, "INPUT=VALUE,...", 0, "make an input a constant"},
	{"memory", OPT_MEMORY, "SIZE", 0, "bytes (K, M, G) to take at most; three quarters of what is free", -1},
	{"bodies", OPT_BODIES, "N", 0, "begin bodies of loops and calls at most N times; 10000000", -1},
	{"time", OPT_TIME, 0, 0, "say where the time went, by operator", -1},
	{0},
};

static error_t option(int key, char *arg)
{
	switch (key) {
	case 'i': vec_push(&spec.files, arg); return 0;
	case OPT_SEED: spec.seed = option_count("--seed", arg, 0, UINT64_MAX); return 0;
	case OPT_RANGE:
		option_name_once("--range", arg, '=');
		vec_push(&spec.ranges, arg);
		return 0;
	case OPT_SET:
		option_sizes_once("--set", arg);
		vec_push(&bound.sets, arg);
		return 0;
	case OPT_SHAPE:
		option_name_once("--shape", arg, ':');
		vec_push(&bound.shapes, arg);
		return 0;
	case OPT_CONST:
		option_name_once("--const", arg, '=');
		vec_push(&bound.consts, arg);
		return 0;
	case OPT_MEMORY: eval_memory_option(arg); return 0;
	case OPT_BODIES: eval_bodies_option(arg); return 0;
	case OPT_TIME: timed = true; return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* ---- the ledger of --time ---- */

struct ledger {
	double seconds[OP_COUNT], flops[OP_COUNT];
	int nodes[OP_COUNT];
	struct progress progress;
};

static void one_timed(void *arg, struct module *m, node_id n, double seconds)
{
	struct ledger *l = arg;
	enum opcode op = node(m, n)->op;

	l->seconds[op] += seconds;
	l->flops[op] += node_flops(m, node(m, n));
	l->nodes[op]++;
	progress_step(&l->progress, NULL);
}

static void print_ledger(const struct ledger *l, double total)
{
	bool done[OP_COUNT] = {0};

	fprintf(stderr, "%-24s %6s %10s %6s %9s\n", "operator", "nodes", "ms", "share", "GFLOP/s");
	for (;;) {
		int best = -1;
		for (int i = 0; i < OP_COUNT; i++)
			if (l->nodes[i] && !done[i] && (best < 0 || l->seconds[i] > l->seconds[best]))
				best = i;
		if (best < 0)
			break;
		done[best] = true;
		fprintf(stderr, "%-24s %6d %10.2f %5.1f%% %9.2f\n", op_name((enum opcode)best), l->nodes[best], 1e3 * l->seconds[best],
			total > 0 ? 100 * l->seconds[best] / total : 0,
			l->seconds[best] > 0 ? 1e-9 * l->flops[best] / l->seconds[best] : 0);
	}
	fprintf(stderr, "%-24s %6s %10.2f\n", "all", "", 1e3 * total);
}

/* ---- output ---- */

enum { SHOWN_MOST = 8 };

static void print_strings(const struct tensor *t, struct arena *a)
{
	struct text *v = texts_of(a, t);
	int64_t n = tensor_count(t);

	printf("%s", n ? "\n   " : "");
	for (int64_t i = 0; i < n && i < SHOWN_MOST; i++)
		printf(" \"%s\"", shown(arena_printf(a, "%.*s", (int)v[i].n, v[i].s)));
	printf("%s\n", n > SHOWN_MOST ? " ..." : "");
}

static void print_summary(const char *name, const struct tensor *t, const char *type, struct arena *a)
{
	int64_t n = tensor_count(t);
	double lo = INFINITY, hi = -INFINITY, sum = 0;
	int64_t nan = 0;

	printf("%s: %s", shown(name), type);
	if (t->dtype == DT_STR) {
		print_strings(t, a);
		return;
	}
	if (dtype_size(t->dtype) && t->dtype != DT_C64 && t->dtype != DT_C128 && n) {
		for (int64_t i = 0; i < n; i++) {
			double v = tensor_get(t, i);
			nan += v != v;
			lo = v < lo ? v : lo;
			hi = v > hi ? v : hi;
			sum += v;
		}
		printf(", %.6g to %.6g, mean %.6g", lo, hi, sum / (double)n);
		if (nan)
			printf(", %lld NaN", (long long)nan);
		printf("\n   ");
		for (int64_t i = 0; i < n && i < SHOWN_MOST; i++)
			printf(" %.6g", tensor_get(t, i));
		printf("%s", n > SHOWN_MOST ? " ..." : "");
	}
	printf("\n");
}

static void print_all(struct module *m, const struct named_tensor *v, int n, struct arena *a)
{
	struct named_tensor *t;

	n = values_flatten(v, n, &t, a);
	for (int i = 0; i < n; i++) {
		struct type ty = tensor_type(m, t[i].t);
		print_summary(t[i].name, t[i].t, type_str(m, &ty, a), a);
	}
}

static bool is_npy(const char *path)
{
	size_t n = strlen(path);
	return n > 4 && !strcmp(path + n - 4, ".npy");
}

static int run(const struct tool *t, struct tool_args *a)
{
	struct module *m = module_read_any(a->nfile ? a->file[0] : NULL);
	struct graph *g;
	struct arena arena = {0};
	struct ledger l = {0};
	struct eval_hooks hooks = {.timed = one_timed, .arg = &l};

	bind_all(m, &bound);
	infer_declared(m, NULL);
	g = graph(m, m->main);
	if (a->out && is_npy(a->out) && g->out.n != 1)
		die(EX_BADUSE, "-o %s: the model has %zu outputs; write a .npz", a->out, g->out.n);
	struct tensor **in = inputs_make(m, &spec, &arena), **out = ARENA_ARRAY(&arena, struct tensor *, g->out.n);
	double start = now_seconds();
	progress_start(&l.progress, "running", g->nodes.n);
	eval_graph(m, m->main, in, out, &arena, &hooks);
	progress_end(&l.progress);
	double total = now_seconds() - start;
	struct named_tensor *named = ARENA_ARRAY(&arena, struct named_tensor, g->out.n);
	for (size_t i = 0; i < g->out.n; i++)
		named[i] = (struct named_tensor){(char *)sym_str(g->out_name.a[i]), out[i]};
	if (!a->out)
		print_all(m, named, (int)g->out.n, &arena);
	if (a->out && is_npy(a->out))
		npy_write(a->out, out[0]);
	else if (a->out)
		npz_write(a->out, (int)g->out.n, named);
	if (timed)
		print_ledger(&l, total);
	arena_release(&arena);
	module_free(m);
	return EX_GOOD;
}

const struct tool tool = {
	.name = "run-ref",
	.summary = "Run a graph on the reference evaluator.",
	.args_doc = "[FILE]",
	.more = "Without -o the outputs are summarised on standard output; -o y.npz writes them "
		"all, -o y.npy the only one.",
	.flags = TOOL_OUT | TOOL_IN_STREAM,
	.max_files = 1,
	.options = options,
	.option = option,
	.run = run,
};
