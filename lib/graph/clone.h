/* Copies of whole graphs. */
#ifndef HONE_CLONE_H
#define HONE_CLONE_H
#include "graph/module.h"

/* A copy of graph g, with copies of all bodies inside; constants are shared. suffix goes behind the names of the copied graphs, which have
 * to be names of no other graph. The first value of the copies is the one that comes next in the module. */
graph_id graph_clone(struct module *m, graph_id g, const char *suffix);
#endif
