/* ge-mixed: which nodes are in fewer bits. */
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/facts.h"
#include "common/json.h"
#include "common/option.h"
#include "graph/stream.h"
#include "loop/instr.h"
#include "mixed.h"
#include "op/op.h"
#include "op/qlinear.h"
#include "target/rate.h"

static struct {
	const char *kb, *target, *to, *all;
	const char *fused[2]; /* streams, by form */
	bool tasks, json, predict, drop;
	double error; /* 0: any */
	struct input_spec inputs;
	VEC(const char *) keep;
	struct kb *open;
	struct target t;
} opt;

enum {
	OPT_ALLOW = 0x100,
	OPT_DENY,
	OPT_DROP,
	OPT_ERROR,
	OPT_RANGE,
	OPT_KEEP,
	OPT_KB,
	OPT_TARGET,
	OPT_TASKS,
	OPT_TO,
	OPT_ALL,
	OPT_HIGH,
	OPT_LOW,
	OPT_PREDICT
};

static const struct argp_option options[] = {
	{"to", OPT_TO, "TYPE", 0,
	 "bf16, f16; u8: of a quantised model, which nodes stay so (default: u8 where it is one, else the faster here)"},
	{"allow", OPT_ALLOW, "FILE", 0, "names of operators that may be in fewer bits"},
	{"deny", OPT_DENY, "FILE", 0, "names of those that may not"},
	{"keep", OPT_KEEP, "NODE", 0, "leave this node, or the one with that result, as it is; repeated"},
	{"drop", OPT_DROP, 0, 0, "of a quantised model: quantisers between two nodes in f32 go, which changes numbers"},
	{"error", OPT_ERROR, "X", 0,
	 "outputs may change by X of their largest element, as run-ref measures on one set of inputs (--drop: default by as much as in f32 alone)"},
	{"input", 'i', "NAME=FILE.npy", 0, "of that run: contents of an input, or an .npz with several; the others are random"},
	{"range", OPT_RANGE, "NAME=LO:HI", 0, "of that run: range of a random input"},
	{"all", OPT_ALL, "FORM", 0, "no choice: all nodes that may are in one form, high or low"},
	{"high", OPT_HIGH, "FILE", 0, "the model of --all high after ge-fuse: times are those of its groups"},
	{"low", OPT_LOW, "FILE", 0, "the same of --all low"},
	{"predict", OPT_PREDICT, 0, 0,
	 "with --high and --low, of a quantised model: what was not measured takes as long as the cost model says"},
	{"tasks", OPT_TASKS, 0, 0, "print the tasks that were not measured, for tune-op, and no model"},
	{"kb", OPT_KB, "FILE", 0, "the knowledge base, in place of HONE_KB and the one in the home directory"},
	{"target", OPT_TARGET, "NAME", 0, "a machine in place of this one"},
	{0},
};

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_DROP: opt.drop = true; return 0;
	case OPT_ERROR: opt.error = option_number("--error", arg, DBL_MIN, INFINITY); return 0;
	case 'i': vec_push(&opt.inputs.files, arg); return 0;
	case OPT_RANGE:
		option_name_once("--range", arg, '=');
		vec_push(&opt.inputs.ranges, arg);
		return 0;
	case OPT_TO: opt.to = arg; return 0;
	case OPT_ALLOW: may_read(arg, MAY_ALLOW); return 0;
	case OPT_DENY: may_read(arg, MAY_NOT); return 0;
	case OPT_KEEP: vec_push(&opt.keep, arg); return 0;
	case OPT_PREDICT: opt.predict = true; return 0;
	case OPT_TASKS: opt.tasks = true; return 0;
	case OPT_ALL:
		if (strcmp(arg, "high") && strcmp(arg, "low"))
			die(EX_BADUSE, "--all %s: there are high and low", arg);
		opt.all = arg;
		return 0;
	case OPT_HIGH: opt.fused[FORM_HIGH] = arg; return 0;
	case OPT_LOW: opt.fused[FORM_LOW] = arg; return 0;
	case OPT_KB: opt.kb = arg; return 0;
	case OPT_TARGET: opt.target = arg; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

/* ---- the type ---- */

static bool is_quantised_model(struct module *m)
{
	const struct graph *g = graph(m, m->main);

	for (size_t i = 0; i < g->nodes.n; i++)
		if (node(m, g->nodes.a[i])->op == OP_DequantizeLinear)
			return true;
	return false;
}

/* The type whose products are measured to be faster than those of f32; DT_NONE: none is. */
static enum dtype faster_half(const struct target *t)
{
	static const enum dtype half[] = {DT_BF16, DT_F16};
	double best = target_fma_rate(t);
	enum dtype found = DT_NONE;

	for (size_t i = 0; i < sizeof half / sizeof *half && best > 0; i++)
		if (instr_rate(t, half[i]) > best) {
			best = instr_rate(t, half[i]);
			found = half[i];
		}
	return found;
}

static enum dtype low_type(struct module *m)
{
	if (!opt.to)
		return is_quantised_model(m) ? DT_U8 : faster_half(&opt.t);
	enum dtype t = dtype_parse(opt.to, strlen(opt.to));
	if (t != DT_BF16 && t != DT_F16 && t != DT_U8)
		die(EX_BADUSE, "--to %s: there are bf16, f16, u8", opt.to);
	if (t != DT_U8 && is_quantised_model(m))
		die(EX_BADUSE, "--to %s: the model is quantised; there is u8", opt.to);
	return t;
}

/* ---- the choice ---- */

static int64_t picoseconds(double s)
{
	enum { MOST_BITS = 40 };
	double ps = 1e12 * s;

	return ps < (double)((int64_t)1 << MOST_BITS) ? (int64_t)(ps + 0.5) : (int64_t)1 << MOST_BITS;
}

static bool measured(const struct thing *t) { return !t->missing[FORM_HIGH] && !t->missing[FORM_LOW]; }

static bool is_product(const struct mixed *x, const struct thing *t) { return may_be(node(x->m, t->node)->op, x->low) == MAY_ALLOW; }

/* Where times are missing a product stays as it is, others cost nothing; what costs the same in either form stays, too. Nothing is
 * changed for what lies within the errors of a prediction. */
static void set_cost(const struct mixed *x, uint32_t i, int64_t cost[2])
{
	const struct thing *t = &x->thing.a[i];
	static const double certain = 1.1;
	enum form is = x->low == DT_U8 && i ? FORM_LOW : FORM_HIGH;
	bool stays = !i || t->kept || t->bounded || (is_product(x, t) && !measured(t));

	for (enum form f = FORM_HIGH; f <= FORM_LOW; f++)
		cost[f] = i && (is_product(x, t) || measured(t)) ? picoseconds(t->seconds[f] * (t->is_predicted && f != is ? certain : 1))
								 : 0;
	if (stays)
		cost[!is] = CHOICE_NEVER;
	else
		cost[!is] += is == FORM_LOW;
}

static void choose(struct mixed *x)
{
	int64_t(*cost)[2] = xcalloc(x->thing.n, sizeof *cost);
	struct choice_value *v = xcalloc(x->crossing.n + 1, sizeof *v);
	bool *as_is = xcalloc(x->thing.n, sizeof *as_is);
	struct choice c = {(uint32_t)x->thing.n, (uint32_t)x->crossing.n, (const int64_t(*)[2])cost, v};

	for (uint32_t i = 0; i < c.nthings; i++) {
		set_cost(x, i, cost[i]);
		as_is[i] = i && x->low == DT_U8;
	}
	for (uint32_t i = 0; i < c.nvalues; i++) {
		const struct crossing *k = &x->crossing.a[i];
		const struct value *of = val(x->m, k->v);
		v[i] = (struct choice_value){of->kind == VAL_NODE ? x->of[of->def] : 0, k->n, x->reader.a + k->first,
					     picoseconds(k->seconds[FORM_LOW]), picoseconds(k->seconds[FORM_HIGH])};
	}
	x->before = choice_cost(&c, as_is);
	x->after = choice_least(&c, x->is_low);
	free(cost);
	free(v);
	free(as_is);
}

/* ---- what it says ---- */

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Each once. */
static void print_tasks(const struct mixed *x)
{
	if (x->wanted.n)
		qsort(x->wanted.a, x->wanted.n, sizeof *x->wanted.a, by_text);
	for (size_t i = 0; i < x->wanted.n; i++)
		if (!i || strcmp(x->wanted.a[i], x->wanted.a[i - 1]))
			puts(x->wanted.a[i]);
}

static const char *form_name(const struct mixed *x, bool low) { return low ? dtype_name(x->low) : "f32"; }

static uint32_t maker_of(const struct mixed *x, val_id v) { return val(x->m, v)->kind == VAL_NODE ? x->of[val(x->m, v)->def] : 0; }

/* Is there a cast of this value to that form: is it made in the other, and read in this? *reader: by which thing. */
static bool is_cast(const struct mixed *x, const struct crossing *k, enum form to, uint32_t *reader)
{
	for (uint32_t i = 0; i < k->n && x->is_low[maker_of(x, k->v)] != (to == FORM_LOW); i++) {
		*reader = x->reader.a[k->first + i];
		if (x->is_low[*reader] == (to == FORM_LOW))
			return true;
	}
	return false;
}

static void say_casts(struct mixed *x)
{
	for (size_t i = 0; i < x->crossing.n; i++)
		for (enum form f = FORM_HIGH; f <= FORM_LOW; f++) {
			const struct crossing *k = &x->crossing.a[i];
			const struct value *v = val(x->m, k->v);
			uint32_t reader;
			if (!is_cast(x, k, f, &reader))
				continue;
			const char *how = !k->counted[f]    ? ""
					  : x->low == DT_U8 ? ", by its operations"
							    : ", by its bytes",
				   *to = form_name(x, f == FORM_LOW);
			if (v->kind == VAL_NODE)
				pass_why(x->c, x->m, v->def, "its result is cast to %s: %.1f us%s", to, 1e6 * k->seconds[f], how);
			else
				pass_why(x->c, x->m, x->thing.a[reader].node, "%s is cast to %s: %.1f us%s", sym_str(v->name), to,
					 1e6 * k->seconds[f], how);
		}
}

static void say_why(struct mixed *x)
{
	for (size_t i = 1; i < x->thing.n; i++) {
		const struct thing *t = &x->thing.a[i];
		const char *form = form_name(x, x->is_low[i]);
		if (t->kept)
			pass_why(x->c, x->m, t->node, "%s: it is kept", form);
		else if (t->bounded)
			pass_why(x->c, x->m, t->node, "%s: --error leaves no room for it", form);
		else if (!is_product(x, t) && (!measured(t) || t->seconds[FORM_HIGH] + t->seconds[FORM_LOW] == 0))
			pass_why(x->c, x->m, t->node, "%s: as its neighbours are", form);
		else if (!measured(t))
			pass_why(x->c, x->m, t->node, "%s: left as it is, %s was not measured (--tasks)", form,
				 form_name(x, !t->missing[FORM_HIGH]));
		else
			pass_why(x->c, x->m, t->node, "%s: %.1f us, %.1f us in f32%s", form, 1e6 * t->seconds[FORM_LOW],
				 1e6 * t->seconds[FORM_HIGH], t->is_predicted ? ", by the cost model" : "");
	}
}

static uint32_t count_low(const struct mixed *x)
{
	uint32_t n = 0;

	for (size_t i = 1; i < x->thing.n; i++)
		n += x->is_low[i];
	return n;
}

static uint32_t count_changed(const struct mixed *x)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < x->thing.n; i++)
		n += mixed_changed(x, i);
	return n;
}

static bool any_predicted(const struct mixed *x)
{
	bool any = false;

	for (size_t i = 1; i < x->thing.n; i++)
		any |= x->thing.a[i].is_predicted;
	return any;
}

static void print_json(struct mixed *x)
{
	printf("{\"type\":\"%s\",\"before\":%.9g,\"after\":%.9g,\"nodes\":[", dtype_name(x->low), 1e-12 * (double)x->before,
	       1e-12 * (double)x->after);
	for (size_t i = 1; i < x->thing.n; i++) {
		const struct thing *t = &x->thing.a[i];
		printf("%s{\"node\":", i > 1 ? "," : "");
		json_str(stdout, node_where(x->m, t->node, x->arena));
		printf(",\"form\":\"%s\",\"kept\":%s,\"high\":", form_name(x, x->is_low[i]), t->kept ? "true" : "false");
		json_num(stdout, t->seconds[FORM_HIGH]);
		printf(",\"low\":");
		json_num(stdout, t->seconds[FORM_LOW]);
		putchar('}');
	}
	printf("],\"casts\":[");
	for (size_t i = 0, n = 0; i < x->crossing.n; i++)
		for (enum form f = FORM_HIGH; f <= FORM_LOW; f++) {
			const struct crossing *k = &x->crossing.a[i];
			uint32_t reader;
			if (!is_cast(x, k, f, &reader))
				continue;
			printf("%s{\"value\":", n++ ? "," : "");
			json_str(stdout, sym_str(val(x->m, k->v)->name));
			printf(",\"to\":\"%s\",\"seconds\":", form_name(x, f == FORM_LOW));
			json_num(stdout, k->seconds[f]);
			printf(",\"measured\":%s}", k->counted[f] ? "false" : "true");
		}
	printf("]}\n");
}

/* ---- the pass ---- */

static void all_in_form(struct mixed *x, bool low)
{
	for (size_t i = 1; i < x->thing.n; i++)
		x->is_low[i] = x->thing.a[i].kept ? x->low == DT_U8 : low;
}

/* The choice, of which no more is taken than --error allows. A mixture of a quantised model is not further from it than its f32 form. */
static void bound_error(struct mixed *x)
{
	bool *chosen = arena_copy(x->arena, x->is_low, x->thing.n * sizeof *x->is_low);
	double most = opt.error;

	if (x->drops && !(most > 0)) {
		all_in_form(x, false);
		most = mixed_error(x, &opt.inputs);
		memcpy(x->is_low, chosen, x->thing.n * sizeof *chosen);
	}
	note("outputs change by %.3g of their largest element at most", mixed_bound(x, most, &opt.inputs, choose));
}

static void choose_by_times(struct mixed *x)
{
	static const double worthwhile = 0.03; /* of a model's time: for less that is only predicted, nothing is changed */
	/* a row is taken as it is, as kb does: its compiler is not this machine's */
	struct mixed_source from = {opt.open, &opt.t, opt.target && strchr(opt.target, '=') ? opt.target : target_row(&opt.t),
				    opt.predict && x->low == DT_U8};

	for (enum form f = FORM_HIGH; f <= FORM_LOW && opt.fused[0]; f++)
		mixed_group_times(x, f, opt.fused[f], &from);
	if (!opt.fused[0])
		mixed_node_times(x, &from);
	mixed_predict(x);
	mixed_cast_times(x, &from);
	choose(x);
	if (any_predicted(x) && (double)(x->before - x->after) < worthwhile * (double)x->before) {
		all_in_form(x, true);
		x->after = x->before;
	}
	if (opt.tasks)
		return;
	if (count_changed(x) && (opt.error > 0 || x->drops))
		bound_error(x);
	say_why(x);
	say_casts(x);
	facts_number("low", count_low(x));
	facts_number("things", (double)x->thing.n - 1);
	note("%" PRIu32 " of %zu nodes in %s: %.1f us, %.1f us before, %s", count_low(x), x->thing.n - 1, dtype_name(x->low),
	     1e-6 * (double)x->after, 1e-6 * (double)x->before,
	     any_predicted(x) ? "where nothing was measured by the cost model" : "as far as they were measured");
}

static void mix(struct module *m, const struct pass_ctx *c)
{
	struct arena a = {0};
	struct mixed x = {.m = m, .c = c, .arena = &a};

	qlinear_split(m, c);
	x.low = low_type(m);
	if (x.low == DT_NONE) {
		note("left as it is: no type of 16 bits is known to be faster than f32 here; run-dev --probe measures, --to names one");
		return;
	}
	if (opt.error > 0 && x.low == DT_U8 && !opt.drop)
		die(EX_BADUSE, "--error: all quantisers stay, so only ties change; --drop lets some go");
	x.drops = opt.drop && x.low == DT_U8;
	mixed_find(&x, opt.keep.a, opt.keep.n);
	if (opt.all)
		all_in_form(&x, !strcmp(opt.all, "low"));
	else
		choose_by_times(&x);
	if (opt.tasks)
		print_tasks(&x);
	else if (opt.json)
		print_json(&x);
	else
		mixed_apply(&x);
	mixed_free(&x);
	arena_release(&a);
}

static const struct pass pass = {
	.run = mix,
	.contract =
		"Needs static types, before groups and before ge-integer. Keeps all but the types of some values; leaves casts of "
		"constants to ge-fold, nodes that nothing reads to ge-prune.",
};

/* What is printed instead of a model. */
static int report(struct tool_args *a)
{
	struct pass_ctx c = {.args = a, .why = a->why};
	struct stream_reader *r = stream_open(a->nfile ? a->file[0] : NULL);

	if (a->out)
		die(EX_BADUSE, "-o takes a model; --tasks and --json print none");
	for (struct module *m; (m = stream_read(r)); module_free(m)) {
		module_verify_or_die(m);
		mix(m, &c);
	}
	stream_close(r);
	return EX_GOOD;
}

static int run(const struct tool *t, struct tool_args *a)
{
	opt.json = a->json;
	if (a->nfile == 0 && isatty(STDIN_FILENO))
		tool_usage();
	if (!opt.fused[FORM_HIGH] != !opt.fused[FORM_LOW])
		die(EX_BADUSE, "--high and --low: both are needed");
	if (opt.predict && !opt.fused[FORM_HIGH])
		die(EX_BADUSE, "--predict: the cost model knows groups, of --high and --low");
	if (opt.all && opt.error > 0)
		die(EX_BADUSE, "--all makes no choice that --error could bound");
	if (!target_find(opt.target ? opt.target : "native", &opt.t))
		die(EX_BADUSE, "--target=%s: %s", opt.target, target_why_not(opt.target));
	opt.open = kb_open_if_there(opt.kb);
	int code = opt.tasks || opt.json ? report(a) : pass_main(t, a);
	kb_close(opt.open);
	return code;
}

const struct tool tool = {
	.name = "ge-mixed",
	.summary = "Choose which nodes are in fewer bits, by measured times.",
	.args_doc = "[FILE]",
	.flags = TOOL_OUT | TOOL_WHY | TOOL_JSON | TOOL_IN_STREAM,
	.max_files = 1,
	.options = options,
	.option = option,
	.run = run,
	.data = &pass,
};
