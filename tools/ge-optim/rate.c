/* Schedules: the rate of a step, of how many there were before. */
#include <math.h>
#include <string.h>
#include "ge-optim.h"

static val_id number(struct optim *o, double c) { return optim_number(o, DT_F32, c); }

/* The part of the way from the last step of the warm-up to the end, from 0 to 1. */
static val_id way(struct optim *o, const struct schedule *s, val_id step)
{
	double length = s->steps > s->warmup ? (double)(s->steps - s->warmup) : 1;
	val_id gone = optim_bin(o, OP_Div, optim_bin(o, OP_Sub, step, number(o, (double)s->warmup)), number(o, length));

	return optim_bin(o, OP_Max, optim_bin(o, OP_Min, gone, number(o, 1)), number(o, 0));
}

static val_id cosine(struct optim *o, const struct schedule *s, val_id step)
{
	val_id c = optim_un(o, OP_Cos, optim_bin(o, OP_Mul, way(o, s, step), number(o, M_PI)));

	return optim_bin(o, OP_Mul, number(o, 0.5), optim_bin(o, OP_Add, number(o, 1), c));
}

static val_id linear(struct optim *o, const struct schedule *s, val_id step) { return optim_bin(o, OP_Sub, number(o, 1), way(o, s, step)); }

static const struct {
	const char *name;
	val_id (*part)(struct optim *o, const struct schedule *s, val_id step); /* of the highest rate; NULL: all */
} schedules[] = {{"constant", NULL}, {"cosine", cosine}, {"linear", linear}};
enum { SCHEDULES = sizeof schedules / sizeof *schedules };

bool schedule_is(const char *name)
{
	for (int i = 0; i < SCHEDULES; i++)
		if (!strcmp(schedules[i].name, name))
			return true;
	return false;
}

val_id schedule_rate(struct optim *o, const struct schedule *s, val_id highest)
{
	val_id rate = highest, step = optim_cast(o, o->step, DT_F32);

	for (int i = 0; i < SCHEDULES; i++)
		if (!strcmp(schedules[i].name, s->name) && schedules[i].part)
			rate = optim_bin(o, OP_Mul, rate, schedules[i].part(o, s, step));
	if (!s->warmup)
		return rate;
	val_id grown = optim_bin(o, OP_Div, optim_bin(o, OP_Add, step, number(o, 1)), number(o, (double)s->warmup));
	return optim_bin(o, OP_Mul, rate, optim_bin(o, OP_Min, grown, number(o, 1)));
}
