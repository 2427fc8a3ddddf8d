/* Inputs whose results a rounding does not change much. */
#ifndef HONE_RUNNER_CONDITION_H
#define HONE_RUNNER_CONDITION_H
#include "runner/oracle.h"

/* Operands at which a result is ill-conditioned become those of another place: where operands a rounding away give a result that is
 * CONDITION_MOST roundings away. This is done for tasks that compute each element of their results from the operands' elements at that place,
 * or broadcast; others stay as they are. in: the inputs of t in its order, which may change; out: what they give (oracle.eval), before and after. */
void inputs_condition(const struct oracle *o, const struct oracle_task *t, void *const *in, void *const *out);
#define CONDITION_MOST 64.0
#endif
