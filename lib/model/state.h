/* State: inputs of a model that its library keeps from run to run, such as caches of keys and values.
 *
 * In the module's metadata, "hone.alias.IN" = "OUT" says that what output OUT is in one run input IN is in the next; ge-plan leaves
 * "plan.state.IN" = "OFFSET" there for a state that is updated in place, "OFFSET OFFSET" for one with two places that take turns, and
 * "open" for one whose size only a run knows; "plan.state" = the bytes of all. States have memory of their own, behind each other, beside the arena. */
#ifndef HONE_STATE_H
#define HONE_STATE_H
#include "model/model.h"

#define STATE_ALIAS "hone.alias." /* no other metadata of a model begin so */
#define PLAN_STATE  "plan.state"
enum { STATE_ALIGN = 64 };

/* Declares "INPUT=OUTPUT"; returns INPUT. What the graph does not have: die(64). */
sym state_declare(struct module *m, const char *alias);
/* The same of several. An INPUT that has two: die(64). */
void states_declare(struct module *m, size_t n, const char *const *alias);

/* After the last of them: a size that only states tell is what the output is there, so that the first value of a state is of the output's
 * size. Types become closer; sizes that a run changes (a cache that grows) stay. */
void states_settle(struct module *m);
/* Why an output of this type is never, or not for all sizes, a value that the input takes; NULL: it may be. */
const char *state_misfit(struct module *m, val_id in, val_id out);

/* M: a sketch with a memory plan. Gives each state its places and leaves them in the module. A state is updated in place where that is
 * proved: no step reads it after the one that writes the output, nor is it an output itself, and that step may write where its operand
 * lies. */
void states_plan(struct model *M);
/* Reads the places from M's module. Missing ones, ones that overlap or that are in place without a proof: die(64). */
void states_read(struct model *M);

/* May a step fail after others have changed the state where it is? Then a run remembers the whole of it; what steps put into a state piece by
 * piece is remembered by them. */
bool state_at_risk(const struct model *M, const struct state *s);

/* The group is one node that joins its operands, the first of them once: along which axis, that operand and its result. -1: it is none. */
int append_axis(struct module *m, node_id group, val_id *past, val_id *next);
/* out, if it is the value that has grown along the axis, or that one with rows put into it (TensorScatter); else 0. */
val_id append_written(struct module *m, val_id grown, int axis, val_id out);
/* 1 + the axis that comes first in memory, the others in order behind it; 0: row-major; -1: another layout. */
int axis_first(struct module *m, const struct type *t);
/* Do parts of the value behind each other along the axis lie behind each other in memory? */
bool axis_outermost(struct module *m, const struct type *t, int axis);

/* Of what the model computes, not how: names and types of inputs and outputs, aliases, operators and constants. States of one build are
 * good for another with the same digest. */
struct digest states_digest(struct model *M);
#endif
