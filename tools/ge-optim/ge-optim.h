/* The parts of ge-optim. */
#ifndef HONE_GE_OPTIM_H
#define HONE_GE_OPTIM_H
#include "graph/module.h"

struct optim {
	struct module *m;
	val_id rate; /* of this step, f32[] */
	val_id step; /* how many steps there were before this one, i64[] */
	double momentum, decay, beta1, beta2, epsilon;
	bool nesterov;
};

/* A weight, the derivative by it, and what it is called. */
struct trained {
	val_id w, g;
	const char *name;
	enum dtype t;
	bool decays; /* vectors do not */
};

/* ---- optim.c ---- */
val_id optim_make(struct optim *o, enum opcode op, int nin, const val_id *in);
static inline val_id optim_un(struct optim *o, enum opcode op, val_id a) { return optim_make(o, op, 1, &a); }
static inline val_id optim_bin(struct optim *o, enum opcode op, val_id a, val_id b) { return optim_make(o, op, 2, (val_id[]){a, b}); }
val_id optim_cast(struct optim *o, val_id v, enum dtype t);
val_id optim_number(struct optim *o, enum dtype t, double c);
/* A state called that: an input with a default, zeros of v's type and shape. */
val_id optim_state(struct optim *o, const char *name, val_id v);
/* next is what the state is after the step: an output NAME.next, which the library keeps. */
void optim_keep(struct optim *o, val_id state, val_id next);

/* ---- rules.c ---- */
typedef val_id optim_rule(struct optim *o, const struct trained *w); /* the weight after the step */
optim_rule *optim_find(const char *name);                            /* NULL: there is none */
const char *optim_names(void);

/* ---- rate.c ---- */
struct schedule {
	const char *name;       /* constant, cosine or linear */
	uint64_t steps, warmup; /* in all; of them at first, while the rate grows */
};
bool schedule_is(const char *name);
/* The rate of a step, f32[], of the highest one. */
val_id schedule_rate(struct optim *o, const struct schedule *s, val_id highest);
#endif
