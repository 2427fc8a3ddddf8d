/* The checker: arity, attributes and their kinds from the operator list, single definition, order,
 * closed bodies, no cycles, types present where a constant or input says them. */
#ifndef HONE_CHECK_H
#define HONE_CHECK_H
#include "graph/module.h"
/* NULL: in order. Else why not (arena string), with *n the node (0: the graph). */
const char *module_check(struct module *m, node_id *n, graph_id *g);
void module_check_or_die(struct module *m);
#endif
