#ifndef GE_DOT_DOT_H
#define GE_DOT_DOT_H
#include <stdio.h>
#include "view.h"

/* Text for Graphviz. */
void write_dot(FILE *f, const struct view *v);
/* A page: the picture, with what is known of each node; groups by time; the arena. */
void write_html(FILE *f, const struct view *v, const char *title);
/* Part of a page: the arena over the steps of a run. Nothing where the module was not planned. */
void write_arena(FILE *f, struct module *m);
#endif
