#ifndef GE_DOT_DOT_H
#define GE_DOT_DOT_H
#include <stdio.h>
#include "view.h"

void write_dot(FILE *f, const struct view *v);
#endif
