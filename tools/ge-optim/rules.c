/* Optimizers: of a weight and the derivative by it, the weight after the step. */
#include <string.h>
#include "ge-optim.h"

static val_id mul(struct optim *o, val_id a, val_id b) { return optim_bin(o, OP_Mul, a, b); }
static val_id add(struct optim *o, val_id a, val_id b) { return optim_bin(o, OP_Add, a, b); }
static val_id sub(struct optim *o, val_id a, val_id b) { return optim_bin(o, OP_Sub, a, b); }
static val_id over(struct optim *o, val_id a, val_id b) { return optim_bin(o, OP_Div, a, b); }
static val_id times(struct optim *o, const struct trained *w, double c, val_id v) { return mul(o, optim_number(o, w->t, c), v); }

static val_id rate(struct optim *o, const struct trained *w) { return optim_cast(o, o->rate, w->t); }
static val_id state(struct optim *o, const struct trained *w, const char *what)
{
	return optim_state(o, arena_printf(&o->m->arena, "%s.%s", w->name, what), w->w);
}

/* The derivative of the loss and of decay / 2 * w^2. */
static val_id decayed(struct optim *o, const struct trained *w)
{
	return o->decay > 0 && w->decays ? add(o, w->g, times(o, w, o->decay, w->w)) : w->g;
}

/* Sutskever et al. 2013, as PyTorch has it. */
static val_id sgd(struct optim *o, const struct trained *w)
{
	val_id g = decayed(o, w);

	if (o->momentum > 0) {
		val_id before = state(o, w, "momentum"), v = add(o, times(o, w, o->momentum, before), g);
		optim_keep(o, before, v);
		g = o->nesterov ? add(o, g, times(o, w, o->momentum, v)) : v;
	}
	return sub(o, w->w, mul(o, rate(o, w), g));
}

/* 1 - beta^(step + 1), in double: near 1 a power of f32 loses what is left of it. */
static val_id correction(struct optim *o, const struct trained *w, double beta)
{
	val_id count = add(o, optim_cast(o, o->step, DT_F64), optim_number(o, DT_F64, 1));
	val_id power = optim_bin(o, OP_Pow, optim_number(o, DT_F64, beta), count);

	return optim_cast(o, sub(o, optim_number(o, DT_F64, 1), power), w->t);
}

/* Kingma and Ba 2015: the mean of derivatives over the root of that of their squares. */
static val_id moments(struct optim *o, const struct trained *w, val_id g)
{
	val_id m0 = state(o, w, "mean"), v0 = state(o, w, "square");
	val_id m = add(o, times(o, w, o->beta1, m0), times(o, w, 1 - o->beta1, g));
	val_id v = add(o, times(o, w, o->beta2, v0), times(o, w, 1 - o->beta2, mul(o, g, g)));
	val_id root = optim_un(o, OP_Sqrt, over(o, v, correction(o, w, o->beta2)));

	optim_keep(o, m0, m);
	optim_keep(o, v0, v);
	return over(o, over(o, m, correction(o, w, o->beta1)), add(o, root, optim_number(o, w->t, o->epsilon)));
}

static val_id adam(struct optim *o, const struct trained *w) { return sub(o, w->w, mul(o, rate(o, w), moments(o, w, decayed(o, w)))); }

/* Loshchilov and Hutter 2019: the weight itself decays. */
static val_id adamw(struct optim *o, const struct trained *w)
{
	val_id at = w->w;

	if (o->decay > 0 && w->decays)
		at = sub(o, at, mul(o, mul(o, rate(o, w), optim_number(o, w->t, o->decay)), at));
	return sub(o, at, mul(o, rate(o, w), moments(o, w, w->g)));
}

static val_id norm(struct optim *o, val_id v)
{
	val_id y = optim_un(o, OP_ReduceSum, mul(o, v, v));

	attr_set_int(o->m, val(o->m, y)->def, "keepdims", 0);
	return optim_un(o, OP_Sqrt, y);
}

/* You et al. 2020: a step is as long as its part of the weight's norm; 1 where a norm is 0. */
static val_id lamb(struct optim *o, const struct trained *w)
{
	val_id u = moments(o, w, w->g), zero = optim_number(o, w->t, 0);

	if (o->decay > 0 && w->decays)
		u = add(o, u, times(o, w, o->decay, w->w));
	val_id of_w = norm(o, w->w), of_u = norm(o, u);
	val_id both = optim_bin(o, OP_And, optim_bin(o, OP_Greater, of_w, zero), optim_bin(o, OP_Greater, of_u, zero));
	val_id trust = optim_make(o, OP_Where, 3, (val_id[]){both, over(o, of_w, of_u), optim_number(o, w->t, 1)});
	return sub(o, w->w, mul(o, mul(o, rate(o, w), trust), u));
}

static const struct {
	const char *name;
	optim_rule *rule;
} optimizers[] = {{"sgd", sgd}, {"adam", adam}, {"adamw", adamw}, {"lamb", lamb}};

optim_rule *optim_find(const char *name)
{
	for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++)
		if (!strcmp(optimizers[i].name, name))
			return optimizers[i].rule;
	return NULL;
}

const char *optim_names(void) { return "sgd, adam, adamw, lamb"; }
