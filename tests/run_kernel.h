/* For tests of kernels that are compiled: a function of one type that calls a kernel of any. */
#ifndef HONE_RUN_KERNEL_H
#define HONE_RUN_KERNEL_H
#include <stdio.h>
#include <string.h>
#include "loop/loop.h"
#include "lower/lower.h"
#include "op/op.h"

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

/* Storage by buffer for a kernel of m's group: what goes in, and room for what comes out. */
__attribute__((unused)) static void **storage(struct module *m, struct tensor *const *in, const struct lowered *l, struct arena *a)
{
	struct loop_prog *p = l->prog;
	void **at = ARENA_ARRAY(a, void *, p->bufs.n);

	for (buf_id b = 1; b < p->bufs.n; b++) {
		const struct loop_buf *x = lbuf(p, b);
		size_t bytes = (size_t)buf_elems(p, b) * dtype_size(x->dtype);
		if (x->scope == SCOPE_IN)
			at[b] = (void *)in[x->operand]->data;
		if (x->scope == SCOPE_CONST) {
			at[b] = arena_alloc(a, bytes);
			buf_pack(p, b, x->data ? x->data : tensor_data(m, val(m, l->cval[x->operand])->tensor), at[b]);
		}
		if (x->scope == SCOPE_OUT)
			at[b] = memset(arena_alloc(a, bytes), 0x5a, bytes);
	}
	return at;
}
#endif
