#ifndef GE_LAYOUT_H
#define GE_LAYOUT_H
#include "graph/module.h"
#include "graph/pass.h"
#include "op/pass.h"

/* Is the group's only node one without stages that a function in C computes, row-major? */
bool group_is_native(struct module *m, node_id group);

/* Has the group, whose only node a function in C computes too, no kernel for the layouts that its values have? Then it would be on the slow
 * path, for the function is for other layouts. */
bool group_lacks_kernel(struct module *m, node_id group);

/* Does all that takes value v, one operand or more of that node, take it with one axis before the others? */
bool group_takes_first(struct module *m, node_id group, val_id v);

/* States that a Concat appends to get a layout in which what is appended stays where it is, with the axis first, if all that touches
 * them takes that. fused: of a node, is it a group with a body of its own? */
void lay_out_states(struct module *m, const struct pass_ctx *c, const struct uses *uses, const bool *fused);
#endif
