/* Quantised models (QuantizeLinear, DequantizeLinear around nodes of floats) in ONNX's integer operators. */
#include <math.h>
#include <string.h>
#include "common/facts.h"
#include "integer.h"
#include "op/pass.h"
#include "op/qlinear.h"

/* ---- what is refused ---- */

/* Scales are positive; but those of blocks of weights may be 0 or negative: quantisers so reach the end of the codes that is farther
 * from their zero point. */
static void check_scale(struct module *m, node_id id, uint32_t i)
{
	struct tensor *t = node_const(m, node(m, id), i);
	bool any = node(m, id)->op == OP_DequantizeLinear && attr_i(node(m, id), "block_size");
	double s;

	if (!t)
		return;
	tensor_data(m, t);
	for (int64_t k = 0, n = tensor_count(t); k < n; k++)
		if (s = tensor_get(t, k), !isfinite(s) || (s <= 0 && !any))
			graph_die(m, id, "scale %lld is %g; scales are %s", (long long)k, s, any ? "finite" : "positive");
}

/* Operands that are scales, as bits. */
enum { SCALES_BITS = 8 };
static const uint8_t scales_column[OP_COUNT] = {
	[OP_DequantizeLinear] = 1 << 1,
	[OP_QLinearConv] = 1 << 1 | 1 << 4 | 1 << 6,
	[OP_QLinearMatMul] = 1 << 1 | 1 << 4 | 1 << 6,
	[OP_QuantizeLinear] = 1 << 1,
};

static void check_scales(struct module *m)
{
	struct graph_list list = {0};

	module_graph_order(m, &list);
	for (size_t k = 0; k < list.n; k++)
		for (size_t i = 0; i < graph(m, list.a[k])->nodes.n; i++) {
			node_id n = graph(m, list.a[k])->nodes.a[i];
			for (uint32_t j = 0; j < node(m, n)->nin && j < SCALES_BITS; j++)
				if (scales_column[node(m, n)->op] >> j & 1)
					check_scale(m, n, j);
		}
	vec_free(&list);
}

/* ---- the steps ---- */

static void apply(struct module *m, const struct pass_ctx *c, const struct rule *const *families, int nfamilies)
{
	VEC(struct rule_run) rules = {0};

	for (int f = 0; f < nfamilies; f++)
		for (const struct rule *r = families[f]; r->name; r++)
			vec_push(&rules, (struct rule_run){.rule = r});
	rewrite_module(m, rules.a, (int)rules.n, c, false);
	vec_free(&rules);
}

static bool is_zero(struct module *m, struct tensor *t)
{
	const char *p = tensor_data(m, t);

	for (size_t i = 0; i < t->nbytes; i++)
		if (p[i])
			return false;
	return true;
}

/* A product need not say that its zero points are all 0. */
static void drop_zeros(struct module *m, const struct pass_ctx *c)
{
	struct tensor *t;

	for (node_id id = 1; id < m->nodes.n; id++) {
		struct node *n = node(m, id);
		if (n->op != OP_MatMulInteger && n->op != OP_ConvInteger)
			continue;
		for (uint32_t i = 2; i < n->nin; i++)
			if ((t = node_const(m, n, i)) && is_zero(m, t)) {
				pass_why(c, m, id, "operand %u is dropped: its zero points are 0", i);
				n->in[i] = 0;
			}
		while (n->nin > 2 && !n->in[n->nin - 1])
			n->nin--;
	}
}

static bool exact;
static int level;            /* 0: as the model has it */
static struct target target; /* that the rows are multiplied on */

enum { OPT_EXACT = 1000, OPT_LEVEL, OPT_TARGET };

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_EXACT: exact = true; return 0;
	case OPT_LEVEL:
		if (strcmp(arg, "1") && strcmp(arg, "4"))
			die(EX_BADUSE, "--accuracy-level %s: takes 1 (floats) or 4 (rows may be rounded to bytes)", arg);
		level = *arg - '0';
		return 0;
	case OPT_TARGET:
		if (!target_find(arg, &target))
			die(EX_BADUSE, "--target=%s: %s", arg, target_why_not(arg));
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{"accuracy-level", OPT_LEVEL, "N", 0,
	 "rows times weights in blocks: 4: they may be rounded to bytes, 1: they may not (as the model says)"},
	{"exact", OPT_EXACT, 0, 0, "divide where the model divides by a scale"},
	{"target", OPT_TARGET, "NAME", 0, "round rows where that is faster on this target: %s (default: native)"},
	{0},
};

static const char *names(int key) { return target_names(); }

/* Last, so that no rule takes what it makes for a part of a model in bytes. */
static void round_rows(struct module *m, const struct pass_ctx *c)
{
	if (!target.cores)
		target = *target_host();
	int n = level_rows(m, c, &target, level == 4);
	facts_number("rounded", n);
	if (!level) {
		if (n)
			note("rows of %d product%s are rounded to bytes, block by block, as accuracy_level 4 of the model allows; --accuracy-level 1: of none",
			     n, n == 1 ? "" : "s");
		return;
	}
	note("rows of %d product%s are rounded to bytes, block by block; run-cmp of this library and one without --accuracy-level says how far that is off",
	     n, n == 1 ? "" : "s");
}

static void integer(struct module *m, const struct pass_ctx *c)
{
	check_scales(m);
	qlinear_split(m, c);
	apply(m, c, (const struct rule *const[]){rules_tiny}, 1);
	recode(m, DT_I8, DT_U8, false);
	apply(m, c, (const struct rule *const[]){rules_transposed, rules_island, rules_sink, rules_range}, 4);
	recode(m, DT_U8, DT_I8, true);
	apply(m, c, (const struct rule *const[]){rules_table}, 1); /* by the scales of the file, so by its bits */
	if (!exact) {
		apply(m, c, (const struct rule *const[]){rules_scale}, 1);
		apply(m, c, (const struct rule *const[]){rules_table}, 1); /* with the products that it put before a QuantizeLinear */
	}
	drop_zeros(m, c);
	if (level ? level == 4 : !exact && level_allowed(m))
		round_rows(m, c);
	level_forget(m);
}

static const struct pass pass = {
	.run = integer,
	.contract =
		"Needs shapes (ge-shape). Keeps ONNX operators, types and numbers but for the rounding of floats. Leaves no product of "
		"dequantised bytes whose scales are constants.",
};

const struct tool tool = {
	.name = "ge-integer",
	.summary = "Turn quantised nodes of floats into nodes of integers.",
	PASS_TOOL(pass),
	.options = options,
	.option = option,
	.names = names,
};
