/* Symbols of dimensions, as streams and the text form list them. */
#ifndef HONE_SYMBOLS_H
#define HONE_SYMBOLS_H
#include "graph/module.h"

/* A symbol without a name, or with one that another has, is replaced in all types by one with a name of
 * its own ("_1"), of the same range and divisor. */
void symbols_name(struct module *m);

/* A symbol whose name is a sum of others that inputs of the main graph have ("past + rows") is that sum in all types. */
void symbols_sum(struct module *m);

/* Those that types mention. */
struct symbols {
	bool *used; /* by poly_var; NULL: none yet */
	VEC(poly_var) list;
};
void symbols_mark(struct symbols *s, struct module *m, const struct type *t);
void symbols_mark_dim(struct symbols *s, struct module *m, dim d);
/* Of all graphs that are reached from the main one, in the order of first mention. */
void symbols_mark_module(struct symbols *s, struct module *m);
void symbols_sort(struct symbols *s, struct module *m); /* by name */
void symbols_free(struct symbols *s);

/* "batch" or "2*batch + 1" as a dimension; symbols must exist. NULL, or why not. */
const char *dim_parse(struct module *m, const char *s, size_t n, dim *out);
#endif
