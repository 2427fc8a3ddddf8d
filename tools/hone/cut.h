/* Parts of a graph, for hone bisect. */
#ifndef HONE_CUT_H
#define HONE_CUT_H
#include "graph/module.h"
#include "op/npy.h"

/* The one module of a stream, its values named. */
struct module *cut_read(const char *path);
void cut_write(struct module *m, const char *path);
/* The value of m's main graph, or the constant, of that name, or else the value of the output of that name; 0: there is none. */
val_id cut_find(struct module *m, const char *name);
/* Makes values outputs of the main graph, by their names, but for those that are no tensors and those whose name an output has. */
void cut_add_outputs(struct module *m, const val_id *v, size_t n);
/* Which values become outputs of a part: those that nothing in it reads, or those that something outside reads. */
enum cut_ends { CUT_UNREAD, CUT_AS_READ };
/* Leaves the nodes of the main graph with keep[node]; what they read of others becomes an input, `last` always an output. False: a part so cut
 * has an input that is no tensor, or no output. */
bool cut_part(struct module *m, const bool *keep, val_id last, enum cut_ends ends);
/* Inputs and outputs of the main graph that lie in another order get a group beside them that copies them to it, or from it: what a library
 * takes and gives is row-major. */
void cut_row_major(struct module *m);
/* No value has a layout: ge-layout has not run. */
void cut_no_layouts(struct module *m);
#endif
