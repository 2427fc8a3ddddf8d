/* For fuzz targets that go from a module to C, as hone build does: passes and emitter are those of the tools (their `tool` is
 * called tool_NAME here). What a pass makes of a sound module has to be sound; a BUG, a
 * crash or more than 4 GB is a fault, whatever the input. */
#ifndef HONE_FUZZ_CHAIN_H
#define HONE_FUZZ_CHAIN_H
#include <string.h>
#include <sys/resource.h>
#include "common/outfile.h"
#include "onnx/onnx.h"
#include "op/npy.h"
#include "op/op.h"
#include "../passes.h"
#include "refuse.h"
#include "source/source.h"

extern const struct tool tool_ge_gears;

enum { CHAIN_GB = 4, CHAIN_FLOPS = 10000000, CHAIN_ELEMENTS = 1 << 22, CHAIN_RUN_BYTES = 64 << 20 };

/* KB at most so far. */
static long chain_most(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

/* Sound, or it is not the input's fault. */
static void chain_sound(struct module *m, const char *after)
{
	struct msg_trap *outer = msg_trap, own;

	if (setjmp(own.at)) {
		fprintf(stderr, "%s made what it must not: %s\n", after, own.why);
		abort();
	}
	msg_trap = &own;
	module_verify_or_die(m);
	msg_trap = outer;
}

/* Sizes that were not given are small ones. */
static void chain_bind(struct module *m)
{
	const struct graph *g = graph(m, m->main);

	for (size_t i = 0; i < g->in.n; i++) {
		const struct value *x = val(m, g->in.a[i]);
		int64_t dims[RANK_MAX];
		if (x->type.rank == RANK_UNKNOWN || x->type.other || type_static(m, &x->type))
			continue;
		for (int k = 0; k < x->type.rank; k++)
			dims[k] = poly_is_const(m->dims, x->type.dims[k], NULL) ? -1 : 3;
		bind_shape(m, sym_str(x->name), x->type.rank, dims);
	}
}

static void chain_passes(struct module *m)
{
	const char *only = getenv("CHAIN_UNTIL");

	for (size_t i = 0; i < sizeof chain / sizeof *chain; i++) {
		struct tool_args args = {0};
		struct pass_ctx ctx = {.args = &args};
		msg_tool = chain[i]->name;
		((const struct pass *)chain[i]->data)->run(m, &ctx);
		chain_sound(m, chain[i]->name);
		if (only && !strcmp(only, chain[i]->name))
			return;
	}
}

/* Gears of the only symbol that inputs have. */
static void chain_gears(struct module *m)
{
	static bool given;
	struct pass_ctx ctx = {.args = &(struct tool_args){0}};

	msg_tool = tool_ge_gears.name;
	if (!given)
		tool_ge_gears.option(tool_ge_gears.options[0].key, "1,3");
	given = true;
	((const struct pass *)tool_ge_gears.data)->run(m, &ctx);
	chain_sound(m, msg_tool);
}

static void chain_emit(struct module *m)
{
	struct emission e = {.target = target_host(), .name = "model"};

	if (plan_bytes(m) < 0)
		die(EX_BADUSE, "no plan");
	emission_make(&e, m, NULL, 0, false);
	if (e.weights.bytes < 1 << 24)
		emit_source(&e, 1, "/dev/null", "model.h");
	model_free(e.M);
}

/* On random inputs, if that takes a moment only: what is known beforehand is counted, and the numbers themselves decide
 * no more than CHAIN_RUN_BYTES. */
static void chain_run(struct module *m)
{
	struct arena a = {0};
	struct graph *g = graph(m, m->main);
	double flops = 0;

	infer_module(m, NULL);
	for (size_t i = 0; i < g->nodes.n; i++)
		flops += node_flops(m, node(m, g->nodes.a[i]));
	for (val_id v = 1; v < m->values.n; v++)
		flops += type_count(m, &val(m, v)->type) > CHAIN_ELEMENTS ? CHAIN_FLOPS : 0;
	if (flops < CHAIN_FLOPS) {
		arena_limit(arena_held() + CHAIN_RUN_BYTES, "the limit is that of this test");
		struct input_spec spec = {.seed = 1};
		struct tensor **in = inputs_make(m, &spec, &a), **out = ARENA_ARRAY(&a, struct tensor *, g->out.n);
		eval_graph(m, m->main, in, out, &a, NULL);
	}
	arena_release(&a);
}

/* The input, read anew for each use of it by `make`, NULL if it is none. */
__attribute__((unused)) static void chain_all(struct module *(*make)(const uint8_t *, size_t), const uint8_t *data, size_t n)
{
	struct module *volatile m = NULL;
	long before = chain_most();

	if (!REFUSED(m = make(data, n); module_verify_or_die(m); chain_bind(m); chain_passes(m); chain_emit(m)))
		module_free(m);
	eval_abandon();
	if (!REFUSED(m = make(data, n); module_verify_or_die(m); chain_gears(m); chain_passes(m); chain_emit(m)))
		module_free(m);
	eval_abandon();
	if (!REFUSED(m = make(data, n); module_verify_or_die(m); chain_emit(m))) /* as it is: it may be planned */
		module_free(m);
	if (!REFUSED(m = make(data, n); module_verify_or_die(m); onnx_export(m, "/dev/null", &(struct onnx_export_opts){0})))
		module_free(m);
	if (!REFUSED(m = make(data, n); module_verify_or_die(m); chain_bind(m); chain_run(m)))
		module_free(m);
	arena_limit((size_t)2 * CHAIN_GB << 30, "the limit is that of this test");
	eval_abandon();
	if (chain_most() - before > (long)CHAIN_GB << 20) {
		fprintf(stderr, "%ld KB\n", chain_most());
		abort();
	}
}
#endif
