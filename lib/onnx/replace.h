/* Other weights in an ONNX file, whose other bytes stay as they are. */
#ifndef HONE_ONNX_REPLACE_H
#define HONE_ONNX_REPLACE_H
#include "graph/module.h"

struct replacement {
	const char *name;       /* of an initializer of the main graph */
	const struct tensor *t; /* what it becomes; NULL: nothing is written */
	const char *why_not;    /* set: NULL, it can be or was written */
};
/* Writes each tensor over the initializer of its name in the n bytes of a file that ge-import takes. One that is not there, is of another
 * size, or lies in another file, has a reason. */
void onnx_replace(unsigned char *p, size_t n, struct replacement *r, size_t nr);
#endif
