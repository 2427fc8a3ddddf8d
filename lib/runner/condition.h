/* Inputs whose results a rounding does not change much. */
#ifndef HONE_RUNNER_CONDITION_H
#define HONE_RUNNER_CONDITION_H
#include "runner/oracle.h"

/* Of a task that computes each element of its results from operands' elements at that place, or broadcast: where operands that differ by one
 * rounding have results that differ by CONDITION_MOST roundings or more, as the quotient of two differences has, operands are taken from another
 * place. in: inputs of t, in its order, may change; out: what they give (oracle.eval), then of the changed ones. Other tasks stay as they are. */
void inputs_condition(const struct oracle *o, const struct oracle_task *t, void *const *in, void *const *out);
#define CONDITION_MOST 64.0
#endif
