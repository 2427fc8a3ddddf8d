/* The step of an optimizer: weights of ge-grad become states, which the library keeps. */
#include <math.h>
#include <string.h>
#include "common/option.h"
#include "common/tool.h"
#include "ge-optim.h"
#include "model/state.h"
#include "op/op.h"
#include "op/pass.h"

static optim_rule *rule;
static struct optim given = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
static struct schedule schedule = {.name = "constant"};
static double highest = 1e-3, clip_norm, clip_value;
static bool is_open_rate;

/* ---- nodes ---- */

val_id optim_make(struct optim *o, enum opcode op, int nin, const val_id *in)
{
	node_id n = node_new(o->m, o->m->main, op, nin, in, 1);

	return node(o->m, n)->out[0];
}

val_id optim_number(struct optim *o, enum dtype t, double c)
{
	struct tensor *s = tensor_new(&o->m->arena, t, 0, NULL);

	tensor_set(s, 0, c);
	return const_tensor(o->m, 0, s);
}

val_id optim_cast(struct optim *o, val_id v, enum dtype t)
{
	if (val(o->m, v)->type.dtype == t)
		return v;
	v = optim_un(o, OP_Cast, v);
	attr_set_int(o->m, val(o->m, v)->def, "to", dtype_to_onnx(t));
	infer_node(o->m, val(o->m, v)->def, NULL);
	return v;
}

static noreturn void taken(struct module *m, const char *what, const char *name)
{
	die(EX_BADDATA, "%s: an %s is called '%s' already", m->source ? m->source : "standard input", what, name);
}

static val_id add_input(struct optim *o, const char *name, struct type type, struct tensor *first)
{
	const struct graph *g = graph(o->m, o->m->main);

	for (size_t i = 0; i < g->in.n; i++)
		if (val(o->m, g->in.a[i])->name == intern(name))
			taken(o->m, "input", name);
	val_id v = graph_add_input(o->m, o->m->main, intern(name), type);
	val(o->m, v)->tensor = first;
	val(o->m, v)->overridable = true;
	return v;
}

val_id optim_state(struct optim *o, const char *name, val_id v)
{
	struct type t = val(o->m, v)->type;
	int64_t dims[RANK_MAX];

	type_dims(o->m, &t, dims);
	return add_input(o, name, t, tensor_new(&o->m->arena, t.dtype, t.rank, dims));
}

void optim_keep(struct optim *o, val_id state, val_id next)
{
	const char *in = sym_str(val(o->m, state)->name), *out = arena_printf(&o->m->arena, "%s.next", in);
	const struct graph *g = graph(o->m, o->m->main);

	for (size_t i = 0; i < g->out.n; i++)
		if (g->out_name.a[i] == intern(out))
			taken(o->m, "output", out);
	graph_add_output(o->m, o->m->main, next, intern(out));
	module_set_meta(o->m, arena_printf(&o->m->arena, STATE_ALIAS "%s", in), intern(out));
}

/* ---- what is trained ---- */

/* Each input with a default that has a derivative among the outputs, NAME.grad; these are outputs no longer. */
static struct trained *take_weights(struct module *m, size_t *n)
{
	struct graph *g = graph(m, m->main);
	struct trained *w = ARENA_ARRAY(&m->arena, struct trained, g->in.n + 1);
	size_t kept = 0, found = 0;

	for (size_t k = 0; k < g->out.n; k++) {
		val_id of = 0;
		for (size_t i = 0; i < g->in.n; i++) {
			const struct value *x = val(m, g->in.a[i]);
			const char *grad = arena_printf(&m->arena, "%s.grad", sym_str(x->name));
			if (x->overridable && g->out_name.a[k] == intern(grad))
				of = g->in.a[i];
		}
		if (of) {
			const struct type *t = &val(m, of)->type;
			w[found++] = (struct trained){of, g->out.a[k], sym_str(val(m, of)->name), t->dtype, t->rank > 1};
			continue;
		}
		g->out_name.a[kept] = g->out_name.a[k];
		g->out.a[kept++] = g->out.a[k];
	}
	g->out.n = g->out_name.n = kept;
	*n = found;
	return w;
}

/* ---- clipping ---- */

static void clip_values(struct optim *o, struct trained *w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		w[i].g = optim_make(o, OP_Clip, 3,
				    (val_id[]){w[i].g, optim_number(o, w[i].t, -clip_value), optim_number(o, w[i].t, clip_value)});
}

/* All derivatives are as much smaller as makes the root of the sum of all their squares clip_norm, if it is more. */
static void clip_norms(struct optim *o, struct trained *w, size_t n)
{
	const double least = 1e-6; /* added to the norm, as PyTorch does */
	val_id sum = 0;

	for (size_t i = 0; i < n; i++) {
		val_id s = optim_un(o, OP_ReduceSum, optim_bin(o, OP_Mul, w[i].g, w[i].g));
		attr_set_int(o->m, val(o->m, s)->def, "keepdims", 0);
		infer_node(o->m, val(o->m, s)->def, NULL);
		s = optim_cast(o, s, DT_F32);
		sum = sum ? optim_bin(o, OP_Add, sum, s) : s;
	}
	val_id norm = optim_bin(o, OP_Add, optim_un(o, OP_Sqrt, sum), optim_number(o, DT_F32, least));
	val_id factor = optim_bin(o, OP_Min, optim_bin(o, OP_Div, optim_number(o, DT_F32, clip_norm), norm), optim_number(o, DT_F32, 1));
	val(o->m, factor)->type = type_make(o->m, DT_F32, 0, NULL);
	for (size_t i = 0; i < n; i++)
		w[i].g = optim_bin(o, OP_Mul, w[i].g, optim_cast(o, factor, w[i].t));
}

/* ---- the pass ---- */

/* needs: the result of ge-grad. keeps: outputs but derivatives. leaves: weights and what the optimizer remembers as states. */
static void optim(struct module *m, const struct pass_ctx *c)
{
	struct optim o = given;
	const char *source = m->source ? m->source : "standard input";
	struct tensor *first = tensor_new(&m->arena, DT_F32, 0, NULL);
	size_t n;

	if (!rule)
		die(EX_BADUSE, "--optimizer says which: %s", optim_names());
	if (strcmp(schedule.name, "constant") && !schedule.steps)
		die(EX_BADUSE, "--schedule %s: --steps says how many there are", schedule.name);
	o.m = m;
	infer_module(m, NULL);
	struct trained *w = take_weights(m, &n);
	if (!n)
		die(EX_BADDATA, "%s: no input with a default has a derivative among the outputs; ge-grad makes them", source);
	for (size_t i = 0; i < n; i++)
		if (!type_static(m, &val(m, w[i].w)->type))
			die(EX_NOTAVAIL, "%s: the shape of %s is not known", source, w[i].name);
	o.step = add_input(&o, "step", type_make(m, DT_I64, 0, NULL), tensor_new(&m->arena, DT_I64, 0, NULL));
	tensor_set(first, 0, highest);
	val_id top = is_open_rate ? add_input(&o, "rate", type_make(m, DT_F32, 0, NULL), first) : const_tensor(m, 0, first);
	o.rate = schedule_rate(&o, &schedule, top);
	val(m, o.rate)->type = type_make(m, DT_F32, 0, NULL);
	if (clip_value > 0)
		clip_values(&o, w, n);
	if (clip_norm > 0)
		clip_norms(&o, w, n);
	for (size_t i = 0; i < n; i++) {
		val_id next = rule(&o, &w[i]);
		pass_why(c, m, val(m, next)->def, "%s after the step%s", w[i].name,
			 o.decay > 0 && !w[i].decays ? ", which does not decay" : "");
		optim_keep(&o, w[i].w, next);
	}
	optim_keep(&o, o.step, optim_bin(&o, OP_Add, o.step, optim_number(&o, DT_I64, 1)));
	infer_module(m, NULL);
}

enum {
	KEY_OPTIMIZER = 0x100,
	KEY_LR,
	KEY_OPEN,
	KEY_MOMENTUM,
	KEY_NESTEROV,
	KEY_DECAY,
	KEY_BETA1,
	KEY_BETA2,
	KEY_EPSILON,
	KEY_NORM,
	KEY_VALUE,
	KEY_SCHEDULE,
	KEY_STEPS,
	KEY_WARMUP
};
static const struct argp_option options[] = {
	{"optimizer", KEY_OPTIMIZER, "NAME", 0, "sgd, adam, adamw or lamb", 0},
	{"lr", KEY_LR, "R", 0, "the rate, or the highest of a schedule (default 0.001)", 0},
	{"open-rate", KEY_OPEN, 0, 0, "that is an input, rate, with this as its default", 0},
	{"momentum", KEY_MOMENTUM, "M", 0, "sgd: of the direction before, how much stays (default 0)", 0},
	{"nesterov", KEY_NESTEROV, 0, 0, "sgd: the derivative of the place where that leads", 0},
	{"decay", KEY_DECAY, "D", 0, "weights decay by so much (default 0); vectors do not", 0},
	{"beta1", KEY_BETA1, "B", 0, "adam, adamw, lamb: of the mean of derivatives (default 0.9)", 0},
	{"beta2", KEY_BETA2, "B", 0, "of that of their squares (default 0.999)", 0},
	{"epsilon", KEY_EPSILON, "E", 0, "added to its root (default 1e-8)", 0},
	{"clip-norm", KEY_NORM, "N", 0, "the norm of all derivatives is N at most", 0},
	{"clip-value", KEY_VALUE, "V", 0, "each derivative is from -V to V", 0},
	{"schedule", KEY_SCHEDULE, "NAME", 0, "constant (default), cosine or linear: down to 0 with the last step", 0},
	{"steps", KEY_STEPS, "N", 0, "of a schedule: how many there are", 0},
	{"warmup", KEY_WARMUP, "N", 0, "in the first N steps the rate grows", 0},
	{0},
};

static error_t option(int key, char *arg)
{
	static const double most = 1e30;

	switch (key) {
	case KEY_OPTIMIZER:
		rule = optim_find(arg);
		if (!rule)
			die(EX_BADUSE, "--optimizer %s: there are %s", arg, optim_names());
		return 0;
	case KEY_LR: highest = option_number("--lr", arg, 0, most); return 0;
	case KEY_OPEN: is_open_rate = true; return 0;
	case KEY_MOMENTUM: given.momentum = option_number("--momentum", arg, 0, 1); return 0;
	case KEY_NESTEROV: given.nesterov = true; return 0;
	case KEY_DECAY: given.decay = option_number("--decay", arg, 0, most); return 0;
	case KEY_BETA1: given.beta1 = option_number("--beta1", arg, 0, nextafter(1, 0)); return 0;
	case KEY_BETA2: given.beta2 = option_number("--beta2", arg, 0, nextafter(1, 0)); return 0;
	case KEY_EPSILON: given.epsilon = option_number("--epsilon", arg, 0, most); return 0;
	case KEY_NORM: clip_norm = option_number("--clip-norm", arg, 1e-30, most); return 0;
	case KEY_VALUE: clip_value = option_number("--clip-value", arg, 1e-30, most); return 0;
	case KEY_SCHEDULE:
		if (!schedule_is(arg))
			die(EX_BADUSE, "--schedule %s: there are constant, cosine, linear", arg);
		schedule.name = arg;
		return 0;
	case KEY_STEPS: schedule.steps = option_count("--steps", arg, 1, INT64_MAX); return 0;
	case KEY_WARMUP: schedule.warmup = option_count("--warmup", arg, 0, INT64_MAX); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct pass pass = {
	.run = optim,
	.contract =
		"needs the result of ge-grad; keeps its outputs but the derivatives; leaves weights, and what the optimizer remembers, as states",
};

const struct tool tool = {
	.name = "ge-optim",
	.summary = "Add the step of an optimizer to a graph with derivatives.",
	PASS_TOOL(pass),
	.options = options,
	.option = option,
};
