/* Results that are rounded to integers by a scale: the numbers before that. */
#ifndef HONE_ROUNDING_H
#define HONE_ROUNDING_H
#include "op/op.h"
#include "runner/oracle.h"

/* How result v of the body is made. *node: the QuantizeLinear, where it is rounded. */
enum oracle_rounded rounding_of(struct module *m, graph_id body, val_id v, node_id *node);
/* Of v and what the body makes v of, the type of floats with the fewest digits; DT_NONE: none is of floats. */
enum dtype step_of(struct module *m, graph_id body, val_id v);
/* x / scale + zero for each element of x, of node n. scale and zero (may be NULL) are one number or one for each index of the axis. */
void rounding_before(const struct node *n, const struct tensor *x, const struct tensor *scale, const struct tensor *zero, float *to);
/* Random contents of input i of the body, which is quantised without being summed with weights: moved to where the type of the result
 * has numbers for most of them. */
void rounding_centre(struct module *m, const struct graph *body, uint32_t i, struct tensor *x);
#endif
