#include <stdio.h>
#include <string.h>
#include "op/pass.h"
#include "op/measure.h"
#include "rules.h"

static const struct rule *const families[] = {
	rules_noop,   rules_shape, rules_order, rules_move,   rules_activation, rules_norm,
	rules_affine, rules_arith, rules_pool,  rules_window, rules_recurrent,  rules_fewest,
};

static VEC(struct rule_run) rules;
static VEC(const char *) only, skip;
static bool list, prove, fewest;

enum { OPT_ONLY = 1000, OPT_SKIP, OPT_RULES, OPT_PROVE, OPT_FEWEST };

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_ONLY: vec_push(&only, arg); return 0;
	case OPT_SKIP: vec_push(&skip, arg); return 0;
	case OPT_RULES: list = true; return 0;
	case OPT_FEWEST: fewest = true; return 0;
	case OPT_PROVE: prove = true; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static void load_rules(void)
{
	for (size_t f = 0; f < sizeof families / sizeof *families; f++)
		for (const struct rule *r = families[f]; r->name; r++)
			vec_push(&rules, (struct rule_run){.rule = r, .off = only.n > 0 || (families[f] == rules_fewest && !fewest)});
}

/* Rows of one name may have several roots. */
static void switch_rule(const char *name, bool off)
{
	bool found = false;

	for (size_t i = 0; i < rules.n; i++) {
		if (strcmp(rules.a[i].rule->name, name))
			continue;
		rules.a[i].off = off;
		found = true;
	}
	if (!found)
		die(EX_BADUSE, "no rule \"%s\"; see ge-simplify --rules", name);
}

static void print_rules(void)
{
	const char *last = "";

	for (size_t i = 0; i < rules.n; i++) {
		const struct rule *r = rules.a[i].rule;
		if (strcmp(r->name, last))
			printf("%-22s %-10s %s\n", r->name, measure_name(r->reduces), r->what);
		last = r->name;
	}
}

static void simplify(struct module *m, const struct pass_ctx *c) { rewrite_module(m, rules.a, (int)rules.n, c, prove); }

static const struct pass pass = {
	.run = simplify,
	.contract =
		"Needs shapes (ge-shape) for most rules. Keeps ONNX operators and types. Leaves no node that a "
		"rule of the table could still change.",
};

static int run(const struct tool *t, struct tool_args *a)
{
	load_rules();
	for (size_t i = 0; i < only.n; i++)
		switch_rule(only.a[i], false);
	for (size_t i = 0; i < skip.n; i++)
		switch_rule(skip.a[i], true);
	if (list) {
		print_rules();
		return EX_GOOD;
	}
	return pass_main(t, a);
}

static const struct argp_option options[] = {
	{"only", OPT_ONLY, "RULE", 0, "apply this rule and no other (may be repeated)"},
	{"skip", OPT_SKIP, "RULE", 0, "do not apply this rule (may be repeated)"},
	{"fewest", OPT_FEWEST, 0, 0, "those rules, too, that only make the nodes fewer"},
	{"prove", OPT_PROVE, 0, 0, "check after each rewrite that it reduced what its rule says (slow)"},
	{"rules", OPT_RULES, 0, 0, "list the rules and end", -1},
	{0},
};

const struct tool tool = {
	.name = "ge-simplify",
	.summary = "Rewrite a graph into a smaller one that computes the same.",
	.args_doc = "[FILE]",
	.flags = TOOL_OUT | TOOL_WHY | TOOL_IN_STREAM,
	.max_files = 1,
	.options = options,
	.option = option,
	.run = run,
	.data = &pass,
};
