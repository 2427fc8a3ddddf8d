/* For tests of kernels that are compiled: a function of one type that calls a kernel of any. */
#ifndef HONE_RUN_KERNEL_H
#define HONE_RUN_KERNEL_H
#include <stdio.h>
#include "loop/loop.h"

/* C behind that of kernel `name`: void run_NAME(void **data, char *ws), with data by buffer. */
static void put_runner(FILE *f, struct loop_prog *p, const char *name)
{
	fprintf(f, "void run_%s(void **data, char *ws)\n{\n\t%s(", name, name);
	for (enum scope s = SCOPE_IN; s <= SCOPE_OUT; s++)
		for (buf_id b = 1; b < p->bufs.n; b++)
			if (lbuf(p, b)->scope == s)
				fprintf(f, "data[%u], ", b);
	fprintf(f, "ws);\n}\n");
}
#endif
