#ifndef GE_LAYOUT_H
#define GE_LAYOUT_H
#include "graph/module.h"

/* Is the group's only node one without stages that a function in C computes, row-major? */
bool group_is_native(struct module *m, node_id group);
#endif
