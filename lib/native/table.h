/* Which operators have a function, and in which file of this room. */
#ifndef HONE_NATIVE_TABLE_H
#define HONE_NATIVE_TABLE_H
#include "native/native.h"

struct native_row {
	const char *op, *file; /* "GridSample", "grid" */
	native_function *run;
};
const struct native_row *native_find(const char *op); /* NULL: it has none */
#endif
