/* Do two things say the same? */
#ifndef HONE_EQUAL_H
#define HONE_EQUAL_H
#include "graph/module.h"

/* Name, kind and contents; a graph is equal to itself only. */
bool attr_equal(const struct module *m, const struct attr *a, const struct attr *b);
/* The same value, or two constants of equal type, shape and bytes. */
bool values_equal(struct module *m, val_id a, val_id b);
/* Bodies that compute the same from the same operands in the same order, whatever their names. May say no where the
 * comparison would be long. */
bool graphs_equal(struct module *m, graph_id a, graph_id b);
#endif
