/* The shape rule of an operator in a run: what it refuses for sizes that are known beforehand, it refuses for those of a run. */
#ifndef HONE_RUN_RULE_H
#define HONE_RUN_RULE_H
#include "graph/module.h"

/* Why the node takes no operands of these shapes and, where they are few integers, elements; NULL: it may take them. in: as for
 * eval_node. The reason is in arena a, which also has what the rule needs. Nodes with bodies: NULL, for the nodes in them are asked. */
const char *run_rule(struct module *m, node_id id, struct tensor *const *in, struct arena *a);
/* Frees what this thread keeps for it. */
void run_rules_end(void);
#endif
