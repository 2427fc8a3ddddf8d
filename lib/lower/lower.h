/* From a group of nodes to a loop program: the lowering column, a row an operator. */
#ifndef HONE_LOWER_H
#define HONE_LOWER_H
#include "graph/module.h"
#include "loop/loop.h"

/* The program of Fused node n: operands of the group that are not constant become IN buffers (in operand order),
 * constants CONST buffers (in order of first use; cval says which), results OUT buffers; layouts as
 * the values' types say. The program is started (prog_start). algo: one of group_algorithms (loop/sampling.h); nodes that do
 * not offer it take their usual one, but one must; NULL: as the lowering thinks best. For a program that a trace is
 * applied to, algo is trace_algo (loop/prim.h). *why: NULL, or the node and reason there is no lowering. */
struct lowered {
	struct loop_prog *prog;
	int nconst;
	val_id *cval; /* constant number -> value of the module */
};
struct lowered lower_group(struct module *m, node_id n, const struct target *t, const char *algo, const char **why);
/* The same, but constants that the lowering computes (weights for Winograd) have no contents: to schedule and to emit, not
 * to run. The rest takes long for large weights, and a search lowers a group thousands of times. */
struct lowered lower_sketch(struct module *m, node_id n, const struct target *t, const char *algo, const char **why);
/* The same, as the rows of the column leave it: neither collapsed (prog_collapse) nor started. To look at. */
struct lowered lower_stages(struct module *m, node_id n, const struct target *t, const char *algo, const char **why);
bool lower_has(enum opcode op);
/* Are those operands of node n constant that it has no lowering without, whatever the types are? */
bool lower_has_constants(struct module *m, const struct node *n);
/* Is the result of n, along that axis, a part of operand 0, which has *rest elements and any number of others besides? Its stages then need no
 * other relation of the two sizes. */
bool lower_part(struct module *m, const struct node *n, int axis, int64_t *rest);
/* NULL, or why node n by itself has no lowering. The types of its operands and results are static. */
const char *lower_why_not(struct module *m, node_id n, const struct target *t);
/* Names of the algorithms that the group offers, ALGO_USUAL first ("direct", "winograd4"); count, at most max. 0: it has no
 * lowering. */
int group_algorithms(struct module *m, uint32_t node, const struct target *t, const char **out, int max);
#endif
